/*
 * The metrics registry: families by name, each with its series by label values.
 *
 * A change of an existing series takes the lock shared and is one atomic operation on its number (a double kept as its
 * bits); only the first change of a series, and a removal, take it exclusively. So a pointer to a series is good while
 * the shared lock is held.
 */
#include "kube/metrics.h"
#include "base/map.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/metrics_internal.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct series {
    _Atomic uint64_t bits;     /* the value, of histograms the sum */
    _Atomic uint64_t counts[]; /* histograms: n_buckets + 1 */
};

struct family {
    const struct kube_metric_family *definition;
    struct kb_map *series; /* struct series by key */
};

struct collector {
    kube_collector collect;
    void *userdata;
};

struct kube_metrics {
    pthread_rwlock_t lock;
    struct kb_map *families; /* struct family by name */
    struct {
        size_t n;
        struct collector *items;
    } collectors;
    struct {
        size_t n;
        struct kube_metrics_table *items;
    } tables;
    struct {
        size_t n;
        void **items;
    } owned;
};

struct kube_metrics *kube_metrics_new(void)
{
    struct kube_metrics *metrics = kb_malloc(sizeof *metrics);
    pthread_rwlock_init(&metrics->lock, NULL);
    metrics->families = kb_map_new(KB_MAP_BORROW);
    return metrics;
}

static void free_family(struct family *family)
{
    const char *key;
    struct series *series;
    kb_map_foreach (family->series, key, series)
        free(series);
    kb_map_free(family->series);
    free(family);
}

void kube_metrics_free(struct kube_metrics *metrics)
{
    if (!metrics)
        return;
    const char *name;
    struct family *family;
    kb_map_foreach (metrics->families, name, family)
        free_family(family);
    kb_map_free(metrics->families);
    kb_vec_foreach (memory, &metrics->owned)
        free(*memory);
    free(metrics->owned.items);
    free(metrics->collectors.items);
    free(metrics->tables.items);
    pthread_rwlock_destroy(&metrics->lock);
    free(metrics);
}

void *kube_metrics_own(struct kube_metrics *metrics, size_t size)
{
    void *memory = kb_malloc(size);
    pthread_rwlock_wrlock(&metrics->lock);
    *kb_vec_push(NULL, &metrics->owned) = memory;
    pthread_rwlock_unlock(&metrics->lock);
    return memory;
}

size_t kube_metric_label_count(const struct kube_metric_family *family)
{
    size_t n = 0;
    while (n < KUBE_METRIC_MAX_LABELS && family->labels[n])
        n++;
    return n;
}

/* ---- keys ---- */

struct key {
    char *text; /* `local` or on the heap */
    char local[512];
};

static void append_value(char *to, const char *value, size_t n)
{
    memcpy(to, value, n);
    if (!kb_utf8_valid(value, n)) {
        for (size_t i = 0; i < n; i++)
            to[i] = (unsigned char)to[i] >= 0x80 ? '?' : to[i];
    }
    to[n] = KUBE_METRIC_SEPARATOR;
}

static void make_key(struct key *key, const struct kube_metric_family *family, va_list args)
{
    const char *values[KUBE_METRIC_MAX_LABELS];
    size_t n = kube_metric_label_count(family), length = 0;
    for (size_t i = 0; i < n; i++) {
        values[i] = va_arg(args, const char *);
        values[i] = values[i] ? values[i] : "";
        length += strlen(values[i]) + 1;
    }
    key->text = length < sizeof key->local ? key->local : kb_malloc(length + 1);
    char *end = key->text;
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(values[i]);
        append_value(end, values[i], size);
        end += size + 1;
    }
    *end = '\0';
}

static void key_done(struct key *key)
{
    if (key->text != key->local)
        free(key->text);
}

/* ---- series ---- */

static struct series *find(struct kube_metrics *metrics, const struct kube_metric_family *definition, const char *key)
{
    struct family *family = kb_map_get(metrics->families, definition->name);
    return family ? kb_map_get(family->series, key) : NULL;
}

