/*
 * kubevirt_workqueue_*: libkube's observer behind a gate. Queues of a standby fill with keys that nobody works on,
 * which those of the reference's standby don't: until this replica leads nothing is told; then at once what is there,
 * and keys have waited since then.
 */
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"

struct metrics_queue {
    struct metrics_queue *next;
    struct kb_clock *clock;
    void *data; /* kube_workqueue_metrics' */
    pthread_mutex_t lock;
    bool open; /* below: with the lock */
    int64_t opened_at, depth;
};

static void depth(void *userdata, int64_t value)
{
    struct metrics_queue *queue = userdata;
    pthread_mutex_lock(&queue->lock);
    queue->depth = value;
    if (queue->open)
        kube_workqueue_metrics.depth(queue->data, value);
    pthread_mutex_unlock(&queue->lock);
}

static void added(void *userdata)
{
    struct metrics_queue *queue = userdata;
    pthread_mutex_lock(&queue->lock);
    if (queue->open)
        kube_workqueue_metrics.added(queue->data);
    pthread_mutex_unlock(&queue->lock);
}

static void retried(void *userdata)
{
    struct metrics_queue *queue = userdata;
    kube_workqueue_metrics.retried(queue->data);
}

static void queued_for(void *userdata, int64_t ns)
{
    struct metrics_queue *queue = userdata;
    pthread_mutex_lock(&queue->lock);
    int64_t open_for = queue->open ? queue->clock->mono(queue->clock) - queue->opened_at : 0;
    pthread_mutex_unlock(&queue->lock);
    kube_workqueue_metrics.queued_for(queue->data, ns < open_for ? ns : open_for);
}

static void processed_for(void *userdata, int64_t ns)
{
    struct metrics_queue *queue = userdata;
    kube_workqueue_metrics.processed_for(queue->data, ns);
}

const struct kube_queue_observer virt_metrics_queue_observer = {depth, added, retried, queued_for, processed_for};

void *virt_metrics_queue(struct virt_metrics *metrics, const char *queue_name)
{
    struct metrics_queue *queue = kb_arena_one(metrics->arena, struct metrics_queue);
    queue->clock = metrics->clock;
    queue->data = kube_workqueue_metrics_data(metrics->registry, "kubevirt_", queue_name, metrics->clock);
    pthread_mutex_init(&queue->lock, NULL);
    queue->next = metrics->queues;
    metrics->queues = queue;
    return queue;
}

void metrics_open_queues(struct virt_metrics *metrics)
{
    for (struct metrics_queue *queue = metrics->queues; queue; queue = queue->next) {
        pthread_mutex_lock(&queue->lock);
        if (!queue->open) {
            queue->open = true;
            queue->opened_at = metrics->clock->mono(metrics->clock);
            kube_workqueue_metrics.depth(queue->data, queue->depth);
            for (int64_t i = 0; i < queue->depth; i++)
                kube_workqueue_metrics.added(queue->data);
        }
        pthread_mutex_unlock(&queue->lock);
    }
}
