/*
 * HTTP through libcurl's multi interface: one thread, one epoll.
 *
 * There are three lanes, each a multi handle with connections of its own: requests, and streams (exchanges without a
 * time-out: watches), the busy ones apart from the quiet ones. With HTTP/2 a lane is one connection. So a burst of
 * watch events does not delay a request on the way, and work for one request touches no watch. Whatever arrives on a
 * connection, libcurl runs all of its transfers, with a system call for each: hence the few watches that bring nearly
 * all events share none with the many that are quiet and get by with small buffers. A lane that nobody uses closes its
 * connections: one over TLS and HTTP/2 takes 0.1 MiB.
 *
 * A pass of the loop takes what other threads left (starts, cancels, posts), runs due posts, ends what was cancelled or
 * timed out, lets libcurl work, ends what is complete, and sleeps. Other threads wake it only when it sleeps, and once
 * for all that they leave until it is awake: many requests started together cost one wake-up and go out together.
 *
 * Under load the loop rests between passes, as network cards hold back interrupts: what arrives meanwhile is taken in
 * one pass instead of five. It rests for an eighth of the time that answers take, so that no request takes much longer
 * by it, and not at all from a server that answers at once, or while a list comes.
 *
 * Exchanges are only removed by the loop, never in a callback of libcurl, and all callbacks to the user come from here.
 *
 * A 401 is held back once while the credentials are read again; when there are new ones the exchange starts over, and
 * its owner never learns of it.
 */
#include "base/arena.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "kube/timers.h"
#include "kube/transport_internal.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STACK_SIZE          (1 << 20) /* address space; what is not used costs nothing */
#define MAX_EVENTS          16
#define MAX_POOLED          4
#define MAX_HELD_REFUSAL    (64 << 10)
#define REQUEST_CONNECTIONS 16L                /* of HTTP/1.1 */
#define LINGER_NS           (10 * KB_NS_PER_S) /* a lane without exchanges keeps connections and handles so long */
#define CONTENT_TYPE_SIZE   64
#define FAR_TIMER_MS        2000
#define TIMER_SLACK_MS      4000
#define WINDOW_NS           (100 * KB_NS_PER_MS)
#define LOAD_ARRIVALS       30 /* in a window, so 300 a second: load; a VM that starts brings 70 within a second or two */
#define MUCH_BYTES          (32 << 10) /* in one pass: a list, which would only get slower */
#define AVERAGED_ANSWERS    16
#define REST_PART           8 /* of the time that an answer takes */
#define REST_MAX_NS         (5 * KB_NS_PER_MS)
#define REST_MIN_NS         (KB_NS_PER_MS / 2) /* less is not worth a system call */

enum { LANE_REQUESTS, LANE_QUIET, LANE_BUSY, N_LANES, WAKE = N_LANES };

static const long buffer_sizes[N_LANES] = {[LANE_REQUESTS] = 16384, [LANE_QUIET] = 2048, [LANE_BUSY] = 16384};

struct transport;

struct lane {
    struct transport *transport;
    uint32_t index;
    CURLM *multi;
    int64_t call_at;     /* when libcurl wants to be called; INT64_MAX: not */
    int64_t received_at; /* when something last arrived */
    uint64_t pieces;     /* that arrived */
    bool cut;            /* the last one did not end a line, or filled its buffer: more may be there already */
    size_t live;         /* exchanges */
    size_t hopeful;      /* of these, without an answer yet and willing to share a connection that is being made */
    bool serial;         /* the server speaks HTTP/1.1, so that there is nothing to hope for */
    bool parked;         /* some may wait in vain, see release_parked */
    int64_t close_at;    /* without exchanges; INT64_MAX: there is nothing to close */
    struct kube_handle *pool;
    size_t pooled;
};

struct kube_exchange {
    struct transport *transport;
    struct kube_exchange *previous, *next; /* among the live ones; next: also among the incoming ones */
    const struct kube_http_handler *handler;
    void *userdata;
    struct kube_http_request request; /* its strings are in the same block */
    struct lane *lane;
    struct kube_handle *handle; /* NULL: waits for credentials */
    int64_t begun_at, deadline, active_at;
    unsigned generation; /* of the credentials it went out with */
    atomic_bool cancelled;
    bool hopeful, head_told, held, tried_again, aborted, sent;
    int status;
    int64_t retry_after_ms;
    char content_type[CONTENT_TYPE_SIZE];
    struct kb_strbuf refusal; /* the body of a 401 that is held back */
};

