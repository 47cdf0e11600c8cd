/* Tests of kube/client.h against the scripted API server. */
#include "api/types/core.h"
#include "base/strings.h"
#include "kube/client.h"
#include "support/scripted_transport.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define S         KB_NS_PER_S
#define POD_PATH  "/api/v1/namespaces/default/pods/a"
#define PODS_PATH "/api/v1/namespaces/default/pods"
#define POD_TEXT  "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"}}"

struct seen {
    int requests, throttled, status;
    int64_t waited_ns, duration_ns;
    char method[16], resource[64], path_template[128];
};

struct world {
    struct script *script;
    struct kb_clock *clock;
    struct kube_limiter *limiter;
    struct kube_client *client;
    struct kube_client_observer observer;
    struct seen seen;
    struct kube_error error;
    struct kb_strbuf body;
    int64_t begin;
};

static void see_request(void *userdata, enum kube_verb verb, const char *method, const char *resource,
                        const char *path_template, int status, int64_t duration_ns)
{
    struct seen *seen = userdata;
    (void)verb;
    seen->requests++;
    seen->status = status;
    seen->duration_ns = duration_ns;
    snprintf(seen->method, sizeof seen->method, "%s", method);
    snprintf(seen->resource, sizeof seen->resource, "%s", resource);
    snprintf(seen->path_template, sizeof seen->path_template, "%s", path_template);
}

static void see_throttled(void *userdata, enum kube_verb verb, const char *path_template, int64_t waited_ns)
{
    struct seen *seen = userdata;
    (void)verb;
    (void)path_template;
    seen->throttled++;
    seen->waited_ns = waited_ns;
}

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof *w);
    w->script = script_new();
    w->clock = script_clock(w->script);
    w->limiter = kube_limiter_new(w->clock, 10, 100);
    w->observer =
        (struct kube_client_observer){.request = see_request, .throttled = see_throttled, .userdata = &w->seen};
    w->client = kube_client_new(&(struct kube_client_options){
        .transport = script_transport(w->script), .limiter = w->limiter, .clock = w->clock, .observer = &w->observer});
    w->begin = w->clock->mono(w->clock);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    kube_client_free(w->client);
    kube_limiter_free(w->limiter);
    kb_strbuf_done(&w->body);
    struct script *script = w->script;
    free(w);
    script_free(script);
    return 0;
}

static int64_t elapsed(const struct world *w)
{
    return w->clock->mono(w->clock) - w->begin;
}

static struct kube_target pod(void)
{
    return (struct kube_target){.resource = core_pod_type.resource, .namespace_ = "default", .name = "a"};
}

static int get(struct world *w)
{
    struct kube_target target = pod();
    kube_error_clear(&w->error);
    kb_strbuf_clear(&w->body);
    return kube_call(w->client, KUBE_GET, &target, KUBE_JSON, NULL, 0, &w->body, &w->error);
}

static int patch(struct world *w)
{
    struct kube_target target = pod();
    const char *text = "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}";
    kube_error_clear(&w->error);
    return kube_call(w->client, KUBE_PATCH, &target, KUBE_MERGE_PATCH, text, strlen(text), NULL, &w->error);
}

static void a_read_gives_the_answers_text(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    assert_int_equal(get(w), 0);
    assert_string_equal(w->body.data, POD_TEXT);
    assert_string_equal(script_request(w->script, 0)->content_type, "");
}

static void a_patch_sends_its_body_with_the_content_type_of_its_kind(void **state)
{
    struct world *w = *state;
    script_answer_body(w->script, "PATCH", POD_PATH, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", 200, POD_TEXT);
    assert_int_equal(patch(w), 0);
    assert_string_equal(script_request(w->script, 0)->content_type, "application/merge-patch+json");
}

static void a_status_becomes_an_error_with_its_reason_and_message(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "PATCH", POD_PATH, 409, "Conflict", "the object has been modified");
    assert_int_equal(patch(w), -1);
    assert_true(kube_error_is_conflict(&w->error));
    assert_string_equal(w->error.message, "the object has been modified");
}

