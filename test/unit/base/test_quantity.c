/*
 * Tests of base/quantity.h. The tables hold what Kubernetes' own package (k8s.io/apimachinery) answers, except for
 * Value and MilliValue beyond 64 bits, where that overflows.
 */
#include "base/clock.h"
#include "base/quantity.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
    const char *text;
    const char *printed;   /* after parsing: some texts are kept as they are */
    const char *canonical; /* after arithmetic */
    enum kb_quantity_format format;
    int64_t value, milli;
} good[] = {
    {"0", "0", "0", KB_QUANTITY_DECIMAL_SI, 0, 0},
    {"1", "1", "1", KB_QUANTITY_DECIMAL_SI, 1, 1000},
    {"7", "7", "7", KB_QUANTITY_DECIMAL_SI, 7, 7000},
    {"12", "12", "12", KB_QUANTITY_DECIMAL_SI, 12, 12000},
    {"999", "999", "999", KB_QUANTITY_DECIMAL_SI, 999, 999000},
    {"1000", "1k", "1k", KB_QUANTITY_DECIMAL_SI, 1000, 1000000},
    {"1500", "1500", "1500", KB_QUANTITY_DECIMAL_SI, 1500, 1500000},
    {"1000000", "1M", "1M", KB_QUANTITY_DECIMAL_SI, 1000000, 1000000000},
    {"123456789", "123456789", "123456789", KB_QUANTITY_DECIMAL_SI, 123456789, 123456789000},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807", KB_QUANTITY_DECIMAL_SI, INT64_MAX, INT64_MAX},
    {"9223372036854775808", "9223372036854775808", "9223372036854775808", KB_QUANTITY_DECIMAL_SI, INT64_MAX, INT64_MAX},
    {"0.5", "500m", "500m", KB_QUANTITY_DECIMAL_SI, 1, 500},
    {".25", "250m", "250m", KB_QUANTITY_DECIMAL_SI, 1, 250},
    {"0.001", "1m", "1m", KB_QUANTITY_DECIMAL_SI, 1, 1},
    {"0.0001", "100u", "100u", KB_QUANTITY_DECIMAL_SI, 1, 1},
    {"0.000000001", "1n", "1n", KB_QUANTITY_DECIMAL_SI, 1, 1},
    {"0.0000000001", "1n", "1n", KB_QUANTITY_DECIMAL_SI, 1, 1},
    {"1.0", "1", "1", KB_QUANTITY_DECIMAL_SI, 1, 1000},
    {"2.50", "2500m", "2500m", KB_QUANTITY_DECIMAL_SI, 3, 2500},
    {"1.500", "1.500", "1500m", KB_QUANTITY_DECIMAL_SI, 2, 1500},
    {"1.", "1.", "1", KB_QUANTITY_DECIMAL_SI, 1, 1000},
    {"00", "0", "0", KB_QUANTITY_DECIMAL_SI, 0, 0},
    {"007", "007", "7", KB_QUANTITY_DECIMAL_SI, 7, 7000},
    {"+3", "+3", "3", KB_QUANTITY_DECIMAL_SI, 3, 3000},
    {"-3", "-3", "-3", KB_QUANTITY_DECIMAL_SI, -3, -3000},
    {"-0", "0", "0", KB_QUANTITY_DECIMAL_SI, 0, 0},
    {"-1500m", "-1500m", "-1500m", KB_QUANTITY_DECIMAL_SI, -2, -1500},
    {"-0.0000000004", "-1n", "-1n", KB_QUANTITY_DECIMAL_SI, -1, -1},
    {"100m", "100m", "100m", KB_QUANTITY_DECIMAL_SI, 1, 100},
    {"1000m", "1", "1", KB_QUANTITY_DECIMAL_SI, 1, 1000},
    {"2500m", "2500m", "2500m", KB_QUANTITY_DECIMAL_SI, 3, 2500},
    {"250000m", "250", "250", KB_QUANTITY_DECIMAL_SI, 250, 250000},
    {"1u", "1u", "1u", KB_QUANTITY_DECIMAL_SI, 1, 1},
    {"1500u", "1500u", "1500u", KB_QUANTITY_DECIMAL_SI, 1, 2},
    {"1000000u", "1", "1", KB_QUANTITY_DECIMAL_SI, 1, 1000},
    {"1n", "1n", "1n", KB_QUANTITY_DECIMAL_SI, 1, 1},
    {"999n", "999n", "999n", KB_QUANTITY_DECIMAL_SI, 1, 1},
    {"1000000000n", "1", "1", KB_QUANTITY_DECIMAL_SI, 1, 1000},
    {"1k", "1k", "1k", KB_QUANTITY_DECIMAL_SI, 1000, 1000000},
    {"1500k", "1500k", "1500k", KB_QUANTITY_DECIMAL_SI, 1500000, 1500000000},
    {"1M", "1M", "1M", KB_QUANTITY_DECIMAL_SI, 1000000, 1000000000},
    {"2.5M", "2500k", "2500k", KB_QUANTITY_DECIMAL_SI, 2500000, 2500000000},
    {"1000M", "1G", "1G", KB_QUANTITY_DECIMAL_SI, 1000000000, 1000000000000},
    {"1G", "1G", "1G", KB_QUANTITY_DECIMAL_SI, 1000000000, 1000000000000},
    {"1T", "1T", "1T", KB_QUANTITY_DECIMAL_SI, 1000000000000, 1000000000000000},
    {"1P", "1P", "1P", KB_QUANTITY_DECIMAL_SI, 1000000000000000, 1000000000000000000},
    {"1E", "1E", "1E", KB_QUANTITY_DECIMAL_SI, 1000000000000000000, INT64_MAX},
    {"0.5E", "500P", "500P", KB_QUANTITY_DECIMAL_SI, 500000000000000000, INT64_MAX},
    {"1Ki", "1Ki", "1Ki", KB_QUANTITY_BINARY_SI, 1024, 1024000},
    {"1024Ki", "1Mi", "1Mi", KB_QUANTITY_BINARY_SI, 1048576, 1048576000},
    {"1025Ki", "1025Ki", "1025Ki", KB_QUANTITY_BINARY_SI, 1049600, 1049600000},
    {"1000Ki", "1000Ki", "1000Ki", KB_QUANTITY_BINARY_SI, 1024000, 1024000000},
    {"0.5Ki", "512", "512", KB_QUANTITY_BINARY_SI, 512, 512000},
    {"512Mi", "512Mi", "512Mi", KB_QUANTITY_BINARY_SI, 536870912, 536870912000},
    {"1.5Gi", "1536Mi", "1536Mi", KB_QUANTITY_BINARY_SI, 1610612736, 1610612736000},
    {"0.1Gi", "107374182400m", "107374182400m", KB_QUANTITY_BINARY_SI, 107374183, 107374182400},
    {"0.1Mi", "104857600m", "104857600m", KB_QUANTITY_BINARY_SI, 104858, 104857600},
    {"1.1Ki", "1126400m", "1126400m", KB_QUANTITY_BINARY_SI, 1127, 1126400},
    {"0.0001Ki", "102400u", "102400u", KB_QUANTITY_DECIMAL_SI, 1, 103},
    {"2048Mi", "2Gi", "2Gi", KB_QUANTITY_BINARY_SI, 2147483648, 2147483648000},
    {"8Gi", "8Gi", "8Gi", KB_QUANTITY_BINARY_SI, 8589934592, 8589934592000},
    {"-2Gi", "-2Gi", "-2Gi", KB_QUANTITY_BINARY_SI, -2147483648, -2147483648000},
    {"1Ti", "1Ti", "1Ti", KB_QUANTITY_BINARY_SI, 1099511627776, 1099511627776000},
    {"3Pi", "3Pi", "3Pi", KB_QUANTITY_BINARY_SI, 3377699720527872, 3377699720527872000},
    {"7Ei", "7Ei", "7Ei", KB_QUANTITY_BINARY_SI, 8070450532247928832, INT64_MAX},
    {"8Ei", "9223372036854775807", "9223372036854775807", KB_QUANTITY_BINARY_SI, INT64_MAX, INT64_MAX},
    {"100Ei", "9223372036854775807", "9223372036854775807", KB_QUANTITY_BINARY_SI, INT64_MAX, INT64_MAX},
    {"0.000000000000001Ei", "1152921504607n", "1152921504607n", KB_QUANTITY_BINARY_SI, 1153, 1152922},
    {"1e0", "1e0", "1", KB_QUANTITY_DECIMAL_EXPONENT, 1, 1000},
    {"1e1", "10", "10", KB_QUANTITY_DECIMAL_EXPONENT, 10, 10000},
    {"1e3", "1e3", "1e3", KB_QUANTITY_DECIMAL_EXPONENT, 1000, 1000000},
    {"1E3", "1E3", "1e3", KB_QUANTITY_DECIMAL_EXPONENT, 1000, 1000000},
    {"12e6", "12e6", "12e6", KB_QUANTITY_DECIMAL_EXPONENT, 12000000, 12000000000},
    {"1500e3", "1500e3", "1500e3", KB_QUANTITY_DECIMAL_EXPONENT, 1500000, 1500000000},
    {"1e-3", "1e-3", "1e-3", KB_QUANTITY_DECIMAL_EXPONENT, 1, 1},
    {"2.5e-4", "250e-6", "250e-6", KB_QUANTITY_DECIMAL_EXPONENT, 1, 1},
    {"1e+6", "1e+6", "1e6", KB_QUANTITY_DECIMAL_EXPONENT, 1000000, 1000000000},
    {"1e-9", "1e-9", "1e-9", KB_QUANTITY_DECIMAL_EXPONENT, 1, 1},
    {"3e-10", "1e-9", "1e-9", KB_QUANTITY_DECIMAL_EXPONENT, 1, 1},
    {"5e18", "5e18", "5e18", KB_QUANTITY_DECIMAL_EXPONENT, 5000000000000000000, INT64_MAX},
    {"1e21", "1e21", "1e21", KB_QUANTITY_DECIMAL_EXPONENT, INT64_MAX, INT64_MAX},
    {"0e7", "0", "0", KB_QUANTITY_DECIMAL_EXPONENT, 0, 0},
    {"1023", "1023", "1023", KB_QUANTITY_DECIMAL_SI, 1023, 1023000},
    {"1024", "1024", "1024", KB_QUANTITY_DECIMAL_SI, 1024, 1024000},
    {"1000E", "1000E", "1000E", KB_QUANTITY_DECIMAL_SI, INT64_MAX, INT64_MAX}, /* Go prints "1" */
    {"-1e29", "-100e27", "-100e27", KB_QUANTITY_DECIMAL_EXPONENT, INT64_MIN, INT64_MIN},
    {"1e40", "100e27", "100e27", KB_QUANTITY_DECIMAL_EXPONENT, INT64_MAX, INT64_MAX}, /* Go has no limit */
};

