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
void kube_exposition_write(struct kube_exposition *out, struct kb_strbuf *ret);

size_t kube_metric_label_count(const struct kube_metric_family *family);
/* A number as Go's strconv.FormatFloat(value, 'g', -1, 64) prints it, with +Inf, -Inf and NaN. */
#define KUBE_METRIC_NUMBER_SIZE 32
void kube_metric_number(double value, char ret[KUBE_METRIC_NUMBER_SIZE]);

/* Memory that is freed with the registry. */
void *kube_metrics_own(struct kube_metrics *metrics, size_t size);

#endif
