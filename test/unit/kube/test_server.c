/*
 * The HTTPS server over loopback sockets, with certificates made here. The only waits are for the server: recv(2) until
 * it closes, and the certificate callback.
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/strings.h"
#include "kube/server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- routes ---- */

static void answer_health(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)userdata;
    const char *verbose = kube_http_query_argument(query, "verbose"),
               *agent = kube_http_query_header(query, "User-Agent");
    kb_strbuf_printf(&ret->body, "{\"verbose\":\"%s\",\"agent\":\"%s\"}", verbose ? verbose : "absent",
                     agent ? agent : "absent");
}

static void answer_failure(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)userdata;
    ret->status = 500;
    ret->content_type = "text/plain";
    kb_strbuf_printf(&ret->body, "failed at %s", kube_http_query_path(query));
}

#define LARGE_BYTES ((size_t)16 << 20)

static void answer_large(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)userdata, (void)query;
    kb_strbuf_reserve(&ret->body, LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES / 16; i++)
        kb_strbuf_puts(&ret->body, "0123456789abcdef");
}

/* Pieces of 100,000 bytes; the state counts those that are left. */
static int open_streams;

static bool next_piece(void *state, struct kb_strbuf *piece)
{
    int *left = state;
    if (*left == 0)
        return false;
    --*left;
    for (size_t i = 0; i < 10000; i++)
        kb_strbuf_puts(piece, "0123456789");
    return true;
}

static void end_stream(void *state)
{
    free(state);
    __atomic_sub_fetch(&open_streams, 1, __ATOMIC_SEQ_CST);
}

static void answer_stream(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)userdata, (void)query;
    int *left = kb_malloc(sizeof *left);
    *left = 40;
    ret->more = next_piece;
    ret->end = end_stream;
    ret->state = left;
    __atomic_add_fetch(&open_streams, 1, __ATOMIC_SEQ_CST);
}

static const struct kube_http_route routes[] = {
    {"GET", "/stream", answer_stream, false},   {"GET", "/healthz", answer_health, true},
    {"GET", "/debug/*", answer_failure, false}, {"GET", "/large", answer_large, false},
    {NULL, "/any", answer_health, false},       {"POST", "/both", answer_health, false},
    {"GET", "/both", answer_health, false},
};

/* ---- the server under test ---- */

struct fixture {
    struct kube_server *server;
    struct kube_tls_policy policy;
    pthread_mutex_t lock;
    pthread_cond_t told;
    int certificates, failures; /* what the certificate callback was told */
    char failure[KUBE_ERROR_MESSAGE_SIZE];
};

static void on_certificate(void *userdata, const struct kube_error *error)
{
    struct fixture *f = userdata;
    pthread_mutex_lock(&f->lock);
    f->certificates += !error;
    f->failures += !!error;
    if (error)
        snprintf(f->failure, sizeof f->failure, "%s", error->message);
    pthread_cond_broadcast(&f->told);
    pthread_mutex_unlock(&f->lock);
}

static void wait_told(struct fixture *f, int certificates, int failures)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 20;
    pthread_mutex_lock(&f->lock);
    int rc = 0;
    while ((f->certificates < certificates || f->failures < failures) && rc == 0)
        rc = pthread_cond_timedwait(&f->told, &f->lock, &limit);
    int got_certificates = f->certificates, got_failures = f->failures;
    pthread_mutex_unlock(&f->lock);
    assert_int_equal(got_certificates, certificates);
    assert_int_equal(got_failures, failures);
}

static void get_policy(void *userdata, struct kube_tls_policy *ret)
{
    struct fixture *f = userdata;
    pthread_mutex_lock(&f->lock);
    *ret = f->policy;
    pthread_mutex_unlock(&f->lock);
}

static void set_policy(struct fixture *f, struct kube_tls_policy policy)
{
    pthread_mutex_lock(&f->lock);
    f->policy = policy;
    pthread_mutex_unlock(&f->lock);
}

static void start(struct fixture *f, const char *cert_file, const char *key_file, int64_t timeout_ns)
{
    *f = (struct fixture){.policy = {.minimum_version = 12}};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->told, NULL);
    const struct kube_server_options options = {
        .address = "127.0.0.1",
        .cert_file = cert_file,
        .key_file = key_file,
        .routes = routes,
        .n_routes = KB_ARRAY_LEN(routes),
        .userdata = f,
        .tls_policy = get_policy,
        .certificate = on_certificate,
        .timeout_ns = timeout_ns,
    };
    struct kube_error error = {0};
    if (kube_server_start(&options, &f->server, &error) < 0)
        fail_msg("%s", error.message);
}

