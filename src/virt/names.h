/*
 * Labels, annotations, finalizers and other names that the outside sees; a name is written once, here.
 * Source: the reference's staging/src/kubevirt.io/api/core/v1/types.go unless a line says otherwise.
 */
#ifndef VIRT_NAMES_H
#define VIRT_NAMES_H

#include <stddef.h>

#define VIRT_LABEL_APP              "kubevirt.io"
#define VIRT_LABEL_CREATED_BY       "kubevirt.io/created-by"
#define VIRT_LABEL_NODE_NAME        "kubevirt.io/nodeName"
#define VIRT_LABEL_SCHEDULABLE      "kubevirt.io/schedulable"
#define VIRT_LABEL_OUTDATED_IMAGE   "kubevirt.io/outdatedLauncherImage"
#define VIRT_LABEL_MIGRATION_TARGET "kubevirt.io/migrationTargetNodeName"
#define VIRT_LABEL_VM_NAME          "vm.kubevirt.io/name"
#define VIRT_LABEL_VMI_ID           "vmi.kubevirt.io/id"
#define VIRT_LABEL_PERSISTENT_STATE "persistent-state-for"

#define VIRT_ANNOTATION_DOMAIN             "kubevirt.io/domain"
#define VIRT_ANNOTATION_LATEST_API         "kubevirt.io/latest-observed-api-version"
#define VIRT_ANNOTATION_STORAGE_API        "kubevirt.io/storage-observed-api-version"
#define VIRT_ANNOTATION_VM_GENERATION      "kubevirt.io/vm-generation"
#define VIRT_ANNOTATION_EPHEMERAL          "kubevirt.io/ephemeral-provisioning"
#define VIRT_ANNOTATION_NON_ROOT           "kubevirt.io/nonroot"
#define VIRT_ANNOTATION_MIGRATION_UNIX     "kubevirt.io/migrationTransportUnix"
#define VIRT_ANNOTATION_MIGRATION_JOB_NAME "kubevirt.io/migrationJobName"
#define VIRT_ANNOTATION_CREATE_TARGET      "kubevirt.io/create-migration-target"
#define VIRT_ANNOTATION_RESTORE_STRATEGY   "kubevirt.io/restore-run-strategy"
#define VIRT_ANNOTATION_IMMEDIATE_DV       "kubevirt.io/immediate-data-volume-creation"
#define VIRT_ANNOTATION_SKIP_BACKUP_HOOKS  "kubevirt.io/skip-backup-hooks"
#define VIRT_ANNOTATION_MEMORY_OVERHEAD    "kubevirt.io/memory-overhead-bytes"
#define VIRT_ANNOTATION_NETWORKS           "k8s.v1.cni.cncf.io/networks"
#define VIRT_ANNOTATION_NETWORK_STATUS     "k8s.v1.cni.cncf.io/network-status"

#define VIRT_FINALIZER_VMI     "kubevirt.io/foregroundDeleteVirtualMachine"
#define VIRT_FINALIZER_VMI_OLD "foregroundDeleteVirtualMachine"
#define VIRT_FINALIZER_VM      "kubevirt.io/virtualMachineControllerFinalize"

#define VIRT_GROUP_VERSION "kubevirt.io/v1"
#define VIRT_API_VERSION   "v1" /* in both observed-api-version annotations */

#define VIRT_NON_ROOT_USER 107 /* "qemu" in the launcher image */

/* "BASE-SUFFIX"; too long: the base is cut and its hash put in between, or (with a long suffix) the suffix is dropped.
 * As the reference's GetName of openshift/library-go. */
struct kb_arena;
#define VIRT_MAX_NAME 63 /* a DNS label */
const char *virt_joined_name(struct kb_arena *arena, const char *base, const char *suffix, size_t max);

#endif
