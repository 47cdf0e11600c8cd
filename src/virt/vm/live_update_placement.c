/*
 * Where a running VMI may go at its next migration: affinity and node selector, and tolerations.
 *
 * A node selector whose last label was taken away is {} in the template, and becomes {} in the VMI. An update can't say
 * that (to it, empty is absent), so that such a change is written as a JSON patch.
 */
#include "virt/vm/vm_internal.h"
#include <string.h>

struct change {
    struct kv_vmi *after;
    struct kube_json_patch patch; /* the same as `after`, but for what is there and empty */
    bool any, has_empty;
};

/* "{}" or "[]": there, with nothing in it. NULL: any other. */
static const char *empty_text(const struct api_field *field, const void *data)
{
    if (field->shape != API_MAP && field->shape != API_LIST)
        return NULL;
    const struct api_list *member = api_member(field, data);
    return member->n || !member->items ? NULL : field->shape == API_MAP ? "{}" : "[]";
}

static void take_member(struct vm_pass *pass, const char *name, const struct kv_vmi_spec *wanted, struct change *change)
{
    const struct api_field *field = api_field_find(&kv_vmi_spec_type, name, strlen(name));
    const char *empty = empty_text(field, wanted);
    if (api_equal_field(field, wanted, &change->after->spec))
        return;
    api_copy_field(pass->arena, field, wanted, &change->after->spec);
    kube_json_patch_member(&change->patch, &kv_vmi_type, pass->vmi, change->after,
                           kb_arena_printf(pass->arena, "spec.%s", name), true);
    if (empty)
        kube_json_patch_op(&change->patch, "add", kb_arena_printf(pass->arena, "/spec/%s", name), empty);
    change->any = true;
    change->has_empty |= empty != NULL;
}

static int update(struct vm_pass *pass, const char *const *members, size_t n, const char *refusal,
                  struct kube_error *reterr)
{
    const struct kv_vmi_spec *wanted;
    int status = vm_live_update(pass, &wanted, reterr);
    if (status <= 0)
        return status;
    struct change change = {.after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi), .patch = kube_json_patch_new(pass->req)};
    for (size_t i = 0; i < n; i++)
        take_member(pass, members[i], wanted, &change);
    if (!change.any)
        return 0;
    if (virt_vmi_is_migrating(pass->vmi, kube_now(pass->req)))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s", refusal);
    return change.has_empty ? vm_json_patch_vmi(pass, &change.patch, reterr)
                            : vm_update_vmi(pass, change.after, reterr);
}

int vm_update_affinity(struct vm_pass *pass, struct kube_error *reterr)
{
    static const char *const members[] = {"affinity", "nodeSelector"};
    return update(pass, members, KB_ARRAY_LEN(members), "Node affinity should not be changed during VMI migration",
                  reterr);
}

int vm_update_tolerations(struct vm_pass *pass, struct kube_error *reterr)
{
    static const char *const members[] = {"tolerations"};
    return update(pass, members, KB_ARRAY_LEN(members), "tolerations should not be changed during VMI migration",
                  reterr);
}