#define WRONG_FORM   "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define WRONG_SUFFIX "unable to parse quantity's suffix"

static const struct {
    const char *text, *message;
} bad[] = {
    {"", WRONG_FORM},     {"a", WRONG_FORM},      {" 1", WRONG_FORM},
    {"1 ", WRONG_FORM},   {"1x", WRONG_FORM},     {"1.2.3", WRONG_FORM},
    {"1KI", WRONG_FORM},  {"1e3.5", WRONG_FORM},  {"0x10", WRONG_FORM},
    {"1,5", WRONG_FORM},  {"1i", WRONG_SUFFIX},   {"1ki", WRONG_SUFFIX},
    {"1e", WRONG_SUFFIX}, {"1ee3", WRONG_SUFFIX}, {"1m3", WRONG_SUFFIX},
    {"1-", WRONG_SUFFIX}, {"--1", WRONG_SUFFIX},  {"1e99999999999999999999", WRONG_SUFFIX},
};

static const struct {
    const char *left;
    char operation;
    const char *right, *result;
    enum kb_quantity_format format;
    int compared;
} sums[] = {
    {"1Gi", '+', "1Gi", "2Gi", KB_QUANTITY_BINARY_SI, 0},
    {"1Gi", '+', "512Mi", "1536Mi", KB_QUANTITY_BINARY_SI, 1},
    {"1Gi", '+', "1G", "2073741824", KB_QUANTITY_BINARY_SI, 1},
    {"1G", '+', "1Gi", "2073741824", KB_QUANTITY_DECIMAL_SI, -1},
    {"0", '+', "1Gi", "1Gi", KB_QUANTITY_BINARY_SI, -1},
    {"1Gi", '+', "0", "1Gi", KB_QUANTITY_BINARY_SI, 1},
    {"500m", '+', "500m", "1", KB_QUANTITY_DECIMAL_SI, 0},
    {"1", '+', "250m", "1250m", KB_QUANTITY_DECIMAL_SI, 1},
    {"1e3", '+', "1", "1001", KB_QUANTITY_DECIMAL_EXPONENT, 1},
    {"0", '+', "1e3", "1e3", KB_QUANTITY_DECIMAL_EXPONENT, -1},
    {"-1Gi", '+', "1Gi", "0", KB_QUANTITY_BINARY_SI, -1},
    {"9223372036854775807", '+', "1", "9223372036854775808", KB_QUANTITY_DECIMAL_SI, 1},
    {"1Gi", '+', "1m", "1073741824001m", KB_QUANTITY_BINARY_SI, 1},
    {"100Ki", '+', "1000", "103400", KB_QUANTITY_BINARY_SI, 1},
    {"1Gi", '-', "512Mi", "512Mi", KB_QUANTITY_BINARY_SI, 1},
    {"1Gi", '-', "1Gi", "0", KB_QUANTITY_BINARY_SI, 0},
    {"0", '-', "1Gi", "-1Gi", KB_QUANTITY_BINARY_SI, -1},
    {"1", '-', "1m", "999m", KB_QUANTITY_DECIMAL_SI, 1},
    {"500m", '-', "1", "-500m", KB_QUANTITY_DECIMAL_SI, -1},
    {"1Ki", '-', "1", "1023", KB_QUANTITY_BINARY_SI, 1},
    {"2e3", '-', "1500", "500", KB_QUANTITY_DECIMAL_EXPONENT, 1},
};