static void stop(struct fixture *f)
{
    kube_server_stop(f->server);
    pthread_cond_destroy(&f->told);
    pthread_mutex_destroy(&f->lock);
}

/* ---- certificates in a directory of the test's own ---- */

static char directory[64];

static const char *path_in(const char *name)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (int)n);
    close(fd);
}

/* Writes DIRECTORY/NAME.crt and NAME.key with NAME as common name. */
static void make_certificate(const char *name, gnutls_pk_algorithm_t algorithm)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    unsigned bits = algorithm == GNUTLS_PK_RSA ? 2048 : GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_generate(key, algorithm, bits, 0), 0);
    assert_int_equal(gnutls_x509_crt_init(&certificate), 0);
    gnutls_x509_crt_set_version(certificate, 3);
    gnutls_x509_crt_set_serial(certificate, "\1", 1);
    gnutls_x509_crt_set_activation_time(certificate, 0);
    gnutls_x509_crt_set_expiration_time(certificate, 4000000000);
    gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
    gnutls_x509_crt_set_key(certificate, key);
    assert_int_equal(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), 0);
    gnutls_datum_t pem;
    char file[64];
    assert_int_equal(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &pem), 0);
    snprintf(file, sizeof file, "%s.crt", name);
    write_file(path_in(file), pem.data, pem.size);
    gnutls_free(pem.data);
    assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem), 0);
    snprintf(file, sizeof file, "%s.key", name);
    write_file(path_in(file), pem.data, pem.size);
    gnutls_free(pem.data);
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[8192];
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    assert_true(n > 0);
    write_file(to, bytes, (size_t)n);
}

/* ---- clients ---- */

static int connect_to(const struct fixture *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)kube_server_port(f->server))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct timeval limit = {.tv_sec = 20}; /* only against a test that hangs */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Sends `request` and reads until the server closes; the caller frees. */
static char *exchange(const struct fixture *f, const char *request, size_t n)
{
    int fd = connect_to(f);
    struct kb_strbuf text = {0};
    char chunk[4096];
    ssize_t got = send(fd, request, n, MSG_NOSIGNAL);
    while ((got = recv(fd, chunk, sizeof chunk, 0)) > 0)
        kb_strbuf_append(&text, chunk, (size_t)got);
    if (got < 0)
        assert_int_equal(errno, ECONNRESET);
    close(fd);
    return kb_strbuf_take(&text);
}

static char *request_with(const struct fixture *f, const char *method, const char *target, const char *headers)
{
    char request[1024];
    int n = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", method,
                     target, headers);
    return exchange(f, request, (size_t)n);
}

static const char *body_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

static void assert_status(const char *answer, int status)
{
    char line[32];
    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    if (!kb_starts_with(answer, line))
        fail_msg("expected status %d, got: %.200s", status, answer);
}

static void assert_alive(const struct fixture *f)
{
    kb_cleanup_free char *answer = request_with(f, "GET", "/healthz", "");
    assert_status(answer, 200);
}

struct tls_result {
    int error; /* GnuTLS's, of the handshake */
    char common_name[64];
    gnutls_protocol_t version;
    char suite[64];
    char answer[512];
};

static void read_result(gnutls_session_t session, struct tls_result *ret)
{
    unsigned n = 0;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &n);
    gnutls_x509_crt_t certificate;
    size_t size = sizeof ret->common_name;
    assert_true(n > 0);
    gnutls_x509_crt_init(&certificate);
    assert_int_equal(gnutls_x509_crt_import(certificate, &list[0], GNUTLS_X509_FMT_DER), 0);
    gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, ret->common_name, &size);
    gnutls_x509_crt_deinit(certificate);
    ret->version = gnutls_protocol_get_version(session);
    snprintf(ret->suite, sizeof ret->suite, "%s", gnutls_ciphersuite_get(session));
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    gnutls_record_send(session, request, sizeof request - 1);
    size_t length = 0;
    ssize_t got;
    while ((got = gnutls_record_recv(session, ret->answer + length, sizeof ret->answer - 1 - length)) > 0)
        length += (size_t)got;
}

