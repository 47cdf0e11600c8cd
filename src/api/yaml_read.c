/*
 * YAML to JSON, over libyaml's events.
 *
 * A value is built by recursive descent: depth is limited to what JSON may have, and an alias counts with the depth of
 * what it stands for. An alias is a copy; all copies together are limited, so that a few lines can't become gigabytes.
 * Anchors are known once their value is complete, so a value can't contain itself.
 *
 * Text that is JSON is read by the JSON parser: libyaml doesn't know all escapes of JSON.
 */
#include "api/codec_internal.h"
#include "api/yaml_internal.h"

#include "base/map.h"
#include "base/strings.h"
#include "base/vec.h"
#include <stdlib.h>
#include <yaml.h>

#define MAX_COPIED_VALUES 1000000
#define MAX_COPIED_BYTES  (16u << 20)

struct node {
    yyjson_mut_val *value;
    unsigned height;      /* levels of lists and objects */
    size_t values, bytes; /* what a copy costs */
};

struct reader {
    yaml_parser_t parser;
    yyjson_mut_doc *doc;
    struct kb_arena *arena; /* nodes of anchors, keys of maps */
    struct kb_map *anchors; /* of this document; struct node */
    size_t copied_values, copied_bytes;
    struct kube_error *reterr;
};

static int read_node(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret);

/* ---- errors and events ---- */

static int fail_at(struct reader *r, yaml_mark_t mark, const char *what, const char *detail)
{
    return kube_error_set(r->reterr, KUBE_ERROR_INVALID, "line %zu, column %zu: %s%.100s", mark.line + 1,
                          mark.column + 1, what, detail);
}

static int next_event(struct reader *r, yaml_event_t *ret)
{
    if (yaml_parser_parse(&r->parser, ret))
        return 0;
    if (r->parser.error == YAML_MEMORY_ERROR)
        return kube_error_set(r->reterr, KUBE_ERROR_INTERNAL, "no memory");
    return fail_at(r, r->parser.problem_mark, r->parser.problem ? r->parser.problem : "bad YAML", "");
}

/* ---- scalars ---- */

static yyjson_mut_val *text_value(struct reader *r, const char *text, size_t n)
{
    return yyjson_mut_strncpy(r->doc, text, n);
}

static yyjson_mut_val *real_value(struct reader *r, double real)
{
    const double limit = 9007199254740992.0; /* whole numbers are exact up to here */

    if (real > -limit && real < limit && real == (double)(int64_t)real)
        return yyjson_mut_sint(r->doc, (int64_t)real);
    return yyjson_mut_real(r->doc, real);
}

static yyjson_mut_val *resolved_value(struct reader *r, const char *text, size_t n)
{
    const struct yaml_scalar scalar = api_yaml_resolve(text);

    switch (scalar.kind) {
    case YAML_NULL:
        return yyjson_mut_null(r->doc);
    case YAML_BOOL:
        return yyjson_mut_bool(r->doc, scalar.boolean);
    case YAML_INTEGER:
        return yyjson_mut_sint(r->doc, scalar.integer);
    case YAML_UNSIGNED:
        return yyjson_mut_uint(r->doc, scalar.whole);
    case YAML_FLOAT:
        return real_value(r, scalar.real);
    case YAML_NOT_FINITE:
        return NULL;
    case YAML_TEXT:
        break;
    }
    return text_value(r, text, n);
}

static yyjson_mut_val *binary_value(struct reader *r, const char *text)
{
    kb_cleanup_strbuf struct kb_strbuf packed = {0};
    const char *bytes;
    size_t n;

    for (; *text; text++)
        if (!strchr(" \t\r\n", *text))
            kb_strbuf_putc(&packed, *text);
    bytes = (const char *)kb_base64_decode(r->arena, kb_strbuf_text(&packed), &n);
    return bytes && kb_utf8_valid(bytes, n) ? text_value(r, bytes, n) : NULL;
}

