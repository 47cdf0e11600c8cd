/*
 * JSON in the reference's printed form. Members are sorted by the bytes of their names, as Go sorts the keys of maps;
 * of members with the same name the last one counts.
 */
#include "cmd/virt-controller/pretty.h"
#include "api/codec.h"
#include "base/strings.h"
#include <stdlib.h>

struct member {
    const char *name;
    size_t length, order;
    yyjson_val *value;
};

static int by_name(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static void new_line(struct kb_strbuf *ret, int depth)
{
    kb_strbuf_putc(ret, '\n');
    for (int i = 0; i < depth; i++)
        kb_strbuf_putc(ret, ' ');
}

static void put(yyjson_val *value, int depth, struct kb_strbuf *ret);

static void put_object(yyjson_val *object, int depth, struct kb_strbuf *ret)
{
    size_t n = 0, shown = 0;
    kb_cleanup_free struct member *members = kb_malloc((yyjson_obj_size(object) + 1) * sizeof(*members));
    yyjson_obj_iter iter = yyjson_obj_iter_with(object);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter)); n++)
        members[n] = (struct member){yyjson_get_str(key), yyjson_get_len(key), n, yyjson_obj_iter_get_val(key)};
    qsort(members, n, sizeof(*members), by_name);
    kb_strbuf_putc(ret, '{');
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && kb_streq(members[i].name, members[i + 1].name))
            continue;
        if (shown++)
            kb_strbuf_putc(ret, ',');
        new_line(ret, depth + 1);
        kb_strbuf_json_string(ret, members[i].name, members[i].length);
        kb_strbuf_puts(ret, ": ");
        put(members[i].value, depth + 1, ret);
    }
    if (n)
        new_line(ret, depth);
    kb_strbuf_putc(ret, '}');
}

static void put_array(yyjson_val *array, int depth, struct kb_strbuf *ret)
{
    size_t n = 0;
    yyjson_arr_iter iter = yyjson_arr_iter_with(array);
    kb_strbuf_putc(ret, '[');
    for (yyjson_val *item; (item = yyjson_arr_iter_next(&iter)); n++) {
        if (n)
            kb_strbuf_putc(ret, ',');
        new_line(ret, depth + 1);
        put(item, depth + 1, ret);
    }
    if (n)
        new_line(ret, depth);
    kb_strbuf_putc(ret, ']');
}

static void put(yyjson_val *value, int depth, struct kb_strbuf *ret)
{
    if (yyjson_is_obj(value)) {
        put_object(value, depth, ret);
    } else if (yyjson_is_arr(value)) {
        put_array(value, depth, ret);
    } else if (yyjson_is_str(value)) {
        kb_strbuf_json_string(ret, yyjson_get_str(value), yyjson_get_len(value));
    } else {
        size_t n;
        char *text = yyjson_val_write(value, 0, &n);
        kb_strbuf_append(ret, text ? text : "null", text ? n : 4);
        free(text);
    }
}

/* Go's encoder also escapes what HTML gives a meaning to; outside of strings JSON has none of it. */
static void escape_html(const struct kb_strbuf *text, struct kb_strbuf *ret)
{
    for (size_t i = 0; i < text->length; i++) {
        if (strchr("<>&", text->data[i]) && text->data[i])
            kb_strbuf_printf(ret, "\\u%04x", (unsigned)text->data[i]);
        else
            kb_strbuf_putc(ret, text->data[i]);
    }
}

int pretty_json(const char *json, size_t n, struct kb_strbuf *ret, struct kube_error *reterr)
{
    yyjson_doc *doc;
    if (api_parse(json, n, &doc, reterr) < 0)
        return -1;
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    put(yyjson_doc_get_root(doc), 0, &text);
    escape_html(&text, ret);
    yyjson_doc_free(doc);
    return 0;
}
