/* Tests of base/vec.h. */
#include "base/vec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct numbers {
    size_t n;
    int *items;
};

static void check_order(const struct numbers *v, int n)
{
    assert_int_equal(v->n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(v->items[i], i);
}

static void elements_keep_their_order_on_the_heap(void **state)
{
    (void)state;
    struct numbers v = {0};
    for (int i = 0; i < 1000; i++)
        *kb_vec_push(NULL, &v) = i;
    check_order(&v, 1000);
    free(v.items);
}

static void elements_keep_their_order_in_an_arena(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct numbers v = {0}, other = {0};
    for (int i = 0; i < 1000; i++) {
        *kb_vec_push(arena, &v) = i;
        *kb_vec_push(arena, &other) = i;
    }
    check_order(&v, 1000);
    check_order(&other, 1000);
}

static void new_elements_are_zeroed(void **state)
{
    (void)state;
    struct numbers v = {0};
    for (int i = 0; i < 100; i++) {
        int *item = kb_vec_push(NULL, &v);
        assert_int_equal(*item, 0);
        *item = -1;
        if (i % 3 == 0)
            kb_vec_remove(&v, v.n - 1);
    }
    free(v.items);
}

static void removing_closes_the_gap(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct {
        size_t n;
        const char **items;
    } v = {0};
    *kb_vec_push(arena, &v) = "a";
    *kb_vec_push(arena, &v) = "b";
    *kb_vec_push(arena, &v) = "c";
    kb_vec_remove(&v, 1);
    assert_int_equal(v.n, 2);
    assert_string_equal(v.items[0], "a");
    assert_string_equal(v.items[1], "c");
    kb_vec_remove(&v, 1);
    kb_vec_remove(&v, 0);
    *kb_vec_push(arena, &v) = "d";
    assert_int_equal(v.n, 1);
    assert_string_equal(v.items[0], "d");
}

static void walking_visits_each_element_once(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct numbers v = {0};
    int sum = 0;
    kb_vec_foreach (item, &v)
        sum += *item;
    assert_int_equal(sum, 0);
    for (int i = 1; i <= 4; i++)
        *kb_vec_push(arena, &v) = i;
    kb_vec_foreach (item, &v)
        sum += *item;
    assert_int_equal(sum, 10);
}

static void capacity_is_the_next_power_of_two(void **state)
{
    (void)state;
    static const size_t table[][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {1000, 1024}};
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++)
        assert_int_equal(kb_vec_capacity(table[i][0]), table[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_keep_their_order_on_the_heap),
        cmocka_unit_test(elements_keep_their_order_in_an_arena),
        cmocka_unit_test(new_elements_are_zeroed),
        cmocka_unit_test(removing_closes_the_gap),
        cmocka_unit_test(walking_visits_each_element_once),
        cmocka_unit_test(capacity_is_the_next_power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
