/*
 * Events as they reach the API server: the requests of each case are scripted, whatever else is asked fails the test.
 */
#include "api/types/core.h"
#include "base/strings.h"
#include "base/time.h"
#include "kube/event_correlator.h"
#include "kube/lru.h"
#include "kube/recorder.h"
#include "support/scripted_transport.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S      KB_NS_PER_S
#define EVENTS "/api/v1/namespaces/ns/events"
/* 2026-01-02T03:04:05Z in hex nanoseconds */
#define FIRST_NAME "p.1886caf21c963200"

struct world {
    struct script *script;
    struct kube_client *client;
    struct kb_random *random;
    struct kube_recorder *recorder;
};

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof *w);
    w->script = script_new();
    w->client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(w->script), .clock = script_clock(w->script)});
    w->random = kb_random_seeded(1);
    w->recorder = kube_recorder_new(w->client, "test-controller", script_clock(w->script), w->random);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    kube_recorder_free(w->recorder);
    kube_client_free(w->client);
    free(w->random);
    script_free(w->script);
    free(w);
    return 0;
}

static struct core_pod pod(const char *name)
{
    return (struct core_pod){.metadata = {.name = name, .namespace = "ns", .uid = "u1", .resource_version = "42"}};
}

static void record(struct world *w, const char *message)
{
    const struct core_pod object = pod("p");
    kube_event(w->recorder, &core_pod_type, &object, KUBE_EVENT_NORMAL, "Reason", "%s", message);
}

static struct kube_recorder_state state_of(struct world *w)
{
    struct kube_recorder_state state;
    kube_recorder_get_state(w->recorder, &state);
    return state;
}

static const char *body_of(struct world *w, size_t request)
{
    return script_request(w->script, request)->body;
}

static void a_new_event_has_the_members_that_client_go_writes(void **state)
{
    struct world *w = *state;
    char path[KB_TIME_TEXT];
    kb_time_format(script_clock(w->script)->wall(script_clock(w->script)), path);
    assert_string_equal(path, "2026-01-02T03:04:05Z");
    script_answer_body(
        w->script, "POST", EVENTS,
        "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" FIRST_NAME
        "\",\"namespace\":\"ns\"},\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"p\","
        "\"uid\":\"u1\",\"apiVersion\":\"v1\",\"resourceVersion\":\"42\"},\"reason\":\"Reason\","
        "\"message\":\"50% \\\"done\\\"\",\"source\":{\"component\":\"test-controller\"},"
        "\"firstTimestamp\":\"2026-01-02T03:04:05Z\",\"lastTimestamp\":\"2026-01-02T03:04:05Z\",\"count\":1,"
        "\"type\":\"Normal\",\"eventTime\":null,\"reportingComponent\":\"test-controller\","
        "\"reportingInstance\":\"\"}",
        201, "{}");
    record(w, "50% \"done\"");
    script_run(w->script);
    assert_int_equal(state_of(w).written, 1);
}

static void an_event_on_a_cluster_scoped_object_goes_to_default(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "POST", "/api/v1/namespaces/default/events", 201, "{}");
    kube_event_on(w->recorder,
                  &(struct kube_event_reference){.api_version = "kubevirt.io/v1", .kind = "KubeVirt", .name = "n"},
                  KUBE_EVENT_WARNING, "R", "m");
    script_run(w->script);
    assert_non_null(strstr(body_of(w, 0), "\"involvedObject\":{\"kind\":\"KubeVirt\",\"name\":\"n\",\"apiVersion\":"
                                          "\"kubevirt.io/v1\"}"));
    assert_non_null(strstr(body_of(w, 0), "\"type\":\"Warning\""));
}

static void an_equal_event_becomes_a_patch_of_the_first(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    script_answer_body(w->script, "PATCH", EVENTS "/" FIRST_NAME,
                       "{\"count\":2,\"lastTimestamp\":\"2026-01-02T03:04:15Z\",\"message\":\"m\"}", 200, "{}");
    script_answer_body(w->script, "PATCH", EVENTS "/" FIRST_NAME,
                       "{\"count\":3,\"lastTimestamp\":\"2026-01-02T03:04:15Z\",\"message\":\"m\"}", 200, "{}");
    record(w, "m");
    script_run(w->script);
    script_advance(w->script, 10 * S);
    record(w, "m");
    record(w, "m");
    script_run(w->script);
    assert_string_equal(script_request(w->script, 1)->content_type, "application/strategic-merge-patch+json");
    assert_int_equal(state_of(w).written, 3);
}

