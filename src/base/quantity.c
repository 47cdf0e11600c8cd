/*
 * Quantities. Text is scanned into its parts; the digits are worked on as decimal digits (a binary suffix multiplies
 * them by 1024 a few times, a decimal one moves the point), and the first digits up to 10^-9 become the value. What is
 * left is rounded away from zero, as Go rounds.
 *
 * Where the rules come from: k8s.io/apimachinery/pkg/api/resource. Two things differ: Go holds decimal quantities of
 * any size, we stop at 10^29; and Go prints a power of ten that has no suffix without it (1000E as "1"), we keep the
 * zeros.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include <stdio.h>

typedef unsigned __int128 u128;

#define NANO_DIGITS 9
#define NANO        1000000000
#define NANO_MILLI  1000000

/* The largest magnitudes, in nano: 10^29, and what Go caps quantities with a binary suffix at, 2^63-1. */
#define LIMIT        ((u128)10000000000000000000u * 10000000000000000000u)
#define LIMIT_BINARY ((u128)INT64_MAX * NANO)

/* More digits than this can not change a value, except that it is rounded up. */
#define MOST_DIGITS  100
#define HEADROOM     20 /* what 2^60 adds in front */
#define EXPONENT_MAX 1000

static const struct suffix {
    const char *text;
    enum kb_quantity_format format;
    int exponent; /* of 10, or of 1024 */
} suffixes[] = {
    {"n", KB_QUANTITY_DECIMAL_SI, -9}, {"u", KB_QUANTITY_DECIMAL_SI, -6}, {"m", KB_QUANTITY_DECIMAL_SI, -3},
    {"", KB_QUANTITY_DECIMAL_SI, 0},   {"k", KB_QUANTITY_DECIMAL_SI, 3},  {"M", KB_QUANTITY_DECIMAL_SI, 6},
    {"G", KB_QUANTITY_DECIMAL_SI, 9},  {"T", KB_QUANTITY_DECIMAL_SI, 12}, {"P", KB_QUANTITY_DECIMAL_SI, 15},
    {"E", KB_QUANTITY_DECIMAL_SI, 18}, {"", KB_QUANTITY_BINARY_SI, 0},    {"Ki", KB_QUANTITY_BINARY_SI, 1},
    {"Mi", KB_QUANTITY_BINARY_SI, 2},  {"Gi", KB_QUANTITY_BINARY_SI, 3},  {"Ti", KB_QUANTITY_BINARY_SI, 4},
    {"Pi", KB_QUANTITY_BINARY_SI, 5},  {"Ei", KB_QUANTITY_BINARY_SI, 6},
};

/* A quantity's text in its parts: [+-] whole [. fraction] suffix. Zeros in front of `whole` are not counted. */
struct scan {
    bool negative;
    const char *whole, *fraction;
    size_t whole_digits, fraction_digits;
    enum kb_quantity_format format;
    int exponent; /* of 10, or of 1024 for KB_QUANTITY_BINARY_SI */
};

static const char digit_set[] = "0123456789";

static int wrong_form(struct kube_error *reterr)
{
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "quantities must match the regular expression '%s'",
                          "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$");
}

/* "e3", "E-9": the exponent is kept within what makes a difference. */
static bool scan_exponent(const char *text, struct scan *scan)
{
    long long value;
    if ((text[0] != 'e' && text[0] != 'E') || !kb_parse_int(text + 1, INT64_MIN, INT64_MAX, &value))
        return false;
    if (value > EXPONENT_MAX)
        value = EXPONENT_MAX;
    if (value < -EXPONENT_MAX)
        value = -EXPONENT_MAX;
    scan->format = KB_QUANTITY_DECIMAL_EXPONENT;
    scan->exponent = (int)value;
    return true;
}

static int scan_suffix(const char *text, struct scan *scan, struct kube_error *reterr)
{
    const char *end = text + strspn(text, "eEinumkKMGTP");
    if (*end == '-' || *end == '+')
        end++;
    end += strspn(end, digit_set);
    if (*end)
        return wrong_form(reterr);
    for (size_t i = 0; i < KB_ARRAY_LEN(suffixes); i++) {
        if (!kb_streq(text, suffixes[i].text))
            continue;
        scan->format = suffixes[i].format;
        scan->exponent = suffixes[i].exponent;
        return 0;
    }
    if (!scan_exponent(text, scan))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "unable to parse quantity's suffix");
    return 0;
}

static int scan_quantity(const char *text, struct scan *ret, struct kube_error *reterr)
{
    struct scan scan = {.negative = *text == '-'};
    if (!*text)
        return wrong_form(reterr);
    if (*text == '-' || *text == '+')
        text++;
    text += strspn(text, "0");
    scan.whole = text;
    scan.whole_digits = strspn(text, digit_set);
    text += scan.whole_digits;
    if (*text == '.') {
        scan.fraction = ++text;
        scan.fraction_digits = strspn(text, digit_set);
        text += scan.fraction_digits;
    }
    int r = scan_suffix(text, &scan, reterr);
    if (r < 0)
        return r;
    *ret = scan;
    return 0;
}

