/*
 * Discovery, see discovery.h. Built from the registered kinds at each request: they are few, and CRDs come and go.
 */
#include "lab/discovery.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/json.h"
#include "lab/server_internal.h"
#include "lab/subresources.h"

#define MAX_SUBRESOURCES 4

struct kind_list {
    size_t n;
    const struct lab_kind **items;
};

struct name_list {
    size_t n;
    const char **items;
};

static struct kind_list all_kinds(struct lab_call *call)
{
    struct kind_list list = {0};
    lab_server_lock(call->server);
    for (struct lab_resource *r = call->server->resources; r; r = r->next)
        if (!r->gone)
            *kb_vec_push(call->arena, &list) = lab_resource_kind(r);
    lab_server_unlock(call->server);
    return list;
}

static void add_name(struct kb_arena *arena, struct name_list *list, const char *name)
{
    if (!kb_in_list(name, list->items, list->n))
        *kb_vec_push(arena, list) = name;
}

/* The named groups, in the order of their kinds; delegated ones last. */
static struct name_list groups_of(struct lab_call *call, const struct kind_list *kinds)
{
    struct name_list groups = {0};
    for (size_t i = 0; i < kinds->n; i++)
        if (*kinds->items[i]->group)
            add_name(call->arena, &groups, kinds->items[i]->group);
    for (size_t i = 0; i < call->server->n_delegates; i++)
        add_name(call->arena, &groups, call->server->delegates[i].group);
    return groups;
}

static struct name_list versions_of(struct lab_call *call, const struct kind_list *kinds, const char *group)
{
    struct name_list versions = {0};
    for (size_t i = 0; i < kinds->n; i++)
        for (size_t v = 0; kb_streq(kinds->items[i]->group, group) && v < kinds->items[i]->n_versions; v++)
            if (kinds->items[i]->versions[v].served)
                add_name(call->arena, &versions, kinds->items[i]->versions[v].name);
    for (size_t i = 0; i < call->server->n_delegates; i++)
        if (kb_streq(call->server->delegates[i].group, group))
            add_name(call->arena, &versions, call->server->delegates[i].version);
    return versions;
}

static int answer(struct lab_call *call, yyjson_mut_val *root)
{
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = 200};
    call->result.text = lab_json_write(call->arena, root, &call->result.length);
    return 0;
}

static yyjson_mut_val *group_version(struct kb_arena *a, yyjson_mut_doc *doc, const char *group, const char *version)
{
    yyjson_mut_val *v = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_strcpy(doc, v, "groupVersion", kb_arena_printf(a, "%s/%s", group, version));
    yyjson_mut_obj_add_strcpy(doc, v, "version", version);
    return v;
}

static yyjson_mut_val *group_value(struct lab_call *call, yyjson_mut_doc *doc, const struct kind_list *kinds,
                                   const char *group)
{
    struct name_list versions = versions_of(call, kinds, group);
    yyjson_mut_val *g = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_strcpy(doc, g, "name", group);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, g, "versions");
    for (size_t i = 0; i < versions.n; i++)
        yyjson_mut_arr_append(list, group_version(call->arena, doc, group, versions.items[i]));
    if (versions.n)
        yyjson_mut_obj_add_val(doc, g, "preferredVersion", group_version(call->arena, doc, group, versions.items[0]));
    return g;
}

bool lab_discovery_group(struct lab_call *call, const char *group)
{
    struct kind_list kinds = all_kinds(call);
    if (!versions_of(call, &kinds, group).n)
        return false;
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *g = group_value(call, doc, &kinds, group);
    yyjson_mut_obj_add_str(doc, g, "kind", "APIGroup");
    yyjson_mut_obj_add_str(doc, g, "apiVersion", "v1");
    answer(call, g);
    return true;
}

static const char *verbs_of(const struct lab_kind *kind)
{
    return kind->no_list ? "create" : "create delete deletecollection get list patch update watch";
}

static void add_words(yyjson_mut_doc *doc, struct kb_arena *a, yyjson_mut_val *object, const char *key,
                      const char *words)
{
    const char *const *parts;
    size_t n = kb_split(a, words, ' ', &parts);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, key);
    for (size_t i = 0; i < n; i++)
        yyjson_mut_arr_add_str(doc, list, parts[i]);
}

static void add_list(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *const *items, size_t n)
{
    if (!n)
        return;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, key);
    for (size_t i = 0; i < n; i++)
        yyjson_mut_arr_add_str(doc, list, items[i]);
}

