/*
 * JSON patch (RFC 6902) with the leniencies of the library that the API server uses: `replace` of an absent object
 * member sets it, `test` for null passes on an absent member; a missing parent, or `remove` of an absent member, fail.
 */
#include "base/strings.h"
#include "lab/patch.h"

/* The API server's limits: a copy of all into itself, thirty times over, is a short patch. */
#define MAX_OPERATIONS 10000
#define MAX_COPIED     (3u << 20)

struct patcher {
    yyjson_mut_doc *doc;
    struct kb_arena *arena;
    yyjson_mut_val *root;
    size_t copied; /* bytes of JSON */
    struct kube_error *reterr;
};

/* The server tells no more than this; what failed is known by the code that sent the patch. */
static int fail(struct patcher *p)
{
    return kube_error_set_api(p->reterr, 422, "Invalid",
                              "the server rejected our request due to an error in our request");
}

static const char *unescape(struct kb_arena *arena, const char *text, size_t n)
{
    char *out = kb_arena_strndup(arena, text, n), *to = out;
    for (const char *from = out; *from; from++) {
        if (from[0] == '~' && (from[1] == '0' || from[1] == '1'))
            *to++ = *++from == '0' ? '~' : '/';
        else
            *to++ = *from;
    }
    *to = '\0';
    return out;
}

/* An existing element, or with `end` the place behind the last. Negative: none. */
static long long index_of(yyjson_mut_val *array, const char *text, bool end)
{
    long long n = (long long)yyjson_mut_arr_size(array), i;
    if (end && kb_streq(text, "-"))
        return n;
    if (!kb_parse_int(text, -n, n, &i))
        return -1;
    if (i < 0)
        i += n;
    return i < n || (end && i == n) ? i : -1;
}

static yyjson_mut_val *member(yyjson_mut_val *parent, const char *name)
{
    if (yyjson_mut_is_obj(parent))
        return yyjson_mut_obj_get(parent, name);
    long long i = yyjson_mut_is_arr(parent) ? index_of(parent, name, false) : -1;
    return i < 0 ? NULL : yyjson_mut_arr_get(parent, (size_t)i);
}

/* The container of what `path` names, and its last step. "" names the root: *ret_name is NULL. */
static yyjson_mut_val *locate(struct patcher *p, const char *path, const char **ret_name)
{
    yyjson_mut_val *at = p->root;
    *ret_name = NULL;
    while (*path == '/') {
        size_t n = strcspn(path + 1, "/");
        const char *name = unescape(p->arena, path + 1, n);
        path += n + 1;
        if (*path != '/') {
            *ret_name = name;
            return yyjson_mut_is_ctn(at) ? at : NULL;
        }
        at = member(at, name);
        if (!at)
            return NULL;
    }
    return at;
}

static int add(struct patcher *p, const char *path, yyjson_mut_val *value)
{
    const char *name;
    yyjson_mut_val *parent = locate(p, path, &name);
    if (!parent)
        return fail(p);
    if (!name) {
        p->root = value;
        return 0;
    }
    if (yyjson_mut_is_obj(parent)) {
        lab_mut_put(p->doc, parent, name, value);
        return 0;
    }
    long long i = index_of(parent, name, true);
    if (i < 0)
        return fail(p);
    yyjson_mut_arr_insert(parent, value, (size_t)i);
    return 0;
}

static int remove_at(struct patcher *p, const char *path, yyjson_mut_val **ret)
{
    const char *name;
    yyjson_mut_val *parent = locate(p, path, &name);
    yyjson_mut_val *value = parent && name ? member(parent, name) : NULL;
    if (!value)
        return fail(p);
    if (yyjson_mut_is_obj(parent))
        lab_mut_drop(parent, name);
    else
        yyjson_mut_arr_remove(parent, (size_t)index_of(parent, name, false));
    if (ret)
        *ret = value;
    return 0;
}

