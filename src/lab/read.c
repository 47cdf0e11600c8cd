/*
 * get, list and watch. A list is an array of references taken under the lock; its text is made while it is sent.
 *
 * Paging: `continue` names the last key of the page before. The pages after the first show what is stored when they
 * are asked for, but carry the first page's resource version: whoever watches from there sees every change since.
 */
#include "base/strings.h"
#include "lab/call.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include "lab/watch.h"
#include <stdlib.h>

int lab_serve_get(struct lab_call *call)
{
    lab_server_lock(call->server);
    struct lab_object *o = lab_store_find(call->resource, lab_call_key(call));
    if (o)
        lab_object_ref(o);
    lab_server_unlock(call->server);
    if (!o)
        return lab_fail_not_found(call, call->name);
    lab_call_return(call, 200, o);
    return 0;
}

static const char *continue_token(struct lab_call *call, int64_t version, const char *key)
{
    const char *text = kb_arena_printf(call->arena, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":\"%s\"}",
                                       (long long)version, key);
    return kb_base64_encode(call->arena, text, strlen(text));
}

static int parse_continue(struct lab_call *call, int64_t *ret_version, const char **ret_key)
{
    size_t n;
    unsigned char *text = kb_base64_decode(call->arena, call->options.continue_, &n);
    yyjson_val *token = text ? lab_json_parse(call->arena, (const char *)text, n, NULL) : NULL;
    if (!token || !*lab_val_str(token, "start"))
        return lab_fail_bad_request(call, "invalid continue token: continue key is not valid");
    *ret_version = yyjson_get_sint(yyjson_obj_get(token, "rv"));
    *ret_key = lab_val_str(token, "start");
    return 0;
}

/* Lock held. */
static void collect(struct lab_call *call, const struct lab_selector *selector, const char *after)
{
    struct lab_result *r = &call->result;
    long long limit = call->options.limit;
    size_t from, to;
    lab_store_range(call->resource, call->namespace_, after, &from, &to);
    r->items = kb_malloc((to - from + 1) * sizeof(struct lab_object *));
    size_t i = from;
    for (; i < to && (limit <= 0 || r->n < (size_t)limit); i++)
        if (lab_selector_matches(selector, call->resource->items[i]->meta))
            r->items[r->n++] = lab_object_ref(call->resource->items[i]);
    if (i == to || !r->n)
        return;
    r->continue_ = continue_token(call, r->resource_version, call->resource->items[i - 1]->meta->key);
    if (lab_selector_is_everything(selector))
        r->remaining = (long long)(to - i);
}

int lab_serve_list(struct lab_call *call)
{
    const struct lab_selector *selector;
    struct kube_error err;
    int64_t version = 0;
    const char *after = NULL;
    if (lab_selector_parse(call->arena, call->kind, call->options.label_selector, call->options.field_selector,
                           &selector, &err) < 0)
        return lab_fail_error(call, &err);
    if (!kb_empty(call->options.continue_) && parse_continue(call, &version, &after) < 0)
        return -1;
    call->result = (struct lab_result){.kind = LAB_RESULT_LIST, .code = 200};
    lab_server_lock(call->server);
    call->result.resource_version = version ? version : call->server->resource_version;
    collect(call, selector, after);
    lab_server_unlock(call->server);
    return 0;
}

static bool parse_version(const char *text, long long *ret)
{
    *ret = 0;
    return kb_empty(text) || kb_parse_int(text, 0, INT64_MAX, ret);
}

int lab_serve_watch(struct lab_call *call)
{
    const struct lab_call_options *o = &call->options;
    long long since;
    if (!parse_version(o->resource_version, &since))
        return lab_fail(call, 500, "",
                        "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": invalid syntax",
                        o->resource_version, o->resource_version);
    if (o->send_initial_events && !kb_streq_null(o->resource_version_match, "NotOlderThan"))
        return lab_fail(call, 422, "Invalid",
                        "resourceVersionMatch: Invalid value: \"%s\": sendInitialEvents requires setting "
                        "resourceVersionMatch to NotOlderThan",
                        o->resource_version_match ? o->resource_version_match : "");
    enum lab_watch_start start = LAB_WATCH_FROM_VERSION;
    if (o->send_initial_events || since == 0)
        start = LAB_WATCH_WITH_STATE;
    struct lab_watch *w;
    struct kube_error err;
    if (lab_watch_open(call->server, call->resource, call->namespace_, o->label_selector, o->field_selector, start,
                       since, &w, &err) < 0)
        return lab_fail_error(call, &err);
    w->version = call->version;
    w->mark_initial_end = o->send_initial_events && o->bookmarks;
    call->result = (struct lab_result){.kind = LAB_RESULT_WATCH, .code = 200, .watch = w};
    return 0;
}
