/*
 * The insides of the simulated parts.
 *
 * A part is rows of a table (`struct sim_rule`): a resource, which of its objects concern the part, and what it does.
 * The loop sees each change of a watched resource, asks the rules of that resource whether the object concerns them by
 * what is known without parsing (struct lab_meta), and queues (rule, key) to be done after the part's delay. When it is
 * due the object is read again, so that an action always sees the latest state and changes are taken together; an
 * action that is disturbed by another writer (conflict) comes again.
 *
 * Threads: everything belongs to the loop's thread, but virt_api.c, which uses its own client and nothing else.
 */
#ifndef LAB_SIM_INTERNAL_H
#define LAB_SIM_INTERNAL_H

#include "base/clock.h"
#include "base/map.h"
#include "lab/client.h"
#include "lab/json.h"
#include "lab/sim/sim.h"
#include <pthread.h>

struct sim_act;

struct sim_rule {
    enum lab_part part;
    const char *resource;
    bool (*concerns)(const struct lab_object *object); /* NULL: all */
    int (*act)(struct sim_act *a, struct kube_error *reterr);
};

/* The tables, one a part; each ends with a row without resource. */
extern const struct sim_rule sim_node_rules[], sim_scheduler_rules[], sim_kubelet_rules[], sim_virt_handler_rules[],
    sim_storage_rules[];

/* A node, also one that is gone: Pods may still name it. */
struct sim_node {
    const char *name;
    struct lab_object *object; /* NULL: gone */
    struct kb_arena *arena;    /* of what was parsed of it */
    yyjson_val *spec;
    const char *address;
    unsigned off;  /* parts that its annotation turns off */
    unsigned pods; /* that are on it */
    bool excluded; /* while a Pod is scheduled */
};

struct sim_item {
    int64_t due;
    uint64_t sequence;
    const struct sim_rule *rule;
    char id[]; /* "RULE NUMBER:KEY", unique in the queue */
};

struct sim_queue {
    struct {
        size_t n;
        struct sim_item **items; /* a heap: the first is due first */
    } heap;
    struct kb_map *by_id;
    uint64_t sequence;
};

#define SIM_MAX_SOURCES 12

struct sim_source {
    const char *resource;
    void (*observe)(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object); /* NULL: only rules */
    struct lab_watch *watch; /* NULL: not served yet */
};

struct lab_sim {
    struct lab_server *server;
    struct kb_clock *clock;
    struct lab_client *client; /* of the loop: watches and reads */
    struct lab_client *users[LAB_N_PARTS];
    struct lab_sim_options options;
    struct sim_source sources[SIM_MAX_SOURCES];
    size_t n_sources;
    struct {
        size_t n;
        const struct sim_rule **items; /* of parts that are played */
    } rules;
    struct sim_queue queue;
    struct kb_arena *arena;    /* of one action */
    struct kb_map *namespaces; /* name -> parts that its annotation turns off, as (void *)bits; only if any */
    struct {
        size_t n;
        struct sim_node **items; /* in the order of their appearance */
    } nodes;
    struct kb_map *pods; /* key -> the node that it is on */
    int64_t next_heartbeat;
    pthread_t thread;
    bool started;
};

/* What an action gets. */
struct sim_act {
    struct lab_sim *sim;
    const struct sim_rule *rule;
    struct lab_client *client; /* of the part's user */
    struct kb_arena *arena;
    struct lab_object *object;
    struct lab_ref ref;
    yyjson_val *root, *metadata, *spec, *status;
    yyjson_mut_doc *doc; /* to build patches with */
    const char *now;
    int64_t again; /* set by the action: look again after this time (ns); 0: no */
};

/* queue.c */
void sim_queue_init(struct sim_queue *queue);
void sim_queue_done(struct sim_queue *queue);
/* Keeps the earlier time of an item that waits already. */
void sim_queue_add(struct sim_queue *queue, const struct sim_rule *rule, size_t number, const char *key, int64_t due);
struct sim_item *sim_queue_take(struct sim_queue *queue, int64_t now); /* free() it; NULL: nothing is due */
int64_t sim_queue_next(const struct sim_queue *queue);
const char *sim_item_key(const struct sim_item *item);

/* sim.c */
bool sim_plays(const struct lab_sim *sim, enum lab_part part, const char *namespace_, const char *node); /* node NULL */
void sim_requeue(struct lab_sim *sim, const char *resource, const char *namespace_); /* looks at all objects again */
/* Sends `patch` as a merge patch of the object, with its resourceVersion as precondition if `exact`. */
int sim_merge(struct sim_act *a, const char *subresource, bool exact, yyjson_mut_val *patch, struct kube_error *reterr);

/* settings.c: what annotations say. */
unsigned sim_parts_off(const struct lab_object *object);
void sim_observe_namespace(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object);

/* nodes.c */
int sim_nodes_make(struct lab_sim *sim, struct kube_error *reterr);
void sim_nodes_beat(struct lab_sim *sim); /* heartbeats; sets next_heartbeat */
void sim_nodes_done(struct lab_sim *sim);
void sim_observe_node(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object);
void sim_observe_pod(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object);
struct sim_node *sim_node(struct lab_sim *sim, const char *name);                /* made when it is new */
void sim_pod_moved(struct lab_sim *sim, const char *key, struct sim_node *node); /* NULL: gone */

/* kubelet.c */
#define SIM_POD_NODE  0 /* indexes of the Pod kind's selectable fields in lab_meta */
#define SIM_POD_PHASE 5
/* The address of a Pod, made of its name, or of a guest and its launcher Pod, made of the VMI's UID. */
const char *sim_address(struct kb_arena *arena, const char *whose);
int sim_pod_exits(struct sim_act *a, const char *namespace_, const char *name, struct kube_error *reterr);

/* storage.c */
int sim_storage_make(struct lab_sim *sim, struct kube_error *reterr);

/* virt_api.c */
void sim_virt_api_serve(struct lab_sim *sim);

#endif
