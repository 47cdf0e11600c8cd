/*
 * Calls. Blocking and callback form are one state machine that runs on the transport's thread:
 *
 *     begin -> [wait for the token] -> exchange -> done
 *                    ^                    |
 *                    +-- [Retry-After] <--+   also once after a lost connection, for reads
 *
 * A call lives in an arena of its own, in the client's list of calls, from begin to finish(). While it waits it has a
 * post, while it is asked for an exchange: never both. The client's lock is held around start, and taken at the begin
 * of `end`, so that call->exchange is right whenever the lock is held.
 */
#include "kube/client.h"
#include "base/strings.h"
#include <limits.h>
#include <stdlib.h>

#define DEFAULT_TIMEOUT_NS (30 * KB_NS_PER_S)
#define MAX_RETRIES        10 /* client-go's rest.Request */
/* A new rate reaches those who wait within this time. */
#define TOKEN_RECHECK_NS KB_NS_PER_S

/* Where a blocking call waits. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool done;
    struct kb_strbuf *ret_body;
    struct kube_error error;
};

struct call {
    struct kb_arena *arena; /* holds this struct too */
    struct kube_client *client;
    struct call *previous, *next;
    enum kube_verb verb;
    struct kube_http_request request;
    const char *resource, *path_template; /* for the observer */
    int64_t deadline, sent_at;

    uint64_t post;                  /* while it waits */
    struct kube_exchange *exchange; /* while it is asked for */
    uint64_t ticket;                /* for a token of the limiter; 0: none yet */
    int64_t token_asked_at;
    bool reconnected;
    int retries;

    int status;
    int64_t retry_after_ms;
    bool too_large;
    struct kb_strbuf body; /* on the heap */
    struct kube_error error;

    kube_done done;
    void *userdata;
    struct waiter *waiter; /* instead of done */
};

struct kube_client {
    struct kube_client_options options;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct call *calls;
    uint64_t closing; /* post that ends the calls */
    bool closed;
    atomic_int_least64_t fence;
};

static const struct verb_row {
    const char *method;
    bool writes;
} verbs[] = {
    [KUBE_GET] = {"GET", false},      [KUBE_LIST] = {"GET", false},  [KUBE_WATCH] = {"GET", false},
    [KUBE_CREATE] = {"POST", true},   [KUBE_UPDATE] = {"PUT", true}, [KUBE_PATCH] = {"PATCH", true},
    [KUBE_DELETE] = {"DELETE", true},
};

static const char *const content_types[] = {
    [KUBE_JSON] = "application/json",
    [KUBE_MERGE_PATCH] = "application/merge-patch+json",
    [KUBE_JSON_PATCH] = "application/json-patch+json",
    [KUBE_STRATEGIC_PATCH] = "application/strategic-merge-patch+json",
    [KUBE_APPLY] = "application/apply-patch+yaml",
};

static int64_t now(const struct kube_client *client)
{
    return client->options.clock->mono(client->options.clock);
}

static void go_on(struct call *call);

/* ---- the end of a call ---- */

static void free_call(struct call *call)
{
    kb_strbuf_done(&call->body);
    kb_arena_free(call->arena);
}

static void unlink_call(struct call *call)
{
    struct kube_client *client = call->client;
    pthread_mutex_lock(&client->lock);
    if (call->previous)
        call->previous->next = call->next;
    else
        client->calls = call->next;
    if (call->next)
        call->next->previous = call->previous;
    if (!client->calls)
        pthread_cond_broadcast(&client->idle);
    pthread_mutex_unlock(&client->lock);
}

static void tell_waiter(struct waiter *waiter, const struct call *call)
{
    pthread_mutex_lock(&waiter->lock);
    waiter->error = call->error;
    if (waiter->ret_body && call->error.kind == KUBE_ERROR_NONE)
        kb_strbuf_append(waiter->ret_body, kb_strbuf_text(&call->body), call->body.length);
    waiter->done = true;
    pthread_cond_signal(&waiter->cond);
    pthread_mutex_unlock(&waiter->lock);
}

