/*
 * Pods that serve hotplugged volumes: the attachment Pod holds their claims on the launcher's node, from where
 * virt-handler takes the disks; the trigger Pod only makes a claim bind that waits for its first consumer. Both belong
 * to the launcher Pod and share its SELinux categories.
 */
#include "api/meta.h"
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include "virt/names.h"
#include <stdlib.h>

#define HOTPLUG_DISK          "hotplug-disk" /* label and container */
#define HOTPLUG_DIR           "/path"
#define TRIGGER_DEVICE        "/dev/hotplugblockdevice"
#define TRIGGER_DIR           "/pvc"
#define LABEL_HOST_NAME       "kubernetes.io/hostname"
#define NO_SELINUX            "none" /* status.selinuxContext on hosts without SELinux */
#define SELINUX_NO_CATEGORIES "s0"

static const int64_t root = 0, no_grace = 0;

/* Taints that the launcher's node may get after the launcher runs there. */
static const char *const tolerated[] = {
    "node.kubernetes.io/unschedulable",   "node.kubernetes.io/network-unavailable", "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure", "node.kubernetes.io/pid-pressure",
};

/* ---- what both have ---- */

/* The level: all behind the third colon of "user:role:type:level". */
static int set_selinux_level(struct core_se_linux_options *options, const struct kv_vmi *vmi, struct kube_error *reterr)
{
    const struct kv_vmim_state *migration = vmi->status.migration_state;
    const char *context = vmi->status.selinux_context, *level;

    if (kb_empty(context) && migration && migration->source_state)
        context = migration->source_state->selinux_context;
    if (kb_empty(context))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "VMI is missing SELinux context");
    if (kb_streq(context, NO_SELINUX))
        return 0;
    level = context;
    for (int colons = 0; level && colons < 3; colons++)
        level = (level = strchr(level, ':')) ? level + 1 : NULL;
    if (!level)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "VMI has invalid SELinux context: %s", context);
    options->level = level;
    return 0;
}

static struct core_container *add_container(struct kb_arena *arena, const struct virt_launcher_input *input,
                                            struct core_pod *pod)
{
    struct core_container *container = kb_vec_push(arena, &pod->spec.containers);
    struct core_volume_mount *mount;

    container->name = HOTPLUG_DISK;
    container->image = input->settings->launcher_image;
    launcher_support_resources(arena, input->config, LAUNCHER_SUPPORT_HOTPLUG, false, &container->resources);
    container->security_context = launcher_unprivileged(arena);
    container->security_context->seccomp_profile = kb_arena_one(arena, struct core_seccomp_profile);
    container->security_context->seccomp_profile->type = "RuntimeDefault";
    container->security_context->se_linux_options = kb_arena_one(arena, struct core_se_linux_options);
    container->security_context->se_linux_options->level = SELINUX_NO_CATEGORIES;
    mount = launcher_container_mount(arena, container, LAUNCHER_HOTPLUG_DISKS, HOTPLUG_DIR);
    mount->mount_propagation = LAUNCHER_HOST_TO_CONTAINER;
    return container;
}

static void add_directory(struct kb_arena *arena, struct core_pod *pod)
{
    struct core_volume *volume = kb_vec_push(arena, &pod->spec.volumes);

    volume->name = LAUNCHER_HOTPLUG_DISKS;
    volume->empty_dir = kb_arena_one(arena, struct core_empty_dir_volume_source);
}

static void add_claim(struct kb_arena *arena, struct core_pod *pod, const char *name, const char *claim)
{
    struct core_volume *volume = kb_vec_push(arena, &pod->spec.volumes);

    volume->name = name;
    volume->persistent_volume_claim = kb_arena_one(arena, struct core_pvc_volume_source);
    volume->persistent_volume_claim->claim_name = claim;
}

static void add_device(struct kb_arena *arena, struct core_container *container, const char *name, const char *path)
{
    *kb_vec_push(arena, &container->volume_devices) = (struct core_volume_device){.name = name, .device_path = path};
}