static void quantities_print_as_in_go(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    for (size_t i = 0; i < KB_ARRAY_LEN(good); i++) {
        struct kb_quantity q;
        struct kube_error e;
        if (kb_quantity_parse(good[i].text, &q, &e) < 0)
            fail_msg("%s: %s", good[i].text, e.message);
        const char *canonical = kb_quantity_text(arena, q);
        const char *printed = kb_quantity_is_canonical(good[i].text) ? good[i].text : canonical;
        if (!kb_streq(canonical, good[i].canonical))
            fail_msg("%s: computed form is %s, expected %s", good[i].text, canonical, good[i].canonical);
        if (!kb_streq(printed, good[i].printed))
            fail_msg("%s: printed as %s, expected %s", good[i].text, printed, good[i].printed);
        if (q.format != good[i].format)
            fail_msg("%s: format %d, expected %d", good[i].text, q.format, good[i].format);
    }
}

static void values_are_rounded_away_from_zero_and_saturate(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(good); i++) {
        struct kb_quantity q = kb_quantity_of(good[i].text);
        long long value = kb_quantity_value(q), milli = kb_quantity_milli_value(q);
        if (value != good[i].value)
            fail_msg("%s: value %lld, expected %lld", good[i].text, value, (long long)good[i].value);
        if (milli != good[i].milli)
            fail_msg("%s: milli value %lld, expected %lld", good[i].text, milli, (long long)good[i].milli);
    }
}

