/*
 * The launcher Pod of a VMI, as a pure function: same input, same bytes, no lock, no clock. The controllers and the
 * command `virt-controller render` call the same function.
 *
 * Source of the rules: launcher-pod.md (the reference's pkg/virt-controller/services, pkg/hypervisor, pkg/network/pod,
 * pkg/storage ...).
 */
#ifndef VIRT_LAUNCHER_LAUNCHER_H
#define VIRT_LAUNCHER_LAUNCHER_H

#include "api/types/core.h"
#include "api/types/kv.h"
#include "api/types/nad.h"
#include "base/error.h"
#include "virt/config/config.h"

/* Where things are, from the command line of virt-controller. */
struct virt_launcher_settings {
    const char *launcher_image;
    const char *exporter_image;
    const char *image_pull_secret;
    const char *share_dir; /* --kubevirt-share-dir */
    const char *ephemeral_disk_dir;
    const char *container_disk_dir;
    const char *hotplug_disk_dir;
    int qemu_timeout_seconds;       /* base; `qemu_timeout_jitter` of the input is added */
    const char *sidecar_shim_image; /* env SIDECAR_SHIM_IMAGE; "" */
    const char *hypervisor;         /* as configured when the process started: what device Pods ask for does not change
                                       while it runs; NULL: as configured now */
};
extern const struct virt_launcher_settings virt_launcher_default_settings;

/*
 * What rendering looks up. Each function returns an object that lives as long as the arena, or NULL when there is none;
 * it sets *reterr and returns NULL when the look-up itself failed. All may be NULL pointers: nothing is there.
 */
struct virt_launcher_lookups {
    const struct core_pvc *(*pvc)(void *userdata, const char *namespace_, const char *name, struct kube_error *reterr);
    const struct nad_network_attachment_definition *(*nad)(void *userdata, const char *namespace_, const char *name,
                                                           struct kube_error *reterr);
    const struct core_config_map *(*config_map)(void *userdata, const char *namespace_, const char *name,
                                                struct kube_error *reterr);
    const struct core_namespace *(*namespace_)(void *userdata, const char *name, struct kube_error *reterr);
    /* All quotas of a namespace. */
    size_t (*quotas)(void *userdata, const char *namespace_, const struct core_resource_quota *const **ret);
    void *userdata;
};

enum virt_launcher_mode {
    VIRT_LAUNCHER_NORMAL,
    VIRT_LAUNCHER_TEMPORARY, /* stand-in Pod that makes WaitForFirstConsumer claims bind */
    VIRT_LAUNCHER_MIGRATION_TARGET,
};

struct virt_launcher_input {
    const struct virt_config *config;
    const struct virt_launcher_settings *settings;
    const struct kv_vmi *vmi;
    const struct virt_launcher_lookups *lookups;
    enum virt_launcher_mode mode;
    int qemu_timeout_jitter; /* 0..119, drawn by the caller */
    const char
        *backend_storage_claim; /* claim of persistent TPM/EFI/CBT state; "" or NULL when not needed or not there */
    const struct core_pod *source_pod; /* VIRT_LAUNCHER_MIGRATION_TARGET */
};

#define VIRT_REASON_PVC_NOT_FOUND "PvcNotFound"
/* Errors: KUBE_ERROR_INVALID with the reference's text; reason PvcNotFound when a claim is missing. The Pod has no
 * namespace (as in the reference). Its structs, and the lists that controllers add to, are in `arena`; texts and what
 * is copied whole from the VMI (DNS, probe handlers) are borrowed from the input: it must live as long as the Pod. */
int virt_launcher_pod(struct kb_arena *arena, const struct virt_launcher_input *input, struct core_pod **ret,
                      struct kube_error *reterr);

/* ---- the sum behind the resources, term by term: for render --explain-resources, and status.memory.memoryOverhead
 * ---- */

struct virt_resource_term {
    const char *resource; /* "memory", "cpu", ... */
    bool limit;           /* request otherwise */
    const char *rule;     /* "guest memory", "page tables", "vCPUs" ... */
    const char *quantity; /* what the term adds, signed */
};
struct virt_resource_explanation {
    size_t n;
    struct virt_resource_term *items;
};
int virt_launcher_explain(struct kb_arena *arena, const struct virt_launcher_input *input,
                          struct virt_resource_explanation *ret, struct kube_error *reterr);
/* Bytes of memory that the launcher needs beside the guest's. */
int64_t virt_launcher_memory_overhead(const struct virt_config *config, const struct kv_vmi *vmi);

/* ---- hotplug Pods ---- */

struct virt_hotplug_volume {
    const struct kv_volume *volume;
    const struct core_pvc *pvc;
};
/* Holds the claims of hotplugged volumes on the launcher's node. */
int virt_hotplug_attachment_pod(struct kb_arena *arena, const struct virt_launcher_input *input,
                                const struct core_pod *launcher, const struct virt_hotplug_volume *volumes, size_t n,
                                struct core_pod **ret, struct kube_error *reterr);
/* Makes a WaitForFirstConsumer claim of a hotplugged volume bind near the launcher. */
int virt_hotplug_trigger_pod(struct kb_arena *arena, const struct virt_launcher_input *input,
                             const struct core_pod *launcher, const struct virt_hotplug_volume *volume,
                             struct core_pod **ret, struct kube_error *reterr);

/* ---- rules that controllers share with rendering ---- */

bool virt_vmi_is_non_root(const struct kv_vmi *vmi);
bool virt_vmi_needs_backend_storage(const struct kv_vmi *vmi);
int64_t virt_vmi_vcpus(const struct kv_vmi *vmi); /* sockets * cores * threads of those given; 1 without cpu struct */
/* What the reference's rendering leaves in the VMI, whose commands it shares with the Pod: exec probes run through
 * virt-probe from then on. A command that does so already stays. `vmi` is the caller's own. */
void virt_vmi_wrap_probes(struct kb_arena *arena, struct kv_vmi *vmi);
/* Pod host name of a VMI. */
const char *virt_vmi_hostname(struct kb_arena *arena, const struct kv_vmi *vmi);
/* Annotations by which Velero freezes the guest around backups; none when annotation kubevirt.io/skip-backup-hooks of
 * the VMI - or, where the VMI has none, of the CR - says so. Rendering gives no CR; the later sync of a running Pod
 * does. */
#define VIRT_N_BACKUP_HOOK_ANNOTATIONS 5
extern const char *const virt_backup_hook_annotations[VIRT_N_BACKUP_HOOK_ANNOTATIONS]; /* their keys */
void virt_backup_hook_pod_annotations(struct kb_arena *arena, const struct kv_kube_virt *kubevirt,
                                      const struct kv_vmi *vmi, struct api_string_map *annotations);
/* Annotations that rendering and the later sync of a running Pod both compute: k8s.v1.cni.cncf.io/networks and friends.
 */
int virt_network_pod_annotations(struct kb_arena *arena, const struct virt_launcher_input *input,
                                 struct api_string_map *annotations, struct kube_error *reterr);

#endif
