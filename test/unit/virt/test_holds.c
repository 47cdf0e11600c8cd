/* Tests of virt/holds. */
#include "base/time.h"
#include "virt/holds.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

struct fixture {
    struct kb_clock_fake *clock;
    struct virt_holds *holds;
};

static int set_up(void **state)
{
    static struct fixture f;

    f.clock = kb_clock_fake_new(0);
    f.holds = virt_holds_new(kb_clock_fake_clock(f.clock));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    virt_holds_free(f->holds);
    kb_clock_fake_free(f->clock);
    return 0;
}

static void wait_ms(struct fixture *f, int64_t ms)
{
    kb_clock_fake_advance(f->clock, ms * KB_NS_PER_MS);
}

static int64_t left_ms(struct fixture *f, const char *key, const char *uid)
{
    return virt_holds_left(f->holds, key, uid, KB_NS_PER_S) / KB_NS_PER_MS;
}

static int64_t deletion_ms(struct fixture *f, int number)
{
    char key[16];

    snprintf(key, sizeof key, "ns/%d", number);
    return virt_holds_deletion(f->holds, "Kind", key, key) / KB_NS_PER_MS;
}

static void end(struct fixture *f, int number)
{
    char key[16];

    snprintf(key, sizeof key, "ns/%d", number);
    virt_holds_end_deletion(f->holds, "Kind", key);
}

static void what_has_not_begun_is_not_held(void **state)
{
    assert_int_equal(left_ms(*state, "ns/a", "1"), 0);
}

static void a_hold_ends_after_its_time(void **state)
{
    struct fixture *f = *state;

    virt_holds_begin(f->holds, "ns/a", "1");
    wait_ms(f, 400);
    virt_holds_begin(f->holds, "ns/a", "1");
    assert_int_equal(left_ms(f, "ns/a", "1"), 600);
    wait_ms(f, 600);
    assert_int_equal(left_ms(f, "ns/a", "1"), 0);
}

static void a_successor_of_the_same_name_is_another_one(void **state)
{
    struct fixture *f = *state;

    virt_holds_begin(f->holds, "ns/a", "1");
    assert_int_equal(left_ms(f, "ns/a", "2"), 0);
    wait_ms(f, 500);
    virt_holds_begin(f->holds, "ns/a", "2");
    assert_int_equal(left_ms(f, "ns/a", "2"), 1000);
    assert_int_equal(left_ms(f, "ns/a", "1"), 0);
    virt_holds_end(f->holds, "ns/a");
    assert_int_equal(left_ms(f, "ns/a", "2"), 0);
}

static void few_deletions_are_held_for_less_than_a_second(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < VIRT_HOLD_MANY; i++)
        assert_int_equal(deletion_ms(f, i), 750);
    assert_false(virt_holds_many(f->holds));
    wait_ms(f, 750);
    assert_int_equal(deletion_ms(f, 0), 0);
}

static void many_deletions_are_held_while_others_end(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i <= VIRT_HOLD_MANY; i++)
        deletion_ms(f, i);
    assert_true(virt_holds_many(f->holds));
    assert_int_equal(deletion_ms(f, 0), 3000);
    wait_ms(f, 2000);
    end(f, 1);
    assert_int_equal(deletion_ms(f, 0), 3000); /* still, though there are few now */
    wait_ms(f, 3000);
    assert_int_equal(deletion_ms(f, 0), 0);
}

static void one_of_many_is_not_held_for_ever(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i <= VIRT_HOLD_MANY; i++)
        deletion_ms(f, i);
    assert_true(deletion_ms(f, 0) > 0);
    for (int s = 1; s < 30; s++) {
        wait_ms(f, 1000);
        deletion_ms(f, 100 + s);
        end(f, 100 + s);
        assert_true(deletion_ms(f, 0) > 0);
    }
    wait_ms(f, 1000);
    assert_int_equal(deletion_ms(f, 0), 0);
}

static void deletions_that_take_their_time_are_not_among_many(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i <= VIRT_HOLD_MANY; i++)
        deletion_ms(f, i);
    wait_ms(f, 3000);
    for (int i = 0; i <= VIRT_HOLD_MANY; i++)
        assert_int_equal(deletion_ms(f, i), 0);
    assert_int_equal(deletion_ms(f, 100), 750);
    end(f, 100);
    assert_int_equal(deletion_ms(f, 0), 0); /* told, and stays so */
    for (int i = 0; i <= VIRT_HOLD_MANY; i++)
        end(f, i);
    assert_int_equal(deletion_ms(f, 101), 750);
}

static int64_t moment_s(int64_t began_s)
{
    char since[KB_TIME_TEXT];

    kb_time_format(began_s * KB_NS_PER_S, since);
    return virt_moment_left(1000 * KB_NS_PER_S, since, 10 * KB_NS_PER_S) / KB_NS_PER_S;
}

static void a_moment_ends_also_when_the_clocks_differ(void **state)
{
    (void)state;
    assert_int_equal(moment_s(1000), 10);
    assert_int_equal(moment_s(996), 6);
    assert_int_equal(moment_s(990), 0);
    assert_int_equal(moment_s(1005), 10); /* the API server's clock is ahead */
    assert_int_equal(moment_s(1011), 0);
    assert_int_equal(virt_moment_left(0, "", KB_NS_PER_S), 0);
    assert_int_equal(virt_moment_left(0, NULL, KB_NS_PER_S), 0);
}

#define HOLDS_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOLDS_TEST(what_has_not_begun_is_not_held),
        HOLDS_TEST(a_hold_ends_after_its_time),
        HOLDS_TEST(a_successor_of_the_same_name_is_another_one),
        HOLDS_TEST(few_deletions_are_held_for_less_than_a_second),
        HOLDS_TEST(many_deletions_are_held_while_others_end),
        HOLDS_TEST(one_of_many_is_not_held_for_ever),
        HOLDS_TEST(deletions_that_take_their_time_are_not_among_many),
        cmocka_unit_test(a_moment_ends_also_when_the_clocks_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