/* NULL when the tag does not fit or JSON has no such value. */
static yyjson_mut_val *scalar_value(struct reader *r, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value, *tag = (const char *)event->data.scalar.tag;
    const size_t n = event->data.scalar.length;
    static const struct {
        const char *tag;
        yyjson_type type;
    } tags[] = {
        {YAML_NULL_TAG, YYJSON_TYPE_NULL},
        {YAML_BOOL_TAG, YYJSON_TYPE_BOOL},
        {YAML_INT_TAG, YYJSON_TYPE_NUM},
        {YAML_FLOAT_TAG, YYJSON_TYPE_NUM},
    };
    yyjson_mut_val *value;

    if (!tag && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == n)
        return resolved_value(r, text, n);
    if (!tag)
        return text_value(r, text, n);
    if (kb_streq(tag, "tag:yaml.org,2002:binary"))
        return binary_value(r, text);
    for (size_t i = 0; i < KB_ARRAY_LEN(tags); i++) {
        if (!kb_streq(tag, tags[i].tag))
            continue;
        value = resolved_value(r, text, n);
        return value && yyjson_mut_get_type(value) == tags[i].type ? value : NULL;
    }
    return text_value(r, text, n);
}

static int read_scalar(struct reader *r, const yaml_event_t *event, struct node *ret)
{
    ret->value = scalar_value(r, event);
    if (!ret->value)
        return fail_at(r, event->start_mark, "not a value that JSON has: ", (const char *)event->data.scalar.value);
    ret->bytes = yyjson_mut_get_len(ret->value);
    return 0;
}

/* ---- anchors and aliases ---- */

static void remember(struct reader *r, const yaml_char_t *anchor, const struct node *node)
{
    if (anchor)
        kb_map_put(r->anchors, (const char *)anchor, kb_arena_copy(r->arena, node, sizeof(*node)));
}

static int read_alias(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret)
{
    const char *name = (const char *)event->data.alias.anchor;
    const struct node *node = kb_map_get(r->anchors, name);

    if (!node)
        return fail_at(r, event->start_mark, "unknown anchor or one inside its own value: ", name);
    if (depth + node->height > API_MAX_DEPTH)
        return fail_at(r, event->start_mark, "nested too deep", "");
    r->copied_values += node->values;
    r->copied_bytes += node->bytes;
    if (r->copied_values > MAX_COPIED_VALUES || r->copied_bytes > MAX_COPIED_BYTES)
        return fail_at(r, event->start_mark, "aliases stand for too much", "");
    *ret = *node;
    ret->value = yyjson_mut_val_mut_copy(r->doc, node->value);
    return 0;
}

/* ---- lists and objects ---- */

static void count_child(struct node *parent, const struct node *child)
{
    parent->values += child->values;
    parent->bytes += child->bytes;
    if (parent->height < child->height + 1)
        parent->height = child->height + 1;
}

/* Reads the next node; 1 and no node at `end`. */
static int read_child(struct reader *r, yaml_event_type_t end, unsigned depth, struct node *ret, yaml_mark_t *ret_mark)
{
    yaml_event_t event;
    int result;

    if (next_event(r, &event) < 0)
        return -1;
    *ret_mark = event.start_mark;
    result = event.type == end ? 1 : read_node(r, &event, depth, ret);
    yaml_event_delete(&event);
    return result;
}

static int read_list(struct reader *r, unsigned depth, struct node *ret)
{
    struct node item;
    yaml_mark_t mark;
    int result;

    ret->value = yyjson_mut_arr(r->doc);
    ret->height = 1;
    while ((result = read_child(r, YAML_SEQUENCE_END_EVENT, depth + 1, &item, &mark)) == 0) {
        yyjson_mut_arr_append(ret->value, item.value);
        count_child(ret, &item);
    }
    return result < 0 ? -1 : 0;
}

/* Numbers and bools as keys become text, as in Go. */
static const char *key_text(struct reader *r, yyjson_mut_val *key)
{
    const char *text = yyjson_mut_get_str(key);
    char *written;

    if (text)
        return strlen(text) == yyjson_mut_get_len(key) ? text : NULL;
    if (!yyjson_mut_is_num(key) && !yyjson_mut_is_bool(key))
        return NULL;
    written = yyjson_mut_val_write(key, 0, NULL);
    text = kb_arena_strdup(r->arena, written);
    free(written);
    return text;
}

