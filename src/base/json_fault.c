/*
 * A scanner of JSON that builds nothing: it knows at each byte what may come, and names what is expected when something
 * else does. The open arrays and objects are a stack of bytes, so that depth costs no recursion.
 */
#include "base/json_fault.h"
#include "base/strings.h"
#include <ctype.h>

enum { MOST_DEPTH = 10000 };

struct scanner {
    struct kb_arena *arena;
    const char *at, *end;
    const char *fault;
    size_t depth;
    char open[MOST_DEPTH]; /* '[' or '{' */
};

static bool fail_at(struct scanner *s, char c, const char *where)
{
    const char *quoted;
    char byte[3] = {c};

    if ((unsigned char)c >= 0x80) { /* Go takes the byte for a character: two bytes of UTF-8 */
        byte[0] = (char)(0xc0 | (unsigned char)c >> 6);
        byte[1] = (char)(0x80 | (c & 0x3f));
    }
    quoted = c == '\'' ? "\"\\'\"" : c == '"' ? "\"\"\"" : c ? kb_quote(s->arena, byte) : "\"\\x00\"";
    s->fault = kb_arena_printf(s->arena, "invalid character '%.*s' %s", (int)strlen(quoted) - 2, quoted + 1, where);
    return false;
}

/* Where a space may be. */
static bool fail(struct scanner *s, const char *where)
{
    if (s->at < s->end)
        return fail_at(s, *s->at, where);
    s->fault = "unexpected end of JSON input";
    return false;
}

/* Where no space may be: Go takes the end for one. */
static bool fail_inside(struct scanner *s, const char *where)
{
    return fail_at(s, s->at < s->end ? *s->at : ' ', where);
}

static bool next_is(const struct scanner *s, char c)
{
    return s->at < s->end && *s->at == c;
}

static bool next_is_digit(const struct scanner *s)
{
    return s->at < s->end && isdigit((unsigned char)*s->at);
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at)
        s->at++;
}

static bool skip_digits(struct scanner *s, const char *where)
{
    if (!next_is_digit(s))
        return fail_inside(s, where);
    while (next_is_digit(s))
        s->at++;
    return true;
}

static bool skip_number(struct scanner *s)
{
    if (next_is(s, '-'))
        s->at++;
    if (next_is(s, '0'))
        s->at++;
    else if (!skip_digits(s, "in numeric literal"))
        return false;
    if (next_is(s, '.')) {
        s->at++;
        if (!skip_digits(s, "after decimal point in numeric literal"))
            return false;
    }
    if (!next_is(s, 'e') && !next_is(s, 'E'))
        return true;
    s->at++;
    if (next_is(s, '+') || next_is(s, '-'))
        s->at++;
    return skip_digits(s, "in exponent of numeric literal");
}

static bool skip_escape(struct scanner *s)
{
    enum { HEX_DIGITS = 4 };

    if (s->at == s->end || !*s->at || !strchr("bfnrt\\/\"u", *s->at))
        return fail_inside(s, "in string escape code");
    if (*s->at++ != 'u')
        return true;
    for (int i = 0; i < HEX_DIGITS; i++, s->at++)
        if (s->at == s->end || !isxdigit((unsigned char)*s->at))
            return fail_inside(s, "in \\u hexadecimal character escape");
    return true;
}

/* Behind the opening quote. */
static bool skip_string(struct scanner *s)
{
    while (!next_is(s, '"')) {
        if (s->at == s->end || (unsigned char)*s->at < ' ')
            return fail(s, "in string literal");
        if (*s->at++ == '\\' && !skip_escape(s))
            return false;
    }
    s->at++;
    return true;
}

static bool skip_word(struct scanner *s, const char *word)
{
    for (const char *expected = word; *expected; expected++, s->at++)
        if (!next_is(s, *expected))
            return fail_inside(s, kb_arena_printf(s->arena, "in literal %s (expecting '%c')", word, *expected));
    return true;
}

static bool skip_key(struct scanner *s)
{
    skip_space(s);
    if (!next_is(s, '"'))
        return fail(s, "looking for beginning of object key string");
    s->at++;
    if (!skip_string(s))
        return false;
    skip_space(s);
    if (!next_is(s, ':'))
        return fail(s, "after object key");
    s->at++;
    return true;
}

static bool skip_scalar(struct scanner *s)
{
    if (next_is(s, '"')) {
        s->at++;
        return skip_string(s);
    }
    if (next_is(s, '-') || next_is_digit(s))
        return skip_number(s);
    if (next_is(s, 't'))
        return skip_word(s, "true");
    if (next_is(s, 'f'))
        return skip_word(s, "false");
    if (next_is(s, 'n'))
        return skip_word(s, "null");
    return fail(s, "looking for beginning of value");
}

/* Down to the first value that is a scalar or an empty array or object, and behind it. */
static bool skip_down(struct scanner *s)
{
    for (;;) {
        char opening;

        skip_space(s);
        if (!next_is(s, '[') && !next_is(s, '{'))
            return skip_scalar(s);
        opening = *s->at++;
        if (s->depth == MOST_DEPTH)
            return fail_at(s, opening, "exceeded max depth");
        skip_space(s);
        if (next_is(s, opening == '[' ? ']' : '}')) {
            s->at++;
            return true;
        }
        s->open[s->depth++] = opening;
        if (opening == '{' && !skip_key(s))
            return false;
    }
}

/* Behind a value: up out of what ends here. *ret_more: another value follows. */
static bool skip_up(struct scanner *s, bool *ret_more)
{
    for (*ret_more = false; s->depth > 0;) {
        const bool object = s->open[s->depth - 1] == '{';

        skip_space(s);
        if (next_is(s, ',')) {
            s->at++;
            *ret_more = true;
            return !object || skip_key(s);
        }
        if (!next_is(s, object ? '}' : ']'))
            return fail(s, object ? "after object key:value pair" : "after array element");
        s->at++;
        s->depth--;
    }
    return true;
}

const char *kb_json_fault(struct kb_arena *arena, const char *text, size_t n)
{
    struct scanner s = {.arena = arena, .at = text, .end = text + n};
    bool more = true;

    while (more)
        if (!skip_down(&s) || !skip_up(&s, &more))
            return s.fault;
    skip_space(&s);
    if (s.at < s.end)
        fail(&s, "after top-level value");
    return s.fault;
}
