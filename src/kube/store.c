/*
 * The store: one open-addressing table of objects by (namespace, name), whose keys are read from the objects
 * themselves, one built-in set table by namespace for lists, and one set table for each declared index.
 *
 * Order of versions. `reached` is the newest version that the watch stream is known to have passed. The stream comes in
 * the order of versions, so an answer of an own write at or below `reached` has nothing to tell: either the stream has
 * brought that state, or it has brought its end. Own writes above it are put in, and the stream's copy is dropped when
 * it comes. During a list objects come in any order, so `reached` moves when the list is complete.
 *
 * After the API server's data were restored from a backup, versions go back. The owner says so (kube_store_distrust),
 * and the next list is taken as it comes.
 *
 * All that goes on under the one lock is short; handlers run without it (store_changes.c).
 */
#include "base/strings.h"
#include "kube/store_internal.h"
#include <stdlib.h>

#define MIN_CAPACITY 16

/* ---- versions ---- */

bool kube_version_parse(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    if (kb_empty(text))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    }
    *ret = value;
    return true;
}

static const char *version_text(const struct api_object *object)
{
    return kube_text(kube_object_meta(object)->resource_version);
}

/* Versions that can't be compared count as newer. */
static bool version_is_newer(const char *version, const struct api_object *than)
{
    uint64_t a, b;
    if (kube_version_parse(version, &a) && kube_version_parse(version_text(than), &b))
        return a > b;
    return !kb_streq(version, version_text(than));
}

static bool is_newer(const struct api_object *object, const struct api_object *than)
{
    return version_is_newer(version_text(object), than);
}

static void note_reached(struct kube_store *store, const char *version)
{
    uint64_t value;
    if (kube_version_parse(version, &value) && value > store->reached)
        store->reached = value;
}

/* ---- the table ---- */

static uint32_t hash_key(const char *namespace_, const char *name)
{
    return kb_fnv32a(namespace_, strlen(namespace_)) * 31 + kb_fnv32a(name, strlen(name));
}

static size_t find_slot(const struct kube_store *store, uint32_t hash, const char *namespace_, const char *name)
{
    size_t mask = store->capacity - 1;
    size_t at = hash & mask;
    for (; store->slots[at].object; at = (at + 1) & mask) {
        if (store->slots[at].hash != hash)
            continue;
        const struct meta_object_meta *meta = kube_object_meta(store->slots[at].object);
        if (kb_streq(kube_text(meta->name), name) && kb_streq(kube_text(meta->namespace), namespace_))
            break;
    }
    return at;
}

static void resize(struct kube_store *store, size_t capacity)
{
    struct kube_slot *old = store->slots;
    size_t n = store->capacity;
    store->slots = kb_malloc(capacity * sizeof(*store->slots));
    store->capacity = capacity;
    for (size_t i = 0; i < n; i++) {
        if (!old[i].object)
            continue;
        size_t at = old[i].hash & (capacity - 1);
        while (store->slots[at].object)
            at = (at + 1) & (capacity - 1);
        store->slots[at] = old[i];
    }
    free(old);
}

static void close_hole(struct kube_store *store, size_t hole)
{
    size_t mask = store->capacity - 1;
    for (size_t at = (hole + 1) & mask; store->slots[at].object; at = (at + 1) & mask) {
        size_t home = store->slots[at].hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        store->slots[hole] = store->slots[at];
        hole = at;
    }
    store->slots[hole] = (struct kube_slot){0};
}

struct kube_slot *kube_store_lookup(const struct kube_store *store, const char *namespace_, const char *name)
{
    if (!store->capacity)
        return NULL;
    struct kube_slot *slot = &store->slots[find_slot(store, hash_key(namespace_, name), namespace_, name)];
    return slot->object ? slot : NULL;
}

static struct kube_slot *lookup_same(const struct kube_store *store, const struct api_object *object)
{
    const struct meta_object_meta *meta = kube_object_meta(object);
    return kube_store_lookup(store, kube_text(meta->namespace), kube_text(meta->name));
}

static void change_indexes(struct kube_store *store, const struct api_object *before, const struct api_object *after)
{
    const char *namespace_ = kube_text(kube_object_meta(after ? after : before)->namespace);
    for (size_t i = 0; i < store->n_indexes; i++)
        kube_set_table_change(&store->tables[i], &store->indexes[i], store->scratch, before, after);
    if (after)
        kube_set_add(&store->by_namespace, namespace_, after);
    else
        kube_set_remove(&store->by_namespace, namespace_, before);
}

/* ---- changing: with the lock held ---- */

