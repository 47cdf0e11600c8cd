/*
 * The codec over a type made by hand: every kind, every shape, every omit rule, and hostile input.
 */
#include "shapes.h"

#include "base/intern.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* What an empty shape encodes as: the members without omit rule, and structs in place. */
#define BARE                                                                                                           \
    "\"bareTexts\":null,\"bareMap\":null,\"bareTime\":null,\"bareQuantity\":\"0\",\"bareDuration\":\"0s\","            \
    "\"bareBytes\":null,\"bareLeaf\":null"
#define LEAF "\"leaf\":{\"name\":\"\"},"

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

static struct shape *decode(const char *json)
{
    struct kube_error error = {0};
    struct shape *shape = NULL;

    if (api_decode(arena, &shape_type, json, strlen(json), &shape, &error) < 0)
        fail_msg("%s: %s", json, error.message);
    return shape;
}

static const char *encode(const void *shape)
{
    return api_encode_text(arena, &shape_type, shape, 0);
}

static void refuses(const char *json, const char *message)
{
    struct kube_error error = {0};
    struct shape *shape = NULL;

    assert_int_equal(api_decode(arena, &shape_type, json, strlen(json), &shape, &error), -1);
    assert_null(shape);
    assert_int_equal(error.kind, KUBE_ERROR_INVALID);
    assert_string_equal(error.message, message);
}

/* Checks that `json` encodes as `expected` with the bare members behind. */
static void becomes(const char *json, const char *expected)
{
    assert_string_equal(encode(decode(json)), kb_arena_printf(arena, "{%s" BARE "}", expected));
}

static void the_table_of_the_test_is_sorted(void **state)
{
    (void)state;
    for (unsigned i = 1; i < shape_type.n_fields; i++)
        assert_true(
            strcmp(shape_type.fields[shape_type.sorted[i - 1]].json, shape_type.fields[shape_type.sorted[i]].json) < 0);
}

static void an_empty_object_follows_the_omit_rules(void **state)
{
    struct shape zero = {0};

    (void)state;
    becomes("{}", LEAF);
    assert_string_equal(encode(&zero), "{" LEAF BARE "}");
    becomes("{\"texts\":[],\"labels\":{},\"quantity\":\"0\",\"duration\":\"0s\",\"either\":0,\"zeroLeaf\":{}}", LEAF);
    assert_string_equal(encode(decode("{\"zeroTexts\":[]}")), "{" LEAF BARE ",\"zeroTexts\":[]}");
    assert_non_null(strstr(encode(decode("{\"bareTexts\":[],\"bareMap\":{}}")), "\"bareTexts\":[],\"bareMap\":{},"));
}

static void absent_strings_are_empty_and_never_null(void **state)
{
    struct shape *shape = decode("{\"optLeaf\":{},\"leaves\":[null,{}],\"leafMap\":{\"a\":null}}");

    (void)state;
    assert_string_equal(shape->text, "");
    assert_string_equal(shape->leaf.name, "");
    assert_string_equal(shape->either.text, "");
    assert_null(shape->opt_text);
    assert_string_equal(shape->opt_leaf->name, "");
    assert_int_equal(shape->leaves.n, 2);
    assert_string_equal(shape->leaves.items[0].name, "");
    assert_string_equal(shape->leaves.items[1].name, "");
    assert_string_equal(shape->leaf_map.items[0].value.name, "");
}

