/* Tests of randomness in base/clock.h. */
#include "base/clock.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_seed_is_repeatable(void **state)
{
    (void)state;
    struct kb_random *a = kb_random_seeded(7), *b = kb_random_seeded(7), *c = kb_random_seeded(8);
    int same = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t bits = a->next(a);
        assert_int_equal(bits, b->next(b));
        same += bits == c->next(c);
    }
    assert_int_equal(same, 0);
    free(a);
    free(b);
    free(c);
}

static void the_system_gives_different_numbers(void **state)
{
    (void)state;
    struct kb_random *random = kb_random_system();
    assert_int_not_equal(random->next(random), random->next(random));
}

static void numbers_below_a_limit_are_uniform(void **state)
{
    (void)state;
    struct kb_random *random = kb_random_seeded(4);
    int counts[6] = {0};
    for (int i = 0; i < 60000; i++)
        counts[kb_random_below(random, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_in_range(counts[i], 9500, 10500);
    for (int i = 0; i < 100; i++)
        assert_int_equal(kb_random_below(random, 1), 0);
    free(random);
}

/* Gives the values that the test wants. */
struct scripted {
    struct kb_random random;
    const uint64_t *values;
};

static uint64_t scripted_next(struct kb_random *self)
{
    return *((struct scripted *)self)->values++;
}

static void values_that_would_be_unfair_are_skipped(void **state)
{
    (void)state;
    /* 2^64 mod 10 is 6 */
    struct scripted scripted = {{scripted_next}, (const uint64_t[]){0, 5, 6, 99}};
    assert_int_equal(kb_random_below(&scripted.random, 10), 6);
    assert_int_equal(kb_random_below(&scripted.random, 10), 9);
}

static void suffixes_use_all_of_kubernetes_alphabet(void **state)
{
    (void)state;
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    struct kb_random *random = kb_random_seeded(5);
    char text[1001];
    kb_random_suffix(random, text, 1000);
    assert_int_equal(strspn(text, alphabet), 1000);
    assert_int_equal(text[1000], '\0');
    for (const char *c = alphabet; *c; c++)
        assert_non_null(strchr(text, *c));
    kb_random_suffix(random, text, 0);
    assert_string_equal(text, "");
    free(random);
}

static void uuids_are_of_version_4(void **state)
{
    (void)state;
    struct kb_random *random = kb_random_seeded(6);
    for (int i = 0; i < 100; i++) {
        char text[37];
        kb_random_uuid(random, text);
        assert_int_equal(strlen(text), 36);
        assert_int_equal(strspn(text, "0123456789abcdef-"), 36);
        assert_int_equal(text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-', 1);
        assert_int_equal(text[14], '4');
        assert_non_null(strchr("89ab", text[19]));
    }
    free(random);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_repeatable),
        cmocka_unit_test(the_system_gives_different_numbers),
        cmocka_unit_test(numbers_below_a_limit_are_uniform),
        cmocka_unit_test(values_that_would_be_unfair_are_skipped),
        cmocka_unit_test(suffixes_use_all_of_kubernetes_alphabet),
        cmocka_unit_test(uuids_are_of_version_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
