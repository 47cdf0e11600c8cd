/*
 * The runtime from inside. runtime.c: its parts and their life; pool.c: workers; mapping.c: from store changes to keys;
 * request.c and request_write.c: what a reconcile works with.
 *
 * Lock order: informer -> (store, released) -> queue (released) -> runtime. The runtime's lock is never held while a
 * handler, a mapping or a reconcile runs, nor while an informer is started or stopped.
 */
#ifndef KUBE_RUNTIME_INTERNAL_H
#define KUBE_RUNTIME_INTERNAL_H

#include "kube/controller.h"
#include "kube/request.h"
#include <pthread.h>

struct kube_runtime_controller {
    struct kube_runtime *runtime;
    const struct kube_controller *definition;
    void *self;
    struct kube_queue *queue;
    int threads, running;
    bool may_run; /* all informers that it needs have synced once */
    uint64_t reconciles, errors;
    int64_t slowest_ns;
    char slowest_key[256], last_error[256];
};

struct kube_runtime_binding { /* a watch of a controller */
    struct kube_runtime_controller *controller;
    kube_mapping map;
};

struct kube_runtime_informer {
    struct kube_runtime *runtime;
    int id;
    const struct kube_informer_spec *spec;
    struct kube_informer *informer;
    bool started;             /* with the runtime's lock */
    uint64_t events_at_error; /* how many had come when an error was last logged */
    bool error_logged;
    struct {
        size_t n;
        struct kube_runtime_binding *items;
    } bindings; /* complete before the informer starts */
};

struct kube_job { /* one running reconcile */
    struct kube_job *next;
    struct kube_runtime_controller *controller;
    char *key; /* the queue's */
    int priority;
    int64_t started_at;
    bool warned;
};

#define KUBE_SPARE_ARENAS 8

struct kube_runtime_end {
    void (*end)(void *data);
    void *data;
};

struct kube_runtime {
    struct kube_runtime_options options;
    pthread_mutex_t lock;
    struct kube_runtime_informer *informers[KUBE_MAX_INFORMERS];
    struct {
        size_t n;
        struct kube_runtime_controller **items;
    } controllers;
    struct {
        size_t n;
        struct kube_runtime_end *items;
    } ends;
    size_t next_controller; /* where the search for work begins: each controller gets its turn */
    pthread_cond_t synced;
    /* workers */
    bool working; /* between start_workers and stop_workers */
    int threads, starting, idle;
    bool called;     /* an idle thread was, and none has woken since */
    bool timekeeper; /* one of the idle threads waits for the next due time, */
    int64_t keeps_time_until;
    pthread_cond_t time, spare; /* for the timekeeper; for the other idle threads */
    pthread_cond_t ended;       /* a thread has ended */
    struct kube_job *jobs;
    /* requests */
    struct kb_arena *spare_arenas[KUBE_SPARE_ARENAS];
    int n_spare_arenas;
};

struct kube_enqueuer {
    struct kube_runtime *runtime;
    struct kube_runtime_controller *controller;
    struct kube_request *request; /* made when it is asked for; shared by the mappings of one change */
};

struct kube_pins { /* objects that a request holds: pointers to their data */
    struct kube_pins *next;
    size_t n;
    const void **items;
};

struct kube_request_end {
    struct kube_request_end *next;
    void (*end)(void *data);
    void *data;
};

struct kube_request {
    struct kube_runtime *runtime;
    struct kb_arena *arena;
    const char *key, *namespace_, *name;
    int priority;
    int64_t delay_ns; /* -1: none */
    struct kube_pins *pins;
    struct kube_request_end *ends; /* the last one first */
};

int64_t kube_runtime_mono(const struct kube_runtime *runtime);
struct kube_runtime_controller *kube_runtime_find(struct kube_runtime *runtime, const char *controller_name);

/* pool.c */
void kube_pool_wakeup(void *controller); /* the queue's: a key is ready, or the next due time is nearer */
void kube_pool_informer_synced(struct kube_runtime *runtime);

/* mapping.c: the one handler on each store; userdata is the struct kube_runtime_informer. */
void kube_mapping_handler(void *userdata, const struct api_object *before, const struct api_object *after);

/* request.c */
const void *kube_request_pin(struct kube_request *req, const struct api_object *object); /* takes the reference */

#endif