struct transport {
    struct kube_transport public;
    struct kube_endpoint endpoint;
    struct kube_credentials *credentials;
    struct kb_clock *clock;
    int epoll, wake;
    const char *thread_name;
    pthread_t thread;
    struct lane lanes[N_LANES];
    /* the loop's own */
    struct kube_exchange *live;
    int64_t check_at;  /* before this no exchange is late; INT64_MIN: one was cancelled */
    int64_t window_at; /* when the window began in which `arrivals` are counted */
    unsigned arrivals; /* exchanges that began, heads, pieces of bodies */
    size_t bytes;      /* of bodies in this pass */
    bool under_load;   /* the window before had many arrivals */
    int64_t answer_ns; /* what an answer to a request took lately, on average */

    pthread_mutex_t lock; /* for what follows */
    struct kube_exchange *incoming, **incoming_end;
    struct kube_timers timers;
    bool stop, cancel_wanted, sleeping;
};

static int64_t now(const struct transport *t)
{
    return t->clock->mono(t->clock);
}

/* ---- from any thread ---- */

/* Lock held. On the loop's own thread it is never asleep. */
static void wake_up(struct transport *t)
{
    if (!t->sleeping)
        return;
    t->sleeping = false;
    eventfd_write(t->wake, 1);
}

static char *put(char **at, const void *bytes, size_t n)
{
    char *copy = *at;
    if (n > 0)
        memcpy(copy, bytes, n);
    copy[n] = '\0';
    *at += n + 1;
    return copy;
}

static struct kube_exchange *new_exchange(struct transport *t, const struct kube_http_request *r)
{
    size_t method = strlen(r->method), path = strlen(r->path), type = r->content_type ? strlen(r->content_type) : 0;
    struct kube_exchange *x = kb_malloc(sizeof *x + method + path + type + r->body_length + 4);
    char *at = (char *)(x + 1);
    x->transport = t;
    x->request = *r;
    x->request.method = put(&at, r->method, method);
    x->request.path = put(&at, r->path, path);
    x->request.content_type = r->content_type ? put(&at, r->content_type, type) : NULL;
    x->request.body = put(&at, r->body, r->body_length);
    x->lane = &t->lanes[r->timeout_ns > 0 ? LANE_REQUESTS : r->busy ? LANE_BUSY : LANE_QUIET];
    x->begun_at = x->active_at = now(t);
    x->deadline = r->timeout_ns > 0 ? x->active_at + r->timeout_ns : INT64_MAX;
    return x;
}

static struct kube_exchange *start(struct kube_transport *self, const struct kube_http_request *request,
                                   const struct kube_http_handler *handler, void *userdata)
{
    struct transport *t = (struct transport *)self;
    struct kube_exchange *x = new_exchange(t, request);
    x->handler = handler;
    x->userdata = userdata;
    pthread_mutex_lock(&t->lock);
    *t->incoming_end = x;
    t->incoming_end = &x->next;
    wake_up(t);
    pthread_mutex_unlock(&t->lock);
    return x;
}

static void cancel(struct kube_transport *self, struct kube_exchange *x)
{
    struct transport *t = (struct transport *)self;
    pthread_mutex_lock(&t->lock);
    atomic_store(&x->cancelled, true);
    t->cancel_wanted = true;
    wake_up(t);
    pthread_mutex_unlock(&t->lock);
}

static uint64_t post(struct kube_transport *self, int64_t delay_ns, void (*fn)(void *userdata), void *userdata)
{
    struct transport *t = (struct transport *)self;
    int64_t due = now(t) + (delay_ns > 0 ? delay_ns : 0);
    pthread_mutex_lock(&t->lock);
    uint64_t id = kube_timers_add(&t->timers, due, fn, userdata);
    if (t->timers.items[0].id == id)
        wake_up(t);
    pthread_mutex_unlock(&t->lock);
    return id;
}

