/*
 * What this program tells about itself, in place of the Go runtime's series: memory, caches and their watches, queues,
 * reconciles, events. All are computed when they are scraped, leader or not.
 */
#include "base/intern.h"
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"
#include <malloc.h>

/* ---- memory ---- */

static const struct kube_metric_family heap = {
    "virt_controller_heap_bytes",
    "Memory of the allocator: used by the program, free within the heap, and large blocks mapped one by one.",
    KUBE_GAUGE,
    {"state"},
};
static const struct kube_metric_family interned_strings = {
    "virt_controller_interned_strings",
    "Texts that objects of the caches share.",
    KUBE_GAUGE,
};
static const struct kube_metric_family interned_bytes = {
    "virt_controller_interned_bytes",
    "Memory of the texts that objects of the caches share.",
    KUBE_GAUGE,
};

static void collect_memory(struct kube_exposition *out)
{
    struct mallinfo2 allocator = mallinfo2();
    size_t strings, bytes;
    kube_exposition_sample(out, &heap, (const char *[]){"used"}, (double)allocator.uordblks);
    kube_exposition_sample(out, &heap, (const char *[]){"free"}, (double)allocator.fordblks);
    kube_exposition_sample(out, &heap, (const char *[]){"mapped"}, (double)allocator.hblkhd);
    kb_intern_stats(&strings, &bytes);
    kube_exposition_sample(out, &interned_strings, NULL, (double)strings);
    kube_exposition_sample(out, &interned_bytes, NULL, (double)bytes);
}

/* ---- caches ---- */

enum { SYNCED, WATCHING, OBJECTS, BYTES, EVENTS, RELISTS, ERRORS, LAST_EVENT, N_INFORMER_FAMILIES };

#define INFORMER_FAMILY(name_, help_, type_)                                                                           \
    {                                                                                                                  \
        "virt_controller_informer_" name_, help_, type_,                                                               \
        {                                                                                                              \
            "informer"                                                                                                 \
        }                                                                                                              \
    }

static const struct kube_metric_family informer_families[N_INFORMER_FAMILIES] = {
    [SYNCED] = INFORMER_FAMILY("synced", "Whether the first complete list has arrived.", KUBE_GAUGE),
    [WATCHING] = INFORMER_FAMILY("watching", "Whether a watch is open.", KUBE_GAUGE),
    [OBJECTS] = INFORMER_FAMILY("objects", "Objects in the cache.", KUBE_GAUGE),
    [BYTES] = INFORMER_FAMILY("bytes", "Memory of the cache, without shared texts.", KUBE_GAUGE),
    [EVENTS] = INFORMER_FAMILY("events_total", "Watch events that have arrived.", KUBE_COUNTER),
    [RELISTS] = INFORMER_FAMILY("relists_total", "Lists that had to be repeated.", KUBE_COUNTER),
    [ERRORS] = INFORMER_FAMILY("errors_total", "Lists and watches that have failed.", KUBE_COUNTER),
    [LAST_EVENT] = INFORMER_FAMILY("last_event_age_seconds", "Time since the last watch event.", KUBE_GAUGE),
};

static void collect_informer(struct virt_metrics *metrics, struct kube_informer *informer, struct kube_exposition *out)
{
    struct kube_informer_state state;
    kube_informer_get_state(informer, &state);
    if (!state.started)
        return;
    struct kube_store *store = kube_informer_store(informer);
    int64_t age = metrics->clock->mono(metrics->clock) - state.last_event_mono;
    const double values[N_INFORMER_FAMILIES] = {
        [SYNCED] = state.synced,
        [WATCHING] = state.watching,
        [OBJECTS] = (double)kube_store_count(store),
        [BYTES] = (double)kube_store_bytes(store),
        [EVENTS] = (double)state.events,
        [RELISTS] = (double)state.relists,
        [ERRORS] = (double)state.errors,
        [LAST_EVENT] = (double)age / (double)KB_NS_PER_S,
    };
    for (int i = 0; i < N_INFORMER_FAMILIES; i++)
        if (i != LAST_EVENT || state.last_event_mono != 0)
            kube_exposition_sample(out, &informer_families[i], (const char *[]){kube_informer_get_spec(informer)->name},
                                   values[i]);
}

