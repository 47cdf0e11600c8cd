/*
 * What rendering asks more than once: small questions about a VMI with a yes, a number or a member as answer, and the
 * working state that keeps the answers.
 */
#include "base/quantity.h"
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include "virt/names.h"

const struct virt_launcher_settings virt_launcher_default_settings = {
    .launcher_image = "virt-launcher",
    .exporter_image = "virt-exportserver",
    .image_pull_secret = "",
    .share_dir = "/var/run/kubevirt",
    .ephemeral_disk_dir = "/var/run/kubevirt-ephemeral-disks",
    .container_disk_dir = "/var/run/kubevirt/container-disks",
    .hotplug_disk_dir = "/var/run/kubevirt/hotplug-disks",
    .qemu_timeout_seconds = 240,
    .sidecar_shim_image = "",
};

int launcher_init(struct launcher *l, struct kb_arena *arena, const struct virt_launcher_input *input,
                  struct kube_error *reterr)
{
    const struct kv_vmi *vmi = input->vmi;

    if (kb_empty(vmi->metadata.name) || kb_empty(vmi->metadata.namespace))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "a VMI needs a name and a namespace");
    *l = (struct launcher){
        .arena = arena,
        .input = input,
        .config = input->config,
        .settings = input->settings,
        .vmi = vmi,
        .non_root = virt_vmi_is_non_root(vmi),
        .dedicated_cpu = launcher_is_dedicated_cpu(vmi),
        .guaranteed = launcher_is_dedicated_cpu(vmi) || launcher_is_guaranteed(vmi),
        .image_volumes = virt_gate(input->config, VIRT_GATE_IMAGE_VOLUME),
        .hugepages = vmi->spec.domain.memory && vmi->spec.domain.memory->hugepages,
    };
    return 0;
}

bool virt_vmi_is_non_root(const struct kv_vmi *vmi)
{
    return vmi->status.runtime_user != 0 || api_map_has(&vmi->metadata.annotations, VIRT_ANNOTATION_NON_ROOT);
}

/* 32 bits wide, as in the reference: numbers beyond wrap around. */
static uint32_t times(uint32_t product, int64_t factor)
{
    if (factor == 0)
        return product;
    return product == 0 ? (uint32_t)factor : product * (uint32_t)factor;
}

int64_t virt_vmi_vcpus(const struct kv_vmi *vmi)
{
    const struct kv_cpu *cpu = vmi->spec.domain.cpu;

    if (!cpu)
        return 1;
    return times(times((uint32_t)cpu->cores, cpu->sockets), cpu->threads);
}

const char *virt_vmi_hostname(struct kb_arena *arena, const struct kv_vmi *vmi)
{
    enum { MAX_LABEL = 63 };
    const char *name = vmi->metadata.name;
    size_t n = strcspn(name, ".");

    if (!kb_empty(vmi->spec.hostname))
        return vmi->spec.hostname;
    return kb_arena_strndup(arena, name, n < MAX_LABEL ? n : MAX_LABEL);
}

bool launcher_has_persistent_tpm(const struct kv_vmi *vmi)
{
    const struct kv_tpm_device *tpm = vmi->spec.domain.devices.tpm;

    if (!tpm || (tpm->enabled && !*tpm->enabled))
        return false;
    return tpm->persistent && *tpm->persistent;
}

bool launcher_has_persistent_efi(const struct kv_vmi *vmi)
{
    const struct kv_firmware *firmware = vmi->spec.domain.firmware;

    if (!firmware || !firmware->bootloader || !firmware->bootloader->efi)
        return false;
    return firmware->bootloader->efi->persistent && *firmware->bootloader->efi->persistent;
}

bool launcher_has_block_tracking(const struct kv_vmi *vmi)
{
    static const char *const states[] = {"Initializing", "Enabled"};
    const struct kv_changed_block_tracking_status *tracking = vmi->status.changed_block_tracking;

    return tracking && kb_in_list(tracking->state, states, KB_ARRAY_LEN(states));
}

bool virt_vmi_needs_backend_storage(const struct kv_vmi *vmi)
{
    return launcher_has_persistent_tpm(vmi) || launcher_has_persistent_efi(vmi) || launcher_has_block_tracking(vmi);
}

