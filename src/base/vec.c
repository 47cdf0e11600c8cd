/*
 * Growing arrays whose capacity is not stored: it is the smallest power of two that holds the elements, so an array is
 * full exactly when its count is 0 or a power of two.
 */
#include "base/vec.h"
#include <string.h>

size_t kb_vec_capacity(size_t n)
{
    size_t capacity = 1;
    while (capacity < n)
        capacity *= 2;
    return n ? capacity : 0;
}

void *kb_vec_grow(struct kb_arena *arena, void *items, size_t n, size_t item_size)
{
    if (n == kb_vec_capacity(n)) {
        size_t size = kb_vec_capacity(n + 1) * item_size;
        items = arena ? kb_arena_grow(arena, items, n * item_size, size) : kb_realloc(items, size);
    }
    memset((char *)items + n * item_size, 0, item_size);
    return items;
}