static void an_event_that_expired_on_the_server_is_created_again_with_its_count(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    script_refuse(w->script, "PATCH", EVENTS "/" FIRST_NAME, 404, "NotFound", "gone");
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    record(w, "m");
    script_run(w->script);
    script_advance(w->script, 3600 * S);
    record(w, "m");
    script_run(w->script);
    assert_non_null(strstr(body_of(w, 2), "\"name\":\"" FIRST_NAME "\""));
    assert_non_null(strstr(body_of(w, 2), "\"count\":2"));
    assert_non_null(strstr(body_of(w, 2), "\"firstTimestamp\":\"2026-01-02T03:04:05Z\""));
    assert_non_null(strstr(body_of(w, 2), "\"lastTimestamp\":\"2026-01-02T04:04:05Z\""));
    assert_int_equal(state_of(w).refused, 0);
}

/* ---- correlation alone: tables of what comes in and what is to be written ---- */

struct step {
    const char *reason, *message;
    int64_t pause_s; /* before it */
    bool written;
    int count;
    const char *as; /* message written; NULL: as it came */
};

static void run_steps(const struct step *steps, size_t n)
{
    struct kb_clock_fake *fake = kb_clock_fake_new(1767323045 * S);
    kb_cleanup_free struct kb_random *random = kb_random_seeded(7);
    struct kube_correlator *correlator = kube_correlator_new(kb_clock_fake_clock(fake), random);
    for (size_t i = 0; i < n; i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        kb_clock_fake_advance(fake, steps[i].pause_s * S);
        char name[32];
        snprintf(name, sizeof name, "p.%zx", i);
        struct core_event event = {
            .metadata = {.name = name, .namespace = "ns"},
            .involved_object = {.kind = "Pod", .namespace = "ns", .name = "p", .uid = "u", .api_version = "v1"},
            .reason = steps[i].reason,
            .message = steps[i].message,
            .source = {.component = "c"},
            .first_timestamp = "2026-01-02T03:04:05Z",
            .last_timestamp = "2026-01-02T03:04:05Z",
            .count = 1,
            .type = "Normal",
        };
        bool written = kube_correlate(correlator, arena, &event);
        if (written != steps[i].written || event.count != steps[i].count)
            fail_msg("step %zu: written %d count %d", i, written, event.count);
        assert_string_equal(event.message, steps[i].as ? steps[i].as : steps[i].message);
    }
    kube_correlator_free(correlator);
    kb_clock_fake_free(fake);
}

#define COMBINED "(combined from similar events): "

static void the_tenth_similar_event_and_later_ones_are_combined(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {"R", "1", 0, true, 1},
        {"R", "2", 0, true, 1},
        {"R", "3", 0, true, 1},
        {"R", "4", 0, true, 1},
        {"R", "4", 0, true, 2}, /* known: not one more of them */
        {"R", "5", 0, true, 1},
        {"R", "6", 0, true, 1},
        {"R", "7", 0, true, 1},
        {"R", "8", 0, true, 1},
        {"R", "9", 300, true, 1},
        {"R", "10", 300, true, 1, COMBINED "10"},
        {"R", "11", 0, true, 2, COMBINED "11"},
        {"R", "11", 0, true, 3, COMBINED "11"},
        {"R", "1", 0, true, 2},     /* the first nine are still counted each on its own */
        {"Other", "1", 0, true, 1}, /* another reason: another group */
        {"R", "12", 600, true, 4, COMBINED "12"},
        {"R", "13", 601, true, 1}, /* a gap of more than ten minutes: all is new */
        {"R", "13", 0, true, 2},
        {"R", "12", 0, true, 1},
    };
    run_steps(steps, KB_ARRAY_LEN(steps));
}

static void a_source_may_say_25_things_about_an_object_and_then_one_in_five_minutes(void **state)
{
    (void)state;
    struct step steps[40];
    size_t n = 0;
    for (int i = 1; i <= 25; i++)
        steps[n++] = (struct step){"R", "m", 0, true, i};
    steps[n++] = (struct step){"R", "m", 0, false, 26}; /* counted though not written */
    steps[n++] = (struct step){"Other", "m", 0, false, 1};
    steps[n++] = (struct step){"R", "m", 299, false, 27};
    steps[n++] = (struct step){"R", "m", 1, true, 28};
    steps[n++] = (struct step){"R", "m", 0, false, 29};
    steps[n++] = (struct step){"R", "m", 600, true, 30};
    steps[n++] = (struct step){"R", "m", 0, true, 31};
    steps[n++] = (struct step){"R", "m", 0, false, 32};
    run_steps(steps, n);
}

