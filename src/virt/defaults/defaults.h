/*
 * What the admission webhooks of a cluster (virt-api) would set in a new VMI, as far as its launcher Pod depends on it.
 * The controllers get VMIs that have it; `virt-controller render` gets manifests as people write them.
 * Source: the reference's pkg/defaults and pkg/virt-api/webhooks/mutating-webhook/mutators.
 *
 * Each default is applied only where the VMI says nothing. Applying them twice changes nothing.
 */
#ifndef VIRT_DEFAULTS_DEFAULTS_H
#define VIRT_DEFAULTS_DEFAULTS_H

#include "api/types/kv.h"
#include "base/error.h"
#include "virt/config/config.h"

struct virt_default_rule {
    const char *fields; /* what is set */
    const char *value;  /* what to */
    int (*apply)(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                 struct kube_error *reterr);
};
/* In the order in which they are applied: later ones see what earlier ones set. */
extern const struct virt_default_rule virt_default_rules[];
extern const size_t virt_n_default_rules;

/* All of them; `vmi` is the caller's own, texts may be borrowed from `config`. Error: the configured default network
 * can't be used. */
int virt_default_vmi(struct kb_arena *arena, const struct virt_config *config, struct kv_vmi *vmi,
                     struct kube_error *reterr);

/* Those of probes alone: the VMI controller writes them into VMIs that it makes a Pod for. */
void virt_default_probes(struct kv_vmi_spec *spec);

#endif
