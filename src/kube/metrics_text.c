/*
 * The exposition: samples of one scrape, and their text as Prometheus' Go client writes it (format 0.0.4).
 *
 * Families are sorted by name, the labels of a sample by label name, samples by number of labels and then by label
 * values. A sample keeps its label values in one piece of memory, in that order and each ended by NUL, so that
 * comparing two samples is one memcmp (NUL sorts before every other byte, as the end of a Go string does) and 100,000
 * samples stay small.
 */
#include "base/map.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/metrics_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct sample {
    const char *values;       /* NUL-ended label values in the order of `names` */
    const char *const *names; /* sorted */
    uint32_t size, n_labels;  /* of values in bytes; labels */
    uint32_t number;          /* order of arrival */
    double value;             /* of histograms the sum */
    const uint64_t *counts;   /* histograms; otherwise NULL */
};

struct kube_exposition_group {
    const struct kube_metric_family *family;
    size_t n_labels;
    const char *names[KUBE_METRIC_MAX_LABELS];   /* sorted */
    unsigned char order[KUBE_METRIC_MAX_LABELS]; /* index in the family of each sorted name */
    struct {
        size_t n, capacity; /* the memory is kept when the exposition is cleared */
        struct sample *items;
    } samples;
};

struct kube_exposition {
    struct kb_arena *arena;  /* groups */
    struct kb_arena *values; /* what samples point to */
    struct kb_map *groups;   /* by family name */
};

struct kube_exposition *kube_exposition_new(void)
{
    struct kube_exposition *out = kb_malloc(sizeof *out);
    out->arena = kb_arena_new();
    out->values = kb_arena_new();
    out->groups = kb_map_new(KB_MAP_COPY);
    return out;
}

void kube_exposition_free(struct kube_exposition *out)
{
    const char *name;
    struct kube_exposition_group *group;
    kb_map_foreach (out->groups, name, group)
        free(group->samples.items);
    kb_map_free(out->groups);
    kb_arena_free(out->values);
    kb_arena_free(out->arena);
    free(out);
}

void kube_exposition_clear(struct kube_exposition *out)
{
    const char *name;
    struct kube_exposition_group *group;
    kb_map_foreach (out->groups, name, group)
        group->samples.n = 0;
    kb_arena_reset(out->values);
}

/* ---- collecting ---- */

static void sort_labels(struct kube_exposition_group *group)
{
    for (size_t i = 0; i < group->n_labels; i++) {
        const char *name = group->family->labels[i];
        size_t at = i;
        for (; at > 0 && strcmp(group->names[at - 1], name) > 0; at--) {
            group->names[at] = group->names[at - 1];
            group->order[at] = group->order[at - 1];
        }
        group->names[at] = name;
        group->order[at] = (unsigned char)i;
    }
}

static struct kube_exposition_group *group_of(struct kube_exposition *out, const struct kube_metric_family *family)
{
    struct kube_exposition_group *group = kb_map_get(out->groups, family->name);
    if (group)
        return group;
    group = kb_arena_one(out->arena, struct kube_exposition_group);
    group->family = family;
    group->n_labels = kube_metric_label_count(family);
    sort_labels(group);
    kb_map_put(out->groups, family->name, group);
    return group;
}

struct label {
    const char *name, *value;
    size_t length; /* of the value */
};

static void add_sample(struct kube_exposition *out, struct kube_exposition_group *group, const char *const *names,
                       const struct label *labels, size_t n, struct sample *sample)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += labels[i].length + 1;
    char *values = kb_arena_alloc(out->values, size), *end = values;
    for (size_t i = 0; i < n; i++) {
        memcpy(end, labels[i].value, labels[i].length);
        if (!kb_utf8_valid(labels[i].value, labels[i].length)) {
            for (size_t c = 0; c < labels[i].length; c++)
                end[c] = (unsigned char)end[c] >= 0x80 ? '?' : end[c];
        }
        end[labels[i].length] = '\0';
        end += labels[i].length + 1;
    }
    sample->values = values;
    sample->names = names;
    sample->size = (uint32_t)size;
    sample->n_labels = (uint32_t)n;
    sample->number = (uint32_t)group->samples.n;
    if (group->samples.n == group->samples.capacity) {
        group->samples.capacity = group->samples.capacity ? group->samples.capacity * 2 : 8;
        group->samples.items = kb_realloc(group->samples.items, group->samples.capacity * sizeof *sample);
    }
    group->samples.items[group->samples.n++] = *sample;
}

