/*
 * The runtime's parts and their life: informers, controllers with their queues, states.
 *
 * A controller may run when every informer that it watches or needs has synced. Informers that were not started do not
 * count: they are of kinds that this cluster does not have.
 */
#include "base/log.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/runtime_internal.h"
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_WARN_NS (30 * KB_NS_PER_S)

int64_t kube_runtime_mono(const struct kube_runtime *runtime)
{
    return runtime->options.clock->mono(runtime->options.clock);
}

struct kube_runtime *kube_runtime_new(const struct kube_runtime_options *options)
{
    struct kube_runtime *runtime = kb_malloc(sizeof(*runtime));
    runtime->options = *options;
    if (runtime->options.reconcile_warn_ns == 0)
        runtime->options.reconcile_warn_ns = DEFAULT_WARN_NS;
    pthread_mutex_init(&runtime->lock, NULL);
    pthread_cond_t *conditions[] = {&runtime->synced, &runtime->time, &runtime->spare, &runtime->ended};
    for (size_t i = 0; i < KB_ARRAY_LEN(conditions); i++)
        kb_cond_init(conditions[i]);
    return runtime;
}

static void controller_free(struct kube_runtime_controller *controller)
{
    kube_queue_free(controller->queue);
    free(controller);
}

void kube_runtime_free(struct kube_runtime *runtime)
{
    if (!runtime)
        return;
    kube_runtime_stop_workers(runtime, INT64_MAX);
    /* All of them stop before the first goes: mappings of one read the stores of others. */
    for (int id = 0; id < KUBE_MAX_INFORMERS; id++) {
        if (runtime->informers[id])
            kube_informer_stop(runtime->informers[id]->informer, false);
    }
    for (int id = 0; id < KUBE_MAX_INFORMERS; id++) {
        struct kube_runtime_informer *informer = runtime->informers[id];
        if (!informer)
            continue;
        kube_informer_free(informer->informer);
        free(informer->bindings.items);
        free(informer);
    }
    kb_vec_foreach (controller, &runtime->controllers)
        controller_free(*controller);
    free(runtime->controllers.items);
    while (runtime->ends.n > 0) {
        const struct kube_runtime_end *last = &runtime->ends.items[--runtime->ends.n];
        last->end(last->data);
    }
    free(runtime->ends.items);
    for (int i = 0; i < runtime->n_spare_arenas; i++)
        kb_arena_free(runtime->spare_arenas[i]);
    pthread_mutex_destroy(&runtime->lock);
    free(runtime);
}

void kube_runtime_at_end(struct kube_runtime *runtime, void (*end)(void *data), void *data)
{
    *kb_vec_push(NULL, &runtime->ends) = (struct kube_runtime_end){end, data};
}

/* ---- informers ---- */

/* A watch that goes on failing is a warning once; it is one again when something came in between. */
static bool is_repeated(struct kube_runtime_informer *informer)
{
    struct kube_informer_state state;
    kube_informer_get_state(informer->informer, &state);
    bool repeated = informer->error_logged && informer->events_at_error == state.events;
    informer->error_logged = true;
    informer->events_at_error = state.events;
    return repeated;
}

static void on_error(void *userdata, const struct kube_informer_spec *spec, const struct kube_error *error)
{
    struct kube_runtime_informer *informer = userdata;
    const struct kube_runtime_options *options = &informer->runtime->options;
    if (is_repeated(informer))
        kb_log_v(4, "informer %s: still failing: %s", spec->name, error->message);
    else
        kb_log(KB_WARNING, "informer %s: %s", spec->name, error->message);
    if (options->informer_error)
        options->informer_error(options->userdata, informer->id, error);
}

static void on_synced(void *userdata, const struct kube_informer_spec *spec)
{
    struct kube_runtime_informer *informer = userdata;
    kb_log_v(4, "informer %s has synced", spec->name);
    kube_pool_informer_synced(informer->runtime);
    if (informer->runtime->options.informer_synced)
        informer->runtime->options.informer_synced(informer->runtime->options.userdata, informer->id);
}

void kube_runtime_add_informer(struct kube_runtime *runtime, int id, const struct kube_informer_spec *spec)
{
    if (id < 0 || id >= KUBE_MAX_INFORMERS || runtime->informers[id])
        abort();
    struct kube_runtime_informer *informer = kb_malloc(sizeof(*informer));
    struct kube_informer_options options = {
        .client = runtime->options.client,
        .random = runtime->options.random,
        .error = on_error,
        .synced = on_synced,
        .userdata = informer,
    };
    informer->runtime = runtime;
    informer->id = id;
    informer->spec = spec;
    informer->informer = kube_informer_new(spec, &options);
    runtime->informers[id] = informer;
}

