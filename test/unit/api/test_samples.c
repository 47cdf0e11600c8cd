/*
 * What holds for every type: each sample comes back as Go wrote it, copies are equal, and patches between random
 * mixtures of samples do what they say.
 */
#include "json_patch.h"
#include "samples.h"

#include "base/clock.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS 12 /* random pairs of each sample */

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

static void *decode(const struct api_type *type, yyjson_val *value)
{
    struct kube_error error = {0};
    void *data = NULL;

    if (api_decode_value(arena, type, value, &data, &error) < 0)
        fail_msg("%s: %s", type->name, error.message);
    return data;
}

static void *decode_mut(const struct api_type *type, yyjson_mut_val *value)
{
    yyjson_doc *doc = yyjson_mut_val_imut_copy(value, NULL);
    void *data = decode(type, yyjson_doc_get_root(doc));

    yyjson_doc_free(doc);
    return data;
}

static const char *encode(const struct api_type *type, const void *data)
{
    return api_encode_text(arena, type, data, 0);
}

static const char *text_of(yyjson_val *value)
{
    char *heap = yyjson_val_write(value, 0, NULL);
    const char *text = kb_arena_strdup(arena, heap);

    free(heap);
    return text;
}

static const char *text_of_mut(yyjson_mut_val *value)
{
    char *heap = yyjson_mut_val_write(value, 0, NULL);
    const char *text = kb_arena_strdup(arena, heap ? heap : "(nothing)");

    free(heap);
    return text;
}

/* cmocka's own messages end after 1 KiB. */
static void differ(const struct api_type *type, const char *a, const char *b, const char *patch)
{
    fprintf(stderr, "%s:\n%s\nand\n%s\n", type->name, a, b);
    if (patch)
        fprintf(stderr, "by\n%s\n", patch);
    fail();
}

static void check_same_text(const struct api_type *type, const char *a, const char *b)
{
    if (!kb_streq(a, b))
        differ(type, a, b, NULL);
}

static void each(void (*check)(const struct sample *sample))
{
    size_t n;
    const struct sample *all = samples(&n);

    for (size_t i = 0; i < n; i++) {
        kb_arena_reset(arena);
        check(&all[i]);
    }
}

/* ---- as Go wrote it ---- */

static void check_comes_back(const struct sample *sample)
{
    const char *expected = text_of(sample->object), *text = encode(sample->type, decode(sample->type, sample->object));

    check_same_text(sample->type, expected, text);
}

static void every_sample_comes_back_as_go_wrote_it(void **state)
{
    (void)state;
    each(check_comes_back);
}

static void check_text_and_value(const struct sample *sample)
{
    const char *json = text_of(sample->object);
    struct kube_error error = {0};
    void *data = NULL;

    if (api_decode(arena, sample->type, json, strlen(json), &data, &error) < 0)
        fail_msg("%s: %s", sample->type->name, error.message);
    check_same_text(sample->type, encode(sample->type, data), json);
}

static void decoding_text_and_decoding_values_are_the_same(void **state)
{
    (void)state;
    each(check_text_and_value);
}

/* ---- copies ---- */

static void check_differs_not(const struct api_type *type, const void *a, const void *b)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    assert_true(api_equal(type, a, b));
    assert_null(api_diff_merge(doc, type, a, b));
    assert_int_equal(yyjson_mut_arr_size(api_diff_json(doc, type, a, b)), 0);
    yyjson_mut_doc_free(doc);
}

static void check_copies(const struct sample *sample)
{
    const void *data = decode(sample->type, sample->object), *clone = api_clone(arena, sample->type, data);
    const struct api_object *copied = api_object_new(sample->type, data), *decoded = NULL;
    struct kube_error error = {0};

    assert_int_equal(api_decode_shared(sample->type, sample->object, NULL, &decoded, &error), 0);
    check_differs_not(sample->type, data, clone);
    check_differs_not(sample->type, clone, data);
    check_differs_not(sample->type, data, api_object_data(copied));
    check_differs_not(sample->type, api_object_data(decoded), data);
    check_same_text(sample->type, encode(sample->type, data), encode(sample->type, api_object_data(decoded)));
    assert_int_equal(api_object_bytes(copied), api_object_bytes(decoded));
    assert_int_equal(api_hash(sample->type, data), api_hash(sample->type, api_object_data(copied)));
    api_object_unref(copied);
    api_object_unref(decoded);
}

static void clones_and_shared_objects_are_equal(void **state)
{
    (void)state;
    each(check_copies);
}

/* ---- unknown members ---- */

static void check_same_value(yyjson_mut_doc *doc, yyjson_mut_val *value, const char *json)
{
    yyjson_doc *parsed = yyjson_read(json, strlen(json), 0);

    assert_true(yyjson_mut_equals(value, yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed))));
    yyjson_doc_free(parsed);
}

