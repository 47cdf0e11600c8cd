/*
 * Which hook sidecars a VMI has: those of its annotation (a JSON list), then one for each network binding plug-in that
 * has a sidecar image. Users see what is wrong with the annotation in a condition, so the messages are Go's.
 */
#include "api/codec.h"
#include "base/json_fault.h"
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include <stddef.h>
#include <strings.h>

/* ---- the annotation: a table of members and a walk over it ---- */

enum member_kind { TEXT, TEXTS, OBJECT };

struct member {
    const char *json;
    enum member_kind kind;
    size_t offset;               /* in struct launcher_sidecar; TEXT, TEXTS */
    const char *go_type;         /* of the value, as messages name it */
    const struct object *object; /* OBJECT */
};
struct object {
    const char *go_name;
    const struct member *members;
    size_t n;
};

#define AT(member) offsetof(struct launcher_sidecar, member)

static const struct member config_map_members[] = {
    {"name", TEXT, AT(config_map_name), "string", NULL},
    {"key", TEXT, AT(config_map_key), "string", NULL},
    {"hookPath", TEXT, AT(config_map_path), "string", NULL},
};
static const struct object config_map_object = {"ConfigMap", config_map_members, KB_ARRAY_LEN(config_map_members)};

static const struct member pvc_members[] = {
    {"name", TEXT, AT(pvc_name), "string", NULL},
    {"volumePath", TEXT, AT(pvc_path), "string", NULL},
    {"sharedComputePath", TEXT, AT(pvc_shared_path), "string", NULL},
};
static const struct object pvc_object = {"PVC", pvc_members, KB_ARRAY_LEN(pvc_members)};

static const struct member sidecar_members[] = {
    {"image", TEXT, AT(image), "string", NULL},
    {"imagePullPolicy", TEXT, AT(image_pull_policy), "v1.PullPolicy", NULL},
    {"command", TEXTS, AT(command), "[]string", NULL},
    {"args", TEXTS, AT(args), "[]string", NULL},
    {"configMap", OBJECT, 0, "hooks.ConfigMap", &config_map_object},
    {"pvc", OBJECT, 0, "hooks.PVC", &pvc_object},
};
static const struct object sidecar_object = {"HookSidecar", sidecar_members, KB_ARRAY_LEN(sidecar_members)};

static const char *go_word(yyjson_val *value)
{
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL:
        return "bool";
    case YYJSON_TYPE_NUM:
        return "number";
    case YYJSON_TYPE_STR:
        return "string";
    case YYJSON_TYPE_ARR:
        return "array";
    default:
        return "object";
    }
}

struct reader {
    struct kb_arena *arena;
    struct launcher_sidecar *sidecar;
    struct kube_error *reterr;
};

static int mismatch(struct reader *r, yyjson_val *value, const struct object *object, const char *path,
                    const char *go_type)
{
    return kube_error_set(r->reterr, KUBE_ERROR_INVALID,
                          "json: cannot unmarshal %s into Go struct field %s.%s of type %s", go_word(value),
                          object->go_name, path, go_type);
}

static int read_texts(struct reader *r, yyjson_val *value, const struct object *object, const struct member *member,
                      const char *path)
{
    struct api_strings *list = (void *)((char *)r->sidecar + member->offset);
    yyjson_arr_iter iterator;
    yyjson_val *item;

    if (!yyjson_is_arr(value))
        return mismatch(r, value, object, path, member->go_type);
    *list = (struct api_strings){0};
    yyjson_arr_iter_init(value, &iterator);
    while ((item = yyjson_arr_iter_next(&iterator))) {
        if (!yyjson_is_str(item) && !yyjson_is_null(item))
            return mismatch(r, item, object, path, "string");
        *kb_vec_push(r->arena, list) = yyjson_is_str(item) ? kb_arena_strdup(r->arena, yyjson_get_str(item)) : "";
    }
    return 0;
}

static int read_object(struct reader *r, yyjson_val *value, const struct object *object, const char *prefix);

static int read_member(struct reader *r, yyjson_val *value, const struct object *object, const struct member *member,
                       const char *path)
{
    if (yyjson_is_null(value))
        return 0;
    if (member->kind == TEXTS)
        return read_texts(r, value, object, member, path);
    if (member->kind == OBJECT && yyjson_is_obj(value))
        return read_object(r, value, member->object, kb_arena_printf(r->arena, "%s.", path));
    if (member->kind == OBJECT || !yyjson_is_str(value))
        return mismatch(r, value, object, path, member->go_type);
    *(const char **)((char *)r->sidecar + member->offset) = kb_arena_strdup(r->arena, yyjson_get_str(value));
    return 0;
}

