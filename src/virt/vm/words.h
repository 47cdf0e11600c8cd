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

#define VM_CONDITION_READY            "Ready"
#define VM_CONDITION_FAILURE          "Failure"
#define VM_CONDITION_RESTART_REQUIRED "RestartRequired"
#define VM_CONDITION_MANUAL_RECOVERY  "ManualRecoveryRequired"

/* Run strategies: staging/src/kubevirt.io/api/core/v1/types.go */
#define VM_ALWAYS           "Always"
#define VM_HALTED           "Halted"
#define VM_MANUAL           "Manual"
#define VM_ONCE             "Once"
#define VM_RERUN_ON_FAILURE "RerunOnFailure"
#define VM_WAIT_AS_RECEIVER "WaitAsReceiver"

#endif
