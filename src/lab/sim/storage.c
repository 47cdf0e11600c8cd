/*
 * Storage: claims are bound at once (pvc-binder), DataVolumes get a claim and succeed (cdi), VolumeSnapshots are ready
 * at once (snapshotter). No volume exists anywhere.
 */
#include "base/strings.h"
#include "lab/sim/sim_internal.h"

#define CLAIMS        "persistentvolumeclaims"
#define DATA_VOLUMES  "datavolumes.cdi.kubevirt.io"
#define SNAPSHOTS     "volumesnapshots.snapshot.storage.k8s.io"
#define POPULATED_FOR "cdi.kubevirt.io/storage.populatedFor"
#define PROTECTION    "kubernetes.io/pvc-protection"

/* -- pvc-binder */

/* The claim may go: nothing here uses it. Other finalizers stay. */
static int release_claim(struct sim_act *a, struct kube_error *reterr)
{
    yyjson_val *finalizers = yyjson_obj_get(a->metadata, "finalizers");
    if (yyjson_arr_size(finalizers) != 1 || !yyjson_equals_str(yyjson_arr_get_first(finalizers), PROTECTION))
        return 0;
    yyjson_mut_val *patch = lab_json_mut(a->doc, a->arena, "{\"metadata\":{\"finalizers\":null}}");
    return sim_merge(a, NULL, true, patch, reterr);
}

static int bind_claim(struct sim_act *a, struct kube_error *reterr)
{
    const char *phase = lab_val_str(a->status, "phase");
    if (a->object->meta->deleting)
        return release_claim(a, reterr);
    if (*phase && !kb_streq(phase, "Pending"))
        return 0;
    yyjson_mut_val *patch = yyjson_mut_obj(a->doc), *status = yyjson_mut_obj_add_obj(a->doc, patch, "status");
    yyjson_val *size = LAB_VAL_AT(a->spec, "resources", "requests"), *modes = yyjson_obj_get(a->spec, "accessModes");
    yyjson_mut_obj_add_str(a->doc, status, "phase", "Bound");
    if (size)
        yyjson_mut_obj_add_val(a->doc, status, "capacity", yyjson_val_mut_copy(a->doc, size));
    if (modes)
        yyjson_mut_obj_add_val(a->doc, status, "accessModes", yyjson_val_mut_copy(a->doc, modes));
    return sim_merge(a, "status", true, patch, reterr);
}

/* -- cdi */

static const char *owner_reference(struct sim_act *a, const char *name, const char *uid)
{
    return kb_arena_printf(a->arena,
                           "\"ownerReferences\":[{\"apiVersion\":\"cdi.kubevirt.io/v1beta1\",\"kind\":\"DataVolume\","
                           "\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}]",
                           name, uid);
}

/* CDI takes over a claim without owner that says it was populated for this DataVolume. */
static int adopt(struct sim_act *a, const struct lab_object *claim, yyjson_val *metadata,
                 const struct lab_object *volume, struct kube_error *reterr)
{
    yyjson_val *annotations = yyjson_obj_get(metadata, "annotations");
    if (claim->meta->n_owners || !kb_streq(lab_val_str(annotations, POPULATED_FOR), volume->meta->name))
        return 0;
    struct lab_ref ref = {.resource = CLAIMS, .namespace_ = claim->meta->namespace_, .name = claim->meta->name};
    const char *patch =
        kb_arena_printf(a->arena, "{\"metadata\":{%s}}", owner_reference(a, volume->meta->name, volume->meta->uid));
    return lab_client_patch_text(a->client, &ref, LAB_PATCH_MERGE, patch, NULL, reterr);
}

static int adopt_claim(struct sim_act *a, struct kube_error *reterr)
{
    const char *name = lab_val_str(yyjson_obj_get(a->metadata, "annotations"), POPULATED_FOR);
    lab_cleanup_object struct lab_object *volume = NULL;
    struct lab_ref ref = {.resource = DATA_VOLUMES, .namespace_ = a->ref.namespace_, .name = name};
    if (!*name || a->object->meta->deleting)
        return 0;
    if (lab_client_get(a->client, &ref, &volume, reterr) < 0)
        return -1;
    return volume->meta->deleting ? 0 : adopt(a, a->object, a->metadata, volume, reterr);
}

static yyjson_mut_val *copy_or(struct sim_act *a, yyjson_val *from, const char *member, const char *otherwise)
{
    yyjson_val *v = yyjson_obj_get(from, member);
    return v ? yyjson_val_mut_copy(a->doc, v) : lab_json_mut(a->doc, a->arena, otherwise);
}

