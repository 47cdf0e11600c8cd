/* Tests of kube/controller.h: outcomes on the test's own thread, with time moved by hand; and the workers with threads.
 */
#include "api/types/core.h"
#include "base/log.h"
#include "base/strings.h"
#include "kube/request.h"
#include "kube/runtime_internal.h"
#include "support/scripted_transport.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { PODS, NODES };
static const struct kube_informer_spec pods = {.name = "pod", .type = &core_pod_type};
static const struct kube_informer_spec nodes = {.name = "node", .type = &core_node_type};

/* ---- one thread ---- */

struct fixture {
    struct script *script;
    struct kube_client *client;
    struct kb_random *random;
    struct kube_runtime *runtime;
    struct kube_expectations *expectations;
    int log;        /* read end of the log */
    char ran[1024]; /* keys, in order */
    int outcome;    /* of the next reconciles */
    struct kube_error failure;
    int64_t later;
};

static int reconcile(void *self, struct kube_request *req, struct kube_error *reterr)
{
    struct fixture *f = self;
    size_t n = strlen(f->ran);
    snprintf(f->ran + n, sizeof f->ran - n, "%s%s", n ? " " : "", kube_request_key(req));
    if (!kube_request_satisfied(req, f->expectations, NULL))
        return KUBE_DONE;
    if (f->later > 0)
        kube_request_later(req, f->later);
    if (f->outcome < 0)
        *reterr = f->failure;
    return f->outcome;
}

static void map_node_to_pods(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    const struct core_node *node = after ? after : before;
    struct kube_items all = kube_lookup_all(kube_enqueuer_request(to), PODS, NULL);
    (void)self;
    for (size_t i = 0; i < all.n; i++) {
        const struct core_pod *pod = all.items[i];
        if (kb_streq(pod->spec.node_name, node->metadata.name))
            kube_enqueue(to, pod->metadata.namespace, pod->metadata.name);
    }
}

static const struct kube_watch watches[] = {{PODS, kube_map_to_self}, {NODES, map_node_to_pods}};
static const struct kube_controller pod_controller = {.name = "pod",
                                                      .queue_name = "pods",
                                                      .kind = "Pod",
                                                      .threads = 2,
                                                      .watches = watches,
                                                      .n_watches = 2,
                                                      .reconcile = reconcile};
static const struct kube_controller slow_controller = {.name = "slow",
                                                       .queue_name = "slow",
                                                       .kind = "Pod",
                                                       .threads = 1,
                                                       .watches = watches,
                                                       .n_watches = 1,
                                                       .add_delay_ns = KB_NS_PER_S,
                                                       .reconcile = reconcile};

static void catch_the_log(struct fixture *f)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    kb_log_init("test", ends[1], script_clock(f->script));
    f->log = ends[0];
}

static int set_up(void **state)
{
    struct fixture *f = kb_malloc(sizeof *f);
    f->script = script_new();
    f->client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(f->script), .clock = script_clock(f->script)});
    f->random = kb_random_seeded(1);
    f->expectations = kube_expectations_new(script_clock(f->script));
    f->runtime = kube_runtime_new(
        &(struct kube_runtime_options){.client = f->client, .clock = script_clock(f->script), .random = f->random});
    kube_runtime_add_informer(f->runtime, PODS, &pods);
    kube_runtime_add_informer(f->runtime, NODES, &nodes);
    kube_runtime_add_controller(f->runtime, &pod_controller, f, 0);
    catch_the_log(f);
    *state = f;
    return 0;
}
static int tear_down(void **state)
{
    struct fixture *f = *state;
    kube_runtime_free(f->runtime);
    kube_expectations_free(f->expectations);
    kube_client_free(f->client);
    script_free(f->script);
    kb_log_init("", 2, NULL);
    close(f->log);
    free(f->random);
    free(f);
    return 0;
}

