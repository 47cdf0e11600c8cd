/* The probe of the API server: asked once, asked again after a failure, never waited for long. */
#include "base/strings.h"
#include "cmd/virt-controller/health.h"
#include "support/scripted_transport.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define VERSION "{\"major\":\"1\",\"extra\":{\"a\":1}}"

struct world {
    struct script *script;
    struct health *health;
};

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof(*w));
    w->script = script_new();
    w->health = health_new(script_transport(w->script), script_clock(w->script));
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    script_free(w->script);
    health_free(w->health);
    free(w);
    return 0;
}

static void expect_version(struct world *w, const char *expected)
{
    kb_cleanup_strbuf struct kb_strbuf version = {0};
    struct kube_error error = {0};
    int rc = health_check(w->health, &version, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(rc, 0);
    assert_string_equal(kb_strbuf_text(&version), expected);
}

static void expect_failure(struct world *w, const char *expected)
{
    kb_cleanup_strbuf struct kb_strbuf version = {0};
    struct kube_error error = {0};
    assert_int_equal(health_check(w->health, &version, &error), -1);
    assert_int_equal(version.length, 0);
    if (!strstr(error.message, expected))
        fail_msg("expected \"%s\" in \"%s\"", expected, error.message);
}

static void the_version_is_asked_for_once_and_given_as_the_server_gave_it(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", "/version", 200, VERSION);
    expect_version(w, VERSION);
    expect_version(w, VERSION);
    script_verify(w->script);
}

static void it_is_asked_for_again_after_the_connection_failed(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", "/version", 200, VERSION);
    expect_version(w, VERSION);
    health_forget(w->health);
    script_answer(w->script, "GET", "/version", 200, "{\"major\":\"2\"}");
    expect_version(w, "{\"major\":\"2\"}");
}

static void a_refusal_a_cut_and_nonsense_say_why(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "GET", "/version", 403, "Forbidden", "not you");
    expect_failure(w, "not you");
    script_cut(w->script, "GET", "/version");
    expect_failure(w, "");
    script_answer(w->script, "GET", "/version", 200, "hello");
    expect_failure(w, "/version");
    script_answer(w->script, "GET", "/version", 200, VERSION);
    expect_version(w, VERSION);
}

static void a_server_that_is_silent_is_waited_for_one_second_and_asked_once(void **state)
{
    struct world *w = *state;
    struct kb_clock *clock = script_clock(w->script);
    script_silence(w->script, "GET", "/version");
    int64_t before = clock->mono(clock);
    expect_failure(w, "has not answered yet");
    assert_int_equal(clock->mono(clock) - before, HEALTH_PATIENCE_NS);
    expect_failure(w, "has not answered yet"); /* the same question still runs */
    script_verify(w->script);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_version_is_asked_for_once_and_given_as_the_server_gave_it),
        TEST(it_is_asked_for_again_after_the_connection_failed),
        TEST(a_refusal_a_cut_and_nonsense_say_why),
        TEST(a_server_that_is_silent_is_waited_for_one_second_and_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
