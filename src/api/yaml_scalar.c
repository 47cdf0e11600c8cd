/*
 * Plain scalars by the rules of YAML 1.1 as Kubernetes' tools apply them: words for null and bools, integers in bases
 * 2, 8, 10 and 16 with underscores, floats.
 */
#include "api/yaml_internal.h"

#include "base/arena.h"
#include "base/strings.h"
#include <errno.h>
#include <stdlib.h>

#define MAX_NUMBER 64 /* longer ones are text */

static const struct {
    const char *text;
    enum yaml_kind kind;
    bool value;
} words[] = {
    {"", YAML_NULL},
    {"~", YAML_NULL},
    {"null", YAML_NULL},
    {"Null", YAML_NULL},
    {"NULL", YAML_NULL},
    {"y", YAML_BOOL, true},
    {"Y", YAML_BOOL, true},
    {"yes", YAML_BOOL, true},
    {"Yes", YAML_BOOL, true},
    {"YES", YAML_BOOL, true},
    {"on", YAML_BOOL, true},
    {"On", YAML_BOOL, true},
    {"ON", YAML_BOOL, true},
    {"true", YAML_BOOL, true},
    {"True", YAML_BOOL, true},
    {"TRUE", YAML_BOOL, true},
    {"n", YAML_BOOL},
    {"N", YAML_BOOL},
    {"no", YAML_BOOL},
    {"No", YAML_BOOL},
    {"NO", YAML_BOOL},
    {"off", YAML_BOOL},
    {"Off", YAML_BOOL},
    {"OFF", YAML_BOOL},
    {"false", YAML_BOOL},
    {"False", YAML_BOOL},
    {"FALSE", YAML_BOOL},
    {".nan", YAML_NOT_FINITE},
    {".NaN", YAML_NOT_FINITE},
    {".NAN", YAML_NOT_FINITE},
    {".inf", YAML_NOT_FINITE},
    {".Inf", YAML_NOT_FINITE},
    {".INF", YAML_NOT_FINITE},
    {"+.inf", YAML_NOT_FINITE},
    {"+.Inf", YAML_NOT_FINITE},
    {"+.INF", YAML_NOT_FINITE},
    {"-.inf", YAML_NOT_FINITE},
    {"-.Inf", YAML_NOT_FINITE},
    {"-.INF", YAML_NOT_FINITE},
};

/* 0x1f, 0o17, 017, 0b11; otherwise decimal. Skips the prefix. */
static int base_of(const char **digits)
{
    static const struct {
        char letter;
        int base;
    } bases[] = {{'x', 16}, {'X', 16}, {'o', 8}, {'O', 8}, {'b', 2}, {'B', 2}};

    if ((*digits)[0] != '0' || !(*digits)[1])
        return 10;
    for (size_t i = 0; i < KB_ARRAY_LEN(bases); i++) {
        if ((*digits)[1] != bases[i].letter)
            continue;
        *digits += 2;
        return bases[i].base;
    }
    *digits += 1;
    return 8;
}

static bool read_integer(const char *text, struct yaml_scalar *ret)
{
    const bool negative = *text == '-';
    const char *digits = text + (*text == '-' || *text == '+');
    const int base = base_of(&digits);
    unsigned long long number;
    char *end;

    if (*digits == '-' || *digits == '+' || !*digits)
        return false;
    errno = 0;
    number = strtoull(digits, &end, base);
    if (*end || errno || (base == 16 && (digits[1] == 'x' || digits[1] == 'X')))
        return false;
    if (negative) {
        if (number > (1ull << 63))
            return false;
        *ret = (struct yaml_scalar){.kind = YAML_INTEGER, .integer = (int64_t)(0 - number)};
    } else if (number > INT64_MAX) {
        *ret = (struct yaml_scalar){.kind = YAML_UNSIGNED, .whole = number};
    } else {
        *ret = (struct yaml_scalar){.kind = YAML_INTEGER, .integer = (int64_t)number};
    }
    return true;
}

static size_t span_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* [sign] digits [. digits] [e [sign] digits], or [sign] . digits ... */
static bool has_float_form(const char *text)
{
    size_t whole, fraction = 0;

    text += *text == '-' || *text == '+';
    whole = span_digits(text);
    text += whole;
    if (*text == '.') {
        text++;
        fraction = span_digits(text);
        text += fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        if (span_digits(text) == 0)
            return false;
        text += span_digits(text);
    }
    return !*text;
}

static struct yaml_scalar resolve_number(const char *text)
{
    struct yaml_scalar scalar = {.kind = YAML_TEXT};
    char plain[MAX_NUMBER + 1];
    size_t n = 0;

    for (; *text && n < MAX_NUMBER; text++)
        if (*text != '_')
            plain[n++] = *text;
    plain[n] = 0;
    if (*text || n == 0)
        return scalar;
    if (read_integer(plain, &scalar) || !has_float_form(plain))
        return scalar;
    scalar.kind = YAML_FLOAT;
    scalar.real = strtod(plain, NULL);
    if (scalar.real > 1.7976931348623157e308 || scalar.real < -1.7976931348623157e308)
        scalar.kind = YAML_TEXT; /* out of range, which is no number for Go either */
    return scalar;
}

struct yaml_scalar api_yaml_resolve(const char *text)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(words); i++)
        if (kb_streq(words[i].text, text))
            return (struct yaml_scalar){.kind = words[i].kind, .boolean = words[i].value};
    if (!strchr("+-.0123456789", *text))
        return (struct yaml_scalar){.kind = YAML_TEXT};
    return resolve_number(text);
}