static void insert(struct kube_store *store, const struct api_object *object, uint32_t listing)
{
    const struct meta_object_meta *meta = kube_object_meta(object);
    const char *namespace_ = kube_text(meta->namespace), *name = kube_text(meta->name);
    uint32_t hash = hash_key(namespace_, name);
    if ((store->n + 1) * 4 > store->capacity * 3)
        resize(store, store->capacity ? 2 * store->capacity : MIN_CAPACITY);
    struct kube_slot *slot = &store->slots[find_slot(store, hash, namespace_, name)];
    *slot = (struct kube_slot){.object = api_object_ref(object), .hash = hash, .listing = listing};
    store->n++;
    store->object_bytes += api_object_bytes(object);
    change_indexes(store, NULL, object);
    kube_changes_append(&store->changes, NULL, object, 0);
}

static void take_out(struct kube_store *store, struct kube_slot *slot, const struct api_object *last_state)
{
    const struct api_object *object = slot->object;
    change_indexes(store, object, NULL);
    kube_changes_append(&store->changes, last_state, NULL, 0);
    close_hole(store, (size_t)(slot - store->slots));
    store->n--;
    store->object_bytes -= api_object_bytes(object);
    api_object_unref(object);
    if (store->capacity > MIN_CAPACITY && store->n * 8 < store->capacity)
        resize(store, store->capacity / 2);
}

static void replace(struct kube_store *store, struct kube_slot *slot, const struct api_object *object)
{
    const struct api_object *before = slot->object;
    slot->object = api_object_ref(object);
    store->object_bytes += api_object_bytes(object) - api_object_bytes(before);
    change_indexes(store, before, object);
    kube_changes_append(&store->changes, before, object, 0);
    api_object_unref(before);
}

static void put(struct kube_store *store, const struct api_object *object, uint32_t listing)
{
    struct kube_slot *slot = lookup_same(store, object);
    if (!slot) {
        insert(store, object, listing);
        return;
    }
    slot->listing = listing;
    bool trusted = !store->distrusted || !store->in_list;
    if (trusted ? !is_newer(object, slot->object) : kb_streq(version_text(object), version_text(slot->object)))
        return;
    /* Another object under the same name is told as what happened: one went, one came. */
    if (!kb_streq(kube_text(kube_object_meta(object)->uid), kube_text(kube_object_meta(slot->object)->uid))) {
        take_out(store, slot, slot->object);
        insert(store, object, listing);
        return;
    }
    replace(store, slot, object);
}

static void unlock(struct kube_store *store)
{
    kube_changes_deliver(&store->changes, &store->lock);
    pthread_mutex_unlock(&store->lock);
}

/* ---- the interface ---- */

struct kube_store *kube_store_new(const struct api_type *type, const struct kube_index *indexes, size_t n_indexes)
{
    struct kube_store *store = kb_malloc(sizeof(*store));
    pthread_mutex_init(&store->lock, NULL);
    store->type = type;
    store->indexes = indexes;
    store->n_indexes = n_indexes;
    store->tables = kb_malloc((n_indexes + 1) * sizeof(*store->tables));
    kube_changes_init(&store->changes);
    return store;
}

void kube_store_free(struct kube_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->capacity; i++)
        api_object_unref(store->slots[i].object);
    free(store->slots);
    kube_set_table_done(&store->by_namespace);
    for (size_t i = 0; i < store->n_indexes; i++)
        kube_set_table_done(&store->tables[i]);
    free(store->tables);
    for (size_t i = 0; i < KB_ARRAY_LEN(store->scratch); i++)
        kb_strbuf_done(&store->scratch[i].texts);
    kube_changes_done(&store->changes);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

const struct api_type *kube_store_type(const struct kube_store *store)
{
    return store->type;
}

void kube_store_add_handler(struct kube_store *store, kube_store_handler handler, void *userdata)
{
    pthread_mutex_lock(&store->lock);
    struct kube_changes *changes = &store->changes;
    if (changes->n_handlers == KUBE_STORE_MAX_HANDLERS)
        abort();
    unsigned number = changes->n_handlers++;
    changes->handlers[number].call = handler;
    changes->handlers[number].userdata = userdata;
    for (size_t i = 0; i < store->capacity; i++) {
        if (store->slots[i].object)
            kube_changes_append(changes, NULL, store->slots[i].object, number);
    }
    unlock(store);
}

/* ---- writing ---- */

void kube_store_apply(struct kube_store *store, const struct api_object *object)
{
    pthread_mutex_lock(&store->lock);
    put(store, object, store->listing);
    if (!store->in_list)
        note_reached(store, version_text(object));
    unlock(store);
}

