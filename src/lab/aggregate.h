/*
 * Groups that somebody else serves: an APIService that names a Service sends all requests below /apis/GROUP/VERSION
 * there, as kube-apiserver's aggregation does. Certificates of those servers are not checked. A Service is reached by
 * its external name, or else its cluster IP.
 */
#ifndef LAB_AGGREGATE_H
#define LAB_AGGREGATE_H

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>

struct lab_server;
struct lab_aggregate;

struct lab_aggregate *lab_aggregate_new(struct lab_server *server);
/* Ends what is under way (their `done` is called). NULL is allowed. */
void lab_aggregate_free(struct lab_aggregate *aggregate);

/* "https://HOST:PORT" of who serves this path, in the arena; NULL: this server does. */
const char *lab_aggregate_server(struct lab_server *server, struct kb_arena *arena, const char *path);

struct lab_aggregate_call {
    const char *server, *method, *uri, *content_type, *body; /* must live until `done` */
    size_t body_length;
    /* On another thread, once. Code 503 and a text when the server can't be reached. `body` is the callee's afterwards
     * (free). */
    void (*done)(void *context, int code, const char *content_type, char *body, size_t n);
    void *context;
};
/* Does not block. */
void lab_aggregate_start(struct lab_aggregate *aggregate, const struct lab_aggregate_call *call);

#endif
