/*
 * One snapshot of the configuration: merged, checked, with its gates as bits. Everything in it lives in one arena.
 *
 * The merge is a JSON merge patch of the CR's encoded configuration over the defaults' document, which gives Go's rules
 * for free: the encoder leaves out what omitempty leaves out, so that a zero value can't override a default.
 */
#include "virt/config/config.h"

#include "api/codec.h"
#include "base/quantity.h"
#include "base/strings.h"
#include "virt/config/defaults.h"
#include <stdatomic.h>
#include <stddef.h>

#define PATH               "spec.configuration."
#define DEFAULT_HYPERVISOR "kvm"

struct snapshot {
    struct virt_config config;
    struct kb_arena *arena;
    atomic_int references;
};

static struct snapshot *snapshot_of(const struct virt_config *config)
{
    return (struct snapshot *)((char *)(uintptr_t)config - offsetof(struct snapshot, config));
}

const char *virt_config_own_architecture(void)
{
#if defined(__x86_64__)
    return "amd64";
#elif defined(__aarch64__)
    return "arm64";
#elif defined(__s390x__)
    return "s390x";
#else
#error "this architecture has no name yet"
#endif
}

/* ---- merge ---- */

static int merge(struct kb_arena *arena, const struct kv_kube_virt *kubevirt, struct kv_kube_virt_configuration **ret,
                 struct kube_error *reterr)
{
    yyjson_doc *defaults = yyjson_read(virt_config_defaults, strlen(virt_config_defaults), 0);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *value = yyjson_val_mut_copy(doc, yyjson_doc_get_root(defaults));
    yyjson_doc *merged;
    int r;

    if (kubevirt) {
        yyjson_mut_val *changes =
            api_encode_value(doc, &kv_kube_virt_configuration_type, &kubevirt->spec.configuration, 0);

        value = yyjson_mut_merge_patch(doc, value, changes);
    }
    yyjson_mut_doc_set_root(doc, value);
    merged = yyjson_mut_doc_imut_copy(doc, NULL);
    r = api_decode_value(arena, &kv_kube_virt_configuration_type, yyjson_doc_get_root(merged), ret, reterr);
    yyjson_doc_free(merged);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(defaults);
    return r < 0 ? kube_error_wrap(reterr, "spec.configuration") : 0;
}

/* Values that another one gives when they are not set. */
static void complete(struct kb_arena *arena, struct kv_kube_virt_configuration *spec,
                     const struct kv_kube_virt *kubevirt)
{
    struct kv_migration_configuration *migrations = spec->migrations;

    spec->architecture_configuration->default_architecture =
        kubevirt
            ? kb_arena_strdup(arena, kubevirt->status.default_architecture ? kubevirt->status.default_architecture : "")
            : virt_config_own_architecture();
    if (!migrations->allow_workload_disruption) {
        bool post_copy = migrations->allow_post_copy && *migrations->allow_post_copy;

        migrations->allow_workload_disruption = kb_arena_copy(arena, &post_copy, sizeof(post_copy));
    }
    if (spec->hypervisors.n > 0 && kb_empty(spec->hypervisors.items[0].name))
        spec->hypervisors.items[0].name = DEFAULT_HYPERVISOR; /* Go merges into the default's element */
}

/* ---- check ---- */

static int check_word(const char *field, const char *value, const char *const *allowed, size_t n,
                      struct kube_error *reterr)
{
    if (kb_in_list(value, allowed, n))
        return 0;
    return kube_error_set(reterr, KUBE_ERROR_INVALID, PATH "%s: invalid value \"%s\"", field, value);
}

static int check(const struct kv_kube_virt_configuration *spec, struct kube_error *reterr)
{
    static const char *const policies[] = {"", "Always", "Never", "IfNotPresent"};
    static const char *const interfaces[] = {"", "bridge", "slirp", "masquerade"};
    const struct kv_developer_configuration *developer = spec->developer_configuration;
    const struct {
        const char *field;
        int64_t value, min, max;
    } ranges[] = {
        {"memoryOvercommit", developer->memory_overcommit, 1, INT64_MAX},
        {"cpuAllocationRatio", developer->cpu_allocation_ratio, 1, INT64_MAX},
        {"pvcTolerateLessSpaceUpToPercent", developer->pvc_tolerate_less_space_up_to_percent, 0, 100},
    };

    if (check_word("imagePullPolicy", spec->image_pull_policy, policies, KB_ARRAY_LEN(policies), reterr) < 0)
        return -1;
    for (size_t i = 0; i < KB_ARRAY_LEN(ranges); i++)
        if (ranges[i].value < ranges[i].min || ranges[i].value > ranges[i].max)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, PATH "developerConfiguration.%s: invalid value %lld",
                                  ranges[i].field, (long long)ranges[i].value);
    return check_word("network.defaultNetworkInterface", spec->network->default_network_interface, interfaces,
                      KB_ARRAY_LEN(interfaces), reterr);
}

