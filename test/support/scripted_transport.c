/*
 * The scripted API server. One lock guards everything; it is never held while a callback runs. All that happens goes
 * through deliver_one(), which does the first thing that can be done now: an end after a cancel or a time-out, a due
 * post, the answer to a request, the next piece of a stream. So the order is fixed.
 *
 * Exchanges stay allocated until script_free: a test that uses one too late is told by the assertion in cancel, not by
 * chance.
 */
#include "support/scripted_transport.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <yyjson.h>

#include <cmocka.h>

#define SCRIPT_BEGIN (1767323045LL * KB_NS_PER_S) /* 2026-01-02T03:04:05Z */

enum answer_kind { ANSWER, CUT, SILENCE };

struct expectation {
    enum answer_kind kind;
    const char *method, *path, *request_body; /* request_body NULL: any */
    const char *body;
    int status, retry_after_seconds;
    bool used;
};

enum end_kind { NOT_ENDED, ENDED, ENDED_CUT };

struct script_stream {
    struct script *script;
    const char *method, *path; /* NULL: handed out by a script_server */
    struct kube_exchange *exchange;
    struct kb_strbuf pending;
    enum end_kind end; /* wished for, once `pending` is delivered */
    bool claimed, finished;
};

struct kube_exchange {
    struct script_request request;
    const struct kube_http_handler *handler;
    void *userdata;
    struct script_stream *stream;
    int64_t deadline, idle_timeout, active_at;
    bool answered, cancelled, ended;
};

struct post {
    int64_t due;
    uint64_t number;
    void (*fn)(void *userdata);
    void *userdata;
};

struct fault {
    size_t at; /* counted request */
    enum script_fault fault;
};

struct script {
    struct kube_transport transport;
    struct kb_clock clock;
    struct kb_clock_fake *time;
    struct kb_arena *arena;
    pthread_mutex_t lock;
    pthread_cond_t wake, idle; /* for the thread; for who waits until it is idle */
    pthread_t thread;
    bool threaded, stop, closed, delivering, any_order;
    pthread_t deliverer; /* while delivering */
    struct {
        size_t n;
        struct expectation **items;
    } expectations;
    struct {
        size_t n;
        struct script_stream **items;
    } streams;
    struct {
        size_t n;
        struct kube_exchange **items;
    } exchanges;
    struct {
        size_t n;
        struct post *items;
    } posts;
    struct {
        size_t n;
        struct fault *items;
    } faults;
    uint64_t post_number;
    size_t first_live; /* exchanges before this one have ended */
    size_t counted;    /* requests that faults count */
    script_server server;
    void *server_data;
    struct kb_strbuf problems;
};

static struct script *script_of(struct kube_transport *transport)
{
    return (struct script *)transport;
}

static int64_t now(const struct script *s)
{
    struct kb_clock *clock = kb_clock_fake_clock(s->time);
    return clock->mono(clock);
}

/* ---- matching ---- */

static bool matches(const char *pattern, const char *text)
{
    for (; *pattern && *pattern != '*'; pattern++, text++)
        if (*pattern != *text)
            return false;
    if (!*pattern)
        return !*text;
    while (*pattern == '*')
        pattern++;
    for (; *text; text++)
        if (matches(pattern, text))
            return true;
    return matches(pattern, text);
}

static bool same_json(const char *a, const char *b)
{
    yyjson_doc *x = yyjson_read(a, strlen(a), 0), *y = yyjson_read(b, strlen(b), 0);
    bool same = x && y ? yyjson_equals(yyjson_doc_get_root(x), yyjson_doc_get_root(y)) : kb_streq(a, b);
    yyjson_doc_free(x);
    yyjson_doc_free(y);
    return same;
}

static bool claims(const struct expectation *e, const struct script_request *r)
{
    return !e->used && kb_streq(e->method, r->method) && matches(e->path, r->path) &&
           (!e->request_body || same_json(e->request_body, r->body));
}

static struct expectation *next_open(const struct script *s)
{
    kb_vec_foreach (e, &s->expectations)
        if (!(*e)->used)
            return *e;
    return NULL;
}

