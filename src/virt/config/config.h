/*
 * The cluster configuration: the KubeVirt CR's spec.configuration over the defaults, with its feature gates, as an
 * immutable, counted snapshot. virt_config_current gives the one in force; a reconcile takes one and keeps it to its
 * end.
 *
 * Merge rule: defaults, then the CR's JSON decoded over them: scalars and members of objects and maps merge, lists
 * replace, zero values that omitempty would leave out can't override a default. An invalid configuration keeps
 * the last valid one. Source of rules, defaults and gates: the reference's pkg/virt-config; facts in config.md.
 *
 * Threads: any.
 */
#ifndef VIRT_CONFIG_CONFIG_H
#define VIRT_CONFIG_CONFIG_H

#include "api/types/kv.h"
#include "base/error.h"
#include "virt/config/gates.h"

struct virt_config {
    const struct kv_kube_virt_configuration *spec; /* defaults and CR merged; architecture-dependent ones included */
    const struct kv_kube_virt *kubevirt;           /* the CR, or NULL: only defaults are in force */
    const char *resource_version;                  /* of the CR; "" */
    uint64_t gates[2];                             /* bit set by enum virt_gate */
};

/* `kubevirt` NULL: the defaults. The error names the field ("spec.configuration.imagePullPolicy: ..."). */
int virt_config_new(const struct kv_kube_virt *kubevirt, const struct virt_config **ret, struct kube_error *reterr);
const struct virt_config *virt_config_ref(const struct virt_config *config);
void virt_config_unref(const struct virt_config *config);

static inline bool virt_gate(const struct virt_config *config, enum virt_gate gate)
{
    return config->gates[gate / 64] >> (gate % 64) & 1;
}

/* Values with rules of their own. */
const char *virt_config_ovmf_path(const struct virt_config *config, const char *architecture);
const char *virt_config_machine_type(const struct virt_config *config, const char *architecture);
const char *virt_config_hypervisor(const struct virt_config *config); /* "kvm" or what is configured */
/* supportContainerResources: the configured value, or NULL. type: "container-disk", "virtiofs", "sidecar" ...;
 * list: requests or limits; resource: "cpu", "memory". Quantity text. */
const char *virt_config_support_resource(const struct virt_config *config, const char *type, bool limits,
                                         const char *resource);
/* The architecture that this program was built for, in Go's words ("amd64", "arm64", "s390x"). */
const char *virt_config_own_architecture(void);

/* The log verbosity of the controller itself: that of the node or host it runs on, else virtController's. */
int virt_config_verbosity(const struct virt_config *config, const char *host);
/* virt-template is deployed: gate Template, unless virtTemplateDeployment says no. */
bool virt_config_deploys_templates(const struct virt_config *config);

/* ---- the one in force ---- */

/* Which CR counts, of all in the cluster: the last one that has a phase and isn't being deleted gives the name; of that
 * name, the one in the install namespace. NULL: none does. */
const struct kv_kube_virt *virt_config_choose(const struct kv_kube_virt *const *all, size_t n,
                                              const char *install_namespace);

struct virt_config_store;
struct virt_config_store *virt_config_store_new(void);
void virt_config_store_free(struct virt_config_store *store);
/* The caller unrefs. */
const struct virt_config *virt_config_current(struct virt_config_store *store);
/* A new state of the CR that counts (NULL: none does). Returns 1 when there is a new configuration (or only a new state
 * of the CR), 0 when not, negative when the new one is invalid and the last valid one stays. */
int virt_config_store_update(struct virt_config_store *store, const struct kv_kube_virt *kubevirt,
                             struct kube_error *reterr);

#endif
