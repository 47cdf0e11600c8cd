/*
 * The garbage collector, see gc.h. Work is a list of objects to look at, by resource and key: looking is
 * level-triggered, so that an object may be queued for any number of reasons.
 *
 *   looking at an object:   its owners: some live -> references to the others are removed;
 *                                       none lives -> it is deleted
 *                           foregroundDeletion -> its dependents are deleted, then the finalizer goes
 *                           orphan -> its dependents' references are removed, then the finalizer goes
 *   at a namespace:         terminating -> its content is deleted, then spec.finalizers goes
 */
#include "lab/gc.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/client.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include <stdlib.h>

#define EVENT_TTL    (3600 * KB_NS_PER_S)
#define EVENT_PERIOD (60 * KB_NS_PER_S)

struct work {
    struct lab_resource *resource;
    char *key;
};

struct work_list {
    size_t n;
    struct work *items;
};

struct lab_gc {
    struct lab_server *server;
    struct lab_client *client;
    bool enabled, running;
    pthread_t thread;
    pthread_cond_t cond;
    /* Under the server's lock. */
    struct kb_map *dependents; /* owner uid -> struct work_list */
    struct work_list queue;
    size_t taken; /* of the queue */
    int64_t next_expiry;
};

static void add_work(struct work_list *list, struct lab_resource *resource, const char *key)
{
    *kb_vec_push(NULL, list) = (struct work){resource, kb_strdup(key)};
}

static void free_list(struct work_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i].key);
    free(list->items);
}

static void queue(struct lab_gc *gc, struct lab_resource *resource, const char *key)
{
    add_work(&gc->queue, resource, key);
    pthread_cond_signal(&gc->cond);
}

static void queue_all(struct lab_gc *gc, const struct work_list *list)
{
    for (size_t i = 0; list && i < list->n; i++)
        queue(gc, list->items[i].resource, list->items[i].key);
}

static void index_owner(struct lab_gc *gc, const char *uid, struct lab_resource *resource, const char *key)
{
    struct work_list *list = kb_map_get(gc->dependents, uid);
    if (!list) {
        list = kb_malloc(sizeof(*list));
        kb_map_put(gc->dependents, uid, list);
    }
    add_work(list, resource, key);
}

static void unindex_owner(struct lab_gc *gc, const char *uid, struct lab_resource *resource, const char *key)
{
    struct work_list *list = kb_map_get(gc->dependents, uid);
    for (size_t i = 0; list && i < list->n; i++) {
        if (list->items[i].resource != resource || !kb_streq(list->items[i].key, key))
            continue;
        free(list->items[i].key);
        list->items[i] = list->items[--list->n];
        break;
    }
    if (!list || list->n)
        return;
    kb_map_remove(gc->dependents, uid);
    free_list(list);
    free(list);
}

static bool same_owners(const struct lab_meta *a, const struct lab_meta *b)
{
    if (!a || !b || a->n_owners != b->n_owners)
        return false;
    for (size_t i = 0; i < a->n_owners; i++)
        if (!kb_streq(a->owners[i], b->owners[i]))
            return false;
    return true;
}

/* An owner's finalizer may wait for this object: look at whoever owns it, if it is being deleted. Owners are known by
 * uid only, so all objects of the owner's kind can not be found cheaply: the references name them. */
static void queue_owners(struct lab_gc *gc, struct lab_object *object)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    size_t i, n;
    yyjson_val *o;
    yyjson_val *metadata = yyjson_obj_get(lab_object_parse(arena, object, NULL), "metadata");
    yyjson_arr_foreach(yyjson_obj_get(metadata, "ownerReferences"), i, n, o)
    {
        const char *version = lab_val_str(o, "apiVersion"), *slash = strchr(version, '/');
        const char *group = slash ? kb_arena_strndup(arena, version, (size_t)(slash - version)) : "";
        struct lab_resource *r = lab_server_kind(gc->server, group, lab_val_str(o, "kind"));
        const char *name = lab_val_str(o, "name");
        if (!r)
            continue;
        const char *key =
            lab_resource_kind(r)->namespaced ? kb_arena_printf(arena, "%s/%s", object->meta->namespace_, name) : name;
        struct lab_object *owner = lab_store_find(r, key);
        if (owner && owner->meta->deleting && owner->meta->finalizers)
            queue(gc, r, key);
    }
}

static void removed(struct lab_gc *gc, struct lab_object *old)
{
    queue_all(gc, kb_map_get(gc->dependents, old->meta->uid));
    if (old->meta->n_owners)
        queue_owners(gc, old);
    if (!*old->meta->namespace_)
        return;
    struct lab_resource *namespaces = lab_server_resource(gc->server, "namespaces");
    struct lab_object *ns = lab_store_find(namespaces, old->meta->namespace_);
    if (ns && ns->meta->deleting)
        queue(gc, namespaces, ns->meta->key);
}