static void put_pod(struct kube_runtime *runtime, const char *name, const char *version, const char *node)
{
    struct core_pod pod = {.metadata = {.name = name, .namespace = "ns", .uid = "u", .resource_version = version},
                           .spec = {.node_name = node}};
    const struct api_object *object = api_object_new(&core_pod_type, &pod);
    kube_store_apply(kube_informer_store(kube_runtime_informer(runtime, PODS)), object);
    api_object_unref(object);
}
static void put_node(struct kube_runtime *runtime, const char *name, const char *version)
{
    struct core_node node = {.metadata = {.name = name, .uid = "u", .resource_version = version}};
    const struct api_object *object = api_object_new(&core_node_type, &node);
    kube_store_apply(kube_informer_store(kube_runtime_informer(runtime, NODES)), object);
    api_object_unref(object);
}

static void expect_ran(struct fixture *f, const char *keys)
{
    kube_runtime_drain(f->runtime);
    assert_string_equal(f->ran, keys);
    f->ran[0] = '\0';
}
static void expect_ran_after(struct fixture *f, int64_t ns, const char *keys)
{
    script_advance(f->script, ns - 1);
    expect_ran(f, "");
    script_advance(f->script, 1);
    expect_ran(f, keys);
}

static void a_change_runs_its_key_once(void **state)
{
    struct fixture *f = *state;
    put_pod(f->runtime, "a", "1", "");
    put_pod(f->runtime, "b", "2", "");
    put_pod(f->runtime, "a", "3", "");
    expect_ran(f, "ns/a ns/b");
    expect_ran(f, "");
}

static void a_mapping_may_look_up_others(void **state)
{
    struct fixture *f = *state;
    put_pod(f->runtime, "a", "1", "n1");
    put_pod(f->runtime, "b", "2", "n2");
    expect_ran(f, "ns/a ns/b");
    put_node(f->runtime, "n2", "3");
    expect_ran(f, "ns/b");
}

struct order {
    struct kube_runtime *runtime;
    bool told;         /* the handler */
    bool mapped_after; /* the controller, and the handler before it */
};

static void note_told(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct order *order = userdata;
    (void)before;
    (void)after;
    order->told = true;
}

static void note_mapped(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    struct order *order = self;
    (void)to;
    (void)before;
    (void)after;
    order->mapped_after = order->told;
}

static void who_listens_before_a_controller_is_added_is_told_before_it(void **state)
{
    static const struct kube_watch watch = {PODS, note_mapped};
    static const struct kube_controller controller = {
        .name = "late", .queue_name = "late", .kind = "Pod", .watches = &watch, .n_watches = 1, .threads = 1};
    struct fixture *f = *state;
    struct order order = {.runtime = kube_runtime_new(&(struct kube_runtime_options){
                              .client = f->client, .clock = script_clock(f->script), .random = f->random})};
    kube_runtime_add_informer(order.runtime, PODS, &pods);
    kube_store_add_handler(kube_informer_store(kube_runtime_informer(order.runtime, PODS)), note_told, &order);
    kube_runtime_add_controller(order.runtime, &controller, &order, 0);
    put_pod(order.runtime, "a", "1", "n");
    assert_true(order.mapped_after);
    kube_runtime_free(order.runtime);
}

static void an_error_is_retried_slower_and_slower_until_it_is_over(void **state)
{
    struct fixture *f = *state;
    f->outcome = kube_error_set(&f->failure, KUBE_ERROR_INVALID, "bad");
    put_pod(f->runtime, "a", "1", "");
    expect_ran(f, "ns/a");
    expect_ran_after(f, 5 * KB_NS_PER_MS, "ns/a");
    expect_ran_after(f, 10 * KB_NS_PER_MS, "ns/a");
    f->outcome = KUBE_DONE;
    expect_ran_after(f, 20 * KB_NS_PER_MS, "ns/a");
    f->outcome = KUBE_RETRY;
    put_pod(f->runtime, "a", "2", "");
    expect_ran(f, "ns/a");
    f->outcome = KUBE_DONE;
    expect_ran_after(f, 5 * KB_NS_PER_MS, "ns/a");
}

static void a_key_comes_back_when_it_asked_to(void **state)
{
    struct fixture *f = *state;
    put_pod(f->runtime, "a", "1", "");
    f->outcome = KUBE_LATER;
    f->later = 5 * KB_NS_PER_S;
    expect_ran(f, "ns/a");
    f->outcome = KUBE_DONE;
    expect_ran_after(f, 5 * KB_NS_PER_S, "ns/a");
    f->later = 0;
    expect_ran_after(f, 5 * KB_NS_PER_S, "ns/a");
    script_advance(f->script, 100 * KB_NS_PER_S);
    expect_ran(f, "");
}

