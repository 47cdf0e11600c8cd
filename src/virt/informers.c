/*
 * The table of informers: kind, scope, selector, indexes, projection; and the functions that fill the indexes.
 */
#include "virt/informers.h"

#include "api/meta.h"
#include "api/types/apiext.h"
#include "api/types/apps.h"
#include "api/types/backup.h"
#include "api/types/cdi.h"
#include "api/types/clone.h"
#include "api/types/core.h"
#include "api/types/export.h"
#include "api/types/instancetype.h"
#include "api/types/kv.h"
#include "api/types/migrations.h"
#include "api/types/networking.h"
#include "api/types/policy.h"
#include "api/types/pool.h"
#include "api/types/route.h"
#include "api/types/snapshot.h"
#include "api/types/storage.h"
#include "api/types/template.h"
#include "api/types/volumesnapshot.h"
#include "base/strings.h"
#include "virt/names.h"

#define GROUP_KUBEVIRT "kubevirt.io"
#define GROUP_SNAPSHOT "snapshot.kubevirt.io"
#define GROUP_BACKUP   "backup.kubevirt.io"
#define GROUP_TEMPLATE "template.kubevirt.io"

/* ---- any kind ---- */

static void controller_owner(const void *object, struct kube_index_sink *sink)
{
    const struct api_any *any = object;
    const struct meta_owner_reference *owner = api_controller_of(&any->metadata);

    if (owner)
        kube_index_add(sink, owner->uid);
}

static const struct kube_index owner_indexes[] = {{VIRT_INDEX_OWNER, controller_owner}};

/* The object that a reference in its own namespace names, when it is of this group and kind. */
static void add_reference(struct kube_index_sink *sink, const struct meta_object_meta *meta,
                          const struct core_typed_local_object_reference *to, const char *group, const char *kind)
{
    if (kb_streq_null(to->api_group, group) && kb_streq(to->kind, kind))
        kube_index_add_pair(sink, meta->namespace, to->name);
}

/* ---- VMI, VM ---- */

static void add_data_volumes(struct kube_index_sink *sink, const char *namespace_, const struct kv_volume_list *volumes)
{
    api_list_foreach (volume, volumes)
        if (volume->data_volume)
            kube_index_add_pair(sink, namespace_, volume->data_volume->name);
}

static void add_claims(struct kube_index_sink *sink, const char *namespace_, const struct kv_volume_list *volumes)
{
    api_list_foreach (volume, volumes)
        if (volume->persistent_volume_claim)
            kube_index_add_pair(sink, namespace_, volume->persistent_volume_claim->claim_name);
}

static void vmi_node(const void *object, struct kube_index_sink *sink)
{
    const struct kv_vmi *vmi = object;

    if (*vmi->status.node_name)
        kube_index_add(sink, vmi->status.node_name);
}

static void vmi_data_volumes(const void *object, struct kube_index_sink *sink)
{
    const struct kv_vmi *vmi = object;

    add_data_volumes(sink, vmi->metadata.namespace, &vmi->spec.volumes);
}

static void vmi_claims(const void *object, struct kube_index_sink *sink)
{
    const struct kv_vmi *vmi = object;

    add_claims(sink, vmi->metadata.namespace, &vmi->spec.volumes);
}

static const struct kube_index vmi_indexes[] = {
    {VIRT_INDEX_NODE, vmi_node},
    {VIRT_INDEX_DV, vmi_data_volumes},
    {VIRT_INDEX_PVC, vmi_claims},
    {VIRT_INDEX_OWNER, controller_owner},
};

static void vm_data_volumes(const void *object, struct kube_index_sink *sink)
{
    const struct kv_vm *vm = object;

    if (vm->spec.template)
        add_data_volumes(sink, vm->metadata.namespace, &vm->spec.template->spec.volumes);
}

static void vm_claims(const void *object, struct kube_index_sink *sink)
{
    const struct kv_vm *vm = object;

    if (!vm->spec.template)
        return;
    add_claims(sink, vm->metadata.namespace, &vm->spec.template->spec.volumes);
    api_list_foreach (volume, &vm->spec.template->spec.volumes)
        if (volume->memory_dump)
            kube_index_add_pair(sink, vm->metadata.namespace, volume->memory_dump->claim_name);
}

static const struct kube_index vm_indexes[] = {
    {VIRT_INDEX_DV, vm_data_volumes},
    {VIRT_INDEX_PVC, vm_claims},
    {VIRT_INDEX_OWNER, controller_owner},
};

/* ---- migrations ---- */

