/* JSON as the reference's HTTP server prints it. */
#include "base/strings.h"
#include "cmd/virt-controller/pretty.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *json, const char *expected)
{
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    assert_int_equal(pretty_json(json, strlen(json), &text, NULL), 0);
    assert_string_equal(kb_strbuf_text(&text), expected);
}

static void members_are_sorted_and_indented_by_one_space(void **state)
{
    (void)state;
    expect("{\"b\":{\"z\":\"1\",\"A\":[true,null]},\"a\":\"x\"}",
           "{\n \"a\": \"x\",\n \"b\": {\n  \"A\": [\n   true,\n   null\n  ],\n  \"z\": \"1\"\n }\n}");
}

static void empty_objects_and_arrays_stay_on_their_line(void **state)
{
    (void)state;
    expect("{\"o\":{},\"a\":[]}", "{\n \"a\": [],\n \"o\": {}\n}");
    expect("{}", "{}");
}

static void the_last_of_equal_names_counts(void **state)
{
    (void)state;
    expect("{\"a\":1,\"b\":2,\"a\":3}", "{\n \"a\": 3,\n \"b\": 2\n}");
}

static void text_is_escaped_as_go_does(void **state)
{
    (void)state;
    expect("{\"a\":\"<&>\\n\\u0001\"}", "{\n \"a\": \"\\u003c\\u0026\\u003e\\n\\u0001\"\n}");
}

static void what_is_not_json_is_refused_and_leaves_nothing(void **state)
{
    (void)state;
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    struct kube_error error = {0};
    assert_true(pretty_json("{", 1, &text, &error) < 0);
    assert_int_equal(text.length, 0);
    assert_true(*error.message != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_sorted_and_indented_by_one_space),
        cmocka_unit_test(empty_objects_and_arrays_stay_on_their_line),
        cmocka_unit_test(the_last_of_equal_names_counts),
        cmocka_unit_test(text_is_escaped_as_go_does),
        cmocka_unit_test(what_is_not_json_is_refused_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
