/*
 * The small server: libmicrohttpd with a thread for each connection, so that an answer may block.
 */
#include "support/tiny_server.h"
#include "base/strings.h"
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* Blocks the connection's own thread until there is something to send. */
static ssize_t read_stream(void *userdata, uint64_t position, char *buffer, size_t max)
{
    struct tiny_server *server = userdata;
    (void)position;
    ssize_t n = MHD_CONTENT_READER_END_OF_STREAM;
    pthread_mutex_lock(&server->lock);
    while (!server->stopping && server->stream.length == 0 && server->stream_end == TINY_SERVER_OPEN)
        pthread_cond_wait(&server->changed, &server->lock);
    if (server->stream.length > 0) {
        n = (ssize_t)(server->stream.length < max ? server->stream.length : max);
        memcpy(buffer, server->stream.data, (size_t)n);
        kb_strbuf_drop_front(&server->stream, (size_t)n);
    } else if (server->stream_end == TINY_SERVER_CUT) {
        n = MHD_CONTENT_READER_END_WITH_ERROR;
    }
    pthread_mutex_unlock(&server->lock);
    return n;
}

static struct MHD_Response *text_response(const char *text)
{
    return MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result answer(struct MHD_Connection *connection, struct tiny_server *server, const char *path)
{
    unsigned status = 200;
    struct MHD_Response *response = text_response("hello");
    if (kb_streq(path, "/stream")) {
        MHD_destroy_response(response);
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read_stream, server, NULL);
        MHD_add_response_header(response, "Content-Type", "application/json;stream=watch");
    } else if (kb_streq(path, "/busy")) {
        status = 429;
        MHD_add_response_header(response, "Retry-After", "7");
    } else if (kb_streq(path, "/guarded")) {
        kb_cleanup_free char *wanted = kb_asprintf("Bearer %s", server->good_token);
        status = kb_streq(server->last_authorization, wanted) ? 200 : 401;
    } else if (kb_streq(path, "/large")) {
        MHD_destroy_response(response);
        char *large = kb_malloc(1 << 20);
        memset(large, 'x', 1 << 20);
        response = MHD_create_response_from_buffer(1 << 20, large, MHD_RESPMEM_MUST_FREE);
    }
    enum MHD_Result r = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return r;
}

static void note(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text ? text : "");
}

/* How many certificates the client showed. */
static unsigned count_peer_certs(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    unsigned n = 0;
    if (info && info->tls_session)
        gnutls_certificate_get_peers(info->tls_session, &n);
    return n;
}

static void note_request(struct tiny_server *server, struct MHD_Connection *connection, const char *method,
                         const struct kb_strbuf *body)
{
    server->requests++;
    server->last_peer_certs = count_peer_certs(connection);
    note(server->last_method, sizeof server->last_method, method);
    note(server->last_body, sizeof server->last_body, kb_strbuf_text(body));
    const struct {
        const char *name;
        char *to;
        size_t size;
    } headers[] = {
        {"Authorization", server->last_authorization, sizeof server->last_authorization},
        {"Content-Type", server->last_content_type, sizeof server->last_content_type},
        {"Host", server->last_host, sizeof server->last_host},
        {"User-Agent", server->last_agent, sizeof server->last_agent},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(headers); i++)
        note(headers[i].to, headers[i].size, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, headers[i].name));
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *bytes, size_t *n, void **state)
{
    struct tiny_server *server = userdata;
    (void)version;
    struct kb_strbuf *body = *state;
    if (!body) {
        *state = kb_malloc(sizeof *body);
        return MHD_YES;
    }
    if (*n > 0) {
        kb_strbuf_append(body, bytes, *n);
        *n = 0;
        return MHD_YES;
    }
    pthread_mutex_lock(&server->lock);
    note_request(server, connection, method, body);
    pthread_cond_broadcast(&server->changed);
    while (kb_streq(path, "/silent") && !server->stopping)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
    if (kb_streq(path, "/cut") || kb_streq(path, "/silent"))
        return MHD_NO;
    return answer(connection, server, path);
}