static bool unpost(struct kube_transport *self, uint64_t id)
{
    struct transport *t = (struct transport *)self;
    pthread_mutex_lock(&t->lock);
    bool removed = kube_timers_remove(&t->timers, id);
    pthread_mutex_unlock(&t->lock);
    return removed;
}

/* ---- handles and lanes ---- */

static struct kube_handle *take_handle(struct lane *lane)
{
    struct kube_handle *h = lane->pool;
    if (!h)
        return kube_handle_new(&lane->transport->endpoint, buffer_sizes[lane->index]);
    lane->pool = h->next;
    lane->pooled--;
    return h;
}

static void give_back_handle(struct lane *lane, struct kube_handle *h)
{
    if (lane->pooled >= MAX_POOLED) {
        kube_handle_free(h);
        return;
    }
    h->next = lane->pool;
    lane->pool = h;
    lane->pooled++;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *watched)
{
    (void)easy;
    struct lane *lane = userdata;
    struct transport *t = lane->transport;
    struct epoll_event event = {.data.u64 = (uint64_t)lane->index << 32 | (uint32_t)fd};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(t->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    if (!watched && epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        curl_multi_assign(lane->multi, fd, lane);
    else
        epoll_ctl(t->epoll, EPOLL_CTL_MOD, fd, &event);
    return 0;
}

/* What is far away is a time-out for connecting, of every handle, also of one that shares a connection: those of all
 * watches would wake the process one by one. They may be late, and so come together. */
static int on_timer(CURLM *multi, long timeout_ms, void *userdata)
{
    (void)multi;
    struct lane *lane = userdata;
    if (timeout_ms >= FAR_TIMER_MS)
        timeout_ms += TIMER_SLACK_MS;
    lane->call_at = timeout_ms < 0 ? INT64_MAX : now(lane->transport) + timeout_ms * KB_NS_PER_MS;
    return 0;
}

static void open_lane(struct transport *t, uint32_t index)
{
    struct lane *lane = &t->lanes[index];
    lane->transport = t;
    lane->index = index;
    lane->call_at = lane->close_at = INT64_MAX;
    lane->multi = curl_multi_init();
    if (!lane->multi)
        abort(); /* out of memory, as in kb_malloc */
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
    curl_multi_setopt(lane->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(lane->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 1000L); /* the server's own limit counts */
    /* A watch over HTTP/1.1 keeps its connection to itself, so that lane has no limit. */
    if (index == LANE_REQUESTS)
        curl_multi_setopt(lane->multi, CURLMOPT_MAX_HOST_CONNECTIONS, REQUEST_CONNECTIONS);
}

static void close_lane(struct lane *lane)
{
    while (lane->pool) {
        struct kube_handle *h = lane->pool;
        lane->pool = h->next;
        kube_handle_free(h);
    }
    lane->pooled = 0;
    curl_multi_cleanup(lane->multi);
    lane->multi = NULL;
    lane->serial = lane->parked = false;
}

/* ---- the end of an exchange ---- */

static void link_live(struct kube_exchange *x)
{
    struct transport *t = x->transport;
    x->lane->live++;
    x->lane->close_at = INT64_MAX;
    x->next = t->live;
    x->previous = NULL;
    if (x->next)
        x->next->previous = x;
    t->live = x;
}

static void unlink_live(struct kube_exchange *x)
{
    if (--x->lane->live == 0)
        x->lane->close_at = now(x->transport) + LINGER_NS;
    if (x->previous)
        x->previous->next = x->next;
    else
        x->transport->live = x->next;
    if (x->next)
        x->next->previous = x->previous;
}

static void set_hopeful(struct kube_exchange *x, bool hopeful)
{
    if (x->hopeful == hopeful)
        return;
    x->hopeful = hopeful;
    x->lane->hopeful += hopeful ? 1 : -1UL;
}

static void detach_handle(struct kube_exchange *x)
{
    struct kube_handle *h = x->handle;
    if (!h)
        return;
    set_hopeful(x, false);
    x->handle = NULL;
    curl_multi_remove_handle(x->lane->multi, h->easy);
    give_back_handle(x->lane, h);
}

static void note_duration(const struct kube_exchange *x)
{
    struct transport *t = x->transport;
    if (x->lane->index == LANE_REQUESTS && x->status)
        t->answer_ns += (now(t) - x->begun_at - t->answer_ns) / AVERAGED_ANSWERS;
}

static void end(struct kube_exchange *x, const struct kube_error *error)
{
    note_duration(x);
    unlink_live(x);
    detach_handle(x);
    x->handler->end(x->userdata, error);
    kb_strbuf_done(&x->refusal);
    free(x);
}

static void end_with(struct kube_exchange *x, enum kube_error_kind kind, const char *text)
{
    struct kube_error error;
    kube_error_set(&error, kind, "%s %s%.*s: %s", x->request.method, x->transport->endpoint.config->server,
                   (int)strcspn(x->request.path, "?"), x->request.path, text);
    end(x, &error);
}

/* ---- callbacks of libcurl ---- */

static void tell_head(struct kube_exchange *x)
{
    x->transport->arrivals++;
    x->head_told = true;
    struct kube_http_head head = {
        .status = x->status, .retry_after_ms = x->retry_after_ms, .content_type = x->content_type};
    if (x->handler->head && !atomic_load(&x->cancelled))
        x->handler->head(x->userdata, &head);
}

static void touch(struct kube_exchange *x)
{
    x->active_at = x->lane->received_at = now(x->transport);
}

static bool header_value(const char *line, size_t n, const char *name, char *ret, size_t size)
{
    size_t length = strlen(name);
    if (n <= length || strncasecmp(line, name, length) != 0 || line[length] != ':')
        return false;
    const char *from = line + length + 1, *to = line + n;
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && strchr(" \t\r\n", to[-1]))
        to--;
    snprintf(ret, size, "%.*s", (int)(to - from), from);
    return true;
}

/* An empty line ends the head; one with a status below 200 is followed by another. */
static void end_of_head(struct kube_exchange *x)
{
    if (x->status < 200)
        return;
    x->held = x->status == 401 && !x->tried_again;
    if (!x->held)
        tell_head(x);
}

static size_t on_header(char *line, size_t size, size_t n, void *userdata)
{
    struct kube_exchange *x = userdata;
    char value[32];
    long long seconds;
    (void)size;
    touch(x);
    if (x->head_told || x->held)
        return n; /* trailers */
    if (n > 5 && strncmp(line, "HTTP/", 5) == 0) {
        set_hopeful(x, false);
        x->lane->serial = line[5] == '1';
        x->lane->parked |= x->lane->serial && x->lane->hopeful > 0;
        const char *space = memchr(line, ' ', n);
        x->status = space ? atoi(space) : 0;
        x->retry_after_ms = 0;
        x->content_type[0] = '\0';
    } else if (line[0] == '\r' || line[0] == '\n') {
        end_of_head(x);
    } else if (header_value(line, n, "retry-after", value, sizeof value)) {
        x->retry_after_ms = kb_parse_int(value, 0, 86400, &seconds) ? seconds * 1000 : 0;
    } else {
        header_value(line, n, "content-type", x->content_type, sizeof x->content_type);
    }
    return n;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *userdata)
{
    struct kube_exchange *x = userdata;
    (void)size;
    touch(x);
    x->lane->pieces++;
    x->transport->arrivals++;
    x->transport->bytes += n;
    x->lane->cut = n > 0 && (bytes[n - 1] != '\n' || (long)n >= buffer_sizes[x->lane->index]);
    if (atomic_load(&x->cancelled))
        return CURL_WRITEFUNC_ERROR;
    if (x->held) {
        if (x->refusal.length + n <= MAX_HELD_REFUSAL)
            kb_strbuf_append(&x->refusal, bytes, n);
        return n;
    }
    x->aborted = x->handler->body && x->handler->body(x->userdata, bytes, n) < 0;
    return x->aborted ? CURL_WRITEFUNC_ERROR : n;
}

/* ---- launching ---- */

/*
 * libcurl sends a request again by itself when a connection that was used before closes without an answer. The server
 * may have done what it was asked, so a write is not sent twice: its sender must know that the outcome is unknown.
 */
static int on_send(void *userdata, char *peer, char *own, int peer_port, int own_port)
{
    (void)peer, (void)own, (void)peer_port, (void)own_port;
    struct kube_exchange *x = userdata;
    bool again = x->sent && !kb_streq(x->request.method, "GET");
    x->sent = true;
    return again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void attach_handle(struct kube_exchange *x, const struct kube_auth *auth)
{
    const struct kube_endpoint *endpoint = &x->transport->endpoint;
    struct kube_handle *h = take_handle(x->lane);
    x->handle = h;
    x->generation = auth->generation;
    kube_handle_set_auth(h, endpoint, auth, x->request.content_type);
    kube_handle_set_request(h, endpoint, &x->request);
    set_hopeful(x, !x->lane->serial && endpoint->tls);
    curl_easy_setopt(h->easy, CURLOPT_PIPEWAIT, x->hopeful ? 1L : 0L);
    x->sent = false;
    curl_easy_setopt(h->easy, CURLOPT_PRIVATE, x);
    curl_easy_setopt(h->easy, CURLOPT_PREREQFUNCTION, on_send);
    curl_easy_setopt(h->easy, CURLOPT_PREREQDATA, x);
    curl_easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(h->easy, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, x);
}

static void send_with(struct kube_exchange *x, const struct kube_auth *auth)
{
    attach_handle(x, auth);
    CURLMcode r = curl_multi_add_handle(x->lane->multi, x->handle->easy);
    if (r != CURLM_OK)
        end_with(x, KUBE_ERROR_INTERNAL, curl_multi_strerror(r));
}

/* Sends it, or leaves it waiting for credentials, or ends it. */
static void launch(struct kube_exchange *x)
{
    struct kube_auth auth;
    struct kube_error error;
    switch (kube_credentials_get(x->transport->credentials, &auth, &error)) {
    case KUBE_AUTH_WAIT:
        return;
    case KUBE_AUTH_FAILED:
        end(x, &error);
        return;
    case KUBE_AUTH_READY:
        send_with(x, &auth);
        return;
    }
}

static struct kube_exchange *first_waiting(const struct transport *t)
{
    struct kube_exchange *x = t->live;
    while (x && x->handle)
        x = x->next;
    return x;
}

/* The plug-in has ended: all who waited for it share its result. */
static void launch_waiting(void *userdata)
{
    struct transport *t = userdata;
    struct kube_auth auth;
    struct kube_error error;
    enum kube_auth_state state = kube_credentials_get(t->credentials, &auth, &error);
    if (state == KUBE_AUTH_WAIT)
        return;
    for (struct kube_exchange *x; (x = first_waiting(t));) {
        if (state == KUBE_AUTH_READY)
            send_with(x, &auth);
        else
            end(x, &error);
    }
}

static void credentials_ready(void *userdata)
{
    struct transport *t = userdata;
    post(&t->public, 0, launch_waiting, t);
}

/* ---- completion ---- */

/* A held 401: again with new credentials, or told as it is. */
static void end_refused(struct kube_exchange *x)
{
    x->held = false;
    x->tried_again = true;
    if (kube_credentials_refused(x->transport->credentials, x->generation)) {
        detach_handle(x);
        kb_strbuf_done(&x->refusal);
        x->refusal = (struct kb_strbuf){0};
        launch(x);
        return;
    }
    tell_head(x);
    if (x->refusal.length > 0 && x->handler->body && !atomic_load(&x->cancelled))
        x->handler->body(x->userdata, x->refusal.data, x->refusal.length);
    end(x, NULL);
}

static void complete(struct kube_exchange *x, CURLcode code)
{
    const char *text = x->handle->error[0] ? x->handle->error : curl_easy_strerror(code);
    if (atomic_load(&x->cancelled)) {
        end_with(x, KUBE_ERROR_CANCELLED, "cancelled");
    } else if (x->aborted) {
        end_with(x, KUBE_ERROR_CANCELLED, "aborted by the receiver");
    } else if (code == CURLE_OK && x->held) {
        end_refused(x);
    } else if (code == CURLE_OK) {
        end(x, NULL);
    } else if (code == CURLE_OUT_OF_MEMORY || code == CURLE_FAILED_INIT) {
        end_with(x, KUBE_ERROR_INTERNAL, text);
    } else if (code == CURLE_ABORTED_BY_CALLBACK) {
        end_with(x, KUBE_ERROR_CONNECTION, "the connection was closed before an answer came");
    } else if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
        end_with(x, KUBE_ERROR_INVALID, text);
    } else {
        end_with(x, KUBE_ERROR_CONNECTION, text);
    }
}

static void complete_all(struct lane *lane)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(lane->multi, &left));) {
        struct kube_exchange *x;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &x);
        complete(x, message->data.result);
    }
}

