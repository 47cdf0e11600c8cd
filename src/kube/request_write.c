/*
 * Writing from a reconcile. Updates are merge patches of what differs, with the resourceVersion as precondition;
 * nothing that differs, no request. The API server drops a null that a merge patch has inside a list, but Go's clients
 * write some (times of conditions) and compare them in tests: an update with such a null is a JSON patch.
 *
 * The answer is put into every store of its kind that would have it, so that the next look-up sees it: where an object
 * of its key is already, and where a new one matches the informer's selector. What a store keeps only in part is
 * decoded once more for it; what a store has already, because the watch was faster, is not decoded at all.
 *
 * Creations and deletions are sent a second time when the first had no answer, a conflict or a server's error: a
 * creation only after a look whether the first was done. So what failed once is nothing that anyone is told of.
 */
#include "base/strings.h"
#include "kube/runtime_internal.h"
#include "kube/selector.h"
#include "kube/store_internal.h"
#include <stdlib.h>

#define GENERATED_PREFIX_MAX 58 /* the API server's: room for the suffix in a label of 63 characters */
#define GENERATED_SUFFIX     5

/* ---- the answer ---- */

static bool informer_covers(struct kube_runtime_informer *informer, const struct api_any *any)
{
    const struct kube_informer_spec *spec = informer->spec;
    struct kube_store *store = kube_informer_store(informer->informer);
    if (!kb_empty(spec->namespace_) && !kb_streq(spec->namespace_, any->metadata.namespace))
        return false;
    const struct api_object *present = kube_store_get(store, any->metadata.namespace, any->metadata.name);
    api_object_unref(present);
    return present ||
           (kb_empty(spec->field_selector) && kube_selector_matches(spec->label_selector, &any->metadata.labels));
}

/* The write took the last finalizer of an object that was being deleted: the answer is its last state. */
static bool is_gone(const struct meta_object_meta *meta)
{
    return api_is_being_deleted(meta) && meta->finalizers.n == 0 &&
           (!meta->deletion_grace_period_seconds || *meta->deletion_grace_period_seconds == 0);
}

static void put_into_store(struct kube_runtime_informer *informer, yyjson_val *value, const struct api_object *full)
{
    struct kube_store *store = kube_informer_store(informer->informer);
    const struct api_object *part;
    if (is_gone(&((const struct api_any *)api_object_data(full))->metadata)) {
        kube_store_remove_written(store, full);
        return;
    }
    if (!informer->spec->projection) {
        kube_store_put_written(store, full);
        return;
    }
    if (api_decode_shared(informer->spec->type, value, informer->spec->projection, &part, NULL) < 0)
        return; /* the watch will bring it */
    kube_store_put_written(store, part);
    api_object_unref(part);
}

static const struct api_object *in_store(struct kube_store *store, yyjson_val *metadata)
{
    const char *version = kube_text_at(metadata, "resourceVersion");
    const struct api_object *object =
        kube_store_get(store, kube_text_at(metadata, "namespace"), kube_text_at(metadata, "name"));
    if (object && *version && kb_streq(kube_text(kube_object_meta(object)->resource_version), version) &&
        kb_streq(kube_text(kube_object_meta(object)->uid), kube_text_at(metadata, "uid")))
        return object;
    api_object_unref(object);
    return NULL;
}

/* The watch was faster, and a store has this very state. (Not of what is being deleted: the write that takes the last
 * finalizer is answered with the version from before.) */
static const struct api_object *find_known(struct kube_request *req, const struct api_type *type, yyjson_val *value)
{
    yyjson_val *metadata = yyjson_obj_get(value, "metadata");
    if (yyjson_obj_get(metadata, "deletionTimestamp"))
        return NULL;
    for (int id = 0; id < KUBE_MAX_INFORMERS; id++) {
        struct kube_runtime_informer *informer = req->runtime->informers[id];
        if (!informer || informer->spec->type != type || informer->spec->projection)
            continue;
        const struct api_object *object = in_store(kube_informer_store(informer->informer), metadata);
        if (object)
            return object;
    }
    return NULL;
}

