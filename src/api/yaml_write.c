/*
 * JSON to YAML in block style, as Kubernetes' tools print it: two spaces, lists no deeper than their key, text plain
 * unless it would be read as something else, text of several lines as a literal block.
 */
#include "api/codec_internal.h"
#include "api/yaml_internal.h"

#include "base/strings.h"
#include <stdlib.h>

#define STEP            2
#define MAX_SIMPLE_KEY  1000 /* YAML ends at 1024 */
#define FIRST_PRINTABLE 0x20

static void write_node(struct kb_strbuf *b, yyjson_mut_val *value, unsigned indent);

static void new_line(struct kb_strbuf *b, unsigned indent)
{
    kb_strbuf_putc(b, '\n');
    for (unsigned i = 0; i < indent; i++)
        kb_strbuf_putc(b, ' ');
}

/* ---- text ---- */

/* The code point at `text` and its bytes. Strings of documents are valid UTF-8. */
static uint32_t code_point(const unsigned char *text, unsigned *ret_bytes)
{
    const unsigned bytes = *text < 0x80 ? 1 : *text < 0xE0 ? 2 : *text < 0xF0 ? 3 : 4;
    uint32_t code = bytes == 1 ? *text : *text & (0xFF >> (bytes + 1));

    for (unsigned i = 1; i < bytes; i++)
        code = code << 6 | (text[i] & 0x3F);
    *ret_bytes = bytes;
    return code;
}

/* Characters that YAML wants escaped, or that would break a line. */
static bool needs_escape(uint32_t code)
{
    return code < FIRST_PRINTABLE || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
           code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

static bool has_escapes(const char *text, size_t n, bool lines_are_fine)
{
    unsigned bytes;

    for (size_t i = 0; i < n; i += bytes) {
        const uint32_t code = code_point((const unsigned char *)text + i, &bytes);

        if (needs_escape(code) && !(lines_are_fine && (code == '\n' || code == '\t')))
            return true;
    }
    return false;
}

static void write_quoted(struct kb_strbuf *b, const char *text, size_t n)
{
    unsigned bytes;

    kb_strbuf_putc(b, '"');
    for (size_t i = 0; i < n; i += bytes) {
        const uint32_t code = code_point((const unsigned char *)text + i, &bytes);

        if (code == '"' || code == '\\')
            kb_strbuf_printf(b, "\\%c", (char)code);
        else if (code == '\n')
            kb_strbuf_puts(b, "\\n");
        else if (code == '\t')
            kb_strbuf_puts(b, "\\t");
        else if (needs_escape(code))
            kb_strbuf_printf(b, "\\u%04x", code);
        else
            kb_strbuf_append(b, text + i, bytes);
    }
    kb_strbuf_putc(b, '"');
}

/* 2026-01-02..., and 12:30:00: other readers take them for times and numbers. */
static bool looks_like_time(const char *text)
{
    const char *digits = "0123456789";
    size_t n;

    text += *text == '-' || *text == '+';
    n = strspn(text, digits);
    if (n == 4 && text[4] == '-' && strspn(text + 5, digits) > 0)
        return true;
    if (n == 0 || text[n] != ':')
        return false;
    return strspn(text + n, "0123456789:._") == strlen(text + n);
}

static bool is_plain(const char *text, size_t n)
{
    if (n == 0 || has_escapes(text, n, false) || api_yaml_resolve(text).kind != YAML_TEXT || looks_like_time(text))
        return false;
    if (text[0] == ' ' || text[n - 1] == ' ' || text[n - 1] == ':')
        return false;
    if (strchr(",[]{}#&*!|>'\"%@`", text[0]))
        return false;
    if (strchr("-?:", text[0]) && (n == 1 || text[1] == ' '))
        return false;
    if (kb_starts_with(text, "---") || kb_starts_with(text, "...") || kb_streq(text, "<<") || kb_streq(text, "="))
        return false;
    return !strstr(text, ": ") && !strstr(text, " #");
}

/* A block keeps its text only if the first line says how deep it is, and no line ends with what an editor would drop.
 */
static bool is_block(const char *text, size_t n)
{
    if (!memchr(text, '\n', n) || has_escapes(text, n, true) || strchr(" \n\t", text[0]))
        return false;
    return text[n - 1] != ' ' && text[n - 1] != '\t' && !strstr(text, " \n") && !strstr(text, "\t\n");
}

static void write_block(struct kb_strbuf *b, const char *text, size_t n, unsigned indent)
{
    const bool ends = text[n - 1] == '\n', ends_twice = n > 1 && ends && text[n - 2] == '\n';

    kb_strbuf_puts(b, ends_twice ? "|+" : ends ? "|" : "|-");
    if (ends)
        n--;
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        const size_t line = end ? (size_t)(end - text) : n;

        new_line(b, line > 0 ? indent : 0);
        kb_strbuf_append(b, text, line);
        text += line;
        n -= line;
        if (end) {
            text++;
            n--;
            if (n == 0)
                kb_strbuf_putc(b, '\n');
        }
    }
}