/* Nothing came over the lane's connection since `x` went out: it is dead or its server is stuck, and would take the
 * next requests down with it. All on it end, and the next one opens a new connection. */
static void renew_lane(struct lane *lane)
{
    struct transport *t = lane->transport;
    for (struct kube_exchange *x = t->live; x;) {
        if (x->lane != lane || !x->handle) {
            x = x->next;
            continue;
        }
        end_with(x, KUBE_ERROR_CONNECTION, "the connection is silent");
        x = t->live;
    }
    close_lane(lane);
    open_lane(t, lane->index);
}

static bool is_multiplexed(const struct kube_exchange *x)
{
    long version = 0;
    if (x->handle)
        curl_easy_getinfo(x->handle->easy, CURLINFO_HTTP_VERSION, &version);
    /* Without an answer the version is not known yet: over TLS it may be. */
    return version == CURL_HTTP_VERSION_2_0 || (version == 0 && x->transport->endpoint.tls);
}

static void time_out(struct kube_exchange *x)
{
    struct lane *lane = x->lane;
    bool silent = lane->received_at <= x->active_at && is_multiplexed(x);
    end_with(x, KUBE_ERROR_TIMEOUT, "no answer in time");
    if (silent)
        renew_lane(lane);
}

/* ---- the loop ---- */