void kube_exposition_sample(struct kube_exposition *out, const struct kube_metric_family *family,
                            const char *const *label_values, double value)
{
    struct kube_exposition_group *group = group_of(out, family);
    struct label labels[KUBE_METRIC_MAX_LABELS];
    for (size_t i = 0; i < group->n_labels; i++) {
        const char *text = label_values[group->order[i]];
        labels[i] = (struct label){group->names[i], text ? text : "", text ? strlen(text) : 0};
    }
    add_sample(out, group, group->names, labels, group->n_labels, &(struct sample){.value = value});
}

static int compare_labels(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

void kube_exposition_sample_with(struct kube_exposition *out, const struct kube_metric_family *family,
                                 const char *const *label_values, const char *const *extra_names,
                                 const char *const *extra_values, size_t n_extra, double value)
{
    struct kube_exposition_group *group = group_of(out, family);
    size_t n = group->n_labels;
    struct label *labels = kb_arena_many(out->values, struct label, n + n_extra);
    for (size_t i = 0; i < n; i++) {
        const char *text = label_values[i] ? label_values[i] : "";
        labels[i] = (struct label){family->labels[i], text, strlen(text)};
    }
    for (size_t i = 0; i < n_extra; i++) {
        if (!kb_empty(extra_values[i])) {
            const char *name = kb_arena_strdup(out->values, extra_names[i]);
            labels[n++] = (struct label){name, extra_values[i], strlen(extra_values[i])};
        }
    }
    qsort(labels, n, sizeof *labels, compare_labels);
    const char **names = kb_arena_many(out->values, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        names[i] = labels[i].name;
    add_sample(out, group, names, labels, n, &(struct sample){.value = value});
}

void kube_exposition_series(struct kube_exposition *out, const struct kube_metric_family *family, const char *key,
                            double value, const struct kube_histogram_state *histogram)
{
    struct kube_exposition_group *group = group_of(out, family);
    struct label labels[KUBE_METRIC_MAX_LABELS], parts[KUBE_METRIC_MAX_LABELS];
    for (size_t i = 0; i < group->n_labels; i++) {
        const char *end = strchr(key, KUBE_METRIC_SEPARATOR);
        parts[i] = (struct label){family->labels[i], key, (size_t)(end - key)};
        key = end + 1;
    }
    for (size_t i = 0; i < group->n_labels; i++)
        labels[i] = parts[group->order[i]];
    struct sample sample = {.value = value};
    if (histogram) {
        sample.value = histogram->sum;
        sample.counts = kb_arena_copy(out->values, histogram->counts, (family->n_buckets + 1) * sizeof(uint64_t));
    }
    add_sample(out, group, group->names, labels, group->n_labels, &sample);
}

/* ---- numbers ---- */

/* Whole numbers that a double holds exactly: their own digits are the shortest. Returns false for others. */
static bool put_whole(double value, char ret[KUBE_METRIC_NUMBER_SIZE])
{
    if (!(fabs(value) < 9007199254740992.0) || value != (double)(int64_t)value)
        return false;
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", llabs((long long)value)), kept = n;
    const char *sign = value < 0 ? "-" : "";
    while (kept > 1 && digits[kept - 1] == '0')
        kept--;
    if (n <= 6)
        snprintf(ret, KUBE_METRIC_NUMBER_SIZE, "%s%s", sign, digits);
    else
        snprintf(ret, KUBE_METRIC_NUMBER_SIZE, "%s%c%s%.*se+%02d", sign, digits[0], kept > 1 ? "." : "", kept - 1,
                 digits + 1, n - 1);
    return true;
}

/* The shortest digits that give the same double again, as "d.ddde+XX". Returns the number of significant digits. */
static int shortest(double value, char *ret, size_t size)
{
    for (int digits = 1; digits < 17; digits++) {
        snprintf(ret, size, "%.*e", digits - 1, value);
        if (strtod(ret, NULL) == value)
            return digits;
    }
    snprintf(ret, size, "%.16e", value);
    return 17;
}

void kube_metric_number(double value, char ret[KUBE_METRIC_NUMBER_SIZE])
{
    if (isnan(value) || isinf(value)) {
        strcpy(ret, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (put_whole(value, ret))
        return;
    int digits = shortest(value, ret, KUBE_METRIC_NUMBER_SIZE);
    int exponent = atoi(strchr(ret, 'e') + 1);
    if (exponent >= -4 && exponent < 6) {
        int decimals = digits - 1 - exponent;
        snprintf(ret, KUBE_METRIC_NUMBER_SIZE, "%.*f", decimals > 0 ? decimals : 0, value);
    }
}

/* ---- writing ---- */

static void put_escaped(struct kb_strbuf *b, const char *text, bool quotes)
{
    const char *special = quotes ? "\\\n\"" : "\\\n";
    for (;;) {
        size_t plain = strcspn(text, special);
        kb_strbuf_append(b, text, plain);
        text += plain;
        if (!*text)
            return;
        kb_strbuf_puts(b, *text == '\n' ? "\\n" : *text == '"' ? "\\\"" : "\\\\");
        text++;
    }
}

static void put_number(struct kb_strbuf *b, double value)
{
    char text[KUBE_METRIC_NUMBER_SIZE];
    kube_metric_number(value, text);
    kb_strbuf_puts(b, text);
}

/* name + suffix, labels, and `le` when it is not NULL. */
static void put_series(struct kb_strbuf *b, const char *name, const char *suffix, const struct sample *sample,
                       const char *le)
{
    kb_strbuf_puts(b, name);
    kb_strbuf_puts(b, suffix);
    const char *value = sample->values, *opening = "{";
    for (size_t i = 0; i < sample->n_labels; i++) {
        kb_strbuf_puts(b, opening);
        kb_strbuf_puts(b, sample->names[i]);
        kb_strbuf_puts(b, "=\"");
        put_escaped(b, value, true);
        kb_strbuf_putc(b, '"');
        value += strlen(value) + 1;
        opening = ",";
    }
    if (le)
        kb_strbuf_printf(b, "%sle=\"%s\"", opening, le);
    kb_strbuf_puts(b, le || sample->n_labels ? "} " : " ");
}

static void put_histogram(struct kb_strbuf *b, const struct kube_metric_family *family, const struct sample *sample)
{
    uint64_t count = 0;
    for (size_t i = 0; i <= family->n_buckets; i++) {
        char le[KUBE_METRIC_NUMBER_SIZE];
        kube_metric_number(i < family->n_buckets ? family->buckets[i] : INFINITY, le);
        count += sample->counts[i];
        put_series(b, family->name, "_bucket", sample, le);
        put_number(b, (double)count);
        kb_strbuf_putc(b, '\n');
    }
    put_series(b, family->name, "_sum", sample, NULL);
    put_number(b, sample->value);
    kb_strbuf_putc(b, '\n');
    put_series(b, family->name, "_count", sample, NULL);
    put_number(b, (double)count);
    kb_strbuf_putc(b, '\n');
}

static int compare_samples(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    if (a->n_labels != b->n_labels)
        return a->n_labels < b->n_labels ? -1 : 1;
    int order = memcmp(a->values, b->values, a->size < b->size ? a->size : b->size);
    if (order != 0)
        return order;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static bool same_series(const struct sample *a, const struct sample *b)
{
    if (a->n_labels != b->n_labels || a->size != b->size || memcmp(a->values, b->values, a->size) != 0)
        return false;
    for (size_t i = 0; i < a->n_labels; i++) {
        if (!kb_streq(a->names[i], b->names[i]))
            return false;
    }
    return true;
}

static const char *const type_names[] = {
    [KUBE_COUNTER] = "counter",
    [KUBE_GAUGE] = "gauge",
    [KUBE_HISTOGRAM] = "histogram",
};

void kube_exposition_head(const struct kube_metric_family *family, struct kb_strbuf *ret)
{
    kb_strbuf_printf(ret, "# HELP %s ", family->name);
    put_escaped(ret, family->help ? family->help : "", false);
    kb_strbuf_printf(ret, "\n# TYPE %s %s\n", family->name, type_names[family->type]);
}

void kube_exposition_samples(struct kube_exposition_group *group, struct kb_strbuf *b)
{
    const struct kube_metric_family *family = group->family;
    qsort(group->samples.items, group->samples.n, sizeof(struct sample), compare_samples);
    const struct sample *before = NULL;
    kb_vec_foreach (sample, &group->samples) {
        if (before && same_series(before, sample))
            continue;
        before = sample;
        if (sample->counts) {
            put_histogram(b, family, sample);
            continue;
        }
        put_series(b, family->name, "", sample, NULL);
        put_number(b, sample->value);
        kb_strbuf_putc(b, '\n');
    }
}

static int compare_groups(const void *a, const void *b)
{
    return strcmp((*(struct kube_exposition_group *const *)a)->family->name,
                  (*(struct kube_exposition_group *const *)b)->family->name);
}

size_t kube_exposition_groups(struct kube_exposition *out, struct kube_exposition_group ***ret)
{
    size_t n = 0;
    struct kube_exposition_group **groups =
        kb_arena_many(out->values, struct kube_exposition_group *, kb_map_count(out->groups) + 1);
    const char *name;
    struct kube_exposition_group *group;
    kb_map_foreach (out->groups, name, group) {
        if (group->samples.n > 0)
            groups[n++] = group;
    }
    qsort(groups, n, sizeof *groups, compare_groups);
    *ret = groups;
    return n;
}

const struct kube_metric_family *kube_exposition_family(const struct kube_exposition_group *group)
{
    return group->family;
}
