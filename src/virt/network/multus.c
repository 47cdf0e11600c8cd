/*
 * Annotations about networks, from the VMI's interfaces and networks and from what Multus reported.
 */
#include "virt/network/multus.h"

#include "api/codec.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/names.h"
#include "virt/network/names.h"
#include <stdlib.h>

#define DEFAULT_NETWORK "v1.multus-cni.io/default-network"
#define NETWORK_INFO    "kubevirt.io/network-info" /* read by sidecars and virt-launcher through the downward API */

/* Traffic that comes from this bridge leaves the Pod: for the proxy of a service mesh. Old and new name. */
static const char *const mesh_annotations[] = {"traffic.sidecar.istio.io/kubevirtInterfaces",
                                               "istio.io/reroute-virtual-interfaces"};
#define MESH_BRIDGE "k6t-eth0"

struct virt_nad_name virt_nad_name(struct kb_arena *arena, const char *vmi_namespace, const char *network_name)
{
    const char *slash = strchr(network_name, '/');

    if (!slash)
        return (struct virt_nad_name){vmi_namespace, network_name};
    return (struct virt_nad_name){kb_arena_strndup(arena, network_name, (size_t)(slash - network_name)), slash + 1};
}

const struct kv_interface_binding_plugin *virt_binding_plugin(const struct virt_config *config, const char *name)
{
    if (!config->spec->network)
        return NULL;
    api_list_foreach (entry, &config->spec->network->binding)
        if (kb_streq(entry->key, name))
            return &entry->value;
    return NULL;
}

/* ---- interfaces and their networks ---- */

typedef bool (*interface_filter)(const struct kv_vmi *vmi, const struct kv_interface *interface);

static struct kv_interface_list select_interfaces(struct kb_arena *arena, const struct kv_vmi *vmi,
                                                  interface_filter filter)
{
    struct kv_interface_list selected = {0};

    api_list_foreach (interface, &vmi->spec.domain.devices.interfaces)
        if (filter(vmi, interface))
            *kb_vec_push(arena, &selected) = *interface;
    return selected;
}

/* In the order of the interfaces. */
static struct kv_network_list networks_of(struct kb_arena *arena, const struct kv_vmi *vmi,
                                          const struct kv_interface_list *interfaces)
{
    struct kv_network_list networks = {0};

    api_list_foreach (interface, interfaces) {
        const struct kv_network *network = virt_network(&vmi->spec.networks, interface->name);

        if (network)
            *kb_vec_push(arena, &networks) = *network;
    }
    return networks;
}

static const struct kv_interface *interface_named(const struct kv_interface_list *interfaces, const char *name)
{
    api_list_foreach (interface, interfaces)
        if (kb_streq(interface->name, name))
            return interface;
    return NULL;
}

static bool is_not_absent(const struct kv_vmi *vmi, const struct kv_interface *interface)
{
    (void)vmi;
    return !kb_streq(interface->state, VIRT_INTERFACE_ABSENT);
}

/* SR-IOV devices come with a new Pod only. */
static bool is_plugged_in_place(const struct kv_vmi *vmi, const struct kv_interface *interface)
{
    if (!is_not_absent(vmi, interface))
        return false;
    return !interface->sriov || virt_interface_status(vmi, interface->name);
}

/* ---- the list of networks ---- */

struct selection {
    size_t n;
    struct nad_network_selection_element *items;
};

static void add_attachment(struct kb_arena *arena, struct selection *selection, const struct kv_vmi *vmi,
                           const struct kv_network *network, const struct kv_interface *interface,
                           const char *pod_interface)
{
    const struct virt_nad_name nad = virt_nad_name(arena, vmi->metadata.namespace, network->multus->network_name);
    struct nad_network_selection_element *element = kb_vec_push(arena, selection);

    element->name = nad.name;
    element->namespace = nad.namespace_;
    element->mac = interface ? interface->mac_address : "";
    element->interface = pod_interface;
}

