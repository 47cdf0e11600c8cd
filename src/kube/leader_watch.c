/*
 * The watch of the one Lease while another leads, so that a release is seen at once. It only tells what is there:
 * taking the lease begins with a GET in any case, so that a late or wrong event costs a request and nothing else.
 * Without resource version: the server begins with the present state.
 */
#include "api/codec.h"
#include "base/strings.h"
#include "kube/leader_internal.h"
#include <stdlib.h>

#define MAX_LINE ((size_t)1 << 20)

struct kube_lease_watch {
    struct kube_leader *leader;
    struct kube_exchange *exchange;
    bool cancelled; /* by us: nothing that comes counts */
    struct kb_strbuf buffer;
};

static void on_head(void *userdata, const struct kube_http_head *head)
{
    struct kube_lease_watch *watch = userdata;
    pthread_mutex_lock(&watch->leader->lock);
    watch->leader->watch_open = !watch->cancelled && head->status == 200;
    pthread_mutex_unlock(&watch->leader->lock);
}

/* With the lock held. Negative: no event that the watch could go on with. */
static int take_event(struct kube_lease_watch *watch, const char *line, size_t n)
{
    yyjson_doc *doc;
    if (api_parse(line, n, &doc, NULL) < 0)
        return -1;
    yyjson_val *root = yyjson_doc_get_root(doc), *object = yyjson_obj_get(root, "object");
    const char *type = yyjson_get_str(yyjson_obj_get(root, "type"));
    struct kb_arena *arena = kb_arena_new();
    struct coordination_lease *lease;
    int rc = -1;
    if (type && kb_streq(type, "DELETED")) {
        rc = 0; /* the next try finds it out */
    } else if (type && (kb_streq(type, "ADDED") || kb_streq(type, "MODIFIED")) &&
               api_decode_value(arena, &coordination_lease_type, object, &lease, NULL) == 0) {
        kube_lease_done(&watch->leader->watched);
        watch->leader->watched = (struct kube_lease){KB_TAKE_PTR(arena), lease};
        kube_leader_wake(watch->leader);
        rc = 0;
    }
    kb_arena_free(arena);
    yyjson_doc_free(doc);
    return rc;
}

static int take_lines(struct kube_lease_watch *watch)
{
    size_t begin = 0;
    for (;;) {
        const char *line = watch->buffer.data + begin;
        const char *end = memchr(line, '\n', watch->buffer.length - begin);
        if (!end)
            break;
        if (end > line && take_event(watch, line, (size_t)(end - line)) < 0)
            return -1;
        begin += (size_t)(end - line) + 1;
    }
    kb_strbuf_drop_front(&watch->buffer, begin);
    return watch->buffer.length > MAX_LINE ? -1 : 0;
}

static int on_body(void *userdata, const char *bytes, size_t n)
{
    struct kube_lease_watch *watch = userdata;
    pthread_mutex_lock(&watch->leader->lock);
    int rc = -1;
    if (!watch->cancelled && watch->leader->watch_open) {
        kb_strbuf_append(&watch->buffer, bytes, n);
        rc = n > 0 ? take_lines(watch) : 0;
    }
    pthread_mutex_unlock(&watch->leader->lock);
    return rc;
}

static void on_end(void *userdata, const struct kube_error *error)
{
    (void)error; /* whatever it was: asking at each retry period goes on, and the next GET begins another watch */
    struct kube_lease_watch *watch = userdata;
    struct kube_leader *leader = watch->leader;
    pthread_mutex_lock(&leader->lock);
    if (leader->watch == watch) {
        leader->watch = NULL;
        leader->watch_open = false;
        if (leader->role == KUBE_LEADER_STANDBY) {
            int64_t soon = leader->options.clock->mono(leader->options.clock) + leader->options.retry_period_ns;
            leader->next_try = leader->next_try < soon ? leader->next_try : soon;
            kube_leader_wake(leader);
        }
    }
    kb_strbuf_done(&watch->buffer);
    free(watch);
    kube_leader_unlock_unref(leader);
}

static const struct kube_http_handler handler = {on_head, on_body, on_end};

void kube_leader_start_watch(struct kube_leader *leader)
{
    if (leader->watch)
        return;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct kb_strbuf query = {.arena = arena};
    kube_query_add(&query, "watch", "true");
    kube_query_add(&query, "fieldSelector", kb_arena_printf(arena, "metadata.name=%s", leader->options.name));
    const struct kube_target target = {
        .resource = coordination_lease_type.resource,
        .namespace_ = leader->options.namespace_,
        .query = kb_strbuf_text(&query),
    };
    /* The leader renews many times in this interval: a silent connection is a dead one. */
    const struct kube_http_request request = {
        .method = "GET",
        .path = kube_path(arena, &target),
        .idle_timeout_ns = 2 * leader->options.lease_duration_ns,
    };
    struct kube_transport *transport = kube_client_transport(leader->options.client);
    struct kube_lease_watch *watch = kb_malloc(sizeof *watch);
    watch->leader = leader;
    kube_leader_ref(leader);
    leader->watch = watch;
    watch->exchange = transport->start(transport, &request, &handler, watch);
}

void kube_leader_stop_watch(struct kube_leader *leader)
{
    struct kube_lease_watch *watch = leader->watch;
    if (!watch)
        return;
    struct kube_transport *transport = kube_client_transport(leader->options.client);
    leader->watch = NULL;
    leader->watch_open = false;
    watch->cancelled = true;
    transport->cancel(transport, watch->exchange);
}
