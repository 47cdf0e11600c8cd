/*
 * Every cache that virt-controller keeps, by number. The table of their specs (kinds, selectors, indexes, projections)
 * is virt_informer_specs in informers.c; source: the reference's pkg/controller/virtinformers.go.
 */
#ifndef VIRT_INFORMERS_H
#define VIRT_INFORMERS_H

#include "kube/informer.h"

enum virt_informer {
    VIRT_CRD, /* these two run before anything else; CRDs are projected to group, names and versions */
    VIRT_KUBEVIRT,

    VIRT_VMI,
    VIRT_VM,
    VIRT_VMIRS,
    VIRT_POOL,
    VIRT_MIGRATION,
    VIRT_POD,       /* Pods with label kubevirt.io: launcher, hotplug, exporter Pods */
    VIRT_OTHER_POD, /* Pods without it, projected to what drains and exports ask; who asks for all looks in both */
    VIRT_NODE,      /* projected: without images and volumes of status; write with kube_patch */
    VIRT_NAMESPACE,
    VIRT_PVC,
    VIRT_PDB,
    VIRT_CONTROLLER_REVISION,
    VIRT_STORAGE_CLASS,
    VIRT_RESOURCE_QUOTA,
    VIRT_MIGRATION_POLICY,
    VIRT_SNAPSHOT,
    VIRT_SNAPSHOT_CONTENT,
    VIRT_RESTORE,
    VIRT_EXPORT,
    VIRT_BACKUP,
    VIRT_BACKUP_TRACKER,
    VIRT_CLONE,
    VIRT_INSTANCETYPE,
    VIRT_CLUSTER_INSTANCETYPE,
    VIRT_PREFERENCE,
    VIRT_CLUSTER_PREFERENCE,
    VIRT_EXPORT_CA,
    VIRT_BACKUP_CA,
    VIRT_ROUTE_CA,
    VIRT_UNMANAGED_SECRET,
    VIRT_EXPORT_SERVICE,
    VIRT_INGRESS,
    VIRT_VM_LABELS_CONFIG, /* which labels of VMs are metrics, see virt/metrics/labels.c */

    /* Kinds that may be missing: switched on and off as their CRD or API comes and goes. */
    VIRT_ROUTE,
    VIRT_DATA_VOLUME,
    VIRT_DATA_SOURCE,
    VIRT_STORAGE_PROFILE,
    VIRT_CDI,
    VIRT_CDI_CONFIG,
    VIRT_TEMPLATE,
    VIRT_VOLUME_SNAPSHOT,
    VIRT_VOLUME_SNAPSHOT_CLASS,

    VIRT_N_INFORMERS
};

/* Index names. Values are "namespace/name" unless said otherwise; objects without a value are not in the index. */
#define VIRT_INDEX_NODE       "node" /* VMI: status.nodeName */
#define VIRT_INDEX_DV         "dv"   /* VMI, VM: DataVolume volumes */
#define VIRT_INDEX_PVC        "pvc" /* VMI, VM: claims of volumes (VM: of memory dumps, too); Export: the exported claim */
#define VIRT_INDEX_OWNER      "owner" /* Pod, VMI, VM, DV, PVC: UID of the controller owner */
#define VIRT_INDEX_VM         "vm" /* ControllerRevision: UID of the owning VM; snapshots, restores, exports: the VM */
#define VIRT_INDEX_POOL       "vmpool"    /* ControllerRevision: UID of the owning pool */
#define VIRT_INDEX_VMI_NAME   "byVMIName" /* Migration */
#define VIRT_INDEX_UID        "byMigrationUID"
#define VIRT_INDEX_UNFINISHED "unfinished" /* Migration: "unfinished" */
#define VIRT_INDEX_CREATED_BY "created-by" /* Pod: label kubevirt.io/created-by (UID of the VMI) */
#define VIRT_INDEX_CLAIM      "claim"      /* all Pods: claims of volumes */
#define VIRT_INDEX_STATE      "state"      /* PVC: the VMI whose persistent state it keeps, by its label */

#define VIRT_INDEX_VMI             "vmi"                    /* Backup, BackupTracker: the source VM */
#define VIRT_INDEX_BACKUP_TRACKER  "backupTracker"          /* Backup: the source tracker */
#define VIRT_INDEX_VOLUME_SNAPSHOT "volumeSnapshot"         /* SnapshotContent: VolumeSnapshots of its volume backups */
#define VIRT_INDEX_SNAPSHOT        "vmsnapshot"             /* Export: the exported snapshot */
#define VIRT_INDEX_BACKUP          "virtualmachinebackup"   /* Export: the exported backup */
#define VIRT_INDEX_TEMPLATE        "virtualmachinetemplate" /* Export: the exported template */
/* Clone: source and target; the last three: snapshot or restore name while the clone is in the phase of that name. */
#define VIRT_INDEX_VM_SOURCE            "vmSource"
#define VIRT_INDEX_VM_TARGET            "vmTarget"
#define VIRT_INDEX_SNAPSHOT_SOURCE      "snapshotSource"
#define VIRT_INDEX_SNAPSHOT_IN_PROGRESS "SnapshotInProgress"
#define VIRT_INDEX_RESTORE_IN_PROGRESS  "RestoreInProgress"
#define VIRT_INDEX_SUCCEEDED            "Succeeded"

/*
 * Fills in the specs for an install namespace; `arena` must live as long as the informers. The array has
 * VIRT_N_INFORMERS entries, index = enum virt_informer.
 */
const struct kube_informer_spec *virt_informer_specs(struct kb_arena *arena, const char *install_namespace);

#endif