static struct expectation *find_expectation(const struct script *s, const struct script_request *r)
{
    if (!s->any_order) {
        struct expectation *e = next_open(s);
        return e && claims(e, r) ? e : NULL;
    }
    kb_vec_foreach (e, &s->expectations)
        if (claims(*e, r))
            return *e;
    return NULL;
}

static struct script_stream *find_stream(const struct script *s, const struct script_request *r)
{
    kb_vec_foreach (stream, &s->streams)
        if ((*stream)->path && !(*stream)->claimed && kb_streq((*stream)->method, r->method) &&
            matches((*stream)->path, r->path))
            return *stream;
    return NULL;
}

static void report_unexpected(struct script *s, const struct script_request *r)
{
    kb_strbuf_printf(&s->problems, "unexpected request: %s %s %s\n", r->method, r->path, r->body);
    const struct expectation *e = next_open(s);
    if (e)
        kb_strbuf_printf(&s->problems, "    expected next:  %s %s %s\n", e->method, e->path,
                         e->request_body ? e->request_body : "");
}

/* ---- calling back; the lock is held on entry and on return ---- */

static void call_end(struct script *s, struct kube_exchange *x, enum kube_error_kind kind, const char *message)
{
    struct kube_error error = {0};
    if (kind != KUBE_ERROR_NONE)
        kube_error_set(&error, kind, "%s %s: %s", x->request.method, x->request.path, message);
    x->ended = true;
    if (x->stream)
        x->stream->finished = true;
    pthread_mutex_unlock(&s->lock);
    x->handler->end(x->userdata, kind == KUBE_ERROR_NONE ? NULL : &error);
    pthread_mutex_lock(&s->lock);
}

static void call_head(struct script *s, struct kube_exchange *x, int status, int retry_after_seconds)
{
    struct kube_http_head head = {
        .status = status, .retry_after_ms = retry_after_seconds * 1000LL, .content_type = "application/json"};
    pthread_mutex_unlock(&s->lock);
    if (x->handler->head)
        x->handler->head(x->userdata, &head);
    pthread_mutex_lock(&s->lock);
}

/* False: the exchange ended meanwhile. */
static bool call_body(struct script *s, struct kube_exchange *x, const char *body, size_t n)
{
    if (x->cancelled)
        return true; /* its end is the next thing delivered */
    x->active_at = now(s);
    pthread_mutex_unlock(&s->lock);
    int r = n > 0 && x->handler->body ? x->handler->body(x->userdata, body, n) : 0;
    pthread_mutex_lock(&s->lock);
    if (r >= 0)
        return true;
    call_end(s, x, KUBE_ERROR_CANCELLED, "aborted by the receiver");
    return false;
}

static void answer(struct script *s, struct kube_exchange *x, int status, int retry_after_seconds, const char *body)
{
    call_head(s, x, status, retry_after_seconds);
    if (!call_body(s, x, body, strlen(body)))
        return;
    if (!x->cancelled)
        call_end(s, x, KUBE_ERROR_NONE, NULL);
}

static const char *status_text(struct script *s, int status, const char *reason, const char *message)
{
    struct kb_strbuf b = {.arena = s->arena};
    kb_strbuf_printf(&b,
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":");
    kb_strbuf_json_string(&b, message, strlen(message));
    kb_strbuf_puts(&b, ",\"reason\":");
    kb_strbuf_json_string(&b, reason, strlen(reason));
    kb_strbuf_printf(&b, ",\"code\":%d}", status);
    return kb_strbuf_text(&b);
}

static void open_stream(struct script *s, struct kube_exchange *x, struct script_stream *stream)
{
    stream->claimed = true;
    stream->exchange = x;
    x->stream = stream;
    call_head(s, x, 200, 0);
}

/* The server in code does its part, and its answer gets lost. */
static void let_server_act(struct script *s, const struct kube_exchange *x)
{
    struct script_reply reply = {.status = 200, .body = "", .arena = s->arena};
    pthread_mutex_unlock(&s->lock);
    if (s->server)
        s->server(s->server_data, &x->request, &reply);
    pthread_mutex_lock(&s->lock);
}