static void a_refusal_without_a_status_gets_the_reason_of_its_code(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", POD_PATH, 404, "404 page not found");
    assert_int_equal(get(w), -1);
    assert_true(kube_error_is_not_found(&w->error));
    assert_string_equal(w->error.reason, "NotFound");
    assert_string_equal(w->error.message, "the server could not find the requested resource (get pods a)");
}

static void busy_answers_are_retried_after_the_time_that_the_server_asks_for(void **state)
{
    struct world *w = *state;
    script_refuse_for(w->script, "PATCH", POD_PATH, 429, 1);
    script_refuse_for(w->script, "PATCH", POD_PATH, 503, 2);
    script_answer(w->script, "PATCH", POD_PATH, 200, POD_TEXT);
    assert_int_equal(patch(w), 0);
    assert_int_equal(elapsed(w), 3 * S);
    assert_int_equal(w->seen.requests, 3);
}

static void a_busy_answer_without_a_time_is_an_error(void **state)
{
    struct world *w = *state;
    script_refuse(w->script, "PATCH", POD_PATH, 429, "TooManyRequests", "disruption budget");
    assert_int_equal(patch(w), -1);
    assert_int_equal(w->error.http_status, 429);
    assert_int_equal(elapsed(w), 0);
}

static void retries_end_after_ten(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 11; i++)
        script_refuse_for(w->script, "GET", POD_PATH, 429, 1);
    assert_int_equal(get(w), -1);
    assert_int_equal(w->error.http_status, 429);
    assert_int_equal(w->error.retry_after_ms, 1000);
    assert_int_equal(elapsed(w), 10 * S);
}

static void a_retry_that_would_come_after_the_deadline_is_not_waited_for(void **state)
{
    struct world *w = *state;
    script_refuse_for(w->script, "GET", POD_PATH, 503, 60);
    assert_int_equal(get(w), -1);
    assert_int_equal(w->error.http_status, 503);
    assert_int_equal(elapsed(w), 0);
}

static void a_read_is_tried_once_more_after_a_lost_connection(void **state)
{
    struct world *w = *state;
    script_cut(w->script, "GET", POD_PATH);
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    assert_int_equal(get(w), 0);
    script_cut(w->script, "GET", POD_PATH);
    script_cut(w->script, "GET", POD_PATH);
    assert_int_equal(get(w), -1);
    assert_int_equal(w->error.kind, KUBE_ERROR_CONNECTION);
}

static void a_write_is_not_repeated_after_a_lost_connection(void **state)
{
    struct world *w = *state;
    script_cut(w->script, "PATCH", POD_PATH);
    assert_int_equal(patch(w), -1);
    assert_int_equal(w->error.kind, KUBE_ERROR_CONNECTION);
}

static void a_silent_server_ends_the_call_at_its_deadline(void **state)
{
    struct world *w = *state;
    script_silence(w->script, "GET", POD_PATH);
    assert_int_equal(get(w), -1);
    assert_int_equal(w->error.kind, KUBE_ERROR_TIMEOUT);
    assert_int_equal(elapsed(w), 30 * S);
    assert_int_equal(w->seen.status, 0);
}

static void a_call_waits_for_its_token_and_tells_the_observer(void **state)
{
    struct world *w = *state;
    kube_limiter_set(w->limiter, 0.5, 1);
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    assert_int_equal(get(w), 0);
    assert_int_equal(w->seen.waited_ns, 0);
    assert_int_equal(get(w), 0);
    assert_int_equal(w->seen.waited_ns, 2 * S);
    assert_int_equal(w->seen.throttled, 2);
    assert_int_equal(elapsed(w), 2 * S);
    assert_string_equal(w->seen.method, "GET");
    assert_string_equal(w->seen.resource, "pods");
    assert_string_equal(w->seen.path_template, "/api/v1/namespaces/{namespace}/pods/{name}");
    assert_int_equal(w->seen.status, 200);
}

