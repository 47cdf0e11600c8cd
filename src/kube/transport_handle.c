/*
 * libcurl's options for one API server.
 *
 * The cluster's CA is the only one that is trusted when the config names one: libcurl's default bundle and directory
 * are not loaded, which would cost 7 MiB. Data from the kubeconfig become files in memory, because GnuTLS takes names.
 *
 * The proxy is chosen as Go does (HTTPS_PROXY or HTTP_PROXY by the server's scheme, never for loopback; NO_PROXY is
 * libcurl's to apply), because libcurl alone would also heed ALL_PROXY.
 */
#include "base/strings.h"
#include "kube/transport_internal.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 15000L
/* A connection whose peer acknowledges nothing for so long is dead: answers for requests that wait for one. */
#define TCP_USER_TIMEOUT_MS 30000
#define TCP_KEEPALIVE_S     30L

struct url {
    char *scheme, *host, *port, *path; /* libcurl's: curl_free */
};

static int parse_url(const char *text, struct url *ret, struct kube_error *reterr)
{
    CURLU *u = curl_url();
    CURLUcode r = curl_url_set(u, CURLUPART_URL, text, 0);
    if (r == CURLUE_OK) {
        curl_url_get(u, CURLUPART_SCHEME, &ret->scheme, 0);
        curl_url_get(u, CURLUPART_HOST, &ret->host, 0);
        curl_url_get(u, CURLUPART_PORT, &ret->port, CURLU_DEFAULT_PORT);
        curl_url_get(u, CURLUPART_PATH, &ret->path, 0);
    }
    curl_url_cleanup(u);
    if (r != CURLUE_OK || !ret->host || !ret->port)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "the server's address \"%s\" is not a URL", text);
    return 0;
}

static void url_done(struct url *url)
{
    curl_free(url->scheme);
    curl_free(url->host);
    curl_free(url->port);
    curl_free(url->path);
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return (ntohl(v4.s_addr) >> 24) == 127;
    return kb_streq(host, "localhost") || kb_streq(host, "[::1]");
}

/* Upper case first, as Go. */
static const char *environment(const char *upper, const char *lower)
{
    const char *value = getenv(upper);
    return kb_empty(value) ? getenv(lower) : value;
}

/* Go resolves names at the SOCKS proxy; libcurl calls that socks5h. */
static const char *proxy_for_curl(struct kb_arena *arena, const char *proxy)
{
    const char *rest = kb_after_prefix(proxy, "socks5://");
    return rest ? kb_arena_printf(arena, "socks5h://%s", rest) : kb_arena_strdup(arena, proxy);
}

static void choose_proxy(struct kube_endpoint *e, const struct url *url)
{
    e->proxy = "";
    e->no_proxy = "";
    if (!kb_empty(e->config->proxy_url)) {
        e->proxy = proxy_for_curl(e->arena, e->config->proxy_url);
        return;
    }
    if (is_loopback(url->host))
        return;
    const char *proxy = e->tls ? environment("HTTPS_PROXY", "https_proxy") : environment("HTTP_PROXY", "http_proxy");
    if (kb_empty(proxy))
        return;
    const char *except = environment("NO_PROXY", "no_proxy");
    e->proxy = proxy_for_curl(e->arena, proxy);
    e->no_proxy = kb_arena_strdup(e->arena, except ? except : "");
}

/* The name in the URL is what libcurl verifies and sends as SNI; the connection goes to the real address. */
static void use_server_name(struct kube_endpoint *e, const struct url *url)
{
    const char *prefix = kb_streq(url->path, "/") ? "" : url->path;
    e->base = kb_arena_printf(e->arena, "https://%s:%s%s", e->config->tls_server_name, url->port, prefix);
    e->host_header = kb_arena_printf(e->arena, "Host: %s:%s", url->host, url->port);
    e->connect_to = curl_slist_append(NULL, kb_arena_printf(e->arena, "::%s:%s", url->host, url->port));
}

static int load_ca(struct kube_endpoint *e, struct kube_error *reterr)
{
    if (!e->config->ca_data) {
        e->ca_path = e->config->ca_file;
        return 0;
    }
    kb_cleanup_free char *path = NULL;
    e->ca_fd = kube_memory_file("certificate-authority", e->config->ca_data, &path, reterr);
    if (e->ca_fd < 0)
        return e->ca_fd;
    e->ca_path = kb_arena_strdup(e->arena, path);
    return 0;
}