static int take_answer(struct kube_request *req, const struct api_type *type, const struct kb_strbuf *body,
                       const void **ret, struct kube_error *reterr)
{
    const struct api_object *object;
    yyjson_doc *doc;
    if (api_parse(kb_strbuf_text(body), body->length, &doc, reterr) < 0)
        return kube_error_wrap(reterr, "answer");
    object = find_known(req, type, yyjson_doc_get_root(doc));
    if (!object && api_decode_shared(type, yyjson_doc_get_root(doc), NULL, &object, reterr) < 0) {
        yyjson_doc_free(doc);
        return kube_error_wrap(reterr, "answer");
    }
    const void *data = kube_request_pin(req, object);
    for (int id = 0; id < KUBE_MAX_INFORMERS; id++) {
        struct kube_runtime_informer *informer = req->runtime->informers[id];
        if (informer && informer->spec->type == type && informer_covers(informer, data))
            put_into_store(informer, yyjson_doc_get_root(doc), object);
    }
    yyjson_doc_free(doc);
    if (ret)
        *ret = data;
    return 0;
}

struct write {
    const struct api_type *type;
    enum kube_verb verb;
    enum kube_content content;
    const char *namespace_, *name, *subresource;
    const char *body;
};

static int send_write(struct kube_request *req, const struct write *write, const void **ret, struct kube_error *reterr)
{
    struct kb_strbuf answer = {.arena = req->arena};
    const struct kube_target target = {
        .resource = write->type->resource,
        .namespace_ = write->namespace_,
        .name = write->name,
        .subresource = write->subresource,
    };
    int r = kube_call(kube_request_client(req), write->verb, &target, write->content, write->body, strlen(write->body),
                      &answer, reterr);
    if (r < 0)
        return r;
    return take_answer(req, write->type, &answer, ret, reterr);
}

/* ---- create, update, patch ---- */

/* With kind and apiVersion, which controllers need not set. */
static const char *whole_text(struct kube_request *req, const struct api_type *type, const void *object)
{
    const struct api_resource *resource = type->resource;
    struct api_any *any = kb_arena_copy(req->arena, object, type->size);
    any->kind = resource->kind;
    any->api_version = api_version_text(req->arena, resource);
    return api_encode_text(req->arena, type, any, 0);
}

static bool outcome_is_unknown(const struct kube_error *error)
{
    return error->kind == KUBE_ERROR_CONNECTION || error->kind == KUBE_ERROR_TIMEOUT || error->http_status >= 500;
}

/* What may be sent once more at once: the answer was lost, the server stumbled, or another write came in between. */
static bool is_worth_another_try(const struct kube_error *error)
{
    return outcome_is_unknown(error) || kube_error_is_conflict(error);
}

/* The name that the API server would choose. Chosen here, so that a creation whose answer is lost can be looked for. */
static const char *generated_name(struct kube_request *req, const char *prefix)
{
    char suffix[GENERATED_SUFFIX + 1];
    kb_random_suffix(kube_request_random(req), suffix, GENERATED_SUFFIX);
    return kb_arena_printf(req->arena, "%.*s%s", GENERATED_PREFIX_MAX, prefix, suffix);
}

static const char *controller_uid(const struct api_any *any)
{
    const struct meta_owner_reference *owner = api_controller_of(&any->metadata);
    return owner ? owner->uid : "";
}

/* Whether `live` is what a creation of `any` made: a name that was chosen at random tells, or the same controller. */
static bool was_made_by(const struct api_any *live, const struct api_any *any)
{
    if (live->metadata.deletion_timestamp)
        return false;
    return !kb_empty(any->metadata.generate_name) ||
           (*controller_uid(any) && kb_streq(controller_uid(live), controller_uid(any)));
}

