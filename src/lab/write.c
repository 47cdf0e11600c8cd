/*
 * Creation and change of objects, see write.h. The object is made and serialised without the lock; only the commit
 * holds it.
 */
#include "lab/write.h"
#include "base/strings.h"
#include "base/time.h"
#include "lab/admission.h"
#include "lab/deletion.h"
#include "lab/json.h"
#include "lab/metadata.h"
#include "lab/schema.h"
#include "lab/server_internal.h"

#define NAME_ATTEMPTS 8

yyjson_mut_val *lab_write_old(struct lab_write *w, const char *member)
{
    yyjson_val *v = yyjson_obj_get(w->old_root, member);
    return v ? yyjson_val_mut_copy(w->doc, v) : NULL;
}

void lab_write_restore(struct lab_write *w, const char *member)
{
    yyjson_mut_val *v = lab_write_old(w, member);
    if (v)
        lab_mut_put(w->doc, w->root, member, v);
    else
        lab_mut_drop(w->root, member);
}

const char *lab_write_now(struct lab_write *w)
{
    return kb_time_text(w->arena, w->call->server->clock->wall(w->call->server->clock));
}

/* What the kind itself wants: defaults, checks, generation. */
static int finish(struct lab_write *w, const struct lab_strategy *s)
{
    const struct lab_kind *kind = w->call->kind;
    const struct lab_version *version = w->call->version;
    if (kind->custom && version->schema && lab_schema_apply(w, version->schema) < 0)
        return -1;
    if (s->defaults)
        s->defaults(w);
    lab_metadata_validate(w);
    if (kind->custom && version->schema)
        lab_schema_validate(w, version->schema, version->has_rules);
    if (s->validate)
        s->validate(w);
    if (w->call->failure.n)
        return lab_fail_invalid(w->call, lab_mut_str(w->metadata, "name"));
    return 0;
}

static int check_type(struct lab_call *call, yyjson_val *body)
{
    if (!yyjson_is_obj(body))
        return lab_fail_bad_request(call, "the request body must be a JSON object");
    const char *version = lab_val_str(body, "apiVersion"), *kind = lab_val_str(body, "kind");
    if (*version && !kb_streq(version, call->version->api_version))
        return lab_fail_bad_request(call,
                                    "the API version in the data (%s) does not match the expected API version (%s)",
                                    version, call->version->api_version);
    if (*kind && !kb_streq(kind, call->kind->name))
        return lab_fail_bad_request(
            call,
            "%s in version \"%s\" cannot be handled as a %s: converting (%s.%s) to (%s): unknown "
            "conversion",
            kind, call->version->name, call->kind->name, call->version->name, kind, call->kind->name);
    return 0;
}

static int check_namespace(struct lab_call *call, const char *given)
{
    if (!call->kind->namespaced || !*given || kb_streq_null(given, call->namespace_))
        return 0;
    return lab_fail_bad_request(call, "the namespace of the provided object does not match the namespace sent on the "
                                      "request");
}

static int begin_create(struct lab_write *w, yyjson_val *body)
{
    struct lab_call *call = w->call;
    if (check_type(call, body) < 0)
        return -1;
    w->doc = lab_json_doc(w->arena);
    w->root = yyjson_val_mut_copy(w->doc, body);
    w->metadata = lab_mut_object(w->doc, w->root, "metadata");
    if (check_namespace(call, lab_mut_str(w->metadata, "namespace")) < 0)
        return -1;
    if (*lab_mut_str(w->metadata, "resourceVersion"))
        return lab_fail(call, 500, "", "resourceVersion should not be set on objects to be created");
    const char *name = lab_mut_str(w->metadata, "name");
    if (call->name && *name && !kb_streq(call->name, name))
        return lab_fail_bad_request(call, "the name of the object (%s) does not match the name on the URL (%s)", name,
                                    call->name);
    if (call->name)
        lab_mut_put_str(w->doc, w->metadata, "name", call->name);
    if (!*lab_mut_str(w->metadata, "name") && !*lab_mut_str(w->metadata, "generateName")) {
        lab_cause_required(call, "metadata.name", "name or generateName is required");
        return lab_fail_invalid(call, "");
    }
    return 0;
}

/* Lock held. */
static int check_home(struct lab_call *call)
{
    if (!call->kind->namespaced)
        return 0;
    struct lab_object *ns = lab_store_find(lab_server_resource(call->server, "namespaces"), call->namespace_);
    if (!ns) {
        lab_fail(call, 404, "NotFound", "namespaces \"%s\" not found", call->namespace_);
        call->failure.name = call->namespace_;
        call->failure.group = "";
        call->failure.kind = "namespaces";
        return -1;
    }
    if (!ns->meta->deleting)
        return 0;
    lab_fail_forbidden(call, "unable to create new content in namespace %s because it is being terminated",
                       call->namespace_);
    lab_cause(call, "NamespaceTerminating", "metadata.namespace", "namespace %s is being terminated", call->namespace_);
    return -1;
}

