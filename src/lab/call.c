/*
 * Serving of a call: which verb on which subresource.
 */
#include "lab/call.h"
#include "base/strings.h"
#include "lab/audit.h"
#include "lab/server_internal.h"
#include "lab/subresources.h"
#include <stdlib.h>

static const struct {
    const char *name;
    int (*serve)(struct lab_call *call);
} verbs[] = {
    [LAB_VERB_GET] = {"get", lab_serve_get},
    [LAB_VERB_LIST] = {"list", lab_serve_list},
    [LAB_VERB_WATCH] = {"watch", lab_serve_watch},
    [LAB_VERB_CREATE] = {"create", lab_serve_create},
    [LAB_VERB_UPDATE] = {"update", lab_serve_update},
    [LAB_VERB_PATCH] = {"patch", lab_serve_patch},
    [LAB_VERB_DELETE] = {"delete", lab_serve_delete},
    [LAB_VERB_DELETE_COLLECTION] = {"deletecollection", lab_serve_delete_collection},
};

const char *lab_verb_name(enum lab_verb verb)
{
    return verbs[verb].name;
}

const char *lab_call_key(const struct lab_call *call)
{
    if (!call->kind->namespaced)
        return call->name;
    return kb_arena_printf(call->arena, "%s/%s", call->namespace_ ? call->namespace_ : "", call->name);
}

void lab_call_return(struct lab_call *call, int code, struct lab_object *object)
{
    call->result = (struct lab_result){.kind = LAB_RESULT_OBJECT, .code = code, .object = object};
}

void lab_call_done(struct lab_call *call)
{
    lab_object_unref(call->result.object);
    for (size_t i = 0; i < call->result.n; i++)
        lab_object_unref(call->result.items[i]);
    free(call->result.items);
    lab_watch_free(call->result.watch);
    call->result = (struct lab_result){0};
}

static int serve(struct lab_call *call)
{
    if (call->server->stopping)
        return lab_fail(call, 503, "ServiceUnavailable", "the server is shutting down");
    if (call->subresource && !kb_streq(call->subresource, "status"))
        return lab_subresource_serve(call);
    if (call->subresource && (!call->version->status || call->verb == LAB_VERB_CREATE || call->verb == LAB_VERB_DELETE))
        return call->version->status ? lab_fail_method(call) : lab_fail_not_found(call, call->name);
    if (call->kind->no_list)
        return call->verb == LAB_VERB_CREATE ? lab_review_serve(call) : lab_fail_method(call);
    return verbs[call->verb].serve(call);
}

int lab_call_serve(struct lab_call *call)
{
    int rc = serve(call);
    if (rc < 0)
        lab_call_done(call);
    lab_audit_log(call->server->audit, call);
    return rc;
}
