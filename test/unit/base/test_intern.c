/* Tests of base/intern.h. Each leaves the table empty, which the next one checks. */
#include "base/clock.h"
#include "base/intern.h"
#include "base/strings.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define THREADS 4
#define TEXTS   50
#define HELD    16

static size_t count(void)
{
    size_t strings, bytes;
    kb_intern_stats(&strings, &bytes);
    return strings;
}

static void equal_texts_share_a_copy(void **state)
{
    (void)state;
    assert_int_equal(count(), 0);
    char text[] = "kubevirt.io/nodeName";
    const char *a = kb_intern(text, strlen(text)), *b = kb_intern("kubevirt.io/nodeName", 20);
    const char *part = kb_intern(text, 8);
    memset(text, 'x', sizeof text - 1);
    assert_ptr_equal(a, b);
    assert_string_equal(a, "kubevirt.io/nodeName");
    assert_string_equal(part, "kubevirt");
    assert_int_equal(count(), 2);
    kb_intern_unref(a);
    kb_intern_unref(b);
    kb_intern_unref(part);
    assert_int_equal(count(), 0);
}

static void a_text_lives_as_long_as_its_last_reference(void **state)
{
    (void)state;
    const char *text = kb_intern("node01", 6);
    assert_ptr_equal(kb_intern_ref(text), text);
    kb_intern_unref(text);
    assert_int_equal(count(), 1);
    assert_string_equal(text, "node01");
    kb_intern_unref(text);
    assert_int_equal(count(), 0);
}

static void the_empty_text_is_free(void **state)
{
    (void)state;
    const char *empty = kb_intern("anything", 0);
    assert_string_equal(empty, "");
    assert_string_equal(kb_intern("\0x", 2), "");
    assert_ptr_equal(kb_intern_ref(empty), empty);
    assert_int_equal(count(), 0);
    kb_intern_unref(empty);
}

static void an_entry_costs_little_more_than_its_text(void **state)
{
    (void)state;
    enum { N = 3000 };
    static const char *held[N];
    size_t strings, bytes, text_bytes = 0;
    for (int i = 0; i < N; i++) {
        char text[32];
        text_bytes += (size_t)snprintf(text, sizeof text, "label-%d", i);
        held[i] = kb_intern(text, sizeof text);
    }
    kb_intern_stats(&strings, &bytes);
    assert_int_equal(strings, N);
    assert_in_range(bytes, text_bytes + N * 9, text_bytes + N * (9 + 22));
    for (int i = 0; i < N; i++) {
        char text[32];
        snprintf(text, sizeof text, "label-%d", i);
        assert_string_equal(held[i], text);
        kb_intern_unref(held[i]);
    }
    kb_intern_stats(&strings, &bytes);
    assert_int_equal(strings, 0);
    assert_in_range(bytes, 0, 512);
}

/* Takes, copies and drops references to few texts, so that threads meet at the same entries as they appear and vanish.
 */
static void *take_and_drop(void *seed)
{
    struct kb_random *random = kb_random_seeded((uint64_t)(uintptr_t)seed);
    const char *held[HELD] = {0};
    uintptr_t wrong = 0;
    for (int i = 0; i < 20000; i++) {
        char text[16];
        size_t slot = kb_random_below(random, HELD), other = kb_random_below(random, HELD);
        if (held[slot])
            kb_intern_unref(held[slot]);
        held[slot] = NULL;
        if (held[other] && i % 3 == 0) {
            held[slot] = kb_intern_ref(held[other]);
        } else if (i % 3 == 1) {
            int n = snprintf(text, sizeof text, "text-%d", (int)kb_random_below(random, TEXTS));
            held[slot] = kb_intern(text, (size_t)n);
            wrong += !kb_streq(held[slot], text);
        }
    }
    for (size_t i = 0; i < HELD; i++) {
        if (held[i])
            kb_intern_unref(held[i]);
    }
    free(random);
    return (void *)wrong;
}

static void threads_share_the_table(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_drop, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_share_a_copy), cmocka_unit_test(a_text_lives_as_long_as_its_last_reference),
        cmocka_unit_test(the_empty_text_is_free),   cmocka_unit_test(an_entry_costs_little_more_than_its_text),
        cmocka_unit_test(threads_share_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
