/*
 * What the two files of the curl transport share: transport_curl.c (exchanges, the loop) and transport_handle.c
 * (libcurl's easy handles and their options).
 */
#ifndef KUBE_TRANSPORT_INTERNAL_H
#define KUBE_TRANSPORT_INTERNAL_H

#include "kube/credentials.h"
#include "kube/transport.h"
#include <curl/curl.h>

/* Where the server is, in libcurl's terms; the same for all handles. */
struct kube_endpoint {
    const struct kube_config *config;
    struct kb_arena *arena;
    const char *base;             /* URL in front of paths */
    const char *host_header;      /* "Host: ..." when the URL's host is the TLS server name instead; or NULL */
    const char *proxy, *no_proxy; /* "" for none; NULL: libcurl's default */
    const char *ca_path;          /* PEM file; NULL: the system's */
    const char *user_agent;
    struct curl_slist *connect_to; /* or NULL */
    bool tls;
    int ca_fd; /* -1: none */
};
int kube_endpoint_init(struct kube_endpoint *endpoint, const struct kube_config *config, const char *user_agent,
                       struct kube_error *reterr);
void kube_endpoint_done(struct kube_endpoint *endpoint);

/* A reusable easy handle. Options that never change are set when it is made. */
struct kube_handle {
    CURL *easy;
    struct kube_handle *next; /* in the pool */
    struct curl_slist *headers;
    char *content_type; /* that `headers` were made for; or NULL */
    char *url;
    unsigned generation; /* of the credentials that are set */
    char error[CURL_ERROR_SIZE];
};
struct kube_handle *kube_handle_new(const struct kube_endpoint *endpoint, long buffer_size);
void kube_handle_free(struct kube_handle *handle);
void kube_handle_set_auth(struct kube_handle *handle, const struct kube_endpoint *endpoint,
                          const struct kube_auth *auth, const char *content_type);
void kube_handle_set_request(struct kube_handle *handle, const struct kube_endpoint *endpoint,
                             const struct kube_http_request *request);

#endif
