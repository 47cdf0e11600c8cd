/*
 * binding, eviction, scale, finalize, approvals of who may do what.
 */
#include "lab/subresources.h"
#include "base/strings.h"
#include "lab/eviction.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include "lab/write.h"

int lab_fail_no_path(struct lab_call *call)
{
    lab_fail(call, 404, "NotFound", "the server could not find the requested resource");
    call->failure.kind = call->failure.name = NULL;
    call->failure.bare_details = true;
    return -1;
}

static int success(struct lab_call *call, int code)
{
    lab_call_done(call);
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = code};
    call->result.text =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"code\":201}";
    call->result.length = strlen(call->result.text);
    return 0;
}

/* Changes a copy of the stored object in place. */
static void copy_old(struct lab_write *w)
{
    w->whole = true;
    w->root = yyjson_val_mut_copy(w->doc, w->old_root);
}

static int fail_bind(struct lab_write *w, const char *why)
{
    lab_fail(w->call, 409, "Conflict", "Operation cannot be fulfilled on pods/binding \"%s\": %s", w->call->name, why);
    w->call->failure.kind = "pods/binding";
    return -1;
}

static int bind_mutate(struct lab_write *w, void *context)
{
    const char *node = context, *name = w->call->name;
    copy_old(w);
    yyjson_mut_val *spec = lab_mut_object(w->doc, w->root, "spec");
    if (w->old->meta->deleting)
        return lab_fail(w->call, 409, "Conflict", "pod %s is being deleted, cannot be assigned to a host", name);
    if (*lab_mut_str(spec, "nodeName"))
        return fail_bind(w, kb_arena_printf(w->arena, "pod %s is already assigned to node \"%s\"", name,
                                            lab_mut_str(spec, "nodeName")));
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(spec, "schedulingGates")))
        return fail_bind(w, kb_arena_printf(w->arena, "pod %s has non-empty .spec.schedulingGates", name));
    lab_mut_put_str(w->doc, spec, "nodeName", node);
    w->same_generation = true;
    yyjson_mut_val *status = lab_mut_object(w->doc, w->root, "status");
    yyjson_mut_val *list = yyjson_mut_obj_get(status, "conditions");
    if (!list)
        list = yyjson_mut_arr(w->doc);
    yyjson_mut_val *c = yyjson_mut_arr_add_obj(w->doc, list);
    lab_mut_put_str(w->doc, c, "type", "PodScheduled");
    lab_mut_put_str(w->doc, c, "status", "True");
    lab_mut_put_str(w->doc, c, "lastTransitionTime", lab_write_now(w));
    lab_mut_put(w->doc, status, "conditions", list);
    return 0;
}

static int serve_binding(struct lab_call *call)
{
    if (call->verb != LAB_VERB_CREATE)
        return lab_fail_method(call);
    yyjson_val *target = yyjson_obj_get(call->body, "target");
    if (!*lab_val_str(target, "name"))
        return lab_fail_bad_request(call, "target.name: Required value");
    if (lab_write_change(call, bind_mutate, (void *)lab_val_str(target, "name")) < 0)
        return -1;
    return success(call, 201);
}

static int finalize_mutate(struct lab_write *w, void *context)
{
    (void)context;
    copy_old(w);
    w->same_generation = true;
    lab_mut_drop(lab_mut_object(w->doc, w->root, "spec"), "finalizers");
    return 0;
}

static int serve_finalize(struct lab_call *call)
{
    return lab_write_change(call, finalize_mutate, NULL);
}

/* The paths of a scale: a CRD names them, built-in kinds have the usual ones. */
static yyjson_val *by_path(struct kb_arena *arena, yyjson_val *root, const char *path)
{
    const char *const *steps;
    size_t n = kb_split(arena, path + (*path == '.'), '.', &steps);
    return lab_val_at(root, steps, n);
}

static const char *spec_path(const struct lab_call *call)
{
    return call->version->spec_replicas ? call->version->spec_replicas : ".spec.replicas";
}

static int put_scale(struct lab_call *call, struct lab_object *object)
{
    yyjson_val *root = lab_object_parse(call->arena, object, call->version->api_version);
    const struct lab_version *v = call->version;
    yyjson_val *want = by_path(call->arena, root, spec_path(call));
    yyjson_val *have = by_path(call->arena, root, v->status_replicas ? v->status_replicas : ".status.replicas");
    yyjson_val *selector = by_path(call->arena, root, v->label_selector ? v->label_selector : ".status.labelSelector");
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *s = lab_json_mut(doc, call->arena, "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\"}");
    yyjson_mut_val *m = yyjson_mut_obj_add_obj(doc, s, "metadata");
    lab_mut_put_str(doc, m, "name", object->meta->name);
    lab_mut_put_str(doc, m, "namespace", object->meta->namespace_);
    lab_mut_put_str(doc, m, "uid", object->meta->uid);
    lab_mut_put_str(doc, m, "resourceVersion", lab_val_str(yyjson_obj_get(root, "metadata"), "resourceVersion"));
    lab_mut_put_str(doc, m, "creationTimestamp", lab_val_str(yyjson_obj_get(root, "metadata"), "creationTimestamp"));
    lab_mut_put_int(doc, yyjson_mut_obj_add_obj(doc, s, "spec"), "replicas", yyjson_get_sint(want));
    yyjson_mut_val *status = yyjson_mut_obj_add_obj(doc, s, "status");
    lab_mut_put_int(doc, status, "replicas", yyjson_get_sint(have));
    if (yyjson_is_str(selector))
        lab_mut_put_str(doc, status, "selector", yyjson_get_str(selector));
    lab_object_unref(object);
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = 200};
    call->result.text = lab_json_write(call->arena, s, &call->result.length);
    return 0;
}

