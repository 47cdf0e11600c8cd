/*
 * From a change in a store to keys in queues: every controller that watches the informer maps the change with its own
 * function. Look-ups of mappings share one request, which is made when the first of them asks and goes with the change.
 */
#include "base/log.h"
#include "kube/runtime_internal.h"
#include <stdlib.h>

static void log_change(const struct kube_runtime_informer *informer, const struct api_object *before,
                       const struct api_object *after)
{
    const struct api_any *any = api_object_data(after ? after : before);
    const struct kb_log_object object = {.kind = api_object_type(after ? after : before)->resource->kind,
                                         .namespace_ = any->metadata.namespace,
                                         .name = any->metadata.name,
                                         .uid = any->metadata.uid};
    kb_log_object_v(5, &object, "informer %s: %s at resource version %s", informer->spec->name,
                    !before  ? "added"
                    : !after ? "gone"
                             : "changed",
                    any->metadata.resource_version);
}

void kube_mapping_handler(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct kube_runtime_informer *informer = userdata;
    struct kube_enqueuer enqueuer = {.runtime = informer->runtime};
    if (kb_log_verbosity() >= 5)
        log_change(informer, before, after);
    for (size_t i = 0; i < informer->bindings.n; i++) {
        const struct kube_runtime_binding *binding = &informer->bindings.items[i];
        enqueuer.controller = binding->controller;
        binding->map(binding->controller->self, &enqueuer, before ? api_object_data(before) : NULL,
                     after ? api_object_data(after) : NULL);
    }
    if (enqueuer.request)
        kube_request_free(enqueuer.request);
}

static void put(struct kube_enqueuer *to, const char *key, int64_t delay_ns, int priority)
{
    struct kube_queue *queue = to->controller->queue;
    int64_t least = to->controller->definition->add_delay_ns;
    if (delay_ns < least)
        delay_ns = least;
    kb_log_v(8, "%s is queued in %s%s", key, to->controller->definition->queue_name, delay_ns > 0 ? " for later" : "");
    if (delay_ns > 0)
        kube_queue_add_after_priority(queue, key, delay_ns, priority);
    else
        kube_queue_add_priority(queue, key, priority);
}

void kube_enqueue(struct kube_enqueuer *to, const char *namespace_, const char *name)
{
    if (!namespace_ || !*namespace_) {
        put(to, name, 0, 0);
        return;
    }
    char *key = kb_asprintf("%s/%s", namespace_, name);
    put(to, key, 0, 0);
    free(key);
}

void kube_enqueue_key(struct kube_enqueuer *to, const char *key)
{
    put(to, key, 0, 0);
}

void kube_enqueue_priority(struct kube_enqueuer *to, const char *key, int priority)
{
    put(to, key, 0, priority);
}

void kube_enqueue_after(struct kube_enqueuer *to, const char *key, int64_t delay_ns)
{
    put(to, key, delay_ns, 0);
}

struct kube_request *kube_enqueuer_request(struct kube_enqueuer *to)
{
    if (!to->request)
        to->request = kube_request_new(to->runtime, "", 0);
    return to->request;
}

void kube_map_to_self(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    const struct api_any *any = after ? after : before;
    (void)self;
    kube_enqueue(to, any->metadata.namespace, any->metadata.name);
}
