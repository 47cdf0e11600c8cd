/*
 * Metadata that follows a running VM: labels and annotations from the template (and the backup-hook switch from the VM
 * itself) to the VMI, and the PCI topology that a guest was given from the VMI back to the template.
 */
#include "base/strings.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"

#define PCI_TOPOLOGY_VERSION "kubevirt.io/pci-topology-version"
#define PCI_SLOT_COUNT       "kubevirt.io/pci-interface-slot-count"

static const char *const always_synced[] = {"descheduler.alpha.kubernetes.io/evict",
                                            "descheduler.alpha.kubernetes.io/prefer-no-eviction"};

static void sync_key(struct kb_arena *arena, const struct api_string_map *from, struct api_string_map *to,
                     const char *key)
{
    const char *value = api_map_get(from, key);
    if (value)
        api_map_set(arena, to, key, value);
    else
        api_map_delete(to, key);
}

/* `pattern`: a key, or a prefix and '*'. A bare '*' is ignored: nobody means every key. */
static void sync_pattern(struct kb_arena *arena, const struct api_string_map *from, struct api_string_map *to,
                         const char *pattern)
{
    size_t n = strlen(pattern);
    if (n == 0 || kb_streq(pattern, "*"))
        return;
    if (pattern[n - 1] != '*') {
        sync_key(arena, from, to, pattern);
        return;
    }
    for (size_t i = to->n; i-- > 0;)
        if (strncmp(to->items[i].key, pattern, n - 1) == 0 && !api_map_has(from, to->items[i].key))
            api_map_delete(to, to->items[i].key);
    for (size_t i = 0; i < from->n; i++)
        if (strncmp(from->items[i].key, pattern, n - 1) == 0)
            api_map_set(arena, to, from->items[i].key, from->items[i].value);
}

int vm_sync_metadata_to_vmi(struct vm_pass *pass, struct kube_error *reterr)
{
    if (!pass->vmi || api_is_being_deleted(&pass->vmi->metadata))
        return 0;
    const struct virt_context *context = pass->context;
    const struct meta_object_meta *template = &pass->vm->spec.template->metadata;
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    struct api_string_map *annotations = &after->metadata.annotations;
    for (size_t i = 0; i < context->synced_labels.n; i++)
        sync_pattern(pass->arena, &template->labels, &after->metadata.labels, context->synced_labels.items[i]);
    for (size_t i = 0; i < KB_ARRAY_LEN(always_synced); i++)
        sync_key(pass->arena, &template->annotations, annotations, always_synced[i]);
    for (size_t i = 0; i < context->synced_annotations.n; i++)
        sync_pattern(pass->arena, &template->annotations, annotations, context->synced_annotations.items[i]);
    sync_key(pass->arena, &pass->vm->metadata.annotations, annotations, VIRT_ANNOTATION_SKIP_BACKUP_HOOKS);

    struct kube_json_patch patch = kube_json_patch_new(pass->req);
    bool changed = kube_json_patch_member(&patch, &kv_vmi_type, pass->vmi, after, "metadata.labels", true);
    changed |= kube_json_patch_member(&patch, &kv_vmi_type, pass->vmi, after, "metadata.annotations", true);
    if (!changed)
        return 0;
    const void *answer;
    if (kube_patch(pass->req, &kv_vmi_type, pass->vmi, NULL, KUBE_JSON_PATCH, kube_json_patch_text(&patch), &answer,
                   reterr) < 0)
        return -1;
    pass->vmi = answer;
    return 0;
}

void vm_sync_pci_topology(struct vm_pass *pass)
{
    if (!pass->vmi)
        return;
    const struct api_string_map *from = &pass->vmi->metadata.annotations;
    struct api_string_map *to = &pass->vm->spec.template->metadata.annotations;
    const char *version = api_map_get(from, PCI_TOPOLOGY_VERSION), *present = api_map_get(to, PCI_TOPOLOGY_VERSION);
    if (kb_empty(version) || !kb_empty(present))
        return;
    api_map_set(pass->arena, to, PCI_TOPOLOGY_VERSION, version);
    if (api_map_has(from, PCI_SLOT_COUNT))
        api_map_set(pass->arena, to, PCI_SLOT_COUNT, api_map_get(from, PCI_SLOT_COUNT));
}
