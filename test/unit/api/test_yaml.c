/*
 * YAML in and out: how plain scalars are read, what is refused and where, and that whatever is written is read back.
 */
#include "samples.h"

#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct kb_arena *arena;

static int new_arena(void **state)
{
    (void)state;
    arena = kb_arena_new();
    return 0;
}

static int free_arena(void **state)
{
    (void)state;
    kb_arena_free(arena);
    return 0;
}

/* Collects documents as "NUMBER:JSON NUMBER:JSON". */
static int collect(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    struct kb_strbuf *b = userdata;
    char *json = yyjson_write(doc, 0, NULL);

    (void)reterr;
    kb_strbuf_printf(b, "%s%d:%s", b->length ? " " : "", number, json);
    free(json);
    return 0;
}

static void reads(const char *yaml, const char *expected)
{
    struct kb_strbuf b = {.arena = arena};
    struct kube_error error = {0};

    if (api_yaml_read(yaml, strlen(yaml), collect, &b, &error) < 0)
        fail_msg("%s: %s", yaml, error.message);
    assert_string_equal(kb_strbuf_text(&b), expected);
}

static void refuses(const char *yaml, const char *message)
{
    struct kb_strbuf b = {.arena = arena};
    struct kube_error error = {0};

    assert_int_equal(api_yaml_read(yaml, strlen(yaml), collect, &b, &error), -1);
    assert_string_equal(error.message, message);
}

static void plain_scalars_follow_yaml_1_1(void **state)
{
    (void)state;
    reads("[y, Yes, on, TRUE, n, no, Off, false]", "1:[true,true,true,true,false,false,false,false]");
    reads("[null, ~, Null, NULL]", "1:[null,null,null,null]");
    reads("a:\nb: ''", "1:{\"a\":null,\"b\":\"\"}");
    reads("[0x1F, 0o17, 017, 0b101, -0x10, +7, 1_000, -0]", "1:[31,15,15,5,-16,7,1000,0]");
    reads("[08, 1.5, .5, 1., 1e3, -1.5E-2, 1_0.5]", "1:[8,1.5,0.5,1,1000,-0.015,10.5]");
    reads("[+9223372036854775807, 9223372036854775808, -9223372036854775808, 18446744073709551616]",
          "1:[9223372036854775807,9223372036854775808,-9223372036854775808,18446744073709552000.0]");
    reads("[0x, 0xg, 0o8, 0b2, 1.2.3, 12:30, 1e, ., +, -, 1-2, 0x0x1, truE, 1__a]",
          "1:[\"0x\",\"0xg\",\"0o8\",\"0b2\",\"1.2.3\",\"12:30\",\"1e\",\".\",\"+\",\"-\",\"1-2\",\"0x0x1\",\"truE\","
          "\"1__a\"]");
    reads("[2026-01-02, 2026-01-02T03:04:05Z]", "1:[\"2026-01-02\",\"2026-01-02T03:04:05Z\"]");
}

static void quoted_scalars_are_text(void **state)
{
    (void)state;
    reads("['yes', \"1\", 'null', \"\\u00e9\\n\", 'it''s']", "1:[\"yes\",\"1\",\"null\",\"\xC3\xA9\\n\",\"it's\"]");
    reads("[!!str 1, !!str yes, ! 2, !!int '3', !!float 4, !!bool 'on', !!null '', !!binary aGVs bG8=]",
          "1:[\"1\",\"yes\",\"2\",3,4,true,null,\"hello\"]");
    reads("a: |\n  x\n   y\n\nb: >-\n  p\n  q\nc: |+\n  z\n\n",
          "1:{\"a\":\"x\\n y\\n\",\"b\":\"p q\",\"c\":\"z\\n\\n\"}");
}

static void keys_become_text(void **state)
{
    (void)state;
    reads("1: a\ntrue: b\n1.5: c\n'': d\n", "1:{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"\":\"d\"}");
    refuses("~: a", "line 1, column 1: a key must be text, a number or a bool");
    refuses("? [a]\n: b", "line 1, column 3: a key must be text, a number or a bool");
}

static void several_documents_are_numbered(void **state)
{
    (void)state;
    reads("a: 1\n---\n# nothing\n---\nb: 2\n...\n---\n[]\n", "1:{\"a\":1} 3:{\"b\":2} 4:[]");
    reads("", "");
    reads("# nothing\n", "");
    reads("---\n---\n", "");
}

static void json_is_read_as_json(void **state)
{
    (void)state;
    reads("\n {\"a\": \"\\ud83d\\ude00\\/\", \"b\":\t[1e2]}\n", "1:{\"a\":\"\xF0\x9F\x98\x80/\",\"b\":[100.0]}");
    reads("{\"a\":1}\n[2] {}", "1:{\"a\":1} 2:[2] 3:{}");
    reads("{\"a\": 1, b: 'c'}", "1:{\"a\":1,\"b\":\"c\"}");
    reads("{\"a\": 1}\n---\n{b: 2}", "1:{\"a\":1} 2:{\"b\":2}");
    refuses("{\"a\":1}{", "document 2: bad JSON at byte 1: unexpected end of data");
}

