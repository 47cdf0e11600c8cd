/*
 * Eviction, see eviction.h. A budget that allows a disruption is charged first: its status counts one less and names
 * the Pod, as kube-apiserver does; the disruption controller corrects it once the Pod is gone.
 */
#include "lab/eviction.h"
#include "base/strings.h"
#include "base/time.h"
#include "lab/deletion.h"
#include "lab/json.h"
#include "lab/selectors.h"
#include "lab/server_internal.h"
#include "lab/write.h"

#define RETRY_SECONDS 10

struct eviction {
    struct lab_call *call;
    struct lab_object *pod;
    yyjson_val *root; /* of the Pod */
    struct lab_object *budget;
    yyjson_val *budget_root;
};

/* Pods that do not run (any more) disrupt nothing. */
static bool needs_no_budget(const struct eviction *e)
{
    static const char *const phases[] = {"Succeeded", "Failed", "Pending"};
    return e->pod->meta->deleting ||
           kb_in_list(lab_val_str(yyjson_obj_get(e->root, "status"), "phase"), phases, KB_ARRAY_LEN(phases));
}

static bool is_ready(const struct eviction *e)
{
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(LAB_VAL_AT(e->root, "status", "conditions"), i, n, c)
    {
        if (kb_streq(lab_val_str(c, "type"), "Ready"))
            return kb_streq(lab_val_str(c, "status"), "True");
    }
    return false;
}

static int64_t budget_number(const struct eviction *e, const char *member)
{
    return yyjson_get_sint(LAB_VAL_AT(e->budget_root, "status", member));
}

/* How many budgets select the Pod; the last one is kept, referenced. */
static size_t find_budgets(struct eviction *e)
{
    struct lab_call *call = e->call;
    struct lab_resource *r = lab_server_resource(call->server, "poddisruptionbudgets.policy");
    size_t from, to, found = 0;
    lab_server_lock(call->server);
    lab_store_range(r, call->namespace_, NULL, &from, &to);
    for (size_t i = from; i < to; i++) {
        yyjson_val *root = lab_object_parse(call->arena, r->items[i], NULL);
        const struct lab_selector *s = lab_selector_of(call->arena, LAB_VAL_AT(root, "spec", "selector"));
        if (!lab_selector_matches(s, e->pod->meta))
            continue;
        lab_object_unref(e->budget);
        e->budget = lab_object_ref(r->items[i]);
        e->budget_root = root;
        found++;
    }
    lab_server_unlock(call->server);
    return found;
}

