/*
 * The growing byte string. `capacity` counts the NUL: length < capacity whenever there is data.
 */
#include "base/strbuf.h"
#include "base/escape.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64

void kb_strbuf_reserve(struct kb_strbuf *b, size_t more)
{
    size_t needed = b->length + more + 1;
    if (needed <= b->capacity)
        return;
    size_t capacity = b->capacity ? b->capacity * 2 : FIRST_CAPACITY;
    if (capacity < needed)
        capacity = needed;
    if (b->arena)
        b->data = kb_arena_grow(b->arena, b->data, b->capacity, capacity);
    else
        b->data = kb_realloc(b->data, capacity);
    b->data[b->length] = '\0';
    b->capacity = capacity;
}

void kb_strbuf_append(struct kb_strbuf *b, const char *bytes, size_t n)
{
    if (n == 0)
        return;
    kb_strbuf_reserve(b, n);
    memcpy(b->data + b->length, bytes, n);
    b->length += n;
    b->data[b->length] = '\0';
}

void kb_strbuf_puts(struct kb_strbuf *b, const char *text)
{
    kb_strbuf_append(b, text, strlen(text));
}

void kb_strbuf_putc(struct kb_strbuf *b, char c)
{
    kb_strbuf_append(b, &c, 1);
}

void kb_strbuf_vprintf(struct kb_strbuf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t room = b->capacity - b->length;
    int n = vsnprintf(b->data ? b->data + b->length : NULL, b->data ? room : 0, format, args);
    if (n > 0 && (size_t)n >= room) {
        kb_strbuf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->length, (size_t)n + 1, format, again);
    }
    va_end(again);
    if (n > 0)
        b->length += (size_t)n;
}

void kb_strbuf_printf(struct kb_strbuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    kb_strbuf_vprintf(b, format, args);
    va_end(args);
}

void kb_strbuf_json_string(struct kb_strbuf *b, const char *text, size_t n)
{
    kb_strbuf_reserve(b, n + 2);
    kb_strbuf_putc(b, '"');
    for (size_t i = 0; i < n;) {
        size_t start = i;
        while (i < n && kb_escape_is_plain((unsigned char)text[i]))
            i++;
        kb_strbuf_append(b, text + start, i - start);
        if (i == n)
            break;
        char escaped[KB_ESCAPED_SIZE];
        i += kb_escape_json(text + i, n - i, escaped);
        kb_strbuf_puts(b, escaped);
    }
    kb_strbuf_putc(b, '"');
}

void kb_strbuf_drop_front(struct kb_strbuf *b, size_t n)
{
    if (n >= b->length) {
        kb_strbuf_clear(b);
        return;
    }
    memmove(b->data, b->data + n, b->length - n + 1);
    b->length -= n;
}

void kb_strbuf_clear(struct kb_strbuf *b)
{
    b->length = 0;
    if (b->data)
        b->data[0] = '\0';
}

const char *kb_strbuf_text(const struct kb_strbuf *b)
{
    return b->data ? b->data : "";
}

char *kb_strbuf_take(struct kb_strbuf *b)
{
    kb_strbuf_reserve(b, 0);
    char *text = b->data;
    *b = (struct kb_strbuf){.arena = b->arena};
    return text;
}

void kb_strbuf_done(struct kb_strbuf *b)
{
    if (!b->arena)
        free(b->data);
    *b = (struct kb_strbuf){.arena = b->arena};
}
