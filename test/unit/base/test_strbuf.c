/* Tests of base/strbuf.h. */
#include "base/strbuf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void an_empty_buffer_is_an_empty_text(void **state)
{
    (void)state;
    struct kb_strbuf b = {0};
    assert_string_equal(kb_strbuf_text(&b), "");
    kb_strbuf_append(&b, "", 0);
    kb_strbuf_printf(&b, "%s", "");
    assert_int_equal(b.length, 0);
    kb_strbuf_clear(&b);
    kb_strbuf_drop_front(&b, 0);
    char *text = kb_strbuf_take(&b);
    assert_string_equal(text, "");
    free(text);
    kb_strbuf_done(&b);
}

static void fill(struct kb_strbuf *b)
{
    for (int i = 0; i < 200; i++) {
        kb_strbuf_puts(b, "ab");
        kb_strbuf_putc(b, 'c');
        kb_strbuf_append(b, "d\0", 2);
        kb_strbuf_printf(b, "%03d", i);
    }
}

static void check_filled(const struct kb_strbuf *b)
{
    assert_int_equal(b->length, 200 * 8);
    assert_int_equal(b->data[b->length], '\0');
    for (int i = 0; i < 200; i++) {
        const char expected[] = {'a', 'b', 'c', 'd', '\0', '0' + i / 100, '0' + i / 10 % 10, '0' + i % 10};
        assert_memory_equal(b->data + i * 8, expected, sizeof expected);
    }
}

static void bytes_are_appended_on_the_heap(void **state)
{
    (void)state;
    kb_cleanup_strbuf struct kb_strbuf b = {0};
    fill(&b);
    check_filled(&b);
}

static void bytes_are_appended_in_an_arena(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_cleanup_strbuf struct kb_strbuf b = {.arena = arena};
    fill(&b);
    check_filled(&b);
    kb_strbuf_take(&b);
    assert_int_equal(b.length, 0);
    kb_strbuf_puts(&b, "again");
    assert_string_equal(kb_strbuf_text(&b), "again");
}

static void formatted_text_fits_at_any_length(void **state)
{
    (void)state;
    for (int n = 0; n < 200; n++) {
        kb_cleanup_strbuf struct kb_strbuf b = {0};
        kb_strbuf_printf(&b, "%*s", n, "");
        kb_strbuf_printf(&b, "%s", "end");
        assert_int_equal(b.length, n + 3);
        assert_string_equal(b.data + n, "end");
    }
}

static void the_front_is_dropped(void **state)
{
    (void)state;
    kb_cleanup_strbuf struct kb_strbuf b = {0};
    kb_strbuf_puts(&b, "hello world");
    kb_strbuf_drop_front(&b, 6);
    assert_string_equal(kb_strbuf_text(&b), "world");
    assert_int_equal(b.length, 5);
    kb_strbuf_drop_front(&b, 99);
    assert_string_equal(kb_strbuf_text(&b), "");
}

static void clearing_keeps_the_memory(void **state)
{
    (void)state;
    kb_cleanup_strbuf struct kb_strbuf b = {0};
    kb_strbuf_puts(&b, "something");
    const char *data = b.data;
    kb_strbuf_clear(&b);
    assert_string_equal(kb_strbuf_text(&b), "");
    kb_strbuf_puts(&b, "else");
    assert_ptr_equal(b.data, data);
}

static void json_strings_are_escaped_as_in_go(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        const char *json;
    } table[] = {
        {"", 0, "\"\""},
        {"plain <&>", 9, "\"plain <&>\""},
        {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
        {"\a\b\t\n\v\f\r", 7, "\"\\u0007\\b\\t\\n\\u000b\\f\\r\""},
        {"\0\x1f\x7f", 3, "\"\\u0000\\u001f\x7f\""},
        {"gr\u00FC\u00DFe", 7, "\"gr\u00FC\u00DFe\""},
        {"\xff\xc3", 2, "\"\\ufffd\\ufffd\""},
        {"\u2028\u2029", 6, "\"\\u2028\\u2029\""},
        {"\u00FC", 1, "\"\\ufffd\""},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++) {
        kb_cleanup_strbuf struct kb_strbuf b = {0};
        kb_strbuf_json_string(&b, table[i].text, table[i].n);
        assert_string_equal(kb_strbuf_text(&b), table[i].json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_is_an_empty_text),
        cmocka_unit_test(bytes_are_appended_on_the_heap),
        cmocka_unit_test(bytes_are_appended_in_an_arena),
        cmocka_unit_test(formatted_text_fits_at_any_length),
        cmocka_unit_test(the_front_is_dropped),
        cmocka_unit_test(clearing_keeps_the_memory),
        cmocka_unit_test(json_strings_are_escaped_as_in_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
