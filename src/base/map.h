/*
 * A hash map from strings to pointers (open addressing, linear probing, power-of-two size, at most 3/4 full).
 * Keys are copied unless KB_MAP_BORROW is given (then they must live as long as their entry; kb_map_put on a key that
 * is there puts the new key's address in place of the old one, so that key and value may be parts of the same object).
 * Values are the caller's. The table grows and shrinks with its content.
 * Order of iteration is arbitrary. Threads: one at a time; wrap it in a lock otherwise.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>

enum kb_map_keys { KB_MAP_COPY, KB_MAP_BORROW };

struct kb_map;

struct kb_map *kb_map_new(enum kb_map_keys keys);
void kb_map_free(struct kb_map *map); /* values are not touched; NULL is allowed */
void kb_map_free_pointer(struct kb_map **map);
#define kb_cleanup_map kb_cleanup(kb_map_free_pointer)
size_t kb_map_count(const struct kb_map *map);
void *kb_map_get(const struct kb_map *map, const char *key); /* NULL when absent */
bool kb_map_has(const struct kb_map *map, const char *key);
void *kb_map_put(struct kb_map *map, const char *key, void *value); /* returns the value that was there before */
void *kb_map_remove(struct kb_map *map, const char *key);           /* returns what was removed, or NULL */
void kb_map_clear(struct kb_map *map);
size_t kb_map_bytes(const struct kb_map *map); /* memory of the table and copied keys */

/* for (size_t i = 0; kb_map_next(m, &i, &key, &value);) ...   The map must not be changed meanwhile. */
bool kb_map_next(const struct kb_map *map, size_t *iterator, const char **ret_key, void **ret_value);
#define kb_map_foreach(map, key, value) for (size_t it_ = 0; kb_map_next((map), &it_, &(key), (void **)&(value));)

#endif
