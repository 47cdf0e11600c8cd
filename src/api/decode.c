/*
 * Decoding: from parsed JSON into structs, driven by the field tables.
 *
 * A struct is walked by the members of the JSON object, each found in the table by binary search. What the table does
 * not know goes into `extra_`. Strings are borrowed from the document where that lives as long as the struct:
 * api_decode parses in place inside the arena; api_decode_shared copies everything into its own block afterwards.
 */
#include "api/codec_internal.h"
#include "api/object_internal.h"

#include "base/strings.h"
#include "base/vec.h"
#include <stdlib.h>

#define MAX_FIELDS     256
#define MAX_PROJECTION 64

/* Where in the document the decoder is, for errors. */
struct step {
    const struct step *up;
    const char *name; /* NULL: an index */
    size_t n;         /* length of the name, or the index */
    bool is_key;      /* of a map */
};

/* What is left of the paths of a projection here; a NULL pointer to this keeps everything. */
struct keep {
    size_t n;
    const char *paths[MAX_PROJECTION];
};

struct decoder {
    struct api_scalar_reader reader;
    struct api_text_pool pool;
    const struct step *at;
    const struct keep *keep;
    unsigned depth;
};

static int read_struct(struct decoder *d, const struct api_type *type, yyjson_val *object, char *data);

/* ---- errors ---- */

static void append_path(struct kb_strbuf *b, const struct step *at)
{
    if (!at)
        return;
    append_path(b, at->up);
    if (!at->name)
        kb_strbuf_printf(b, "[%zu]", at->n);
    else if (at->is_key)
        kb_strbuf_printf(b, "[%.*s]", (int)at->n, at->name);
    else
        kb_strbuf_printf(b, "%s%.*s", at->up ? "." : "", (int)at->n, at->name);
}

static int fail_here(struct decoder *d)
{
    kb_cleanup_strbuf struct kb_strbuf path = {0};

    append_path(&path, d->at);
    if (path.length == 0)
        return -1;
    return kube_error_wrap(d->reader.reterr, "%s", kb_strbuf_text(&path));
}

/* ---- absent values ---- */

/* Texts that were absent become "". Only for structs that nothing was read into, or that are zero where it wasn't. */
static void fill_absent(const struct api_type *type, char *data)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const struct api_field *field = &type->fields[i];
        char *member = data + field->offset;

        if (field->shape != API_VALUE)
            continue;
        if (field->kind == API_STRUCT)
            fill_absent(field->type, member);
        else if (field->kind == API_INT_OR_STRING)
            ((struct api_int_or_string *)member)->text = "";
        else if (api_field_is_text(field))
            *(const char **)member = "";
    }
}

static void fill_absent_value(const struct api_field *field, void *value)
{
    if (field->kind == API_STRUCT)
        fill_absent(field->type, value);
    else if (field->kind == API_INT_OR_STRING)
        ((struct api_int_or_string *)value)->text = "";
    else if (api_field_is_text(field))
        *(const char **)value = "";
}

/* ---- values ---- */

static int read_value(struct decoder *d, const struct api_field *field, yyjson_val *value, void *ret)
{
    if (yyjson_is_null(value)) {
        fill_absent_value(field, ret);
        return 0;
    }
    if (field->kind == API_STRUCT)
        return read_struct(d, field->type, value, ret);
    if (api_read_scalar(&d->reader, field->kind, value, ret) < 0)
        return fail_here(d);
    return 0;
}

static int expected(struct decoder *d, const char *what, yyjson_val *value)
{
    kube_error_set(d->reader.reterr, KUBE_ERROR_INVALID, "expected %s, got %s", what, api_json_type_name(value));
    return fail_here(d);
}

/* With room as kb_vec_push expects it. */
static void *new_items(struct decoder *d, size_t n, size_t stride)
{
    return kb_arena_alloc(d->pool.arena, kb_vec_capacity(n) * stride);
}

static int read_list(struct decoder *d, const struct api_field *field, yyjson_val *array, struct api_list *ret)
{
    const size_t stride = api_stride(field), n = yyjson_arr_size(array);
    struct step step = {.up = d->at};
    yyjson_arr_iter iterator;
    yyjson_val *value;
    int r = 0;

    if (!yyjson_arr_iter_init(array, &iterator) && !yyjson_is_arr(array))
        return expected(d, "a list", array);
    ret->items = n ? new_items(d, n, stride) : (void *)api_empty_items;
    ret->n = n;
    d->at = &step;
    while (r == 0 && (value = yyjson_arr_iter_next(&iterator))) {
        r = read_value(d, field, value, (char *)ret->items + step.n * stride);
        step.n++;
    }
    d->at = step.up;
    return r;
}