static void meet_fault(struct script *s, struct kube_exchange *x, struct expectation *e, enum script_fault fault)
{
    switch (fault) {
    case SCRIPT_CUT_AFTER:
        if (e)
            e->used = true;
        else
            let_server_act(s, x);
        call_end(s, x, KUBE_ERROR_CONNECTION, "connection lost");
        return;
    case SCRIPT_CUT_BEFORE:
        call_end(s, x, KUBE_ERROR_CONNECTION, "connection lost");
        return;
    case SCRIPT_CONFLICT:
        answer(s, x, 409, 0, status_text(s, 409, "Conflict", "the object has been modified"));
        return;
    case SCRIPT_TOO_MANY:
        answer(s, x, 429, 1, status_text(s, 429, "TooManyRequests", "too many requests"));
        return;
    case SCRIPT_INTERNAL:
        answer(s, x, 500, 0, status_text(s, 500, "InternalError", "internal error"));
        return;
    case SCRIPT_UNAVAILABLE:
        answer(s, x, 503, 0, status_text(s, 503, "ServiceUnavailable", "unavailable"));
        return;
    case SCRIPT_TIMEOUT:
    case SCRIPT_NO_FAULT:
        return;
    }
}

static enum script_fault take_fault(struct script *s)
{
    s->counted++;
    kb_vec_foreach (f, &s->faults)
        if (f->at == s->counted)
            return f->fault;
    return SCRIPT_NO_FAULT;
}

static void meet_expectation(struct script *s, struct kube_exchange *x, struct expectation *e)
{
    e->used = true;
    if (e->kind == CUT)
        call_end(s, x, KUBE_ERROR_CONNECTION, "connection lost");
    else if (e->kind == ANSWER)
        answer(s, x, e->status, e->retry_after_seconds, e->body);
}

static void ask_server(struct script *s, struct kube_exchange *x)
{
    struct script_reply reply = {.status = 200, .body = "", .arena = s->arena};
    pthread_mutex_unlock(&s->lock);
    bool claimed = s->server && s->server(s->server_data, &x->request, &reply);
    pthread_mutex_lock(&s->lock);
    if (!claimed) {
        report_unexpected(s, &x->request);
        answer(s, x, 500, 0, status_text(s, 500, "InternalError", "not in the script"));
        return;
    }
    if (reply.stream)
        open_stream(s, x, reply.stream);
    else if (reply.cut)
        call_end(s, x, KUBE_ERROR_CONNECTION, "connection lost");
    else if (!reply.silent)
        answer(s, x, reply.status, reply.retry_after_seconds, reply.body);
}

static void answer_request(struct script *s, struct kube_exchange *x)
{
    x->answered = true;
    struct script_stream *stream = find_stream(s, &x->request);
    if (stream) {
        open_stream(s, x, stream);
        return;
    }
    struct expectation *e = find_expectation(s, &x->request);
    enum script_fault fault = take_fault(s);
    if (fault != SCRIPT_NO_FAULT)
        meet_fault(s, x, e, fault);
    else if (e)
        meet_expectation(s, x, e);
    else
        ask_server(s, x);
}

/* ---- delivering ---- */

static int64_t times_out_at(const struct kube_exchange *x)
{
    int64_t idle = x->idle_timeout > 0 ? x->active_at + x->idle_timeout : INT64_MAX;
    return idle < x->deadline ? idle : x->deadline;
}

static bool stream_has_news(const struct kube_exchange *x)
{
    return x->stream && (x->stream->pending.length > 0 || x->stream->end != NOT_ENDED);
}

static void feed_stream(struct script *s, struct kube_exchange *x)
{
    struct script_stream *stream = x->stream;
    if (stream->pending.length > 0) {
        kb_cleanup_strbuf struct kb_strbuf piece = stream->pending;
        stream->pending = (struct kb_strbuf){0};
        call_body(s, x, piece.data, piece.length);
        return;
    }
    if (stream->end == ENDED)
        call_end(s, x, KUBE_ERROR_NONE, NULL);
    else
        call_end(s, x, KUBE_ERROR_CONNECTION, "connection lost");
}

