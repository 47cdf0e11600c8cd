/*
 * Finding fields by name or path, and types by group, version and kind.
 */
#include "api/codec_internal.h"

#include "base/strings.h"

const struct api_field *api_field_find(const struct api_type *type, const char *json, size_t n)
{
    unsigned low = 0, high = type->n_fields;

    while (low < high) {
        const unsigned middle = (low + high) / 2;
        const struct api_field *field = &type->fields[type->sorted[middle]];
        const size_t common = n < field->json_length ? n : field->json_length;
        int order = memcmp(json, field->json, common);

        if (order == 0)
            order = (n > field->json_length) - (n < field->json_length);
        if (order == 0)
            return field;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const void *api_field_at(const struct api_type *type, const void *data, const char *path,
                         const struct api_field **ret_field)
{
    for (;;) {
        const size_t n = strcspn(path, ".");
        const struct api_field *field = api_field_find(type, path, n);
        struct api_span span;

        if (!field)
            return NULL;
        data = api_member(field, data);
        if (!path[n]) {
            *ret_field = field;
            return data;
        }
        if (field->kind != API_STRUCT || field->shape == API_LIST || field->shape == API_MAP)
            return NULL;
        span = api_span_of(field, data);
        if (span.n == 0)
            return NULL;
        data = span.values;
        type = field->type;
        path += n + 1;
    }
}

static bool resource_is(const struct api_type *type, const char *group, size_t group_n, const char *version,
                        const char *kind)
{
    const struct api_resource *resource = type->resource;

    return kb_streq(resource->kind, kind) && kb_streq(resource->version, version) &&
           strlen(resource->group) == group_n && memcmp(resource->group, group, group_n) == 0;
}

static const struct api_type *find(const char *group, size_t group_n, const char *version, const char *kind)
{
    for (size_t i = 0; api_types[i]; i++)
        if (resource_is(api_types[i], group, group_n, version, kind))
            return api_types[i];
    return NULL;
}

const struct api_type *api_type_find(const char *group, const char *version, const char *kind)
{
    return find(group, strlen(group), version, kind);
}

const struct api_type *api_type_of(const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');

    if (!slash)
        return find("", 0, api_version, kind);
    return find(api_version, slash - api_version, slash + 1, kind);
}