/* An object that is being read. */
struct object {
    struct node *node;
    struct kb_map *keys; /* what it has already */
    struct {
        size_t n;
        yyjson_mut_val **items;
    } merges; /* what its `<<` members name */
};

static void add_member(struct reader *r, struct object *object, const char *key, yyjson_mut_val *value)
{
    kb_map_put(object->keys, key, value);
    yyjson_mut_obj_add(object->node->value, yyjson_mut_strcpy(r->doc, key), value);
}

/* What `<<` names: an object, or a list of them. */
static int add_merge(struct reader *r, struct object *object, yaml_mark_t mark, yyjson_mut_val *value)
{
    size_t i, n;
    yyjson_mut_val *item;

    if (yyjson_mut_is_obj(value)) {
        *kb_vec_push(r->arena, &object->merges) = value;
        return 0;
    }
    if (!yyjson_mut_is_arr(value))
        return fail_at(r, mark, "<< wants an object or a list of objects", "");
    yyjson_mut_arr_foreach(value, i, n, item)
    {
        if (!yyjson_mut_is_obj(item))
            return fail_at(r, mark, "<< wants an object or a list of objects", "");
        *kb_vec_push(r->arena, &object->merges) = item;
    }
    return 0;
}

/* Members of the object itself go before merged ones, earlier merges before later ones. */
static void apply_merges(struct reader *r, struct object *object)
{
    for (size_t m = 0; m < object->merges.n; m++) {
        size_t i, n;
        yyjson_mut_val *key, *value;

        yyjson_mut_obj_foreach(object->merges.items[m], i, n, key, value)
        {
            const char *text = yyjson_mut_get_str(key);

            if (!kb_map_has(object->keys, text))
                add_member(r, object, text, yyjson_mut_val_mut_copy(r->doc, value));
        }
    }
}

/* 1 at the end of the object. */
static int read_member(struct reader *r, struct object *object, unsigned depth)
{
    struct node key, value;
    yaml_mark_t mark, value_mark;
    const char *text;
    bool is_merge;
    int result;
    yaml_event_t event;

    if (next_event(r, &event) < 0)
        return -1;
    mark = event.start_mark;
    is_merge = event.type == YAML_SCALAR_EVENT && event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
               kb_streq((const char *)event.data.scalar.value, "<<");
    result = event.type == YAML_MAPPING_END_EVENT ? 1 : read_node(r, &event, depth + 1, &key);
    yaml_event_delete(&event);
    if (result != 0)
        return result;
    text = key_text(r, key.value);
    if (!text)
        return fail_at(r, mark, "a key must be text, a number or a bool", "");
    if (kb_map_has(object->keys, text))
        return fail_at(r, mark, "the key is there already: ", text);
    if (read_child(r, YAML_NO_EVENT, depth + 1, &value, &value_mark) < 0)
        return -1;
    count_child(object->node, &value);
    object->node->bytes += strlen(text);
    if (is_merge)
        return add_merge(r, object, value_mark, value.value);
    add_member(r, object, text, value.value);
    return 0;
}

static int read_object(struct reader *r, unsigned depth, struct node *ret)
{
    struct object object = {.node = ret, .keys = kb_map_new(KB_MAP_COPY)};
    int result;

    ret->value = yyjson_mut_obj(r->doc);
    ret->height = 1;
    while ((result = read_member(r, &object, depth)) == 0)
        ;
    if (result > 0)
        apply_merges(r, &object);
    kb_map_free(object.keys);
    return result < 0 ? -1 : 0;
}

/* `depth` is that of the lists and objects around the node. */
static int read_node(struct reader *r, const yaml_event_t *event, unsigned depth, struct node *ret)
{
    const yaml_char_t *anchor;
    int result;

    *ret = (struct node){.values = 1};
    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(r, event, depth, ret);
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        result = read_scalar(r, event, ret);
    } else if (depth >= API_MAX_DEPTH) {
        return fail_at(r, event->start_mark, "nested too deep", "");
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        result = read_list(r, depth, ret);
    } else {
        anchor = event->data.mapping_start.anchor;
        result = read_object(r, depth, ret);
    }
    if (result < 0)
        return -1;
    remember(r, anchor, ret);
    return 0;
}

