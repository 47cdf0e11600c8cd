/*
 * See world.h.
 */
#include "controller/world.h"

#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/request.h"
#include "lab/json.h"
#include "lab/route.h"
#include "lab/server.h"
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

static const struct {
    enum virt_informer informer;
    const char *resource;
} caches[] = {
    {VIRT_KUBEVIRT, "kubevirts.kubevirt.io"},
    {VIRT_VM, VMS},
    {VIRT_VMI, VMIS},
    {VIRT_POD, "pods"},
    {VIRT_NODE, "nodes"},
    {VIRT_NAMESPACE, "namespaces"},
    {VIRT_PVC, PVCS},
    {VIRT_STORAGE_CLASS, CLASSES},
    {VIRT_CONTROLLER_REVISION, "controllerrevisions.apps"},
    {VIRT_MIGRATION, "virtualmachineinstancemigrations.kubevirt.io"},
    {VIRT_DATA_VOLUME, DVS},
    {VIRT_DATA_SOURCE, DSS},
    {VIRT_STORAGE_PROFILE, "storageprofiles.cdi.kubevirt.io"},
    {VIRT_VOLUME_SNAPSHOT_CLASS, SNAPSHOTS},
    {VIRT_CDI, "cdis.cdi.kubevirt.io"},
    {VIRT_CDI_CONFIG, "cdiconfigs.cdi.kubevirt.io"},
    {VIRT_INSTANCETYPE, "virtualmachineinstancetypes.instancetype.kubevirt.io"},
    {VIRT_CLUSTER_INSTANCETYPE, "virtualmachineclusterinstancetypes.instancetype.kubevirt.io"},
    {VIRT_PREFERENCE, "virtualmachinepreferences.instancetype.kubevirt.io"},
    {VIRT_CLUSTER_PREFERENCE, "virtualmachineclusterpreferences.instancetype.kubevirt.io"},
    {VIRT_RESOURCE_QUOTA, "resourcequotas"},
};

/* The script's clock, but that no two events have the same time: their names are made of it. */
struct ticking_clock {
    struct kb_clock clock;
    struct kb_clock *real;
    int64_t ticks;
};

struct world {
    struct ticking_clock events_clock;
    struct kb_arena *arena;
    struct script *script;
    struct kb_random *random;
    struct lab_server *lab;
    struct lab_client *others;
    struct lab_watch *watches[KB_ARRAY_LEN(caches)];
    struct virt_context context;
    bool refuses_reviews;
    int subresource_status;
    struct kb_strbuf reviews;
    size_t seen_requests;
    int configurations;
    const char *held;    /* resource whose watch is not read; NULL: none */
    const char *problem; /* found while a request was served, where the test can't be ended */
};

/* ---- the API server ---- */

static const char *url_decoded(struct kb_arena *arena, const char *text, size_t n)
{
    char *decoded = kb_arena_strndup(arena, text, n), *to = decoded;
    for (const char *from = decoded; *from; from++) {
        unsigned byte;
        if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
            *to++ = (char)byte;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return decoded;
}

struct pairs {
    size_t n;
    struct lab_pair *items;
};

static struct pairs query_of(struct kb_arena *arena, const char *path)
{
    struct pairs pairs = {0};
    const char *mark = strchr(path, '?');
    const char *const *parts;
    size_t n = mark ? kb_split(arena, mark + 1, '&', &parts) : 0;
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(parts[i], '=');
        size_t name = equals ? (size_t)(equals - parts[i]) : strlen(parts[i]);
        *kb_vec_push(arena, &pairs) = (struct lab_pair){
            url_decoded(arena, parts[i], name), equals ? url_decoded(arena, equals + 1, strlen(equals + 1)) : ""};
    }
    return pairs;
}

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
        w->problem = kb_arena_strdup(w->arena, error.message);
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

