/*
 * Routing, see route.h.
 *
 *   /api/v1/...                          the core group
 *   /apis/GROUP/VERSION/...              named groups
 *   .../RESOURCE[/NAME[/SUBRESOURCE]]    cluster-scoped, or all namespaces
 *   .../namespaces/NS/RESOURCE[/...]     namespaced
 *   POST /debug/cut-watches              ends all watches, and forgets what they could continue from
 */
#include "lab/route.h"
#include "api/codec.h"
#include "base/strings.h"
#include "lab/auth.h"
#include "lab/discovery.h"
#include "lab/json.h"
#include "lab/openapi.h"
#include "lab/proto.h"
#include "lab/server_internal.h"
#include "lab/subresources.h"
#include <stdlib.h>

#define PROTOBUF "application/vnd.kubernetes.protobuf"

struct route {
    struct lab_call *call;
    const struct lab_http_request *request;
    size_t n;
    const char *const *parts; /* of the path, without the leading slash */
};

static int answer_text(struct lab_call *call, int code, const char *type, const char *text, size_t n)
{
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = code, .content_type = type};
    call->result.text = text;
    call->result.length = n;
    return 0;
}

static int no_page(struct lab_call *call)
{
    static const char text[] = "404 page not found\n";
    return answer_text(call, 404, "text/plain; charset=utf-8", text, strlen(text));
}

static bool truth(const char *text)
{
    return kb_streq(text, "1") || kb_streq(text, "true") || kb_streq(text, "");
}

static int number(struct lab_call *call, const char *text, long long *ret)
{
    if (kb_parse_int(text, 0, INT32_MAX, ret))
        return 0;
    return lab_fail_bad_request(call, "strconv.ParseInt: parsing \"%s\": invalid syntax", text);
}

/* Query parameters that are texts, by where they go. */
static const struct {
    const char *name;
    size_t offset;
} text_options[] = {
#define TEXT(name, member)                                                                                             \
    {                                                                                                                  \
        name, offsetof(struct lab_call_options, member)                                                                \
    }
    TEXT("labelSelector", label_selector),
    TEXT("fieldSelector", field_selector),
    TEXT("resourceVersion", resource_version),
    TEXT("resourceVersionMatch", resource_version_match),
    TEXT("continue", continue_),
    TEXT("fieldManager", field_manager),
    TEXT("fieldValidation", field_validation),
    TEXT("propagationPolicy", propagation),
};

static int set_option(struct lab_call *call, const char *name, const char *value, bool *ret_watch)
{
    struct lab_call_options *o = &call->options;
    long long n;
    for (size_t i = 0; i < KB_ARRAY_LEN(text_options); i++)
        if (kb_streq(text_options[i].name, name))
            *(const char **)((char *)o + text_options[i].offset) = value;
    if (kb_streq(name, "watch"))
        *ret_watch = truth(value);
    else if (kb_streq(name, "allowWatchBookmarks"))
        o->bookmarks = truth(value);
    else if (kb_streq(name, "sendInitialEvents"))
        o->send_initial_events = truth(value);
    else if (kb_streq(name, "force"))
        o->force = truth(value);
    else if (kb_streq(name, "dryRun"))
        o->dry_run = kb_streq(value, "All");
    else if (kb_streq(name, "limit"))
        return number(call, value, &o->limit);
    else if (kb_streq(name, "timeoutSeconds")) {
        if (number(call, value, &n) < 0)
            return -1;
        o->timeout_seconds = (int)n;
    } else if (kb_streq(name, "gracePeriodSeconds")) {
        if (number(call, value, &n) < 0)
            return -1;
        o->grace_seconds = n;
    }
    return 0;
}

static int pick_verb(struct route *r, bool watch)
{
    struct lab_call *call = r->call;
    const char *method = r->request->method;
    bool one = call->name;
    if (kb_streq(method, "GET") || kb_streq(method, "HEAD"))
        call->verb = one ? LAB_VERB_GET : LAB_VERB_LIST;
    else if (kb_streq(method, "POST") && (!one || call->subresource))
        call->verb = LAB_VERB_CREATE;
    else if (kb_streq(method, "PUT") && one)
        call->verb = LAB_VERB_UPDATE;
    else if (kb_streq(method, "PATCH") && one)
        call->verb = LAB_VERB_PATCH;
    else if (kb_streq(method, "DELETE"))
        call->verb = one ? LAB_VERB_DELETE : LAB_VERB_DELETE_COLLECTION;
    else
        return lab_fail_method(call);
    if (!watch || (call->verb != LAB_VERB_GET && call->verb != LAB_VERB_LIST))
        return 0;
    if (one) /* a watch of one object is one of the list */
        call->options.field_selector = kb_arena_printf(call->arena, "metadata.name=%s", call->name);
    call->name = NULL;
    call->verb = LAB_VERB_WATCH;
    return 0;
}

