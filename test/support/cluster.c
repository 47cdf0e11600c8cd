/*
 * The bridge: requests of the scripted transport go to the lab's router; the lab's watches feed the caches.
 */
#include "support/cluster.h"

#include "api/meta.h"
#include "api/types/core.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/request.h"
#include "lab/json.h"
#include "lab/route.h"
#include "lab/server.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct feed {
    struct lab_watch *watch; /* NULL: this cluster has no such kind */
    bool held;
};

/* The script's clock, but that no two events have the same time: their names are made of it. */
struct ticking_clock {
    struct kb_clock clock;
    struct kb_clock *real;
    int64_t ticks;
};

struct cluster {
    const char *namespace;
    struct script *script;
    struct ticking_clock event_clock;
    script_server intercept;
    void *intercept_data;
    const char *complaint;
    bool calm;
    struct lab_server *server;
    struct lab_client *lab;
    struct kube_client *client, *event_client;
    struct kb_random *random;
    struct virt_context context;
    struct kb_arena *arena;
    const struct kube_informer_spec *specs;
    struct feed feeds[VIRT_N_INFORMERS];
    struct {
        size_t n;
        const struct api_object **items;
    } pins;
    size_t seen_requests;
};

/* ---- requests: to the lab ---- */

void cluster_complain(struct cluster *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    c->complaint = kb_arena_vprintf(c->arena, format, args);
    va_end(args);
}

void cluster_intercept(struct cluster *c, script_server server, void *userdata)
{
    c->intercept = server;
    c->intercept_data = userdata;
}

/* 422 is also the answer to a JSON patch whose test fails, as by a cache that is behind. */
static void check_refusal(struct cluster *c, const struct script_request *request, const struct lab_failure *failure)
{
    static const int ours[] = {400, 405, 415, 422};

    for (size_t i = 0; i < KB_ARRAY_LEN(ours); i++)
        if (failure->code == ours[i] && !strstr(failure->message, "due to an error in our request"))
            cluster_complain(c, "%s %s: %d %s\n%.*s", request->method, request->path, failure->code, failure->message,
                             (int)request->body_length, request->body);
}

static struct lab_object *stored_object(const struct lab_call *call)
{
    struct lab_object *object =
        call->resource && call->name ? lab_store_find(call->resource, lab_call_key(call)) : NULL;

    return object ? lab_object_ref(object) : NULL;
}

/* `before`: what was stored then, or NULL. */
static void check_calm(struct cluster *c, const struct script_request *request, const struct lab_call *call, int rc,
                       const struct lab_object *before)
{
    if (!c->calm || kb_streq(request->method, "GET"))
        return;
    if (rc < 0)
        cluster_complain(c, "%s %s: %d %s", request->method, request->path, call->failure.code, call->failure.message);
    else if (before && before == lab_store_find(call->resource, lab_call_key(call)))
        cluster_complain(c, "%s %s changes nothing: %s", request->method, request->path, request->body);
}

static void answer(struct cluster *c, const struct script_request *request, struct lab_call *call, int rc,
                   struct script_reply *reply)
{
    struct lab_result *r = &call->result;
    struct kb_strbuf list = {.arena = reply->arena};
    size_t n;

    if (rc < 0) {
        check_refusal(c, request, &call->failure);
        reply->status = call->failure.code;
        reply->retry_after_seconds = call->failure.retry_after;
        reply->body = lab_failure_text(reply->arena, &call->failure, &n);
        return;
    }
    reply->status = r->code ? r->code : 200;
    reply->body = r->text ? r->text : "";
    if (r->kind == LAB_RESULT_OBJECT)
        reply->body = lab_object_text(reply->arena, r->object, call->version->api_version, &n);
    if (r->kind != LAB_RESULT_LIST)
        return;
    kb_strbuf_printf(&list,
                     "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%lld\"},\"items\":[",
                     (long long)r->resource_version);
    for (size_t i = 0; i < r->n; i++)
        kb_strbuf_printf(&list, "%s%s", i ? "," : "",
                         lab_object_text(reply->arena, r->items[i], call->version->api_version, &n));
    kb_strbuf_puts(&list, "]}");
    reply->body = kb_strbuf_text(&list);
}

