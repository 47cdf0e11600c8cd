/*
 * String maps and string lists as values. A map is a sorted array: lookups are binary, changes move the tail. A change
 * never touches entries that another map shares: growth always allocates anew.
 */
#include "api/object.h"
#include "base/strings.h"
#include "base/vec.h"

/* Index of the first entry whose key is not below `key`. */
static size_t lower_bound(const struct api_string_map *map, const char *key)
{
    size_t low = 0, high = map->items ? map->n : 0;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (strcmp(map->items[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct api_string_entry *find(const struct api_string_map *map, const char *key)
{
    const size_t at = lower_bound(map, key);

    if (!map->items || at == map->n || !kb_streq(map->items[at].key, key))
        return NULL;
    return &map->items[at];
}

const char *api_map_get(const struct api_string_map *map, const char *key)
{
    const struct api_string_entry *entry = find(map, key);

    if (!entry)
        return NULL;
    return entry->value ? entry->value : "";
}

bool api_map_has(const struct api_string_map *map, const char *key)
{
    return find(map, key) != NULL;
}

void api_map_set(struct kb_arena *arena, struct api_string_map *map, const char *key, const char *value)
{
    struct api_string_entry *entry = find(map, key), *items;
    size_t at;

    if (entry) {
        entry->value = value;
        return;
    }
    at = lower_bound(map, key);
    items = kb_arena_many(arena, struct api_string_entry, kb_vec_capacity(map->n + 1));
    if (at > 0)
        memcpy(items, map->items, at * sizeof(*items));
    if (at < map->n)
        memcpy(items + at + 1, map->items + at, (map->n - at) * sizeof(*items));
    items[at] = (struct api_string_entry){.key = key, .value = value};
    map->items = items;
    map->n++;
}

bool api_map_delete(struct api_string_map *map, const char *key)
{
    struct api_string_entry *entry = find(map, key);

    if (!entry)
        return false;
    memmove(entry, entry + 1, (map->items + map->n - (entry + 1)) * sizeof(*entry));
    map->n--;
    return true;
}

bool api_map_contains_all(const struct api_string_map *map, const struct api_string_map *subset)
{
    api_list_foreach (entry, subset) {
        const char *value = api_map_get(map, entry->key);

        if (!value || !kb_streq(value, entry->value ? entry->value : ""))
            return false;
    }
    return true;
}

bool api_strings_has(const struct api_strings *list, const char *text)
{
    api_list_foreach (item, list)
        if (*item && kb_streq(*item, text))
            return true;
    return false;
}

void api_strings_add(struct kb_arena *arena, struct api_strings *list, const char *text)
{
    const char **items = kb_arena_many(arena, const char *, kb_vec_capacity(list->n + 1));

    if (list->n > 0)
        memcpy(items, list->items, list->n * sizeof(*items));
    items[list->n] = text;
    list->items = items;
    list->n++;
}

bool api_strings_remove(struct api_strings *list, const char *text)
{
    size_t kept = 0;
    bool found;

    if (!list->items)
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (!list->items[i] || !kb_streq(list->items[i], text))
            list->items[kept++] = list->items[i];
    found = kept < list->n;
    list->n = kept;
    return found;
}