static bool advance_exchange(struct script *s, struct kube_exchange *x)
{
    if (x->cancelled)
        call_end(s, x, KUBE_ERROR_CANCELLED, "cancelled");
    else if (times_out_at(x) <= now(s))
        call_end(s, x, KUBE_ERROR_TIMEOUT, "no answer in time");
    else if (!x->answered)
        answer_request(s, x);
    else if (stream_has_news(x))
        feed_stream(s, x);
    else
        return false;
    return true;
}

/* Index of the post that comes first, or -1. */
static long first_post(const struct script *s)
{
    long first = -1;
    for (size_t i = 0; i < s->posts.n; i++) {
        const struct post *p = &s->posts.items[i], *q = first < 0 ? NULL : &s->posts.items[first];
        if (!q || p->due < q->due || (p->due == q->due && p->number < q->number))
            first = (long)i;
    }
    return first;
}

static bool run_due_post(struct script *s)
{
    long i = s->closed ? -1 : first_post(s);
    if (i < 0 || s->posts.items[i].due > now(s))
        return false;
    struct post post = s->posts.items[i];
    kb_vec_remove(&s->posts, i);
    pthread_mutex_unlock(&s->lock);
    post.fn(post.userdata);
    pthread_mutex_lock(&s->lock);
    return true;
}

static bool advance_any_exchange(struct script *s)
{
    while (s->first_live < s->exchanges.n && s->exchanges.items[s->first_live]->ended)
        s->first_live++;
    for (size_t i = s->first_live; i < s->exchanges.n; i++)
        if (!s->exchanges.items[i]->ended && advance_exchange(s, s->exchanges.items[i]))
            return true;
    return false;
}

/* Does one thing; false when there is nothing to do now. Lock held. */
static bool deliver_one(struct script *s)
{
    if (s->delivering) {
        assert(!pthread_equal(s->deliverer, pthread_self()) && "a blocking call in a callback of the transport");
        return false;
    }
    s->delivering = true;
    s->deliverer = pthread_self();
    bool done = run_due_post(s) || advance_any_exchange(s);
    s->delivering = false;
    return done;
}

static int64_t next_due(const struct script *s)
{
    long i = first_post(s);
    int64_t due = i < 0 ? INT64_MAX : s->posts.items[i].due;
    for (size_t k = s->first_live; k < s->exchanges.n; k++) {
        int64_t t = s->exchanges.items[k]->ended ? INT64_MAX : times_out_at(s->exchanges.items[k]);
        if (t < due)
            due = t;
    }
    return due;
}

/* ---- the clock ---- */

static int64_t clock_wall(struct kb_clock *clock)
{
    struct script *s = (struct script *)((char *)clock - offsetof(struct script, clock));
    struct kb_clock *inner = kb_clock_fake_clock(s->time);
    return inner->wall(inner);
}

static int64_t clock_mono(struct kb_clock *clock)
{
    return now((struct script *)((char *)clock - offsetof(struct script, clock)));
}

static void play(struct script *s, int64_t deadline)
{
    pthread_mutex_lock(&s->lock);
    if (!deliver_one(s)) {
        int64_t due = next_due(s), at = due < deadline ? due : deadline;
        if (at == INT64_MAX) {
            fprintf(stderr, "a wait without end: nothing is left in the script\n%s", kb_strbuf_text(&s->problems));
            abort();
        }
        if (at > now(s))
            kb_clock_fake_advance(s->time, at - now(s));
    }
    pthread_mutex_unlock(&s->lock);
}

static bool clock_wait(struct kb_clock *clock, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    struct script *s = (struct script *)((char *)clock - offsetof(struct script, clock));
    struct kb_clock *inner = kb_clock_fake_clock(s->time);
    if (s->threaded)
        return inner->wait(inner, cond, mutex, deadline);
    pthread_mutex_unlock(mutex);
    play(s, deadline);
    pthread_mutex_lock(mutex);
    return now(s) >= deadline;
}

/* ---- the transport ---- */

