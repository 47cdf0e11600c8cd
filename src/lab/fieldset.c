/*
 * Field sets, see fieldset.h. Every function walks sets and values side by side: a member of a set is "f:NAME" (a
 * member of an object), "k:{...}" (an element by its keys), "v:..." (an element by its value), or "." (the element
 * itself).
 */
#include "lab/fieldset.h"
#include "base/strings.h"
#include "lab/patch.h"

#define MAX_KEYS 4

/* The keys of a keyed list; 0: it is a single value, -1: a set of scalars. */
struct list_keys {
    int n;
    const char *keys[MAX_KEYS];
};

struct lab_field_place lab_field_root(struct kb_arena *arena, const struct lab_kind *kind,
                                      const struct lab_version *version)
{
    return (struct lab_field_place){arena, kind->custom, version->schema, "", "", 0};
}

static struct lab_field_place member_place(struct lab_field_place at, const char *name)
{
    yyjson_val *s = yyjson_obj_get(yyjson_obj_get(at.schema, "properties"), name);
    if (!s)
        s = yyjson_obj_get(at.schema, "additionalProperties");
    return (struct lab_field_place){at.arena, at.custom, yyjson_is_obj(s) ? s : NULL, at.name, name, at.depth + 1};
}

static struct lab_field_place element_place(struct lab_field_place at)
{
    return (struct lab_field_place){at.arena,  at.custom, yyjson_obj_get(at.schema, "items"),
                                    at.parent, at.name,   at.depth + 1};
}

static struct list_keys keys_of(struct lab_field_place at)
{
    struct list_keys k = {0};
    const char *type = lab_val_str(at.schema, "x-kubernetes-list-type");
    bool metadata = at.depth == 2 && kb_streq(at.parent, "metadata");
    if (at.custom && !metadata) {
        size_t i, n;
        yyjson_val *key;
        if (kb_streq(type, "set"))
            k.n = -1;
        yyjson_arr_foreach(yyjson_obj_get(at.schema, "x-kubernetes-list-map-keys"), i, n, key)
        {
            if (k.n < MAX_KEYS)
                k.keys[k.n++] = yyjson_get_str(key);
        }
        return k;
    }
    const char *key = lab_patch_list_key(at.parent, at.name);
    if (key && !*key)
        k.n = -1;
    else if (key)
        k = (struct list_keys){1, {key}};
    return k;
}

/* How a set calls an element: k:{"name":"a"} or v:"a". */
static const char *element_name(struct lab_field_place at, const struct list_keys *k, yyjson_mut_val *element)
{
    if (k->n < 0)
        return kb_arena_printf(at.arena, "v:%s", lab_json_write(at.arena, element, NULL));
    struct kb_strbuf b = {.arena = at.arena};
    for (int i = 0; i < k->n; i++) {
        yyjson_mut_val *v = yyjson_mut_obj_get(element, k->keys[i]);
        if (v)
            kb_strbuf_printf(&b, "%s\"%s\":%s", b.length ? "," : "k:{", k->keys[i], lab_json_write(at.arena, v, NULL));
    }
    kb_strbuf_putc(&b, '}');
    return kb_strbuf_text(&b);
}

static yyjson_mut_val *fields_of_list(yyjson_mut_doc *doc, struct lab_field_place at, yyjson_mut_val *list)
{
    yyjson_mut_val *set = yyjson_mut_obj(doc), *e;
    struct list_keys k = keys_of(at);
    size_t i, n;
    yyjson_mut_arr_foreach(list, i, n, e)
    {
        if (!k.n)
            break;
        yyjson_mut_val *inner = k.n < 0 ? yyjson_mut_obj(doc) : lab_fieldset_of(doc, element_place(at), e);
        if (k.n > 0)
            lab_mut_put(doc, inner, ".", yyjson_mut_obj(doc));
        lab_mut_put(doc, set, element_name(at, &k, e), inner);
    }
    return set;
}

/* What no manager owns. */
static bool is_identity(struct lab_field_place at, const char *name)
{
    static const char *const root[] = {"apiVersion", "kind"};
    static const char *const metadata[] = {"name",       "namespace",       "uid",           "creationTimestamp",
                                           "generation", "resourceVersion", "managedFields", "selfLink"};
    if (at.depth == 0)
        return kb_in_list(name, root, KB_ARRAY_LEN(root));
    return at.depth == 1 && kb_streq(at.name, "metadata") && kb_in_list(name, metadata, KB_ARRAY_LEN(metadata));
}

