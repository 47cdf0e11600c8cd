/*
 * The objects of each resource, sorted by namespace and name, and the ring of their last changes, which watches read.
 *
 * One lock (lab_server_lock) guards all resources. Writers prepare the new object without it and then commit: take the
 * lock, see that the object they started from is still the stored one, put. A commit hands out the resource version,
 * which counts all writes of the server.
 *
 * Ring: events have sequence numbers [first, next); when it is full the oldest goes, and `dropped` remembers its
 * version: a watch from before that is told 410 Expired.
 */
#ifndef LAB_STORE_H
#define LAB_STORE_H

#include "lab/client.h"
#include "lab/kinds.h"
#include "lab/object.h"

struct lab_server;
struct lab_watch;

struct lab_event {
    enum lab_event_type type;
    int64_t resource_version;
    struct lab_object *object, *old; /* old: what was there before, or NULL */
};

struct lab_resource {
    const struct lab_kind *_Atomic kind;
    struct lab_resource *next; /* in the server's list */
    bool gone;                 /* its CRD was deleted */

    /* Below: under the server's lock. */
    struct lab_object **items;
    size_t n, capacity;
    struct lab_event *ring;
    size_t ring_capacity;
    uint64_t first, next_event;
    int64_t dropped;
    struct lab_watch *watches;
};

const struct lab_kind *lab_resource_kind(const struct lab_resource *resource);

/* All of these: the server's lock is held. */
struct lab_object *lab_store_find(const struct lab_resource *resource, const char *key); /* borrowed; NULL: none */
/* Items [from, to) of a namespace (NULL: all) whose key is above `after` (NULL: from the start). */
void lab_store_range(const struct lab_resource *resource, const char *namespace_, const char *after, size_t *ret_from,
                     size_t *ret_to);
/* Stores `object` in place of `old` (NULL: it is new), gives it a version and tells the watches. The store takes its
 * own reference. */
void lab_store_put(struct lab_server *server, struct lab_resource *resource, struct lab_object *old,
                   struct lab_object *object);
/* Removes what is stored; `last` is the state that the DELETED event shows. */
void lab_store_remove(struct lab_server *server, struct lab_resource *resource, struct lab_object *stored,
                      struct lab_object *last);
/* The event with this sequence number. */
struct lab_event *lab_store_event(const struct lab_resource *resource, uint64_t sequence);
/* The first event that is newer than `resource_version`. */
uint64_t lab_store_event_after(const struct lab_resource *resource, int64_t resource_version);
/* Forgets all events: watches are told that they fell behind, versions up to now have expired. */
void lab_store_forget(struct lab_server *server, struct lab_resource *resource);
void lab_store_done(struct lab_resource *resource);

#endif
