/*
 * One elector against a scripted API server: what it writes, when, and what its owner is told. How several behave
 * together is in test_leader_contest.c.
 */
#include "api/types/core.h"
#include "base/strings.h"
#include "kube/leader_internal.h"
#include "support/scripted_transport.h"
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S      KB_NS_PER_S
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
#define LEASE  LEASES "/l"
#define WATCH  LEASES "?watch=true&fieldSelector=metadata.name%3Dl"

/* A Lease as the server has it. */
#define TEXT(version, holder, duration, acquired, renewed, transitions)                                                \
    "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\"," \
    "\"uid\":\"u\",\"resourceVersion\":\"" version                                                                     \
    "\",\"labels\":{\"kept\":\"yes\"}},\"spec\":{\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":" duration \
    ",\"acquireTime\":\"" acquired "\",\"renewTime\":\"" renewed "\",\"leaseTransitions\":" transitions "}}"
#define T0                      "2026-01-02T03:04:05.000000Z"
#define T2                      "2026-01-02T03:04:07.000000Z"
#define OTHER(version, renewed) TEXT(version, "other", "15", T0, renewed, "3")

struct world {
    struct script *script;
    struct kb_clock *clock;
    struct kube_client *client, *fenced;
    struct kb_random *random;
    struct kube_recorder *recorder;
    struct kube_leader *leader;
    int started, stopped, observed;
    char last_observed[64];
};

static void on_started(void *userdata)
{
    ((struct world *)userdata)->started++;
}

static void on_stopped(void *userdata)
{
    ((struct world *)userdata)->stopped++;
}

static void on_observed(void *userdata, const char *identity)
{
    struct world *w = userdata;
    w->observed++;
    snprintf(w->last_observed, sizeof w->last_observed, "%s", identity);
}

static struct kube_leader_options options_of(struct world *w)
{
    return (struct kube_leader_options){
        .client = w->client,
        .clock = w->clock,
        .random = w->random,
        .namespace_ = "ns",
        .name = "l",
        .identity = "me",
        .lease_duration_ns = 15 * S,
        .renew_deadline_ns = 10 * S,
        .retry_period_ns = 2 * S,
        .fenced = &w->fenced,
        .n_fenced = 1,
        .started = on_started,
        .stopped = on_stopped,
        .observed = on_observed,
        .userdata = w,
    };
}

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof *w);
    w->script = script_new();
    w->clock = script_clock(w->script);
    w->random = kb_random_seeded(1);
    const struct kube_client_options options = {.transport = script_transport(w->script), .clock = w->clock};
    w->client = kube_client_new(&options);
    w->fenced = kube_client_new(&options);
    const struct kube_leader_options leader = options_of(w);
    struct kube_error error;
    assert_int_equal(kube_leader_new(&leader, &w->leader, &error), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    kube_leader_free(w->leader);
    kube_recorder_free(w->recorder);
    kube_client_free(w->client);
    kube_client_free(w->fenced);
    free(w->random);
    script_free(w->script);
    free(w);
    return 0;
}

/* What the elector's thread and the server do until nothing is left to do now. */
static void run(struct world *w)
{
    for (int i = 0; i < 10; i++) {
        kube_leader_poll(w->leader);
        script_run(w->script);
    }
}

static void run_for(struct world *w, int64_t ns)
{
    for (int64_t step = 100 * KB_NS_PER_MS; ns > 0; ns -= step) {
        script_advance(w->script, ns < step ? ns : step);
        run(w);
    }
}

/* Whether a client of the leader may write now. */
static bool may_write(struct world *w)
{
    const struct core_pod pod = {.metadata = {.name = "p", .namespace = "ns"}};
    struct kube_error error = {0};
    size_t before = script_requests(w->script);
    script_refuse(w->script, "POST", "/api/v1/namespaces/ns/pods", 403, "Forbidden", "asked");
    assert_int_equal(kube_client_create(w->fenced, &core_pod_type, "ns", &pod, NULL, &error), -1);
    bool asked = script_requests(w->script) > before;
    assert_int_equal(error.kind, asked ? KUBE_ERROR_API : KUBE_ERROR_CANCELLED);
    if (!asked)
        script_clear(w->script);
    return asked;
}

