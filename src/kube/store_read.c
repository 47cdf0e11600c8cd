/*
 * Reading a store: a look-up, and lists that are copied out under the lock with a reference on each object.
 * Lists come ordered because the sets that they are copied from are.
 */
#include "base/strings.h"
#include "kube/store_internal.h"
#include <stdlib.h>

const struct api_object *kube_store_get(struct kube_store *store, const char *namespace_, const char *name)
{
    pthread_mutex_lock(&store->lock);
    const struct kube_slot *slot = kube_store_lookup(store, kube_text(namespace_), kube_text(name));
    const struct api_object *object = slot ? api_object_ref(slot->object) : NULL;
    pthread_mutex_unlock(&store->lock);
    return object;
}

/* ---- lists ---- */

static void append_set(struct kube_objects *list, const struct kube_object_set *set)
{
    const struct api_object *const *items = set ? kube_set_items(set) : NULL;
    for (size_t i = 0; set && i < set->n; i++)
        list->items[list->n++] = api_object_ref(items[i]);
}

static int compare_sets(const void *a, const void *b)
{
    return strcmp((*(struct kube_object_set *const *)a)->value, (*(struct kube_object_set *const *)b)->value);
}

static void append_all(struct kube_store *store, struct kube_objects *list)
{
    const struct kube_set_table *table = &store->by_namespace;
    kb_cleanup_free struct kube_object_set **sets = kb_malloc((table->n + 1) * sizeof(*sets));
    size_t n = 0;
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i])
            sets[n++] = table->slots[i];
    }
    qsort(sets, n, sizeof(*sets), compare_sets);
    for (size_t i = 0; i < n; i++)
        append_set(list, sets[i]);
}

static struct kube_objects list_of_set(const struct kube_object_set *set)
{
    struct kube_objects list = {0};
    if (set) {
        list.items = kb_malloc(set->n * sizeof(*list.items));
        append_set(&list, set);
    }
    return list;
}

struct kube_objects kube_store_list(struct kube_store *store, const char *namespace_)
{
    struct kube_objects list = {0};
    pthread_mutex_lock(&store->lock);
    if (!kb_empty(namespace_)) {
        list = list_of_set(kube_set_find(&store->by_namespace, namespace_));
    } else if (store->n > 0) {
        list.items = kb_malloc(store->n * sizeof(*list.items));
        append_all(store, &list);
    }
    pthread_mutex_unlock(&store->lock);
    return list;
}

struct kube_objects kube_store_by_index(struct kube_store *store, const char *index, const char *value)
{
    struct kube_objects list = {0};
    size_t i = 0;
    while (i < store->n_indexes && !kb_streq(store->indexes[i].name, index))
        i++;
    if (i == store->n_indexes)
        abort(); /* a misspelt index is a bug that must not look like "no objects" */
    pthread_mutex_lock(&store->lock);
    list = list_of_set(kube_set_find(&store->tables[i], kube_text(value)));
    pthread_mutex_unlock(&store->lock);
    return list;
}

void kube_objects_done(struct kube_objects *objects)
{
    for (size_t i = 0; i < objects->n; i++)
        api_object_unref(objects->items[i]);
    free(objects->items);
    *objects = (struct kube_objects){0};
}

size_t kube_store_count(struct kube_store *store)
{
    pthread_mutex_lock(&store->lock);
    size_t n = store->n;
    pthread_mutex_unlock(&store->lock);
    return n;
}

size_t kube_store_bytes(struct kube_store *store)
{
    pthread_mutex_lock(&store->lock);
    size_t bytes = sizeof(*store) + store->object_bytes + store->capacity * sizeof(*store->slots) +
                   kube_set_table_bytes(&store->by_namespace);
    for (size_t i = 0; i < store->n_indexes; i++)
        bytes += kube_set_table_bytes(&store->tables[i]);
    pthread_mutex_unlock(&store->lock);
    return bytes;
}

void kube_store_visit(struct kube_store *store, void (*each)(void *userdata, const struct api_object *object),
                      void *userdata)
{
    pthread_mutex_lock(&store->lock);
    for (size_t i = 0; i < store->capacity; i++) {
        if (store->slots[i].object)
            each(userdata, store->slots[i].object);
    }
    pthread_mutex_unlock(&store->lock);
}
