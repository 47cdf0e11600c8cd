/*
 * Tests of the curl transport against a small server in the same process (support/tiny_server.h).
 */
#include "base/strbuf.h"
#include "base/strings.h"
#include "kube/transport.h"
#include "support/tiny_server.h"
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MS KB_NS_PER_MS
#define S  KB_NS_PER_S

/* ---- the caller's side ---- */

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int heads, ends, status;
    int64_t retry_after_ms;
    char content_type[64];
    struct kb_strbuf body;
    bool failed, abort;
    struct kube_error error;
};

static void outcome_init(struct outcome *o)
{
    *o = (struct outcome){0};
    pthread_mutex_init(&o->lock, NULL);
    kb_cond_init(&o->changed);
}

static void outcome_done(struct outcome *o)
{
    kb_strbuf_done(&o->body);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
}

static void on_head(void *userdata, const struct kube_http_head *head)
{
    struct outcome *o = userdata;
    pthread_mutex_lock(&o->lock);
    o->heads++;
    o->status = head->status;
    o->retry_after_ms = head->retry_after_ms;
    snprintf(o->content_type, sizeof o->content_type, "%s", head->content_type);
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
}

static int on_body(void *userdata, const char *bytes, size_t n)
{
    struct outcome *o = userdata;
    pthread_mutex_lock(&o->lock);
    kb_strbuf_append(&o->body, bytes, n);
    pthread_cond_broadcast(&o->changed);
    int r = o->abort ? -1 : 0;
    pthread_mutex_unlock(&o->lock);
    return r;
}

static void on_end(void *userdata, const struct kube_error *error)
{
    struct outcome *o = userdata;
    pthread_mutex_lock(&o->lock);
    o->ends++;
    o->failed = error != NULL;
    if (error)
        o->error = *error;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
}

static const struct kube_http_handler handler = {.head = on_head, .body = on_body, .end = on_end};

/* Waits until the exchange has ended (`body` NULL), or the body is `body`. Fails the test after 20 s. */
static void wait_for(struct outcome *o, const char *body)
{
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 20;
    bool late = false;
    pthread_mutex_lock(&o->lock);
    while (!late && (body ? !kb_streq(kb_strbuf_text(&o->body), body) : o->ends == 0))
        late = pthread_cond_timedwait(&o->changed, &o->lock, &limit) != 0;
    pthread_mutex_unlock(&o->lock);
    if (late)
        fail_msg("waited in vain for %s; body so far: %s", body ? body : "the end", kb_strbuf_text(&o->body));
}

struct world {
    struct tiny_server *server;
    struct kube_config config;
    struct kb_arena *arena;
    struct kube_transport *transport;
    char directory[64];
};

static struct world *new_world(const char *cert, const char *key)
{
    struct world *w = kb_malloc(sizeof *w);
    w->server = tiny_server_start(cert, key);
    w->arena = kb_arena_new();
    w->config.server = kb_arena_printf(w->arena, "%s://127.0.0.1:%d", cert ? "https" : "http", w->server->port);
    snprintf(w->directory, sizeof w->directory, "/tmp/test_transport.XXXXXX");
    assert_non_null(mkdtemp(w->directory));
    return w;
}

static void open_transport(struct world *w)
{
    struct kube_error error;
    struct kube_transport_options options = {.config = &w->config, .clock = kb_clock_system(), .user_agent = "test/1"};
    if (kube_transport_curl_new(&options, &w->transport, &error) < 0)
        fail_msg("%s", error.message);
}

static void free_world(struct world *w)
{
    if (w->transport)
        w->transport->free(w->transport);
    tiny_server_stop(w->server);
    kb_cleanup_free char *command = kb_asprintf("rm -rf %s", w->directory);
    assert_int_equal(system(command), 0);
    kb_arena_free(w->arena);
    free(w);
}

static int set_up(void **state)
{
    struct world *w = new_world(NULL, NULL);
    open_transport(w);
    *state = w;
    return 0;
}