yyjson_mut_val *lab_fieldset_of(yyjson_mut_doc *doc, struct lab_field_place at, yyjson_mut_val *configuration)
{
    if (yyjson_mut_is_arr(configuration))
        return fields_of_list(doc, at, configuration);
    yyjson_mut_val *set = yyjson_mut_obj(doc), *key, *value;
    size_t i, n;
    yyjson_mut_obj_foreach(configuration, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        if (is_identity(at, name))
            continue;
        yyjson_mut_val *inner = lab_fieldset_of(doc, member_place(at, name), value);
        if (at.depth > 0 || yyjson_mut_obj_size(inner) || !kb_streq(name, "metadata"))
            lab_mut_put(doc, set, kb_arena_printf(at.arena, "f:%s", name), inner);
    }
    return set;
}

static yyjson_mut_val *find_element(struct lab_field_place at, const struct list_keys *k, yyjson_mut_val *list,
                                    const char *wanted, size_t *ret_index)
{
    size_t i, n;
    yyjson_mut_val *e;
    yyjson_mut_arr_foreach(list, i, n, e)
    {
        if (!kb_streq(element_name(at, k, e), wanted))
            continue;
        *ret_index = i;
        return e;
    }
    return NULL;
}

static yyjson_mut_val *merge_list(yyjson_mut_doc *doc, struct lab_field_place at, yyjson_mut_val *live,
                                  yyjson_mut_val *configuration)
{
    struct list_keys k = keys_of(at);
    size_t i, n, index = 0;
    yyjson_mut_val *e;
    if (!k.n || !yyjson_mut_is_arr(live))
        return yyjson_mut_val_mut_copy(doc, configuration);
    yyjson_mut_arr_foreach(configuration, i, n, e)
    {
        yyjson_mut_val *have = find_element(at, &k, live, element_name(at, &k, e), &index);
        if (!have)
            yyjson_mut_arr_append(live, yyjson_mut_val_mut_copy(doc, e));
        else if (k.n > 0)
            yyjson_mut_arr_replace(live, index, lab_fieldset_merge(doc, element_place(at), have, e));
    }
    return live;
}

yyjson_mut_val *lab_fieldset_merge(yyjson_mut_doc *doc, struct lab_field_place at, yyjson_mut_val *live,
                                   yyjson_mut_val *configuration)
{
    if (yyjson_mut_is_arr(configuration))
        return merge_list(doc, at, live, configuration);
    if (!yyjson_mut_is_obj(configuration) || !yyjson_mut_is_obj(live))
        return yyjson_mut_val_mut_copy(doc, configuration);
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(configuration, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *have = yyjson_mut_obj_get(live, name);
        lab_mut_put(doc, live, name, lab_fieldset_merge(doc, member_place(at, name), have, value));
    }
    return live;
}

/* The element or member of `value` that a set's member names; `ret_index` for elements. */
static yyjson_mut_val *resolve(yyjson_mut_val *value, const char *name, size_t *ret_index)
{
    if (name[0] == 'f')
        return yyjson_mut_obj_get(value, name + 2);
    if (name[0] != 'k' && name[0] != 'v')
        return NULL;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new_sized(512);
    yyjson_val *wanted = lab_json_parse(arena, name + 2, strlen(name + 2), NULL);
    size_t i, n, j, m;
    yyjson_mut_val *e;
    yyjson_val *key, *v;
    yyjson_mut_doc *doc = lab_json_doc(arena);
    yyjson_mut_arr_foreach(value, i, n, e)
    {
        bool same = name[0] == 'k' || yyjson_mut_equals(e, yyjson_val_mut_copy(doc, wanted));
        yyjson_obj_foreach(name[0] == 'k' ? wanted : NULL, j, m, key, v)
        {
            yyjson_mut_val *have = yyjson_mut_obj_get(e, yyjson_get_str(key));
            same = same && have && yyjson_mut_equals(have, yyjson_val_mut_copy(doc, v));
        }
        if (!same)
            continue;
        *ret_index = i;
        return e;
    }
    return NULL;
}

