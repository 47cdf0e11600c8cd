/* Tests of kube/informer.h: lists, watches and all the ways in which they end. */
#include "api/types/core.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "kube/informer.h"
#include "support/scripted_transport.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PODS "/api/v1/pods?"
#define STREAMED                                                                                                       \
    PODS "watch=true&allowWatchBookmarks=true&timeoutSeconds=*&sendInitialEvents=true&resourceVersionMatch="           \
         "NotOlderThan"
#define WATCH(v) PODS "watch=true&allowWatchBookmarks=true&timeoutSeconds=*&resourceVersion=" v
#define POD(n, v)                                                                                                      \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" n "\",\"namespace\":\"ns\",\"uid\":\"u-" n     \
    "\",\"resourceVersion\":\"" v "\"},\"spec\":{\"nodeName\":\"node\"}}"
#define MARK(v)                                                                                                        \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" v                                   \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"
#define BOOKMARK(v) "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" v "\"}}"
#define GONE        "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"too old\",\"reason\":\"Expired\",\"code\":410}"

static const struct kube_informer_spec all_pods = {.name = "pod", .type = &core_pod_type};

struct fixture {
    struct script *script;
    struct kube_client *client;
    struct kb_random *random;
    struct kube_informer *informer;
    int synced, errors;
    char last_error[KUBE_ERROR_MESSAGE_SIZE];
};

static void on_error(void *userdata, const struct kube_informer_spec *spec, const struct kube_error *error)
{
    struct fixture *f = userdata;
    (void)spec;
    f->errors++;
    snprintf(f->last_error, sizeof f->last_error, "%s", error->message);
}
static void on_synced(void *userdata, const struct kube_informer_spec *spec)
{
    (void)spec;
    ((struct fixture *)userdata)->synced++;
}

static void make_informer(struct fixture *f, const struct kube_informer_spec *spec)
{
    struct kube_informer_options options = {
        .client = f->client, .random = f->random, .error = on_error, .synced = on_synced, .userdata = f};
    f->informer = kube_informer_new(spec, &options);
}

static int set_up(void **state)
{
    struct fixture *f = kb_malloc(sizeof *f);
    f->script = script_new();
    f->client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(f->script), .clock = script_clock(f->script)});
    f->random = kb_random_seeded(1);
    make_informer(f, &all_pods);
    *state = f;
    return 0;
}
static int tear_down(void **state)
{
    struct fixture *f = *state;
    kube_informer_free(f->informer);
    kube_client_free(f->client);
    script_free(f->script);
    free(f->random);
    free(f);
    return 0;
}

/* "name@version name@version" */
static const char *content(struct fixture *f)
{
    static char text[4096];
    size_t n = 0;
    struct kube_objects all = kube_store_list(kube_informer_store(f->informer), NULL);
    text[0] = '\0';
    for (size_t i = 0; i < all.n && n < sizeof text; i++) {
        const struct core_pod *pod = api_object_data(all.items[i]);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s@%s", i ? " " : "", pod->metadata.name,
                              pod->metadata.resource_version);
    }
    kube_objects_done(&all);
    return text;
}

static void start(struct fixture *f)
{
    kube_informer_start(f->informer);
    script_run(f->script);
}

/* A streamed list of a@1 and b@2 at version 5, and the watch that follows in it. */
static struct script_stream *start_listed(struct fixture *f)
{
    struct script_stream *s = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "ADDED", POD("a", "1"));
    script_stream_event(s, "ADDED", POD("b", "2"));
    script_stream_event(s, "BOOKMARK", MARK("5"));
    start(f);
    assert_true(kube_informer_has_synced(f->informer));
    return s;
}

