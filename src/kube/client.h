/*
 * Requests to the API server: one blocking call for workers, one callback form for reflectors and recorders.
 *
 * A call waits for its rate-limit token, sends, and retries 429 and 503 (with Retry-After, at most 10 times) as
 * client-go does; connection loss is reported as KUBE_ERROR_CONNECTION (for idempotent GETs it is retried once on a new
 * connection). Every call has a deadline (default 30 s... never none).
 *
 * Fence: a client that belongs to a leader refuses writes (KUBE_ERROR_CANCELLED) once the fence's time has passed, so
 * that a process which lost its lease without noticing can't write any more.
 *
 * An answer of 429 or 5xx is tried again only when it has Retry-After and the deadline leaves the time for it.
 *
 * Threads: any. Blocking calls must not be made on the transport's thread. The client must outlive its calls, and the
 * transport the client.
 */
#ifndef KUBE_CLIENT_H
#define KUBE_CLIENT_H

#include "api/codec.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "kube/limiter.h"
#include "kube/transport.h"
#include <stdatomic.h>

enum kube_verb { KUBE_GET, KUBE_LIST, KUBE_WATCH, KUBE_CREATE, KUBE_UPDATE, KUBE_PATCH, KUBE_DELETE };

/* One exchange that has ended. What was sent and received is only counted: it may hold secrets. */
struct kube_exchange_facts {
    enum kube_verb verb;
    const char *method, *resource, *path; /* path with query */
    int status;                           /* 0: no answer */
    int attempt;                          /* of its call, from 1 */
    int64_t duration_ns;
    size_t sent_bytes, received_bytes; /* of bodies; watches are not counted */
    const char *error;                 /* NULL: none below HTTP */
};

/* Told of every finished exchange, for metrics (rest_client_requests_total, request latency) and logs. Any thread. */
struct kube_client_observer {
    void (*request)(
        void *userdata, enum kube_verb verb, const char *method, const char *resource /* plural or "" */,
        const char *path_template /* "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}" */,
        int status /* 0: no answer */, int64_t duration_ns);
    void (*exchanged)(void *userdata, const struct kube_exchange_facts *facts);                           /* or NULL */
    void (*throttled)(void *userdata, enum kube_verb verb, const char *path_template, int64_t waited_ns); /* limiter */
    void *userdata;
};

struct kube_client_options {
    struct kube_transport *transport; /* not owned */
    struct kube_limiter *limiter;     /* not owned; NULL: no limit */
    struct kb_clock *clock;
    const struct kube_client_observer *observer; /* or NULL */
    int64_t timeout_ns;                          /* per call; 0: 30 s */
};

struct kube_client;
struct kube_client *kube_client_new(const struct kube_client_options *options);
/* Closes it, waits until its calls have ended, releases it. Not on the transport's thread. NULL is allowed. */
void kube_client_free(struct kube_client *client);
/* Waiting and later calls fail with KUBE_ERROR_CANCELLED. */
void kube_client_close(struct kube_client *client);
/* Writes are allowed until mono time `deadline`; INT64_MAX: always (default); 0: never. Atomic. */
void kube_client_set_fence(struct kube_client *client, int64_t deadline);
struct kube_transport *kube_client_transport(struct kube_client *client);
struct kb_clock *kube_client_clock(struct kube_client *client);

/* What a request addresses. */
struct kube_target {
    const struct api_resource *resource;
    const char *namespace_;  /* "" or NULL: cluster scope, or all namespaces in lists */
    const char *name;        /* NULL in lists and creates; "" is refused */
    const char *subresource; /* NULL, "status", "eviction", "scale" ... */
    const char *query;       /* NULL, or "labelSelector=..." encoded, without '?' */
};
/* "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUB?QUERY", percent-encoded. */
const char *kube_path(struct kb_arena *arena, const struct kube_target *target);
/* Appends "name=value", encoded, with '&' in front unless the text is empty: for kube_target.query. */
void kube_query_add(struct kb_strbuf *query, const char *name, const char *value);
/* The same with {namespace} and {name} in place of the values: a label with bounded values. */
const char *kube_path_template(struct kb_arena *arena, const struct kube_target *target);
/* The same of a path that the caller built; *ret_resource is the plural in it, "" when it names no resource. What lies
 * outside /api and /apis is "/{prefix}", unless it is one segment ("/version"). */
const char *kube_path_template_of(struct kb_arena *arena, const char *path, const char **ret_resource);

