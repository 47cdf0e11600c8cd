/*
 * Names of Pod interfaces.
 */
#include "virt/network/names.h"

#include "api/codec.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/names.h"

#define HASHED_PREFIX "pod"
enum { HASHED_DIGITS = 11 }; /* a kernel's interface name has 15 characters; "-nic" is appended for bridges */

bool virt_network_is_secondary(const struct kv_network *network)
{
    return network->multus && !network->multus->default_;
}

const struct kv_network *virt_default_network(const struct kv_network_list *networks)
{
    api_list_foreach (network, networks)
        if (network->pod || (network->multus && network->multus->default_))
            return network;
    return NULL;
}

const struct kv_network *virt_network(const struct kv_network_list *networks, const char *name)
{
    api_list_foreach (network, networks)
        if (kb_streq(network->name, name))
            return network;
    return NULL;
}

const struct kv_vmi_network_interface *virt_interface_status(const struct kv_vmi *vmi, const char *name)
{
    api_list_foreach (status, &vmi->status.interfaces)
        if (kb_streq(status->name, name))
            return status;
    return NULL;
}

struct virt_network_statuses virt_pod_network_statuses(struct kb_arena *arena, const struct core_pod *pod)
{
    const char *text = api_map_get(&pod->metadata.annotations, VIRT_ANNOTATION_NETWORK_STATUS);
    struct virt_network_statuses statuses = {0};
    yyjson_doc *doc;
    yyjson_val *item;
    yyjson_arr_iter iterator;

    if (kb_empty(text) || api_parse(text, strlen(text), &doc, NULL) < 0)
        return statuses;
    yyjson_arr_iter_init(yyjson_doc_get_root(doc), &iterator);
    while ((item = yyjson_arr_iter_next(&iterator))) {
        struct nad_network_status *status;

        if (api_decode_value(arena, &nad_network_status_type, item, &status, NULL) == 0)
            *kb_vec_push(arena, &statuses) = *status;
    }
    yyjson_doc_free(doc);
    return statuses;
}

const struct nad_network_status *virt_network_status(const struct virt_network_statuses *statuses,
                                                     const char *pod_interface)
{
    for (size_t i = statuses->n; i-- > 0;)
        if (kb_streq(statuses->items[i].interface, pod_interface))
            return &statuses->items[i];
    return NULL;
}

bool virt_pod_interface_is_ordinal(const char *pod_interface)
{
    const char *digits = kb_after_prefix(pod_interface, "net");

    return digits && *digits && strspn(digits, "0123456789") == strlen(digits);
}

bool virt_pod_has_ordinal_names(const struct virt_network_statuses *statuses)
{
    for (size_t i = 0; i < statuses->n; i++)
        if (virt_pod_interface_is_ordinal(statuses->items[i].interface))
            return true;
    return false;
}

const char *virt_hashed_pod_interface(struct kb_arena *arena, const char *network)
{
    char hash[KB_SHA256_HEX];

    kb_sha256_hex(network, strlen(network), hash);
    return kb_arena_printf(arena, HASHED_PREFIX "%.*s", HASHED_DIGITS, hash);
}

const char *virt_pod_interface(struct kb_arena *arena, const struct kv_network_list *networks, const char *network,
                               bool ordinal)
{
    const struct kv_network *primary = virt_default_network(networks);
    size_t number = 0;

    if (primary && kb_streq(primary->name, network))
        return VIRT_PRIMARY_POD_INTERFACE;
    api_list_foreach (candidate, networks) {
        if (!virt_network_is_secondary(candidate))
            continue;
        number++;
        if (kb_streq(candidate->name, network))
            return ordinal ? kb_arena_printf(arena, "net%zu", number) : virt_hashed_pod_interface(arena, network);
    }
    return NULL;
}