static int64_t times_out_at(const struct kube_exchange *x)
{
    int64_t idle = x->request.idle_timeout_ns > 0 ? x->active_at + x->request.idle_timeout_ns : INT64_MAX;
    return idle < x->deadline ? idle : x->deadline;
}

static void take_incoming(struct transport *t)
{
    pthread_mutex_lock(&t->lock);
    struct kube_exchange *x = t->incoming;
    if (t->cancel_wanted)
        t->check_at = INT64_MIN;
    t->incoming = NULL;
    t->incoming_end = &t->incoming;
    t->cancel_wanted = false;
    pthread_mutex_unlock(&t->lock);
    while (x) {
        struct kube_exchange *next = x->next;
        link_live(x);
        t->arrivals++;
        if (times_out_at(x) < t->check_at)
            t->check_at = times_out_at(x);
        if (!atomic_load(&x->cancelled))
            launch(x);
        x = next;
    }
}

static void run_posts(struct transport *t)
{
    int64_t at = now(t);
    for (;;) {
        struct kube_timer timer;
        pthread_mutex_lock(&t->lock);
        bool due = kube_timers_take_due(&t->timers, at, &timer);
        pthread_mutex_unlock(&t->lock);
        if (!due)
            return;
        timer.fn(timer.userdata);
    }
}