/* Everything but volumes and placement. */
static int start_pod(struct kb_arena *arena, const struct virt_launcher_input *input, const struct core_pod *launcher,
                     struct core_pod **ret, struct kube_error *reterr)
{
    struct core_pod *pod = kb_arena_one(arena, struct core_pod);
    struct core_container *container;

    pod->api_version = "v1";
    pod->kind = "Pod";
    pod->metadata.generate_name = "hp-volume-";
    api_add_controller(arena, &pod->metadata, &core_pod_type, launcher);
    api_map_set(arena, &pod->metadata.labels, VIRT_LABEL_APP, HOTPLUG_DISK);
    pod->spec.termination_grace_period_seconds = &no_grace;
    pod->spec.affinity = kb_arena_one(arena, struct core_affinity);
    container = add_container(arena, input, pod);
    if (set_selinux_level(container->security_context->se_linux_options, input->vmi, reterr) < 0)
        return -1;
    *ret = pod;
    return 0;
}

/* ---- the attachment Pod ---- */

static int by_key(const void *a, const void *b)
{
    const struct core_toleration *left = a, *right = b;

    return strcmp(left->key ? left->key : "", right->key ? right->key : "");
}

static bool same_toleration(const struct core_toleration *a, const struct core_toleration *b)
{
    /* As Go compares them: of the seconds, whether both have none. */
    return by_key(a, b) == 0 && kb_streq_null(a->operator, b->operator) && kb_streq_null(a->value, b->value) &&
           kb_streq_null(a->effect, b->effect) && a->toleration_seconds == b->toleration_seconds;
}

/* Sorted by key (those of one key in the order they came), without equal neighbours. */
static void tolerate(struct kb_arena *arena, struct core_pod *pod, const struct core_pod *launcher)
{
    struct core_toleration_list all = {0};

    for (size_t i = 0; i < KB_ARRAY_LEN(tolerated); i++)
        *kb_vec_push(arena, &all) =
            (struct core_toleration){.key = tolerated[i], .operator= "Exists", .effect = "NoSchedule", .value = ""};
    api_list_foreach (toleration, &launcher->spec.tolerations)
        *kb_vec_push(arena, &all) = *toleration;
    for (size_t i = 1; i < all.n; i++)
        for (size_t j = i; j > 0 && by_key(&all.items[j - 1], &all.items[j]) > 0; j--) {
            struct core_toleration swapped = all.items[j];

            all.items[j] = all.items[j - 1];
            all.items[j - 1] = swapped;
        }
    api_list_foreach (toleration, &all)
        if (toleration == all.items || !same_toleration(toleration - 1, toleration))
            *kb_vec_push(arena, &pod->spec.tolerations) = *toleration;
}

static void stay_on_node(struct kb_arena *arena, struct core_pod *pod, const char *node)
{
    struct core_node_affinity *affinity = kb_arena_one(arena, struct core_node_affinity);
    struct core_node_selector *required = kb_arena_one(arena, struct core_node_selector);
    struct core_node_selector_term *term = kb_vec_push(arena, &required->node_selector_terms);
    struct core_node_selector_requirement *requirement = kb_vec_push(arena, &term->match_expressions);

    requirement->key = LABEL_HOST_NAME;
    requirement->operator= "In";
    api_strings_add(arena, &requirement->values, node);
    affinity->required_during_scheduling_ignored_during_execution = required;
    pod->spec.affinity->node_affinity = affinity;
}

/* virt-handler has mounted it already. */
static bool is_mounted(const struct kv_vmi *vmi, const char *volume)
{
    static const char *const phases[] = {"Ready", "MountedToPod"};
    bool mounted = false;

    api_list_foreach (status, &vmi->status.volume_status)
        if (status->hotplug_volume && kb_streq(status->name, volume))
            mounted = kb_in_list(status->phase, phases, KB_ARRAY_LEN(phases));
    return mounted;
}

