/*
 * Calls on typed objects: encode, kube_call, decode into a shared object.
 */
#include "api/meta.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/client.h"

#define PAGE_SIZE "500" /* client-go's pager */

static int decode(const struct api_type *type, const struct kb_strbuf *text, const struct api_object **ret,
                  struct kube_error *reterr)
{
    if (!ret)
        return 0;
    yyjson_doc *doc;
    int r = api_parse(kb_strbuf_text(text), text->length, &doc, reterr);
    if (r < 0)
        return kube_error_wrap(reterr, "the answer of the API server");
    r = api_decode_shared(type, yyjson_doc_get_root(doc), NULL, ret, reterr);
    yyjson_doc_free(doc);
    return r < 0 ? kube_error_wrap(reterr, "the answer of the API server") : 0;
}

static int call(struct kube_client *client, enum kube_verb verb, const struct api_type *type,
                const struct kube_target *target, enum kube_content content, const char *body, size_t n,
                const struct api_object **ret, struct kube_error *reterr)
{
    kb_cleanup_strbuf struct kb_strbuf answer = {0};
    int r = kube_call(client, verb, target, content, body, n, ret ? &answer : NULL, reterr);
    if (r < 0)
        return r;
    return decode(type, &answer, ret, reterr);
}

/* With kind and apiVersion, which elements of lists come without. */
static void encode_object(const struct api_type *type, const void *object, struct kb_strbuf *ret)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct api_any *any = kb_arena_copy(arena, object, type->size);
    any->kind = type->resource->kind;
    any->api_version = api_version_text(arena, type->resource);
    api_encode(type, any, 0, ret);
}

int kube_client_get(struct kube_client *client, const struct api_type *type, const char *namespace_, const char *name,
                    const struct api_object **ret, struct kube_error *reterr)
{
    struct kube_target target = {.resource = type->resource, .namespace_ = namespace_, .name = name};
    return call(client, KUBE_GET, type, &target, KUBE_JSON, NULL, 0, ret, reterr);
}

int kube_client_create(struct kube_client *client, const struct api_type *type, const char *namespace_,
                       const void *object, const struct api_object **ret, struct kube_error *reterr)
{
    struct kube_target target = {.resource = type->resource, .namespace_ = namespace_};
    kb_cleanup_strbuf struct kb_strbuf body = {0};
    encode_object(type, object, &body);
    return call(client, KUBE_CREATE, type, &target, KUBE_JSON, body.data, body.length, ret, reterr);
}

int kube_client_update(struct kube_client *client, const struct api_type *type, const void *object,
                       const char *subresource, const struct api_object **ret, struct kube_error *reterr)
{
    const struct api_any *any = object;
    struct kube_target target = {
        .resource = type->resource,
        .namespace_ = any->metadata.namespace,
        .name = any->metadata.name,
        .subresource = subresource,
    };
    kb_cleanup_strbuf struct kb_strbuf body = {0};
    encode_object(type, object, &body);
    return call(client, KUBE_UPDATE, type, &target, KUBE_JSON, body.data, body.length, ret, reterr);
}

int kube_client_patch(struct kube_client *client, const struct api_type *type, const char *namespace_, const char *name,
                      const char *subresource, enum kube_content content, const char *patch, size_t n,
                      const struct api_object **ret, struct kube_error *reterr)
{
    struct kube_target target = {
        .resource = type->resource, .namespace_ = namespace_, .name = name, .subresource = subresource};
    return call(client, KUBE_PATCH, type, &target, content, patch, n, ret, reterr);
}

/* ---- delete ---- */

static void add_text(struct kb_strbuf *b, const char *separator, const char *name, const char *value)
{
    kb_strbuf_printf(b, "%s\"%s\":", separator, name);
    kb_strbuf_json_string(b, value, strlen(value));
}

static void encode_delete_options(const struct kube_delete_options *options, struct kb_strbuf *b)
{
    kb_strbuf_puts(b, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"");
    if (options->grace_period_seconds >= 0)
        kb_strbuf_printf(b, ",\"gracePeriodSeconds\":%lld", (long long)options->grace_period_seconds);
    if (options->uid || options->resource_version) {
        kb_strbuf_puts(b, ",\"preconditions\":{");
        if (options->uid)
            add_text(b, "", "uid", options->uid);
        if (options->resource_version)
            add_text(b, options->uid ? "," : "", "resourceVersion", options->resource_version);
        kb_strbuf_putc(b, '}');
    }
    if (options->propagation)
        add_text(b, ",", "propagationPolicy", options->propagation);
    kb_strbuf_putc(b, '}');
}