/* 1: it is there after all, and in *ret; 0: it is not, or is of a kind that is never stored; negative: not known. */
static int find_created(struct kube_request *req, const struct write *write, const struct api_any *any,
                        const void **ret)
{
    struct kb_strbuf answer = {.arena = req->arena};
    struct kube_error error = {0};
    const struct kube_target target = {
        .resource = write->type->resource, .namespace_ = write->namespace_, .name = any->metadata.name};
    const void *live;
    if (kb_empty(any->metadata.name))
        return 0;
    if (kube_call(kube_request_client(req), KUBE_GET, &target, KUBE_JSON, NULL, 0, &answer, &error) < 0)
        return kube_error_is_not_found(&error) ? 0 : -1;
    if (take_answer(req, write->type, &answer, &live, &error) < 0 || !was_made_by(live, any))
        return -1;
    if (ret)
        *ret = live;
    return 1;
}

/* After a first try that failed with *error. What came late is there when the second is told that its name is taken. */
static int create_again(struct kube_request *req, const struct write *write, const struct api_any *any,
                        const void **ret, struct kube_error *error)
{
    const bool unknown = outcome_is_unknown(error);
    const int found = unknown ? find_created(req, write, any, ret) : 0;
    if (found != 0)
        return found < 0 ? -1 : 0;
    if (send_write(req, write, ret, error) == 0)
        return 0;
    return unknown && kube_error_is_already_exists(error) && find_created(req, write, any, ret) > 0 ? 0 : -1;
}

int kube_create(struct kube_request *req, const struct api_type *type, const void *object, const void **ret,
                struct kube_error *reterr)
{
    struct kube_error error = {0};
    struct api_any *any = kb_arena_copy(req->arena, object, type->size);
    const bool generated = kb_empty(any->metadata.name) && !kb_empty(any->metadata.generate_name);
    if (generated)
        any->metadata.name = generated_name(req, any->metadata.generate_name);
    struct write write = {
        .type = type,
        .verb = KUBE_CREATE,
        .content = KUBE_JSON,
        .namespace_ = any->metadata.namespace,
        .body = whole_text(req, type, any),
    };
    int r = send_write(req, &write, ret, &error);
    const bool unknown = r < 0 && outcome_is_unknown(&error);
    if (r < 0 && is_worth_another_try(&error))
        r = create_again(req, &write, any, ret, &error);
    if (r < 0 && generated && !unknown && kube_error_is_api(&error, 403)) {
        /* Some admission plugins look before the server names an object, and their words go on to users: as it would
         * have put them. */
        any->metadata.name = "";
        write.body = whole_text(req, type, any);
        r = send_write(req, &write, ret, &error);
    }
    if (r < 0 && reterr)
        *reterr = error;
    return r;
}

/* Merge patch as text; NULL when nothing differs. */
static const char *encode_patch(struct kube_request *req, yyjson_mut_doc *doc, yyjson_mut_val *patch,
                                const char *version)
{
    size_t n;
    if (!patch || yyjson_mut_obj_size(patch) == 0)
        return NULL;
    yyjson_mut_val *metadata = yyjson_mut_obj_get(patch, "metadata");
    if (!metadata)
        metadata = yyjson_mut_obj_add_obj(doc, patch, "metadata");
    yyjson_mut_obj_remove_key(metadata, "resourceVersion");
    if (!kb_empty(version))
        yyjson_mut_obj_add_str(doc, metadata, "resourceVersion", version);
    char *text = yyjson_mut_val_write(patch, 0, &n);
    const char *copy = kb_arena_strndup(req->arena, text, n);
    free(text);
    return copy;
}

/* What differs in `status` alone, or in everything but what the API server sets and (with_status: false) the status. */
static void reduce(yyjson_mut_doc *doc, yyjson_mut_val *patch, bool status_only, bool with_status)
{
    if (!with_status)
        yyjson_mut_obj_remove_key(patch, "status");
    if (!status_only)
        return;
    yyjson_mut_val *status = yyjson_mut_obj_get(patch, "status");
    yyjson_mut_obj_clear(patch);
    if (status)
        yyjson_mut_obj_add_val(doc, patch, "status", status);
}

static bool only_version_differs(yyjson_mut_val *patch)
{
    yyjson_mut_val *metadata = yyjson_mut_obj_get(patch, "metadata");
    return yyjson_mut_obj_size(patch) == 1 && yyjson_mut_obj_size(metadata) == 1 &&
           yyjson_mut_obj_get(metadata, "resourceVersion");
}