static void anchors_and_merges_work(void **state)
{
    (void)state;
    reads("a: &x {p: 1}\nb: *x\nc: &y yes\nd: *y\n", "1:{\"a\":{\"p\":1},\"b\":{\"p\":1},\"c\":true,\"d\":true}");
    reads("- &x {p: 1, q: 2}\n- &y {q: 3, r: 4}\n- {<<: *x, q: 5}\n- {q: 6, <<: [*x, *y]}\n- {'<<': 7}",
          "1:[{\"p\":1,\"q\":2},{\"q\":3,\"r\":4},{\"q\":5,\"p\":1},{\"q\":6,\"p\":1,\"r\":4},{\"<<\":7}]");
    refuses("a: &x [*x]", "line 1, column 8: unknown anchor or one inside its own value: x");
    refuses("a: *x", "line 1, column 4: unknown anchor or one inside its own value: x");
    refuses("a: &x 1\n---\nb: *x", "line 3, column 4: unknown anchor or one inside its own value: x");
    refuses("<<: 1", "line 1, column 5: << wants an object or a list of objects");
    refuses("<<: [{}, 1]", "line 1, column 5: << wants an object or a list of objects");
}

static void faults_are_told_with_their_place(void **state)
{
    (void)state;
    refuses("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key is there already: a");
    refuses("a:\n\tb: 1\n", "line 2, column 1: found character that cannot start any token");
    refuses("a: [1, 2\n", "line 2, column 1: did not find expected ',' or ']'");
    refuses("a: 1\n b: 2\n", "line 2, column 3: mapping values are not allowed in this context");
    refuses("a: .inf\n", "line 1, column 4: not a value that JSON has: .inf");
    refuses("a: !!int x\n", "line 1, column 4: not a value that JSON has: x");
    refuses("a: \"\xFF\"\n", "line 1, column 1: invalid leading UTF-8 octet");
}