static void every_kind_and_shape_comes_back(void **state)
{
    const char *full =
        "{\"text\":\"a<b>&\\u00e9\\\"\\n\",\"flag\":true,\"small\":-2147483648,\"big\":9223372036854775807,\"ratio\":0."
        "1,"
        "\"bytes\":\"AAEC\",\"quantity\":\"1536Mi\",\"time\":\"2026-01-02T03:04:05Z\","
        "\"micro\":\"2026-01-02T03:04:05.000007Z\",\"duration\":\"1m0s\",\"either\":\"50%\",\"raw\":{\"a\":[1,null]},"
        "\"leaf\":{\"name\":\"l\",\"count\":1},\"zeroLeaf\":{\"name\":\"z\"},\"optText\":\"\",\"optFlag\":false,"
        "\"optSmall\":0,"
        "\"optBig\":-9223372036854775808,\"optRatio\":0,\"optQuantity\":\"100m\",\"optTime\":\"2026-01-02T03:04:05Z\","
        "\"optEither\":8080,\"optLeaf\":{\"name\":\"\"},\"optShape\":{" LEAF BARE "},\"texts\":[\"\",\"x\"],"
        "\"leaves\":[{\"name\":\"a\"},{\"name\":\"b\",\"count\":2}],\"numbers\":[0,-1],"
        "\"labels\":{\"a\":\"\",\"b/c\":\"d\"},\"resources\":{\"cpu\":\"1\"},\"switches\":{\"off\":false,\"on\":true},"
        "\"leafMap\":{\"k\":{\"name\":\"v\"}},\"bareTexts\":[\"t\"],\"bareMap\":{\"k\":\"v\"},"
        "\"bareTime\":\"2026-01-02T03:04:05Z\",\"bareQuantity\":\"5\",\"bareDuration\":\"1s\",\"bareBytes\":\"AA==\","
        "\"bareLeaf\":{\"name\":\"n\"},\"zeroTexts\":[],\"repeated\":\"Running\"}";
    struct shape *shape = decode(full), *clone = api_clone(arena, &shape_type, shape);
    const struct api_object *object = api_object_new(&shape_type, shape);
    const char *expected = kb_arena_strdup(arena, encode(shape));

    (void)state;
    assert_string_equal(expected, encode(clone));
    assert_string_equal(expected, encode(api_object_data(object)));
    assert_string_equal(expected, encode(decode(expected)));
    assert_true(api_equal(&shape_type, shape, clone));
    assert_true(api_equal(&shape_type, shape, api_object_data(object)));
    assert_int_equal(api_hash(&shape_type, shape), api_hash(&shape_type, clone));
    assert_non_null(strstr(expected, "\"ratio\":0.1,"));
    assert_non_null(strstr(expected, "\"text\":\"a<b>&\xC3\xA9\\\"\\n\""));
    assert_int_equal(strlen(expected), strlen(full) - strlen("\\u00e9") + 2);
    api_object_unref(object);
}

static void quantities_keep_what_sums_need_until_they_are_written(void **state)
{
    static const struct {
        const char *text, *kept;
    } rows[] = {{"1.5Gi", "1.5Gi"}, {"0.5Ki", "0.5Ki"}, {"1E2", "1E2"},
                {"1024Mi", "1Gi"},  {"1500m", "1500m"}, {"0.5", "500m"}};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct shape *shape = decode(kb_arena_printf(arena, "{\"quantity\":\"%s\"}", rows[i].text));

        assert_string_equal(shape->quantity, rows[i].kept);
        assert_null(strstr(encode(shape), "."));
    }
    assert_non_null(strstr(encode(&(struct shape){.quantity = "3000"}), "\"quantity\":\"3000\""));
}

static void values_take_their_canonical_form(void **state)
{
    (void)state;
    becomes("{\"quantity\":\"1.5Gi\"}", "\"quantity\":\"1536Mi\"," LEAF);
    becomes("{\"quantity\":2}", "\"quantity\":\"2\"," LEAF);
    becomes("{\"quantity\":0.5}", "\"quantity\":\"500m\"," LEAF);
    becomes("{\"time\":\"2026-01-02T03:04:05.9+01:00\"}", "\"time\":\"2026-01-02T02:04:05Z\"," LEAF);
    becomes("{\"time\":\"9999-12-31T23:59:59Z\"}", "\"time\":\"9999-12-31T23:59:59Z\"," LEAF);
    becomes("{\"time\":\"0001-01-01T00:00:00Z\"}", LEAF);
    becomes("{\"micro\":\"2026-01-02T03:04:05Z\"}", "\"micro\":\"2026-01-02T03:04:05.000000Z\"," LEAF);
    becomes("{\"duration\":\"90s\"}", "\"duration\":\"1m30s\"," LEAF);
    becomes("{\"either\":\"8080\"}", "\"either\":\"8080\"," LEAF);
    becomes("{\"bytes\":\"AA\\n==\"}", "\"bytes\":\"AA==\"," LEAF);
    becomes("{\"ratio\":3}", "\"ratio\":3," LEAF);
    becomes("{\"ratio\":1e300}", "\"ratio\":1e+300," LEAF);
    becomes("{\"raw\":[1.5, 18446744073709551616 ]}", "\"raw\":[1.5,18446744073709551616]," LEAF);
}

