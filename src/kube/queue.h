/*
 * client-go's work queue: a key is never handed out twice at the same time; a key added while it is being processed
 * comes again when it is done; equal keys waiting are one. Rate limited adds (per key 5 ms * 2^n up to 1000 s, and a
 * bucket of 10/s burst 100 over all), delayed adds, priorities (higher first, then first in first out).
 *
 * The queue has no thread: due delayed keys move over when somebody asks. kube_queue_next_due tells when to ask again.
 * Threads: any.
 */
#ifndef KUBE_QUEUE_H
#define KUBE_QUEUE_H

#include "base/clock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_backoff {
    int64_t base_ns, max_ns; /* per key: base * 2^failures, at most max */
    double bucket_qps;       /* 0: no bucket over all keys */
    int bucket_burst;
};
extern const struct kube_backoff kube_backoff_default; /* 5 ms, 1000 s, 10/s, 100 */

/* Changes of a queue, for metrics (workqueue_*). Called with the queue's lock held: must be quick. */
struct kube_queue_observer {
    void (*depth)(void *userdata, int64_t depth);
    void (*added)(void *userdata);
    void (*retried)(void *userdata);
    void (*queued_for)(void *userdata, int64_t ns);    /* add to get */
    void (*processed_for)(void *userdata, int64_t ns); /* get to done */
};

struct kube_queue;
struct kube_queue *kube_queue_new(const char *name, const struct kube_backoff *backoff, struct kb_clock *clock,
                                  const struct kube_queue_observer *observer, void *userdata);
void kube_queue_free(struct kube_queue *queue);
const char *kube_queue_name(const struct kube_queue *queue);
/* Called (no lock held) whenever a key became ready or the next due time moved nearer. One, set before use. */
void kube_queue_set_wakeup(struct kube_queue *queue, void (*wakeup)(void *userdata), void *userdata);

void kube_queue_add(struct kube_queue *queue, const char *key);
void kube_queue_add_priority(struct kube_queue *queue, const char *key,
                             int priority); /* default 0; a waiting key keeps the higher */
void kube_queue_add_after(struct kube_queue *queue, const char *key, int64_t delay_ns);
void kube_queue_add_after_priority(struct kube_queue *queue, const char *key, int64_t delay_ns, int priority);
void kube_queue_add_rate_limited(struct kube_queue *queue, const char *key);
void kube_queue_add_rate_limited_priority(struct kube_queue *queue, const char *key, int priority);
void kube_queue_forget(struct kube_queue *queue, const char *key); /* failures of the key back to 0 */
int kube_queue_failures(struct kube_queue *queue, const char *key);

/* Takes a ready key without waiting. *ret_key is the caller's until kube_queue_done(key) (which releases it). */
bool kube_queue_try_get(struct kube_queue *queue, char **ret_key, int *ret_priority);
void kube_queue_done(struct kube_queue *queue, char *key);
/* Mono time at which a delayed key falls due; INT64_MAX: none. 0: a key is ready now. */
int64_t kube_queue_next_due(struct kube_queue *queue);
size_t kube_queue_depth(struct kube_queue *queue);   /* ready */
size_t kube_queue_delayed(struct kube_queue *queue); /* waiting for their time */
size_t kube_queue_processing(struct kube_queue *queue);
int64_t kube_queue_oldest_processing_ns(struct kube_queue *queue); /* age of the longest running; 0: none */

#endif
