/*
 * One scrape, written in pieces: families in the order of their names. A family of the registry or of a collector is
 * written at once; a row of a table object by object.
 *
 * The whole is decided when the scrape begins: collectors run then, and the objects of tables are referenced then. What
 * changes later is for the next scrape.
 */
#include "base/arena.h"
#include "base/vec.h"
#include "kube/metrics_internal.h"
#include <stdlib.h>
#include <string.h>

struct table {
    const struct kube_metric_table *definition;
    void *state; /* what its begin returned */
    struct kube_objects objects;
};

struct part { /* one family */
    const struct kube_metric_family *family;
    struct kube_exposition_group *group; /* NULL: a row of a table */
    const struct table *table;
    const struct kube_metric_row *row;
};

struct kube_scrape {
    struct kube_exposition *whole, *one; /* all samples that are there already; those of one object */
    struct table *tables;
    size_t n_tables;
    struct {
        size_t n;
        struct part *items;
    } parts;
    size_t part, object; /* what comes next */
    bool head_written;
};

static int compare_parts(const void *a, const void *b)
{
    return strcmp(((const struct part *)a)->family->name, ((const struct part *)b)->family->name);
}

static void add_groups(struct kube_scrape *scrape)
{
    struct kube_exposition_group **groups;
    size_t n = kube_exposition_groups(scrape->whole, &groups);
    for (size_t i = 0; i < n; i++)
        *kb_vec_push(NULL, &scrape->parts) =
            (struct part){.family = kube_exposition_family(groups[i]), .group = groups[i]};
}

static void begin_tables(struct kube_scrape *scrape, const struct kube_metrics_table *tables)
{
    for (size_t i = 0; i < scrape->n_tables; i++) {
        struct table *table = &scrape->tables[i];
        table->definition = tables[i].table;
        table->state = table->definition->begin(tables[i].userdata, &table->objects);
        for (size_t row = 0; row < table->definition->n_rows; row++)
            *kb_vec_push(NULL, &scrape->parts) = (struct part){
                .family = table->definition->rows[row].family, .table = table, .row = &table->definition->rows[row]};
    }
}

struct kube_scrape *kube_scrape_new(struct kube_metrics *metrics)
{
    struct kube_scrape *scrape = kb_malloc(sizeof *scrape);
    kb_cleanup_free struct kube_metrics_table *tables = NULL;
    scrape->whole = kube_exposition_new();
    scrape->one = kube_exposition_new();
    scrape->n_tables = kube_metrics_tables(metrics, &tables);
    scrape->tables = kb_malloc((scrape->n_tables + 1) * sizeof *scrape->tables);
    kube_metrics_collect(metrics, scrape->whole);
    add_groups(scrape);
    begin_tables(scrape, tables);
    if (scrape->parts.n > 0)
        qsort(scrape->parts.items, scrape->parts.n, sizeof *scrape->parts.items, compare_parts);
    return scrape;
}

void kube_scrape_free(struct kube_scrape *scrape)
{
    if (!scrape)
        return;
    for (size_t i = 0; i < scrape->n_tables; i++) {
        scrape->tables[i].definition->end(scrape->tables[i].state);
        kube_objects_done(&scrape->tables[i].objects);
    }
    kube_exposition_free(scrape->whole);
    kube_exposition_free(scrape->one);
    free(scrape->tables);
    free(scrape->parts.items);
    free(scrape);
}

static void next_part(struct kube_scrape *scrape)
{
    scrape->part++;
    scrape->object = 0;
    scrape->head_written = false;
}

/* The samples of the next object, if it has any. */
static void write_object(struct kube_scrape *scrape, const struct part *part, struct kb_strbuf *ret)
{
    struct kube_exposition_group **groups;
    const void *object = api_object_data(part->table->objects.items[scrape->object++]);
    part->row->sample(part->table->state, part->family, object, scrape->one);
    size_t n = kube_exposition_groups(scrape->one, &groups);
    if (n > 0 && !scrape->head_written) {
        kube_exposition_head(part->family, ret);
        scrape->head_written = true;
    }
    for (size_t i = 0; i < n; i++)
        kube_exposition_samples(groups[i], ret);
    kube_exposition_clear(scrape->one);
}

bool kube_scrape_next(struct kube_scrape *scrape, size_t size, struct kb_strbuf *ret)
{
    size_t enough = ret->length + size, before = ret->length;
    while (scrape->part < scrape->parts.n && ret->length < enough) {
        const struct part *part = &scrape->parts.items[scrape->part];
        if (part->group) {
            kube_exposition_head(part->family, ret);
            kube_exposition_samples(part->group, ret);
            next_part(scrape);
        } else if (scrape->object < part->table->objects.n) {
            write_object(scrape, part, ret);
        } else {
            next_part(scrape);
        }
    }
    return ret->length > before;
}

void kube_metrics_write(struct kube_metrics *metrics, struct kb_strbuf *ret)
{
    struct kube_scrape *scrape = kube_scrape_new(metrics);
    while (kube_scrape_next(scrape, SIZE_MAX / 2, ret))
        continue;
    kube_scrape_free(scrape);
}
