/*
 * DataVolumes that a VM's templates ask for: created, owned, waited for, adopted.
 *
 * A template that names a DataSource is written with the source that this stands for, so that what the VM got does not
 * change later; and whoever may not clone that source gets no DataVolume (data_volume_clone.c).
 * Source: the reference's handleDataVolumes, watch/vm/vm.go; pkg/storage/types/dv.go.
 */
#include "api/meta.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define ALLOW_CLAIM_ADOPTION "cdi.kubevirt.io/allowClaimAdoption"
#define CACHE_WAIT_NS        (10 * KB_NS_PER_S)

static struct cdi_data_volume *from_template(struct vm_pass *pass, const struct kv_data_volume_template_spec *template)
{
    struct cdi_data_volume *dv = kb_arena_one(pass->arena, struct cdi_data_volume);
    dv->api_version = "cdi.kubevirt.io/v1beta1";
    dv->kind = "DataVolume";
    api_clone_into(pass->arena, &meta_object_meta_type, &template->metadata, &dv->metadata);
    api_clone_into(pass->arena, &cdi_data_volume_spec_type, &template->spec, &dv->spec);
    dv->metadata.namespace = pass->vm->metadata.namespace;
    api_map_set(pass->arena, &dv->metadata.labels, VIRT_LABEL_CREATED_BY, pass->vm->metadata.uid);
    api_map_set(pass->arena, &dv->metadata.annotations, ALLOW_CLAIM_ADOPTION, "true");
    dv->metadata.owner_references = (struct meta_owner_reference_list){0};
    api_add_controller(pass->arena, &dv->metadata, &kv_vm_type, pass->vm);
    if (kb_empty(dv->spec.priority_class_name))
        dv->spec.priority_class_name = pass->vm->spec.template->spec.priority_class_name;
    return dv;
}

static int create(struct vm_pass *pass, const struct kv_data_volume_template_spec *template, struct kube_error *reterr)
{
    const char *name = template->metadata.name;
    struct cdi_data_volume *dv = from_template(pass, template);
    if (vm_resolve_clone_source(pass, dv, reterr) < 0)
        return kube_error_wrap(reterr, "unable to create DataVolume manifest");
    if (vm_check_clone(pass, dv, reterr) < 0)
        return -1;
    kube_expect_creations(pass->controller->data_volumes, pass->key, 1);
    if (kube_create(pass->req, &cdi_data_volume_type, dv, NULL, reterr) == 0) {
        vm_event(pass, KUBE_EVENT_NORMAL, VM_REASON_DV_CREATED, "Created DataVolume %s", name);
        return 0;
    }
    kube_creation_observed(pass->controller->data_volumes, pass->key);
    if (kube_error_is_already_exists(reterr)) {
        /* Made by this VM, and the answer got lost, or by somebody else: once the cache has it, it is looked at. Or it
         * is the claim that is there, for a CDI that does not know claim adoption. */
        kube_request_later(pass->req, CACHE_WAIT_NS);
        return 0;
    }
    vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_DV_CREATE_FAILED, "Error creating DataVolume %s: %s", name,
             reterr->message);
    return kube_error_wrap(reterr, "failed to create DataVolume");
}

/* 1: populated far enough to start, 0: not yet, negative: it can't be. */
static int look_at(struct vm_pass *pass, const struct cdi_data_volume *dv, struct kube_error *reterr)
{
    static const char *const ready[] = {"Succeeded", "WaitForFirstConsumer", "PendingPopulation"};
    const char *name = dv->metadata.name, *phase = dv->status.phase;
    if (kb_in_list(phase, ready, KB_ARRAY_LEN(ready)))
        return 1;
    if (kb_streq(phase, "Failed"))
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_DV_IMPORT_FAILED, "DataVolume %s failed to import disk image",
                 name);
    if (!kb_streq(phase, "Pending"))
        return 0;
    const struct cdi_data_volume_condition *bound = virt_data_volume_condition(dv, "Bound");
    if (!bound || kb_streq(bound->status, "True") || !kb_streq(bound->reason, "ErrExceededQuota"))
        return 0;
    vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_DV_IMPORT_FAILED, "DataVolume %s exceeds quota limits", name);
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "DataVolume %s importer is not running due to an error: %s", name,
                          bound->message);
}

int vm_sync_data_volumes(struct vm_pass *pass, bool *ret_ready, struct kube_error *reterr)
{
    *ret_ready = true;
    api_list_foreach (template, &pass->vm->spec.data_volume_templates) {
        const struct cdi_data_volume *dv =
            kube_lookup(pass->req, VIRT_DATA_VOLUME, pass->vm->metadata.namespace, template->metadata.name);
        int ready = dv ? look_at(pass, dv, reterr) : create(pass, template, reterr);
        if (ready < 0)
            return -1;
        if (!ready)
            *ret_ready = false;
    }
    return 0;
}

/* Before the first adoption of a pass: is the VM, as the API server has it now, still this one and not going? */
static int may_adopt(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct meta_object_meta *meta = &pass->vm->metadata;
    const void *answer;
    if (kube_get_live(pass->req, &kv_vm_type, meta->namespace, meta->name, &answer, reterr) < 0)
        return -1;
    const struct kv_vm *live = answer;
    if (!live || !kb_streq(live->metadata.uid, meta->uid))
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "original VirtualMachine %s/%s is gone", meta->namespace,
                              meta->name);
    if (api_is_being_deleted(&live->metadata))
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "%s/%s has just been deleted at %s", meta->namespace,
                              meta->name, live->metadata.deletion_timestamp);
    return 0;
}

int vm_adopt(struct vm_pass *pass, const struct api_type *type, const void *object, const void **ret,
             struct kube_error *reterr)
{
    if (may_adopt(pass, reterr) < 0)
        return kube_error_wrap(reterr, "can't adopt");
    const struct api_any *any = object;
    const char *patch = kb_arena_printf(
        pass->arena,
        "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"" VIRT_GROUP_VERSION "\",\"kind\":\"VirtualMachine\","
        "\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}],\"uid\":\"%s\"}}",
        pass->vm->metadata.name, pass->vm->metadata.uid, any->metadata.uid);
    return kube_patch(pass->req, type, object, NULL, KUBE_MERGE_PATCH, patch, ret, reterr);
}

int vm_adopt_data_volumes(struct vm_pass *pass, struct kube_error *reterr)
{
    if (api_is_being_deleted(&pass->vm->metadata))
        return 0;
    api_list_foreach (template, &pass->vm->spec.data_volume_templates) {
        const struct cdi_data_volume *dv =
            kube_lookup(pass->req, VIRT_DATA_VOLUME, pass->vm->metadata.namespace, template->metadata.name);
        if (!dv || api_controller_of(&dv->metadata) || api_is_being_deleted(&dv->metadata))
            continue;
        if (vm_adopt(pass, &cdi_data_volume_type, dv, NULL, reterr) < 0 && !kube_error_is_not_found(reterr))
            return -1;
    }
    return 0;
}
