/*
 * virt-api's subresources, PUT /apis/subresources.kubevirt.io/v1/namespaces/NS/RESOURCE/NAME/SUBRESOURCE: what
 * `virtctl` and virt-controller call. A call that would reach the guest through virt-handler leaves what virt-handler
 * would report.
 *
 * An annotation `virt-lab/fail-SUBRESOURCE: "CODE MESSAGE"` on the object makes its calls fail so.
 *
 * Threads: those that serve HTTP.
 */
#include "base/strings.h"
#include "base/time.h"
#include "lab/server.h"
#include "lab/sim/sim_internal.h"

#define GROUP "subresources.kubevirt.io"
#define VMIS  "virtualmachineinstances.kubevirt.io"

struct api_call {
    struct lab_sim *sim;
    struct lab_client *client;
    struct kb_arena *arena;
    const char *subresource;
    struct lab_ref ref;
    struct lab_object *object;
    yyjson_val *root;
    int code; /* of the answer */
    struct kube_error error;
};

static int refuse(struct api_call *c, int code, const char *message)
{
    return kube_error_set_api(&c->error, code, "", "%s", message);
}

static int merge(struct api_call *c, const char *subresource, const char *patch)
{
    struct lab_ref ref = c->ref;
    ref.subresource = subresource;
    return lab_client_patch_text(c->client, &ref, LAB_PATCH_MERGE, patch, NULL, &c->error);
}

static const char *run_strategy(const struct api_call *c)
{
    yyjson_val *spec = yyjson_obj_get(c->root, "spec"), *runs = yyjson_obj_get(spec, "running");
    if (yyjson_is_bool(runs))
        return yyjson_get_bool(runs) ? "Always" : "Halted";
    return lab_val_str(spec, "runStrategy");
}

static int set_strategy(struct api_call *c, bool up)
{
    bool old_style = yyjson_is_bool(LAB_VAL_AT(c->root, "spec", "running"));
    c->code = 202;
    if (old_style)
        return merge(c, NULL, up ? "{\"spec\":{\"running\":true}}" : "{\"spec\":{\"running\":false}}");
    return merge(c, NULL, up ? "{\"spec\":{\"runStrategy\":\"Always\"}}" : "{\"spec\":{\"runStrategy\":\"Halted\"}}");
}

/* The uid of the VM's VMI, "" when there is none that still has something to run. */
static const char *live_vmi(struct api_call *c)
{
    lab_cleanup_object struct lab_object *vmi = NULL;
    struct lab_ref ref = c->ref;
    ref.resource = VMIS;
    if (lab_client_get(c->client, &ref, &vmi, NULL) < 0)
        return "";
    const char *phase = lab_val_str(yyjson_obj_get(lab_object_parse(c->arena, vmi, NULL), "status"), "phase");
    bool over = kb_streq(phase, "Succeeded") || kb_streq(phase, "Failed");
    return over ? "" : kb_arena_strdup(c->arena, vmi->meta->uid);
}

static int request_change(struct api_call *c, const char *requests)
{
    c->code = 202;
    return merge(c, "status", kb_arena_printf(c->arena, "{\"status\":{\"stateChangeRequests\":[%s]}}", requests));
}

static int start_vm(struct api_call *c)
{
    const char *strategy = run_strategy(c);
    if (*live_vmi(c))
        return refuse(c, 409, "VM is already running");
    if (kb_streq(strategy, "Halted"))
        return set_strategy(c, true);
    if (kb_streq(strategy, "Always") || kb_streq(strategy, "Once"))
        return refuse(c, 409, kb_arena_printf(c->arena, "%s does not support manual start requests", strategy));
    return request_change(c, "{\"action\":\"Start\"}");
}

static int stop_vm(struct api_call *c)
{
    const char *uid = live_vmi(c);
    if (kb_streq(run_strategy(c), "Halted"))
        return *uid ? set_strategy(c, false) : refuse(c, 409, "VM is not running");
    if (!kb_streq(run_strategy(c), "Manual"))
        return set_strategy(c, false);
    if (!*uid)
        return refuse(c, 409, "VM is not running");
    return request_change(c, kb_arena_printf(c->arena, "{\"action\":\"Stop\",\"uid\":\"%s\"}", uid));
}

