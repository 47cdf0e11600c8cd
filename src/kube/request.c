/*
 * A request: its key, its memory, its look-ups. Arenas are reset and used again: a few lie ready in the runtime.
 *
 * Pins are kept as arrays of pointers to the objects' data, which is also what look-ups of many return: one array
 * serves both.
 */
#include "kube/request.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include "kube/runtime_internal.h"
#include <stdlib.h>

#define KEPT_ARENA_BYTES (128u << 10)

/* ---- life ---- */

static struct kb_arena *take_arena(struct kube_runtime *runtime)
{
    struct kb_arena *arena = NULL;
    pthread_mutex_lock(&runtime->lock);
    if (runtime->n_spare_arenas > 0)
        arena = runtime->spare_arenas[--runtime->n_spare_arenas];
    pthread_mutex_unlock(&runtime->lock);
    return arena ? arena : kb_arena_new();
}

static void give_arena_back(struct kube_runtime *runtime, struct kb_arena *arena)
{
    if (kb_arena_bytes(arena) <= KEPT_ARENA_BYTES) {
        kb_arena_reset(arena);
        pthread_mutex_lock(&runtime->lock);
        if (runtime->n_spare_arenas < KUBE_SPARE_ARENAS)
            runtime->spare_arenas[runtime->n_spare_arenas++] = KB_TAKE_PTR(arena);
        pthread_mutex_unlock(&runtime->lock);
    }
    kb_arena_free(arena);
}

struct kube_request *kube_request_new(struct kube_runtime *runtime, const char *key, int priority)
{
    struct kb_arena *arena = take_arena(runtime);
    struct kube_request *req = kb_arena_one(arena, struct kube_request);
    req->runtime = runtime;
    req->arena = arena;
    req->key = kb_arena_strdup(arena, key);
    req->priority = priority;
    req->delay_ns = -1;
    api_key_split(arena, req->key, &req->namespace_, &req->name);
    return req;
}

void kube_request_free(struct kube_request *req)
{
    if (!req)
        return;
    for (const struct kube_request_end *end = req->ends; end; end = end->next)
        end->end(end->data);
    for (const struct kube_pins *pins = req->pins; pins; pins = pins->next) {
        for (size_t i = 0; i < pins->n; i++)
            api_object_unref(api_object_of(pins->items[i]));
    }
    give_arena_back(req->runtime, req->arena);
}

void kube_request_at_end(struct kube_request *req, void (*end)(void *data), void *data)
{
    struct kube_request_end *item = kb_arena_one(req->arena, struct kube_request_end);
    *item = (struct kube_request_end){.next = req->ends, .end = end, .data = data};
    req->ends = item;
}

static const void **add_pins(struct kube_request *req, size_t n)
{
    struct kube_pins *pins = kb_arena_one(req->arena, struct kube_pins);
    pins->items = kb_arena_many(req->arena, const void *, n);
    pins->n = n;
    pins->next = req->pins;
    req->pins = pins;
    return pins->items;
}

const void *kube_request_pin(struct kube_request *req, const struct api_object *object)
{
    return *add_pins(req, 1) = api_object_data(object);
}

/* ---- the key, time, memory ---- */

const char *kube_request_key(const struct kube_request *req)
{
    return req->key;
}

const char *kube_request_namespace(const struct kube_request *req)
{
    return req->namespace_;
}

const char *kube_request_name(const struct kube_request *req)
{
    return req->name;
}

int kube_request_priority(const struct kube_request *req)
{
    return req->priority;
}

struct kb_arena *kube_arena(struct kube_request *req)
{
    return req->arena;
}

int64_t kube_now(const struct kube_request *req)
{
    struct kb_clock *clock = req->runtime->options.clock;
    return clock->wall(clock);
}

const char *kube_now_text(struct kube_request *req)
{
    return kb_time_text(req->arena, kube_now(req));
}

struct kb_random *kube_request_random(const struct kube_request *req)
{
    return req->runtime->options.random;
}