/* Ends what was cancelled or is late. When something arrives an exchange has more time: so `check_at` is only the
 * earliest that one can be late. */
static void check_exchanges(struct transport *t)
{
    int64_t at = now(t), next = INT64_MAX;
    if (at < t->check_at)
        return;
    for (struct kube_exchange *x = t->live; x;) {
        int64_t due = atomic_load(&x->cancelled) ? INT64_MIN : times_out_at(x);
        if (due > at) {
            next = due < next ? due : next;
            x = x->next;
            continue;
        }
        if (due == INT64_MIN)
            end_with(x, KUBE_ERROR_CANCELLED, "cancelled");
        else
            time_out(x);
        x = t->live; /* others may have ended with it */
        next = INT64_MAX;
    }
    t->check_at = next;
}

/*
 * What libcurl has read from the socket beyond a stream's buffer stays inside until something makes it look again, and
 * no timer does: a watch event could lie there until the next one comes. So streams are run until nothing more comes.
 */
static void drain(struct lane *lane)
{
    int running;
    uint64_t before;
    if (lane->index == LANE_REQUESTS)
        return;
    while (lane->cut) {
        before = lane->pieces;
        curl_multi_perform(lane->multi, &running);
        if (lane->pieces == before)
            return;
    }
}

/*
 * libcurl parks what comes while a connection is being made that might be shared, and since 8.7 it looks at it again
 * only when another transfer ends, at one each time. Over HTTP/1.1 that may be a watch, which does not end. So once an
 * answer shows that nothing is shared, transfers that do nothing end, one for each that may be parked.
 */
