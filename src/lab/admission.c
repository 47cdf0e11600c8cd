/*
 * Mutating admission, see admission.h.
 */
#include "lab/admission.h"
#include "base/strings.h"
#include "lab/defaults.h"
#include "lab/json.h"
#include "lab/server_internal.h"

yyjson_val *lab_admission_find(struct lab_write *w, const char *resource, const char *namespace_, const char *name)
{
    struct lab_server *s = w->call->server;
    const char *key = namespace_ ? kb_arena_printf(w->arena, "%s/%s", namespace_, name) : name;
    lab_server_lock(s);
    struct lab_object *o = lab_store_find(lab_server_resource(s, resource), key);
    yyjson_val *root = o ? lab_object_parse(w->arena, o, NULL) : NULL;
    lab_server_unlock(s);
    return root;
}

size_t lab_admission_list(struct lab_write *w, const char *resource, const char *namespace_, yyjson_val ***ret)
{
    struct lab_server *s = w->call->server;
    size_t from, to, n = 0;
    lab_server_lock(s);
    struct lab_resource *r = lab_server_resource(s, resource);
    lab_store_range(r, namespace_, NULL, &from, &to);
    *ret = from < to ? kb_arena_many(w->arena, yyjson_val *, to - from) : NULL;
    for (size_t i = from; i < to; i++)
        (*ret)[n++] = lab_object_parse(w->arena, r->items[i], NULL);
    lab_server_unlock(s);
    return n;
}

/* -- priority */

static const struct {
    const char *name;
    int64_t value;
} system_priorities[] = {{"system-cluster-critical", 2000000000}, {"system-node-critical", 2000001000}};

/* The class that applies when a Pod names none, or NULL. */
static yyjson_val *global_default(struct lab_write *w)
{
    yyjson_val **classes;
    size_t n = lab_admission_list(w, "priorityclasses.scheduling.k8s.io", NULL, &classes);
    for (size_t i = 0; i < n; i++)
        if (yyjson_get_bool(yyjson_obj_get(classes[i], "globalDefault")))
            return classes[i];
    return NULL;
}

static int admit_priority(struct lab_write *w, yyjson_mut_val *spec)
{
    const char *name = lab_mut_str(spec, "priorityClassName"), *policy = "PreemptLowerPriority";
    int64_t value = 0;
    yyjson_val *class =
        *name ? lab_admission_find(w, "priorityclasses.scheduling.k8s.io", NULL, name) : global_default(w);
    bool known = class || !*name;
    for (size_t i = 0; i < KB_ARRAY_LEN(system_priorities); i++) {
        if (!kb_streq(system_priorities[i].name, name))
            continue;
        value = system_priorities[i].value;
        known = true;
    }
    if (!known)
        return lab_fail_forbidden(w->call, "no PriorityClass with name %s was found", name);
    if (class) {
        value = yyjson_get_sint(yyjson_obj_get(class, "value"));
        policy = *lab_val_str(class, "preemptionPolicy") ? lab_val_str(class, "preemptionPolicy") : policy;
        lab_mut_put_str(w->doc, spec, "priorityClassName", lab_val_str(yyjson_obj_get(class, "metadata"), "name"));
    }
    lab_mut_put_int(w->doc, spec, "priority", value);
    lab_mut_default_str(w->doc, spec, "preemptionPolicy", policy);
    return 0;
}

/* -- tolerations */

static bool tolerates(yyjson_mut_val *tolerations, const char *key)
{
    size_t i, n;
    yyjson_mut_val *t;
    yyjson_mut_arr_foreach(tolerations, i, n, t)
    {
        const char *k = lab_mut_str(t, "key"), *effect = lab_mut_str(t, "effect");
        if ((!*k || kb_streq(k, key)) && (!*effect || kb_streq(effect, "NoExecute")))
            return true;
    }
    return false;
}

