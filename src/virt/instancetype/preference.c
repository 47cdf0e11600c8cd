/*
 * Applying a preference to the spec of a VMI. Nearly every rule is "fill it where the VMI says nothing": those are rows
 * of a table, in groups as the structs that they need are made. The few others are code.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/instancetype/internal.h"

#define PREFERENCE &instancetype_vm_preference_spec_type
#define FILL(rules, preference, type, target)                                                                          \
    virt_fill_all(arena, rules, KB_ARRAY_LEN(rules), PREFERENCE, preference, type, target)

/* ---- devices ---- */

static const struct virt_fill auto_attach[] = {
    {"devices.preferredAutoattachGraphicsDevice", "domain.devices.autoattachGraphicsDevice"},
    {"devices.preferredAutoattachMemBalloon", "domain.devices.autoattachMemBalloon"},
    {"devices.preferredAutoattachPodInterface", "domain.devices.autoattachPodInterface"},
    {"devices.preferredAutoattachSerialConsole", "domain.devices.autoattachSerialConsole"},
    {"devices.preferredAutoattachInputDevice", "domain.devices.autoattachInputDevice"},
};

static const struct virt_fill devices[] = {
    {"devices.preferredUseVirtioTransitional", "domain.devices.useVirtioTransitional"},
    {"devices.preferredBlockMultiQueue", "domain.devices.blockMultiQueue"},
    {"devices.preferredNetworkInterfaceMultiQueue", "domain.devices.networkInterfaceMultiqueue"},
    {"devices.preferredSoundModel", "domain.devices.sound.model"},
    {"devices.preferredRng", "domain.devices.rng"},
    {"devices.preferredTPM", "domain.devices.tpm"},
    {"devices.preferredVideoType", "domain.devices.video.type"},
};

/* Of an element: the member that a path starts from decides which kind of disk a rule is for. */
static const struct virt_fill any_disk[] = {
    {"devices.preferredDiskBus", "disk.bus"},
    {"devices.preferredCdromBus", "cdrom.bus"},
    {"devices.preferredLunBus", "lun.bus"},
};
static const struct virt_fill plain_disk[] = {
    {"devices.preferredDiskBlockSize", "blockSize"},
    {"devices.preferredDiskCache", "cache"},
    {"devices.preferredDiskIO", "io"},
};
static const struct virt_fill virtio_disk = {"devices.preferredDiskDedicatedIoThread", "dedicatedIOThread"};

static const struct virt_fill interface_model = {"devices.preferredInterfaceModel", "model"};
static const struct virt_fill interface_binding = {"devices.preferredInterfaceMasquerade", "masquerade"};

static const struct virt_fill input[] = {
    {"devices.preferredInputBus", "bus"},
    {"devices.preferredInputType", "type"},
};
static const struct virt_fill panic_device = {"devices.preferredPanicDeviceModel", "model"};

static void apply_to_disks(struct kb_arena *arena, const struct instancetype_vm_preference_spec *from,
                           struct kv_vmi_spec *spec)
{
    api_list_foreach (disk, &spec->domain.devices.disks) {
        if (!disk->disk && !disk->cdrom && !disk->lun)
            disk->disk = kb_arena_one(arena, struct kv_disk_target);
        FILL(any_disk, from, &kv_disk_type, disk);
        if (!disk->disk)
            continue;
        FILL(plain_disk, from, &kv_disk_type, disk);
        if (!kb_empty(disk->disk->bus) && kb_streq(disk->disk->bus, "virtio"))
            virt_fill(arena, &virtio_disk, PREFERENCE, from, &kv_disk_type, disk);
    }
}

static bool has_binding(const struct kv_interface *interface)
{
    return interface->bridge || interface->slirp || interface->masquerade || interface->sriov || interface->macvtap ||
           interface->passt || interface->passt_binding || interface->binding;
}

static bool is_on_pod_network(const struct kv_vmi_spec *spec, const char *name)
{
    api_list_foreach (network, &spec->networks)
        if (kb_streq(network->name, name))
            return network->pod;
    return false;
}