static void check_unknown(const struct sample *sample)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *value = yyjson_val_mut_copy(doc, sample->object);
    kb_cleanup_strbuf struct kb_strbuf known = {0};
    void *data;

    yyjson_mut_obj_add_str(doc, value, "notYetKnown", "kept");
    data = decode_mut(sample->type, value);
    check_same_value(doc, value, encode(sample->type, data));
    check_same_value(doc, value, encode(sample->type, api_clone(arena, sample->type, data)));
    api_encode(sample->type, data, API_ENCODE_KNOWN_ONLY, &known);
    assert_null(strstr(kb_strbuf_text(&known), "notYetKnown"));
    assert_int_equal(api_hash(sample->type, data), api_hash(sample->type, decode(sample->type, sample->object)));
    yyjson_mut_doc_free(doc);
}

static void unknown_members_survive(void **state)
{
    (void)state;
    each(check_unknown);
}

static void managed_fields_are_skipped(void **state)
{
    const char *json =
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[{\"manager\":\"m\"}]},\"spec\":{\"managedFields\":1}}";
    const struct api_type *type = api_type_of("kubevirt.io/v1", "VirtualMachineInstance");
    struct kube_error error = {0};
    const char *text;
    void *data;

    (void)state;
    assert_non_null(type);
    assert_ptr_equal(type, api_type_find("kubevirt.io", "v1", "VirtualMachineInstance"));
    assert_null(api_type_of("kubevirt.io/v9", "VirtualMachineInstance"));
    assert_non_null(api_type_of("v1", "Pod"));
    assert_null(api_type_of("kubevirt.io/v1", "Pod"));
    assert_int_equal(api_decode(arena, type, json, strlen(json), &data, &error), 0);
    text = encode(type, data);
    assert_null(strstr(text, "manager\""));
    assert_non_null(strstr(text, "\"managedFields\":1}"));
}

/* ---- hostile values ---- */

/* Every member of the sample, replaced in turn by values of other types, is refused or read, and then comes back. */
static void check_hostile(const struct sample *sample, yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_mut_val *value,
                          unsigned depth)
{
    const char *const values[] = {"null", "true", "1", "1.5", "\"x\"", "[]", "[1]", "{}", "{\"a\":[{}]}"};
    yyjson_mut_obj_iter iterator = yyjson_mut_obj_iter_with(value);
    yyjson_mut_val *key, *child, kept;

    while ((key = yyjson_mut_obj_iter_next(&iterator))) {
        child = yyjson_mut_obj_iter_get_val(key);
        if (depth > 0)
            check_hostile(sample, doc, root, child, depth - 1);
        kept = *child;
        for (size_t i = 0; i < KB_ARRAY_LEN(values); i++) {
            yyjson_doc *parsed = yyjson_read(values[i], strlen(values[i]), 0), *again;
            yyjson_mut_val *other = yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));
            struct kube_error error = {0};
            void *data;

            child->tag = other->tag;
            child->uni = other->uni;
            again = yyjson_mut_val_imut_copy(root, NULL);
            kb_arena_reset(arena);
            if (api_decode_value(arena, sample->type, yyjson_doc_get_root(again), &data, &error) == 0)
                assert_true(api_equal(sample->type, data, api_clone(arena, sample->type, data)));
            else
                assert_true(error.message[0] != 0);
            yyjson_doc_free(again);
            yyjson_doc_free(parsed);
        }
        child->tag = kept.tag;
        child->uni = kept.uni;
    }
}

static void members_of_a_wrong_type_are_refused_or_harmless(void **state)
{
    size_t n;
    const struct sample *all = samples(&n);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *root = yyjson_val_mut_copy(doc, all[i].object);

        if (kb_streq(all[i].name, "full"))
            check_hostile(&all[i], doc, root, root, 2);
        yyjson_mut_doc_free(doc);
    }
}

/* ---- patches ---- */

static bool chance(struct kb_random *random, unsigned percent)
{
    return kb_random_below(random, 100) < percent;
}

static yyjson_mut_val *mix(yyjson_mut_doc *doc, struct kb_random *random, yyjson_val *a, yyjson_val *b);

static yyjson_mut_val *mix_lists(yyjson_mut_doc *doc, struct kb_random *random, yyjson_val *a, yyjson_val *b)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    size_t i, n;
    yyjson_val *item;

    yyjson_arr_foreach(a, i, n, item)
    {
        if (chance(random, 80) && !yyjson_is_null(item))
            yyjson_mut_arr_append(list, mix(doc, random, item, item));
    }
    yyjson_arr_foreach(b, i, n, item)
    {
        if (chance(random, 20))
            yyjson_mut_arr_prepend(list, yyjson_val_mut_copy(doc, item));
    }
    return list;
}

static void add_unless_null(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *key, yyjson_mut_val *value)
{
    if (value)
        yyjson_mut_obj_add(object, yyjson_val_mut_copy(doc, key), value);
}

static yyjson_mut_val *mix_objects(yyjson_mut_doc *doc, struct kb_random *random, yyjson_val *a, yyjson_val *b)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    size_t i, n;
    yyjson_val *key, *value, *other;

    yyjson_obj_foreach(a, i, n, key, value)
    {
        other = yyjson_obj_getn(b, yyjson_get_str(key), yyjson_get_len(key));
        if (chance(random, 85))
            add_unless_null(doc, object, key, mix(doc, random, value, other ? other : value));
    }
    yyjson_obj_foreach(b, i, n, key, value)
    {
        other = yyjson_obj_getn(a, yyjson_get_str(key), yyjson_get_len(key));
        if (!other && chance(random, 50))
            add_unless_null(doc, object, key, mix(doc, random, value, value));
    }
    return object;
}