static void an_event_s_name_is_a_valid_one(void **state)
{
    (void)state;
    static const struct {
        const char *object, *name; /* NULL: a UUID */
    } cases[] = {
        {"vm-1", "vm-1.1f"}, {"a.b", "a.b.1f"}, {"", NULL},     {"Upper", NULL}, {"under_score", NULL},
        {"-dash", NULL},     {"dash-", NULL},   {"a..b", NULL}, {"0", "0.1f"},   {"system:node", NULL},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_cleanup_free struct kb_random *random = kb_random_seeded(1);
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        const char *name = kube_event_name(arena, random, cases[i].object, 31);
        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
        else
            assert_int_equal(strlen(name), 36);
    }
    char longest[252];
    memset(longest, 'a', 251);
    longest[251] = '\0';
    assert_int_equal(strlen(kube_event_name(arena, random, longest, 31)), 36);
    longest[250] = '\0';
    assert_int_equal(strlen(kube_event_name(arena, random, longest, 31)), 253);
}

static int dropped_values;

static void count_dropped(void *value)
{
    dropped_values += *(int *)value;
}

static void the_cache_forgets_what_was_not_used_for_the_longest_time(void **state)
{
    (void)state;
    struct kube_lru *lru = kube_lru_new(3, sizeof(int), count_dropped);
    dropped_values = 0;
    *(int *)kube_lru_use(lru, "a", 1) = 1;
    *(int *)kube_lru_use(lru, "b", 1) = 20;
    *(int *)kube_lru_use(lru, "c", 1) = 300;
    assert_int_equal(*(int *)kube_lru_use(lru, "a", 1), 1);
    *(int *)kube_lru_use(lru, "d", 1) = 4000;
    assert_int_equal(dropped_values, 20);
    assert_int_equal(*(int *)kube_lru_use(lru, "c", 1), 300);
    assert_int_equal(kube_lru_count(lru), 3);
    kube_lru_free(lru);
    assert_int_equal(dropped_values, 20 + 1 + 300 + 4000);
}

/* ---- failures ---- */

static void a_refused_event_is_dropped_and_the_next_one_written(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "POST", EVENTS, 403, "Forbidden", "the namespace is being terminated");
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    record(w, "a");
    record(w, "b");
    script_run(w->script);
    assert_int_equal(state_of(w).refused, 1);
    assert_int_equal(state_of(w).written, 1);
    assert_non_null(strstr(state_of(w).last_error, "being terminated"));
}

static void while_the_server_is_away_events_wait_in_order(void **state)
{
    struct world *w = *state;
    script_cut(w->script, "POST", EVENTS);
    script_cut(w->script, "POST", EVENTS);
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    record(w, "a");
    script_run(w->script);
    record(w, "b");
    script_run(w->script);
    assert_int_equal(script_requests(w->script), 1);
    script_advance(w->script, S / 10); /* the longest that the first pause may be */
    assert_int_equal(script_requests(w->script), 2);
    script_advance(w->script, S / 5);
    assert_int_equal(script_requests(w->script), 4);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(strstr(body_of(w, i), "\"message\":\"a\""));
    assert_non_null(strstr(body_of(w, 3), "\"message\":\"b\""));
    assert_int_equal(state_of(w).written, 2);
}

static void after_sixteen_tries_an_event_is_given_up(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 16; i++)
        script_cut(w->script, "POST", EVENTS);
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    record(w, "a");
    script_run(w->script);
    record(w, "b");
    script_advance(w->script, 200 * S);
    assert_int_equal(script_requests(w->script), 17);
    assert_int_equal(state_of(w).dropped, 1);
    assert_int_equal(state_of(w).written, 1);
}

static void an_event_on_which_the_server_stumbles_is_written_later(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "POST", EVENTS, 500, "InternalError", "a fault");
    script_refuse(w->script, "POST", EVENTS, 409, "Conflict", "another");
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    record(w, "a");
    script_run(w->script);
    script_advance(w->script, S);
    assert_int_equal(state_of(w).written, 1);
}

static void a_server_that_stumbles_over_one_event_does_not_hold_the_others_up(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "POST", EVENTS, 500, "InternalError", "a fault");
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    for (int i = 0; i < 4; i++)
        script_refuse(w->script, "POST", EVENTS, 500, "InternalError", "a fault");
    record(w, "a");
    record(w, "b");
    script_run(w->script);
    assert_int_equal(state_of(w).written, 1);
    script_advance(w->script, 2 * S);
    assert_int_equal(state_of(w).refused, 1);
}

static void a_few_events_are_on_their_way_at_a_time(void **state)
{
    struct world *w = *state;
    char message[] = "a";
    for (int i = 0; i < 8; i++, message[0]++) {
        script_silence(w->script, "POST", EVENTS);
        record(w, message);
    }
    record(w, message);
    script_run(w->script);
    assert_int_equal(script_requests(w->script), 8);
}

static void a_repetition_waits_for_the_event_that_it_repeats(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "POST", EVENTS, 500, "InternalError", "a fault");
    record(w, "a");
    record(w, "a");
    script_run(w->script);
    assert_int_equal(script_requests(w->script), 1);
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    script_answer(w->script, "PATCH", EVENTS "/*", 200, "{}");
    script_advance(w->script, S);
    assert_int_equal(state_of(w).written, 2);
}

