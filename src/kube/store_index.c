/*
 * Indexes of the store: from a value to the objects that have it.
 *
 * Memory decides the shape. Most values have one object, so a set is one small block with the value's text and the
 * object in place; only larger sets have an array. The values of an object are not kept: the index function is asked
 * again for the old state when an object changes or goes.
 */
#include "base/strings.h"
#include "kube/store_internal.h"
#include <stdlib.h>

#define MIN_CAPACITY 16

void kube_index_add(struct kube_index_sink *sink, const char *value)
{
    kb_strbuf_append(&sink->texts, kube_text(value), strlen(kube_text(value)) + 1);
    sink->n++;
}

void kube_index_add_pair(struct kube_index_sink *sink, const char *a, const char *b)
{
    kb_strbuf_puts(&sink->texts, kube_text(a));
    kb_strbuf_putc(&sink->texts, '/');
    kube_index_add(sink, b);
}

int kube_object_compare_keys(const struct api_object *a, const struct api_object *b)
{
    const struct meta_object_meta *x = kube_object_meta(a);
    const struct meta_object_meta *y = kube_object_meta(b);
    int order = x->namespace == y->namespace ? 0 : strcmp(kube_text(x->namespace), kube_text(y->namespace));
    return order ? order : strcmp(kube_text(x->name), kube_text(y->name));
}

/* ---- one set ---- */

static bool is_power_of_two(size_t n)
{
    return (n & (n - 1)) == 0;
}

const struct api_object *const *kube_set_items(const struct kube_object_set *set)
{
    return set->n == 1 ? &set->one : set->many;
}

