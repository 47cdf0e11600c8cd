/*
 * Changes that concern many VMs: classes (whether volumes can be snapshotted, and bound), the cluster's configuration
 * and namespaces (whether changed blocks are tracked). Only what these depend on counts, so that a heartbeat in a
 * status does not put every VM into the queue.
 */
#include "api/types/storage.h"
#include "api/types/volumesnapshot.h"
#include "base/strings.h"
#include "kube/selector.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

static void enqueue_all(struct kube_enqueuer *to, const char *namespace)
{
    struct kube_items vms = kube_lookup_all(kube_enqueuer_request(to), VIRT_VM, namespace);
    for (size_t i = 0; i < vms.n; i++) {
        const struct kv_vm *vm = vms.items[i];
        kube_enqueue(to, vm->metadata.namespace, vm->metadata.name);
    }
}

void vm_map_storage_class(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    (void)self;
    const struct storage_storage_class *old = before, *new = after;
    if (!old || !new || !kb_streq(old->provisioner, new->provisioner))
        enqueue_all(to, NULL);
}

static const char *snapshot_class(const struct cdi_storage_profile *profile)
{
    return profile && profile->status.snapshot_class ? profile->status.snapshot_class : "";
}

void vm_map_storage_profile(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    (void)self;
    if (!kb_streq(snapshot_class(before), snapshot_class(after)))
        enqueue_all(to, NULL);
}

void vm_map_snapshot_class(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    (void)self;
    const struct volumesnapshot_volume_snapshot_class *old = before, *new = after;
    if (!old || !new || !kb_streq(old->driver, new->driver) ||
        api_map_has(&old->metadata.annotations, VM_DEFAULT_SNAPSHOT_CLASS) !=
            api_map_has(&new->metadata.annotations, VM_DEFAULT_SNAPSHOT_CLASS))
        enqueue_all(to, NULL);
}

static bool same_configuration(const struct kv_kube_virt *a, const struct kv_kube_virt *b)
{
    static const char *const members[] = {"changedBlockTrackingLabelSelectors", "developerConfiguration"};
    const struct kv_kube_virt_configuration *x = &a->spec.configuration, *y = &b->spec.configuration;
    for (size_t i = 0; i < KB_ARRAY_LEN(members); i++) {
        const struct api_field *field =
            api_field_find(&kv_kube_virt_configuration_type, members[i], strlen(members[i]));
        if (!api_equal_field(field, x, y))
            return false;
    }
    return true;
}

void vm_map_kubevirt(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    (void)self;
    const struct kv_kube_virt *old = before, *new = after;
    if (old && new && !same_configuration(old, new))
        enqueue_all(to, NULL);
}

void vm_map_namespace(void *self, struct kube_enqueuer *to, const void *before, const void *after)
{
    struct vm_controller *controller = self;
    const struct core_namespace *old = before, *new = after;
    if (!new)
        return;
    const struct virt_config *config = virt_request_config(controller->context, kube_enqueuer_request(to));
    const struct kv_changed_block_tracking_selectors *selectors = config->spec->changed_block_tracking_label_selectors;
    const struct meta_label_selector *selector = selectors ? selectors->namespace_label_selector : NULL;
    bool was_chosen = old && kube_label_selector_matches(selector, &old->metadata.labels);
    if (was_chosen != kube_label_selector_matches(selector, &new->metadata.labels))
        enqueue_all(to, new->metadata.name);
}
