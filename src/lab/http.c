/*
 * HTTP, see http.h: libmicrohttpd with epoll in a few threads.
 *
 * A request is read completely, routed and served in the thread that read it. Watches are responses without end: when
 * there is nothing to send the connection is suspended, and a commit (or the ticker: bookmarks, time-outs) resumes it.
 * `pending` closes the race between the two: it is set by whoever has news and cleared before looking for some.
 */
#include "lab/http.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/aggregate.h"
#include "lab/route.h"
#include "lab/server_internal.h"
#include "lab/stream.h"
#include "lab/table.h"
#include "lab/watch.h"
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define BOOKMARK_PERIOD (60 * KB_NS_PER_S)
#define DEFAULT_TIMEOUT 1800
#define BODY_LIMIT      (16u << 20)
#define LIST_BLOCK      (256u << 10)
#define MAX_CONNECTIONS 8192

struct request {
    struct lab_http *http;
    struct MHD_Connection *connection;
    struct kb_arena *arena;
    struct kb_strbuf body;
    const char *uri;
    bool refused; /* the body is too long */
    struct {
        bool done; /* set, with the rest, before the connection is resumed */
        int code;
        const char *content_type;
        char *body;
        size_t n;
    } forwarded; /* the answer of another server */
    struct lab_call call;
    struct lab_stream *stream;
    /* Watches; under the server's lock. */
    struct request *previous, *next;
    bool watching, suspended, pending, ended, bookmark;
    int64_t deadline, next_bookmark;
};

struct lab_http {
    struct lab_server *server;
    struct MHD_Daemon *daemon;
    uint16_t port;
    struct lab_aggregate *aggregate;
    struct request *watches;
    pthread_t ticker;
    pthread_cond_t cond;
    bool stopping;
};

/* Lock held. */
static void wake(void *context)
{
    struct request *q = context;
    q->pending = true;
    if (!q->suspended)
        return;
    q->suspended = false;
    MHD_resume_connection(q->connection);
}

static ssize_t read_watch(void *context, uint64_t position, char *buffer, size_t max)
{
    struct request *q = context;
    struct lab_server *s = q->http->server;
    (void)position;
    for (;;) {
        lab_server_lock(s);
        q->pending = false;
        bool ended = q->ended || s->stopping;
        if (q->bookmark)
            lab_stream_bookmark(q->stream);
        q->bookmark = false;
        lab_server_unlock(s);
        ssize_t n = ended ? LAB_STREAM_END : lab_stream_read(q->stream, buffer, max);
        if (n == LAB_STREAM_END)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (n > 0)
            return n;
        lab_server_lock(s);
        bool sleeps = !q->pending && !q->ended && !s->stopping;
        if (sleeps) {
            q->suspended = true;
            MHD_suspend_connection(q->connection);
        }
        lab_server_unlock(s);
        if (sleeps)
            return 0;
    }
}

