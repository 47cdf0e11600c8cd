/*
 * Workers: threads that are started when there is work and end when there is none.
 *
 * Of the idle threads one is the timekeeper: it sleeps until the next delayed key of any queue is due, or until a
 * running reconcile has run for too long and must be warned of. The others sleep until they are called, and end after
 * 30 s. Whoever takes a key sees to it that a timekeeper is left, and that further ready keys have a thread. So an idle
 * program has one thread here, and a busy one as many as reconciles run, and one.
 *
 * One thread is called at a time: it takes a key, and calls the next when there are more. So keys that come together
 * wake as many threads as there are processors for, not each a thread that finds its key taken.
 *
 * Keys are taken round robin over the controllers, and by each only while it has fewer than `threads` reconciles
 * running: a flood of one kind does not starve another.
 */
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include "kube/runtime_internal.h"
#include <stdio.h>
#include <stdlib.h>

#define IDLE_NS (30 * KB_NS_PER_S)
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define STACK_SIZE (256 << 10)
#else
#define STACK_SIZE (4 << 20) /* frames are larger, with sanitizers much larger */
#endif

static void *worker(void *userdata);

/* ---- who may run: with the lock held ---- */

static bool informer_holds_back(const struct kube_runtime *runtime, int id)
{
    const struct kube_runtime_informer *informer = runtime->informers[id];
    return informer && informer->started && !kube_informer_has_synced(informer->informer);
}

static bool may_run(struct kube_runtime_controller *controller)
{
    const struct kube_controller *definition = controller->definition;
    if (controller->may_run)
        return true;
    for (size_t i = 0; i < definition->n_watches; i++) {
        if (informer_holds_back(controller->runtime, definition->watches[i].informer))
            return false;
    }
    for (size_t i = 0; i < definition->n_needs; i++) {
        if (informer_holds_back(controller->runtime, definition->needs[i]))
            return false;
    }
    controller->may_run = true;
    return true;
}

static bool has_room(struct kube_runtime_controller *controller)
{
    return controller->running < controller->threads && may_run(controller);
}

/* When there is something to take: 0 now, otherwise a mono time. */
static int64_t next_due(struct kube_runtime *runtime)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < runtime->controllers.n && due > 0; i++) {
        struct kube_runtime_controller *controller = runtime->controllers.items[i];
        int64_t own = has_room(controller) ? kube_queue_next_due(controller->queue) : INT64_MAX;
        if (own < due)
            due = own;
    }
    return due;
}

static bool take(struct kube_runtime_controller *controller, struct kube_job *job)
{
    if (!kube_queue_try_get(controller->queue, &job->key, &job->priority))
        return false;
    job->controller = controller;
    job->warned = false;
    job->started_at = kube_runtime_mono(controller->runtime);
    controller->running++;
    job->next = controller->runtime->jobs;
    controller->runtime->jobs = job;
    return true;
}

static bool take_any(struct kube_runtime *runtime, struct kube_job *job,
                     bool (*allowed)(struct kube_runtime_controller *))
{
    size_t n = runtime->controllers.n;
    for (size_t i = 0; i < n; i++) {
        size_t at = (runtime->next_controller + i) % n;
        struct kube_runtime_controller *controller = runtime->controllers.items[at];
        if (!allowed(controller) || !take(controller, job))
            continue;
        runtime->next_controller = (at + 1) % n;
        return true;
    }
    return false;
}

/* ---- one reconcile: without the lock ---- */

/* `namespace_` is where its namespace is put. */
static struct kb_log_object object_of(const struct kube_job *job, char (*namespace_)[64])
{
    const char *slash = strchr(job->key, '/');
    snprintf(*namespace_, sizeof(*namespace_), "%.*s", slash ? (int)(slash - job->key) : 0, job->key);
    return (struct kb_log_object){
        .kind = job->controller->definition->kind, .namespace_ = *namespace_, .name = slash ? slash + 1 : job->key};
}

static void log_outcome(const struct kube_job *job, int outcome, int64_t delay_ns)
{
    char namespace_[64], took[KB_TIME_TEXT], delay[KB_TIME_TEXT];
    const struct kb_log_object object = object_of(job, &namespace_);
    kb_duration_format((kube_runtime_mono(job->controller->runtime) - job->started_at) / 1000 * 1000, took);
    kb_duration_format(delay_ns < 0 ? 0 : delay_ns, delay);
    if (outcome < 0 || outcome == KUBE_RETRY)
        kb_log_object_v(4, &object, "reconciled in %s, comes again with back-off", took);
    else if (delay_ns >= 0)
        kb_log_object_v(4, &object, "reconciled in %s, comes again after %s", took, delay);
    else
        kb_log_object_v(4, &object, "reconciled in %s", took);
}