static void a_streamed_list_fills_the_store_and_goes_on_as_a_watch(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "ADDED", POD("a", "1"));
    start(f);
    assert_string_equal(content(f), "a@1");
    assert_false(kube_informer_has_synced(f->informer));
    script_stream_event(s, "BOOKMARK", MARK("5"));
    script_run(f->script);
    assert_true(kube_informer_has_synced(f->informer));
    assert_int_equal(f->synced, 1);
    script_stream_event(s, "MODIFIED", POD("a", "6"));
    script_stream_event(s, "ADDED", POD("c", "7"));
    script_run(f->script);
    assert_string_equal(content(f), "a@6 c@7");
    script_stream_event(s, "DELETED", POD("a", "8"));
    script_run(f->script);
    assert_string_equal(content(f), "c@7");
    assert_int_equal(f->errors, 0);
}

static void a_watch_that_ends_goes_on_from_its_last_version_without_a_list(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_stream_event(s, "BOOKMARK", BOOKMARK("40"));
    struct script_stream *next = script_stream(f->script, "GET", WATCH("40"));
    script_stream_end(s);
    script_run(f->script);
    script_stream_event(next, "ADDED", POD("c", "41"));
    script_run(f->script);
    assert_string_equal(content(f), "a@1 b@2 c@41");
    assert_int_equal(f->errors, 0);
    struct kube_informer_state informer;
    kube_informer_get_state(f->informer, &informer);
    assert_int_equal(informer.relists, 1);
    assert_int_equal(informer.events, 3);
    assert_true(informer.watching);
}

static void a_broken_watch_is_taken_up_after_a_pause(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_stream_cut(s);
    script_run(f->script);
    assert_int_equal(f->errors, 1);
    int64_t pause = script_next_timer(f->script);
    assert_in_range(pause, 800 * KB_NS_PER_MS, 1600 * KB_NS_PER_MS);
    struct script_stream *next = script_stream(f->script, "GET", WATCH("5"));
    script_advance(f->script, pause);
    assert_true(script_stream_is_open(next));
    assert_true(kube_informer_has_synced(f->informer));
}

static void a_long_watch_that_breaks_is_taken_up_at_once(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_advance(f->script, 60 * KB_NS_PER_S);
    struct script_stream *next = script_stream(f->script, "GET", WATCH("5"));
    script_stream_cut(s);
    script_run(f->script);
    assert_true(script_stream_is_open(next));
    assert_int_equal(f->errors, 0);
}

static void a_watch_that_breaks_after_a_second_is_taken_up_at_once_each_time(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    for (int i = 0; i < 5; i++) {
        script_advance(f->script, KB_NS_PER_S);
        struct script_stream *next = script_stream(f->script, "GET", WATCH("5"));
        script_stream_cut(s);
        script_run(f->script);
        assert_true(script_stream_is_open(next));
        s = next;
    }
}

static void a_watch_that_hangs_is_given_up(void **state)
{
    struct fixture *f = *state;
    start_listed(f);
    struct script_stream *next = script_stream(f->script, "GET", WATCH("5"));
    script_advance(f->script, 631 * KB_NS_PER_S);
    assert_true(script_stream_is_open(next));
}

static void pauses_grow_to_half_a_minute(void **state)
{
    struct fixture *f = *state;
    int64_t pauses[8];
    kube_informer_start(f->informer);
    for (size_t i = 0; i < KB_ARRAY_LEN(pauses); i++) {
        script_cut(f->script, "GET", STREAMED);
        if (i > 0)
            script_advance(f->script, pauses[i - 1]);
        script_run(f->script);
        pauses[i] = script_next_timer(f->script);
    }
    assert_in_range(pauses[1], 1600 * KB_NS_PER_MS, 3200 * KB_NS_PER_MS);
    assert_in_range(pauses[3], 6400 * KB_NS_PER_MS, 12800 * KB_NS_PER_MS);
    assert_int_equal(pauses[7], 30 * KB_NS_PER_S);
    assert_int_equal(f->errors, 8);
}

static void an_expired_version_needs_a_new_list_that_keeps_what_is_there(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    struct script_stream *list = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "ERROR", GONE);
    script_run(f->script);
    assert_string_equal(content(f), "a@1 b@2");
    script_stream_event(list, "ADDED", POD("b", "2"));
    script_stream_event(list, "ADDED", POD("c", "9"));
    script_stream_event(list, "BOOKMARK", MARK("10"));
    script_run(f->script);
    assert_string_equal(content(f), "b@2 c@9");
    assert_int_equal(f->synced, 1);
}

