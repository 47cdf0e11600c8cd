/* Tests of base/clock.h: the system's clock, and threads that wait by the fake one. */
#include "base/arena.h"
#include "base/clock.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define THREADS 4

static void the_fake_clock_stands_still(void **state)
{
    (void)state;
    struct kb_clock_fake *fake = kb_clock_fake_new(1000);
    struct kb_clock *clock = kb_clock_fake_clock(fake);
    int64_t mono = clock->mono(clock);
    assert_int_equal(clock->wall(clock), 1000);
    assert_int_equal(clock->mono(clock), mono);
    kb_clock_fake_advance(fake, 500);
    assert_int_equal(clock->wall(clock), 1500);
    assert_int_equal(clock->mono(clock), mono + 500);
    kb_clock_fake_free(fake);
}

struct sleeper {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    struct kb_clock *clock;
    int64_t deadline;
    bool stop; /* guarded by mutex */
    bool passed;
    int64_t woke_at;
};

static void *sleep_until_deadline(void *userdata)
{
    struct sleeper *s = userdata;
    pthread_mutex_lock(&s->mutex);
    while (!s->stop && !s->passed)
        s->passed = s->clock->wait(s->clock, &s->cond, &s->mutex, s->deadline);
    s->woke_at = s->clock->mono(s->clock);
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

static pthread_t start_sleeper(struct sleeper *s, struct kb_clock *clock, int64_t deadline)
{
    pthread_t thread;
    *s = (struct sleeper){.clock = clock, .deadline = deadline};
    pthread_mutex_init(&s->mutex, NULL);
    kb_cond_init(&s->cond);
    assert_int_equal(pthread_create(&thread, NULL, sleep_until_deadline, s), 0);
    return thread;
}

static void join_sleeper(struct sleeper *s, pthread_t thread)
{
    pthread_join(thread, NULL);
    pthread_cond_destroy(&s->cond);
    pthread_mutex_destroy(&s->mutex);
}

static void advancing_wakes_those_whose_deadline_has_passed(void **state)
{
    (void)state;
    struct kb_clock_fake *fake = kb_clock_fake_new(0);
    struct kb_clock *clock = kb_clock_fake_clock(fake);
    struct sleeper sleepers[THREADS];
    pthread_t threads[THREADS];
    int64_t start = clock->mono(clock);
    assert_true(kb_clock_fake_next(fake) == INT64_MAX);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start_sleeper(&sleepers[i], clock, start + (i + 1) * KB_NS_PER_S);
    kb_clock_fake_await(fake, THREADS);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(kb_clock_fake_next(fake), start + (i + 1) * KB_NS_PER_S);
        kb_clock_fake_advance(fake, KB_NS_PER_S);
        join_sleeper(&sleepers[i], threads[i]);
        assert_true(sleepers[i].passed);
        assert_int_equal(sleepers[i].woke_at, start + (i + 1) * KB_NS_PER_S);
    }
    kb_clock_fake_free(fake);
}

static void a_deadline_in_the_past_does_not_wait(void **state)
{
    (void)state;
    struct kb_clock_fake *fake = kb_clock_fake_new(0);
    struct kb_clock *clock = kb_clock_fake_clock(fake);
    struct sleeper s;
    join_sleeper(&s, start_sleeper(&s, clock, clock->mono(clock)));
    assert_true(s.passed);
    kb_clock_fake_free(fake);
}

static void a_signal_ends_a_wait_before_its_deadline(void **state)
{
    (void)state;
    struct kb_clock_fake *fake = kb_clock_fake_new(0);
    struct kb_clock *clock = kb_clock_fake_clock(fake);
    struct sleeper s;
    pthread_t thread = start_sleeper(&s, clock, clock->mono(clock) + 1);
    kb_clock_fake_await(fake, 1);
    pthread_mutex_lock(&s.mutex);
    s.stop = true;
    pthread_cond_signal(&s.cond);
    pthread_mutex_unlock(&s.mutex);
    join_sleeper(&s, thread);
    assert_false(s.passed);
    kb_clock_fake_free(fake);
}

/* Sleeps a thousand times for one second each. */
static void *sleep_often(void *userdata)
{
    struct sleeper *s = userdata;
    for (int i = 0; i < 1000; i++) {
        s->passed = false;
        s->deadline = s->clock->mono(s->clock) + KB_NS_PER_S;
        sleep_until_deadline(s);
    }
    return NULL;
}

static void no_wake_up_is_lost(void **state)
{
    (void)state;
    struct kb_clock_fake *fake = kb_clock_fake_new(0);
    struct sleeper s = {.mutex = PTHREAD_MUTEX_INITIALIZER, .clock = kb_clock_fake_clock(fake)};
    pthread_t thread;
    kb_cond_init(&s.cond);
    assert_int_equal(pthread_create(&thread, NULL, sleep_often, &s), 0);
    for (int i = 0; i < 1000; i++) {
        kb_clock_fake_await(fake, 1);
        kb_clock_fake_advance(fake, KB_NS_PER_S);
    }
    join_sleeper(&s, thread);
    kb_clock_fake_free(fake);
}

static void the_system_clock_waits_until_its_deadline(void **state)
{
    (void)state;
    struct kb_clock *clock = kb_clock_system();
    struct sleeper s;
    int64_t start = clock->mono(clock);
    join_sleeper(&s, start_sleeper(&s, clock, start + KB_NS_PER_MS));
    assert_true(s.passed);
    assert_true(s.woke_at >= start + KB_NS_PER_MS);
    join_sleeper(&s, start_sleeper(&s, clock, -1));
    assert_true(s.passed);
    assert_true(clock->wall(clock) > 1700000000 * KB_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fake_clock_stands_still),
        cmocka_unit_test(advancing_wakes_those_whose_deadline_has_passed),
        cmocka_unit_test(a_deadline_in_the_past_does_not_wait),
        cmocka_unit_test(a_signal_ends_a_wait_before_its_deadline),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(the_system_clock_waits_until_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
