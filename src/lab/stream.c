/*
 * Streams, see stream.h.
 */
#include "lab/stream.h"
#include "base/strings.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include "lab/table.h"
#include "lab/watch.h"
#include <stdio.h>

#define MAX_SPANS 5

struct span {
    const char *text;
    size_t n;
};

struct lab_stream {
    struct lab_call *call;
    struct span spans[MAX_SPANS];
    size_t n_spans, span;
    char head[LAB_HEAD_SIZE];
    const char *begin, *end; /* of a list */
    size_t item;
    enum { LIST_BEGIN, LIST_ITEMS, LIST_DONE, WATCHING, ENDED } state;
    struct lab_object *shown; /* of a watch: what the spans point into */
    struct kb_arena *scratch;
    bool bookmark, table, table_header_sent;
};

static void add_span(struct lab_stream *s, const char *text, size_t n)
{
    s->spans[s->n_spans++] = (struct span){text, n};
}

static void add_text(struct lab_stream *s, const char *text)
{
    add_span(s, text, strlen(text));
}

static void frame_list(struct lab_stream *s)
{
    struct lab_call *call = s->call;
    const struct lab_result *r = &call->result;
    struct kb_strbuf b = {.arena = s->scratch};
    kb_strbuf_printf(&b, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"%lld\"",
                     call->kind->list_name, call->version->api_version, (long long)r->resource_version);
    if (r->continue_)
        kb_strbuf_printf(&b, ",\"continue\":\"%s\"", r->continue_);
    if (r->remaining)
        kb_strbuf_printf(&b, ",\"remainingItemCount\":%lld", r->remaining);
    kb_strbuf_puts(&b, "},\"items\":[");
    s->begin = kb_strbuf_text(&b);
    s->end = "]}\n";
}

struct lab_stream *lab_stream_new(struct lab_call *call)
{
    struct kb_arena *scratch = kb_arena_new_sized(1024);
    struct lab_stream *s = kb_arena_one(call->arena, struct lab_stream);
    s->call = call;
    s->scratch = scratch;
    s->table = lab_table_wanted(call);
    s->state = call->result.kind == LAB_RESULT_WATCH ? WATCHING : LIST_BEGIN;
    if (s->state == LIST_BEGIN)
        frame_list(s);
    return s;
}

void lab_stream_free(struct lab_stream *stream)
{
    if (!stream)
        return;
    lab_object_unref(stream->shown);
    kb_arena_free(stream->scratch);
}

static size_t head_of(struct lab_stream *s, int64_t version)
{
    return lab_object_head(s->call->version->api_version, s->call->kind->name, version, s->head);
}

size_t lab_stream_length(const struct lab_stream *stream)
{
    const struct lab_result *r = &stream->call->result;
    char head[LAB_HEAD_SIZE];
    size_t n = strlen(stream->begin) + strlen(stream->end) + (r->n ? r->n - 1 : 0);
    for (size_t i = 0; i < r->n; i++)
        n += r->items[i]->length + lab_object_head(stream->call->version->api_version, stream->call->kind->name,
                                                   r->items[i]->resource_version, head);
    return n;
}

static bool next_of_list(struct lab_stream *s)
{
    const struct lab_result *r = &s->call->result;
    if (s->state == LIST_BEGIN) {
        add_text(s, s->begin);
        s->state = LIST_ITEMS;
        return true;
    }
    if (s->state == LIST_ITEMS && s->item < r->n) {
        const struct lab_object *o = r->items[s->item];
        if (s->item++)
            add_text(s, ",");
        add_span(s, s->head, head_of(s, o->resource_version));
        add_span(s, o->text, o->length);
        return true;
    }
    if (s->state == LIST_ITEMS)
        add_text(s, s->end);
    bool more = s->state == LIST_ITEMS;
    s->state = LIST_DONE;
    return more;
}

static void show_bookmark(struct lab_stream *s, int64_t version, bool initial_end)
{
    kb_arena_reset(s->scratch);
    add_text(s,
             kb_arena_printf(s->scratch,
                             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{"
                             "\"resourceVersion\":\"%lld\",\"creationTimestamp\":null%s}}}\n",
                             s->call->kind->name, s->call->version->api_version, (long long)version,
                             initial_end ? ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" : ""));
}

static void show_expired(struct lab_stream *s)
{
    struct lab_failure f = {.code = 410, .reason = "Expired", .message = "too old resource version"};
    kb_arena_reset(s->scratch);
    add_text(
        s, kb_arena_printf(s->scratch, "{\"type\":\"ERROR\",\"object\":%s}\n", lab_failure_text(s->scratch, &f, NULL)));
    s->state = ENDED;
}

static void show_event(struct lab_stream *s, struct lab_watch_event *e)
{
    static const char *const types[] = {
        [LAB_ADDED] = "{\"type\":\"ADDED\",\"object\":",
        [LAB_MODIFIED] = "{\"type\":\"MODIFIED\",\"object\":",
        [LAB_DELETED] = "{\"type\":\"DELETED\",\"object\":",
    };
    lab_object_unref(s->shown);
    s->shown = e->object; /* takes the reference */
    add_text(s, types[e->type]);
    if (s->table) {
        kb_arena_reset(s->scratch);
        add_text(s, lab_table_event(s->scratch, s->call, e->object, e->resource_version, !s->table_header_sent));
        s->table_header_sent = true;
    } else {
        add_span(s, s->head, head_of(s, e->resource_version));
        add_span(s, e->object->text, e->object->length);
    }
    add_text(s, "}\n");
}

/* The version that everything up to has been sent of; 0: there is more to send. */
static int64_t caught_up(struct lab_watch *w)
{
    lab_server_lock(w->server);
    int64_t version = w->cursor == w->resource->next_event ? w->server->resource_version : 0;
    lab_server_unlock(w->server);
    return version;
}

static bool next_of_watch(struct lab_stream *s)
{
    struct lab_watch_event e;
    int rc = lab_watch_next(s->call->result.watch, &e);
    if (rc < 0) {
        show_expired(s);
        return true;
    }
    if (rc > 0) {
        if (e.type == LAB_BOOKMARK)
            show_bookmark(s, e.resource_version, true);
        else
            show_event(s, &e);
        return true;
    }
    int64_t version = s->bookmark ? caught_up(s->call->result.watch) : 0;
    if (!version)
        return false;
    s->bookmark = false;
    show_bookmark(s, version, false);
    return true;
}

/* False: no more spans now. */
static bool refill(struct lab_stream *s)
{
    s->n_spans = s->span = 0;
    if (s->state == WATCHING)
        return next_of_watch(s);
    return s->state != ENDED && next_of_list(s);
}

ssize_t lab_stream_read(struct lab_stream *stream, char *to, size_t max)
{
    size_t n = 0;
    while (n < max) {
        if (stream->span == stream->n_spans && !refill(stream))
            break;
        struct span *s = &stream->spans[stream->span];
        size_t part = s->n < max - n ? s->n : max - n;
        memcpy(to + n, s->text, part);
        s->text += part;
        s->n -= part;
        n += part;
        if (!s->n)
            stream->span++;
    }
    if (n)
        return (ssize_t)n;
    return stream->state == WATCHING ? 0 : LAB_STREAM_END;
}

void lab_stream_bookmark(struct lab_stream *stream)
{
    stream->bookmark = true;
}