static size_t lower_bound(const struct kube_object_set *set, const struct api_object *object, bool *ret_found)
{
    const struct api_object *const *items = kube_set_items(set);
    size_t low = 0, high = set->n;
    *ret_found = false;
    /* A list comes in order, so the place is mostly behind the last one. */
    if (high > 0 && kube_object_compare_keys(items[high - 1], object) < 0)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kube_object_compare_keys(items[middle], object);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void set_insert(struct kube_set_table *table, struct kube_object_set *set, const struct api_object *object)
{
    bool found = false;
    size_t at = set->n ? lower_bound(set, object, &found) : 0;
    if (found) {
        *(set->n == 1 ? &set->one : &set->many[at]) = object;
        return;
    }
    if (set->n == 0) {
        set->one = object;
        set->n = 1;
        return;
    }
    const struct api_object **items = set->n == 1 ? NULL : set->many;
    if (is_power_of_two(set->n)) {
        items = kb_realloc(items, 2 * set->n * sizeof(*items));
        table->bytes += (set->n == 1 ? 2 : set->n) * sizeof(*items);
    }
    if (set->n == 1)
        items[0] = set->one;
    memmove(items + at + 1, items + at, (set->n - at) * sizeof(*items));
    items[at] = object;
    set->many = items;
    set->n++;
}

static void set_take_out(struct kube_set_table *table, struct kube_object_set *set, size_t at)
{
    const struct api_object **items = set->many;
    memmove(items + at, items + at + 1, (set->n - at - 1) * sizeof(*items));
    set->n--;
    if (set->n == 1) {
        set->one = items[0];
        free(items);
        table->bytes -= 2 * sizeof(*items);
    } else if (is_power_of_two(set->n)) {
        set->many = kb_realloc(items, set->n * sizeof(*items));
        table->bytes -= set->n * sizeof(*items);
    }
}

/* ---- the table of sets ---- */

static size_t find_slot(const struct kube_set_table *table, const char *value, uint32_t hash)
{
    size_t mask = table->capacity - 1;
    size_t at = hash & mask;
    while (table->slots[at] && (table->slots[at]->hash != hash || !kb_streq(table->slots[at]->value, value)))
        at = (at + 1) & mask;
    return at;
}

static void resize(struct kube_set_table *table, size_t capacity)
{
    struct kube_object_set **old = table->slots;
    size_t n = table->capacity;
    table->slots = kb_malloc(capacity * sizeof(*table->slots));
    table->capacity = capacity;
    for (size_t i = 0; i < n; i++) {
        if (!old[i])
            continue;
        size_t at = old[i]->hash & (capacity - 1);
        while (table->slots[at])
            at = (at + 1) & (capacity - 1);
        table->slots[at] = old[i];
    }
    free(old);
}

/* Linear probing without tombstones: what follows the hole moves into it when it may. */
static void close_hole(struct kube_set_table *table, size_t hole)
{
    size_t mask = table->capacity - 1;
    for (size_t at = (hole + 1) & mask; table->slots[at]; at = (at + 1) & mask) {
        size_t home = table->slots[at]->hash & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        table->slots[hole] = table->slots[at];
        hole = at;
    }
    table->slots[hole] = NULL;
}

static uint32_t hash_value(const char *value)
{
    return kb_fnv32a(value, strlen(value));
}

static size_t set_size(const struct kube_object_set *set)
{
    return sizeof(*set) + strlen(set->value) + 1;
}

const struct kube_object_set *kube_set_find(const struct kube_set_table *table, const char *value)
{
    return table->capacity ? table->slots[find_slot(table, value, hash_value(value))] : NULL;
}

void kube_set_add(struct kube_set_table *table, const char *value, const struct api_object *object)
{
    uint32_t hash = hash_value(value);
    if ((table->n + 1) * 4 > table->capacity * 3)
        resize(table, table->capacity ? 2 * table->capacity : MIN_CAPACITY);
    struct kube_object_set **slot = &table->slots[find_slot(table, value, hash)];
    if (!*slot) {
        size_t length = strlen(value);
        *slot = kb_malloc(sizeof(**slot) + length + 1);
        (*slot)->hash = hash;
        memcpy((*slot)->value, value, length + 1);
        table->n++;
        table->bytes += set_size(*slot);
    }
    set_insert(table, *slot, object);
}

void kube_set_remove(struct kube_set_table *table, const char *value, const struct api_object *object)
{
    if (!table->capacity)
        return;
    size_t at = find_slot(table, value, hash_value(value));
    struct kube_object_set *set = table->slots[at];
    bool found = false;
    if (!set)
        return;
    size_t place = lower_bound(set, object, &found);
    if (!found)
        return;
    if (set->n > 1) {
        set_take_out(table, set, place);
        return;
    }
    table->bytes -= set_size(set);
    table->n--;
    free(set);
    close_hole(table, at);
    if (table->capacity > MIN_CAPACITY && table->n * 8 < table->capacity)
        resize(table, table->capacity / 2);
}

size_t kube_set_table_bytes(const struct kube_set_table *table)
{
    return table->bytes + table->capacity * sizeof(*table->slots);
}

void kube_set_table_done(struct kube_set_table *table)
{
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->slots[i] && table->slots[i]->n > 1)
            free(table->slots[i]->many);
        free(table->slots[i]);
    }
    free(table->slots);
    *table = (struct kube_set_table){0};
}

/* ---- a change of one object ---- */

static void collect(const struct kube_index *index, struct kube_index_sink *sink, const struct api_object *object)
{
    kb_strbuf_clear(&sink->texts);
    sink->n = 0;
    if (object)
        index->values(api_object_data(object), sink);
}

static void for_each_value(struct kube_set_table *table, const struct kube_index_sink *sink,
                           const struct api_object *object,
                           void (*change)(struct kube_set_table *, const char *, const struct api_object *))
{
    const char *value = kb_strbuf_text(&sink->texts);
    for (size_t i = 0; i < sink->n; i++) {
        change(table, value, object);
        value += strlen(value) + 1;
    }
}

void kube_set_table_change(struct kube_set_table *table, const struct kube_index *index,
                           struct kube_index_sink scratch[2], const struct api_object *before,
                           const struct api_object *after)
{
    struct kube_index_sink *old = &scratch[0], *new = &scratch[1];
    collect(index, old, before);
    collect(index, new, after);
    bool same = before && after &&
                old->texts.length ==
                    new->texts.length &&memcmp(kb_strbuf_text(&old->texts), kb_strbuf_text(&new->texts),
                                               old->texts.length) == 0;
    if (!same)
        for_each_value(table, old, before, kube_set_remove);
    for_each_value(table, new, after, kube_set_add);
}