static struct tls_result tls_get(const struct fixture *f, const char *priorities)
{
    struct tls_result result = {0};
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    int fd = connect_to(f);
    gnutls_certificate_allocate_credentials(&credentials);
    gnutls_init(&session, GNUTLS_CLIENT);
    assert_int_equal(gnutls_priority_set_direct(session, priorities, NULL), 0);
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_transport_set_int(session, fd);
    do {
        result.error = gnutls_handshake(session);
    } while (result.error < 0 && !gnutls_error_is_fatal(result.error));
    if (result.error == 0)
        read_result(session, &result);
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(credentials);
    close(fd);
    return result;
}

#define ANY_TLS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define TLS12   "NORMAL:-VERS-ALL:+VERS-TLS1.2"

/* ---- HTTP ---- */

static void routes_answer_with_status_type_and_body(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 0);
    kb_cleanup_free char *health = request_with(&f, "GET", "/healthz?verbose=a%20b", "User-Agent: probe\r\n");
    assert_status(health, 200);
    assert_non_null(strstr(health, "Content-Type: application/json\r\n"));
    assert_string_equal(body_of(health), "{\"verbose\":\"a b\",\"agent\":\"probe\"}");
    kb_cleanup_free char *failure = request_with(&f, "GET", "/debug/a/b", "");
    assert_status(failure, 500);
    assert_non_null(strstr(failure, "Content-Type: text/plain\r\n"));
    assert_string_equal(body_of(failure), "failed at /debug/a/b");
    kb_cleanup_free char *slash = request_with(&f, "GET", "/healthz/?verbose=a%20b", "User-Agent: probe\r\n");
    assert_string_equal(body_of(slash), body_of(health));
    kb_cleanup_free char *head = request_with(&f, "HEAD", "/both", "");
    assert_status(head, 200);
    assert_non_null(strstr(head, "Content-Length: 37\r\n"));
    assert_string_equal(body_of(head), "");
    kb_cleanup_free char *any = request_with(&f, "DELETE", "/any", "");
    assert_status(any, 200);
    kb_cleanup_free char *post = request_with(&f, "POST", "/both", "Content-Length: 0\r\n");
    assert_status(post, 200);
    stop(&f);
}

static void what_has_no_route_is_refused_with_the_reference_s_words(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *headers;
        int status;
        const char *body, *allow;
    } cases[] = {
        {"GET", "/", "", 404, "404: Page Not Found", NULL},
        {"GET", "/healthzz", "", 404, "404: Page Not Found", NULL},
        {"GET", "/healthz/x", "", 404, "404: Page Not Found", NULL},
        {"GET", "/both/", "", 404, "404: Page Not Found", NULL},
        {"HEAD", "/healthz", "", 405, NULL, "Allow: GET\r\n"},
        {"POST", "/nowhere", "Content-Length: 3\r\n", 404, "404: Page Not Found", NULL},
        {"POST", "/healthz", "Content-Length: 3\r\n", 405, "405: Method Not Allowed", "Allow: GET\r\n"},
        {"DELETE", "/both", "", 405, "405: Method Not Allowed", "Allow: POST, GET\r\n"},
        {"GET", "/healthz", "Accept: text/html\r\n", 406,
         "406: Not Acceptable\n\nAvailable representations: application/json", NULL},
        {"GET", "/healthz", "Accept: application/*\r\n", 406, NULL, NULL},
        {"GET", "/both", "Accept: text/html\r\n", 200, NULL, NULL},
        {"GET", "/healthz", "Accept: text/html, application/json;q=0.5\r\n", 200, NULL, NULL},
        {"GET", "/healthz", "Accept: text/html,*/*;q=0.1\r\n", 200, NULL, NULL},
        {"GET", "/healthz", "Accept: application/jsonx,,;\r\n", 406, NULL, NULL},
    };
    struct fixture f;
    start(&f, NULL, NULL, 0);
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        kb_cleanup_free char *answer = request_with(&f, cases[i].method, cases[i].path, cases[i].headers);
        assert_status(answer, cases[i].status);
        if (cases[i].body)
            assert_string_equal(body_of(answer), cases[i].body);
        if (cases[i].status != 200)
            assert_non_null(strstr(answer, "Content-Type: text/plain; charset=utf-8\r\n"));
        if (cases[i].allow)
            assert_non_null(strstr(answer, cases[i].allow));
    }
    stop(&f);
}

