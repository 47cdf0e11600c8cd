/*
 * What the files of the metrics registry share: metrics.c keeps the series, metrics_text.c writes them.
 */
#ifndef KUBE_METRICS_INTERNAL_H
#define KUBE_METRICS_INTERNAL_H

#include "kube/metrics.h"
#include <stdint.h>

/* The state of a histogram at one moment: counts[i] observations in bucket i (not cumulated), the last one is +Inf. */
struct kube_histogram_state {
    double sum;
    const uint64_t *counts;
};

/* Between label values in the keys of series: never part of valid UTF-8. */
#define KUBE_METRIC_SEPARATOR '\xff'

struct kube_exposition *kube_exposition_new(void);
void kube_exposition_free(struct kube_exposition *exposition);
/* A sample of the registry: `key` has each label value in the family's order, each followed by the separator. */
void kube_exposition_series(struct kube_exposition *out, const struct kube_metric_family *family, const char *key,
                            double value, const struct kube_histogram_state *histogram);
/* Forgets the samples. */
void kube_exposition_clear(struct kube_exposition *out);
/* The families that have samples, sorted by name; the array lives until the exposition is cleared. */
struct kube_exposition_group;
size_t kube_exposition_groups(struct kube_exposition *out, struct kube_exposition_group ***ret);
const struct kube_metric_family *kube_exposition_family(const struct kube_exposition_group *group);
/* Appends the lines before the samples of a family, and its samples. */
void kube_exposition_head(const struct kube_metric_family *family, struct kb_strbuf *ret);
void kube_exposition_samples(struct kube_exposition_group *group, struct kb_strbuf *ret);

/* ---- what a scrape takes from the registry: metrics.c ---- */

struct kube_metrics_table {
    const struct kube_metric_table *table;
    void *userdata;
};
/* Runs the collectors and takes the registry's own series. */
void kube_metrics_collect(struct kube_metrics *metrics, struct kube_exposition *out);
/* A copy, on the heap. */
size_t kube_metrics_tables(struct kube_metrics *metrics, struct kube_metrics_table **ret);

size_t kube_metric_label_count(const struct kube_metric_family *family);
/* A number as Go's strconv.FormatFloat(value, 'g', -1, 64) prints it, with +Inf, -Inf and NaN. */
#define KUBE_METRIC_NUMBER_SIZE 32
void kube_metric_number(double value, char ret[KUBE_METRIC_NUMBER_SIZE]);

/* Memory that is freed with the registry. */
void *kube_metrics_own(struct kube_metrics *metrics, size_t size);

#endif