static const struct {
    const char *type;
    enum lab_patch_type patch;
} patch_types[] = {
    {"application/json-patch+json", LAB_PATCH_JSON},
    {"application/merge-patch+json", LAB_PATCH_MERGE},
    {"application/strategic-merge-patch+json", LAB_PATCH_STRATEGIC},
    {"application/apply-patch+yaml", LAB_PATCH_APPLY},
    {"application/apply-patch+json", LAB_PATCH_APPLY},
};

/* The media type without parameters. */
static const char *media_type(struct kb_arena *arena, const char *header)
{
    const char *type = kb_arena_strndup(arena, header, strcspn(header, "; "));
    return *type ? type : "application/json";
}

static int check_media_type(struct lab_call *call, const char *header)
{
    const char *type = media_type(call->arena, header);
    if (call->verb != LAB_VERB_PATCH)
        return kb_streq(type, "application/json") || kb_streq(type, "application/yaml") || kb_streq(type, PROTOBUF)
                   ? 0
                   : lab_fail_media_type(call, "application/json, application/yaml, " PROTOBUF);
    for (size_t i = 0; i < KB_ARRAY_LEN(patch_types); i++) {
        if (!kb_streq(patch_types[i].type, type))
            continue;
        call->patch_type = patch_types[i].patch;
        return 0;
    }
    return lab_fail_media_type(call, "application/json-patch+json, application/merge-patch+json, "
                                     "application/strategic-merge-patch+json, application/apply-patch+yaml");
}

struct one_document {
    struct kb_arena *arena;
    yyjson_val *root;
};

static int take_document(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    struct one_document *one = userdata;
    size_t n;
    if (one->root)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "document %d: expected only one", number);
    const char *text = lab_json_write_val(one->arena, yyjson_doc_get_root(doc), &n);
    one->root = lab_json_parse(one->arena, text, n, reterr);
    return one->root ? 0 : -1;
}

/* Clients send JSON under YAML's name, too: kubectl does when it applies. */
static yyjson_val *parse_yaml(struct kb_arena *arena, const char *text, size_t n, struct kube_error *reterr)
{
    struct one_document one = {.arena = arena};
    if (n && *text == '{')
        return lab_json_parse(arena, text, n, reterr);
    kube_error_set(reterr, KUBE_ERROR_INVALID, "expected a document");
    return api_yaml_read(text, n, take_document, &one, reterr) < 0 ? NULL : one.root;
}

static int read_body(struct route *r)
{
    struct lab_call *call = r->call;
    const struct lab_http_request *q = r->request;
    bool needed = call->verb == LAB_VERB_CREATE || call->verb == LAB_VERB_UPDATE || call->verb == LAB_VERB_PATCH;
    bool allowed = needed || call->verb == LAB_VERB_DELETE || call->verb == LAB_VERB_DELETE_COLLECTION;
    if (!allowed || (!needed && !q->body_length))
        return 0;
    if (check_media_type(call, q->content_type) < 0)
        return -1;
    struct kube_error err;
    const char *type = media_type(call->arena, q->content_type);
    if (kb_streq(type, PROTOBUF))
        call->body = lab_proto_parse(call->arena, q->body, q->body_length, &err);
    else if (kb_streq(type, "application/yaml") || kb_streq(type, "application/apply-patch+yaml"))
        call->body = parse_yaml(call->arena, q->body, q->body_length, &err);
    else
        call->body = lab_json_parse(call->arena, q->body, q->body_length, &err);
    if (!call->body)
        return lab_fail_bad_request(call, "couldn't get version/kind; json parse error: %s", err.message);
    return 0;
}

static int find_resource(struct route *r, const char *group, const char *version, const char *plural)
{
    struct lab_call *call = r->call;
    const char *name = *group ? kb_arena_printf(call->arena, "%s.%s", plural, group) : plural;
    lab_server_lock(call->server);
    struct lab_resource *resource = lab_server_resource(call->server, name);
    lab_server_unlock(call->server);
    if (!resource)
        return -1;
    call->resource = resource;
    call->kind = lab_resource_kind(resource);
    call->version = lab_kind_version(call->kind, version);
    return call->version ? 0 : -1;
}

/* parts[at] is where the resource, or "namespaces", stands. */
static int resolve(struct route *r, const char *group, const char *version, size_t at)
{
    struct lab_call *call = r->call;
    size_t left = r->n - at;
    const char *const *p = r->parts + at;
    if (kb_streq(p[0], "watch") && left > 1) /* the old form of a watch */
        p++, left--;
    bool inside = kb_streq(p[0], "namespaces") && left > 2 &&
                  !(left == 3 && (kb_streq(p[2], "status") || kb_streq(p[2], "finalize")));
    if (inside) {
        call->namespace_ = p[1];
        p += 2;
        left -= 2;
    }
    if (find_resource(r, group, version, p[0]) < 0 || left > 3)
        return -1;
    if (inside != call->kind->namespaced && inside)
        return -1;
    call->name = left > 1 ? p[1] : NULL;
    call->subresource = left > 2 ? p[2] : NULL;
    return call->kind->namespaced && call->name && !inside ? -1 : 0;
}