static void an_event_whose_answer_was_lost_is_not_refused(void **state)
{
    struct world *w = *state;
    script_cut(w->script, "POST", EVENTS);
    script_refuse(w->script, "POST", EVENTS, 409, "AlreadyExists", "it is there");
    record(w, "a");
    script_run(w->script);
    script_advance(w->script, S);
    assert_int_equal(state_of(w).refused, 0);
    assert_int_equal(state_of(w).written, 1);
}

static void more_than_a_thousand_waiting_events_are_dropped(void **state)
{
    struct world *w = *state;
    script_cut(w->script, "POST", EVENTS);
    for (int i = 0; i < 1003; i++)
        record(w, "m"); /* one is asked for, one repeats it, 1,000 wait */
    assert_int_equal(state_of(w).dropped, 1);
    script_run(w->script);
}

static void freeing_writes_what_waits(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    script_answer(w->script, "POST", EVENTS, 201, "{}");
    record(w, "a");
    record(w, "b");
    kube_recorder_free(w->recorder);
    w->recorder = NULL;
    assert_int_equal(script_requests(w->script), 2);
}

static void freeing_waits_two_seconds_for_a_silent_server(void **state)
{
    struct world *w = *state;
    struct kb_clock *clock = script_clock(w->script);
    script_silence(w->script, "POST", EVENTS);
    script_silence(w->script, "POST", EVENTS);
    record(w, "a");
    record(w, "b");
    int64_t before = clock->mono(clock);
    kube_recorder_free(w->recorder);
    w->recorder = NULL;
    assert_int_equal(clock->mono(clock) - before, 2 * S);
}

static void freeing_does_not_wait_for_a_server_that_is_away(void **state)
{
    struct world *w = *state;
    struct kb_clock *clock = script_clock(w->script);
    script_cut(w->script, "POST", EVENTS);
    record(w, "a");
    script_run(w->script);
    int64_t before = clock->mono(clock);
    kube_recorder_free(w->recorder);
    w->recorder = NULL;
    assert_int_equal(clock->mono(clock), before);
    script_advance(w->script, 60 * S);
}

/* ---- threads ---- */

static bool serve(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    (void)request, (void)reply;
    __atomic_add_fetch((int *)userdata, 1, __ATOMIC_RELAXED);
    return true;
}

static void *record_many(void *userdata)
{
    struct kube_recorder *recorder = userdata;
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i % 20);
        const struct core_pod object = pod(name);
        kube_event(recorder, &core_pod_type, &object, KUBE_EVENT_NORMAL, "R", "round %d", i);
    }
    return NULL;
}

static void threads_may_record_together(void **state)
{
    struct world *w = *state;
    int requests = 0;
    script_serve(w->script, serve, &requests);
    script_start_thread(w->script);
    pthread_t threads[3];
    for (size_t i = 0; i < KB_ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, w->recorder), 0);
    for (size_t i = 0; i < KB_ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    kube_recorder_free(w->recorder);
    w->recorder = NULL;
    kube_client_free(w->client);
    w->client = NULL;
    assert_in_range(__atomic_load_n(&requests, __ATOMIC_RELAXED), 1, 600);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_event_has_the_members_that_client_go_writes),
        TEST(an_event_on_a_cluster_scoped_object_goes_to_default),
        TEST(an_equal_event_becomes_a_patch_of_the_first),
        TEST(an_event_that_expired_on_the_server_is_created_again_with_its_count),
        cmocka_unit_test(the_tenth_similar_event_and_later_ones_are_combined),
        cmocka_unit_test(a_source_may_say_25_things_about_an_object_and_then_one_in_five_minutes),
        cmocka_unit_test(an_event_s_name_is_a_valid_one),
        cmocka_unit_test(the_cache_forgets_what_was_not_used_for_the_longest_time),
        TEST(a_refused_event_is_dropped_and_the_next_one_written),
        TEST(while_the_server_is_away_events_wait_in_order),
        TEST(after_sixteen_tries_an_event_is_given_up),
        TEST(an_event_on_which_the_server_stumbles_is_written_later),
        TEST(a_server_that_stumbles_over_one_event_does_not_hold_the_others_up),
        TEST(a_few_events_are_on_their_way_at_a_time),
        TEST(a_repetition_waits_for_the_event_that_it_repeats),
        TEST(an_event_whose_answer_was_lost_is_not_refused),
        TEST(more_than_a_thousand_waiting_events_are_dropped),
        TEST(freeing_writes_what_waits),
        TEST(freeing_waits_two_seconds_for_a_silent_server),
        TEST(freeing_does_not_wait_for_a_server_that_is_away),
        TEST(threads_may_record_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