int kube_endpoint_init(struct kube_endpoint *e, const struct kube_config *config, const char *user_agent,
                       struct kube_error *reterr)
{
    *e = (struct kube_endpoint){.config = config, .arena = kb_arena_new_sized(512), .ca_fd = -1};
    e->base = config->server;
    e->user_agent = kb_arena_strdup(e->arena, user_agent ? user_agent : "libkube");
    struct url url = {0};
    int r = parse_url(config->server, &url, reterr);
    if (r >= 0) {
        e->tls = kb_streq(url.scheme, "https");
        choose_proxy(e, &url);
        if (e->tls && !kb_empty(config->tls_server_name))
            use_server_name(e, &url);
        r = load_ca(e, reterr);
    }
    url_done(&url);
    if (r < 0)
        kube_endpoint_done(e);
    return r;
}

void kube_endpoint_done(struct kube_endpoint *e)
{
    if (e->ca_fd >= 0)
        close(e->ca_fd);
    curl_slist_free_all(e->connect_to);
    kb_arena_free(e->arena);
    *e = (struct kube_endpoint){.ca_fd = -1};
}

/* ---- handles ---- */

static int set_socket(void *userdata, curl_socket_t fd, curlsocktype purpose)
{
    (void)userdata;
    (void)purpose;
    unsigned timeout = TCP_USER_TIMEOUT_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
    return CURL_SOCKOPT_OK;
}

static void set_tls(CURL *easy, const struct kube_endpoint *e)
{
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    if (e->config->insecure_skip_tls_verify) {
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (e->ca_path || e->config->insecure_skip_tls_verify) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, e->ca_path);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
}

static void set_network(CURL *easy, const struct kube_endpoint *e)
{
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, e->proxy);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, e->no_proxy);
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, e->connect_to);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, TCP_KEEPALIVE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, TCP_KEEPALIVE_S / 2);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, set_socket);
}

struct kube_handle *kube_handle_new(const struct kube_endpoint *e, long buffer_size)
{
    struct kube_handle *h = kb_malloc(sizeof *h);
    h->easy = curl_easy_init();
    if (!h->easy)
        abort(); /* out of memory, as in kb_malloc */
    curl_easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h->easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(h->easy, CURLOPT_BUFFERSIZE, buffer_size);
    curl_easy_setopt(h->easy, CURLOPT_USERAGENT, e->user_agent);
    curl_easy_setopt(h->easy, CURLOPT_ERRORBUFFER, h->error);
    set_network(h->easy, e);
    if (e->tls)
        set_tls(h->easy, e);
    return h;
}

void kube_handle_free(struct kube_handle *h)
{
    curl_easy_cleanup(h->easy);
    curl_slist_free_all(h->headers);
    free(h->content_type);
    free(h->url);
    free(h);
}

static void add_header(struct kube_handle *h, const char *name, const char *value)
{
    kb_cleanup_free char *line = kb_asprintf("%s%s", name, value);
    h->headers = curl_slist_append(h->headers, line);
}

/* Headers stay as they are while requests are alike: HTTP/2 sends one byte for each that the server has seen. */
void kube_handle_set_auth(struct kube_handle *h, const struct kube_endpoint *e, const struct kube_auth *auth,
                          const char *content_type)
{
    if (h->generation == auth->generation && kb_streq_null(h->content_type, content_type))
        return;
    curl_slist_free_all(h->headers);
    free(h->content_type);
    h->headers = NULL;
    h->content_type = content_type ? kb_strdup(content_type) : NULL;
    h->generation = auth->generation;
    if (e->host_header)
        add_header(h, e->host_header, "");
    add_header(h, "Accept: ", "application/json");
    add_header(h, "Expect:", "");
    if (content_type)
        add_header(h, "Content-Type: ", content_type);
    if (auth->authorization)
        add_header(h, "Authorization: ", auth->authorization);
    for (const char **line = e->config->impersonate; line && *line; line++)
        add_header(h, *line, "");
    curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, h->headers);
    curl_easy_setopt(h->easy, CURLOPT_SSLCERT, auth->cert_path);
    curl_easy_setopt(h->easy, CURLOPT_SSLKEY, auth->key_path);
}

void kube_handle_set_request(struct kube_handle *h, const struct kube_endpoint *e,
                             const struct kube_http_request *request)
{
    free(h->url);
    h->url = kb_asprintf("%s%s", e->base, request->path);
    h->error[0] = '\0';
    curl_easy_setopt(h->easy, CURLOPT_URL, h->url);
    bool get = kb_streq(request->method, "GET");
    if (get || (request->body_length == 0 && kb_streq(request->method, "DELETE"))) {
        curl_easy_setopt(h->easy, CURLOPT_HTTPGET, 1L);
    } else {
        curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, request->body_length > 0 ? request->body : "");
    }
    curl_easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, get ? NULL : request->method);
}
