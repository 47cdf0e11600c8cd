/*
 * More (or again less) memory for a running VMI, and for its Pod. Source: the reference's handleMemoryHotplugRequest,
 * watch/vm/vm.go, and pkg/liveupdate/memory.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/vm/vm_internal.h"

#define MEMORY_CHANGE "HotMemoryChange"

#define BLOCK_BYTES      (INT64_C(2) << 20) /* at least a transparent huge page; what QEMU recommends */
#define HUGE_BLOCK_BYTES (INT64_C(1) << 30) /* with huge pages of 1Gi */
#define LEAST_BYTES      (INT64_C(1) << 30)

/* A VM whose guest memory can't change live: why not; NULL: it can. */
static const char *objection(struct kb_arena *arena, const struct kv_vmi_spec *spec, const char *max_text)
{
    const struct kv_domain_spec *domain = &spec->domain;
    const struct kv_cpu *cpu = domain->cpu;
    struct kb_quantity guest = kb_quantity_of(domain->memory->guest), max = kb_quantity_of(max_text);
    bool huge = domain->memory->hugepages && domain->memory->hugepages->page_size &&
                kb_streq(domain->memory->hugepages->page_size, "1Gi");
    int64_t block = huge ? HUGE_BLOCK_BYTES : BLOCK_BYTES;
    const char *block_text = huge ? "1Gi" : "2Mi";
    if (cpu && cpu->realtime)
        return "Memory hotplug is not compatible with realtime VMs";
    if (cpu && cpu->numa && cpu->numa->guest_mapping_passthrough)
        return "Memory hotplug is not compatible with guest mapping passthrough";
    if (domain->launch_security)
        return "Memory hotplug is not compatible with encrypted VMs";
    if (kb_quantity_compare(guest, max) > 0)
        return "Guest memory is greater than the configured maxGuest memory";
    if (kb_quantity_value(guest) % block)
        return kb_arena_printf(arena, "Guest memory must be %s aligned", block_text);
    if (kb_quantity_value(max) % block)
        return kb_arena_printf(arena, "MaxGuest must be %s aligned", block_text);
    if (!spec->architecture || !kb_streq(spec->architecture, "amd64"))
        return "Memory hotplug is only available for x86_64 VMs";
    if (kb_quantity_value(guest) < LEAST_BYTES)
        return "Memory hotplug is only available for VMs with at least 1Gi of guest memory";
    return NULL;
}

static const char *restart_reason(struct vm_pass *pass, const struct kv_vmi_spec *wanted)
{
    const struct kv_vmi *vmi = pass->vmi;
    const char *at_boot = vmi->status.memory->guest_at_boot;
    const char *against = objection(pass->arena, wanted, vmi->spec.domain.memory->max_guest);
    if (against)
        return kb_arena_printf(pass->arena, "memory hotplug not supported, %s", against);
    if (at_boot && kb_quantity_compare(kb_quantity_of(wanted->domain.memory->guest), kb_quantity_of(at_boot)) < 0)
        return "memory updated in template spec to a value lower than what the VM started with";
    return NULL;
}

/* Requests never fall below the guest's memory: what was unplugged may not all be given back. Limits then stay. */
static void resize(struct vm_pass *pass, const struct kv_vmi_spec *wanted, struct kv_vmi *vmi)
{
    struct kb_arena *arena = pass->arena;
    struct kb_quantity guest = kb_quantity_of(wanted->domain.memory->guest);
    struct api_string_map *requests = &vmi->spec.domain.resources.requests;
    struct api_string_map *limits = &vmi->spec.domain.resources.limits;
    const char *request = api_map_get(requests, "memory"), *limit = api_map_get(limits, "memory");
    const char *wanted_limit = api_map_get(&wanted->domain.resources.limits, "memory");
    int64_t delta = kb_quantity_value(guest) - kb_quantity_value(kb_quantity_of(vmi->status.memory->guest_current));
    vmi->spec.domain.memory->guest = wanted->domain.memory->guest;
    if (request && !kb_quantity_is_zero(kb_quantity_of(request))) {
        struct kb_quantity sum =
            kb_quantity_add(kb_quantity_of(request), kb_quantity_from(delta, KB_QUANTITY_BINARY_SI));
        if (kb_quantity_compare(sum, guest) < 0) {
            sum = guest;
            delta = 0;
        }
        api_map_set(arena, requests, "memory", kb_quantity_text(arena, sum));
    }
    if (wanted_limit && !kb_quantity_is_zero(kb_quantity_of(wanted_limit))) {
        struct kb_quantity sum =
            kb_quantity_add(kb_quantity_of(limit ? limit : ""), kb_quantity_from(delta, KB_QUANTITY_BINARY_SI));
        api_map_set(arena, limits, "memory", kb_quantity_text(arena, sum));
    }
}

int vm_update_memory(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vmi *vmi = pass->vmi;
    const struct kv_vmi_spec *wanted;
    int status = vm_live_update(pass, &wanted, reterr);
    if (status <= 0)
        return status;
    const struct kv_memory *memory = wanted->domain.memory, *running = vmi->spec.domain.memory;
    const char *against = NULL;
    if (!memory || !memory->guest || !running || !running->guest || !vmi->status.memory ||
        !vmi->status.memory->guest_current)
        return 0;
    if (virt_vmi_condition_is(vmi, MEMORY_CHANGE, VIRT_FALSE))
        against = "memory updated in template spec. Memory-hotplug failed and is not available for this VM "
                  "configuration";
    else if (kb_quantity_compare(kb_quantity_of(memory->guest), kb_quantity_of(running->guest)) == 0)
        return 0;
    else if (!virt_vmi_condition_is(vmi, "LiveMigratable", VIRT_TRUE))
        against = "memory updated in template spec. Memory-hotplug is only available for migratable VMs";
    else if (!running->max_guest)
        against = "memory updated in template spec. Memory-hotplug is not available for this VM configuration";
    else if (virt_vmi_condition_is(vmi, MEMORY_CHANGE, VIRT_TRUE))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "another memory hotplug is in progress");
    else if (virt_vmi_is_migrating(vmi, kube_now(pass->req)))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "memory hotplug is not allowed while VMI is migrating");
    else
        against = restart_reason(pass, wanted);
    if (against) {
        vm_require_restart(pass, against);
        return 0;
    }
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, vmi);
    resize(pass, wanted, after);
    return vm_update_vmi(pass, after, reterr);
}