static void null_is_absent(void **state)
{
    (void)state;
    becomes(
        "{\"text\":null,\"small\":null,\"leaf\":null,\"optLeaf\":null,\"texts\":null,\"labels\":null,\"quantity\":null,"
        "\"raw\":null,\"time\":null}",
        LEAF);
}

static void of_duplicate_keys_the_last_wins(void **state)
{
    (void)state;
    becomes("{\"text\":\"a\",\"text\":\"b\"}", "\"text\":\"b\"," LEAF);
    becomes("{\"leaf\":{\"name\":\"a\",\"count\":3},\"leaf\":{\"name\":\"b\"}}", "\"leaf\":{\"name\":\"b\"},");
    becomes("{\"labels\":{\"b\":\"1\",\"a\":\"2\",\"b\":\"3\"}}", LEAF "\"labels\":{\"a\":\"2\",\"b\":\"3\"},");
    assert_string_equal(decode("{\"x\":1,\"y\":2,\"x\":{\"z\":[]}}")->extra_, "\"x\":{\"z\":[]},\"y\":2");
}

static void unknown_members_are_kept_and_written_last(void **state)
{
    struct shape *shape =
        decode("{\"new\": {\"deep\" : [ 1, 2.50, \"\\u0041\" ]}, \"text\":\"t\",\"leaf\":{\"more\":true}}");
    kb_cleanup_strbuf struct kb_strbuf known = {0};

    (void)state;
    assert_string_equal(encode(shape), "{\"text\":\"t\",\"leaf\":{\"name\":\"\",\"more\":true}," BARE
                                       ",\"new\":{\"deep\":[1,2.5,\"A\"]}}");
    api_encode(&shape_type, shape, API_ENCODE_KNOWN_ONLY, &known);
    assert_string_equal(kb_strbuf_text(&known), "{\"text\":\"t\"," LEAF BARE "}");
    assert_string_equal(((struct shape *)api_clone(arena, &shape_type, shape))->leaf.extra_, "\"more\":true");
    assert_false(api_equal(&shape_type, shape, decode("{\"text\":\"t\"}")));
}

static void errors_name_the_path(void **state)
{
    (void)state;
    refuses("{\"leaves\":[{},{},{},{\"name\":4}]}", "leaves[3].name: expected a string, got a number");
    refuses("{\"optShape\":{\"leafMap\":{\"a/b\":{\"count\":\"x\"}}}}",
            "optShape.leafMap[a/b].count: expected an integer, got a string");
    refuses("{\"texts\":{}}", "texts: expected a list, got an object");
    refuses("{\"labels\":[]}", "labels: expected an object, got a list");
    refuses("{\"leaf\":true}", "leaf: expected an object, got a bool");
    refuses("[]", "expected an object, got a list");
    refuses("{\"small\":1.5}", "small: expected an integer, got 1.5");
    refuses("{\"small\":1e3}", "small: expected an integer, got 1000");
    refuses("{\"small\":2147483648}", "small: the number is out of range");
    refuses("{\"big\":9223372036854775808}", "big: the number is out of range");
    refuses("{\"big\":99999999999999999999}", "big: the number is out of range");
    refuses("{\"either\":true}", "either: expected an integer, got a bool");
    refuses("{\"bytes\":\"A\"}", "bytes: not base64");
    refuses("{\"time\":\"yesterday\"}", "time: not a time: \"yesterday\"");
    refuses("{\"time\":\"2026-02-30T00:00:00Z\"}", "time: not a time: \"2026-02-30T00:00:00Z\"");
    refuses("{\"duration\":\"1\"}", "duration: not a duration: \"1\"");
    refuses("{\"labels\":{\"a\\u0000\":\"\"}}", "labels: a key has a NUL character");
}