static void a_token_after_the_deadline_fails_at_once(void **state)
{
    struct world *w = *state;
    kube_limiter_set(w->limiter, 0.01, 1);
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    assert_int_equal(get(w), 0);
    assert_int_equal(get(w), -1);
    assert_int_equal(w->error.kind, KUBE_ERROR_TIMEOUT);
    assert_int_equal(elapsed(w), 0);
}

static void writes_stop_at_the_fence_and_reads_do_not(void **state)
{
    struct world *w = *state;
    kube_client_set_fence(w->client, w->begin + 5 * S);
    script_answer(w->script, "PATCH", POD_PATH, 200, POD_TEXT);
    assert_int_equal(patch(w), 0);
    script_advance(w->script, 5 * S);
    assert_int_equal(patch(w), -1);
    assert_int_equal(w->error.kind, KUBE_ERROR_CANCELLED);
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    assert_int_equal(get(w), 0);
}

static void a_retry_of_a_write_stops_at_the_fence_too(void **state)
{
    struct world *w = *state;
    kube_client_set_fence(w->client, w->begin + 1 * S);
    script_refuse_for(w->script, "PATCH", POD_PATH, 429, 1);
    assert_int_equal(patch(w), -1);
    assert_int_equal(w->error.kind, KUBE_ERROR_CANCELLED);
}

struct ended {
    int times;
    struct kube_error error;
    char body[256];
};

static void note_end(void *userdata, const char *body, size_t n, const struct kube_error *error)
{
    struct ended *ended = userdata;
    ended->times++;
    ended->error = error ? *error : (struct kube_error){0};
    snprintf(ended->body, sizeof ended->body, "%.*s", (int)n, body);
}

static void get_async(struct world *w, struct ended *ended)
{
    struct kube_target target = pod();
    kube_call_async(w->client, KUBE_GET, &target, KUBE_JSON, NULL, 0, note_end, ended);
}

static void an_asynchronous_call_tells_its_answer_later(void **state)
{
    struct world *w = *state;
    struct ended ended = {0};
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    get_async(w, &ended);
    assert_int_equal(ended.times, 0);
    script_run(w->script);
    assert_int_equal(ended.times, 1);
    assert_string_equal(ended.body, POD_TEXT);
}

static void closing_ends_calls_that_are_asked_and_calls_that_wait(void **state)
{
    struct world *w = *state;
    struct ended asked = {0}, waiting = {0}, late = {0};
    kube_limiter_set(w->limiter, 0.1, 1);
    script_silence(w->script, "GET", POD_PATH);
    get_async(w, &asked);
    get_async(w, &waiting);
    script_run(w->script);
    kube_client_close(w->client);
    get_async(w, &late);
    script_run(w->script);
    assert_int_equal(elapsed(w), 0);
    assert_int_equal(asked.times, 1);
    assert_int_equal(asked.error.kind, KUBE_ERROR_CANCELLED);
    assert_int_equal(waiting.times, 1);
    assert_int_equal(waiting.error.kind, KUBE_ERROR_CANCELLED);
    assert_int_equal(late.times, 1);
    assert_int_equal(late.error.kind, KUBE_ERROR_CANCELLED);
}

static void typed_calls_encode_and_decode(void **state)
{
    struct world *w = *state;
    script_answer(w->script, "GET", POD_PATH, 200, POD_TEXT);
    const struct api_object *got, *created;
    assert_int_equal(kube_client_get(w->client, &core_pod_type, "default", "a", &got, &w->error), 0);
    const struct core_pod *p = api_object_data(got);
    assert_string_equal(p->metadata.name, "a");

    struct core_pod fresh = {.metadata = {.name = "b"}};
    script_answer(w->script, "POST", PODS_PATH, 201, POD_TEXT);
    assert_int_equal(kube_client_create(w->client, &core_pod_type, "default", &fresh, &created, &w->error), 0);
    assert_non_null(strstr(script_request(w->script, 1)->body, "\"kind\":\"Pod\",\"apiVersion\":\"v1\""));
    assert_non_null(strstr(script_request(w->script, 1)->body, "\"name\":\"b\""));
    api_object_unref(got);
    api_object_unref(created);
}