static ssize_t read_list(void *context, uint64_t position, char *buffer, size_t max)
{
    struct request *q = context;
    (void)position;
    ssize_t n = lab_stream_read(q->stream, buffer, max);
    return n == LAB_STREAM_END ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void start_watching(struct request *q)
{
    struct lab_server *s = q->http->server;
    int seconds = q->call.options.timeout_seconds;
    if (!seconds)
        seconds = DEFAULT_TIMEOUT + (int)kb_random_below(s->random, DEFAULT_TIMEOUT);
    int64_t now = s->clock->mono(s->clock);
    q->deadline = now + seconds * KB_NS_PER_S;
    q->next_bookmark = q->call.options.bookmarks ? now + BOOKMARK_PERIOD : INT64_MAX;
    lab_server_lock(s);
    q->watching = true;
    q->next = q->http->watches;
    if (q->next)
        q->next->previous = q;
    q->http->watches = q;
    q->call.result.watch->context = q;
    q->call.result.watch->wake = wake;
    lab_server_unlock(s);
}

static void stop_watching(struct request *q)
{
    struct lab_server *s = q->http->server;
    lab_server_lock(s);
    q->call.result.watch->wake = NULL;
    if (q->previous)
        q->previous->next = q->next;
    else
        q->http->watches = q->next;
    if (q->next)
        q->next->previous = q->previous;
    q->watching = false;
    lab_server_unlock(s);
}

static enum MHD_Result send_response(struct request *q, int code, const char *type, struct MHD_Response *response)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type ? type : "application/json");
    if (q->call.failure.retry_after)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER,
                                kb_arena_printf(q->arena, "%d", q->call.failure.retry_after));
    if (q->call.result.warning)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WARNING,
                                kb_arena_printf(q->arena, "299 - %s", kb_quote(q->arena, q->call.result.warning)));
    enum MHD_Result rc = MHD_queue_response(q->connection, (unsigned)code, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result send_text(struct request *q, int code, const char *type, const char *text, size_t n)
{
    return send_response(q, code, type, MHD_create_response_from_buffer(n, (void *)text, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result send_failure(struct request *q)
{
    size_t n;
    const char *text = lab_failure_text(q->arena, &q->call.failure, &n);
    return send_text(q, q->call.failure.code, NULL, text, n);
}

static enum MHD_Result send_result(struct request *q)
{
    struct lab_result *r = &q->call.result;
    size_t n = r->length;
    const char *text = r->text;
    bool table = r->kind != LAB_RESULT_TEXT && r->kind != LAB_RESULT_WATCH && lab_table_wanted(&q->call);
    if (table)
        text = lab_table_text(&q->call, &n);
    else if (r->kind == LAB_RESULT_OBJECT)
        text = lab_object_text(q->arena, r->object, q->call.version->api_version, &n);
    if (table || r->kind == LAB_RESULT_TEXT || r->kind == LAB_RESULT_OBJECT)
        return send_text(q, r->code, r->content_type, text, n);
    q->stream = lab_stream_new(&q->call);
    if (r->kind == LAB_RESULT_LIST)
        return send_response(
            q, 200, NULL,
            MHD_create_response_from_callback(lab_stream_length(q->stream), LIST_BLOCK, read_list, q, NULL));
    start_watching(q);
    return send_response(q, 200, NULL,
                         MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, LIST_BLOCK, read_watch, q, NULL));
}

struct pairs {
    struct kb_arena *arena;
    size_t n;
    struct lab_pair *items;
};

static enum MHD_Result add_pair(void *context, enum MHD_ValueKind kind, const char *key, const char *value)
{
    struct pairs *p = context;
    (void)kind;
    struct lab_pair *pair = kb_vec_push(p->arena, p);
    pair->key = kb_arena_strdup(p->arena, key);
    pair->value = kb_arena_strdup(p->arena, value ? value : "");
    return MHD_YES;
}

static const char *header(struct request *q, const char *name)
{
    const char *value = MHD_lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

static const char *peer(struct request *q)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(q->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    char text[INET6_ADDRSTRLEN] = "";
    if (info && info->client_addr->sa_family == AF_INET)
        inet_ntop(AF_INET, &((struct sockaddr_in *)info->client_addr)->sin_addr, text, sizeof(text));
    else if (info && info->client_addr->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)info->client_addr)->sin6_addr, text, sizeof(text));
    return kb_arena_strdup(q->arena, text);
}

static enum MHD_Result serve(struct request *q, const char *method, const char *path)
{
    struct pairs query = {.arena = q->arena};
    MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, add_pair, &query);
    struct lab_http_request r = {.method = kb_arena_strdup(q->arena, method),
                                 .path = kb_arena_strdup(q->arena, path),
                                 .n_query = query.n,
                                 .query = query.items,
                                 .accept = kb_arena_strdup(q->arena, header(q, "Accept")),
                                 .content_type = header(q, "Content-Type"),
                                 .authorization = header(q, "Authorization"),
                                 .user_agent = header(q, "User-Agent"),
                                 .source_ip = peer(q),
                                 .uri = q->uri,
                                 .body = kb_strbuf_text(&q->body),
                                 .body_length = q->body.length};
    int rc = lab_route(q->http->server, q->arena, &r, &q->call);
    if (rc > 0)
        rc = lab_call_serve(&q->call);
    return rc < 0 ? send_failure(q) : send_result(q);
}

/* Another thread's. */
static void forwarded(void *context, int code, const char *content_type, char *body, size_t n)
{
    struct request *q = context;
    q->forwarded.code = code;
    q->forwarded.content_type = kb_arena_strdup(q->arena, content_type);
    q->forwarded.body = body;
    q->forwarded.n = n;
    q->forwarded.done = true;
    MHD_resume_connection(q->connection); /* `handle` is called again */
}

/* The thread must not wait for the other server, whose own requests it may have to serve. */
static enum MHD_Result forward(struct request *q, const char *server, const char *method)
{
    struct lab_aggregate_call call = {.server = server,
                                      .method = kb_arena_strdup(q->arena, method),
                                      .uri = q->uri,
                                      .content_type = header(q, "Content-Type"),
                                      .body = kb_strbuf_text(&q->body),
                                      .body_length = q->body.length,
                                      .done = forwarded,
                                      .context = q};
    MHD_suspend_connection(q->connection);
    lab_aggregate_start(q->http->aggregate, &call);
    return MHD_YES;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *n, void **request)
{
    (void)context;
    (void)version;
    struct request *q = *request;
    if (!q->connection) { /* only the headers are there */
        q->connection = connection;
        return MHD_YES;
    }
    if (*n) {
        q->refused |= q->body.length + *n > BODY_LIMIT;
        if (!q->refused)
            kb_strbuf_append(&q->body, data, *n);
        *n = 0;
        return MHD_YES;
    }
    if (q->refused) {
        q->call.failure = (struct lab_failure){
            .code = 413, .reason = "RequestEntityTooLarge", .message = "Request entity too large: limit is 16777216"};
        return send_failure(q);
    }
    if (q->forwarded.done)
        return send_text(q, q->forwarded.code, q->forwarded.content_type, q->forwarded.body, q->forwarded.n);
    const char *other = lab_aggregate_server(q->http->server, q->arena, url);
    return other ? forward(q, other, method) : serve(q, method, url);
}

/* Called with the request's first line: makes its context. */
static void *begin(void *context, const char *uri, struct MHD_Connection *connection)
{
    (void)connection;
    struct kb_arena *arena = kb_arena_new();
    struct request *q = kb_arena_one(arena, struct request);
    q->http = context;
    q->arena = arena;
    q->uri = kb_arena_strdup(arena, uri);
    return q;
}

static void end(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)connection;
    (void)code;
    struct request *q = *request;
    if (!q)
        return;
    *request = NULL;
    if (q->watching)
        stop_watching(q);
    lab_stream_free(q->stream);
    lab_call_done(&q->call);
    kb_strbuf_done(&q->body);
    free(q->forwarded.body);
    kb_arena_free(q->arena);
}