/* Transport's thread. call->error says how it ended. The client may be gone when a blocking caller has been told. */
static void finish(struct call *call)
{
    const struct kube_error *error = call->error.kind != KUBE_ERROR_NONE ? &call->error : NULL;
    if (call->done)
        call->done(call->userdata, error ? "" : kb_strbuf_text(&call->body), error ? 0 : call->body.length, error);
    struct waiter *waiter = call->waiter;
    unlink_call(call);
    if (waiter)
        tell_waiter(waiter, call);
    free_call(call);
}

static void post_has_come(struct call *call)
{
    pthread_mutex_lock(&call->client->lock); /* which the poster held until it had stored the number */
    call->post = 0;
    pthread_mutex_unlock(&call->client->lock);
}

static void on_finish_post(void *userdata)
{
    post_has_come(userdata);
    finish(userdata);
}

/* Any thread. */
static void fail_soon(struct call *call)
{
    struct kube_transport *transport = call->client->options.transport;
    pthread_mutex_lock(&call->client->lock);
    call->post = transport->post(transport, 0, on_finish_post, call);
    pthread_mutex_unlock(&call->client->lock);
}

/* ---- the answer ---- */

static void on_head(void *userdata, const struct kube_http_head *head)
{
    struct call *call = userdata;
    call->status = head->status;
    call->retry_after_ms = head->retry_after_ms;
}

static int on_body(void *userdata, const char *bytes, size_t n)
{
    struct call *call = userdata;
    call->too_large = call->body.length + n > API_MAX_BYTES;
    if (call->too_large)
        return -1;
    kb_strbuf_append(&call->body, bytes, n);
    return 0;
}

static void observe(const struct call *call, const struct kube_error *error)
{
    const struct kube_client_observer *o = call->client->options.observer;
    int64_t duration_ns = now(call->client) - call->sent_at;
    if (o && o->request)
        o->request(o->userdata, call->verb, call->request.method, call->resource, call->path_template, call->status,
                   duration_ns);
    if (o && o->exchanged)
        o->exchanged(o->userdata, &(struct kube_exchange_facts){
                                      .verb = call->verb,
                                      .method = call->request.method,
                                      .resource = call->resource,
                                      .path = call->request.path,
                                      .status = call->status,
                                      .attempt = 1 + call->retries + call->reconnected,
                                      .duration_ns = duration_ns,
                                      .sent_bytes = call->request.body_length,
                                      .received_bytes = call->body.length,
                                      .error = error ? error->message : NULL,
                                  });
}

void kube_client_observe(struct kube_client *client, enum kube_verb verb, const struct kube_target *target, int status,
                         int64_t duration_ns)
{
    const struct kube_client_observer *o = client->options.observer;
    if (!o)
        return;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    if (o->request)
        o->request(o->userdata, verb, "GET", target->resource->plural, kube_path_template(arena, target), status,
                   duration_ns);
    if (o->exchanged)
        o->exchanged(o->userdata, &(struct kube_exchange_facts){.verb = verb,
                                                                .method = "GET",
                                                                .resource = target->resource->plural,
                                                                .path = kube_path(arena, target),
                                                                .status = status,
                                                                .attempt = 1,
                                                                .duration_ns = duration_ns});
}

static void on_wait_post(void *userdata)
{
    post_has_come(userdata);
    go_on(userdata);
}

/* Waits, then starts (over); the answer so far is forgotten. */
static void go_on_after(struct call *call, int64_t delay_ns)
{
    struct kube_transport *transport = call->client->options.transport;
    call->status = 0;
    call->retry_after_ms = 0;
    kb_strbuf_clear(&call->body);
    kube_error_clear(&call->error);
    pthread_mutex_lock(&call->client->lock);
    call->post = transport->post(transport, call->client->closed ? 0 : delay_ns, on_wait_post, call);
    pthread_mutex_unlock(&call->client->lock);
}