bool kube_store_repeats(struct kube_store *store, const char *namespace_, const char *name, const char *version)
{
    pthread_mutex_lock(&store->lock);
    const struct kube_slot *slot = store->in_list ? NULL : kube_store_lookup(store, namespace_, name);
    const bool repeats = slot && !version_is_newer(version, slot->object);
    if (repeats)
        note_reached(store, version);
    pthread_mutex_unlock(&store->lock);
    return repeats;
}

bool kube_store_repeats_removal(struct kube_store *store, const char *namespace_, const char *name, const char *version)
{
    pthread_mutex_lock(&store->lock);
    const bool repeats = !store->in_list && !kube_store_lookup(store, namespace_, name);
    if (repeats)
        note_reached(store, version);
    pthread_mutex_unlock(&store->lock);
    return repeats;
}

void kube_store_remove(struct kube_store *store, const struct api_object *last_state)
{
    pthread_mutex_lock(&store->lock);
    struct kube_slot *slot = lookup_same(store, last_state);
    if (slot && !is_newer(slot->object, last_state))
        take_out(store, slot, last_state);
    if (!store->in_list)
        note_reached(store, version_text(last_state));
    unlock(store);
}

void kube_store_put_written(struct kube_store *store, const struct api_object *object)
{
    uint64_t version;
    pthread_mutex_lock(&store->lock);
    if (kube_version_parse(version_text(object), &version) && version > store->reached) {
        const struct kube_slot *slot = lookup_same(store, object);
        /* The list under way has not had a new one: whether it stays is decided by its version. */
        put(store, object, slot ? slot->listing : store->listing - 1);
    }
    unlock(store);
}

void kube_store_remove_written(struct kube_store *store, const struct api_object *last_state)
{
    pthread_mutex_lock(&store->lock);
    struct kube_slot *slot = lookup_same(store, last_state);
    if (slot && !is_newer(slot->object, last_state))
        take_out(store, slot, last_state);
    unlock(store);
}

void kube_store_relist_begin(struct kube_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->listing++;
    store->in_list = true;
    pthread_mutex_unlock(&store->lock);
}

void kube_store_keep(struct kube_store *store, const char *namespace_, const char *name)
{
    pthread_mutex_lock(&store->lock);
    struct kube_slot *slot = kube_store_lookup(store, kube_text(namespace_), kube_text(name));
    if (slot)
        slot->listing = store->listing;
    pthread_mutex_unlock(&store->lock);
}

static bool outlives_list(const struct kube_store *store, const struct kube_slot *slot, const char *version)
{
    uint64_t own, list;
    if (!slot->object || slot->listing == store->listing)
        return true;
    return !store->distrusted && kube_version_parse(version_text(slot->object), &own) &&
           kube_version_parse(version, &list) && own > list;
}

void kube_store_relist_end(struct kube_store *store, const char *resource_version)
{
    pthread_mutex_lock(&store->lock);
    struct kube_objects gone = {0};
    for (size_t i = 0; i < store->capacity; i++) {
        if (outlives_list(store, &store->slots[i], resource_version))
            continue;
        if (!gone.items)
            gone.items = kb_malloc(store->n * sizeof(*gone.items));
        gone.items[gone.n++] = api_object_ref(store->slots[i].object);
    }
    /* Taking one out moves others: hence by key. */
    for (size_t i = 0; i < gone.n; i++)
        take_out(store, lookup_same(store, gone.items[i]), gone.items[i]);
    if (store->distrusted)
        store->reached = 0;
    store->in_list = store->distrusted = false;
    note_reached(store, resource_version);
    unlock(store);
    kube_objects_done(&gone);
}

void kube_store_reached(struct kube_store *store, const char *resource_version)
{
    pthread_mutex_lock(&store->lock);
    if (!store->in_list)
        note_reached(store, resource_version);
    pthread_mutex_unlock(&store->lock);
}

void kube_store_distrust(struct kube_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->distrusted = true;
    pthread_mutex_unlock(&store->lock);
}

void kube_store_clear(struct kube_store *store)
{
    struct kube_objects all = kube_store_list(store, NULL);
    pthread_mutex_lock(&store->lock);
    for (size_t i = 0; i < all.n; i++) {
        struct kube_slot *slot = lookup_same(store, all.items[i]);
        if (slot)
            take_out(store, slot, slot->object);
    }
    store->in_list = store->distrusted = false;
    store->reached = 0;
    unlock(store);
    kube_objects_done(&all);
}