/* Five minutes on a node that does not answer. */
static void admit_tolerations(struct lab_write *w, yyjson_mut_val *spec)
{
    static const char *const keys[] = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"};
    yyjson_mut_val *list = yyjson_mut_obj_get(spec, "tolerations");
    if (!list)
        list = yyjson_mut_arr(w->doc);
    for (size_t i = 0; i < KB_ARRAY_LEN(keys); i++) {
        if (tolerates(list, keys[i]))
            continue;
        yyjson_mut_val *t = yyjson_mut_arr_add_obj(w->doc, list);
        lab_mut_put_str(w->doc, t, "key", keys[i]);
        lab_mut_put_str(w->doc, t, "operator", "Exists");
        lab_mut_put_str(w->doc, t, "effect", "NoExecute");
        lab_mut_put_int(w->doc, t, "tolerationSeconds", 300);
    }
    if (yyjson_mut_arr_size(list))
        lab_mut_put(w->doc, spec, "tolerations", list);
}

/* -- runtime class */

static int admit_runtime(struct lab_write *w, yyjson_mut_val *spec)
{
    const char *name = lab_mut_str(spec, "runtimeClassName");
    if (!*name)
        return 0;
    yyjson_val *class = lab_admission_find(w, "runtimeclasses.node.k8s.io", NULL, name);
    if (!class)
        return lab_fail_forbidden(w->call, "pod rejected: RuntimeClass \"%s\" not found", name);
    yyjson_val *fixed = LAB_VAL_AT(class, "overhead", "podFixed");
    if (fixed)
        lab_mut_put(w->doc, spec, "overhead", yyjson_val_mut_copy(w->doc, fixed));
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(LAB_VAL_AT(class, "scheduling", "nodeSelector"), i, n, key, value)
    {
        lab_mut_put(w->doc, lab_mut_object(w->doc, spec, "nodeSelector"), yyjson_get_str(key),
                    yyjson_val_mut_copy(w->doc, value));
    }
    yyjson_arr_foreach(LAB_VAL_AT(class, "scheduling", "tolerations"), i, n, value)
    {
        if (!yyjson_mut_obj_get(spec, "tolerations"))
            lab_mut_put(w->doc, spec, "tolerations", yyjson_mut_arr(w->doc));
        yyjson_mut_arr_append(yyjson_mut_obj_get(spec, "tolerations"), yyjson_val_mut_copy(w->doc, value));
    }
    return 0;
}

/* Clusters give every Pod a volume with its service account's token. The lab has no token controller, but the
 * attachment Pods' controller counts on the volume. */
static void admit_token_volume(struct lab_write *w, yyjson_mut_val *spec)
{
    const char *role = lab_mut_str(yyjson_mut_obj_get(w->metadata, "labels"), "kubevirt.io");
    yyjson_mut_val *volumes = yyjson_mut_obj_get(spec, "volumes");
    if (!kb_streq(role, "hotplug-disk") || !volumes)
        return;
    yyjson_mut_arr_append(volumes, lab_json_mut(w->doc, w->arena, "{\"name\":\"kube-api-access\",\"emptyDir\":{}}"));
}

int lab_admit_pod(struct lab_write *w)
{
    yyjson_mut_val *spec = lab_mut_object(w->doc, w->root, "spec");
    if (lab_admit_limits(w) < 0 || admit_priority(w, spec) < 0 || admit_runtime(w, spec) < 0)
        return -1;
    admit_tolerations(w, spec);
    admit_token_volume(w, spec);
    return 0;
}

int lab_admit_claim(struct lab_write *w)
{
    yyjson_mut_val *spec = lab_mut_object(w->doc, w->root, "spec");
    yyjson_val **classes;
    if (yyjson_mut_obj_get(spec, "storageClassName"))
        return 0;
    size_t n = lab_admission_list(w, "storageclasses.storage.k8s.io", NULL, &classes);
    for (size_t i = 0; i < n; i++) {
        yyjson_val *metadata = yyjson_obj_get(classes[i], "metadata");
        const char *mark =
            lab_val_str(yyjson_obj_get(metadata, "annotations"), "storageclass.kubernetes.io/is-default-class");
        if (!kb_streq(mark, "true"))
            continue;
        lab_mut_put_str(w->doc, spec, "storageClassName", lab_val_str(metadata, "name"));
        break;
    }
    return 0;
}