struct kube_informer *kube_runtime_informer(struct kube_runtime *runtime, int id)
{
    if (id < 0 || id >= KUBE_MAX_INFORMERS || !runtime->informers[id])
        return NULL;
    return runtime->informers[id]->informer;
}

static void set_started(struct kube_runtime *runtime, int id, bool started)
{
    pthread_mutex_lock(&runtime->lock);
    runtime->informers[id]->started = started;
    pthread_mutex_unlock(&runtime->lock);
}

void kube_runtime_start_informer(struct kube_runtime *runtime, int id)
{
    set_started(runtime, id, true);
    kube_informer_start(runtime->informers[id]->informer);
}

void kube_runtime_stop_informer(struct kube_runtime *runtime, int id)
{
    set_started(runtime, id, false);
    kube_informer_stop(runtime->informers[id]->informer, true);
    kube_pool_informer_synced(runtime); /* whoever waited for it need not any more */
}

static bool all_synced(const struct kube_runtime *runtime, const int *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!kube_informer_has_synced(runtime->informers[ids[i]]->informer))
            return false;
    }
    return true;
}

bool kube_runtime_wait_synced(struct kube_runtime *runtime, const int *ids, size_t n, int64_t deadline)
{
    struct kb_clock *clock = runtime->options.clock;
    pthread_mutex_lock(&runtime->lock);
    bool synced = all_synced(runtime, ids, n);
    while (!synced && kube_runtime_mono(runtime) < deadline) {
        clock->wait(clock, &runtime->synced, &runtime->lock, deadline);
        synced = all_synced(runtime, ids, n);
    }
    pthread_mutex_unlock(&runtime->lock);
    return synced;
}

/* ---- controllers ---- */

static void bind(struct kube_runtime *runtime, struct kube_runtime_controller *controller)
{
    const struct kube_controller *definition = controller->definition;
    for (size_t i = 0; i < definition->n_watches; i++) {
        struct kube_runtime_informer *informer = runtime->informers[definition->watches[i].informer];
        if (!informer)
            abort(); /* a controller that watches what nobody has added would wait for ever */
        *kb_vec_push(NULL, &informer->bindings) =
            (struct kube_runtime_binding){.controller = controller, .map = definition->watches[i].map};
        if (informer->bindings.n == 1)
            kube_store_add_handler(kube_informer_store(informer->informer), kube_mapping_handler, informer);
    }
}

void kube_runtime_add_controller(struct kube_runtime *runtime, const struct kube_controller *definition, void *self,
                                 int threads)
{
    const struct kube_runtime_options *options = &runtime->options;
    struct kube_runtime_controller *controller = kb_malloc(sizeof(*controller));
    void *observer_data =
        options->queue_observer_data ? options->queue_observer_data(options->userdata, definition->queue_name) : NULL;
    controller->runtime = runtime;
    controller->definition = definition;
    controller->self = self;
    controller->threads = threads > 0 ? threads : threads < 0 ? 0 : definition->threads;
    controller->queue = kube_queue_new(definition->queue_name, definition->backoff, options->clock,
                                       options->queue_observer, observer_data);
    kube_queue_set_wakeup(controller->queue, kube_pool_wakeup, controller);
    bind(runtime, controller);
    pthread_mutex_lock(&runtime->lock);
    *kb_vec_push(NULL, &runtime->controllers) = controller;
    pthread_mutex_unlock(&runtime->lock);
}

struct kube_runtime_controller *kube_runtime_find(struct kube_runtime *runtime, const char *controller_name)
{
    kb_vec_foreach (controller, &runtime->controllers) {
        if (kb_streq((*controller)->definition->name, controller_name))
            return *controller;
    }
    return NULL;
}

struct kube_queue *kube_runtime_queue(struct kube_runtime *runtime, const char *controller_name)
{
    struct kube_runtime_controller *controller = kube_runtime_find(runtime, controller_name);
    return controller ? controller->queue : NULL;
}

size_t kube_runtime_states(struct kube_runtime *runtime, struct kube_controller_state *ret, size_t max)
{
    size_t n = 0;
    pthread_mutex_lock(&runtime->lock);
    for (; n < runtime->controllers.n && n < max; n++) {
        const struct kube_runtime_controller *controller = runtime->controllers.items[n];
        ret[n] = (struct kube_controller_state){
            .definition = controller->definition,
            .ready = kube_queue_depth(controller->queue),
            .delayed = kube_queue_delayed(controller->queue),
            .running = (size_t)controller->running,
            .reconciles = controller->reconciles,
            .errors = controller->errors,
            .slowest_ns = controller->slowest_ns,
        };
        memcpy(ret[n].slowest_key, controller->slowest_key, sizeof(ret[n].slowest_key));
        memcpy(ret[n].last_error, controller->last_error, sizeof(ret[n].last_error));
    }
    pthread_mutex_unlock(&runtime->lock);
    return n;
}
