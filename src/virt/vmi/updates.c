/*
 * Changes of a running instance that its guest does not have yet: told as conditions, on which the workload updater
 * acts.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/quantity.h"
#include "base/strings.h"
#include "base/time.h"
#include "virt/conditions.h"
#include "virt/network/interfaces.h"

static void note_change(struct vmi_pass *p, struct kv_vmi *after, const char *type)
{
    const struct kv_vmi_condition condition = {.type = type,
                                               .status = VIRT_TRUE,
                                               .last_probe_time = "",
                                               .last_transition_time = "",
                                               .reason = "",
                                               .message = ""};

    if (!virt_vmi_condition(after, type))
        virt_vmi_set_condition(p->arena, after, &condition);
}

/* ---- CPU, memory ---- */

static int64_t product(int64_t a, int64_t b)
{
    return b == 0 ? a : a == 0 ? b : a * b;
}

/* Of what is given; 0 when nothing is. */
static int64_t vcpus(int64_t cores, int64_t sockets, int64_t threads)
{
    return product(product(cores, sockets), threads);
}

static bool cpu_changed(const struct kv_vmi *vmi)
{
    const struct kv_cpu_topology *now = vmi->status.current_cpu_topology;
    const struct kv_cpu *wanted = vmi->spec.domain.cpu;

    return now && wanted && wanted->max_sockets != 0 &&
           vcpus(wanted->cores, wanted->sockets, wanted->threads) != vcpus(now->cores, now->sockets, now->threads);
}

static bool memory_changed(const struct kv_vmi *vmi)
{
    const struct kv_memory *wanted = vmi->spec.domain.memory;
    const char *requested = vmi->status.memory ? vmi->status.memory->guest_requested : NULL;

    if (!requested || !wanted || !wanted->guest || !wanted->max_guest)
        return false;
    return kb_quantity_value(kb_quantity_of(wanted->guest)) != kb_quantity_value(kb_quantity_of(requested));
}

/* ---- volumes ---- */

static bool is_migration_source(const struct kv_vmi *vmi, const char *claim)
{
    api_list_foreach (migrated, &vmi->status.migrated_volumes)
        if (migrated->source_pvc_info && kb_streq(migrated->source_pvc_info->claim_name, claim))
            return true;
    return false;
}

static bool volumes_changed(const struct kv_vmi *vmi)
{
    if (vmi->status.migrated_volumes.n == 0 || virt_vmi_condition(vmi, VMI_VOLUMES_CHANGE))
        return false;
    api_list_foreach (volume, &vmi->spec.volumes) {
        const char *claim = virt_volume_claim(volume);

        if (*claim && !is_migration_source(vmi, claim))
            return true;
    }
    return false;
}

/* ---- networks ---- */

static void require_migration(struct vmi_pass *p, struct kv_vmi *after, bool now)
{
    const struct kv_vmi_condition condition = {
        .type = VMI_MIGRATION_REQUIRED,
        .status = now ? VIRT_TRUE : VIRT_FALSE,
        .last_probe_time = "",
        .last_transition_time = kube_now_text(p->request),
        .reason = now ? VMI_REASON_MIGRATION_DUE : VMI_REASON_MIGRATION_PENDING,
        .message = "",
    };

    virt_vmi_set_condition(p->arena, after, &condition);
    if (!now)
        kube_request_later(p->request, VMI_NETWORK_RECHECK_NS);
}

/* Nobody has brought the change into the running Pod in time. */
static bool has_waited(const struct vmi_pass *p, const struct kv_vmi_condition *condition)
{
    int64_t since;

    return condition && kb_streq(condition->status, VIRT_FALSE) &&
           kb_time_parse(condition->last_transition_time, &since) &&
           kube_now(p->request) - since > VMI_NETWORK_GRACE_NS;
}

static void set_migration_required(struct vmi_pass *p, struct kv_vmi *after)
{
    const struct kv_vmi_condition *condition = virt_vmi_condition(after, VMI_MIGRATION_REQUIRED);
    enum virt_network_need need;

    if (virt_vmi_is_migrating(p->vmi, kube_now(p->request)))
        return;
    need = virt_network_need(p->arena, after, p->pod);
    if (need == VIRT_NETWORK_NO_MIGRATION)
        virt_vmi_remove_condition(after, VMI_MIGRATION_REQUIRED);
    else if (!condition || !kb_streq(condition->status, VIRT_TRUE))
        require_migration(p, after, need == VIRT_NETWORK_MIGRATE_NOW || has_waited(p, condition));
}

void vmi_set_updates(struct vmi_pass *p, struct kv_vmi *after)
{
    const char *ratio = p->config->spec->additional_guest_memory_overhead_ratio;

    if (cpu_changed(after))
        note_change(p, after, VMI_VCPU_CHANGE);
    if (memory_changed(after)) {
        note_change(p, after, VMI_MEMORY_CHANGE);
        if (ratio)
            api_map_set(p->arena, &after->metadata.labels, VMI_LABEL_MEMORY_OVERHEAD_RATIO, ratio);
    }
    if (volumes_changed(after))
        virt_vmi_set_condition(p->arena, after,
                               &(struct kv_vmi_condition){.type = VMI_VOLUMES_CHANGE,
                                                          .status = VIRT_TRUE,
                                                          .last_probe_time = "",
                                                          .last_transition_time = kube_now_text(p->request),
                                                          .reason = "",
                                                          .message = "migrate volumes"});
    set_migration_required(p, after);
}