static int add_binding(struct kb_arena *arena, struct selection *selection, const struct virt_config *config,
                       const struct kv_vmi *vmi, const struct kv_interface *interface, struct kube_error *reterr)
{
    const struct kv_interface_binding_plugin *plugin = virt_binding_plugin(config, interface->binding->name);
    struct kb_strbuf arguments = {.arena = arena};
    struct nad_network_selection_element *element;
    struct virt_nad_name nad;

    if (!plugin)
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "unable to find the network binding plugin '%s' in Kubevirt configuration",
                              interface->binding->name);
    if (kb_empty(plugin->network_attachment_definition))
        return 0;
    nad = virt_nad_name(arena, vmi->metadata.namespace, plugin->network_attachment_definition);
    kb_strbuf_puts(&arguments, "{\"logicNetworkName\":");
    kb_strbuf_json_string(&arguments, interface->name, strlen(interface->name));
    kb_strbuf_putc(&arguments, '}');
    element = kb_vec_push(arena, selection);
    element->name = nad.name;
    element->namespace = nad.namespace_;
    element->cni_args = kb_strbuf_text(&arguments);
    return 0;
}

/* "" when there is nothing to ask for. */
static int networks_text(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                         const struct kv_interface_list *interfaces, const struct kv_network_list *networks,
                         bool ordinal, const char **ret, struct kube_error *reterr)
{
    struct selection selection = {0};
    struct kb_strbuf text = {.arena = arena};

    api_list_foreach (network, networks) {
        const struct kv_interface *interface = interface_named(interfaces, network->name);

        if (virt_network_is_secondary(network))
            add_attachment(arena, &selection, vmi, network, interface,
                           virt_pod_interface(arena, networks, network->name, ordinal));
        if (interface && interface->binding && add_binding(arena, &selection, config, vmi, interface, reterr) < 0)
            return -1;
    }
    for (size_t i = 0; i < selection.n; i++) {
        kb_strbuf_putc(&text, i == 0 ? '[' : ',');
        api_encode(&nad_network_selection_element_type, &selection.items[i], 0, &text);
    }
    if (selection.n > 0)
        kb_strbuf_putc(&text, ']');
    *ret = kb_strbuf_text(&text);
    return 0;
}

/* ---- new Pods ---- */

static void set_mesh_bridge(struct kb_arena *arena, const struct kv_vmi *vmi, struct api_string_map *annotations)
{
    bool masquerade = false;

    api_list_foreach (interface, &vmi->spec.domain.devices.interfaces)
        masquerade = masquerade || interface->masquerade;
    for (size_t i = 0; masquerade && i < KB_ARRAY_LEN(mesh_annotations); i++)
        api_map_set(arena, annotations, mesh_annotations[i], MESH_BRIDGE);
}

int virt_new_pod_networks(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                          struct api_string_map *annotations, struct kube_error *reterr)
{
    const struct kv_interface_list interfaces = select_interfaces(arena, vmi, is_not_absent);
    const struct kv_network_list networks = networks_of(arena, vmi, &interfaces);
    const char *text;

    if (networks_text(arena, config, vmi, &interfaces, &networks, false, &text, reterr) < 0)
        return -1;
    if (*text)
        api_map_set(arena, annotations, VIRT_ANNOTATION_NETWORKS, text);
    api_list_foreach (network, &vmi->spec.networks) {
        if (!network->multus || !network->multus->default_)
            continue;
        api_map_set(arena, annotations, DEFAULT_NETWORK, network->multus->network_name);
        break;
    }
    set_mesh_bridge(arena, vmi, annotations);
    return 0;
}

int virt_target_pod_networks(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                             const struct core_pod *source, struct api_string_map *annotations,
                             struct kube_error *reterr)
{
    const struct virt_network_statuses statuses = virt_pod_network_statuses(arena, source);
    const char *text;

    if (virt_gate(config, VIRT_GATE_SECONDARY_INTERFACE_NAMING_UPGRADE) || !virt_pod_has_ordinal_names(&statuses))
        return 0;
    if (networks_text(arena, config, vmi, &vmi->spec.domain.devices.interfaces, &vmi->spec.networks, true, &text,
                      reterr) < 0)
        return -1;
    api_map_set(arena, annotations, VIRT_ANNOTATION_NETWORKS, text);
    return 0;
}

