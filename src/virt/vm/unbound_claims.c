/*
 * Claims that a VM waits for: which one is not bound, and why it never will be as things are, or takes long. Told in
 * the condition ClaimsUnbound, which the reference does not have: its VMs stay WaitingForVolumeBinding without a word.
 * A claim that is on its way (a provisioner works on it, or it is bound with its first consumer) is nothing to tell of.
 */
#include "api/types/storage.h"
#include "base/strings.h"
#include "base/time.h"
#include "virt/conditions.h"
#include "virt/storage/volumes.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define PATIENCE_NS    (5 * 60 * KB_NS_PER_S) /* that a provisioner gets before it is told of */
#define FRESH_NS       (5 * KB_NS_PER_S)      /* a claim of a class that binds at once is bound by then, as a rule */
#define FIRST_CONSUMER "WaitForFirstConsumer"

const struct core_pvc *vm_unbound_claim(struct vm_pass *pass)
{
    api_list_foreach (volume, &pass->vm->spec.template->spec.volumes) {
        const char *claim = virt_volume_claim(volume);
        const struct core_pvc *pvc = *claim ? virt_claim(pass->req, pass->vm->metadata.namespace, claim) : NULL;
        if (pvc && !kb_streq(pvc->status.phase, "Bound"))
            return pvc;
    }
    return NULL;
}

static int64_t age_ns(struct vm_pass *pass, const struct core_pvc *pvc)
{
    int64_t created;
    const char *text = pvc->metadata.creation_timestamp;
    return text && kb_time_parse(text, &created) ? kube_now(pass->req) - created : 0;
}

/* Comes back when the provisioner's time is over. */
static bool takes_long(struct vm_pass *pass, const struct core_pvc *pvc)
{
    int64_t left = PATIENCE_NS - age_ns(pass, pvc);
    if (left > 0)
        kube_request_later(pass->req, left);
    return left <= 0;
}

static const struct storage_storage_class *class_of(struct vm_pass *pass, const struct core_pvc *pvc)
{
    const char *name = pvc->spec.storage_class_name;
    return kb_empty(name) ? NULL : kube_lookup(pass->req, VIRT_STORAGE_CLASS, "", name);
}

static bool binds_with_consumer(const struct storage_storage_class *class)
{
    return class && class->volume_binding_mode && kb_streq(class->volume_binding_mode, FIRST_CONSUMER);
}

bool vm_claim_is_about_to_be_bound(struct vm_pass *pass, const struct core_pvc *pvc)
{
    bool pending = kb_empty(pvc->status.phase) || kb_streq(pvc->status.phase, "Pending");
    int64_t left = virt_moment_left(kube_now(pass->req), pvc->metadata.creation_timestamp, FRESH_NS);
    if (!pending || left == 0 || api_is_being_deleted(&pvc->metadata) || binds_with_consumer(class_of(pass, pvc)))
        return false;
    kube_request_later(pass->req, left);
    return true;
}

struct cause {
    const char *reason, *text;
};

static struct cause cause_of_class(struct vm_pass *pass, const struct core_pvc *pvc)
{
    const char *name = pvc->spec.storage_class_name ? pvc->spec.storage_class_name : "";
    const struct storage_storage_class *class = class_of(pass, pvc);
    if (binds_with_consumer(class))
        return (struct cause){0};
    if (!class && !takes_long(pass, pvc) && !*name)
        return (struct cause){0};
    if (!*name)
        return (struct cause){"NoStorageClass", "it names no StorageClass, and no PersistentVolume fits it"};
    if (!class)
        return (struct cause){"StorageClassNotFound",
                              kb_arena_printf(pass->arena, "its StorageClass %s does not exist", name)};
    if (!takes_long(pass, pvc))
        return (struct cause){0};
    return (struct cause){"ProvisionerIsSlow",
                          kb_arena_printf(pass->arena,
                                          "provisioner %s of its StorageClass %s has not made a volume yet",
                                          class->provisioner, name)};
}

static struct cause find_cause(struct vm_pass *pass, const struct core_pvc *pvc)
{
    if (kb_streq(pvc->status.phase, "Lost"))
        return (struct cause){"ClaimLost",
                              kb_arena_printf(pass->arena, "its PersistentVolume%s%s is gone",
                                              kb_empty(pvc->spec.volume_name) ? "" : " ", pvc->spec.volume_name)};
    if (api_is_being_deleted(&pvc->metadata))
        return (struct cause){"ClaimTerminating", "it is being deleted"};
    if (!kb_empty(pvc->spec.volume_name) && takes_long(pass, pvc))
        return (struct cause){
            "VolumeNotBound",
            kb_arena_printf(pass->arena, "its PersistentVolume %s is not bound to it", pvc->spec.volume_name)};
    return kb_empty(pvc->spec.volume_name) ? cause_of_class(pass, pvc) : (struct cause){0};
}

void vm_explain_unbound_claim(struct vm_pass *pass, const struct core_pvc *pvc)
{
    struct cause cause = pvc ? find_cause(pass, pvc) : (struct cause){0};
    if (!cause.reason) {
        virt_vm_remove_condition(pass->vm, VM_CONDITION_CLAIMS_UNBOUND);
        return;
    }
    const char *message =
        kb_arena_printf(pass->arena, "PersistentVolumeClaim %s is not bound: %s", pvc->metadata.name, cause.text);
    const struct kv_vm_condition *before = virt_vm_condition(pass->vm, VM_CONDITION_CLAIMS_UNBOUND);
    if (before && !kb_streq(before->message, message))
        virt_vm_remove_condition(pass->vm, VM_CONDITION_CLAIMS_UNBOUND);
    virt_vm_set_condition(pass->arena, pass->vm,
                          &(struct kv_vm_condition){.type = VM_CONDITION_CLAIMS_UNBOUND,
                                                    .status = VIRT_TRUE,
                                                    .reason = cause.reason,
                                                    .message = message,
                                                    .last_transition_time = kube_now_text(pass->req)});
}