static int read_entry(struct decoder *d, const struct api_field *field, yyjson_val *member, char *entry)
{
    const char *key = api_read_key(&d->reader, member);
    struct step step = {.up = d->at, .name = key, .is_key = true};
    int r;

    if (!key) {
        kube_error_set(d->reader.reterr, KUBE_ERROR_INVALID, "a key has a NUL character");
        return fail_here(d);
    }
    *(const char **)entry = key;
    step.n = strlen(key);
    d->at = &step;
    r = read_value(d, field, yyjson_obj_iter_get_val(member), entry + sizeof(char *));
    d->at = step.up;
    return r;
}

static int read_map(struct decoder *d, const struct api_field *field, yyjson_val *object, struct api_map *ret)
{
    const size_t stride = api_stride(field);
    kb_cleanup_free yyjson_val **members = NULL;
    size_t n;

    if (!yyjson_is_obj(object))
        return expected(d, "an object", object);
    members = api_sorted_members(object, NULL, NULL, &n);
    ret->items = n ? new_items(d, n, stride) : (void *)api_empty_items;
    ret->n = n;
    for (size_t i = 0; i < n; i++)
        if (read_entry(d, field, members[i], (char *)ret->items + i * stride) < 0)
            return -1;
    return 0;
}

static int read_pointer(struct decoder *d, const struct api_field *field, yyjson_val *value, void **ret)
{
    if (api_field_is_text(field))
        return read_value(d, field, value, ret);
    *ret = kb_arena_alloc(d->pool.arena, api_value_size(field));
    return read_value(d, field, value, *ret);
}

static int read_member(struct decoder *d, const struct api_field *field, yyjson_val *value, void *member)
{
    switch (field->shape) {
    case API_LIST:
        return read_list(d, field, value, member);
    case API_MAP:
        return read_map(d, field, value, member);
    case API_POINTER:
        return read_pointer(d, field, value, member);
    default:
        return read_value(d, field, value, member);
    }
}

/* ---- projection ---- */

/* What the paths leave of the field: false when none wants it; *ret stays NULL when one wants all of it. */
static bool narrow(const struct keep *keep, const struct api_field *field, struct keep *space, const struct keep **ret)
{
    space->n = 0;
    for (size_t i = 0; i < keep->n; i++) {
        const char *path = keep->paths[i];

        if (strncmp(path, field->json, field->json_length) != 0)
            continue;
        if (!path[field->json_length])
            return true;
        if (path[field->json_length] == '.')
            space->paths[space->n++] = path + field->json_length + 1;
    }
    *ret = space;
    return space->n > 0;
}

static int read_narrowed(struct decoder *d, const struct api_field *field, yyjson_val *value, void *member)
{
    const struct keep *outer = d->keep;
    struct keep space;
    int r;

    d->keep = NULL;
    if (!narrow(outer, field, &space, &d->keep)) {
        d->keep = outer;
        return 1;
    }
    r = read_member(d, field, value, member);
    d->keep = outer;
    return r;
}

/* ---- structs ---- */

static bool is_managed_fields(const struct api_type *type, const char *name, size_t n)
{
    return n == strlen("managedFields") && memcmp(name, "managedFields", n) == 0 &&
           kb_streq(type->name, "meta_object_meta");
}

static bool is_unknown(const void *userdata, const char *name, size_t n)
{
    const struct api_type *type = userdata;

    return !api_field_find(type, name, n) && !is_managed_fields(type, name, n);
}

static const char *read_unknown(struct decoder *d, const struct api_type *type, yyjson_val *object)
{
    kb_cleanup_strbuf struct kb_strbuf b = {0};
    kb_cleanup_free yyjson_val **members = NULL;
    size_t n;

    members = api_sorted_members(object, is_unknown, type, &n);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            kb_strbuf_putc(&b, ',');
        api_append_value(&b, members[i]);
        kb_strbuf_putc(&b, ':');
        api_append_value(&b, yyjson_obj_iter_get_val(members[i]));
    }
    return n ? api_text_pool_add(&d->pool, kb_strbuf_text(&b), b.length) : NULL;
}

/* One known member. Returns 1 when it is not kept. */
static int read_field(struct decoder *d, const struct api_field *field, yyjson_val *value, char *data, bool again)
{
    char *member = data + field->offset;
    const struct step step = {.up = d->at, .name = field->json, .n = field->json_length};
    int r;

    if (again)
        memset(member, 0, api_field_size(field));
    if (yyjson_is_null(value))
        return 1;
    d->at = &step;
    r = d->keep ? read_narrowed(d, field, value, member) : read_member(d, field, value, member);
    d->at = step.up;
    return r;
}

/* Fields that the object had keep what was read; the other ones get their absent value. */
static void fill_rest(const struct api_type *type, char *data, const bool *was_read)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const struct api_field *field = &type->fields[i];

        if (!was_read[i] && field->shape == API_VALUE)
            fill_absent_value(field, data + field->offset);
    }
}

