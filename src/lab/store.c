/*
 * Sorted arrays of objects and rings of events, see store.h. An array of pointers is small, keeps order for paging,
 * and moving 100,000 pointers takes less time than parsing one object.
 */
#include "lab/store.h"
#include "base/strings.h"
#include "lab/server_internal.h"
#include "lab/watch.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct lab_kind *lab_resource_kind(const struct lab_resource *resource)
{
    return atomic_load_explicit(&((struct lab_resource *)resource)->kind, memory_order_acquire);
}

/* The index of the first item whose key is >= `key` (above it, with `above`). */
static size_t lower_bound(const struct lab_resource *r, const char *key, bool above)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int c = strcmp(r->items[mid]->meta->key, key);
        if (c < 0 || (above && c == 0))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct lab_object *lab_store_find(const struct lab_resource *resource, const char *key)
{
    /* names often come in order: look behind the last one first */
    if (!resource->n || strcmp(resource->items[resource->n - 1]->meta->key, key) < 0)
        return NULL;
    size_t i = lower_bound(resource, key, false);
    return i < resource->n && kb_streq(resource->items[i]->meta->key, key) ? resource->items[i] : NULL;
}

void lab_store_range(const struct lab_resource *resource, const char *namespace_, const char *after, size_t *ret_from,
                     size_t *ret_to)
{
    *ret_from = 0;
    *ret_to = resource->n;
    if (namespace_) {
        kb_cleanup_free char *low = kb_asprintf("%s/", namespace_);
        kb_cleanup_free char *high = kb_asprintf("%s0", namespace_); /* '0' follows '/' */
        *ret_from = lower_bound(resource, low, false);
        *ret_to = lower_bound(resource, high, false);
    }
    size_t start = after ? lower_bound(resource, after, true) : 0;
    if (start > *ret_from)
        *ret_from = start;
    if (*ret_from > *ret_to)
        *ret_from = *ret_to;
}

struct lab_event *lab_store_event(const struct lab_resource *resource, uint64_t sequence)
{
    return &resource->ring[sequence % resource->ring_capacity];
}

uint64_t lab_store_event_after(const struct lab_resource *resource, int64_t resource_version)
{
    uint64_t low = resource->first, high = resource->next_event;
    while (low < high) {
        uint64_t mid = (low + high) / 2;
        if (lab_store_event(resource, mid)->resource_version <= resource_version)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void drop_oldest(struct lab_resource *r)
{
    struct lab_event *e = lab_store_event(r, r->first);
    r->dropped = e->resource_version;
    lab_object_unref(e->object);
    lab_object_unref(e->old);
    r->first++;
}

static void grow_ring(struct lab_resource *r, size_t limit)
{
    size_t capacity = r->ring_capacity ? r->ring_capacity * 2 : 64;
    if (capacity > limit)
        capacity = limit;
    struct lab_event *ring = kb_malloc(capacity * sizeof(*ring));
    for (uint64_t s = r->first; s < r->next_event; s++)
        ring[s % capacity] = *lab_store_event(r, s);
    free(r->ring);
    r->ring = ring;
    r->ring_capacity = capacity;
}

static void push_event(struct lab_server *server, struct lab_resource *r, struct lab_event event)
{
    if (r->next_event - r->first == r->ring_capacity && r->ring_capacity < server->watch_history)
        grow_ring(r, server->watch_history);
    if (r->next_event - r->first == r->ring_capacity)
        drop_oldest(r);
    lab_object_ref(event.object);
    if (event.old)
        lab_object_ref(event.old);
    *lab_store_event(r, r->next_event++) = event;
    lab_watch_notify(r);
}

static void insert(struct lab_resource *r, struct lab_object *object)
{
    if (r->n == r->capacity) {
        r->capacity = r->capacity ? r->capacity * 2 : 16;
        r->items = kb_realloc(r->items, r->capacity * sizeof(struct lab_object *));
    }
    size_t at = lower_bound(r, object->meta->key, false);
    memmove(r->items + at + 1, r->items + at, (r->n - at) * sizeof(struct lab_object *));
    r->items[at] = object;
    r->n++;
}

void lab_store_put(struct lab_server *server, struct lab_resource *resource, struct lab_object *old,
                   struct lab_object *object)
{
    object->resource_version = ++server->resource_version;
    lab_object_ref(object);
    if (old)
        resource->items[lower_bound(resource, old->meta->key, false)] = object;
    else
        insert(resource, object);
    push_event(server, resource,
               (struct lab_event){old ? LAB_MODIFIED : LAB_ADDED, object->resource_version, object, old});
    lab_object_unref(old);
}

void lab_store_remove(struct lab_server *server, struct lab_resource *resource, struct lab_object *stored,
                      struct lab_object *last)
{
    size_t at = lower_bound(resource, stored->meta->key, false);
    assert(at < resource->n && resource->items[at] == stored);
    memmove(resource->items + at, resource->items + at + 1, (resource->n - at - 1) * sizeof(struct lab_object *));
    resource->n--;
    int64_t version = ++server->resource_version;
    if (last != stored)
        last->resource_version = version; /* for the answer to the write that ended it */
    push_event(server, resource, (struct lab_event){LAB_DELETED, version, last, stored});
    lab_object_unref(stored);
}

void lab_store_forget(struct lab_server *server, struct lab_resource *resource)
{
    while (resource->first < resource->next_event)
        drop_oldest(resource);
    resource->first = ++resource->next_event; /* a gap: every cursor is before it */
    resource->dropped = server->resource_version;
    lab_watch_notify(resource);
}

void lab_store_done(struct lab_resource *resource)
{
    while (resource->first < resource->next_event)
        drop_oldest(resource);
    for (size_t i = 0; i < resource->n; i++)
        lab_object_unref(resource->items[i]);
    free(resource->items);
    free(resource->ring);
}
