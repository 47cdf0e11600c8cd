/*
 * Reasons of the VirtualMachine controller's events and conditions. Source: the reference's
 * pkg/virt-controller/watch/common/events.go, watch/vm/vm.go.
 */
#ifndef VIRT_VM_WORDS_H
#define VIRT_VM_WORDS_H

#define VM_REASON_CREATED            "SuccessfulCreate"
#define VM_REASON_CREATE_FAILED      "FailedCreate"
#define VM_REASON_DELETED            "SuccessfulDelete"
#define VM_REASON_DELETE_FAILED      "FailedDelete"
#define VM_REASON_UPDATE_FAILED      "FailedUpdateError"
#define VM_REASON_DV_CREATED         "SuccessfulDataVolumeCreate"
#define VM_REASON_DV_CREATE_FAILED   "FailedDataVolumeCreate"
#define VM_REASON_DV_UNAUTHORIZED    "UnauthorizedDataVolumeCreate"
#define VM_REASON_DV_IMPORT_FAILED   "FailedDataVolumeImport"
#define VM_REASON_SOURCE_UNAVAILABLE "SourcePVCNotAvailabe" /* spelt so */
#define VM_REASON_METADATA_FAILED    "AnnotationsLabelsChangeError"
#define VM_REASON_FIRMWARE_FAILED    "FirmwareUUIDError"
#define VM_REASON_HOTPLUG_FAILED     "HotPlugVolumeError"
#define VM_REASON_MEMORY_DUMP_FAILED "MemoryDumpError"
#define VM_REASON_VOLUMES_FAILED     "VolumesUpdateError"
#define VM_REASON_NO_INSTANCETYPE    "FailedFindInstancetype"
#define VM_REASON_NO_PREFERENCE      "FailedFindPreference"
#define VM_REASON_UNSUPPORTED        "UnsupportedSyncError" /* of expanding instance types */
#define VM_REASON_NETWORK_FAILED     "HotPlugNetworkInterfaceError"
#define VM_REASON_CPU_FAILED         "HotPlugCPUError"
#define VM_REASON_MEMORY_FAILED      "HotPlugMemoryError"
#define VM_REASON_AFFINITY_FAILED    "AffinityChangeError"
#define VM_REASON_TOLERATIONS_FAILED "TolerationsChangeError"

#define VM_CONDITION_READY            "Ready"
#define VM_CONDITION_FAILURE          "Failure"
#define VM_CONDITION_RESTART_REQUIRED "RestartRequired"
#define VM_CONDITION_MANUAL_RECOVERY  "ManualRecoveryRequired"
#define VM_CONDITION_CLAIMS_UNBOUND   "ClaimsUnbound" /* not in the reference, which says nothing */
/* Of VMIs; they stand on the VM, too. */
#define VM_CONDITION_VOLUMES_CHANGE        "VolumesChange"
#define VM_REASON_VOLUMES_CHANGE_CANCELLED "VolumesChangeCancellation"
#define VM_CONDITION_STORAGE_MIGRATABLE    "StorageLiveMigratable"

/* spec.updateVolumesStrategy */
#define VM_MIGRATE_VOLUMES "Migration"
#define VM_REPLACE_VOLUMES "Replacement"

/* On the VolumeSnapshotClass that counts among several of one driver. */
#define VM_DEFAULT_SNAPSHOT_CLASS "snapshot.storage.kubernetes.io/is-default-class"

#define VM_NOT_LIVE_UPDATABLE "a non-live-updatable field was changed in the template spec"

/* Run strategies: staging/src/kubevirt.io/api/core/v1/types.go */
#define VM_ALWAYS           "Always"
#define VM_HALTED           "Halted"
#define VM_MANUAL           "Manual"
#define VM_ONCE             "Once"
#define VM_RERUN_ON_FAILURE "RerunOnFailure"
#define VM_WAIT_AS_RECEIVER "WaitAsReceiver"

#endif
