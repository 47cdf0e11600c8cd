/*
 * The working state of one rendering, shared by the files of this folder.
 *
 * virt_launcher_pod (pod.c) runs three stages over `struct launcher`:
 *     facts     launcher_init: what is derived from VMI and configuration once and asked often
 *     parts     sidecars, volumes, containers; each fills its members below, in that order, as later parts count
 * earlier ones assembly  the Pod from the parts Words and numbers that the outside sees stand in words.h. The order of
 * list elements is part of the contract.
 *
 * Memory: new structs are in `arena`; texts and read-only sub-objects are borrowed from the input. Lists that a caller
 * may push onto (containers, volumes, tolerations, maps) are always the arena's own.
 */
#ifndef VIRT_LAUNCHER_INTERNAL_H
#define VIRT_LAUNCHER_INTERNAL_H

#include "api/types/core.h"
#include "api/types/kv.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/launcher/launcher.h"
#include "virt/network/multus.h"
#include "virt/storage/volumes.h"

/* One hook sidecar: asked for by the VMI's annotation, or by a network binding plug-in. */
struct launcher_sidecar {
    const char *image; /* "": the shim image */
    const char *image_pull_policy;
    struct api_strings command, args;
    const char *config_map_name, *config_map_key, *config_map_path; /* name NULL: none */
    const char *pvc_name, *pvc_path, *pvc_shared_path;              /* name NULL: none */
    bool device_info;                                               /* reads the network-info file */
    const char *binding_plugin;                                     /* name of the plug-in, or "" */
};
struct launcher_sidecar_list {
    size_t n;
    struct launcher_sidecar *items;
};

struct launcher {
    struct kb_arena *arena;
    const struct virt_launcher_input *input;

    /* ---- shortcuts into the input ---- */
    const struct virt_config *config;
    const struct virt_launcher_settings *settings;
    const struct kv_vmi *vmi;

    /* ---- facts ---- */
    bool non_root;
    bool dedicated_cpu; /* domain.cpu.dedicatedCpuPlacement */
    bool guaranteed; /* dedicated CPU or resources of QoS class Guaranteed: support containers get requests = limits */
    bool image_volumes; /* gate ImageVolume */
    bool hugepages;     /* domain.memory.hugepages is there */

    /* ---- parts ---- */
    int64_t memory_overhead;                     /* bytes that the launcher needs beside the guest's */
    struct api_string_map digests;               /* volume -> image with digest, for migration targets */
    struct api_string_map reservation_labels;    /* pr.kubevirt.io/<UID of claim> -> "", of persistent reservations */
    struct core_resource_requirements resources; /* of the compute container */
    struct launcher_sidecar_list sidecars;
    uint64_t verbosity; /* of virt-launcher: label of the VMI, or cluster-wide */
    struct core_volume_list volumes;
    struct core_volume_mount_list mounts; /* of the compute container */
    struct core_volume_device_list devices;
    struct api_strings shared_paths; /* mount points of ReadWriteMany file systems */
    struct core_container_list containers, init_containers;
};

/* Fills in shortcuts and facts (everything before "parts"). Also for explain and for hotplug Pods. */
int launcher_init(struct launcher *l, struct kb_arena *arena, const struct virt_launcher_input *input,
                  struct kube_error *reterr);

/* ---- facts.c ---- */

bool launcher_is_dedicated_cpu(const struct kv_vmi *vmi);
/* Requests and limits of memory and CPU are equal and not zero (a limit alone counts for both). */
bool launcher_is_guaranteed(const struct kv_vmi *vmi);
/* firmware.kernelBoot.container, or NULL. */
const struct kv_kernel_boot_container *launcher_kernel_boot(const struct kv_vmi *vmi);
bool launcher_has_persistent_tpm(const struct kv_vmi *vmi);
bool launcher_has_persistent_efi(const struct kv_vmi *vmi);
/* Changed block tracking is on, or about to be. */
bool launcher_has_block_tracking(const struct kv_vmi *vmi);
bool launcher_has_sriov(const struct kv_vmi *vmi);
/* A persistent reservation of a LUN disk. */
bool launcher_has_reservation(const struct kv_vmi *vmi);
bool launcher_is_sev(const struct kv_vmi *vmi);    /* SEV or SNP */
bool launcher_is_sev_es(const struct kv_vmi *vmi); /* sev.policy.encryptedState */
bool launcher_is_snp(const struct kv_vmi *vmi);
bool launcher_is_tdx(const struct kv_vmi *vmi);
bool launcher_needs_device_info(const struct kv_interface_binding_plugin *plugin);
int64_t launcher_grace_period(const struct kv_vmi *vmi); /* seconds, without any padding */
const struct kv_volume *launcher_volume_named(const struct kv_vmi *vmi, const char *name); /* the last one, or NULL */
/* A claim of the VMI's namespace. Missing: *ret NULL and 0. */
int launcher_pvc(const struct launcher *l, const char *name, const struct core_pvc **ret, struct kube_error *reterr);

/* ---- digest.c ---- */

int launcher_find_digests(struct launcher *l, struct kube_error *reterr);
/* The image of a volume: by digest when that is known, else `image`. */
const char *launcher_image_of(const struct launcher *l, const char *volume, const char *image);
bool launcher_digest_is_known(const struct launcher *l, const char *volume);