static void expect_create(struct world *w)
{
    script_refuse(w->script, "GET", LEASE, 404, "NotFound", "not found");
    script_answer_body(w->script, "POST", LEASES,
                       "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{\"name\":\"l\","
                       "\"namespace\":\"ns\"},\"spec\":{\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,"
                       "\"acquireTime\":\"" T0 "\",\"renewTime\":\"" T0 "\",\"leaseTransitions\":0}}",
                       201, TEXT("1", "me", "15", T0, T0, "0"));
}

static void become_leader(struct world *w)
{
    expect_create(w);
    run(w);
    assert_int_equal(w->started, 1);
    script_verify(w->script);
}

static void a_missing_lease_is_created_and_renewed_in_time(void **state)
{
    struct world *w = *state;
    assert_false(may_write(w));
    become_leader(w);
    assert_true(kube_leader_is_leading(w->leader));
    assert_true(may_write(w));
    script_answer_body(w->script, "PUT", LEASE, TEXT("1", "me", "15", T0, T2, "0"), 200,
                       TEXT("2", "me", "15", T0, T2, "0"));
    run_for(w, 2 * S);
    script_verify(w->script);
    script_answer(w->script, "PUT", LEASE, 200, TEXT("3", "me", "15", T0, "2026-01-02T03:04:09.000000Z", "0"));
    run_for(w, 2 * S);
    assert_int_equal(w->stopped, 0);
    assert_int_equal(w->observed, 0);
}

static void the_lease_of_another_is_taken_once_it_was_not_seen_to_change_for_its_duration(void **state)
{
    struct world *w = *state;
    /* Its times are far in the past: they do not count. */
    const char *old = TEXT("7", "other", "15", "2020-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z", "3");
    script_answer(w->script, "GET", LEASE, 200, old);
    struct script_stream *watch = script_stream(w->script, "GET", WATCH);
    run(w);
    assert_true(script_stream_is_open(watch));
    script_stream_event(watch, "ADDED", old); /* as each watch begins */
    run(w);
    assert_int_equal(w->observed, 1);
    assert_string_equal(w->last_observed, "other");
    run_for(w, 10 * S);
    script_stream_event(watch, "MODIFIED", OTHER("8", T0)); /* renewed: another 15 s */
    run(w);
    run_for(w, 14900 * KB_NS_PER_MS);
    assert_int_equal(script_requests(w->script), 2); /* while the watch lives nobody asks */
    script_answer(w->script, "GET", LEASE, 200, OTHER("8", T0));
    script_answer_body(w->script, "PUT", LEASE,
                       TEXT("8", "me", "15", "2026-01-02T03:04:30.000000Z", "2026-01-02T03:04:30.000000Z", "4"), 200,
                       TEXT("9", "me", "15", "2026-01-02T03:04:30.000000Z", "2026-01-02T03:04:30.000000Z", "4"));
    run_for(w, 100 * KB_NS_PER_MS);
    assert_int_equal(w->started, 1);
    assert_false(script_stream_is_open(watch));
}

static void a_release_seen_by_the_watch_is_taken_at_once(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", LEASE, 200, OTHER("7", T0));
    struct script_stream *watch = script_stream(w->script, "GET", WATCH);
    run(w);
    int64_t before = w->clock->mono(w->clock);
    script_stream_event(watch, "MODIFIED", TEXT("8", "", "1", T0, T0, "3"));
    script_answer(w->script, "GET", LEASE, 200, TEXT("8", "", "1", T0, T0, "3"));
    script_answer_body(w->script, "PUT", LEASE, TEXT("8", "me", "15", T0, T0, "4"), 200,
                       TEXT("9", "me", "15", T0, T0, "4"));
    run(w);
    assert_int_equal(w->started, 1);
    assert_int_equal(w->clock->mono(w->clock), before);
}