/* A member of a set that stands for a value as a whole. */
static bool is_leaf(yyjson_mut_val *set)
{
    return yyjson_mut_obj_size(set) == 0;
}

void lab_fieldset_remove(yyjson_mut_val *live, yyjson_mut_val *gone)
{
    size_t i, n;
    yyjson_mut_val *key, *inner;
    yyjson_mut_obj_foreach(gone, i, n, key, inner)
    {
        const char *name = yyjson_mut_get_str(key);
        size_t index = 0;
        yyjson_mut_val *value = resolve(live, name, &index);
        if (!value)
            continue;
        bool whole = is_leaf(inner) || yyjson_mut_obj_get(inner, ".");
        if (!whole)
            lab_fieldset_remove(value, inner);
        if (!whole && !(yyjson_mut_is_ctn(value) && lab_mut_empty(value)))
            continue;
        if (name[0] == 'f')
            lab_mut_drop(live, name + 2);
        else
            yyjson_mut_arr_remove(live, index);
    }
}

yyjson_mut_val *lab_fieldset_minus(yyjson_mut_doc *doc, yyjson_mut_val *a, yyjson_mut_val *b)
{
    yyjson_mut_val *left = yyjson_mut_obj(doc), *key, *inner;
    size_t i, n;
    yyjson_mut_obj_foreach(a, i, n, key, inner)
    {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *other = yyjson_mut_obj_get(b, name);
        yyjson_mut_val *rest = other ? lab_fieldset_minus(doc, inner, other) : yyjson_mut_val_mut_copy(doc, inner);
        if (rest)
            lab_mut_put(doc, left, name, rest);
    }
    return yyjson_mut_obj_size(left) ? left : NULL;
}

yyjson_mut_val *lab_fieldset_conflicts(yyjson_mut_doc *doc, yyjson_mut_val *a, yyjson_mut_val *b, yyjson_mut_val *live,
                                       yyjson_mut_val *configuration)
{
    yyjson_mut_val *found = yyjson_mut_obj(doc), *key, *inner;
    size_t i, n, index;
    yyjson_mut_obj_foreach(a, i, n, key, inner)
    {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *other = yyjson_mut_obj_get(b, name);
        if (!other || name[0] == '.')
            continue;
        yyjson_mut_val *x = resolve(live, name, &index), *y = resolve(configuration, name, &index), *deeper = NULL;
        if (is_leaf(inner) != is_leaf(other))
            continue; /* one only names the object that the other has members of */
        if (is_leaf(inner))
            deeper = x && y && !yyjson_mut_equals(x, y) ? yyjson_mut_obj(doc) : NULL;
        else
            deeper = lab_fieldset_conflicts(doc, inner, other, x, y);
        if (deeper)
            lab_mut_put(doc, found, name, deeper);
    }
    return yyjson_mut_obj_size(found) ? found : NULL;
}

/* [name="a"], ["a"], .member */
static const char *step_text(struct kb_arena *arena, const char *name)
{
    if (name[0] == 'f')
        return kb_arena_printf(arena, ".%s", name + 2);
    if (name[0] == 'v')
        return kb_arena_printf(arena, "[%s]", name + 2);
    struct kb_strbuf b = {.arena = arena};
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(lab_json_parse(arena, name + 2, strlen(name + 2), NULL), i, n, key, value)
    {
        kb_strbuf_printf(&b, "%s%s=%s", i ? "," : "", yyjson_get_str(key), lab_json_write_val(arena, value, NULL));
    }
    return kb_arena_printf(arena, "[%s]", kb_strbuf_text(&b));
}

void lab_fieldset_each(struct kb_arena *arena, yyjson_mut_val *set, const char *path,
                       void (*visit)(void *context, const char *path), void *context)
{
    size_t i, n;
    yyjson_mut_val *key, *inner;
    yyjson_mut_obj_foreach(set, i, n, key, inner)
    {
        const char *name = yyjson_mut_get_str(key);
        const char *at = name[0] == '.' ? path : kb_arena_printf(arena, "%s%s", path, step_text(arena, name));
        if (is_leaf(inner))
            visit(context, at);
        else
            lab_fieldset_each(arena, inner, at, visit, context);
    }
}
