/*
 * The queue of what is to be looked at: a binary heap by due time, then by order of arrival, with a map that knows what
 * is in it.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "lab/sim/sim_internal.h"
#include <stdio.h>
#include <stdlib.h>

void sim_queue_init(struct sim_queue *queue)
{
    queue->by_id = kb_map_new(KB_MAP_BORROW);
}

void sim_queue_done(struct sim_queue *queue)
{
    for (size_t i = 0; i < queue->heap.n; i++)
        free(queue->heap.items[i]);
    free(queue->heap.items);
    kb_map_free(queue->by_id);
}

static bool before(const struct sim_item *a, const struct sim_item *b)
{
    return a->due < b->due || (a->due == b->due && a->sequence < b->sequence);
}

static void sift_up(struct sim_queue *q, size_t i)
{
    struct sim_item **h = q->heap.items, *moved = h[i];
    for (; i && before(moved, h[(i - 1) / 2]); i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = moved;
}

static void sift_down(struct sim_queue *q, size_t i)
{
    struct sim_item **h = q->heap.items, *moved = h[i];
    for (size_t child; (child = 2 * i + 1) < q->heap.n; i = child) {
        if (child + 1 < q->heap.n && before(h[child + 1], h[child]))
            child++;
        if (!before(h[child], moved))
            break;
        h[i] = h[child];
    }
    h[i] = moved;
}

static void bring_forward(struct sim_queue *q, struct sim_item *item, int64_t due)
{
    if (item->due <= due)
        return;
    item->due = due;
    for (size_t i = 0; i < q->heap.n; i++)
        if (q->heap.items[i] == item)
            return sift_up(q, i);
}

void sim_queue_add(struct sim_queue *queue, const struct sim_rule *rule, size_t number, const char *key, int64_t due)
{
    size_t size = sizeof(struct sim_item) + strlen(key) + 24;
    struct sim_item *item = kb_malloc(size);
    snprintf(item->id, size - sizeof(*item), "%zu:%s", number, key);
    struct sim_item *there = kb_map_get(queue->by_id, item->id);
    if (there) {
        free(item);
        bring_forward(queue, there, due);
        return;
    }
    item->due = due;
    item->sequence = queue->sequence++;
    item->rule = rule;
    kb_map_put(queue->by_id, item->id, item);
    *kb_vec_push(NULL, &queue->heap) = item;
    sift_up(queue, queue->heap.n - 1);
}

struct sim_item *sim_queue_take(struct sim_queue *queue, int64_t now)
{
    if (!queue->heap.n || queue->heap.items[0]->due > now)
        return NULL;
    struct sim_item *first = queue->heap.items[0];
    kb_map_remove(queue->by_id, first->id);
    queue->heap.items[0] = queue->heap.items[--queue->heap.n];
    if (queue->heap.n)
        sift_down(queue, 0);
    return first;
}

int64_t sim_queue_next(const struct sim_queue *queue)
{
    return queue->heap.n ? queue->heap.items[0]->due : INT64_MAX;
}

const char *sim_item_key(const struct sim_item *item)
{
    return strchr(item->id, ':') + 1;
}