static void of_several_delays_the_nearest_counts(void **state)
{
    struct fixture *f = *state;
    struct kube_request *req = kube_request_new(f->runtime, "x", 0);
    assert_int_equal(kube_request_requested_delay(req), -1);
    assert_int_equal(kube_request_later(req, 30), KUBE_LATER);
    kube_request_later(req, 10);
    kube_request_later(req, 20);
    assert_int_equal(kube_request_requested_delay(req), 10);
    kube_request_free(req);
}

static void an_expectation_that_is_never_met_does_not_hold_its_key_for_ever(void **state)
{
    struct fixture *f = *state;
    kube_expect_creations(f->expectations, "ns/a", 1);
    put_pod(f->runtime, "a", "1", "");
    expect_ran(f, "ns/a");
    expect_ran_after(f, KUBE_EXPECTATION_TIMEOUT_NS, "ns/a");
    script_advance(f->script, KUBE_EXPECTATION_TIMEOUT_NS);
    expect_ran(f, "");
}

static void a_controller_may_delay_all_its_keys(void **state)
{
    struct fixture *f = *state;
    kube_runtime_add_controller(f->runtime, &slow_controller, f, 0);
    put_pod(f->runtime, "a", "1", "");
    expect_ran(f, "ns/a");
    expect_ran_after(f, KB_NS_PER_S, "ns/a");
}

static void controllers_take_turns(void **state)
{
    static const struct kube_controller other = {
        .name = "other", .queue_name = "other", .kind = "Node", .threads = 1, .reconcile = reconcile};
    struct fixture *f = *state;
    kube_runtime_add_controller(f->runtime, &other, f, 0);
    for (int i = 0; i < 3; i++) {
        char key[8];
        snprintf(key, sizeof key, "p%d", i);
        kube_queue_add(kube_runtime_queue(f->runtime, "pod"), key);
        snprintf(key, sizeof key, "o%d", i);
        kube_queue_add(kube_runtime_queue(f->runtime, "other"), key);
    }
    expect_ran(f, "p0 o0 p1 o1 p2 o2");
}

static void a_request_may_queue_keys_of_other_controllers(void **state)
{
    struct fixture *f = *state;
    struct kube_request *req = kube_request_new(f->runtime, "x", 0);
    kube_request_enqueue(req, "pod", "ns/now", 0);
    kube_request_enqueue(req, "pod", "ns/later", 7);
    kube_request_free(req);
    expect_ran(f, "ns/now");
    expect_ran_after(f, 7, "ns/later");
}

