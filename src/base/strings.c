/*
 * Helpers on C strings. The rules are Go's where Go has the function: strings.Split, strconv.ParseInt, strconv.Quote,
 * utf8.Valid, base64.StdEncoding.
 */
#include "base/strings.h"
#include "base/escape.h"
#include "base/strbuf.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

bool kb_starts_with(const char *text, const char *prefix)
{
    return kb_after_prefix(text, prefix) != NULL;
}

bool kb_ends_with(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

const char *kb_after_prefix(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(text, prefix, n) == 0 ? text + n : NULL;
}

bool kb_in_list(const char *text, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (kb_streq(text, list[i]))
            return true;
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool kb_parse_int(const char *text, long long min, long long max, long long *ret)
{
    const char *digits = *text == '-' || *text == '+' ? text + 1 : text;
    if (!is_digit(*digits)) /* strtoll would skip white space */
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || value < min || value > max)
        return false;
    *ret = value;
    return true;
}

size_t kb_split(struct kb_arena *arena, const char *text, char separator, const char *const **ret_parts)
{
    size_t n = 1;
    for (const char *p = text; *p; p++)
        n += *p == separator;
    const char **parts = kb_arena_many(arena, const char *, n);
    char *rest = kb_arena_strdup(arena, text);
    for (size_t i = 0; i < n; i++) {
        char *end = strchrnul(rest, separator);
        parts[i] = rest;
        *end = '\0';
        rest = end + 1;
    }
    *ret_parts = parts;
    return n;
}

const char *kb_join(struct kb_arena *arena, const char *const *parts, size_t n, const char *separator)
{
    size_t separator_length = strlen(separator), length = n > 1 ? separator_length * (n - 1) : 0;
    for (size_t i = 0; i < n; i++)
        length += strlen(parts[i]);
    char *text = kb_arena_alloc(arena, length + 1), *p = text;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            p = mempcpy(p, separator, separator_length);
        p = stpcpy(p, parts[i]);
    }
    return text;
}

const char *kb_path_dir(struct kb_arena *arena, const char *path)
{
    const char *last = strrchr(path, '/'), *const * parts;
    const bool rooted = *path == '/';
    size_t n = kb_split(arena, last ? kb_arena_strndup(arena, path, (size_t)(last - path)) : "", '/', &parts);
    const char **kept = kb_arena_many(arena, const char *, n);
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (!*parts[i] || kb_streq(parts[i], "."))
            continue;
        if (!kb_streq(parts[i], ".."))
            kept[n_kept++] = parts[i];
        else if (n_kept > 0 && !kb_streq(kept[n_kept - 1], ".."))
            n_kept--;
        else if (!rooted)
            kept[n_kept++] = parts[i];
    }
    if (n_kept == 0)
        return rooted ? "/" : ".";
    return kb_arena_printf(arena, "%s%s", rooted ? "/" : "", kb_join(arena, kept, n_kept, "/"));
}

const char *kb_quote(struct kb_arena *arena, const char *text)
{
    struct kb_strbuf b = {.arena = arena};
    size_t n = strlen(text);
    kb_strbuf_reserve(&b, n + 2);
    kb_strbuf_putc(&b, '"');
    for (size_t i = 0; i < n;) {
        char escaped[KB_ESCAPED_SIZE];
        i += kb_escape_go(text + i, n - i, escaped);
        kb_strbuf_puts(&b, escaped);
    }
    kb_strbuf_putc(&b, '"');
    return kb_strbuf_take(&b);
}

size_t kb_utf8_decode(const char *bytes, size_t n, uint32_t *ret)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; /* by length: anything less is overlong */
    const unsigned char *p = (const unsigned char *)bytes;
    if (n == 0)
        return 0;
    if (p[0] < 0x80) {
        *ret = p[0];
        return 1;
    }
    size_t length = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || length > n)
        return 0;
    uint32_t character = p[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        character = character << 6 | (p[i] & 0x3Fu);
    }
    if (character < smallest[length] || character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF))
        return 0;
    *ret = character;
    return length;
}

bool kb_utf8_valid(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t character;
        size_t length = kb_utf8_decode(bytes + i, n - i, &character);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *kb_base64_encode(struct kb_arena *arena, const void *bytes, size_t n)
{
    const unsigned char *in = bytes;
    char *text = kb_arena_alloc(arena, (n + 2) / 3 * 4 + 1), *out = text;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        *out++ = base64_digits[group >> 18];
        *out++ = base64_digits[group >> 12 & 63];
        *out++ = left > 1 ? base64_digits[group >> 6 & 63] : '=';
        *out++ = left > 2 ? base64_digits[group & 63] : '=';
    }
    return text;
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (is_digit(c))
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

unsigned char *kb_base64_decode(struct kb_arena *arena, const char *text, size_t *ret_n)
{
    unsigned char *bytes = kb_arena_alloc(arena, strlen(text) / 4 * 3 + 3);
    size_t n = 0, digits = 0, padding = 0;
    uint32_t group = 0;
    for (; *text; text++) {
        if (*text == '\n' || *text == '\r')
            continue;
        int value = *text == '=' ? 0 : base64_value(*text);
        padding += *text == '=';
        if (value < 0 || (padding > 0 && *text != '='))
            return NULL;
        group = group << 6 | (uint32_t)value;
        if (++digits % 4 != 0)
            continue;
        bytes[n++] = (unsigned char)(group >> 16);
        bytes[n++] = (unsigned char)(group >> 8);
        bytes[n++] = (unsigned char)group;
        group = 0;
    }
    if (digits % 4 != 0 || padding > 2)
        return NULL;
    *ret_n = n - padding;
    return bytes;
}
