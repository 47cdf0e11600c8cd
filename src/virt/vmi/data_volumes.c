/*
 * Are the claims of an instance's volumes there, and populated? Hotplugged volumes are not waited for.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/strings.h"
#include "virt/conditions.h"

static bool is_needed_to_start(const struct kv_volume *volume)
{
    return (volume->data_volume && !volume->data_volume->hotpluggable) ||
           (volume->persistent_volume_claim && !volume->persistent_volume_claim->hotpluggable);
}

/* A claim may come later than the instance that uses it. */
static int wait_for_claim(struct vmi_pass *p, const char *claim)
{
    const struct kv_vmi_condition *told = virt_vmi_condition(p->vmi, VMI_SYNCHRONIZED);
    const char *message = kb_arena_printf(p->arena, "PVC %s/%s does not exist, waiting for it to appear",
                                          p->vmi->metadata.namespace, claim);

    if (!told || !kb_streq(told->reason, VMI_FAILED_PVC_NOT_FOUND) || !kb_streq(told->message, message))
        vmi_event(p, KUBE_EVENT_NORMAL, VMI_FAILED_PVC_NOT_FOUND, "%s", message);
    return vmi_wait(p, VMI_FAILED_PVC_NOT_FOUND, "%s", message);
}

int vmi_check_volumes(struct vmi_pass *p, struct vmi_storage_state *ret)
{
    struct vmi_storage_state state = {.ready = true};
    struct kube_error error = {0};

    api_list_foreach (volume, &p->vmi->spec.volumes) {
        enum virt_readiness readiness;

        if (!is_needed_to_start(volume))
            continue;
        if (virt_claim_readiness(p->request, p->vmi->metadata.namespace, virt_volume_claim(volume), &readiness,
                                 &error) < 0) {
            vmi_event(p, KUBE_EVENT_WARNING, VMI_FAILED_PVC_NOT_FOUND, "Error determining if volume is ready: %s",
                      error.message);
            return vmi_fail(p, VMI_FAILED_DV_IMPORT, "Error determining if volume is ready %s", error.message);
        }
        if (readiness == VIRT_CLAIM_MISSING)
            return wait_for_claim(p, virt_volume_claim(volume));
        if (readiness == VIRT_CLAIM_WAITS_FOR_CONSUMER)
            state.waits_for_consumer = true;
        if (readiness == VIRT_CLAIM_NOT_READY)
            state.ready = false;
    }
    *ret = state;
    return 0;
}
