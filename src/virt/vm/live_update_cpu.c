/*
 * More CPU sockets for a running VMI, and the CPU that its Pod needs for them.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/vm/vm_internal.h"

#define CPU_CHANGE "HotVCPUChange"

static int64_t vcpus(const struct kv_cpu *cpu)
{
    const int64_t members[] = {cpu->cores, cpu->sockets, cpu->threads};
    int64_t product = 0;
    for (size_t i = 0; i < KB_ARRAY_LEN(members); i++)
        if (members[i])
            product = product ? product * members[i] : members[i];
    return product;
}

/* Only where the template has such a request or limit. */
static void grow(struct kb_arena *arena, const struct api_string_map *wanted, struct api_string_map *resources,
                 int64_t milli)
{
    const char *present = api_map_get(resources, "cpu"), *template = api_map_get(wanted, "cpu");
    if (!template || kb_quantity_is_zero(kb_quantity_of(template)))
        return;
    struct kb_quantity sum =
        kb_quantity_add(kb_quantity_of(present ? present : ""), kb_quantity_from_milli(milli, KB_QUANTITY_DECIMAL_SI));
    api_map_set(arena, resources, "cpu", kb_quantity_text(arena, sum));
}

int vm_update_cpu(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vmi_spec *wanted;
    int status = vm_live_update(pass, &wanted, reterr);
    if (status <= 0)
        return status;
    const struct kv_cpu *cpu = wanted->domain.cpu, *running = pass->vmi->spec.domain.cpu;
    if (!cpu || !running || cpu->sockets == running->sockets)
        return 0;
    if (virt_vmi_condition_is(pass->vmi, CPU_CHANGE, VIRT_TRUE))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "another CPU hotplug is in progress");
    if (virt_vmi_is_migrating(pass->vmi, kube_now(pass->req)))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "CPU hotplug is not allowed while VMI is migrating");
    const char *against = NULL;
    if (cpu->sockets > running->max_sockets)
        against = "CPU sockets updated in template spec to a value higher than what's available";
    else if (cpu->sockets < running->sockets)
        against = "Reduction of CPU socket count requires a restart";
    else if (pass->vm->spec.template->spec.architecture &&
             kb_streq(pass->vm->spec.template->spec.architecture, "arm64"))
        against = "ARM doesn't support CPU hotplug";
    if (against) {
        vm_require_restart(pass, against);
        return 0;
    }
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    int64_t ratio = pass->config->spec->developer_configuration->cpu_allocation_ratio;
    int64_t milli = (vcpus(cpu) - vcpus(running)) * (1000 / ratio);
    after->spec.domain.cpu->sockets = cpu->sockets;
    grow(pass->arena, &wanted->domain.resources.requests, &after->spec.domain.resources.requests, milli);
    grow(pass->arena, &wanted->domain.resources.limits, &after->spec.domain.resources.limits, milli);
    return vm_update_vmi(pass, after, reterr);
}
