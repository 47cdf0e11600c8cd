/*
 * Times and durations, by the rules of RFC 3339 and of Go's package time. The calendar is libc's.
 */
#include "base/time.h"
#include "base/clock.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Reads exactly `n` digits as a number in [min, max] and moves on. */
static bool read_number(const char **text, int n, int min, int max, int *ret)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        char c = (*text)[i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    if (value < min || value > max)
        return false;
    *text += n;
    *ret = value;
    return true;
}

static bool read_character(const char **text, char c)
{
    if (**text != c)
        return false;
    (*text)++;
    return true;
}

static bool read_date_and_time(const char **text, struct tm *ret)
{
    struct tm t = {0};
    if (!read_number(text, 4, 0, 9999, &t.tm_year) || !read_character(text, '-') ||
        !read_number(text, 2, 1, 12, &t.tm_mon) || !read_character(text, '-') ||
        !read_number(text, 2, 1, 31, &t.tm_mday) || !read_character(text, 'T') ||
        !read_number(text, 2, 0, 23, &t.tm_hour) || !read_character(text, ':') ||
        !read_number(text, 2, 0, 59, &t.tm_min) || !read_character(text, ':') ||
        !read_number(text, 2, 0, 59, &t.tm_sec))
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    *ret = t;
    return true;
}

/* ".5": digits behind the ninth are dropped. */
static bool read_fraction(const char **text, int64_t *ret_ns)
{
    int64_t ns = 0, unit = KB_NS_PER_S / 10;
    if (!read_character(text, '.')) {
        *ret_ns = 0;
        return true;
    }
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; (*text)++, unit /= 10)
        ns += (**text - '0') * unit;
    *ret_ns = ns;
    return true;
}

static bool read_offset(const char **text, int64_t *ret_seconds)
{
    int hours, minutes;
    if (read_character(text, 'Z')) {
        *ret_seconds = 0;
        return true;
    }
    int sign = **text == '-' ? -1 : 1;
    if (!read_character(text, '+') && !read_character(text, '-'))
        return false;
    if (!read_number(text, 2, 0, 23, &hours) || !read_character(text, ':') || !read_number(text, 2, 0, 59, &minutes))
        return false;
    *ret_seconds = sign * (hours * 3600 + minutes * 60);
    return true;
}

bool kb_time_parse(const char *text, int64_t *ret_ns)
{
    struct tm t;
    int64_t fraction, offset, ns;
    if (!read_date_and_time(&text, &t) || !read_fraction(&text, &fraction) || !read_offset(&text, &offset) || *text)
        return false;
    int day = t.tm_mday;
    int64_t seconds = timegm(&t) - offset;
    if (t.tm_mday != day) /* 30 February became March */
        return false;
    if (__builtin_mul_overflow(seconds, KB_NS_PER_S, &ns) || __builtin_add_overflow(ns, fraction, &ns))
        ns = seconds < 0 ? INT64_MIN : INT64_MAX;
    *ret_ns = ns;
    return true;
}

/* Broken-down UTC and the nanoseconds within the second, which are never negative. */
static struct tm break_down(int64_t ns, int *ret_fraction)
{
    time_t seconds = ns / KB_NS_PER_S;
    int64_t fraction = ns % KB_NS_PER_S;
    if (fraction < 0) {
        seconds--;
        fraction += KB_NS_PER_S;
    }
    struct tm t;
    gmtime_r(&seconds, &t);
    *ret_fraction = (int)fraction;
    return t;
}

void kb_time_format(int64_t ns, char ret[KB_TIME_TEXT])
{
    int fraction;
    struct tm t = break_down(ns, &fraction);
    strftime(ret, KB_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &t);
}

void kb_time_format_micro(int64_t ns, char ret[KB_TIME_TEXT])
{
    int fraction;
    struct tm t = break_down(ns, &fraction);
    size_t n = strftime(ret, KB_TIME_TEXT, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(ret + n, KB_TIME_TEXT - n, ".%06dZ", fraction / 1000);
}

const char *kb_time_text(struct kb_arena *arena, int64_t ns)
{
    char text[KB_TIME_TEXT];
    kb_time_format(ns, text);
    return kb_arena_strdup(arena, text);
}

/* Writes ".5" for a fraction of so many digits without zeros at the end, nothing for 0. Returns the end. */
static char *write_fraction(char *p, uint64_t fraction, int digits)
{
    if (fraction == 0)
        return p;
    for (; fraction % 10 == 0; fraction /= 10)
        digits--;
    return p + sprintf(p, ".%0*llu", digits, (unsigned long long)fraction);
}

const char *kb_time_go_string(struct kb_arena *arena, int64_t ns)
{
    char text[KB_TIME_TEXT], decimals[16] = "";
    int fraction;
    struct tm t = break_down(ns, &fraction);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t);
    write_fraction(decimals, (uint64_t)fraction, 9);
    return kb_arena_printf(arena, "%s%s +0000 UTC", text, decimals);
}

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    /* a name stands before those that it begins with */
    {"ns", 1},         {"us", 1000},      {"\u00B5s", 1000}, /* micro sign */
    {"\u03BCs", 1000},                                       /* Greek letter mu */
    {"ms", 1000000},   {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
};