/* "PLURAL.GROUP NAME" of such a path, as client-go names what it asked for in messages: an aggregated group
 * "subresources.GROUP" is GROUP there. "" when it names no resource. */
const char *kube_path_names(struct kb_arena *arena, const char *path);

enum kube_content { KUBE_JSON, KUBE_MERGE_PATCH, KUBE_JSON_PATCH, KUBE_STRATEGIC_PATCH, KUBE_APPLY };

/*
 * The one blocking request. `body` may be empty. On success `ret_body` (may be NULL) has the answer's text.
 * An answer >= 400 is an error of kind KUBE_ERROR_API with the Status' reason and message.
 */
int kube_call(struct kube_client *client, enum kube_verb verb, const struct kube_target *target,
              enum kube_content content, const char *body, size_t body_length, struct kb_strbuf *ret_body,
              struct kube_error *reterr);
/* Any path ("/version", "/apis/..."), GET. */
int kube_call_path(struct kube_client *client, const char *path, struct kb_strbuf *ret_body, struct kube_error *reterr);

/* Any verb on a path built by the caller (encoded): subresources of other API groups. */
int kube_call_raw(struct kube_client *client, enum kube_verb verb, const char *path, enum kube_content content,
                  const char *body, size_t body_length, struct kb_strbuf *ret_body, struct kube_error *reterr);

/* An answer with a status of 400 and more as an error: the Status in its body, or what client-go makes of its code,
 * which names the request: `path` is that of the request. For those who use the transport themselves. Returns -1. */
int kube_error_from_answer(struct kube_error *reterr, const char *method, const char *path, int status,
                           int64_t retry_after_ms, const char *body, size_t n);
/* From a metav1.Status: the object of a watch event of type ERROR. Returns -1. */
int kube_error_from_status(struct kube_error *reterr, yyjson_val *status);

/* Tells the client's observer of an exchange of somebody who uses the transport himself. */
void kube_client_observe(struct kube_client *client, enum kube_verb verb, const struct kube_target *target, int status,
                         int64_t duration_ns);

/* The same without blocking; `done` runs on the transport's thread; `body` is only valid during it. */
typedef void (*kube_done)(void *userdata, const char *body, size_t n, const struct kube_error *error);
void kube_call_async(struct kube_client *client, enum kube_verb verb, const struct kube_target *target,
                     enum kube_content content, const char *body, size_t body_length, kube_done done, void *userdata);

/* ---- typed, blocking; *ret is a new shared object (the caller unrefs), ret may be NULL ---- */

int kube_client_get(struct kube_client *client, const struct api_type *type, const char *namespace_, const char *name,
                    const struct api_object **ret, struct kube_error *reterr);
int kube_client_create(struct kube_client *client, const struct api_type *type, const char *namespace_,
                       const void *object, const struct api_object **ret, struct kube_error *reterr);
/* PUT of a whole object. */
int kube_client_update(struct kube_client *client, const struct api_type *type, const void *object,
                       const char *subresource, const struct api_object **ret, struct kube_error *reterr);
int kube_client_patch(struct kube_client *client, const struct api_type *type, const char *namespace_, const char *name,
                      const char *subresource, enum kube_content content, const char *patch, size_t n,
                      const struct api_object **ret, struct kube_error *reterr);
struct kube_delete_options {
    const char *uid;              /* precondition, or NULL */
    const char *resource_version; /* precondition, or NULL */
    int64_t grace_period_seconds; /* -1: the kind's default */
    const char *propagation;      /* NULL, "Foreground", "Background", "Orphan" */
};
int kube_client_delete(struct kube_client *client, const struct api_type *type, const char *namespace_,
                       const char *name, const struct kube_delete_options *options, struct kube_error *reterr);
/* One list, all pages; when it is complete calls back per object (shared, borrowed during the call). Stops when `each`
 * is negative, and returns that. `query`: selectors, or NULL. */
int kube_client_list(struct kube_client *client, const struct api_type *type, const char *namespace_, const char *query,
                     int (*each)(void *userdata, const struct api_object *object, struct kube_error *reterr),
                     void *userdata, struct kube_error *reterr);

/* ---- discovery ---- */

/* 1: GROUP/VERSION serves PLURAL; 0: not; negative: could not ask. group "" for core. */
int kube_discover_resource(struct kube_client *client, const char *group, const char *version, const char *plural,
                           struct kube_error *reterr);

#endif
