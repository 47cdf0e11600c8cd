/* Tests of base/time.h. What Go's package time answers stands in the tables. */
#include "base/clock.h"
#include "base/strings.h"
#include "base/time.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
    const char *text;
    int64_t ns;
    const char *seconds, *micro, *go_string;
} good_times[] = {
    {"2026-01-02T03:04:05Z", 1767323045000000000, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z",
     "2026-01-02 03:04:05 +0000 UTC"},
    {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z", "1970-01-01 00:00:00 +0000 UTC"},
    {"1969-12-31T23:59:59.5Z", -500000000, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500000Z",
     "1969-12-31 23:59:59.5 +0000 UTC"},
    {"2026-01-02T03:04:05.5Z", 1767323045500000000, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.500000Z",
     "2026-01-02 03:04:05.5 +0000 UTC"},
    {"2026-01-02T03:04:05.123456789Z", 1767323045123456789, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456Z",
     "2026-01-02 03:04:05.123456789 +0000 UTC"},
    {"2026-01-02T03:04:05.1234567899Z", 1767323045123456789, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456Z",
     "2026-01-02 03:04:05.123456789 +0000 UTC"},
    {"2026-01-02T03:04:05.000001Z", 1767323045000001000, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000001Z",
     "2026-01-02 03:04:05.000001 +0000 UTC"},
    {"2026-01-02T03:04:05+01:00", 1767319445000000000, "2026-01-02T02:04:05Z", "2026-01-02T02:04:05.000000Z",
     "2026-01-02 02:04:05 +0000 UTC"},
    {"2026-01-02T00:04:05-05:30", 1767332045000000000, "2026-01-02T05:34:05Z", "2026-01-02T05:34:05.000000Z",
     "2026-01-02 05:34:05 +0000 UTC"},
    {"2024-02-29T12:00:00Z", 1709208000000000000, "2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000000Z",
     "2024-02-29 12:00:00 +0000 UTC"},
    {"2000-02-29T00:00:00Z", 951782400000000000, "2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000000Z",
     "2000-02-29 00:00:00 +0000 UTC"},
    {"2100-12-31T23:59:59Z", 4133980799000000000, "2100-12-31T23:59:59Z", "2100-12-31T23:59:59.000000Z",
     "2100-12-31 23:59:59 +0000 UTC"},
    {"1900-01-01T00:00:00Z", -2208988800000000000, "1900-01-01T00:00:00Z", "1900-01-01T00:00:00.000000Z",
     "1900-01-01 00:00:00 +0000 UTC"},
};

static const char *const bad_times[] = {
    "2023-02-29T12:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02T23:60:00Z",
    "2026-01-02T23:59:60Z",
    "2026-01-02T03:04:05",
    "2026-01-02T03:04:05z",
    "2026-01-02t03:04:05Z",
    "2026-01-02 03:04:05Z",
    "2026-01-02T03:04:05.Z",
    "2026-01-02T03:04Z",
    "26-01-02T03:04:05Z",
    "2026-01-02T03:04:05Zx",
    "2026-01-02T03:04:05+0100",
    "2026-01-02T03:04:05+01",
    "2026-01-02T3:04:05Z",
    "2026-01-02T+3:04:05Z",
    "2026-01-02",
    "",
};

static const struct {
    const char *text;
    int64_t ns;
    const char *printed;
} good_durations[] = {
    {"0", 0, "0s"},
    {"0s", 0, "0s"},
    {"1ns", 1, "1ns"},
    {"1us", 1000, "1µs"},
    {"1µs", 1000, "1µs"},
    {"1μs", 1000, "1µs"},
    {"1ms", 1000000, "1ms"},
    {"1s", 1000000000, "1s"},
    {"1m", 60000000000, "1m0s"},
    {"1h", 3600000000000, "1h0m0s"},
    {"1h2m3.5s", 3723500000000, "1h2m3.5s"},
    {"1.5h", 5400000000000, "1h30m0s"},
    {"90m", 5400000000000, "1h30m0s"},
    {"36h", 129600000000000, "36h0m0s"},
    {"100ms", 100000000, "100ms"},
    {"1.234567891s", 1234567891, "1.234567891s"},
    {"1500us", 1500000, "1.5ms"},
    {".5s", 500000000, "500ms"},
    {"1.s", 1000000000, "1s"},
    {"-2m", -120000000000, "-2m0s"},
    {"+3s", 3000000000, "3s"},
    {"-0", 0, "0s"},
    {"0.1ns", 0, "0s"},
    {"1.9999ns", 1, "1ns"},
    {"0.3333333333333333333h", 1200000000000, "20m0s"},
    {"2562047h47m16.854775807s", 9223372036854775807, "2562047h47m16.854775807s"},
    {"1s1s", 2000000000, "2s"},
    {"1h1ns", 3600000000001, "1h0m0.000000001s"},
    {"999us", 999000, "999µs"},
    {"0.000000001s", 1, "1ns"},
    {"1.00000000000000000000001s", 1000000000, "1s"},
    {"5m0.1s", 300100000000, "5m0.1s"},
    {"-5m0.1s", -300100000000, "-5m0.1s"},
    {"-1500us", -1500000, "-1.5ms"},
    {"-2562047h47m16.854775808s", INT64_MIN, "-2562047h47m16.854775808s"},
    {"-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s"},
};

static const char *const bad_durations[] = {
    "2562047h47m16.854775808s",
    "9223372036854775808ns",
    "9223372036854775808ns9223372036854775808ns",
    "-9223372036854775808ns1ns",
    "",
    "-",
    "+",
    "s",
    "1",
    "1d",
    "1S",
    ".",
    ".s",
    "-.",
    "1.5",
    "1 s",
    " 1s",
    "1h-2m",
    "10000000000000000000s",
    "3000000h",
    "+-1s",
    "00",
    "1sm",
};

static void times_are_read_and_written_as_in_go(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    for (size_t i = 0; i < KB_ARRAY_LEN(good_times); i++) {
        int64_t ns;
        char micro[KB_TIME_TEXT];
        if (!kb_time_parse(good_times[i].text, &ns))
            fail_msg("%s was refused", good_times[i].text);
        if (ns != good_times[i].ns)
            fail_msg("%s: %lld, expected %lld", good_times[i].text, (long long)ns, (long long)good_times[i].ns);
        kb_time_format_micro(ns, micro);
        assert_string_equal(kb_time_text(arena, ns), good_times[i].seconds);
        assert_string_equal(micro, good_times[i].micro);
        assert_string_equal(kb_time_go_string(arena, ns), good_times[i].go_string);
    }
}

static void bad_times_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(bad_times); i++) {
        int64_t ns = 42;
        if (kb_time_parse(bad_times[i], &ns))
            fail_msg("\"%s\" was taken", bad_times[i]);
        assert_int_equal(ns, 42);
    }
}

