/* Tests of base/strings.h: texts, UTF-8, base64. */
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void prefixes_and_suffixes_are_found(void **state)
{
    (void)state;
    assert_true(kb_starts_with("virt-launcher-x", "virt-launcher"));
    assert_true(kb_starts_with("x", ""));
    assert_false(kb_starts_with("virt", "virt-launcher"));
    assert_true(kb_ends_with("disk.img", ".img"));
    assert_true(kb_ends_with("", ""));
    assert_false(kb_ends_with("g", ".img"));
    assert_string_equal(kb_after_prefix("--port=1", "--port="), "1");
    assert_null(kb_after_prefix("--port", "--port="));
}

static void null_equals_only_null(void **state)
{
    (void)state;
    const char *name = "vm";
    assert_true(kb_streq_null(NULL, NULL));
    assert_true(kb_streq_null(name, "vm"));
    assert_false(kb_streq_null(name, NULL));
    assert_false(kb_streq_null(NULL, ""));
    assert_true(kb_empty(NULL));
    assert_true(kb_empty(""));
    assert_false(kb_empty("x"));
}

static void a_list_knows_its_members(void **state)
{
    (void)state;
    static const char *const phases[] = {"Running", "Failed"};
    assert_true(kb_in_list("Failed", phases, 2));
    assert_false(kb_in_list("Failed", phases, 1));
    assert_false(kb_in_list("", phases, 2));
}

static void integers_are_read_whole_and_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long long min, max;
        bool good;
        long long value;
    } table[] = {
        {"0", 0, 10, true, 0},
        {"-5", -5, 5, true, -5},
        {"+7", 0, 10, true, 7},
        {"007", 0, 10, true, 7},
        {"11", 0, 10, false, 0},
        {"-1", 0, 10, false, 0},
        {"", 0, 10, false, 0},
        {"-", -5, 5, false, 0},
        {"+-1", -5, 5, false, 0},
        {" 1", 0, 10, false, 0},
        {"1 ", 0, 10, false, 0},
        {"1.0", 0, 10, false, 0},
        {"0x1", 0, 10, false, 0},
        {"9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX},
        {"9223372036854775808", INT64_MIN, INT64_MAX, false, 0},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++) {
        long long value = 42;
        bool good = kb_parse_int(table[i].text, table[i].min, table[i].max, &value);
        if (good != table[i].good || value != (good ? table[i].value : 42))
            fail_msg("\"%s\": %d, %lld", table[i].text, good, value);
    }
}

static void splitting_keeps_empty_parts(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const char *const *parts;
    assert_int_equal(kb_split(arena, "a,,b,", ',', &parts), 4);
    assert_string_equal(parts[0], "a");
    assert_string_equal(parts[1], "");
    assert_string_equal(parts[2], "b");
    assert_string_equal(parts[3], "");
    assert_int_equal(kb_split(arena, "", ',', &parts), 1);
    assert_string_equal(parts[0], "");
}

static void joining_puts_separators_between(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static const char *const parts[] = {"a", "", "c"};
    assert_string_equal(kb_join(arena, parts, 3, ", "), "a, , c");
    assert_string_equal(kb_join(arena, parts, 1, ", "), "a");
    assert_string_equal(kb_join(arena, parts, 0, ", "), "");
}

static void quotes_are_gos(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static const struct {
        const char *text, *quoted;
    } table[] = {
        {"", "\"\""},
        {"plain", "\"plain\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\a\b\t\n\v\f\r", "\"\\a\\b\\t\\n\\v\\f\\r\""},
        {"\x01\x1f\x7f", "\"\\x01\\x1f\\x7f\""},
        {"gr\u00FC\u00DFe \u65E5\u672C \U0001F600", "\"gr\u00FC\u00DFe \u65E5\u672C \U0001F600\""},
        {"\xff\xc3", "\"\\xff\\xc3\""},
        {"\u00A0\u00AD\u200B\u2028\uFEFF", "\"\\u00a0\\u00ad\\u200b\\u2028\\ufeff\""},
        {"\U000E0001", "\"\\U000e0001\""},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++)
        assert_string_equal(kb_quote(arena, table[i].text), table[i].quoted);
}

