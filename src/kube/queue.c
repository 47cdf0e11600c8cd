/*
 * The work queue. One entry a key, kept while the key is ready, delayed, being processed, or has failures to remember.
 *
 *                 add                     try_get                 done
 *     (absent) ---------> ready (dirty) ----------> processing ----------> (absent)
 *         |                  ^                        |  ^ add: dirty, comes again after done
 *         | add_after        | due                    v  |
 *         +-------------> delayed                  processing + dirty
 *
 * Being delayed is independent of the other states, as in client-go: a key may be ready and delayed at once. Two binary
 * heaps order the entries: ready by priority then by age, delayed by due time. An entry knows its places in both.
 *
 * Priorities follow controller-runtime's priority queue: a waiting key keeps the highest priority that it was added
 * with.
 */
#include "kube/queue.h"
#include "base/arena.h"
#include "base/map.h"
#include <stdlib.h>
#include <string.h>

#define NOT_IN_HEAP SIZE_MAX

const struct kube_backoff kube_backoff_default = {
    .base_ns = 5 * KB_NS_PER_MS,
    .max_ns = 1000 * KB_NS_PER_S,
    .bucket_qps = 10,
    .bucket_burst = 100,
};

enum { READY, DELAYED, N_HEAPS };

struct entry {
    size_t place[N_HEAPS];
    int priority;         /* valid while dirty */
    int delayed_priority; /* valid while delayed */
    int failures;
    bool dirty; /* wants to be processed: in the ready heap, or waiting for its own done */
    bool processing;
    uint64_t sequence; /* of the add that made it ready: first in, first out */
    int64_t due;
    int64_t added_at, started_at;
    struct entry *previous_running, *next_running;
    char key[];
};

struct heap {
    struct entry **items;
    size_t n, capacity;
};

struct kube_queue {
    pthread_mutex_t lock;
    char *name;
    struct kube_backoff backoff;
    struct kb_clock *clock;
    const struct kube_queue_observer *observer;
    void *observer_data;
    void (*wakeup)(void *userdata);
    void *wakeup_data;
    struct kb_map *entries; /* borrows entry->key */
    struct heap heaps[N_HEAPS];
    struct entry *first_running, *last_running; /* oldest first */
    size_t n_running, n_dirty;
    uint64_t sequence;
    double tokens;
    int64_t tokens_at;
};

/* ---- heaps ---- */

static bool comes_before(int which, const struct entry *a, const struct entry *b)
{
    if (which == DELAYED)
        return a->due < b->due;
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->sequence < b->sequence;
}

static void heap_set(struct heap *heap, int which, size_t place, struct entry *entry)
{
    heap->items[place] = entry;
    entry->place[which] = place;
}