static int restart_vm(struct api_call *c)
{
    const char *uid = live_vmi(c), *strategy = run_strategy(c);
    if (kb_streq(strategy, "Halted") || kb_streq(strategy, "Once"))
        return refuse(c, 409, kb_arena_printf(c->arena, "%s does not support manual restart requests", strategy));
    if (!*uid)
        return refuse(c, 409, "VM is not running");
    return request_change(
        c, kb_arena_printf(c->arena, "{\"action\":\"Stop\",\"uid\":\"%s\"},{\"action\":\"Start\"}", uid));
}

static int migrate_vm(struct api_call *c)
{
    if (!*live_vmi(c))
        return refuse(c, 409, "VM is not running");
    struct lab_ref ref = {.resource = "virtualmachineinstancemigrations.kubevirt.io", .namespace_ = c->ref.namespace_};
    const char *body = kb_arena_printf(
        c->arena, "{\"metadata\":{\"generateName\":\"kubevirt-migrate-vm-\"},\"spec\":{\"vmiName\":\"%s\"}}",
        c->ref.name);
    c->code = 202;
    return lab_client_create_text(c->client, &ref, body, NULL, &c->error);
}

/* -- VMIs */

static int freeze(struct api_call *c)
{
    return merge(c, NULL, "{\"status\":{\"fsFreezeStatus\":\"frozen\"}}");
}

static int unfreeze(struct api_call *c)
{
    return merge(c, NULL, "{\"status\":{\"fsFreezeStatus\":null}}");
}

static int set_paused(struct api_call *c, bool paused)
{
    yyjson_mut_doc *doc = lab_json_doc(c->arena);
    yyjson_mut_val *patch = yyjson_mut_arr(doc), *op = yyjson_mut_arr_add_obj(doc, patch);
    yyjson_mut_obj_add_str(doc, op, "op", "add");
    yyjson_mut_obj_add_str(doc, op, "path", "/status/conditions");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, op, "value");
    size_t i, n;
    yyjson_val *had;
    yyjson_arr_foreach(LAB_VAL_AT(c->root, "status", "conditions"), i, n, had)
    {
        if (!kb_streq(lab_val_str(had, "type"), "Paused"))
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, had));
        else if (paused)
            return refuse(c, 409, "VMI is already paused");
    }
    if (paused) {
        const char *now = kb_time_text(c->arena, c->sim->clock->wall(c->sim->clock));
        yyjson_mut_arr_append(
            list, lab_json_mut(doc, c->arena,
                               kb_arena_printf(c->arena,
                                               "{\"type\":\"Paused\",\"status\":\"True\",\"reason\":\"PausedByUser\","
                                               "\"message\":\"VMI was paused by user\",\"lastProbeTime\":\"%s\","
                                               "\"lastTransitionTime\":\"%s\"}",
                                               now, now)));
    }
    return lab_client_patch(c->client, &c->ref, LAB_PATCH_JSON, patch, NULL, &c->error);
}

static int pause_vmi(struct api_call *c)
{
    return set_paused(c, true);
}

static int unpause_vmi(struct api_call *c)
{
    return set_paused(c, false);
}

/* The guest does it; nothing is seen in the API. */
static int accept_call(struct api_call *c)
{
    (void)c;
    return 0;
}

static const struct {
    const char *resource, *subresource;
    int (*serve)(struct api_call *c);
} subresources[] = {
    {"virtualmachines", "start", start_vm},
    {"virtualmachines", "stop", stop_vm},
    {"virtualmachines", "restart", restart_vm},
    {"virtualmachines", "migrate", migrate_vm},
    {"virtualmachineinstances", "freeze", freeze},
    {"virtualmachineinstances", "unfreeze", unfreeze},
    {"virtualmachineinstances", "pause", pause_vmi},
    {"virtualmachineinstances", "unpause", unpause_vmi},
    {"virtualmachineinstances", "reset", accept_call},
    {"virtualmachineinstances", "softreboot", accept_call},
    {"virtualmachineinstances", "backup", accept_call},
    {"virtualmachineinstances", "redefine-checkpoint", accept_call},
};

