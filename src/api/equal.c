/*
 * Semantic equality, and the hash of what is written.
 */
#include "api/codec_internal.h"

#include "base/strings.h"

static bool equal_extra(const void *a, const void *b)
{
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;
    yyjson_doc *left_doc, *right_doc;
    bool equal;

    left = left ? left : "";
    right = right ? right : "";
    if (kb_streq(left, right))
        return true;
    left_doc = api_extra_parse(left);
    right_doc = api_extra_parse(right);
    equal = left_doc && right_doc && yyjson_equals(yyjson_doc_get_root(left_doc), yyjson_doc_get_root(right_doc));
    yyjson_doc_free(left_doc);
    yyjson_doc_free(right_doc);
    return equal;
}

static bool equal_value(const struct api_field *field, const void *a, const void *b)
{
    return field->kind == API_STRUCT ? api_equal(field->type, a, b) : api_equal_scalar(field->kind, a, b);
}

bool api_equal_field(const struct api_field *field, const void *a, const void *b)
{
    const struct api_span left = api_span_of(field, api_member(field, a));
    const struct api_span right = api_span_of(field, api_member(field, b));

    if (left.n != right.n)
        return false;
    for (size_t i = 0; i < left.n; i++) {
        const char *x = left.values + i * left.stride, *y = right.values + i * right.stride;

        if (field->shape == API_MAP && !kb_streq(*api_key_of(x), *api_key_of(y)))
            return false;
        if (!equal_value(field, x, y))
            return false;
    }
    return true;
}

bool api_equal(const struct api_type *type, const void *a, const void *b)
{
    if (a == b)
        return true;
    for (unsigned i = 0; i < type->n_fields; i++)
        if (!api_equal_field(&type->fields[i], a, b))
            return false;
    return equal_extra(a, b);
}

uint64_t api_hash(const struct api_type *type, const void *data)
{
    kb_cleanup_strbuf struct kb_strbuf b = {0};

    api_encode(type, data, API_ENCODE_KNOWN_ONLY, &b);
    return kb_fnv64a(kb_strbuf_text(&b), b.length);
}
