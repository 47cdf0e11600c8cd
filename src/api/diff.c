/*
 * Differences between two structs of a type, as patches.
 *
 * Both patches come from the same idea: skip what is equal, go into structs and maps that both sides have, and give
 * lists and everything else whole. The rest of the difference is in what the formats can say.
 *
 * A merge patch removes with null and merges objects, also those that are meant as values: so raw JSON and unknown
 * members are compared member by member. It can't set a member to null.
 *
 * A JSON patch fails when it removes or goes through what is not there. What `before` holds as zero may or may not
 * stand in the server's copy (Go's clients write zero structs, people don't), so such a member is added whole, which
 * works either way; what isn't zero is there.
 */
#include "api/codec_internal.h"

#include "base/strings.h"

static const char *extra_of(const void *data)
{
    return *(const char *const *)data;
}

/* The entries of two maps side by side, in order of their keys; NULL where a side lacks the key. */
struct pair {
    const char *key;
    const void *before, *after;
};

static bool next_pair(const struct api_span *before, size_t *i, const struct api_span *after, size_t *j,
                      struct pair *ret)
{
    const char *left = *i < before->n ? before->values + *i * before->stride : NULL;
    const char *right = *j < after->n ? after->values + *j * after->stride : NULL;
    int order;

    if (!left && !right)
        return false;
    order = !left ? 1 : !right ? -1 : strcmp(*api_key_of(left), *api_key_of(right));
    ret->before = order <= 0 ? left : NULL;
    ret->after = order >= 0 ? right : NULL;
    ret->key = *api_key_of(ret->before ? ret->before : ret->after);
    *i += order <= 0;
    *j += order >= 0;
    return true;
}

static bool equal_values(const struct api_field *field, const void *before, const void *after)
{
    if (field->kind == API_STRUCT)
        return api_equal(field->type, before, after);
    return api_equal_scalar(field->kind, before, after);
}

/* ---- merge patch ---- */

static void put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, size_t n, yyjson_mut_val *value)
{
    if (value)
        yyjson_mut_obj_add(object, yyjson_mut_strncpy(doc, key, n), value);
}

static yyjson_mut_val *unless_empty(yyjson_mut_val *object)
{
    return yyjson_mut_obj_size(object) > 0 ? object : NULL;
}

/* NULL when nothing differs. `before` may be NULL. */
static yyjson_mut_val *merge_json(yyjson_mut_doc *doc, yyjson_val *before, yyjson_val *after)
{
    yyjson_mut_val *patch;
    yyjson_obj_iter iterator;
    yyjson_val *key;

    if (before && yyjson_equals(before, after))
        return NULL;
    if (!yyjson_is_obj(before) || !yyjson_is_obj(after))
        return yyjson_val_mut_copy(doc, after);
    patch = yyjson_mut_obj(doc);
    iterator = yyjson_obj_iter_with(before);
    while ((key = yyjson_obj_iter_next(&iterator)))
        if (!yyjson_obj_getn(after, yyjson_get_str(key), yyjson_get_len(key)))
            put(doc, patch, yyjson_get_str(key), yyjson_get_len(key), yyjson_mut_null(doc));
    iterator = yyjson_obj_iter_with(after);
    while ((key = yyjson_obj_iter_next(&iterator))) {
        const char *name = yyjson_get_str(key);
        const size_t n = yyjson_get_len(key);

        put(doc, patch, name, n, merge_json(doc, yyjson_obj_getn(before, name, n), yyjson_obj_iter_get_val(key)));
    }
    return unless_empty(patch);
}

static yyjson_mut_val *merge_raw(yyjson_mut_doc *doc, const char *before, const char *after)
{
    yyjson_doc *left = api_raw_parse(before), *right = api_raw_parse(after);
    yyjson_mut_val *patch =
        right ? merge_json(doc, yyjson_doc_get_root(left), yyjson_doc_get_root(right)) : yyjson_mut_null(doc);

    yyjson_doc_free(left);
    yyjson_doc_free(right);
    return patch;
}