static void on_request_done(void *userdata, struct MHD_Connection *connection, void **state,
                            enum MHD_RequestTerminationCode code)
{
    (void)userdata, (void)connection, (void)code;
    struct kb_strbuf *body = *state;
    if (body)
        kb_strbuf_done(body);
    free(body);
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct tiny_server *server = userdata;
    (void)connection, (void)state;
    pthread_mutex_lock(&server->lock);
    server->connections += code == MHD_CONNECTION_NOTIFY_STARTED;
    pthread_mutex_unlock(&server->lock);
}

static void ignore_log(void *userdata, const char *format, va_list args)
{
    (void)userdata, (void)format, (void)args;
}

struct tiny_server *tiny_server_start(const char *cert, const char *key)
{
    struct tiny_server *server = kb_malloc(sizeof *server);
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
                                   {MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)cert},
                                   {MHD_OPTION_END, 0, NULL}};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server->daemon = MHD_start_daemon(flags | (cert ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, server,
                                      MHD_OPTION_EXTERNAL_LOGGER, ignore_log, NULL, MHD_OPTION_SOCK_ADDR, &address,
                                      MHD_OPTION_NOTIFY_COMPLETED, on_request_done, NULL, MHD_OPTION_NOTIFY_CONNECTION,
                                      on_connection, server, MHD_OPTION_ARRAY, cert ? tls : tls + 3, MHD_OPTION_END);
    assert_non_null(server->daemon);
    server->port = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    return server;
}

void tiny_server_stop(struct tiny_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->stopping = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    MHD_stop_daemon(server->daemon);
    kb_strbuf_done(&server->stream);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

void tiny_server_send(struct tiny_server *server, const char *text, enum tiny_server_end end)
{
    pthread_mutex_lock(&server->lock);
    kb_strbuf_puts(&server->stream, text);
    server->stream_end = end;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

void tiny_server_await_requests(struct tiny_server *server, int n)
{
    pthread_mutex_lock(&server->lock);
    while (server->requests < n)
        pthread_cond_wait(&server->changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
}

int tiny_server_requests(struct tiny_server *server)
{
    pthread_mutex_lock(&server->lock);
    int n = server->requests;
    pthread_mutex_unlock(&server->lock);
    return n;
}

int tiny_server_connections(struct tiny_server *server)
{
    pthread_mutex_lock(&server->lock);
    int n = server->connections;
    pthread_mutex_unlock(&server->lock);
    return n;
}

/* ---- certificates ---- */

static char *export(gnutls_datum_t pem)
{
    char *text = kb_strndup((char *)pem.data, pem.size);
    gnutls_free(pem.data);
    return text;
}

struct tiny_identity tiny_identity_new(void)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    gnutls_datum_t pem;
    struct tiny_identity identity;
    static const unsigned char address[] = {127, 0, 0, 1};
    time_t at = time(NULL);
    gnutls_x509_privkey_init(&key);
    gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    gnutls_x509_crt_init(&crt);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, "\1", 1);
    gnutls_x509_crt_set_activation_time(crt, at - 86400);
    gnutls_x509_crt_set_expiration_time(crt, at + 86400);
    gnutls_x509_crt_set_dn(crt, "CN=test", NULL);
    gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, sizeof address, GNUTLS_FSAN_SET);
    gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, "kube.test", 9, GNUTLS_FSAN_APPEND);
    gnutls_x509_crt_set_basic_constraints(crt, 1, -1);
    gnutls_x509_crt_set_key(crt, key);
    assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
    gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem);
    identity.cert = export(pem);
    gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem);
    identity.key = export(pem);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    return identity;
}

void tiny_identity_done(struct tiny_identity *identity)
{
    free(identity->cert);
    free(identity->key);
}
