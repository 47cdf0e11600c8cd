/*
 * What the walks of the codec share: how to read a field of any kind and shape.
 *
 * Kinds fall in three classes. Text kinds (string, quantity, time, raw JSON ...) are a `const char *` wherever they
 * stand, also behind API_POINTER, where NULL means absent. Number kinds are plain memory. API_STRUCT and
 * API_INT_OR_STRING hold further pointers.
 *
 * Every shape can be seen as a run of values (struct api_span): one value in place, none or one behind a pointer, n in
 * a list, n in a map, where each value has its key right before it. A walk that does the same for each value needs no
 * more than that.
 */
#ifndef API_CODEC_INTERNAL_H
#define API_CODEC_INTERNAL_H

#include "api/codec.h"
#include <string.h>

static inline bool api_kind_is_text(unsigned kind)
{
    const unsigned texts = 1u << API_STRING | 1u << API_BYTES | 1u << API_QUANTITY | 1u << API_TIME |
                           1u << API_MICRO_TIME | 1u << API_DURATION | 1u << API_RAW;

    return texts >> kind & 1;
}

/* True when a value of this kind points at something. */
static inline bool api_kind_has_pointers(unsigned kind)
{
    return api_kind_is_text(kind) || kind == API_STRUCT || kind == API_INT_OR_STRING;
}

static inline bool api_field_is_text(const struct api_field *field)
{
    return api_kind_is_text(field->kind);
}

/* Bytes of one value. */
static inline size_t api_value_size(const struct api_field *field)
{
    static const uint8_t sizes[] = {
        [API_STRING] = sizeof(char *),     [API_BOOL] = sizeof(bool),
        [API_INT32] = sizeof(int32_t),     [API_INT64] = sizeof(int64_t),
        [API_FLOAT64] = sizeof(double),    [API_BYTES] = sizeof(char *),
        [API_QUANTITY] = sizeof(char *),   [API_TIME] = sizeof(char *),
        [API_MICRO_TIME] = sizeof(char *), [API_DURATION] = sizeof(char *),
        [API_RAW] = sizeof(char *),        [API_INT_OR_STRING] = sizeof(struct api_int_or_string),
    };

    return field->kind == API_STRUCT ? field->type->size : sizes[field->kind];
}

/* Bytes from one element of a list or entry of a map to the next. */
static inline size_t api_stride(const struct api_field *field)
{
    if (field->shape != API_MAP)
        return api_value_size(field);
    return sizeof(char *) + (api_value_size(field) + 7) / 8 * 8;
}

/* Bytes of the member in its struct. */
static inline size_t api_field_size(const struct api_field *field)
{
    if (field->shape == API_VALUE)
        return api_value_size(field);
    return field->shape == API_POINTER ? sizeof(void *) : sizeof(struct api_list);
}

struct api_span {
    char *values; /* the first value */
    size_t n, stride;
};

/* The values of the member at `member`. */
static inline struct api_span api_span_of(const struct api_field *field, const void *member)
{
    const struct api_list *list = member;
    char *target;

    if (field->shape == API_VALUE)
        return (struct api_span){.values = (char *)member, .n = 1};
    if (field->shape == API_POINTER) {
        memcpy(&target, member, sizeof(target));
        if (api_field_is_text(field))
            return (struct api_span){.values = (char *)member, .n = target != NULL};
        return (struct api_span){.values = target, .n = target != NULL};
    }
    if (!list->items)
        return (struct api_span){0};
    target = (char *)list->items + (field->shape == API_MAP ? sizeof(char *) : 0);
    return (struct api_span){.values = target, .n = list->n, .stride = api_stride(field)};
}

/* Of a map: where the key of this value stands. */
static inline const char **api_key_of(const void *value)
{
    return (const char **)((char *)value - sizeof(char *));
}

static inline const char *api_text_at(const void *value)
{
    const char *text = *(const char *const *)value;

    return text ? text : "";
}

/* What `items` of a list or map points at that is empty but not nil. */
extern const uint64_t api_empty_items[2];

/* True when the member holds its zero value; nil and empty lists and maps are both zero. */
bool api_field_is_zero(const struct api_field *field, const void *data);
bool api_is_zero(const struct api_type *type, const void *data);

/* Strings packed without padding into pieces of an arena. */
struct api_text_pool {
    struct kb_arena *arena;
    char *at;
    size_t left;
};
char *api_text_pool_alloc(struct api_text_pool *pool, size_t n);
const char *api_text_pool_add(struct api_text_pool *pool, const char *text, size_t n); /* "" for n 0 */

/*
 * A deep copy is one walk (api_copy_values) with two callbacks. The target holds a byte-wise copy of the source at
 * first, and the walk replaces each pointer in it. While measuring, `block` yields NULL and nothing is written.
 */
struct api_copier {
    void *(*block)(struct api_copier *self, size_t size);
    const char *(*text)(struct api_copier *self, const char *text, bool repeats); /* text: not NULL */
    bool measuring;
    bool frozen; /* the copy will never be written: constants may be shared */
};
void api_copy_values(struct api_copier *copier, const struct api_type *type, void *data);
void api_copy_member(struct api_copier *copier, const struct api_field *field, void *member);

/* The members of an object that `wanted` accepts (NULL: all), by their keys, sorted by name, of equal names the last
 * one. On the heap: free() it. */
typedef bool (*api_member_filter)(const void *userdata, const char *name, size_t n);
yyjson_val **api_sorted_members(yyjson_val *object, api_member_filter wanted, const void *userdata, size_t *ret_n);

/* As api_parse; the strings of the document are in `json`, which has YYJSON_PADDING_SIZE zeroed bytes behind it. */
yyjson_doc *api_parse_in_place(char *json, size_t n, struct kube_error *reterr);
/* Parses the first value of the text; more may follow it (yyjson_doc_get_read_size). */
yyjson_doc *api_parse_first(const char *json, size_t n, struct kube_error *reterr);
/* The members kept in `extra_`, as a document that is an object; NULL when there are none. Free with yyjson_doc_free.
 */
yyjson_doc *api_extra_parse(const char *extra);
/* JSON text (of API_RAW) as a document; NULL when it is "" or not JSON. */
yyjson_doc *api_raw_parse(const char *text);
/* Appends a JSON value as compact text. */
void api_append_value(struct kb_strbuf *b, yyjson_val *value);

/* Reads a scalar that is not null. Errors come without path. */
struct api_scalar_reader {
    struct api_text_pool *pool; /* strings that have to be made */
    bool borrow;                /* strings of the document may be pointed at */
    struct kube_error *reterr;
};
int api_read_scalar(struct api_scalar_reader *reader, enum api_kind kind, yyjson_val *value, void *ret);
const char *api_read_key(struct api_scalar_reader *reader, yyjson_val *key); /* NULL: it has a NUL in it */
const char *api_json_type_name(yyjson_val *value);                           /* "a string" */
/* Appends a scalar as JSON. */
void api_append_scalar(struct kb_strbuf *b, enum api_kind kind, const void *value);
/* Appends text in the form of API objects as a JSON string. */
void api_append_text(struct kb_strbuf *b, const char *text);
bool api_equal_scalar(enum api_kind kind, const void *a, const void *b);
/* One value of a list or map. */
yyjson_mut_val *api_encode_one(yyjson_mut_doc *doc, const struct api_field *field, const void *value);

#endif