static void merge_extra(yyjson_mut_doc *doc, yyjson_mut_val *patch, const void *before, const void *after)
{
    kb_cleanup_strbuf struct kb_strbuf left = {0}, right = {0};
    yyjson_mut_val *members, *key;
    yyjson_mut_obj_iter iterator;

    if (kb_streq_null(extra_of(before), extra_of(after)))
        return;
    kb_strbuf_printf(&left, "{%s}", extra_of(before) ? extra_of(before) : "");
    kb_strbuf_printf(&right, "{%s}", extra_of(after) ? extra_of(after) : "");
    members = merge_raw(doc, kb_strbuf_text(&left), kb_strbuf_text(&right));
    yyjson_mut_obj_iter_init(members, &iterator);
    while ((key = yyjson_mut_obj_iter_next(&iterator)))
        put(doc, patch, yyjson_mut_get_str(key), yyjson_mut_get_len(key),
            yyjson_mut_val_mut_copy(doc, yyjson_mut_obj_iter_get_val(key)));
}

static yyjson_mut_val *merge_struct(yyjson_mut_doc *doc, const struct api_type *type, const void *before,
                                    const void *after);

static yyjson_mut_val *merge_value(yyjson_mut_doc *doc, const struct api_field *field, const void *before,
                                   const void *after)
{
    if (field->kind == API_STRUCT)
        return merge_struct(doc, field->type, before, after);
    if (field->kind == API_RAW)
        return merge_raw(doc, api_text_at(before), api_text_at(after));
    return api_encode_one(doc, field, after);
}

static yyjson_mut_val *merge_map(yyjson_mut_doc *doc, const struct api_field *field, struct api_span before,
                                 struct api_span after)
{
    yyjson_mut_val *patch = yyjson_mut_obj(doc), *value;
    size_t i = 0, j = 0;
    struct pair pair;

    while (next_pair(&before, &i, &after, &j, &pair)) {
        if (pair.before && pair.after && equal_values(field, pair.before, pair.after))
            continue;
        if (!pair.after)
            value = yyjson_mut_null(doc);
        else if (!pair.before)
            value = api_encode_one(doc, field, pair.after);
        else
            value = merge_value(doc, field, pair.before, pair.after);
        put(doc, patch, pair.key, strlen(pair.key), value);
    }
    return unless_empty(patch);
}

static yyjson_mut_val *merge_field(yyjson_mut_doc *doc, const struct api_field *field, const void *before,
                                   const void *after)
{
    const struct api_span left = api_span_of(field, api_member(field, before));
    const struct api_span right = api_span_of(field, api_member(field, after));
    const bool is_map = field->shape == API_MAP;

    if (api_field_is_omitted(field, after) || (is_map && right.n == 0))
        return yyjson_mut_null(doc);
    if (left.n == 0 || right.n == 0 || field->shape == API_LIST)
        return api_encode_field(doc, field, after, 0);
    if (is_map)
        return merge_map(doc, field, left, right);
    return merge_value(doc, field, left.values, right.values);
}

static yyjson_mut_val *merge_struct(yyjson_mut_doc *doc, const struct api_type *type, const void *before,
                                    const void *after)
{
    yyjson_mut_val *patch = yyjson_mut_obj(doc);

    for (unsigned i = 0; i < type->n_fields; i++) {
        const struct api_field *field = &type->fields[i];

        if (!api_equal_field(field, before, after))
            put(doc, patch, field->json, field->json_length, merge_field(doc, field, before, after));
    }
    merge_extra(doc, patch, before, after);
    return unless_empty(patch);
}

yyjson_mut_val *api_diff_merge(yyjson_mut_doc *doc, const struct api_type *type, const void *before, const void *after)
{
    return merge_struct(doc, type, before, after);
}

/* ---- JSON patch ---- */

struct patch {
    yyjson_mut_doc *doc;
    yyjson_mut_val *operations;
    struct kb_strbuf path;
};

/* Goes into a member; returns what to give to leave(). */
static size_t enter(struct patch *p, const char *name, size_t n)
{
    const size_t length = p->path.length;

    kb_strbuf_putc(&p->path, '/');
    for (size_t i = 0; i < n; i++) {
        if (name[i] == '~' || name[i] == '/')
            kb_strbuf_puts(&p->path, name[i] == '~' ? "~0" : "~1");
        else
            kb_strbuf_putc(&p->path, name[i]);
    }
    return length;
}

static void leave(struct patch *p, size_t length)
{
    p->path.length = length;
    p->path.data[length] = 0;
}