void lab_gc_object_changed(struct lab_server *server, struct lab_resource *resource, struct lab_object *old,
                           struct lab_object *new_)
{
    struct lab_gc *gc = server->gc;
    const struct lab_meta *before = old ? old->meta : NULL, *after = new_ ? new_->meta : NULL;
    if (!gc->enabled)
        return;
    bool owners_changed = !same_owners(before, after);
    for (size_t i = 0; before && owners_changed && i < before->n_owners; i++)
        unindex_owner(gc, before->owners[i], resource, before->key);
    for (size_t i = 0; after && owners_changed && i < after->n_owners; i++)
        index_owner(gc, after->owners[i], resource, after->key);
    if (!after)
        removed(gc, old);
    else if ((owners_changed && after->n_owners) || after->deleting)
        queue(gc, resource, after->key);
}

/* What looking at one object needs. */
struct look {
    struct lab_gc *gc;
    struct kb_arena *arena;
    struct lab_resource *resource;
    struct lab_object *object;
    struct lab_ref ref;
    yyjson_val *metadata;
};

static bool has_finalizer(const struct look *l, const char *name)
{
    size_t i, n;
    yyjson_val *f;
    yyjson_arr_foreach(yyjson_obj_get(l->metadata, "finalizers"), i, n, f)
    {
        if (yyjson_equals_str(f, name))
            return true;
    }
    return false;
}

static struct lab_object *find_ref(struct lab_gc *gc, struct lab_resource *resource, const char *key)
{
    lab_server_lock(gc->server);
    struct lab_object *o = lab_store_find(resource, key);
    if (o)
        lab_object_ref(o);
    lab_server_unlock(gc->server);
    return o;
}

static struct lab_ref ref_of(const struct lab_resource *resource, const struct lab_object *o)
{
    return (struct lab_ref){.resource = lab_resource_kind(resource)->resource,
                            .namespace_ = *o->meta->namespace_ ? o->meta->namespace_ : NULL,
                            .name = o->meta->name};
}

/* Replaces metadata[member] by those of its elements that `keep` lets through. */
static void keep_members(const struct look *l, const char *member,
                         bool (*keep)(const struct look *, yyjson_val *, const void *), const void *context)
{
    yyjson_mut_doc *doc = lab_json_doc(l->arena);
    yyjson_mut_val *patch = yyjson_mut_obj(doc), *metadata = yyjson_mut_obj_add_obj(doc, patch, "metadata");
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(yyjson_obj_get(l->metadata, member), i, n, v)
    {
        if (keep(l, v, context))
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, v));
    }
    lab_mut_put_str(doc, metadata, "uid", l->object->meta->uid);
    lab_mut_put_str(doc, metadata, "resourceVersion",
                    kb_arena_printf(l->arena, "%lld", (long long)l->object->resource_version));
    lab_mut_put(doc, metadata, member, list);
    /* a conflict means that the object changed, which queues it again */
    if (lab_client_patch(l->gc->client, &l->ref, LAB_PATCH_MERGE, patch, NULL, NULL) == 0)
        return;
    lab_server_lock(l->gc->server);
    if (lab_store_find(l->resource, l->object->meta->key) != l->object)
        queue(l->gc, l->resource, l->object->meta->key);
    lab_server_unlock(l->gc->server);
}

static bool is_not(const struct look *l, yyjson_val *finalizer, const void *name)
{
    (void)l;
    return !yyjson_equals_str(finalizer, name);
}

static bool is_not_uid(const struct look *l, yyjson_val *owner, const void *uid)
{
    (void)l;
    return !kb_streq(lab_val_str(owner, "uid"), uid);
}

/* The live objects that name this one as owner. */
static size_t dependents_of(const struct look *l, struct work **ret)
{
    lab_server_lock(l->gc->server);
    const struct work_list *list = kb_map_get(l->gc->dependents, l->object->meta->uid);
    size_t n = list ? list->n : 0;
    *ret = kb_arena_many(l->arena, struct work, n + 1);
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = (struct work){list->items[i].resource, kb_arena_strdup(l->arena, list->items[i].key)};
    lab_server_unlock(l->gc->server);
    return n;
}

static bool blocks(const struct look *dependent, const char *owner_uid)
{
    size_t i, n;
    yyjson_val *o;
    yyjson_arr_foreach(yyjson_obj_get(dependent->metadata, "ownerReferences"), i, n, o)
    {
        if (kb_streq(lab_val_str(o, "uid"), owner_uid))
            return yyjson_get_bool(yyjson_obj_get(o, "blockOwnerDeletion"));
    }
    return false;
}

