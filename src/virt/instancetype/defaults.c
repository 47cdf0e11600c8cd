/*
 * Defaults that virt-api's webhooks give to VMIs, as far as controllers apply them, too: to the VMI of a start, and to
 * a VM whose instance type is written into it. Source: the reference's pkg/defaults, pkg/network/vmispec/defaults.go.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/instancetype/internal.h"

void virt_add_missing_disks(struct kb_arena *arena, struct kv_vmi_spec *spec)
{
    api_list_foreach (volume, &spec->volumes) {
        bool named = false;
        api_list_foreach (disk, &spec->domain.devices.disks)
            named |= kb_streq(disk->name, volume->name);
        api_list_foreach (filesystem, &spec->domain.devices.filesystems)
            named |= kb_streq(filesystem->name, volume->name);
        if (!named)
            kb_vec_push(arena, &spec->domain.devices.disks)->name = volume->name;
    }
}

int virt_add_default_network(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi_spec *spec,
                             struct kube_error *reterr)
{
    const bool *wanted = spec->domain.devices.autoattach_pod_interface;
    if ((wanted && !*wanted) || spec->networks.n || spec->domain.devices.interfaces.n)
        return 0;
    const struct kv_network_configuration *network = config->spec->network;
    const char *binding = network ? network->default_network_interface : "";
    struct kv_interface interface = {.name = "default"};
    if (kb_streq(binding, "bridge")) {
        if (network->permit_bridge_interface_on_pod_network && !*network->permit_bridge_interface_on_pod_network)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "bridge interface is not enabled in kubevirt-config");
        interface.bridge = kb_arena_one(arena, struct kv_interface_bridge);
    } else if (kb_streq(binding, "masquerade")) {
        interface.masquerade = kb_arena_one(arena, struct kv_interface_masquerade);
    } else if (kb_streq(binding, "slirp")) {
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "slirp interface is deprecated as of v1.3");
    }
    if (interface.bridge || interface.masquerade)
        *kb_vec_push(arena, &spec->domain.devices.interfaces) = interface;
    struct kv_network *pod = kb_vec_push(arena, &spec->networks);
    pod->name = "default";
    pod->pod = kb_arena_one(arena, struct kv_pod_network);
    return 0;
}

/* NULL: absent or zero. */
static const char *amount(const struct api_string_map *resources, const char *name)
{
    const char *text = api_map_get(resources, name);
    return text && !kb_quantity_is_zero(kb_quantity_of(text)) ? text : NULL;
}

static void default_machine(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi_spec *spec)
{
    if (!spec->domain.machine)
        spec->domain.machine = kb_arena_one(arena, struct kv_machine);
    if (kb_empty(spec->domain.machine->type))
        spec->domain.machine->type = virt_config_machine_type(config, spec->architecture);
}

#define STANDARD_CPU_REQUEST "100m" /* what a cluster gives when it says nothing: not written down */

static void default_cpu_request(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi_spec *spec)
{
    struct kv_resource_requirements *resources = &spec->domain.resources;
    const char *limit = amount(&resources->limits, "cpu"), *configured = config->spec->cpu_request;
    if (limit && !amount(&resources->requests, "cpu"))
        api_map_set(arena, &resources->requests, "cpu", limit);
    if (kb_quantity_compare(kb_quantity_of(configured ? configured : ""), kb_quantity_of(STANDARD_CPU_REQUEST)) == 0 ||
        api_map_has(&resources->requests, "cpu") || (spec->domain.cpu && spec->domain.cpu->dedicated_cpu_placement))
        return;
    if (configured)
        api_map_set(arena, &resources->requests, "cpu", configured);
}

static void default_guest_memory(struct kb_arena *arena, struct kv_vmi_spec *spec)
{
    struct kv_domain_spec *domain = &spec->domain;
    if (!domain->memory)
        domain->memory = kb_arena_one(arena, struct kv_memory);
    if (domain->memory->guest)
        return;
    const char *request = amount(&domain->resources.requests, "memory"),
               *limit = amount(&domain->resources.limits, "memory");
    const char *page = domain->memory->hugepages ? domain->memory->hugepages->page_size : NULL;
    struct kb_quantity size;
    if (request || limit)
        domain->memory->guest = request ? request : limit;
    else if (page && kb_quantity_parse(page, &size, NULL) == 0)
        domain->memory->guest = kb_quantity_text(arena, size);
}

static void default_topology(struct kb_arena *arena, struct kv_vmi_spec *spec)
{
    if (!spec->domain.cpu)
        spec->domain.cpu = kb_arena_one(arena, struct kv_cpu);
    struct kv_cpu *cpu = spec->domain.cpu;
    if (cpu->cores || cpu->sockets || cpu->threads)
        return;
    const char *limit = api_map_get(&spec->domain.resources.limits, "cpu");
    const char *request = api_map_get(&spec->domain.resources.requests, "cpu"), *given = limit ? limit : request;
    cpu->sockets = given ? kb_quantity_value(kb_quantity_of(given)) : 1;
    cpu->cores = cpu->threads = 1;
}

static void default_pull_policies(struct kv_vmi_spec *spec)
{
    api_list_foreach (volume, &spec->volumes) {
        struct kv_container_disk_source *disk = volume->container_disk;
        if (!disk || !kb_empty(disk->image_pull_policy))
            continue;
        bool moves = kb_ends_with(disk->image, ":latest") || !strpbrk(disk->image, ":@");
        disk->image_pull_policy = moves ? "Always" : "IfNotPresent";
    }
}

int virt_apply_vmi_defaults(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi_spec *spec,
                            struct kube_error *reterr)
{
    if (kb_empty(spec->architecture))
        spec->architecture = config->spec->architecture_configuration->default_architecture;
    default_machine(arena, config, spec);
    default_cpu_request(arena, config, spec);
    default_guest_memory(arena, spec);
    default_topology(arena, spec);
    default_pull_policies(spec);
    if (!spec->eviction_strategy)
        spec->eviction_strategy = config->spec->eviction_strategy;
    if (virt_add_default_network(arena, config, spec, reterr) < 0)
        return -1;
    virt_add_missing_disks(arena, spec);
    return 0;
}
