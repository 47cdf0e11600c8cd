/*
 * See world.h.
 */
#include "controller/world.h"

#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/request.h"
#include "lab/json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define NAMESPACE     "default"
#define SUBRESOURCES  "/apis/subresources.kubevirt.io/v1/namespaces/" NAMESPACE "/"
#define REVIEWS       "/apis/authorization.k8s.io/v1/subjectaccessreviews"
#define STEP_NS       KB_NS_PER_S
#define LONGEST_STEPS 600

struct world {
    struct cluster *cluster;
    struct kb_arena *arena; /* the cluster's */
    struct script *script;  /* the cluster's */
    struct lab_client *others;
    bool refuses_reviews;
    int subresource_status;
    struct kb_strbuf reviews;
    size_t seen_requests;
};

/* ---- what others answer ---- */

/* virt-api's part: what it does to the VMI when a volume is plugged or unplugged. */
static void plug(struct kb_arena *arena, struct kv_vmi *vmi, const struct kv_add_volume_options *options)
{
    struct kv_volume *volume = kb_vec_push(arena, &vmi->spec.volumes);
    volume->name = options->name;
    volume->persistent_volume_claim = options->volume_source->persistent_volume_claim;
    volume->data_volume = options->volume_source->data_volume;
    *kb_vec_push(arena, &vmi->spec.domain.devices.disks) = *options->disk;
}

static void unplug(struct kv_vmi *vmi, const char *name)
{
    for (size_t i = vmi->spec.volumes.n; i-- > 0;)
        if (kb_streq(vmi->spec.volumes.items[i].name, name))
            kb_vec_remove(&vmi->spec.volumes, i);
    struct kv_disk_list *disks = &vmi->spec.domain.devices.disks;
    for (size_t i = disks->n; i-- > 0;)
        if (kb_streq(disks->items[i].name, name))
            kb_vec_remove(disks, i);
}

static bool has_volume(const struct kv_vmi *vmi, const char *name)
{
    api_list_foreach (volume, &vmi->spec.volumes)
        if (kb_streq(volume->name, name))
            return true;
    return false;
}

static int change_vmi(struct world *w, const char *name, bool add, const char *body)
{
    struct lab_ref ref = {.resource = VMIS, .namespace_ = NAMESPACE, .name = name};
    lab_cleanup_object struct lab_object *stored = NULL;
    struct kv_add_volume_options *options;
    struct kv_vmi *vmi;
    struct kube_error error = {0};
    if (lab_client_get(w->others, &ref, &stored, NULL) < 0)
        return 404;
    const char *text = lab_object_text(w->arena, stored, NULL, NULL);
    if (api_decode(w->arena, &kv_vmi_type, text, strlen(text), &vmi, &error) < 0 ||
        api_decode(w->arena, &kv_add_volume_options_type, body, strlen(body), &options, &error) < 0)
        return 400;
    if (has_volume(vmi, options->name) == add)
        return 409;
    if (add)
        plug(w->arena, vmi, options);
    else
        unplug(vmi, options->name);
    if (lab_client_update_text(w->others, &ref, api_encode_text(w->arena, &kv_vmi_type, vmi, 0), NULL, &error) < 0)
        cluster_complain(w->cluster, "%s", error.message);
    return 202;
}

static void serve_subresource(struct world *w, const struct script_request *request, struct script_reply *reply)
{
    const char *const *parts;
    size_t n = kb_split(w->arena, request->path + strlen(SUBRESOURCES), '/', &parts);
    const char *body = kb_arena_strndup(w->arena, request->body, request->body_length);
    reply->status = w->subresource_status;
    if (!reply->status && n == 3)
        reply->status = change_vmi(w, parts[1], kb_streq(parts[2], "addvolume"), body);
    if (reply->status >= 400)
        reply->body = "{\"kind\":\"Status\",\"reason\":\"Refused\",\"message\":\"virt-api says no\"}";
}