static void attach(struct kb_arena *arena, const struct virt_launcher_input *input, struct core_pod *pod,
                   const struct virt_hotplug_volume *hotplug)
{
    struct core_container *container = &pod->spec.containers.items[0];
    const char *name = hotplug->volume->name, *claim = virt_volume_claim(hotplug->volume);

    if (!*claim)
        return;
    add_claim(arena, pod, name, claim);
    if (!hotplug->pvc)
        return;
    if (virt_claim_is_block(hotplug->pvc))
        add_device(arena, container, name,
                   kb_arena_printf(arena, HOTPLUG_DIR "/%s/%s", name, hotplug->pvc->metadata.uid));
    else if (!is_mounted(input->vmi, name))
        launcher_container_mount(arena, container, name, kb_arena_printf(arena, "/%s", name));
}

int virt_hotplug_attachment_pod(struct kb_arena *arena, const struct virt_launcher_input *input,
                                const struct core_pod *launcher, const struct virt_hotplug_volume *volumes, size_t n,
                                struct core_pod **ret, struct kube_error *reterr)
{
    struct core_container *container;
    struct core_pod *pod;

    if (start_pod(arena, input, launcher, &pod, reterr) < 0)
        return -1;
    container = &pod->spec.containers.items[0];
    container->command = LAUNCHER_STRINGS(arena, "/bin/sh", "-c", "/usr/bin/container-disk --copy-path /path/hp");
    container->security_context->se_linux_options->type = input->config->spec->selinux_launcher_type;
    stay_on_node(arena, pod, launcher->spec.node_name);
    tolerate(arena, pod, launcher);
    add_directory(arena, pod);
    for (size_t i = 0; i < n; i++)
        attach(arena, input, pod, &volumes[i]);
    *ret = pod;
    return 0;
}

/* ---- the trigger Pod ---- */

static void stay_near(struct kb_arena *arena, struct core_pod *pod, const struct core_pod *launcher)
{
    struct core_pod_affinity *affinity = kb_arena_one(arena, struct core_pod_affinity);
    struct core_pod_affinity_term *term =
        kb_vec_push(arena, &affinity->required_during_scheduling_ignored_during_execution);

    term->topology_key = LABEL_HOST_NAME;
    term->label_selector = kb_arena_one(arena, struct meta_label_selector);
    term->label_selector->match_labels = launcher->metadata.labels;
    pod->spec.affinity->pod_affinity = affinity;
}

static void use_claim(struct kb_arena *arena, struct core_pod *pod, const struct virt_hotplug_volume *volume)
{
    struct core_container *container = &pod->spec.containers.items[0];

    if (!volume->pvc || !virt_claim_is_block(volume->pvc)) {
        launcher_container_mount(arena, container, volume->volume->name, TRIGGER_DIR);
        return;
    }
    add_device(arena, container, volume->volume->name, TRIGGER_DEVICE);
    pod->spec.security_context = kb_arena_one(arena, struct core_pod_security_context);
    pod->spec.security_context->run_as_user = &root;
}

int virt_hotplug_trigger_pod(struct kb_arena *arena, const struct virt_launcher_input *input,
                             const struct core_pod *launcher, const struct virt_hotplug_volume *volume,
                             struct core_pod **ret, struct kube_error *reterr)
{
    struct core_pod *pod;

    if (start_pod(arena, input, launcher, &pod, reterr) < 0)
        return -1;
    api_map_set(arena, &pod->metadata.annotations, VIRT_ANNOTATION_EPHEMERAL, "true");
    pod->spec.containers.items[0].command = LAUNCHER_STRINGS(arena, "/bin/bash", "-c", "exit", "0");
    stay_near(arena, pod, launcher);
    api_list_foreach (toleration, &launcher->spec.tolerations)
        *kb_vec_push(arena, &pod->spec.tolerations) = *toleration;
    add_claim(arena, pod, volume->volume->name, virt_volume_claim(volume->volume));
    add_directory(arena, pod);
    use_claim(arena, pod, volume);
    *ret = pod;
    return 0;
}