static void without_a_watch_it_asks_every_retry_period_with_jitter(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 5; i++) {
        script_answer(w->script, "GET", LEASE, 200, OTHER("7", T0));
        script_refuse(w->script, "GET", WATCH, 403, "Forbidden", "no watch");
    }
    run(w);
    int64_t last = w->clock->mono(w->clock);
    for (int i = 1; i < 5; i++) {
        size_t before = script_count(w->script, "GET", LEASE);
        while (script_count(w->script, "GET", LEASE) == before)
            run_for(w, 100 * KB_NS_PER_MS);
        int64_t now = w->clock->mono(w->clock);
        assert_in_range(now - last, 2 * S, 2 * S + 2.4 * S + 100 * KB_NS_PER_MS);
        last = now;
    }
    assert_int_equal(w->started, 0);
}

static void of_two_that_take_it_the_one_refused_goes_on_waiting(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", LEASE, 200, TEXT("8", "", "1", T0, T0, "3"));
    script_refuse(w->script, "PUT", LEASE, 409, "Conflict", "changed");
    run(w);
    assert_false(kube_leader_is_leading(w->leader));
    script_answer(w->script, "GET", LEASE, 200, OTHER("9", T0));
    struct script_stream *watch = script_stream(w->script, "GET", WATCH);
    run_for(w, 4500 * KB_NS_PER_MS);
    assert_int_equal(w->started, 0);
    assert_string_equal(w->last_observed, "other");
    assert_true(script_stream_is_open(watch));
}

static void a_leader_that_cannot_renew_stops_before_another_can_begin(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_any_order(w->script);
    for (int i = 0; i < 100; i++)
        script_cut(w->script, i % 2 ? "GET" : "PUT", LEASE);
    run_for(w, 11900 * KB_NS_PER_MS);
    assert_int_equal(w->stopped, 0); /* 2 s until the first try that fails, then the renew deadline of 10 s */
    run_for(w, 200 * KB_NS_PER_MS);
    assert_int_equal(w->stopped, 1);
    assert_false(kube_leader_is_leading(w->leader));
    assert_true(kube_leader_is_over(w->leader));
    script_clear(w->script);
    assert_false(may_write(w));
    run_for(w, 20 * S);
    assert_int_equal(w->started, 1);
}

static void the_fence_closes_even_when_the_elector_does_not_run(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_advance(w->script, 13 * S);
    assert_true(may_write(w));
    script_advance(w->script, 500 * KB_NS_PER_MS); /* a tenth before the end */
    assert_false(may_write(w));
}

static void a_hanging_renewal_is_given_up_for_another(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_silence(w->script, "PUT", LEASE);
    script_answer(w->script, "GET", LEASE, 200, TEXT("1", "me", "15", T0, T0, "0"));
    script_answer(w->script, "PUT", LEASE, 200, TEXT("2", "me", "15", T0, T2, "0"));
    run_for(w, 7100 * KB_NS_PER_MS);
    assert_int_equal(w->stopped, 0);
    script_verify(w->script);
    script_answer(w->script, "PUT", LEASE, 200, TEXT("3", "me", "15", T0, T2, "0"));
    run_for(w, 2 * S);
}

static void a_leader_that_sees_another_holder_stops_at_once(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_refuse(w->script, "PUT", LEASE, 409, "Conflict", "changed");
    script_answer(w->script, "GET", LEASE, 200, OTHER("9", T2));
    run_for(w, 2 * S);
    assert_int_equal(w->stopped, 1);
    assert_false(may_write(w));
}