static void note_review(struct world *w, const struct script_request *request)
{
    yyjson_val *spec = yyjson_obj_get(lab_json_parse(w->arena, request->body, request->body_length, NULL), "spec");
    yyjson_val *attributes = yyjson_obj_get(spec, "resourceAttributes");
    kb_strbuf_printf(&w->reviews, "%s %s %s/%s/%s/%s\n", lab_val_str(spec, "user"), lab_val_str(attributes, "verb"),
                     lab_val_str(attributes, "namespace"), lab_val_str(attributes, "resource"),
                     lab_val_str(attributes, "subresource"), lab_val_str(attributes, "name"));
}

static bool serve(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    struct world *w = userdata;
    if (kb_starts_with(request->path, SUBRESOURCES)) {
        serve_subresource(w, request, reply);
        return true;
    }
    if (!kb_streq(request->path, REVIEWS))
        return false;
    note_review(w, request);
    reply->status = 201;
    reply->body = w->refuses_reviews ? "{\"status\":{\"allowed\":false}}" : "{\"status\":{\"allowed\":true}}";
    return true;
}

/* ---- making and ending ---- */

struct world *world_new(void (*add_controller)(struct virt_context *context, int threads))
{
    struct world *w = kb_malloc(sizeof(*w));
    w->cluster = cluster_new_in(NAMESPACE);
    w->arena = cluster_arena(w->cluster);
    w->script = cluster_script(w->cluster);
    w->others = cluster_lab(w->cluster);
    cluster_intercept(w->cluster, serve, w);
    add_controller(cluster_context(w->cluster), 0);
    return w;
}

void world_free(struct world *w)
{
    script_run(w->script);
    cluster_free(w->cluster);
    kb_strbuf_done(&w->reviews);
    free(w);
}

struct kb_arena *world_arena(struct world *w)
{
    return w->arena;
}

struct script *world_script(struct world *w)
{
    return w->script;
}

struct cluster *world_cluster(struct world *w)
{
    return w->cluster;
}

void world_configure(struct world *w, const char *configuration)
{
    cluster_patch(w->cluster, "kubevirts.kubevirt.io", "kubevirt", "{\"spec\":{\"configuration\":null}}");
    cluster_patch(w->cluster, "kubevirts.kubevirt.io", "kubevirt",
                  kb_arena_printf(w->arena, "{\"spec\":{\"configuration\":%s}}", configuration));
}

void world_set_allowed(struct world *w, bool allowed)
{
    w->refuses_reviews = !allowed;
}

const char *world_reviews(struct world *w)
{
    return kb_strbuf_text(&w->reviews);
}

void world_answer_subresources(struct world *w, int status)
{
    w->subresource_status = status;
}

/* ---- what others do ---- */

void world_create(struct world *w, const char *resource, const char *json)
{
    cluster_create(w->cluster, resource, json);
}

void world_patch(struct world *w, const char *resource, const char *name, const char *merge_patch)
{
    cluster_patch(w->cluster, resource, name, merge_patch);
}

void world_patch_status(struct world *w, const char *resource, const char *name, const char *merge_patch)
{
    cluster_patch(w->cluster, kb_arena_printf(w->arena, "%s/status", resource), name, merge_patch);
}

void world_delete(struct world *w, const char *resource, const char *name)
{
    cluster_delete(w->cluster, resource, name);
}

/* ---- running ---- */

void world_step(struct world *w)
{
    cluster_step(w->cluster);
}

static bool waits_for_attempt(struct world *w)
{
    struct kube_controller_state states[8];
    size_t n = kube_runtime_states(cluster_context(w->cluster)->runtime, states, KB_ARRAY_LEN(states));
    for (size_t i = 0; i < n; i++)
        if (states[i].delayed)
            return true;
    return false;
}

void world_settle(struct world *w)
{
    cluster_settle(w->cluster);
    for (int i = 0; i < LONGEST_STEPS && waits_for_attempt(w); i++) {
        script_advance(w->script, STEP_NS);
        cluster_settle(w->cluster);
    }
}

void world_poke(struct world *w, const char *controller, const char *key)
{
    kube_queue_add(kube_runtime_queue(cluster_context(w->cluster)->runtime, controller), key);
    cluster_settle(w->cluster);
}

void world_advance(struct world *w, int64_t ns)
{
    script_advance(w->script, ns);
    cluster_settle(w->cluster);
}

/* ---- looking ---- */

