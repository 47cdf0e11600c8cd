/*
 * The claim that keeps the state of a VM beside its disks: persistent TPM, EFI variables, changed block tracking. It is
 * the VM's (or else the VMI's), found by its label. Source: the reference's pkg/storage/backend-storage.
 */
#ifndef VIRT_STORAGE_BACKEND_STORAGE_H
#define VIRT_STORAGE_BACKEND_STORAGE_H

#include "api/types/core.h"
#include "api/types/kv.h"
#include "base/error.h"

struct kube_request;
struct virt_config;

#define VIRT_BACKEND_VOLUME "persistent-state-for-this-vm" /* its entry in status.volumeStatus */

bool virt_is_backend_volume(const char *volume_status_name);
/* By label; or a claim of old releases, by its name. Not one that is being deleted. NULL: none. */
const struct core_pvc *virt_backend_claim(struct kube_request *request, const struct kv_vmi *vmi);
/* A new claim for the VMI: labels and class by the cluster's configuration. In the request's arena.
 * `label`: VIRT_LABEL_PERSISTENT_STATE with the VMI's name; for the target of a migration another one. */
int virt_new_backend_claim(struct kube_request *request, const struct virt_config *config, const struct kv_vmi *vmi,
                           const char *label, const char *label_value, struct core_pvc **ret,
                           struct kube_error *reterr);
/* Bound, or to be bound with its first consumer: 1; 0: not yet; negative: it never will, or was not found. */
int virt_backend_claim_ready(struct kube_request *request, const char *namespace_, const char *name,
                             struct kube_error *reterr);

#endif
