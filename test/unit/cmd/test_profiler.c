/* The profiler's dump: which files are in it, and when. */
#include "api/codec.h"
#include "base/strings.h"
#include "cmd/virt-controller/profiler.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct world {
    struct kube_runtime *runtime;
    struct profiler *profiler;
};

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof(*w));
    w->runtime = kube_runtime_new(&(struct kube_runtime_options){.clock = kb_clock_system()});
    w->profiler = profiler_new(w->runtime, kb_clock_system());
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    profiler_free(w->profiler);
    kube_runtime_free(w->runtime);
    free(w);
    return 0;
}

/* The file's text, in the arena; NULL: the dump has no such file. */
static const char *file_in_dump(struct world *w, struct kb_arena *arena, const char *name)
{
    kb_cleanup_strbuf struct kb_strbuf json = {0};
    yyjson_doc *doc;
    size_t n;
    profiler_dump(w->profiler, &json);
    assert_int_equal(api_parse(kb_strbuf_text(&json), json.length, &doc, NULL), 0);
    const char *text = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "pprofData"), name));
    const char *decoded = text ? (const char *)kb_base64_decode(arena, text, &n) : NULL;
    decoded = decoded ? kb_arena_strndup(arena, decoded, n) : NULL;
    yyjson_doc_free(doc);
    return decoded;
}

static void the_dump_has_the_heap_and_the_threads(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    assert_non_null(strstr(file_in_dump(*state, arena, "malloc.xml"), "<malloc"));
    assert_non_null(strstr(file_in_dump(*state, arena, "threads.txt"), "test_cmd_profil"));
    assert_non_null(file_in_dump(*state, arena, "caches.txt"));
}

static void what_happened_in_between_is_there_after_start_and_stop(void **state)
{
    struct world *w = *state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    assert_null(file_in_dump(w, arena, "cpu.txt"));
    profiler_start(w->profiler);
    assert_null(file_in_dump(w, arena, "cpu.txt"));
    assert_int_equal(profiler_stop(w->profiler, NULL), 0);
    assert_non_null(strstr(file_in_dump(w, arena, "cpu.txt"), "test_cmd_profil"));
    profiler_start(w->profiler);
    assert_null(file_in_dump(w, arena, "cpu.txt"));
}

static void stopping_what_was_not_started_is_an_error(void **state)
{
    struct world *w = *state;
    struct kube_error error = {0};
    assert_true(profiler_stop(w->profiler, &error) < 0);
    assert_string_equal(error.message, "it was not started");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_dump_has_the_heap_and_the_threads),
        TEST(what_happened_in_between_is_there_after_start_and_stop),
        TEST(stopping_what_was_not_started_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