static void note_error(const struct kube_job *job, const struct kube_error *error)
{
    struct kube_runtime_controller *controller = job->controller;
    bool expected = kube_error_is_conflict(error) || error->kind == KUBE_ERROR_CANCELLED;
    char namespace_[64];
    struct kb_log_object object = object_of(job, &namespace_);
    object.reason = error->message;
    kb_log_object_v(expected ? 4 : 2, &object, "reenqueuing %s %s", controller->definition->kind, job->key);
    pthread_mutex_lock(&controller->runtime->lock);
    controller->errors++;
    snprintf(controller->last_error, sizeof(controller->last_error), "%.160s: %.90s", error->message, job->key);
    pthread_mutex_unlock(&controller->runtime->lock);
}

static void requeue(const struct kube_job *job, int outcome, int64_t delay_ns)
{
    struct kube_queue *queue = job->controller->queue;
    if (outcome < 0 || outcome == KUBE_RETRY) {
        kube_queue_add_rate_limited_priority(queue, job->key, job->priority);
        return;
    }
    kube_queue_forget(queue, job->key);
    if (delay_ns >= 0)
        kube_queue_add_after_priority(queue, job->key, delay_ns, job->priority);
}

static void reconcile(struct kube_job *job)
{
    struct kube_runtime_controller *controller = job->controller;
    struct kube_request *request = kube_request_new(controller->runtime, job->key, job->priority);
    struct kube_error error = {0};
    int outcome = controller->definition->reconcile(controller->self, request, &error);
    int64_t delay_ns = kube_request_requested_delay(request);
    kube_request_free(request);
    if (outcome < 0)
        note_error(job, &error);
    if (kb_log_verbosity() >= 4)
        log_outcome(job, outcome, delay_ns);
    requeue(job, outcome, delay_ns);
}

/* With the lock held. */
static void unlink_job(struct kube_runtime *runtime, struct kube_job *job)
{
    struct kube_job **at = &runtime->jobs;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
}

static void call_the_timekeeper_if_any(struct kube_runtime *runtime)
{
    if (runtime->timekeeper)
        pthread_cond_signal(&runtime->time);
}

static bool is_before_the_timekeeper_wakes(struct kube_runtime_controller *controller)
{
    return kube_queue_next_due(controller->queue) < controller->runtime->keeps_time_until;
}

/* Entered and left with the lock held. */
static void run(struct kube_runtime *runtime, struct kube_job *job)
{
    struct kube_runtime_controller *controller = job->controller;
    pthread_mutex_unlock(&runtime->lock);
    reconcile(job);
    pthread_mutex_lock(&runtime->lock);
    int64_t took = kube_runtime_mono(runtime) - job->started_at;
    controller->reconciles++;
    if (took > controller->slowest_ns) {
        controller->slowest_ns = took;
        snprintf(controller->slowest_key, sizeof(controller->slowest_key), "%s", job->key);
    }
    unlink_job(runtime, job);
    controller->running--;
    if (controller->running == controller->threads - 1 && is_before_the_timekeeper_wakes(controller))
        call_the_timekeeper_if_any(runtime); /* it did not look at the delayed keys of a full one */
    /* The queue calls kube_pool_wakeup when the key comes again, which takes the lock. */
    pthread_mutex_unlock(&runtime->lock);
    kube_queue_done(controller->queue, job->key);
    pthread_mutex_lock(&runtime->lock);
}

/* ---- threads: with the lock held ---- */

static void start_thread(struct kube_runtime *runtime)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, worker, runtime) == 0) {
        runtime->threads++;
        runtime->starting++;
    } else if (runtime->threads == 0) {
        abort(); /* with one thread everything goes on, only slower; with none nothing does */
    }
    pthread_attr_destroy(&attributes);
}

/* One that is starting, or was called and is not awake yet, will look for work, and call the next when there is more.
 */
static void call_a_thread(struct kube_runtime *runtime)
{
    if (runtime->starting > 0 || runtime->called)
        return;
    if (runtime->idle == 0) {
        start_thread(runtime);
        return;
    }
    runtime->called = true;
    pthread_cond_signal(runtime->idle > (runtime->timekeeper ? 1 : 0) ? &runtime->spare : &runtime->time);
}

static void call_the_timekeeper(struct kube_runtime *runtime)
{
    if (runtime->timekeeper)
        call_the_timekeeper_if_any(runtime);
    else
        call_a_thread(runtime);
}

/* The calling thread is about to be busy. */
static void leave_someone(struct kube_runtime *runtime)
{
    if (runtime->idle == 0 || next_due(runtime) == 0)
        call_a_thread(runtime);
    else if (!runtime->timekeeper)
        pthread_cond_signal(&runtime->spare); /* it becomes the timekeeper */
    if (runtime->keeps_time_until > kube_runtime_mono(runtime) + runtime->options.reconcile_warn_ns)
        call_the_timekeeper_if_any(runtime); /* it sleeps too long to warn of the reconcile that begins */
}