/* ---- metadata.c, spec.c ---- */

/* Labels of persistent reservations; one for each claim. */
int launcher_find_reservations(struct launcher *l, struct kube_error *reterr);
int launcher_metadata(struct launcher *l, struct meta_object_meta *ret, struct kube_error *reterr);
void launcher_spec(struct launcher *l, struct core_pod_spec *spec);

/* ---- sidecar_list.c, sidecar.c ---- */

int launcher_find_sidecars(struct launcher *l, struct kube_error *reterr);
/* Containers of the sidecars, and the volumes that these mount (behind all others). Needs the compute container. */
int launcher_add_sidecars(struct launcher *l, struct kube_error *reterr);

/* ---- volumes*.c ---- */

/* Each appends, and yields what it appended: valid until the next one is. */
struct core_volume *launcher_volume(struct launcher *l, const char *name);
struct core_volume *launcher_empty_dir(struct launcher *l, const char *name);
struct core_volume *launcher_claim_volume(struct launcher *l, const char *name, const char *claim);
struct core_volume *launcher_secret_volume(struct launcher *l, const char *name, const char *secret);
struct core_volume_mount *launcher_mount(struct launcher *l, const char *name, const char *path);
struct core_volume_mount *launcher_mount_read_only(struct launcher *l, const char *name, const char *path);

int launcher_add_volumes(struct launcher *l, struct kube_error *reterr);
void launcher_add_config_volumes(struct launcher *l);
int launcher_add_vmi_volumes(struct launcher *l, struct kube_error *reterr);
void launcher_add_access_credentials(struct launcher *l);
void launcher_add_backend_storage(struct launcher *l);
void launcher_add_image_volumes(struct launcher *l);
/* Where the files of a volume are in the container that mounts it. */
const char *launcher_config_map_path(struct kb_arena *arena, const char *volume);
const char *launcher_secret_path(struct kb_arena *arena, const char *volume);
const char *launcher_downward_api_path(struct kb_arena *arena, const char *volume);

/* ---- containers.c: building blocks ---- */

#define LAUNCHER_STRINGS(arena, ...)                                                                                   \
    launcher_strings((arena), (const char *const[]){__VA_ARGS__},                                                      \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
struct api_strings launcher_strings(struct kb_arena *arena, const char *const *words, size_t n);
void launcher_push_strings(struct kb_arena *arena, struct api_strings *list, const char *const *words, size_t n);
struct core_env_var *launcher_env(struct kb_arena *arena, struct core_container *container, const char *name,
                                  const char *value);
struct core_volume_mount *launcher_container_mount(struct kb_arena *arena, struct core_container *container,
                                                   const char *name, const char *path);
struct core_capabilities *launcher_drop_all(struct kb_arena *arena);
/* User 107, no escalation, no capabilities: containers that need nothing. */
struct core_security_context *launcher_unprivileged(struct kb_arena *arena);
/* A container that runs as the VMI does: its user and, for non-root, a home in the private directory. No capabilities
 * yet. */
struct core_container launcher_vmi_container(struct launcher *l, const char *name, const char *image,
                                             const char *pull_policy);

/* ---- the containers, each in a file of its name ---- */

void launcher_add_compute(struct launcher *l);
void launcher_command(struct launcher *l, struct api_strings *ret);
struct core_probe *launcher_probe(struct launcher *l, const struct kv_probe *probe); /* NULL for NULL */
void launcher_add_container_disks(struct launcher *l, bool init);
void launcher_add_digest_finders(struct launcher *l);
void launcher_add_virtiofs(struct launcher *l);
void launcher_add_console_log(struct launcher *l);
/* ---- resources*.c: what the Pod asks of the node ---- */

/* Of the compute container. Errors: devices that are not permitted, missing NADs. */
int launcher_resources(struct launcher *l, struct core_resource_requirements *ret, struct kube_error *reterr);

/* Containers beside compute; each has a row of default requests and limits that supportContainerResources overrides. */
enum launcher_support {
    LAUNCHER_SUPPORT_CONSOLE_LOG,
    LAUNCHER_SUPPORT_CONTAINER_DISK_BINARY, /* init container that copies the binary */
    LAUNCHER_SUPPORT_CONTAINER_DISK,        /* each container disk, as container or init container */
    LAUNCHER_SUPPORT_VIRTIOFS,
    LAUNCHER_SUPPORT_SIDECAR,
    LAUNCHER_SUPPORT_HOTPLUG,
    LAUNCHER_SUPPORT_EXPORT,
    LAUNCHER_N_SUPPORT
};
/* `guaranteed`: requests become equal to limits (see struct launcher). */
void launcher_support_resources(struct kb_arena *arena, const struct virt_config *config, enum launcher_support type,
                                bool guaranteed, struct core_resource_requirements *ret);

/* ---- scheduling*.c ---- */

/* `ret` is empty. */
void launcher_node_selector(struct launcher *l, struct api_string_map *ret);
/* NULL: none. In the arena; needs l->reservation_labels. */
struct core_affinity *launcher_affinity(struct launcher *l);

#endif