static int hex(char digit)
{
    return digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

static const char *decoded(struct kb_arena *arena, const char *text, size_t n)
{
    char *copy = kb_arena_strndup(arena, text, n), *to = copy;

    for (const char *from = copy; *from; from++)
        if (*from == '%' && from[1] && from[2]) {
            *to++ = (char)(hex(from[1]) * 16 + hex(from[2]));
            from += 2;
        } else {
            *to++ = *from == '+' ? ' ' : *from;
        }
    *to = '\0';
    return copy;
}

struct pairs {
    size_t n;
    struct lab_pair *items;
};

static struct pairs split_query(struct kb_arena *arena, const char *query)
{
    struct pairs pairs = {0};

    while (query && *query) {
        const size_t n = strcspn(query, "&"), name = strcspn(query, "=");

        *kb_vec_push(arena, &pairs) = (struct lab_pair){decoded(arena, query, name),
                                                        name < n ? decoded(arena, query + name + 1, n - name - 1) : ""};
        query += n + (query[n] == '&');
    }
    return pairs;
}

static bool serve(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    struct cluster *c = userdata;
    const char *query = strchr(request->path, '?');
    const size_t path_length = query ? (size_t)(query - request->path) : strlen(request->path);
    const struct pairs pairs = split_query(reply->arena, query ? query + 1 : NULL);
    struct lab_http_request r = {
        .method = request->method,
        .path = decoded(reply->arena, request->path, path_length),
        .n_query = pairs.n,
        .query = pairs.items,
        .accept = "application/json",
        .content_type = request->content_type,
        .authorization = "Bearer controller-token",
        .user_agent = "test",
        .source_ip = "",
        .uri = request->path,
        .body = request->body,
        .body_length = request->body_length,
    };
    struct lab_call call = {0};

    if (c->intercept && c->intercept(c->intercept_data, request, reply))
        return true;

    int rc = lab_route(c->server, reply->arena, &r, &call);
    lab_cleanup_object struct lab_object *before = rc > 0 ? stored_object(&call) : NULL;

    if (rc > 0)
        rc = lab_call_serve(&call);
    check_calm(c, request, &call, rc, before);
    answer(c, request, &call, rc, reply);
    lab_call_done(&call);
    return true;
}

/* ---- caches ---- */

static const struct api_object *decode(const struct api_type *type, yyjson_val *value,
                                       const struct api_projection *projection)
{
    const struct api_object *result;
    struct kube_error error;

    if (api_decode_shared(type, value, projection, &result, &error) < 0)
        fail_msg("%s", error.message);
    return result;
}

static const char *resource_name(struct kb_arena *arena, const struct api_resource *resource)
{
    return *resource->group ? kb_arena_printf(arena, "%s.%s", resource->plural, resource->group) : resource->plural;
}

static void open_feed(struct cluster *c, enum virt_informer id)
{
    const struct kube_informer_spec *spec = &c->specs[id];
    const struct lab_ref ref = {.resource = resource_name(c->arena, spec->type->resource)};
    const struct lab_selector_options options = {.label_selector = spec->label_selector,
                                                 .field_selector = spec->field_selector};

    kube_runtime_add_informer(c->context.runtime, (int)id, spec);
    c->feeds[id].watch = lab_client_watch(c->lab, &ref, &options, NULL);
}

/* With the version of the event, which for deletions is later than that of the object's last state. */
static yyjson_val *object_of(struct cluster *c, const struct lab_watch_event *event)
{
    yyjson_mut_doc *doc = lab_json_doc(c->arena);
    yyjson_mut_val *object = yyjson_val_mut_copy(doc, lab_object_parse(c->arena, event->object, NULL));
    size_t n;

    lab_mut_put_str(doc, yyjson_mut_obj_get(object, "metadata"), "resourceVersion",
                    kb_arena_printf(c->arena, "%lld", (long long)event->resource_version));
    const char *text = lab_json_write(c->arena, object, &n);

    return lab_json_parse(c->arena, text, n, NULL);
}

static void take(struct cluster *c, enum virt_informer id, const struct lab_watch_event *event, bool lost)
{
    const struct kube_informer_spec *spec = &c->specs[id];
    struct kube_store *store = kube_informer_store(kube_runtime_informer(c->context.runtime, (int)id));
    const struct api_object *object;
    yyjson_val *value;

    if (event->type == LAB_BOOKMARK || lost)
        return;
    value = object_of(c, event);
    object = decode(spec->type, value, spec->projection);
    if (spec->note_form && api_is_in_form(spec->type, api_object_data(object), value, "spec"))
        api_object_note_form(object);
    if (event->type == LAB_DELETED)
        kube_store_remove(store, object);
    else
        kube_store_apply(store, object);
    api_object_unref(object);
    if (id == VIRT_KUBEVIRT)
        virt_config_store_update(c->context.config, event->type == LAB_DELETED ? NULL : api_object_data(object), NULL);
}

static bool drain_feed(struct cluster *c, enum virt_informer id, bool lost)
{
    struct feed *feed = &c->feeds[id];
    struct lab_watch_event event;
    bool any = false;

    if (!feed->watch || feed->held)
        return false;
    while (lab_watch_next(feed->watch, &event) > 0) {
        take(c, id, &event, lost);
        lab_watch_event_done(&event);
        any = true;
    }
    return any;
}

static bool deliver(struct cluster *c)
{
    bool any = false;

    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        any |= drain_feed(c, (enum virt_informer)id, false);
    return any;
}

void cluster_hold(struct cluster *c, enum virt_informer informer)
{
    c->feeds[informer].held = true;
}

void cluster_let_go(struct cluster *c, enum virt_informer informer, bool lost)
{
    c->feeds[informer].held = false;
    drain_feed(c, informer, lost);
}

void cluster_forget(struct cluster *c, enum virt_informer informer, const char *name)
{
    struct kube_store *store = kube_informer_store(kube_runtime_informer(c->context.runtime, (int)informer));
    const struct api_object *object = kube_store_get(store, c->namespace, name);

    assert_non_null(object);
    kube_store_remove(store, object);
    api_object_unref(object);
}

/* ---- life ---- */

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

static void create_parts(struct cluster *c)
{
    struct kube_error error;
    struct kb_clock *clock = script_clock(c->script);
    const struct lab_server_options server = {.clock = clock, .random = c->random, .no_background = true};
    const struct kube_client_options client = {.transport = script_transport(c->script), .clock = clock};

    if (lab_server_new(&server, &c->server, &error) < 0)
        fail_msg("%s", error.message);
    c->lab = lab_client_new(c->server, "test");
    c->client = kube_client_new(&client);
    c->event_client = kube_client_new(&client);
    c->event_clock = (struct ticking_clock){{ticking_wall, ticking_mono, ticking_wait}, clock, 0};
    c->context = (struct virt_context){
        .client = c->client,
        .config = virt_config_store_new(),
        .launcher = virt_launcher_default_settings,
        .install_namespace = "kubevirt",
        .deletions = virt_holds_new(clock),
        .vm_recorder =
            kube_recorder_new(c->event_client, "virtualmachine-controller", &c->event_clock.clock, c->random),
        .runtime =
            kube_runtime_new(&(struct kube_runtime_options){.client = c->client, .clock = clock, .random = c->random}),
    };
    c->context.launcher.launcher_image = "launcher:v1";
    c->context.launcher.exporter_image = "exporter:v1";
}

struct cluster *cluster_new(void)
{
    return cluster_new_in("ns");
}

struct cluster *cluster_new_in(const char *namespace_)
{
    struct cluster *c = kb_malloc(sizeof *c);

    c->namespace = namespace_;
    c->arena = kb_arena_new();
    c->script = script_new();
    c->random = kb_random_seeded(7);
    script_serve(c->script, serve, c);
    create_parts(c);
    c->specs = virt_informer_specs(c->arena, "kubevirt");
    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        open_feed(c, (enum virt_informer)id);
    if (!kb_streq(namespace_, "default"))
        cluster_create(c, "namespaces", kb_arena_printf(c->arena, "{\"metadata\":{\"name\":\"%s\"}}", namespace_));
    cluster_create(c, "namespaces", "{\"metadata\":{\"name\":\"kubevirt\"}}");
    cluster_create(c, "nodes",
                   "{\"metadata\":{\"name\":\"node01\",\"labels\":{\"kubevirt.io/schedulable\":\"true\"}}}");
    cluster_create(c, "nodes",
                   "{\"metadata\":{\"name\":\"node02\",\"labels\":{\"kubevirt.io/schedulable\":\"true\"}}}");
    cluster_create(c, "kubevirts.kubevirt.io", "{\"metadata\":{\"name\":\"kubevirt\"},\"spec\":{}}");
    return c;
}

void cluster_free(struct cluster *c)
{
    script_clear(c->script);
    kube_runtime_free(c->context.runtime);
    kube_recorder_free(c->context.vm_recorder);
    virt_holds_free(c->context.deletions);
    virt_config_store_free(c->context.config);
    kube_client_free(c->client);
    kube_client_free(c->event_client);
    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        lab_watch_free(c->feeds[id].watch);
    for (size_t i = 0; i < c->pins.n; i++)
        api_object_unref(c->pins.items[i]);
    free(c->pins.items);
    lab_client_free(c->lab);
    lab_server_stop(c->server);
    lab_server_free(c->server);
    script_free(c->script);
    free(c->random);
    kb_arena_free(c->arena);
    free(c);
}

struct virt_context *cluster_context(struct cluster *c)
{
    return &c->context;
}

struct script *cluster_script(struct cluster *c)
{
    return c->script;
}

struct lab_client *cluster_lab(struct cluster *c)
{
    return c->lab;
}

struct kb_arena *cluster_arena(struct cluster *c)
{
    return c->arena;
}

/* ---- the test's own changes ---- */

static bool is_cluster_scoped(const char *resource)
{
    static const char *const resources[] = {"namespaces",
                                            "nodes",
                                            "storageclasses.storage.k8s.io",
                                            "cdis.cdi.kubevirt.io",
                                            "cdiconfigs.cdi.kubevirt.io",
                                            "storageprofiles.cdi.kubevirt.io",
                                            "volumesnapshotclasses.snapshot.storage.k8s.io",
                                            "virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
                                            "virtualmachineclusterpreferences.instancetype.kubevirt.io"};

    return kb_in_list(resource, resources, KB_ARRAY_LEN(resources));
}

struct lab_ref cluster_reference(struct cluster *c, const char *resource, const char *name)
{
    const char *slash = strchr(resource, '/');
    const char *plain = slash ? kb_arena_strndup(c->arena, resource, (size_t)(slash - resource)) : resource;

    return (struct lab_ref){.resource = plain,
                            .namespace_ = is_cluster_scoped(plain) ? NULL : c->namespace,
                            .name = name,
                            .subresource = slash ? slash + 1 : NULL};
}

void cluster_create(struct cluster *c, const char *resource, const char *json)
{
    const struct lab_ref ref = cluster_reference(c, resource, NULL);
    struct kube_error error;

    if (lab_client_create_text(c->lab, &ref, json, NULL, &error) < 0)
        fail_msg("create %s: %s", resource, error.message);
}

void cluster_bind(struct cluster *c, const char *pod, const char *node)
{
    const struct lab_ref ref = cluster_reference(c, "pods/binding", pod);
    struct kube_error error;

    if (lab_client_create_text(
            c->lab, &ref,
            kb_arena_printf(c->arena, "{\"metadata\":{\"name\":\"%s\"},\"target\":{\"kind\":\"Node\",\"name\":\"%s\"}}",
                            pod, node),
            NULL, &error) < 0)
        fail_msg("bind %s: %s", pod, error.message);
}

void cluster_patch(struct cluster *c, const char *resource, const char *name, const char *merge_patch)
{
    const struct lab_ref ref = cluster_reference(c, resource, name);
    struct kube_error error;

    if (lab_client_patch_text(c->lab, &ref, LAB_PATCH_MERGE, merge_patch, NULL, &error) < 0)
        fail_msg("patch %s %s: %s", resource, name, error.message);
}

void cluster_delete(struct cluster *c, const char *resource, const char *name)
{
    const struct lab_ref ref = cluster_reference(c, resource, name);
    struct kube_error error;

    if (lab_client_delete(c->lab, &ref, &(struct lab_delete_options){.grace_seconds = 0}, &error) < 0)
        fail_msg("delete %s %s: %s", resource, name, error.message);
}

/* ---- running ---- */

bool cluster_step(struct cluster *c)
{
    bool any = lab_server_run(c->server);

    any |= deliver(c);
    any |= kube_runtime_drain(c->context.runtime) > 0;
    script_run(c->script);
    if (c->complaint)
        fail_msg("%s", c->complaint);
    return any;
}

void cluster_settle(struct cluster *c)
{
    for (int rounds = 0; cluster_step(c); rounds++)
        if (rounds > 500)
            fail_msg("the controllers find no end");
}

void cluster_advance(struct cluster *c, int64_t ns)
{
    const int64_t step = ns / 20 > 0 ? ns / 20 : ns;

    cluster_settle(c);
    for (int64_t gone = 0; gone < ns; gone += step) {
        script_advance(c->script, step);
        cluster_settle(c);
    }
}

/* ---- what is there ---- */

static const void *pinned(struct cluster *c, const struct api_type *type, struct lab_object *object)
{
    const struct api_object *decoded_object = decode(type, lab_object_parse(c->arena, object, NULL), NULL);

    *kb_vec_push(NULL, &c->pins) = decoded_object;
    lab_object_unref(object);
    return api_object_data(decoded_object);
}

const void *cluster_get(struct cluster *c, const struct api_type *type, const char *name)
{
    const struct lab_ref ref = cluster_reference(c, resource_name(c->arena, type->resource), name);
    struct lab_object *object;
    struct kube_error error;

    if (lab_client_get(c->lab, &ref, &object, &error) == 0)
        return pinned(c, type, object);
    if (!kube_error_is_not_found(&error))
        fail_msg("%s", error.message);
    return NULL;
}

struct cluster_list cluster_list(struct cluster *c, const struct api_type *type)
{
    const struct lab_ref ref = cluster_reference(c, resource_name(c->arena, type->resource), NULL);
    struct lab_object **objects;
    struct cluster_list list = {0};
    struct kube_error error;
    size_t n;

    if (lab_client_list(c->lab, &ref, NULL, c->arena, &objects, &n, &error) < 0)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < n; i++)
        *kb_vec_push(c->arena, &list) = pinned(c, type, objects[i]);
    return list;
}

