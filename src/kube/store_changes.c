/*
 * Telling a store's handlers of its changes: in the order of the changes, one at a time, with no lock held.
 *
 * Changes are appended under the store's lock. Whoever finds nobody delivering delivers, until none is left; a thread
 * that appends meanwhile leaves its changes to that one. So a handler may change the store: its changes come after. A
 * handler that is added late is told of the objects present through the same line.
 */
#include "kube/store_internal.h"
#include <stdlib.h>

void kube_changes_init(struct kube_changes *changes)
{
    *changes = (struct kube_changes){0};
    changes->end = &changes->first;
}

static void change_free(struct kube_store_change *change)
{
    api_object_unref(change->before);
    api_object_unref(change->after);
    free(change);
}

void kube_changes_done(struct kube_changes *changes)
{
    for (struct kube_store_change *next, *change = changes->first; change; change = next) {
        next = change->next;
        change_free(change);
    }
}

void kube_changes_append(struct kube_changes *changes, const struct api_object *before, const struct api_object *after,
                         unsigned first_handler)
{
    if (first_handler >= changes->n_handlers)
        return;
    struct kube_store_change *change = kb_malloc(sizeof(*change));
    change->before = before ? api_object_ref(before) : NULL;
    change->after = after ? api_object_ref(after) : NULL;
    change->first_handler = first_handler;
    change->end_handler = changes->n_handlers;
    *changes->end = change;
    changes->end = &change->next;
}

static void tell(const struct kube_changes *changes, const struct kube_store_change *change)
{
    for (unsigned i = change->first_handler; i < change->end_handler; i++)
        changes->handlers[i].call(changes->handlers[i].userdata, change->before, change->after);
}

void kube_changes_deliver(struct kube_changes *changes, pthread_mutex_t *lock)
{
    if (changes->delivering)
        return;
    changes->delivering = true;
    for (struct kube_store_change *change; (change = changes->first);) {
        changes->first = change->next;
        if (!changes->first)
            changes->end = &changes->first;
        pthread_mutex_unlock(lock);
        tell(changes, change);
        change_free(change);
        pthread_mutex_lock(lock);
    }
    changes->delivering = false;
}
