/* Tests of virt/names: names made of two parts that keep within a length. Hashes are FNV-1a, as the reference's. */
#include "virt/names.h"

#include "base/arena.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct row {
    const char *base, *suffix;
    size_t max;
    const char *name;
} rows[] = {
    {"persistent-state-for", "vm", 63, "persistent-state-for-vm"},
    {"abc", "de", 6, "abc-de"},
    {"foobar-and-more", "x", 15, "foob-5461b96a-x"},
    {"foobar", "this-is-longer", 14, "fooba-34810c80"},
    {"a", "bcdefghijkl", 5, "-9806"},
    {"persistent-state-for", "a-vm-whose-name-is-so-long-that-it-hardly-fits-in", 63,
     "pers-e807c95a-a-vm-whose-name-is-so-long-that-it-hardly-fits-in"},
    {"abcdefghijkl", "mnop", 14, "abcde-0c3a67fc"},
    {"abcdefghijkl", "mnop", 15, "a-e8fb3e15-mnop"},
};

static void long_names_are_cut_and_hashed(void **state)
{
    struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const char *name = virt_joined_name(arena, rows[i].base, rows[i].suffix, rows[i].max);

        if (!kb_streq(name, rows[i].name))
            fail_msg("%s + %s in %zu: expected %s, got %s", rows[i].base, rows[i].suffix, rows[i].max, rows[i].name,
                     name);
    }
    kb_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_names_are_cut_and_hashed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