/* 422 is also the answer to a JSON patch whose test fails, as by a cache that is behind. */
static void check_refusal(struct world *w, const struct script_request *request, const struct lab_call *call)
{
    static const int ours[] = {400, 405, 415, 422};
    for (size_t i = 0; i < KB_ARRAY_LEN(ours); i++)
        if (call->failure.code == ours[i] && !strstr(call->failure.message, "due to an error in our request"))
            w->problem =
                kb_arena_printf(w->arena, "%s %s: %d %s\n%.*s", request->method, request->path, call->failure.code,
                                call->failure.message, (int)request->body_length, request->body);
}

static void answer(struct world *w, const struct script_request *request, int status, struct lab_call *call,
                   struct script_reply *reply)
{
    reply->status = call->result.code;
    if (status < 0) {
        check_refusal(w, request, call);
        reply->status = call->failure.code;
        reply->body = lab_failure_text(w->arena, &call->failure, NULL);
    } else if (call->result.kind == LAB_RESULT_OBJECT) {
        reply->body = lab_object_text(w->arena, call->result.object, call->version->api_version, NULL);
    } else if (call->result.kind == LAB_RESULT_TEXT) {
        reply->body = kb_arena_strndup(w->arena, call->result.text, call->result.length);
    } else {
        w->problem = kb_arena_printf(w->arena, "%s %s: a list or a watch", request->method, request->path);
    }
}

static bool serve(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    struct world *w = userdata;
    if (kb_starts_with(request->path, SUBRESOURCES)) {
        serve_subresource(w, request, reply);
        return true;
    }
    if (kb_streq(request->path, REVIEWS)) {
        note_review(w, request);
        reply->status = 201;
        reply->body = w->refuses_reviews ? "{\"status\":{\"allowed\":false}}" : "{\"status\":{\"allowed\":true}}";
        return true;
    }
    struct pairs query = query_of(w->arena, request->path);
    struct lab_http_request asked = {
        .method = request->method,
        .path = url_decoded(w->arena, request->path, strcspn(request->path, "?")),
        .n_query = query.n,
        .query = query.items,
        .accept = "application/json",
        .content_type = request->content_type,
        .authorization = "",
        .user_agent = "controller",
        .source_ip = "127.0.0.1",
        .uri = request->path,
        .body = request->body,
        .body_length = request->body_length,
    };
    struct lab_call call = {0};
    int status = lab_route(w->lab, w->arena, &asked, &call);
    if (status > 0)
        status = lab_call_serve(&call);
    answer(w, request, status, &call, reply);
    lab_call_done(&call);
    return true;
}

/* ---- making and ending ---- */

static int64_t ticking_wall(struct kb_clock *self)
{
    struct ticking_clock *ticking = (struct ticking_clock *)self;
    return ticking->real->wall(ticking->real) + ++ticking->ticks;
}

static int64_t ticking_mono(struct kb_clock *self)
{
    struct ticking_clock *ticking = (struct ticking_clock *)self;
    return ticking->real->mono(ticking->real);
}

static bool ticking_wait(struct kb_clock *self, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    struct ticking_clock *ticking = (struct ticking_clock *)self;
    return ticking->real->wait(ticking->real, cond, mutex, deadline);
}

static void start_server(struct world *w)
{
    struct kube_error error = {0};
    w->random = kb_random_seeded(1);
    struct lab_server_options options = {.clock = script_clock(w->script), .random = w->random, .no_background = true};
    if (lab_server_new(&options, &w->lab, &error) < 0)
        fail_msg("%s", error.message);
    w->others = lab_client_new(w->lab, "others");
    script_serve(w->script, serve, w);
}

static void add_caches(struct world *w)
{
    const struct kube_informer_spec *specs = virt_informer_specs(w->arena, "kubevirt");
    struct kube_error error = {0};
    for (size_t i = 0; i < KB_ARRAY_LEN(caches); i++) {
        kube_runtime_add_informer(w->context.runtime, (int)caches[i].informer, &specs[caches[i].informer]);
        w->watches[i] = lab_client_watch(w->others, &(struct lab_ref){.resource = caches[i].resource}, NULL, &error);
        if (!w->watches[i])
            fail_msg("%s", error.message);
    }
}

