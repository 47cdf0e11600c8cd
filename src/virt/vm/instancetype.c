/*
 * Instance type and preference of a VM: what it names is kept as ControllerRevisions that its status refers to (policy
 * "reference"), or written into the VM and forgotten (policies "expand" and "expandAll").
 *
 * Order, from which a later pass can go on wherever this one was cut off: the revision is created (its name says what
 * is in it, so a second attempt finds the first) -> the status refers to it -> one that it replaces is deleted. And for
 * a VM that is expanded: its spec is written -> its revisions are deleted -> its status forgets them.
 * Source: the reference's pkg/instancetype/controller/vm, revision/store.go, upgrade/handler.go.
 */
#include "base/strings.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* ---- look-ups: the cache, or else the API server ---- */

static const struct {
    const struct api_type *type;
    int informer;
} caches[] = {
    {&apps_controller_revision_type, VIRT_CONTROLLER_REVISION},
    {&instancetype_vm_instancetype_type, VIRT_INSTANCETYPE},
    {&instancetype_vm_cluster_instancetype_type, VIRT_CLUSTER_INSTANCETYPE},
    {&instancetype_vm_preference_type, VIRT_PREFERENCE},
    {&instancetype_vm_cluster_preference_type, VIRT_CLUSTER_PREFERENCE},
};

static const void *get(void *userdata, const struct api_type *type, const char *namespace_, const char *name,
                       struct kube_error *reterr)
{
    struct kube_request *req = userdata;
    const void *object = NULL;
    for (size_t i = 0; i < KB_ARRAY_LEN(caches) && !object; i++)
        if (caches[i].type == type)
            object = kube_lookup(req, caches[i].informer, namespace_, name);
    if (!object && kube_get_live(req, type, namespace_, name, &object, reterr) < 0)
        return NULL;
    return object;
}

struct virt_instancetype_lookups vm_instancetype_lookups(struct vm_pass *pass)
{
    return (struct virt_instancetype_lookups){get, pass->req};
}

/* ---- policy "reference" ---- */

/* What the matcher says goes to the status; another object, and the revision no longer counts. */
static void follow_matcher(struct kb_arena *arena, const struct kv_instancetype_matcher *matcher,
                           struct kv_instancetype_status_ref *ref)
{
    const struct {
        const char *from, **to;
    } members[] = {{matcher->name, &ref->name},
                   {matcher->kind, &ref->kind},
                   {matcher->infer_from_volume, &ref->infer_from_volume}};
    for (size_t i = 0; i < KB_ARRAY_LEN(members); i++) {
        if (kb_empty(members[i].from) || (*members[i].to && kb_streq(members[i].from, *members[i].to)))
            continue;
        *members[i].to = members[i].from;
        ref->controller_revision_ref = NULL;
    }
    if (matcher->infer_from_volume_failure_policy)
        ref->infer_from_volume_failure_policy = matcher->infer_from_volume_failure_policy;
    if (!kb_empty(matcher->revision_name)) {
        ref->controller_revision_ref = kb_arena_one(arena, struct kv_controller_revision_ref);
        ref->controller_revision_ref->name = matcher->revision_name;
    }
}

/* One that is there already must keep the same. */
static int create_revision(struct vm_pass *pass, const struct apps_controller_revision *revision,
                           struct kube_error *reterr)
{
    const struct api_type *type = &apps_controller_revision_type;
    const struct apps_controller_revision *present;
    if (kube_create(pass->req, type, revision, NULL, reterr) == 0)
        return 0;
    if (!kube_error_is_already_exists(reterr))
        return kube_error_wrap(reterr, "failed to create ControllerRevision");
    if (kube_get_live(pass->req, type, revision->metadata.namespace, revision->metadata.name, (const void **)&present,
                      reterr) < 0)
        return kube_error_wrap(reterr, "failed to get ControllerRevision");
    if (!present)
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "ControllerRevision %s has just gone",
                              revision->metadata.name);
    int same = virt_instancetype_compare_revisions(pass->arena, revision, present, reterr);
    if (same < 0)
        return -1;
    return same ? 0
                : kube_error_set(reterr, KUBE_ERROR_INVALID,
                                 "found existing ControllerRevision with unexpected data: %s", revision->metadata.name);
}

/* An instance type that the VM can't have must not be kept. */
static int check_conflicts(struct vm_pass *pass, const struct api_type *type, const void *object,
                           struct kube_error *reterr)
{
    const struct api_field *field;
    const struct instancetype_vm_instancetype_spec *spec = api_field_at(type, object, "spec", &field);
    struct kv_vmi_template_spec *template = api_clone(pass->arena, &kv_vmi_template_spec_type, pass->vm->spec.template);
    const char *conflicts;
    virt_instancetype_apply(pass->arena, "spec.template.spec", spec, NULL, &template->spec, &template->metadata,
                            &conflicts);
    if (conflicts)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_CONFLICT_IN_TEMPLATE, conflicts);
    pass->annotations_of_new_instancetype = &spec->annotations;
    return 0;
}