int kube_client_delete(struct kube_client *client, const struct api_type *type, const char *namespace_,
                       const char *name, const struct kube_delete_options *options, struct kube_error *reterr)
{
    struct kube_target target = {.resource = type->resource, .namespace_ = namespace_, .name = name};
    kb_cleanup_strbuf struct kb_strbuf body = {0};
    encode_delete_options(options ? options : &(struct kube_delete_options){.grace_period_seconds = -1}, &body);
    return kube_call(client, KUBE_DELETE, &target, KUBE_JSON, body.data, body.length, NULL, reterr);
}

/* ---- list ---- */

struct pages {
    struct kube_client *client;
    const struct api_type *type;
    const char *namespace_, *query;
    struct {
        size_t n;
        const struct api_object **items;
    } objects;
    char *next; /* continue token; NULL: from the begin */
};

static void drop_objects(struct pages *pages)
{
    kb_vec_foreach (object, &pages->objects)
        api_object_unref(*object);
    free(pages->objects.items);
    pages->objects.items = NULL;
    pages->objects.n = 0;
}

static int add_page(struct pages *pages, yyjson_val *list, struct kube_error *reterr)
{
    const char *next = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(list, "metadata"), "continue"));
    free(pages->next);
    pages->next = kb_empty(next) ? NULL : kb_strdup(next);
    size_t i, n;
    yyjson_val *item;
    yyjson_arr_foreach(yyjson_obj_get(list, "items"), i, n, item)
    {
        const struct api_object *object;
        int r = api_decode_shared(pages->type, item, NULL, &object, reterr);
        if (r < 0)
            return kube_error_wrap(reterr, "item %zu of a list of %s", i, pages->type->resource->plural);
        *kb_vec_push(NULL, &pages->objects) = object;
    }
    return 0;
}

static int read_page(struct pages *pages, struct kube_error *reterr)
{
    kb_cleanup_strbuf struct kb_strbuf query = {0}, answer = {0};
    kube_query_add(&query, "limit", PAGE_SIZE);
    if (pages->next)
        kube_query_add(&query, "continue", pages->next);
    if (!kb_empty(pages->query))
        kb_strbuf_printf(&query, "&%s", pages->query);
    struct kube_target target = {
        .resource = pages->type->resource, .namespace_ = pages->namespace_, .query = kb_strbuf_text(&query)};
    int r = kube_call(pages->client, KUBE_LIST, &target, KUBE_JSON, NULL, 0, &answer, reterr);
    if (r < 0)
        return r;
    yyjson_doc *doc;
    r = api_parse(kb_strbuf_text(&answer), answer.length, &doc, reterr);
    if (r < 0)
        return kube_error_wrap(reterr, "a list of %s", pages->type->resource->plural);
    r = add_page(pages, yyjson_doc_get_root(doc), reterr);
    yyjson_doc_free(doc);
    return r;
}

/* All pages. A continue token that has expired starts the list over, once. */
static int read_pages(struct pages *pages, struct kube_error *reterr)
{
    struct kube_error error;
    bool restarted = false;
    do {
        int r = read_page(pages, &error);
        if (r < 0 && pages->next && !restarted && kube_error_is_api(&error, 410)) {
            restarted = true;
            drop_objects(pages);
            free(KB_TAKE_PTR(pages->next));
            r = read_page(pages, &error);
        }
        if (r < 0) {
            if (reterr)
                *reterr = error;
            return r;
        }
    } while (pages->next);
    return 0;
}

int kube_client_list(struct kube_client *client, const struct api_type *type, const char *namespace_, const char *query,
                     int (*each)(void *userdata, const struct api_object *object, struct kube_error *reterr),
                     void *userdata, struct kube_error *reterr)
{
    struct pages pages = {.client = client, .type = type, .namespace_ = namespace_, .query = query};
    int r = read_pages(&pages, reterr);
    for (size_t i = 0; r >= 0 && i < pages.objects.n; i++)
        r = each(userdata, pages.objects.items[i], reterr);
    drop_objects(&pages);
    free(pages.next);
    return r < 0 ? r : 0;
}
