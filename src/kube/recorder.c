/*
 * The recorder: a queue of events, and those on their way, a few at a time.
 *
 *     waiting -> (correlate) -> on its way: asked for -> written, refused: gone
 *                                   ^         |
 *                                   +- sleeping (the server could not be reached, or stumbled)
 *
 * So events keep up with a burst of changes, and one that fails does not hold up the others. The repetition of an event
 * is a patch of the one that was written first: while that is on its way, it and what is behind it wait.
 *
 * `recorder->lock` covers all of it and is held when requests are begun (which never calls back from inside). A
 * recorder that is freed while a request runs lives on, closed, until that request has ended.
 */
#include "kube/recorder.h"
#include "api/meta.h"
#include "api/types/core.h"
#include "base/strings.h"
#include "base/time.h"
#include "kube/event_correlator.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_WAITING  1000
#define MAX_GOING    8  /* on their way at the same time */
#define MAX_TRIES    16 /* about a minute */
#define MAX_REFUSALS 5  /* of one event */
#define FIRST_NS     (100 * KB_NS_PER_MS)
#define RETRY_NS     (10 * KB_NS_PER_S) /* the longest pause */
#define FREE_WAIT_NS (2 * KB_NS_PER_S)

struct pending {
    struct kb_arena *arena; /* holds this struct too */
    struct kube_recorder *recorder;
    struct pending *next; /* among those that wait, or those on their way */
    struct core_event event;
    bool create; /* even though it has a count: there was nothing to patch */
    int tries, refusals;
    uint64_t sleep; /* post that ends the pause before the next try; 0: it is asked for */
};

struct kube_recorder {
    struct kube_client *client;
    struct kb_clock *clock;
    struct kb_random *random;
    char *component;
    pthread_mutex_t lock;
    pthread_cond_t idle; /* nothing is asked for */
    struct kube_correlator *correlator;
    struct pending *first, **last;
    size_t n_waiting;
    struct pending *held; /* the next one, correlated, when it waits for the one that it repeats */
    struct pending *going;
    size_t n_going, n_asking;
    bool away; /* the last answer is that there was none: then one is on its way at a time, and the others are kept */
    bool closed;
    struct kube_recorder_state state;
    _Atomic int64_t last_name; /* the newest time in an event's name */
};

struct kube_recorder *kube_recorder_new(struct kube_client *client, const char *component, struct kb_clock *clock,
                                        struct kb_random *random)
{
    struct kube_recorder *recorder = kb_malloc(sizeof *recorder);
    recorder->client = client;
    recorder->clock = clock;
    recorder->random = random;
    recorder->component = kb_strdup(component);
    recorder->correlator = kube_correlator_new(clock, random);
    recorder->last = &recorder->first;
    pthread_mutex_init(&recorder->lock, NULL);
    kb_cond_init(&recorder->idle);
    return recorder;
}

static void release(struct kube_recorder *recorder)
{
    kube_correlator_free(recorder->correlator);
    pthread_cond_destroy(&recorder->idle);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder->component);
    free(recorder);
}

/* ---- an event on its way; with the lock held ---- */

static void on_answer(void *userdata, const char *body, size_t n, const struct kube_error *error);

static bool is_creation(const struct pending *pending)
{
    return pending->create || pending->event.count == 1;
}

static void ask(struct pending *pending)
{
    struct kube_recorder *recorder = pending->recorder;
    struct kube_target target = {.resource = core_event_type.resource, .namespace_ = pending->event.metadata.namespace};
    struct kb_strbuf body = {.arena = pending->arena};
    bool create = is_creation(pending);
    if (create) {
        api_encode(&core_event_type, &pending->event, 0, &body);
    } else {
        target.name = pending->event.metadata.name;
        kb_strbuf_puts(&body, kube_event_patch(pending->arena, &pending->event));
    }
    recorder->n_asking++;
    kube_call_async(recorder->client, create ? KUBE_CREATE : KUBE_PATCH, &target,
                    create ? KUBE_JSON : KUBE_STRATEGIC_PATCH, body.data, body.length, on_answer, pending);
}

static bool is_going(const struct kube_recorder *recorder, const struct core_event *event)
{
    for (const struct pending *p = recorder->going; p; p = p->next)
        if (kb_streq(p->event.metadata.name, event->metadata.name) &&
            kb_streq(p->event.metadata.namespace, event->metadata.namespace))
            return true;
    return false;
}

/* The next one that is to be sent, correlated; NULL: none. */
static struct pending *take_next(struct kube_recorder *recorder)
{
    if (recorder->held)
        return KB_TAKE_PTR(recorder->held);
    for (struct pending *pending; (pending = recorder->first);) {
        recorder->first = pending->next;
        if (!recorder->first)
            recorder->last = &recorder->first;
        recorder->n_waiting--;
        if (kube_correlate(recorder->correlator, pending->arena, &pending->event))
            return pending;
        recorder->state.suppressed++;
        kb_arena_free(pending->arena);
    }
    return NULL;
}