static void migration_vmi(const void *object, struct kube_index_sink *sink)
{
    const struct kv_vmim *migration = object;

    kube_index_add_pair(sink, migration->metadata.namespace, migration->spec.vmi_name);
}

static void migration_uid(const void *object, struct kube_index_sink *sink)
{
    const struct kv_vmim *migration = object;

    kube_index_add(sink, migration->metadata.uid);
}

static void migration_unfinished(const void *object, struct kube_index_sink *sink)
{
    static const char *const final[] = {"Succeeded", "Failed"};
    const struct kv_vmim *migration = object;

    if (!kb_in_list(migration->status.phase, final, KB_ARRAY_LEN(final)))
        kube_index_add(sink, VIRT_INDEX_UNFINISHED);
}

static const struct kube_index migration_indexes[] = {
    {VIRT_INDEX_VMI_NAME, migration_vmi},
    {VIRT_INDEX_UID, migration_uid},
    {VIRT_INDEX_UNFINISHED, migration_unfinished},
};

/* ---- Pods, revisions ---- */

static void pod_created_by(const void *object, struct kube_index_sink *sink)
{
    const struct core_pod *pod = object;
    const char *uid = api_map_get(&pod->metadata.labels, VIRT_LABEL_CREATED_BY);

    if (uid)
        kube_index_add(sink, uid);
}

static void pod_claims(const void *object, struct kube_index_sink *sink)
{
    const struct core_pod *pod = object;

    api_list_foreach (volume, &pod->spec.volumes)
        if (volume->persistent_volume_claim)
            kube_index_add_pair(sink, pod->metadata.namespace, volume->persistent_volume_claim->claim_name);
}

static const struct kube_index pod_indexes[] = {
    {VIRT_INDEX_CREATED_BY, pod_created_by},
    {VIRT_INDEX_OWNER, controller_owner},
    {VIRT_INDEX_CLAIM, pod_claims},
};
static const struct kube_index other_pod_indexes[] = {
    {VIRT_INDEX_CLAIM, pod_claims},
    {VIRT_INDEX_OWNER, controller_owner},
};

static void pvc_state(const void *object, struct kube_index_sink *sink)
{
    const struct core_pvc *pvc = object;
    const char *vmi = api_map_get(&pvc->metadata.labels, VIRT_LABEL_PERSISTENT_STATE);

    if (vmi)
        kube_index_add_pair(sink, pvc->metadata.namespace, vmi);
}

static const struct kube_index pvc_indexes[] = {
    {VIRT_INDEX_OWNER, controller_owner},
    {VIRT_INDEX_STATE, pvc_state},
};

/* The first owner of a kind, controller or not. */
static void add_owner(struct kube_index_sink *sink, const struct meta_object_meta *meta, const char *kind)
{
    api_list_foreach (owner, &meta->owner_references) {
        if (!kb_streq(owner->kind, kind))
            continue;
        kube_index_add(sink, owner->uid);
        return;
    }
}

static void revision_vm(const void *object, struct kube_index_sink *sink)
{
    add_owner(sink, &((const struct apps_controller_revision *)object)->metadata, "VirtualMachine");
}

static void revision_pool(const void *object, struct kube_index_sink *sink)
{
    add_owner(sink, &((const struct apps_controller_revision *)object)->metadata, "VirtualMachinePool");
}

static const struct kube_index revision_indexes[] = {
    {VIRT_INDEX_VM, revision_vm},
    {VIRT_INDEX_POOL, revision_pool},
};

/* ---- snapshot, restore, backup ---- */

static void snapshot_vm(const void *object, struct kube_index_sink *sink)
{
    const struct snapshot_vm_snapshot *snapshot = object;

    add_reference(sink, &snapshot->metadata, &snapshot->spec.source, GROUP_KUBEVIRT, "VirtualMachine");
}

static const struct kube_index snapshot_indexes[] = {{VIRT_INDEX_VM, snapshot_vm}};

static void content_volume_snapshots(const void *object, struct kube_index_sink *sink)
{
    const struct snapshot_vm_snapshot_content *content = object;

    api_list_foreach (backup, &content->spec.volume_backups)
        if (backup->volume_snapshot_name)
            kube_index_add_pair(sink, content->metadata.namespace, backup->volume_snapshot_name);
}

static const struct kube_index content_indexes[] = {{VIRT_INDEX_VOLUME_SNAPSHOT, content_volume_snapshots}};

static void restore_vm(const void *object, struct kube_index_sink *sink)
{
    const struct snapshot_vm_restore *restore = object;

    add_reference(sink, &restore->metadata, &restore->spec.target, GROUP_KUBEVIRT, "VirtualMachine");
}

static const struct kube_index restore_indexes[] = {{VIRT_INDEX_VM, restore_vm}};