static void apply_to_interfaces(struct kb_arena *arena, const struct instancetype_vm_preference_spec *from,
                                struct kv_vmi_spec *spec)
{
    api_list_foreach (interface, &spec->domain.devices.interfaces) {
        virt_fill(arena, &interface_model, PREFERENCE, from, &kv_interface_type, interface);
        if (!has_binding(interface) && is_on_pod_network(spec, interface->name))
            virt_fill(arena, &interface_binding, PREFERENCE, from, &kv_interface_type, interface);
    }
}

static void apply_to_devices(struct kb_arena *arena, const struct instancetype_vm_preference_spec *from,
                             struct kv_vmi_spec *spec)
{
    struct kv_devices *to = &spec->domain.devices;
    if (!from->devices)
        return;
    if (from->devices->preferred_disable_hotplug)
        to->disable_hotplug = *from->devices->preferred_disable_hotplug;
    if (from->devices->preferred_video_type && !to->video)
        to->video = kb_arena_one(arena, struct kv_video_device);
    FILL(devices, from, &kv_vmi_spec_type, spec);
    FILL(auto_attach, from, &kv_vmi_spec_type, spec);
    apply_to_disks(arena, from, spec);
    apply_to_interfaces(arena, from, spec);
    api_list_foreach (device, &to->inputs)
        FILL(input, from, &kv_input_type, device);
    if (from->devices->preferred_panic_device_model && to->panic_devices.n == 0)
        kb_vec_push(arena, &to->panic_devices);
    api_list_foreach (device, &to->panic_devices)
        virt_fill(arena, &panic_device, PREFERENCE, from, &kv_panic_device_type, device);
}

/* ---- CPU features, features, firmware ---- */

static bool has_feature(const struct kv_cpu_feature *features, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (kb_streq(features[i].name, name))
            return true;
    return false;
}

static void apply_cpu_features(struct kb_arena *arena, const struct instancetype_vm_preference_spec *from,
                               struct kv_vmi_spec *spec)
{
    size_t n;

    if (!from->cpu || from->cpu->preferred_cpu_features.n == 0)
        return;
    if (!spec->domain.cpu)
        spec->domain.cpu = kb_arena_one(arena, struct kv_cpu);
    n = spec->domain.cpu->features.n; /* a preference may name one twice */
    api_list_foreach (feature, &from->cpu->preferred_cpu_features)
        if (!has_feature(spec->domain.cpu->features.items, n, feature->name))
            *kb_vec_push(arena, &spec->domain.cpu->features) = *feature;
}

static const struct virt_fill features[] = {
    {"features.preferredApic", "domain.features.apic"},
    {"features.preferredKvm", "domain.features.kvm"},
    {"features.preferredPvspinlock", "domain.features.pvspinlock"},
    {"features.preferredSmm", "domain.features.smm"},
};

/* Hyper-V: what the preference has of it, member by member; the struct is the same on both sides. */
static void apply_hyperv(struct kb_arena *arena, const struct kv_feature_hyperv *from, struct kv_features *to)
{
    if (!to->hyperv)
        to->hyperv = kb_arena_one(arena, struct kv_feature_hyperv);
    for (size_t i = 0; i < kv_feature_hyperv_type.n_fields; i++) {
        const struct virt_fill same = {kv_feature_hyperv_type.fields[i].json, kv_feature_hyperv_type.fields[i].json};
        virt_fill(arena, &same, &kv_feature_hyperv_type, from, &kv_feature_hyperv_type, to->hyperv);
    }
}

static void apply_features(struct kb_arena *arena, const struct instancetype_vm_preference_spec *from,
                           struct kv_vmi_spec *spec)
{
    if (!from->features)
        return;
    if (!spec->domain.features)
        spec->domain.features = kb_arena_one(arena, struct kv_features);
    if (from->features->preferred_acpi)
        spec->domain.features->acpi = *from->features->preferred_acpi;
    if (from->features->preferred_hyperv)
        apply_hyperv(arena, from->features->preferred_hyperv, spec->domain.features);
    FILL(features, from, &kv_vmi_spec_type, spec);
}

static bool is_true(const bool *value)
{
    return value && *value;
}

static const struct virt_fill bios_serial = {"firmware.preferredUseBiosSerial",
                                             "domain.firmware.bootloader.bios.useSerial"};
