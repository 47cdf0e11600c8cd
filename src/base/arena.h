/*
 * A region allocator: many small allocations, one release. Everything that a reconcile touches, and every decoded
 * object, lives in an arena, so that the code between has no free().
 *
 * Blocks double from `first_block` up to 64 KiB, or more at once for an allocation that needs it; one beyond 64 KiB
 * gets a block of its own. Memory is zeroed, aligned to 16 bytes. Running out of memory aborts the process with a log
 * line (as in Go): nothing here returns NULL.
 *
 * Threads: an arena belongs to one thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct kb_arena;

struct kb_arena *kb_arena_new(void); /* first block 4 KiB, allocated on first use */
struct kb_arena *kb_arena_new_sized(size_t first_block);
void kb_arena_free(struct kb_arena *arena);          /* NULL is allowed */
void kb_arena_reset(struct kb_arena *arena);         /* forgets all, keeps one block for reuse */
size_t kb_arena_bytes(const struct kb_arena *arena); /* bytes obtained from the system */

void *kb_arena_alloc(struct kb_arena *arena, size_t size);
void *kb_arena_copy(struct kb_arena *arena, const void *bytes, size_t size);
/* A larger one for an allocation of `old_size` bytes: the same place when it is the newest, otherwise a copy. */
void *kb_arena_grow(struct kb_arena *arena, void *p, size_t old_size, size_t new_size);
char *kb_arena_strdup(struct kb_arena *arena, const char *text);
char *kb_arena_strndup(struct kb_arena *arena, const char *text, size_t n);
char *kb_arena_printf(struct kb_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *kb_arena_vprintf(struct kb_arena *arena, const char *format, va_list args);

/* Typed: kb_arena_one(a, struct x) and kb_arena_many(a, struct x, n). */
#define kb_arena_one(arena, type)     ((type *)kb_arena_alloc((arena), sizeof(type)))
#define kb_arena_many(arena, type, n) ((type *)kb_arena_alloc((arena), sizeof(type) * (n)))

/* malloc family that aborts instead of returning NULL; for what outlives any arena. Release with free(). */
void *kb_malloc(size_t size); /* zeroed */
void *kb_realloc(void *p, size_t size);
char *kb_strdup(const char *text);
char *kb_strndup(const char *text, size_t n);
char *kb_asprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `_cleanup_` helpers: kb_cleanup_free char *s = ...; kb_cleanup_arena struct kb_arena *a = ...; */
void kb_free_pointer(void *pointer_to_pointer);
void kb_arena_free_pointer(struct kb_arena **arena);
#define kb_cleanup(f)    __attribute__((cleanup(f)))
#define kb_cleanup_free  kb_cleanup(kb_free_pointer)
#define kb_cleanup_arena kb_cleanup(kb_arena_free_pointer)
#define KB_TAKE_PTR(p)                                                                                                 \
    ({                                                                                                                 \
        __typeof__(p) taken_ = (p);                                                                                    \
        (p) = NULL;                                                                                                    \
        taken_;                                                                                                        \
    })
#define KB_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