static void a_lost_answer_to_a_renewal_is_made_up_for(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_cut(w->script, "PUT", LEASE);
    script_answer(w->script, "GET", LEASE, 200, TEXT("2", "me", "15", T0, T2, "0"));
    script_answer_body(w->script, "PUT", LEASE, TEXT("2", "me", "15", T0, T2, "0"), 200,
                       TEXT("3", "me", "15", T0, T2, "0"));
    run_for(w, 2 * S);
    assert_int_equal(w->stopped, 0);
    assert_int_equal(w->started, 1);
}

static void a_deleted_lease_is_made_again_by_its_leader(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_refuse(w->script, "PUT", LEASE, 404, "NotFound", "gone");
    script_refuse(w->script, "GET", LEASE, 404, "NotFound", "gone");
    script_answer(w->script, "POST", LEASES, 201, TEXT("5", "me", "15", T2, T2, "0"));
    run_for(w, 2 * S);
    assert_int_equal(w->stopped, 0);
    assert_true(may_write(w));
}

static void a_deleted_lease_is_not_made_by_a_standby_while_its_leader_may_lead(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", LEASE, 200, OTHER("7", T0));
    struct script_stream *watch = script_stream(w->script, "GET", WATCH);
    run(w);
    script_stream_event(watch, "DELETED", OTHER("7", T0));
    script_stream_end(watch);
    script_refuse(w->script, "GET", LEASE, 404, "NotFound", "gone");
    run_for(w, 14900 * KB_NS_PER_MS);
    script_verify(w->script);
    script_refuse(w->script, "GET", LEASE, 404, "NotFound", "gone");
    script_answer(w->script, "POST", LEASES, 201, TEXT("9", "me", "15", T2, T2, "0"));
    run_for(w, 200 * KB_NS_PER_MS);
    assert_int_equal(w->started, 1);
}

static void a_broken_watch_is_replaced_and_asking_goes_on(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", LEASE, 200, OTHER("7", T0));
    struct script_stream *watch = script_stream(w->script, "GET", WATCH);
    run(w);
    script_stream_send(watch, "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n");
    run(w);
    assert_false(script_stream_is_open(watch));
    script_answer(w->script, "GET", LEASE, 200, OTHER("8", T2));
    struct script_stream *second = script_stream(w->script, "GET", WATCH);
    run_for(w, 2100 * KB_NS_PER_MS);
    assert_true(script_stream_is_open(second));
    script_stream_send(second, "this is no event\n");
    run(w);
    assert_false(script_stream_is_open(second));
    assert_int_equal(w->observed, 1);
}

/* ---- stopping ---- */

static void stop(struct world *w)
{
    kube_leader_begin_stop(w->leader);
    run(w);
    assert_true(kube_leader_is_over(w->leader));
    assert_int_equal(w->stopped, 0);
}

static void stopping_releases_the_lease_in_client_go_s_form(void **state)
{
    struct world *w = *state;
    become_leader(w);
    run_for(w, 1 * S);
    script_answer_body(w->script, "PUT", LEASE,
                       TEXT("1", "", "1", "2026-01-02T03:04:06.000000Z", "2026-01-02T03:04:06.000000Z", "0"), 200,
                       TEXT("2", "", "1", T0, T0, "0"));
    stop(w);
    script_verify(w->script);
    assert_false(may_write(w));
}

static void a_release_that_conflicts_is_tried_again_while_the_lease_is_ours(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_refuse(w->script, "PUT", LEASE, 409, "Conflict", "changed");
    script_answer(w->script, "GET", LEASE, 200, TEXT("5", "me", "15", T0, T0, "0"));
    script_answer_body(w->script, "PUT", LEASE, TEXT("5", "", "1", T0, T0, "0"), 200, TEXT("6", "", "1", T0, T0, "0"));
    stop(w);
}

static void a_release_leaves_the_lease_of_another_alone(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_refuse(w->script, "PUT", LEASE, 409, "Conflict", "changed");
    script_answer(w->script, "GET", LEASE, 200, OTHER("9", T2));
    stop(w);
}

