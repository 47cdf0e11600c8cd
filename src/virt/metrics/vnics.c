/* kubevirt_vm_vnic_info and kubevirt_vmi_vnic_info: interfaces with the network of the same name. */
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"

/* NULL: there is none, or it is neither the Pod's nor a multus one. */
static const char *network_of(const struct kv_vmi_spec *spec, const char *interface)
{
    api_list_foreach (network, &spec->networks) {
        if (!kb_streq(network->name, interface))
            continue;
        if (network->pod)
            return "pod networking";
        return network->multus ? network->multus->network_name : NULL;
    }
    return NULL;
}

static void find_binding(const struct kv_interface *interface, const char **ret_type, const char **ret_name)
{
    *ret_type = "core";
    if (interface->masquerade)
        *ret_name = "masquerade";
    else if (interface->bridge)
        *ret_name = "bridge";
    else if (interface->sriov)
        *ret_name = "sriov";
    else {
        *ret_type = interface->binding ? "plugin" : "";
        *ret_name = interface->binding ? interface->binding->name : "";
    }
}

void metrics_add_vnics(struct kube_exposition *out, const struct kube_metric_family *family,
                       const struct meta_object_meta *meta, const struct kv_vmi_spec *spec)
{
    api_list_foreach (interface, &spec->domain.devices.interfaces) {
        const char *network = network_of(spec, interface->name), *type, *binding;
        if (!network)
            continue;
        find_binding(interface, &type, &binding);
        const char *const values[] = {meta->name,
                                      meta->namespace,
                                      interface->name,
                                      type,
                                      network,
                                      binding,
                                      kb_empty(interface->model) ? "<none>" : interface->model};
        kube_exposition_sample(out, family, values, 1);
    }
}
