/*
 * Webhook defaults as a table of rules.
 */
#include "virt/defaults/defaults.h"

#include "base/strings.h"
#include "base/vec.h"
#include "virt/instancetype/instancetype.h"
#include "virt/names.h"

#define ANNOTATION_PCI_TOPOLOGY "kubevirt.io/pci-topology-version"
#define PCI_TOPOLOGY            "v3"
#define ANNOTATION_EVEN_PARITY  "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity" /* of the CR, copied */
#define ANNOTATION_QGS_SOCKET   "kubevirt.io/qgs-socket-path"
#define QGS_SOCKET              "/var/run/tdx-qgs/qgs.socket"
#define HOST_MODEL              "host-model"
#define HOST_PASSTHROUGH        "host-passthrough"
#define VMX                     "vmx"
#define REQUIRE                 "require"

static const bool yes = true;

static int set_spec(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                    struct kube_error *reterr)
{
    return virt_apply_vmi_defaults(arena, config, &vmi->spec, reterr);
}

/* ---- Hyper-V ---- */

static struct kv_feature_hyperv *hyperv_of(const struct kv_vmi *vmi)
{
    return vmi->spec.domain.features ? vmi->spec.domain.features->hyperv : NULL;
}

static void switch_on(const bool **enabled)
{
    if (!*enabled)
        *enabled = &yes;
}

static int set_hyperv(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                      struct kube_error *reterr)
{
    struct kv_feature_hyperv *hyperv = hyperv_of(vmi);

    (void)arena;
    (void)config;
    (void)reterr;
    if (!hyperv)
        return 0;
    struct kv_feature_state *const states[] = {
        hyperv->relaxed, hyperv->vapic,       hyperv->vpindex,         hyperv->runtime, hyperv->synic,
        hyperv->reset,   hyperv->frequencies, hyperv->reenlightenment, hyperv->ipi,     hyperv->evmcs,
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(states); i++)
        if (states[i])
            switch_on(&states[i]->enabled);
    if (hyperv->synictimer)
        switch_on(&hyperv->synictimer->enabled);
    if (hyperv->tlbflush)
        switch_on(&hyperv->tlbflush->enabled);
    return 0;
}

static bool is_on(const bool *enabled)
{
    return enabled && *enabled;
}

/* False when the user switched it off. */
static bool require(struct kb_arena *arena, bool needed, struct kv_feature_state **feature)
{
    if (!needed)
        return true;
    if (!*feature)
        *feature = kb_arena_one(arena, struct kv_feature_state);
    switch_on(&(*feature)->enabled);
    return *(*feature)->enabled;
}

static void require_vmx(struct kb_arena *arena, struct kv_domain_spec *domain)
{
    if (!domain->cpu)
        domain->cpu = kb_arena_one(arena, struct kv_cpu);
    api_list_foreach (feature, &domain->cpu->features) {
        if (!kb_streq(feature->name, VMX))
            continue;
        feature->policy = REQUIRE;
        return;
    }
    *kb_vec_push(arena, &domain->cpu->features) = (struct kv_cpu_feature){.name = VMX, .policy = REQUIRE};
}

/* Leaves first: one that is switched on for another may need a third. Stops at what the user forbids, as the webhook
 * does (which then refuses the VMI). */
static int set_hyperv_dependencies(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                                   struct kube_error *reterr)
{
    struct kv_feature_hyperv *hyperv = hyperv_of(vmi);

    (void)config;
    (void)reterr;
    if (!hyperv)
        return 0;
    if (!require(arena, hyperv->evmcs && is_on(hyperv->evmcs->enabled), &hyperv->vapic) ||
        !require(arena, hyperv->ipi && is_on(hyperv->ipi->enabled), &hyperv->vpindex) ||
        !require(arena, hyperv->tlbflush && is_on(hyperv->tlbflush->enabled), &hyperv->vpindex) ||
        !require(arena, hyperv->synictimer && is_on(hyperv->synictimer->enabled), &hyperv->synic) ||
        !require(arena, hyperv->synic && is_on(hyperv->synic->enabled), &hyperv->vpindex))
        return 0;
    if (hyperv->evmcs && is_on(hyperv->evmcs->enabled))
        require_vmx(arena, &vmi->spec.domain);
    return 0;
}

/* ---- the rest ---- */

static int set_cpu_model(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                         struct kube_error *reterr)
{
    struct kv_domain_spec *domain = &vmi->spec.domain;

    (void)reterr;
    if (!domain->cpu)
        domain->cpu = kb_arena_one(arena, struct kv_cpu);
    if (!kb_empty(domain->cpu->model))
        return 0;
    if (kb_streq(vmi->spec.architecture, "arm64"))
        domain->cpu->model = HOST_PASSTHROUGH;
    else
        domain->cpu->model = kb_empty(config->spec->cpu_model) ? HOST_MODEL : config->spec->cpu_model;
    return 0;
}

