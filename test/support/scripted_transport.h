/*
 * An API server made of a script, for tests: a `struct kube_transport` without sockets, and a clock that goes with it.
 *
 *     struct script *s = script_new();
 *     client = kube_client_new(&(struct kube_client_options){.transport = script_transport(s), .clock =
 * script_clock(s)}); script_answer(s, "GET", "/api/v1/namespaces/default/pods/a", 200, "{...}"); script_answer_body(s,
 * "PATCH", "/api/v1/...", "{\"metadata\":{...}}", 200, "{...}");
 *     ... what is tested ...
 *     script_free(s);      fails the test: request nobody claimed, wrong order, answer nobody asked for
 *
 * Without threads: what is tested runs on the test's thread. A blocking call (kube_call, a rate limit, a Retry-After)
 * waits through script_clock, whose wait() plays the server: it delivers answers and runs posts, and when nothing is
 * left to deliver it moves the time to the next timer or to the waiter's deadline. So nothing sleeps, and each run
 * is the same. A wait that nothing can end aborts the test. Callbacks never run inside start, cancel and post: only in
 * a wait of the clock, script_run and script_advance.
 *
 * With threads (script_start_thread): the transport has a thread of its own, as the real one; time only moves by
 * script_advance. For tests under ThreadSanitizer.
 *
 * A path may contain '*', which matches any text (also '/' and '?'). JSON bodies are compared as values, the order of
 * members does not count; other bodies as text.
 */
#ifndef TEST_SCRIPTED_TRANSPORT_H
#define TEST_SCRIPTED_TRANSPORT_H

#include "base/arena.h"
#include "base/clock.h"
#include "kube/transport.h"
#include <stdbool.h>

struct script;

struct script *script_new(void);      /* wall time 2026-01-02T03:04:05Z */
void script_verify(struct script *s); /* fails the test when something was not as scripted; may be called at any time */
void script_free(struct script *s);   /* verifies; ends what runs */
/* What script_verify would complain about, "" for nothing; and its forgetting. For tests of this file. */
const char *script_problems(struct script *s);
void script_forgive(struct script *s);
struct kube_transport *script_transport(struct script *s); /* its free() ends what runs; script_free releases it */
struct kb_clock *script_clock(struct script *s);

/* ---- expected requests; each is used once, in the order of the calls ---- */

void script_answer(struct script *s, const char *method, const char *path, int status, const char *body);
/* The request's body must be as given, too. */
void script_answer_body(struct script *s, const char *method, const char *path, const char *request_body, int status,
                        const char *body);
/* A Status object as the API server sends it: script_refuse(s, "PATCH", path, 409, "Conflict", "..."). */
void script_refuse(struct script *s, const char *method, const char *path, int status, const char *reason,
                   const char *message);
/* With the header Retry-After. */
void script_refuse_for(struct script *s, const char *method, const char *path, int status, int retry_after_seconds);
/* The connection breaks instead of an answer. */
void script_cut(struct script *s, const char *method, const char *path);
/* No answer: the exchange ends by its time-out or by cancel. */
void script_silence(struct script *s, const char *method, const char *path);

/* Default: a request must match the first unused expectation. After this: any unused one (first match). */
void script_any_order(struct script *s);
/* Forgets what is still expected. */
void script_clear(struct script *s);
size_t script_open(const struct script *s); /* expectations not used yet */

/* ---- streams by hand: watches ---- */

/* Expects a request that is answered with 200 and a body which the test sends piece by piece. Streams are matched
 * out of order, before the other expectations. The handle is valid until script_free. */
struct script_stream;
struct script_stream *script_stream(struct script *s, const char *method, const char *path);
bool script_stream_is_open(const struct script_stream *stream); /* asked for, and not ended by either side */
/* Text sent before the stream is open is delivered when it opens. Delivered by script_run. */
void script_stream_send(struct script_stream *stream, const char *text);
/* One line {"type":TYPE,"object":OBJECT}. */
void script_stream_event(struct script_stream *stream, const char *type, const char *object);
void script_stream_end(struct script_stream *stream); /* the answer is complete, as after the server's time-out */
void script_stream_cut(struct script_stream *stream); /* the connection breaks */

/* ---- a server in code: asked for each request that no expectation claims ---- */

struct script_request {
    const char *method, *path, *content_type /* "" without body */, *body /* "" */;
    size_t body_length;
};
struct script_reply {
    int status;                   /* 200 unless set */
    int retry_after_seconds;      /* 0: no header */
    const char *body;             /* "" unless set; in `arena`, or static */
    bool cut, silent;             /* instead of an answer */
    struct script_stream *stream; /* instead of an answer: a stream from script_stream_new */
    struct kb_arena *arena;
};
/* False: not claimed (the test fails). On the thread that delivers. */
typedef bool (*script_server)(void *userdata, const struct script_request *request, struct script_reply *reply);
void script_serve(struct script *s, script_server server, void *userdata);
struct script_stream *script_stream_new(struct script *s);

/* ---- faults ---- */

enum script_fault {
    SCRIPT_NO_FAULT,
    SCRIPT_CUT_BEFORE,  /* connection lost, the server never saw the request: its expectation stays */
    SCRIPT_CUT_AFTER,   /* connection lost, the server acted: the expectation is used, its answer is lost; without an
                         * expectation it is the server in code that acts */
    SCRIPT_CONFLICT,    /* 409 Conflict; this and the following: the expectation stays */
    SCRIPT_TOO_MANY,    /* 429 with Retry-After: 1 */
    SCRIPT_INTERNAL,    /* 500 */
    SCRIPT_UNAVAILABLE, /* 503 */
    SCRIPT_TIMEOUT,     /* silence until the exchange's time-out */
};
/* The k-th request from now (1: the next; requests that streams claim are not counted) meets `fault`. */
void script_fail_request(struct script *s, int k, enum script_fault fault);

/* ---- running ---- */

void script_run(struct script *s);                 /* delivers all that can be delivered now; time stands still */
void script_advance(struct script *s, int64_t ns); /* moves the time, running timers and deliveries in order */
int64_t script_next_timer(struct script *s);       /* ns until the next post or time-out; -1: none */
void script_start_thread(struct script *s);        /* see above; before the first request */

/* ---- what was asked ---- */

/* All requests since script_new (also failed ones), in order; valid until script_free. */
size_t script_requests(struct script *s);
const struct script_request *script_request(struct script *s, size_t index);
size_t script_count(struct script *s, const char *method, const char *path); /* requests that match; method "*": any */

#endif
