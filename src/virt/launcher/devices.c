/*
 * Devices that the compute container needs: by the name of a device plug-in's resource, or by a resource claim.
 */
#include "base/strbuf.h"
#include "virt/launcher/resources_internal.h"

#define DEVICE_PREFIX "devices.kubevirt.io/"

/* A GPU or host device, as both come in the same shape. */
struct wanted {
    const char *kind, *name, *claim, *request;
    bool by_claim; /* the gate of its claims is on */
};

static bool has_claim(const struct wanted *device)
{
    return !kb_empty(device->claim) || !kb_empty(device->request);
}

static size_t find_wanted(struct launcher *l, struct wanted **ret)
{
    const struct kv_devices *devices = &l->vmi->spec.domain.devices;
    const bool gpus_by_claim = virt_gate(l->config, VIRT_GATE_GPUS_WITH_DRA);
    const bool others_by_claim = virt_gate(l->config, VIRT_GATE_HOST_DEVICES_WITH_DRA);
    size_t n = 0;

    *ret = kb_arena_many(l->arena, struct wanted, devices->gpus.n + devices->host_devices.n);
    api_list_foreach (gpu, &devices->gpus)
        (*ret)[n++] =
            (struct wanted){"GPU", gpu->device_name, gpu->claim_name, gpu->request_name, .by_claim = gpus_by_claim};
    api_list_foreach (device, &devices->host_devices)
        (*ret)[n++] = (struct wanted){"HostDevice", device->device_name, device->claim_name, device->request_name,
                                      .by_claim = others_by_claim};
    return n;
}

static bool is_permitted(const struct kv_permitted_host_devices *permitted, const char *name)
{
    api_list_foreach (device, &permitted->pci_host_devices)
        if (kb_streq(device->resource_name, name))
            return true;
    api_list_foreach (device, &permitted->mediated_devices)
        if (kb_streq(device->resource_name, name))
            return true;
    api_list_foreach (device, &permitted->usb)
        if (kb_streq(device->resource_name, name))
            return true;
    return false;
}

/* Devices with a claim are checked by whom made the claim. */
static int check_permitted(struct launcher *l, const struct wanted *wanted, size_t n, struct kube_error *reterr)
{
    const struct kv_permitted_host_devices *permitted = l->config->spec->permitted_host_devices;
    struct kb_strbuf faults = {.arena = l->arena};

    for (size_t i = 0; permitted && i < n; i++) {
        const struct wanted *device = &wanted[i];

        if ((device->by_claim && has_claim(device)) || is_permitted(permitted, device->name))
            continue;
        kb_strbuf_printf(&faults, "%s%s %s is not permitted in permittedHostDevices configuration",
                         faults.length > 0 ? " " : "", device->kind, device->name);
    }
    if (faults.length > 0)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s", kb_strbuf_text(&faults));
    return 0;
}

static void add_device(struct launcher *l, struct launcher_devices *devices, const char *resource, const char *rule)
{
    *kb_vec_push(l->arena, &devices->devices) = (struct launcher_device){.resource = resource, .rule = rule};
}

static void add_claim(struct launcher *l, struct launcher_devices *devices, const char *claim, const char *request)
{
    *kb_vec_push(l->arena, &devices->claims) = (struct core_resource_claim){.name = claim, .request = request};
}

/* Where no webhook does it: the resource that a network's definition names. */
static int add_networks(struct launcher *l, struct launcher_devices *devices, struct kube_error *reterr)
{
    const struct virt_launcher_lookups *lookups = l->input->lookups;

    if (virt_gate(l->config, VIRT_GATE_EXTERNAL_NET_RESOURCE_INJECTION))
        return 0;
    api_list_foreach (network, &l->vmi->spec.networks) {
        const struct nad_network_attachment_definition *nad = NULL;
        struct virt_nad_name name;
        struct kube_error error = {0};
        const char *resource;

        if (!network->multus)
            continue;
        name = virt_nad_name(l->arena, l->vmi->metadata.namespace, network->multus->network_name);
        if (lookups && lookups->nad)
            nad = lookups->nad(lookups->userdata, name.namespace_, name.name, &error);
        if (!nad)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "failed to locate network attachment definition %s/%s",
                                  name.namespace_, name.name);
        resource = api_map_get(&nad->metadata.annotations, VIRT_NAD_RESOURCE_NAME);
        if (!kb_empty(resource))
            add_device(l, devices, resource, "network attachment definition");
    }
    return 0;
}

static void add_wanted(struct launcher *l, struct launcher_devices *devices, const struct wanted *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct wanted *device = &wanted[i];

        if (!kb_empty(device->name) && !has_claim(device))
            add_device(l, devices, device->name, device->kind);
        if (kb_empty(device->name) && has_claim(device) && device->by_claim)
            add_claim(l, devices, device->claim, device->request);
    }
}

static void add_network_claims(struct launcher *l, struct launcher_devices *devices)
{
    if (!virt_gate(l->config, VIRT_GATE_NETWORK_DEVICES_WITH_DRA))
        return;
    api_list_foreach (network, &l->vmi->spec.networks)
        if (network->resource_claim)
            add_claim(l, devices, network->resource_claim->claim_name, network->resource_claim->request_name);
}

static void add_special(struct launcher *l, struct launcher_devices *devices)
{
    if (launcher_is_sev(l->vmi))
        add_device(l, devices, DEVICE_PREFIX "sev", "SEV");
    if (launcher_is_tdx(l->vmi))
        add_device(l, devices, DEVICE_PREFIX "tdx", "TDX");
    if (launcher_has_reservation(l->vmi))
        add_device(l, devices, DEVICE_PREFIX "pr-helper", "persistent reservation");
    if (virt_gate(l->config, VIRT_GATE_IOMMUFD))
        add_device(l, devices, DEVICE_PREFIX "iommufd", "gate IOMMUFD");
}

int launcher_find_devices(struct launcher *l, struct launcher_devices *ret, struct kube_error *reterr)
{
    struct wanted *wanted;
    size_t n = find_wanted(l, &wanted);

    *ret = (struct launcher_devices){0};
    if (add_networks(l, ret, reterr) < 0)
        return -1;
    if (check_permitted(l, wanted, n, reterr) < 0)
        return -1;
    add_wanted(l, ret, wanted, n);
    add_network_claims(l, ret);
    add_special(l, ret);
    return 0;
}