/* With the lock held exclusively. */
static struct series *find_or_make(struct kube_metrics *metrics, const struct kube_metric_family *definition,
                                   const char *key)
{
    struct family *family = kb_map_get(metrics->families, definition->name);
    if (!family) {
        family = kb_malloc(sizeof *family);
        family->definition = definition;
        family->series = kb_map_new(KB_MAP_COPY);
        kb_map_put(metrics->families, definition->name, family);
    }
    struct series *series = kb_map_get(family->series, key);
    if (series)
        return series;
    size_t counts = definition->type == KUBE_HISTOGRAM ? definition->n_buckets + 1 : 0;
    series = kb_malloc(sizeof *series + counts * sizeof series->counts[0]);
    kb_map_put(family->series, key, series);
    return series;
}

static uint64_t to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add(struct series *series, double delta)
{
    uint64_t old = atomic_load_explicit(&series->bits, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&series->bits, &old, to_bits(from_bits(old) + delta),
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

static void change_add(struct series *series, const struct kube_metric_family *family, double value)
{
    (void)family;
    add(series, value);
}

static void change_set(struct series *series, const struct kube_metric_family *family, double value)
{
    (void)family;
    atomic_store_explicit(&series->bits, to_bits(value), memory_order_relaxed);
}

static void change_observe(struct series *series, const struct kube_metric_family *family, double value)
{
    size_t bucket = 0;
    while (bucket < family->n_buckets && !(value <= family->buckets[bucket]))
        bucket++;
    atomic_fetch_add_explicit(&series->counts[bucket], 1, memory_order_relaxed);
    add(series, value);
}

typedef void (*change)(struct series *series, const struct kube_metric_family *family, double value);

static void apply(struct kube_metrics *metrics, const struct kube_metric_family *family, change how, double value,
                  va_list args)
{
    struct key key;
    make_key(&key, family, args);
    pthread_rwlock_rdlock(&metrics->lock);
    struct series *series = find(metrics, family, key.text);
    if (series)
        how(series, family, value);
    pthread_rwlock_unlock(&metrics->lock);
    if (!series) {
        pthread_rwlock_wrlock(&metrics->lock);
        how(find_or_make(metrics, family, key.text), family, value);
        pthread_rwlock_unlock(&metrics->lock);
    }
    key_done(&key);
}

void kube_metric_add(struct kube_metrics *metrics, const struct kube_metric_family *family, double delta, ...)
{
    va_list args;
    va_start(args, delta);
    apply(metrics, family, change_add, delta, args);
    va_end(args);
}

void kube_metric_set(struct kube_metrics *metrics, const struct kube_metric_family *family, double value, ...)
{
    va_list args;
    va_start(args, value);
    apply(metrics, family, change_set, value, args);
    va_end(args);
}

void kube_metric_observe(struct kube_metrics *metrics, const struct kube_metric_family *family, double value, ...)
{
    va_list args;
    va_start(args, value);
    apply(metrics, family, change_observe, value, args);
    va_end(args);
}

void kube_metric_touch(struct kube_metrics *metrics, const struct kube_metric_family *family, ...)
{
    va_list args;
    va_start(args, family);
    apply(metrics, family, change_add, 0, args);
    va_end(args);
}

void kube_metrics_register(struct kube_metrics *metrics, const struct kube_metric_family *family)
{
    if (kube_metric_label_count(family) == 0)
        kube_metric_touch(metrics, family);
}

void kube_metric_remove(struct kube_metrics *metrics, const struct kube_metric_family *definition, ...)
{
    struct key key;
    va_list args;
    va_start(args, definition);
    make_key(&key, definition, args);
    va_end(args);
    pthread_rwlock_wrlock(&metrics->lock);
    struct family *family = kb_map_get(metrics->families, definition->name);
    struct series *series = family ? kb_map_remove(family->series, key.text) : NULL;
    pthread_rwlock_unlock(&metrics->lock);
    free(series);
    key_done(&key);
}

static uint64_t count_of(const struct series *series, const struct kube_metric_family *family)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= family->n_buckets; i++)
        count += atomic_load_explicit(&series->counts[i], memory_order_relaxed);
    return count;
}