static int make_claim(struct sim_act *a, struct kube_error *reterr)
{
    yyjson_val *from = yyjson_obj_get(a->spec, "pvc");
    if (!from)
        from = yyjson_obj_get(a->spec, "storage");
    yyjson_mut_val *claim = lab_json_mut(
        a->doc, a->arena,
        kb_arena_printf(a->arena, "{\"metadata\":{\"labels\":{\"app\":\"containerized-data-importer\"},%s}}",
                        owner_reference(a, a->ref.name, a->object->meta->uid)));
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(a->doc, claim, "spec");
    lab_mut_put(a->doc, spec, "accessModes", copy_or(a, from, "accessModes", "[\"ReadWriteOnce\"]"));
    lab_mut_put(a->doc, spec, "resources", copy_or(a, from, "resources", "{\"requests\":{\"storage\":\"1Gi\"}}"));
    lab_mut_put(a->doc, spec, "volumeMode", copy_or(a, from, "volumeMode", "\"Filesystem\""));
    lab_mut_put(a->doc, spec, "storageClassName", copy_or(a, from, "storageClassName", "\"standard\""));
    struct lab_ref ref = a->ref;
    ref.resource = CLAIMS;
    return lab_client_create(a->client, &ref, claim, NULL, reterr);
}

static int provide_claim(struct sim_act *a, struct kube_error *reterr)
{
    struct kube_error err = {0};
    if (make_claim(a, &err) == 0)
        return 0;
    if (!kube_error_is_already_exists(&err)) {
        *reterr = err;
        return -1;
    }
    struct lab_ref ref = a->ref;
    ref.resource = CLAIMS;
    lab_cleanup_object struct lab_object *claim = NULL;
    if (lab_client_get(a->client, &ref, &claim, reterr) < 0)
        return -1;
    return adopt(a, claim, yyjson_obj_get(lab_object_parse(a->arena, claim, NULL), "metadata"), a->object, reterr);
}

static int populate(struct sim_act *a, struct kube_error *reterr)
{
    if (a->object->meta->deleting || *lab_val_str(a->status, "phase"))
        return 0;
    if (provide_claim(a, reterr) < 0)
        return -1;
    yyjson_mut_val *patch = lab_json_mut(
        a->doc, a->arena,
        kb_arena_printf(a->arena,
                        "{\"status\":{\"phase\":\"Succeeded\",\"progress\":\"100.0%%\",\"claimName\":\"%s\","
                        "\"conditions\":[{\"type\":\"Bound\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":"
                        "\"True\"},{\"type\":\"Running\",\"status\":\"False\"}]}}",
                        a->ref.name));
    return sim_merge(a, "status", false, patch, reterr);
}

/* -- snapshotter */

static int snapshot(struct sim_act *a, struct kube_error *reterr)
{
    if (a->object->meta->deleting || yyjson_get_bool(yyjson_obj_get(a->status, "readyToUse")))
        return 0;
    yyjson_mut_val *patch =
        lab_json_mut(a->doc, a->arena,
                     kb_arena_printf(a->arena,
                                     "{\"status\":{\"readyToUse\":true,\"creationTime\":\"%s\",\"restoreSize\":\"1Gi\","
                                     "\"boundVolumeSnapshotContentName\":\"snapcontent-%s\"}}",
                                     a->now, a->ref.name));
    return sim_merge(a, "status", false, patch, reterr);
}

const struct sim_rule sim_storage_rules[] = {
    {LAB_PART_PVC_BINDER, CLAIMS, NULL, bind_claim},
    {LAB_PART_CDI, CLAIMS, NULL, adopt_claim},
    {LAB_PART_CDI, DATA_VOLUMES, NULL, populate},
    {LAB_PART_SNAPSHOTTER, SNAPSHOTS, NULL, snapshot},
    {0},
};

/* Classes that claims and snapshots name, each made by the part that acts on them. */
static const struct {
    enum lab_part part;
    const char *resource, *name, *body;
} classes[] = {
    {LAB_PART_PVC_BINDER, "storageclasses.storage.k8s.io", "standard",
     "{\"metadata\":{\"annotations\":{\"storageclass.kubernetes.io/is-default-class\":\"true\"}},\"provisioner\":"
     "\"csi.virt-lab\",\"volumeBindingMode\":\"Immediate\",\"allowVolumeExpansion\":true}"},
    {LAB_PART_SNAPSHOTTER, "volumesnapshotclasses.snapshot.storage.k8s.io", "standard",
     "{\"driver\":\"csi.virt-lab\",\"deletionPolicy\":\"Delete\"}"},
};

int sim_storage_make(struct lab_sim *sim, struct kube_error *reterr)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(classes); i++) {
        struct lab_ref ref = {.resource = classes[i].resource, .name = classes[i].name};
        struct kube_error err = {0};
        if (sim->options.off & LAB_PART_BIT(classes[i].part))
            continue;
        int rc = lab_client_create_text(sim->users[classes[i].part], &ref, classes[i].body, NULL, &err);
        if (rc < 0 && !kube_error_is_not_found(&err)) { /* without those kinds there is nothing to make */
            *reterr = err;
            return -1;
        }
    }
    return 0;
}
