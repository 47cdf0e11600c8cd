/*
 * A binary heap ordered by (due, id).
 */
#include "kube/timers.h"
#include "base/vec.h"
#include <stdlib.h>

static bool before(const struct kube_timer *a, const struct kube_timer *b)
{
    return a->due < b->due || (a->due == b->due && a->id < b->id);
}

static void swap(struct kube_timer *a, struct kube_timer *b)
{
    struct kube_timer t = *a;
    *a = *b;
    *b = t;
}

static void sift_up(struct kube_timers *timers, size_t i)
{
    for (; i > 0 && before(&timers->items[i], &timers->items[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&timers->items[i], &timers->items[(i - 1) / 2]);
}

static void sift_down(struct kube_timers *timers, size_t i)
{
    for (;;) {
        size_t first = i, left = 2 * i + 1, right = left + 1;
        if (left < timers->n && before(&timers->items[left], &timers->items[first]))
            first = left;
        if (right < timers->n && before(&timers->items[right], &timers->items[first]))
            first = right;
        if (first == i)
            return;
        swap(&timers->items[i], &timers->items[first]);
        i = first;
    }
}

uint64_t kube_timers_add(struct kube_timers *timers, int64_t due, void (*fn)(void *userdata), void *userdata)
{
    uint64_t id = ++timers->last_id;
    *kb_vec_push(NULL, timers) = (struct kube_timer){.due = due, .id = id, .fn = fn, .userdata = userdata};
    sift_up(timers, timers->n - 1);
    return id;
}

static void remove_at(struct kube_timers *timers, size_t i)
{
    timers->items[i] = timers->items[--timers->n];
    if (i == timers->n)
        return;
    sift_up(timers, i);
    sift_down(timers, i);
}

bool kube_timers_remove(struct kube_timers *timers, uint64_t id)
{
    for (size_t i = 0; i < timers->n; i++) {
        if (timers->items[i].id != id)
            continue;
        remove_at(timers, i);
        return true;
    }
    return false;
}

bool kube_timers_take_due(struct kube_timers *timers, int64_t now, struct kube_timer *ret)
{
    if (timers->n == 0 || timers->items[0].due > now)
        return false;
    *ret = timers->items[0];
    remove_at(timers, 0);
    return true;
}

int64_t kube_timers_next(const struct kube_timers *timers)
{
    return timers->n > 0 ? timers->items[0].due : INT64_MAX;
}

void kube_timers_done(struct kube_timers *timers)
{
    free(timers->items);
    *timers = (struct kube_timers){0};
}
