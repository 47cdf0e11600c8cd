/*
 * Rules of the network part of live updates, as functions over specs. Interfaces and networks are told apart by name.
 */
#include "virt/network/live_update.h"

#include "api/codec.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/network/names.h"

static struct kv_interface *interface_of(const struct kv_interface_list *interfaces, const char *name)
{
    api_list_foreach (interface, interfaces)
        if (kb_streq(interface->name, name))
            return interface;
    return NULL;
}

static bool is_absent(const struct kv_interface *interface)
{
    return interface->state && kb_streq(interface->state, VIRT_INTERFACE_ABSENT);
}

/* ---- restart ---- */

static bool same_but_state(const struct kv_interface *a, const struct kv_interface *b)
{
    struct kv_interface left = *a, right = *b;
    left.state = right.state = "";
    return api_equal(&kv_interface_type, &left, &right);
}

static bool same_but_nad(struct kb_arena *arena, const struct kv_network *a, const struct kv_network *b)
{
    struct kv_network *left = api_clone(arena, &kv_network_type, a), *right = api_clone(arena, &kv_network_type, b);
    if (left->multus)
        left->multus->network_name = "";
    if (right->multus)
        right->multus->network_name = "";
    return api_equal(&kv_network_type, left, right);
}

static bool has_pod_network(const struct kv_network_list *networks)
{
    api_list_foreach (network, networks)
        if (network->pod)
            return true;
    return false;
}

bool virt_network_needs_restart(struct kb_arena *arena, const struct kv_vmi_spec *desired,
                                const struct kv_vmi_spec *current)
{
    api_list_foreach (interface, &current->domain.devices.interfaces) {
        const struct kv_interface *wanted = interface_of(&desired->domain.devices.interfaces, interface->name);
        if (!wanted || !same_but_state(wanted, interface))
            return true;
    }
    if (has_pod_network(&desired->networks) && !has_pod_network(&current->networks))
        return true;
    api_list_foreach (network, &current->networks) {
        const struct kv_network *wanted = virt_network(&desired->networks, network->name);
        if (!wanted || !same_but_nad(arena, wanted, network))
            return true;
    }
    return false;
}

/* ---- the VMI ---- */

/* The first network that Multus has reported on tells; as long as none has, the names may be the old ones. */
static bool may_have_ordinal_names(const struct kv_vmi *vmi)
{
    bool any = false;
    api_list_foreach (network, &vmi->spec.networks) {
        if (!virt_network_is_secondary(network))
            continue;
        const struct kv_vmi_network_interface *status = virt_interface_status(vmi, network->name);
        if (status && !kb_empty(status->pod_interface_name))
            return virt_pod_interface_is_ordinal(status->pod_interface_name);
        any = true;
    }
    return any;
}

static bool is_pluggable(const struct kv_interface *interface)
{
    return !is_absent(interface) && (interface->bridge || interface->sriov);
}

static void plug(struct kb_arena *arena, const struct kv_vmi_spec *desired, const struct kv_interface *interface,
                 struct kv_vmi_spec *to)
{
    const struct kv_network *network = virt_network(&desired->networks, interface->name);
    if (network) /* one without is refused by the webhook, and not judged here */
        api_clone_into(arena, &kv_network_type, network, kb_vec_push(arena, &to->networks));
    api_clone_into(arena, &kv_interface_type, interface, kb_vec_push(arena, &to->domain.devices.interfaces));
}

static void follow(struct kb_arena *arena, const struct kv_vmi_spec *desired, struct kv_vmi *vmi)
{
    bool ordinal = may_have_ordinal_names(vmi);
    size_t n = vmi->spec.domain.devices.interfaces.n; /* those plugged here need nothing more */
    api_list_foreach (wanted, &desired->domain.devices.interfaces) {
        const struct kv_interface_list before = {.n = n, .items = vmi->spec.domain.devices.interfaces.items};
        struct kv_interface *present = interface_of(&before, wanted->name);
        if (!present && is_pluggable(wanted))
            plug(arena, desired, wanted, &vmi->spec);
        else if (present && !is_absent(present) && !(ordinal && is_absent(wanted)))
            present->state = wanted->state;
    }
}

/* Networks that an interface names, in the interfaces' order. */
static void keep_networks_of(struct kb_arena *arena, const struct kv_interface_list *interfaces,
                             struct kv_network_list *networks)
{
    struct kv_network_list kept = {0};
    api_list_foreach (interface, interfaces) {
        const struct kv_network *network = virt_network(networks, interface->name);
        if (network)
            *kb_vec_push(arena, &kept) = *network;
    }
    *networks = kept;
}

static void follow_nads(const struct kv_vmi_spec *desired, struct kv_vmi_spec *spec)
{
    api_list_foreach (network, &spec->networks) {
        const struct kv_network *wanted = virt_network(&desired->networks, network->name);
        if (wanted && wanted->multus && network->multus)
            network->multus->network_name = wanted->multus->network_name;
    }
}

void virt_network_sync_vmi(struct kb_arena *arena, const struct kv_vmi_spec *desired, struct kv_vmi *vmi)
{
    struct kv_interface_list *interfaces = &vmi->spec.domain.devices.interfaces;
    follow(arena, desired, vmi);
    for (size_t i = interfaces->n; i-- > 0;)
        if (is_absent(&interfaces->items[i]) && !virt_interface_status(vmi, interfaces->items[i].name))
            kb_vec_remove(interfaces, i);
    keep_networks_of(arena, interfaces, &vmi->spec.networks);
    follow_nads(desired, &vmi->spec);
}

void virt_network_forget_detached(struct kb_arena *arena, struct kv_vmi_spec *template, const struct kv_vmi *vmi)
{
    struct kv_interface_list *interfaces = &template->domain.devices.interfaces;
    for (size_t i = interfaces->n; i-- > 0;) {
        const char *name = interfaces->items[i].name;
        bool known =
            vmi && (interface_of(&vmi->spec.domain.devices.interfaces, name) || virt_interface_status(vmi, name));
        if (is_absent(&interfaces->items[i]) && !known)
            kb_vec_remove(interfaces, i);
    }
    keep_networks_of(arena, interfaces, &template->networks);
}
