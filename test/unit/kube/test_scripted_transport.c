/* Tests of support/scripted_transport.h: other tests are only as good as what it notices. */
#include "base/strbuf.h"
#include "base/strings.h"
#include "support/scripted_transport.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define S KB_NS_PER_S

struct outcome {
    int heads, ends, status;
    int64_t retry_after_ms;
    enum kube_error_kind kind;
    char body[256];
};

static void on_head(void *userdata, const struct kube_http_head *head)
{
    struct outcome *o = userdata;
    o->heads++;
    o->status = head->status;
    o->retry_after_ms = head->retry_after_ms;
}

static int on_body(void *userdata, const char *bytes, size_t n)
{
    struct outcome *o = userdata;
    size_t used = strlen(o->body);
    snprintf(o->body + used, sizeof o->body - used, "%.*s", (int)n, bytes);
    return 0;
}

static void on_end(void *userdata, const struct kube_error *error)
{
    struct outcome *o = userdata;
    o->ends++;
    o->kind = error ? error->kind : KUBE_ERROR_NONE;
}

static const struct kube_http_handler handler = {.head = on_head, .body = on_body, .end = on_end};

static struct kube_exchange *start(struct script *s, const char *method, const char *path, const char *body,
                                   struct outcome *o)
{
    struct kube_transport *t = script_transport(s);
    *o = (struct outcome){0};
    struct kube_http_request request = {
        .method = method, .path = path, .body = body, .body_length = strlen(body), .timeout_ns = 30 * S};
    return t->start(t, &request, &handler, o);
}

static struct outcome ask(struct script *s, const char *method, const char *path, const char *body)
{
    struct outcome o;
    start(s, method, path, body, &o);
    script_run(s);
    return o;
}

static int set_up(void **state)
{
    *state = script_new();
    return 0;
}

static int tear_down(void **state)
{
    script_free(*state);
    return 0;
}

static void nothing_is_delivered_inside_start(void **state)
{
    struct script *s = *state;
    struct outcome o;
    script_answer(s, "GET", "/a", 200, "x");
    start(s, "GET", "/a", "", &o);
    assert_int_equal(o.heads + o.ends, 0);
    script_run(s);
    assert_int_equal(o.heads, 1);
    assert_int_equal(o.ends, 1);
    assert_string_equal(o.body, "x");
}

static void an_unexpected_request_is_noticed(void **state)
{
    struct script *s = *state;
    assert_int_equal(ask(s, "GET", "/a", "").status, 500);
    assert_string_equal(script_problems(s), "unexpected request: GET /a \n");
    script_forgive(s);
}

static void a_request_out_of_order_is_noticed(void **state)
{
    struct script *s = *state;
    script_answer(s, "GET", "/a", 200, "");
    script_answer(s, "GET", "/b", 200, "");
    ask(s, "GET", "/b", "");
    assert_string_equal(script_problems(s), "unexpected request: GET /b \n"
                                            "    expected next:  GET /a \n"
                                            "expected, but never asked: GET /a \n"
                                            "expected, but never asked: GET /b \n");
    script_forgive(s);
}

static void any_order_is_allowed_when_asked_for(void **state)
{
    struct script *s = *state;
    script_any_order(s);
    script_answer(s, "GET", "/a", 201, "");
    script_answer(s, "GET", "/b", 202, "");
    assert_int_equal(ask(s, "GET", "/b", "").status, 202);
    assert_int_equal(ask(s, "GET", "/a", "").status, 201);
}

static void an_answer_nobody_asked_for_is_noticed(void **state)
{
    struct script *s = *state;
    script_answer_body(s, "PUT", "/a", "{}", 200, "");
    script_stream(s, "GET", "/w");
    assert_string_equal(script_problems(s), "expected, but never asked: PUT /a {}\nstream never asked for: GET /w\n");
    script_forgive(s);
}