static int replace(struct patcher *p, const char *path, yyjson_mut_val *value)
{
    const char *name;
    yyjson_mut_val *parent = locate(p, path, &name);
    if (!parent)
        return fail(p);
    if (!name) {
        p->root = value;
        return 0;
    }
    if (yyjson_mut_is_obj(parent)) {
        lab_mut_put(p->doc, parent, name, value);
        return 0;
    }
    long long i = index_of(parent, name, false);
    if (i < 0)
        return fail(p);
    yyjson_mut_arr_replace(parent, (size_t)i, value);
    return 0;
}

static int test(struct patcher *p, const char *path, yyjson_mut_val *value)
{
    const char *name;
    yyjson_mut_val *parent = locate(p, path, &name);
    if (!parent)
        return fail(p);
    yyjson_mut_val *have = name ? member(parent, name) : parent;
    bool null = !value || yyjson_mut_is_null(value);
    if (!have || yyjson_mut_is_null(have))
        return null ? 0 : fail(p);
    return !null && yyjson_mut_equals(have, value) ? 0 : fail(p);
}

static int copy(struct patcher *p, const char *from, const char *path)
{
    const char *name;
    yyjson_mut_val *parent = locate(p, from, &name), *value = parent && name ? member(parent, name) : parent;
    size_t length;
    if (!value || lab_mut_deeper_than(value, LAB_MAX_DEPTH))
        return fail(p);
    lab_json_write(p->arena, value, &length);
    p->copied += length;
    return p->copied > MAX_COPIED ? fail(p) : add(p, path, yyjson_mut_val_mut_copy(p->doc, value));
}

static int move(struct patcher *p, const char *from, const char *path)
{
    yyjson_mut_val *value;
    return remove_at(p, from, &value) < 0 ? -1 : add(p, path, value);
}

static int apply_one(struct patcher *p, yyjson_val *operation)
{
    const char *op = lab_val_str(operation, "op");
    yyjson_val *v = yyjson_obj_get(operation, "value"), *path = yyjson_obj_get(operation, "path");
    if (!yyjson_is_str(path) || (*yyjson_get_str(path) && *yyjson_get_str(path) != '/'))
        return kube_error_set(p->reterr, KUBE_ERROR_INVALID, "error decoding patch: operation without a path");
    const char *at = yyjson_get_str(path);
    yyjson_mut_val *value = v ? yyjson_val_mut_copy(p->doc, v) : yyjson_mut_null(p->doc);
    if (kb_streq(op, "add"))
        return add(p, at, value);
    if (kb_streq(op, "remove"))
        return remove_at(p, at, NULL);
    if (kb_streq(op, "replace"))
        return replace(p, at, value);
    if (kb_streq(op, "test"))
        return test(p, at, v ? value : NULL);
    if (kb_streq(op, "copy"))
        return copy(p, lab_val_str(operation, "from"), at);
    if (kb_streq(op, "move"))
        return move(p, lab_val_str(operation, "from"), at);
    return fail(p);
}

int lab_patch_json(yyjson_mut_doc *doc, struct kb_arena *arena, yyjson_mut_val *target, yyjson_val *patch,
                   yyjson_mut_val **ret, struct kube_error *reterr)
{
    struct patcher p = {.doc = doc, .arena = arena, .root = target, .reterr = reterr};
    if (!yyjson_is_arr(patch))
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "error decoding patch: json: cannot unmarshal object into Go value of type "
                              "[]handlers.jsonPatchOp");
    if (yyjson_arr_size(patch) > MAX_OPERATIONS)
        return kube_error_set_api(reterr, 413, "RequestEntityTooLarge",
                                  "The allowed maximum operations in a JSON patch is %d, got %zu", MAX_OPERATIONS,
                                  yyjson_arr_size(patch));
    size_t i, n;
    yyjson_val *operation;
    yyjson_arr_foreach(patch, i, n, operation)
    {
        if (apply_one(&p, operation) < 0)
            return -1;
    }
    *ret = p.root;
    return lab_mut_deeper_than(p.root, LAB_MAX_DEPTH) ? fail(&p) : 0;
}
