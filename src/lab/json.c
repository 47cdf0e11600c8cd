/*
 * Helpers on yyjson trees, see json.h. The allocator hands yyjson an arena: free does nothing, growing copies.
 */
#include "lab/json.h"
#include "base/strings.h"
#include <stdio.h>
#include <string.h>

static void *alc_malloc(void *ctx, size_t size)
{
    return kb_arena_alloc(ctx, size);
}

static void *alc_realloc(void *ctx, void *old, size_t old_size, size_t size)
{
    if (size <= old_size)
        return old;
    void *p = kb_arena_alloc(ctx, size);
    memcpy(p, old, old_size);
    return p;
}

static void alc_free(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

yyjson_alc lab_json_alc(struct kb_arena *arena)
{
    return (yyjson_alc){.malloc = alc_malloc, .realloc = alc_realloc, .free = alc_free, .ctx = arena};
}

yyjson_mut_doc *lab_json_doc(struct kb_arena *arena)
{
    yyjson_alc alc = lab_json_alc(arena);
    return yyjson_mut_doc_new(&alc);
}

/* Of JSON text; of other text it may be anything. */
static size_t depth_of(const char *text, size_t n)
{
    size_t depth = 0, deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == '{' || text[i] == '['))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!quoted && (text[i] == '}' || text[i] == ']') && depth > 0)
            depth--;
    }
    return deepest;
}

yyjson_val *lab_json_parse(struct kb_arena *arena, const char *text, size_t n, struct kube_error *reterr)
{
    yyjson_alc alc = lab_json_alc(arena);
    char *copy = kb_arena_alloc(arena, n + YYJSON_PADDING_SIZE);
    memcpy(copy, text, n);
    yyjson_read_err err;
    yyjson_doc *doc = yyjson_read_opts(copy, n, YYJSON_READ_INSITU, &alc, &err);
    if (!doc) {
        kube_error_set(reterr, KUBE_ERROR_INVALID, "%s at offset %zu", err.msg, err.pos);
        return NULL;
    }
    if (depth_of(text, n) > LAB_MAX_DEPTH) {
        kube_error_set(reterr, KUBE_ERROR_INVALID, "exceeded max depth of %d", LAB_MAX_DEPTH);
        return NULL;
    }
    return yyjson_doc_get_root(doc);
}

yyjson_mut_val *lab_json_mut(yyjson_mut_doc *doc, struct kb_arena *arena, const char *text)
{
    return yyjson_val_mut_copy(doc, lab_json_parse(arena, text, strlen(text), NULL));
}

const char *lab_json_write(struct kb_arena *arena, const yyjson_mut_val *value, size_t *ret_length)
{
    yyjson_alc alc = lab_json_alc(arena);
    size_t n = 0;
    const char *text = yyjson_mut_val_write_opts(value, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &alc, &n, NULL);
    if (ret_length)
        *ret_length = n;
    return text ? text : "null";
}

const char *lab_json_write_val(struct kb_arena *arena, const yyjson_val *value, size_t *ret_length)
{
    yyjson_alc alc = lab_json_alc(arena);
    size_t n = 0;
    const char *text = yyjson_val_write_opts(value, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &alc, &n, NULL);
    if (ret_length)
        *ret_length = n;
    return text ? text : "null";
}

yyjson_mut_val *lab_mut_at(yyjson_mut_val *object, const char *const *path, size_t n)
{
    for (size_t i = 0; i < n && object; i++)
        object = yyjson_mut_obj_get(object, path[i]);
    return object;
}

yyjson_val *lab_val_at(yyjson_val *object, const char *const *path, size_t n)
{
    for (size_t i = 0; i < n && object; i++)
        object = yyjson_obj_get(object, path[i]);
    return object;
}

const char *lab_mut_str(yyjson_mut_val *object, const char *key)
{
    const char *text = yyjson_mut_get_str(yyjson_mut_obj_get(object, key));
    return text ? text : "";
}

const char *lab_val_str(yyjson_val *object, const char *key)
{
    const char *text = yyjson_get_str(yyjson_obj_get(object, key));
    return text ? text : "";
}

void lab_mut_put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, yyjson_mut_val *value)
{
    yyjson_mut_obj_put(object, yyjson_mut_strcpy(doc, key), value);
}

void lab_mut_put_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text)
{
    lab_mut_put(doc, object, key, yyjson_mut_strcpy(doc, text));
}

void lab_mut_put_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t value)
{
    lab_mut_put(doc, object, key, yyjson_mut_sint(doc, value));
}

void lab_mut_put_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, bool value)
{
    lab_mut_put(doc, object, key, yyjson_mut_bool(doc, value));
}

void lab_mut_drop(yyjson_mut_val *object, const char *key)
{
    yyjson_mut_obj_remove_key(object, key);
}

yyjson_mut_val *lab_mut_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key)
{
    yyjson_mut_val *member = yyjson_mut_obj_get(object, key);
    if (yyjson_mut_is_obj(member))
        return member;
    member = yyjson_mut_obj(doc);
    lab_mut_put(doc, object, key, member);
    return member;
}

static bool is_absent(yyjson_mut_val *object, const char *key)
{
    yyjson_mut_val *v = yyjson_mut_obj_get(object, key);
    return !v || yyjson_mut_is_null(v);
}

void lab_mut_default_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text)
{
    if (is_absent(object, key) || yyjson_mut_equals_str(yyjson_mut_obj_get(object, key), ""))
        lab_mut_put_str(doc, object, key, text);
}

void lab_mut_default_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t value)
{
    if (is_absent(object, key))
        lab_mut_put_int(doc, object, key, value);
}

void lab_mut_default_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, bool value)
{
    if (is_absent(object, key))
        lab_mut_put_bool(doc, object, key, value);
}

bool lab_mut_empty(yyjson_mut_val *value)
{
    if (!value || yyjson_mut_is_null(value))
        return true;
    if (yyjson_mut_is_str(value))
        return yyjson_mut_get_len(value) == 0;
    return yyjson_mut_is_ctn(value) && unsafe_yyjson_get_len(value) == 0;
}

void lab_mut_drop_nulls(yyjson_mut_val *value)
{
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(value);
        for (yyjson_mut_val *v; (v = yyjson_mut_arr_iter_next(&it));)
            lab_mut_drop_nulls(v);
        return;
    }
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(value);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));) {
        yyjson_mut_val *v = yyjson_mut_obj_iter_get_val(key);
        if (yyjson_mut_is_null(v) || (yyjson_mut_is_arr(v) && yyjson_mut_arr_size(v) == 0))
            yyjson_mut_obj_iter_remove(&it);
        else
            lab_mut_drop_nulls(v);
    }
}

bool lab_mut_deeper_than(yyjson_mut_val *value, unsigned depth)
{
    if (!yyjson_mut_is_ctn(value))
        return false;
    if (depth == 0)
        return true;
    size_t i, n;
    yyjson_mut_val *key, *item;
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, i, n, item)
        {
            if (lab_mut_deeper_than(item, depth - 1))
                return true;
        }
        return false;
    }
    yyjson_mut_obj_foreach(value, i, n, key, item)
    {
        if (lab_mut_deeper_than(item, depth - 1))
            return true;
    }
    return false;
}

const char *lab_scalar_text(struct kb_arena *arena, const yyjson_val *value)
{
    yyjson_val *v = (yyjson_val *)value;
    if (yyjson_is_str(v))
        return yyjson_get_str(v);
    if (yyjson_is_num(v) || yyjson_is_bool(v))
        return lab_json_write_val(arena, v, NULL);
    return NULL;
}
