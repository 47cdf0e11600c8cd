/*
 * Escapes as Go writes them: encoding/json without HTML escaping, and strconv.Quote.
 */
#include "base/escape.h"
#include "base/strings.h"
#include <stdint.h>
#include <stdio.h>

static const char short_escapes[0x20] = {
    ['\a'] = 'a', ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\v'] = 'v', ['\f'] = 'f', ['\r'] = 'r',
};

/* Characters beyond ASCII that Go's strconv.IsPrint denies: controls, spaces, formats, private use. Code points that
 * Unicode has not assigned are taken as printable, except on the last planes. */
static const struct {
    uint32_t first, last;
} unprintable[] = {
    {0x80, 0xA0},     {0xAD, 0xAD},     {0x600, 0x605},   {0x61C, 0x61C},   {0x6DD, 0x6DD},     {0x70F, 0x70F},
    {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F},   {0x3000, 0x3000},
    {0xD800, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE00FF}, {0xE01F0, 0x10FFFF},
};

static bool printable(uint32_t character)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(unprintable); i++) {
        if (character >= unprintable[i].first && character <= unprintable[i].last)
            return false;
    }
    return true;
}

static size_t copy(const char *bytes, size_t n, char *ret)
{
    memcpy(ret, bytes, n);
    ret[n] = '\0';
    return n;
}

static size_t backslash(char c, char *ret)
{
    const char text[] = {'\\', c, '\0'};
    copy(text, 2, ret);
    return 1;
}

size_t kb_escape_json(const char *bytes, size_t n, char ret[KB_ESCAPED_SIZE])
{
    unsigned char c = (unsigned char)bytes[0];
    if (c == '"' || c == '\\')
        return backslash(bytes[0], ret);
    if (c < 0x20) {
        if (short_escapes[c] && c != '\a' && c != '\v')
            return backslash(short_escapes[c], ret);
        snprintf(ret, KB_ESCAPED_SIZE, "\\u%04x", c);
        return 1;
    }
    uint32_t character;
    size_t length = kb_utf8_decode(bytes, n, &character);
    if (length == 0) {
        copy("\\ufffd", 6, ret);
        return 1;
    }
    if (character == 0x2028 || character == 0x2029) {
        snprintf(ret, KB_ESCAPED_SIZE, "\\u%04x", character);
        return length;
    }
    return copy(bytes, length, ret);
}

size_t kb_escape_go(const char *bytes, size_t n, char ret[KB_ESCAPED_SIZE])
{
    unsigned char c = (unsigned char)bytes[0];
    if (c == '"' || c == '\\')
        return backslash(bytes[0], ret);
    if (c < 0x20 && short_escapes[c])
        return backslash(short_escapes[c], ret);
    uint32_t character;
    size_t length = kb_utf8_decode(bytes, n, &character);
    if (length == 0 || c < 0x20 || c == 0x7F) {
        snprintf(ret, KB_ESCAPED_SIZE, "\\x%02x", c);
        return 1;
    }
    if (character < 0x7F || printable(character))
        return copy(bytes, length, ret);
    snprintf(ret, KB_ESCAPED_SIZE, character > 0xFFFF ? "\\U%08x" : "\\u%04x", character);
    return length;
}
