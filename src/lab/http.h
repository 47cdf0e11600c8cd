/*
 * The API server over HTTP/1.1, with or without TLS.
 */
#ifndef LAB_HTTP_H
#define LAB_HTTP_H

#include "base/error.h"
#include "lab/server.h"
#include <stdint.h>

struct lab_http;

struct lab_http_options {
    const char *listen;                    /* address; NULL: 127.0.0.1 */
    uint16_t port;                         /* 0: any free one */
    const char *tls_certificate, *tls_key; /* PEM texts; NULL: plain HTTP */
    unsigned threads;                      /* 0: 2 */
};

int lab_http_start(struct lab_server *server, const struct lab_http_options *options, struct lab_http **ret,
                   struct kube_error *reterr);
uint16_t lab_http_port(const struct lab_http *http);
/* Ends all watches and connections. Call it after lab_server_stop. */
void lab_http_stop(struct lab_http *http); /* NULL is allowed; frees it */

#endif
