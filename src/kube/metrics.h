/*
 * A metrics registry with Prometheus text exposition (version 0.0.4). Families are tables; series are made on first
 * use.
 *
 *     static const struct kube_metric_family adds = {"workqueue_adds_total", "Total number of adds", KUBE_COUNTER,
 * {"name"}}; kube_metric_add(registry, &adds, 1, "virt-controller-vm");
 *
 * Families that describe the cluster are computed when scraped: a collector writes its samples into the exposition.
 * Threads: any. Adding to an existing series is one atomic operation behind a shared lock.
 */
#ifndef KUBE_METRICS_H
#define KUBE_METRICS_H

#include "base/strbuf.h"
#include "kube/queue.h"
#include "kube/store.h"
#include <stdbool.h>
#include <stddef.h>

enum kube_metric_type { KUBE_COUNTER, KUBE_GAUGE, KUBE_HISTOGRAM };

#define KUBE_METRIC_MAX_LABELS 20

struct kube_metric_family {
    const char *name, *help;
    enum kube_metric_type type;
    const char *labels[KUBE_METRIC_MAX_LABELS]; /* names, NULL-terminated */
    const double *buckets;                      /* histograms: ascending upper bounds without +Inf */
    size_t n_buckets;
};

struct kube_metrics;
struct kube_metrics *kube_metrics_new(void);
void kube_metrics_free(struct kube_metrics *metrics);
/* Makes a family without labels appear before its first change (histograms with count 0), as in Prometheus' Go client;
 * families with labels appear with their first series. Families must stay. */
void kube_metrics_register(struct kube_metrics *metrics, const struct kube_metric_family *family);

/* Label values follow, one per label name, `const char *`. Invalid UTF-8 in them becomes '?'. */
void kube_metric_add(struct kube_metrics *metrics, const struct kube_metric_family *family, double delta, ...);
void kube_metric_set(struct kube_metrics *metrics, const struct kube_metric_family *family, double value, ...);
void kube_metric_observe(struct kube_metrics *metrics, const struct kube_metric_family *family, double value, ...);
/* Makes the series (value 0) if it is not there. */
void kube_metric_touch(struct kube_metrics *metrics, const struct kube_metric_family *family, ...);
void kube_metric_remove(struct kube_metrics *metrics, const struct kube_metric_family *family, ...);
/* 0: no such series; of histograms the number of observations. */
double kube_metric_value(struct kube_metrics *metrics, const struct kube_metric_family *family, ...);

/* ---- at scrape time ---- */

struct kube_exposition; /* samples of one scrape; families are sorted by name when written */
/* On the scraping thread, no lock held. Of samples with the same name and labels the first counts. */
typedef void (*kube_collector)(void *userdata, struct kube_exposition *out);
void kube_metrics_add_collector(struct kube_metrics *metrics, kube_collector collector, void *userdata);
/* One sample; label values as an array parallel to family->labels. */
void kube_exposition_sample(struct kube_exposition *out, const struct kube_metric_family *family,
                            const char *const *label_values, double value);
/* The same with further labels of this sample alone (no limit on their number); empty values are left out. */
void kube_exposition_sample_with(struct kube_exposition *out, const struct kube_metric_family *family,
                                 const char *const *label_values, const char *const *extra_names,
                                 const char *const *extra_values, size_t n_extra, double value);

/*
 * Families with samples for each object of a cache. They are written row by row and object by object, so that a scrape
 * of tens of thousands of objects holds the samples of one at a time, and a reference on each.
 */
struct kube_metric_row {
    const struct kube_metric_family *family;
    /* Adds the object's samples of this family (the row's), and of no other. `scrape` is what `begin` returned. */
    void (*sample)(void *scrape, const struct kube_metric_family *family, const void *object,
                   struct kube_exposition *out);
};
struct kube_metric_table {
    const struct kube_metric_row *rows;
    size_t n_rows;
    /* At each scrape; what is put into `ret_objects` belongs to the scrape from then on. */
    void *(*begin)(void *userdata, struct kube_objects *ret_objects);
    void (*end)(void *scrape);
};
void kube_metrics_add_table(struct kube_metrics *metrics, const struct kube_metric_table *table, void *userdata);

/* One scrape, in pieces. Threads: one at a time. The registry must outlive it. */
struct kube_scrape;
struct kube_scrape *kube_scrape_new(struct kube_metrics *metrics);
/* Appends about `size` bytes or what is left; false: nothing was left. */
bool kube_scrape_next(struct kube_scrape *scrape, size_t size, struct kb_strbuf *ret);
void kube_scrape_free(struct kube_scrape *scrape); /* NULL is allowed */
/* Appends the whole exposition. */
void kube_metrics_write(struct kube_metrics *metrics, struct kb_strbuf *ret);

/* process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds, process_start_time_seconds ... */
void kube_metrics_add_process_collector(struct kube_metrics *metrics);

/*
 * PREFIX + "workqueue_*" of client-go as a struct kube_queue_observer; its userdata is what kube_workqueue_metrics_data
 * returns, which belongs to the registry. The series of a queue exist from that call on.
 */
extern const struct kube_queue_observer kube_workqueue_metrics;
void *kube_workqueue_metrics_data(struct kube_metrics *metrics, const char *prefix, const char *queue_name,
                                  struct kb_clock *clock);

#endif