static void operation(struct patch *p, const char *op, yyjson_mut_val *value)
{
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(p->doc, p->operations);

    yyjson_mut_obj_add_str(p->doc, object, "op", op);
    yyjson_mut_obj_add_strncpy(p->doc, object, "path", kb_strbuf_text(&p->path), p->path.length);
    if (value)
        yyjson_mut_obj_add_val(p->doc, object, "value", value);
}

static void patch_struct(struct patch *p, const struct api_type *type, const void *before, const void *after);

static void patch_map(struct patch *p, const struct api_field *field, struct api_span before, struct api_span after)
{
    size_t i = 0, j = 0;
    struct pair pair;

    while (next_pair(&before, &i, &after, &j, &pair)) {
        const size_t length = enter(p, pair.key, strlen(pair.key));

        if (!pair.after)
            operation(p, "remove", NULL);
        else if (!pair.before)
            operation(p, "add", api_encode_one(p->doc, field, pair.after));
        else if (field->kind == API_STRUCT)
            patch_struct(p, field->type, pair.before, pair.after);
        else if (!equal_values(field, pair.before, pair.after))
            operation(p, "replace", api_encode_one(p->doc, field, pair.after));
        leave(p, length);
    }
}

static void patch_field(struct patch *p, const struct api_field *field, const void *before, const void *after)
{
    const struct api_span left = api_span_of(field, api_member(field, before));
    const struct api_span right = api_span_of(field, api_member(field, after));
    const bool was_zero = api_field_is_zero(field, before);
    yyjson_mut_val *value;

    if (api_field_is_omitted(field, after)) {
        operation(p, "remove", NULL);
        return;
    }
    if (!was_zero && right.n > 0 && field->shape == API_MAP) {
        patch_map(p, field, left, right);
        return;
    }
    if (!was_zero && right.n > 0 && field->shape != API_LIST && field->kind == API_STRUCT) {
        patch_struct(p, field->type, left.values, right.values);
        return;
    }
    value = api_encode_field(p->doc, field, after, 0);
    operation(p, was_zero ? "add" : "replace", value);
}

/* A member of `from` that `to` lacks or has with another value. */
static void patch_extra_member(struct patch *p, yyjson_val *key, yyjson_val *from, yyjson_val *to)
{
    const char *name = yyjson_get_str(key);
    const size_t n = yyjson_get_len(key), length = enter(p, name, n);
    yyjson_val *before = yyjson_obj_getn(from, name, n), *after = yyjson_obj_getn(to, name, n);

    if (!after)
        operation(p, "remove", NULL);
    else if (!before)
        operation(p, "add", yyjson_val_mut_copy(p->doc, after));
    else if (!yyjson_equals(before, after))
        operation(p, "replace", yyjson_val_mut_copy(p->doc, after));
    leave(p, length);
}

static void patch_extra(struct patch *p, const void *before, const void *after)
{
    yyjson_doc *left, *right;
    yyjson_val *from, *to, *key;
    yyjson_obj_iter iterator;

    if (kb_streq_null(extra_of(before), extra_of(after)))
        return;
    left = api_extra_parse(extra_of(before));
    right = api_extra_parse(extra_of(after));
    from = yyjson_doc_get_root(left);
    to = yyjson_doc_get_root(right);
    yyjson_obj_iter_init(from, &iterator);
    while ((key = yyjson_obj_iter_next(&iterator)))
        patch_extra_member(p, key, from, to);
    yyjson_obj_iter_init(to, &iterator);
    while ((key = yyjson_obj_iter_next(&iterator)))
        if (!yyjson_obj_getn(from, yyjson_get_str(key), yyjson_get_len(key)))
            patch_extra_member(p, key, from, to);
    yyjson_doc_free(left);
    yyjson_doc_free(right);
}

static void patch_struct(struct patch *p, const struct api_type *type, const void *before, const void *after)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const struct api_field *field = &type->fields[i];
        size_t length;

        if (api_equal_field(field, before, after))
            continue;
        length = enter(p, field->json, field->json_length);
        patch_field(p, field, before, after);
        leave(p, length);
    }
    patch_extra(p, before, after);
}

yyjson_mut_val *api_diff_json(yyjson_mut_doc *doc, const struct api_type *type, const void *before, const void *after)
{
    struct patch p = {.doc = doc, .operations = yyjson_mut_arr(doc)};

    patch_struct(&p, type, before, after);
    kb_strbuf_done(&p.path);
    return p.operations;
}
