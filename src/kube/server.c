/*
 * The HTTPS server: libmicrohttpd driven by one thread of ours, which sleeps in poll(2) on libmicrohttpd's epoll
 * descriptor, the watch of the certificate's files and a descriptor that ends it.
 *
 * libmicrohttpd's own time-out begins anew with every byte, so that a client which drips bytes could hold a connection
 * for ever. Here each connection has a deadline: set when it opens and after each answer (for the next request to
 * arrive) and when a request is complete (for its answer to be taken). What is late is shut down, which libmicrohttpd
 * then sees as its end.
 */
#include "kube/server.h"
#include "base/clock.h"
#include "base/strings.h"
#include "kube/server_internal.h"
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MANY_CONNECTIONS     64  /* from here on each new one takes the place of one that only waits */
#define MAX_CONNECTIONS      128 /* libmicrohttpd accepts no more */
#define CONNECTION_MEMORY    ((size_t)16 << 10)
#define LISTEN_BACKLOG       128
#define STREAM_BLOCK         ((size_t)32 << 10) /* what libmicrohttpd asks a stream for at once */
#define DEFAULT_TIMEOUT_NS   (10 * KB_NS_PER_S)
#define PLAIN_TEXT           "text/plain; charset=utf-8"
#define CONTENT_TYPE_DEFAULT "application/json"

struct connection {
    struct kube_server *server;
    struct connection *next, **link;
    int fd;
    int64_t deadline; /* INT64_MAX: was shut down already */
    bool answering;   /* its request is complete */
    struct kube_tls_state tls;
};

struct kube_server {
    struct kube_server_options options;
    struct MHD_Daemon *daemon;
    struct kube_tls *tls;           /* NULL: plain HTTP */
    struct connection *connections; /* newest first */
    int n_connections;
    bool run_again; /* a connection ended: when the limit was reached only another MHD_run listens again */
    int port, stop_fd;
    pthread_t thread;
};

struct kube_http_query {
    struct MHD_Connection *connection;
    const char *path;
};

static int64_t now(void)
{
    struct kb_clock *clock = kb_clock_system();
    return clock->mono(clock);
}

/* ---- connections ---- */

static struct connection *connection_of(struct MHD_Connection *handle)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

struct kube_tls_state *kube_server_tls_state(gnutls_session_t session)
{
    struct connection *connection = connection_of(gnutls_session_get_ptr(session));
    return connection ? &connection->tls : NULL;
}

static void set_deadline(struct MHD_Connection *handle, bool answering)
{
    struct connection *connection = connection_of(handle);
    if (!connection)
        return;
    connection->answering = answering;
    if (connection->deadline != INT64_MAX)
        connection->deadline = now() + connection->server->options.timeout_ns;
}

static void cut(struct connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
    connection->deadline = INT64_MAX;
}

/* The one that has waited longest for its client's request goes: who floods displaces himself, a probe is through
 * long before it is the oldest. */
static void make_room(struct kube_server *server)
{
    struct connection *oldest = NULL;
    for (struct connection *connection = server->connections; connection; connection = connection->next)
        if (!connection->answering && connection->deadline != INT64_MAX &&
            (!oldest || connection->deadline <= oldest->deadline))
            oldest = connection;
    if (oldest)
        cut(oldest);
}

static void connected(struct kube_server *server, struct MHD_Connection *handle, void **socket_context)
{
    if (server->n_connections++ >= MANY_CONNECTIONS)
        make_room(server);
    struct connection *connection = kb_malloc(sizeof *connection);
    connection->server = server;
    connection->fd = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection->deadline = now() + server->options.timeout_ns;
    connection->next = server->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    connection->link = &server->connections;
    server->connections = connection;
    *socket_context = connection;
    if (server->tls) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        kube_tls_connected(server->tls, info->tls_session, &connection->tls);
    }
}

static void disconnected(void **socket_context)
{
    struct connection *connection = *socket_context;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    kube_tls_disconnected(&connection->tls);
    connection->server->run_again = true;
    connection->server->n_connections--;
    free(connection);
    *socket_context = NULL;
}

static void on_connection(void *userdata, struct MHD_Connection *handle, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        connected(userdata, handle, socket_context);
    else if (*socket_context)
        disconnected(socket_context);
}

static void on_completed(void *userdata, struct MHD_Connection *handle, void **request_context,
                         enum MHD_RequestTerminationCode code)
{
    (void)userdata, (void)request_context, (void)code;
    set_deadline(handle, false);
}