static int set_up_closed(void **state)
{
    *state = new_world(NULL, NULL);
    return 0;
}

static int tear_down(void **state)
{
    free_world(*state);
    return 0;
}

static struct kube_exchange *start(struct world *w, const struct kube_http_request *request, struct outcome *o)
{
    outcome_init(o);
    return w->transport->start(w->transport, request, &handler, o);
}

static void get(struct world *w, const char *path, struct outcome *o)
{
    struct kube_http_request request = {.method = "GET", .path = path, .timeout_ns = 20 * S};
    start(w, &request, o);
    wait_for(o, NULL);
}

static const char *write_file(struct world *w, const char *name, const char *text)
{
    const char *path = kb_arena_printf(w->arena, "%s/%s", w->directory, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

#define assert_success(o)                                                                                              \
    do {                                                                                                               \
        if ((o)->failed)                                                                                               \
            fail_msg("%s", (o)->error.message);                                                                        \
        assert_int_equal((o)->ends, 1);                                                                                \
    } while (0)

static void an_answer_comes_as_head_body_and_end(void **state)
{
    struct world *w = *state;
    struct outcome o;
    get(w, "/hello", &o);
    assert_success(&o);
    assert_int_equal(o.heads, 1);
    assert_int_equal(o.status, 200);
    assert_string_equal(o.body.data, "hello");
    assert_string_equal(w->server->last_agent, "test/1");
    outcome_done(&o);
}

static void a_body_is_sent_with_its_method_and_content_type(void **state)
{
    struct world *w = *state;
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE", "GET", "PATCH"};
    for (size_t i = 0; i < KB_ARRAY_LEN(methods); i++) {
        bool with_body = !kb_streq(methods[i], "GET");
        struct kube_http_request request = {.method = methods[i],
                                            .path = "/hello",
                                            .content_type = with_body ? "application/json" : NULL,
                                            .body = with_body ? "{\"a\":1}" : NULL,
                                            .body_length = with_body ? 7 : 0,
                                            .timeout_ns = 20 * S};
        struct outcome o;
        start(w, &request, &o);
        wait_for(&o, NULL);
        assert_success(&o);
        assert_string_equal(w->server->last_method, methods[i]);
        assert_string_equal(w->server->last_body, with_body ? "{\"a\":1}" : "");
        assert_string_equal(w->server->last_content_type, with_body ? "application/json" : "");
        outcome_done(&o);
    }
}

static void requests_one_after_the_other_use_one_connection(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 20; i++) {
        struct outcome o;
        get(w, "/hello", &o);
        assert_success(&o);
        outcome_done(&o);
    }
    assert_int_equal(tiny_server_connections(w->server), 1);
}

static void retry_after_is_told_in_milliseconds(void **state)
{
    struct world *w = *state;
    struct outcome o;
    get(w, "/busy", &o);
    assert_success(&o);
    assert_int_equal(o.status, 429);
    assert_int_equal(o.retry_after_ms, 7000);
    outcome_done(&o);
}

static void a_stream_tells_each_piece_as_it_comes_and_its_end(void **state)
{
    struct world *w = *state;
    struct outcome o;
    start(w, &(struct kube_http_request){.method = "GET", .path = "/stream"}, &o);
    tiny_server_send(w->server, "one\n", TINY_SERVER_OPEN);
    wait_for(&o, "one\n");
    assert_string_equal(o.content_type, "application/json;stream=watch");
    assert_int_equal(o.ends, 0);
    tiny_server_send(w->server, "two\n", TINY_SERVER_END);
    wait_for(&o, NULL);
    assert_success(&o);
    assert_string_equal(o.body.data, "one\ntwo\n");
    outcome_done(&o);
}

static void a_stream_that_breaks_is_a_lost_connection(void **state)
{
    struct world *w = *state;
    struct outcome o;
    start(w, &(struct kube_http_request){.method = "GET", .path = "/stream"}, &o);
    tiny_server_send(w->server, "one\n", TINY_SERVER_OPEN);
    wait_for(&o, "one\n");
    tiny_server_send(w->server, "", TINY_SERVER_CUT);
    wait_for(&o, NULL);
    assert_true(o.failed);
    assert_int_equal(o.error.kind, KUBE_ERROR_CONNECTION);
    outcome_done(&o);
}

static void watches_over_http1_do_not_block_each_other_or_requests(void **state)
{
    struct world *w = *state;
    struct outcome streams[40], o;
    struct kube_exchange *x[40];
    for (size_t i = 0; i < KB_ARRAY_LEN(streams); i++)
        x[i] = start(w, &(struct kube_http_request){.method = "GET", .path = "/stream"}, &streams[i]);
    tiny_server_await_requests(w->server, 40);
    get(w, "/hello", &o);
    assert_success(&o);
    for (size_t i = 0; i < KB_ARRAY_LEN(streams); i++)
        w->transport->cancel(w->transport, x[i]);
    for (size_t i = 0; i < KB_ARRAY_LEN(streams); i++) {
        wait_for(&streams[i], NULL);
        assert_int_equal(streams[i].error.kind, KUBE_ERROR_CANCELLED);
        outcome_done(&streams[i]);
    }
    outcome_done(&o);
}

static void an_answer_that_is_cut_off_is_a_lost_connection(void **state)
{
    struct world *w = *state;
    struct outcome o;
    get(w, "/cut", &o);
    assert_int_equal(o.error.kind, KUBE_ERROR_CONNECTION);
    assert_int_equal(o.heads, 0);
    outcome_done(&o);
}

/* libcurl would send it again on a new connection, though the server may have done it. */
static void a_write_that_is_cut_off_on_a_used_connection_is_sent_once(void **state)
{
    struct world *w = *state;
    struct kube_http_request request = {.method = "POST",
                                        .path = "/hello",
                                        .content_type = "application/json",
                                        .body = "{}",
                                        .body_length = 2,
                                        .timeout_ns = 20 * S};
    struct outcome o;
    start(w, &request, &o);
    wait_for(&o, NULL);
    assert_success(&o);
    outcome_done(&o);
    request.path = "/cut";
    start(w, &request, &o);
    wait_for(&o, NULL);
    assert_int_equal(o.error.kind, KUBE_ERROR_CONNECTION);
    assert_int_equal(tiny_server_requests(w->server), 2);
    outcome_done(&o);
}

static void a_silent_server_ends_the_exchange_at_its_timeout(void **state)
{
    struct world *w = *state;
    struct outcome o;
    start(w, &(struct kube_http_request){.method = "GET", .path = "/silent", .timeout_ns = 30 * MS}, &o);
    wait_for(&o, NULL);
    assert_int_equal(o.error.kind, KUBE_ERROR_TIMEOUT);
    outcome_done(&o);
}

static void a_stream_on_which_nothing_comes_ends_at_its_idle_timeout(void **state)
{
    struct world *w = *state;
    struct outcome o;
    start(w, &(struct kube_http_request){.method = "GET", .path = "/stream", .idle_timeout_ns = 30 * MS}, &o);
    wait_for(&o, NULL);
    assert_int_equal(o.error.kind, KUBE_ERROR_TIMEOUT);
    outcome_done(&o);
}

static void a_server_that_does_not_listen_is_a_connection_error(void **state)
{
    struct world *w = *state;
    w->config.server = "http://127.0.0.1:1";
    open_transport(w);
    struct outcome o;
    get(w, "/hello", &o);
    assert_int_equal(o.error.kind, KUBE_ERROR_CONNECTION);
    assert_non_null(strstr(o.error.message, "GET http://127.0.0.1:1/hello: "));
    outcome_done(&o);
}

static void a_receiver_that_aborts_gets_the_end_as_cancelled(void **state)
{
    struct world *w = *state;
    struct outcome o;
    outcome_init(&o);
    o.abort = true;
    struct kube_http_request request = {.method = "GET", .path = "/large", .timeout_ns = 20 * S};
    w->transport->start(w->transport, &request, &handler, &o);
    wait_for(&o, NULL);
    assert_int_equal(o.error.kind, KUBE_ERROR_CANCELLED);
    outcome_done(&o);
}

static void freeing_the_transport_ends_what_runs(void **state)
{
    struct world *w = *state;
    struct outcome o;
    start(w, &(struct kube_http_request){.method = "GET", .path = "/stream"}, &o);
    tiny_server_await_requests(w->server, 1);
    w->transport->free(w->transport);
    w->transport = NULL;
    assert_int_equal(o.ends, 1);
    assert_int_equal(o.error.kind, KUBE_ERROR_CANCELLED);
    outcome_done(&o);
}

/* ---- posts ---- */

struct order {
    struct outcome outcome; /* `body` is what ran */
};

static void say_a(void *userdata)
{
    on_body(userdata, "a", 1);
}

static void say_b(void *userdata)
{
    on_body(userdata, "b", 1);
}

static void posts_run_in_order_of_their_time_and_can_be_taken_back(void **state)
{
    struct world *w = *state;
    struct outcome o;
    outcome_init(&o);
    uint64_t never = w->transport->post(w->transport, 3600 * S, say_b, &o);
    w->transport->post(w->transport, 20 * MS, say_b, &o);
    uint64_t first = w->transport->post(w->transport, 0, say_a, &o);
    wait_for(&o, "ab");
    assert_true(w->transport->unpost(w->transport, never));
    assert_false(w->transport->unpost(w->transport, never));
    assert_false(w->transport->unpost(w->transport, first));
    assert_false(w->transport->unpost(w->transport, 0));
    outcome_done(&o);
}

/* ---- credentials ---- */

static void a_new_token_file_is_used_after_a_401(void **state)
{
    struct world *w = *state;
    struct outcome o;
    snprintf(w->server->good_token, sizeof w->server->good_token, "one");
    w->config.token_file = write_file(w, "token", "one\n");
    open_transport(w);
    get(w, "/guarded", &o);
    assert_int_equal(o.status, 200);
    outcome_done(&o);

    snprintf(w->server->good_token, sizeof w->server->good_token, "two");
    write_file(w, "token", "two\n");
    get(w, "/guarded", &o);
    assert_success(&o);
    assert_int_equal(o.status, 200);
    assert_int_equal(o.heads, 1);
    assert_int_equal(tiny_server_requests(w->server), 3);
    outcome_done(&o);
}

static void a_401_without_new_credentials_is_told_once(void **state)
{
    struct world *w = *state;
    struct outcome o;
    w->config.token = "bad";
    open_transport(w);
    get(w, "/guarded", &o);
    assert_success(&o);
    assert_int_equal(o.status, 401);
    assert_int_equal(o.heads, 1);
    assert_string_equal(o.body.data, "hello");
    assert_int_equal(tiny_server_requests(w->server), 1);
    outcome_done(&o);
}

static void a_password_is_sent_as_basic_authentication(void **state)
{
    struct world *w = *state;
    struct outcome o;
    w->config.username = "ann";
    w->config.password = "secret";
    open_transport(w);
    get(w, "/hello", &o);
    assert_string_equal(w->server->last_authorization, "Basic YW5uOnNlY3JldA==");
    outcome_done(&o);
}

static const char *write_plugin(struct world *w, const char *script)
{
    const char *path = write_file(w, "plugin", kb_arena_printf(w->arena, "#!/bin/sh\n%s\n", script));
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static void use_plugin(struct world *w, struct kube_exec_plugin *plugin, const char *script)
{
    *plugin =
        (struct kube_exec_plugin){.api_version = "client.authentication.k8s.io/v1", .command = write_plugin(w, script)};
    w->config.exec = plugin;
    open_transport(w);
}

#define CREDENTIAL(status)                                                                                             \
    "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{" status "}}"

static void a_plugins_token_is_used_and_asked_for_again_after_a_401(void **state)
{
    struct world *w = *state;
    struct kube_exec_plugin plugin;
    struct outcome o;
    write_file(w, "n", "1");
    kb_cleanup_free char *script =
        kb_asprintf("cd %s; echo '" CREDENTIAL("\"token\":\"t'$(cat n)'\"") "'", w->directory);
    snprintf(w->server->good_token, sizeof w->server->good_token, "t1");
    use_plugin(w, &plugin, script);
    get(w, "/guarded", &o);
    assert_success(&o);
    assert_int_equal(o.status, 200);
    outcome_done(&o);

    write_file(w, "n", "2");
    snprintf(w->server->good_token, sizeof w->server->good_token, "t2");
    get(w, "/guarded", &o);
    assert_success(&o);
    assert_int_equal(o.status, 200);
    outcome_done(&o);
}

static void a_plugin_that_fails_ends_all_who_wait_for_it(void **state)
{
    struct world *w = *state;
    struct kube_exec_plugin plugin;
    struct outcome o[3];
    use_plugin(w, &plugin, "exit 3");
    for (size_t i = 0; i < KB_ARRAY_LEN(o); i++)
        start(w, &(struct kube_http_request){.method = "GET", .path = "/hello", .timeout_ns = 20 * S}, &o[i]);
    for (size_t i = 0; i < KB_ARRAY_LEN(o); i++) {
        wait_for(&o[i], NULL);
        assert_true(o[i].failed);
        assert_non_null(strstr(o[i].error.message, "failed with exit code 3"));
        outcome_done(&o[i]);
    }
    assert_int_equal(tiny_server_requests(w->server), 0);
}

static void closing_stops_a_plugin_that_hangs(void **state)
{
    struct world *w = *state;
    struct kube_exec_plugin plugin;
    struct outcome o;
    use_plugin(w, &plugin, "sleep 600");
    start(w, &(struct kube_http_request){.method = "GET", .path = "/hello", .timeout_ns = 20 * S}, &o);
    w->transport->free(w->transport);
    w->transport = NULL;
    assert_int_equal(o.error.kind, KUBE_ERROR_CANCELLED);
    outcome_done(&o);
}

/* ---- TLS ---- */

static void get_over_tls(const struct tiny_identity *identity, void (*configure)(struct world *w, const char *cert),
                         bool succeeds)
{
    struct world *w = new_world(identity->cert, identity->key);
    struct outcome o;
    configure(w, identity->cert);
    open_transport(w);
    get(w, "/hello", &o);
    if (succeeds)
        assert_success(&o);
    else
        assert_int_equal(o.error.kind, KUBE_ERROR_CONNECTION);
    outcome_done(&o);
    free_world(w);
}

static void use_ca_data(struct world *w, const char *cert)
{
    w->config.ca_data = kb_arena_strdup(w->arena, cert);
}

static void use_ca_file(struct world *w, const char *cert)
{
    w->config.ca_file = write_file(w, "ca.crt", cert);
}

static void use_no_verification(struct world *w, const char *cert)
{
    (void)cert;
    w->config.insecure_skip_tls_verify = true;
}

static void use_server_name(struct world *w, const char *cert)
{
    use_ca_data(w, cert);
    w->config.tls_server_name = "kube.test";
}

static void use_wrong_server_name(struct world *w, const char *cert)
{
    use_ca_data(w, cert);
    w->config.tls_server_name = "other.test";
}

static void use_wrong_ca(struct world *w, const char *cert)
{
    (void)cert;
    struct tiny_identity other = tiny_identity_new();
    w->config.ca_data = kb_arena_strdup(w->arena, other.cert);
    tiny_identity_done(&other);
}

static void a_server_is_verified_against_the_configured_ca_and_name(void **state)
{
    (void)state;
    struct tiny_identity identity = tiny_identity_new();
    get_over_tls(&identity, use_ca_data, true);
    get_over_tls(&identity, use_ca_file, true);
    get_over_tls(&identity, use_no_verification, true);
    get_over_tls(&identity, use_server_name, true);
    get_over_tls(&identity, use_wrong_server_name, false);
    get_over_tls(&identity, use_wrong_ca, false);
    tiny_identity_done(&identity);
}

static void a_client_certificate_is_shown(void **state)
{
    (void)state;
    struct tiny_identity identity = tiny_identity_new();
    struct world *w = new_world(identity.cert, identity.key);
    struct outcome o;
    w->config.ca_data = w->config.client_cert_data = identity.cert;
    w->config.client_key_data = identity.key;
    open_transport(w);
    get(w, "/hello", &o);
    assert_success(&o);
    assert_int_equal(w->server->last_peer_certs, 1);
    outcome_done(&o);
    free_world(w);
    tiny_identity_done(&identity);
}

static void watches_over_tls_and_http1_each_get_a_connection(void **state)
{
    (void)state;
    struct tiny_identity identity = tiny_identity_new();
    struct world *w = new_world(identity.cert, identity.key);
    struct outcome streams[10], o;
    w->config.ca_data = identity.cert;
    open_transport(w);
    for (size_t i = 0; i < KB_ARRAY_LEN(streams); i++)
        start(w, &(struct kube_http_request){.method = "GET", .path = "/stream"}, &streams[i]);
    get(w, "/hello", &o);
    assert_success(&o);
    tiny_server_await_requests(w->server, 11);
    tiny_server_send(w->server, "", TINY_SERVER_END);
    for (size_t i = 0; i < KB_ARRAY_LEN(streams); i++) {
        wait_for(&streams[i], NULL);
        assert_success(&streams[i]);
        outcome_done(&streams[i]);
    }
    outcome_done(&o);
    free_world(w);
    tiny_identity_done(&identity);
}

/* ---- a server that accepts and says nothing ---- */

static int listen_silently(int *ret_port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void a_connection_on_which_nothing_comes_is_given_up_with_all_that_waits_for_it(void **state)
{
    struct world *w = *state;
    struct outcome first, second;
    int port, fd = listen_silently(&port);
    w->config.server = kb_arena_printf(w->arena, "https://127.0.0.1:%d", port);
    open_transport(w);
    struct kube_http_request request = {.method = "GET", .path = "/hello", .timeout_ns = 14 * S};
    start(w, &request, &second);
    request.timeout_ns = 30 * MS;
    start(w, &request, &first);
    wait_for(&first, NULL);
    wait_for(&second, NULL);
    assert_int_equal(first.error.kind, KUBE_ERROR_TIMEOUT);
    assert_int_equal(second.error.kind, KUBE_ERROR_CONNECTION);
    assert_non_null(strstr(second.error.message, "the connection is silent"));
    outcome_done(&first);
    outcome_done(&second);
    close(fd);
}

/* ---- proxies ---- */

static int forget_proxies(void **state)
{
    unsetenv("HTTP_PROXY");
    unsetenv("NO_PROXY");
    return tear_down(state);
}

/* The small server as the proxy: it answers for any host. */
static void request_elsewhere(struct world *w, struct outcome *o)
{
    w->config.server = "http://elsewhere.invalid";
    open_transport(w);
    get(w, "/hello", o);
}

static void a_proxy_of_the_config_is_used(void **state)
{
    struct world *w = *state;
    struct outcome o;
    w->config.proxy_url = w->config.server;
    setenv("NO_PROXY", "*", 1);
    request_elsewhere(w, &o);
    assert_success(&o);
    assert_string_equal(w->server->last_host, "elsewhere.invalid");
    outcome_done(&o);
}

static void a_proxy_of_the_environment_is_used(void **state)
{
    struct world *w = *state;
    struct outcome o;
    setenv("HTTP_PROXY", w->config.server, 1);
    request_elsewhere(w, &o);
    assert_success(&o);
    assert_string_equal(w->server->last_host, "elsewhere.invalid");
    outcome_done(&o);
}

static void a_host_in_no_proxy_is_reached_directly(void **state)
{
    struct world *w = *state;
    struct outcome o;
    setenv("HTTP_PROXY", w->config.server, 1);
    setenv("NO_PROXY", ".invalid", 1);
    request_elsewhere(w, &o);
    assert_int_equal(o.error.kind, KUBE_ERROR_CONNECTION);
    assert_int_equal(tiny_server_requests(w->server), 0);
    outcome_done(&o);
}

static void loopback_is_never_reached_through_a_proxy(void **state)
{
    struct world *w = *state;
    struct outcome o;
    setenv("HTTP_PROXY", "http://127.0.0.1:1", 1);
    open_transport(w);
    get(w, "/hello", &o);
    assert_success(&o);
    outcome_done(&o);
}

/* ---- many ---- */

static void many_requests_at_once_all_end(void **state)
{
    struct world *w = *state;
    struct outcome o[200];
    struct kube_http_request request = {.method = "GET", .path = "/hello", .timeout_ns = 60 * S};
    for (size_t i = 0; i < KB_ARRAY_LEN(o); i++)
        start(w, &request, &o[i]);
    for (size_t i = 0; i < KB_ARRAY_LEN(o); i++) {
        wait_for(&o[i], NULL);
        assert_success(&o[i]);
        assert_string_equal(o[i].body.data, "hello");
        outcome_done(&o[i]);
    }
    assert_int_equal(tiny_server_requests(w->server), 200);
    assert_true(tiny_server_connections(w->server) <= 16);
}

#define OPEN(name)   cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, set_up_closed, tear_down)
#define PROXY(name)  cmocka_unit_test_setup_teardown(name, set_up_closed, forget_proxies)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(an_answer_comes_as_head_body_and_end),
        OPEN(a_body_is_sent_with_its_method_and_content_type),
        OPEN(requests_one_after_the_other_use_one_connection),
        OPEN(retry_after_is_told_in_milliseconds),
        OPEN(a_stream_tells_each_piece_as_it_comes_and_its_end),
        OPEN(a_stream_that_breaks_is_a_lost_connection),
        OPEN(watches_over_http1_do_not_block_each_other_or_requests),
        OPEN(an_answer_that_is_cut_off_is_a_lost_connection),
        OPEN(a_write_that_is_cut_off_on_a_used_connection_is_sent_once),
        OPEN(a_silent_server_ends_the_exchange_at_its_timeout),
        OPEN(a_stream_on_which_nothing_comes_ends_at_its_idle_timeout),
        CLOSED(a_server_that_does_not_listen_is_a_connection_error),
        OPEN(a_receiver_that_aborts_gets_the_end_as_cancelled),
        OPEN(freeing_the_transport_ends_what_runs),
        OPEN(posts_run_in_order_of_their_time_and_can_be_taken_back),
        CLOSED(a_new_token_file_is_used_after_a_401),
        CLOSED(a_401_without_new_credentials_is_told_once),
        CLOSED(a_password_is_sent_as_basic_authentication),
        CLOSED(a_plugins_token_is_used_and_asked_for_again_after_a_401),
        CLOSED(a_plugin_that_fails_ends_all_who_wait_for_it),
        CLOSED(closing_stops_a_plugin_that_hangs),
        cmocka_unit_test(a_server_is_verified_against_the_configured_ca_and_name),
        cmocka_unit_test(a_client_certificate_is_shown),
        cmocka_unit_test(watches_over_tls_and_http1_each_get_a_connection),
        CLOSED(a_connection_on_which_nothing_comes_is_given_up_with_all_that_waits_for_it),
        PROXY(a_proxy_of_the_config_is_used),
        PROXY(a_proxy_of_the_environment_is_used),
        PROXY(a_host_in_no_proxy_is_reached_directly),
        PROXY(loopback_is_never_reached_through_a_proxy),
        OPEN(many_requests_at_once_all_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