static void a_connection_serves_several_requests(void **state)
{
    (void)state;
    static const char requests[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
                                   "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n"
                                   "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    struct fixture f;
    start(&f, NULL, NULL, 0);
    kb_cleanup_free char *answers = exchange(&f, requests, sizeof requests - 1);
    assert_status(answers, 200);
    const char *second = strstr(answers + 1, "HTTP/1.1 404 ");
    assert_non_null(second);
    assert_non_null(strstr(second, "HTTP/1.1 200 "));
    stop(&f);
}

static void hostile_input_harms_nobody_else(void **state)
{
    (void)state;
    static char huge_header[64 << 10], huge_path[64 << 10];
    memset(huge_header, 'a', sizeof huge_header - 1);
    memcpy(huge_header, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: ", 36);
    memset(huge_path, 'a', sizeof huge_path - 1);
    memcpy(huge_path, "GET /", 5);
    static const char *const requests[] = {
        "\r\n\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /healthz\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /%00%ff%zz HTTP/1.0\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzzzz\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        huge_header,
        huge_path,
    };
    struct fixture f;
    start(&f, NULL, NULL, 100 * KB_NS_PER_MS);
    for (size_t i = 0; i < KB_ARRAY_LEN(requests); i++) {
        kb_cleanup_free char *answer = exchange(&f, requests[i], strlen(requests[i]));
        (void)answer; /* a refusal, or nothing */
        assert_alive(&f);
    }
    stop(&f);
}

static void wait_closed(int fd)
{
    char byte;
    ssize_t got;
    while ((got = recv(fd, &byte, 1, 0)) > 0)
        continue;
    assert_true(got == 0 || errno == ECONNRESET);
    close(fd);
}

static void a_client_that_drips_bytes_is_cut(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 300 * KB_NS_PER_MS);
    int fd = connect_to(&f);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    int rounds = 0;
    send(fd, "GET /healthz HTTP/1.1\r\nX: ", 26, MSG_NOSIGNAL);
    for (; poll(&readable, 1, 10) == 0 && rounds < 1000; rounds++)
        send(fd, "a", 1, MSG_NOSIGNAL);
    assert_true(rounds >= 3);
    assert_true(rounds < 1000);
    wait_closed(fd);
    assert_alive(&f);
    stop(&f);
}

static void a_client_that_sends_nothing_or_reads_nothing_is_cut(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 100 * KB_NS_PER_MS);
    static const char request[] = "GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
    int deaf = connect_to(&f);
    send(deaf, request, sizeof request - 1, MSG_NOSIGNAL);
    assert_alive(&f);
    int silent = connect_to(&f);
    wait_closed(silent);
    /* The other one came earlier: its time is over as well. What the kernel had taken can be read, not all of it. */
    size_t n = 0;
    static char chunk[1 << 16];
    ssize_t got;
    while ((got = recv(deaf, chunk, sizeof chunk, 0)) > 0)
        n += (size_t)got;
    assert_true(n < LARGE_BYTES);
    close(deaf);
    assert_alive(&f);
    stop(&f);
}

static void a_large_answer_arrives_whole(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 0);
    kb_cleanup_free char *answer = request_with(&f, "GET", "/large", "");
    assert_status(answer, 200);
    assert_true(strlen(body_of(answer)) == LARGE_BYTES);
    stop(&f);
}

static void an_answer_in_pieces_arrives_whole_and_ends_once(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 0);
    static const char old[] = "GET /stream HTTP/1.0\r\n\r\n"; /* not cut into chunks */
    kb_cleanup_free char *answer = exchange(&f, old, sizeof old - 1);
    assert_int_equal(strlen(body_of(answer)), 40 * 100000);
    kb_cleanup_free char *head = request_with(&f, "HEAD", "/stream", "");
    assert_status(head, 200);
    assert_null(strstr(head, "Content-Length"));
    assert_string_equal(body_of(head), "");
    int gone = connect_to(&f); /* a client that leaves in the middle */
    assert_true(send(gone, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n", 34, MSG_NOSIGNAL) > 0);
    char some[1000];
    assert_true(recv(gone, some, sizeof some, 0) > 0);
    close(gone);
    assert_alive(&f);
    stop(&f);
    assert_int_equal(open_streams, 0);
}

static void more_connections_than_allowed_wait_and_are_served_later(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 200 * KB_NS_PER_MS);
    int idle[80];
    for (size_t i = 0; i < KB_ARRAY_LEN(idle); i++)
        idle[i] = connect_to(&f);
    assert_alive(&f); /* once the idle ones were cut */
    for (size_t i = 0; i < KB_ARRAY_LEN(idle); i++)
        close(idle[i]);
    stop(&f);
}

