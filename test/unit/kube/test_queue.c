/* Tests of kube/queue.h: the contract of client-go's work queue, with time moved by hand. */
#include "base/arena.h"
#include "kube/queue.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct observed {
    int64_t depth;
    int added, retried, got, finished;
    int64_t queued_ns, processed_ns;
};

struct fixture {
    struct kb_clock_fake *time;
    struct kube_queue *queue;
    struct observed seen;
    int wakeups;
};

static void on_depth(void *userdata, int64_t depth)
{
    ((struct observed *)userdata)->depth = depth;
}
static void on_added(void *userdata)
{
    ((struct observed *)userdata)->added++;
}
static void on_retried(void *userdata)
{
    ((struct observed *)userdata)->retried++;
}
static void on_queued_for(void *userdata, int64_t ns)
{
    ((struct observed *)userdata)->got++;
    ((struct observed *)userdata)->queued_ns = ns;
}
static void on_processed_for(void *userdata, int64_t ns)
{
    ((struct observed *)userdata)->finished++;
    ((struct observed *)userdata)->processed_ns = ns;
}
static const struct kube_queue_observer observer = {on_depth, on_added, on_retried, on_queued_for, on_processed_for};

static void on_wakeup(void *userdata)
{
    ((struct fixture *)userdata)->wakeups++;
}

static int set_up_with(void **state, const struct kube_backoff *backoff)
{
    struct fixture *f = kb_malloc(sizeof *f);
    f->time = kb_clock_fake_new(0);
    f->queue = kube_queue_new("test", backoff, kb_clock_fake_clock(f->time), &observer, &f->seen);
    kube_queue_set_wakeup(f->queue, on_wakeup, f);
    *state = f;
    return 0;
}
static int set_up(void **state)
{
    return set_up_with(state, NULL);
}
static int tear_down(void **state)
{
    struct fixture *f = *state;
    kube_queue_free(f->queue);
    kb_clock_fake_free(f->time);
    free(f);
    return 0;
}

/* "" when no key is ready. */
static const char *get(struct fixture *f)
{
    static char copy[64];
    char *key = NULL;
    copy[0] = '\0';
    if (kube_queue_try_get(f->queue, &key, NULL))
        snprintf(copy, sizeof copy, "%s", key);
    return copy;
}
static void done(struct fixture *f, const char *key)
{
    kube_queue_done(f->queue, (char *)key);
}
static void advance(struct fixture *f, int64_t ns)
{
    kb_clock_fake_advance(f->time, ns);
}

static void keys_come_in_the_order_they_were_added(void **state)
{
    struct fixture *f = *state;
    kube_queue_add(f->queue, "b");
    kube_queue_add(f->queue, "a");
    kube_queue_add(f->queue, "c");
    assert_string_equal(get(f), "b");
    assert_string_equal(get(f), "a");
    assert_string_equal(get(f), "c");
    assert_string_equal(get(f), "");
}

static void a_key_added_twice_comes_once(void **state)
{
    struct fixture *f = *state;
    kube_queue_add(f->queue, "a");
    kube_queue_add(f->queue, "a");
    assert_int_equal(kube_queue_depth(f->queue), 1);
    assert_string_equal(get(f), "a");
    done(f, "a");
    assert_string_equal(get(f), "");
    assert_int_equal(f->seen.added, 1);
}

static void a_key_in_work_comes_again_only_after_it_is_done(void **state)
{
    struct fixture *f = *state;
    kube_queue_add(f->queue, "a");
    assert_string_equal(get(f), "a");
    kube_queue_add(f->queue, "a");
    kube_queue_add(f->queue, "a");
    assert_string_equal(get(f), "");
    assert_int_equal(kube_queue_processing(f->queue), 1);
    int wakeups = f->wakeups;
    done(f, "a");
    assert_int_equal(f->wakeups, wakeups + 1);
    assert_string_equal(get(f), "a");
    done(f, "a");
    assert_string_equal(get(f), "");
    assert_int_equal(kube_queue_processing(f->queue), 0);
}

static void higher_priorities_come_first_and_equal_ones_in_order(void **state)
{
    struct fixture *f = *state;
    kube_queue_add(f->queue, "low1");
    kube_queue_add_priority(f->queue, "high1", 1000);
    kube_queue_add(f->queue, "low2");
    kube_queue_add_priority(f->queue, "high2", 1000);
    kube_queue_add_priority(f->queue, "negative", -5);
    assert_string_equal(get(f), "high1");
    assert_string_equal(get(f), "high2");
    assert_string_equal(get(f), "low1");
    assert_string_equal(get(f), "low2");
    assert_string_equal(get(f), "negative");
}