/* ---- gates ---- */

static bool gate_is_on(const struct virt_gate_info *gate, const struct kv_developer_configuration *developer)
{
    if (gate->state == VIRT_GA)
        return true;
    if (api_strings_has(&developer->feature_gates, gate->name))
        return true;
    if (api_strings_has(&developer->disabled_feature_gates, gate->name))
        return false;
    return gate->state == VIRT_BETA;
}

static void set_gates(struct virt_config *config)
{
    _Static_assert(VIRT_N_GATES <= 8 * sizeof(config->gates), "more gates than bits");

    for (size_t i = 0; i < VIRT_N_GATES; i++)
        if (gate_is_on(&virt_gate_table[i], config->spec->developer_configuration))
            config->gates[i / 64] |= UINT64_C(1) << (i % 64);
}

/* ---- life ---- */

int virt_config_new(const struct kv_kube_virt *kubevirt, const struct virt_config **ret, struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct kv_kube_virt_configuration *spec = NULL;
    struct snapshot *s;

    if (merge(arena, kubevirt, &spec, reterr) < 0)
        return -1;
    complete(arena, spec, kubevirt);
    if (check(spec, reterr) < 0)
        return -1;
    s = kb_arena_one(arena, struct snapshot);
    s->config.spec = spec;
    s->config.kubevirt = kubevirt ? api_clone(arena, &kv_kube_virt_type, kubevirt) : NULL;
    s->config.resource_version = kubevirt ? s->config.kubevirt->metadata.resource_version : "";
    set_gates(&s->config);
    atomic_init(&s->references, 1);
    s->arena = KB_TAKE_PTR(arena);
    *ret = &s->config;
    return 0;
}

const struct virt_config *virt_config_ref(const struct virt_config *config)
{
    atomic_fetch_add_explicit(&snapshot_of(config)->references, 1, memory_order_relaxed);
    return config;
}

void virt_config_unref(const struct virt_config *config)
{
    struct snapshot *s;

    if (!config)
        return;
    s = snapshot_of(config);
    if (atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) == 1)
        kb_arena_free(s->arena);
}

/* ---- values with rules of their own ---- */

static const struct kv_arch_specific_configuration *by_architecture(const struct virt_config *config,
                                                                    const char *architecture)
{
    const struct kv_arch_configuration *all = config->spec->architecture_configuration;

    if (kb_streq(architecture, "arm64"))
        return all->arm64;
    if (kb_streq(architecture, "s390x"))
        return all->s390x;
    return all->amd64;
}

const char *virt_config_ovmf_path(const struct virt_config *config, const char *architecture)
{
    if (*config->spec->ovmf_path)
        return config->spec->ovmf_path;
    return by_architecture(config, architecture)->ovmf_path;
}

const char *virt_config_machine_type(const struct virt_config *config, const char *architecture)
{
    if (*config->spec->machine_type)
        return config->spec->machine_type;
    return by_architecture(config, architecture)->machine_type;
}

const char *virt_config_hypervisor(const struct virt_config *config)
{
    if (virt_gate(config, VIRT_GATE_CONFIGURABLE_HYPERVISOR) && config->spec->hypervisors.n > 0)
        return config->spec->hypervisors.items[0].name;
    return DEFAULT_HYPERVISOR;
}

const char *virt_config_support_resource(const struct virt_config *config, const char *type, bool limits,
                                         const char *resource)
{
    api_list_foreach (entry, &config->spec->support_container_resources) {
        const char *quantity;

        if (!kb_streq(entry->type, type))
            continue;
        quantity = api_map_get(limits ? &entry->resources.limits : &entry->resources.requests, resource);
        if (quantity && !kb_quantity_is_zero(kb_quantity_of(quantity)))
            return quantity;
    }
    return NULL;
}

int virt_config_verbosity(const struct virt_config *config, const char *host)
{
    const struct kv_log_verbosity *verbosity = config->spec->developer_configuration->log_verbosity;

    api_list_foreach (entry, &verbosity->node_verbosity)
        if (kb_streq(entry->key, host) && entry->value != 0)
            return (int)entry->value;
    return (int)verbosity->virt_controller;
}

bool virt_config_deploys_templates(const struct virt_config *config)
{
    const struct kv_virt_template_deployment *deployment = config->spec->virt_template_deployment;

    if (!virt_gate(config, VIRT_GATE_TEMPLATE))
        return false;
    return !deployment || !deployment->enabled || *deployment->enabled;
}
