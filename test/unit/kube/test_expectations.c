/* Tests of kube/expectations.h. */
#include "base/arena.h"
#include "kube/expectations.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct kb_clock_fake *time;
    struct kube_expectations *e;
};

static int set_up(void **state)
{
    struct fixture *f = kb_malloc(sizeof *f);
    f->time = kb_clock_fake_new(0);
    f->e = kube_expectations_new(kb_clock_fake_clock(f->time));
    *state = f;
    return 0;
}
static int tear_down(void **state)
{
    struct fixture *f = *state;
    kube_expectations_free(f->e);
    kb_clock_fake_free(f->time);
    free(f);
    return 0;
}

static void a_key_without_expectations_is_satisfied(void **state)
{
    struct fixture *f = *state;
    assert_true(kube_expectations_satisfied(f->e, "a"));
    assert_int_equal(kube_expectations_remaining(f->e, "a"), 0);
}

static void a_creation_is_awaited_until_it_is_seen(void **state)
{
    struct fixture *f = *state;
    kube_expect_creations(f->e, "a", 2);
    assert_false(kube_expectations_satisfied(f->e, "a"));
    assert_true(kube_expectations_satisfied(f->e, "b"));
    kube_creation_observed(f->e, "a");
    assert_false(kube_expectations_satisfied(f->e, "a"));
    kube_creation_observed(f->e, "a");
    assert_true(kube_expectations_satisfied(f->e, "a"));
}

static void deletions_and_creations_are_counted_apart(void **state)
{
    struct fixture *f = *state;
    kube_expect_creations(f->e, "a", 1);
    kube_expect_deletions(f->e, "a", 1);
    kube_creation_observed(f->e, "a");
    kube_creation_observed(f->e, "a");
    assert_false(kube_expectations_satisfied(f->e, "a"));
    kube_deletion_observed(f->e, "a");
    assert_true(kube_expectations_satisfied(f->e, "a"));
}

static void what_nobody_expects_satisfies_nothing_later(void **state)
{
    struct fixture *f = *state;
    kube_creation_observed(f->e, "a");
    kube_deletion_observed(f->e, "a");
    kube_expect_creations(f->e, "a", 1);
    assert_false(kube_expectations_satisfied(f->e, "a"));
}

static void a_named_deletion_counts_once(void **state)
{
    struct fixture *f = *state;
    kube_expect_deletion_of(f->e, "a", "pod-1");
    kube_expect_deletion_of(f->e, "a", "pod-2");
    kube_expect_deletion_of(f->e, "a", "pod-1");
    kube_deletion_observed_of(f->e, "a", "pod-1");
    kube_deletion_observed_of(f->e, "a", "pod-1");
    kube_deletion_observed_of(f->e, "a", "pod-3");
    assert_false(kube_expectations_satisfied(f->e, "a"));
    kube_deletion_observed_of(f->e, "a", "pod-2");
    assert_true(kube_expectations_satisfied(f->e, "a"));
}

static void an_unmet_expectation_expires(void **state)
{
    struct fixture *f = *state;
    kube_expect_creations(f->e, "a", 1);
    kube_expect_deletion_of(f->e, "a", "pod");
    kb_clock_fake_advance(f->time, KUBE_EXPECTATION_TIMEOUT_NS - 1);
    assert_false(kube_expectations_satisfied(f->e, "a"));
    assert_int_equal(kube_expectations_remaining(f->e, "a"), 1);
    kb_clock_fake_advance(f->time, 1);
    assert_true(kube_expectations_satisfied(f->e, "a"));
    kube_expect_creations(f->e, "a", 1);
    kube_creation_observed(f->e, "a");
    assert_true(kube_expectations_satisfied(f->e, "a"));
}

static void a_forgotten_key_is_satisfied(void **state)
{
    struct fixture *f = *state;
    kube_expect_creations(f->e, "a", 3);
    kube_expect_deletion_of(f->e, "a", "pod");
    kube_expectations_forget(f->e, "a");
    assert_true(kube_expectations_satisfied(f->e, "a"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_key_without_expectations_is_satisfied),
        TEST(a_creation_is_awaited_until_it_is_seen),
        TEST(deletions_and_creations_are_counted_apart),
        TEST(what_nobody_expects_satisfies_nothing_later),
        TEST(a_named_deletion_counts_once),
        TEST(an_unmet_expectation_expires),
        TEST(a_forgotten_key_is_satisfied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