struct world *world_new(void (*add_controller)(struct virt_context *context, int threads))
{
    struct world *w = kb_malloc(sizeof(*w));
    w->arena = kb_arena_new();
    w->script = script_new();
    start_server(w);
    struct virt_context *context = &w->context;
    context->client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(w->script), .clock = script_clock(w->script)});
    context->runtime = kube_runtime_new(&(struct kube_runtime_options){
        .client = context->client, .clock = script_clock(w->script), .random = w->random});
    context->config = virt_config_store_new();
    context->install_namespace = "kubevirt";
    w->events_clock = (struct ticking_clock){{ticking_wall, ticking_mono, ticking_wait}, script_clock(w->script), 0};
    context->vm_recorder =
        kube_recorder_new(context->client, "virtualmachine-controller", &w->events_clock.clock, w->random);
    add_caches(w);
    add_controller(context, 0);
    return w;
}

void world_free(struct world *w)
{
    script_run(w->script);
    kube_runtime_free(w->context.runtime);
    kube_recorder_free(w->context.vm_recorder);
    kube_client_free(w->context.client);
    virt_config_store_free(w->context.config);
    for (size_t i = 0; i < KB_ARRAY_LEN(caches); i++)
        lab_watch_free(w->watches[i]);
    script_free(w->script);
    lab_client_free(w->others);
    lab_server_free(w->lab);
    free(w->random);
    kb_strbuf_done(&w->reviews);
    kb_arena_free(w->arena);
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

void world_configure(struct world *w, const char *configuration)
{
    struct kube_error error = {0};
    struct kv_kube_virt *kubevirt;
    const char *text =
        kb_arena_printf(w->arena, "{\"metadata\":{\"resourceVersion\":\"%d\"},\"spec\":{\"configuration\":%s}}",
                        ++w->configurations, configuration);
    if (api_decode(w->arena, &kv_kube_virt_type, text, strlen(text), &kubevirt, &error) < 0 ||
        virt_config_store_update(w->context.config, kubevirt, &error) < 0)
        fail_msg("%s", error.message);
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

void world_hold(struct world *w, const char *resource)
{
    w->held = resource;
}

/* ---- what others do ---- */

/* Cluster-scoped kinds don't mind the namespace. */
static struct lab_ref at(const char *resource, const char *name, const char *subresource)
{
    static const char *const cluster[] = {CLASSES, SNAPSHOTS, "namespaces", "nodes", "storageprofiles.cdi.kubevirt.io"};
    bool is_cluster = kb_in_list(resource, cluster, KB_ARRAY_LEN(cluster));
    return (struct lab_ref){
        .resource = resource, .namespace_ = is_cluster ? NULL : NAMESPACE, .name = name, .subresource = subresource};
}

void world_create(struct world *w, const char *resource, const char *json)
{
    struct kube_error error = {0};
    struct lab_ref ref = at(resource, NULL, NULL);
    if (lab_client_create_text(w->others, &ref, json, NULL, &error) < 0)
        fail_msg("create %s: %s", resource, error.message);
}

static void patch(struct world *w, const struct lab_ref *ref, const char *merge_patch)
{
    struct kube_error error = {0};
    if (lab_client_patch_text(w->others, ref, LAB_PATCH_MERGE, merge_patch, NULL, &error) < 0)
        fail_msg("patch %s %s: %s", ref->resource, ref->name, error.message);
}

void world_patch(struct world *w, const char *resource, const char *name, const char *merge_patch)
{
    struct lab_ref ref = at(resource, name, NULL);
    patch(w, &ref, merge_patch);
}

void world_patch_status(struct world *w, const char *resource, const char *name, const char *merge_patch)
{
    struct lab_ref ref = at(resource, name, "status");
    patch(w, &ref, merge_patch);
}

void world_delete(struct world *w, const char *resource, const char *name)
{
    struct kube_error error = {0};
    struct lab_ref ref = at(resource, name, NULL);
    if (lab_client_delete(w->others, &ref, NULL, &error) < 0)
        fail_msg("delete %s %s: %s", resource, name, error.message);
}

/* ---- running ---- */

/* With the version of the event, which for deletions is later than that of the object's last state. */
static yyjson_val *object_of(struct world *w, const struct lab_watch_event *event)
{
    yyjson_mut_doc *doc = lab_json_doc(w->arena);
    yyjson_mut_val *object = yyjson_val_mut_copy(doc, lab_object_parse(w->arena, event->object, NULL));
    size_t n;
    lab_mut_put_str(doc, yyjson_mut_obj_get(object, "metadata"), "resourceVersion",
                    kb_arena_printf(w->arena, "%lld", (long long)event->resource_version));
    const char *text = lab_json_write(w->arena, object, &n);
    return lab_json_parse(w->arena, text, n, NULL);
}

static void deliver(struct world *w, size_t cache, const struct lab_watch_event *event)
{
    struct kube_store *store =
        kube_informer_store(kube_runtime_informer(w->context.runtime, (int)caches[cache].informer));
    const struct api_object *object;
    struct kube_error error = {0};
    if (event->type == LAB_BOOKMARK)
        return;
    if (api_decode_shared(kube_store_type(store), object_of(w, event), NULL, &object, &error) < 0)
        fail_msg("%s: %s", caches[cache].resource, error.message);
    if (event->type == LAB_DELETED)
        kube_store_remove(store, object);
    else
        kube_store_apply(store, object);
    api_object_unref(object);
}

static bool deliver_all(struct world *w)
{
    bool any = false;
    if (w->problem)
        fail_msg("%s", w->problem);
    for (size_t i = 0; i < KB_ARRAY_LEN(caches); i++) {
        struct lab_watch_event event;
        int status = 0;
        if (w->held && kb_streq(w->held, caches[i].resource))
            continue;
        while ((status = lab_watch_next(w->watches[i], &event)) > 0) {
            deliver(w, i, &event);
            lab_watch_event_done(&event);
            any = true;
        }
        assert_int_equal(status, 0);
    }
    return any;
}

void world_step(struct world *w)
{
    while (lab_server_run(w->lab))
        ;
    deliver_all(w);
    kube_runtime_drain(w->context.runtime);
    script_run(w->script);
}

static bool waits_for_attempt(struct world *w)
{
    struct kube_controller_state states[8];
    size_t n = kube_runtime_states(w->context.runtime, states, KB_ARRAY_LEN(states));
    for (size_t i = 0; i < n; i++)
        if (states[i].delayed)
            return true;
    return false;
}

static void run_until_quiet(struct world *w)
{
    for (int rounds = 0; rounds < 1000; rounds++) {
        bool any = lab_server_run(w->lab);
        any |= deliver_all(w);
        any |= kube_runtime_drain(w->context.runtime) > 0;
        script_run(w->script);
        if (!any)
            return;
    }
    fail_msg("it does not come to rest");
}

void world_settle(struct world *w)
{
    run_until_quiet(w);
    for (int i = 0; i < LONGEST_STEPS && waits_for_attempt(w); i++) {
        script_advance(w->script, STEP_NS);
        run_until_quiet(w);
    }
}

void world_poke(struct world *w, const char *controller, const char *key)
{
    kube_queue_add(kube_runtime_queue(w->context.runtime, controller), key);
    run_until_quiet(w);
}

void world_advance(struct world *w, int64_t ns)
{
    script_advance(w->script, ns);
    run_until_quiet(w);
}

/* ---- looking ---- */

const char *world_text(struct world *w, const char *resource, const char *name, const char *pointer)
{
    struct lab_ref ref = at(resource, name, NULL);
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
    struct lab_object **items;
    struct kube_error error = {0};
    size_t n;
    struct lab_ref ref = at("events", NULL, NULL);
    if (lab_client_list(w->others, &ref, NULL, w->arena, &items, &n, &error) < 0)
        fail_msg("%s", error.message);
    struct api_strings lines = {0};
    for (size_t i = 0; i < n; i++) {
        yyjson_val *event = lab_object_parse(w->arena, items[i], NULL);
        api_strings_add(w->arena, &lines,
                        kb_arena_printf(w->arena, "%s %s %s\n", lab_val_str(event, "type"),
                                        lab_val_str(event, "reason"), lab_val_str(event, "message")));
        lab_object_unref(items[i]);
    }
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