static const struct virt_fill efi = {"firmware.preferredEfi", "domain.firmware.bootloader.efi"};
static const struct virt_fill secure_boot = {"firmware.preferredUseSecureBoot",
                                             "domain.firmware.bootloader.efi.secureBoot"};

static void apply_firmware(struct kb_arena *arena, const struct instancetype_vm_preference_spec *from,
                           struct kv_vmi_spec *spec)
{
    const struct instancetype_firmware_preferences *wanted = from->firmware;
    if (!wanted)
        return;
    if (!spec->domain.firmware)
        spec->domain.firmware = kb_arena_one(arena, struct kv_firmware);
    if (!spec->domain.firmware->bootloader)
        spec->domain.firmware->bootloader = kb_arena_one(arena, struct kv_bootloader);
    struct kv_bootloader *boot = spec->domain.firmware->bootloader;
    if (is_true(wanted->preferred_use_bios) && !boot->bios && !boot->efi)
        boot->bios = kb_arena_one(arena, struct kv_bios);
    virt_fill(arena, &bios_serial, PREFERENCE, from, &kv_vmi_spec_type, spec);
    if (!boot->bios && !boot->efi && wanted->preferred_efi) {
        virt_fill(arena, &efi, PREFERENCE, from, &kv_vmi_spec_type, spec);
        return; /* the two older members don't count beside this one */
    }
    if (is_true(wanted->preferred_use_efi) && !boot->bios && !boot->efi)
        boot->efi = kb_arena_one(arena, struct kv_efi);
    virt_fill(arena, &secure_boot, PREFERENCE, from, &kv_vmi_spec_type, spec);
}

/* ---- clock, machine and what else there is ---- */

static const struct virt_fill clock_offset[] = {
    {"clock.preferredClockOffset.utc", "domain.clock.utc"},
    {"clock.preferredClockOffset.timezone", "domain.clock.timezone"},
};
static const struct virt_fill clock_timer = {"clock.preferredTimer", "domain.clock.timer"};

static void apply_clock(struct kb_arena *arena, const struct instancetype_vm_preference_spec *from,
                        struct kv_vmi_spec *spec)
{
    if (!from->clock)
        return;
    if (!spec->domain.clock)
        spec->domain.clock = kb_arena_one(arena, struct kv_clock);
    if (!spec->domain.clock->utc && !spec->domain.clock->timezone) /* both or none: never half of an offset */
        FILL(clock_offset, from, &kv_vmi_spec_type, spec);
    virt_fill(arena, &clock_timer, PREFERENCE, from, &kv_vmi_spec_type, spec);
}

static const struct virt_fill others[] = {
    {"machine.preferredMachineType", "domain.machine.type"},
    {"preferredSubdomain", "subdomain"},
    {"preferredTerminationGracePeriodSeconds", "terminationGracePeriodSeconds"},
    {"preferredArchitecture", "architecture"},
    {"preferredLaunchSecurity", "domain.launchSecurity"},
};

void virt_preference_apply(struct kb_arena *arena, const struct instancetype_vm_preference_spec *preference,
                           struct kv_vmi_spec *spec, struct meta_object_meta *metadata)
{
    apply_cpu_features(arena, preference, spec);
    apply_to_devices(arena, preference, spec);
    apply_features(arena, preference, spec);
    apply_firmware(arena, preference, spec);
    if (preference->machine && !kb_empty(preference->machine->preferred_machine_type) && !spec->domain.machine)
        spec->domain.machine = kb_arena_one(arena, struct kv_machine);
    apply_clock(arena, preference, spec);
    FILL(others, preference, &kv_vmi_spec_type, spec);
    for (size_t i = 0; i < preference->annotations.n; i++) {
        const struct api_string_entry *entry = &preference->annotations.items[i];
        if (!api_map_has(&metadata->annotations, entry->key))
            api_map_set(arena, &metadata->annotations, entry->key, entry->value);
    }
}

void virt_preference_apply_auto_attach(struct kb_arena *arena, const struct instancetype_vm_preference_spec *preference,
                                       struct kv_vmi_spec *spec)
{
    FILL(auto_attach, preference, &kv_vmi_spec_type, spec);
}
