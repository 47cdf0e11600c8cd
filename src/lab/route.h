/*
 * From an HTTP request to a call: paths, query parameters, bodies. Requests that are no calls (discovery, version,
 * health) are answered here.
 */
#ifndef LAB_ROUTE_H
#define LAB_ROUTE_H

#include "lab/call.h"

struct lab_http_request {
    const char *method, *path; /* path: percent-decoded, without query */
    size_t n_query;
    const struct lab_pair *query; /* decoded */
    const char *accept, *content_type, *authorization, *user_agent, *source_ip, *uri;
    const char *body;
    size_t body_length;
};

/* 1: `call` is to be served; 0: call->result is the answer; negative: call->failure is. */
int lab_route(struct lab_server *server, struct kb_arena *arena, const struct lab_http_request *request,
              struct lab_call *call);

#endif
