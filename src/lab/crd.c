/*
 * CustomResourceDefinitions, see crd.h. The kind is made from the stored object; it is kept in the server's arena, as
 * are those that it replaces: objects and watches may still point at them.
 */
#include "lab/crd.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/json.h"
#include "lab/schema.h"
#include "lab/server_internal.h"
#include <stdio.h>
#include <stdlib.h>

static const char *lower(struct kb_arena *arena, const char *text)
{
    char *copy = kb_arena_strdup(arena, text);
    for (char *p = copy; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p | 0x20);
    return copy;
}

static void default_names(struct lab_write *w)
{
    yyjson_mut_val *names = lab_mut_object(w->doc, lab_mut_object(w->doc, w->root, "spec"), "names");
    const char *kind = lab_mut_str(names, "kind");
    lab_mut_default_str(w->doc, names, "singular", lower(w->arena, kind));
    lab_mut_default_str(w->doc, names, "listKind", kb_arena_printf(w->arena, "%sList", kind));
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec");
    lab_mut_default_str(w->doc, lab_mut_object(w->doc, spec, "conversion"), "strategy", "None");
}

static void add_condition(struct lab_write *w, yyjson_mut_val *list, const char *type, const char *reason,
                          const char *message)
{
    yyjson_mut_val *c = yyjson_mut_arr_add_obj(w->doc, list);
    lab_mut_put_str(w->doc, c, "type", type);
    lab_mut_put_str(w->doc, c, "status", "True");
    lab_mut_put_str(w->doc, c, "lastTransitionTime", lab_write_now(w));
    lab_mut_put_str(w->doc, c, "reason", reason);
    lab_mut_put_str(w->doc, c, "message", message);
}

/* The lab accepts names at once, so a definition is created as an established one. */
static void prepare_create(struct lab_write *w)
{
    default_names(w);
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec");
    yyjson_mut_val *status = lab_mut_object(w->doc, w->root, "status");
    yyjson_mut_val *conditions = yyjson_mut_arr(w->doc), *stored = yyjson_mut_arr(w->doc);
    add_condition(w, conditions, "NamesAccepted", "NoConflicts", "no conflicts found");
    add_condition(w, conditions, "Established", "InitialNamesAccepted", "the initial names have been accepted");
    lab_mut_put(w->doc, status, "conditions", conditions);
    lab_mut_put(w->doc, status, "acceptedNames", yyjson_mut_val_mut_copy(w->doc, yyjson_mut_obj_get(spec, "names")));
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "versions"), i, n, v)
    {
        if (yyjson_mut_get_bool(yyjson_mut_obj_get(v, "storage")))
            yyjson_mut_arr_add_strcpy(w->doc, stored, lab_mut_str(v, "name"));
    }
    lab_mut_put(w->doc, status, "storedVersions", stored);
}

static void prepare_update(struct lab_write *w)
{
    default_names(w);
}

static void validate(struct lab_write *w)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec"), *names = yyjson_mut_obj_get(spec, "names");
    static const char *const required[] = {"plural", "kind"};
    const char *group = lab_mut_str(spec, "group");
    if (!*group)
        lab_cause_required(w->call, "spec.group", "");
    for (size_t i = 0; i < KB_ARRAY_LEN(required); i++)
        if (!*lab_mut_str(names, required[i]))
            lab_cause_required(w->call, kb_arena_printf(w->arena, "spec.names.%s", required[i]), "");
    const char *name = kb_arena_printf(w->arena, "%s.%s", lab_mut_str(names, "plural"), group);
    if (!kb_streq(name, lab_mut_str(w->metadata, "name")))
        lab_cause_invalid(w->call, "metadata.name", kb_quote(w->arena, lab_mut_str(w->metadata, "name")),
                          "must be spec.names.plural+\".\"+spec.group");
    const char *scope = lab_mut_str(spec, "scope");
    if (!kb_streq(scope, "Cluster") && !kb_streq(scope, "Namespaced"))
        lab_cause_unsupported(w->call, "spec.scope", kb_quote(w->arena, scope), "\"Cluster\", \"Namespaced\"");
    size_t i, n, storage = 0;
    yyjson_mut_val *v, *versions = yyjson_mut_obj_get(spec, "versions");
    yyjson_mut_arr_foreach(versions, i, n, v)
    {
        storage += yyjson_mut_get_bool(yyjson_mut_obj_get(v, "storage"));
        if (!yyjson_mut_obj_get(v, "schema"))
            lab_cause_required(w->call, kb_arena_printf(w->arena, "spec.versions[%zu].schema.openAPIV3Schema", i),
                               "schemas are required");
    }
    if (storage != 1)
        lab_cause_invalid(w->call, "spec.versions", lab_json_write(w->arena, versions, NULL),
                          "must have exactly one version marked as storage version");
    if (yyjson_mut_arr_size(versions) > LAB_MAX_VERSIONS)
        lab_cause(w->call, "FieldValueTooMany", "spec.versions", "Too many: must have at most %d items",
                  LAB_MAX_VERSIONS);
}

static const char *dup(struct kb_arena *a, const char *text)
{
    return kb_arena_strdup(a, text);
}

