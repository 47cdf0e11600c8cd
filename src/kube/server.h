/*
 * A small HTTPS server for health, metrics and diagnostics (libmicrohttpd, GnuTLS, one internal thread): HTTP/1.1 only, limits
 * on connections (64), header size, and time (10 s a request), so that slow or hostile clients can't hurt.
 *
 * The certificate is re-read when its files really change; while none can be loaded handshakes fail, and the server stays up.
 * The minimum TLS version and the ciphers are asked for at each handshake.
 */
#ifndef KUBE_SERVER_H
#define KUBE_SERVER_H

#include "base/error.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

struct kube_http_answer {
    int status;               /* 200 unless set */
    const char *content_type; /* "application/json" unless set; static */
    struct kb_strbuf body;
};

struct kube_http_query; /* of the request being answered */
const char *kube_http_query_argument(const struct kube_http_query *query, const char *name); /* NULL: absent */
const char *kube_http_query_header(const struct kube_http_query *query, const char *name);   /* NULL: absent */
const char *kube_http_query_path(const struct kube_http_query *query);

struct kube_http_route {
    const char *method; /* "GET" (HEAD comes with it) */
    const char *path;   /* exact; a trailing '*' matches any rest */
    void (*answer)(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret);
    bool json; /* answers 406 when Accept excludes application/json */
};

struct kube_tls_policy { /* of the next handshake */
    int minimum_version; /* 10, 11, 12, 13 */
    const char *const *ciphers; /* IANA names; unknown ones are ignored */
    size_t n_ciphers;           /* 0: the library's default */
};

struct kube_server_options {
    const char *address; /* "0.0.0.0", "127.0.0.1", "::" */
    int port;            /* 0: any free one */
    const char *cert_file, *key_file; /* NULL: plain HTTP */
    const struct kube_http_route *routes;
    size_t n_routes;
    void *userdata; /* for the routes */
    void (*tls_policy)(void *userdata, struct kube_tls_policy *ret); /* NULL: TLS 1.2, defaults */
};

struct kube_server;
int kube_server_start(const struct kube_server_options *options, struct kube_server **ret, struct kube_error *reterr);
int kube_server_port(const struct kube_server *server);
void kube_server_stop(struct kube_server *server); /* NULL is allowed */

#endif