static void an_expired_version_may_also_be_refused_at_the_start(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_stream_event(s, "MODIFIED", POD("a", "6"));
    script_refuse(f->script, "GET", WATCH("6"), 410, "Expired", "too old resource version");
    struct script_stream *list = script_stream(f->script, "GET", STREAMED);
    script_stream_end(s);
    script_run(f->script);
    assert_true(script_stream_is_open(list));
}

static void versions_that_expire_again_and_again_are_not_asked_for_in_a_loop(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    struct script_stream *list = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "ERROR", GONE);
    script_stream_event(list, "ERROR", GONE);
    script_run(f->script);
    assert_true(script_next_timer(f->script) >= 1600 * KB_NS_PER_MS);
}

static void a_server_without_streamed_lists_is_asked_for_pages(void **state)
{
    static const int refusals[] = {400, 405, 422};
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(refusals); i++) {
        struct fixture *f;
        set_up((void **)&f);
        script_refuse(f->script, "GET", STREAMED, refusals[i], "Invalid", "sendInitialEvents is forbidden");
        script_answer(f->script, "GET", PODS "limit=500", 200,
                      "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"t/=\"},\"items\":[" POD("a", "1") "]}");
        script_answer(f->script, "GET", PODS "limit=500&continue=t%2F%3D", 200,
                      "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" POD("b", "2") "," POD("c", "3") "]}");
        struct script_stream *watch = script_stream(f->script, "GET", WATCH("7"));
        start(f);
        assert_string_equal(content(f), "a@1 b@2 c@3");
        assert_int_equal(f->synced, 1);
        assert_true(script_stream_is_open(watch));
        assert_int_equal(f->errors, 0);
        tear_down((void **)&f);
    }
}

static void a_stream_that_ends_without_its_mark_is_replaced_by_pages(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "ADDED", POD("a", "1"));
    script_stream_end(s);
    script_answer(f->script, "GET", PODS "limit=500", 200,
                  "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" POD("b", "2") "]}");
    struct script_stream *watch = script_stream(f->script, "GET", WATCH("7"));
    start(f);
    assert_string_equal(content(f), "b@2");
    assert_true(script_stream_is_open(watch));
}

static void pages_that_expire_are_replaced_by_one_list(void **state)
{
    struct fixture *f = *state;
    script_refuse(f->script, "GET", STREAMED, 422, "Invalid", "forbidden");
    script_answer(f->script, "GET", PODS "limit=500", 200,
                  "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"t\"},\"items\":[" POD("a", "1") "]}");
    script_refuse(f->script, "GET", PODS "limit=500&continue=t", 410, "Expired", "continue token expired");
    script_answer(f->script, "GET", "/api/v1/pods", 200,
                  "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" POD("b", "2") "]}");
    script_stream(f->script, "GET", WATCH("9"));
    start(f);
    assert_string_equal(content(f), "b@2");
}

static void a_missing_kind_is_waited_for(void **state)
{
    struct fixture *f = *state;
    script_refuse(f->script, "GET", STREAMED, 404, "NotFound", "the server could not find the requested resource");
    start(f);
    assert_false(kube_informer_has_synced(f->informer));
    struct script_stream *s = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "BOOKMARK", MARK("5"));
    script_advance(f->script, 2 * KB_NS_PER_S);
    assert_true(kube_informer_has_synced(f->informer));
}

static void a_server_that_asks_for_time_gets_it(void **state)
{
    struct fixture *f = *state;
    script_refuse_for(f->script, "GET", STREAMED, 429, 20);
    start(f);
    assert_int_equal(script_next_timer(f->script), 20 * KB_NS_PER_S);
}

