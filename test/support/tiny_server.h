/*
 * A small HTTP server on a free port of the loopback interface, for tests of real transports. A thread for each
 * connection.
 *
 *     /hello      200 "hello" (and any other path)
 *     /large      200, 1 MiB of 'x'
 *     /busy       429 with Retry-After: 7
 *     /guarded    200 with "Authorization: Bearer GOOD_TOKEN", otherwise 401
 *     /cut        the connection is closed instead of an answer
 *     /silent     no answer, until the server stops
 *     /stream     a chunked answer: what tiny_server_send gives, to whichever stream takes it first
 */
#ifndef TEST_TINY_SERVER_H
#define TEST_TINY_SERVER_H

#include "base/strbuf.h"
#include <pthread.h>
#include <stdbool.h>

enum tiny_server_end { TINY_SERVER_OPEN, TINY_SERVER_END, TINY_SERVER_CUT };

struct tiny_server { /* members below `lock` are guarded by it; those of the last request may be read once it was
                        answered */
    struct MHD_Daemon *daemon;
    int port;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping;
    int requests, connections;
    char good_token[64];
    char last_authorization[128], last_method[16], last_body[4096], last_content_type[64], last_host[64],
        last_agent[64];
    unsigned last_peer_certs; /* certificates that the client showed */
    struct kb_strbuf stream;
    enum tiny_server_end stream_end;
};

/* PEM text; both NULL: plain HTTP. Clients are asked for a certificate of the same issuer. */
struct tiny_server *tiny_server_start(const char *cert, const char *key);
void tiny_server_stop(struct tiny_server *server);
void tiny_server_send(struct tiny_server *server, const char *text, enum tiny_server_end end);
void tiny_server_await_requests(struct tiny_server *server, int n);
int tiny_server_requests(struct tiny_server *server);    /* how many came */
int tiny_server_connections(struct tiny_server *server); /* opened so far */

/* A self-signed certificate for 127.0.0.1 and kube.test, valid for a day around now. */
struct tiny_identity {
    char *cert, *key; /* PEM */
};
struct tiny_identity tiny_identity_new(void);
void tiny_identity_done(struct tiny_identity *identity);

#endif