static void go_on(struct kube_recorder *recorder)
{
    while (recorder->n_going < (recorder->away ? 1 : MAX_GOING)) {
        struct pending *pending = take_next(recorder);
        if (!pending)
            break;
        if (is_going(recorder, &pending->event)) {
            recorder->held = pending;
            break;
        }
        pending->next = recorder->going;
        recorder->going = pending;
        recorder->n_going++;
        ask(pending);
    }
    if (recorder->n_asking == 0)
        pthread_cond_broadcast(&recorder->idle);
}

static void forget(struct pending *pending)
{
    struct kube_recorder *recorder = pending->recorder;
    struct pending **at = &recorder->going;
    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
    recorder->n_going--;
    kb_arena_free(pending->arena);
}

static void on_woken(void *userdata)
{
    struct pending *pending = userdata;
    struct kube_recorder *recorder = pending->recorder;
    pthread_mutex_lock(&recorder->lock);
    pending->sleep = 0;
    ask(pending);
    pthread_mutex_unlock(&recorder->lock);
}

static void try_again_later(struct pending *pending)
{
    struct kube_recorder *recorder = pending->recorder;
    if (++pending->tries >= MAX_TRIES) {
        recorder->state.dropped++;
        forget(pending);
        return;
    }
    int64_t delay = FIRST_NS << (pending->tries - 1);
    if (delay > RETRY_NS)
        delay = RETRY_NS;
    /* Partly random, so that not all clients come back together when the server does. */
    delay = delay / 2 + (int64_t)kb_random_below(recorder->random, (uint64_t)delay / 2 + 1);
    struct kube_transport *transport = kube_client_transport(recorder->client);
    pending->sleep = transport->post(transport, delay, on_woken, pending);
}

static bool is_unreachable(const struct kube_error *error)
{
    return error->kind == KUBE_ERROR_CONNECTION || error->kind == KUBE_ERROR_TIMEOUT;
}

/* The server could not be reached, or stumbled: then again, but not for ever. */
static bool may_try_again(struct pending *pending, const struct kube_error *error)
{
    if (is_unreachable(error))
        return true;
    bool stumbled = error->http_status >= 500 || error->http_status == 429 || kube_error_is_conflict(error);
    return stumbled && ++pending->refusals < MAX_REFUSALS;
}

static void settle(struct pending *pending, const struct kube_error *error)
{
    struct kube_recorder *recorder = pending->recorder;
    bool patched = !is_creation(pending);
    recorder->away = error && is_unreachable(error);
    /* One that is there already is ours: its name has the time in it. The answer was lost. */
    if (!error || (!patched && pending->tries > 0 && kube_error_is_already_exists(error))) {
        recorder->state.written++;
        forget(pending);
        return;
    }
    if (patched && kube_error_is_not_found(error)) {
        pending->create = true;
        ask(pending);
        return;
    }
    snprintf(recorder->state.last_error, sizeof recorder->state.last_error, "%.255s", error->message);
    if (may_try_again(pending, error)) {
        try_again_later(pending);
        return;
    }
    recorder->state.refused++;
    forget(pending);
}

static void on_answer(void *userdata, const char *body, size_t n, const struct kube_error *error)
{
    (void)body, (void)n;
    struct pending *pending = userdata;
    struct kube_recorder *recorder = pending->recorder;
    pthread_mutex_lock(&recorder->lock);
    recorder->n_asking--;
    if (recorder->closed) {
        forget(pending);
        bool last = recorder->n_going == 0;
        pthread_mutex_unlock(&recorder->lock);
        if (last)
            release(recorder);
        return;
    }
    settle(pending, error);
    go_on(recorder);
    pthread_mutex_unlock(&recorder->lock);
}

/* ---- recording ---- */

/* The time for an event's name: no two events have the same one, even where the clock stands or goes back. */
static int64_t name_time(struct kube_recorder *recorder, int64_t wall)
{
    int64_t last = recorder->last_name, next;
    do {
        next = wall > last ? wall : last + 1;
    } while (!atomic_compare_exchange_weak(&recorder->last_name, &last, next));
    return next;
}