static int store_new(struct vm_pass *pass, const struct virt_flavor *flavor, struct kv_instancetype_status_ref *ref,
                     struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    const struct api_type *type;
    const void *object;
    if (virt_flavor_find_object(flavor, &lookups, pass->vm, &object, &type, reterr) < 0)
        return -1;
    if (flavor == &virt_instancetype_flavor && check_conflicts(pass, type, object, reterr) < 0)
        return -1;
    const struct apps_controller_revision *revision =
        virt_instancetype_make_revision(pass->arena, pass->vm, type, object);
    if (create_revision(pass, revision, reterr) < 0)
        return -1;
    ref->controller_revision_ref = kb_arena_one(pass->arena, struct kv_controller_revision_ref);
    ref->controller_revision_ref->name = revision->metadata.name;
    return 0;
}

static int store(struct vm_pass *pass, const struct virt_flavor *flavor, struct kube_error *reterr)
{
    const struct kv_instancetype_matcher *matcher = virt_flavor_matcher(flavor, pass->vm);
    struct kv_instancetype_status_ref **present = virt_flavor_ref(flavor, pass->vm), *ref;
    if (!matcher)
        return 0;
    if (!*present)
        *present = kb_arena_one(pass->arena, struct kv_instancetype_status_ref);
    ref = api_clone(pass->arena, &kv_instancetype_status_ref_type, *present);
    follow_matcher(pass->arena, matcher, ref);
    if (!ref->controller_revision_ref && store_new(pass, flavor, ref, reterr) < 0)
        return -1;
    *present = ref;
    return 0;
}

/* ---- references written at once ---- */

static int write_refs(struct vm_pass *pass, struct kube_error *reterr)
{
    struct kv_vm *after = KUBE_EDIT(pass->req, kv_vm, pass->stored);
    const void *answer;
    after->status.instancetype_ref = pass->vm->status.instancetype_ref;
    after->status.preference_ref = pass->vm->status.preference_ref;
    if (kube_update_status(pass->req, &kv_vm_type, pass->stored, after, &answer, reterr) < 0)
        return -1;
    pass->stored = answer;
    return 0;
}

/* One that another VM keeps stays: spec.instancetype.revisionName may name any. */
static int delete_revision(struct vm_pass *pass, const char *name, struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    const struct apps_controller_revision *revision;
    if (virt_instancetype_find_revision(&lookups, pass->vm->metadata.namespace, name, &revision, reterr) < 0)
        return kube_error_is_not_found(reterr) ? 0 : -1;
    const struct meta_owner_reference *owner = api_controller_of(&revision->metadata);
    if (owner && !kb_streq(owner->uid, pass->vm->metadata.uid))
        return 0;
    return kube_delete(pass->req, &apps_controller_revision_type, revision, reterr);
}

/* ---- revisions of older API versions ---- */

/* *ret_old: the revision that was replaced; NULL: it is of the latest version. */
static int renew(struct vm_pass *pass, const struct virt_flavor *flavor, const char **ret_old,
                 struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    struct kv_instancetype_status_ref *ref = *virt_flavor_ref(flavor, pass->vm);
    const struct apps_controller_revision *revision;
    const struct api_type *type;
    const void *object;
    *ret_old = NULL;
    if (!virt_flavor_matcher(flavor, pass->vm) || !virt_instancetype_has_revision(ref))
        return 0;
    const char *name = ref->controller_revision_ref->name;
    if (virt_instancetype_find_revision(&lookups, pass->vm->metadata.namespace, name, &revision, reterr) < 0)
        return -1;
    if (virt_instancetype_revision_is_latest(revision))
        return 0;
    if (virt_instancetype_decode_revision(pass->arena, revision, &object, &type, reterr) < 0)
        return -1;
    const struct apps_controller_revision *renewed =
        virt_instancetype_make_revision(pass->arena, pass->vm, type, object);
    if (kb_streq(renewed->metadata.name, name)) /* it would take the place of itself, and then go */
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "controllerrevisions.apps \"%s\" already exists", name);
    if (create_revision(pass, renewed, reterr) < 0)
        return -1;
    ref->controller_revision_ref->name = renewed->metadata.name;
    *ret_old = name;
    return 0;
}

static int renew_all(struct vm_pass *pass, const char *ret_old[2], struct kube_error *reterr)
{
    if (renew(pass, &virt_instancetype_flavor, &ret_old[0], reterr) < 0 ||
        renew(pass, &virt_preference_flavor, &ret_old[1], reterr) < 0)
        return -1;
    return ret_old[0] || ret_old[1] ? write_refs(pass, reterr) : 0;
}

/* Refers to the old ones until all has been written, so that they are found again. A revision that has been replaced
 * and can't be deleted is left to the garbage collector. */
