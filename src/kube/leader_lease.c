/*
 * The record of an election in a Lease, in the form that client-go reads and writes: the whole spec is replaced, the
 * metadata stay.
 */
#include "api/codec.h"
#include "base/strings.h"
#include "base/time.h"
#include "kube/leader_internal.h"

int kube_lease_decode(const char *json, size_t n, struct kube_lease *ret, struct kube_error *reterr)
{
    struct kb_arena *arena = kb_arena_new();
    struct coordination_lease *object;
    if (api_decode(arena, &coordination_lease_type, json, n, &object, reterr) < 0) {
        kb_arena_free(arena);
        return kube_error_wrap(reterr, "lease");
    }
    *ret = (struct kube_lease){arena, object};
    return 0;
}

void kube_lease_done(struct kube_lease *lease)
{
    kb_arena_free(lease->arena);
    *lease = (struct kube_lease){0};
}

const char *kube_lease_holder(const struct kube_lease *lease)
{
    return lease->object && lease->object->spec.holder_identity ? lease->object->spec.holder_identity : "";
}

int64_t kube_lease_duration_ns(const struct kube_lease *lease)
{
    const int32_t *seconds = lease->object ? lease->object->spec.lease_duration_seconds : NULL;
    return seconds && *seconds > 0 ? *seconds * KB_NS_PER_S : 0;
}

int32_t kube_lease_transitions(const struct kube_lease *lease)
{
    return lease->object && lease->object->spec.lease_transitions ? *lease->object->spec.lease_transitions : 0;
}

bool kube_lease_same_record(const struct kube_lease *a, const struct kube_lease *b)
{
    return a->object && b->object && api_equal(&coordination_lease_spec_type, &a->object->spec, &b->object->spec);
}

void kube_lease_write(const struct kube_lease *lease, enum kube_lease_change change,
                      const struct kube_leader_options *options, struct kb_strbuf *ret)
{
    char now[KB_TIME_TEXT];
    kb_time_format_micro(options->clock->wall(options->clock), now);
    int32_t seconds = (int32_t)(options->lease_duration_ns / KB_NS_PER_S), transitions = 0;
    struct coordination_lease object = {.kind = coordination_lease_type.resource->kind,
                                        .api_version = "coordination.k8s.io/v1"};
    const char *acquired = now;
    if (change == KUBE_LEASE_CREATE) {
        object.metadata.name = options->name;
        object.metadata.namespace = options->namespace_;
    } else {
        object = *lease->object; /* shallow, for encoding only */
        transitions = kube_lease_transitions(lease);
    }
    if (change == KUBE_LEASE_TAKE)
        transitions++;
    if (change == KUBE_LEASE_RENEW && !kb_empty(lease->object->spec.acquire_time))
        acquired = lease->object->spec.acquire_time;
    if (change == KUBE_LEASE_RELEASE)
        seconds = 1; /* client-go's form: nobody would wait for it longer than this */
    object.spec = (struct coordination_lease_spec){
        .holder_identity = change == KUBE_LEASE_RELEASE ? "" : options->identity,
        .lease_duration_seconds = &seconds,
        .acquire_time = acquired,
        .renew_time = now,
        .lease_transitions = &transitions,
    };
    api_encode(&coordination_lease_type, &object, 0, ret);
}
