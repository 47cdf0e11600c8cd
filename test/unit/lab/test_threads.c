/* Tests of many threads on one server: for ThreadSanitizer, and for lost updates. Real clock, background thread, HTTP.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/strings.h"
#include "lab/client.h"
#include "lab/http.h"
#include "lab/json.h"
#include "lab/server.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4
#define ROUNDS  50

struct shared {
    struct lab_server *server;
    struct lab_http *http;
    _Atomic int events, failures;
};

static void start(struct shared *s)
{
    struct kube_error err;
    struct lab_server_options options = {0};
    if (lab_server_new(&options, &s->server, &err) < 0)
        fail_msg("%s", err.message);
    if (lab_http_start(s->server, &(struct lab_http_options){0}, &s->http, &err) < 0)
        fail_msg("%s", err.message);
}

static void stop(struct shared *s)
{
    lab_server_stop(s->server);
    lab_http_stop(s->http);
    lab_server_free(s->server);
}

static const struct lab_ref counter = {.resource = "configmaps", .namespace_ = "default", .name = "counter"};

/* Adds one to the counter; false: somebody else was faster. */
static bool count_once(struct lab_client *client, struct kb_arena *arena)
{
    lab_cleanup_object struct lab_object *o = NULL;
    struct kube_error err;
    if (lab_client_get(client, &counter, &o, &err) < 0)
        return false;
    yyjson_val *root = lab_object_parse(arena, o, NULL);
    long long n = 0;
    kb_parse_int(yyjson_get_str(yyjson_ptr_get(root, "/data/n")), 0, INT32_MAX, &n);
    const char *body = kb_arena_printf(arena, "{\"metadata\":{\"resourceVersion\":\"%lld\"},\"data\":{\"n\":\"%lld\"}}",
                                       (long long)o->resource_version, n + 1);
    return lab_client_update_text(client, &counter, body, NULL, &err) == 0;
}

static void *count(void *context)
{
    struct shared *s = context;
    struct lab_client *client = lab_client_new(s->server, "counter");
    for (int i = 0; i < ROUNDS;) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        i += count_once(client, arena);
    }
    lab_client_free(client);
    return NULL;
}

/* Counts events until the server stops. */
static void *follow(void *context)
{
    struct shared *s = context;
    struct lab_client *client = lab_client_new(s->server, "follower");
    struct lab_watch *w = lab_client_watch(client, &(struct lab_ref){.resource = "configmaps"}, NULL, NULL);
    struct lab_watch_event e;
    while (lab_client_wait(client, INT64_MAX))
        while (lab_watch_next(w, &e) > 0) {
            s->events++;
            lab_watch_event_done(&e);
        }
    lab_watch_free(w);
    lab_client_free(client);
    return NULL;
}

/* One connection per request: the bytes of the answer, until the server closes it or `want` was seen. */
static bool exchange(struct shared *s, const char *request, const char *want)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(lab_http_port(s->http))};
    char buffer[65536];
    size_t n = 0;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool seen = false;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && send(fd, request, strlen(request), 0) > 0)
        for (ssize_t got;
             !seen && n < sizeof(buffer) - 1 && (got = recv(fd, buffer + n, sizeof(buffer) - 1 - n, 0)) > 0;) {
            n += (size_t)got;
            buffer[n] = '\0';
            seen = strstr(buffer, want);
        }
    close(fd);
    return seen;
}

static void *ask(void *context)
{
    struct shared *s = context;
    for (int i = 0; i < ROUNDS; i++)
        if (!exchange(s, "GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                      "\"items\":["))
            s->failures++;
    return NULL;
}

static void *watch_by_http(void *context)
{
    struct shared *s = context;
    if (!exchange(s, "GET /api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Dnone HTTP/1.1\r\nHost: x\r\n\r\n",
                  "chunked"))
        s->failures++;
    return NULL;
}