static const struct unit *read_unit(const char **text)
{
    size_t n = strcspn(*text, "0123456789.");
    for (size_t i = 0; i < KB_ARRAY_LEN(units); i++) {
        if (strlen(units[i].name) == n && memcmp(*text, units[i].name, n) == 0) {
            *text += n;
            return &units[i];
        }
    }
    return NULL;
}

/* Digits before the point, at most 2^63. */
static bool read_whole(const char **text, uint64_t *ret)
{
    const uint64_t most = 1ull << 63;
    uint64_t value = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        uint64_t digit = (uint64_t)(**text - '0');
        if (value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

/* Digits behind the point as value / scale; those that 63 bits can not hold are dropped. */
static void read_decimals(const char **text, uint64_t *ret_value, double *ret_scale)
{
    uint64_t value = 0;
    double scale = 1;
    bool full = false;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        uint64_t next;
        full = full || __builtin_mul_overflow(value, 10u, &next) ||
               __builtin_add_overflow(next, (uint64_t)(**text - '0'), &next) || next > (1ull << 63);
        if (full)
            continue;
        value = next;
        scale *= 10;
    }
    *ret_value = value;
    *ret_scale = scale;
}

/* One part, "1.5h", as nanoseconds. The fraction is computed in floating point, for the same results as Go's. */
static bool read_part(const char **text, uint64_t *ret_ns)
{
    uint64_t whole, decimals = 0;
    double scale = 1;
    const char *start = *text;
    if (!read_whole(text, &whole))
        return false;
    bool any_digit = *text > start;
    if (read_character(text, '.')) {
        start = *text;
        read_decimals(text, &decimals, &scale);
        any_digit = any_digit || *text > start;
    }
    if (!any_digit)
        return false;
    const struct unit *unit = read_unit(text);
    if (!unit || __builtin_mul_overflow(whole, unit->ns, &whole))
        return false;
    *ret_ns = whole + (uint64_t)((double)decimals * ((double)unit->ns / scale));
    return true;
}

bool kb_duration_parse(const char *text, int64_t *ret_ns)
{
    const uint64_t most = 1ull << 63;
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    uint64_t total = 0;
    if (strcmp(text, "0") == 0) {
        *ret_ns = 0;
        return true;
    }
    if (!*text)
        return false;
    while (*text) {
        uint64_t part;
        if (!read_part(&text, &part) || part > most || total > most - part)
            return false;
        total += part;
    }
    if (total == most && !negative)
        return false;
    *ret_ns = (int64_t)(negative ? -total : total);
    return true;
}

void kb_duration_format(int64_t ns, char ret[KB_TIME_TEXT])
{
    static const struct {
        uint64_t below, unit;
        int digits;
        const char *name;
    } small[] = {{1000, 1, 0, "ns"}, {1000000, 1000, 3, "\u00B5s"}, {1000000000, 1000000, 6, "ms"}};
    uint64_t left = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char *p = ret;
    if (ns < 0)
        *p++ = '-';
    for (size_t i = 0; i < KB_ARRAY_LEN(small) && left > 0; i++) {
        if (left >= small[i].below)
            continue;
        p += sprintf(p, "%llu", (unsigned long long)(left / small[i].unit));
        p = write_fraction(p, left % small[i].unit, small[i].digits);
        strcpy(p, small[i].name);
        return;
    }
    uint64_t seconds = left / KB_NS_PER_S;
    if (seconds >= 3600)
        p += sprintf(p, "%lluh", (unsigned long long)(seconds / 3600));
    if (seconds >= 60)
        p += sprintf(p, "%dm", (int)(seconds / 60 % 60));
    p += sprintf(p, "%d", (int)(seconds % 60));
    p = write_fraction(p, left % KB_NS_PER_S, 9);
    strcpy(p, "s");
}
