/* Tests of base/arena.h. */
#include "base/arena.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool all_zero(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i])
            return false;
    }
    return true;
}

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 3000; size += 7) {
            unsigned char *p = kb_arena_alloc(arena, size);
            assert_int_equal((uintptr_t)p % 16, 0);
            assert_true(all_zero(p, size));
            memset(p, 0xEE, size);
        }
        kb_arena_reset(arena);
    }
}

static void allocations_do_not_overlap(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    unsigned char *blocks[2000];
    for (size_t i = 0; i < KB_ARRAY_LEN(blocks); i++) {
        blocks[i] = kb_arena_alloc(arena, i % 977 + 1);
        memset(blocks[i], (int)(i % 251), i % 977 + 1);
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(blocks); i++) {
        assert_int_equal(blocks[i][0], i % 251);
        assert_int_equal(blocks[i][i % 977], i % 251);
    }
}

static void an_arena_that_is_not_used_has_no_block(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    assert_in_range(kb_arena_bytes(arena), 1, 100);
    kb_arena_alloc(arena, 1);
    assert_in_range(kb_arena_bytes(arena), 4096, 4300);
}

static void a_first_block_of_the_right_size_is_enough(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new_sized(160);
    for (int i = 0; i < 10; i++)
        kb_arena_alloc(arena, 16);
    assert_in_range(kb_arena_bytes(arena), 160, 300);
}

static void blocks_double_up_to_64_kib(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    size_t before = kb_arena_bytes(arena), expected = 4096, blocks = 0;
    while (blocks < 8) {
        kb_arena_alloc(arena, 64);
        size_t bytes = kb_arena_bytes(arena);
        if (bytes == before)
            continue;
        assert_in_range(bytes - before, expected, expected + 64);
        expected = expected < 65536 ? expected * 2 : expected;
        before = bytes;
        blocks++;
    }
}

static void a_first_block_that_is_too_small_costs_little(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new_sized(16);
    size_t blocks = 0, before = kb_arena_bytes(arena);
    for (int i = 0; i < 1000; i++) {
        kb_arena_alloc(arena, 100);
        blocks += kb_arena_bytes(arena) != before;
        before = kb_arena_bytes(arena);
    }
    assert_in_range(blocks, 1, 12);
    assert_in_range(before, 112000, 2 * 130000);
}

static void a_large_allocation_leaves_the_block_in_use(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    char *first = kb_arena_alloc(arena, 16);
    char *large = kb_arena_alloc(arena, 1000000);
    char *second = kb_arena_alloc(arena, 16);
    memset(large, 1, 1000000);
    assert_ptr_equal(second, first + 16);
    assert_in_range(kb_arena_bytes(arena), 1000000, 1006000);
}

static void reset_keeps_one_block(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_arena_reset(arena);
    for (int i = 0; i < 1000; i++)
        kb_arena_alloc(arena, 200);
    kb_arena_alloc(arena, 1000000);
    kb_arena_reset(arena);
    size_t kept = kb_arena_bytes(arena);
    assert_in_range(kept, 4096, 66000);
    for (int i = 0; i < 100; i++)
        kb_arena_alloc(arena, 200);
    assert_int_equal(kb_arena_bytes(arena), kept);
}

static void texts_are_copied(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    char text[] = "launcher";
    char *copy = kb_arena_strdup(arena, text), *part = kb_arena_strndup(arena, text, 3);
    char *longer = kb_arena_strndup(arena, text, 100);
    memset(text, 'x', 8);
    assert_string_equal(copy, "launcher");
    assert_string_equal(part, "lau");
    assert_string_equal(longer, "launcher");
    assert_memory_equal(kb_arena_copy(arena, "a\0b", 3), "a\0b", 3);
    assert_non_null(kb_arena_copy(arena, NULL, 0));
}

static void the_newest_allocation_grows_in_place(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    unsigned char *first = kb_arena_copy(arena, "abc", 3);
    unsigned char *grown = kb_arena_grow(arena, first, 3, 100);
    assert_ptr_equal(grown, first);
    assert_memory_equal(grown, "abc", 3);
    assert_true(all_zero(grown + 3, 97));
    unsigned char *next = kb_arena_alloc(arena, 16);
    memset(grown, 1, 100);
    assert_true(all_zero(next, 16));
    unsigned char *moved = kb_arena_grow(arena, grown, 100, 200);
    assert_ptr_not_equal(moved, grown);
    assert_memory_equal(moved, grown, 100);
    assert_true(all_zero(moved + 100, 100));
    moved = kb_arena_grow(arena, moved, 200, 100000);
    assert_int_equal(moved[99], 1);
    assert_true(all_zero(moved + 100, 99900));
}

static void formatted_text_has_any_length(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    assert_string_equal(kb_arena_printf(arena, "%s-%d", "vm", 7), "vm-7");
    assert_string_equal(kb_arena_printf(arena, "%s", ""), "");
    for (size_t n = 250; n < 260; n++) {
        char *text = kb_arena_printf(arena, "%*s", (int)n, "x");
        assert_int_equal(strlen(text), n);
        assert_int_equal(text[n - 1], 'x');
    }
}

static void heap_memory_is_released_at_the_end_of_its_block(void **state)
{
    (void)state;
    kb_cleanup_free char *text = kb_asprintf("%s/%s", "default", "vm");
    kb_cleanup_free char *taken = kb_strndup("abcdef", 3);
    char *kept = KB_TAKE_PTR(taken);
    assert_null(taken);
    assert_string_equal(text, "default/vm");
    assert_string_equal(kept, "abc");
    kept = kb_realloc(kept, 1000);
    assert_string_equal(kept, "abc");
    free(kept);
    kb_cleanup_free unsigned char *zeroed = kb_malloc(64);
    assert_true(all_zero(zeroed, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_aligned),
        cmocka_unit_test(allocations_do_not_overlap),
        cmocka_unit_test(an_arena_that_is_not_used_has_no_block),
        cmocka_unit_test(a_first_block_of_the_right_size_is_enough),
        cmocka_unit_test(blocks_double_up_to_64_kib),
        cmocka_unit_test(a_first_block_that_is_too_small_costs_little),
        cmocka_unit_test(a_large_allocation_leaves_the_block_in_use),
        cmocka_unit_test(reset_keeps_one_block),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(the_newest_allocation_grows_in_place),
        cmocka_unit_test(formatted_text_has_any_length),
        cmocka_unit_test(heap_memory_is_released_at_the_end_of_its_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