static void bad_json_is_refused(void **state)
{
    kb_cleanup_strbuf struct kb_strbuf deep = {0};
    struct kube_error error = {0};
    void *shape;

    (void)state;
    assert_int_equal(api_decode(arena, &shape_type, "{\"a\":\"\xC0\x80\"}", 10, &shape, &error), -1);
    assert_int_equal(api_decode(arena, &shape_type, "{} {}", 5, &shape, &error), -1);
    assert_int_equal(api_decode(arena, &shape_type, "", 0, &shape, &error), -1);
    assert_int_equal(api_decode(arena, &shape_type, "{\"a\":1,}", 9, &shape, &error), -1);
    for (int i = 0; i < API_MAX_DEPTH; i++)
        kb_strbuf_puts(&deep, "{\"a\":");
    kb_strbuf_puts(&deep, "[]");
    for (int i = 0; i < API_MAX_DEPTH; i++)
        kb_strbuf_putc(&deep, '}');
    assert_int_equal(api_decode(arena, &shape_type, deep.data, deep.length, &shape, &error), -1);
    assert_string_equal(error.message, "JSON is nested deeper than 100");
    kb_strbuf_drop_front(&deep, strlen("{\"a\":"));
    assert_int_equal(api_decode(arena, &shape_type, deep.data, deep.length - 1, &shape, &error), 0);
}

static void a_bad_quantity_names_the_path(void **state)
{
    struct kube_error error = {0};
    void *shape;

    (void)state;
    assert_int_equal(api_decode(arena, &shape_type, "{\"resources\":{\"cpu\":\"1Q\"}}", 26, &shape, &error), -1);
    assert_true(kb_starts_with(error.message, "resources[cpu]: "));
}

static void a_nul_inside_a_string_survives(void **state)
{
    struct shape *shape = decode("{\"text\":\"a\\u0000b\"}");

    (void)state;
    assert_string_equal(shape->text, "a\xC0\x80"
                                     "b");
    assert_string_equal(encode(shape), "{\"text\":\"a\\u0000b\"," LEAF BARE "}");
}

static void copies_share_nothing_and_can_grow(void **state)
{
    struct shape *shape =
        decode("{\"texts\":[\"a\",\"b\",\"c\"],\"labels\":{\"x\":\"1\"},\"optLeaf\":{\"name\":\"n\"}}");
    const char *before = encode(shape);
    struct shape *clone = api_clone(arena, &shape_type, shape);

    (void)state;
    api_strings_add(arena, &clone->texts, "d");
    clone->texts.items[0] = "changed";
    api_map_set(arena, &clone->labels, "a", "0");
    clone->opt_leaf->name = "changed";
    assert_string_equal(encode(shape), before);
    assert_false(api_equal(&shape_type, shape, clone));
    api_copy_field(arena, api_field_find(&shape_type, "texts", 5), shape, clone);
    assert_int_equal(clone->texts.n, 3);
    assert_string_equal(clone->texts.items[0], "a");
    assert_ptr_not_equal(clone->texts.items, shape->texts.items);
}

static void equality_is_semantic(void **state)
{
    (void)state;
#define EQUAL(a, b)  assert_true(api_equal(&shape_type, decode(a), decode(b)))
#define DIFFER(a, b) assert_false(api_equal(&shape_type, decode(a), decode(b)))
    EQUAL("{}", "{\"texts\":[],\"labels\":{}}");
    EQUAL("{\"quantity\":\"1.5Gi\"}", "{\"quantity\":\"1536Mi\"}");
    EQUAL("{\"quantity\":\"1000m\"}", "{\"quantity\":\"1\"}");
    EQUAL("{\"quantity\":\"1024Mi\"}", "{\"quantity\":\"1073741824\"}");
    EQUAL("{\"raw\":{\"a\":1,\"b\":2}}", "{\"raw\":{\"b\":2,\"a\":1}}");
    EQUAL("{\"x\":1,\"y\":2}", "{\"y\":2,\"x\":1}");
    EQUAL("{\"duration\":\"0s\"}", "{}");
    DIFFER("{\"optText\":\"\"}", "{}");
    DIFFER("{\"optLeaf\":{}}", "{}");
    DIFFER("{\"texts\":[\"a\",\"b\"]}", "{\"texts\":[\"b\",\"a\"]}");
    DIFFER("{\"labels\":{\"a\":\"1\"}}", "{\"labels\":{\"b\":\"1\"}}");
    DIFFER("{\"either\":0}", "{\"either\":\"0\"}");
    DIFFER("{\"leafMap\":{\"a\":{\"count\":1}}}", "{\"leafMap\":{\"a\":{\"count\":2}}}");
#undef EQUAL
#undef DIFFER
}

