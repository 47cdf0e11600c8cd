/*
 * Aggregation, see aggregate.h: libkube's transport, one for each server, made when it is first called.
 */
#include "lab/aggregate.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "kube/transport.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include <pthread.h>
#include <stdlib.h>

#define TIMEOUT (60 * KB_NS_PER_S)

struct peer {
    struct kube_config config;
    struct kube_transport *transport;
};

struct lab_aggregate {
    struct lab_server *server;
    pthread_mutex_t lock;
    struct kb_map *peers; /* by URL; under the lock */
};

struct exchange {
    struct lab_aggregate_call call;
    int status;
    char content_type[128];
    struct kb_strbuf body;
};

struct lab_aggregate *lab_aggregate_new(struct lab_server *server)
{
    struct lab_aggregate *a = kb_malloc(sizeof(*a));
    a->server = server;
    a->peers = kb_map_new(KB_MAP_COPY);
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

void lab_aggregate_free(struct lab_aggregate *aggregate)
{
    if (!aggregate)
        return;
    const char *url;
    struct peer *peer;
    kb_map_foreach (aggregate->peers, url, peer) {
        peer->transport->free(peer->transport);
        free((char *)peer->config.server);
        free(peer);
    }
    kb_map_free(aggregate->peers);
    pthread_mutex_destroy(&aggregate->lock);
    free(aggregate);
}

/* -- who serves a path */

static yyjson_val *find(struct lab_server *s, struct kb_arena *arena, const char *resource, const char *key)
{
    lab_server_lock(s);
    struct lab_resource *r = lab_server_resource(s, resource);
    lab_cleanup_object struct lab_object *o = r ? lab_store_find(r, key) : NULL;
    if (o)
        lab_object_ref(o);
    lab_server_unlock(s);
    return o ? lab_object_parse(arena, o, NULL) : NULL;
}

const char *lab_aggregate_server(struct lab_server *server, struct kb_arena *arena, const char *path)
{
    const char *const *parts;
    const char *rest = kb_after_prefix(path, "/apis/");
    if (!rest || kb_split(arena, rest, '/', &parts) < 2)
        return NULL;
    yyjson_val *api =
        find(server, arena, "apiservices.apiregistration.k8s.io", kb_arena_printf(arena, "%s.%s", parts[1], parts[0]));
    yyjson_val *to = LAB_VAL_AT(api, "spec", "service");
    if (!to)
        return NULL;
    yyjson_val *service = find(server, arena, "services",
                               kb_arena_printf(arena, "%s/%s", lab_val_str(to, "namespace"), lab_val_str(to, "name")));
    yyjson_val *spec = yyjson_obj_get(service, "spec"), *port = yyjson_obj_get(to, "port");
    const char *host = lab_val_str(spec, "externalName");
    if (!*host)
        host = lab_val_str(spec, "clusterIP");
    return kb_arena_printf(arena, "https://%s:%d", *host ? host : "0.0.0.0", port ? yyjson_get_int(port) : 443);
}

/* -- calling it */

static void take_head(void *userdata, const struct kube_http_head *head)
{
    struct exchange *x = userdata;
    x->status = head->status;
    snprintf(x->content_type, sizeof(x->content_type), "%s", head->content_type);
}

static int take_body(void *userdata, const char *bytes, size_t n)
{
    struct exchange *x = userdata;
    kb_strbuf_append(&x->body, bytes, n);
    return 0;
}

static void take_end(void *userdata, const struct kube_error *error)
{
    struct exchange *x = userdata;
    if (error) {
        x->status = 503;
        snprintf(x->content_type, sizeof(x->content_type), "text/plain");
        kb_strbuf_clear(&x->body);
        kb_strbuf_printf(&x->body, "error trying to reach service: %s\n", error->message);
    }
    size_t n = x->body.length;
    x->call.done(x->call.context, x->status, x->content_type, kb_strbuf_take(&x->body), n);
    free(x);
}

static const struct kube_http_handler handler = {.head = take_head, .body = take_body, .end = take_end};

/* Lock held. */
static struct peer *peer_of(struct lab_aggregate *a, const char *url, struct kube_error *reterr)
{
    struct peer *peer = kb_map_get(a->peers, url);
    if (peer)
        return peer;
    peer = kb_malloc(sizeof(*peer));
    peer->config.server = kb_strdup(url);
    peer->config.namespace_ = "";
    peer->config.insecure_skip_tls_verify = true;
    struct kube_transport_options options = {&peer->config, a->server->clock, "virt-lab"};
    if (kube_transport_curl_new(&options, &peer->transport, reterr) < 0) {
        free((char *)peer->config.server);
        free(peer);
        return NULL;
    }
    kb_map_put(a->peers, url, peer);
    return peer;
}

void lab_aggregate_start(struct lab_aggregate *aggregate, const struct lab_aggregate_call *call)
{
    struct exchange *x = kb_malloc(sizeof(*x));
    struct kube_error err;
    x->call = *call;
    struct kube_http_request request = {.method = call->method,
                                        .path = call->uri,
                                        .content_type = call->body_length ? call->content_type : NULL,
                                        .body = call->body,
                                        .body_length = call->body_length,
                                        .timeout_ns = TIMEOUT};
    pthread_mutex_lock(&aggregate->lock);
    struct peer *peer = peer_of(aggregate, call->server, &err);
    if (peer)
        peer->transport->start(peer->transport, &request, &handler, x);
    pthread_mutex_unlock(&aggregate->lock);
    if (!peer)
        take_end(x, &err);
}