static void a_delete_carries_its_preconditions(void **state)
{
    struct world *w = *state;
    script_answer_body(w->script, "DELETE", POD_PATH,
                       "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"gracePeriodSeconds\":0,\"preconditions\":"
                       "{\"uid\":\"u\",\"resourceVersion\":\"7\"},\"propagationPolicy\":\"Background\"}",
                       200, "{}");
    struct kube_delete_options options = {
        .uid = "u", .resource_version = "7", .grace_period_seconds = 0, .propagation = "Background"};
    assert_int_equal(kube_client_delete(w->client, &core_pod_type, "default", "a", &options, &w->error), 0);
}

static int note_name(void *userdata, const struct api_object *object, struct kube_error *reterr)
{
    (void)reterr;
    const struct core_pod *p = api_object_data(object);
    kb_strbuf_puts(userdata, p->metadata.name);
    return 0;
}

static int list(struct world *w, struct kb_strbuf *names)
{
    return kube_client_list(w->client, &core_pod_type, "default", "labelSelector=x", note_name, names, &w->error);
}

#define PAGE(next, ...) "{\"metadata\":{\"continue\":\"" next "\"},\"items\":[" __VA_ARGS__ "]}"
#define ITEM(name)      "{\"metadata\":{\"name\":\"" name "\"}}"

static void an_object_without_a_name_is_not_asked_for(void **state)
{
    struct world *w = *state;
    const struct api_object *object;
    assert_int_equal(kube_client_get(w->client, &core_pod_type, "default", "", &object, &w->error), -1);
    assert_string_equal(w->error.message, "resource name may not be empty");
    assert_int_equal(kube_client_delete(w->client, &core_pod_type, "default", "", NULL, &w->error), -1);
    assert_int_equal(w->seen.requests, 0);
}

static void a_list_reads_all_pages(void **state)
{
    struct world *w = *state;
    kb_cleanup_strbuf struct kb_strbuf names = {0};
    script_answer(w->script, "GET", PODS_PATH "?limit=500&labelSelector=x", 200, PAGE("t=1", ITEM("a") "," ITEM("b")));
    script_answer(w->script, "GET", PODS_PATH "?limit=500&continue=t%3D1&labelSelector=x", 200, PAGE("", ITEM("c")));
    assert_int_equal(list(w, &names), 0);
    assert_string_equal(names.data, "abc");
}

static void an_expired_page_starts_the_list_over_without_telling_twice(void **state)
{
    struct world *w = *state;
    kb_cleanup_strbuf struct kb_strbuf names = {0};
    script_answer(w->script, "GET", PODS_PATH "?limit=500&labelSelector=x", 200, PAGE("t", ITEM("a")));
    script_refuse(w->script, "GET", PODS_PATH "?limit=500&continue=t&labelSelector=x", 410, "Expired", "too old");
    script_answer(w->script, "GET", PODS_PATH "?limit=500&labelSelector=x", 200, PAGE("", ITEM("a") "," ITEM("z")));
    assert_int_equal(list(w, &names), 0);
    assert_string_equal(names.data, "az");
}

static void discovery_tells_served_from_unknown_from_unreachable(void **state)
{
    struct world *w = *state;
    const char *path = "/apis/security.openshift.io/v1",
               *served = "{\"resources\":[{\"name\":\"a\"},{\"name\":\"sccs\"}]}";
    script_answer(w->script, "GET", path, 200, served);
    assert_int_equal(kube_discover_resource(w->client, "security.openshift.io", "v1", "sccs", &w->error), 1);
    script_answer(w->script, "GET", path, 200, "{\"resources\":[]}");
    assert_int_equal(kube_discover_resource(w->client, "security.openshift.io", "v1", "sccs", &w->error), 0);
    script_answer(w->script, "GET", path, 404, "");
    assert_int_equal(kube_discover_resource(w->client, "security.openshift.io", "v1", "sccs", &w->error), 0);
    script_answer(w->script, "GET", path, 503, "");
    assert_int_equal(kube_discover_resource(w->client, "security.openshift.io", "v1", "sccs", &w->error), -1);
    script_answer(w->script, "GET", "/api/v1", 200, served);
    assert_int_equal(kube_discover_resource(w->client, "", "v1", "sccs", &w->error), 1);
}

