/*
 * The patch verb: any of the formats, applied to what is stored.
 */
#include "lab/patch.h"
#include "base/strings.h"
#include "lab/apply.h"
#include "lab/write.h"

static int mutate(struct lab_write *w, void *context)
{
    yyjson_val *patch = context;
    struct kube_error err = {0};
    yyjson_mut_val *target = yyjson_val_mut_copy(w->doc, w->old_root);
    int rc = 0;
    switch (w->call->patch_type) {
    case LAB_PATCH_MERGE:
        w->root = lab_patch_merge(w->doc, target, patch);
        break;
    case LAB_PATCH_JSON:
        rc = lab_patch_json(w->doc, w->arena, target, patch, &w->root, &err);
        break;
    case LAB_PATCH_STRATEGIC:
        rc = lab_patch_strategic(w->doc, w->arena, target, patch, &w->root, &err);
        break;
    case LAB_PATCH_APPLY:
        return lab_apply_mutate(w, patch);
    }
    if (rc == 0)
        return 0;
    lab_fail_error(w->call, &err);
    w->call->failure.kind = w->call->failure.name = NULL;
    w->call->failure.bare_details = err.kind == KUBE_ERROR_API;
    return -1;
}

int lab_serve_patch(struct lab_call *call)
{
    if (call->patch_type == LAB_PATCH_STRATEGIC && call->kind->custom)
        return lab_fail_media_type(call, "application/json-patch+json, application/merge-patch+json, "
                                         "application/apply-patch+yaml");
    if (call->patch_type == LAB_PATCH_APPLY)
        return lab_serve_apply(call, mutate);
    return lab_write_change(call, mutate, call->body);
}