/* Without it the last request would wait until the time of the first ones is over. */
static void a_flood_of_idle_connections_displaces_itself(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 3600 * KB_NS_PER_S);
    int first = connect_to(&f), idle[300];
    for (size_t i = 0; i < KB_ARRAY_LEN(idle); i++)
        idle[i] = connect_to(&f);
    assert_alive(&f);
    wait_closed(first);
    for (size_t i = 0; i < KB_ARRAY_LEN(idle); i++)
        close(idle[i]);
    assert_alive(&f);
    stop(&f);
}

static void ask_and_read_head(int fd)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    char bytes[4096];
    assert_int_equal(send(fd, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
    assert_true(recv(fd, bytes, sizeof bytes, 0) > 0);
}

static void a_connection_that_was_just_served_is_not_displaced(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, NULL, NULL, 3600 * KB_NS_PER_S);
    int served = connect_to(&f), idle[63];
    for (size_t i = 0; i < KB_ARRAY_LEN(idle); i++)
        idle[i] = connect_to(&f);
    ask_and_read_head(served);
    assert_alive(&f);
    wait_closed(idle[0]);
    ask_and_read_head(served);
    close(served);
    for (size_t i = 1; i < KB_ARRAY_LEN(idle); i++)
        close(idle[i]);
    stop(&f);
}

static void starting_fails_with_a_reason(void **state)
{
    (void)state;
    struct fixture f;
    struct kube_server *second;
    struct kube_error error = {0};
    start(&f, NULL, NULL, 0);
    struct kube_server_options options = {.address = "127.0.0.1", .port = kube_server_port(f.server)};
    assert_int_equal(kube_server_start(&options, &second, &error), -1);
    assert_non_null(strstr(error.message, "Address already in use"));
    options.address = "no such host.invalid";
    assert_int_equal(kube_server_start(&options, &second, &error), -1);
    assert_non_null(strstr(error.message, "listen on no such host.invalid"));
    options = (struct kube_server_options){.address = "127.0.0.1", .cert_file = "/nowhere/tls.crt"};
    assert_int_equal(kube_server_start(&options, &second, &error), -1);
    kube_server_stop(NULL);
    stop(&f);
}

static void the_wildcard_is_both_ipv4_and_ipv6(void **state)
{
    (void)state;
    struct kube_server *server;
    struct kube_error error = {0};
    const struct kube_server_options options = {.address = "0.0.0.0"};
    assert_int_equal(kube_server_start(&options, &server, &error), 0);
    struct fixture f = {.server = server};
    close(connect_to(&f));
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)kube_server_port(server)),
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        assert_int_not_equal(errno, ECONNREFUSED); /* a machine without IPv6 says something else */
    if (fd >= 0)
        close(fd);
    kube_server_stop(server);
}

/* ---- TLS ---- */

static void https_serves_the_certificate_of_the_files(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, path_in("ec.crt"), path_in("ec.key"), 0);
    wait_told(&f, 1, 0);
    struct tls_result result = tls_get(&f, ANY_TLS);
    assert_int_equal(result.error, 0);
    assert_string_equal(result.common_name, "ec");
    assert_int_equal(result.version, GNUTLS_TLS1_3);
    assert_status(result.answer, 200);
    stop(&f);
}

static void the_swap_of_a_mounted_secret_is_seen(void **state)
{
    (void)state;
    struct fixture f;
    mkdir(path_in("v1"), 0700);
    mkdir(path_in("v2"), 0700);
    mkdir(path_in("mount"), 0700);
    copy_file(path_in("ec.crt"), path_in("v1/tls.crt"));
    copy_file(path_in("ec.key"), path_in("v1/tls.key"));
    copy_file(path_in("other.crt"), path_in("v2/tls.crt"));
    copy_file(path_in("other.key"), path_in("v2/tls.key"));
    assert_int_equal(symlink("../v1", path_in("mount/..data")), 0);
    assert_int_equal(symlink("..data/tls.crt", path_in("mount/tls.crt")), 0);
    assert_int_equal(symlink("..data/tls.key", path_in("mount/tls.key")), 0);
    start(&f, path_in("mount/tls.crt"), path_in("mount/tls.key"), 0);
    assert_string_equal(tls_get(&f, ANY_TLS).common_name, "ec");
    assert_int_equal(symlink("../v2", path_in("mount/..data_tmp")), 0);
    assert_int_equal(rename(path_in("mount/..data_tmp"), path_in("mount/..data")), 0);
    wait_told(&f, 2, 0);
    assert_string_equal(tls_get(&f, ANY_TLS).common_name, "other");
    stop(&f);
}

