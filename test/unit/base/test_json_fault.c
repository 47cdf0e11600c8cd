/* Tests of base/json_fault.h: the messages are those of Go's encoding/json. */
#include "base/json_fault.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define END "unexpected end of JSON input"

static void faults_are_named_as_go_names_them(void **state)
{
    static const struct {
        const char *text, *fault; /* NULL: none */
    } rows[] = {
        {"", END},
        {" \t", END},
        {"x", "invalid character 'x' looking for beginning of value"},
        {"[1,]", "invalid character ']' looking for beginning of value"},
        {"[1 2]", "invalid character '2' after array element"},
        {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
        {"{1:2}", "invalid character '1' looking for beginning of object key string"},
        {"{\"a\" 1}", "invalid character '1' after object key"},
        {"{\"a\":1 \"b\":2}", "invalid character '\"' after object key:value pair"},
        {"{'a':1}", "invalid character '\\'' looking for beginning of object key string"},
        {"{} {}", "invalid character '{' after top-level value"},
        {"[[{\"a\":[]}]", END},
        {"\"a\nb\"", "invalid character '\\n' in string literal"},
        {"\"\\x\"", "invalid character 'x' in string escape code"},
        {"\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"},
        {"\"\\", "invalid character ' ' in string escape code"},
        {"\"abc", END},
        {"\"\\u12", "invalid character ' ' in \\u hexadecimal character escape"},
        {"-", "invalid character ' ' in numeric literal"},
        {"\xc3\xa9", "invalid character '\xc3\x83' looking for beginning of value"},
        {"-x", "invalid character 'x' in numeric literal"},
        {"01", "invalid character '1' after top-level value"},
        {"1.x", "invalid character 'x' after decimal point in numeric literal"},
        {"1e+", "invalid character ' ' in exponent of numeric literal"},
        {"1e+x", "invalid character 'x' in exponent of numeric literal"},
        {"trUe", "invalid character 'U' in literal true (expecting 'u')"},
        {"nul", "invalid character ' ' in literal null (expecting 'l')"},
        {"[true, false, null, -0.5E-3, 0, \"\\u00e9\\/\\n\", {}, [], {\"a\": {\"b\": [1]}}] ", NULL},
        {"\"\xff\"", NULL},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const char *fault = kb_json_fault(arena, rows[i].text, strlen(rows[i].text));
        if (!kb_streq_null(fault, rows[i].fault))
            fail_msg("%s: \"%s\" is not \"%s\"", rows[i].text, fault, rows[i].fault);
    }
}

static void depth_has_a_limit(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static char text[10002];

    (void)state;
    memset(text, '[', sizeof(text));
    assert_string_equal(kb_json_fault(arena, text, 10000), END);
    assert_string_equal(kb_json_fault(arena, text, 10001), "invalid character '[' exceeded max depth");
}

static void nothing_is_read_behind_the_end(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_cleanup_free char *text = kb_malloc(1);

    (void)state;
    *text = '[';
    assert_string_equal(kb_json_fault(arena, text, 1), END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_named_as_go_names_them),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(nothing_is_read_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