/* Shuts down what is late; returns the nearest deadline. */
static int64_t expire(struct kube_server *server)
{
    int64_t nearest = INT64_MAX, time = now();
    for (struct connection *connection = server->connections; connection; connection = connection->next) {
        if (connection->deadline <= time)
            cut(connection);
        nearest = connection->deadline < nearest ? connection->deadline : nearest;
    }
    return nearest;
}

/* ---- requests ---- */

const char *kube_http_query_argument(const struct kube_http_query *query, const char *name)
{
    return MHD_lookup_connection_value(query->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *kube_http_query_header(const struct kube_http_query *query, const char *name)
{
    return MHD_lookup_connection_value(query->connection, MHD_HEADER_KIND, name);
}

const char *kube_http_query_path(const struct kube_http_query *query)
{
    return query->path;
}

/* Takes over the response. */
static enum MHD_Result send_response(struct MHD_Connection *handle, struct MHD_Response *response, int status,
                                     const char *content_type, const char *allow)
{
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
    if (allow)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allow);
    enum MHD_Result queued = MHD_queue_response(handle, (unsigned)status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_answer(struct MHD_Connection *handle, int status, const char *content_type,
                                   struct kb_strbuf *body, const char *allow)
{
    size_t n = body->length;
    struct MHD_Response *response = MHD_create_response_from_buffer(n, kb_strbuf_take(body), MHD_RESPMEM_MUST_FREE);
    return send_response(handle, response, status, content_type, allow);
}

/* ---- answers in pieces ---- */

struct stream {
    struct kube_http_answer answer;
    struct kb_strbuf piece;
    size_t taken; /* bytes of it */
};

static ssize_t read_stream(void *userdata, uint64_t position, char *ret, size_t size)
{
    (void)position;
    struct stream *stream = userdata;
    if (stream->taken == stream->piece.length) {
        kb_strbuf_clear(&stream->piece);
        stream->taken = 0;
        if (!stream->answer.more(stream->answer.state, &stream->piece))
            return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t left = stream->piece.length - stream->taken, n = left < size ? left : size;
    memcpy(ret, stream->piece.data + stream->taken, n);
    stream->taken += n;
    return (ssize_t)n;
}

static void free_stream(void *userdata)
{
    struct stream *stream = userdata;
    stream->answer.end(stream->answer.state);
    kb_strbuf_done(&stream->piece);
    free(stream);
}

static enum MHD_Result send_stream(struct MHD_Connection *handle, const struct kube_http_answer *answer)
{
    struct stream *stream = kb_malloc(sizeof *stream);
    stream->answer = *answer;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, stream, free_stream);
    if (!response)
        free_stream(stream);
    return send_response(handle, response, answer->status, answer->content_type, NULL);
}

static ssize_t read_nothing(void *userdata, uint64_t position, char *ret, size_t size)
{
    (void)userdata, (void)position, (void)ret, (void)size;
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* The head of an answer whose length is not known: without Content-Length, and, so that libmicrohttpd does not send
 * the end of a chunked body behind it, as for a client of HTTP/1.0. */
static enum MHD_Result send_stream_head(struct MHD_Connection *handle, const struct kube_http_answer *answer)
{
    answer->end(answer->state);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_nothing, NULL, NULL);
    if (response)
        MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
    return send_response(handle, response, answer->status, answer->content_type, NULL);
}

static enum MHD_Result refuse(struct MHD_Connection *handle, int status, const char *text, const char *allow)
{
    struct kb_strbuf body = {0};
    kb_strbuf_puts(&body, text);
    return send_answer(handle, status, PLAIN_TEXT, &body, allow);
}

static bool path_matches(const struct kube_http_route *route, const char *path)
{
    const char *pattern = route->path;
    size_t n = strlen(pattern);
    if (n > 0 && pattern[n - 1] == '*')
        return strncmp(pattern, path, n - 1) == 0;
    return strncmp(pattern, path, n) == 0 && (path[n] == '\0' || (route->json && kb_streq(path + n, "/")));
}

static bool method_matches(const struct kube_http_route *route, const char *method)
{
    return !route->method || kb_streq(route->method, method) ||
           (!route->json && kb_streq(route->method, "GET") && kb_streq(method, "HEAD"));
}

/* NULL: none. `ret_allow` has the methods that the path knows, "" when there is no such path. */
static const struct kube_http_route *find_route(const struct kube_server *server, const char *method, const char *path,
                                                char *ret_allow, size_t size)
{
    size_t length = 0;
    ret_allow[0] = '\0';
    for (size_t i = 0; i < server->options.n_routes; i++) {
        const struct kube_http_route *route = &server->options.routes[i];
        if (!path_matches(route, path))
            continue;
        if (method_matches(route, method))
            return route;
        if (length < size && !strstr(ret_allow, route->method))
            length +=
                (size_t)snprintf(ret_allow + length, size - length, "%s%s", length > 0 ? ", " : "", route->method);
    }
    return NULL;
}

/* Whether an Accept header lets JSON through; parameters (also q) and "application" with a star are not looked at, as
 * go-restful does it. */
static bool accepts_json(const char *accept)
{
    if (kb_empty(accept))
        return true;
    while (*accept) {
        accept += strspn(accept, " \t");
        size_t n = strcspn(accept, ",; \t");
        if ((n == 3 && strncmp(accept, "*/*", n) == 0) || (n == 16 && strncasecmp(accept, "application/json", n) == 0))
            return true;
        accept += strcspn(accept, ",");
        accept += *accept == ',';
    }
    return false;
}

static enum MHD_Result answer(struct kube_server *server, struct MHD_Connection *handle, const char *method,
                              const char *path)
{
    char allow[128];
    const struct kube_http_route *route = find_route(server, method, path, allow, sizeof allow);
    if (!route && allow[0])
        return refuse(handle, 405, "405: Method Not Allowed", allow);
    if (!route)
        return refuse(handle, 404, "404: Page Not Found", NULL);
    struct kube_http_query query = {handle, path};
    if (route->json && !accepts_json(kube_http_query_header(&query, "Accept")))
        return refuse(handle, 406, "406: Not Acceptable\n\nAvailable representations: application/json", NULL);
    struct kube_http_answer reply = {.status = 200, .content_type = CONTENT_TYPE_DEFAULT};
    route->answer(server->options.userdata, &query, &reply);
    if (reply.more && kb_streq(method, "HEAD"))
        return send_stream_head(handle, &reply);
    if (reply.more)
        return send_stream(handle, &reply);
    return send_answer(handle, reply.status, reply.content_type, &reply.body, NULL);
}

/* libmicrohttpd calls it first when the headers are there. A request with a body is answered at once, unread, and its
 * connection then ends; for one without a body libmicrohttpd comes again, so that the connection can be kept. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *handle, const char *path, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **request_context)
{
    (void)version, (void)upload;
    static char seen;
    bool first = *request_context == NULL;
    *request_context = &seen;
    if (first)
        set_deadline(handle, true);
    struct kube_http_query query = {handle, path};
    bool has_body =
        kube_http_query_header(&query, "Content-Length") || kube_http_query_header(&query, "Transfer-Encoding");
    if (first && !has_body)
        return MHD_YES;
    if (!first && *upload_size > 0)
        return MHD_NO;
    return answer(userdata, handle, method, path);
}

/* ---- the thread ---- */

static int poll_timeout(struct kube_server *server, int64_t nearest)
{
    unsigned long long pending_ms;
    if (server->run_again)
        return 0;
    if (server->tls && kube_tls_retry_at(server->tls) < nearest)
        nearest = kube_tls_retry_at(server->tls);
    int64_t wait_ns = nearest == INT64_MAX ? -1 : nearest - now();
    int64_t wait_ms = nearest == INT64_MAX ? -1 : wait_ns <= 0 ? 0 : (wait_ns + KB_NS_PER_MS - 1) / KB_NS_PER_MS;
    if (MHD_get_timeout(server->daemon, &pending_ms) == MHD_YES && (wait_ms < 0 || (int64_t)pending_ms < wait_ms))
        wait_ms = (int64_t)pending_ms;
    return wait_ms > 3600 * 1000 ? 3600 * 1000 : (int)wait_ms;
}

static void *serve(void *userdata)
{
    struct kube_server *server = userdata;
    pthread_setname_np(pthread_self(), server->tls ? "https" : "http");
    struct pollfd fds[] = {
        {.fd = server->stop_fd, .events = POLLIN},
        {.fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .events = POLLIN},
        {.fd = server->tls ? kube_tls_watch_fd(server->tls) : -1, .events = POLLIN},
    };
    for (;;) {
        int rc = poll(fds, KB_ARRAY_LEN(fds), poll_timeout(server, expire(server)));
        if (rc < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            break;
        if (server->tls && (fds[2].revents || kube_tls_retry_at(server->tls) <= now()))
            kube_tls_files_changed(server->tls);
        server->run_again = false;
        MHD_run(server->daemon);
    }
    return NULL;
}

/* ---- start and stop ---- */

static int try_listen(const struct addrinfo *address, int *ret_fd)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, LISTEN_BACKLOG) < 0) {
        int error_number = errno;
        close(fd);
        return -error_number;
    }
    *ret_fd = fd;
    return 0;
}

static int listen_on(const char *address, int port, int *ret_fd, struct kube_error *reterr)
{
    bool any = kb_empty(address) || kb_streq(address, "0.0.0.0") || kb_streq(address, "::");
    const char *const candidates[] = {any ? "::" : address, any ? "0.0.0.0" : NULL};
    int error_number = EADDRNOTAVAIL;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    for (size_t i = 0; i < KB_ARRAY_LEN(candidates) && candidates[i]; i++) {
        struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *list = NULL;
        int rc = getaddrinfo(candidates[i], service, &hints, &list);
        if (rc != 0 && !any)
            return kube_error_set(reterr, KUBE_ERROR_IO, "listen on %s: %s", address, gai_strerror(rc));
        if (rc != 0)
            continue;
        rc = try_listen(list, ret_fd);
        freeaddrinfo(list);
        if (rc == 0)
            return 0;
        error_number = -rc;
        if (error_number == EADDRINUSE || error_number == EACCES)
            break;
    }
    return kube_error_set_errno(reterr, error_number, "listen on %s port %d", kb_empty(address) ? "::" : address, port);
}

static int port_of(int fd)
{
    struct sockaddr_in6 address = {0};
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return 0;
    return ntohs(address.sin6_port); /* at the same place in sockaddr_in */
}

/* libmicrohttpd wants a certificate, or a function that finds one. Ours are set for each session before its handshake;
 * this one is asked only while there is none. */
static int no_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **ret_certs,
                          unsigned *ret_n, gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_n_ocsp,
                          gnutls_privkey_t *ret_key, unsigned *ret_flags)
{
    (void)session, (void)info, (void)ret_certs, (void)ret_n, (void)ret_ocsp, (void)ret_n_ocsp, (void)ret_key;
    (void)ret_flags;
    return -1;
}