static void fill(struct kube_recorder *recorder, struct pending *pending, const struct kube_event_reference *reference,
                 const char *event_type, const char *reason, const char *message)
{
    struct kb_arena *arena = pending->arena;
    struct core_event *event = &pending->event;
    int64_t wall = recorder->clock->wall(recorder->clock);
    const char *namespace_ = kb_empty(reference->namespace_) ? "default" : reference->namespace_;
    *event = (struct core_event){
        .kind = core_event_type.resource->kind,
        .api_version = core_event_type.resource->version,
        .involved_object =
            {
                .kind = kb_arena_strdup(arena, reference->kind ? reference->kind : ""),
                .namespace = kb_arena_strdup(arena, reference->namespace_ ? reference->namespace_ : ""),
                .name = kb_arena_strdup(arena, reference->name ? reference->name : ""),
                .uid = kb_arena_strdup(arena, reference->uid ? reference->uid : ""),
                .api_version = kb_arena_strdup(arena, reference->api_version ? reference->api_version : ""),
                .resource_version =
                    kb_arena_strdup(arena, reference->resource_version ? reference->resource_version : ""),
            },
        .reason = kb_arena_strdup(arena, reason),
        .message = kb_arena_strdup(arena, message),
        .source = {.component = recorder->component},
        .first_timestamp = kb_time_text(arena, wall),
        .count = 1,
        .type = kb_arena_strdup(arena, event_type),
        .reporting_component = recorder->component,
    };
    event->last_timestamp = event->first_timestamp;
    event->metadata.namespace = kb_arena_strdup(arena, namespace_);
    event->metadata.name =
        kube_event_name(arena, recorder->random, event->involved_object.name, name_time(recorder, wall));
}

void kube_event_on(struct kube_recorder *recorder, const struct kube_event_reference *reference, const char *event_type,
                   const char *reason, const char *message)
{
    struct kb_arena *arena = kb_arena_new_sized(2048);
    struct pending *pending = kb_arena_one(arena, struct pending);
    pending->arena = arena;
    pending->recorder = recorder;
    fill(recorder, pending, reference, event_type, reason, message);
    pthread_mutex_lock(&recorder->lock);
    if (recorder->n_waiting < MAX_WAITING) {
        *recorder->last = pending;
        recorder->last = &pending->next;
        recorder->n_waiting++;
        go_on(recorder);
    } else {
        recorder->state.dropped++;
        kb_arena_free(arena);
    }
    pthread_mutex_unlock(&recorder->lock);
}

void kube_event(struct kube_recorder *recorder, const struct api_type *type, const void *object, const char *event_type,
                const char *reason, const char *format, ...)
{
    const struct api_any *any = object;
    const struct api_resource *resource = type->resource;
    kb_cleanup_strbuf struct kb_strbuf message = {0}, api_version = {0};
    if (resource->group[0])
        kb_strbuf_printf(&api_version, "%s/", resource->group);
    kb_strbuf_puts(&api_version, resource->version);
    va_list args;
    va_start(args, format);
    kb_strbuf_vprintf(&message, format, args);
    va_end(args);
    const struct kube_event_reference reference = {
        .api_version = kb_strbuf_text(&api_version),
        .kind = resource->kind,
        .namespace_ = any->metadata.namespace,
        .name = any->metadata.name,
        .uid = any->metadata.uid,
        .resource_version = any->metadata.resource_version,
    };
    kube_event_on(recorder, &reference, event_type, reason, kb_strbuf_text(&message));
}

void kube_recorder_get_state(struct kube_recorder *recorder, struct kube_recorder_state *ret)
{
    pthread_mutex_lock(&recorder->lock);
    *ret = recorder->state;
    pthread_mutex_unlock(&recorder->lock);
}

/* ---- the end ---- */

/* Takes pauses back. A post may be running and wait for the lock: then it asks once more, and we for its answer. */
static void end_pauses(struct kube_recorder *recorder)
{
    struct kube_transport *transport = kube_client_transport(recorder->client);
    for (struct pending *next, *pending = recorder->going; pending; pending = next) {
        next = pending->next;
        if (pending->sleep && transport->unpost(transport, pending->sleep)) {
            recorder->state.dropped++;
            forget(pending);
        }
    }
}

static void drop_waiting(struct kube_recorder *recorder)
{
    if (recorder->held)
        kb_arena_free(KB_TAKE_PTR(recorder->held)->arena);
    while (recorder->first) {
        struct pending *pending = recorder->first;
        recorder->first = pending->next;
        kb_arena_free(pending->arena);
    }
    recorder->n_waiting = 0;
}

void kube_recorder_free(struct kube_recorder *recorder)
{
    if (!recorder)
        return;
    int64_t deadline = recorder->clock->mono(recorder->clock) + FREE_WAIT_NS;
    pthread_mutex_lock(&recorder->lock);
    while (recorder->n_asking > 0) {
        if (recorder->clock->wait(recorder->clock, &recorder->idle, &recorder->lock, deadline))
            break;
    }
    drop_waiting(recorder);
    end_pauses(recorder);
    recorder->closed = true;
    bool last = recorder->n_going == 0;
    pthread_mutex_unlock(&recorder->lock);
    if (last)
        release(recorder);
}