static void add_resource(struct lab_call *call, yyjson_mut_doc *doc, yyjson_mut_val *list, const struct lab_kind *kind,
                         const char *subresource, const char *shown_kind, const char *verbs)
{
    yyjson_mut_val *r = yyjson_mut_arr_add_obj(doc, list);
    const char *name = subresource ? kb_arena_printf(call->arena, "%s/%s", kind->plural, subresource) : kind->plural;
    yyjson_mut_obj_add_str(doc, r, "name", name);
    yyjson_mut_obj_add_str(doc, r, "singularName", subresource ? "" : kind->singular);
    yyjson_mut_obj_add_bool(doc, r, "namespaced", kind->namespaced);
    yyjson_mut_obj_add_str(doc, r, "kind", shown_kind);
    add_words(doc, call->arena, r, "verbs", verbs);
    if (subresource)
        return;
    add_list(doc, r, "shortNames", kind->short_names, kind->n_short_names);
    add_list(doc, r, "categories", kind->categories, kind->n_categories);
}

static void add_subresources(struct lab_call *call, yyjson_mut_doc *doc, yyjson_mut_val *list,
                             const struct lab_kind *kind, const struct lab_version *version)
{
    const struct lab_subresource *subs[MAX_SUBRESOURCES];
    size_t n = lab_subresources_of(kind, version, subs, MAX_SUBRESOURCES);
    if (version->status)
        add_resource(call, doc, list, kind, "status", kind->name, "get patch update");
    for (size_t i = 0; i < n; i++) {
        add_resource(call, doc, list, kind, subs[i]->name, subs[i]->kind, subs[i]->verbs);
        yyjson_mut_val *last = yyjson_mut_arr_get_last(list);
        if (*subs[i]->group) {
            yyjson_mut_obj_add_str(doc, last, "group", subs[i]->group);
            yyjson_mut_obj_add_str(doc, last, "version", subs[i]->version);
        }
    }
}

bool lab_discovery_resources(struct lab_call *call, const char *group, const char *version)
{
    struct kind_list kinds = all_kinds(call);
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, root, "kind", "APIResourceList");
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "v1");
    yyjson_mut_obj_add_str(doc, root, "groupVersion",
                           *group ? kb_arena_printf(call->arena, "%s/%s", group, version) : version);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "resources");
    for (size_t i = 0; i < kinds.n; i++) {
        const struct lab_kind *k = kinds.items[i];
        const struct lab_version *v = kb_streq(k->group, group) ? lab_kind_version(k, version) : NULL;
        if (!v)
            continue;
        add_resource(call, doc, list, k, NULL, k->name, verbs_of(k));
        add_subresources(call, doc, list, k, v);
    }
    answer(call, root);
    return yyjson_mut_arr_size(list);
}

/* -- aggregated: apidiscovery.k8s.io/v2, all groups in one document */

static bool wants_aggregated(const struct lab_call *call)
{
    return strstr(call->accept, "g=apidiscovery.k8s.io") && strstr(call->accept, "v=v2;");
}

static yyjson_mut_val *response_kind(yyjson_mut_doc *doc, const char *group, const char *version, const char *kind)
{
    yyjson_mut_val *k = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_strcpy(doc, k, "group", group);
    yyjson_mut_obj_add_strcpy(doc, k, "version", version);
    yyjson_mut_obj_add_strcpy(doc, k, "kind", kind);
    return k;
}

static void add_aggregated_subresource(struct lab_call *call, yyjson_mut_doc *doc, yyjson_mut_val *list,
                                       const char *name, yyjson_mut_val *kind, const char *verbs)
{
    yyjson_mut_val *s = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_obj_add_str(doc, s, "subresource", name);
    yyjson_mut_obj_add_val(doc, s, "responseKind", kind);
    add_words(doc, call->arena, s, "verbs", verbs);
}