/* ---- documents ---- */

static int deliver(struct reader *r, yyjson_mut_val *value, int number, api_yaml_document callback, void *userdata)
{
    yyjson_doc *doc;
    int result;

    if (yyjson_mut_is_null(value))
        return 0;
    doc = yyjson_mut_val_imut_copy(value, NULL);
    if (!doc)
        return kube_error_set(r->reterr, KUBE_ERROR_INTERNAL, "no memory");
    result = callback(userdata, number, doc, r->reterr);
    yyjson_doc_free(doc);
    return result < 0 ? -1 : 0;
}

static int read_document(struct reader *r, int number, api_yaml_document callback, void *userdata)
{
    struct node root;
    yaml_mark_t mark;
    int result = -1;

    r->doc = yyjson_mut_doc_new(NULL);
    r->anchors = kb_map_new(KB_MAP_COPY);
    r->arena = kb_arena_new();
    if (read_child(r, YAML_NO_EVENT, 0, &root, &mark) == 0)
        result = deliver(r, root.value, number, callback, userdata);
    kb_arena_free(r->arena);
    kb_map_free(r->anchors);
    yyjson_mut_doc_free(r->doc);
    return result;
}

static int read_stream(struct reader *r, api_yaml_document callback, void *userdata)
{
    for (int number = 0;;) {
        yaml_event_t event;
        yaml_event_type_t type;

        if (next_event(r, &event) < 0)
            return -1;
        type = event.type;
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT)
            return 0;
        if (type == YAML_DOCUMENT_START_EVENT && read_document(r, ++number, callback, userdata) < 0)
            return -1;
    }
}

/* ---- JSON ---- */

static size_t skip_space(const char *text, size_t n)
{
    size_t i = 0;

    while (i < n && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    return i;
}

static bool starts_json(const char *text, size_t n)
{
    return n > 0 && (*text == '{' || *text == '[');
}

/* True when the text is one or several JSON values one after the other; *ret is the first. */
static bool is_json(const char *text, size_t n, yyjson_doc **ret, size_t *ret_used)
{
    yyjson_doc *doc;
    size_t used, rest;

    used = skip_space(text, n);
    if (!starts_json(text + used, n - used))
        return false;
    doc = api_parse_first(text + used, n - used, NULL);
    if (!doc)
        return false;
    used += yyjson_doc_get_read_size(doc);
    rest = used + skip_space(text + used, n - used);
    if (rest < n && !starts_json(text + rest, n - rest)) {
        yyjson_doc_free(doc);
        return false;
    }
    *ret = doc;
    *ret_used = rest;
    return true;
}

static int read_json(const char *text, size_t n, yyjson_doc *doc, size_t used, api_yaml_document callback,
                     void *userdata, struct kube_error *reterr)
{
    for (int number = 1;; number++) {
        const int result = callback(userdata, number, doc, reterr);

        yyjson_doc_free(doc);
        if (result < 0)
            return -1;
        used += skip_space(text + used, n - used);
        if (used == n)
            return 0;
        doc = api_parse_first(text + used, n - used, reterr);
        if (!doc)
            return kube_error_wrap(reterr, "document %d", number + 1);
        used += yyjson_doc_get_read_size(doc);
    }
}

int api_yaml_read(const char *text, size_t n, api_yaml_document callback, void *userdata, struct kube_error *reterr)
{
    struct reader r = {.reterr = reterr};
    yyjson_doc *doc;
    size_t used;
    int result;

    if (n > API_MAX_BYTES)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "YAML of %zu bytes is larger than %u", n, API_MAX_BYTES);
    if (is_json(text, n, &doc, &used))
        return read_json(text, n, doc, used, callback, userdata, reterr);
    if (!yaml_parser_initialize(&r.parser))
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "no memory");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    result = read_stream(&r, callback, userdata);
    yaml_parser_delete(&r.parser);
    return result;
}
