/*
 * The in-process client, see client.h: builds calls as the router does, and hands out the objects themselves.
 */
#include "lab/client.h"
#include "base/strings.h"
#include "lab/call.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include "lab/watch.h"
#include <stdlib.h>

struct lab_client {
    struct lab_server *server;
    struct lab_client *next;
    char *user;
    pthread_cond_t cond;
    bool woken; /* under the server's lock */
};

struct lab_client *lab_client_new(struct lab_server *server, const char *user)
{
    struct lab_client *c = kb_malloc(sizeof(*c));
    c->server = server;
    c->user = kb_strdup(user);
    kb_cond_init(&c->cond);
    lab_server_lock(server);
    c->next = server->clients;
    server->clients = c;
    lab_server_unlock(server);
    return c;
}

void lab_client_free(struct lab_client *client)
{
    if (!client)
        return;
    lab_server_lock(client->server);
    struct lab_client **at = &client->server->clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    lab_server_unlock(client->server);
    pthread_cond_destroy(&client->cond);
    free(client->user);
    free(client);
}

/* Fills in a call; negative when there is no such resource. */
static int begin(struct lab_client *client, const struct lab_ref *ref, enum lab_verb verb, struct kb_arena *arena,
                 struct lab_call *ret, struct kube_error *reterr)
{
    struct lab_server *s = client->server;
    lab_server_lock(s);
    struct lab_resource *r = lab_server_resource(s, ref->resource);
    lab_server_unlock(s);
    const struct lab_kind *kind = r ? lab_resource_kind(r) : NULL;
    const struct lab_version *v = kind && ref->version ? lab_kind_version(kind, ref->version) : NULL;
    if (kind && !ref->version)
        v = kind->storage;
    if (!v)
        return kube_error_set_api(reterr, 404, "NotFound", "the server could not find the requested resource (%s)",
                                  ref->resource);
    *ret = (struct lab_call){.server = s,
                             .arena = arena,
                             .user = client->user,
                             .groups = "system:masters",
                             .user_agent = "in-process",
                             .verb = verb,
                             .resource = r,
                             .kind = kind,
                             .version = v,
                             .namespace_ = kind->namespaced ? ref->namespace_ : NULL,
                             .name = ref->name,
                             .subresource = ref->subresource,
                             .options = {.grace_seconds = -1, .field_manager = client->user},
                             .received_ns = s->clock->wall(s->clock)};
    return 0;
}

static int finish(struct lab_call *call, int rc, struct lab_object **ret, struct kube_error *reterr)
{
    if (rc < 0)
        return kube_error_set_api(reterr, call->failure.code, call->failure.reason, "%s", call->failure.message);
    if (ret)
        *ret = KB_TAKE_PTR(call->result.object);
    lab_call_done(call);
    return 0;
}

int lab_client_get(struct lab_client *client, const struct lab_ref *ref, struct lab_object **ret,
                   struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct lab_call call;
    if (begin(client, ref, LAB_VERB_GET, arena, &call, reterr) < 0)
        return -1;
    return finish(&call, lab_call_serve(&call), ret, reterr);
}

int lab_client_list(struct lab_client *client, const struct lab_ref *ref, const struct lab_selector_options *options,
                    struct kb_arena *arena, struct lab_object ***ret_items, size_t *ret_n, struct kube_error *reterr)
{
    struct lab_call call;
    if (begin(client, ref, LAB_VERB_LIST, arena, &call, reterr) < 0)
        return -1;
    if (options) {
        call.options.label_selector = options->label_selector;
        call.options.field_selector = options->field_selector;
    }
    if (lab_call_serve(&call) < 0)
        return finish(&call, -1, NULL, reterr);
    size_t n = call.result.n;
    *ret_items = kb_arena_copy(arena, call.result.items, (n + 1) * sizeof(struct lab_object *));
    *ret_n = n;
    call.result.n = 0; /* the references are the caller's now */
    lab_call_done(&call);
    return 0;
}

static int write_value(struct lab_client *client, const struct lab_ref *ref, enum lab_verb verb,
                       enum lab_patch_type type, const char *text, size_t n, struct lab_object **ret,
                       struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct lab_call call;
    if (begin(client, ref, verb, arena, &call, reterr) < 0)
        return -1;
    call.patch_type = type;
    call.body = lab_json_parse(arena, text, n, reterr);
    if (!call.body)
        return -1;
    return finish(&call, lab_call_serve(&call), ret, reterr);
}