static int refuse(struct eviction *e, const char *why, int retry_after)
{
    struct lab_call *call = e->call;
    lab_fail(call, 429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.");
    lab_cause(call, "DisruptionBudget", "", "%s", why);
    call->failure.name = call->failure.kind = NULL;
    call->failure.retry_after = retry_after;
    return -1;
}

static const char *budget_patch(struct eviction *e, int64_t left)
{
    char now[KB_TIME_TEXT];
    struct lab_server *s = e->call->server;
    kb_time_format(s->clock->wall(s->clock), now);
    const char *condition = "";
    if (left == 0)
        condition = kb_arena_printf(
            e->call->arena,
            ",\"conditions\":[{\"type\":\"DisruptionAllowed\",\"status\":\"False\",\"observedGeneration\":%lld,"
            "\"lastTransitionTime\":\"%s\",\"reason\":\"InsufficientPods\",\"message\":\"\"}]",
            (long long)budget_number(e, "observedGeneration"), now);
    return kb_arena_printf(e->call->arena,
                           "{\"metadata\":{\"resourceVersion\":\"%lld\"},\"status\":{\"disruptionsAllowed\":%lld,"
                           "\"disruptedPods\":{\"%s\":\"%s\"}%s}}",
                           (long long)e->budget->resource_version, (long long)left, e->call->name, now, condition);
}

/* 1: charged; 0: the budget changed meanwhile; negative: refused. */
static int charge(struct eviction *e)
{
    struct lab_call *call = e->call, patch = *call;
    const char *name = e->budget->meta->name;
    int64_t allowed = budget_number(e, "disruptionsAllowed");
    if (budget_number(e, "observedGeneration") < yyjson_get_sint(LAB_VAL_AT(e->budget_root, "metadata", "generation")))
        return refuse(
            e, kb_arena_printf(call->arena, "The disruption budget %s is still being processed by the server.", name),
            RETRY_SECONDS);
    if (allowed <= 0)
        return refuse(e,
                      kb_arena_printf(
                          call->arena, "The disruption budget %s needs %lld healthy pods and has %lld currently", name,
                          (long long)budget_number(e, "desiredHealthy"), (long long)budget_number(e, "currentHealthy")),
                      0);
    patch.resource = lab_server_resource(call->server, "poddisruptionbudgets.policy");
    patch.kind = lab_resource_kind(patch.resource);
    patch.version = patch.kind->storage;
    patch.verb = LAB_VERB_PATCH;
    patch.patch_type = LAB_PATCH_MERGE;
    patch.subresource = "status";
    patch.name = name;
    const char *text = budget_patch(e, allowed - 1);
    patch.body = lab_json_parse(call->arena, text, strlen(text), NULL);
    patch.result = (struct lab_result){0};
    int rc = lab_serve_patch(&patch);
    lab_call_done(&patch);
    return rc == 0;
}

/* 1: go on; 0: look again; negative: refused. */
static int check_budget(struct eviction *e)
{
    if (needs_no_budget(e))
        return 1;
    size_t n = find_budgets(e);
    if (n > 1)
        return lab_fail(e->call, 500, "InternalError",
                        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
                        "support.");
    if (n == 0)
        return 1;
    int64_t desired = budget_number(e, "desiredHealthy");
    if (!is_ready(e) && desired > 0 && budget_number(e, "currentHealthy") >= desired)
        return 1; /* a Pod that is not healthy may go while enough others are */
    return charge(e);
}

/* Tells the Pod's owner why it ends. */
static int mark_pod(struct lab_write *w, void *context)
{
    (void)context;
    w->whole = w->same_generation = true;
    w->root = yyjson_val_mut_copy(w->doc, w->old_root);
    yyjson_mut_val *status = lab_mut_object(w->doc, w->root, "status"), *c;
    yyjson_mut_val *list = yyjson_mut_obj_get(status, "conditions");
    size_t i, n;
    if (!list)
        list = yyjson_mut_obj_add_arr(w->doc, status, "conditions");
    yyjson_mut_arr_foreach(list, i, n, c)
    {
        if (kb_streq(lab_mut_str(c, "type"), "DisruptionTarget"))
            return 0;
    }
    c = yyjson_mut_arr_add_obj(w->doc, list);
    lab_mut_put_str(w->doc, c, "type", "DisruptionTarget");
    lab_mut_put_str(w->doc, c, "status", "True");
    lab_mut_put_str(w->doc, c, "lastTransitionTime", lab_write_now(w));
    lab_mut_put_str(w->doc, c, "reason", "EvictionByEvictionAPI");
    lab_mut_put_str(w->doc, c, "message", "Eviction API: evicting");
    return 0;
}

int lab_serve_eviction(struct lab_call *call)
{
    if (call->verb != LAB_VERB_CREATE)
        return lab_fail_method(call);
    int rc = 0;
    while (rc == 0) {
        if (lab_serve_get(call) < 0)
            return -1;
        struct eviction e = {.call = call, .pod = KB_TAKE_PTR(call->result.object)};
        e.root = lab_object_parse(call->arena, e.pod, NULL);
        rc = check_budget(&e);
        lab_object_unref(e.budget);
        lab_object_unref(e.pod);
    }
    if (rc < 0 || lab_write_change(call, mark_pod, NULL) < 0)
        return -1;
    lab_call_done(call);
    call->body = yyjson_obj_get(call->body, "deleteOptions");
    if (lab_serve_delete(call) < 0)
        return -1;
    lab_call_done(call);
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = 201};
    call->result.text =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"code\":201}";
    call->result.length = strlen(call->result.text);
    return 0;
}
