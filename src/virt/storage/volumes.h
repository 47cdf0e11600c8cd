/*
 * Volumes of VMIs, their claims and the DataVolumes behind these: rules that several controllers share.
 * Source: the reference's pkg/storage/types, and CDI's rules for the state of a claim.
 */
#ifndef VIRT_STORAGE_VOLUMES_H
#define VIRT_STORAGE_VOLUMES_H

#include "api/types/cdi.h"
#include "api/types/core.h"
#include "api/types/kv.h"
#include "base/error.h"

struct kube_request;

/* The claim of a DataVolume, PVC or memory dump volume; "" for others. */
const char *virt_volume_claim(const struct kv_volume *volume);
/* Declared as hotpluggable. */
bool virt_volume_is_hotplug(const struct kv_volume *volume);
const struct core_pvc *virt_claim(struct kube_request *request, const char *namespace_, const char *name);
bool virt_claim_is_block(const struct core_pvc *pvc);
bool virt_claim_is_preallocated(const struct core_pvc *pvc);

/* The DataVolume of a DataVolume volume, or the one that owns the claim of a PVC volume; NULL: none. */
const struct cdi_data_volume *virt_volume_data_volume(struct kube_request *request, const char *namespace_,
                                                      const struct kv_volume *volume);
struct virt_data_volumes {
    size_t n;
    const struct cdi_data_volume **items;
};
struct virt_data_volumes virt_data_volumes_of(struct kube_request *request, const char *namespace_,
                                              const struct kv_volume_list *volumes);
/* Any of them is in this phase. */
bool virt_data_volumes_any(const struct virt_data_volumes *volumes, const char *phase);
#define VIRT_DV_SUCCEEDED               "Succeeded"
#define VIRT_DV_FAILED                  "Failed"
#define VIRT_DV_PENDING_POPULATION      "PendingPopulation"
#define VIRT_DV_WAIT_FOR_FIRST_CONSUMER "WaitForFirstConsumer"

enum virt_readiness {
    VIRT_CLAIM_MISSING,
    VIRT_CLAIM_NOT_READY,
    VIRT_CLAIM_WAITS_FOR_CONSUMER, /* it is populated once a Pod asks for it */
    VIRT_CLAIM_READY,              /* populated, or populated by whom made it, or bound with its first consumer */
};
/* Error: the DataVolume that owns the claim is not there. */
int virt_claim_readiness(struct kube_request *request, const char *namespace_, const char *claim,
                         enum virt_readiness *ret, struct kube_error *reterr);

/* The part of a claim that its file system needs, as CDI is configured: "0.055" without CDI, "0" for block. */
int virt_claim_filesystem_overhead(struct kube_request *request, const struct core_pvc *pvc, const char **ret,
                                   struct kube_error *reterr);

#endif