/* Lock held. */
static void committed(struct lab_call *call, struct lab_object *old, struct lab_object *new_)
{
    const struct lab_strategy *s = lab_strategy_of(call->kind);
    lab_gc_object_changed(call->server, call->resource, old, new_);
    if (s->committed)
        s->committed(call, old, new_);
}

static int commit_create(struct lab_write *w, struct lab_object *object)
{
    struct lab_call *call = w->call;
    lab_server_lock(call->server);
    int rc = check_home(call);
    const struct lab_object *there = lab_store_find(call->resource, object->meta->key);
    if (rc == 0 && there)
        rc = lab_fail(call, 409, "AlreadyExists", "%s%s \"%s\" already exists",
                      there->meta->deleting ? "object is being deleted: " : "", call->kind->resource,
                      object->meta->name);
    if (rc == 0 && !call->options.dry_run) {
        lab_store_put(call->server, call->resource, NULL, object);
        committed(call, NULL, object);
    }
    lab_server_unlock(call->server);
    if (rc < 0 && call->failure.code == 409)
        call->failure.name = kb_arena_strdup(call->arena, object->meta->name);
    return rc;
}

/* Mutating admission knows a generated name only by its beginning. */
static int admit(struct lab_write *w, const struct lab_strategy *s)
{
    if (!s->admit)
        return 0;
    const char *name = w->call->name, *beginning = lab_mut_str(w->metadata, "generateName");
    if (*beginning)
        w->call->name = beginning;
    int rc = s->admit(w);
    w->call->name = name;
    return rc;
}

static int create_once(struct lab_call *call, yyjson_val *body)
{
    const struct lab_strategy *s = lab_strategy_of(call->kind);
    struct lab_write w = {.call = call, .arena = call->arena};
    if (begin_create(&w, body) < 0)
        return -1;
    lab_metadata_prepare_create(&w);
    call->name = kb_arena_strdup(call->arena, lab_mut_str(w.metadata, "name"));
    if (!call->kind->custom && !s->verbatim)
        lab_mut_drop_nulls(w.root);
    if (!s->keep_status && call->version->status)
        lab_mut_drop(w.root, "status");
    if (s->prepare_create)
        s->prepare_create(&w);
    if (s->defaults)
        s->defaults(&w);
    if (admit(&w, s) < 0 || finish(&w, s) < 0)
        return -1;
    if (s->review && s->review(&w) < 0)
        return -1;
    if (lab_admit_quota(&w) < 0)
        return -1;
    lab_cleanup_object struct lab_object *object = lab_object_new(call->resource, w.doc, w.root);
    if (commit_create(&w, object) < 0)
        return -1;
    lab_call_return(call, 201, KB_TAKE_PTR(object));
    return 0;
}

int lab_write_create(struct lab_call *call, yyjson_val *body)
{
    const char *given = call->name;
    bool generated = !given && !*lab_val_str(yyjson_obj_get(body, "metadata"), "name");
    int rc = -1;
    for (int i = 0; i < NAME_ATTEMPTS; i++) {
        call->name = given;
        call->failure = (struct lab_failure){0};
        rc = create_once(call, body);
        if (rc == 0 || !generated || !kb_streq_null(call->failure.reason, "AlreadyExists"))
            break;
    }
    return rc;
}

/* The stored object, referenced. */
static struct lab_object *current(struct lab_call *call)
{
    lab_server_lock(call->server);
    struct lab_object *o = lab_store_find(call->resource, lab_call_key(call));
    if (o)
        lab_object_ref(o);
    lab_server_unlock(call->server);
    return o;
}

static int check_change(struct lab_write *w)
{
    struct lab_call *call = w->call;
    if (!yyjson_mut_is_obj(w->root))
        return lab_fail_bad_request(call, "the request body must be a JSON object");
    w->metadata = lab_mut_object(w->doc, w->root, "metadata");
    if (check_namespace(call, lab_mut_str(w->metadata, "namespace")) < 0)
        return -1;
    const char *name = lab_mut_str(w->metadata, "name");
    if (*name && !kb_streq(name, call->name))
        return lab_fail_bad_request(call, "the name of the object (%s) does not match the name on the URL (%s)", name,
                                    call->name);
    const char *version = lab_mut_str(w->metadata, "resourceVersion");
    if (!*version || kb_streq(version, "0")) {
        if (call->kind->unconditional_update)
            return 0;
        lab_cause_invalid(call, "metadata.resourceVersion", "0", "must be specified for an update");
        lab_fail_invalid(call, call->name);
        call->failure.kind = call->kind->plural;
        call->failure.message = kb_arena_printf(call->arena,
                                                "%s \"%s\" is invalid: metadata.resourceVersion: Invalid "
                                                "value: 0: must be specified for an update",
                                                call->kind->resource, call->name);
        return -1;
    }
    long long have;
    if (!kb_parse_int(version, 0, INT64_MAX, &have) || have != w->old->resource_version)
        return lab_fail_conflict(call, NULL);
    const char *uid = lab_mut_str(w->metadata, "uid");
    bool other = *uid && !kb_streq(uid, w->old->meta->uid);
    if (other && call->verb == LAB_VERB_PATCH) {
        lab_cause_invalid(call, "metadata.uid", kb_quote(call->arena, uid), "field is immutable");
        return lab_fail_invalid(call, call->name);
    }
    if (other)
        return lab_fail_conflict(call, kb_arena_printf(call->arena,
                                                       "Precondition failed: UID in precondition: %s, UID in object "
                                                       "meta: %s",
                                                       uid, w->old->meta->uid));
    return 0;
}