/* Members of an object that is there are "" when they are absent: NULL means that the object is. */
static void clear(struct reader *r, const struct object *object)
{
    for (size_t i = 0; i < object->n; i++)
        if (object->members[i].kind == TEXT)
            *(const char **)((char *)r->sidecar + object->members[i].offset) = "";
}

static int read_object(struct reader *r, yyjson_val *value, const struct object *object, const char *prefix)
{
    yyjson_obj_iter iterator;
    yyjson_val *key;

    clear(r, object);
    yyjson_obj_iter_init(value, &iterator);
    while ((key = yyjson_obj_iter_next(&iterator))) {
        for (size_t i = 0; i < object->n; i++) {
            const struct member *member = &object->members[i];

            if (strcasecmp(member->json, yyjson_get_str(key)) != 0)
                continue;
            if (read_member(r, yyjson_obj_iter_get_val(key), object, member,
                            kb_arena_printf(r->arena, "%s%s", prefix, member->json)) < 0)
                return -1;
        }
    }
    return 0;
}

static int read_list(struct launcher *l, yyjson_val *list, struct kube_error *reterr)
{
    yyjson_arr_iter iterator;
    yyjson_val *item;

    if (yyjson_is_null(list))
        return 0;
    if (!yyjson_is_arr(list))
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "json: cannot unmarshal %s into Go value of type hooks.HookSidecarList", go_word(list));
    yyjson_arr_iter_init(list, &iterator);
    while ((item = yyjson_arr_iter_next(&iterator))) {
        struct reader r = {l->arena, kb_vec_push(l->arena, &l->sidecars), reterr};

        r.sidecar->binding_plugin = "";
        if (!yyjson_is_obj(item) && !yyjson_is_null(item))
            return kube_error_set(reterr, KUBE_ERROR_INVALID,
                                  "json: cannot unmarshal %s into Go value of type hooks.HookSidecar", go_word(item));
        if (read_object(&r, item, &sidecar_object, "") < 0)
            return -1;
    }
    return 0;
}

static int read_annotation(struct launcher *l, struct kube_error *reterr)
{
    const char *json = api_map_get(&l->vmi->metadata.annotations, LAUNCHER_ANNOTATION_SIDECARS);
    const char *fault = json ? kb_json_fault(l->arena, json, strlen(json)) : NULL;
    yyjson_doc *doc;
    int r;

    if (!json)
        return 0;
    if (fault)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s", fault);
    if (api_parse(json, strlen(json), &doc, reterr) < 0)
        return kube_error_wrap(reterr, "annotation " LAUNCHER_ANNOTATION_SIDECARS);
    r = read_list(l, yyjson_doc_get_root(doc), reterr);
    yyjson_doc_free(doc);
    return r;
}

/* ---- binding plug-ins ---- */

static bool has_sidecar_of(const struct launcher *l, const char *plugin)
{
    api_list_foreach (sidecar, &l->sidecars)
        if (kb_streq(sidecar->binding_plugin, plugin))
            return true;
    return false;
}

static int add_binding_plugins(struct launcher *l, struct kube_error *reterr)
{
    api_list_foreach (interface, &l->vmi->spec.domain.devices.interfaces) {
        const struct kv_interface_binding_plugin *plugin;

        if (!interface->binding)
            continue;
        plugin = virt_binding_plugin(l->config, interface->binding->name);
        if (!plugin)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "couldn't find configuration for network binding: %s",
                                  interface->binding->name);
        if (!*plugin->sidecar_image || has_sidecar_of(l, interface->binding->name))
            continue;
        *kb_vec_push(l->arena, &l->sidecars) = (struct launcher_sidecar){
            .image = plugin->sidecar_image,
            .image_pull_policy = l->config->spec->image_pull_policy,
            .device_info = launcher_needs_device_info(plugin),
            .binding_plugin = interface->binding->name,
        };
    }
    return 0;
}

int launcher_find_sidecars(struct launcher *l, struct kube_error *reterr)
{
    if (read_annotation(l, reterr) < 0)
        return -1;
    return add_binding_plugins(l, reterr);
}