static const struct api_object *decode_shared(const char *json, const struct api_projection *projection)
{
    struct kube_error error = {0};
    const struct api_object *object = NULL;
    yyjson_doc *doc = NULL;

    assert_int_equal(api_parse(json, strlen(json), &doc, &error), 0);
    assert_int_equal(api_decode_shared(&shape_type, yyjson_doc_get_root(doc), projection, &object, &error), 0);
    yyjson_doc_free(doc);
    return object;
}

static void shared_objects_are_one_block_and_give_back_interned_strings(void **state)
{
    const char *json =
        "{\"repeated\":\"a phase of this test\",\"labels\":{\"a key of this test\":\"same\",\"b key\":\"same\"},"
        "\"optFlag\":true,\"optShape\":{\"repeated\":\"a phase of this test\"}}";
    size_t strings, strings_before, bytes;
    const struct api_object *first, *second;
    const struct shape *a, *b;

    (void)state;
    kb_intern_stats(&strings_before, &bytes);
    first = decode_shared(json, NULL);
    second = decode_shared(json, NULL);
    a = api_object_data(first);
    b = api_object_data(second);
    assert_true(api_equal(&shape_type, a, b));
    assert_ptr_equal(a->repeated, b->repeated);
    assert_ptr_equal(a->repeated, a->opt_shape->repeated);
    assert_ptr_equal(a->labels.items[0].key, b->labels.items[0].key);
    assert_ptr_equal(a->labels.items[0].value, a->labels.items[1].value);
    assert_ptr_equal(api_object_of(a), first);
    assert_ptr_equal(api_object_type(first), &shape_type);
    assert_int_equal(api_object_bytes(first), 16 + 2 * sizeof(struct shape) + 2 * sizeof(struct api_string_entry) + 5);
    assert_false(api_object_is_projected(first));
    assert_ptr_equal(api_object_ref(first), first);
    api_object_unref(first);
    assert_true(*a->opt_flag);
    kb_intern_stats(&strings, &bytes);
    assert_int_equal(strings, strings_before + 3);
    api_object_unref(first);
    api_object_unref(second);
    api_object_unref(NULL);
    kb_intern_stats(&strings, &bytes);
    assert_int_equal(strings, strings_before);
}

static void a_projection_keeps_its_paths_alone(void **state)
{
    const char *json =
        "{\"text\":\"gone\",\"small\":1,\"metadata\":{},\"leaves\":[{\"name\":\"a\",\"count\":1,\"x\":1},null],"
        "\"leafMap\":{\"k\":{\"name\":\"b\",\"count\":2}},\"optShape\":{\"text\":\"kept\",\"small\":3,\"leaf\":"
        "{\"name\":\"c\",\"y\":1}},\"unknown\":1}";
    const char *const paths[] = {"small", "leaves.name", "leafMap.count", "optShape.text", "optShape.leaf", "smallest"};
    const struct api_object *object = decode_shared(json, &(struct api_projection){paths, KB_ARRAY_LEN(paths)});
    const struct api_object *whole = decode_shared(json, &(struct api_projection){0});

    (void)state;
    assert_string_equal(
        encode(api_object_data(object)),
        "{\"small\":1," LEAF "\"optShape\":{\"text\":\"kept\",\"leaf\":{\"name\":\"c\",\"y\":1}," BARE
        "},\"leaves\":[{\"name\":\"a\"},{\"name\":\"\"}],\"leafMap\":{\"k\":{\"name\":\"\",\"count\":2}}," BARE "}");
    assert_true(api_object_is_projected(object));
    assert_false(api_object_is_projected(whole));
    assert_int_equal(((const struct shape *)api_object_data(whole))->leaf_map.items[0].value.count, 2);
    api_object_unref(object);
    api_object_unref(whole);
}