static void set_probe(struct kv_probe *probe)
{
    enum { TIMEOUT_S = 1, PERIOD_S = 10, SUCCESSES = 1, FAILURES = 3 };

    if (!probe)
        return;
    if (probe->timeout_seconds < 1)
        probe->timeout_seconds = TIMEOUT_S;
    if (probe->period_seconds < 1)
        probe->period_seconds = PERIOD_S;
    if (probe->success_threshold < 1)
        probe->success_threshold = SUCCESSES;
    if (probe->failure_threshold < 1)
        probe->failure_threshold = FAILURES;
}

void virt_default_probes(struct kv_vmi_spec *spec)
{
    set_probe(spec->readiness_probe);
    set_probe(spec->liveness_probe);
}

static int set_probes(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                      struct kube_error *reterr)
{
    (void)arena;
    (void)config;
    (void)reterr;
    virt_default_probes(&vmi->spec);
    return 0;
}

/* Buses of flat architectures and of the old PC have no PCIe ports. */
static bool has_pcie_ports(const struct kv_vmi *vmi)
{
    static const char *const architectures[] = {"amd64", "arm64", ""};
    const struct kv_machine *machine = vmi->spec.domain.machine;

    if (!kb_in_list(vmi->spec.architecture, architectures, KB_ARRAY_LEN(architectures)))
        return false;
    return !machine || strstr(machine->type, "q35") || kb_starts_with(machine->type, "virt");
}

static int set_pci_topology(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                            struct kube_error *reterr)
{
    (void)config;
    (void)reterr;
    if (has_pcie_ports(vmi) && !api_map_has(&vmi->metadata.annotations, ANNOTATION_PCI_TOPOLOGY))
        api_map_set(arena, &vmi->metadata.annotations, ANNOTATION_PCI_TOPOLOGY, PCI_TOPOLOGY);
    return 0;
}

static int set_even_parity(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                           struct kube_error *reterr)
{
    const struct kv_cpu *cpu = vmi->spec.domain.cpu;

    (void)reterr;
    if (cpu && cpu->isolate_emulator_thread && virt_gate(config, VIRT_GATE_ALIGN_CPUS) && config->kubevirt &&
        api_map_has(&config->kubevirt->metadata.annotations, ANNOTATION_EVEN_PARITY))
        api_map_set(arena, &vmi->metadata.annotations, ANNOTATION_EVEN_PARITY, "");
    return 0;
}

static int set_qgs_socket(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                          struct kube_error *reterr)
{
    const struct kv_confidential_compute_configuration *confidential = config->spec->confidential_compute;
    const struct kv_tdx_attestation_configuration *attestation =
        confidential && confidential->tdx ? confidential->tdx->attestation : NULL;
    const char *path = attestation && attestation->qgs_socket_path ? attestation->qgs_socket_path : QGS_SOCKET;

    (void)reterr;
    if (vmi->spec.domain.launch_security && vmi->spec.domain.launch_security->tdx && *path)
        api_map_set(arena, &vmi->metadata.annotations, ANNOTATION_QGS_SOCKET, path);
    return 0;
}

static int set_user(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                    struct kube_error *reterr)
{
    (void)arena;
    (void)reterr;
    if (!virt_gate(config, VIRT_GATE_ROOT))
        vmi->status.runtime_user = VIRT_NON_ROOT_USER;
    return 0;
}

const struct virt_default_rule virt_default_rules[] = {
    {"spec.architecture, domain.machine, domain.resources.requests.cpu, domain.memory.guest, topology in domain.cpu, "
     "imagePullPolicy of container disks, evictionStrategy, pod network and interface, disks of volumes",
     "as the KubeVirt CR configures them", set_spec},
    {"domain.features.hyperv.*.enabled", "true, where a feature is listed", set_hyperv},
    {"domain.features.hyperv, domain.cpu.features", "what listed features need: vapic, vpindex, synic; vmx for evmcs",
     set_hyperv_dependencies},
    {"domain.cpu.model", "configuration.cpuModel, or host-model; host-passthrough on arm64", set_cpu_model},
    {"readinessProbe, livenessProbe", "timeout 1 s, period 10 s, 1 success, 3 failures", set_probes},
    {"annotation " ANNOTATION_PCI_TOPOLOGY, PCI_TOPOLOGY ", where machines have PCIe ports", set_pci_topology},
    {"annotation " ANNOTATION_EVEN_PARITY, "the KubeVirt CR's, with gate AlignCPUs and isolateEmulatorThread",
     set_even_parity},
    {"annotation " ANNOTATION_QGS_SOCKET, "the configured socket, for TDX", set_qgs_socket},
    {"status.runtimeUser", "107, unless gate Root is on", set_user},
};
const size_t virt_n_default_rules = KB_ARRAY_LEN(virt_default_rules);

int virt_default_vmi(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                     struct kube_error *reterr)
{
    for (size_t i = 0; i < virt_n_default_rules; i++)
        if (virt_default_rules[i].apply(arena, config, vmi, reterr) < 0)
            return -1;
    return 0;
}
