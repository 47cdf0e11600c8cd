/*
 * OpenAPI, see openapi.h. v3 lists a document per group and version, in which each kind has its CRD's schema, or an
 * open object; v2 is there and empty.
 */
#include "lab/openapi.h"
#include "base/strings.h"
#include "lab/json.h"
#include "lab/server_internal.h"

static int answer(struct lab_call *call, yyjson_mut_val *root)
{
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = 200};
    call->result.text = lab_json_write(call->arena, root, &call->result.length);
    return 0;
}

static const char *base_path(struct kb_arena *a, const struct lab_version *v, const struct lab_kind *k)
{
    return kb_arena_printf(a, "%s/%s", *k->group ? "apis" : "api", v->api_version);
}

static bool index_of_paths(struct lab_call *call)
{
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *paths = yyjson_mut_obj_add_obj(doc, root, "paths");
    lab_server_lock(call->server);
    for (struct lab_resource *r = call->server->resources; r; r = r->next) {
        const struct lab_kind *k = lab_resource_kind(r);
        for (size_t i = 0; !r->gone && i < k->n_versions; i++) {
            const char *path = base_path(call->arena, &k->versions[i], k);
            if (!k->versions[i].served || yyjson_mut_obj_get(paths, path))
                continue;
            yyjson_mut_val *p = yyjson_mut_obj(doc);
            lab_mut_put_str(doc, p, "serverRelativeURL", kb_arena_printf(call->arena, "/openapi/v3/%s", path));
            lab_mut_put(doc, paths, path, p);
        }
    }
    lab_server_unlock(call->server);
    answer(call, root);
    return true;
}

/* "io.kubevirt.v1.VirtualMachine": the group reversed, then version and kind. */
static const char *schema_name(struct kb_arena *a, const struct lab_kind *k, const struct lab_version *v)
{
    const char *const *parts;
    struct kb_strbuf b = {.arena = a};
    size_t n = *k->group ? kb_split(a, k->group, '.', &parts) : 0;
    for (size_t i = n; i-- > 0;)
        kb_strbuf_printf(&b, "%s.", parts[i]);
    if (!n)
        kb_strbuf_puts(&b, "io.k8s.api.core.");
    kb_strbuf_printf(&b, "%s.%s", v->name, k->name);
    return kb_strbuf_text(&b);
}

static yyjson_mut_val *gvk(yyjson_mut_doc *doc, const struct lab_kind *k, const struct lab_version *v)
{
    yyjson_mut_val *o = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_strcpy(doc, o, "group", k->group);
    yyjson_mut_obj_add_strcpy(doc, o, "kind", k->name);
    yyjson_mut_obj_add_strcpy(doc, o, "version", v->name);
    return o;
}

static void add_schema(struct lab_call *call, yyjson_mut_doc *doc, yyjson_mut_val *schemas, const struct lab_kind *k,
                       const struct lab_version *v)
{
    yyjson_mut_val *s = v->schema ? yyjson_val_mut_copy(doc, v->schema)
                                  : lab_json_mut(doc, call->arena,
                                                 "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
                                                 "\"properties\":{\"apiVersion\":{\"type\":\"string\"},\"kind\":{"
                                                 "\"type\":\"string\"},\"metadata\":{\"type\":\"object\","
                                                 "\"x-kubernetes-preserve-unknown-fields\":true}}}");
    yyjson_mut_val *kinds = yyjson_mut_arr(doc);
    yyjson_mut_arr_append(kinds, gvk(doc, k, v));
    lab_mut_put(doc, s, "x-kubernetes-group-version-kind", kinds);
    lab_mut_put(doc, schemas, schema_name(call->arena, k, v), s);
}