static void members_are_found_by_path(void **state)
{
    struct shape *shape = decode("{\"optShape\":{\"leaf\":{\"count\":7}},\"labels\":{\"a\":\"b\"}}");
    const struct api_field *field = NULL;
    const void *member = api_field_at(&shape_type, shape, "optShape.leaf.count", &field);

    (void)state;
    assert_non_null(member);
    assert_int_equal(*(const int32_t *)member, 7);
    assert_int_equal(field->kind, API_INT32);
    assert_ptr_equal(api_field_at(&shape_type, shape, "labels", &field), &shape->labels);
    assert_null(api_field_at(&shape_type, shape, "labels.a", &field));
    assert_null(api_field_at(&shape_type, shape, "optLeaf.name", &field));
    assert_null(api_field_at(&shape_type, shape, "nothing", &field));
    assert_null(api_field_at(&shape_type, shape, "", &field));
}

static void values_are_encoded_into_documents(void **state)
{
    struct shape *shape = decode("{\"texts\":[\"a\"],\"unknown\":1}");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *value = api_encode_value(doc, &shape_type, shape, 0);
    kb_cleanup_strbuf struct kb_strbuf pretty = {0};

    (void)state;
    assert_int_equal(yyjson_mut_get_int(yyjson_mut_obj_get(value, "unknown")), 1);
    value = api_encode_field(doc, api_field_find(&shape_type, "texts", 5), shape, 0);
    assert_string_equal(yyjson_mut_get_str(yyjson_mut_arr_get_first(value)), "a");
    assert_null(api_encode_field(doc, api_field_find(&shape_type, "labels", 6), shape, 0));
    api_encode(&shape_leaf_type, &shape->leaf, API_ENCODE_PRETTY, &pretty);
    assert_string_equal(kb_strbuf_text(&pretty), "{\n  \"name\": \"\"\n}");
    yyjson_mut_doc_free(doc);
}

static void maps_and_lists_are_values(void **state)
{
    struct api_string_map map = {0}, subset = {0};
    struct api_strings list = {0};

    (void)state;
    assert_null(api_map_get(&map, "a"));
    assert_false(api_map_delete(&map, "a"));
    assert_true(api_map_contains_all(&map, &subset));
    for (int i = 9; i >= 0; i--)
        api_map_set(arena, &map, kb_arena_printf(arena, "%d", i * 7 % 10), "v");
    assert_int_equal(map.n, 10);
    for (size_t i = 1; i < map.n; i++)
        assert_true(strcmp(map.items[i - 1].key, map.items[i].key) < 0);
    api_map_set(arena, &map, "3", "w");
    assert_string_equal(api_map_get(&map, "3"), "w");
    api_map_set(arena, &subset, "3", "w");
    assert_true(api_map_contains_all(&map, &subset));
    assert_true(api_map_delete(&map, "3"));
    assert_false(api_map_has(&map, "3"));
    assert_true(api_map_has(&map, "4"));
    assert_false(api_map_contains_all(&map, &subset));

    assert_false(api_strings_remove(&list, "a"));
    api_strings_add(arena, &list, "a");
    api_strings_add(arena, &list, "b");
    api_strings_add(arena, &list, "a");
    assert_true(api_strings_has(&list, "b"));
    assert_true(api_strings_remove(&list, "a"));
    assert_int_equal(list.n, 1);
    assert_string_equal(list.items[0], "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_table_of_the_test_is_sorted, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(an_empty_object_follows_the_omit_rules, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(absent_strings_are_empty_and_never_null, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(every_kind_and_shape_comes_back, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(quantities_keep_what_sums_need_until_they_are_written, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(values_take_their_canonical_form, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(null_is_absent, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(of_duplicate_keys_the_last_wins, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(unknown_members_are_kept_and_written_last, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(errors_name_the_path, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(bad_json_is_refused, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(a_bad_quantity_names_the_path, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(a_nul_inside_a_string_survives, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(copies_share_nothing_and_can_grow, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(equality_is_semantic, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(shared_objects_are_one_block_and_give_back_interned_strings, new_arena,
                                        free_arena),
        cmocka_unit_test_setup_teardown(a_projection_keeps_its_paths_alone, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(members_are_found_by_path, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(values_are_encoded_into_documents, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(maps_and_lists_are_values, new_arena, free_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