double kube_metric_value(struct kube_metrics *metrics, const struct kube_metric_family *family, ...)
{
    struct key key;
    va_list args;
    va_start(args, family);
    make_key(&key, family, args);
    va_end(args);
    double value = 0;
    pthread_rwlock_rdlock(&metrics->lock);
    struct series *series = find(metrics, family, key.text);
    if (series)
        value = family->type == KUBE_HISTOGRAM ? (double)count_of(series, family) : from_bits(series->bits);
    pthread_rwlock_unlock(&metrics->lock);
    key_done(&key);
    return value;
}

/* ---- scraping ---- */

void kube_metrics_add_collector(struct kube_metrics *metrics, kube_collector collect, void *userdata)
{
    pthread_rwlock_wrlock(&metrics->lock);
    *kb_vec_push(NULL, &metrics->collectors) = (struct collector){collect, userdata};
    pthread_rwlock_unlock(&metrics->lock);
}

static void expose_series(struct kube_exposition *out, const struct kube_metric_family *family, const char *key,
                          struct series *series)
{
    double value = from_bits(atomic_load_explicit(&series->bits, memory_order_relaxed));
    if (family->type != KUBE_HISTOGRAM) {
        kube_exposition_series(out, family, key, value, NULL);
        return;
    }
    kb_cleanup_free uint64_t *counts = kb_malloc((family->n_buckets + 1) * sizeof *counts);
    for (size_t i = 0; i <= family->n_buckets; i++)
        counts[i] = atomic_load_explicit(&series->counts[i], memory_order_relaxed);
    kube_exposition_series(out, family, key, 0, &(struct kube_histogram_state){value, counts});
}

static void expose_family(struct kube_exposition *out, struct family *family)
{
    const char *key;
    struct series *series;
    kb_map_foreach (family->series, key, series)
        expose_series(out, family->definition, key, series);
}

static void expose_registry(struct kube_metrics *metrics, struct kube_exposition *out)
{
    const char *name;
    struct family *family;
    kb_map_foreach (metrics->families, name, family)
        expose_family(out, family);
}

void kube_metrics_add_table(struct kube_metrics *metrics, const struct kube_metric_table *table, void *userdata)
{
    pthread_rwlock_wrlock(&metrics->lock);
    *kb_vec_push(NULL, &metrics->tables) = (struct kube_metrics_table){table, userdata};
    pthread_rwlock_unlock(&metrics->lock);
}

size_t kube_metrics_tables(struct kube_metrics *metrics, struct kube_metrics_table **ret)
{
    pthread_rwlock_rdlock(&metrics->lock);
    size_t n = metrics->tables.n;
    struct kube_metrics_table *tables = kb_malloc((n + 1) * sizeof *tables);
    if (n > 0)
        memcpy(tables, metrics->tables.items, n * sizeof *tables);
    pthread_rwlock_unlock(&metrics->lock);
    *ret = tables;
    return n;
}

void kube_metrics_collect(struct kube_metrics *metrics, struct kube_exposition *out)
{
    pthread_rwlock_rdlock(&metrics->lock);
    size_t n = metrics->collectors.n;
    kb_cleanup_free struct collector *collectors = kb_malloc((n + 1) * sizeof *collectors);
    memcpy(collectors, metrics->collectors.items ? metrics->collectors.items : collectors, n * sizeof *collectors);
    pthread_rwlock_unlock(&metrics->lock);
    for (size_t i = 0; i < n; i++)
        collectors[i].collect(collectors[i].userdata, out);
    /* Behind the collectors: some of them set series of the registry. */
    pthread_rwlock_rdlock(&metrics->lock);
    expose_registry(metrics, out);
    pthread_rwlock_unlock(&metrics->lock);
}