/* A decimal number: digits[0..n) with the point behind the first `point` of them (which may be outside). */
struct decimal {
    unsigned char digits[HEADROOM + MOST_DIGITS];
    int n, point;
};

static void add_digits(struct decimal *d, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char digit = (unsigned char)(text[i] - '0');
        if (d->n < HEADROOM + MOST_DIGITS)
            d->digits[d->n++] = digit;
        else if (digit > 0)
            d->digits[d->n - 1] |= 1; /* remembers that it was not all */
    }
}

static void multiply_by_1024(struct decimal *d)
{
    unsigned carry = 0;
    for (int i = d->n - 1; i >= 0; i--) {
        unsigned value = d->digits[i] * 1024u + carry;
        d->digits[i] = (unsigned char)(value % 10);
        carry = value / 10;
    }
}

static bool any_digit(const struct decimal *d, int from)
{
    for (int i = from < 0 ? 0 : from; i < d->n; i++) {
        if (d->digits[i])
            return true;
    }
    return false;
}

/* The number times 10^9, rounded up, at most `limit`. */
static u128 nano_of(const struct decimal *d, u128 limit)
{
    u128 nano = 0;
    int end = d->point + NANO_DIGITS;
    for (int i = 0; i < end && (nano > 0 || i < d->n); i++) {
        if (nano > limit / 10)
            return limit;
        nano = nano * 10 + (i < d->n ? d->digits[i] : 0);
    }
    nano += any_digit(d, end);
    return nano < limit ? nano : limit;
}

static int exponent_of_10(const struct scan *scan)
{
    return scan->format == KB_QUANTITY_BINARY_SI ? 0 : scan->exponent;
}

/* A quantity with a binary suffix below 1 is a decimal one from then on. */
static struct kb_quantity finish(const struct scan *scan, u128 nano)
{
    struct kb_quantity q = {.nano = (__int128)nano, .format = scan->format};
    if (scan->format == KB_QUANTITY_BINARY_SI && nano > 0 && nano < NANO)
        q.format = KB_QUANTITY_DECIMAL_SI;
    if (scan->negative)
        q.nano = -q.nano;
    return q;
}

int kb_quantity_parse(const char *text, struct kb_quantity *ret, struct kube_error *reterr)
{
    struct scan scan;
    int r = scan_quantity(text, &scan, reterr);
    if (r < 0)
        return r;
    struct decimal d = {.n = HEADROOM};
    add_digits(&d, scan.whole, scan.whole_digits);
    add_digits(&d, scan.fraction, scan.fraction_digits);
    bool huge = scan.whole_digits > MOST_DIGITS;
    d.point = HEADROOM + (huge ? MOST_DIGITS : (int)scan.whole_digits) + exponent_of_10(&scan);
    for (int i = 0; scan.format == KB_QUANTITY_BINARY_SI && i < scan.exponent; i++)
        multiply_by_1024(&d);
    *ret = finish(&scan, nano_of(&d, scan.format == KB_QUANTITY_BINARY_SI ? LIMIT_BINARY : LIMIT));
    return 0;
}

struct kb_quantity kb_quantity_of(const char *text)
{
    struct kb_quantity q = {0};
    kb_quantity_parse(text, &q, NULL);
    return q;
}

struct kb_quantity kb_quantity_from(int64_t units, enum kb_quantity_format format)
{
    return (struct kb_quantity){.nano = (__int128)units * NANO, .format = format};
}

struct kb_quantity kb_quantity_from_milli(int64_t milli, enum kb_quantity_format format)
{
    return (struct kb_quantity){.nano = (__int128)milli * NANO_MILLI, .format = format};
}

