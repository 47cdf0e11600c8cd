/*
 * Watches, see watch.h.
 */
#include "lab/watch.h"
#include "base/strings.h"
#include "lab/server_internal.h"
#include <stdlib.h>

static bool in_scope(const struct lab_watch *w, const struct lab_object *o)
{
    return o && (!w->namespace_ || kb_streq(o->meta->namespace_, w->namespace_)) &&
           lab_selector_matches(w->selector, o->meta);
}

/* Lock held. */
static void take_state(struct lab_watch *w)
{
    size_t from, to;
    lab_store_range(w->resource, w->namespace_, NULL, &from, &to);
    w->initial = kb_malloc((to - from + 1) * sizeof(struct lab_object *));
    for (size_t i = from; i < to; i++)
        if (in_scope(w, w->resource->items[i]))
            w->initial[w->n_initial++] = lab_object_ref(w->resource->items[i]);
    w->cursor = w->resource->next_event;
    w->initial_version = w->server->resource_version;
}

/* Lock held. */
static int position(struct lab_watch *w, enum lab_watch_start start, int64_t since, struct kube_error *reterr)
{
    struct lab_resource *r = w->resource;
    w->cursor = r->next_event;
    if (start == LAB_WATCH_WITH_STATE)
        take_state(w);
    if (start != LAB_WATCH_FROM_VERSION)
        return 0;
    if (since < r->dropped)
        return kube_error_set_api(reterr, 410, "Expired", "too old resource version: %lld (%lld)", (long long)since,
                                  (long long)r->dropped);
    w->cursor = lab_store_event_after(r, since);
    return 0;
}

static void link_watch(struct lab_watch *w)
{
    w->next = w->resource->watches;
    if (w->next)
        w->next->previous = w;
    w->resource->watches = w;
}

int lab_watch_open(struct lab_server *server, struct lab_resource *resource, const char *namespace_,
                   const char *label_selector, const char *field_selector, enum lab_watch_start start, int64_t since,
                   struct lab_watch **ret, struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new_sized(512);
    struct lab_watch *w = kb_arena_one(arena, struct lab_watch);
    const struct lab_kind *kind = lab_resource_kind(resource);
    if (lab_selector_parse(arena, kind, label_selector, field_selector, &w->selector, reterr) < 0)
        return -1;
    w->server = server;
    w->resource = resource;
    w->version = kind->storage;
    w->namespace_ = namespace_ ? kb_arena_strdup(arena, namespace_) : NULL;
    w->arena = arena;
    lab_server_lock(server);
    int rc = position(w, start, since, reterr);
    if (rc == 0)
        link_watch(w);
    lab_server_unlock(server);
    if (rc < 0)
        return rc;
    arena = NULL;
    *ret = w;
    return 0;
}

void lab_watch_notify(struct lab_resource *resource)
{
    for (struct lab_watch *w = resource->watches; w; w = w->next)
        if (w->wake)
            w->wake(w->context);
}

static int next_initial(struct lab_watch *w, struct lab_watch_event *ret)
{
    if (w->next_initial < w->n_initial) {
        struct lab_object *o = w->initial[w->next_initial++];
        *ret = (struct lab_watch_event){LAB_ADDED, o->resource_version, o}; /* hands over the reference */
        return 1;
    }
    free(w->initial);
    w->initial = NULL;
    if (!w->mark_initial_end)
        return 0;
    w->mark_initial_end = false;
    *ret = (struct lab_watch_event){LAB_BOOKMARK, w->initial_version, NULL};
    return 1;
}

/* How the watch sees an event; false: not at all. */
static bool translate(const struct lab_watch *w, const struct lab_event *e, struct lab_watch_event *ret)
{
    bool now = e->type != LAB_DELETED && in_scope(w, e->object);
    bool before = in_scope(w, e->old);
    if (!now && !before)
        return false;
    struct lab_object *shown = e->object;
    enum lab_event_type type = LAB_MODIFIED;
    if (!before)
        type = LAB_ADDED;
    else if (!now)
        type = LAB_DELETED;
    if (type == LAB_DELETED && e->type != LAB_DELETED)
        shown = e->old;
    *ret = (struct lab_watch_event){type, e->resource_version, lab_object_ref(shown)};
    return true;
}

/* Lock held. */
static int next_change(struct lab_watch *w, struct lab_watch_event *ret)
{
    struct lab_resource *r = w->resource;
    if (w->cursor < r->first)
        return -1;
    while (w->cursor < r->next_event)
        if (translate(w, lab_store_event(r, w->cursor++), ret))
            return 1;
    return 0;
}

int lab_watch_next(struct lab_watch *watch, struct lab_watch_event *ret)
{
    if ((watch->initial || watch->mark_initial_end) && next_initial(watch, ret))
        return 1;
    lab_server_lock(watch->server);
    int rc = next_change(watch, ret);
    lab_server_unlock(watch->server);
    return rc;
}

void lab_watch_event_done(struct lab_watch_event *event)
{
    lab_object_unref(event->object);
    event->object = NULL;
}

void lab_watch_free(struct lab_watch *watch)
{
    if (!watch)
        return;
    lab_server_lock(watch->server);
    if (watch->previous)
        watch->previous->next = watch->next;
    else
        watch->resource->watches = watch->next;
    if (watch->next)
        watch->next->previous = watch->previous;
    lab_server_unlock(watch->server);
    for (size_t i = watch->next_initial; watch->initial && i < watch->n_initial; i++)
        lab_object_unref(watch->initial[i]);
    free(watch->initial);
    kb_arena_free(watch->arena);
}