static struct kube_exchange *transport_start(struct kube_transport *self, const struct kube_http_request *r,
                                             const struct kube_http_handler *handler, void *userdata)
{
    struct script *s = script_of(self);
    pthread_mutex_lock(&s->lock);
    struct kube_exchange *x = kb_arena_one(s->arena, struct kube_exchange);
    x->request = (struct script_request){
        .method = kb_arena_strdup(s->arena, r->method),
        .path = kb_arena_strdup(s->arena, r->path),
        .content_type = kb_arena_strdup(s->arena, r->content_type ? r->content_type : ""),
        .body = r->body_length > 0 ? kb_arena_strndup(s->arena, r->body, r->body_length) : "",
        .body_length = r->body_length,
    };
    x->handler = handler;
    x->userdata = userdata;
    x->active_at = now(s);
    x->deadline = r->timeout_ns > 0 ? x->active_at + r->timeout_ns : INT64_MAX;
    x->idle_timeout = r->idle_timeout_ns;
    x->cancelled = s->closed;
    *kb_vec_push(s->arena, &s->exchanges) = x;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return x;
}

static void transport_cancel(struct kube_transport *self, struct kube_exchange *x)
{
    struct script *s = script_of(self);
    pthread_mutex_lock(&s->lock);
    assert(!x->ended && "cancel of an exchange that has ended");
    x->cancelled = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

static uint64_t transport_post(struct kube_transport *self, int64_t delay_ns, void (*fn)(void *userdata),
                               void *userdata)
{
    struct script *s = script_of(self);
    pthread_mutex_lock(&s->lock);
    *kb_vec_push(s->arena, &s->posts) =
        (struct post){.due = now(s) + delay_ns, .number = ++s->post_number, .fn = fn, .userdata = userdata};
    uint64_t number = s->post_number;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    return number;
}

static bool transport_unpost(struct kube_transport *self, uint64_t number)
{
    struct script *s = script_of(self);
    bool found = false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->posts.n && !found; i++) {
        found = s->posts.items[i].number == number;
        if (found)
            kb_vec_remove(&s->posts, i);
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* In thread mode the thread delivers the ends and stops; otherwise they are delivered here. */
static void close_all(struct script *s)
{
    pthread_mutex_lock(&s->lock);
    s->closed = true;
    for (size_t i = s->first_live; i < s->exchanges.n; i++)
        s->exchanges.items[i]->cancelled = true;
    s->stop = true;
    pthread_cond_signal(&s->wake);
    bool join = s->threaded;
    while (!join && deliver_one(s))
        continue;
    pthread_mutex_unlock(&s->lock);
    if (join)
        pthread_join(s->thread, NULL);
    s->threaded = false;
}

static void transport_free(struct kube_transport *self)
{
    close_all(script_of(self));
}

struct script *script_new(void)
{
    struct script *s = kb_malloc(sizeof *s);
    s->transport = (struct kube_transport){.start = transport_start,
                                           .cancel = transport_cancel,
                                           .post = transport_post,
                                           .unpost = transport_unpost,
                                           .free = transport_free};
    s->clock = (struct kb_clock){.wall = clock_wall, .mono = clock_mono, .wait = clock_wait};
    s->time = kb_clock_fake_new(SCRIPT_BEGIN);
    s->arena = kb_arena_new();
    pthread_mutex_init(&s->lock, NULL);
    kb_cond_init(&s->wake);
    kb_cond_init(&s->idle);
    return s;
}

struct kube_transport *script_transport(struct script *s)
{
    return &s->transport;
}

struct kb_clock *script_clock(struct script *s)
{
    return &s->clock;
}

static void describe_leftovers(struct script *s, struct kb_strbuf *text)
{
    kb_strbuf_puts(text, kb_strbuf_text(&s->problems));
    kb_vec_foreach (e, &s->expectations)
        if (!(*e)->used)
            kb_strbuf_printf(text, "expected, but never asked: %s %s %s\n", (*e)->method, (*e)->path,
                             (*e)->request_body ? (*e)->request_body : "");
    kb_vec_foreach (stream, &s->streams)
        if ((*stream)->path && !(*stream)->claimed)
            kb_strbuf_printf(text, "stream never asked for: %s %s\n", (*stream)->method, (*stream)->path);
}

const char *script_problems(struct script *s)
{
    struct kb_strbuf text = {.arena = s->arena};
    pthread_mutex_lock(&s->lock);
    describe_leftovers(s, &text);
    pthread_mutex_unlock(&s->lock);
    return kb_strbuf_text(&text);
}

void script_forgive(struct script *s)
{
    script_clear(s);
    pthread_mutex_lock(&s->lock);
    kb_strbuf_clear(&s->problems);
    kb_vec_foreach (stream, &s->streams)
        (*stream)->claimed = true;
    pthread_mutex_unlock(&s->lock);
}

void script_verify(struct script *s)
{
    const char *text = script_problems(s);
    if (*text)
        fail_msg("\n%s", text);
}

void script_free(struct script *s)
{
    struct kb_strbuf text = {0};
    describe_leftovers(s, &text);
    close_all(s);
    kb_vec_foreach (stream, &s->streams)
        kb_strbuf_done(&(*stream)->pending);
    kb_strbuf_done(&s->problems);
    kb_clock_fake_free(s->time);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->idle);
    pthread_mutex_destroy(&s->lock);
    kb_arena_free(s->arena);
    free(s);
    if (text.length > 0)
        fail_msg("\n%s", text.data);
    kb_strbuf_done(&text);
}

/* ---- the script ---- */

static struct expectation *expect(struct script *s, enum answer_kind kind, const char *method, const char *path)
{
    pthread_mutex_lock(&s->lock);
    struct expectation *e = kb_arena_one(s->arena, struct expectation);
    e->kind = kind;
    e->method = kb_arena_strdup(s->arena, method);
    e->path = kb_arena_strdup(s->arena, path);
    e->status = 200;
    e->body = "";
    *kb_vec_push(s->arena, &s->expectations) = e;
    pthread_mutex_unlock(&s->lock);
    return e;
}

void script_answer(struct script *s, const char *method, const char *path, int status, const char *body)
{
    script_answer_body(s, method, path, NULL, status, body);
}

void script_answer_body(struct script *s, const char *method, const char *path, const char *request_body, int status,
                        const char *body)
{
    struct expectation *e = expect(s, ANSWER, method, path);
    e->request_body = request_body ? kb_arena_strdup(s->arena, request_body) : NULL;
    e->status = status;
    e->body = kb_arena_strdup(s->arena, body);
}

void script_refuse(struct script *s, const char *method, const char *path, int status, const char *reason,
                   const char *message)
{
    struct expectation *e = expect(s, ANSWER, method, path);
    e->status = status;
    e->body = status_text(s, status, reason, message);
}

void script_refuse_for(struct script *s, const char *method, const char *path, int status, int retry_after_seconds)
{
    struct expectation *e = expect(s, ANSWER, method, path);
    e->status = status;
    e->retry_after_seconds = retry_after_seconds;
    e->body = status_text(s, status, status == 429 ? "TooManyRequests" : "ServiceUnavailable", "try again later");
}

void script_cut(struct script *s, const char *method, const char *path)
{
    expect(s, CUT, method, path);
}

void script_silence(struct script *s, const char *method, const char *path)
{
    expect(s, SILENCE, method, path);
}

void script_any_order(struct script *s)
{
    s->any_order = true;
}

void script_clear(struct script *s)
{
    pthread_mutex_lock(&s->lock);
    s->expectations.n = 0;
    s->expectations.items = NULL;
    pthread_mutex_unlock(&s->lock);
}

size_t script_open(const struct script *s)
{
    size_t n = 0;
    kb_vec_foreach (e, &s->expectations)
        n += !(*e)->used;
    return n;
}

void script_serve(struct script *s, script_server server, void *userdata)
{
    s->server = server;
    s->server_data = userdata;
}

void script_fail_request(struct script *s, int k, enum script_fault fault)
{
    pthread_mutex_lock(&s->lock);
    *kb_vec_push(s->arena, &s->faults) = (struct fault){.at = s->counted + (size_t)k, .fault = fault};
    pthread_mutex_unlock(&s->lock);
}

/* ---- streams ---- */

struct script_stream *script_stream_new(struct script *s)
{
    pthread_mutex_lock(&s->lock);
    struct script_stream *stream = kb_arena_one(s->arena, struct script_stream);
    stream->script = s;
    *kb_vec_push(s->arena, &s->streams) = stream;
    pthread_mutex_unlock(&s->lock);
    return stream;
}

struct script_stream *script_stream(struct script *s, const char *method, const char *path)
{
    struct script_stream *stream = script_stream_new(s);
    pthread_mutex_lock(&s->lock);
    stream->method = kb_arena_strdup(s->arena, method);
    stream->path = kb_arena_strdup(s->arena, path);
    pthread_mutex_unlock(&s->lock);
    return stream;
}

bool script_stream_is_open(const struct script_stream *stream)
{
    pthread_mutex_lock(&stream->script->lock);
    bool open = stream->claimed && !stream->finished;
    pthread_mutex_unlock(&stream->script->lock);
    return open;
}

void script_stream_send(struct script_stream *stream, const char *text)
{
    pthread_mutex_lock(&stream->script->lock);
    kb_strbuf_puts(&stream->pending, text);
    pthread_cond_signal(&stream->script->wake);
    pthread_mutex_unlock(&stream->script->lock);
}

void script_stream_event(struct script_stream *stream, const char *type, const char *object)
{
    struct kb_strbuf line = {0};
    kb_strbuf_printf(&line, "{\"type\":\"%s\",\"object\":%s}\n", type, object);
    script_stream_send(stream, line.data);
    kb_strbuf_done(&line);
}

static void end_stream(struct script_stream *stream, enum end_kind end)
{
    pthread_mutex_lock(&stream->script->lock);
    stream->end = end;
    pthread_cond_signal(&stream->script->wake);
    pthread_mutex_unlock(&stream->script->lock);
}

void script_stream_end(struct script_stream *stream)
{
    end_stream(stream, ENDED);
}

void script_stream_cut(struct script_stream *stream)
{
    end_stream(stream, ENDED_CUT);
}

/* ---- running ---- */

static void *run_thread(void *userdata)
{
    struct script *s = userdata;
    struct kb_clock *clock = kb_clock_fake_clock(s->time);
    pthread_mutex_lock(&s->lock);
    for (;;) {
        if (deliver_one(s))
            continue;
        pthread_cond_broadcast(&s->idle);
        if (s->stop)
            break;
        clock->wait(clock, &s->wake, &s->lock, next_due(s));
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void script_start_thread(struct script *s)
{
    s->threaded = true;
    if (pthread_create(&s->thread, NULL, run_thread, s) != 0)
        abort();
}

/* True when deliver_one would do something. */
static bool has_work(const struct script *s)
{
    if (next_due(s) <= now(s))
        return true;
    for (size_t i = s->first_live; i < s->exchanges.n; i++) {
        const struct kube_exchange *x = s->exchanges.items[i];
        if (!x->ended && (x->cancelled || !x->answered || stream_has_news(x)))
            return true;
    }
    return false;
}

void script_run(struct script *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->threaded)
        while (s->delivering || has_work(s))
            pthread_cond_wait(&s->idle, &s->lock);
    else
        while (deliver_one(s))
            continue;
    pthread_mutex_unlock(&s->lock);
}

void script_advance(struct script *s, int64_t ns)
{
    int64_t target = now(s) + ns;
    for (;;) {
        script_run(s);
        int64_t left = target - now(s), timer = script_next_timer(s);
        if (left <= 0)
            return;
        kb_clock_fake_advance(s->time, timer >= 0 && timer < left ? timer : left);
    }
}

int64_t script_next_timer(struct script *s)
{
    pthread_mutex_lock(&s->lock);
    int64_t due = next_due(s), t = now(s);
    pthread_mutex_unlock(&s->lock);
    return due == INT64_MAX ? -1 : due > t ? due - t : 0;
}

/* ---- what was asked ---- */

size_t script_requests(struct script *s)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->exchanges.n;
    pthread_mutex_unlock(&s->lock);
    return n;
}

const struct script_request *script_request(struct script *s, size_t index)
{
    pthread_mutex_lock(&s->lock);
    assert(index < s->exchanges.n);
    const struct script_request *r = &s->exchanges.items[index]->request;
    pthread_mutex_unlock(&s->lock);
    return r;
}

size_t script_count(struct script *s, const char *method, const char *path)
{
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    kb_vec_foreach (x, &s->exchanges)
        n += matches(method, (*x)->request.method) && matches(path, (*x)->request.path);
    pthread_mutex_unlock(&s->lock);
    return n;
}
