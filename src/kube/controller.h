/*
 * The controller runtime. A controller is a `const` definition - queue, watches with their mapping to keys, number of
 * threads, reconcile function - and the runtime owns everything else: workers, dedup, back-off, logging of the final
 * error, metrics.
 *
 * Workers come from one pool: a thread is started when a key is ready, the controller has fewer than `threads`
 * reconciles running and no idle thread is there; idle threads end after 30 s. An idle process has one.
 *
 * Life: kube_runtime_new, add informers and controllers, start_informers (a standby stops here, with warm caches),
 * start_workers when it leads, stop_workers (waits until running reconciles are done, at most the grace time), free.
 */
#ifndef KUBE_CONTROLLER_H
#define KUBE_CONTROLLER_H

#include "kube/client.h"
#include "kube/informer.h"
#include "kube/queue.h"
#include "kube/recorder.h"

struct kube_runtime;
struct kube_request;  /* kube/request.h */
struct kube_enqueuer; /* where a mapping puts keys */

/* For mappings: "namespace/name" or "name" of cluster-scoped ones. */
void kube_enqueue(struct kube_enqueuer *to, const char *namespace_, const char *name);
void kube_enqueue_key(struct kube_enqueuer *to, const char *key);
void kube_enqueue_priority(struct kube_enqueuer *to, const char *key, int priority);
void kube_enqueue_after(struct kube_enqueuer *to, const char *key, int64_t delay_ns);
/* A mapping may read caches: same functions as in a request. */
struct kube_request *kube_enqueuer_request(struct kube_enqueuer *to);

/* before NULL: added; after NULL: deleted. Both are generated structs of the informer's type. */
typedef void (*kube_mapping)(void *self, struct kube_enqueuer *to, const void *before, const void *after);
/* The mapping that nearly every controller needs for its own kind. */
void kube_map_to_self(void *self, struct kube_enqueuer *to, const void *before, const void *after);

struct kube_watch {
    int informer; /* id given to kube_runtime_add_informer */
    kube_mapping map;
};

/* What reconcile returns besides a negative number with reterr set (error: logged, rate-limited retry). */
enum kube_outcome {
    KUBE_DONE = 0,  /* the key's failures are forgotten */
    KUBE_RETRY = 1, /* rate-limited retry without an error */
    KUBE_LATER = 2, /* again after the time given to kube_request_later; failures forgotten */
};

struct kube_controller {
    const char *name;       /* "vmi": logs, diagnostics */
    const char *queue_name; /* "virt-controller-vmi": metric label */
    const char *kind;       /* of the objects that keys name, for logs: "VirtualMachineInstance" */
    int threads;            /* default number of parallel reconciles */
    const struct kube_watch *watches;
    size_t n_watches;
    const int *needs; /* further informers that must have synced before the first reconcile; for these and
                       * the watched ones: those that were not started (kinds this cluster lacks) do not count */
    size_t n_needs;
    const struct kube_backoff *backoff; /* NULL: default */
    int64_t add_delay_ns;               /* every key from a mapping waits so long (pool: 1 s, workload updater: 5 s) */
    int (*reconcile)(void *self, struct kube_request *request, struct kube_error *reterr);
};

struct kube_runtime_options {
    struct kube_client *client; /* NULL: no cluster; informers are not started, the program fills their stores */
    struct kb_clock *clock;
    struct kb_random *random;
    int64_t reconcile_warn_ns; /* a reconcile running longer is logged; 0: 30 s */
    /* Both on the transport's thread; or NULL. Errors are logged by the runtime already. */
    void (*informer_error)(void *userdata, int informer, const struct kube_error *error);
    void (*informer_synced)(void *userdata, int informer);
    void *userdata;
    const struct kube_queue_observer *queue_observer;                     /* or NULL */
    void *(*queue_observer_data)(void *userdata, const char *queue_name); /* its userdata, by queue */
};

struct kube_runtime *kube_runtime_new(const struct kube_runtime_options *options);
void kube_runtime_free(struct kube_runtime *runtime); /* stops everything first */

#define KUBE_MAX_INFORMERS 96
/* `id` is the program's own number of the informer (an enum), below KUBE_MAX_INFORMERS. The spec must stay.
 * Handlers that its store has before the first controller watches it are told of changes before controllers are. */
void kube_runtime_add_informer(struct kube_runtime *runtime, int id, const struct kube_informer_spec *spec);
struct kube_informer *kube_runtime_informer(struct kube_runtime *runtime, int id); /* NULL: not added */
/* The definition must stay. `threads` 0: the definition's; negative: its keys are queued,
 * but nobody works on them. After the informers it watches are added (or it aborts),
 * before they are started. */
void kube_runtime_add_controller(struct kube_runtime *runtime, const struct kube_controller *definition, void *self,
                                 int threads);
/* Calls end(data) when the runtime is freed and nothing runs any more: for what controllers keep. The last one given is
 * called first. */
void kube_runtime_at_end(struct kube_runtime *runtime, void (*end)(void *data), void *data);
struct kube_queue *kube_runtime_queue(struct kube_runtime *runtime, const char *controller_name);

void kube_runtime_start_informer(struct kube_runtime *runtime, int id);
void kube_runtime_stop_informer(struct kube_runtime *runtime, int id); /* clears its store */
void kube_runtime_start_workers(struct kube_runtime *runtime);
/* No new reconcile begins; returns when none runs, or false after `grace_ns`. Queues keep their keys. */
bool kube_runtime_stop_workers(struct kube_runtime *runtime, int64_t grace_ns);
/* Waits until all of the informers have synced, or `deadline` (mono ns) passes: false. */
bool kube_runtime_wait_synced(struct kube_runtime *runtime, const int *ids, size_t n, int64_t deadline);

/* For tests and for programs without threads: takes ready keys of all controllers and reconciles them on the calling
 * thread until none is ready, whether informers have synced or not. Returns how many it ran. */
int kube_runtime_drain(struct kube_runtime *runtime);

struct kube_controller_state { /* for the diagnostics page */
    const struct kube_controller *definition;
    size_t ready, delayed, running;
    uint64_t reconciles, errors;
    int64_t slowest_ns;
    char slowest_key[256], last_error[256];
};
size_t kube_runtime_states(struct kube_runtime *runtime, struct kube_controller_state *ret, size_t max);

#endif