/* client-go: any 5xx and 429, but only when the server says when to come back. */
static bool may_retry_answer(const struct call *call)
{
    bool busy = call->status == 429 || call->status >= 500;
    int64_t wait = call->retry_after_ms * KB_NS_PER_MS;
    return busy && wait > 0 && call->retries < MAX_RETRIES && wait < call->deadline - now(call->client);
}

static bool may_reconnect(const struct call *call)
{
    return call->error.kind == KUBE_ERROR_CONNECTION && !verbs[call->verb].writes && !call->reconnected &&
           now(call->client) < call->deadline;
}

static bool is_closed(struct kube_client *client)
{
    pthread_mutex_lock(&client->lock);
    bool closed = client->closed;
    pthread_mutex_unlock(&client->lock);
    return closed;
}

static void on_end(void *userdata, const struct kube_error *error)
{
    struct call *call = userdata;
    pthread_mutex_lock(&call->client->lock);
    call->exchange = NULL;
    pthread_mutex_unlock(&call->client->lock);
    observe(call, error);
    if (error)
        call->error = *error;
    if (call->too_large)
        kube_error_set(&call->error, KUBE_ERROR_INVALID, "%s %s: the answer is larger than %u MiB",
                       call->request.method, call->request.path, API_MAX_BYTES >> 20);
    if (is_closed(call->client)) {
        kube_error_set(&call->error, KUBE_ERROR_CANCELLED, "the client is closed");
    } else if (may_reconnect(call)) {
        call->reconnected = true;
        go_on_after(call, 0);
        return;
    } else if (!error && may_retry_answer(call)) {
        call->retries++;
        go_on_after(call, call->retry_after_ms * KB_NS_PER_MS);
        return;
    } else if (!error && call->status >= 400) {
        kube_error_from_answer(&call->error, verbs[call->verb].method, call->request.path, call->status,
                               call->retry_after_ms, kb_strbuf_text(&call->body), call->body.length);
    }
    finish(call);
}

static const struct kube_http_handler exchange_handler = {.head = on_head, .body = on_body, .end = on_end};

/* ---- the way to the exchange ---- */

/* Negative: call->error is set. */
static int check_allowed(struct call *call)
{
    struct kube_client *client = call->client;
    if (is_closed(client))
        return kube_error_set(&call->error, KUBE_ERROR_CANCELLED, "the client is closed");
    int64_t fence = atomic_load(&client->fence);
    if (verbs[call->verb].writes && fence != INT64_MAX && now(client) >= fence)
        return kube_error_set(&call->error, KUBE_ERROR_CANCELLED, "%s %s: not the leader any more",
                              call->request.method, call->request.path);
    if (now(client) >= call->deadline)
        return kube_error_set(&call->error, KUBE_ERROR_TIMEOUT, "%s %s: no answer in time", call->request.method,
                              call->request.path);
    return 0;
}

/* 0: the call has its token; positive: wait so long and ask again; negative: call->error is set. */
static int64_t token_wait(struct call *call)
{
    struct kube_client *client = call->client;
    if (!client->options.limiter)
        return 0;
    if (!call->ticket) {
        call->ticket = kube_limiter_ticket(client->options.limiter, call->deadline);
        call->token_asked_at = now(client);
    }
    int64_t wait = call->ticket ? kube_limiter_due(client->options.limiter, call->ticket) : -1;
    if (wait < 0)
        return kube_error_set(&call->error, KUBE_ERROR_TIMEOUT,
                              "%s %s: the rate limit allows it only after the deadline", call->request.method,
                              call->request.path);
    return wait < TOKEN_RECHECK_NS ? wait : TOKEN_RECHECK_NS;
}