static int scale_mutate(struct lab_write *w, void *context)
{
    yyjson_val *replicas = context;
    const char *const *steps;
    size_t n = kb_split(w->arena, spec_path(w->call) + 1, '.', &steps);
    copy_old(w);
    yyjson_mut_val *at = w->root;
    for (size_t i = 0; i + 1 < n; i++)
        at = lab_mut_object(w->doc, at, steps[i]);
    lab_mut_put_int(w->doc, at, steps[n - 1], yyjson_get_sint(replicas));
    return 0;
}

static int serve_scale(struct lab_call *call)
{
    if (call->verb == LAB_VERB_GET) {
        if (lab_serve_get(call) < 0)
            return -1;
        return put_scale(call, KB_TAKE_PTR(call->result.object));
    }
    yyjson_val *replicas = LAB_VAL_AT(call->body, "spec", "replicas");
    if (yyjson_is_arr(call->body)) /* a JSON patch of /spec/replicas */
        replicas = yyjson_obj_get(yyjson_arr_get_last(call->body), "value");
    if (call->verb == LAB_VERB_CREATE || call->verb == LAB_VERB_DELETE)
        return lab_fail_method(call);
    if (!yyjson_is_int(replicas) || yyjson_get_sint(replicas) < 0)
        return lab_fail_bad_request(call, "spec.replicas: Invalid value: must be greater than or equal to 0");
    if (lab_write_change(call, scale_mutate, replicas) < 0)
        return -1;
    return put_scale(call, KB_TAKE_PTR(call->result.object));
}

static const struct {
    const char *resource, *name; /* resource NULL: where the version has a scale */
    int (*serve)(struct lab_call *call);
    struct lab_subresource shown;
} subresources[] = {
    {"pods", "binding", serve_binding, {"binding", "Binding", "", "", "create"}},
    {"pods", "eviction", lab_serve_eviction, {"eviction", "Eviction", "policy", "v1", "create"}},
    {"namespaces", "finalize", serve_finalize, {"finalize", "Namespace", "", "", "update"}},
    {NULL, "scale", serve_scale, {"scale", "Scale", "autoscaling", "v1", "get patch update"}},
};

static bool offers(const struct lab_kind *kind, const struct lab_version *version, size_t i)
{
    return subresources[i].resource ? kb_streq(subresources[i].resource, kind->resource) : version->scale;
}

size_t lab_subresources_of(const struct lab_kind *kind, const struct lab_version *version,
                           const struct lab_subresource **ret, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < KB_ARRAY_LEN(subresources) && n < max; i++)
        if (offers(kind, version, i))
            ret[n++] = &subresources[i].shown;
    return n;
}

int lab_subresource_serve(struct lab_call *call)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(subresources); i++)
        if (kb_streq(subresources[i].name, call->subresource) && offers(call->kind, call->version, i))
            return subresources[i].serve(call);
    return lab_fail_no_path(call);
}

/* Reviews are answered and not stored. */
int lab_review_serve(struct lab_call *call)
{
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, call->body);
    lab_mut_put_str(doc, root, "kind", call->kind->name);
    lab_mut_put_str(doc, root, "apiVersion", call->version->api_version);
    lab_mut_object(doc, root, "metadata");
    yyjson_mut_val *status = lab_mut_object(doc, root, "status");
    if (kb_streq(call->kind->name, "SelfSubjectReview")) {
        lab_mut_put_str(doc, lab_mut_object(doc, status, "userInfo"), "username", call->user);
    } else if (kb_streq(call->kind->name, "TokenReview")) {
        lab_mut_put_bool(doc, status, "authenticated", false);
    } else if (kb_streq(call->kind->name, "SelfSubjectRulesReview")) {
        lab_mut_put(doc, root, "status",
                    lab_json_mut(doc, call->arena,
                                 "{\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}],"
                                 "\"nonResourceRules\":[{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}],"
                                 "\"incomplete\":false}"));
    } else {
        lab_mut_put_bool(doc, status, "allowed", true);
    }
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = 201};
    call->result.text = lab_json_write(call->arena, root, &call->result.length);
    return 0;
}
