/* kubevirt_vm_disk_allocated_size_bytes: volumes of a VM's template whose claims are there. */
#include "base/quantity.h"
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"

const struct kube_metric_family metrics_vm_disk_size = {
    "kubevirt_vm_disk_allocated_size_bytes",
    "Allocated disk size of a Virtual Machine in bytes, based on its PersistentVolumeClaim. Includes "
    "persistentvolumeclaim (PVC name), volume_mode (disk presentation mode: Filesystem or Block), and device (disk "
    "name).",
    KUBE_GAUGE,
    {"name", "namespace", "persistentvolumeclaim", "volume_mode", "device"},
};

static int64_t storage_of(const struct core_volume_resource_requirements *resources)
{
    const char *text = api_map_get(&resources->requests, "storage");
    return kb_quantity_value(kb_quantity_of(text ? text : ""));
}

/* What the VM's own template of the DataVolume asks for wins over what became of it. */
static int64_t size_of(const struct kv_vm *vm, const struct core_pvc *pvc, bool is_data_volume)
{
    if (is_data_volume) {
        api_list_foreach (template, &vm->spec.data_volume_templates) {
            if (!kb_streq(template->metadata.name, pvc->metadata.name))
                continue;
            if (template->spec.pvc)
                return storage_of(&template->spec.pvc->resources);
            if (template->spec.storage)
                return storage_of(&template->spec.storage->resources);
        }
    }
    return storage_of(&pvc->spec.resources);
}

METRICS_SAMPLER(metrics_sample_disks)
{
    struct metrics_scrape *scrape = state;
    const struct kv_vm *vm = object;
    if (!vm->spec.template)
        return;
    api_list_foreach (volume, &vm->spec.template->spec.volumes) {
        const char *claim = volume->persistent_volume_claim ? volume->persistent_volume_claim->claim_name
                            : volume->data_volume           ? volume->data_volume->name
                                                            : "";
        const struct api_object *found =
            *claim ? kube_store_get(metrics_store(scrape->metrics, VIRT_PVC), vm->metadata.namespace, claim) : NULL;
        if (!found)
            continue;
        const struct core_pvc *pvc = api_object_data(found);
        const char *const values[] = {vm->metadata.name, vm->metadata.namespace, claim,
                                      pvc->spec.volume_mode ? pvc->spec.volume_mode : "", volume->name};
        kube_exposition_sample(out, family, values, (double)size_of(vm, pvc, volume->persistent_volume_claim == NULL));
        api_object_unref(found);
    }
}