static void bombs_are_refused(void **state)
{
    struct kb_strbuf b = {.arena = arena};
    struct kube_error error = {0};

    (void)state;
    kb_strbuf_puts(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        kb_strbuf_printf(&b, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            kb_strbuf_printf(&b, "*a%d, ", i - 1);
        kb_strbuf_puts(&b, "]\n");
    }
    assert_int_equal(api_yaml_read(b.data, b.length, collect, NULL, &error), -1);
    assert_non_null(strstr(error.message, "aliases stand for too much"));
    kb_strbuf_clear(&b);
    for (int i = 0; i <= API_MAX_DEPTH; i++)
        kb_strbuf_putc(&b, '[');
    refuses(kb_strbuf_text(&b), "line 1, column 101: nested too deep");
    kb_strbuf_clear(&b);
    kb_strbuf_puts(&b, "- &a [[[[[[[[[[]]]]]]]]]]\n");
    for (int i = 1; i < 20; i++)
        kb_strbuf_printf(&b, "- &a [[[[[[[[[*a]]]]]]]]]\n");
    assert_int_equal(api_yaml_read(b.data, b.length, collect, NULL, &error), -1);
    assert_non_null(strstr(error.message, "nested too deep"));
}

static int stop(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    (void)doc;
    ++*(int *)userdata;
    return number < 2 ? 0 : kube_error_set(reterr, KUBE_ERROR_INVALID, "enough");
}

static void a_failing_callback_ends_the_reading(void **state)
{
    const char *yaml = "a: 1\n---\nb: 1\n---\nc: 1\n";
    struct kube_error error = {0};
    int calls = 0;

    (void)state;
    assert_int_equal(api_yaml_read(yaml, strlen(yaml), stop, &calls, &error), -1);
    assert_int_equal(calls, 2);
    assert_string_equal(error.message, "enough");
}

/* ---- writing ---- */

static const char *write_json(const char *json)
{
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_mut_doc *mut = yyjson_doc_mut_copy(doc, NULL);
    struct kb_strbuf b = {.arena = arena};

    api_yaml_write(yyjson_mut_doc_get_root(mut), &b);
    yyjson_mut_doc_free(mut);
    yyjson_doc_free(doc);
    return kb_strbuf_text(&b);
}

static void objects_are_written_in_block_style(void **state)
{
    (void)state;
    assert_string_equal(write_json("{\"a\":{\"b\":[{\"c\":1,\"d\":[]},[2,[3]],\"x\"],\"e\":{}},\"f\":null,\"g\":true,"
                                   "\"h\":1.5,\"i\":\"l1\\n  l2\\n\",\"j\":[\"x\\ny\"]}"),
                        "a:\n"
                        "  b:\n"
                        "  - c: 1\n"
                        "    d: []\n"
                        "  - - 2\n"
                        "    - - 3\n"
                        "  - x\n"
                        "  e: {}\n"
                        "f: null\n"
                        "g: true\n"
                        "h: 1.5\n"
                        "i: |\n"
                        "  l1\n"
                        "    l2\n"
                        "j:\n"
                        "- |-\n"
                        "  x\n"
                        "  y\n");
}

static void text_is_quoted_only_when_it_must_be(void **state)
{
    (void)state;
    assert_string_equal(
        write_json("[\"plain text\",\"a:b\",\"a#b\",\"-x\",\"10.0.0.1\",\"v1.2\",\"100Mi\",\"http://x/y?z=1\","
                   "\"nope\",\"\xC3\xA9\"]"),
        "- plain text\n- a:b\n- a#b\n- -x\n- 10.0.0.1\n- v1.2\n- 100Mi\n- http://x/y?z=1\n- nope\n"
        "- \xC3\xA9\n");
    assert_string_equal(
        write_json("[\"\",\"yes\",\"1\",\"1e3\",\"a: b\",\"a #b\",\"a:\",\" a\",\"*a\",\"- a\",\"-\",\"2026-01-02\","
                   "\"02:00:00:00:00:01\",\"a\\tb\",\"\\u0085\",\"<<\",\"null\"]"),
        "- \"\"\n- \"yes\"\n- \"1\"\n- \"1e3\"\n- \"a: b\"\n- \"a #b\"\n- \"a:\"\n- \" a\"\n- \"*a\"\n- \"- a\"\n- "
        "\"-\"\n"
        "- \"2026-01-02\"\n- \"02:00:00:00:00:01\"\n- \"a\\tb\"\n- \"\\u0085\"\n- \"<<\"\n- \"null\"\n");
}

static int keep(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    (void)number;
    (void)reterr;
    *(yyjson_mut_doc **)userdata = yyjson_doc_mut_copy(doc, NULL);
    return 0;
}

static void check_round(yyjson_mut_val *value)
{
    kb_cleanup_strbuf struct kb_strbuf yaml = {0};
    struct kube_error error = {0};
    yyjson_mut_doc *again = NULL;

    api_yaml_write(value, &yaml);
    if (api_yaml_read(yaml.data, yaml.length, keep, &again, &error) < 0)
        fail_msg("%s: %s", error.message, yaml.data);
    if (!yyjson_mut_equals(value, yyjson_mut_doc_get_root(again)))
        fail_msg("not read back: %s", yaml.data);
    yyjson_mut_doc_free(again);
}

static void all_that_is_written_is_read_back(void **state)
{
    /* Every text of up to four of these, as a value, as a key and inside a list. */
    const char *const pieces[] = {"a", " ", "\n", ":", "#", "-", "\"", "'", "1", "\t", "|", "?", "\xC2\x85", "{", "~"};
    const size_t n = KB_ARRAY_LEN(pieces);

    (void)state;
    for (size_t i = 0; i < n * n * n * n; i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *object = yyjson_mut_obj(doc), *list = yyjson_mut_arr(doc);
        char text[16];

        snprintf(text, sizeof(text), "%s%s%s%s", pieces[i % n], i / n ? pieces[i / n % n] : "",
                 i / n / n ? pieces[i / n / n % n] : "", i / n / n / n ? pieces[i / n / n / n] : "");
        yyjson_mut_arr_add_str(doc, list, text);
        yyjson_mut_arr_add_str(doc, list, text);
        yyjson_mut_obj_add_str(doc, object, text, text);
        yyjson_mut_obj_add_val(doc, object, "list", list);
        check_round(object);
        yyjson_mut_doc_free(doc);
    }
}

static void every_sample_is_read_back(void **state)
{
    size_t n;
    const struct sample *all = samples(&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

        check_round(yyjson_val_mut_copy(doc, all[i].object));
        yyjson_mut_doc_free(doc);
    }
}

static void long_keys_are_written_so_that_they_can_be_read(void **state)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc), *inner = yyjson_mut_obj(doc);
    char key[2001];

    (void)state;
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = 0;
    yyjson_mut_obj_add_str(doc, inner, key, "v");
    yyjson_mut_obj_add_val(doc, object, key, inner);
    check_round(object);
    yyjson_mut_doc_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_scalars_follow_yaml_1_1, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(quoted_scalars_are_text, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(keys_become_text, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(several_documents_are_numbered, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(json_is_read_as_json, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(anchors_and_merges_work, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(faults_are_told_with_their_place, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(bombs_are_refused, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(a_failing_callback_ends_the_reading, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(objects_are_written_in_block_style, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(text_is_quoted_only_when_it_must_be, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(all_that_is_written_is_read_back, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(every_sample_is_read_back, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(long_keys_are_written_so_that_they_can_be_read, new_arena, free_arena),
    };

    return cmocka_run_group_tests(tests, NULL, samples_done);
}
