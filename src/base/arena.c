/*
 * The region allocator. A block is one malloc: a header, then bytes that are handed out from the front. `current` is
 * the newest block of regular size, the only one with room; older ones hang behind it. Allocations that no regular
 * block could hold stand alone in `large`, so that they never end the life of a half-empty current block.
 *
 * Memory is zeroed when it is handed out, not when it is obtained: pages that nobody asks for are never touched.
 * Under AddressSanitizer the part of a block that is not handed out is poisoned.
 */
#include "base/arena.h"
#include "base/log.h"
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* GCC takes poisoning for reading */
#endif
#define hide(p, n)   __asan_poison_memory_region((p), (n))
#define unhide(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define hide(p, n)   ((void)(p), (void)(n))
#define unhide(p, n) ((void)(p), (void)(n))
#endif

#define ALIGNMENT     16
#define DEFAULT_BLOCK 4096
#define LARGEST_BLOCK 65536

struct block {
    struct block *next;
    size_t size; /* usable bytes behind the header */
};

_Static_assert(sizeof(struct block) % ALIGNMENT == 0, "the bytes behind the header are aligned");
_Static_assert(alignof(max_align_t) >= ALIGNMENT, "malloc aligns well enough");

struct kb_arena {
    struct block *current; /* newest first */
    struct block *large;
    size_t used;       /* of the current block */
    size_t next_block; /* usable bytes of the next regular block */
    size_t bytes;      /* obtained from the system */
};

static _Noreturn void out_of_memory(size_t size)
{
    kb_log(KB_FATAL, "out of memory: %zu bytes were asked for", size);
    abort();
}

void *kb_malloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *kb_realloc(void *p, size_t size)
{
    void *moved = realloc(p, size ? size : 1);
    if (!moved)
        out_of_memory(size);
    return moved;
}

char *kb_strdup(const char *text)
{
    return kb_strndup(text, strlen(text));
}

char *kb_strndup(const char *text, size_t n)
{
    n = strnlen(text, n);
    char *copy = kb_malloc(n + 1);
    memcpy(copy, text, n);
    return copy;
}

char *kb_asprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text;
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        out_of_memory(0);
    return text;
}

void kb_free_pointer(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

struct kb_arena *kb_arena_new(void)
{
    return kb_arena_new_sized(DEFAULT_BLOCK);
}

static size_t aligned(size_t size)
{
    if (size > SIZE_MAX / 2)
        out_of_memory(size);
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

struct kb_arena *kb_arena_new_sized(size_t first_block)
{
    struct kb_arena *arena = kb_malloc(sizeof *arena);
    arena->next_block = first_block ? aligned(first_block) : ALIGNMENT;
    arena->bytes = sizeof *arena;
    return arena;
}

static void free_blocks(struct kb_arena *arena, struct block *block)
{
    while (block) {
        struct block *next = block->next;
        arena->bytes -= sizeof *block + block->size;
        unhide(block + 1, block->size);
        free(block);
        block = next;
    }
}

void kb_arena_free(struct kb_arena *arena)
{
    if (!arena)
        return;
    free_blocks(arena, arena->current);
    free_blocks(arena, arena->large);
    free(arena);
}

void kb_arena_free_pointer(struct kb_arena **arena)
{
    kb_arena_free(*arena);
}

void kb_arena_reset(struct kb_arena *arena)
{
    free_blocks(arena, arena->large);
    arena->large = NULL;
    arena->used = 0;
    if (!arena->current)
        return;
    free_blocks(arena, arena->current->next);
    arena->current->next = NULL;
    hide(arena->current + 1, arena->current->size);
}

size_t kb_arena_bytes(const struct kb_arena *arena)
{
    return arena->bytes;
}

static void add_block(struct kb_arena *arena, struct block **list, size_t size)
{
    struct block *block = malloc(sizeof *block + size);
    if (!block)
        out_of_memory(size);
    *block = (struct block){.next = *list, .size = size};
    *list = block;
    arena->bytes += sizeof *block + size;
    hide(block + 1, size);
}

/* For at least `size` bytes. */
static void add_regular_block(struct kb_arena *arena, size_t size)
{
    while (arena->next_block < size)
        arena->next_block *= 2;
    add_block(arena, &arena->current, arena->next_block);
    arena->used = 0;
    arena->next_block = arena->next_block * 2 < LARGEST_BLOCK ? arena->next_block * 2 : LARGEST_BLOCK;
}

/* Bytes as they come from malloc. */
static void *take(struct kb_arena *arena, size_t size)
{
    size_t taken = aligned(size ? size : 1);
    void *p;
    if (!arena->current || taken > arena->current->size - arena->used) {
        if (taken > LARGEST_BLOCK && taken > arena->next_block) {
            add_block(arena, &arena->large, taken);
            p = arena->large + 1;
            unhide(p, size);
            return p;
        }
        add_regular_block(arena, taken);
    }
    p = (char *)(arena->current + 1) + arena->used;
    arena->used += taken;
    unhide(p, size);
    return p;
}

void *kb_arena_alloc(struct kb_arena *arena, size_t size)
{
    return memset(take(arena, size), 0, size);
}

void *kb_arena_copy(struct kb_arena *arena, const void *bytes, size_t size)
{
    void *p = take(arena, size);
    if (size)
        memcpy(p, bytes, size);
    return p;
}

void *kb_arena_grow(struct kb_arena *arena, void *p, size_t old_size, size_t new_size)
{
    size_t had = aligned(old_size), wanted = aligned(new_size);
    struct block *block = arena->current;
    char *end = block ? (char *)(block + 1) + arena->used : NULL;
    bool newest = old_size > 0 && block && (char *)p + had == end;
    if (newest && wanted - had <= block->size - arena->used) {
        arena->used += wanted - had;
        unhide(p, new_size);
        memset((char *)p + old_size, 0, new_size - old_size);
        return p;
    }
    void *moved = kb_arena_alloc(arena, new_size);
    if (old_size)
        memcpy(moved, p, old_size);
    return moved;
}

char *kb_arena_strdup(struct kb_arena *arena, const char *text)
{
    return kb_arena_copy(arena, text, strlen(text) + 1);
}

char *kb_arena_strndup(struct kb_arena *arena, const char *text, size_t n)
{
    n = strnlen(text, n);
    char *copy = take(arena, n + 1);
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *kb_arena_vprintf(struct kb_arena *arena, const char *format, va_list args)
{
    char start[256];
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(start, sizeof start, format, args);
    if (n < 0)
        out_of_memory(0);
    char *text = take(arena, (size_t)n + 1);
    if ((size_t)n < sizeof start)
        memcpy(text, start, (size_t)n + 1);
    else
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

char *kb_arena_printf(struct kb_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = kb_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}
