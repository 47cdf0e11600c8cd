/*
 * Deletion, see deletion.h. An object goes at once unless a finalizer or a Pod's grace period holds it; then it is
 * marked and goes with the update that removes the last finalizer, or with a later deletion without grace.
 */
#include "lab/deletion.h"
#include "base/strings.h"
#include "base/time.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include <stdlib.h>

bool lab_deletion_is_over(const struct lab_kind *kind, struct lab_write *w)
{
    if (!*lab_mut_str(w->metadata, "deletionTimestamp") ||
        yyjson_mut_arr_size(yyjson_mut_obj_get(w->metadata, "finalizers")))
        return false;
    if (kb_streq(kind->resource, "namespaces") && yyjson_mut_arr_size(LAB_AT(w->root, "spec", "finalizers")))
        return false;
    return yyjson_mut_get_sint(yyjson_mut_obj_get(w->metadata, "deletionGracePeriodSeconds")) == 0;
}

int lab_deletion_options(struct lab_call *call)
{
    struct lab_call_options *o = &call->options;
    yyjson_val *body = call->body;
    if (!body)
        return 0;
    yyjson_val *grace = yyjson_obj_get(body, "gracePeriodSeconds");
    yyjson_val *orphan = yyjson_obj_get(body, "orphanDependents");
    yyjson_val *before = yyjson_obj_get(body, "preconditions");
    if (yyjson_is_int(grace))
        o->grace_seconds = yyjson_get_sint(grace);
    if (*lab_val_str(body, "propagationPolicy"))
        o->propagation = lab_val_str(body, "propagationPolicy");
    if (yyjson_is_bool(orphan))
        o->propagation = yyjson_get_bool(orphan) ? "Orphan" : "Background";
    if (*lab_val_str(before, "uid"))
        o->precondition_uid = lab_val_str(before, "uid");
    if (*lab_val_str(before, "resourceVersion"))
        o->precondition_version = lab_val_str(before, "resourceVersion");
    o->dry_run |= yyjson_arr_size(yyjson_obj_get(body, "dryRun")) > 0;
    return 0;
}

static int check_preconditions(struct lab_call *call, const struct lab_object *o)
{
    const char *uid = call->options.precondition_uid, *version = call->options.precondition_version;
    long long have;
    if (uid && !kb_streq(uid, o->meta->uid)) {
        lab_fail(
            call, 409, "Conflict",
            "Operation cannot be fulfilled on %s \"%s\": the UID in the precondition (%s) does not match the UID in "
            "record (%s). The object might have been deleted and then recreated",
            call->kind->name, call->name, uid, o->meta->uid);
        call->failure.kind = call->kind->name;
        return -1;
    }
    if (version && (!kb_parse_int(version, 0, INT64_MAX, &have) || have != o->resource_version))
        return lab_fail_conflict(call, kb_arena_printf(call->arena,
                                                       "Precondition failed: ResourceVersion in precondition: %s, "
                                                       "ResourceVersion in object meta: %lld",
                                                       version, (long long)o->resource_version));
    return 0;
}

/* How long the object may take: only Pods that run on a node have a grace period. */
static int64_t grace_of(struct lab_call *call, yyjson_val *root)
{
    if (!kb_streq(call->kind->resource, "pods"))
        return 0;
    const char *phase = lab_val_str(yyjson_obj_get(root, "status"), "phase");
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    if (!*lab_val_str(spec, "nodeName") || kb_streq(phase, "Succeeded") || kb_streq(phase, "Failed"))
        return 0;
    if (call->options.grace_seconds >= 0)
        return call->options.grace_seconds;
    yyjson_val *own = yyjson_obj_get(spec, "terminationGracePeriodSeconds");
    int64_t seconds = yyjson_is_int(own) ? yyjson_get_sint(own) : 30;
    return seconds < 0 ? 1 : seconds;
}

static void remove_finalizer(yyjson_mut_val *list, const char *name)
{
    size_t n = yyjson_mut_arr_size(list);
    for (size_t i = n; i-- > 0;)
        if (yyjson_mut_equals_str(yyjson_mut_arr_get(list, i), name))
            yyjson_mut_arr_remove(list, i);
}

/* The policy becomes a finalizer that the garbage collector takes away. */
static void apply_propagation(struct lab_write *w)
{
    const char *policy = w->call->options.propagation;
    if (!policy && kb_streq(w->call->kind->resource, "jobs.batch"))
        policy = "Orphan"; /* their Pods' logs are worth keeping */
    if (!policy)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_get(w->metadata, "finalizers");
    if (!list)
        list = yyjson_mut_arr(w->doc);
    remove_finalizer(list, "orphan");
    remove_finalizer(list, "foregroundDeletion");
    if (kb_streq(policy, "Orphan"))
        yyjson_mut_arr_add_str(w->doc, list, "orphan");
    if (kb_streq(policy, "Foreground"))
        yyjson_mut_arr_add_str(w->doc, list, "foregroundDeletion");
    if (yyjson_mut_arr_size(list))
        lab_mut_put(w->doc, w->metadata, "finalizers", list);
    else
        lab_mut_drop(w->metadata, "finalizers");
}

