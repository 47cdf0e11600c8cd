/*
 * A small HTTPS server for health, metrics and diagnostics (libmicrohttpd, GnuTLS, one thread of its own that sleeps
 * while nobody calls): HTTP/1.1 only, limits on connections (64, then each new one takes the place of the one that has
 * waited longest without a request), header size (16 KiB), and time (10 s until a request is there, 10 s until its
 * answer is taken), so that slow or hostile clients can't hurt.
 *
 * The certificate is re-read when its files really change; the previous one stays in use while the new files can not be
 * loaded, and while none can be loaded handshakes fail and the server stays up. The minimum TLS version and the ciphers
 * are asked for at each connection.
 *
 * Threads: routes, tls_policy and certificate are called on the server's thread, one at a time; what they do delays
 * every other client.
 */
#ifndef KUBE_SERVER_H
#define KUBE_SERVER_H

#include "base/error.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_http_answer {
    int status;               /* 200 unless set */
    const char *content_type; /* "application/json" unless set; static */
    struct kb_strbuf body;
    /* In place of `body`, for what should not be in memory at once: appends the next piece, false when there is none;
     * `end` is called once, also when the client goes away. Both on the server's thread. */
    bool (*more)(void *state, struct kb_strbuf *piece);
    void (*end)(void *state);
    void *state;
};

struct kube_http_query; /* of the request being answered */
const char *kube_http_query_argument(const struct kube_http_query *query, const char *name); /* NULL: absent */
const char *kube_http_query_header(const struct kube_http_query *query, const char *name);   /* NULL: absent */
const char *kube_http_query_path(const struct kube_http_query *query);

struct kube_http_route {
    const char *method; /* "GET" (HEAD comes with it, unless `json`); NULL: any */
    const char *path;   /* exact; a trailing '*' matches any rest */
    void (*answer)(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret);
    /* As go-restful serves JSON: 406 when Accept does not name application/json, "/path/" is "/path", no HEAD. */
    bool json;
};

struct kube_tls_policy { /* of the next handshake */
    int minimum_version; /* 10, 11, 12, 13 */
    const char *const
        *ciphers;     /* IANA names, for TLS 1.2 and older (those of 1.3 are always on); unknown ones are ignored */
    size_t n_ciphers; /* 0: the library's default */
};

struct kube_server_options {
    const char
        *address; /* "127.0.0.1", "::1", a host name; "0.0.0.0" and "::" are both all of IPv4 and IPv6, as in Go */
    int port;     /* 0: any free one */
    const char *cert_file, *key_file; /* NULL: plain HTTP */
    const struct kube_http_route *routes;
    size_t n_routes;
    void *userdata;                                                  /* for the routes and the functions below */
    void (*tls_policy)(void *userdata, struct kube_tls_policy *ret); /* NULL: TLS 1.2, defaults */
    /* A certificate was loaded (error NULL) or could not be (told once for each reason); or NULL. The first call comes
     * from kube_server_start. */
    void (*certificate)(void *userdata, const struct kube_error *error);
    int64_t timeout_ns; /* for a request, and for its answer; 0: 10 s */
};

struct kube_server;
/* Copies the options; routes must stay. Fails when it can not listen; not when there is no certificate. */
int kube_server_start(const struct kube_server_options *options, struct kube_server **ret, struct kube_error *reterr);
int kube_server_port(const struct kube_server *server);
void kube_server_stop(struct kube_server *server); /* NULL is allowed */

#endif
