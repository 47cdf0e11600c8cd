/*
 * The loop of the simulated parts, see sim_internal.h.
 *
 * Sources are drained in order, namespaces and nodes last: what an annotation says is known when an object of that
 * namespace, which can only be younger, is looked at.
 */
#include "lab/sim/sim.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include "base/vec.h"
#include "lab/server.h"
#include "lab/sim/sim_internal.h"
#include <assert.h>
#include <stdlib.h>

#define BATCH 64 /* actions between looks at the watches, whose history is limited */
#define RETRY (5 * KB_NS_PER_S)
#define CRDS  "customresourcedefinitions.apiextensions.k8s.io"

static const struct {
    const char *name, *user;
} parts[LAB_N_PARTS] = {
    [LAB_PART_SCHEDULER] = {"scheduler", "system:kube-scheduler"},
    [LAB_PART_KUBELET] = {"kubelet", "system:nodes"},
    [LAB_PART_VIRT_HANDLER] = {"virt-handler", "system:serviceaccount:kubevirt:kubevirt-handler"},
    [LAB_PART_VIRT_API] = {"virt-api", "system:serviceaccount:kubevirt:kubevirt-apiserver"},
    [LAB_PART_CDI] = {"cdi", "system:serviceaccount:cdi:cdi-sa"},
    [LAB_PART_SNAPSHOTTER] = {"snapshotter", "system:serviceaccount:kube-system:snapshot-controller"},
    [LAB_PART_PVC_BINDER] = {"pvc-binder", "system:serviceaccount:kube-system:persistent-volume-binder"},
    [LAB_PART_GC] = {"gc", "system:serviceaccount:kube-system:generic-garbage-collector"},
};

const char *lab_part_name(enum lab_part part)
{
    return parts[part].name;
}

int lab_parts_parse(const char *text, unsigned *ret, struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const char *const *names;
    size_t n = kb_split(arena, text, ',', &names);
    unsigned bits = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned part = 0;
        while (part < LAB_N_PARTS && !kb_streq(parts[part].name, names[i]))
            part++;
        if (kb_streq(names[i], "all"))
            bits |= LAB_ALL_PARTS;
        else if (part < LAB_N_PARTS)
            bits |= LAB_PART_BIT(part);
        else
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "there is no part \"%s\"", names[i]);
    }
    *ret |= bits;
    return 0;
}

bool sim_plays(const struct lab_sim *sim, enum lab_part part, const char *namespace_, const char *node)
{
    unsigned off = sim->options.off | (unsigned)(uintptr_t)kb_map_get(sim->namespaces, namespace_);
    for (size_t i = 0; node && i < sim->nodes.n; i++)
        if (kb_streq(sim->nodes.items[i]->name, node))
            off |= sim->nodes.items[i]->off;
    return !(off & LAB_PART_BIT(part));
}

int sim_merge(struct sim_act *a, const char *subresource, bool exact, yyjson_mut_val *patch, struct kube_error *reterr)
{
    struct lab_ref ref = a->ref;
    ref.subresource = subresource;
    if (exact)
        lab_mut_put_str(a->doc, lab_mut_object(a->doc, patch, "metadata"), "resourceVersion",
                        kb_arena_printf(a->arena, "%lld", (long long)a->object->resource_version));
    return lab_client_patch(a->client, &ref, LAB_PATCH_MERGE, patch, NULL, reterr);
}

static void look_at(struct lab_sim *sim, const char *resource, struct lab_object *object)
{
    int64_t now = sim->clock->mono(sim->clock);
    for (size_t i = 0; i < sim->rules.n; i++) {
        const struct sim_rule *r = sim->rules.items[i];
        if (kb_streq(r->resource, resource) && (!r->concerns || r->concerns(object)))
            sim_queue_add(&sim->queue, r, i, object->meta->key, now + sim->options.delays[r->part]);
    }
}

void sim_requeue(struct lab_sim *sim, const char *resource, const char *namespace_)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct lab_object **items;
    size_t n;
    struct lab_ref ref = {.resource = resource, .namespace_ = namespace_};
    if (lab_client_list(sim->client, &ref, NULL, arena, &items, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        look_at(sim, resource, items[i]);
        lab_object_unref(items[i]);
    }
}

/* -- actions */

