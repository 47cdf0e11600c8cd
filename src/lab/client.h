/*
 * The lab's API server for code in the same process: the simulated parts and the tests. Calls take the same path as
 * HTTP requests (admission, validation, audit, watch events), without HTTP and, for reads, without copies.
 *
 *     struct lab_client *c = lab_client_new(server, "system:kube-scheduler");
 *     struct lab_ref ref = {.resource = "pods", .namespace_ = "default", .name = "a"};
 *     lab_client_patch_text(c, &ref, LAB_PATCH_MERGE, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", NULL, reterr);
 *
 * Resources are named as CRDs are: "pods", "leases.coordination.k8s.io", "virtualmachines.kubevirt.io". Bodies need no
 * apiVersion and kind.
 *
 * A part is best written level-triggered over watches: a watch first yields what exists (ADDED), then the changes.
 *
 *     struct lab_watch *w = lab_client_watch(c, &(struct lab_ref){.resource = "pods"}, NULL, NULL);
 *     while (lab_client_wait(c, deadline))                      one thread sleeps for all watches of its client
 *         while (lab_watch_next(w, &event) > 0) { ...; lab_watch_event_done(&event); }
 *
 * A test without threads calls lab_watch_next until it returns 0.
 *
 * Errors: negative int and `reterr` (KUBE_ERROR_API with http_status, reason and message of the Status).
 * Threads: calls on a client may come from any thread; a watch belongs to one thread at a time.
 */
#ifndef LAB_CLIENT_H
#define LAB_CLIENT_H

#include "base/arena.h"
#include "base/error.h"
#include "lab/object.h"
#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

struct lab_server;
struct lab_client;
struct lab_watch;

struct lab_ref {
    const char *resource;
    const char *namespace_;  /* NULL: cluster-scoped, or for lists and watches all namespaces */
    const char *name;        /* NULL for create with generateName or a name in the body */
    const char *subresource; /* NULL, "status", "binding", "eviction", "scale" */
    const char *version;     /* NULL: the storage version */
};

struct lab_selector_options {
    const char *label_selector, *field_selector; /* NULL: all */
};

enum lab_patch_type { LAB_PATCH_JSON, LAB_PATCH_MERGE, LAB_PATCH_STRATEGIC, LAB_PATCH_APPLY };

struct lab_delete_options {
    int64_t grace_seconds;   /* -1: the object's own */
    const char *uid;         /* precondition; NULL: none */
    const char *propagation; /* "Background", "Foreground", "Orphan"; NULL: the default */
};

/* `user` is who the audit log and managedFields name. The server must outlive the client. */
struct lab_client *lab_client_new(struct lab_server *server, const char *user);
void lab_client_free(struct lab_client *client); /* ends its watches */

/* Reads. The caller owns a reference to what is returned. */
int lab_client_get(struct lab_client *client, const struct lab_ref *ref, struct lab_object **ret,
                   struct kube_error *reterr);
/* In the order of namespace and name. `ret_items` is an array in the arena; unref each object. */
int lab_client_list(struct lab_client *client, const struct lab_ref *ref, const struct lab_selector_options *options,
                    struct kb_arena *arena, struct lab_object ***ret_items, size_t *ret_n, struct kube_error *reterr);

/* Writes. `ret` may be NULL; otherwise the caller owns a reference to the object as it is now stored. */
int lab_client_create(struct lab_client *client, const struct lab_ref *ref, yyjson_mut_val *body,
                      struct lab_object **ret, struct kube_error *reterr);
/* Replaces; checks metadata.resourceVersion when the body has one. */
int lab_client_update(struct lab_client *client, const struct lab_ref *ref, yyjson_mut_val *body,
                      struct lab_object **ret, struct kube_error *reterr);
int lab_client_patch(struct lab_client *client, const struct lab_ref *ref, enum lab_patch_type type,
                     yyjson_mut_val *patch, struct lab_object **ret, struct kube_error *reterr);
int lab_client_delete(struct lab_client *client, const struct lab_ref *ref, const struct lab_delete_options *options,
                      struct kube_error *reterr);
/* The same with bodies as JSON text. */
int lab_client_create_text(struct lab_client *client, const struct lab_ref *ref, const char *body,
                           struct lab_object **ret, struct kube_error *reterr);
int lab_client_update_text(struct lab_client *client, const struct lab_ref *ref, const char *body,
                           struct lab_object **ret, struct kube_error *reterr);
int lab_client_patch_text(struct lab_client *client, const struct lab_ref *ref, enum lab_patch_type type,
                          const char *patch, struct lab_object **ret, struct kube_error *reterr);

/* Watches. */
enum lab_event_type { LAB_ADDED, LAB_MODIFIED, LAB_DELETED, LAB_BOOKMARK };

struct lab_watch_event {
    enum lab_event_type type;
    int64_t resource_version;
    struct lab_object *object; /* DELETED: the last state */
};

/* Starts with an ADDED for each object that exists. NULL when the resource or a selector is unknown. */
struct lab_watch *lab_client_watch(struct lab_client *client, const struct lab_ref *ref,
                                   const struct lab_selector_options *options, struct kube_error *reterr);
/* 1: an event, release it with lab_watch_event_done; 0: nothing now; negative: the watch fell behind the history
 * that the server keeps: free it and open another one. Never blocks. */
int lab_watch_next(struct lab_watch *watch, struct lab_watch_event *ret);
void lab_watch_event_done(struct lab_watch_event *event);
void lab_watch_free(struct lab_watch *watch); /* NULL is allowed */

/* Sleeps until one of the client's watches may have an event, lab_client_wake was called, or the server's clock has
 * reached `deadline` (its mono time, INT64_MAX: never). False once the server is stopping. */
bool lab_client_wait(struct lab_client *client, int64_t deadline);
void lab_client_wake(struct lab_client *client);

/* Sending of JSON without building trees: printf into an arena, with %s already JSON-escaped by the caller or known to
 * need none. */
const char *lab_json_printf(struct kb_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