static bool look_at(struct lab_gc *gc, struct kb_arena *arena, const struct work *w, struct look *ret)
{
    struct lab_object *o = find_ref(gc, w->resource, w->key);
    if (!o)
        return false;
    *ret = (struct look){gc,
                         arena,
                         w->resource,
                         o,
                         ref_of(w->resource, o),
                         yyjson_obj_get(lab_object_parse(arena, o, NULL), "metadata")};
    return true;
}

static void delete_object(const struct look *l, const char *propagation)
{
    struct lab_delete_options options = {.grace_seconds = -1, .uid = l->object->meta->uid, .propagation = propagation};
    lab_client_delete(l->gc->client, &l->ref, &options, NULL);
}

static void foreground(const struct look *owner)
{
    struct work *dependents;
    size_t n = dependents_of(owner, &dependents), blocking = 0;
    for (size_t i = 0; i < n; i++) {
        struct look l;
        if (!look_at(owner->gc, owner->arena, &dependents[i], &l))
            continue;
        if (blocks(&l, owner->object->meta->uid))
            blocking++;
        if (!l.object->meta->deleting) {
            lab_server_lock(owner->gc->server);
            queue(owner->gc, dependents[i].resource, dependents[i].key);
            lab_server_unlock(owner->gc->server);
        }
        lab_object_unref(l.object);
    }
    if (!blocking)
        keep_members(owner, "finalizers", is_not, "foregroundDeletion");
}

static void orphan(const struct look *owner)
{
    struct work *dependents;
    size_t n = dependents_of(owner, &dependents);
    for (size_t i = 0; i < n; i++) {
        struct look l;
        if (!look_at(owner->gc, owner->arena, &dependents[i], &l))
            continue;
        keep_members(&l, "ownerReferences", is_not_uid, owner->object->meta->uid);
        lab_object_unref(l.object);
    }
    if (n) { /* until they are all gone from the index */
        lab_server_lock(owner->gc->server);
        queue(owner->gc, owner->resource, owner->object->meta->key);
        lab_server_unlock(owner->gc->server);
    } else {
        keep_members(owner, "finalizers", is_not, "orphan");
    }
}

enum owner_state { OWNER_GONE, OWNER_WAITING, OWNER_LIVES };

static enum owner_state owner_state(const struct look *l, yyjson_val *o)
{
    const char *version = lab_val_str(o, "apiVersion"), *slash = strchr(version, '/'), *name = lab_val_str(o, "name");
    const char *group = slash ? kb_arena_strndup(l->arena, version, (size_t)(slash - version)) : "";
    lab_server_lock(l->gc->server);
    struct lab_resource *r = lab_server_kind(l->gc->server, group, lab_val_str(o, "kind"));
    lab_server_unlock(l->gc->server);
    if (!r)
        return OWNER_LIVES; /* a kind that is not known: nobody can tell */
    const char *key =
        lab_resource_kind(r)->namespaced ? kb_arena_printf(l->arena, "%s/%s", l->object->meta->namespace_, name) : name;
    struct look owner;
    if (!look_at(l->gc, l->arena, &(struct work){r, (char *)key}, &owner))
        return OWNER_GONE;
    enum owner_state state = OWNER_LIVES;
    if (!kb_streq(owner.object->meta->uid, lab_val_str(o, "uid")))
        state = OWNER_GONE;
    else if (owner.object->meta->deleting && has_finalizer(&owner, "foregroundDeletion"))
        state = OWNER_WAITING;
    lab_object_unref(owner.object);
    return state;
}

static bool owner_lives(const struct look *l, yyjson_val *owner, const void *context)
{
    (void)context;
    return owner_state(l, owner) == OWNER_LIVES;
}

static void check_owners(const struct look *l)
{
    size_t i, n, count[3] = {0};
    yyjson_val *o;
    struct work *dependents;
    yyjson_arr_foreach(yyjson_obj_get(l->metadata, "ownerReferences"), i, n, o)
    {
        count[owner_state(l, o)]++;
    }
    if (!count[OWNER_GONE] && !count[OWNER_WAITING])
        return;
    if (count[OWNER_LIVES])
        keep_members(l, "ownerReferences", owner_lives, NULL);
    else if (count[OWNER_WAITING] && dependents_of(l, &dependents))
        delete_object(l, "Foreground");
    else
        delete_object(l, NULL);
}

/* The next object in a namespace, of any resource. */
static bool find_content(struct lab_gc *gc, const char *namespace_, struct kb_arena *arena, struct work **ret,
                         size_t *ret_n)
{
    struct work_list list = {0};
    lab_server_lock(gc->server);
    for (struct lab_resource *r = gc->server->resources; r; r = r->next) {
        size_t from, to;
        lab_store_range(r, namespace_, NULL, &from, &to);
        for (size_t i = from; lab_resource_kind(r)->namespaced && i < to; i++)
            *kb_vec_push(arena, &list) = (struct work){r, kb_arena_strdup(arena, r->items[i]->meta->key)};
    }
    lab_server_unlock(gc->server);
    *ret = list.items;
    *ret_n = list.n;
    return list.n;
}

