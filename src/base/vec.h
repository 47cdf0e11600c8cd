/*
 * A growing array of any element type, in an arena or on the heap. The struct has the shape that API lists have
 * (`n`, `items`), so that a finished vector is assigned to a list field.
 *
 *     struct { size_t n; const char **items; } v = {0};     (any anonymous or named struct with n and items)
 *     *kb_vec_push(arena, &v) = "x";
 *
 * With `arena` NULL the items are on the heap: free(v.items).
 * Capacity is implied: it doubles at powers of two, so the struct needs no third member.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/arena.h"
#include <string.h>

/* Makes room for one more element, which is zeroed, counts it, and yields its address. */
#define kb_vec_push(arena, v)                                                                                          \
    ((v)->items = kb_vec_grow((arena), (void *)(v)->items, (v)->n, sizeof(*(v)->items)),                               \
     (__typeof__(*(v)->items) *)&(v)->items[(v)->n++])

/* Keeps order. */
#define kb_vec_remove(v, index)                                                                                        \
    (memmove((void *)((v)->items + (index)), (v)->items + (index) + 1, ((v)->n - (index)-1) * sizeof(*(v)->items)),    \
     (v)->n--)

#define kb_vec_foreach(item, v)                                                                                        \
    for (__typeof__(*(v)->items) *item = (v)->items; item && item < (v)->items + (v)->n; item++)

/* The number of elements that an array of `n` has room for. Whoever makes an array by other means than kb_vec_push (a
 * clone of an API object) allocates this many elements, so that more can be pushed onto it; one that was allocated for
 * exactly `n` must not be pushed onto. */
size_t kb_vec_capacity(size_t n);

/* For kb_vec_push alone. */
void *kb_vec_grow(struct kb_arena *arena, void *items, size_t n, size_t item_size);

#endif
