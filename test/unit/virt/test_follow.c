/* Tests of virt/follow. */
#include "base/strings.h"
#include "virt/follow.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PATTERNS(...)                                                                                                  \
    (&(struct api_strings){sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__}})

/* `pairs`: key, value, key, value ..., NULL */
static struct api_string_map map_of(struct kb_arena *arena, const char *const *pairs)
{
    struct api_string_map map = {0};
    for (; pairs[0]; pairs += 2)
        api_map_set(arena, &map, pairs[0], pairs[1]);
    return map;
}

static const char *text_of(struct kb_arena *arena, const struct api_string_map *map)
{
    const char *text = "";
    api_list_foreach (entry, map)
        text = kb_arena_printf(arena, "%s%s=%s ", text, entry->key, entry->value);
    return text;
}

static const char *following(struct kb_arena *arena, const struct api_strings *patterns)
{
    static const char *const source[] = {"a/x", "1", "a/y", "2", "plain", "3", NULL};
    static const char *const target[] = {"a/x", "0", "a/gone", "0", "kept", "0", "plain", "0", NULL};
    struct api_string_map from = map_of(arena, source), to = map_of(arena, target);

    virt_follow(arena, &from, &to, patterns);
    return text_of(arena, &to);
}

static void a_key_is_set_or_goes_as_the_other_has_it(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    assert_string_equal(following(arena, PATTERNS("plain", "kept")), "a/gone=0 a/x=0 plain=3 ");
}

static void a_prefix_follows_every_key_that_starts_so(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    assert_string_equal(following(arena, PATTERNS("a/*")), "a/x=1 a/y=2 kept=0 plain=0 ");
}

static void nobody_means_every_key(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    assert_string_equal(following(arena, PATTERNS("*", "")), "a/gone=0 a/x=0 kept=0 plain=0 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_set_or_goes_as_the_other_has_it),
        cmocka_unit_test(a_prefix_follows_every_key_that_starts_so),
        cmocka_unit_test(nobody_means_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
