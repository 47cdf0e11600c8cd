/* Tests of base/map.h: also long runs of random operations, compared with a model that can not be wrong. */
#include "base/clock.h"
#include "base/map.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    struct kb_map *map = kb_map_new(KB_MAP_COPY);
    const char *key;
    void *value;
    size_t iterator = 0;
    assert_int_equal(kb_map_count(map), 0);
    assert_null(kb_map_get(map, "a"));
    assert_false(kb_map_has(map, "a"));
    assert_null(kb_map_remove(map, "a"));
    assert_false(kb_map_next(map, &iterator, &key, &value));
    kb_map_free(map);
    kb_map_free(NULL);
}

static void a_null_value_is_there(void **state)
{
    (void)state;
    kb_cleanup_map struct kb_map *map = kb_map_new(KB_MAP_COPY);
    assert_null(kb_map_put(map, "", NULL));
    assert_true(kb_map_has(map, ""));
    assert_null(kb_map_get(map, ""));
    assert_int_equal(kb_map_count(map), 1);
}

static void putting_and_removing_return_what_was_there(void **state)
{
    (void)state;
    kb_cleanup_map struct kb_map *map = kb_map_new(KB_MAP_COPY);
    int one, two;
    assert_null(kb_map_put(map, "key", &one));
    assert_ptr_equal(kb_map_put(map, "key", &two), &one);
    assert_ptr_equal(kb_map_get(map, "key"), &two);
    assert_ptr_equal(kb_map_remove(map, "key"), &two);
    assert_null(kb_map_remove(map, "key"));
    assert_int_equal(kb_map_count(map), 0);
}

static void copied_keys_are_the_maps_own(void **state)
{
    (void)state;
    kb_cleanup_map struct kb_map *map = kb_map_new(KB_MAP_COPY);
    char key[] = "default/vm";
    kb_map_put(map, key, key);
    memset(key, 'x', sizeof key - 1);
    assert_ptr_equal(kb_map_get(map, "default/vm"), key);
}

static void a_borrowed_key_moves_with_its_value(void **state)
{
    (void)state;
    kb_cleanup_map struct kb_map *map = kb_map_new(KB_MAP_BORROW);
    char old[] = "default/vm", new[] = "default/vm";
    kb_map_put(map, old, old);
    kb_map_put(map, new, new);
    memset(old, 'x', sizeof old - 1);
    assert_ptr_equal(kb_map_get(map, "default/vm"), new);
}

static void memory_follows_the_content(void **state)
{
    (void)state;
    kb_cleanup_map struct kb_map *map = kb_map_new(KB_MAP_COPY);
    char key[32];
    size_t empty = kb_map_bytes(map);
    assert_in_range(empty, 1, 100);
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "%d", i);
        kb_map_put(map, key, NULL);
    }
    assert_in_range(kb_map_bytes(map), 10000 * 17, 10000 * 17 * 2 + 10000 * 5);
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "%d", i);
        kb_map_remove(map, key);
    }
    assert_in_range(kb_map_bytes(map), empty, empty + 200);
    kb_map_clear(map);
    assert_int_equal(kb_map_bytes(map), empty);
}

#define MODEL_KEYS 400

struct model {
    bool present[MODEL_KEYS];
    char *value[MODEL_KEYS];
    size_t count;
};

static const char *model_key(size_t i, char ret[32])
{
    snprintf(ret, 32, "namespace-%zu/vm-%zu", i % 7, i);
    return ret;
}

static void step(struct kb_map *map, struct model *model, struct kb_random *random)
{
    static char values[64];
    char key[32];
    size_t i = kb_random_below(random, MODEL_KEYS);
    char *before = model->present[i] ? model->value[i] : NULL;
    model_key(i, key);
    if (kb_random_below(random, 100) < (model->count < MODEL_KEYS / 2 ? 60 : 40)) {
        char *value = values + kb_random_below(random, sizeof values);
        assert_ptr_equal(kb_map_put(map, key, value), before);
        model->count += !model->present[i];
        model->present[i] = true;
        model->value[i] = value;
    } else {
        assert_ptr_equal(kb_map_remove(map, key), before);
        model->count -= model->present[i];
        model->present[i] = false;
    }
}

static void compare(const struct kb_map *map, const struct model *model)
{
    char text[32];
    size_t visited = 0;
    const char *key;
    char *value;
    assert_int_equal(kb_map_count(map), model->count);
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        assert_int_equal(kb_map_has(map, model_key(i, text)), model->present[i]);
        assert_ptr_equal(kb_map_get(map, text), model->present[i] ? model->value[i] : NULL);
    }
    kb_map_foreach (map, key, value) {
        assert_ptr_equal(kb_map_get(map, key), value);
        visited++;
    }
    assert_int_equal(visited, model->count);
}

static void random_operations_agree_with_a_model(void **state)
{
    (void)state;
    kb_cleanup_map struct kb_map *map = kb_map_new(KB_MAP_COPY);
    struct kb_random *random = kb_random_seeded(3);
    struct model model = {0};
    for (int i = 0; i < 20000; i++) {
        step(map, &model, random);
        if (i % 50 == 0)
            compare(map, &model);
    }
    compare(map, &model);
    free(random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(a_null_value_is_there),
        cmocka_unit_test(putting_and_removing_return_what_was_there),
        cmocka_unit_test(copied_keys_are_the_maps_own),
        cmocka_unit_test(a_borrowed_key_moves_with_its_value),
        cmocka_unit_test(memory_follows_the_content),
        cmocka_unit_test(random_operations_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
