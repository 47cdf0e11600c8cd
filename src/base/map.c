/*
 * The hash map. Beside the slots stands one byte of each key's hash, never 0 in a slot that is taken: a search reads
 * these bytes, and a key only where they agree, so that most searches touch one line of tags and one key. Removing
 * moves later entries of the run back instead of leaving marks: a search ends at the first free slot.
 *
 * slots and tags are one allocation; an empty map has none.
 */
#include "base/map.h"
#include "base/strings.h"
#include <stdlib.h>

#define SMALLEST 8

struct slot {
    const char *key;
    void *value;
};

struct kb_map {
    struct slot *slots;
    uint8_t *tags; /* 0: free */
    size_t size;   /* a power of two, or 0 */
    size_t count;
    size_t key_bytes;
    enum kb_map_keys keys;
};

struct hash {
    size_t home; /* to be masked by the size */
    uint8_t tag;
};

static struct hash hash_of(const char *key)
{
    uint64_t hash = kb_fnv64a(key, strlen(key));
    hash ^= hash >> 32;
    return (struct hash){.home = (size_t)hash, .tag = (uint8_t)(hash >> 24 | 1)};
}

struct kb_map *kb_map_new(enum kb_map_keys keys)
{
    struct kb_map *map = kb_malloc(sizeof *map);
    map->keys = keys;
    return map;
}

void kb_map_free(struct kb_map *map)
{
    if (!map)
        return;
    kb_map_clear(map);
    free(map);
}

void kb_map_free_pointer(struct kb_map **map)
{
    kb_map_free(*map);
}

size_t kb_map_count(const struct kb_map *map)
{
    return map->count;
}

size_t kb_map_bytes(const struct kb_map *map)
{
    return sizeof *map + map->size * (sizeof(struct slot) + 1) + map->key_bytes;
}

/* The slot that holds `key`, or the free one where it belongs. The map has at least one free slot. */
static size_t find(const struct kb_map *map, const char *key, struct hash hash)
{
    size_t mask = map->size - 1, i = hash.home & mask;
    while (map->tags[i] && (map->tags[i] != hash.tag || !kb_streq(map->slots[i].key, key)))
        i = (i + 1) & mask;
    return i;
}

static void resize(struct kb_map *map, size_t size)
{
    struct slot *slots = map->slots;
    uint8_t *tags = map->tags;
    size_t old_size = map->size;
    map->slots = kb_malloc(size * (sizeof(struct slot) + 1));
    map->tags = (uint8_t *)(map->slots + size);
    map->size = size;
    for (size_t i = 0; i < old_size; i++) {
        if (!tags[i])
            continue;
        size_t at = find(map, slots[i].key, hash_of(slots[i].key));
        map->slots[at] = slots[i];
        map->tags[at] = tags[i];
    }
    free(slots);
}

void *kb_map_get(const struct kb_map *map, const char *key)
{
    if (map->count == 0)
        return NULL;
    size_t i = find(map, key, hash_of(key));
    return map->tags[i] ? map->slots[i].value : NULL;
}

bool kb_map_has(const struct kb_map *map, const char *key)
{
    return map->count > 0 && map->tags[find(map, key, hash_of(key))];
}

void *kb_map_put(struct kb_map *map, const char *key, void *value)
{
    if ((map->count + 1) * 4 > map->size * 3)
        resize(map, map->size ? map->size * 2 : SMALLEST);
    struct hash hash = hash_of(key);
    size_t i = find(map, key, hash);
    void *before = map->slots[i].value;
    map->slots[i].value = value;
    if (map->keys == KB_MAP_BORROW)
        map->slots[i].key = key;
    if (map->tags[i])
        return before;
    if (map->keys == KB_MAP_COPY) {
        map->slots[i].key = kb_strdup(key);
        map->key_bytes += strlen(key) + 1;
    }
    map->tags[i] = hash.tag;
    map->count++;
    return NULL;
}

/* Moves entries of the run behind a freed slot back, each that may stand there: those whose home is not behind it. */
static void close_gap(struct kb_map *map, size_t gap)
{
    size_t mask = map->size - 1;
    for (size_t i = (gap + 1) & mask; map->tags[i]; i = (i + 1) & mask) {
        size_t home = hash_of(map->slots[i].key).home & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        map->slots[gap] = map->slots[i];
        map->tags[gap] = map->tags[i];
        gap = i;
    }
    map->slots[gap] = (struct slot){0};
    map->tags[gap] = 0;
}

static void free_key(struct kb_map *map, size_t i)
{
    if (map->keys == KB_MAP_BORROW)
        return;
    map->key_bytes -= strlen(map->slots[i].key) + 1;
    free((char *)map->slots[i].key);
}

void *kb_map_remove(struct kb_map *map, const char *key)
{
    if (map->count == 0)
        return NULL;
    size_t i = find(map, key, hash_of(key));
    if (!map->tags[i])
        return NULL;
    void *value = map->slots[i].value;
    free_key(map, i);
    close_gap(map, i);
    map->count--;
    if (map->size > SMALLEST && map->count * 8 < map->size)
        resize(map, map->size / 2);
    return value;
}

void kb_map_clear(struct kb_map *map)
{
    for (size_t i = 0; i < map->size; i++) {
        if (map->tags[i])
            free_key(map, i);
    }
    free(map->slots);
    *map = (struct kb_map){.keys = map->keys};
}

bool kb_map_next(const struct kb_map *map, size_t *iterator, const char **ret_key, void **ret_value)
{
    for (size_t i = *iterator; i < map->size; i++) {
        if (!map->tags[i])
            continue;
        *ret_key = map->slots[i].key;
        *ret_value = map->slots[i].value;
        *iterator = i + 1;
        return true;
    }
    return false;
}