static void only_valid_utf8_is_taken(void **state)
{
    (void)state;
    static const char *const good[] = {"", "a", "\u00FC", "\u0800", "\uD7FF", "\uE000", "\uFFFF", "\U0010FFFF"};
    static const char *const bad[] = {
        "\x80",
        "\xC3",
        "\xC3(",
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xE2\x82",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "a\xFFz",
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(good); i++) {
        if (!kb_utf8_valid(good[i], strlen(good[i])))
            fail_msg("valid text %zu was refused", i);
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(bad); i++) {
        if (kb_utf8_valid(bad[i], strlen(bad[i])))
            fail_msg("invalid text %zu was taken", i);
    }
    assert_false(kb_utf8_valid("\u00FC", 1));
    assert_true(kb_utf8_valid("a\0b", 3));
}

static void base64_is_written_with_padding(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } table[] = {
        {"", 0, ""},
        {"f", 1, "Zg=="},
        {"fo", 2, "Zm8="},
        {"foo", 3, "Zm9v"},
        {"\0\xff\xfe", 3, "AP/+"},
        {"node=1\n", 7, "bm9kZT0xCg=="},
        {"\xfb\xef\xbe", 3, "++++"},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++) {
        size_t n;
        assert_string_equal(kb_base64_encode(arena, table[i].bytes, table[i].n), table[i].text);
        const unsigned char *bytes = kb_base64_decode(arena, table[i].text, &n);
        assert_non_null(bytes);
        assert_int_equal(n, table[i].n);
        assert_memory_equal(bytes, table[i].bytes, n);
    }
}

static void base64_is_read_as_in_go(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static const struct {
        const char *text, *bytes; /* NULL: refused */
    } table[] = {
        {"Zh==", "f"},        {"Zm9v\n", "foo"}, {"Zm\r\n9v", "foo"}, {"Zg=\n=", "f"},
        {"Zm9vZg==", "foof"}, {"Zg=", NULL},     {"Zg", NULL},        {"Zm9v=", NULL},
        {"====", NULL},       {"=", NULL},       {"A===", NULL},      {"Zg==Zg==", NULL},
        {"Z g=", NULL},       {"Zm9-", NULL},    {"Zm9v====", NULL},  {"Z=g=", NULL},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++) {
        size_t n = 42;
        const unsigned char *bytes = kb_base64_decode(arena, table[i].text, &n);
        if (!bytes != !table[i].bytes)
            fail_msg("\"%s\" was %s", table[i].text, bytes ? "taken" : "refused");
        if (bytes)
            assert_memory_equal(bytes, table[i].bytes, n);
        assert_int_equal(n, bytes ? strlen(table[i].bytes) : 42);
    }
}

static void a_directory_is_spelled_as_go_does(void **state)
{
    static const struct {
        const char *path, *dir;
    } rows[] = {
        {"/a/b", "/a"},     {"", "."},     {"/", "/"},     {"a", "."},          {"a/b", "a"},
        {"//a//b", "/a"},   {"/x/", "/x"}, {"a//", "a"},   {"./a", "."},        {"/a/../b/c", "/b"},
        {"/../a/b", "/a"},  {"/..", "/"},  {"../a", ".."}, {"a/../../b", ".."}, {"../../x/..", "../../x"},
        {"/..x/a", "/..x"},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const char *dir = kb_path_dir(arena, rows[i].path);
        if (!kb_streq(dir, rows[i].dir))
            fail_msg("%s: %s is not %s", rows[i].path, dir, rows[i].dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_and_suffixes_are_found),   cmocka_unit_test(null_equals_only_null),
        cmocka_unit_test(a_list_knows_its_members),          cmocka_unit_test(integers_are_read_whole_and_in_range),
        cmocka_unit_test(splitting_keeps_empty_parts),       cmocka_unit_test(joining_puts_separators_between),
        cmocka_unit_test(a_directory_is_spelled_as_go_does), cmocka_unit_test(quotes_are_gos),
        cmocka_unit_test(only_valid_utf8_is_taken),          cmocka_unit_test(base64_is_written_with_padding),
        cmocka_unit_test(base64_is_read_as_in_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
