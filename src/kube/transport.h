/*
 * HTTP to one API server, as an interface, so that tests script it and faults are injected. The real one
 * (transport_curl.c) is a thread around libcurl's multi interface: HTTP/2 with all requests and watches multiplexed
 * over three connections (requests, busy watches, quiet ones), HTTP/1.1 where the server has no h2.
 *
 * Threads: start, cancel and post may be called from any thread. Callbacks of exchanges and posted functions run on the
 * transport's own thread, one at a time, and must not block; they may start, cancel and post.
 */
#ifndef KUBE_TRANSPORT_H
#define KUBE_TRANSPORT_H

#include "base/clock.h"
#include "base/error.h"
#include "kube/config.h"
#include <stddef.h>
#include <stdint.h>

struct kube_http_request {
    const char *method;
    const char *path;         /* "/api/v1/pods?limit=500": path and query, encoded already */
    const char *content_type; /* NULL without body */
    const void *body;
    size_t body_length;
    int64_t timeout_ns;      /* for the whole exchange; 0: none (watches) */
    int64_t idle_timeout_ns; /* abort when nothing arrives for so long; 0: none */
    bool busy;               /* of a watch: much will arrive; it shares no connection with those that are quiet */
};

struct kube_http_head {
    int status;
    int64_t retry_after_ms;   /* 0: header absent */
    const char *content_type; /* "" when absent; valid during the call */
};

/* head once (not when no answer came), body any number of times, end exactly once. Always from the transport's loop,
 * never inside start or cancel, so that callers may hold their lock around those and take it in callbacks. */
struct kube_http_handler {
    void (*head)(void *userdata, const struct kube_http_head *head); /* may be NULL, body too */
    int (*body)(void *userdata, const char *bytes, size_t n);        /* negative: abort (end follows: CANCELLED) */
    void (*end)(void *userdata, const struct kube_error *error);     /* NULL: the answer is complete */
};

struct kube_exchange; /* a running exchange; valid until `end` is called */

struct kube_transport {
    /* Copies the request. `handler` must stay; `userdata` is passed to it. Never fails: errors come to `end`. */
    struct kube_exchange *(*start)(struct kube_transport *self, const struct kube_http_request *request,
                                   const struct kube_http_handler *handler, void *userdata);
    /* Ends an exchange soon: `end` follows with KUBE_ERROR_CANCELLED, and nothing before it when cancel was called on
     * the transport's thread. Other threads must know that `end` was not called yet: a lock held here and taken in
     * `end`. */
    void (*cancel)(struct kube_transport *self, struct kube_exchange *exchange);
    /* Runs fn(userdata) on the transport's thread after `delay_ns`. Returns the post's number, never 0. */
    uint64_t (*post)(struct kube_transport *self, int64_t delay_ns, void (*fn)(void *userdata), void *userdata);
    /* True: the post was waiting and will never run. False: it has run, is running, or there was none (0 is allowed).
     */
    bool (*unpost)(struct kube_transport *self, uint64_t post);
    /* Ends all exchanges (KUBE_ERROR_CANCELLED), runs no more posts, joins the thread, releases it. */
    void (*free)(struct kube_transport *self);
};

struct kube_transport_options {
    const struct kube_config *config; /* must outlive the transport */
    struct kb_clock *clock;
    const char *user_agent;
    const char *thread_name; /* static, 15 bytes at most; NULL: "transport" */
};
int kube_transport_curl_new(const struct kube_transport_options *options, struct kube_transport **ret,
                            struct kube_error *reterr);

#endif
