/*
 * Encoding: structs as JSON text, members in the order of the table, as Go's encoder prints them. Everything else
 * (values in a document, pretty text) is made from that text.
 */
#include "api/codec_internal.h"

#include "base/strings.h"

struct encoder {
    struct kb_strbuf *out;
    unsigned flags;
};

static void write_struct(struct encoder *e, const struct api_type *type, const void *data);

static void write_value(struct encoder *e, const struct api_field *field, const void *value)
{
    if (field->kind == API_STRUCT)
        write_struct(e, field->type, value);
    else
        api_append_scalar(e->out, field->kind, value);
}

static void write_run(struct encoder *e, const struct api_field *field, struct api_span span)
{
    const bool is_map = field->shape == API_MAP;

    kb_strbuf_putc(e->out, is_map ? '{' : '[');
    for (size_t i = 0; i < span.n; i++) {
        const char *value = span.values + i * span.stride;

        if (i > 0)
            kb_strbuf_putc(e->out, ',');
        if (is_map) {
            api_append_text(e->out, *api_key_of(value));
            kb_strbuf_putc(e->out, ':');
        }
        write_value(e, field, value);
    }
    kb_strbuf_putc(e->out, is_map ? '}' : ']');
}

static bool is_nil(const struct api_field *field, const void *member)
{
    if (field->shape == API_VALUE)
        return field->kind == API_BYTES && !*api_text_at(member);
    if (field->shape == API_POINTER)
        return !*(const void *const *)member;
    return !((const struct api_list *)member)->items;
}

static void write_field(struct encoder *e, const struct api_field *field, const void *data)
{
    const void *member = api_member(field, data);
    const struct api_span span = api_span_of(field, member);

    if (is_nil(field, member))
        kb_strbuf_puts(e->out, "null");
    else if (field->shape == API_LIST || field->shape == API_MAP)
        write_run(e, field, span);
    else
        write_value(e, field, span.values);
}

static void write_struct(struct encoder *e, const struct api_type *type, const void *data)
{
    const char *extra = *(const char *const *)data;
    bool first = true;

    kb_strbuf_putc(e->out, '{');
    for (unsigned i = 0; i < type->n_fields; i++) {
        const struct api_field *field = &type->fields[i];

        if (api_field_is_omitted(field, data))
            continue;
        kb_strbuf_append(e->out, first ? "\"" : ",\"", first ? 1 : 2);
        kb_strbuf_append(e->out, field->json, field->json_length);
        kb_strbuf_append(e->out, "\":", 2);
        write_field(e, field, data);
        first = false;
    }
    if (!kb_empty(extra) && !(e->flags & API_ENCODE_KNOWN_ONLY)) {
        if (!first)
            kb_strbuf_putc(e->out, ',');
        kb_strbuf_puts(e->out, extra);
    }
    kb_strbuf_putc(e->out, '}');
}

static void append_pretty(const struct kb_strbuf *text, struct kb_strbuf *ret)
{
    yyjson_doc *doc = yyjson_read(text->data, text->length, YYJSON_READ_BIGNUM_AS_RAW);
    size_t n = 0;
    kb_cleanup_free char *pretty = yyjson_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, &n);

    yyjson_doc_free(doc);
    if (pretty)
        kb_strbuf_append(ret, pretty, n);
    else
        kb_strbuf_append(ret, text->data, text->length);
}

void api_encode(const struct api_type *type, const void *data, unsigned flags, struct kb_strbuf *ret)
{
    kb_cleanup_strbuf struct kb_strbuf compact = {0};
    struct encoder e = {.out = flags & API_ENCODE_PRETTY ? &compact : ret, .flags = flags};

    write_struct(&e, type, data);
    if (flags & API_ENCODE_PRETTY)
        append_pretty(&compact, ret);
}

const char *api_encode_text(struct kb_arena *arena, const struct api_type *type, const void *data, unsigned flags)
{
    struct kb_strbuf b = {.arena = arena};

    api_encode(type, data, flags, &b);
    return kb_strbuf_text(&b);
}

static yyjson_mut_val *as_value(yyjson_mut_doc *doc, const struct kb_strbuf *text)
{
    yyjson_doc *parsed = yyjson_read(text->data, text->length, YYJSON_READ_BIGNUM_AS_RAW);
    yyjson_mut_val *value = parsed ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed)) : yyjson_mut_null(doc);

    yyjson_doc_free(parsed);
    return value;
}

yyjson_mut_val *api_encode_value(yyjson_mut_doc *doc, const struct api_type *type, const void *data, unsigned flags)
{
    kb_cleanup_strbuf struct kb_strbuf text = {0};

    api_encode(type, data, flags & ~API_ENCODE_PRETTY, &text);
    return as_value(doc, &text);
}

yyjson_mut_val *api_encode_field(yyjson_mut_doc *doc, const struct api_field *field, const void *data, unsigned flags)
{
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    struct encoder e = {.out = &text, .flags = flags};

    if (api_field_is_omitted(field, data))
        return NULL;
    write_field(&e, field, data);
    return as_value(doc, &text);
}

bool api_encode_field_text(const struct api_field *field, const void *data, struct kb_strbuf *ret)
{
    struct encoder e = {.out = ret};

    if (api_field_is_omitted(field, data))
        return false;
    write_field(&e, field, data);
    return true;
}

yyjson_mut_val *api_encode_one(yyjson_mut_doc *doc, const struct api_field *field, const void *value)
{
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    struct encoder e = {.out = &text};

    write_value(&e, field, value);
    return as_value(doc, &text);
}