/* ---- the same as JSON patch ---- */

static bool has_null_in_list(yyjson_mut_val *value, bool in_list)
{
    size_t i, n;
    yyjson_mut_val *key, *item;
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, i, n, item)
        {
            if (has_null_in_list(item, true))
                return true;
        }
    } else if (yyjson_mut_is_obj(value)) {
        yyjson_mut_obj_foreach(value, i, n, key, item)
        {
            if (has_null_in_list(item, in_list))
                return true;
        }
    }
    return in_list && yyjson_mut_is_null(value);
}

static bool is_wanted(const char *path, bool status_only, bool with_status)
{
    if (kb_streq(path, "/status") || kb_starts_with(path, "/status/"))
        return with_status;
    return !status_only && !kb_streq(path, "/metadata/resourceVersion");
}

/* The version is replaced by what it should be: another one is a conflict, as in a merge patch. */
static const char *json_patch_text(struct kube_request *req, const struct api_type *type, const void *before,
                                   const void *after, bool status_only, bool with_status)
{
    const struct api_any *any = before;
    struct kube_json_patch patch = kube_json_patch_new(req);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *operations = api_diff_json(doc, type, before, after), *operation;
    size_t i, n;
    if (!kb_empty(any->metadata.resource_version))
        kube_json_patch_op(&patch, "replace", "/metadata/resourceVersion",
                           kb_arena_printf(req->arena, "\"%s\"", any->metadata.resource_version));
    yyjson_mut_arr_foreach(operations, i, n, operation)
    {
        const char *path = yyjson_mut_get_str(yyjson_mut_obj_get(operation, "path"));
        if (!is_wanted(path, status_only, with_status))
            continue;
        char *value = yyjson_mut_val_write(yyjson_mut_obj_get(operation, "value"), 0, NULL);
        kube_json_patch_op(&patch, yyjson_mut_get_str(yyjson_mut_obj_get(operation, "op")), path, value);
        free(value);
    }
    yyjson_mut_doc_free(doc);
    return kube_json_patch_text(&patch);
}

static const char *update_patch(struct kube_request *req, const struct api_type *type, const void *before,
                                const void *after, bool status_only, enum kube_content *ret_content)
{
    const struct api_any *any = before;
    const bool with_status = status_only || !type->resource->has_status;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *patch = api_diff_merge(doc, type, before, after);
    const char *text = NULL;
    *ret_content = KUBE_MERGE_PATCH;
    if (patch) {
        reduce(doc, patch, status_only, with_status);
        if (has_null_in_list(patch, false)) {
            *ret_content = KUBE_JSON_PATCH;
            text = json_patch_text(req, type, before, after, status_only, with_status);
        } else if (!only_version_differs(patch)) {
            text = encode_patch(req, doc, patch, any->metadata.resource_version);
        }
    }
    yyjson_mut_doc_free(doc);
    return text;
}

static int patch_object(struct kube_request *req, const struct api_type *type, const void *object,
                        const char *subresource, enum kube_content content, const char *patch, const void **ret,
                        struct kube_error *reterr)
{
    const struct api_any *any = object;
    struct write write = {
        .type = type,
        .verb = KUBE_PATCH,
        .content = content,
        .namespace_ = any->metadata.namespace,
        .name = any->metadata.name,
        .subresource = subresource,
        .body = patch,
    };
    return send_write(req, &write, ret, reterr);
}

static int update(struct kube_request *req, const struct api_type *type, const void *before, const void *after,
                  bool status_only, const void **ret, struct kube_error *reterr)
{
    enum kube_content content;
    const char *patch = update_patch(req, type, before, after, status_only, &content);
    const char *subresource = status_only && type->resource->has_status ? "status" : NULL;
    if (patch)
        return patch_object(req, type, before, subresource, content, patch, ret, reterr);
    if (ret)
        *ret = before;
    return 0;
}