static void mark(struct lab_write *w, int64_t grace)
{
    yyjson_mut_val *had = yyjson_mut_obj_get(w->metadata, "deletionGracePeriodSeconds");
    bool deleting = *lab_mut_str(w->metadata, "deletionTimestamp");
    if (deleting && (w->call->options.grace_seconds < 0 || yyjson_mut_get_sint(had) <= grace))
        return; /* a later deletion may only shorten the period */
    int64_t now = w->call->server->clock->wall(w->call->server->clock);
    lab_mut_put_str(w->doc, w->metadata, "deletionTimestamp", kb_time_text(w->arena, now + grace * KB_NS_PER_S));
    lab_mut_put_int(w->doc, w->metadata, "deletionGracePeriodSeconds", grace);
    yyjson_mut_val *generation = yyjson_mut_obj_get(w->metadata, "generation");
    if (generation && !deleting)
        lab_mut_put_int(w->doc, w->metadata, "generation", yyjson_mut_get_sint(generation) + 1);
    if (kb_streq(w->call->kind->resource, "namespaces"))
        lab_mut_put_str(w->doc, lab_mut_object(w->doc, w->root, "status"), "phase", "Terminating");
}

static void answer_removed(struct lab_call *call, struct lab_object *last)
{
    static const char *const shows_object[] = {"pods", "persistentvolumeclaims", "persistentvolumes"};
    if (kb_in_list(call->kind->resource, shows_object, KB_ARRAY_LEN(shows_object))) {
        lab_call_return(call, 200, lab_object_ref(last));
        return;
    }
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *s = lab_json_mut(
        doc, call->arena, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\"}");
    yyjson_mut_val *details = yyjson_mut_obj_add_obj(doc, s, "details");
    yyjson_mut_obj_add_strcpy(doc, details, "name", last->meta->name);
    if (*call->kind->group)
        yyjson_mut_obj_add_str(doc, details, "group", call->kind->group);
    yyjson_mut_obj_add_str(doc, details, "kind", call->kind->plural);
    yyjson_mut_obj_add_strcpy(doc, details, "uid", last->meta->uid);
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = 200};
    call->result.text = lab_json_write(call->arena, s, &call->result.length);
}

static bool is_over(struct lab_write *w, int64_t grace)
{
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(w->metadata, "finalizers")))
        return false;
    if (kb_streq(w->call->kind->resource, "namespaces"))
        return !yyjson_mut_arr_size(LAB_AT(w->root, "spec", "finalizers"));
    return grace == 0;
}

/* Pods go in two steps also when they get no time: marked first, which watches see as a change of its own. */
static void remove_stored(struct lab_call *call, struct lab_object *old, struct lab_object *marked)
{
    struct lab_object *last = old;
    if (kb_streq(call->kind->resource, "pods") &&
        (marked->length != old->length || memcmp(marked->text, old->text, old->length) != 0)) {
        lab_store_put(call->server, call->resource, old, marked);
        last = marked;
    }
    lab_store_remove(call->server, call->resource, last, last);
}

/* 1: done; 0: somebody else was faster; negative: failed. */
static int delete_once(struct lab_write *w)
{
    struct lab_call *call = w->call;
    w->old_root = lab_object_parse(w->arena, w->old, NULL);
    w->doc = lab_json_doc(w->arena);
    w->root = yyjson_val_mut_copy(w->doc, w->old_root);
    w->metadata = yyjson_mut_obj_get(w->root, "metadata");
    apply_propagation(w);
    int64_t grace = grace_of(call, w->old_root);
    bool over = is_over(w, grace);
    mark(w, grace);
    lab_cleanup_object struct lab_object *object = lab_object_new(call->resource, w->doc, w->root);
    bool unchanged =
        !over && object->length == w->old->length && memcmp(object->text, w->old->text, object->length) == 0;
    lab_server_lock(call->server);
    int rc = lab_store_find(call->resource, w->key) == w->old;
    if (rc && over && !call->options.dry_run)
        remove_stored(call, w->old, object);
    else if (rc && !unchanged && !call->options.dry_run)
        lab_store_put(call->server, call->resource, w->old, object);
    if (rc && !unchanged && !call->options.dry_run) {
        lab_gc_object_changed(call->server, call->resource, w->old, over ? NULL : object);
        const struct lab_strategy *s = lab_strategy_of(call->kind);
        if (s->committed)
            s->committed(call, w->old, over ? NULL : object);
    }
    lab_server_unlock(call->server);
    if (rc && over)
        answer_removed(call, object);
    else if (rc)
        lab_call_return(call, 200, lab_object_ref(unchanged ? w->old : object));
    return rc;
}

int lab_serve_delete(struct lab_call *call)
{
    if (lab_deletion_options(call) < 0)
        return -1;
    for (;;) {
        lab_server_lock(call->server);
        lab_cleanup_object struct lab_object *old = lab_store_find(call->resource, lab_call_key(call));
        if (old)
            lab_object_ref(old);
        lab_server_unlock(call->server);
        if (!old)
            return lab_fail_not_found(call, call->name);
        if (check_preconditions(call, old) < 0)
            return -1;
        struct lab_write w = {.call = call, .arena = call->arena, .old = old, .key = old->meta->key};
        int rc = delete_once(&w);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
}

int lab_serve_delete_collection(struct lab_call *call)
{
    if (lab_deletion_options(call) < 0 || lab_serve_list(call) < 0)
        return -1;
    for (size_t i = 0; i < call->result.n; i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        const struct lab_meta *meta = call->result.items[i]->meta;
        struct lab_call one = *call;
        one.arena = arena;
        one.namespace_ = *meta->namespace_ ? meta->namespace_ : NULL;
        one.name = meta->name;
        one.result = (struct lab_result){0};
        lab_serve_delete(&one); /* gone meanwhile is as good */
        lab_call_done(&one);
    }
    return 0;
}