static void bodies_are_compared_as_json_and_must_match(void **state)
{
    struct script *s = *state;
    script_answer_body(s, "PUT", "/a", "{\"x\":1,\"y\":[1,2]}", 200, "");
    assert_int_equal(ask(s, "PUT", "/a", "{\"y\":[1,2], \"x\":1}").status, 200);
    script_answer_body(s, "PUT", "/a", "{\"x\":1}", 200, "");
    assert_int_equal(ask(s, "PUT", "/a", "{\"x\":2}").status, 500);
    script_forgive(s);
}

static void a_star_matches_any_text(void **state)
{
    struct script *s = *state;
    script_answer(s, "GET", "/a?*b*", 200, "");
    script_answer(s, "GET", "*", 200, "");
    assert_int_equal(ask(s, "GET", "/a?x&b=1", "").status, 200);
    assert_int_equal(ask(s, "GET", "/", "").status, 200);
    script_answer(s, "GET", "/a*c", 200, "");
    assert_int_equal(ask(s, "GET", "/abcd", "").status, 500);
    script_forgive(s);
}

static void refusals_carry_their_status_and_time(void **state)
{
    struct script *s = *state;
    script_refuse_for(s, "GET", "/a", 429, 3);
    struct outcome o = ask(s, "GET", "/a", "");
    assert_int_equal(o.status, 429);
    assert_int_equal(o.retry_after_ms, 3000);
    assert_int_equal(o.kind, KUBE_ERROR_NONE);
}

static const struct {
    enum script_fault fault;
    int status;
    enum kube_error_kind kind;
    size_t left; /* expectations after the fault */
} faults[] = {
    {SCRIPT_CUT_BEFORE, 0, KUBE_ERROR_CONNECTION, 1}, {SCRIPT_CUT_AFTER, 0, KUBE_ERROR_CONNECTION, 0},
    {SCRIPT_CONFLICT, 409, KUBE_ERROR_NONE, 1},       {SCRIPT_TOO_MANY, 429, KUBE_ERROR_NONE, 1},
    {SCRIPT_INTERNAL, 500, KUBE_ERROR_NONE, 1},       {SCRIPT_UNAVAILABLE, 503, KUBE_ERROR_NONE, 1},
};

static void the_request_that_was_named_meets_its_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(faults); i++) {
        struct script *s = script_new();
        script_answer(s, "GET", "/a", 200, "");
        script_answer(s, "GET", "/b", 200, "");
        script_fail_request(s, 2, faults[i].fault);
        assert_int_equal(ask(s, "GET", "/a", "").status, 200);
        struct outcome o = ask(s, "GET", "/b", "");
        assert_int_equal(o.status, faults[i].status);
        assert_int_equal(o.kind, faults[i].kind);
        assert_int_equal(o.ends, 1);
        assert_int_equal(script_open(s), faults[i].left);
        script_clear(s);
        script_free(s);
    }
}

static void a_silent_request_ends_when_the_time_has_come(void **state)
{
    struct script *s = *state;
    struct outcome o;
    script_silence(s, "GET", "/a");
    start(s, "GET", "/a", "", &o);
    script_advance(s, 30 * S - 1);
    assert_int_equal(o.ends, 0);
    assert_int_equal(script_next_timer(s), 1);
    script_advance(s, 1);
    assert_int_equal(o.kind, KUBE_ERROR_TIMEOUT);
    assert_int_equal(script_next_timer(s), -1);
}

static void a_cancelled_exchange_ends_and_tells_nothing_more(void **state)
{
    struct script *s = *state;
    struct outcome o;
    struct script_stream *stream = script_stream(s, "GET", "/w");
    struct kube_exchange *x = start(s, "GET", "/w", "", &o);
    script_run(s);
    script_stream_send(stream, "late");
    script_transport(s)->cancel(script_transport(s), x);
    assert_int_equal(o.ends, 0);
    script_run(s);
    assert_int_equal(o.kind, KUBE_ERROR_CANCELLED);
    assert_string_equal(o.body, "");
    assert_false(script_stream_is_open(stream));
}

