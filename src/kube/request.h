/*
 * What one reconcile works with. A request owns an arena and a pin on each cached object that was looked up; all of
 * it goes when reconcile returns. So controllers contain no free and no unref, and a pointer that they got is good
 * until they return.
 *
 * Writing has one idiom: look up (const), kube_edit, change, kube_update(req, old, new):
 *     equal -> no request at all; otherwise one minimal merge patch (JSON patch where a list has nulls, which merge
 * patches lose) with the old resourceVersion as precondition, and the answer is put where the next look-up sees it
 * (read your own writes). A conflict is returned as an error (kube_error_is_conflict) and means: retry; the runtime
 * never logs it as an error.
 *
 * Threads: a request belongs to its worker.
 */
#ifndef KUBE_REQUEST_H
#define KUBE_REQUEST_H

#include "api/codec.h"
#include "api/meta.h"
#include "kube/controller.h"
#include "kube/expectations.h"

/* ---- the key, time, memory ---- */

const char *kube_request_key(const struct kube_request *req);
const char *kube_request_namespace(const struct kube_request *req); /* "" for cluster-scoped keys */
const char *kube_request_name(const struct kube_request *req);
int kube_request_priority(const struct kube_request *req);
struct kb_arena *kube_arena(struct kube_request *req);
int64_t kube_now(const struct kube_request *req);    /* wall ns */
const char *kube_now_text(struct kube_request *req); /* RFC 3339 */
struct kb_random *kube_request_random(const struct kube_request *req);
struct kube_client *kube_request_client(const struct kube_request *req);
/* Return value for "again in so long": return kube_request_later(req, 5 * KB_NS_PER_S). The nearest one counts; it also
 * counts when KUBE_DONE is returned. */
int kube_request_later(struct kube_request *req, int64_t delay_ns);
/* Calls end(data) when the request ends: for what a request pins besides cached objects. The last one given is called
 * first. */
void kube_request_at_end(struct kube_request *req, void (*end)(void *data), void *data);
/* True when nothing is expected of `key` (NULL: the request's own). Otherwise this key comes again when the expectation
 * expires, whatever reconcile returns: nothing waits for an event that never comes. */
bool kube_request_satisfied(struct kube_request *req, struct kube_expectations *expectations, const char *key);
/* For a key of any controller. */
void kube_request_enqueue(struct kube_request *req, const char *controller, const char *key, int64_t delay_ns);

/* ---- looking up: pinned until the request ends ---- */

const void *kube_lookup(struct kube_request *req, int informer, const char *namespace_, const char *name); /* or NULL */
struct kube_items {
    size_t n;
    const void **items; /* ordered by namespace, name */
};
struct kube_items kube_lookup_all(struct kube_request *req, int informer, const char *namespace_);
struct kube_items kube_lookup_index(struct kube_request *req, int informer, const char *index, const char *value);
bool kube_informer_ready(struct kube_request *req, int informer); /* added, started, synced */
/* Asks the API server. *ret NULL and return 0 when it does not exist. */
int kube_get_live(struct kube_request *req, const struct api_type *type, const char *namespace_, const char *name,
                  const void **ret, struct kube_error *reterr);
/* A writable deep copy in the request's arena. For looked up objects of full informers only (aborts on projected ones).
 */
void *kube_edit(struct kube_request *req, const struct api_type *type, const void *object);
#define KUBE_EDIT(req, ctype, object) ((struct ctype *)kube_edit((req), &ctype##_type, (object)))

/* ---- writing: *ret (may be NULL) is the answer, pinned; errors are in the API server's own words ---- */

/* With a generateName, the name is chosen here. When the answer is lost, or the server stumbled, it is looked whether
 * the object was made (by its generated name, or its controller), and if not it is asked for once more. */
int kube_create(struct kube_request *req, const struct api_type *type, const void *object, const void **ret,
                struct kube_error *reterr);
/* Everything but status (for kinds with a status subresource), or everything (kinds without). 0: written or equal. */
int kube_update(struct kube_request *req, const struct api_type *type, const void *before, const void *after,
                const void **ret, struct kube_error *reterr);
/* Only `status`, through the subresource. */
int kube_update_status(struct kube_request *req, const struct api_type *type, const void *before, const void *after,
                       const void **ret, struct kube_error *reterr);
/* PUT of the whole object with the version of `before`: for the one write that brings an object into this codec's form
 * (structs that are empty but not absent, quantities in canonical form), which a patch of what differs would leave as
 * it was. */
int kube_replace(struct kube_request *req, const struct api_type *type, const void *before, const void *after,
                 const void **ret, struct kube_error *reterr);
/* A JSON patch or merge patch as given (text), for rules that name their own preconditions. */
int kube_patch(struct kube_request *req, const struct api_type *type, const void *object, const char *subresource,
               enum kube_content content, const char *patch, const void **ret, struct kube_error *reterr);
/* With UID precondition, and so once more when the answer is lost or the server stumbled. "Not found" is success. */
int kube_delete(struct kube_request *req, const struct api_type *type, const void *object, struct kube_error *reterr);
int kube_delete_with(struct kube_request *req, const struct api_type *type, const void *object,
                     const struct kube_delete_options *options, struct kube_error *reterr);
int kube_evict(struct kube_request *req, const void *pod, struct kube_error *reterr);
/* PUT to a subresource of another API (subresources.kubevirt.io): path built by the caller. */
int kube_put_path(struct kube_request *req, const char *path, const char *body, struct kb_strbuf *ret_body,
                  struct kube_error *reterr);

/* ---- JSON patches ---- */

/* Builds RFC 6902 patches; values come from fields of objects or from text. In the request's arena. */
struct kube_json_patch {
    struct kb_arena *arena;
    struct kb_strbuf text; /* "[...": complete after kube_json_patch_text */
    size_t n;
};
struct kube_json_patch kube_json_patch_new(struct kube_request *req);
void kube_json_patch_op(struct kube_json_patch *p, const char *op, const char *path,
                        const char *json_value /* NULL: none */);
/* test + replace|add of one member of two objects of a type, by its path from the root ("/spec/volumes"), when it
 * differs (api_equal_field): before absent and after present: test null-or-absent + add; and so on. Returns true when
 * operations were added. */
bool kube_json_patch_member(struct kube_json_patch *p, const struct api_type *type, const void *before,
                            const void *after, const char *dotted_path, bool with_test);
const char *kube_json_patch_text(struct kube_json_patch *p);
/* "a/b~c" -> "a~1b~0c". */
const char *kube_json_pointer_escape(struct kb_arena *arena, const char *member);

/* ---- a request outside the runtime: tests, render ---- */

struct kube_request *kube_request_new(struct kube_runtime *runtime, const char *key, int priority);
void kube_request_free(struct kube_request *req);
int64_t kube_request_requested_delay(const struct kube_request *req); /* -1: none */

#endif