static void times_out_of_range_are_the_ends_of_time(void **state)
{
    (void)state;
    int64_t ns;
    assert_true(kb_time_parse("0001-01-01T00:00:00Z", &ns));
    assert_true(ns == INT64_MIN);
    assert_true(kb_time_parse("9999-12-31T23:59:59Z", &ns));
    assert_true(ns == INT64_MAX);
}

static void durations_are_read_and_written_as_in_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(good_durations); i++) {
        int64_t ns;
        char text[KB_TIME_TEXT];
        if (!kb_duration_parse(good_durations[i].text, &ns))
            fail_msg("%s was refused", good_durations[i].text);
        kb_duration_format(ns, text);
        if (ns != good_durations[i].ns || !kb_streq(text, good_durations[i].printed))
            fail_msg("%s: %lld, printed as %s, expected %lld and %s", good_durations[i].text, (long long)ns, text,
                     (long long)good_durations[i].ns, good_durations[i].printed);
    }
}

static void bad_durations_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(bad_durations); i++) {
        int64_t ns = 42;
        if (kb_duration_parse(bad_durations[i], &ns))
            fail_msg("\"%s\" was taken as %lld", bad_durations[i], (long long)ns);
        assert_int_equal(ns, 42);
    }
}

static void any_number_of_nanoseconds_survives_its_text(void **state)
{
    (void)state;
    struct kb_random *random = kb_random_seeded(2);
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    for (int i = 0; i < 50000; i++) {
        int64_t before = (int64_t)random->next(random) >> kb_random_below(random, 64), after;
        char text[KB_TIME_TEXT];
        kb_arena_reset(arena);
        kb_duration_format(before, text);
        if (!kb_duration_parse(text, &after) || after != before)
            fail_msg("duration %lld is printed as %s", (long long)before, text);
        kb_time_format_micro(before, text);
        if (!kb_time_parse(text, &after) || before - after < 0 || before - after > 999)
            fail_msg("time %lld is printed as %s", (long long)before, text);
    }
    free(random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_and_written_as_in_go),
        cmocka_unit_test(bad_times_are_refused),
        cmocka_unit_test(times_out_of_range_are_the_ends_of_time),
        cmocka_unit_test(durations_are_read_and_written_as_in_go),
        cmocka_unit_test(bad_durations_are_refused),
        cmocka_unit_test(any_number_of_nanoseconds_survives_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