static void a_server_that_is_away_does_not_hold_the_exit_up(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_cut(w->script, "PUT", LEASE);
    int64_t before = w->clock->mono(w->clock);
    stop(w);
    assert_int_equal(w->clock->mono(w->clock), before);
}

static void a_server_that_is_silent_holds_the_exit_up_no_longer_than_the_renew_deadline(void **state)
{
    struct world *w = *state;
    become_leader(w);
    script_silence(w->script, "PUT", LEASE);
    kube_leader_begin_stop(w->leader);
    run_for(w, 10 * S);
    assert_true(kube_leader_is_over(w->leader));
}

static void a_lease_won_while_stopping_is_released(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "GET", LEASE, 404, "NotFound", "not found");
    kube_leader_poll(w->leader);
    script_run(w->script);
    kube_leader_poll(w->leader); /* the create is on its way */
    kube_leader_begin_stop(w->leader);
    script_answer(w->script, "POST", LEASES, 201, TEXT("1", "me", "15", T0, T0, "0"));
    script_answer_body(w->script, "PUT", LEASE, TEXT("1", "", "1", T0, T0, "0"), 200, TEXT("2", "", "1", T0, T0, "0"));
    run(w);
    assert_true(kube_leader_is_over(w->leader));
    assert_int_equal(w->started, 0);
    assert_false(may_write(w));
}

static void a_standby_stops_without_a_word(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", LEASE, 200, OTHER("7", T0));
    script_stream(w->script, "GET", WATCH);
    run(w);
    stop(w);
}

/* ---- */

static void becoming_leader_is_an_event_on_the_lease(void **state)
{
    struct world *w = *state;
    kube_leader_free(w->leader);
    w->recorder = kube_recorder_new(w->client, "virt-controller", w->clock, w->random);
    struct kube_leader_options options = options_of(w);
    options.recorder = w->recorder;
    struct kube_error error;
    assert_int_equal(kube_leader_new(&options, &w->leader, &error), 0);
    script_any_order(w->script);
    script_answer(w->script, "POST", "/api/v1/namespaces/ns/events", 201, "{}");
    become_leader(w);
    const char *body = script_request(w->script, script_requests(w->script) - 1)->body;
    assert_non_null(strstr(body, "\"reason\":\"LeaderElection\",\"message\":\"me became leader\""));
    assert_non_null(strstr(body,
                           "\"involvedObject\":{\"kind\":\"Lease\",\"namespace\":\"ns\",\"name\":\"l\",\"uid\":\"u\","
                           "\"apiVersion\":\"coordination.k8s.io/v1\",\"resourceVersion\":\"1\"}"));
    script_answer(w->script, "PUT", LEASE, 200, TEXT("2", "", "1", T0, T0, "0"));
    script_answer(w->script, "POST", "/api/v1/namespaces/ns/events", 201, "{}");
    stop(w);
    body = script_request(w->script, script_requests(w->script) - 1)->body;
    assert_non_null(strstr(body, "me stopped leading"));
}

static void options_that_make_no_sense_are_refused(void **state)
{
    struct world *w = *state;
    static const struct {
        int64_t lease, renew, retry;
        const char *identity, *name, *message;
    } cases[] = {
        {15, 10, 2, "", "l", "identity"},
        {15, 10, 2, "me", "", "name"},
        {15, 15, 2, "me", "l", "lease duration must be greater than the renew deadline"},
        {15, 10, 9, "me", "l", "renew deadline must be greater than the retry period"},
        {15, 10, 0, "me", "l", "retry period must be greater than zero"},
        {0, 10, 2, "me", "l", "lease duration must be at least one second"},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct kube_leader_options options = options_of(w);
        struct kube_leader *leader;
        struct kube_error error = {0};
        options.lease_duration_ns = cases[i].lease * S;
        options.renew_deadline_ns = cases[i].renew * S;
        options.retry_period_ns = cases[i].retry * S;
        options.identity = cases[i].identity;
        options.name = cases[i].name;
        assert_int_equal(kube_leader_new(&options, &leader, &error), -1);
        assert_non_null(strstr(error.message, cases[i].message));
    }
}