/* A value made of parts of two samples of the same type. NULL for null, which a merge patch can't say. */
static yyjson_mut_val *mix(yyjson_mut_doc *doc, struct kb_random *random, yyjson_val *a, yyjson_val *b)
{
    if (yyjson_is_null(a) || yyjson_is_null(b))
        return NULL;
    if (yyjson_is_obj(a) && yyjson_is_obj(b))
        return mix_objects(doc, random, a, b);
    if (yyjson_is_arr(a) && yyjson_is_arr(b))
        return mix_lists(doc, random, a, b);
    return yyjson_val_mut_copy(doc, chance(random, 50) ? a : b);
}

/* Members that no type knows, at the top and one level below. */
static void add_unknown(yyjson_mut_doc *doc, struct kb_random *random, yyjson_mut_val *object, unsigned depth)
{
    yyjson_mut_val *value = yyjson_mut_obj(doc), *key;
    yyjson_mut_obj_iter iterator = yyjson_mut_obj_iter_with(object);

    while (depth > 0 && (key = yyjson_mut_obj_iter_next(&iterator)))
        if (yyjson_mut_is_obj(yyjson_mut_obj_iter_get_val(key)) && kb_streq(yyjson_mut_get_str(key), "spec"))
            add_unknown(doc, random, yyjson_mut_obj_iter_get_val(key), depth - 1);
    yyjson_mut_obj_add_int(doc, value, "deep~/er", kb_random_below(random, 3));
    if (chance(random, 50))
        yyjson_mut_obj_add_val(doc, object, "un~known/1", value);
    if (chance(random, 50))
        yyjson_mut_obj_add_int(doc, object, "unknown2", kb_random_below(random, 3));
    if (chance(random, 30))
        yyjson_mut_obj_add_str(doc, object, "unknown3", "x");
}

struct pair {
    const struct api_type *type;
    yyjson_mut_doc *doc;
    yyjson_mut_val *before, *after; /* as the server holds them */
};

static void check_merge_patch(const struct pair *pair, const void *before, const void *after)
{
    yyjson_mut_val *patch = api_diff_merge(pair->doc, pair->type, before, after), *result;

    if (!patch) {
        assert_true(api_equal(pair->type, before, after));
        return;
    }
    result = yyjson_mut_merge_patch(pair->doc, pair->before, patch);
    if (!api_equal(pair->type, decode_mut(pair->type, result), after))
        differ(pair->type, text_of_mut(pair->before), encode(pair->type, after), text_of_mut(patch));
}

static void check_json_patch(const struct pair *pair, const void *before, const void *after)
{
    yyjson_mut_val *patch = api_diff_json(pair->doc, pair->type, before, after);
    yyjson_mut_val *result = yyjson_mut_val_mut_copy(pair->doc, pair->before);

    assert_int_equal(yyjson_mut_arr_size(patch) == 0, api_equal(pair->type, before, after));
    if (!json_patch_apply(pair->doc, result, patch) || !api_equal(pair->type, decode_mut(pair->type, result), after))
        differ(pair->type, text_of_mut(pair->before), encode(pair->type, after), text_of_mut(patch));
}

static void each_pair(void (*check)(const struct pair *pair, const void *before, const void *after))
{
    kb_cleanup_free struct kb_random *random = kb_random_seeded(20);
    size_t n;
    const struct sample *all = samples(&n);

    for (size_t i = 0; i < n; i++) {
        const struct sample *other = i + 1 < n && all[i + 1].type == all[i].type ? &all[i + 1] : &all[i];

        for (int round = 0; round < ROUNDS; round++) {
            struct pair pair = {.type = all[i].type, .doc = yyjson_mut_doc_new(NULL)};

            kb_arena_reset(arena);
            pair.before = mix(pair.doc, random, all[i].object, other->object);
            pair.after = mix(pair.doc, random, other->object, all[i].object);
            add_unknown(pair.doc, random, pair.before, 1);
            add_unknown(pair.doc, random, pair.after, 1);
            check(&pair, decode_mut(pair.type, pair.before), decode_mut(pair.type, pair.after));
            yyjson_mut_doc_free(pair.doc);
        }
    }
}

static void merge_patches_turn_one_object_into_another(void **state)
{
    (void)state;
    each_pair(check_merge_patch);
}

static void json_patches_turn_one_object_into_another(void **state)
{
    (void)state;
    each_pair(check_json_patch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_sample_comes_back_as_go_wrote_it, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(decoding_text_and_decoding_values_are_the_same, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(clones_and_shared_objects_are_equal, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(unknown_members_survive, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(managed_fields_are_skipped, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(members_of_a_wrong_type_are_refused_or_harmless, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(merge_patches_turn_one_object_into_another, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(json_patches_turn_one_object_into_another, new_arena, free_arena),
    };

    return cmocka_run_group_tests(tests, NULL, samples_done);
}
