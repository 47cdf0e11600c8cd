/*
 * Where a running VMI may go at its next migration: affinity and node selector, and tolerations.
 */
#include "virt/vm/vm_internal.h"
#include <string.h>

/* True when it differed. */
static bool take_member(struct vm_pass *pass, const char *name, const struct kv_vmi_spec *wanted, struct kv_vmi *vmi)
{
    const struct api_field *field = api_field_find(&kv_vmi_spec_type, name, strlen(name));
    if (api_equal_field(field, wanted, &vmi->spec))
        return false;
    api_copy_field(pass->arena, field, wanted, &vmi->spec);
    return true;
}

static int update(struct vm_pass *pass, const char *const *members, size_t n, const char *refusal,
                  struct kube_error *reterr)
{
    const struct kv_vmi_spec *wanted;
    int status = vm_live_update(pass, &wanted, reterr);
    if (status <= 0)
        return status;
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    bool changed = false;
    for (size_t i = 0; i < n; i++)
        changed |= take_member(pass, members[i], wanted, after);
    if (!changed)
        return 0;
    if (virt_vmi_is_migrating(pass->vmi, kube_now(pass->req)))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s", refusal);
    return vm_update_vmi(pass, after, reterr);
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
