/*
 * What the files of the HTTPS server share: server.c has the loop and HTTP, server_tls.c certificates and policies.
 * All of it runs on the server's thread (kube_tls_new before that thread starts).
 */
#ifndef KUBE_SERVER_INTERNAL_H
#define KUBE_SERVER_INTERNAL_H

#include "kube/server.h"
#include <gnutls/gnutls.h>

struct kube_tls;      /* the certificate in use, and what watches its files */
struct kube_tls_pair; /* one loaded certificate with its key; counted: sessions keep theirs */

struct kube_tls_state { /* of one connection; lives as long as its session */
    struct kube_tls *tls;
    struct kube_tls_pair *pair;
    int minimum_version;
    size_t n_suites; /* 0: the library's default */
    const struct kube_tls_suite *suites[32];
};

int kube_tls_new(const struct kube_server_options *options, struct kube_tls **ret, struct kube_error *reterr);
void kube_tls_free(struct kube_tls *tls);
int kube_tls_watch_fd(const struct kube_tls *tls);     /* readable: call kube_tls_files_changed; -1: not watching */
int64_t kube_tls_retry_at(const struct kube_tls *tls); /* mono time at which to call it anyway; INT64_MAX: none */
void kube_tls_files_changed(struct kube_tls *tls);
/* Prepares the session of a new connection: its certificate, versions, ciphers. */
void kube_tls_connected(struct kube_tls *tls, gnutls_session_t session, struct kube_tls_state *ret);
void kube_tls_disconnected(struct kube_tls_state *state);
/* The state of a session, found by server.c (the session's own pointer belongs to libmicrohttpd). */
struct kube_tls_state *kube_server_tls_state(gnutls_session_t session);

#endif