static void write_text(struct kb_strbuf *b, const char *text, size_t n, unsigned indent)
{
    if (is_plain(text, n))
        kb_strbuf_append(b, text, n);
    else if (is_block(text, n))
        write_block(b, text, n, indent > 0 ? indent : STEP);
    else
        write_quoted(b, text, n);
}

static void write_key(struct kb_strbuf *b, const char *text, size_t n, unsigned indent)
{
    if (n > MAX_SIMPLE_KEY)
        kb_strbuf_puts(b, "? ");
    if (is_plain(text, n))
        kb_strbuf_append(b, text, n);
    else
        write_quoted(b, text, n);
    if (n > MAX_SIMPLE_KEY)
        new_line(b, indent);
    kb_strbuf_putc(b, ':');
}

/* ---- lists and objects ---- */

static bool is_nested(yyjson_mut_val *value)
{
    return yyjson_mut_is_ctn(value) && yyjson_mut_get_len(value) > 0;
}

static void write_object(struct kb_strbuf *b, yyjson_mut_val *object, unsigned indent)
{
    size_t i, n;
    yyjson_mut_val *key, *value;

    yyjson_mut_obj_foreach(object, i, n, key, value)
    {
        if (i > 0)
            new_line(b, indent);
        write_key(b, yyjson_mut_get_str(key), yyjson_mut_get_len(key), indent);
        if (!is_nested(value)) {
            kb_strbuf_putc(b, ' ');
            write_node(b, value, indent + STEP);
            continue;
        }
        new_line(b, indent + (yyjson_mut_is_obj(value) ? STEP : 0));
        write_node(b, value, indent + (yyjson_mut_is_obj(value) ? STEP : 0));
    }
}

static void write_list(struct kb_strbuf *b, yyjson_mut_val *list, unsigned indent)
{
    size_t i, n;
    yyjson_mut_val *value;

    yyjson_mut_arr_foreach(list, i, n, value)
    {
        if (i > 0)
            new_line(b, indent);
        kb_strbuf_puts(b, "- ");
        write_node(b, value, indent + STEP);
    }
}

/* `indent` is where further lines of the node start. */
static void write_node(struct kb_strbuf *b, yyjson_mut_val *value, unsigned indent)
{
    if (yyjson_mut_is_str(value)) {
        write_text(b, yyjson_mut_get_str(value), yyjson_mut_get_len(value), indent);
    } else if (!is_nested(value)) {
        kb_cleanup_free char *text = yyjson_mut_val_write(value, YYJSON_WRITE_INF_AND_NAN_AS_NULL, NULL);

        kb_strbuf_puts(b, text ? text : "null");
    } else if (yyjson_mut_is_obj(value)) {
        write_object(b, value, indent);
    } else {
        write_list(b, value, indent);
    }
}

void api_yaml_write(yyjson_mut_val *value, struct kb_strbuf *ret)
{
    write_node(ret, value, 0);
    kb_strbuf_putc(ret, '\n');
}
