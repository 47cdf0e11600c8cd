/*
 * Keys of one map that follow another map's: single ones, and all that start with a prefix.
 */
#include "virt/follow.h"
#include "base/strings.h"

void virt_follow_key(struct kb_arena *arena, const struct api_string_map *from, struct api_string_map *to,
                     const char *key)
{
    const char *value = api_map_get(from, key);
    if (value)
        api_map_set(arena, to, key, value);
    else
        api_map_delete(to, key);
}

static void follow_prefix(struct kb_arena *arena, const struct api_string_map *from, struct api_string_map *to,
                          const char *prefix, size_t n)
{
    for (size_t i = to->n; i-- > 0;)
        if (strncmp(to->items[i].key, prefix, n) == 0 && !api_map_has(from, to->items[i].key))
            api_map_delete(to, to->items[i].key);
    api_list_foreach (entry, from)
        if (strncmp(entry->key, prefix, n) == 0)
            api_map_set(arena, to, entry->key, entry->value);
}

void virt_follow(struct kb_arena *arena, const struct api_string_map *from, struct api_string_map *to,
                 const struct api_strings *patterns)
{
    for (size_t i = 0; i < patterns->n; i++) {
        const char *pattern = patterns->items[i];
        size_t n = strlen(pattern);
        if (n == 0 || kb_streq(pattern, "*"))
            continue;
        if (pattern[n - 1] == '*')
            follow_prefix(arena, from, to, pattern, n - 1);
        else
            virt_follow_key(arena, from, to, pattern);
    }
}