/* Writes a decimal number, most significant digit first. Returns the end. */
static char *write_number(char *p, u128 value)
{
    char digits[40];
    int n = 0;
    do
        digits[n++] = (char)('0' + (int)(value % 10));
    while (value /= 10);
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

static void write_suffix(char *p, enum kb_quantity_format format, int exponent)
{
    if (format == KB_QUANTITY_DECIMAL_EXPONENT) {
        if (exponent)
            p += sprintf(p, "e%d", exponent);
        *p = '\0';
        return;
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(suffixes); i++) {
        if (suffixes[i].format == format && suffixes[i].exponent == exponent)
            strcpy(p, suffixes[i].text);
    }
}

/* Binary suffixes are for whole numbers from 1024 on. */
static bool printed_as_binary(struct kb_quantity q, u128 magnitude)
{
    return q.format == KB_QUANTITY_BINARY_SI && magnitude % NANO == 0 && magnitude / NANO >= 1024;
}

void kb_quantity_format_text(struct kb_quantity q, char ret[KB_QUANTITY_TEXT])
{
    const int largest_binary = 6, largest_decimal = 18;
    u128 value = q.nano < 0 ? -(u128)q.nano : (u128)q.nano;
    enum kb_quantity_format format = q.format;
    char *p = ret;
    if (value == 0) {
        strcpy(ret, "0");
        return;
    }
    if (q.nano < 0)
        *p++ = '-';
    if (printed_as_binary(q, value)) {
        int power = 0;
        for (value /= NANO; value % 1024 == 0 && power < largest_binary; value /= 1024)
            power++;
        write_suffix(write_number(p, value), format, power);
        return;
    }
    if (format == KB_QUANTITY_BINARY_SI)
        format = KB_QUANTITY_DECIMAL_SI;
    int exponent = -NANO_DIGITS;
    while (value % 1000 == 0 && (exponent < largest_decimal || format == KB_QUANTITY_DECIMAL_EXPONENT)) {
        value /= 1000;
        exponent += 3;
    }
    write_suffix(write_number(p, value), format, exponent);
}

const char *kb_quantity_text(struct kb_arena *arena, struct kb_quantity q)
{
    char text[KB_QUANTITY_TEXT];
    kb_quantity_format_text(q, text);
    return kb_arena_strdup(arena, text);
}

/* All digits as one number; at most 18 of them. */
static long long digits_value(const struct scan *scan)
{
    long long value = 0;
    for (size_t i = 0; i < scan->whole_digits; i++)
        value = value * 10 + (scan->whole[i] - '0');
    for (size_t i = 0; i < scan->fraction_digits; i++)
        value = value * 10 + (scan->fraction[i] - '0');
    return value;
}

/* What Go's 64 bits hold: 18 digits, or whole numbers with a binary suffix below about 10^15. */
static bool fits_64_bits(const struct scan *scan)
{
    const size_t most_digits = 18;
    const int most_binary_digits = 14;
    size_t whole = scan->whole_digits > 0 ? scan->whole_digits : 1;
    if (scan->format == KB_QUANTITY_BINARY_SI)
        return scan->fraction_digits == 0 && (int)whole + 3 * scan->exponent <= most_binary_digits;
    return whole + scan->fraction_digits <= most_digits && scan->exponent - (int)scan->fraction_digits >= -NANO_DIGITS;
}

bool kb_quantity_is_by_reference(const char *text)
{
    struct scan scan;
    return !kb_streq(text, "0") && scan_quantity(text, &scan, NULL) == 0 && !fits_64_bits(&scan);
}

/* Go reuses text that it takes for canonical by a few quick signs (which "+1", "01" and "1.500" show as well). */
static bool go_keeps_text(const struct scan *scan)
{
    const size_t most_digits = 18;
    const int most_binary_digits = 14;
    if (scan->whole_digits == 0 || scan->whole_digits + scan->fraction_digits > most_digits)
        return false;
    long long value = digits_value(scan);
    if (scan->format == KB_QUANTITY_BINARY_SI)
        return scan->fraction_digits == 0 && (int)scan->whole_digits + 3 * scan->exponent <= most_binary_digits &&
               value % 8 != 0;
    int scale = scan->exponent - (int)scan->fraction_digits;
    return scale >= -NANO_DIGITS && scale % 3 == 0 && value % 1000 != 0;
}

bool kb_quantity_is_canonical(const char *text)
{
    struct scan scan;
    if (kb_streq(text, "0"))
        return true;
    if (scan_quantity(text, &scan, NULL) < 0)
        return false;
    if (go_keeps_text(&scan))
        return true;
    char canonical[KB_QUANTITY_TEXT];
    kb_quantity_format_text(kb_quantity_of(text), canonical);
    return kb_streq(text, canonical);
}

/* nano / unit, away from zero, in 64 bits. */
static int64_t rounded_up(__int128 nano, int64_t unit)
{
    __int128 value = nano / unit, rest = nano % unit;
    value += (rest > 0) - (rest < 0);
    if (value > INT64_MAX)
        return INT64_MAX;
    return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

int64_t kb_quantity_value(struct kb_quantity q)
{
    return rounded_up(q.nano, NANO);
}

int64_t kb_quantity_milli_value(struct kb_quantity q)
{
    return rounded_up(q.nano, NANO_MILLI);
}

double kb_quantity_double(struct kb_quantity q)
{
    return (double)(q.nano / NANO) + (double)(q.nano % NANO) / NANO;
}

int kb_quantity_compare(struct kb_quantity a, struct kb_quantity b)
{
    return (a.nano > b.nano) - (a.nano < b.nano);
}

struct kb_quantity kb_quantity_add(struct kb_quantity a, struct kb_quantity b)
{
    const __int128 limit = (__int128)LIMIT;
    __int128 sum;
    if (__builtin_add_overflow(a.nano, b.nano, &sum))
        sum = a.nano > 0 ? limit : -limit;
    if (sum > limit)
        sum = limit;
    if (sum < -limit)
        sum = -limit;
    return (struct kb_quantity){.nano = sum, .format = a.nano == 0 ? b.format : a.format};
}

struct kb_quantity kb_quantity_sub(struct kb_quantity a, struct kb_quantity b)
{
    b.nano = -b.nano;
    return kb_quantity_add(a, b);
}

bool kb_quantity_is_zero(struct kb_quantity q)
{
    return q.nano == 0;
}