static const char *logged(struct fixture *f)
{
    static char text[4096];
    kb_log(KB_INFO, "end of log");
    ssize_t n = read(f->log, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void the_final_error_is_logged_once_but_conflicts_are_not(void **state)
{
    struct fixture *f = *state;
    f->outcome = kube_error_set(&f->failure, KUBE_ERROR_INVALID, "bad thing");
    put_pod(f->runtime, "a", "1", "");
    expect_ran(f, "ns/a");
    const char *text = logged(f);
    assert_non_null(strstr(text, "\"msg\":\"reenqueuing Pod ns/a\""));
    assert_non_null(strstr(text, "\"reason\":\"bad thing\""));
    f->outcome = kube_error_set_api(&f->failure, 409, "Conflict", "modified");
    put_pod(f->runtime, "b", "2", "");
    expect_ran(f, "ns/b");
    assert_null(strstr(logged(f), "reenqueuing"));
}

static void states_tell_what_a_controller_did(void **state)
{
    struct fixture *f = *state;
    struct kube_controller_state states[4];
    f->outcome = kube_error_set(&f->failure, KUBE_ERROR_INVALID, "bad thing");
    put_pod(f->runtime, "a", "1", "");
    expect_ran(f, "ns/a");
    kube_queue_add(kube_runtime_queue(f->runtime, "pod"), "ns/b");
    assert_int_equal(kube_runtime_states(f->runtime, states, KB_ARRAY_LEN(states)), 1);
    assert_string_equal(states[0].definition->name, "pod");
    assert_int_equal(states[0].ready, 1);
    assert_int_equal(states[0].delayed, 1);
    assert_int_equal(states[0].reconciles, 1);
    assert_int_equal(states[0].errors, 1);
    assert_non_null(strstr(states[0].last_error, "bad thing"));
    assert_null(kube_runtime_queue(f->runtime, "nobody"));
}

/* ---- threads ---- */

struct crowd {
    struct kb_clock_fake *time;
    struct script *script;
    struct kube_client *client;
    struct kube_runtime *runtime;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int runs, running, most_running;
    bool hold; /* reconciles wait until it is false */
    struct {
        char key[16];
        bool running;
    } keys[64];
    bool twice_at_once, before_sync;
};

static int count_runs(void *self, struct kube_request *req, struct kube_error *reterr)
{
    struct crowd *c = self;
    int number = atoi(kube_request_name(req) + 1);
    (void)reterr;
    pthread_mutex_lock(&c->lock);
    c->runs++;
    c->running++;
    c->most_running = c->running > c->most_running ? c->running : c->most_running;
    c->twice_at_once |= c->keys[number].running;
    c->keys[number].running = true;
    c->before_sync |= kube_runtime_informer(c->runtime, PODS) && !kube_informer_ready(req, PODS);
    pthread_cond_broadcast(&c->changed);
    while (c->hold)
        pthread_cond_wait(&c->changed, &c->lock);
    c->keys[number].running = false;
    c->running--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return KUBE_DONE;
}

static const struct kube_controller counting = {
    .name = "count", .queue_name = "count", .kind = "Pod", .threads = 4, .reconcile = count_runs};
static const struct kube_controller single = {
    .name = "single", .queue_name = "single", .kind = "Pod", .threads = 1, .reconcile = count_runs};

static int set_up_crowd(void **state)
{
    struct crowd *c = kb_malloc(sizeof *c);
    c->time = kb_clock_fake_new(0);
    c->script = script_new();
    script_start_thread(c->script);
    c->client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(c->script), .clock = kb_clock_fake_clock(c->time)});
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    c->runtime = kube_runtime_new(&(struct kube_runtime_options){
        .client = c->client, .clock = kb_clock_fake_clock(c->time), .random = kb_random_system()});
    kube_runtime_add_controller(c->runtime, &counting, c, 0);
    *state = c;
    return 0;
}
static void set_hold(struct crowd *c, bool hold)
{
    pthread_mutex_lock(&c->lock);
    c->hold = hold;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}
static int tear_down_crowd(void **state)
{
    struct crowd *c = *state;
    set_hold(c, false);
    kube_runtime_free(c->runtime);
    kube_client_free(c->client);
    script_free(c->script);
    kb_clock_fake_free(c->time);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
    return 0;
}

static void wait_runs(struct crowd *c, int runs)
{
    pthread_mutex_lock(&c->lock);
    while (c->runs < runs)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}
static void wait_running(struct crowd *c, int running)
{
    pthread_mutex_lock(&c->lock);
    while (c->running != running)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}
static void add_keys(struct crowd *c, const char *controller, int first, int n)
{
    for (int i = first; i < first + n; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        kube_queue_add(kube_runtime_queue(c->runtime, controller), key);
    }
}
static int count_threads(struct crowd *c)
{
    pthread_mutex_lock(&c->runtime->lock);
    int n = c->runtime->threads;
    pthread_mutex_unlock(&c->runtime->lock);
    return n;
}

static void no_key_runs_twice_at_once_and_no_more_keys_than_allowed(void **state)
{
    struct crowd *c = *state;
    kube_runtime_start_workers(c->runtime);
    for (int round = 0; round < 50; round++)
        add_keys(c, "count", 0, 20);
    assert_true(kube_runtime_stop_workers(c->runtime, INT64_MAX));
    kube_runtime_start_workers(c->runtime);
    add_keys(c, "count", 0, 20);
    while (kube_queue_depth(kube_runtime_queue(c->runtime, "count")) > 0)
        sched_yield();
    assert_true(kube_runtime_stop_workers(c->runtime, INT64_MAX));
    assert_true(c->runs >= 20);
    assert_true(c->most_running <= 4);
    assert_false(c->twice_at_once);
    assert_int_equal(kube_queue_processing(kube_runtime_queue(c->runtime, "count")), 0);
}