static size_t strings_of(struct kb_arena *a, yyjson_val *list, const char *const **ret)
{
    const char **items = kb_arena_many(a, const char *, yyjson_arr_size(list) + 1);
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, n, v)
    {
        items[i] = dup(a, yyjson_is_str(v) ? yyjson_get_str(v) : "");
    }
    *ret = items;
    return yyjson_arr_size(list);
}

static void columns_of(struct kb_arena *a, yyjson_val *list, struct lab_version *ret)
{
    struct lab_column *columns = kb_arena_many(a, struct lab_column, yyjson_arr_size(list) + 1);
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(list, i, n, c)
    {
        columns[i] = (struct lab_column){dup(a, lab_val_str(c, "name")), dup(a, lab_val_str(c, "type")),
                                         dup(a, lab_val_str(c, "jsonPath")), dup(a, lab_val_str(c, "format")),
                                         (int)yyjson_get_int(yyjson_obj_get(c, "priority"))};
    }
    ret->columns = columns;
    ret->n_columns = yyjson_arr_size(list);
    if (ret->n_columns)
        return;
    static const struct lab_column age = {"Age", "date", ".metadata.creationTimestamp", "", 0};
    ret->columns = &age;
    ret->n_columns = 1;
}

static const char *text_or_null(struct kb_arena *a, yyjson_val *object, const char *key)
{
    const char *text = lab_val_str(object, key);
    return *text ? dup(a, text) : NULL;
}

static void version_of(struct kb_arena *a, const char *group, yyjson_val *v, struct lab_version *ret)
{
    yyjson_val *sub = yyjson_obj_get(v, "subresources"), *scale = yyjson_obj_get(sub, "scale");
    ret->name = dup(a, lab_val_str(v, "name"));
    ret->api_version = kb_arena_printf(a, "%s/%s", group, ret->name);
    ret->served = yyjson_get_bool(yyjson_obj_get(v, "served"));
    ret->status = yyjson_obj_get(sub, "status");
    ret->scale = scale;
    ret->spec_replicas = text_or_null(a, scale, "specReplicasPath");
    ret->status_replicas = text_or_null(a, scale, "statusReplicasPath");
    ret->label_selector = text_or_null(a, scale, "labelSelectorPath");
    columns_of(a, yyjson_obj_get(v, "additionalPrinterColumns"), ret);
    yyjson_val *schema = LAB_VAL_AT(v, "schema", "openAPIV3Schema");
    if (schema) {
        size_t n;
        const char *text = lab_json_write_val(a, schema, &n);
        ret->schema = lab_json_parse(a, text, n, NULL);
        ret->has_rules = strstr(text, "\"x-kubernetes-validations\"");
    }
}

/* Kubernetes' order of versions: v2, v1, v1beta2, v1beta1, v1alpha1, others by name. */
static int priority(const char *version)
{
    int major = 0, minor = 0;
    char stage[8] = "";
    int n = sscanf(version, "v%d%5[a-z]%d", &major, stage, &minor);
    if (n == 1)
        return 1000000 + major * 1000;
    if (n == 3 && kb_streq(stage, "beta"))
        return 500000 + major * 1000 + minor;
    if (n == 3 && kb_streq(stage, "alpha"))
        return 100000 + major * 1000 + minor;
    return 0;
}

static int by_priority(const void *a, const void *b)
{
    return priority(((const struct lab_version *)b)->name) - priority(((const struct lab_version *)a)->name);
}

static void versions_of(struct kb_arena *a, yyjson_val *spec, struct lab_kind *kind)
{
    yyjson_val *list = yyjson_obj_get(spec, "versions"), *v;
    struct lab_version *versions = kb_arena_many(a, struct lab_version, yyjson_arr_size(list) + 1);
    const char *storage = "";
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v)
    {
        version_of(a, kind->group, v, &versions[i]);
        if (!yyjson_get_bool(yyjson_obj_get(v, "storage")))
            continue;
        storage = versions[i].name;
        yyjson_val *fields = yyjson_obj_get(v, "selectableFields"), *f;
        const char **paths = kb_arena_many(a, const char *, yyjson_arr_size(fields) + 1);
        size_t j, m;
        yyjson_arr_foreach(fields, j, m, f)
        {
            const char *path = lab_val_str(f, "jsonPath");
            if (j < LAB_MAX_FIELDS)
                paths[kind->n_fields++] = dup(a, path + (*path == '.'));
        }
        kind->fields = paths;
    }
    kind->n_versions = yyjson_arr_size(list);
    qsort(versions, kind->n_versions, sizeof(*versions), by_priority);
    kind->versions = kind->storage = versions;
    for (i = 0; i < kind->n_versions; i++)
        if (kb_streq(versions[i].name, storage))
            kind->storage = &versions[i];
}

