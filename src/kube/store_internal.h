/*
 * What the files of the store share: sets of objects by value (store_index.c), the delivery of changes to handlers
 * (store_changes.c), and the store itself (store.c). No function here takes the lock; callers hold it unless said
 * otherwise.
 */
#ifndef KUBE_STORE_INTERNAL_H
#define KUBE_STORE_INTERNAL_H

#include "api/meta.h"
#include "base/strbuf.h"
#include "kube/store.h"
#include <pthread.h>
#include <yyjson.h>

#define KUBE_STORE_MAX_HANDLERS 16

/* ---- sets of objects by value: store_index.c ---- */

/*
 * One index: open addressing over sets; a set has its value's text, and its objects ordered by namespace and name. Most
 * sets have one object, which is kept in place of the array.
 */
struct kube_object_set {
    uint32_t hash;
    uint32_t n;
    union {
        const struct api_object *one;   /* n == 1 */
        const struct api_object **many; /* n > 1; room for the next power of two */
    };
    char value[];
};

struct kube_set_table {
    struct kube_object_set **slots;
    size_t n, capacity;
    size_t bytes; /* of sets and arrays */
};

const struct api_object *const *kube_set_items(const struct kube_object_set *set);
const struct kube_object_set *kube_set_find(const struct kube_set_table *table, const char *value);
/* Takes the place of another state of the same object. */
void kube_set_add(struct kube_set_table *table, const char *value, const struct api_object *object);
/* By key: the object given may be another state of the one in the set. */
void kube_set_remove(struct kube_set_table *table, const char *value, const struct api_object *object);
size_t kube_set_table_bytes(const struct kube_set_table *table);
void kube_set_table_done(struct kube_set_table *table);

/* Values that an index function yields: texts one after another, each with its NUL. */
struct kube_index_sink {
    struct kb_strbuf texts;
    size_t n;
};
/* Moves an object (before NULL: new; after NULL: gone) in one index. Sinks are scratch memory of the caller. */
void kube_set_table_change(struct kube_set_table *table, const struct kube_index *index,
                           struct kube_index_sink scratch[2], const struct api_object *before,
                           const struct api_object *after);

/* ---- telling handlers: store_changes.c ---- */

struct kube_store_change {
    struct kube_store_change *next;
    const struct api_object *before, *after; /* references */
    unsigned first_handler, end_handler;     /* who is told */
};

struct kube_changes {
    struct {
        kube_store_handler call;
        void *userdata;
    } handlers[KUBE_STORE_MAX_HANDLERS];
    unsigned n_handlers;
    struct kube_store_change *first, **end;
    bool delivering; /* a thread is at it, and takes whatever is appended meanwhile */
};

void kube_changes_init(struct kube_changes *changes);
void kube_changes_done(struct kube_changes *changes);
/* Takes references of its own. */
void kube_changes_append(struct kube_changes *changes, const struct api_object *before, const struct api_object *after,
                         unsigned first_handler);
/* Tells the handlers with `lock` released; entered and left with it held. */
void kube_changes_deliver(struct kube_changes *changes, pthread_mutex_t *lock);

/* ---- the store ---- */

struct kube_slot {
    const struct api_object *object; /* a reference; NULL: free */
    uint32_t hash;
    uint32_t listing; /* number of the list that had it last */
};

struct kube_store {
    pthread_mutex_t lock;
    const struct api_type *type;
    struct kube_slot *slots;
    size_t n, capacity;
    size_t object_bytes;
    struct kube_set_table by_namespace;
    const struct kube_index *indexes;
    size_t n_indexes;
    struct kube_set_table *tables; /* one an index */
    struct kube_index_sink scratch[2];
    uint64_t reached;
    uint32_t listing;
    bool in_list, distrusted;
    struct kube_changes changes;
};

/* NULL when there is none. */
struct kube_slot *kube_store_lookup(const struct kube_store *store, const char *namespace_, const char *name);

/* ---- keys and resource versions ---- */

/* Versions are unsigned decimal integers; false for anything else. */
bool kube_version_parse(const char *text, uint64_t *ret);

static inline const struct meta_object_meta *kube_object_meta(const struct api_object *object)
{
    return &((const struct api_any *)api_object_data(object))->metadata;
}
/* Strings of a struct that was never decoded may be NULL. */
static inline const char *kube_text(const char *text)
{
    return text ? text : "";
}
/* A member of a JSON object that is text; "" when there is none. */
static inline const char *kube_text_at(yyjson_val *object, const char *member)
{
    return kube_text(yyjson_get_str(yyjson_obj_get(object, member)));
}
int kube_object_compare_keys(const struct api_object *a, const struct api_object *b); /* namespace, then name */

#endif