static void backup_vmi(const void *object, struct kube_index_sink *sink)
{
    const struct backup_vm_backup *backup = object;

    if (kb_streq(backup->spec.source.kind, "VirtualMachine"))
        kube_index_add_pair(sink, backup->metadata.namespace, backup->spec.source.name);
}

static void backup_tracker(const void *object, struct kube_index_sink *sink)
{
    const struct backup_vm_backup *backup = object;

    if (kb_streq(backup->spec.source.kind, "VirtualMachineBackupTracker"))
        kube_index_add_pair(sink, backup->metadata.namespace, backup->spec.source.name);
}

static const struct kube_index backup_indexes[] = {
    {VIRT_INDEX_VMI, backup_vmi},
    {VIRT_INDEX_BACKUP_TRACKER, backup_tracker},
};

static void tracker_vmi(const void *object, struct kube_index_sink *sink)
{
    const struct backup_vm_backup_tracker *tracker = object;

    add_reference(sink, &tracker->metadata, &tracker->spec.source, GROUP_KUBEVIRT, "VirtualMachine");
}

static const struct kube_index tracker_indexes[] = {{VIRT_INDEX_VMI, tracker_vmi}};

/* ---- export ---- */

static void export_claim(const void *object, struct kube_index_sink *sink)
{
    static const char *const core_groups[] = {"", "v1"}; /* users write both */
    const struct export_vm_export *export = object;
    const char *group = export->spec.source.api_group;

    if (kb_in_list(group ? group : "", core_groups, KB_ARRAY_LEN(core_groups)) &&
        kb_streq(export->spec.source.kind, "PersistentVolumeClaim"))
        kube_index_add_pair(sink, export->metadata.namespace, export->spec.source.name);
}

static void export_snapshot(const void *object, struct kube_index_sink *sink)
{
    const struct export_vm_export *export = object;

    add_reference(sink, &export->metadata, &export->spec.source, GROUP_SNAPSHOT, "VirtualMachineSnapshot");
}

static void export_vm(const void *object, struct kube_index_sink *sink)
{
    const struct export_vm_export *export = object;

    add_reference(sink, &export->metadata, &export->spec.source, GROUP_KUBEVIRT, "VirtualMachine");
}

static void export_backup(const void *object, struct kube_index_sink *sink)
{
    const struct export_vm_export *export = object;

    add_reference(sink, &export->metadata, &export->spec.source, GROUP_BACKUP, "VirtualMachineBackup");
}

static void export_template(const void *object, struct kube_index_sink *sink)
{
    const struct export_vm_export *export = object;

    add_reference(sink, &export->metadata, &export->spec.source, GROUP_TEMPLATE, "VirtualMachineTemplate");
}

static const struct kube_index export_indexes[] = {
    {VIRT_INDEX_PVC, export_claim},     {VIRT_INDEX_SNAPSHOT, export_snapshot}, {VIRT_INDEX_VM, export_vm},
    {VIRT_INDEX_BACKUP, export_backup}, {VIRT_INDEX_TEMPLATE, export_template},
};

/* ---- clone ---- */

static void clone_vm_source(const void *object, struct kube_index_sink *sink)
{
    const struct clone_vm_clone *clone = object;

    if (clone->spec.source)
        add_reference(sink, &clone->metadata, clone->spec.source, GROUP_KUBEVIRT, "VirtualMachine");
}

static void clone_vm_target(const void *object, struct kube_index_sink *sink)
{
    const struct clone_vm_clone *clone = object;

    if (clone->spec.target)
        add_reference(sink, &clone->metadata, clone->spec.target, GROUP_KUBEVIRT, "VirtualMachine");
}

static void clone_snapshot_source(const void *object, struct kube_index_sink *sink)
{
    const struct clone_vm_clone *clone = object;

    if (clone->spec.source)
        add_reference(sink, &clone->metadata, clone->spec.source, GROUP_SNAPSHOT, "VirtualMachineSnapshot");
}

static void add_in_phase(struct kube_index_sink *sink, const struct clone_vm_clone *clone, const char *phase,
                         const char *name)
{
    if (name && kb_streq(clone->status.phase, phase))
        kube_index_add_pair(sink, clone->metadata.namespace, name);
}

static void clone_waits_for_snapshot(const void *object, struct kube_index_sink *sink)
{
    const struct clone_vm_clone *clone = object;

    add_in_phase(sink, clone, VIRT_INDEX_SNAPSHOT_IN_PROGRESS, clone->status.snapshot_name);
}

