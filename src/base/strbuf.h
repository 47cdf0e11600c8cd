/*
 * A growing byte string, always NUL-terminated. Zero-initialised is valid and empty: `struct kb_strbuf b = {0};`.
 * With an arena (`.arena = a`) it allocates there and is never released; without, kb_strbuf_done releases it.
 * Threads: one at a time.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include "base/arena.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct kb_strbuf {
    char *data; /* NULL until the first byte; use kb_strbuf_text for a C string */
    size_t length, capacity;
    struct kb_arena *arena;
};

void kb_strbuf_append(struct kb_strbuf *b, const char *bytes, size_t n);
void kb_strbuf_puts(struct kb_strbuf *b, const char *text);
void kb_strbuf_putc(struct kb_strbuf *b, char c);
void kb_strbuf_printf(struct kb_strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kb_strbuf_vprintf(struct kb_strbuf *b, const char *format, va_list args);
/* Appends `text` as a JSON string with quotes, escaped as Go's encoder does; invalid UTF-8 becomes \ufffd; <, >, & stay
 * as they are. */
void kb_strbuf_json_string(struct kb_strbuf *b, const char *text, size_t n);
void kb_strbuf_reserve(struct kb_strbuf *b, size_t more);
void kb_strbuf_drop_front(struct kb_strbuf *b, size_t n); /* moves the rest to the front */
void kb_strbuf_clear(struct kb_strbuf *b);                /* length 0, memory kept */
const char *kb_strbuf_text(const struct kb_strbuf *b);    /* "" when empty */
char *kb_strbuf_take(struct kb_strbuf *b); /* the caller owns it (free, unless in an arena); never NULL */
void kb_strbuf_done(struct kb_strbuf *b);
#define kb_cleanup_strbuf kb_cleanup(kb_strbuf_done)

#endif