static void versions_that_went_back_are_believed_after_the_server_says_so(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_stream_event(s, "MODIFIED", POD("a", "100"));
    script_refuse(f->script, "GET", WATCH("100"), 504, "Timeout", "Too large resource version: 100, current: 50");
    script_stream_end(s);
    script_run(f->script);
    struct script_stream *list = script_stream(f->script, "GET", STREAMED);
    script_stream_event(list, "ADDED", POD("a", "3"));
    script_stream_event(list, "BOOKMARK", MARK("50"));
    script_advance(f->script, 2 * KB_NS_PER_S);
    assert_string_equal(content(f), "a@3");
}

static void events_out_of_order_show_that_versions_went_back(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_stream_event(s, "MODIFIED", POD("a", "100"));
    script_stream_event(s, "ADDED", POD("c", "7"));
    script_run(f->script);
    struct script_stream *list = script_stream(f->script, "GET", STREAMED);
    script_stream_event(list, "ADDED", POD("a", "3"));
    script_stream_event(list, "BOOKMARK", MARK("50"));
    script_advance(f->script, 2 * KB_NS_PER_S);
    assert_string_equal(content(f), "a@3");
}

#define POISON                                                                                                         \
    "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"resourceVersion\":\"30\"},\"spec\":{\"containers\":7}}"

static void with_pod(struct fixture *f, const char *json,
                     void (*change)(struct kube_store *store, const struct api_object *object))
{
    const struct api_object *pod;
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    assert_int_equal(api_decode_shared(&core_pod_type, yyjson_doc_get_root(doc), NULL, &pod, NULL), 0);
    change(kube_informer_store(f->informer), pod);
    api_object_unref(pod);
    yyjson_doc_free(doc);
}

static void an_unreadable_object_is_told_and_passed_over(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_stream_event(s, "MODIFIED", POISON);
    script_stream_event(s, "MODIFIED", POD("a", "31"));
    script_run(f->script);
    assert_string_equal(content(f), "a@31 b@2");
    assert_int_equal(f->errors, 1);
    assert_non_null(strstr(f->last_error, "ns/b"));
    struct script_stream *list = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "ERROR", GONE);
    script_stream_event(list, "ADDED", POISON);
    script_stream_event(list, "BOOKMARK", MARK("40"));
    script_run(f->script);
    assert_string_equal(content(f), "b@2");
}

/* Seen by events whose objects could not be decoded. */
static void events_that_repeat_own_writes_are_not_decoded(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    with_pod(f, POD("b", "30"), kube_store_put_written);
    script_stream_event(s, "MODIFIED", POISON);
    script_run(f->script);
    assert_int_equal(f->errors, 0);
    assert_string_equal(content(f), "a@1 b@30");
    with_pod(f, POD("b", "30"), kube_store_remove_written);
    script_stream_event(s, "DELETED", POISON);
    script_run(f->script);
    assert_int_equal(f->errors, 0);
    assert_string_equal(content(f), "a@1");
}

static void a_line_that_is_no_event_makes_a_new_list(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    script_stream_send(s, "{\"type\":\"ADDED\",\"obj\n");
    script_run(f->script);
    assert_int_equal(f->errors, 1);
    struct script_stream *list = script_stream(f->script, "GET", STREAMED);
    script_advance(f->script, 2 * KB_NS_PER_S);
    assert_true(script_stream_is_open(list));
}

static void a_watch_that_ends_at_once_is_not_asked_for_in_a_loop(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    struct script_stream *empty = script_stream(f->script, "GET", WATCH("5"));
    script_stream_end(s);
    script_stream_end(empty);
    script_run(f->script);
    assert_true(script_next_timer(f->script) >= 800 * KB_NS_PER_MS);
    assert_int_equal(f->errors, 1);
}

static void selectors_and_namespaces_are_part_of_the_request(void **state)
{
    static const struct kube_informer_spec spec = {.name = "some",
                                                   .type = &core_pod_type,
                                                   .namespace_ = "kubevirt",
                                                   .label_selector = "a in (b,c)",
                                                   .field_selector = "metadata.name=x"};
    struct fixture *f = *state;
    kube_informer_free(f->informer);
    make_informer(f, &spec);
    struct script_stream *s = script_stream(f->script, "GET",
                                            "/api/v1/namespaces/kubevirt/pods?*&labelSelector=a%20in%20%28b%2Cc%29"
                                            "&fieldSelector=metadata.name%3Dx");
    start(f);
    assert_true(script_stream_is_open(s));
}