static void clone_waits_for_restore(const void *object, struct kube_index_sink *sink)
{
    const struct clone_vm_clone *clone = object;

    add_in_phase(sink, clone, VIRT_INDEX_RESTORE_IN_PROGRESS, clone->status.restore_name);
}

static void clone_succeeded(const void *object, struct kube_index_sink *sink)
{
    const struct clone_vm_clone *clone = object;

    add_in_phase(sink, clone, VIRT_INDEX_SUCCEEDED, clone->status.restore_name);
}

static const struct kube_index clone_indexes[] = {
    {VIRT_INDEX_VM_SOURCE, clone_vm_source},
    {VIRT_INDEX_VM_TARGET, clone_vm_target},
    {VIRT_INDEX_SNAPSHOT_SOURCE, clone_snapshot_source},
    {VIRT_INDEX_SNAPSHOT_IN_PROGRESS, clone_waits_for_snapshot},
    {VIRT_INDEX_RESTORE_IN_PROGRESS, clone_waits_for_restore},
    {VIRT_INDEX_SUCCEEDED, clone_succeeded},
};

/* ---- projections ---- */

/* CRDs carry schemas of a megabyte; what matters is which kinds are served. */
static const char *const crd_paths[] = {"spec.group", "spec.names", "spec.versions.name", "spec.versions.served"};
static const struct api_projection crd_projection = {crd_paths, KB_ARRAY_LEN(crd_paths)};

/* Who owns a Pod, whether it runs, and which claims it holds. */
static const char *const other_pod_paths[] = {
    "metadata.labels",   "metadata.ownerReferences",           "spec.nodeName",
    "spec.volumes.name", "spec.volumes.persistentVolumeClaim", "status.phase"};
static const struct api_projection other_pod_projection = {other_pod_paths, KB_ARRAY_LEN(other_pod_paths)};

/* What is read of launchers and hotplug Pods once they are made: not how their containers are started. */
static const char *const pod_paths[] = {"metadata",
                                        "spec.nodeName",
                                        "spec.volumes",
                                        "spec.tolerations",
                                        "spec.containers.name",
                                        "spec.containers.image",
                                        "spec.containers.resources",
                                        "status"};
static const struct api_projection pod_projection = {pod_paths, KB_ARRAY_LEN(pod_paths)};

/* Without the list of images, the larger part of a Node. */
static const char *const node_paths[] = {
    "spec", "status.addresses", "status.allocatable", "status.capacity", "status.conditions", "status.nodeInfo"};
static const struct api_projection node_projection = {node_paths, KB_ARRAY_LEN(node_paths)};

/* ---- the table ---- */

#define INDEXES(array) .indexes = (array), .n_indexes = KB_ARRAY_LEN(array)