/* Whether the client hung up: a suspended connection is not looked at by the library. */
static bool is_abandoned(struct request *q)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(q->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd p = {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP};
    return q->suspended && poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLERR | POLLHUP));
}

/* Lock held. What is due at `now`; returns when something is due next. */
static int64_t tick(struct lab_http *http, int64_t now)
{
    int64_t next = INT64_MAX;
    for (struct request *q = http->watches; q; q = q->next) {
        bool due = false;
        if (!q->ended && (now >= q->deadline || is_abandoned(q)))
            due = q->ended = true;
        if (now >= q->next_bookmark) {
            q->next_bookmark = now + BOOKMARK_PERIOD;
            due = q->bookmark = true;
        }
        if (due)
            wake(q);
        int64_t at = q->ended ? INT64_MAX : q->deadline;
        if (q->next_bookmark < at)
            at = q->next_bookmark;
        if (at < next)
            next = at;
    }
    return next;
}

static void *run_ticker(void *context)
{
    struct lab_http *http = context;
    struct lab_server *s = http->server;
    pthread_setname_np(pthread_self(), "watch-ticker");
    lab_server_lock(s);
    while (!http->stopping) {
        int64_t now = s->clock->mono(s->clock), next = tick(http, now);
        int64_t second = now + KB_NS_PER_S; /* watches that begin meanwhile are seen then */
        s->clock->wait(s->clock, &http->cond, &s->lock, next < second ? next : second);
    }
    lab_server_unlock(s);
    return NULL;
}

static int make_address(const char *listen, uint16_t port, struct sockaddr_storage *ret, struct kube_error *reterr)
{
    struct sockaddr_in *four = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;
    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, listen, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return 0;
    }
    if (inet_pton(AF_INET6, listen, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        return 0;
    }
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s is not an IP address", listen);
}

static struct MHD_Daemon *start_daemon(struct lab_http *http, const struct lab_http_options *o,
                                       const struct sockaddr_storage *address)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (address->ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    if (o->tls_key)
        flags |= MHD_USE_TLS;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)o->tls_key},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)o->tls_certificate},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(flags, 0, NULL, NULL, handle, http,                        //
                            MHD_OPTION_SOCK_ADDR, address,                             //
                            MHD_OPTION_URI_LOG_CALLBACK, begin, http,                  //
                            MHD_OPTION_NOTIFY_COMPLETED, end, http,                    //
                            MHD_OPTION_THREAD_POOL_SIZE, o->threads ? o->threads : 2u, //
                            MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,    //
                            MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u,                     //
                            MHD_OPTION_ARRAY, o->tls_key ? tls : none,                 //
                            MHD_OPTION_END);
}

int lab_http_start(struct lab_server *server, const struct lab_http_options *options, struct lab_http **ret,
                   struct kube_error *reterr)
{
    struct sockaddr_storage address;
    const char *listen = options->listen ? options->listen : "127.0.0.1";
    if (make_address(listen, options->port, &address, reterr) < 0)
        return -1;
    struct lab_http *http = kb_malloc(sizeof(*http));
    http->server = server;
    kb_cond_init(&http->cond);
    errno = 0;
    http->daemon = start_daemon(http, options, &address);
    if (!http->daemon) {
        pthread_cond_destroy(&http->cond);
        free(http);
        return kube_error_set_errno(reterr, errno, "listen on %s port %d", listen, options->port);
    }
    http->aggregate = lab_aggregate_new(server);
    http->port = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    pthread_create(&http->ticker, NULL, run_ticker, http);
    *ret = http;
    return 0;
}

uint16_t lab_http_port(const struct lab_http *http)
{
    return http->port;
}

void lab_http_stop(struct lab_http *http)
{
    if (!http)
        return;
    lab_server_lock(http->server);
    http->stopping = true;
    pthread_cond_signal(&http->cond);
    for (struct request *q = http->watches; q; q = q->next) {
        q->ended = true;
        wake(q);
    }
    lab_server_unlock(http->server);
    pthread_join(http->ticker, NULL);
    lab_aggregate_free(http->aggregate); /* a daemon must not end with suspended connections */
    MHD_stop_daemon(http->daemon);
    pthread_cond_destroy(&http->cond);
    free(http);
}
