/*
 * Where the launcher Pod may run: labels that its node must have, and affinity.
 */
#include "api/codec.h"
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include "virt/names.h"
#include "virt/topology.h"
#include <ctype.h>

#define LABEL_ARCHITECTURE   "kubernetes.io/arch"
#define LABEL_HOST_NAME      "kubernetes.io/hostname"
#define LABEL_OBSOLETE_MODEL "node-labeller.kubevirt.io/obsolete-host-model"
/* Prefixes. */
#define LABEL_CPU_MODEL     "cpu-model.node.kubevirt.io/"
#define LABEL_CPU_FEATURE   "cpu-feature.node.kubevirt.io/"
#define LABEL_CPU_VENDOR    "cpu-vendor.node.kubevirt.io/"
#define LABEL_MACHINE_TYPE  "machine-type.node.kubevirt.io/"
#define LABEL_HYPERV        "hyperv.node.kubevirt.io/"
#define LABEL_TSC_FREQUENCY "scheduling.node.kubevirt.io/tsc-frequency-"
#define LABEL_GUEST_ARCH    "kubevirt.io/vm-arch-"

#define HOST_MODEL       "host-model"
#define HOST_PASSTHROUGH "host-passthrough"

enum { ARCHITECTURE_WEIGHT = 100 };

/* ---- labels of the node ---- */

static void need(struct launcher *l, struct api_string_map *selector, const char *prefix, const char *name)
{
    api_map_set(l->arena, selector, kb_arena_printf(l->arena, "%s%s", prefix, name), "true");
}