static int start_daemon(struct kube_server *server, int listen_fd, struct kube_error *reterr)
{
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)CONNECTION_MEMORY, NULL},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, server},
        {server->tls ? MHD_OPTION_HTTPS_CERT_CALLBACK2 : MHD_OPTION_END, 0, (void *)no_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags = MHD_USE_EPOLL | (server->tls ? MHD_USE_TLS : 0);
    server->daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!server->daemon) {
        close(listen_fd);
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "start the HTTP server");
    }
    return 0;
}

static int start(struct kube_server *server, struct kube_error *reterr)
{
    int listen_fd = -1;
    if (server->options.cert_file && kube_tls_new(&server->options, &server->tls, reterr) < 0)
        return -1;
    server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->stop_fd < 0)
        return kube_error_set_errno(reterr, errno, "eventfd");
    if (listen_on(server->options.address, server->options.port, &listen_fd, reterr) < 0)
        return -1;
    server->port = port_of(listen_fd);
    if (start_daemon(server, listen_fd, reterr) < 0)
        return -1;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
    int rc = pthread_create(&server->thread, NULL, serve, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0 ? 0 : kube_error_set_errno(reterr, rc, "start the HTTP server's thread");
}

static void release(struct kube_server *server)
{
    if (server->daemon)
        MHD_stop_daemon(server->daemon); /* closes the listening socket and all connections */
    if (server->stop_fd >= 0)
        close(server->stop_fd);
    kube_tls_free(server->tls);
    free(server);
}

int kube_server_start(const struct kube_server_options *options, struct kube_server **ret, struct kube_error *reterr)
{
    struct kube_server *server = kb_malloc(sizeof *server);
    server->options = *options;
    server->stop_fd = -1;
    if (options->timeout_ns == 0)
        server->options.timeout_ns = DEFAULT_TIMEOUT_NS;
    if (start(server, reterr) < 0) {
        release(server);
        return -1;
    }
    *ret = server;
    return 0;
}

int kube_server_port(const struct kube_server *server)
{
    return server->port;
}

void kube_server_stop(struct kube_server *server)
{
    if (!server)
        return;
    uint64_t one = 1;
    if (write(server->stop_fd, &one, sizeof one) < 0)
        abort(); /* an eventfd takes it always */
    pthread_join(server->thread, NULL);
    release(server);
}
