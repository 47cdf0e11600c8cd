/*
 * The table of built-in kinds. A row is text, so that it can be read and compared:
 *   group, versions (preferred first), kind, plural, short names, categories, flags, selectable fields, columns
 * Flags: n namespaced, s status subresource, c scale subresource, g generation, u update needs no resourceVersion,
 * x only create. Columns: "name type path [priority]" separated by ';' (kinds with columns in code have none).
 */
#include "lab/kinds.h"
#include "base/strings.h"
#include <stdlib.h>
#include <string.h>

struct row {
    const char *group, *versions, *kind, *plural, *short_names, *categories, *flags, *fields, *columns;
};

#define POD_FIELDS                                                                                                     \
    "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,spec.hostNetwork,status.phase,"       \
    "status.podIP,status.nominatedNodeName"
#define EVENT_FIELDS                                                                                                   \
    "involvedObject.kind,involvedObject.namespace,involvedObject.name,involvedObject.uid,involvedObject.apiVersion,"   \
    "involvedObject.resourceVersion,involvedObject.fieldPath,reason,reportingComponent,source.component,type"

static const struct row core_rows[] = {
    {"", "v1", "Namespace", "namespaces", "ns", "", "su", "status.phase", ""},
    {"", "v1", "Node", "nodes", "no", "", "su", "spec.unschedulable", ""},
    {"", "v1", "Pod", "pods", "po", "all", "nsgu", POD_FIELDS, ""},
    {"", "v1", "Event", "events", "ev", "", "nu", EVENT_FIELDS, ""},
    {"", "v1", "Secret", "secrets", "", "", "nu", "type", ""},
    {"", "v1", "ConfigMap", "configmaps", "cm", "", "nu", "", ""},
    {"", "v1", "Service", "services", "svc", "all", "nsu", "spec.clusterIP,spec.type", ""},
    {"", "v1", "Endpoints", "endpoints", "ep", "", "nu", "", ""},
    {"", "v1", "ServiceAccount", "serviceaccounts", "sa", "", "nu", "", ""},
    {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "", "nsu", "", ""},
    {"", "v1", "PersistentVolume", "persistentvolumes", "pv", "", "su", "", ""},
    {"", "v1", "ResourceQuota", "resourcequotas", "quota", "", "nsu", "", ""},
    {"", "v1", "LimitRange", "limitranges", "limits", "", "nu", "", ""},
    {"", "v1", "ReplicationController", "replicationcontrollers", "rc", "all", "nscgu", "status.replicas", ""},
    {"", "v1", "PodTemplate", "podtemplates", "", "", "nu", "", ""},
    {"apps", "v1", "Deployment", "deployments", "deploy", "all", "nscgu", "", ""},
    {"apps", "v1", "ReplicaSet", "replicasets", "rs", "all", "nscgu", "status.replicas", ""},
    {"apps", "v1", "StatefulSet", "statefulsets", "sts", "all", "nscgu", "", ""},
    {"apps", "v1", "DaemonSet", "daemonsets", "ds", "all", "nsgu", "", ""},
    {"apps", "v1", "ControllerRevision", "controllerrevisions", "", "", "nu", "",
     "Controller string .metadata.ownerReferences[0].name;Revision integer .revision;Age date "
     ".metadata.creationTimestamp"},
    {"batch", "v1", "Job", "jobs", "", "all", "nsgu", "status.successful", ""},
    {"batch", "v1", "CronJob", "cronjobs", "cj", "all", "nsgu", "", ""},
    {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "", "nsgu", "", ""},
    {"coordination.k8s.io", "v1", "Lease", "leases", "", "", "nu", "",
     "Holder string .spec.holderIdentity;Age date .metadata.creationTimestamp"},
    {"storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", "", "u", "", ""},
    {"storage.k8s.io", "v1", "CSIDriver", "csidrivers", "", "", "u", "", ""},
    {"storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", "", "", "su", "", ""},
    {"node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "", "", "u", "",
     "Handler string .handler;Age date .metadata.creationTimestamp"},
    {"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", "", "ug", "",
     "Value integer .value;Global-Default boolean .globalDefault;Age date .metadata.creationTimestamp"},
    {"networking.k8s.io", "v1", "Ingress", "ingresses", "ing", "", "nsgu", "", ""},
    {"networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", "", "ngu", "", ""},
    {"rbac.authorization.k8s.io", "v1", "Role", "roles", "", "", "nu", "", ""},
    {"rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", "", "nu", "",
     "Role string .roleRef.name;Age date .metadata.creationTimestamp"},
    {"rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", "", "u", "", ""},
    {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", "", "u", "",
     "Role string .roleRef.name;Age date .metadata.creationTimestamp"},
    {"authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", "", "", "x", "", ""},
    {"authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", "", "", "x", "", ""},
    {"authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", "", "", "x", "", ""},
    {"authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", "", "", "nx", "", ""},
    {"authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", "", "", "x", "", ""},
    {"authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "", "", "x", "", ""},
    {"apiregistration.k8s.io", "v1", "APIService", "apiservices", "", "api-extensions", "su", "",
     "Service string .spec.service.name;Age date .metadata.creationTimestamp"},
    {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", "crd,crds",
     "api-extensions", "sgu", "", "Created At date .metadata.creationTimestamp"},
};

#define AGE   "Age date .metadata.creationTimestamp"
#define READY "Ready string .status.conditions[?(@.type=='Ready')].status"
#define REPLICAS                                                                                                       \
    "Desired integer .spec.replicas;Current integer .status.replicas;Ready integer .status.readyReplicas;" AGE
#define PHASE  "Phase string .status.phase"
#define SOURCE "SourceKind string .spec.source.kind;SourceName string .spec.source.name;"
#define SNAPSHOT_END                                                                                                   \
    "ReadyToUse boolean .status.readyToUse;CreationTime date .status.creationTime;Error string .status.error.message"

static const struct row custom_rows[] = {
    {"kubevirt.io", "v1,v1alpha3", "KubeVirt", "kubevirts", "kv,kvs", "all", "nsg", "", AGE ";" PHASE},
    {"kubevirt.io", "v1,v1alpha3", "VirtualMachine", "virtualmachines", "vm,vms", "all", "nsg", "",
     AGE ";Status string .status.printableStatus;" READY},
    {"kubevirt.io", "v1,v1alpha3", "VirtualMachineInstance", "virtualmachineinstances", "vmi,vmis", "all", "ng", "",
     AGE ";" PHASE ";IP string .status.interfaces[0].ipAddress;NodeName string .status.nodeName;" READY
         ";Live-Migratable string .status.conditions[?(@.type=='LiveMigratable')].status 1;"
         "Paused string .status.conditions[?(@.type=='Paused')].status 1"},
    {"kubevirt.io", "v1,v1alpha3", "VirtualMachineInstanceMigration", "virtualmachineinstancemigrations", "vmim,vmims",
     "all", "nsg", "", PHASE ";VMI string .spec.vmiName"},
    {"kubevirt.io", "v1,v1alpha3", "VirtualMachineInstanceReplicaSet", "virtualmachineinstancereplicasets",
     "vmirs,vmirss", "all", "nscg", "", REPLICAS},
    {"kubevirt.io", "v1,v1alpha3", "VirtualMachineInstancePreset", "virtualmachineinstancepresets",
     "vmipreset,vmipresets", "all", "ng", "", ""},
    {"pool.kubevirt.io", "v1beta1,v1alpha1", "VirtualMachinePool", "virtualmachinepools", "vmpool,vmpools", "all",
     "nscg", "", REPLICAS},
    {"migrations.kubevirt.io", "v1alpha1", "MigrationPolicy", "migrationpolicies", "", "", "sg", "", ""},
    {"plugin.kubevirt.io", "v1alpha1", "Plugin", "plugins", "", "", "g", "", ""},
    {"backup.kubevirt.io", "v1alpha1", "VirtualMachineBackup", "virtualmachinebackups", "vmbackup,vmbackups", "all",
     "nsg", "", SOURCE "Type string .status.type;CheckpointName string .status.checkpointName"},
    {"backup.kubevirt.io", "v1alpha1", "VirtualMachineBackupTracker", "virtualmachinebackuptrackers",
     "vmbackuptracker,vmbackuptrackers", "all", "nsg", "",
     SOURCE "LatestCheckpoint string .status.latestCheckpoint.name;CheckpointTime date "
            ".status.latestCheckpoint.creationTime"},
    {"clone.kubevirt.io", "v1beta1,v1alpha1", "VirtualMachineClone", "virtualmachineclones", "vmclone,vmclones", "all",
     "nsg", "", PHASE ";SourceVirtualMachine string .spec.source.name;TargetVirtualMachine string .spec.target.name"},
    {"export.kubevirt.io", "v1,v1beta1", "VirtualMachineExport", "virtualmachineexports", "vmexport,vmexports", "all",
     "nsg", "", SOURCE PHASE},
    {"snapshot.kubevirt.io", "v1beta1,v1alpha1", "VirtualMachineSnapshot", "virtualmachinesnapshots",
     "vmsnapshot,vmsnapshots", "all", "nsg", "", SOURCE PHASE ";" SNAPSHOT_END},
    {"snapshot.kubevirt.io", "v1beta1,v1alpha1", "VirtualMachineSnapshotContent", "virtualmachinesnapshotcontents",
     "vmsnapshotcontent,vmsnapshotcontents", "all", "nsg", "", SNAPSHOT_END},
    {"snapshot.kubevirt.io", "v1beta1,v1alpha1", "VirtualMachineRestore", "virtualmachinerestores",
     "vmrestore,vmrestores", "all", "nsg", "",
     "TargetKind string .spec.target.kind;TargetName string .spec.target.name;Complete boolean .status.complete;"
     "RestoreTime date .status.restoreTime"},
    {"instancetype.kubevirt.io", "v1beta1", "VirtualMachineInstancetype", "virtualmachineinstancetypes",
     "vminstancetype,vminstancetypes,vmf,vmfs", "all", "ng", "", ""},
    {"instancetype.kubevirt.io", "v1beta1", "VirtualMachineClusterInstancetype", "virtualmachineclusterinstancetypes",
     "vmclusterinstancetype,vmclusterinstancetypes,vmcf,vmcfs", "", "g", "", ""},
    {"instancetype.kubevirt.io", "v1beta1", "VirtualMachinePreference", "virtualmachinepreferences",
     "vmpref,vmprefs,vmp,vmps", "all", "ng", "", ""},
    {"instancetype.kubevirt.io", "v1beta1", "VirtualMachineClusterPreference", "virtualmachineclusterpreferences",
     "vmcp,vmcps", "", "g", "", ""},
    {"cdi.kubevirt.io", "v1beta1", "DataVolume", "datavolumes", "dv,dvs", "all", "nsg", "",
     PHASE ";Progress string .status.progress;Restarts integer .status.restartCount;" AGE},
    {"cdi.kubevirt.io", "v1beta1", "DataSource", "datasources", "das", "all", "nsg", "", ""},
    {"cdi.kubevirt.io", "v1beta1", "StorageProfile", "storageprofiles", "", "", "sg", "", ""},
    {"cdi.kubevirt.io", "v1beta1", "CDI", "cdis", "cdi,cdis", "", "sg", "", AGE ";" PHASE},
    {"cdi.kubevirt.io", "v1beta1", "CDIConfig", "cdiconfigs", "", "", "sg", "", ""},
    {"snapshot.storage.k8s.io", "v1", "VolumeSnapshot", "volumesnapshots", "vs", "", "nsg", "",
     "ReadyToUse boolean .status.readyToUse;SourcePVC string .spec.source.persistentVolumeClaimName;RestoreSize string "
     ".status.restoreSize;SnapshotClass string .spec.volumeSnapshotClassName;" AGE},
    {"snapshot.storage.k8s.io", "v1", "VolumeSnapshotClass", "volumesnapshotclasses", "vsclass,vsclasses", "", "g", "",
     "Driver string .driver;DeletionPolicy string .deletionPolicy;" AGE},
    {"snapshot.storage.k8s.io", "v1", "VolumeSnapshotContent", "volumesnapshotcontents", "vsc,vscs", "", "sg", "",
     "ReadyToUse boolean .status.readyToUse;Driver string .spec.driver;" AGE},
    {"k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition", "network-attachment-definitions",
     "net-attach-def,net-attach-defs", "", "ng", "", ""},
};

static size_t split_list(struct kb_arena *arena, const char *text, char separator, const char *const **ret)
{
    *ret = NULL;
    return *text ? kb_split(arena, text, separator, ret) : 0;
}

static const struct lab_column *columns_of(struct kb_arena *arena, const char *text, size_t *ret_n)
{
    const char *const *parts;
    *ret_n = split_list(arena, text, ';', &parts);
    struct lab_column *columns = kb_arena_many(arena, struct lab_column, *ret_n + 1);
    for (size_t i = 0; i < *ret_n; i++) {
        /* the path is the first word that starts with a dot; names may hold spaces */
        const char *path = strstr(parts[i], " .");
        const char *end = strchr(path + 1, ' '), *type = path;
        while (type > parts[i] && type[-1] != ' ')
            type--;
        columns[i].name = kb_arena_strndup(arena, parts[i], (size_t)(type - 1 - parts[i]));
        columns[i].type = kb_arena_strndup(arena, type, (size_t)(path - type));
        columns[i].path = end ? kb_arena_strndup(arena, path + 1, (size_t)(end - path - 1)) : path + 1;
        columns[i].priority = end ? atoi(end) : 0;
        columns[i].format = "";
    }
    return columns;
}

static void versions_of(struct kb_arena *arena, const struct row *row, struct lab_kind *kind)
{
    const char *const *names;
    size_t n = kb_split(arena, row->versions, ',', &names);
    struct lab_version *v = kb_arena_many(arena, struct lab_version, n);
    for (size_t i = 0; i < n; i++) {
        v[i].name = names[i];
        v[i].api_version = *row->group ? kb_arena_printf(arena, "%s/%s", row->group, names[i]) : names[i];
        v[i].served = true;
        v[i].status = strchr(row->flags, 's');
        v[i].scale = strchr(row->flags, 'c');
        v[i].columns = columns_of(arena, row->columns, &v[i].n_columns);
    }
    kind->versions = kind->storage = v;
    kind->n_versions = n;
}

static void kind_of(struct kb_arena *arena, const struct row *row, bool custom, struct lab_kind *kind)
{
    kind->group = row->group;
    kind->name = row->kind;
    kind->list_name = kb_arena_printf(arena, "%sList", row->kind);
    kind->plural = row->plural;
    char *singular = kb_arena_strdup(arena, row->kind);
    for (char *p = singular; *p; p++)
        *p = (char)(*p | 0x20);
    kind->singular = singular;
    kind->resource = *row->group ? kb_arena_printf(arena, "%s.%s", row->plural, row->group) : row->plural;
    kind->n_short_names = split_list(arena, row->short_names, ',', &kind->short_names);
    kind->n_categories = split_list(arena, row->categories, ',', &kind->categories);
    kind->n_fields = split_list(arena, row->fields, ',', &kind->fields);
    kind->namespaced = strchr(row->flags, 'n');
    kind->generation = strchr(row->flags, 'g');
    kind->unconditional_update = strchr(row->flags, 'u');
    kind->no_list = strchr(row->flags, 'x');
    kind->custom = custom;
    versions_of(arena, row, kind);
}

static size_t kinds_of(struct kb_arena *arena, const struct row *rows, size_t n, bool custom, struct lab_kind **ret)
{
    *ret = kb_arena_many(arena, struct lab_kind, n);
    for (size_t i = 0; i < n; i++)
        kind_of(arena, &rows[i], custom, &(*ret)[i]);
    return n;
}

size_t lab_kinds_core(struct kb_arena *arena, struct lab_kind **ret)
{
    return kinds_of(arena, core_rows, KB_ARRAY_LEN(core_rows), false, ret);
}

size_t lab_kinds_custom(struct kb_arena *arena, struct lab_kind **ret)
{
    return kinds_of(arena, custom_rows, KB_ARRAY_LEN(custom_rows), true, ret);
}

const struct lab_version *lab_kind_version(const struct lab_kind *kind, const char *name)
{
    for (size_t i = 0; i < kind->n_versions; i++)
        if (kind->versions[i].served && kb_streq(kind->versions[i].name, name))
            return &kind->versions[i];
    return NULL;
}