static const char *lower(struct kb_arena *arena, const char *text)
{
    char *copy = kb_arena_strdup(arena, text);

    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

static bool is_on(const bool *enabled)
{
    return enabled && *enabled;
}

/* Enlightenments that take something of the host's kernel. */
static void need_hyperv(struct launcher *l, struct api_string_map *selector)
{
    const struct kv_features *features = l->vmi->spec.domain.features;
    const struct kv_feature_hyperv *hyperv = features ? features->hyperv : NULL;

    if (!hyperv)
        return;
    const struct {
        const char *name;
        bool on;
    } rows[] = {
        {"vpindex", hyperv->vpindex && is_on(hyperv->vpindex->enabled)},
        {"runtime", hyperv->runtime && is_on(hyperv->runtime->enabled)},
        {"reset", hyperv->reset && is_on(hyperv->reset->enabled)},
        {"synic", hyperv->synic && is_on(hyperv->synic->enabled)},
        {"synictimer", hyperv->synictimer && is_on(hyperv->synictimer->enabled)},
        {"frequencies", hyperv->frequencies && is_on(hyperv->frequencies->enabled)},
        {"reenlightenment", hyperv->reenlightenment && is_on(hyperv->reenlightenment->enabled)},
        {"tlbflush", hyperv->tlbflush && is_on(hyperv->tlbflush->enabled)},
        {"ipi", hyperv->ipi && is_on(hyperv->ipi->enabled)},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        if (rows[i].on)
            need(l, selector, LABEL_HYPERV, rows[i].name);
    if (hyperv->evmcs && (!hyperv->evmcs->enabled || *hyperv->evmcs->enabled))
        need(l, selector, LABEL_CPU_VENDOR, "Intel");
}

static void need_cpu(struct launcher *l, struct api_string_map *selector)
{
    const struct kv_cpu *cpu = l->vmi->spec.domain.cpu;

    if (!cpu || kb_empty(cpu->model))
        return;
    if (!kb_streq(cpu->model, HOST_MODEL) && !kb_streq(cpu->model, HOST_PASSTHROUGH))
        need(l, selector, LABEL_CPU_MODEL, cpu->model);
    api_list_foreach (feature, &cpu->features)
        if (kb_empty(feature->policy) || kb_streq(feature->policy, "require"))
            need(l, selector, LABEL_CPU_FEATURE, feature->name);
}

static void need_machine_type(struct launcher *l, struct api_string_map *selector)
{
    const struct kv_machine *running = l->vmi->status.machine, *asked = l->vmi->spec.domain.machine;

    if (running && !kb_empty(running->type))
        need(l, selector, LABEL_MACHINE_TYPE, running->type);
    else if (asked && !kb_empty(asked->type))
        need(l, selector, LABEL_MACHINE_TYPE, asked->type);
}

/* The guest counts on one frequency wherever it runs. */
static void need_tsc(struct launcher *l, struct api_string_map *selector)
{
    const struct kv_topology_hints *hints = l->vmi->status.topology_hints;

    if (!hints || !hints->tsc_frequency || *hints->tsc_frequency <= 0 ||
        virt_tsc_requirement(l->vmi) == VIRT_TSC_NOT_REQUIRED)
        return;
    need(l, selector, LABEL_TSC_FREQUENCY, kb_arena_printf(l->arena, "%lld", (long long)*hints->tsc_frequency));
}

static void need_abilities(struct launcher *l, struct api_string_map *selector)
{
    const struct kv_domain_spec *domain = &l->vmi->spec.domain;
    const struct {
        const char *label;
        bool needed;
    } rows[] = {
        {"kubevirt.io/cpumanager", l->dedicated_cpu},
        {"kubevirt.io/realtime", domain->cpu && domain->cpu->realtime},
        {"kubevirt.io/sev", launcher_is_sev(l->vmi)},
        {"kubevirt.io/sev-es", launcher_is_sev_es(l->vmi)},
        {"kubevirt.io/sev-snp", launcher_is_snp(l->vmi)},
        {"kubevirt.io/s390-pv", domain->launch_security && kb_streq(l->vmi->spec.architecture, "s390x")},
        {"kubevirt.io/tdx", launcher_is_tdx(l->vmi)},
    };

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        if (rows[i].needed)
            need(l, selector, "", rows[i].label);
}

static void copy(struct launcher *l, struct api_string_map *to, const struct api_string_map *from)
{
    api_list_foreach (entry, from)
        api_map_set(l->arena, to, entry->key, entry->value);
}

void launcher_node_selector(struct launcher *l, struct api_string_map *ret)
{
    const char *architecture = l->vmi->spec.architecture;
    const bool cross = virt_gate(l->config, VIRT_GATE_CROSS_ARCHITECTURE) && !kb_empty(architecture);

    need(l, ret, "", VIRT_LABEL_SCHEDULABLE);
    if (!kb_empty(architecture))
        api_map_set(l->arena, ret, LABEL_ARCHITECTURE, lower(l->arena, architecture));
    copy(l, ret, &l->config->spec->developer_configuration->node_selectors);
    copy(l, ret, &l->vmi->spec.node_selector);
    if (cross)
        api_map_delete(ret, LABEL_ARCHITECTURE); /* the user's own, too */
    if (virt_gate(l->config, VIRT_GATE_HYPERV_STRICT_CHECK))
        need_hyperv(l, ret);
    need_abilities(l, ret);
    need_cpu(l, ret);
    need_machine_type(l, ret);
    need_tsc(l, ret);
    if (cross)
        need(l, ret, LABEL_GUEST_ARCH, architecture);
}

/* ---- affinity ---- */

static struct core_node_affinity *node_affinity(struct launcher *l, struct core_affinity *affinity)
{
    if (!affinity->node_affinity)
        affinity->node_affinity = kb_arena_one(l->arena, struct core_node_affinity);
    return affinity->node_affinity;
}

/* Terms are alternatives: each of them must refuse the label. */
static void refuse_label(struct launcher *l, struct core_affinity *affinity, const char *label)
{
    struct core_node_affinity *of_node = node_affinity(l, affinity);
    const struct core_node_selector_requirement requirement = {.key = label, .operator= "DoesNotExist" };
    struct core_node_selector *required = of_node->required_during_scheduling_ignored_during_execution;

    if (!required) {
        required = kb_arena_one(l->arena, struct core_node_selector);
        kb_vec_push(l->arena, &required->node_selector_terms);
        of_node->required_during_scheduling_ignored_during_execution = required;
    }
    api_list_foreach (term, &required->node_selector_terms)
        *kb_vec_push(l->arena, &term->match_expressions) = requirement;
}

static void refuse_cpus(struct launcher *l, struct core_affinity *affinity)
{
    const struct kv_cpu *cpu = l->vmi->spec.domain.cpu;

    if (!cpu || kb_empty(cpu->model) || kb_streq(cpu->model, HOST_MODEL))
        refuse_label(l, affinity, LABEL_OBSOLETE_MODEL);
    if (!cpu)
        return;
    api_list_foreach (feature, &cpu->features)
        if (kb_streq(feature->policy, "forbid"))
            refuse_label(l, affinity, kb_arena_printf(l->arena, LABEL_CPU_FEATURE "%s", feature->name));
}

/* Two Pods of one node can't hold reservations of the same LUN. */
static void keep_apart(struct launcher *l, struct core_affinity *affinity)
{
    if (l->reservation_labels.n > 0 && !affinity->pod_anti_affinity)
        affinity->pod_anti_affinity = kb_arena_one(l->arena, struct core_pod_anti_affinity);
    api_list_foreach (label, &l->reservation_labels) {
        struct core_pod_affinity_term *term =
            kb_vec_push(l->arena, &affinity->pod_anti_affinity->required_during_scheduling_ignored_during_execution);

        term->topology_key = LABEL_HOST_NAME;
        term->label_selector = kb_arena_one(l->arena, struct meta_label_selector);
        *kb_vec_push(l->arena, &term->label_selector->match_expressions) =
            (struct meta_label_selector_requirement){.key = label->key, .operator= "Exists" };
    }
}

/* Foreign architectures are emulated: slow, but possible. */
static void prefer_architecture(struct launcher *l, struct core_affinity *affinity)
{
    struct core_preferred_scheduling_term *term;
    struct core_node_selector_requirement *requirement;

    if (!virt_gate(l->config, VIRT_GATE_CROSS_ARCHITECTURE) || kb_empty(l->vmi->spec.architecture))
        return;
    term = kb_vec_push(l->arena, &node_affinity(l, affinity)->preferred_during_scheduling_ignored_during_execution);
    term->weight = ARCHITECTURE_WEIGHT;
    requirement = kb_vec_push(l->arena, &term->preference.match_expressions);
    requirement->key = LABEL_ARCHITECTURE;
    requirement->operator= "In";
    api_strings_add(l->arena, &requirement->values, lower(l->arena, l->vmi->spec.architecture));
}

struct core_affinity *launcher_affinity(struct launcher *l)
{
    struct core_affinity *affinity = l->vmi->spec.affinity
                                         ? api_clone(l->arena, &core_affinity_type, l->vmi->spec.affinity)
                                         : kb_arena_one(l->arena, struct core_affinity);

    refuse_cpus(l, affinity);
    keep_apart(l, affinity);
    prefer_architecture(l, affinity);
    if (!l->vmi->spec.affinity && !affinity->node_affinity && !affinity->pod_anti_affinity)
        return NULL;
    return affinity;
}