static void a_waiting_key_keeps_the_higher_priority(void **state)
{
    struct fixture *f = *state;
    char *key;
    int priority = -1;
    kube_queue_add_priority(f->queue, "first", 5);
    kube_queue_add_priority(f->queue, "raised", 1);
    kube_queue_add_priority(f->queue, "raised", 7);
    kube_queue_add_priority(f->queue, "raised", 2);
    assert_true(kube_queue_try_get(f->queue, &key, &priority));
    assert_string_equal(key, "raised");
    assert_int_equal(priority, 7);
}

static void a_delayed_key_comes_when_it_is_due(void **state)
{
    struct fixture *f = *state;
    kube_queue_add_after(f->queue, "a", 100);
    assert_int_equal(kube_queue_delayed(f->queue), 1);
    assert_string_equal(get(f), "");
    advance(f, 99);
    assert_string_equal(get(f), "");
    advance(f, 1);
    assert_int_equal(kube_queue_next_due(f->queue), 0);
    assert_string_equal(get(f), "a");
    assert_int_equal(kube_queue_next_due(f->queue), INT64_MAX);
}

static void of_two_delays_of_a_key_the_nearer_counts(void **state)
{
    struct fixture *f = *state;
    struct kb_clock *clock = kb_clock_fake_clock(f->time);
    kube_queue_add_after(f->queue, "a", 100);
    kube_queue_add_after(f->queue, "a", 50);
    kube_queue_add_after(f->queue, "a", 200);
    assert_int_equal(kube_queue_delayed(f->queue), 1);
    assert_int_equal(kube_queue_next_due(f->queue) - clock->mono(clock), 50);
    advance(f, 50);
    assert_string_equal(get(f), "a");
    done(f, "a");
    advance(f, 1000);
    assert_string_equal(get(f), "");
}

static void a_delay_of_nothing_or_less_is_an_add(void **state)
{
    struct fixture *f = *state;
    kube_queue_add_after(f->queue, "a", 0);
    kube_queue_add_after(f->queue, "b", -5);
    assert_string_equal(get(f), "a");
    assert_string_equal(get(f), "b");
}

static void adding_now_does_not_take_a_delay_away(void **state)
{
    struct fixture *f = *state;
    kube_queue_add_after(f->queue, "a", 100);
    kube_queue_add(f->queue, "a");
    assert_string_equal(get(f), "a");
    done(f, "a");
    advance(f, 100);
    assert_string_equal(get(f), "a");
}

static void a_wakeup_tells_of_nearer_due_times_only(void **state)
{
    struct fixture *f = *state;
    kube_queue_add_after(f->queue, "a", 100);
    assert_int_equal(f->wakeups, 1);
    kube_queue_add_after(f->queue, "b", 200);
    assert_int_equal(f->wakeups, 1);
    kube_queue_add_after(f->queue, "c", 50);
    assert_int_equal(f->wakeups, 2);
}

static void failures_double_the_delay_until_forgotten(void **state)
{
    struct fixture *f = *state;
    int64_t expected[] = {5, 10, 20, 40};
    for (size_t i = 0; i < KB_ARRAY_LEN(expected); i++) {
        kube_queue_add_rate_limited(f->queue, "a");
        assert_int_equal(kube_queue_failures(f->queue, "a"), i + 1);
        advance(f, expected[i] * KB_NS_PER_MS - 1);
        assert_string_equal(get(f), "");
        advance(f, 1);
        assert_string_equal(get(f), "a");
        done(f, "a");
    }
    kube_queue_forget(f->queue, "a");
    assert_int_equal(kube_queue_failures(f->queue, "a"), 0);
    kube_queue_add_rate_limited(f->queue, "a");
    advance(f, 5 * KB_NS_PER_MS);
    assert_string_equal(get(f), "a");
    assert_int_equal(f->seen.retried, 5);
}

static void the_delay_of_a_key_has_an_upper_limit(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < 100; i++) {
        kube_queue_add_rate_limited(f->queue, "a");
        advance(f, 1000 * KB_NS_PER_S);
        assert_string_equal(get(f), "a");
        done(f, "a");
    }
}