static void collect_informers(struct virt_metrics *metrics, struct kube_exposition *out)
{
    for (int id = 0; id < VIRT_N_INFORMERS; id++) {
        struct kube_informer *informer = kube_runtime_informer(metrics->context->runtime, id);
        if (informer)
            collect_informer(metrics, informer, out);
    }
}

/* ---- controllers ---- */

enum { DELAYED, PROCESSING, RECONCILES, FAILURES, SLOWEST, N_CONTROLLER_FAMILIES };

static const struct kube_metric_family controller_families[N_CONTROLLER_FAMILIES] = {
    [DELAYED] = {"virt_controller_queue_delayed", "Keys that wait for their time.", KUBE_GAUGE, {"name"}},
    [PROCESSING] = {"virt_controller_queue_processing", "Keys that are worked on.", KUBE_GAUGE, {"name"}},
    [RECONCILES] = {"virt_controller_reconciles_total", "Reconciles that have ended.", KUBE_COUNTER, {"name"}},
    [FAILURES] = {"virt_controller_reconcile_errors_total", "Reconciles that have failed.", KUBE_COUNTER, {"name"}},
    [SLOWEST] = {"virt_controller_reconcile_slowest_seconds",
                 "The longest time that a reconcile has taken.",
                 KUBE_GAUGE,
                 {"name"}},
};

#define MAX_CONTROLLERS 48

static void collect_controllers(struct virt_metrics *metrics, struct kube_exposition *out)
{
    kb_cleanup_free struct kube_controller_state *states = kb_malloc(MAX_CONTROLLERS * sizeof *states);
    size_t n = kube_runtime_states(metrics->context->runtime, states, MAX_CONTROLLERS);
    for (size_t i = 0; i < n && i < MAX_CONTROLLERS; i++) {
        const struct kube_controller_state *state = &states[i];
        const double values[N_CONTROLLER_FAMILIES] = {
            [DELAYED] = (double)state->delayed,
            [PROCESSING] = (double)state->running,
            [RECONCILES] = (double)state->reconciles,
            [FAILURES] = (double)state->errors,
            [SLOWEST] = (double)state->slowest_ns / (double)KB_NS_PER_S,
        };
        for (int f = 0; f < N_CONTROLLER_FAMILIES; f++)
            kube_exposition_sample(out, &controller_families[f], (const char *[]){state->definition->queue_name},
                                   values[f]);
    }
}

/* ---- events ---- */

static const struct kube_metric_family events = {
    "virt_controller_events_total",
    "Events on objects: written, suppressed by the spam filter, dropped because the server could not take them in "
    "time, "
    "refused by it.",
    KUBE_COUNTER,
    {"result"},
};

static void collect_events(struct virt_metrics *metrics, struct kube_exposition *out)
{
    if (!metrics->context->vm_recorder)
        return;
    struct kube_recorder_state state;
    kube_recorder_get_state(metrics->context->vm_recorder, &state);
    kube_exposition_sample(out, &events, (const char *[]){"written"}, (double)state.written);
    kube_exposition_sample(out, &events, (const char *[]){"suppressed"}, (double)state.suppressed);
    kube_exposition_sample(out, &events, (const char *[]){"dropped"}, (double)state.dropped);
    kube_exposition_sample(out, &events, (const char *[]){"refused"}, (double)state.refused);
}

static void collect(void *userdata, struct kube_exposition *out)
{
    collect_memory(out);
    collect_informers(userdata, out);
    collect_controllers(userdata, out);
    collect_events(userdata, out);
}

void metrics_add_own(struct virt_metrics *metrics)
{
    kube_metrics_add_collector(metrics->registry, collect, metrics);
}