static void empty_namespace(const struct look *l)
{
    struct work *content;
    size_t n;
    if (find_content(l->gc, l->object->meta->name, l->arena, &content, &n)) {
        for (size_t i = 0; i < n; i++) {
            struct look c;
            if (!look_at(l->gc, l->arena, &content[i], &c))
                continue;
            if (!c.object->meta->deleting)
                delete_object(&c, "Background");
            lab_object_unref(c.object);
        }
        return;
    }
    struct lab_ref ref = l->ref;
    ref.subresource = "finalize";
    lab_client_patch_text(l->gc->client, &ref, LAB_PATCH_MERGE, "{\"spec\":{\"finalizers\":null}}", NULL, NULL);
}

static void look_once(struct lab_gc *gc, const struct work *w)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct look l;
    if (!look_at(gc, arena, w, &l))
        return;
    if (!l.object->meta->deleting)
        check_owners(&l);
    else if (kb_streq(l.ref.resource, "namespaces"))
        empty_namespace(&l);
    else if (has_finalizer(&l, "foregroundDeletion"))
        foreground(&l);
    else if (has_finalizer(&l, "orphan"))
        orphan(&l);
    lab_object_unref(l.object);
}

/* Lock held. */
static bool take_work(struct lab_gc *gc, struct work *ret)
{
    if (gc->taken == gc->queue.n) {
        free(gc->queue.items);
        gc->queue = (struct work_list){0};
        gc->taken = 0;
        return false;
    }
    *ret = gc->queue.items[gc->taken++];
    return true;
}

/* Events live for an hour. Lock held. */
static void expire_events(struct lab_gc *gc)
{
    struct lab_server *s = gc->server;
    int64_t now = s->clock->mono(s->clock);
    if (now < gc->next_expiry)
        return;
    gc->next_expiry = now + EVENT_PERIOD;
    struct lab_resource *r = lab_server_resource(s, "events");
    int64_t oldest = s->clock->wall(s->clock) - EVENT_TTL;
    for (size_t i = r->n; i-- > 0;)
        if (r->items[i]->meta->created_ns < oldest)
            lab_store_remove(s, r, r->items[i], r->items[i]);
}

bool lab_gc_run(struct lab_gc *gc)
{
    bool any = false;
    for (;;) {
        struct work w;
        lab_server_lock(gc->server);
        expire_events(gc);
        bool more = take_work(gc, &w);
        lab_server_unlock(gc->server);
        if (!more)
            return any;
        any = true;
        look_once(gc, &w);
        free(w.key);
    }
}

static void *run_thread(void *arg)
{
    struct lab_gc *gc = arg;
    struct lab_server *s = gc->server;
    pthread_setname_np(pthread_self(), "gc");
    lab_server_lock(s);
    while (gc->running) {
        lab_server_unlock(s);
        lab_gc_run(gc);
        lab_server_lock(s);
        if (gc->running && gc->taken == gc->queue.n)
            s->clock->wait(s->clock, &gc->cond, &s->lock, gc->next_expiry);
    }
    lab_server_unlock(s);
    return NULL;
}

struct lab_gc *lab_gc_new(struct lab_server *server, bool enabled)
{
    struct lab_gc *gc = kb_malloc(sizeof(*gc));
    gc->server = server;
    gc->enabled = enabled;
    gc->dependents = kb_map_new(KB_MAP_COPY);
    kb_cond_init(&gc->cond);
    gc->client = lab_client_new(server, "system:serviceaccount:kube-system:generic-garbage-collector");
    return gc;
}

void lab_gc_start(struct lab_gc *gc)
{
    gc->running = true;
    pthread_create(&gc->thread, NULL, run_thread, gc);
}

void lab_gc_stop(struct lab_gc *gc)
{
    lab_server_lock(gc->server);
    bool joins = gc->running;
    gc->running = false;
    pthread_cond_signal(&gc->cond);
    lab_server_unlock(gc->server);
    if (joins)
        pthread_join(gc->thread, NULL);
}

void lab_gc_free(struct lab_gc *gc)
{
    const char *uid;
    struct work_list *list;
    kb_map_foreach (gc->dependents, uid, list) {
        free_list(list);
        free(list);
    }
    kb_map_free(gc->dependents);
    for (size_t i = gc->taken; i < gc->queue.n; i++)
        free(gc->queue.items[i].key);
    free(gc->queue.items);
    pthread_cond_destroy(&gc->cond);
    lab_client_free(gc->client);
    free(gc);
}