static void bad_quantities_are_refused_with_gos_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(bad); i++) {
        struct kb_quantity q = {.nano = 42};
        struct kube_error e = {0};
        if (kb_quantity_parse(bad[i].text, &q, &e) >= 0)
            fail_msg("\"%s\" was taken", bad[i].text);
        if (!kb_streq(e.message, bad[i].message))
            fail_msg("\"%s\": message \"%s\", expected \"%s\"", bad[i].text, e.message, bad[i].message);
        assert_int_equal(e.kind, KUBE_ERROR_INVALID);
        assert_true(q.nano == 42);
        assert_true(kb_quantity_is_zero(kb_quantity_of(bad[i].text)));
        assert_false(kb_quantity_is_canonical(bad[i].text));
    }
}

static void large_and_broken_ones_are_by_reference(void **state)
{
    static const char *const shared[] = {"1.5Gi", "0.5Gi", "2.0Mi", "1000Ti", "1.0000000001", "1234567890123456789"};
    static const char *const own[] = {"0", "00", "1Gi", "1.5G", "1.5", "16384Ki", "3Ti", "100m", "1e9", "1n", "x"};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(shared); i++)
        if (!kb_quantity_is_by_reference(shared[i]))
            fail_msg("%s", shared[i]);
    for (size_t i = 0; i < KB_ARRAY_LEN(own); i++)
        if (kb_quantity_is_by_reference(own[i]))
            fail_msg("%s", own[i]);
}

static void sums_and_comparisons_are_as_in_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(sums); i++) {
        struct kb_quantity a = kb_quantity_of(sums[i].left), b = kb_quantity_of(sums[i].right);
        struct kb_quantity result = sums[i].operation == '+' ? kb_quantity_add(a, b) : kb_quantity_sub(a, b);
        char text[KB_QUANTITY_TEXT];
        kb_quantity_format_text(result, text);
        if (!kb_streq(text, sums[i].result) || result.format != sums[i].format)
            fail_msg("%s %c %s = %s in format %d, expected %s in format %d", sums[i].left, sums[i].operation,
                     sums[i].right, text, result.format, sums[i].result, sums[i].format);
        if (kb_quantity_compare(a, b) != sums[i].compared || kb_quantity_compare(b, a) != -sums[i].compared)
            fail_msg("%s compared with %s: %d, expected %d", sums[i].left, sums[i].right, kb_quantity_compare(a, b),
                     sums[i].compared);
    }
}

