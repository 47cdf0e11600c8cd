/*
 * Facts about VMIs: phases, migrations.
 */
#include "virt/vmis.h"

#include "api/meta.h"
#include "base/strings.h"
#include "base/time.h"
#include "virt/names.h"

bool virt_vmi_is_phase(const struct kv_vmi *vmi, const char *phase)
{
    return kb_streq(vmi->status.phase, phase);
}

bool virt_vmi_is_final(const struct kv_vmi *vmi)
{
    return virt_vmi_is_phase(vmi, VIRT_PHASE_SUCCEEDED) || virt_vmi_is_phase(vmi, VIRT_PHASE_FAILED);
}

bool virt_vmi_is_unprocessed(const struct kv_vmi *vmi)
{
    return virt_vmi_is_phase(vmi, "") || virt_vmi_is_phase(vmi, VIRT_PHASE_PENDING);
}

bool virt_vmi_is_migration_target(const struct kv_vmi *vmi)
{
    const char *value = api_map_get(&vmi->metadata.annotations, VIRT_ANNOTATION_CREATE_TARGET);

    return value && kb_streq(value, "true");
}

bool virt_vmi_has_target_node(const struct kv_vmi *vmi)
{
    return api_map_has(&vmi->metadata.labels, VIRT_LABEL_MIGRATION_TARGET);
}

bool virt_vmi_is_decentralized_migration(const struct kv_vmi *vmi)
{
    const struct kv_vmim_state *state = vmi->status.migration_state;

    if (!state || !state->source_state || !state->target_state)
        return false;
    return !state->source_state->sync_address != !state->target_state->sync_address;
}

static bool has_passed(const char *time, int64_t now)
{
    int64_t ns;

    return time && kb_time_parse(time, &ns) && ns <= now;
}

bool virt_vmi_is_migrating(const struct kv_vmi *vmi, int64_t now)
{
    const struct kv_vmim_state *state = vmi->status.migration_state;

    return state && has_passed(state->start_timestamp, now) && !has_passed(state->end_timestamp, now);
}

bool virt_vm_is_done_with(const struct kv_vm *vm, const struct kv_vmi *ended)
{
    return !vm || api_is_being_deleted(&vm->metadata) || !api_is_controlled_by(&ended->metadata, vm->metadata.uid);
}

bool virt_vmi_is_cpu_dedicated(const struct kv_vmi *vmi)
{
    return vmi->spec.domain.cpu && vmi->spec.domain.cpu->dedicated_cpu_placement;
}