static int upgrade(struct vm_pass *pass, struct kube_error *reterr)
{
    const char *old[2] = {NULL, NULL};
    struct kube_error ignored;
    struct kv_instancetype_status_ref *refs[] = {pass->vm->status.instancetype_ref, pass->vm->status.preference_ref};
    int status = renew_all(pass, old, reterr);
    for (size_t i = 0; i < KB_ARRAY_LEN(old); i++) {
        if (old[i] && status < 0)
            refs[i]->controller_revision_ref->name = old[i];
        else if (old[i])
            delete_revision(pass, old[i], &ignored);
    }
    return status;
}

/* ---- policies "expand" and "expandAll" ---- */

#define UNSUPPORTED "unsupported error: error encountered "

/* What an expanded VM has left: revisions, and the references by which they are found until then. */
static int forget(struct vm_pass *pass)
{
    static const struct virt_flavor *const flavors[] = {&virt_instancetype_flavor, &virt_preference_flavor};
    for (size_t i = 0; i < KB_ARRAY_LEN(flavors); i++) {
        struct kv_instancetype_status_ref **ref = virt_flavor_ref(flavors[i], pass->vm);
        const char *name = virt_instancetype_has_revision(*ref) ? (*ref)->controller_revision_ref->name : NULL;
        struct kube_error error = {0};
        if (name && delete_revision(pass, name, &error) < 0)
            return vm_fail(pass, VM_REASON_CREATE_FAILED,
                           "error encountered cleaning controllerRevision %s after successfully expanding "
                           "VirtualMachine %s: %s",
                           name, pass->vm->metadata.name, error.message);
        *ref = NULL;
    }
    return VM_NEXT;
}

static int expand(struct vm_pass *pass, bool all, struct kube_error *reterr)
{
    const struct kv_vm_status *status = &pass->vm->status;
    if (!all && (virt_instancetype_has_revision(status->instancetype_ref) ||
                 virt_instancetype_has_revision(status->preference_ref)))
        return VM_NEXT;
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    struct kv_vm *expanded = api_clone(pass->arena, &kv_vm_type, pass->vm);
    struct kube_error error = {0};
    if (virt_instancetype_expand(pass->arena, pass->config, &lookups, expanded, &error) < 0)
        return vm_fail(pass, VM_REASON_UNSUPPORTED, UNSUPPORTED "while expanding into VirtualMachine: %s",
                       error.message);
    expanded->status = *status; /* refers to the revisions until they are deleted */
    pass->vm = expanded;
    if (vm_write_spec(pass, reterr) < 0)
        return kube_error_wrap(reterr, "updating the expanded VirtualMachine");
    forget(pass);
    return VM_END;
}

/* ---- the step ---- */

static int fail_to(struct vm_pass *pass, const char *verb, const struct kube_error *error)
{
    const char *text =
        kb_arena_printf(pass->arena, "error encountered while %s instancetype.kubevirt.io controllerRevisions: %s",
                        verb, error->message);
    vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_CREATE_FAILED, "%s", text);
    return vm_fail(pass, VM_REASON_CREATE_FAILED, "%s", text);
}

int vm_sync_instancetype(struct vm_pass *pass, struct kube_error *reterr)
{
    struct virt_instancetype_lookups lookups = vm_instancetype_lookups(pass);
    const struct instancetype_vm_instancetype_spec *instancetype;
    const struct instancetype_vm_preference_spec *preference;
    struct kube_error error = {0};
    const struct kv_instancetype_configuration *configured = pass->config->spec->instancetype;
    const char *policy =
        configured && configured->reference_policy ? configured->reference_policy : VIRT_POLICY_REFERENCE;
    bool all = kb_streq(policy, VIRT_POLICY_EXPAND_ALL), expands = all || kb_streq(policy, VIRT_POLICY_EXPAND);
    if (!pass->vm->spec.instancetype && !pass->vm->spec.preference)
        return expands ? forget(pass) : VM_NEXT;
    if (virt_instancetype_find(pass->arena, &lookups, pass->vm, &instancetype, &error) < 0)
        return vm_fail(pass, VM_REASON_NO_INSTANCETYPE, "%s", error.message);
    if (virt_preference_find(pass->arena, &lookups, pass->vm, &preference, &error) < 0)
        return vm_fail(pass, VM_REASON_NO_PREFERENCE, "%s", error.message);
    if (expands)
        return expand(pass, all, reterr);
    if (store(pass, &virt_instancetype_flavor, &error) < 0 || store(pass, &virt_preference_flavor, &error) < 0)
        return fail_to(pass, "storing", &error);
    if (upgrade(pass, &error) == 0)
        return VM_NEXT;
    if (!kube_error_is_conflict(&error))
        return fail_to(pass, "upgrading", &error);
    *reterr = error;
    return -1;
}
