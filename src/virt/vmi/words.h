/*
 * Reasons, messages, phases and conditions of instances: words that users, other components and tests rely on.
 * Source: events-conditions-core.md, section 1 (the reference's pkg/virt-controller/watch/vmi, pkg/controller).
 */
#ifndef VIRT_VMI_WORDS_H
#define VIRT_VMI_WORDS_H

/* ---- conditions of a VMI ---- */
#define VMI_READY              "Ready"
#define VMI_SYNCHRONIZED       "Synchronized"
#define VMI_PROVISIONING       "Provisioning"
#define VMI_PAUSED             "Paused"
#define VMI_POD_SCHEDULED      "PodScheduled"
#define VMI_DVS_READY          "DataVolumesReady"
#define VMI_VCPU_CHANGE        "HotVCPUChange"
#define VMI_MEMORY_CHANGE      "HotMemoryChange"
#define VMI_VOLUMES_CHANGE     "VolumesChange"
#define VMI_MIGRATION_REQUIRED "MigrationRequired"
#define VMI_EVICTION_REQUESTED "EvictionRequested"

/* ---- conditions of a Pod ---- */
#define VMI_POD_READY    "Ready"
#define VMI_POD_UNPAUSED "kubevirt.io/virtual-machine-unpaused" /* its readiness gate */

/* ---- reasons of conditions ---- */
#define VMI_REASON_POD_NOT_EXISTS     "PodNotExists"
#define VMI_REASON_POD_TERMINATING    "PodTerminating"
#define VMI_REASON_GUEST_NOT_RUNNING  "GuestNotRunning"
#define VMI_REASON_POD_CONDITION      "PodConditionMissing"
#define VMI_REASON_UNSCHEDULABLE      "Unschedulable"
#define VMI_REASON_ALL_DVS_READY      "AllDVsReady"
#define VMI_REASON_NOT_ALL_DVS_READY  "NotAllDVsReady"
#define VMI_REASON_MIGRATION_DUE      "AutoMigrationDueToLiveUpdate"
#define VMI_REASON_MIGRATION_PENDING  "AutoMigrationPending"
#define VMI_REASON_EVICTION_REQUESTED "EvictionRequested"
#define VMI_REASON_NOT_PAUSED         "NotPaused"
#define VMI_REASON_PAUSED             "Paused"

/* ---- reasons of events and of Synchronized ---- */
#define VMI_SUCCESSFUL_CREATE       "SuccessfulCreate"
#define VMI_FAILED_CREATE           "FailedCreate"
#define VMI_SUCCESSFUL_DELETE       "SuccessfulDelete"
#define VMI_FAILED_DELETE           "FailedDelete"
#define VMI_FAILED_PVC_NOT_FOUND    "FailedPvcNotFound"
#define VMI_FAILED_DV_IMPORT        "FailedDataVolumeImport"
#define VMI_FAILED_GUARANTEE        "FailedGuaranteeResources"
#define VMI_FAILED_TOPOLOGY         "FailedGatherhingClusterTopologyHints" /* sic */
#define VMI_FAILED_HOTPLUG_SYNC     "FailedHotplugSync"
#define VMI_FAILED_POD_PATCH        "FailedPodPatch"
#define VMI_FAILED_VALIDATION       "FailedCreateValidation"
#define VMI_FAILED_BACKEND_CREATE   "FailedBackendStorageCreate"
#define VMI_FAILED_BACKEND_DELETE   "Failed deleting backend storage"
#define VMI_FAILED_BACKEND_PROBE    "FailedBackendStorageProbe"
#define VMI_BACKEND_NOT_READY       "BackendStorageNotReady"
#define VMI_PVC_NOT_READY           "PVCNotReady"
#define VMI_CONTAINER_PATH_DISABLED "ContainerPathVolumesDisabled"
#define VMI_MISSING_VIRTIOFS        "MissingVirtiofsContainers"
#define VMI_ERR_IMAGE_PULL          "ErrImagePull"
#define VMI_IMAGE_PULL_BACK_OFF     "ImagePullBackOff"

/* ---- phases of a volume ---- */
#define VMI_VOLUME_PENDING   "Pending"
#define VMI_VOLUME_BOUND     "Bound"
#define VMI_VOLUME_ATTACHED  "AttachedToNode"
#define VMI_VOLUME_MOUNTED   "MountedToPod"
#define VMI_VOLUME_READY     "Ready"
#define VMI_VOLUME_DETACHING "Detaching"

/* ---- annotations and labels ---- */
#define VMI_ANNOTATION_EVICT_ONLY       "descheduler.alpha.kubernetes.io/request-evict-only"
#define VMI_ANNOTATION_EVICTING         "descheduler.alpha.kubernetes.io/eviction-in-progress"
#define VMI_ANNOTATION_EVICT            "descheduler.alpha.kubernetes.io/evict"
#define VMI_ANNOTATION_PREFER_NO_EVICT  "descheduler.alpha.kubernetes.io/prefer-no-eviction"
#define VMI_LABEL_MEMORY_OVERHEAD_RATIO "kubevirt.io/memory-hotplug-overhead-ratio"

/* ---- other words ---- */
#define VMI_QOS_GUARANTEED "Guaranteed"
#define VMI_TRANSPORT_UNIX "Unix" /* status.migrationTransport */

/* ---- times ---- */
#define VMI_FRESH_NS (1 * KB_NS_PER_S) /* so long a new Pod may be ready before its instance tells of it */
/* One that has no node by then is not ready in time: its instance tells of it before somebody looks for that. */
#define VMI_UNSCHEDULED_NS (600 * KB_NS_PER_MS)
#define VMI_NETWORK_GRACE_NS                                                                                           \
    (15 * KB_NS_PER_S) /* a network change waits so long for who can do it without migration                           \
                        */
#define VMI_NETWORK_RECHECK_NS       (10 * KB_NS_PER_S)
#define VMI_DELETION_PATIENCE_NS     (10 * KB_NS_PER_S) /* until a deletion that no event confirmed is asked for again */
#define VMI_LEAVING_RECHECK_NS       (2 * KB_NS_PER_S)  /* a claim that another instance gives up */
#define VMI_UNSEEN_POD_RECHECK_NS    (5 * KB_NS_PER_S)  /* the server has a Pod that the cache lacks */
#define VMI_STALE_POD_RECHECK_NS     (60 * KB_NS_PER_S) /* a Pod that should move on and has not been heard of */
#define VMI_STALE_POD_RECHECK_MAX_NS (30 * 60 * KB_NS_PER_S)

#endif
