/* Tests of kube/timers.h. */
#include "base/arena.h"
#include "base/clock.h"
#include "kube/timers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void nothing(void *userdata)
{
    (void)userdata;
}

static void timers_come_in_order_of_time_then_of_adding(void **state)
{
    (void)state;
    struct kube_timers timers = {0};
    struct kube_timer t;
    uint64_t late = kube_timers_add(&timers, 30, nothing, NULL), a = kube_timers_add(&timers, 10, nothing, NULL),
             b = kube_timers_add(&timers, 10, nothing, NULL);
    assert_int_equal(kube_timers_next(&timers), 10);
    assert_false(kube_timers_take_due(&timers, 9, &t));
    assert_true(kube_timers_take_due(&timers, 30, &t));
    assert_int_equal(t.id, a);
    assert_true(kube_timers_take_due(&timers, 30, &t));
    assert_int_equal(t.id, b);
    assert_true(kube_timers_take_due(&timers, 30, &t));
    assert_int_equal(t.id, late);
    assert_false(kube_timers_take_due(&timers, INT64_MAX, &t));
    assert_int_equal(kube_timers_next(&timers), INT64_MAX);
    kube_timers_done(&timers);
}

static void a_removed_timer_never_comes(void **state)
{
    (void)state;
    struct kube_timers timers = {0};
    struct kube_timer t;
    uint64_t a = kube_timers_add(&timers, 1, nothing, NULL), b = kube_timers_add(&timers, 2, nothing, NULL);
    assert_true(kube_timers_remove(&timers, a));
    assert_false(kube_timers_remove(&timers, a));
    assert_false(kube_timers_remove(&timers, 0));
    assert_true(kube_timers_take_due(&timers, 2, &t));
    assert_int_equal(t.id, b);
    assert_false(kube_timers_take_due(&timers, 2, &t));
    kube_timers_done(&timers);
}

static void a_thousand_timers_in_any_order_come_sorted(void **state)
{
    (void)state;
    struct kube_timers timers = {0};
    struct kb_random *random = kb_random_seeded(7);
    struct kube_timer t;
    uint64_t ids[1000];
    int64_t last = -1;
    for (size_t i = 0; i < KB_ARRAY_LEN(ids); i++)
        ids[i] = kube_timers_add(&timers, (int64_t)kb_random_below(random, 100), nothing, NULL);
    for (size_t i = 0; i < KB_ARRAY_LEN(ids); i += 3)
        assert_true(kube_timers_remove(&timers, ids[i]));
    size_t n = 0;
    for (; kube_timers_take_due(&timers, 100, &t); n++) {
        assert_true(t.due >= last);
        last = t.due;
    }
    assert_int_equal(n, 666);
    kube_timers_done(&timers);
    free(random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_come_in_order_of_time_then_of_adding),
        cmocka_unit_test(a_removed_timer_never_comes),
        cmocka_unit_test(a_thousand_timers_in_any_order_come_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
