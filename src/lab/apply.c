/*
 * Server-side apply, see apply.h.
 */
#include "lab/apply.h"
#include "lab/patch.h"

int lab_apply_mutate(struct lab_write *w, yyjson_val *configuration)
{
    w->root = lab_patch_merge(w->doc, yyjson_val_mut_copy(w->doc, w->old_root), configuration);
    return 0;
}

int lab_serve_apply(struct lab_call *call, lab_mutator mutate)
{
    int rc = lab_write_change(call, mutate, call->body);
    if (rc < 0 && call->failure.code == 404)
        return lab_write_create(call, call->body);
    return rc;
}
