/*
 * The server: resources by name, the lock, start and end.
 */
#include "lab/server.h"
#include "base/strings.h"
#include "lab/audit.h"
#include "lab/crd.h"
#include "lab/gc.h"
#include "lab/server_internal.h"
#include <stdlib.h>

#define DEFAULT_HISTORY 8192

void lab_server_lock(struct lab_server *server)
{
    pthread_mutex_lock(&server->lock);
}

void lab_server_unlock(struct lab_server *server)
{
    pthread_mutex_unlock(&server->lock);
}

struct lab_resource *lab_server_resource(struct lab_server *server, const char *name)
{
    struct lab_resource *r = kb_map_get(server->by_name, name);
    return r && !r->gone ? r : NULL;
}

struct lab_resource *lab_server_kind(struct lab_server *server, const char *group, const char *kind)
{
    for (struct lab_resource *r = server->resources; r; r = r->next) {
        const struct lab_kind *k = lab_resource_kind(r);
        if (!r->gone && kb_streq(k->name, kind) && kb_streq(k->group, group))
            return r;
    }
    return NULL;
}

struct lab_resource *lab_server_add_kind(struct lab_server *server, const struct lab_kind *kind)
{
    struct lab_resource *r = kb_map_get(server->by_name, kind->resource);
    if (r) {
        atomic_store_explicit(&r->kind, kind, memory_order_release);
        r->gone = false;
        return r;
    }
    r = kb_malloc(sizeof(*r));
    atomic_init(&r->kind, kind);
    r->dropped = 0;
    struct lab_resource **end = &server->resources;
    while (*end)
        end = &(*end)->next;
    *end = r;
    kb_map_put(server->by_name, kind->resource, r);
    return r;
}

int64_t lab_server_version(struct lab_server *server)
{
    lab_server_lock(server);
    int64_t version = server->resource_version;
    lab_server_unlock(server);
    return version;
}

static int add_kinds(struct lab_server *s, const struct lab_server_options *options, struct kube_error *reterr)
{
    struct lab_kind *kinds;
    size_t n = lab_kinds_core(s->arena, &kinds);
    for (size_t i = 0; i < n; i++)
        lab_server_add_kind(s, &kinds[i]);
    if (options->no_kinds)
        return 0;
    n = lab_kinds_custom(s->arena, &kinds);
    for (size_t i = 0; i < n; i++)
        lab_server_add_kind(s, &kinds[i]);
    return lab_crd_add_builtin(s, kinds, n, reterr);
}

/* What every cluster has. */
static int add_namespaces(struct lab_server *s, struct kube_error *reterr)
{
    static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};
    struct lab_client *c = lab_client_new(s, "system:apiserver");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < KB_ARRAY_LEN(names); i++)
        rc = lab_client_create_text(c, &(struct lab_ref){.resource = "namespaces", .name = names[i]}, "{}", NULL,
                                    reterr);
    lab_client_free(c);
    return rc;
}

static const struct lab_user *copy_users(struct lab_server *s, const struct lab_server_options *options)
{
    static const struct lab_user known[] = {{"admin-token", "admin", "system:masters"},
                                            {"controller-token", "controller", "system:masters"},
                                            {"sim-token", "sim", "system:masters"}};
    struct lab_user *users = kb_arena_many(s->arena, struct lab_user, options->n_users + KB_ARRAY_LEN(known));
    size_t n = 0;
    for (size_t i = 0; i < options->n_users; i++) {
        const struct lab_user *u = &options->users[i];
        users[n++] = (struct lab_user){kb_arena_strdup(s->arena, u->token), kb_arena_strdup(s->arena, u->name),
                                       kb_arena_strdup(s->arena, u->groups ? u->groups : "")};
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(known); i++)
        users[n++] = known[i];
    s->n_users = n;
    return users;
}

int lab_server_new(const struct lab_server_options *options, struct lab_server **ret, struct kube_error *reterr)
{
    struct lab_server *s = kb_malloc(sizeof(*s));
    s->clock = options->clock ? options->clock : kb_clock_system();
    s->random = options->random ? options->random : kb_random_system();
    s->watch_history = options->watch_history ? options->watch_history : DEFAULT_HISTORY;
    s->require_token = options->require_token;
    s->arena = kb_arena_new();
    s->by_name = kb_map_new(KB_MAP_BORROW);
    pthread_mutex_init(&s->lock, NULL);
    s->users = copy_users(s, options);
    s->gc = lab_gc_new(s, !options->no_gc);
    s->starting = true;
    if (add_kinds(s, options, reterr) < 0) {
        lab_server_free(s);
        return -1;
    }
    if (options->audit_path && lab_audit_open(options->audit_path, options->audit_users, &s->audit, reterr) < 0) {
        lab_server_free(s);
        return -1;
    }
    if (add_namespaces(s, reterr) < 0) {
        lab_server_free(s);
        return -1;
    }
    s->starting = false;
    if (!options->no_background)
        lab_gc_start(s->gc);
    *ret = s;
    return 0;
}

void lab_server_stop(struct lab_server *server)
{
    lab_server_lock(server);
    server->stopping = true;
    lab_server_unlock(server);
    lab_client_wake_all(server);
    lab_gc_stop(server->gc);
}

void lab_server_free(struct lab_server *server)
{
    if (!server)
        return;
    lab_server_stop(server);
    lab_gc_free(server->gc);
    while (server->resources) {
        struct lab_resource *next = server->resources->next;
        lab_store_done(server->resources);
        free(server->resources);
        server->resources = next;
    }
    lab_audit_close(server->audit);
    kb_map_free(server->by_name);
    kb_arena_free(server->arena);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

bool lab_server_run(struct lab_server *server)
{
    return lab_gc_run(server->gc);
}

void lab_server_cut_watches(struct lab_server *server)
{
    lab_server_lock(server);
    for (struct lab_resource *r = server->resources; r; r = r->next)
        lab_store_forget(server, r);
    lab_server_unlock(server);
}

struct kb_clock *lab_server_clock(struct lab_server *server)
{
    return server->clock;
}

struct kb_random *lab_server_random(struct lab_server *server)
{
    return server->random;
}

void lab_server_delegate(struct lab_server *server, const char *group, const char *version, lab_raw_handler handle,
                         void *context)
{
    if (server->n_delegates < KB_ARRAY_LEN(server->delegates))
        server->delegates[server->n_delegates++] = (struct lab_delegate){group, version, handle, context};
}