const char *world_text(struct world *w, const char *resource, const char *name, const char *pointer)
{
    struct lab_ref ref = cluster_reference(w->cluster, resource, name);
    lab_cleanup_object struct lab_object *object = NULL;
    if (lab_client_get(w->others, &ref, &object, NULL) < 0)
        return "";
    yyjson_val *value = yyjson_ptr_get(lab_object_parse(w->arena, object, NULL), pointer);
    if (!value)
        return "";
    return yyjson_is_str(value) ? yyjson_get_str(value) : lab_json_write_val(w->arena, value, NULL);
}

bool world_exists(struct world *w, const char *resource, const char *name)
{
    return *world_text(w, resource, name, "/metadata/name");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *world_events(struct world *w)
{
    const char *const *parts;
    size_t n = kb_split(w->arena, cluster_events(w->cluster), '\n', &parts);
    struct api_strings lines = {0};
    for (size_t i = 0; i + 1 < n; i++) /* the last one is what follows the last new line */
        api_strings_add(w->arena, &lines, kb_arena_printf(w->arena, "%s\n", parts[i]));
    if (lines.n)
        qsort(lines.items, lines.n, sizeof(*lines.items), by_text);
    return kb_join(w->arena, lines.items, lines.n, "");
}

/* "/apis/GROUP/VERSION/namespaces/default/virtualmachines/vm/status" -> "virtualmachines/vm/status" */
static const char *short_path(struct kb_arena *arena, const char *path)
{
    const char *const *parts;
    size_t n = kb_split(arena, kb_arena_strndup(arena, path, strcspn(path, "?")), '/', &parts);
    size_t first = n > 1 && kb_streq(parts[1], "api") ? 3 : 4;
    if (n > first + 2 && kb_streq(parts[first], "namespaces"))
        first += 2;
    return first < n ? kb_join(arena, parts + first, n - first, "/") : path;
}

const char *world_writes(struct world *w)
{
    struct kb_strbuf text = {.arena = w->arena};
    for (; w->seen_requests < script_requests(w->script); w->seen_requests++) {
        const struct script_request *request = script_request(w->script, w->seen_requests);
        if (kb_streq(request->method, "GET") || strstr(request->path, "/events"))
            continue;
        kb_strbuf_printf(&text, "%s%s %s", text.length ? ", " : "", request->method,
                         short_path(w->arena, request->path));
    }
    return kb_strbuf_text(&text);
}

/* ---- the sweep ---- */

static const struct {
    enum script_fault fault;
    const char *name;
} faults[] = {
    {SCRIPT_CUT_BEFORE, "connection lost before"},
    {SCRIPT_CUT_AFTER, "connection lost after"},
    {SCRIPT_CONFLICT, "409"},
    {SCRIPT_TOO_MANY, "429"},
    {SCRIPT_INTERNAL, "500"},
    {SCRIPT_UNAVAILABLE, "503"},
    {SCRIPT_TIMEOUT, "time-out"},
};

struct outcome {
    char *digest;
    int requests;
};

static struct outcome play(const struct world_sweep *sweep, int k, enum script_fault fault, const char *what)
{
    struct world *w = world_new(sweep->add_controller);
    if (k)
        script_fail_request(w->script, k, fault);
    sweep->scenario(w);
    world_settle(w);
    struct outcome outcome = {kb_strdup(sweep->digest(w)), (int)script_requests(w->script)};
    world_writes(w);
    world_poke(w, sweep->controller, sweep->key);
    const char *writes = world_writes(w);
    if (*writes)
        fail_msg("%s: %s once it was done", what, writes);
    world_free(w);
    return outcome;
}

void world_play_sweep(const struct world_sweep *sweep)
{
    struct outcome right = play(sweep, 0, SCRIPT_NO_FAULT, "undisturbed");
    for (size_t f = 0; f < KB_ARRAY_LEN(faults); f++)
        for (int k = 1; k <= right.requests; k++) {
            char what[96];
            snprintf(what, sizeof(what), "request %d meets: %s", k, faults[f].name);
            struct outcome outcome = play(sweep, k, faults[f].fault, what);
            if (!kb_streq(outcome.digest, right.digest))
                fail_msg("%s\nexpected %s\nbut got  %s", what, right.digest, outcome.digest);
            free(outcome.digest);
        }
    free(right.digest);
}
