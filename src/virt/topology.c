/*
 * TSC frequencies of nodes, from the labels that virt-handler puts on them.
 */
#include "virt/topology.h"

#include "base/strings.h"
#include "kube/request.h"
#include "virt/config/config.h"
#include "virt/informers.h"
#include "virt/names.h"

#define LABEL_FREQUENCY "cpu-timer.node.kubevirt.io/tsc-frequency"
#define LABEL_SCALABLE  "cpu-timer.node.kubevirt.io/tsc-scalable"

static bool has_invariant_tsc(const struct kv_vmi *vmi)
{
    static const char *const policies[] = {"require", "force"};

    if (!vmi->spec.domain.cpu)
        return false;
    api_list_foreach (feature, &vmi->spec.domain.cpu->features)
        if (kb_streq(feature->name, "invtsc") && kb_in_list(feature->policy, policies, KB_ARRAY_LEN(policies)))
            return true;
    return false;
}

static bool has_reenlightenment(const struct kv_vmi *vmi)
{
    const struct kv_features *features = vmi->spec.domain.features;

    return features && features->hyperv && features->hyperv->reenlightenment &&
           features->hyperv->reenlightenment->enabled && *features->hyperv->reenlightenment->enabled;
}

enum virt_tsc_requirement virt_tsc_requirement(const struct kv_vmi *vmi)
{
    if (has_invariant_tsc(vmi))
        return VIRT_TSC_FOR_BOOT;
    return has_reenlightenment(vmi) ? VIRT_TSC_FOR_MIGRATION : VIRT_TSC_NOT_REQUIRED;
}

enum virt_tsc_requirement virt_tsc_hint_requirement(const struct kv_vmi *vmi)
{
    return kb_streq(vmi->spec.architecture, "amd64") ? virt_tsc_requirement(vmi) : VIRT_TSC_NOT_REQUIRED;
}

static bool is_true(const struct core_node *node, const char *label)
{
    const char *value = api_map_get(&node->metadata.labels, label);

    return value && kb_streq(value, "true");
}

int64_t virt_node_tsc_frequency(const struct core_node *node)
{
    const char *text = api_map_get(&node->metadata.labels, LABEL_FREQUENCY);
    long long frequency;

    return text && kb_parse_int(text, 1, INT64_MAX, &frequency) ? frequency : 0;
}

bool virt_node_tsc_is_scalable(const struct core_node *node)
{
    return is_true(node, LABEL_SCALABLE);
}

static bool is_in_use(struct kube_request *request, const struct core_node *node)
{
    return is_true(node, VIRT_LABEL_SCHEDULABLE) ||
           kube_lookup_index(request, VIRT_VMI, VIRT_INDEX_NODE, node->metadata.name).n > 0;
}

int virt_lowest_tsc_frequency(struct kube_request *request, const struct virt_config *config, int64_t *ret,
                              struct kube_error *reterr)
{
    const struct kv_developer_configuration *developer = config->spec->developer_configuration;
    const int64_t *configured = developer ? developer->minimum_cluster_tsc_frequency : NULL;
    const struct kube_items nodes = kube_lookup_all(request, VIRT_NODE, NULL);

    if (configured && *configured <= 0)
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "the configured minimumClusterTSCFrequency must be greater 0, but got %lld",
                              (long long)*configured);
    *ret = configured ? *configured : 0;
    for (size_t i = 0; !configured && i < nodes.n; i++) {
        const int64_t frequency = virt_node_tsc_frequency(nodes.items[i]);

        if (frequency > 0 && (*ret == 0 || frequency < *ret) && is_in_use(request, nodes.items[i]))
            *ret = frequency;
    }
    return 0;
}