int kube_update(struct kube_request *req, const struct api_type *type, const void *before, const void *after,
                const void **ret, struct kube_error *reterr)
{
    return update(req, type, before, after, false, ret, reterr);
}

int kube_update_status(struct kube_request *req, const struct api_type *type, const void *before, const void *after,
                       const void **ret, struct kube_error *reterr)
{
    return update(req, type, before, after, true, ret, reterr);
}

int kube_replace(struct kube_request *req, const struct api_type *type, const void *before, const void *after,
                 const void **ret, struct kube_error *reterr)
{
    const struct api_any *any = before;
    struct api_any *whole = kb_arena_copy(req->arena, after, type->size);
    whole->metadata.resource_version = any->metadata.resource_version;
    struct write write = {
        .type = type,
        .verb = KUBE_UPDATE,
        .content = KUBE_JSON,
        .namespace_ = any->metadata.namespace,
        .name = any->metadata.name,
        .body = whole_text(req, type, whole),
    };
    return send_write(req, &write, ret, reterr);
}

int kube_patch(struct kube_request *req, const struct api_type *type, const void *object, const char *subresource,
               enum kube_content content, const char *patch, const void **ret, struct kube_error *reterr)
{
    return patch_object(req, type, object, subresource, content, patch, ret, reterr);
}

/* ---- delete, evict, paths ---- */

static int send_delete(struct kube_request *req, const struct api_type *type, const struct api_any *any,
                       const struct kube_delete_options *options, struct kube_error *ret_error)
{
    *ret_error = (struct kube_error){0};
    int r = kube_client_delete(kube_request_client(req), type, any->metadata.namespace, any->metadata.name, options,
                               ret_error);
    return r < 0 && kube_error_is_not_found(ret_error) ? 0 : r;
}

int kube_delete(struct kube_request *req, const struct api_type *type, const void *object, struct kube_error *reterr)
{
    const struct kube_delete_options options = {.grace_period_seconds = -1};
    return kube_delete_with(req, type, object, &options, reterr);
}

int kube_delete_with(struct kube_request *req, const struct api_type *type, const void *object,
                     const struct kube_delete_options *options, struct kube_error *reterr)
{
    const struct api_any *any = object;
    struct kube_delete_options with_uid = *options;
    struct kube_error error = {0};
    if (!with_uid.uid && !kb_empty(any->metadata.uid))
        with_uid.uid = any->metadata.uid;
    int r = send_delete(req, type, any, &with_uid, &error);
    if (r < 0 && with_uid.uid && is_worth_another_try(&error))
        r = send_delete(req, type, any, &with_uid, &error);
    if (r < 0 && reterr)
        *reterr = error;
    return r;
}

int kube_evict(struct kube_request *req, const void *pod, struct kube_error *reterr)
{
    static const struct api_resource pods = {.version = "v1", .kind = "Pod", .plural = "pods", .namespaced = true};
    const struct api_any *any = pod;
    const struct kube_target target = {.resource = &pods,
                                       .namespace_ = any->metadata.namespace,
                                       .name = any->metadata.name,
                                       .subresource = "eviction"};
    struct kb_strbuf body = {.arena = req->arena};
    kb_strbuf_puts(&body, "{\"kind\":\"Eviction\",\"apiVersion\":\"policy/v1\",\"metadata\":{\"name\":");
    kb_strbuf_json_string(&body, any->metadata.name, strlen(any->metadata.name));
    kb_strbuf_puts(&body, ",\"namespace\":");
    kb_strbuf_json_string(&body, any->metadata.namespace, strlen(any->metadata.namespace));
    kb_strbuf_puts(&body, "}}");
    return kube_call(kube_request_client(req), KUBE_CREATE, &target, KUBE_JSON, body.data, body.length, NULL, reterr);
}

int kube_put_path(struct kube_request *req, const char *path, const char *body, struct kb_strbuf *ret_body,
                  struct kube_error *reterr)
{
    return kube_call_raw(kube_request_client(req), KUBE_UPDATE, path, KUBE_JSON, body, strlen(body), ret_body, reterr);
}