static void add_aggregated_resource(struct lab_call *call, yyjson_mut_doc *doc, yyjson_mut_val *list,
                                    const struct lab_kind *kind, const struct lab_version *version)
{
    yyjson_mut_val *r = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_obj_add_str(doc, r, "resource", kind->plural);
    yyjson_mut_obj_add_val(doc, r, "responseKind", response_kind(doc, kind->group, version->name, kind->name));
    yyjson_mut_obj_add_str(doc, r, "scope", kind->namespaced ? "Namespaced" : "Cluster");
    yyjson_mut_obj_add_str(doc, r, "singularResource", kind->singular);
    add_words(doc, call->arena, r, "verbs", verbs_of(kind));
    add_list(doc, r, "shortNames", kind->short_names, kind->n_short_names);
    add_list(doc, r, "categories", kind->categories, kind->n_categories);
    const struct lab_subresource *subs[MAX_SUBRESOURCES];
    size_t n = lab_subresources_of(kind, version, subs, MAX_SUBRESOURCES);
    if (!n && !version->status)
        return;
    yyjson_mut_val *s = yyjson_mut_obj_add_arr(doc, r, "subresources");
    if (version->status)
        add_aggregated_subresource(call, doc, s, "status", response_kind(doc, kind->group, version->name, kind->name),
                                   "get patch update");
    for (size_t i = 0; i < n; i++)
        add_aggregated_subresource(call, doc, s, subs[i]->name,
                                   response_kind(doc, *subs[i]->group ? subs[i]->group : kind->group,
                                                 *subs[i]->version ? subs[i]->version : version->name, subs[i]->kind),
                                   subs[i]->verbs);
}

static void add_aggregated_group(struct lab_call *call, yyjson_mut_doc *doc, yyjson_mut_val *items,
                                 const struct kind_list *kinds, const char *group)
{
    struct name_list versions = versions_of(call, kinds, group);
    yyjson_mut_val *g = yyjson_mut_arr_add_obj(doc, items);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, g, "metadata");
    if (*group)
        yyjson_mut_obj_add_strcpy(doc, metadata, "name", group);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, g, "versions");
    for (size_t i = 0; i < versions.n; i++) {
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_strcpy(doc, v, "version", versions.items[i]);
        yyjson_mut_obj_add_str(doc, v, "freshness", "Current");
        yyjson_mut_val *resources = yyjson_mut_obj_add_arr(doc, v, "resources");
        for (size_t k = 0; k < kinds->n; k++) {
            const struct lab_version *known =
                kb_streq(kinds->items[k]->group, group) ? lab_kind_version(kinds->items[k], versions.items[i]) : NULL;
            if (known)
                add_aggregated_resource(call, doc, resources, kinds->items[k], known);
        }
    }
}

static int aggregated(struct lab_call *call, bool core)
{
    struct kind_list kinds = all_kinds(call);
    struct name_list groups = groups_of(call, &kinds);
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *root = lab_json_mut(doc, call->arena,
                                        "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","
                                        "\"metadata\":{}}");
    yyjson_mut_val *items = yyjson_mut_obj_add_arr(doc, root, "items");
    if (core)
        add_aggregated_group(call, doc, items, &kinds, "");
    for (size_t i = 0; !core && i < groups.n; i++)
        add_aggregated_group(call, doc, items, &kinds, groups.items[i]);
    answer(call, root);
    call->result.content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    return 0;
}

int lab_discovery_core(struct lab_call *call)
{
    if (wants_aggregated(call))
        return aggregated(call, true);
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    return answer(call,
                  lab_json_mut(doc, call->arena,
                               "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}"));
}

int lab_discovery_groups(struct lab_call *call)
{
    if (wants_aggregated(call))
        return aggregated(call, false);
    struct kind_list kinds = all_kinds(call);
    struct name_list groups = groups_of(call, &kinds);
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *root = lab_json_mut(doc, call->arena, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\"}");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "groups");
    for (size_t i = 0; i < groups.n; i++)
        yyjson_mut_arr_append(list, group_value(call, doc, &kinds, groups.items[i]));
    return answer(call, root);
}

int lab_discovery_paths(struct lab_call *call)
{
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    return answer(call,
                  lab_json_mut(doc, call->arena,
                               "{\"paths\":[\"/api\",\"/api/v1\",\"/apis\",\"/healthz\",\"/livez\",\"/openapi/v2\","
                               "\"/openapi/v3\",\"/readyz\",\"/version\"]}"));
}

int lab_discovery_version(struct lab_call *call)
{
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    return answer(call, lab_json_mut(doc, call->arena,
                                     "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"" LAB_KUBERNETES_VERSION "\","
                                     "\"gitCommit\":\"\",\"gitTreeState\":\"clean\",\"buildDate\":"
                                     "\"1970-01-01T00:00:00Z\",\"goVersion\":\"\",\"compiler\":\"\","
                                     "\"platform\":\"linux/amd64\"}"));
}