/* Text is the common form: a tree of the caller's may use any allocator. */
static int write_tree(struct lab_client *client, const struct lab_ref *ref, enum lab_verb verb,
                      enum lab_patch_type type, yyjson_mut_val *body, struct lab_object **ret,
                      struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    size_t n;
    const char *text = lab_json_write(arena, body, &n);
    return write_value(client, ref, verb, type, text, n, ret, reterr);
}

int lab_client_create(struct lab_client *client, const struct lab_ref *ref, yyjson_mut_val *body,
                      struct lab_object **ret, struct kube_error *reterr)
{
    return write_tree(client, ref, LAB_VERB_CREATE, LAB_PATCH_JSON, body, ret, reterr);
}

int lab_client_update(struct lab_client *client, const struct lab_ref *ref, yyjson_mut_val *body,
                      struct lab_object **ret, struct kube_error *reterr)
{
    return write_tree(client, ref, LAB_VERB_UPDATE, LAB_PATCH_JSON, body, ret, reterr);
}

int lab_client_patch(struct lab_client *client, const struct lab_ref *ref, enum lab_patch_type type,
                     yyjson_mut_val *patch, struct lab_object **ret, struct kube_error *reterr)
{
    return write_tree(client, ref, LAB_VERB_PATCH, type, patch, ret, reterr);
}

int lab_client_create_text(struct lab_client *client, const struct lab_ref *ref, const char *body,
                           struct lab_object **ret, struct kube_error *reterr)
{
    return write_value(client, ref, LAB_VERB_CREATE, LAB_PATCH_JSON, body, strlen(body), ret, reterr);
}

int lab_client_update_text(struct lab_client *client, const struct lab_ref *ref, const char *body,
                           struct lab_object **ret, struct kube_error *reterr)
{
    return write_value(client, ref, LAB_VERB_UPDATE, LAB_PATCH_JSON, body, strlen(body), ret, reterr);
}

int lab_client_patch_text(struct lab_client *client, const struct lab_ref *ref, enum lab_patch_type type,
                          const char *patch, struct lab_object **ret, struct kube_error *reterr)
{
    return write_value(client, ref, LAB_VERB_PATCH, type, patch, strlen(patch), ret, reterr);
}

int lab_client_delete(struct lab_client *client, const struct lab_ref *ref, const struct lab_delete_options *options,
                      struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct lab_call call;
    if (begin(client, ref, LAB_VERB_DELETE, arena, &call, reterr) < 0)
        return -1;
    if (options) {
        call.options.grace_seconds = options->grace_seconds;
        call.options.precondition_uid = options->uid;
        call.options.propagation = options->propagation;
    }
    return finish(&call, lab_call_serve(&call), NULL, reterr);
}

/* Lock held. */
static void wake(void *context)
{
    struct lab_client *client = context;
    if (client->woken)
        return;
    client->woken = true;
    pthread_cond_signal(&client->cond);
}

struct lab_watch *lab_client_watch(struct lab_client *client, const struct lab_ref *ref,
                                   const struct lab_selector_options *options, struct kube_error *reterr)
{
    struct lab_server *s = client->server;
    lab_server_lock(s);
    struct lab_resource *r = lab_server_resource(s, ref->resource);
    lab_server_unlock(s);
    if (!r) {
        kube_error_set_api(reterr, 404, "NotFound", "the server could not find the requested resource (%s)",
                           ref->resource);
        return NULL;
    }
    struct lab_watch *w;
    if (lab_watch_open(s, r, ref->namespace_, options ? options->label_selector : NULL,
                       options ? options->field_selector : NULL, LAB_WATCH_WITH_STATE, 0, &w, reterr) < 0)
        return NULL;
    lab_server_lock(s);
    w->context = client;
    w->wake = wake;
    wake(client);
    lab_server_unlock(s);
    return w;
}

bool lab_client_wait(struct lab_client *client, int64_t deadline)
{
    struct lab_server *s = client->server;
    lab_server_lock(s);
    while (!client->woken && !s->stopping && s->clock->mono(s->clock) < deadline)
        s->clock->wait(s->clock, &client->cond, &s->lock, deadline);
    client->woken = false;
    bool goes_on = !s->stopping;
    lab_server_unlock(s);
    return goes_on;
}

void lab_client_wake(struct lab_client *client)
{
    lab_server_lock(client->server);
    wake(client);
    lab_server_unlock(client->server);
}

void lab_client_wake_all(struct lab_server *server)
{
    lab_server_lock(server);
    for (struct lab_client *c = server->clients; c; c = c->next)
        wake(c);
    lab_server_unlock(server);
}

const char *lab_json_printf(struct kb_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = kb_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}
