/*
 * Small facts about fields that several walks of the codec need: zero values, Go's omit rules, packed strings.
 */
#include "api/codec_internal.h"

#include "base/quantity.h"
#include "base/strings.h"
#include "base/time.h"

#define TEXT_PIECE 1024

const uint64_t api_empty_items[2];

static bool text_is_zero(enum api_kind kind, const char *text)
{
    int64_t ns;

    if (!*text)
        return true;
    if (kind == API_QUANTITY)
        return kb_quantity_is_zero(kb_quantity_of(text));
    if (kind == API_DURATION)
        return kb_duration_parse(text, &ns) && ns == 0;
    return false;
}

static bool value_is_zero(const struct api_field *field, const void *value)
{
    const struct api_int_or_string *either = value;

    if (api_field_is_text(field))
        return text_is_zero(field->kind, api_text_at(value));
    switch (field->kind) {
    case API_BOOL:
        return !*(const bool *)value;
    case API_INT32:
        return *(const int32_t *)value == 0;
    case API_INT64:
        return *(const int64_t *)value == 0;
    case API_FLOAT64:
        return *(const double *)value == 0;
    case API_INT_OR_STRING:
        return !either->is_string && either->number == 0;
    default:
        return api_is_zero(field->type, value);
    }
}

bool api_field_is_zero(const struct api_field *field, const void *data)
{
    const void *member = api_member(field, data);

    if (field->shape == API_VALUE)
        return value_is_zero(field, member);
    return api_span_of(field, member).n == 0;
}

bool api_is_zero(const struct api_type *type, const void *data)
{
    if (!kb_empty(*(const char *const *)data))
        return false;
    for (unsigned i = 0; i < type->n_fields; i++)
        if (!api_field_is_zero(&type->fields[i], data))
            return false;
    return true;
}

/* Go's omitempty looks at the Go kind: a struct is never empty, and these are structs there. */
static bool is_go_struct(enum api_kind kind)
{
    const unsigned structs = 1u << API_QUANTITY | 1u << API_TIME | 1u << API_MICRO_TIME | 1u << API_DURATION |
                             1u << API_INT_OR_STRING | 1u << API_STRUCT;

    return structs >> kind & 1;
}

bool api_field_is_omitted(const struct api_field *field, const void *data)
{
    const struct api_list *list = api_member(field, data);

    if (field->omit == API_OMIT_NEVER)
        return false;
    if (field->omit == API_OMIT_ZERO && (field->shape == API_LIST || field->shape == API_MAP))
        return !list->items;
    if (field->omit == API_OMIT_EMPTY && field->shape == API_VALUE && is_go_struct(field->kind))
        return false;
    return api_field_is_zero(field, data);
}

char *api_text_pool_alloc(struct api_text_pool *pool, size_t n)
{
    char *text;

    if (n > TEXT_PIECE / 4)
        return kb_arena_alloc(pool->arena, n);
    if (n > pool->left) {
        pool->at = kb_arena_alloc(pool->arena, TEXT_PIECE);
        pool->left = TEXT_PIECE;
    }
    text = pool->at;
    pool->at += n;
    pool->left -= n;
    return text;
}

const char *api_text_pool_add(struct api_text_pool *pool, const char *text, size_t n)
{
    char *copy;

    if (n == 0)
        return "";
    copy = api_text_pool_alloc(pool, n + 1);
    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}
