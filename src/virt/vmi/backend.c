/*
 * The claim of an instance's persistent state: made before its Pod, told in its status, deleted when nothing needs it.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/strings.h"
#include "base/vec.h"
#include "virt/names.h"
#include "virt/storage/backend_storage.h"

static int count_claim(void *userdata, const struct api_object *object, struct kube_error *reterr)
{
    (void)object;
    (void)reterr;
    *(bool *)userdata = true;
    return 0;
}

/* A creation whose answer was lost may have happened: the API server knows. */
static int find_unseen_claim(struct vmi_pass *p, bool *ret_found, struct kube_error *reterr)
{
    struct kb_strbuf query = {.arena = p->arena};

    *ret_found = false;
    if (!vmi_is_doubted(p->controller->doubts, kube_request_key(p->request)))
        return 0;
    kube_query_add(&query, "labelSelector",
                   kb_arena_printf(p->arena, VIRT_LABEL_PERSISTENT_STATE "=%s", p->vmi->metadata.name));
    return kube_client_list(kube_request_client(p->request), &core_pvc_type, p->vmi->metadata.namespace,
                            kb_strbuf_text(&query), count_claim, ret_found, reterr);
}

static int create_claim(struct vmi_pass *p, const struct core_pvc **ret)
{
    struct kube_error error = {0};
    struct core_pvc *pvc;
    bool unseen;

    if (find_unseen_claim(p, &unseen, &error) < 0)
        return vmi_fail(p, VMI_FAILED_BACKEND_CREATE, "%s", error.message);
    if (unseen)
        return vmi_fail(p, VMI_BACKEND_NOT_READY, "PVC pending");
    if (virt_new_backend_claim(p->request, p->config, p->vmi, VIRT_LABEL_PERSISTENT_STATE, p->vmi->metadata.name, &pvc,
                               &error) < 0)
        return vmi_fail(p, VMI_FAILED_BACKEND_CREATE, "%s", error.message);
    if (kube_create(p->request, &core_pvc_type, pvc, (const void **)ret, &error) == 0)
        return 0;
    if (vmi_outcome_unknown(&error))
        vmi_doubt(p->controller->doubts, kube_request_key(p->request));
    return vmi_fail(p, VMI_FAILED_BACKEND_CREATE, "%s", error.message);
}

static int delete_claim(struct vmi_pass *p, const struct core_pvc *pvc)
{
    struct kube_error error = {0};

    if (pvc && kube_delete(p->request, &core_pvc_type, pvc, &error) < 0)
        return vmi_fail(p, VMI_FAILED_BACKEND_DELETE, "%s", error.message);
    return 0;
}

int vmi_ensure_backend_storage(struct vmi_pass *p, const char **ret_claim)
{
    const struct core_pvc *pvc = virt_backend_claim(p->request, p->vmi);
    struct kube_error error = {0};
    int ready;

    *ret_claim = "";
    if (!virt_vmi_needs_backend_storage(p->vmi))
        return delete_claim(p, pvc);
    if (!pvc) /* one that was just made is looked at by the next pass, whatever its class: till then the VMI is Pending
               */
        return create_claim(p, &pvc) < 0 ? -1 : vmi_fail(p, VMI_BACKEND_NOT_READY, "PVC pending");
    ready = virt_backend_claim_ready(p->request, pvc->metadata.namespace, pvc->metadata.name, &error);
    if (ready < 0)
        return vmi_fail(p, VMI_FAILED_BACKEND_PROBE, "%s", error.message);
    if (!ready)
        return vmi_fail(p, VMI_BACKEND_NOT_READY, "PVC pending");
    *ret_claim = pvc->metadata.name;
    return 0;
}

/* ---- status ---- */

static struct kv_volume_status *status_entry(struct vmi_pass *p, struct kv_vmi *after)
{
    static const struct kv_volume_status empty = {.name = "", .target = "", .phase = "", .reason = "", .message = ""};
    struct kv_volume_status *added;

    api_list_foreach (status, &after->status.volume_status)
        if (virt_is_backend_volume(status->name))
            return status;
    added = kb_vec_push(p->arena, &after->status.volume_status);
    *added = empty;
    return added;
}

void vmi_set_backend_status(struct vmi_pass *p, struct kv_vmi *after)
{
    const struct core_pvc *pvc = virt_backend_claim(p->request, p->vmi);
    struct kv_volume_status *status;

    if (!pvc)
        return;
    status = status_entry(p, after);
    status->name = VIRT_BACKEND_VOLUME;
    if (!status->persistent_volume_claim_info)
        status->persistent_volume_claim_info = kb_arena_one(p->arena, struct kv_pvc_info);
    status->persistent_volume_claim_info->claim_name = pvc->metadata.name;
    status->persistent_volume_claim_info->access_modes = pvc->spec.access_modes;
}
