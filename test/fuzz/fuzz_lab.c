/*
 * Talks to the lab's API server: the input is a session of requests, each a line "METHOD PATH CONTENT-TYPE" and a body,
 * separated by lines "---". Whatever is asked, the server must answer: with an object, or with a failure that says why;
 * and what it stored must be JSON.
 */
#include "base/clock.h"
#include "base/strings.h"
#include "lab/route.h"
#include "lab/server.h"
#include "lab/stream.h"
#include "lab/table.h"
#include <stdlib.h>

#define MAX_REQUESTS 16
#define START_NS     1767323045000000000LL

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool holds)
{
    if (!holds)
        abort();
}

struct pairs {
    struct kb_arena *arena;
    size_t n;
    struct lab_pair items[8];
};

/* name=value&name=value: not decoded, the fuzzer writes what it likes. */
static const char *cut_query(struct pairs *p, char *path)
{
    char *query = strchr(path, '?');
    if (!query)
        return path;
    *query++ = '\0';
    for (char *part; p->n < KB_ARRAY_LEN(p->items) && (part = strsep(&query, "&"));) {
        char *value = strchr(part, '=');
        if (value)
            *value++ = '\0';
        p->items[p->n++] = (struct lab_pair){part, value ? value : ""};
    }
    return path;
}

static void drain(struct lab_call *call)
{
    char buffer[4096];
    struct lab_stream *s = lab_stream_new(call);
    while (lab_stream_read(s, buffer, sizeof(buffer)) > 0)
        continue;
    lab_stream_free(s);
}

static void look_at_answer(struct lab_call *call, int rc)
{
    size_t n;
    if (rc < 0) {
        check(call->failure.code >= 400 && !kb_empty(call->failure.message));
        check(*lab_failure_text(call->arena, &call->failure, &n) == '{');
        return;
    }
    if (call->result.kind == LAB_RESULT_OBJECT)
        check(lab_object_parse(call->arena, call->result.object, call->version->api_version) != NULL);
    if (call->result.kind == LAB_RESULT_OBJECT || call->result.kind == LAB_RESULT_LIST)
        check(*lab_table_text(call, &n) == '{');
    if (call->result.kind == LAB_RESULT_LIST || call->result.kind == LAB_RESULT_WATCH)
        drain(call);
}

static void ask(struct lab_server *server, char *request)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    char *body = strchr(request, '\n'), *head = request;
    if (body)
        *body++ = '\0';
    const char *method = strsep(&head, " "), *path = strsep(&head, " ");
    struct pairs query = {.arena = arena};
    if (!path || *path != '/')
        return;
    path = cut_query(&query, (char *)path);
    struct lab_http_request r = {.method = method,
                                 .path = path,
                                 .n_query = query.n,
                                 .query = query.items,
                                 .accept = "",
                                 .content_type = head ? head : "",
                                 .authorization = "",
                                 .user_agent = "",
                                 .source_ip = "",
                                 .uri = "",
                                 .body = body ? body : "",
                                 .body_length = body ? strlen(body) : 0};
    struct lab_call call;
    int rc = lab_route(server, arena, &r, &call);
    if (rc > 0)
        rc = lab_call_serve(&call);
    look_at_answer(&call, rc);
    lab_call_done(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct kb_clock_fake *clock = kb_clock_fake_new(START_NS);
    struct kb_random *random = kb_random_seeded(1);
    struct lab_server_options options = {
        .clock = kb_clock_fake_clock(clock), .random = random, .watch_history = 8, .no_background = true};
    struct lab_server *server;
    struct kube_error err;
    kb_cleanup_free char *text = kb_strndup((const char *)bytes, n);
    char *rest = text;
    check(lab_server_new(&options, &server, &err) == 0);
    for (int i = 0; rest && i < MAX_REQUESTS; i++) {
        char *end = strstr(rest, "\n---\n"), *request = rest;
        rest = end ? end + 5 : NULL;
        if (end)
            *end = '\0';
        ask(server, request);
        lab_server_run(server);
    }
    lab_server_free(server);
    free(random);
    kb_clock_fake_free(clock);
    return 0;
}