static int read_members(struct decoder *d, const struct api_type *type, yyjson_val *object, char *data)
{
    bool was_read[MAX_FIELDS] = {0};
    yyjson_obj_iter iterator = yyjson_obj_iter_with(object);
    bool unknown = false;
    yyjson_val *key;

    while ((key = yyjson_obj_iter_next(&iterator))) {
        const char *name = yyjson_get_str(key);
        const size_t n = yyjson_get_len(key);
        const struct api_field *field = api_field_find(type, name, n);
        int r;

        if (!field || is_managed_fields(type, name, n)) {
            unknown = unknown || !field;
            continue;
        }
        r = read_field(d, field, yyjson_obj_iter_get_val(key), data, was_read[field - type->fields]);
        if (r < 0)
            return -1;
        was_read[field - type->fields] = r == 0;
    }
    if (unknown && !d->keep)
        *(const char **)data = read_unknown(d, type, object);
    fill_rest(type, data, was_read);
    return 0;
}

static int read_struct(struct decoder *d, const struct api_type *type, yyjson_val *object, char *data)
{
    int r;

    if (!yyjson_is_obj(object))
        return expected(d, "an object", object);
    if (++d->depth > API_MAX_DEPTH) {
        kube_error_set(d->reader.reterr, KUBE_ERROR_INVALID, "nested deeper than %d", API_MAX_DEPTH);
        return fail_here(d);
    }
    r = read_members(d, type, object, data);
    d->depth--;
    return r;
}

/* ---- entry points ---- */

static int decode(struct kb_arena *arena, bool borrow, const struct keep *keep, const struct api_type *type,
                  yyjson_val *value, void **ret, struct kube_error *reterr)
{
    struct decoder d = {.pool = {.arena = arena}, .keep = keep};
    void *data = kb_arena_alloc(arena, type->size);

    d.reader = (struct api_scalar_reader){.pool = &d.pool, .borrow = borrow, .reterr = reterr};
    if (read_struct(&d, type, value, data) < 0)
        return -1;
    *ret = data;
    return 0;
}

int api_decode_value(struct kb_arena *arena, const struct api_type *type, yyjson_val *value, void *ret,
                     struct kube_error *reterr)
{
    return decode(arena, false, NULL, type, value, ret, reterr);
}

int api_decode(struct kb_arena *arena, const struct api_type *type, const char *json, size_t n, void *ret,
               struct kube_error *reterr)
{
    yyjson_doc *doc;
    char *text;
    int r;

    if (n > API_MAX_BYTES)
        return api_parse(json, n, &doc, reterr);
    text = kb_arena_alloc(arena, n + YYJSON_PADDING_SIZE);
    memcpy(text, json, n);
    doc = api_parse_in_place(text, n, reterr);
    if (!doc)
        return -1;
    r = decode(arena, true, NULL, type, yyjson_doc_get_root(doc), ret, reterr);
    yyjson_doc_free(doc);
    return r;
}

/* Without paths below metadata all of it is kept; with some, those and what identifies the object. */
static int widen(const struct api_projection *projection, struct keep *ret, struct kube_error *reterr)
{
    static const char *const always[] = {"kind", "apiVersion"};
    static const char *const identity[] = {"metadata.name", "metadata.namespace", "metadata.uid",
                                           "metadata.resourceVersion", "metadata.deletionTimestamp"};
    bool whole = true;

    if (projection->n_paths + KB_ARRAY_LEN(always) + KB_ARRAY_LEN(identity) > MAX_PROJECTION)
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "a projection has %zu paths", projection->n_paths);
    for (size_t i = 0; i < KB_ARRAY_LEN(always); i++)
        ret->paths[ret->n++] = always[i];
    for (size_t i = 0; i < projection->n_paths; i++) {
        ret->paths[ret->n++] = projection->paths[i];
        whole &= !kb_starts_with(projection->paths[i], "metadata.");
    }
    if (whole)
        ret->paths[ret->n++] = "metadata";
    for (size_t i = 0; !whole && i < KB_ARRAY_LEN(identity); i++)
        ret->paths[ret->n++] = identity[i];
    return 0;
}

int api_decode_shared(const struct api_type *type, yyjson_val *value, const struct api_projection *projection,
                      const struct api_object **ret, struct kube_error *reterr)
{
    const bool projected = projection && projection->paths;
    kb_cleanup_arena struct kb_arena *arena = NULL;
    struct keep keep = {0};
    void *data;

    if (projected && widen(projection, &keep, reterr) < 0)
        return -1;
    arena = kb_arena_new_sized(16 << 10);
    if (decode(arena, true, projected ? &keep : NULL, type, value, &data, reterr) < 0)
        return -1;
    *ret = api_object_pack(type, data, projected);
    return 0;
}
