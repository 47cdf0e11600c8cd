/*
 * The memory that a launcher needs beside the guest's: page tables, processes, video memory and so on. The terms and
 * their sizes stand in one table. They are estimates of the reference (pkg/hypervisor/kvm, pkg/network/resources),
 * which measured them as resident memory; both hypervisors have the same.
 */
#include "virt/launcher/resources_internal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    PAGE_TABLE_RATIO = 512, /* one byte of page tables maps so many of memory */
    KILO = 1000,
    PASST_MIB = 250, /* with all ports forwarded */
};
#define MIB  INT64_C(0x100000)
#define NANO INT64_C(1000000000)

/* ---- how often a term counts ---- */

static int64_t once(const struct virt_config *config, const struct kv_vmi *vmi)
{
    (void)config;
    (void)vmi;
    return 1;
}

static int64_t cpus_of_resources(const struct kv_resource_requirements *resources)
{
    const char *cpu = api_map_get(&resources->limits, "cpu");

    if (!cpu)
        cpu = api_map_get(&resources->requests, "cpu");
    return cpu ? kb_quantity_value(kb_quantity_of(cpu)) : 0;
}

static int64_t vcpus(const struct virt_config *config, const struct kv_vmi *vmi)
{
    int64_t n = vmi->spec.domain.cpu ? virt_vmi_vcpus(vmi) : cpus_of_resources(&vmi->spec.domain.resources);

    (void)config;
    return n < 1 ? 1 : n;
}

static int64_t video(const struct virt_config *config, const struct kv_vmi *vmi)
{
    const bool *attached = vmi->spec.domain.devices.autoattach_graphics_device;

    (void)config;
    return !attached || *attached;
}

static int64_t arm64(const struct virt_config *config, const struct kv_vmi *vmi)
{
    const char *architecture = vmi->spec.architecture;

    (void)config;
    return kb_streq(kb_empty(architecture) ? virt_config_own_architecture() : architecture, "arm64");
}

static int64_t vfio(const struct virt_config *config, const struct kv_vmi *vmi)
{
    const struct kv_devices *devices = &vmi->spec.domain.devices;

    (void)config;
    return devices->host_devices.n > 0 || devices->gpus.n > 0 || launcher_has_sriov(vmi);
}

static int64_t downward_metrics(const struct virt_config *config, const struct kv_vmi *vmi)
{
    (void)config;
    api_list_foreach (volume, &vmi->spec.volumes)
        if (volume->downward_metrics)
            return 1;
    return 0;
}

static int64_t exec_probes(const struct virt_config *config, const struct kv_vmi *vmi)
{
    const struct kv_probe *liveness = vmi->spec.liveness_probe, *readiness = vmi->spec.readiness_probe;

    (void)config;
    return (liveness && liveness->exec) + (readiness && readiness->exec);
}

static int64_t any_exec_probe(const struct virt_config *config, const struct kv_vmi *vmi)
{
    return exec_probes(config, vmi) > 0;
}

static int64_t sev(const struct virt_config *config, const struct kv_vmi *vmi)
{
    (void)config;
    return launcher_is_sev(vmi);
}

static int64_t tpm(const struct virt_config *config, const struct kv_vmi *vmi)
{
    const struct kv_tpm_device *device = vmi->spec.domain.devices.tpm;

    (void)config;
    return device && (!device->enabled || *device->enabled);
}

static int64_t guaranteed(const struct virt_config *config, const struct kv_vmi *vmi)
{
    (void)config;
    return launcher_is_dedicated_cpu(vmi) || launcher_is_guaranteed(vmi);
}

static const struct row {
    const char *rule;
    int64_t mib;
    int64_t (*count)(const struct virt_config *config, const struct kv_vmi *vmi);
} rows[] = {
    {"virt-launcher-monitor", 25, once},
    {"virt-launcher", 100, once},
    {"virtlogd", 25, once},
    {"virtqemud", 40, once},
    {"qemu", 30, once},
    {"vCPUs", 8, vcpus},
    {"IO thread", 8, once},
    {"video memory", 32, video},
    {"UEFI flash of arm64", 128, arm64},
    {"VFIO devices", 1024, vfio},
    {"downward metrics disk", 1, downward_metrics},
    {"exec probes", 10, exec_probes},
    {"virt-probe", 100, any_exec_probe},
    {"SEV", 256, sev},
    {"TPM emulator", 53, tpm},
    {"dedicated CPUs or guaranteed resources", 100, guaranteed},
};

/* ---- the sum ---- */

static void add(struct launcher_overhead *overhead, const char *rule, struct kb_quantity quantity)
{
    overhead->total = kb_quantity_add(overhead->total, quantity);
    if (!kb_quantity_is_zero(quantity))
        overhead->terms[overhead->n++] = (struct launcher_overhead_term){.rule = rule, .quantity = quantity};
}

