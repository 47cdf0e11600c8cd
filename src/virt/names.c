/*
 * Names made of two parts that keep within a length.
 */
#include "virt/names.h"

#include "base/strings.h"

#define HASH_LENGTH 8

static const char *hash(struct kb_arena *arena, const char *text)
{
    return kb_arena_printf(arena, "%08x", kb_fnv32a(text, strlen(text)));
}

const char *virt_joined_name(struct kb_arena *arena, const char *base, const char *suffix, size_t max)
{
    const char *name = kb_arena_printf(arena, "%s-%s", base, suffix);
    size_t base_length = strlen(base), suffix_length = strlen(suffix);
    if (strlen(name) <= max)
        return name;
    if (suffix_length + HASH_LENGTH + 2 < max) /* "-HASH-" */
        return kb_arena_printf(arena, "%.*s-%s-%s", (int)(max - suffix_length - HASH_LENGTH - 2), base,
                               hash(arena, base), suffix);
    size_t kept = max > HASH_LENGTH + 1 ? max - HASH_LENGTH - 1 : 0;
    const char *hashed =
        kb_arena_printf(arena, "%.*s-%s", (int)(kept < base_length ? kept : base_length), base, hash(arena, name));
    return kb_arena_strndup(arena, hashed, max < strlen(hashed) ? max : strlen(hashed));
}