/* ---- with threads ---- */

struct caller {
    pthread_t thread;
    struct kube_client *client;
    int result;
};

static void *call_many(void *userdata)
{
    struct caller *caller = userdata;
    struct kube_target target = pod();
    for (int i = 0; i < 50; i++)
        caller->result += kube_call(caller->client, KUBE_GET, &target, KUBE_JSON, NULL, 0, NULL, NULL);
    return NULL;
}

static bool serve_pod(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    (void)userdata;
    reply->body = POD_TEXT;
    return kb_streq(request->path, POD_PATH);
}

static void many_threads_call_at_once(void **state)
{
    (void)state;
    struct script *script = script_new();
    script_serve(script, serve_pod, NULL);
    script_start_thread(script);
    struct kube_client *client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(script), .clock = script_clock(script)});
    struct caller callers[8] = {0};
    for (size_t i = 0; i < KB_ARRAY_LEN(callers); i++) {
        callers[i].client = client;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_many, &callers[i]), 0);
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].result, 0);
    }
    assert_int_equal(script_requests(script), 400);
    kube_client_free(client);
    script_free(script);
}

static void closing_wakes_a_thread_that_waits_for_a_silent_server(void **state)
{
    (void)state;
    struct script *script = script_new();
    script_silence(script, "GET", POD_PATH);
    script_start_thread(script);
    struct kube_client *client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(script), .clock = script_clock(script)});
    struct caller caller = {.client = client};
    assert_int_equal(pthread_create(&caller.thread, NULL, call_many, &caller), 0);
    while (script_requests(script) == 0)
        sched_yield();
    script_run(script); /* the request is with the server */
    kube_client_close(client);
    pthread_join(caller.thread, NULL);
    assert_int_equal(caller.result, -50);
    kube_client_free(client);
    script_free(script);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_read_gives_the_answers_text),
        TEST(a_patch_sends_its_body_with_the_content_type_of_its_kind),
        TEST(a_status_becomes_an_error_with_its_reason_and_message),
        TEST(a_refusal_without_a_status_gets_the_reason_of_its_code),
        TEST(busy_answers_are_retried_after_the_time_that_the_server_asks_for),
        TEST(a_busy_answer_without_a_time_is_an_error),
        TEST(retries_end_after_ten),
        TEST(a_retry_that_would_come_after_the_deadline_is_not_waited_for),
        TEST(a_read_is_tried_once_more_after_a_lost_connection),
        TEST(a_write_is_not_repeated_after_a_lost_connection),
        TEST(a_silent_server_ends_the_call_at_its_deadline),
        TEST(a_call_waits_for_its_token_and_tells_the_observer),
        TEST(a_token_after_the_deadline_fails_at_once),
        TEST(writes_stop_at_the_fence_and_reads_do_not),
        TEST(a_retry_of_a_write_stops_at_the_fence_too),
        TEST(an_asynchronous_call_tells_its_answer_later),
        TEST(closing_ends_calls_that_are_asked_and_calls_that_wait),
        TEST(typed_calls_encode_and_decode),
        TEST(a_delete_carries_its_preconditions),
        TEST(an_object_without_a_name_is_not_asked_for),
        TEST(a_list_reads_all_pages),
        TEST(an_expired_page_starts_the_list_over_without_telling_twice),
        TEST(discovery_tells_served_from_unknown_from_unreachable),
        cmocka_unit_test(many_threads_call_at_once),
        cmocka_unit_test(closing_wakes_a_thread_that_waits_for_a_silent_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