static void the_bucket_spreads_many_failing_keys(void **state)
{
    struct fixture *f = *state;
    char key[16];
    for (int i = 0; i < 130; i++) {
        snprintf(key, sizeof key, "k%d", i);
        kube_queue_add_rate_limited(f->queue, key);
    }
    advance(f, 5 * KB_NS_PER_MS);
    assert_int_equal(kube_queue_depth(f->queue), 100);
    advance(f, KB_NS_PER_S);
    assert_int_equal(kube_queue_depth(f->queue), 110);
    advance(f, 2 * KB_NS_PER_S);
    assert_int_equal(kube_queue_depth(f->queue), 130);
}

static int set_up_slow(void **state)
{
    static const struct kube_backoff slow = {5 * KB_NS_PER_S, 300 * KB_NS_PER_S, 0.2, 1};
    return set_up_with(state, &slow);
}

static void a_queue_may_have_its_own_limits(void **state)
{
    struct fixture *f = *state;
    kube_queue_add_rate_limited(f->queue, "a");
    kube_queue_add_rate_limited(f->queue, "b");
    kube_queue_add_rate_limited(f->queue, "c");
    advance(f, 5 * KB_NS_PER_S);
    assert_int_equal(kube_queue_depth(f->queue), 2); /* a by its failure, b by the bucket */
    advance(f, 5 * KB_NS_PER_S);
    assert_int_equal(kube_queue_depth(f->queue), 3);
}

static void the_observer_sees_depth_and_times(void **state)
{
    struct fixture *f = *state;
    kube_queue_add(f->queue, "a");
    kube_queue_add(f->queue, "b");
    assert_int_equal(f->seen.depth, 2);
    advance(f, 30);
    assert_string_equal(get(f), "a");
    assert_int_equal(f->seen.depth, 1);
    assert_int_equal(f->seen.queued_ns, 30);
    advance(f, 12);
    assert_int_equal(kube_queue_oldest_processing_ns(f->queue), 12);
    done(f, "a");
    assert_int_equal(f->seen.processed_ns, 12);
    assert_int_equal(kube_queue_oldest_processing_ns(f->queue), 0);
    assert_int_equal(f->seen.got, 1);
    assert_int_equal(f->seen.finished, 1);
}

static void the_oldest_running_key_is_found_whatever_ends_first(void **state)
{
    struct fixture *f = *state;
    const char *keys[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) {
        kube_queue_add(f->queue, keys[i]);
        assert_string_equal(get(f), keys[i]);
        advance(f, 10);
    }
    done(f, "b");
    assert_int_equal(kube_queue_oldest_processing_ns(f->queue), 30);
    done(f, "a");
    assert_int_equal(kube_queue_oldest_processing_ns(f->queue), 10);
    done(f, "c");
    assert_int_equal(kube_queue_processing(f->queue), 0);
}

static void thousands_of_delays_come_in_order_of_time(void **state)
{
    struct fixture *f = *state;
    kb_cleanup_free struct kb_random *random = kb_random_seeded(7);
    char key[32];
    for (int i = 0; i < 3000; i++) {
        uint64_t after = 1 + kb_random_below(random, 100000);
        snprintf(key, sizeof key, "%06d-%d", (int)after, i);
        kube_queue_add_after(f->queue, key, (int64_t)after);
    }
    int last = 0, n = 0;
    for (; n < 3000; n++) {
        struct kb_clock *clock = kb_clock_fake_clock(f->time);
        int64_t due = kube_queue_next_due(f->queue);
        if (due > 0)
            advance(f, due - clock->mono(clock));
        int at = atoi(get(f));
        assert_true(at >= last && at > 0);
        last = at;
    }
    assert_string_equal(get(f), "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(keys_come_in_the_order_they_were_added),
        TEST(a_key_added_twice_comes_once),
        TEST(a_key_in_work_comes_again_only_after_it_is_done),
        TEST(higher_priorities_come_first_and_equal_ones_in_order),
        TEST(a_waiting_key_keeps_the_higher_priority),
        TEST(a_delayed_key_comes_when_it_is_due),
        TEST(of_two_delays_of_a_key_the_nearer_counts),
        TEST(a_delay_of_nothing_or_less_is_an_add),
        TEST(adding_now_does_not_take_a_delay_away),
        TEST(a_wakeup_tells_of_nearer_due_times_only),
        TEST(failures_double_the_delay_until_forgotten),
        TEST(the_delay_of_a_key_has_an_upper_limit),
        TEST(the_bucket_spreads_many_failing_keys),
        cmocka_unit_test_setup_teardown(a_queue_may_have_its_own_limits, set_up_slow, tear_down),
        TEST(the_observer_sees_depth_and_times),
        TEST(the_oldest_running_key_is_found_whatever_ends_first),
        TEST(thousands_of_delays_come_in_order_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
