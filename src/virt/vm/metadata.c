/*
 * Metadata that follows a running VM: labels and annotations from the template (and the backup-hook switch from the VM
 * itself) to the VMI, and the PCI topology that a guest was given from the VMI back to the template.
 */
#include "base/strings.h"
#include "virt/follow.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"

#define PCI_TOPOLOGY_VERSION "kubevirt.io/pci-topology-version"
#define PCI_SLOT_COUNT       "kubevirt.io/pci-interface-slot-count"

static const char *always_synced[] = {"descheduler.alpha.kubernetes.io/evict",
                                      "descheduler.alpha.kubernetes.io/prefer-no-eviction"};

int vm_sync_metadata_to_vmi(struct vm_pass *pass, struct kube_error *reterr)
{
    if (!pass->vmi || api_is_being_deleted(&pass->vmi->metadata))
        return 0;
    const struct virt_context *context = pass->context;
    const struct meta_object_meta *template = &pass->vm->spec.template->metadata;
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    struct api_string_map *annotations = &after->metadata.annotations;
    virt_follow(pass->arena, &template->labels, &after->metadata.labels, &context->synced_labels);
    virt_follow(pass->arena, &template->annotations, annotations,
                &(struct api_strings){KB_ARRAY_LEN(always_synced), always_synced});
    virt_follow(pass->arena, &template->annotations, annotations, &context->synced_annotations);
    virt_follow_key(pass->arena, &pass->vm->metadata.annotations, annotations, VIRT_ANNOTATION_SKIP_BACKUP_HOOKS);

    struct kube_json_patch patch = kube_json_patch_new(pass->req);
    bool changed = kube_json_patch_member(&patch, &kv_vmi_type, pass->vmi, after, "metadata.labels", true);
    changed |= kube_json_patch_member(&patch, &kv_vmi_type, pass->vmi, after, "metadata.annotations", true);
    return changed ? vm_json_patch_vmi(pass, &patch, reterr) : 0;
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