/* In thousands, rounded away from zero: Go's ScaledValue(Kilo). */
static int64_t kilo_of(struct kb_quantity quantity)
{
    const __int128 unit = (__int128)NANO * KILO;
    __int128 value = quantity.nano / unit, rest = quantity.nano % unit;

    value += (rest > 0) - (rest < 0);
    if (value > INT64_MAX / KILO)
        return INT64_MAX / KILO;
    return value < INT64_MIN / KILO ? INT64_MIN / KILO : (int64_t)value;
}

/* Of the memory that is requested: what the guest has may be more. */
static struct kb_quantity page_tables(const struct kv_vmi *vmi)
{
    const char *request = api_map_get(&vmi->spec.domain.resources.requests, "memory");
    int64_t kilo = request ? kilo_of(kb_quantity_of(request)) : 0;

    return kb_quantity_from(kilo * KILO / PAGE_TABLE_RATIO, KB_QUANTITY_DECIMAL_SI);
}

bool launcher_parse_float(const char *text, double *ret)
{
    char *end;
    double value;

    if (!*text || strspn(text, " \t\n\v\f\r") > 0)
        return false;
    errno = 0;
    value = strtod(text, &end);
    if (*end || (errno == ERANGE && fabs(value) > 1))
        return false;
    *ret = value;
    return true;
}

int64_t launcher_truncate(double value)
{
    const double limit = 0x1p63;

    return value >= -limit && value < limit ? (int64_t)value : INT64_MIN;
}

static void multiply(struct launcher_overhead *overhead, const char *ratio)
{
    double factor;

    if (kb_empty(ratio) || !launcher_parse_float(ratio, &factor))
        return;
    int64_t kilo = launcher_truncate((double)kilo_of(overhead->total) * (factor - 1.0));
    struct kb_quantity more = kb_quantity_from(kilo, KB_QUANTITY_DECIMAL_SI);

    more.nano *= KILO;
    add(overhead, "additionalGuestMemoryOverheadRatio", more);
}

static bool is_first_with_binding(const struct kv_interface_list *interfaces, const struct kv_interface *interface)
{
    for (const struct kv_interface *i = interfaces->items; i < interface; i++)
        if (i->binding && kb_streq(i->binding->name, interface->binding->name))
            return false;
    return true;
}

/* What a plug-in needs in the compute container, however many interfaces it serves. */
static struct kb_quantity plugin_memory(const struct virt_config *config, const char *name)
{
    const struct kv_interface_binding_plugin *plugin = virt_binding_plugin(config, name);
    const char *memory = NULL;

    if (plugin && plugin->compute_resource_overhead)
        memory = api_map_get(&plugin->compute_resource_overhead->requests, "memory");
    return kb_quantity_of(memory ? memory : "");
}

static void add_network(struct launcher_overhead *overhead, const struct virt_config *config, const struct kv_vmi *vmi)
{
    const struct kv_interface_list *interfaces = &vmi->spec.domain.devices.interfaces;
    struct kb_quantity plugins = {0};
    bool passt = false;

    api_list_foreach (interface, interfaces) {
        passt = passt || interface->passt_binding;
        if (interface->binding && is_first_with_binding(interfaces, interface))
            plugins = kb_quantity_add(plugins, plugin_memory(config, interface->binding->name));
    }
    if (passt)
        add(overhead, "passt", kb_quantity_from(PASST_MIB * MIB, KB_QUANTITY_BINARY_SI));
    add(overhead, "network binding plug-ins", plugins);
}

void launcher_overhead(const struct virt_config *config, const struct kv_vmi *vmi, struct launcher_overhead *ret)
{
    const struct kv_memory *memory = vmi->spec.domain.memory;

    ret->total = (struct kb_quantity){0};
    ret->n = 0;
    add(ret, "page tables", page_tables(vmi));
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        /* Wraps around for CPU numbers that no machine has, as Go's integers do. */
        uint64_t bytes = (uint64_t)(rows[i].mib * MIB) * (uint64_t)rows[i].count(config, vmi);

        add(ret, rows[i].rule, kb_quantity_from((int64_t)bytes, KB_QUANTITY_BINARY_SI));
    }
    if (memory && memory->reserved_overhead && memory->reserved_overhead->added_overhead)
        add(ret, "reservedOverhead", kb_quantity_of(memory->reserved_overhead->added_overhead));
    if (config->spec->additional_guest_memory_overhead_ratio)
        multiply(ret, config->spec->additional_guest_memory_overhead_ratio);
    add_network(ret, config, vmi);
}

int64_t virt_launcher_memory_overhead(const struct virt_config *config, const struct kv_vmi *vmi)
{
    struct launcher_overhead overhead;

    launcher_overhead(config, vmi, &overhead);
    return kb_quantity_value(overhead.total);
}