static int route_resource(struct route *r, const char *group, const char *version, size_t at)
{
    struct lab_call *call = r->call;
    bool watch = kb_streq(r->parts[at], "watch");
    if (resolve(r, group, version, at) < 0) {
        call->kind = NULL;
        return *group ? no_page(call) : lab_fail_no_path(call);
    }
    for (size_t i = 0; i < r->request->n_query; i++)
        if (set_option(call, r->request->query[i].key, r->request->query[i].value, &watch) < 0)
            return -1;
    if (pick_verb(r, watch) < 0)
        return -1;
    if (call->verb == LAB_VERB_CREATE && call->kind->namespaced && !call->namespace_)
        return lab_fail_method(call);
    return read_body(r) < 0 ? -1 : 1;
}

static int route_delegate(struct route *r, const struct lab_delegate *d)
{
    struct lab_call *call = r->call;
    const struct lab_http_request *q = r->request;
    const char *base = kb_arena_printf(call->arena, "/apis/%s/%s", d->group, d->version);
    const char *rest = kb_after_prefix(q->path, base);
    struct lab_raw_request raw = {q->method, *rest == '/' ? rest + 1 : rest, call->user, q->body, q->body_length};
    const char *body = "";
    int code = d->handle(d->context, call->arena, &raw, &body);
    return answer_text(call, code, NULL, body, strlen(body));
}

static int route_group(struct route *r)
{
    struct lab_call *call = r->call;
    if (r->n == 1)
        return lab_discovery_groups(call);
    if (r->n == 2)
        return lab_discovery_group(call, r->parts[1]) ? 0 : no_page(call);
    for (size_t i = 0; i < call->server->n_delegates; i++) {
        const struct lab_delegate *d = &call->server->delegates[i];
        if (kb_streq(d->group, r->parts[1]) && kb_streq(d->version, r->parts[2]))
            return route_delegate(r, d);
    }
    if (r->n == 3)
        return lab_discovery_resources(call, r->parts[1], r->parts[2]) ? 0 : no_page(call);
    return route_resource(r, r->parts[1], r->parts[2], 3);
}

static int route_core(struct route *r)
{
    if (r->n == 1)
        return lab_discovery_core(r->call);
    if (!kb_streq(r->parts[1], "v1"))
        return no_page(r->call);
    if (r->n == 2)
        return lab_discovery_resources(r->call, "", "v1") ? 0 : no_page(r->call);
    return route_resource(r, "", "v1", 2);
}

static int route_other(struct route *r)
{
    static const char *const health[] = {"healthz", "livez", "readyz"};
    const char *first = r->parts[0];
    if (kb_in_list(first, health, KB_ARRAY_LEN(health)))
        return answer_text(r->call, 200, "text/plain; charset=utf-8", "ok", 2);
    if (kb_streq(r->request->path, "/debug/cut-watches") && kb_streq(r->request->method, "POST")) {
        lab_server_cut_watches(r->call->server);
        return answer_text(r->call, 200, "text/plain; charset=utf-8", "ok", 2);
    }
    if (kb_streq(first, "version"))
        return lab_discovery_version(r->call);
    if (kb_streq(first, "openapi"))
        return lab_openapi_serve(r->call, r->request->path) ? 0 : no_page(r->call);
    if (!*first)
        return lab_discovery_paths(r->call);
    return no_page(r->call);
}

int lab_route(struct lab_server *server, struct kb_arena *arena, const struct lab_http_request *request,
              struct lab_call *call)
{
    *call = (struct lab_call){.server = server,
                              .arena = arena,
                              .accept = request->accept,
                              .content_type = request->content_type,
                              .user_agent = request->user_agent,
                              .source_ip = request->source_ip,
                              .uri = request->uri,
                              .options = {.grace_seconds = -1},
                              .received_ns = server->clock->wall(server->clock)};
    struct route r = {.call = call, .request = request};
    if (lab_auth_user(call, request->authorization) < 0)
        return -1;
    const char *path = request->path + (*request->path == '/');
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        n--;
    r.n = kb_split(arena, kb_arena_strndup(arena, path, n), '/', &r.parts);
    if (kb_streq(r.parts[0], "api"))
        return route_core(&r);
    if (kb_streq(r.parts[0], "apis"))
        return route_group(&r);
    return route_other(&r);
}