static void a_full_controller_does_not_hold_up_another(void **state)
{
    struct crowd *c = *state;
    kube_runtime_add_controller(c->runtime, &single, c, 0);
    set_hold(c, true);
    kube_runtime_start_workers(c->runtime);
    add_keys(c, "count", 0, 10);
    wait_running(c, 4);
    add_keys(c, "single", 20, 2);
    wait_running(c, 5);
    assert_int_equal(count_threads(c), 6); /* and the timekeeper */
    set_hold(c, false);
    wait_runs(c, 12);
}

static void a_delayed_key_runs_when_its_time_comes(void **state)
{
    struct crowd *c = *state;
    kube_runtime_start_workers(c->runtime);
    kube_queue_add_after(kube_runtime_queue(c->runtime, "count"), "k1", 20 * KB_NS_PER_S);
    kube_queue_add_after(kube_runtime_queue(c->runtime, "count"), "k2", 10 * KB_NS_PER_S);
    kb_clock_fake_advance(c->time, 10 * KB_NS_PER_S);
    wait_runs(c, 1);
    kb_clock_fake_advance(c->time, 10 * KB_NS_PER_S);
    wait_runs(c, 2);
}

static void a_delayed_key_of_a_controller_that_was_full_is_not_forgotten(void **state)
{
    struct crowd *c = *state;
    kube_runtime_add_controller(c->runtime, &single, c, 0);
    set_hold(c, true);
    kube_runtime_start_workers(c->runtime);
    add_keys(c, "single", 1, 1);
    wait_running(c, 1);
    kube_queue_add_after(kube_runtime_queue(c->runtime, "single"), "k2", 10 * KB_NS_PER_S);
    set_hold(c, false);
    wait_running(c, 0);
    while (kube_queue_processing(kube_runtime_queue(c->runtime, "single")) > 0)
        sched_yield();
    kb_clock_fake_advance(c->time, 10 * KB_NS_PER_S);
    wait_runs(c, 2);
}

static void idle_threads_end_but_one(void **state)
{
    struct crowd *c = *state;
    set_hold(c, true);
    kube_runtime_start_workers(c->runtime);
    add_keys(c, "count", 0, 4);
    wait_running(c, 4);
    assert_int_equal(count_threads(c), 5);
    set_hold(c, false);
    while (count_threads(c) > 1) {
        kb_clock_fake_advance(c->time, 31 * KB_NS_PER_S);
        sched_yield();
    }
    add_keys(c, "count", 5, 1);
    wait_runs(c, 5);
}

static void stopping_waits_for_what_runs_and_keeps_the_rest(void **state)
{
    struct crowd *c = *state;
    set_hold(c, true);
    kube_runtime_start_workers(c->runtime);
    add_keys(c, "count", 0, 6);
    wait_running(c, 4);
    assert_false(kube_runtime_stop_workers(c->runtime, 0));
    set_hold(c, false);
    assert_true(kube_runtime_stop_workers(c->runtime, INT64_MAX));
    assert_int_equal(c->runs, 4);
    assert_int_equal(kube_queue_depth(kube_runtime_queue(c->runtime, "count")), 2);
    kube_runtime_start_workers(c->runtime);
    wait_runs(c, 6);
}

static const struct kube_watch pod_watch[] = {{PODS, kube_map_to_self}};
static const struct kube_controller of_pods = {.name = "pods",
                                               .queue_name = "pods",
                                               .kind = "Pod",
                                               .threads = 2,
                                               .watches = pod_watch,
                                               .n_watches = 1,
                                               .reconcile = count_runs};