static void begin_act(struct lab_sim *sim, const struct sim_rule *rule, struct lab_object *object, struct sim_act *ret)
{
    const char *namespace_ = object->meta->namespace_;
    *ret = (struct sim_act){
        .sim = sim,
        .rule = rule,
        .client = sim->users[rule->part],
        .arena = sim->arena,
        .object = object,
        .ref = {.resource = rule->resource, .namespace_ = *namespace_ ? namespace_ : NULL, .name = object->meta->name},
        .root = lab_object_parse(sim->arena, object, NULL),
        .doc = lab_json_doc(sim->arena),
        .now = kb_time_text(sim->arena, sim->clock->wall(sim->clock))};
    ret->metadata = yyjson_obj_get(ret->root, "metadata");
    ret->spec = yyjson_obj_get(ret->root, "spec");
    ret->status = yyjson_obj_get(ret->root, "status");
}

static bool read_object(struct lab_sim *sim, const struct sim_rule *rule, const char *key, struct lab_object **ret)
{
    const char *slash = strchr(key, '/');
    struct lab_ref ref = {.resource = rule->resource, .name = slash ? slash + 1 : key};
    if (slash)
        ref.namespace_ = kb_arena_strndup(sim->arena, key, (size_t)(slash - key));
    return lab_client_get(sim->client, &ref, ret, NULL) == 0;
}

static void act(struct lab_sim *sim, const struct sim_item *item)
{
    const struct sim_rule *r = item->rule;
    const char *key = sim_item_key(item);
    lab_cleanup_object struct lab_object *o = NULL;
    struct kube_error err = {0};
    struct sim_act a;
    kb_arena_reset(sim->arena);
    if (!read_object(sim, r, key, &o) || (r->concerns && !r->concerns(o)) ||
        !sim_plays(sim, r->part, o->meta->namespace_, NULL))
        return;
    begin_act(sim, r, o, &a);
    int rc = r->act(&a, &err);
    if (rc < 0 && kube_error_is_conflict(&err))
        a.again = KB_NS_PER_MS;
    else if (rc < 0 && !kube_error_is_not_found(&err)) {
        kb_log(KB_WARNING, "%s: %s %s: %s", lab_part_name(r->part), r->resource, key, err.message);
        a.again = RETRY;
    }
    for (size_t i = 0; a.again && i < sim->rules.n; i++)
        if (sim->rules.items[i] == r)
            sim_queue_add(&sim->queue, r, i, key, sim->clock->mono(sim->clock) + a.again);
}

/* -- the loop */

static void open_source(struct lab_sim *sim, struct sim_source *s)
{
    if (!s->watch)
        s->watch = lab_client_watch(sim->client, &(struct lab_ref){.resource = s->resource}, NULL, NULL);
}

/* Kinds may come later, with a CRD. */
static void observe_crd(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object)
{
    (void)type;
    (void)object;
    for (size_t i = 0; i < sim->n_sources; i++)
        open_source(sim, &sim->sources[i]);
}

static bool drain(struct lab_sim *sim, struct sim_source *s)
{
    struct lab_watch_event e;
    bool any = false;
    int rc;
    while (s->watch && (rc = lab_watch_next(s->watch, &e)) != 0) {
        any = true;
        if (rc < 0) { /* it fell behind: all over again */
            lab_watch_free(s->watch);
            s->watch = NULL;
            open_source(sim, s);
            continue;
        }
        if (s->observe && e.object)
            s->observe(sim, e.type, e.object);
        if (e.type == LAB_ADDED || e.type == LAB_MODIFIED)
            look_at(sim, s->resource, e.object);
        lab_watch_event_done(&e);
    }
    return any;
}

static bool drain_all(struct lab_sim *sim)
{
    bool any = false;
    for (size_t i = 0; i < sim->n_sources; i++)
        any |= drain(sim, &sim->sources[i]);
    return any;
}

static bool work(struct lab_sim *sim)
{
    bool any = false;
    int64_t now = sim->clock->mono(sim->clock);
    for (int i = 0; i < BATCH; i++) {
        kb_cleanup_free struct sim_item *item = sim_queue_take(&sim->queue, now);
        if (!item)
            return any;
        any = true;
        act(sim, item);
    }
    return any;
}

bool lab_sim_run(struct lab_sim *sim)
{
    bool any = false;
    for (;;) {
        bool more = drain_all(sim);
        more |= work(sim);
        if (sim->clock->mono(sim->clock) >= sim->next_heartbeat) {
            sim_nodes_beat(sim);
            more = true;
        }
        if (!more)
            return any;
        any = true;
    }
}