/* ---- running Pods ---- */

struct device {
    const char *network;
    const struct nad_network_status *status;
};

static int by_network(const void *a, const void *b)
{
    const struct device *left = a, *right = b;

    return strcmp(left->network, right->network);
}

static void put_device(struct kb_strbuf *text, const struct device *device)
{
    const struct nad_network_status *status = device->status;

    kb_strbuf_puts(text, "{\"network\":");
    kb_strbuf_json_string(text, device->network, strlen(device->network));
    if (status->device_info) {
        kb_strbuf_puts(text, ",\"deviceInfo\":");
        api_encode(&nad_device_info_type, status->device_info, 0, text);
    }
    if (*status->mac) {
        kb_strbuf_puts(text, ",\"mac\":");
        kb_strbuf_json_string(text, status->mac, strlen(status->mac));
    }
    if (status->mtu != 0)
        kb_strbuf_printf(text, ",\"mtu\":%lld", (long long)status->mtu);
    kb_strbuf_putc(text, '}');
}

static bool tells_of_device(const struct virt_config *config, const struct kv_interface *interface)
{
    const struct kv_interface_binding_plugin *plugin =
        interface->binding ? virt_binding_plugin(config, interface->binding->name) : NULL;

    return interface->sriov || (plugin && kb_streq(plugin->downward_api, "device-info"));
}

static void set_network_info(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                             const struct virt_network_statuses *statuses, struct api_string_map *annotations)
{
    const bool ordinal = virt_pod_has_ordinal_names(statuses);
    struct {
        size_t n;
        struct device *items;
    } devices = {0};
    struct kb_strbuf text = {.arena = arena};

    api_list_foreach (interface, &vmi->spec.domain.devices.interfaces) {
        const char *pod_interface;
        const struct nad_network_status *status;

        if (!tells_of_device(config, interface))
            continue;
        pod_interface = virt_pod_interface(arena, &vmi->spec.networks, interface->name, ordinal);
        status = pod_interface ? virt_network_status(statuses, pod_interface) : NULL;
        if (status)
            *kb_vec_push(arena, &devices) = (struct device){interface->name, status};
    }
    if (devices.n == 0)
        return;
    qsort(devices.items, devices.n, sizeof(*devices.items), by_network);
    kb_strbuf_puts(&text, "{\"interfaces\":");
    for (size_t i = 0; i < devices.n; i++) {
        kb_strbuf_putc(&text, i == 0 ? '[' : ',');
        put_device(&text, &devices.items[i]);
    }
    kb_strbuf_puts(&text, "]}");
    api_map_set(arena, annotations, NETWORK_INFO, kb_strbuf_text(&text));
}

static bool has_change(const struct kv_vmi *vmi, const struct kv_interface_list *plugged)
{
    api_list_foreach (interface, &vmi->spec.domain.devices.interfaces)
        if (!is_not_absent(vmi, interface))
            return true;
    api_list_foreach (interface, plugged)
        if (!virt_interface_status(vmi, interface->name))
            return true;
    return false;
}

void virt_active_pod_networks(struct kb_arena *arena, const struct virt_config *config, const struct kv_vmi *vmi,
                              const struct core_pod *pod, struct api_string_map *annotations)
{
    const struct virt_network_statuses statuses = virt_pod_network_statuses(arena, pod);
    const struct kv_interface_list interfaces = select_interfaces(arena, vmi, is_plugged_in_place);
    const struct kv_network_list networks = networks_of(arena, vmi, &interfaces);
    const char *present = api_map_get(&pod->metadata.annotations, VIRT_ANNOTATION_NETWORKS);
    const char *text;

    set_network_info(arena, config, vmi, &statuses, annotations);
    if (!has_change(vmi, &interfaces))
        return;
    if (networks_text(arena, config, vmi, &interfaces, &networks, virt_pod_has_ordinal_names(&statuses), &text, NULL) <
        0)
        return; /* the VMI's Pod was made without the plug-in that it names now: it stays as it is */
    if (!kb_streq(text, present ? present : ""))
        api_map_set(arena, annotations, VIRT_ANNOTATION_NETWORKS, text);
}