static void release_parked(struct lane *lane)
{
    lane->parked = false;
    CURL *nothing = curl_easy_init();
    for (size_t i = 0; nothing && i < lane->hopeful; i++)
        if (curl_multi_add_handle(lane->multi, nothing) == CURLM_OK)
            curl_multi_remove_handle(lane->multi, nothing);
    curl_easy_cleanup(nothing);
}

static void drive_lanes(struct transport *t)
{
    int running;
    for (uint32_t i = 0; i < N_LANES; i++) {
        struct lane *lane = &t->lanes[i];
        if (lane->close_at <= now(t)) {
            close_lane(lane);
            open_lane(t, i);
        }
        if (lane->call_at <= now(t)) {
            lane->call_at = INT64_MAX;
            curl_multi_socket_action(lane->multi, CURL_SOCKET_TIMEOUT, 0, &running);
            drain(lane);
        }
        complete_all(lane);
        if (lane->parked)
            release_parked(lane);
    }
}

/* Milliseconds to sleep, rounded up; 0 when something waits to be done. The others must wake the loop from here on. */
static int prepare_sleep(struct transport *t)
{
    int64_t next = t->check_at;
    for (int i = 0; i < N_LANES; i++) {
        next = t->lanes[i].call_at < next ? t->lanes[i].call_at : next;
        next = t->lanes[i].close_at < next ? t->lanes[i].close_at : next;
    }
    pthread_mutex_lock(&t->lock);
    int64_t timer = kube_timers_next(&t->timers);
    next = timer < next ? timer : next;
    t->sleeping = !t->incoming && !t->cancel_wanted && !t->stop;
    bool sleeping = t->sleeping;
    pthread_mutex_unlock(&t->lock);
    if (!sleeping)
        return 0;
    if (next == INT64_MAX)
        return -1;
    int64_t left = next - now(t);
    if (left <= 0)
        return 0;
    return left > 60000 * KB_NS_PER_MS ? 60000 : (int)((left + KB_NS_PER_MS - 1) / KB_NS_PER_MS);
}

static void handle_event(struct transport *t, const struct epoll_event *event)
{
    uint32_t index = (uint32_t)(event->data.u64 >> 32);
    int running, mask = 0;
    eventfd_t count;
    if (index == WAKE) {
        eventfd_read(t->wake, &count);
        return;
    }
    if (event->events & EPOLLIN)
        mask |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT)
        mask |= CURL_CSELECT_OUT;
    if (event->events & (EPOLLERR | EPOLLHUP))
        mask |= CURL_CSELECT_ERR;
    curl_multi_socket_action(t->lanes[index].multi, (int)(uint32_t)event->data.u64, mask, &running);
    drain(&t->lanes[index]);
}

static bool is_of_requests(const struct epoll_event *event)
{
    return event->data.u64 >> 32 == LANE_REQUESTS;
}

static bool is_stopping(struct transport *t)
{
    pthread_mutex_lock(&t->lock);
    bool stop = t->stop;
    pthread_mutex_unlock(&t->lock);
    return stop;
}