static void a_stopped_informer_asks_for_nothing_and_may_start_again(void **state)
{
    struct fixture *f = *state;
    struct script_stream *s = start_listed(f);
    kube_informer_stop(f->informer, true);
    script_run(f->script);
    assert_false(script_stream_is_open(s));
    assert_string_equal(content(f), "");
    assert_false(kube_informer_has_synced(f->informer));
    start_listed(f);
    assert_string_equal(content(f), "a@1 b@2");
    assert_int_equal(f->synced, 2);
}

static void stopping_ends_a_pause(void **state)
{
    struct fixture *f = *state;
    script_cut(f->script, "GET", STREAMED);
    start(f);
    assert_true(script_next_timer(f->script) > 0);
    kube_informer_stop(f->informer, false);
    assert_int_equal(script_next_timer(f->script), -1);
}

static void count_request(void *userdata, enum kube_verb verb, const char *method, const char *resource,
                          const char *path_template, int status, int64_t duration_ns)
{
    (void)method;
    (void)duration_ns;
    char *text = userdata;
    size_t n = strlen(text);
    snprintf(text + n, 256 - n, "%s %s %s %d;", verb == KUBE_LIST ? "list" : "watch", resource, path_template, status);
}

static void lists_and_watches_are_told_to_the_observer(void **state)
{
    struct fixture *f = *state;
    char text[256] = "";
    const struct kube_client_observer observer = {.request = count_request, .userdata = text};
    kube_informer_free(f->informer);
    kube_client_free(f->client);
    f->client = kube_client_new(&(struct kube_client_options){
        .transport = script_transport(f->script), .clock = script_clock(f->script), .observer = &observer});
    make_informer(f, &all_pods);
    script_refuse(f->script, "GET", STREAMED, 422, "Invalid", "forbidden");
    script_answer(f->script, "GET", PODS "limit=500", 200, "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}");
    script_cut(f->script, "GET", WATCH("7"));
    start(f);
    assert_string_equal(text, "watch pods /api/v1/pods 422;list pods /api/v1/pods 200;watch pods /api/v1/pods 0;");
    kube_informer_free(f->informer);
    kube_client_free(f->client);
    f->client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(f->script), .clock = script_clock(f->script)});
    make_informer(f, &all_pods);
}

static void stop_from_handler(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct fixture *f = userdata;
    (void)before;
    if (after)
        kube_informer_stop(f->informer, true);
}

static void a_handler_may_stop_its_own_informer(void **state)
{
    struct fixture *f = *state;
    kube_store_add_handler(kube_informer_store(f->informer), stop_from_handler, f);
    struct script_stream *s = script_stream(f->script, "GET", STREAMED);
    script_stream_event(s, "ADDED", POD("a", "1"));
    script_stream_event(s, "ADDED", POD("b", "2"));
    script_stream_event(s, "BOOKMARK", MARK("5"));
    start(f);
    assert_string_equal(content(f), "");
    assert_int_equal(f->synced, 0);
}

/* ---- a stream cut at every byte ---- */

#define LINE(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
static const char recorded[] = LINE("ADDED", POD("a", "1")) LINE("ADDED", POD("b", "2")) LINE("BOOKMARK", MARK("5"))
    LINE("MODIFIED", POD("a", "6")) LINE("ADDED", POD("c", "7")) LINE("DELETED", POD("b", "8"))
        LINE("BOOKMARK", BOOKMARK("9")) LINE("MODIFIED", POD("c", "10"));

/* What the server has after `version`, as the events of a watch from there. */
static void send_rest(struct script_stream *s, uint64_t version)
{
    static const struct {
        uint64_t version;
        const char *line;
    } events[] = {{6, LINE("MODIFIED", POD("a", "6"))},
                  {7, LINE("ADDED", POD("c", "7"))},
                  {8, LINE("DELETED", POD("b", "8"))},
                  {10, LINE("MODIFIED", POD("c", "10"))}};
    for (size_t i = 0; i < KB_ARRAY_LEN(events); i++) {
        if (events[i].version > version)
            script_stream_send(s, events[i].line);
    }
}

