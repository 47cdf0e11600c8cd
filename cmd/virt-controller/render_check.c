/*
 * What an instance refers to and nobody gave: each line names the field that asks, and what would answer.
 */
#include "cmd/virt-controller/render_internal.h"
#include "virt/network/multus.h"
#include "virt/storage/volumes.h"
#include "virt/topology.h"

struct check {
    const struct render_world *world;
    const struct render_instance *instance;
    struct api_strings *missing;
};

static void __attribute__((format(printf, 3, 4)))
add(const struct check *check, const char *field, const char *format, ...)
{
    struct kb_strbuf line = {.arena = check->world->arena};
    va_list args;

    kb_strbuf_printf(&line, "%s: %s.%s: ", check->instance->object->origin, check->instance->spec_path, field);
    va_start(args, format);
    kb_strbuf_vprintf(&line, format, args);
    va_end(args);
    api_strings_add(check->world->arena, check->missing, kb_strbuf_text(&line));
}

static void check_claim(const struct check *check, size_t volume, const char *member, const char *name)
{
    const char *namespace_ = check->instance->vmi->metadata.namespace;
    const char *field = kb_arena_printf(check->world->arena, "volumes[%zu].%s", volume, member);
    bool open;

    if (!render_find_claim(check->world, namespace_, name, &open))
        add(check, field, "needs PersistentVolumeClaim (or DataVolume) %s/%s: give it with --with", namespace_, name);
    else if (open)
        add(check, field,
            "DataVolume %s/%s leaves volumeMode or accessModes to its storage class: give the StorageProfile (and, for "
            "the default class, the StorageClass), or the PersistentVolumeClaim, with --with",
            namespace_, name);
}

static void check_volumes(const struct check *check)
{
    const struct kv_volume_list *volumes = &check->instance->vmi->spec.volumes;

    for (size_t i = 0; i < volumes->n; i++) {
        const struct kv_volume *volume = &volumes->items[i];

        if (virt_volume_is_hotplug(volume))
            continue; /* comes with a Pod of its own */
        if (volume->persistent_volume_claim)
            check_claim(check, i, "persistentVolumeClaim.claimName", volume->persistent_volume_claim->claim_name);
        if (volume->data_volume)
            check_claim(check, i, "dataVolume.name", volume->data_volume->name);
        if (volume->ephemeral && volume->ephemeral->persistent_volume_claim)
            check_claim(check, i, "ephemeral.persistentVolumeClaim.claimName",
                        volume->ephemeral->persistent_volume_claim->claim_name);
    }
}

static void check_networks(const struct check *check)
{
    const struct kv_network_list *networks = &check->instance->vmi->spec.networks;

    if (virt_gate(check->world->config, VIRT_GATE_EXTERNAL_NET_RESOURCE_INJECTION))
        return; /* a webhook reads the definitions */
    for (size_t i = 0; i < networks->n; i++) {
        struct virt_nad_name nad;

        if (!networks->items[i].multus)
            continue;
        nad = virt_nad_name(check->world->arena, check->instance->vmi->metadata.namespace,
                            networks->items[i].multus->network_name);
        if (!render_find(check->world, &nad_network_attachment_definition_type, nad.namespace_, nad.name))
            add(check, kb_arena_printf(check->world->arena, "networks[%zu].multus.networkName", i),
                "needs NetworkAttachmentDefinition %s/%s: give it with --with", nad.namespace_, nad.name);
    }
}

/* Labels of nodes tell which frequency of time stamp counters all can give to a guest. */
static void check_nodes(const struct check *check)
{
    const struct kv_developer_configuration *developer = check->world->config->spec->developer_configuration;
    const struct kv_vmi *vmi = check->instance->vmi;

    if (virt_tsc_requirement(vmi) == VIRT_TSC_NOT_REQUIRED || vmi->status.topology_hints ||
        developer->minimum_cluster_tsc_frequency)
        return;
    kb_vec_foreach (object, &check->world->objects)
        if (object->type == &core_node_type)
            return;
    add(check, virt_tsc_requirement(vmi) == VIRT_TSC_FOR_BOOT ? "domain.cpu.features" : "domain.features.hyperv",
        "depends on the Nodes' labels cpu-timer.node.kubevirt.io/tsc-frequency: give the Nodes with --with");
}

void render_find_missing(const struct render_world *world, const struct render_instance *instance,
                         struct api_strings *missing)
{
    const struct check check = {.world = world, .instance = instance, .missing = missing};

    check_volumes(&check);
    check_networks(&check);
    check_nodes(&check);
}