static void sums_stop_at_the_limit(void **state)
{
    (void)state;
    struct kb_quantity most = kb_quantity_of("1e29"), least = kb_quantity_of("-1e29"), one = kb_quantity_of("1");
    assert_int_equal(kb_quantity_compare(kb_quantity_add(most, most), most), 0);
    assert_int_equal(kb_quantity_compare(kb_quantity_add(most, one), most), 0);
    assert_int_equal(kb_quantity_compare(kb_quantity_sub(least, most), least), 0);
    assert_int_equal(kb_quantity_compare(kb_quantity_sub(most, one), most), -1);
}

static void fractions_of_binary_units_are_exact(void **state)
{
    (void)state;
    char text[KB_QUANTITY_TEXT];
    kb_quantity_format_text(kb_quantity_of("0.0009765625Ki"), text);
    assert_string_equal(text, "1");
    kb_quantity_format_text(kb_quantity_of("0.00097656250000000000000000000000000000001Ki"), text);
    assert_string_equal(text, "1000000001n");
    kb_quantity_format_text(
        kb_quantity_of("1.00000000000000000000000000000000000000000000000000000000000000000000000000"
                       "00000000000000000000000000000000000000000000000000000001"),
        text);
    assert_string_equal(text, "1000000001n");
}

static void numbers_become_quantities(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    assert_string_equal(kb_quantity_text(arena, kb_quantity_from(3221225472, KB_QUANTITY_BINARY_SI)), "3Gi");
    assert_string_equal(kb_quantity_text(arena, kb_quantity_from(INT64_MIN, KB_QUANTITY_DECIMAL_SI)),
                        "-9223372036854775808");
    assert_string_equal(kb_quantity_text(arena, kb_quantity_from_milli(250, KB_QUANTITY_DECIMAL_SI)), "250m");
    assert_string_equal(kb_quantity_text(arena, kb_quantity_from_milli(4000, KB_QUANTITY_DECIMAL_SI)), "4");
}

static void quantities_become_floating_point_numbers(void **state)
{
    (void)state;
    assert_true(kb_quantity_double(kb_quantity_of("0.1")) == 0.1);
    assert_true(kb_quantity_double(kb_quantity_of("-1500m")) == -1.5);
    assert_true(kb_quantity_double(kb_quantity_of("8Gi")) == 8589934592.0);
}

static struct kb_quantity any_quantity(struct kb_random *random)
{
    static const int formats[] = {KB_QUANTITY_DECIMAL_SI, KB_QUANTITY_BINARY_SI, KB_QUANTITY_DECIMAL_EXPONENT};
    struct kb_quantity q = {.format = formats[kb_random_below(random, KB_ARRAY_LEN(formats))]};
    q.nano = (int64_t)random->next(random) >> kb_random_below(random, 64);
    for (uint64_t zeros = kb_random_below(random, 10); zeros > 0; zeros--)
        q.nano *= 10;
    return q;
}

static void printing_and_parsing_again_keeps_the_value(void **state)
{
    (void)state;
    struct kb_random *random = kb_random_seeded(1);
    for (int i = 0; i < 100000; i++) {
        char text[KB_QUANTITY_TEXT];
        struct kb_quantity before = any_quantity(random);
        kb_quantity_format_text(before, text);
        if (kb_quantity_compare(before, kb_quantity_of(text)) != 0)
            fail_msg("%s is another value than what it was printed from", text);
        /* A quantity with a binary suffix may be printed without, and is a decimal one then. */
        if (before.format != KB_QUANTITY_BINARY_SI && !kb_quantity_is_canonical(text))
            fail_msg("%s is not canonical", text);
    }
    free(random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_print_as_in_go),
        cmocka_unit_test(values_are_rounded_away_from_zero_and_saturate),
        cmocka_unit_test(bad_quantities_are_refused_with_gos_message),
        cmocka_unit_test(large_and_broken_ones_are_by_reference),
        cmocka_unit_test(sums_and_comparisons_are_as_in_go),
        cmocka_unit_test(sums_stop_at_the_limit),
        cmocka_unit_test(fractions_of_binary_units_are_exact),
        cmocka_unit_test(numbers_become_quantities),
        cmocka_unit_test(quantities_become_floating_point_numbers),
        cmocka_unit_test(printing_and_parsing_again_keeps_the_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