static void heap_settle(struct heap *heap, int which, struct entry *entry)
{
    size_t at = entry->place[which];
    while (at > 0 && comes_before(which, entry, heap->items[(at - 1) / 2])) {
        heap_set(heap, which, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
        if (child + 1 < heap->n && comes_before(which, heap->items[child + 1], heap->items[child]))
            child++;
        if (!comes_before(which, heap->items[child], entry))
            break;
        heap_set(heap, which, at, heap->items[child]);
    }
    heap_set(heap, which, at, entry);
}

static void heap_insert(struct heap *heap, int which, struct entry *entry)
{
    if (heap->n == heap->capacity) {
        heap->capacity = heap->capacity ? 2 * heap->capacity : 16;
        heap->items = kb_realloc(heap->items, heap->capacity * sizeof(*heap->items));
    }
    heap_set(heap, which, heap->n++, entry);
    heap_settle(heap, which, entry);
}

static void heap_remove(struct heap *heap, int which, struct entry *entry)
{
    size_t at = entry->place[which];
    struct entry *last = heap->items[--heap->n];
    entry->place[which] = NOT_IN_HEAP;
    if (last != entry) {
        heap_set(heap, which, at, last);
        heap_settle(heap, which, last);
    }
    if (heap->n == 0) { /* an idle queue keeps no memory of its busiest hour */
        free(heap->items);
        *heap = (struct heap){0};
    }
}

/* ---- entries ---- */

static struct entry *entry_of(struct kube_queue *queue, const char *key)
{
    struct entry *entry = kb_map_get(queue->entries, key);
    if (entry)
        return entry;
    size_t size = strlen(key) + 1;
    entry = kb_malloc(sizeof(*entry) + size);
    memcpy(entry->key, key, size);
    for (int i = 0; i < N_HEAPS; i++)
        entry->place[i] = NOT_IN_HEAP;
    kb_map_put(queue->entries, entry->key, entry);
    return entry;
}

static void entry_release_if_unused(struct kube_queue *queue, struct entry *entry)
{
    if (entry->dirty || entry->processing || entry->place[DELAYED] != NOT_IN_HEAP || entry->failures > 0)
        return;
    kb_map_remove(queue->entries, entry->key);
    free(entry);
}

static void observe_depth(struct kube_queue *queue)
{
    if (queue->observer)
        queue->observer->depth(queue->observer_data, (int64_t)queue->n_dirty);
}

/* True when the key became ready (or a ready one more urgent). */
static bool make_dirty(struct kube_queue *queue, struct entry *entry, int priority, int64_t now)
{
    struct heap *ready = &queue->heaps[READY];
    if (entry->dirty) {
        if (priority > entry->priority) {
            entry->priority = priority;
            if (entry->place[READY] != NOT_IN_HEAP)
                heap_settle(ready, READY, entry);
        }
        return false;
    }
    entry->dirty = true;
    entry->priority = priority;
    entry->sequence = queue->sequence++;
    entry->added_at = now;
    queue->n_dirty++;
    if (queue->observer)
        queue->observer->added(queue->observer_data);
    observe_depth(queue);
    if (entry->processing)
        return false;
    heap_insert(ready, READY, entry);
    return true;
}

static void move_due(struct kube_queue *queue, int64_t now)
{
    struct heap *delayed = &queue->heaps[DELAYED];
    while (delayed->n > 0 && delayed->items[0]->due <= now) {
        struct entry *entry = delayed->items[0];
        heap_remove(delayed, DELAYED, entry);
        make_dirty(queue, entry, entry->delayed_priority, now);
    }
}

/* True when the nearest due time moved nearer. */
static bool delay(struct kube_queue *queue, struct entry *entry, int priority, int64_t due)
{
    struct heap *delayed = &queue->heaps[DELAYED];
    if (entry->place[DELAYED] == NOT_IN_HEAP) {
        entry->due = due;
        entry->delayed_priority = priority;
        heap_insert(delayed, DELAYED, entry);
        return delayed->items[0] == entry;
    }
    if (priority > entry->delayed_priority)
        entry->delayed_priority = priority;
    if (due >= entry->due)
        return false;
    entry->due = due;
    heap_settle(delayed, DELAYED, entry);
    return delayed->items[0] == entry;
}

/* ---- rate limits ---- */

static int64_t failure_delay(const struct kube_backoff *backoff, int failures)
{
    int64_t ns = backoff->base_ns;
    for (int i = 0; i < failures && ns < backoff->max_ns; i++)
        ns = ns > INT64_MAX / 2 ? INT64_MAX : 2 * ns;
    return ns < backoff->max_ns ? ns : backoff->max_ns;
}

static int64_t bucket_delay(struct kube_queue *queue, int64_t now)
{
    double qps = queue->backoff.bucket_qps;
    if (qps <= 0)
        return 0;
    queue->tokens += (double)(now - queue->tokens_at) / KB_NS_PER_S * qps;
    if (queue->tokens > queue->backoff.bucket_burst)
        queue->tokens = queue->backoff.bucket_burst;
    queue->tokens_at = now;
    queue->tokens -= 1;
    return queue->tokens >= 0 ? 0 : (int64_t)(-queue->tokens / qps * KB_NS_PER_S);
}

/* ---- the interface ---- */

struct kube_queue *kube_queue_new(const char *name, const struct kube_backoff *backoff, struct kb_clock *clock,
                                  const struct kube_queue_observer *observer, void *userdata)
{
    struct kube_queue *queue = kb_malloc(sizeof(*queue));
    pthread_mutex_init(&queue->lock, NULL);
    queue->name = kb_strdup(name);
    queue->backoff = backoff ? *backoff : kube_backoff_default;
    queue->clock = clock;
    queue->observer = observer;
    queue->observer_data = userdata;
    queue->entries = kb_map_new(KB_MAP_BORROW);
    queue->tokens = queue->backoff.bucket_burst;
    queue->tokens_at = clock->mono(clock);
    return queue;
}

void kube_queue_free(struct kube_queue *queue)
{
    const char *key;
    struct entry *entry;
    if (!queue)
        return;
    kb_map_foreach (queue->entries, key, entry)
        free(entry);
    kb_map_free(queue->entries);
    for (int i = 0; i < N_HEAPS; i++)
        free(queue->heaps[i].items);
    pthread_mutex_destroy(&queue->lock);
    free(queue->name);
    free(queue);
}

const char *kube_queue_name(const struct kube_queue *queue)
{
    return queue->name;
}

void kube_queue_set_wakeup(struct kube_queue *queue, void (*wakeup)(void *userdata), void *userdata)
{
    queue->wakeup = wakeup;
    queue->wakeup_data = userdata;
}

static void unlock_and_wake(struct kube_queue *queue, bool wake)
{
    pthread_mutex_unlock(&queue->lock);
    if (wake && queue->wakeup)
        queue->wakeup(queue->wakeup_data);
}

void kube_queue_add(struct kube_queue *queue, const char *key)
{
    kube_queue_add_priority(queue, key, 0);
}

void kube_queue_add_priority(struct kube_queue *queue, const char *key, int priority)
{
    pthread_mutex_lock(&queue->lock);
    bool wake = make_dirty(queue, entry_of(queue, key), priority, queue->clock->mono(queue->clock));
    unlock_and_wake(queue, wake);
}

/* With the lock held. */
static bool add_after(struct kube_queue *queue, struct entry *entry, int priority, int64_t delay_ns)
{
    int64_t now = queue->clock->mono(queue->clock);
    if (queue->observer)
        queue->observer->retried(queue->observer_data);
    if (delay_ns <= 0)
        return make_dirty(queue, entry, priority, now);
    return delay(queue, entry, priority, delay_ns > INT64_MAX - now ? INT64_MAX : now + delay_ns);
}

void kube_queue_add_after(struct kube_queue *queue, const char *key, int64_t delay_ns)
{
    kube_queue_add_after_priority(queue, key, delay_ns, 0);
}

void kube_queue_add_after_priority(struct kube_queue *queue, const char *key, int64_t delay_ns, int priority)
{
    pthread_mutex_lock(&queue->lock);
    bool wake = add_after(queue, entry_of(queue, key), priority, delay_ns);
    unlock_and_wake(queue, wake);
}

void kube_queue_add_rate_limited(struct kube_queue *queue, const char *key)
{
    kube_queue_add_rate_limited_priority(queue, key, 0);
}

void kube_queue_add_rate_limited_priority(struct kube_queue *queue, const char *key, int priority)
{
    pthread_mutex_lock(&queue->lock);
    struct entry *entry = entry_of(queue, key);
    int64_t own = failure_delay(&queue->backoff, entry->failures);
    int64_t shared = bucket_delay(queue, queue->clock->mono(queue->clock));
    if (entry->failures < INT32_MAX)
        entry->failures++;
    bool wake = add_after(queue, entry, priority, own > shared ? own : shared);
    unlock_and_wake(queue, wake);
}

void kube_queue_forget(struct kube_queue *queue, const char *key)
{
    pthread_mutex_lock(&queue->lock);
    struct entry *entry = kb_map_get(queue->entries, key);
    if (entry) {
        entry->failures = 0;
        entry_release_if_unused(queue, entry);
    }
    pthread_mutex_unlock(&queue->lock);
}

int kube_queue_failures(struct kube_queue *queue, const char *key)
{
    pthread_mutex_lock(&queue->lock);
    struct entry *entry = kb_map_get(queue->entries, key);
    int failures = entry ? entry->failures : 0;
    pthread_mutex_unlock(&queue->lock);
    return failures;
}

static void running_append(struct kube_queue *queue, struct entry *entry)
{
    entry->previous_running = queue->last_running;
    entry->next_running = NULL;
    if (queue->last_running)
        queue->last_running->next_running = entry;
    else
        queue->first_running = entry;
    queue->last_running = entry;
    queue->n_running++;
}

static void running_remove(struct kube_queue *queue, struct entry *entry)
{
    if (entry->previous_running)
        entry->previous_running->next_running = entry->next_running;
    else
        queue->first_running = entry->next_running;
    if (entry->next_running)
        entry->next_running->previous_running = entry->previous_running;
    else
        queue->last_running = entry->previous_running;
    queue->n_running--;
}

static struct entry *take_first(struct kube_queue *queue)
{
    int64_t now = queue->clock->mono(queue->clock);
    struct heap *ready = &queue->heaps[READY];
    move_due(queue, now);
    if (ready->n == 0)
        return NULL;
    struct entry *entry = ready->items[0];
    heap_remove(ready, READY, entry);
    entry->dirty = false;
    entry->processing = true;
    entry->started_at = now;
    queue->n_dirty--;
    running_append(queue, entry);
    if (queue->observer)
        queue->observer->queued_for(queue->observer_data, now - entry->added_at);
    observe_depth(queue);
    return entry;
}

bool kube_queue_try_get(struct kube_queue *queue, char **ret_key, int *ret_priority)
{
    pthread_mutex_lock(&queue->lock);
    struct entry *entry = take_first(queue);
    if (entry) {
        *ret_key = entry->key;
        if (ret_priority)
            *ret_priority = entry->priority;
    }
    pthread_mutex_unlock(&queue->lock);
    return entry != NULL;
}

void kube_queue_done(struct kube_queue *queue, char *key)
{
    bool wake = false;
    pthread_mutex_lock(&queue->lock);
    struct entry *entry = kb_map_get(queue->entries, key);
    if (entry && entry->processing) {
        entry->processing = false;
        running_remove(queue, entry);
        if (queue->observer)
            queue->observer->processed_for(queue->observer_data, queue->clock->mono(queue->clock) - entry->started_at);
        if (entry->dirty) {
            heap_insert(&queue->heaps[READY], READY, entry);
            wake = true;
        }
        entry_release_if_unused(queue, entry);
    }
    unlock_and_wake(queue, wake);
}

int64_t kube_queue_next_due(struct kube_queue *queue)
{
    int64_t due = INT64_MAX;
    pthread_mutex_lock(&queue->lock);
    move_due(queue, queue->clock->mono(queue->clock));
    if (queue->heaps[READY].n > 0)
        due = 0;
    else if (queue->heaps[DELAYED].n > 0)
        due = queue->heaps[DELAYED].items[0]->due;
    pthread_mutex_unlock(&queue->lock);
    return due;
}

size_t kube_queue_depth(struct kube_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    move_due(queue, queue->clock->mono(queue->clock));
    size_t n = queue->heaps[READY].n;
    pthread_mutex_unlock(&queue->lock);
    return n;
}

size_t kube_queue_delayed(struct kube_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    move_due(queue, queue->clock->mono(queue->clock));
    size_t n = queue->heaps[DELAYED].n;
    pthread_mutex_unlock(&queue->lock);
    return n;
}

size_t kube_queue_processing(struct kube_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t n = queue->n_running;
    pthread_mutex_unlock(&queue->lock);
    return n;
}

int64_t kube_queue_oldest_processing_ns(struct kube_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const struct entry *oldest = queue->first_running;
    int64_t age = oldest ? queue->clock->mono(queue->clock) - oldest->started_at : 0;
    pthread_mutex_unlock(&queue->lock);
    return age;
}