static bool serve(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    struct fixture *f = userdata;
    const char *from = strstr(request->path, "&resourceVersion=");
    reply->stream = script_stream_new(f->script);
    if (from)
        send_rest(reply->stream, strtoull(from + strlen("&resourceVersion="), NULL, 10));
    else
        script_stream_send(reply->stream, recorded);
    return true;
}

static void a_stream_cut_anywhere_ends_in_the_same_content(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof recorded; cut++) {
        struct fixture *f;
        set_up((void **)&f);
        kb_cleanup_free char *beginning = kb_strndup(recorded, cut);
        struct script_stream *s = script_stream(f->script, "GET", STREAMED);
        script_stream_send(s, beginning);
        script_stream_cut(s);
        script_serve(f->script, serve, f);
        start(f);
        script_advance(f->script, 2 * KB_NS_PER_S);
        if (!kb_streq(content(f), "a@6 c@10"))
            fail_msg("cut at byte %zu: %s", cut, content(f));
        assert_true(kube_informer_has_synced(f->informer));
        tear_down((void **)&f);
    }
}

static void a_stream_may_come_in_pieces_of_any_size(void **state)
{
    (void)state;
    for (size_t size = 1; size < 200; size += 7) {
        struct fixture *f;
        set_up((void **)&f);
        struct script_stream *s = script_stream(f->script, "GET", STREAMED);
        start(f);
        for (size_t at = 0; at < strlen(recorded); at += size) {
            kb_cleanup_free char *piece = kb_strndup(recorded + at, size);
            script_stream_send(s, piece);
            script_run(f->script);
        }
        assert_string_equal(content(f), "a@6 c@10");
        assert_int_equal(f->errors, 0);
        tear_down((void **)&f);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_streamed_list_fills_the_store_and_goes_on_as_a_watch),
        TEST(a_watch_that_ends_goes_on_from_its_last_version_without_a_list),
        TEST(a_broken_watch_is_taken_up_after_a_pause),
        TEST(a_long_watch_that_breaks_is_taken_up_at_once),
        TEST(a_watch_that_breaks_after_a_second_is_taken_up_at_once_each_time),
        TEST(a_watch_that_hangs_is_given_up),
        TEST(pauses_grow_to_half_a_minute),
        TEST(an_expired_version_needs_a_new_list_that_keeps_what_is_there),
        TEST(an_expired_version_may_also_be_refused_at_the_start),
        TEST(versions_that_expire_again_and_again_are_not_asked_for_in_a_loop),
        cmocka_unit_test(a_server_without_streamed_lists_is_asked_for_pages),
        TEST(a_stream_that_ends_without_its_mark_is_replaced_by_pages),
        TEST(pages_that_expire_are_replaced_by_one_list),
        TEST(a_missing_kind_is_waited_for),
        TEST(a_server_that_asks_for_time_gets_it),
        TEST(versions_that_went_back_are_believed_after_the_server_says_so),
        TEST(events_out_of_order_show_that_versions_went_back),
        TEST(an_unreadable_object_is_told_and_passed_over),
        TEST(events_that_repeat_own_writes_are_not_decoded),
        TEST(a_line_that_is_no_event_makes_a_new_list),
        TEST(a_watch_that_ends_at_once_is_not_asked_for_in_a_loop),
        TEST(selectors_and_namespaces_are_part_of_the_request),
        TEST(a_stopped_informer_asks_for_nothing_and_may_start_again),
        TEST(stopping_ends_a_pause),
        TEST(lists_and_watches_are_told_to_the_observer),
        TEST(a_handler_may_stop_its_own_informer),
        cmocka_unit_test(a_stream_cut_anywhere_ends_in_the_same_content),
        cmocka_unit_test(a_stream_may_come_in_pieces_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