/* In the server's arena. */
static struct lab_kind *kind_of(struct kb_arena *a, yyjson_val *root)
{
    struct lab_kind *kind = kb_arena_one(a, struct lab_kind);
    yyjson_val *spec = yyjson_obj_get(root, "spec"), *names = yyjson_obj_get(spec, "names");
    kind->group = dup(a, lab_val_str(spec, "group"));
    kind->name = dup(a, lab_val_str(names, "kind"));
    kind->list_name = dup(a, lab_val_str(names, "listKind"));
    kind->plural = dup(a, lab_val_str(names, "plural"));
    kind->singular = dup(a, lab_val_str(names, "singular"));
    kind->resource = kb_arena_printf(a, "%s.%s", kind->plural, kind->group);
    kind->n_short_names = strings_of(a, yyjson_obj_get(names, "shortNames"), &kind->short_names);
    kind->n_categories = strings_of(a, yyjson_obj_get(names, "categories"), &kind->categories);
    kind->namespaced = kb_streq(lab_val_str(spec, "scope"), "Namespaced");
    kind->custom = kind->generation = true;
    versions_of(a, spec, kind);
    return kind;
}

static void drop_resource(struct lab_server *server, const char *name)
{
    struct lab_resource *r = lab_server_resource(server, name);
    if (!r)
        return;
    while (r->n)
        lab_store_remove(server, r, r->items[r->n - 1], r->items[r->n - 1]);
    r->gone = true;
}

static void committed(struct lab_call *call, struct lab_object *old, struct lab_object *new_)
{
    if (!new_) {
        drop_resource(call->server, old->meta->name);
        return;
    }
    if (!old && call->server->starting)
        return; /* the kind is there */
    /* a change of status alone makes no new kind */
    kb_cleanup_arena struct kb_arena *scratch = kb_arena_new();
    yyjson_val *root = lab_object_parse(scratch, new_, NULL);
    if (old) {
        yyjson_val *before = lab_object_parse(scratch, old, NULL);
        if (yyjson_equals(yyjson_obj_get(root, "spec"), yyjson_obj_get(before, "spec")))
            return;
    }
    lab_server_add_kind(call->server, kind_of(call->server->arena, root));
}

const struct lab_strategy lab_crd_strategy = {
    .resource = "customresourcedefinitions.apiextensions.k8s.io",
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .committed = committed,
    .keep_status = true,
    .verbatim = true,
};

/* ---- definitions of built-in kinds ---- */

static void put_strings(struct kb_strbuf *out, const char *key, const char *const *items, size_t n)
{
    kb_strbuf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++)
        kb_strbuf_printf(out, "%s\"%s\"", i ? "," : "", items[i]);
    kb_strbuf_putc(out, ']');
}

/* Without rules: what the table's kinds check they check without a schema. */
static void put_version(struct kb_strbuf *out, const struct lab_version *version, bool storage)
{
    kb_strbuf_printf(
        out,
        "{\"name\":\"%s\",\"served\":true,\"storage\":%s,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}},\"subresources\":{",
        version->name, storage ? "true" : "false");
    if (version->status)
        kb_strbuf_puts(out, "\"status\":{}");
    if (version->scale)
        kb_strbuf_printf(out,
                         "%s\"scale\":{\"specReplicasPath\":\".spec.replicas\",\"statusReplicasPath\":"
                         "\".status.replicas\",\"labelSelectorPath\":\".status.labelSelector\"}",
                         version->status ? "," : "");
    kb_strbuf_puts(out, "},\"additionalPrinterColumns\":[");
    for (size_t i = 0; i < version->n_columns; i++) {
        const struct lab_column *c = &version->columns[i];
        kb_strbuf_printf(out, "%s{\"name\":\"%s\",\"type\":\"%s\",\"jsonPath\":\"%s\",\"priority\":%d}", i ? "," : "",
                         c->name, c->type, c->path, c->priority);
    }
    kb_strbuf_puts(out, "]}");
}

static void put_definition(struct kb_strbuf *out, const struct lab_kind *kind)
{
    kb_strbuf_printf(out, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"group\":\"%s\",\"scope\":\"%s\",",
                     kind->resource, kind->group, kind->namespaced ? "Namespaced" : "Cluster");
    kb_strbuf_printf(out, "\"names\":{\"kind\":\"%s\",\"listKind\":\"%s\",\"plural\":\"%s\",\"singular\":\"%s\"",
                     kind->name, kind->list_name, kind->plural, kind->singular);
    put_strings(out, "shortNames", kind->short_names, kind->n_short_names);
    put_strings(out, "categories", kind->categories, kind->n_categories);
    kb_strbuf_puts(out, "},\"versions\":[");
    for (size_t i = 0; i < kind->n_versions; i++) {
        kb_strbuf_puts(out, i ? "," : "");
        put_version(out, &kind->versions[i], &kind->versions[i] == kind->storage);
    }
    kb_strbuf_puts(out, "]}}");
}

int lab_crd_add_builtin(struct lab_server *server, const struct lab_kind *kinds, size_t n, struct kube_error *reterr)
{
    static const struct lab_ref ref = {.resource = "customresourcedefinitions.apiextensions.k8s.io"};
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    struct lab_client *client = lab_client_new(server, "system:apiserver");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        kb_strbuf_clear(&text);
        put_definition(&text, &kinds[i]);
        rc = lab_client_create_text(client, &ref, kb_strbuf_text(&text), NULL, reterr);
    }
    lab_client_free(client);
    return rc;
}