static void a_stream_is_sent_by_hand_and_ended_or_cut(void **state)
{
    struct script *s = *state;
    struct outcome o;
    struct script_stream *ended = script_stream(s, "GET", "/w"), *cut = script_stream(s, "GET", "/w");
    script_stream_event(ended, "ADDED", "{\"a\":1}");
    start(s, "GET", "/w", "", &o);
    script_run(s);
    assert_true(script_stream_is_open(ended));
    assert_string_equal(o.body, "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n");
    script_stream_end(ended);
    script_run(s);
    assert_int_equal(o.kind, KUBE_ERROR_NONE);
    assert_int_equal(o.ends, 1);
    start(s, "GET", "/w", "", &o);
    script_run(s);
    script_stream_cut(cut);
    script_run(s);
    assert_int_equal(o.kind, KUBE_ERROR_CONNECTION);
}

static void write_a(void *userdata)
{
    kb_strbuf_puts(userdata, "a");
}

static void write_b(void *userdata)
{
    kb_strbuf_puts(userdata, "b");
}

static void posts_run_in_the_order_of_their_time(void **state)
{
    struct script *s = *state;
    struct kube_transport *t = script_transport(s);
    kb_cleanup_strbuf struct kb_strbuf ran = {0};
    t->post(t, 2 * S, write_b, &ran);
    t->post(t, 1 * S, write_a, &ran);
    uint64_t never = t->post(t, 1 * S, write_b, &ran);
    assert_true(t->unpost(t, never));
    assert_false(t->unpost(t, never));
    script_run(s);
    assert_int_equal(ran.length, 0);
    script_advance(s, 1 * S);
    assert_string_equal(ran.data, "a");
    script_advance(s, 5 * S);
    assert_string_equal(ran.data, "ab");
}

static void waiting_plays_the_server_and_then_moves_the_time(void **state)
{
    struct script *s = *state;
    struct kb_clock *clock = script_clock(s);
    struct outcome o;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    kb_cond_init(&cond);
    int64_t begin = clock->mono(clock);
    script_answer(s, "GET", "/a", 200, "");
    start(s, "GET", "/a", "", &o);
    pthread_mutex_lock(&lock);
    assert_false(clock->wait(clock, &cond, &lock, begin + 5 * S));
    assert_int_equal(o.ends, 1);
    assert_int_equal(clock->mono(clock), begin);
    assert_true(clock->wait(clock, &cond, &lock, begin + 5 * S));
    assert_int_equal(clock->mono(clock), begin + 5 * S);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&cond);
}

static bool serve(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    (void)userdata;
    reply->status = 203;
    reply->body = kb_arena_printf(reply->arena, "%s %s", request->method, request->body);
    return kb_streq(request->path, "/served");
}

static void a_server_in_code_answers_what_no_expectation_claims(void **state)
{
    struct script *s = *state;
    script_serve(s, serve, NULL);
    script_answer(s, "GET", "/a", 200, "");
    struct outcome o = ask(s, "POST", "/served", "x");
    assert_int_equal(o.status, 203);
    assert_string_equal(o.body, "POST x");
    assert_int_equal(ask(s, "GET", "/a", "").status, 200);
    ask(s, "GET", "/other", "");
    assert_string_equal(script_problems(s), "unexpected request: GET /other \n");
    assert_int_equal(script_count(s, "*", "/served"), 1);
    assert_int_equal(script_requests(s), 3);
    script_forgive(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_delivered_inside_start),
        TEST(an_unexpected_request_is_noticed),
        TEST(a_request_out_of_order_is_noticed),
        TEST(any_order_is_allowed_when_asked_for),
        TEST(an_answer_nobody_asked_for_is_noticed),
        TEST(bodies_are_compared_as_json_and_must_match),
        TEST(a_star_matches_any_text),
        TEST(refusals_carry_their_status_and_time),
        cmocka_unit_test(the_request_that_was_named_meets_its_fault),
        TEST(a_silent_request_ends_when_the_time_has_come),
        TEST(a_cancelled_exchange_ends_and_tells_nothing_more),
        TEST(a_stream_is_sent_by_hand_and_ended_or_cut),
        TEST(posts_run_in_the_order_of_their_time),
        TEST(waiting_plays_the_server_and_then_moves_the_time),
        TEST(a_server_in_code_answers_what_no_expectation_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