static void observe_token(struct call *call)
{
    const struct kube_client_observer *o = call->client->options.observer;
    if (o && o->throttled && call->ticket)
        o->throttled(o->userdata, call->verb, call->path_template, now(call->client) - call->token_asked_at);
    call->ticket = 0;
}

static void start_exchange(struct call *call)
{
    struct kube_client *client = call->client;
    struct kube_transport *transport = client->options.transport;
    call->sent_at = now(client);
    call->request.timeout_ns = call->deadline - call->sent_at;
    pthread_mutex_lock(&client->lock);
    if (client->closed) {
        pthread_mutex_unlock(&client->lock);
        kube_error_set(&call->error, KUBE_ERROR_CANCELLED, "the client is closed");
        fail_soon(call);
        return;
    }
    call->exchange = transport->start(transport, &call->request, &exchange_handler, call);
    pthread_mutex_unlock(&client->lock);
}

/* Any thread at first, the transport's later. The call may be gone when it returns. */
static void go_on(struct call *call)
{
    int64_t wait = check_allowed(call);
    if (wait == 0)
        wait = token_wait(call);
    if (wait < 0) {
        fail_soon(call);
        return;
    }
    if (wait > 0) {
        go_on_after(call, wait);
        return;
    }
    observe_token(call);
    start_exchange(call);
}

static struct call *new_call(struct kube_client *client, enum kube_verb verb)
{
    struct kb_arena *arena = kb_arena_new_sized(1024);
    struct call *call = kb_arena_one(arena, struct call);
    call->arena = arena;
    call->client = client;
    call->verb = verb;
    call->request.method = verbs[verb].method;
    int64_t timeout = client->options.timeout_ns > 0 ? client->options.timeout_ns : DEFAULT_TIMEOUT_NS;
    call->deadline = now(client) + timeout;
    call->resource = call->path_template = "";
    return call;
}

static void set_body(struct call *call, enum kube_content content, const char *body, size_t n)
{
    if (n == 0)
        return;
    call->request.content_type = content_types[content];
    call->request.body = body;
    call->request.body_length = n;
}

static void set_target(struct call *call, const struct kube_target *target)
{
    call->request.path = kube_path(call->arena, target);
    call->resource = target->resource->plural;
    if (call->client->options.observer)
        call->path_template = kube_path_template(call->arena, target);
}

static void begin(struct call *call)
{
    struct kube_client *client = call->client;
    pthread_mutex_lock(&client->lock);
    call->next = client->calls;
    if (call->next)
        call->next->previous = call;
    client->calls = call;
    pthread_mutex_unlock(&client->lock);
    go_on(call);
}

static int run_blocking(struct call *call, struct kb_strbuf *ret_body, struct kube_error *reterr)
{
    struct kb_clock *clock = call->client->options.clock;
    struct waiter waiter = {.ret_body = ret_body};
    pthread_mutex_init(&waiter.lock, NULL);
    kb_cond_init(&waiter.cond);
    call->waiter = &waiter;
    begin(call);
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.done)
        clock->wait(clock, &waiter.cond, &waiter.lock, INT64_MAX);
    pthread_mutex_unlock(&waiter.lock);
    pthread_cond_destroy(&waiter.cond);
    pthread_mutex_destroy(&waiter.lock);
    if (waiter.error.kind == KUBE_ERROR_NONE)
        return 0;
    if (reterr)
        *reterr = waiter.error;
    return -1;
}

int kube_call(struct kube_client *client, enum kube_verb verb, const struct kube_target *target,
              enum kube_content content, const char *body, size_t body_length, struct kb_strbuf *ret_body,
              struct kube_error *reterr)
{
    if (target->name && kb_empty(target->name)) /* its path would be that of the whole collection */
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "resource name may not be empty");
    struct call *call = new_call(client, verb);
    set_target(call, target);
    set_body(call, content, body, body_length);
    return run_blocking(call, ret_body, reterr);
}

