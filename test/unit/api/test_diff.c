/*
 * Patches, literally: what goes in whole, what is gone into, what removes.
 */
#include "shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct kb_arena *arena;
static yyjson_mut_doc *doc;

static int set_up(void **state)
{
    (void)state;
    arena = kb_arena_new();
    doc = yyjson_mut_doc_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    yyjson_mut_doc_free(doc);
    kb_arena_free(arena);
    return 0;
}

static void *decode(const char *json)
{
    struct kube_error error = {0};
    void *shape = NULL;

    if (api_decode(arena, &shape_type, json, strlen(json), &shape, &error) < 0)
        fail_msg("%s: %s", json, error.message);
    return shape;
}

static void check_text(yyjson_mut_val *value, const char *expected)
{
    char *text = yyjson_mut_val_write(value, 0, NULL);

    assert_string_equal(text, expected);
    free(text);
}

static void merges(const char *before, const char *after, const char *expected)
{
    yyjson_mut_val *patch = api_diff_merge(doc, &shape_type, decode(before), decode(after));

    assert_non_null(patch);
    check_text(patch, expected);
}

static void patches(const char *before, const char *after, const char *expected)
{
    check_text(api_diff_json(doc, &shape_type, decode(before), decode(after)), expected);
}

static void equal_objects_need_no_patch(void **state)
{
    const char *a = "{\"texts\":[],\"quantity\":\"1\",\"x\":1}", *b = "{\"quantity\":\"1000m\",\"x\":1,\"labels\":{}}";

    (void)state;
    assert_null(api_diff_merge(doc, &shape_type, decode(a), decode(b)));
    patches(a, b, "[]");
}

static void a_merge_patch_goes_into_structs_and_maps(void **state)
{
    (void)state;
    merges("{\"leaf\":{\"name\":\"a\",\"count\":1}}", "{\"leaf\":{\"name\":\"b\",\"count\":1}}",
           "{\"leaf\":{\"name\":\"b\"}}");
    merges("{\"optLeaf\":{\"name\":\"a\",\"count\":1}}", "{\"optLeaf\":{\"name\":\"a\"}}",
           "{\"optLeaf\":{\"count\":null}}");
    merges("{\"labels\":{\"a\":\"1\",\"b\":\"2\",\"d\":\"4\"}}", "{\"labels\":{\"a\":\"1\",\"b\":\"3\",\"c\":\"\"}}",
           "{\"labels\":{\"b\":\"3\",\"c\":\"\",\"d\":null}}");
    merges("{\"leafMap\":{\"k\":{\"name\":\"a\",\"count\":1}}}", "{\"leafMap\":{\"k\":{\"name\":\"a\",\"count\":2}}}",
           "{\"leafMap\":{\"k\":{\"count\":2}}}");
    merges("{\"raw\":{\"a\":1,\"b\":{\"c\":1}}}", "{\"raw\":{\"b\":{\"c\":2}}}",
           "{\"raw\":{\"a\":null,\"b\":{\"c\":2}}}");
}

static void a_merge_patch_removes_with_null(void **state)
{
    (void)state;
    merges(
        "{\"text\":\"a\",\"optText\":\"\",\"optLeaf\":{},\"texts\":[\"a\"],\"labels\":{\"a\":\"1\"},\"x\":1,\"y\":2}",
        "{\"y\":2}", "{\"text\":null,\"optText\":null,\"optLeaf\":null,\"texts\":null,\"labels\":null,\"x\":null}");
    merges("{\"bareMap\":{\"a\":\"1\"},\"bareTexts\":[\"a\"]}", "{\"bareMap\":{},\"bareTexts\":[]}",
           "{\"bareTexts\":[],\"bareMap\":null}");
}

static void a_merge_patch_gives_lists_and_new_members_whole(void **state)
{
    (void)state;
    merges("{\"leaves\":[{\"name\":\"a\"},{\"name\":\"b\"}]}", "{\"leaves\":[{\"name\":\"b\"}]}",
           "{\"leaves\":[{\"name\":\"b\"}]}");
    merges("{}", "{\"optLeaf\":{},\"labels\":{\"a\":\"1\"},\"optFlag\":false}",
           "{\"optFlag\":false,\"optLeaf\":{\"name\":\"\"},\"labels\":{\"a\":\"1\"}}");
}

static void a_json_patch_escapes_its_path(void **state)
{
    (void)state;
    patches("{\"labels\":{\"a/b\":\"1\",\"c~d\":\"2\"},\"e/f\":1}",
            "{\"labels\":{\"a/b\":\"3\",\"x~/\":\"\"},\"e/f\":2}",
            "[{\"op\":\"replace\",\"path\":\"/labels/a~1b\",\"value\":\"3\"},"
            "{\"op\":\"remove\",\"path\":\"/labels/c~0d\"},"
            "{\"op\":\"add\",\"path\":\"/labels/x~0~1\",\"value\":\"\"},"
            "{\"op\":\"replace\",\"path\":\"/e~1f\",\"value\":2}]");
}

static void a_json_patch_adds_whole_what_may_be_missing(void **state)
{
    (void)state;
    patches("{}", "{\"leaf\":{\"name\":\"a\"},\"texts\":[\"b\"],\"labels\":{\"c\":\"\"},\"bareTexts\":[\"d\"]}",
            "[{\"op\":\"add\",\"path\":\"/leaf\",\"value\":{\"name\":\"a\"}},"
            "{\"op\":\"add\",\"path\":\"/texts\",\"value\":[\"b\"]},"
            "{\"op\":\"add\",\"path\":\"/labels\",\"value\":{\"c\":\"\"}},"
            "{\"op\":\"add\",\"path\":\"/bareTexts\",\"value\":[\"d\"]}]");
    patches("{\"optLeaf\":{}}", "{\"optLeaf\":{\"name\":\"a\",\"count\":1}}",
            "[{\"op\":\"add\",\"path\":\"/optLeaf/name\",\"value\":\"a\"},"
            "{\"op\":\"add\",\"path\":\"/optLeaf/count\",\"value\":1}]");
}

static void a_json_patch_replaces_and_removes_what_is_there(void **state)
{
    (void)state;
    patches("{\"leaf\":{\"name\":\"a\",\"count\":1},\"texts\":[\"b\"],\"optText\":\"x\",\"optLeaf\":{}}",
            "{\"leaf\":{\"name\":\"b\"},\"texts\":[\"c\"]}",
            "[{\"op\":\"replace\",\"path\":\"/leaf/name\",\"value\":\"b\"},"
            "{\"op\":\"remove\",\"path\":\"/leaf/count\"},"
            "{\"op\":\"remove\",\"path\":\"/optText\"},"
            "{\"op\":\"remove\",\"path\":\"/optLeaf\"},"
            "{\"op\":\"replace\",\"path\":\"/texts\",\"value\":[\"c\"]}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_objects_need_no_patch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_merge_patch_goes_into_structs_and_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_merge_patch_removes_with_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_merge_patch_gives_lists_and_new_members_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_json_patch_escapes_its_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_json_patch_adds_whole_what_may_be_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_json_patch_replaces_and_removes_what_is_there, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