int64_t lab_sim_next(const struct lab_sim *sim)
{
    int64_t next = sim_queue_next(&sim->queue);
    return next < sim->next_heartbeat ? next : sim->next_heartbeat;
}

static void *run_thread(void *arg)
{
    struct lab_sim *sim = arg;
    pthread_setname_np(pthread_self(), "simulation");
    while (lab_client_wait(sim->client, lab_sim_next(sim)))
        lab_sim_run(sim);
    return NULL;
}

void lab_sim_start(struct lab_sim *sim)
{
    sim->started = pthread_create(&sim->thread, NULL, run_thread, sim) == 0;
}

/* -- making it */

static void add_rules(struct lab_sim *sim, const struct sim_rule *table)
{
    for (; table->resource; table++)
        if (!(sim->options.off & LAB_PART_BIT(table->part)))
            *kb_vec_push(NULL, &sim->rules) = table;
}

static const struct {
    const char *resource;
    void (*observe)(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object);
} observers[] = {
    {CRDS, observe_crd},
    {"nodes", sim_observe_node},
    {"namespaces", sim_observe_namespace},
};

static void add_source(struct lab_sim *sim, const char *resource,
                       void (*observe)(struct lab_sim *, enum lab_event_type, struct lab_object *))
{
    for (size_t i = 0; i < sim->n_sources; i++)
        if (kb_streq(sim->sources[i].resource, resource))
            return;
    assert(sim->n_sources < SIM_MAX_SOURCES);
    sim->sources[sim->n_sources++] = (struct sim_source){.resource = resource, .observe = observe};
}

static bool is_observed(const char *resource)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(observers); i++)
        if (kb_streq(observers[i].resource, resource))
            return true;
    return false;
}

/* Those with an observer of their own come last. */
static void add_sources(struct lab_sim *sim)
{
    for (size_t i = 0; i < sim->rules.n; i++) {
        const char *resource = sim->rules.items[i]->resource;
        if (!is_observed(resource))
            add_source(sim, resource, kb_streq(resource, "pods") ? sim_observe_pod : NULL);
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(observers); i++)
        add_source(sim, observers[i].resource, observers[i].observe);
    for (size_t i = 0; i < sim->n_sources; i++)
        open_source(sim, &sim->sources[i]);
}

int lab_sim_new(struct lab_server *server, const struct lab_sim_options *options, struct lab_sim **ret,
                struct kube_error *reterr)
{
    struct lab_sim *sim = kb_malloc(sizeof(*sim));
    sim->server = server;
    sim->clock = lab_server_clock(server);
    sim->options = *options;
    sim->client = lab_client_new(server, "virt-lab");
    for (int i = 0; i < LAB_N_PARTS; i++)
        sim->users[i] = lab_client_new(server, parts[i].user);
    sim->arena = kb_arena_new();
    sim->namespaces = kb_map_new(KB_MAP_COPY);
    sim->pods = kb_map_new(KB_MAP_COPY);
    sim_queue_init(&sim->queue);
    add_rules(sim, sim_node_rules);
    add_rules(sim, sim_scheduler_rules);
    add_rules(sim, sim_kubelet_rules);
    add_rules(sim, sim_virt_handler_rules);
    add_rules(sim, sim_storage_rules);
    if (sim_nodes_make(sim, reterr) < 0 || sim_storage_make(sim, reterr) < 0) {
        lab_sim_free(sim);
        return -1;
    }
    add_sources(sim);
    if (!(options->off & LAB_PART_BIT(LAB_PART_VIRT_API)))
        sim_virt_api_serve(sim);
    *ret = sim;
    return 0;
}

void lab_sim_free(struct lab_sim *sim)
{
    if (!sim)
        return;
    if (sim->started)
        pthread_join(sim->thread, NULL);
    for (size_t i = 0; i < sim->n_sources; i++)
        lab_watch_free(sim->sources[i].watch);
    for (int i = 0; i < LAB_N_PARTS; i++)
        lab_client_free(sim->users[i]);
    lab_client_free(sim->client);
    sim_queue_done(&sim->queue);
    sim_nodes_done(sim);
    free(sim->rules.items);
    kb_map_free(sim->namespaces);
    kb_map_free(sim->pods);
    kb_arena_free(sim->arena);
    free(sim);
}