bool launcher_is_dedicated_cpu(const struct kv_vmi *vmi)
{
    return vmi->spec.domain.cpu && vmi->spec.domain.cpu->dedicated_cpu_placement;
}

static struct kb_quantity amount(const struct api_string_map *resources, const char *name)
{
    const char *text = api_map_get(resources, name);

    return kb_quantity_of(text ? text : "");
}

bool launcher_is_guaranteed(const struct kv_vmi *vmi)
{
    const struct kv_resource_requirements *resources = &vmi->spec.domain.resources;
    struct kb_quantity memory = amount(&resources->requests, "memory");
    struct kb_quantity memory_limit = amount(&resources->limits, "memory");
    struct kb_quantity cpu = amount(&resources->requests, "cpu");
    bool memory_fits;

    if (kb_quantity_is_zero(memory))
        memory_fits = !kb_quantity_is_zero(memory_limit); /* a limit alone becomes the request, too */
    else
        memory_fits = kb_quantity_compare(memory, memory_limit) == 0;
    return memory_fits && !kb_quantity_is_zero(cpu) && kb_quantity_compare(cpu, amount(&resources->limits, "cpu")) == 0;
}

const struct kv_kernel_boot_container *launcher_kernel_boot(const struct kv_vmi *vmi)
{
    const struct kv_firmware *firmware = vmi->spec.domain.firmware;

    return firmware && firmware->kernel_boot ? firmware->kernel_boot->container : NULL;
}

bool launcher_has_sriov(const struct kv_vmi *vmi)
{
    api_list_foreach (interface, &vmi->spec.domain.devices.interfaces)
        if (interface->sriov)
            return true;
    return false;
}

bool launcher_has_reservation(const struct kv_vmi *vmi)
{
    api_list_foreach (disk, &vmi->spec.domain.devices.disks)
        if (disk->lun && disk->lun->reservation)
            return true;
    return false;
}

bool launcher_is_sev(const struct kv_vmi *vmi)
{
    const struct kv_launch_security *security = vmi->spec.domain.launch_security;

    return security && (security->sev || security->snp);
}

bool launcher_is_sev_es(const struct kv_vmi *vmi)
{
    const struct kv_launch_security *security = vmi->spec.domain.launch_security;

    if (!security || !security->sev || !security->sev->policy)
        return false;
    return security->sev->policy->encrypted_state && *security->sev->policy->encrypted_state;
}

bool launcher_is_snp(const struct kv_vmi *vmi)
{
    return vmi->spec.domain.launch_security && vmi->spec.domain.launch_security->snp;
}

bool launcher_is_tdx(const struct kv_vmi *vmi)
{
    return vmi->spec.domain.launch_security && vmi->spec.domain.launch_security->tdx;
}

int launcher_pvc(const struct launcher *l, const char *name, const struct core_pvc **ret, struct kube_error *reterr)
{
    const struct virt_launcher_lookups *lookups = l->input->lookups;
    struct kube_error error = {0};
    const struct core_pvc *pvc = NULL;

    if (lookups && lookups->pvc)
        pvc = lookups->pvc(lookups->userdata, l->vmi->metadata.namespace, name, &error);
    if (error.kind != KUBE_ERROR_NONE) {
        if (reterr)
            *reterr = error;
        return -1;
    }
    *ret = pvc;
    return 0;
}

bool launcher_needs_device_info(const struct kv_interface_binding_plugin *plugin)
{
    return kb_streq(plugin->downward_api, "device-info");
}

int64_t launcher_grace_period(const struct kv_vmi *vmi)
{
    const int64_t *configured = vmi->spec.termination_grace_period_seconds;

    return configured ? *configured : LAUNCHER_DEFAULT_GRACE_S;
}

const struct kv_volume *launcher_volume_named(const struct kv_vmi *vmi, const char *name)
{
    const struct kv_volume *found = NULL;

    api_list_foreach (volume, &vmi->spec.volumes)
        if (kb_streq(volume->name, name))
            found = volume;
    return found;
}