static void add_operation(yyjson_mut_doc *doc, yyjson_mut_val *path, const char *method, const char *action,
                          const struct lab_kind *k, const struct lab_version *v)
{
    yyjson_mut_val *op = yyjson_mut_obj_add_obj(doc, path, method);
    yyjson_mut_obj_add_str(doc, op, "x-kubernetes-action", action);
    yyjson_mut_obj_add_val(doc, op, "x-kubernetes-group-version-kind", gvk(doc, k, v));
    yyjson_mut_val *parameters = yyjson_mut_obj_add_arr(doc, op, "parameters");
    static const char *const names[] = {"dryRun", "fieldManager", "fieldValidation", "force"};
    for (size_t i = 0; i < KB_ARRAY_LEN(names); i++) {
        yyjson_mut_val *p = yyjson_mut_arr_add_obj(doc, parameters);
        yyjson_mut_obj_add_str(doc, p, "name", names[i]);
        yyjson_mut_obj_add_str(doc, p, "in", "query");
        yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, p, "schema"), "type", "string");
    }
}

static void add_paths(struct lab_call *call, yyjson_mut_doc *doc, yyjson_mut_val *paths, const struct lab_kind *k,
                      const struct lab_version *v)
{
    const char *base = kb_arena_printf(call->arena, "/%s%s/%s", base_path(call->arena, v, k),
                                       k->namespaced ? "/namespaces/{namespace}" : "", k->plural);
    yyjson_mut_val *list = yyjson_mut_obj(doc), *one = yyjson_mut_obj(doc);
    add_operation(doc, list, "get", "list", k, v);
    add_operation(doc, list, "post", "post", k, v);
    add_operation(doc, one, "get", "get", k, v);
    add_operation(doc, one, "put", "put", k, v);
    add_operation(doc, one, "patch", "patch", k, v);
    lab_mut_put(doc, paths, base, list);
    lab_mut_put(doc, paths, kb_arena_printf(call->arena, "%s/{name}", base), one);
}

static bool document(struct lab_call *call, const char *path)
{
    yyjson_mut_doc *doc = lab_json_doc(call->arena);
    yyjson_mut_val *root = lab_json_mut(doc, call->arena,
                                        "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"virt-lab\",\"version\":"
                                        "\"unversioned\"}}");
    yyjson_mut_val *paths = yyjson_mut_obj_add_obj(doc, root, "paths");
    yyjson_mut_val *schemas = yyjson_mut_obj_add_obj(doc, yyjson_mut_obj_add_obj(doc, root, "components"), "schemas");
    lab_server_lock(call->server);
    for (struct lab_resource *r = call->server->resources; r; r = r->next) {
        const struct lab_kind *k = lab_resource_kind(r);
        for (size_t i = 0; !r->gone && i < k->n_versions; i++) {
            if (!k->versions[i].served || !kb_streq(base_path(call->arena, &k->versions[i], k), path))
                continue;
            add_schema(call, doc, schemas, k, &k->versions[i]);
            add_paths(call, doc, paths, k, &k->versions[i]);
        }
    }
    lab_server_unlock(call->server);
    answer(call, root);
    return yyjson_mut_obj_size(schemas);
}

/*
 * Version 2 has no definitions: kubectl asks for it when it is given a List, which version 3 has no schema for, and
 * takes each item as it is when it finds none here. It reads nothing but protobuf: field 1 of the document, its
 * version.
 */
static bool version_2(struct lab_call *call)
{
    static const char json[] = "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\"},\"paths\":{}}";
    static const char protobuf[] = "\n\003"
                                   "2.0";
    bool binary = strstr(call->accept, "openapi.spec.v2@v1.0+protobuf");
    call->result = (struct lab_result){.kind = LAB_RESULT_TEXT, .code = 200};
    call->result.content_type = binary ? "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" : NULL;
    call->result.text = binary ? protobuf : json;
    call->result.length = (binary ? sizeof(protobuf) : sizeof(json)) - 1;
    return true;
}

bool lab_openapi_serve(struct lab_call *call, const char *path)
{
    if (kb_streq(path, "/openapi/v2"))
        return version_2(call);
    const char *rest = kb_after_prefix(path, "/openapi/v3");
    if (!rest)
        return false;
    return *rest == '/' && rest[1] ? document(call, rest + 1) : index_of_paths(call);
}