/* "pods", "pods/status": what follows the namespace, without the object's name. */
static const char *resource_of(struct cluster *c, const char *path)
{
    const char *prefix = kb_arena_printf(c->arena, "/namespaces/%s/", c->namespace), *rest = strstr(path, prefix);
    const char *const *parts;
    size_t n;

    if (!rest)
        return path;
    n = kb_split(c->arena, rest + strlen(prefix), '/', &parts);
    return n > 2 ? kb_arena_printf(c->arena, "%s/%s", parts[0], parts[2]) : parts[0];
}

const char *cluster_writes(struct cluster *c)
{
    struct kb_strbuf writes = {.arena = c->arena};

    for (; c->seen_requests < script_requests(c->script); c->seen_requests++) {
        const struct script_request *request = script_request(c->script, c->seen_requests);
        const char *resource = resource_of(c, request->path);

        if (kb_streq(request->method, "GET") || kb_streq(resource, "events"))
            continue;
        kb_strbuf_printf(&writes, "%s%s %s", writes.length ? ", " : "", request->method, resource);
    }
    return kb_strbuf_text(&writes);
}

void cluster_expect_calm(struct cluster *c)
{
    c->calm = true;
}

static int by_version(const void *a, const void *b)
{
    const struct core_event *const *left = a, *const *right = b;

    return (int)(strtol((*left)->metadata.resource_version, NULL, 10) -
                 strtol((*right)->metadata.resource_version, NULL, 10));
}

const char *cluster_events(struct cluster *c)
{
    const struct cluster_list events = cluster_list(c, &core_event_type);
    struct kb_strbuf text = {.arena = c->arena};

    if (events.n > 1)
        qsort(events.items, events.n, sizeof *events.items, by_version);
    for (size_t i = 0; i < events.n; i++) {
        const struct core_event *event = events.items[i];

        kb_strbuf_printf(&text, "%s %s %s\n", event->type, event->reason, event->message);
    }
    return kb_strbuf_text(&text);
}