struct kube_client *kube_request_client(const struct kube_request *req)
{
    return req->runtime->options.client;
}

int kube_request_later(struct kube_request *req, int64_t delay_ns)
{
    if (delay_ns < 0)
        delay_ns = 0;
    if (req->delay_ns < 0 || delay_ns < req->delay_ns)
        req->delay_ns = delay_ns;
    return KUBE_LATER;
}

int64_t kube_request_requested_delay(const struct kube_request *req)
{
    return req->delay_ns;
}

bool kube_request_satisfied(struct kube_request *req, struct kube_expectations *expectations, const char *key)
{
    int64_t remaining = kube_expectations_remaining(expectations, key ? key : req->key);
    if (remaining == 0)
        return true;
    kube_request_later(req, remaining);
    return false;
}

void kube_request_enqueue(struct kube_request *req, const char *controller, const char *key, int64_t delay_ns)
{
    struct kube_queue *queue = kube_runtime_queue(req->runtime, controller);
    if (!queue)
        abort(); /* a misspelt name is a bug that must not look like "nothing to do" */
    if (delay_ns > 0)
        kube_queue_add_after(queue, key, delay_ns);
    else
        kube_queue_add(queue, key);
}

/* ---- looking up ---- */

static struct kube_store *store_of(const struct kube_request *req, int informer)
{
    struct kube_informer *found = kube_runtime_informer(req->runtime, informer);
    return found ? kube_informer_store(found) : NULL;
}

const void *kube_lookup(struct kube_request *req, int informer, const char *namespace_, const char *name)
{
    struct kube_store *store = store_of(req, informer);
    const struct api_object *object = store ? kube_store_get(store, namespace_, name) : NULL;
    return object ? kube_request_pin(req, object) : NULL;
}

/* The references become pins. */
static struct kube_items pin_all(struct kube_request *req, struct kube_objects objects)
{
    struct kube_items items = {.n = objects.n};
    if (objects.n > 0)
        items.items = add_pins(req, objects.n);
    for (size_t i = 0; i < objects.n; i++)
        items.items[i] = api_object_data(objects.items[i]);
    free(objects.items);
    return items;
}

struct kube_items kube_lookup_all(struct kube_request *req, int informer, const char *namespace_)
{
    struct kube_store *store = store_of(req, informer);
    return store ? pin_all(req, kube_store_list(store, namespace_)) : (struct kube_items){0};
}

struct kube_items kube_lookup_index(struct kube_request *req, int informer, const char *index, const char *value)
{
    struct kube_store *store = store_of(req, informer);
    return store ? pin_all(req, kube_store_by_index(store, index, value)) : (struct kube_items){0};
}

bool kube_informer_ready(struct kube_request *req, int informer)
{
    const struct kube_informer *found = kube_runtime_informer(req->runtime, informer);
    return found && kube_informer_has_synced(found);
}

int kube_get_live(struct kube_request *req, const struct api_type *type, const char *namespace_, const char *name,
                  const void **ret, struct kube_error *reterr)
{
    const struct api_object *object;
    struct kube_error error = {0};
    int r = kube_client_get(kube_request_client(req), type, namespace_, name, &object, &error);
    if (r < 0 && kube_error_is_not_found(&error)) {
        *ret = NULL;
        return 0;
    }
    if (r < 0) {
        if (reterr)
            *reterr = error;
        return r;
    }
    *ret = kube_request_pin(req, object);
    return 0;
}

static bool is_pinned(const struct kube_request *req, const void *data)
{
    for (const struct kube_pins *pins = req->pins; pins; pins = pins->next) {
        for (size_t i = 0; i < pins->n; i++) {
            if (pins->items[i] == data)
                return true;
        }
    }
    return false;
}

void *kube_edit(struct kube_request *req, const struct api_type *type, const void *object)
{
    if (is_pinned(req, object) && api_object_is_projected(api_object_of(object))) {
        kb_log(KB_FATAL, "an object of type %s that the cache keeps only in part can't be edited", type->name);
        abort();
    }
    return api_clone(req->arena, type, object);
}