static const struct row {
    struct kube_informer_spec spec;
    bool in_install_namespace;
} rows[VIRT_N_INFORMERS] = {
    [VIRT_CRD] = {{"crd", &apiext_custom_resource_definition_type, .projection = &crd_projection}},
    [VIRT_KUBEVIRT] = {{"kubevirt", &kv_kube_virt_type}},
    [VIRT_VMI] = {{"vmi", &kv_vmi_type, .busy = true, INDEXES(vmi_indexes)}},
    [VIRT_VM] = {{"vm", &kv_vm_type, .busy = true, INDEXES(vm_indexes), .note_form = true}},
    [VIRT_VMIRS] = {{"vmirs", &kv_vmirs_type}},
    [VIRT_POOL] = {{"vmpool", &pool_vm_pool_type}},
    [VIRT_MIGRATION] = {{"vmim", &kv_vmim_type, INDEXES(migration_indexes)}},
    [VIRT_POD] = {{"kubevirt-pod", &core_pod_type, .busy = true, .label_selector = VIRT_LABEL_APP,
                   .projection = &pod_projection, INDEXES(pod_indexes)}},
    [VIRT_OTHER_POD] = {{"pod", &core_pod_type, .label_selector = "!" VIRT_LABEL_APP,
                         .projection = &other_pod_projection, INDEXES(other_pod_indexes)}},
    [VIRT_NODE] = {{"node", &core_node_type, .projection = &node_projection}},
    [VIRT_NAMESPACE] = {{"namespace", &core_namespace_type}},
    [VIRT_PVC] = {{"pvc", &core_pvc_type, INDEXES(pvc_indexes)}},
    [VIRT_PDB] = {{"pdb", &policy_pod_disruption_budget_type, INDEXES(owner_indexes)}},
    [VIRT_CONTROLLER_REVISION] = {{"controller-revision", &apps_controller_revision_type, .busy = true,
                                   INDEXES(revision_indexes)}},
    [VIRT_STORAGE_CLASS] = {{"storage-class", &storage_storage_class_type}},
    [VIRT_RESOURCE_QUOTA] = {{"resource-quota", &core_resource_quota_type}},
    [VIRT_MIGRATION_POLICY] = {{"migration-policy", &migrations_migration_policy_type}},
    [VIRT_SNAPSHOT] = {{"vm-snapshot", &snapshot_vm_snapshot_type, INDEXES(snapshot_indexes)}},
    [VIRT_SNAPSHOT_CONTENT] = {{"vm-snapshot-content", &snapshot_vm_snapshot_content_type, INDEXES(content_indexes)}},
    [VIRT_RESTORE] = {{"vm-restore", &snapshot_vm_restore_type, INDEXES(restore_indexes)}},
    [VIRT_EXPORT] = {{"vm-export", &export_vm_export_type, INDEXES(export_indexes)}},
    [VIRT_BACKUP] = {{"vm-backup", &backup_vm_backup_type, INDEXES(backup_indexes)}},
    [VIRT_BACKUP_TRACKER] = {{"vm-backup-tracker", &backup_vm_backup_tracker_type, INDEXES(tracker_indexes)}},
    [VIRT_CLONE] = {{"vm-clone", &clone_vm_clone_type, INDEXES(clone_indexes)}},
    [VIRT_INSTANCETYPE] = {{"instancetype", &instancetype_vm_instancetype_type}},
    [VIRT_CLUSTER_INSTANCETYPE] = {{"cluster-instancetype", &instancetype_vm_cluster_instancetype_type}},
    [VIRT_PREFERENCE] = {{"preference", &instancetype_vm_preference_type}},
    [VIRT_CLUSTER_PREFERENCE] = {{"cluster-preference", &instancetype_vm_cluster_preference_type}},
    [VIRT_EXPORT_CA] = {{"export-ca", &core_config_map_type, .field_selector = "metadata.name=kubevirt-export-ca"},
                        true},
    [VIRT_BACKUP_CA] = {{"backup-ca", &core_config_map_type, .field_selector = "metadata.name=kubevirt-backup-ca"},
                        true},
    [VIRT_ROUTE_CA] = {{"route-ca", &core_config_map_type, .field_selector = "metadata.name=kube-root-ca.crt"}, true},
    [VIRT_UNMANAGED_SECRET] = {{"unmanaged-secret", &core_secret_type,
                                .label_selector =
                                    "app.kubernetes.io/managed-by notin (virt-operator,kubevirt-operator)"},
                               true},
    [VIRT_EXPORT_SERVICE] = {{"export-service", &core_service_type, .label_selector = VIRT_LABEL_APP "=virt-exporter",
                              INDEXES(owner_indexes)}},
    [VIRT_INGRESS] = {{"ingress", &networking_ingress_type}, true},
    [VIRT_VM_LABELS_CONFIG] = {{"vm-labels-config", &core_config_map_type,
                                .field_selector = "metadata.name=kubevirt-vm-labels-config"},
                               true},
    [VIRT_ROUTE] = {{"route", &route_route_type,
                     .label_selector = "app.kubernetes.io/managed-by in (virt-operator,kubevirt-operator)"},
                    true},
    [VIRT_DATA_VOLUME] = {{"data-volume", &cdi_data_volume_type, INDEXES(owner_indexes)}},
    [VIRT_DATA_SOURCE] = {{"data-source", &cdi_data_source_type}},
    [VIRT_STORAGE_PROFILE] = {{"storage-profile", &cdi_storage_profile_type}},
    [VIRT_CDI] = {{"cdi", &cdi_cdi_type}},
    [VIRT_CDI_CONFIG] = {{"cdi-config", &cdi_cdi_config_type}},
    [VIRT_TEMPLATE] = {{"vm-template", &template_vm_template_type}},
    [VIRT_VOLUME_SNAPSHOT] = {{"volume-snapshot", &volumesnapshot_volume_snapshot_type}},
    [VIRT_VOLUME_SNAPSHOT_CLASS] = {{"volume-snapshot-class", &volumesnapshot_volume_snapshot_class_type}},
};

const struct kube_informer_spec *virt_informer_specs(struct kb_arena *arena, const char *install_namespace)
{
    struct kube_informer_spec *specs = kb_arena_many(arena, struct kube_informer_spec, VIRT_N_INFORMERS);
    const char *namespace_ = kb_arena_strdup(arena, install_namespace);

    for (size_t i = 0; i < VIRT_N_INFORMERS; i++) {
        specs[i] = rows[i].spec;
        if (rows[i].in_install_namespace)
            specs[i].namespace_ = namespace_;
    }
    return specs;
}
