/*
 * The metrics of work queues, with client-go's names behind a prefix.
 *
 * The two gauges about work in progress are computed when they are scraped, from the times at which the running items
 * were taken. The observer is not told which item is done, only how long it took: that gives the time at which it was
 * taken, and the recorded time nearest to that one goes. At most `threads` of them are there.
 */
#include "base/arena.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/metrics_internal.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH, ADDS, QUEUED, WORKED, RETRIES, LONGEST, UNFINISHED, N_FAMILIES };

#define N_BUCKETS 10

static const struct kube_metric_family templates[N_FAMILIES] = {
    [DEPTH] = {"workqueue_depth", "Current depth of workqueue", KUBE_GAUGE, {"name"}},
    [ADDS] = {"workqueue_adds_total", "Total number of adds handled by workqueue", KUBE_COUNTER, {"name"}},
    [QUEUED] = {"workqueue_queue_duration_seconds",
                "How long an item stays in workqueue before being requested.",
                KUBE_HISTOGRAM,
                {"name"}},
    [WORKED] = {"workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
                KUBE_HISTOGRAM,
                {"name"}},
    [RETRIES] = {"workqueue_retries_total", "Total number of retries handled by workqueue", KUBE_COUNTER, {"name"}},
    [LONGEST] = {"workqueue_longest_running_processor_seconds",
                 "How many seconds has the longest running processor for workqueue been running.",
                 KUBE_GAUGE,
                 {"name"}},
    [UNFINISHED] =
        {"workqueue_unfinished_work_seconds",
         "How many seconds of work have been in progress without being observed by work_duration. Large values "
         "indicate stuck threads. The number of stuck threads can be deduced by observing the rate at which "
         "this value increases.",
         KUBE_GAUGE,
         {"name"}},
};

struct queue_metrics {
    struct kube_metrics *metrics;
    struct kb_clock *clock;
    const char *name;
    double buckets[N_BUCKETS];
    struct kube_metric_family families[N_FAMILIES];
    pthread_mutex_t lock;
    struct {
        size_t n;
        int64_t items[256]; /* mono times; more running items than this are not counted */
    } running;
};

static void depth(void *userdata, int64_t value)
{
    struct queue_metrics *queue = userdata;
    kube_metric_set(queue->metrics, &queue->families[DEPTH], (double)value, queue->name);
}

static void added(void *userdata)
{
    struct queue_metrics *queue = userdata;
    kube_metric_add(queue->metrics, &queue->families[ADDS], 1, queue->name);
}

static void retried(void *userdata)
{
    struct queue_metrics *queue = userdata;
    kube_metric_add(queue->metrics, &queue->families[RETRIES], 1, queue->name);
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)KB_NS_PER_S;
}

static void queued_for(void *userdata, int64_t ns)
{
    struct queue_metrics *queue = userdata;
    kube_metric_observe(queue->metrics, &queue->families[QUEUED], seconds(ns), queue->name);
    pthread_mutex_lock(&queue->lock);
    if (queue->running.n < KB_ARRAY_LEN(queue->running.items))
        queue->running.items[queue->running.n++] = queue->clock->mono(queue->clock);
    pthread_mutex_unlock(&queue->lock);
}

static void forget_running(struct queue_metrics *queue, int64_t started)
{
    size_t best = 0;
    for (size_t i = 1; i < queue->running.n; i++) {
        if (llabs(queue->running.items[i] - started) < llabs(queue->running.items[best] - started))
            best = i;
    }
    if (queue->running.n > 0)
        queue->running.items[best] = queue->running.items[--queue->running.n];
}

static void processed_for(void *userdata, int64_t ns)
{
    struct queue_metrics *queue = userdata;
    kube_metric_observe(queue->metrics, &queue->families[WORKED], seconds(ns), queue->name);
    pthread_mutex_lock(&queue->lock);
    forget_running(queue, queue->clock->mono(queue->clock) - ns);
    pthread_mutex_unlock(&queue->lock);
}

const struct kube_queue_observer kube_workqueue_metrics = {depth, added, retried, queued_for, processed_for};

static void collect(void *userdata, struct kube_exposition *out)
{
    struct queue_metrics *queue = userdata;
    int64_t longest = 0, sum = 0;
    pthread_mutex_lock(&queue->lock);
    int64_t now = queue->clock->mono(queue->clock);
    for (size_t i = 0; i < queue->running.n; i++) {
        int64_t age = now - queue->running.items[i];
        sum += age;
        longest = age > longest ? age : longest;
    }
    pthread_mutex_unlock(&queue->lock);
    kube_exposition_sample(out, &queue->families[LONGEST], &queue->name, seconds(longest));
    kube_exposition_sample(out, &queue->families[UNFINISHED], &queue->name, seconds(sum));
}

static char *own_text(struct kube_metrics *metrics, const char *first, const char *second)
{
    size_t size = strlen(first) + strlen(second) + 1;
    char *text = kube_metrics_own(metrics, size);
    snprintf(text, size, "%s%s", first, second);
    return text;
}

void *kube_workqueue_metrics_data(struct kube_metrics *metrics, const char *prefix, const char *queue_name,
                                  struct kb_clock *clock)
{
    struct queue_metrics *queue = kube_metrics_own(metrics, sizeof *queue);
    queue->metrics = metrics;
    queue->clock = clock;
    queue->name = own_text(metrics, queue_name, "");
    pthread_mutex_init(&queue->lock, NULL);
    /* Multiplied up as the Go client does it, so that the bounds have the same rounding. */
    double bound = 1e-8;
    for (int i = 0; i < N_BUCKETS; i++, bound *= 10)
        queue->buckets[i] = bound;
    for (int i = 0; i < N_FAMILIES; i++) {
        queue->families[i] = templates[i];
        queue->families[i].name = own_text(metrics, prefix, templates[i].name);
        if (templates[i].type == KUBE_HISTOGRAM) {
            queue->families[i].buckets = queue->buckets;
            queue->families[i].n_buckets = N_BUCKETS;
        }
        if (i != LONGEST && i != UNFINISHED)
            kube_metric_touch(metrics, &queue->families[i], queue->name);
    }
    kube_metrics_add_collector(metrics, collect, queue);
    return queue;
}