/* ---- threads ---- */

struct shared { /* what the server and the owner's callbacks count */
    _Atomic int creates, updates, started;
};

static bool serve(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    struct shared *shared = userdata;
    if (kb_streq(request->method, "GET")) {
        reply->status = 404;
        reply->body = "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}";
        return true;
    }
    *(kb_streq(request->method, "POST") ? &shared->creates : &shared->updates) += 1;
    reply->body = kb_arena_strndup(reply->arena, request->body, request->body_length);
    return true;
}

static void count_started(void *userdata)
{
    ((struct shared *)userdata)->started++;
}

/* Once the elector's thread has nothing in flight. */
static int64_t until_next_try(struct world *w)
{
    for (;;) {
        pthread_mutex_lock(&w->leader->lock);
        bool idle = w->leader->call == KUBE_LEADER_NO_CALL;
        int64_t due = w->leader->next_try;
        pthread_mutex_unlock(&w->leader->lock);
        if (idle)
            return due - w->clock->mono(w->clock);
        sched_yield();
    }
}

static void an_elector_with_its_thread_leads_renews_and_releases(void **state)
{
    struct world *w = *state;
    struct shared shared = {0};
    struct kube_leader_options options = options_of(w);
    options.userdata = &shared;
    options.started = count_started;
    options.stopped = NULL;
    options.observed = NULL;
    struct kube_error error;
    kube_leader_free(w->leader);
    assert_int_equal(kube_leader_new(&options, &w->leader, &error), 0);
    script_serve(w->script, serve, &shared);
    script_start_thread(w->script);
    kube_leader_start(w->leader);
    while (shared.started == 0)
        sched_yield();
    for (int renewals = 1; renewals <= 3; renewals++) {
        script_advance(w->script, until_next_try(w));
        while (shared.updates < renewals)
            sched_yield();
    }
    assert_true(kube_leader_is_leading(w->leader));
    kube_leader_stop(w->leader);
    assert_false(kube_leader_is_leading(w->leader));
    assert_int_equal(shared.creates, 1);
    assert_true(shared.updates >= 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_missing_lease_is_created_and_renewed_in_time),
        TEST(the_lease_of_another_is_taken_once_it_was_not_seen_to_change_for_its_duration),
        TEST(a_release_seen_by_the_watch_is_taken_at_once),
        TEST(without_a_watch_it_asks_every_retry_period_with_jitter),
        TEST(of_two_that_take_it_the_one_refused_goes_on_waiting),
        TEST(a_leader_that_cannot_renew_stops_before_another_can_begin),
        TEST(the_fence_closes_even_when_the_elector_does_not_run),
        TEST(a_hanging_renewal_is_given_up_for_another),
        TEST(a_leader_that_sees_another_holder_stops_at_once),
        TEST(a_lost_answer_to_a_renewal_is_made_up_for),
        TEST(a_deleted_lease_is_made_again_by_its_leader),
        TEST(a_deleted_lease_is_not_made_by_a_standby_while_its_leader_may_lead),
        TEST(a_broken_watch_is_replaced_and_asking_goes_on),
        TEST(stopping_releases_the_lease_in_client_go_s_form),
        TEST(a_release_that_conflicts_is_tried_again_while_the_lease_is_ours),
        TEST(a_release_leaves_the_lease_of_another_alone),
        TEST(a_server_that_is_away_does_not_hold_the_exit_up),
        TEST(a_server_that_is_silent_holds_the_exit_up_no_longer_than_the_renew_deadline),
        TEST(a_lease_won_while_stopping_is_released),
        TEST(a_standby_stops_without_a_word),
        TEST(becoming_leader_is_an_event_on_the_lease),
        TEST(options_that_make_no_sense_are_refused),
        TEST(an_elector_with_its_thread_leads_renews_and_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
