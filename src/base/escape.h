/*
 * One character at a time: how text looks inside quotes. For the other files of this layer.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#define KB_ESCAPED_SIZE 16

/* True for the bytes that stand for themselves in JSON strings and in Go's %q. */
static inline bool kb_escape_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* Writes the first character of bytes[0..n), n > 0, escaped and NUL-terminated. Returns how many bytes it was made of.
 */
size_t kb_escape_json(const char *bytes, size_t n, char ret[KB_ESCAPED_SIZE]);
size_t kb_escape_go(const char *bytes, size_t n, char ret[KB_ESCAPED_SIZE]);

#endif
