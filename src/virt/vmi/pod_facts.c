/*
 * What a Pod says about its instance: whether the guest may get traffic, the launcher's image, the class of its
 * resources, and why its containers don't start.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/quantity.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/names.h"

static void set_not_ready(struct vmi_pass *p, struct kv_vmi *after, const char *reason, const char *message)
{
    const char *now = kube_now_text(p->request);
    const struct kv_vmi_condition condition = {
        .type = VMI_READY,
        .status = VIRT_FALSE,
        .last_probe_time = now,
        .last_transition_time = now,
        .reason = reason,
        .message = message,
    };

    virt_vmi_set_condition(p->arena, after, &condition);
}

static struct kv_vmi_condition from_pod(const struct core_pod_condition *condition)
{
    return (struct kv_vmi_condition){
        .type = condition->type,
        .status = condition->status,
        .last_probe_time = condition->last_probe_time,
        .last_transition_time = condition->last_transition_time,
        .reason = condition->reason,
        .message = condition->message,
    };
}

void vmi_set_ready(struct vmi_pass *p, struct kv_vmi *after)
{
    const struct core_pod *pod = vmi_launcher(p);
    const struct core_pod_condition *ready = pod ? virt_pod_condition(pod, VMI_POD_READY) : NULL;
    struct kv_vmi_condition copy;

    if (!pod) {
        set_not_ready(p, after, VMI_REASON_POD_NOT_EXISTS, "virt-launcher pod has not yet been scheduled");
    } else if (virt_pod_is_down_or_going(pod)) {
        set_not_ready(p, after, VMI_REASON_POD_TERMINATING, "virt-launcher pod is terminating");
    } else if (!virt_vmi_is_phase(p->vmi, VIRT_PHASE_RUNNING)) {
        set_not_ready(p, after, VMI_REASON_GUEST_NOT_RUNNING, "Guest VM is not reported as running");
    } else if (ready) {
        copy = from_pod(ready);
        copy.type = VMI_READY;
        virt_vmi_set_condition(p->arena, after, &copy);
    } else {
        set_not_ready(p, after, VMI_REASON_POD_CONDITION, "virt-launcher pod is missing the Ready condition");
    }
}

void vmi_set_launcher_image(struct vmi_pass *p, struct kv_vmi *after, const char *image)
{
    after->status.launcher_container_image_version = image;
    if (*image && !kb_streq(image, p->controller->context->launcher.launcher_image))
        api_map_set(p->arena, &after->metadata.labels, VIRT_LABEL_OUTDATED_IMAGE, "");
    else
        api_map_delete(&after->metadata.labels, VIRT_LABEL_OUTDATED_IMAGE);
}

void vmi_set_memory_overhead(struct vmi_pass *p, struct kv_vmi *after)
{
    const char *text = api_map_get(&p->pod->metadata.annotations, VIRT_ANNOTATION_MEMORY_OVERHEAD);
    long long bytes;

    if (!text || !kb_parse_int(text, INT64_MIN, INT64_MAX, &bytes))
        return;
    if (!after->status.memory)
        after->status.memory = kb_arena_one(p->arena, struct kv_memory_status);
    after->status.memory->memory_overhead = kb_quantity_text(p->arena, kb_quantity_from(bytes, KB_QUANTITY_BINARY_SI));
}

/* Only that it is not: the scheduler's words, as first seen. */
void vmi_set_pod_scheduled(struct vmi_pass *p, struct kv_vmi *after)
{
    const struct core_pod_condition *scheduled = virt_pod_condition(p->pod, VMI_POD_SCHEDULED);

    if (!scheduled || !kb_streq(scheduled->status, VIRT_FALSE)) {
        virt_vmi_remove_condition(after, VMI_POD_SCHEDULED);
    } else if (!virt_vmi_condition(after, VMI_POD_SCHEDULED)) {
        const struct kv_vmi_condition copy = from_pod(scheduled);

        virt_vmi_set_condition(p->arena, after, &copy);
    }
}

static const struct core_container_state_waiting *image_error(const struct core_container_status_list *statuses)
{
    static const char *const reasons[] = {VMI_ERR_IMAGE_PULL, VMI_IMAGE_PULL_BACK_OFF};

    api_list_foreach (status, statuses)
        if (status->state.waiting && kb_in_list(status->state.waiting->reason, reasons, KB_ARRAY_LEN(reasons)))
            return status->state.waiting;
    return NULL;
}

void vmi_note_image_error(struct vmi_pass *p)
{
    const struct core_container_state_waiting *waiting = image_error(&p->pod->status.init_container_statuses);

    if (!waiting)
        waiting = image_error(&p->pod->status.container_statuses);
    if (waiting)
        vmi_tell(p, waiting->reason, waiting->message);
}
