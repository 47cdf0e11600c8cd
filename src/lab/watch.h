/*
 * Watches: cursors into a resource's ring of events, for HTTP streams and for callers in the process alike.
 *
 * A watch first yields what it was given to start with (`initial`, as ADDED), then the ring's events that its
 * namespace and selector let through, translated: an object that comes to match is ADDED, one that no longer does is
 * DELETED. `wake` is called, with the server's lock held, when there may be something new.
 */
#ifndef LAB_WATCH_H
#define LAB_WATCH_H

#include "lab/client.h"
#include "lab/selectors.h"
#include "lab/store.h"

struct lab_watch {
    struct lab_server *server;
    struct lab_resource *resource;
    const struct lab_version *version;
    const char *namespace_;
    const struct lab_selector *selector;
    struct kb_arena *arena; /* the watch itself and its selector */
    struct lab_watch *previous, *next;

    struct lab_object **initial;
    size_t n_initial, next_initial;
    bool mark_initial_end; /* a bookmark with the annotation k8s.io/initial-events-end follows them */
    int64_t initial_version;
    uint64_t cursor;

    void (*wake)(void *context);
    void *context;
};

enum lab_watch_start {
    LAB_WATCH_FROM_NOW,     /* only changes */
    LAB_WATCH_WITH_STATE,   /* what exists, then changes */
    LAB_WATCH_FROM_VERSION, /* changes since a resource version */
};

/* A watch in an arena of its own. Negative with an API error 410 when `since` is older than the ring. */
int lab_watch_open(struct lab_server *server, struct lab_resource *resource, const char *namespace_,
                   const char *label_selector, const char *field_selector, enum lab_watch_start start, int64_t since,
                   struct lab_watch **ret, struct kube_error *reterr);
/* Lock held: wakes the watches of a resource. */
void lab_watch_notify(struct lab_resource *resource);

#endif