/* Which parts of the object the subresource, or its absence, keeps. */
static void keep_parts(struct lab_write *w)
{
    struct lab_call *call = w->call;
    if (!kb_streq_null(call->subresource, "status")) {
        if (call->version->status && !w->whole)
            lab_write_restore(w, "status");
        return;
    }
    yyjson_mut_val *status = yyjson_mut_obj_get(w->root, "status");
    yyjson_mut_val *metadata = w->metadata;
    w->root = yyjson_val_mut_copy(w->doc, w->old_root);
    if (status)
        lab_mut_put(w->doc, w->root, "status", status);
    else
        lab_mut_drop(w->root, "status");
    w->metadata = yyjson_mut_obj_get(w->root, "metadata");
    /* built-in kinds let their status writers touch labels, annotations and finalizers, too */
    static const char *const open[] = {"managedFields", "labels", "annotations", "finalizers"};
    for (size_t i = 0; i < (call->kind->custom ? 1 : KB_ARRAY_LEN(open)); i++) {
        yyjson_mut_val *v = yyjson_mut_obj_get(metadata, open[i]);
        if (v) /* a copy: a value that is moved takes its place in the old object's list of members with it */
            lab_mut_put(w->doc, w->metadata, open[i], yyjson_mut_val_mut_copy(w->doc, v));
        else
            lab_mut_drop(w->metadata, open[i]);
    }
}

static bool same(struct lab_write *w, const struct lab_object *object)
{
    const struct lab_object *old = w->old;
    if (object->length != old->length)
        return false;
    if (memcmp(object->text, old->text, old->length) == 0)
        return true;
    /* the same members in another order */
    struct lab_object *view = (struct lab_object *)object;
    view->resource_version = old->resource_version;
    bool equal = yyjson_equals(lab_object_parse(w->arena, view, NULL), lab_object_parse(w->arena, old, NULL));
    view->resource_version = 0;
    return equal;
}

/* 1: committed; 0: somebody else was faster; negative: failed. */
static int commit_change(struct lab_write *w, struct lab_object *object)
{
    struct lab_call *call = w->call;
    if (same(w, object)) {
        lab_call_return(call, 200, lab_object_ref(w->old));
        return 1;
    }
    bool ends = lab_deletion_is_over(call->kind, w);
    lab_server_lock(call->server);
    int rc = lab_store_find(call->resource, w->key) == w->old;
    if (rc && !call->options.dry_run) {
        if (ends)
            lab_store_remove(call->server, call->resource, w->old, object);
        else
            lab_store_put(call->server, call->resource, w->old, object);
        committed(call, w->old, ends ? NULL : object);
    }
    lab_server_unlock(call->server);
    if (rc)
        lab_call_return(call, 200, lab_object_ref(object));
    return rc;
}

static int change_once(struct lab_write *w, lab_mutator mutate, void *context)
{
    struct lab_call *call = w->call;
    const struct lab_strategy *s = lab_strategy_of(call->kind);
    w->old_root = lab_object_parse(w->arena, w->old, call->version->api_version);
    w->doc = lab_json_doc(w->arena);
    if (mutate(w, context) < 0 || check_change(w) < 0)
        return -1;
    keep_parts(w);
    if (!call->kind->custom && !s->verbatim)
        lab_mut_drop_nulls(w->root);
    lab_metadata_prepare_update(w);
    if (s->prepare_update)
        s->prepare_update(w);
    if (finish(w, s) < 0)
        return -1;
    lab_metadata_count_generation(w);
    lab_cleanup_object struct lab_object *object = lab_object_new(call->resource, w->doc, w->root);
    return commit_change(w, object);
}

int lab_write_change(struct lab_call *call, lab_mutator mutate, void *context)
{
    for (;;) {
        lab_cleanup_object struct lab_object *old = current(call);
        if (!old)
            return lab_fail_not_found(call, call->name);
        struct lab_write w = {.call = call, .arena = call->arena, .old = old, .key = old->meta->key};
        int rc = change_once(&w, mutate, context);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
}

int lab_serve_create(struct lab_call *call)
{
    return lab_write_create(call, call->body);
}

static int replace_with_body(struct lab_write *w, void *context)
{
    w->root = yyjson_val_mut_copy(w->doc, context);
    return 0;
}

int lab_serve_update(struct lab_call *call)
{
    if (check_type(call, call->body) < 0)
        return -1;
    return lab_write_change(call, replace_with_body, call->body);
}