static void a_pair_that_does_not_load_leaves_the_previous_one(void **state)
{
    (void)state;
    struct fixture f;
    mkdir(path_in("files"), 0700);
    copy_file(path_in("ec.crt"), path_in("files/tls.crt"));
    copy_file(path_in("ec.key"), path_in("files/tls.key"));
    start(&f, path_in("files/tls.crt"), path_in("files/tls.key"), 0);
    wait_told(&f, 1, 0);
    copy_file(path_in("other.crt"), path_in("files/new.crt"));
    assert_int_equal(rename(path_in("files/new.crt"), path_in("files/tls.crt")), 0); /* does not fit the key */
    wait_told(&f, 1, 1);
    assert_non_null(strstr(f.failure, "files/tls.crt"));
    assert_string_equal(tls_get(&f, ANY_TLS).common_name, "ec");
    copy_file(path_in("other.key"), path_in("files/new.key"));
    assert_int_equal(rename(path_in("files/new.key"), path_in("files/tls.key")), 0);
    wait_told(&f, 2, 1);
    assert_string_equal(tls_get(&f, ANY_TLS).common_name, "other");
    stop(&f);
}

static void without_a_certificate_handshakes_fail_until_there_is_one(void **state)
{
    (void)state;
    struct fixture f;
    mkdir(path_in("empty"), 0700);
    start(&f, path_in("empty/tls.crt"), path_in("empty/tls.key"), 0);
    wait_told(&f, 0, 1);
    assert_non_null(strstr(f.failure, "No such file"));
    assert_true(tls_get(&f, ANY_TLS).error < 0);
    assert_true(tls_get(&f, TLS12).error < 0);
    copy_file(path_in("ec.key"), path_in("empty/k"));
    copy_file(path_in("ec.crt"), path_in("empty/c"));
    assert_int_equal(rename(path_in("empty/k"), path_in("empty/tls.key")), 0);
    assert_int_equal(rename(path_in("empty/c"), path_in("empty/tls.crt")), 0);
    wait_told(&f, 1, 1);
    assert_string_equal(tls_get(&f, ANY_TLS).common_name, "ec");
    stop(&f);
}

static void the_policy_is_asked_at_each_connection(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, path_in("ec.crt"), path_in("ec.key"), 0);
    assert_int_equal(tls_get(&f, TLS12).version, GNUTLS_TLS1_2);
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 13});
    assert_true(tls_get(&f, TLS12).error < 0);
    assert_int_equal(tls_get(&f, ANY_TLS).version, GNUTLS_TLS1_3);
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 10});
    assert_int_equal(tls_get(&f, "NORMAL:-VERS-ALL:+VERS-TLS1.1").version, GNUTLS_TLS1_1);
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 12});
    assert_true(tls_get(&f, "NORMAL:-VERS-ALL:+VERS-TLS1.1").error < 0);
    stop(&f);
}

static void key_exchanges_that_keep_no_secret_are_not_spoken(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, path_in("rsa.crt"), path_in("rsa.key"), 0);
    assert_int_equal(tls_get(&f, TLS12).error, 0);
    assert_int_equal(tls_get(&f, TLS12 ":-KX-ALL:+ECDHE-RSA:-CIPHER-ALL:+AES-128-CBC").error, 0);
    assert_true(tls_get(&f, TLS12 ":-KX-ALL:+RSA").error < 0);
    assert_true(tls_get(&f, TLS12 ":-KX-ALL:+DHE-RSA").error < 0);
    stop(&f);
}