static void updates_from_many_threads_are_all_counted(void **state)
{
    (void)state;
    struct shared s = {0};
    pthread_t counters[THREADS], others[3];
    start(&s);
    struct lab_client *client = lab_client_new(s.server, "tester");
    assert_int_equal(lab_client_create_text(client, &counter, "{\"data\":{\"n\":\"0\"}}", NULL, NULL), 0);
    pthread_create(&others[0], NULL, follow, &s);
    pthread_create(&others[1], NULL, ask, &s);
    pthread_create(&others[2], NULL, watch_by_http, &s);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&counters[i], NULL, count, &s);
    for (int i = 0; i < THREADS; i++)
        pthread_join(counters[i], NULL);
    pthread_join(others[1], NULL);
    pthread_join(others[2], NULL);
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    lab_cleanup_object struct lab_object *o = NULL;
    assert_int_equal(lab_client_get(client, &counter, &o, NULL), 0);
    assert_int_equal(atoi(yyjson_get_str(yyjson_ptr_get(lab_object_parse(arena, o, NULL), "/data/n"))),
                     THREADS * ROUNDS);
    lab_client_free(client);
    lab_server_stop(s.server);
    pthread_join(others[0], NULL);
    assert_int_equal(s.failures, 0);
    assert_true(s.events <= THREADS * ROUNDS + 1);
    stop(&s);
}

static void *own_and_delete(void *context)
{
    struct shared *s = context;
    struct lab_client *client = lab_client_new(s->server, "owner");
    for (int i = 0; i < ROUNDS; i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        lab_cleanup_object struct lab_object *owner = NULL;
        struct lab_ref ref = {.resource = "secrets", .namespace_ = "default"};
        struct lab_ref owned = {.resource = "configmaps", .namespace_ = "default"};
        struct kube_error err;
        if (lab_client_create_text(client, &ref, "{\"metadata\":{\"generateName\":\"o-\"}}", &owner, &err) < 0) {
            s->failures++;
            continue;
        }
        const char *body =
            kb_arena_printf(arena,
                            "{\"metadata\":{\"generateName\":\"d-\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
                            "\"kind\":\"Secret\",\"name\":\"%s\",\"uid\":\"%s\"}]}}",
                            owner->meta->name, owner->meta->uid);
        ref.name = owner->meta->name;
        s->failures += lab_client_create_text(client, &owned, body, NULL, &err) < 0;
        s->failures += lab_client_delete(client, &ref, NULL, &err) < 0;
    }
    lab_client_free(client);
    return NULL;
}

/* Waits for the collector through a watch: no dependent may be left. */
static void wait_until_empty(struct lab_client *client)
{
    struct lab_watch *w = lab_client_watch(client, &(struct lab_ref){.resource = "configmaps"}, NULL, NULL);
    struct lab_watch_event e;
    int alive = 0;
    while (lab_client_wait(client, INT64_MAX)) {
        while (lab_watch_next(w, &e) > 0) {
            alive += e.type == LAB_ADDED ? 1 : e.type == LAB_DELETED ? -1 : 0;
            lab_watch_event_done(&e);
        }
        if (alive == 0)
            break;
    }
    lab_watch_free(w);
}

static void the_collector_keeps_up_with_many_owners(void **state)
{
    (void)state;
    struct shared s = {0};
    pthread_t threads[THREADS];
    start(&s);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, own_and_delete, &s);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(s.failures, 0);
    struct lab_client *client = lab_client_new(s.server, "tester");
    wait_until_empty(client);
    lab_client_free(client);
    stop(&s);
}

static void a_server_stops_with_watches_open(void **state)
{
    (void)state;
    struct shared s = {0};
    pthread_t thread;
    start(&s);
    pthread_create(&thread, NULL, watch_by_http, &s);
    pthread_join(thread, NULL);
    stop(&s);
    assert_int_equal(s.failures, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_from_many_threads_are_all_counted),
        cmocka_unit_test(the_collector_keeps_up_with_many_owners),
        cmocka_unit_test(a_server_stops_with_watches_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