static void sleep_until_called(struct transport *t)
{
    struct epoll_event events[MAX_EVENTS];
    int n = epoll_wait(t->epoll, events, MAX_EVENTS, prepare_sleep(t));
    pthread_mutex_lock(&t->lock);
    t->sleeping = false;
    pthread_mutex_unlock(&t->lock);
    /* Watches first: whoever wakes to an answer then finds the cache up to date. */
    for (int i = 0; i < n; i++)
        if (!is_of_requests(&events[i]))
            handle_event(t, &events[i]);
    for (int i = 0; i < n; i++)
        if (is_of_requests(&events[i]))
            handle_event(t, &events[i]);
}

static void rest_under_load(struct transport *t)
{
    int64_t part = t->answer_ns / REST_PART;
    const struct timespec rest = {.tv_nsec = part < REST_MAX_NS ? part : REST_MAX_NS};
    int64_t passed = now(t) - t->window_at;
    if (passed >= WINDOW_NS) {
        t->under_load = t->arrivals >= LOAD_ARRIVALS && passed < 2 * WINDOW_NS;
        t->arrivals = 0;
        t->window_at += passed;
    }
    if (t->under_load && t->bytes < MUCH_BYTES && rest.tv_nsec >= REST_MIN_NS)
        nanosleep(&rest, NULL);
    t->bytes = 0;
}

static void *run(void *userdata)
{
    struct transport *t = userdata;
    pthread_setname_np(pthread_self(), t->thread_name);
    while (!is_stopping(t)) {
        take_incoming(t);
        run_posts(t);
        check_exchanges(t);
        drive_lanes(t);
        rest_under_load(t);
        sleep_until_called(t);
    }
    take_incoming(t);
    while (t->live)
        end_with(t->live, KUBE_ERROR_CANCELLED, "the transport is closed");
    return NULL;
}

/* ---- life ---- */

static void release(struct transport *t)
{
    kube_credentials_free(t->credentials);
    for (int i = 0; i < N_LANES; i++)
        if (t->lanes[i].multi)
            close_lane(&t->lanes[i]);
    kube_endpoint_done(&t->endpoint);
    kube_timers_done(&t->timers);
    if (t->epoll >= 0)
        close(t->epoll);
    if (t->wake >= 0)
        close(t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void free_transport(struct kube_transport *self)
{
    struct transport *t = (struct transport *)self;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    wake_up(t);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    release(t);
}

static int start_thread(struct transport *t, struct kube_error *reterr)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)WAKE << 32};
    if (t->epoll < 0 || t->wake < 0 || epoll_ctl(t->epoll, EPOLL_CTL_ADD, t->wake, &event) < 0)
        return kube_error_set_errno(reterr, errno, "setting up the transport");
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    /* Signals are for the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&t->thread, &attributes, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return r != 0 ? kube_error_set_errno(reterr, r, "starting the transport's thread") : 0;
}

/*
 * libcurl starts each of its libraries, also the one for a protocol that is never spoken here, and SSH's brings up
 * OpenSSL beside GnuTLS: 1.5 MiB. This one stands in its place; the only URLs are http and https.
 */
__attribute__((visibility("default"))) int libssh2_init(int flags);
int libssh2_init(int flags)
{
    (void)flags;
    return 0;
}

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_ALL);
}

int kube_transport_curl_new(const struct kube_transport_options *options, struct kube_transport **ret,
                            struct kube_error *reterr)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    struct kube_endpoint endpoint;
    int r = kube_endpoint_init(&endpoint, options->config, options->user_agent, reterr);
    if (r < 0)
        return r;
    struct transport *t = kb_malloc(sizeof *t);
    t->public = (struct kube_transport){
        .start = start, .cancel = cancel, .post = post, .unpost = unpost, .free = free_transport};
    t->endpoint = endpoint;
    t->thread_name = options->thread_name ? options->thread_name : "transport";
    t->clock = options->clock;
    t->incoming_end = &t->incoming;
    t->check_at = INT64_MAX;
    pthread_mutex_init(&t->lock, NULL);
    t->epoll = epoll_create1(EPOLL_CLOEXEC);
    t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    t->credentials = kube_credentials_new(options->config, t->clock, credentials_ready, t);
    for (uint32_t i = 0; i < N_LANES; i++)
        open_lane(t, i);
    r = start_thread(t, reterr);
    if (r < 0) {
        release(t);
        return r;
    }
    *ret = &t->public;
    return 0;
}