/* A failure that an annotation asks for. */
static int check_annotation(struct api_call *c)
{
    const char *key = kb_arena_printf(c->arena, "virt-lab/fail-%s", c->subresource);
    const char *text = lab_val_str(LAB_VAL_AT(c->root, "metadata", "annotations"), key);
    const char *gap = strchr(text, ' ');
    long long code;
    if (gap && kb_parse_int(kb_arena_strndup(c->arena, text, (size_t)(gap - text)), 400, 599, &code))
        return refuse(c, (int)code, gap + 1);
    return 0;
}

static int call_object(struct api_call *c, int (*serve)(struct api_call *c))
{
    if (lab_client_get(c->client, &c->ref, &c->object, &c->error) < 0)
        return -1;
    c->root = lab_object_parse(c->arena, c->object, NULL);
    if (check_annotation(c) < 0)
        return -1;
    return serve(c);
}

/* Whether the part is played in the namespace. The loop's tables belong to its thread: this asks the server. */
static bool is_served(struct api_call *c)
{
    lab_cleanup_object struct lab_object *ns = NULL;
    struct lab_ref ref = {.resource = "namespaces", .name = c->ref.namespace_};
    return lab_client_get(c->client, &ref, &ns, NULL) == 0 && !(sim_parts_off(ns) & LAB_PART_BIT(LAB_PART_VIRT_API));
}

static int route(struct api_call *c, const struct lab_raw_request *request)
{
    const char *const *p;
    size_t n = kb_split(c->arena, request->path, '/', &p);
    if (n != 5 || !kb_streq(p[0], "namespaces"))
        return refuse(c, 404, "the server could not find the requested resource");
    c->ref = (struct lab_ref){
        .resource = kb_arena_printf(c->arena, "%s.kubevirt.io", p[2]), .namespace_ = p[1], .name = p[3]};
    c->subresource = p[4];
    for (size_t i = 0; i < KB_ARRAY_LEN(subresources); i++) {
        if (!kb_streq(subresources[i].resource, p[2]) || !kb_streq(subresources[i].subresource, p[4]))
            continue;
        if (!kb_streq(request->method, "PUT"))
            return refuse(c, 405, "the server does not allow this method on the requested resource");
        return is_served(c) ? call_object(c, subresources[i].serve)
                            : refuse(c, 404, "the server could not find the requested resource");
    }
    return refuse(c, 404, "the server could not find the requested resource");
}

/* What kubectl and virtctl ask for first. */
static int discover(struct kb_arena *arena, const char **ret_body)
{
    yyjson_mut_doc *doc = lab_json_doc(arena);
    yyjson_mut_val *list = lab_json_mut(doc, arena,
                                        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"" GROUP
                                        "/v1\",\"resources\":[]}");
    for (size_t i = 0; i < KB_ARRAY_LEN(subresources); i++) {
        yyjson_mut_val *r = yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_get(list, "resources"));
        lab_mut_put_str(doc, r, "name",
                        kb_arena_printf(arena, "%s/%s", subresources[i].resource, subresources[i].subresource));
        lab_mut_put_str(doc, r, "singularName", "");
        lab_mut_put_bool(doc, r, "namespaced", true);
        lab_mut_put_str(doc, r, "kind", "");
        yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, r, "verbs"), "update");
    }
    *ret_body = lab_json_write(arena, list, NULL);
    return 200;
}

static int handle(void *context, struct kb_arena *arena, const struct lab_raw_request *request, const char **ret_body)
{
    struct lab_sim *sim = context;
    struct api_call c = {.sim = sim, .client = sim->users[LAB_PART_VIRT_API], .arena = arena, .code = 200};
    if (!*request->path && kb_streq(request->method, "GET"))
        return discover(arena, ret_body);
    int rc = route(&c, request);
    lab_object_unref(c.object);
    int code = rc < 0 ? (c.error.http_status ? c.error.http_status : 500) : c.code;
    yyjson_mut_doc *doc = lab_json_doc(arena);
    yyjson_mut_val *status = lab_json_mut(doc, arena, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{}}");
    lab_mut_put_str(doc, status, "status", rc < 0 ? "Failure" : "Success");
    if (rc < 0)
        lab_mut_put_str(doc, status, "message", c.error.message);
    lab_mut_put_int(doc, status, "code", code);
    *ret_body = lab_json_write(arena, status, NULL);
    return code;
}

void sim_virt_api_serve(struct lab_sim *sim)
{
    lab_server_delegate(sim->server, GROUP, "v1", handle, sim);
}
