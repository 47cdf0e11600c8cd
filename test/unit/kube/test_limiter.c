/* Tests of kube/limiter.h, on a clock that the test moves. */
#include "base/arena.h"
#include "kube/limiter.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS KB_NS_PER_MS
#define S  KB_NS_PER_S

struct world {
    struct kb_clock_fake *time;
    struct kb_clock *clock;
    struct kube_limiter *limiter;
};

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof *w);
    w->time = kb_clock_fake_new(0);
    w->clock = kb_clock_fake_clock(w->time);
    w->limiter = kube_limiter_new(w->clock, 10, 3);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    kube_limiter_free(w->limiter);
    kb_clock_fake_free(w->time);
    free(w);
    return 0;
}

static void use_burst(struct world *w)
{
    for (int i = 0; i < 3; i++)
        assert_int_equal(kube_limiter_take(w->limiter, INT64_MAX), 0);
}

static void a_burst_goes_through_at_once_and_then_tokens_come_at_the_rate(void **state)
{
    struct world *w = *state;
    use_burst(w);
    assert_int_equal(kube_limiter_reserve(w->limiter), 100 * MS);
    assert_int_equal(kube_limiter_reserve(w->limiter), 200 * MS);
}

static void an_idle_bucket_never_holds_more_than_the_burst(void **state)
{
    struct world *w = *state;
    kb_clock_fake_advance(w->time, 3600 * S);
    use_burst(w);
    assert_int_equal(kube_limiter_reserve(w->limiter), 100 * MS);
}

static void tokens_come_back_with_time(void **state)
{
    struct world *w = *state;
    use_burst(w);
    kb_clock_fake_advance(w->time, 150 * MS);
    assert_int_equal(kube_limiter_take(w->limiter, 0), 0);
    assert_int_equal(kube_limiter_reserve(w->limiter), 50 * MS);
}

static void a_token_beyond_the_deadline_is_refused_and_not_taken(void **state)
{
    struct world *w = *state;
    use_burst(w);
    int64_t now = w->clock->mono(w->clock);
    for (int i = 0; i < 100; i++)
        assert_int_equal(kube_limiter_take(w->limiter, now + 99 * MS), -1);
    assert_int_equal(kube_limiter_ticket(w->limiter, now + 99 * MS), 0);
    assert_int_equal(kube_limiter_reserve(w->limiter), 100 * MS);
}

static void a_higher_rate_brings_waiting_tickets_forward_in_order(void **state)
{
    struct world *w = *state;
    use_burst(w);
    uint64_t first = kube_limiter_ticket(w->limiter, INT64_MAX), second = kube_limiter_ticket(w->limiter, INT64_MAX);
    assert_int_equal(kube_limiter_due(w->limiter, first), 100 * MS);
    assert_int_equal(kube_limiter_due(w->limiter, second), 200 * MS);
    kube_limiter_set(w->limiter, 100, 3);
    assert_int_equal(kube_limiter_due(w->limiter, first), 10 * MS);
    assert_int_equal(kube_limiter_due(w->limiter, second), 20 * MS);
}

static void a_smaller_burst_cuts_the_bucket_and_equal_values_change_nothing(void **state)
{
    struct world *w = *state;
    kube_limiter_set(w->limiter, 10, 3);
    kube_limiter_set(w->limiter, 10, 1);
    assert_int_equal(kube_limiter_reserve(w->limiter), 0);
    assert_int_equal(kube_limiter_reserve(w->limiter), 100 * MS);
    kube_limiter_set(w->limiter, 10, 1);
    assert_int_equal(kube_limiter_reserve(w->limiter), 200 * MS);
}

static void a_rate_of_zero_means_never(void **state)
{
    struct world *w = *state;
    kube_limiter_set(w->limiter, 0, 1);
    assert_int_equal(kube_limiter_take(w->limiter, INT64_MAX - 1), 0);
    assert_int_equal(kube_limiter_take(w->limiter, INT64_MAX - 1), -1);
}

static void *take_in_thread(void *userdata)
{
    struct world *w = userdata;
    int64_t *waited = kb_malloc(sizeof *waited);
    *waited = kube_limiter_take(w->limiter, INT64_MAX);
    return waited;
}

static int64_t join(pthread_t thread)
{
    int64_t *waited;
    assert_int_equal(pthread_join(thread, (void **)&waited), 0);
    int64_t ns = *waited;
    free(waited);
    return ns;
}

static void a_waiter_sleeps_until_its_token_is_due(void **state)
{
    struct world *w = *state;
    use_burst(w);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_in_thread, w), 0);
    kb_clock_fake_await(w->time, 1);
    kb_clock_fake_advance(w->time, 100 * MS);
    assert_int_equal(join(thread), 100 * MS);
}

static void a_higher_rate_wakes_a_waiter(void **state)
{
    struct world *w = *state;
    use_burst(w);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_in_thread, w), 0);
    kb_clock_fake_await(w->time, 1);
    kube_limiter_set(w->limiter, 100, 3);
    while (kb_clock_fake_next(w->time) != w->clock->mono(w->clock) + 10 * MS)
        sched_yield();
    kb_clock_fake_advance(w->time, 10 * MS);
    assert_int_equal(join(thread), 10 * MS);
}

static void closing_wakes_waiters_and_refuses_later_ones(void **state)
{
    struct world *w = *state;
    use_burst(w);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, take_in_thread, w), 0);
    kb_clock_fake_await(w->time, 1);
    kube_limiter_close(w->limiter);
    assert_int_equal(join(thread), -1);
    assert_int_equal(kube_limiter_take(w->limiter, INT64_MAX), -1);
    assert_int_equal(kube_limiter_ticket(w->limiter, INT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_burst_goes_through_at_once_and_then_tokens_come_at_the_rate, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_idle_bucket_never_holds_more_than_the_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokens_come_back_with_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_token_beyond_the_deadline_is_refused_and_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_higher_rate_brings_waiting_tickets_forward_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_smaller_burst_cuts_the_bucket_and_equal_values_change_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_rate_of_zero_means_never, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_waiter_sleeps_until_its_token_is_due, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_higher_rate_wakes_a_waiter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_wakes_waiters_and_refuses_later_ones, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