static int64_t warn_of_slow_jobs(struct kube_runtime *runtime, int64_t deadline)
{
    int64_t now = kube_runtime_mono(runtime);
    for (struct kube_job *job = runtime->jobs; job; job = job->next) {
        int64_t at = job->started_at + runtime->options.reconcile_warn_ns;
        if (job->warned)
            continue;
        if (at > now) {
            deadline = at < deadline ? at : deadline;
            continue;
        }
        job->warned = true;
        kb_log(KB_WARNING, "reconciling %s %s has taken more than %lld s", job->controller->definition->kind, job->key,
               runtime->options.reconcile_warn_ns / KB_NS_PER_S);
    }
    return deadline;
}

static void keep_time(struct kube_runtime *runtime)
{
    struct kb_clock *clock = runtime->options.clock;
    int64_t deadline = warn_of_slow_jobs(runtime, next_due(runtime));
    runtime->timekeeper = true;
    runtime->keeps_time_until = deadline;
    runtime->idle++;
    clock->wait(clock, &runtime->time, &runtime->lock, deadline);
    runtime->idle--;
    runtime->called = false;
    runtime->timekeeper = false;
}

/* False: nobody called for so long that the thread should end. */
static bool stand_by(struct kube_runtime *runtime)
{
    struct kb_clock *clock = runtime->options.clock;
    runtime->idle++;
    bool late = clock->wait(clock, &runtime->spare, &runtime->lock, kube_runtime_mono(runtime) + IDLE_NS);
    runtime->idle--;
    runtime->called = false;
    return !late || !runtime->timekeeper;
}

static void *worker(void *userdata)
{
    struct kube_runtime *runtime = userdata;
    bool wanted = true;
    pthread_setname_np(pthread_self(), "worker");
    pthread_mutex_lock(&runtime->lock);
    runtime->starting--;
    while (runtime->working) {
        struct kube_job job;
        if (take_any(runtime, &job, has_room)) {
            leave_someone(runtime);
            run(runtime, &job);
            wanted = true;
            continue;
        }
        if (!wanted)
            break;
        if (runtime->timekeeper)
            wanted = stand_by(runtime);
        else
            keep_time(runtime);
    }
    runtime->threads--;
    pthread_cond_broadcast(&runtime->ended);
    pthread_mutex_unlock(&runtime->lock);
    return NULL;
}

/* ---- from outside ---- */

void kube_pool_wakeup(void *userdata)
{
    struct kube_runtime_controller *controller = userdata;
    struct kube_runtime *runtime = controller->runtime;
    pthread_mutex_lock(&runtime->lock);
    if (runtime->working && has_room(controller)) {
        if (kube_queue_next_due(controller->queue) == 0)
            call_a_thread(runtime);
        else if (!runtime->timekeeper || is_before_the_timekeeper_wakes(controller))
            call_the_timekeeper(runtime);
    }
    pthread_mutex_unlock(&runtime->lock);
}

void kube_pool_informer_synced(struct kube_runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    pthread_cond_broadcast(&runtime->synced);
    if (runtime->working)
        call_a_thread(runtime);
    pthread_mutex_unlock(&runtime->lock);
}

void kube_runtime_start_workers(struct kube_runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    if (!runtime->working) {
        runtime->working = true;
        start_thread(runtime);
    }
    pthread_mutex_unlock(&runtime->lock);
}

bool kube_runtime_stop_workers(struct kube_runtime *runtime, int64_t grace_ns)
{
    struct kb_clock *clock = runtime->options.clock;
    pthread_mutex_lock(&runtime->lock);
    int64_t now = kube_runtime_mono(runtime);
    int64_t deadline = grace_ns > INT64_MAX - now ? INT64_MAX : now + grace_ns;
    runtime->working = false;
    pthread_cond_broadcast(&runtime->time);
    pthread_cond_broadcast(&runtime->spare);
    while (runtime->threads > 0 && kube_runtime_mono(runtime) < deadline)
        clock->wait(clock, &runtime->ended, &runtime->lock, deadline);
    bool ended = runtime->threads == 0;
    pthread_mutex_unlock(&runtime->lock);
    return ended;
}

static bool always(struct kube_runtime_controller *controller)
{
    (void)controller;
    return true;
}

int kube_runtime_drain(struct kube_runtime *runtime)
{
    struct kube_job job;
    int n = 0;
    pthread_mutex_lock(&runtime->lock);
    for (; take_any(runtime, &job, always); n++)
        run(runtime, &job);
    pthread_mutex_unlock(&runtime->lock);
    return n;
}