static void only_the_listed_ciphers_are_spoken_before_tls_13(void **state)
{
    (void)state;
    static const char *const list[] = {"TLS_NO_SUCH_SUITE", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
                                       "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
                                       "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"};
    struct fixture f;
    start(&f, path_in("ec.crt"), path_in("ec.key"), 0);
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 12, .ciphers = list, .n_ciphers = KB_ARRAY_LEN(list)});
    assert_string_equal(tls_get(&f, TLS12).suite, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256");
    assert_string_equal(tls_get(&f, TLS12 ":-CHACHA20-POLY1305").suite, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA");
    /* The parts ECDHE-ECDSA, AES-128-GCM are each in the list, the suite is not. */
    assert_true(tls_get(&f, TLS12 ":-CIPHER-ALL:+AES-128-GCM").error < 0);
    assert_int_equal(tls_get(&f, "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM").error, 0);
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 12, .ciphers = list, .n_ciphers = 1});
    assert_int_equal(tls_get(&f, TLS12 ":-CIPHER-ALL:+AES-128-GCM").error, 0); /* nothing known is listed: defaults */
    stop(&f);
    start(&f, path_in("rsa.crt"), path_in("rsa.key"), 0);
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 12, .ciphers = list, .n_ciphers = KB_ARRAY_LEN(list)});
    assert_string_equal(tls_get(&f, TLS12).suite, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
    stop(&f);
}

/* Every prefix of a real hello, and hellos with one byte changed. */
static void broken_handshakes_harm_nobody_else(void **state)
{
    (void)state;
    static const unsigned char hello[] = {0x16, 3,  1,  0,  61, 1,  0,  0,  57, 3,  3,  0,  1,    2,    3,    4,    5,
                                          6,    7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18,   19,   20,   21,   22,
                                          23,   24, 25, 26, 27, 28, 29, 30, 31, 0,  0,  4,  0xc0, 0x2b, 0xc0, 0x2f, 1,
                                          0,    0,  12, 0,  43, 0,  3,  2,  3,  3,  0,  10, 0,    1,    0};
    static const char *const list[] = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"};
    struct fixture f;
    start(&f, path_in("ec.crt"), path_in("ec.key"), 50 * KB_NS_PER_MS);
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 12, .ciphers = list, .n_ciphers = 1});
    for (size_t n = 0; n <= sizeof hello; n += 7)
        free(exchange(&f, (const char *)hello, n));
    for (size_t i = 5; i < sizeof hello; i += 3) {
        unsigned char changed[sizeof hello];
        memcpy(changed, hello, sizeof hello);
        changed[i] ^= 0xff;
        free(exchange(&f, (const char *)changed, sizeof changed));
    }
    set_policy(&f, (struct kube_tls_policy){.minimum_version = 12});
    assert_int_equal(tls_get(&f, ANY_TLS).error, 0);
    stop(&f);
}

static int make_files(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "%s", "/tmp/test-server-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    make_certificate("ec", GNUTLS_PK_ECDSA);
    make_certificate("other", GNUTLS_PK_ECDSA);
    make_certificate("rsa", GNUTLS_PK_RSA);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_answer_with_status_type_and_body),
        cmocka_unit_test(what_has_no_route_is_refused_with_the_reference_s_words),
        cmocka_unit_test(a_connection_serves_several_requests),
        cmocka_unit_test(hostile_input_harms_nobody_else),
        cmocka_unit_test(a_client_that_drips_bytes_is_cut),
        cmocka_unit_test(a_client_that_sends_nothing_or_reads_nothing_is_cut),
        cmocka_unit_test(a_large_answer_arrives_whole),
        cmocka_unit_test(an_answer_in_pieces_arrives_whole_and_ends_once),
        cmocka_unit_test(more_connections_than_allowed_wait_and_are_served_later),
        cmocka_unit_test(a_flood_of_idle_connections_displaces_itself),
        cmocka_unit_test(a_connection_that_was_just_served_is_not_displaced),
        cmocka_unit_test(starting_fails_with_a_reason),
        cmocka_unit_test(the_wildcard_is_both_ipv4_and_ipv6),
        cmocka_unit_test(https_serves_the_certificate_of_the_files),
        cmocka_unit_test(the_swap_of_a_mounted_secret_is_seen),
        cmocka_unit_test(a_pair_that_does_not_load_leaves_the_previous_one),
        cmocka_unit_test(without_a_certificate_handshakes_fail_until_there_is_one),
        cmocka_unit_test(the_policy_is_asked_at_each_connection),
        cmocka_unit_test(key_exchanges_that_keep_no_secret_are_not_spoken),
        cmocka_unit_test(only_the_listed_ciphers_are_spoken_before_tls_13),
        cmocka_unit_test(broken_handshakes_harm_nobody_else),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
