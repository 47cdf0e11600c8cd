/*
 * The command line of the compute container. Its order is that of the reference: other programs look into it.
 */
#include "base/quantity.h"
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

static void word(struct launcher *l, struct api_strings *to, const char *text)
{
    *kb_vec_push(l->arena, to) = text;
}

static void option(struct launcher *l, struct api_strings *to, const char *name, const char *value)
{
    word(l, to, name);
    word(l, to, value);
}

static const char *number(struct launcher *l, int64_t value)
{
    return kb_arena_printf(l->arena, "%lld", (long long)value);
}

static int64_t disk_memory_limit(const struct launcher *l)
{
    const struct kv_disk_verification *verification = l->config->spec->developer_configuration->disk_verification;

    return verification && verification->memory_limit ? kb_quantity_value(kb_quantity_of(verification->memory_limit))
                                                      : 0;
}

static void options_with_values(struct launcher *l, struct api_strings *to)
{
    const struct virt_launcher_settings *settings = l->settings;
    const struct meta_object_meta *vmi = &l->vmi->metadata;
    int timeout = settings->qemu_timeout_seconds + l->input->qemu_timeout_jitter;

    option(l, to, "--qemu-timeout", kb_arena_printf(l->arena, "%ds", timeout));
    option(l, to, "--name", vmi->name);
    option(l, to, "--uid", vmi->uid);
    option(l, to, "--namespace", vmi->namespace);
    option(l, to, "--kubevirt-share-dir", settings->share_dir);
    option(l, to, "--ephemeral-disk-dir", settings->ephemeral_disk_dir);
    option(l, to, "--container-disk-dir", settings->container_disk_dir);
    option(l, to, "--grace-period-seconds", number(l, launcher_grace_period(l->vmi) + LAUNCHER_GRACE_PADDING_S));
    option(l, to, "--hook-sidecars", number(l, (int64_t)l->sidecars.n));
    option(l, to, "--ovmf-path", virt_config_ovmf_path(l->config, l->vmi->spec.architecture));
    option(l, to, "--disk-memory-limit", number(l, disk_memory_limit(l)));
    option(l, to, "--hypervisor", virt_config_hypervisor(l->config));
}

static void switches_of_gates(struct launcher *l, struct api_strings *to)
{
    static const struct {
        enum virt_gate gate;
        const char *name;
    } rows[] = {
        {VIRT_GATE_IMAGE_VOLUME, "--image-volume"},
        {VIRT_GATE_LIBVIRT_HOOKS, "--libvirt-hook-server-and-client"},
        {VIRT_GATE_SECONDARY_INTERFACE_NAMING_UPGRADE, "--upgrade-ordinal-ifaces"},
        {VIRT_GATE_VGPU_LIVE_MIGRATION, "--vgpu-dedicated-hook"},
        {VIRT_GATE_VM_STATS_COLLECTOR, "--vm-stats-collector"},
        {VIRT_GATE_FIRMWARE_AUTO_SELECTION, "--firmware-auto-selection"},
    };

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        if (virt_gate(l->config, rows[i].gate))
            word(l, to, rows[i].name);
}

static bool keeps_after_failure(const struct kv_vmi *vmi)
{
    api_list_foreach (annotation, &vmi->metadata.annotations)
        if (kb_starts_with(annotation->key, LAUNCHER_ANNOTATION_KEEP) &&
            (!*annotation->value || kb_starts_with(annotation->value, "true")))
            return true;
    return false;
}

/* Also appended to the stand-in's command, where nothing reads them. */
static void switches_of_any_pod(struct launcher *l, struct api_strings *to)
{
    if (l->config->spec->developer_configuration->use_emulation)
        word(l, to, "--allow-emulation");
    if (virt_gate(l->config, VIRT_GATE_CROSS_ARCHITECTURE))
        word(l, to, "--allow-cross-arch-emulation");
    if (keeps_after_failure(l->vmi))
        word(l, to, "--keep-after-failure");
    if (api_map_has(&l->vmi->metadata.annotations, LAUNCHER_ANNOTATION_FAIL_FAST))
        word(l, to, "--simulate-crash");
}

void launcher_command(struct launcher *l, struct api_strings *ret)
{
    static const char *const stand_in[] = {"/bin/bash", "-c", "echo", "bound PVCs"};
    const char *log_filters = api_map_get(&l->vmi->metadata.annotations, LAUNCHER_ANNOTATION_LIBVIRT_LOGS);

    if (l->input->mode == VIRT_LAUNCHER_TEMPORARY) {
        launcher_push_strings(l->arena, ret, stand_in, KB_ARRAY_LEN(stand_in));
        switches_of_any_pod(l, ret);
        return;
    }
    word(l, ret, "/usr/bin/virt-launcher-monitor");
    options_with_values(l, ret);
    if (l->non_root)
        word(l, ret, "--run-as-nonroot");
    switches_of_gates(l, ret);
    if (log_filters)
        option(l, ret, "--libvirt-log-filters", log_filters);
    switches_of_any_pod(l, ret);
}