int kube_call_raw(struct kube_client *client, enum kube_verb verb, const char *path, enum kube_content content,
                  const char *body, size_t body_length, struct kb_strbuf *ret_body, struct kube_error *reterr)
{
    struct call *call = new_call(client, verb);
    call->request.path = path;
    if (client->options.observer)
        call->path_template = kube_path_template_of(call->arena, path, &call->resource);
    set_body(call, content, body, body_length);
    return run_blocking(call, ret_body, reterr);
}

int kube_call_path(struct kube_client *client, const char *path, struct kb_strbuf *ret_body, struct kube_error *reterr)
{
    return kube_call_raw(client, KUBE_GET, path, KUBE_JSON, NULL, 0, ret_body, reterr);
}

void kube_call_async(struct kube_client *client, enum kube_verb verb, const struct kube_target *target,
                     enum kube_content content, const char *body, size_t body_length, kube_done done, void *userdata)
{
    struct call *call = new_call(client, verb);
    set_target(call, target);
    if (body_length > 0)
        set_body(call, content, kb_arena_copy(call->arena, body, body_length), body_length);
    call->done = done;
    call->userdata = userdata;
    begin(call);
}

/* ---- the client ---- */

struct kube_client *kube_client_new(const struct kube_client_options *options)
{
    struct kube_client *client = kb_malloc(sizeof *client);
    client->options = *options;
    pthread_mutex_init(&client->lock, NULL);
    kb_cond_init(&client->idle);
    atomic_init(&client->fence, INT64_MAX);
    return client;
}

/* A call that waits, taken off its post; NULL: none. Lock held. */
static struct call *take_waiting_call(struct kube_client *client)
{
    struct kube_transport *transport = client->options.transport;
    for (struct call *call = client->calls; call; call = call->next) {
        if (!transport->unpost(transport, call->post))
            continue;
        call->post = 0;
        return call;
    }
    return NULL;
}

/* Transport's thread: no `end` and no post of a call runs meanwhile. */
static void end_calls(void *userdata)
{
    struct kube_client *client = userdata;
    struct kube_transport *transport = client->options.transport;
    pthread_mutex_lock(&client->lock);
    for (struct call *call = client->calls; call; call = call->next)
        if (call->exchange)
            transport->cancel(transport, call->exchange);
    for (struct call *call; (call = take_waiting_call(client));) {
        pthread_mutex_unlock(&client->lock);
        kube_error_set(&call->error, KUBE_ERROR_CANCELLED, "the client is closed");
        finish(call);
        pthread_mutex_lock(&client->lock);
    }
    client->closing = 0;
    pthread_cond_broadcast(&client->idle);
    pthread_mutex_unlock(&client->lock);
}

void kube_client_close(struct kube_client *client)
{
    struct kube_transport *transport = client->options.transport;
    pthread_mutex_lock(&client->lock);
    if (!client->closed) {
        client->closed = true;
        client->closing = transport->post(transport, 0, end_calls, client);
    }
    pthread_mutex_unlock(&client->lock);
}

void kube_client_free(struct kube_client *client)
{
    if (!client)
        return;
    struct kb_clock *clock = client->options.clock;
    struct kube_transport *transport = client->options.transport;
    kube_client_close(client);
    pthread_mutex_lock(&client->lock);
    if (!client->calls && transport->unpost(transport, client->closing))
        client->closing = 0;
    while (client->calls || client->closing)
        clock->wait(clock, &client->idle, &client->lock, INT64_MAX);
    pthread_mutex_unlock(&client->lock);
    pthread_cond_destroy(&client->idle);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

void kube_client_set_fence(struct kube_client *client, int64_t deadline)
{
    atomic_store(&client->fence, deadline);
}

struct kube_transport *kube_client_transport(struct kube_client *client)
{
    return client->options.transport;
}

struct kb_clock *kube_client_clock(struct kube_client *client)
{
    return client->options.clock;
}
