/*
 * The cache of one kind (or of a selection of one): immutable shared objects by namespace/name, with indexes.
 * client-go's Indexer plus its mutation cache: answers of own writes are put in, so that a controller reads what it
 * wrote.
 *
 * Versions: objects are ordered by resourceVersion. An event that is not newer than what the store has is dropped, so
 * a watch event that repeats an own write causes no second notification.
 *
 * Threads: any. Readers hold the lock for a look-up and a reference, never while they work on an object.
 */
#ifndef KUBE_STORE_H
#define KUBE_STORE_H

#include "api/object.h"
#include <stdbool.h>
#include <stddef.h>

struct kube_index_sink;                                               /* where an index function puts its values */
void kube_index_add(struct kube_index_sink *sink, const char *value); /* copied; "" allowed */
/* "namespace/name" or any two joined by '/'. */
void kube_index_add_pair(struct kube_index_sink *sink, const char *a, const char *b);

struct kube_index {
    const char *name;
    void (*values)(const void *object, struct kube_index_sink *sink);
};

/* Change told to handlers: before NULL: added; after NULL: deleted (before is the last known state). Borrowed during
 * the call. Called with no lock held, in the order of changes, by whichever thread changed the store. An object that
 * was deleted and made again under its name (another UID) is told as a deletion and an addition. */
typedef void (*kube_store_handler)(void *userdata, const struct api_object *before, const struct api_object *after);

struct kube_store;
struct kube_store *kube_store_new(const struct api_type *type, const struct kube_index *indexes, size_t n_indexes);
void kube_store_free(struct kube_store *store);
const struct api_type *kube_store_type(const struct kube_store *store);
/* Before the store is filled; at most 16. A handler added later is told of all objects present, as added. */
void kube_store_add_handler(struct kube_store *store, kube_store_handler handler, void *userdata);

/* ---- reading; the caller owns the references it gets ---- */

const struct api_object *kube_store_get(struct kube_store *store, const char *namespace_, const char *name);
struct kube_objects {
    size_t n;
    const struct api_object **items; /* ordered by namespace, then name */
};
struct kube_objects kube_store_list(struct kube_store *store, const char *namespace_ /* NULL or "": all */);
struct kube_objects kube_store_by_index(struct kube_store *store, const char *index, const char *value);
void kube_objects_done(struct kube_objects *objects);
size_t kube_store_count(struct kube_store *store);
size_t kube_store_bytes(struct kube_store *store);
/* Goes over all objects without copying the list; `each` must be quick and must not call the store. */
void kube_store_visit(struct kube_store *store, void (*each)(void *userdata, const struct api_object *object),
                      void *userdata);

/* ---- writing: reflector and own writes; references are taken by the store ---- */

/* From the watch stream. */
void kube_store_apply(struct kube_store *store, const struct api_object *object);
void kube_store_remove(struct kube_store *store, const struct api_object *last_state);
/* Of an event of the watch stream by its key and version: true when the store has that state or a newer one, so that
 * applying it would change nothing; the stream has reached it then. Own writes, mostly. Never true during a list. */
bool kube_store_repeats(struct kube_store *store, const char *namespace_, const char *name, const char *version);
/* The same of the event that an object is gone: true when the store has none of that name. */
bool kube_store_repeats_removal(struct kube_store *store, const char *namespace_, const char *name,
                                const char *version);
/* From the answer of an own write: dropped when it has no version, and when the watch stream has passed its version
 * already. */
void kube_store_put_written(struct kube_store *store, const struct api_object *object);
/* The answer of an own write says that it took the object away (the last finalizer of one that was being deleted). The
 * version in it is that from before, so it tells nothing of the stream. */
void kube_store_remove_written(struct kube_store *store, const struct api_object *last_state);
/* A (re-)list: begin, apply each object, end(version): whatever was not applied and is not newer is removed. */
void kube_store_relist_begin(struct kube_store *store);
void kube_store_relist_end(struct kube_store *store, const char *resource_version);
/* The stream is known to have reached this version (bookmark). */
void kube_store_reached(struct kube_store *store, const char *resource_version);
/* The list under way has this object, but in a form that can't be read: its last known state stays. */
void kube_store_keep(struct kube_store *store, const char *namespace_, const char *name);
/* The server's versions have gone back (its data were restored): the next list is taken as it comes, own writes before
 * it included. */
void kube_store_distrust(struct kube_store *store);
/* Removes all (the kind went away), telling handlers. */
void kube_store_clear(struct kube_store *store);

#endif