static void nothing_runs_before_the_caches_have_synced(void **state)
{
    struct crowd *c = *state;
    const int ids[] = {PODS};
    kube_runtime_add_informer(c->runtime, PODS, &pods);
    kube_runtime_add_controller(c->runtime, &of_pods, c, 0);
    struct script_stream *stream = script_stream(c->script, "GET", "/api/v1/pods?*");
    kube_runtime_start_informer(c->runtime, PODS);
    kube_runtime_start_workers(c->runtime);
    script_stream_event(stream, "ADDED", "{\"metadata\":{\"name\":\"k1\",\"resourceVersion\":\"1\"}}");
    script_stream_event(stream, "ADDED", "{\"metadata\":{\"name\":\"k2\",\"resourceVersion\":\"2\"}}");
    script_stream_event(
        stream, "BOOKMARK",
        "{\"metadata\":{\"resourceVersion\":\"3\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}");
    script_run(c->script);
    wait_runs(c, 2);
    assert_true(kube_runtime_wait_synced(c->runtime, ids, 1, INT64_MAX));
    assert_false(c->before_sync);
}

static bool serve_pods(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    struct crowd *c = userdata;
    (void)request;
    reply->stream = script_stream_new(c->script);
    for (int i = 0; i < 5; i++) {
        char object[128];
        snprintf(object, sizeof object, "{\"metadata\":{\"name\":\"k%d\",\"resourceVersion\":\"%d\"}}", i, i + 1);
        script_stream_event(reply->stream, "ADDED", object);
    }
    script_stream_event(
        reply->stream, "BOOKMARK",
        "{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}");
    return true;
}

static void an_informer_may_be_stopped_at_any_moment(void **state)
{
    struct crowd *c = *state;
    kube_runtime_add_informer(c->runtime, PODS, &pods);
    kube_runtime_add_controller(c->runtime, &of_pods, c, 0);
    script_serve(c->script, serve_pods, c);
    kube_runtime_start_workers(c->runtime);
    for (int i = 0; i < 100; i++) {
        kube_runtime_start_informer(c->runtime, PODS);
        for (int yields = 0; yields < i % 10; yields++)
            sched_yield();
        kube_runtime_stop_informer(c->runtime, PODS);
        assert_int_equal(kube_store_count(kube_informer_store(kube_runtime_informer(c->runtime, PODS))), 0);
    }
}

static void a_slow_reconcile_is_logged_with_its_key(void **state)
{
    struct crowd *c = *state;
    char text[2048] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    kb_log_init("test", ends[1], NULL);
    set_hold(c, true);
    kube_runtime_start_workers(c->runtime);
    add_keys(c, "count", 7, 1);
    wait_running(c, 1);
    kb_clock_fake_advance(c->time, 31 * KB_NS_PER_S);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "reconciling Pod k7 has taken more than 30 s"));
    kb_log_init("", 2, NULL);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
#define TEST(f)    cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define THREADS(f) cmocka_unit_test_setup_teardown(f, set_up_crowd, tear_down_crowd)
    const struct CMUnitTest tests[] = {
        TEST(a_change_runs_its_key_once),
        TEST(a_mapping_may_look_up_others),
        TEST(who_listens_before_a_controller_is_added_is_told_before_it),
        TEST(an_error_is_retried_slower_and_slower_until_it_is_over),
        TEST(a_key_comes_back_when_it_asked_to),
        TEST(of_several_delays_the_nearest_counts),
        TEST(an_expectation_that_is_never_met_does_not_hold_its_key_for_ever),
        TEST(a_controller_may_delay_all_its_keys),
        TEST(controllers_take_turns),
        TEST(a_request_may_queue_keys_of_other_controllers),
        TEST(the_final_error_is_logged_once_but_conflicts_are_not),
        TEST(states_tell_what_a_controller_did),
        THREADS(no_key_runs_twice_at_once_and_no_more_keys_than_allowed),
        THREADS(a_full_controller_does_not_hold_up_another),
        THREADS(a_delayed_key_runs_when_its_time_comes),
        THREADS(a_delayed_key_of_a_controller_that_was_full_is_not_forgotten),
        THREADS(idle_threads_end_but_one),
        THREADS(stopping_waits_for_what_runs_and_keeps_the_rest),
        THREADS(nothing_runs_before_the_caches_have_synced),
        THREADS(an_informer_may_be_stopped_at_any_moment),
        THREADS(a_slow_reconcile_is_logged_with_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
