/*
 * Structural schemas, see schema.h. One walk prunes and defaults, a second validates, as Kubernetes does: defaults come
 * before validation, and members that are null are dropped where the schema does not allow null.
 */
#include "lab/schema.h"
#include "base/strings.h"
#include "lab/json.h"

static bool flag(yyjson_val *schema, const char *name)
{
    return yyjson_get_bool(yyjson_obj_get(schema, name));
}

static bool keeps_unknown(yyjson_val *schema)
{
    return flag(schema, "x-kubernetes-preserve-unknown-fields");
}

/* The schema of member `key`, or NULL when it is not known. `ret_open`: unknown members are kept. */
static yyjson_val *member_schema(yyjson_val *schema, const char *key, bool *ret_open)
{
    yyjson_val *named = yyjson_obj_get(yyjson_obj_get(schema, "properties"), key);
    yyjson_val *more = yyjson_obj_get(schema, "additionalProperties");
    *ret_open = keeps_unknown(schema) || yyjson_is_true(more);
    if (named)
        return named;
    return yyjson_is_obj(more) ? more : NULL;
}

/* With `strict` what is unknown is named rather than dropped silently. */
struct pruner {
    struct lab_write *w;
    bool strict;
    struct kb_strbuf unknown;
};

static void prune(struct pruner *p, yyjson_mut_val *value, yyjson_val *schema, const char *path, bool root);

/* Paths are only made where they may be shown. */
static const char *path_of(struct pruner *p, const char *path, const char *name)
{
    return !p->strict || !*path ? name : kb_arena_printf(p->w->arena, "%s.%s", path, name);
}

static void name_unknown(struct pruner *p, const char *path, const char *name)
{
    if (p->strict)
        kb_strbuf_printf(&p->unknown, "%sunknown field \"%s\"", p->unknown.length ? ", " : "", path_of(p, path, name));
}

static void add_defaults(struct pruner *p, yyjson_mut_val *value, yyjson_val *schema, const char *path)
{
    size_t i, n;
    yyjson_val *key, *s;
    yyjson_obj_foreach(yyjson_obj_get(schema, "properties"), i, n, key, s)
    {
        yyjson_val *d = yyjson_obj_get(s, "default");
        const char *name = yyjson_get_str(key);
        if (!d || yyjson_mut_obj_get(value, name))
            continue;
        lab_mut_put(p->w->doc, value, name, yyjson_val_mut_copy(p->w->doc, d));
        prune(p, yyjson_mut_obj_get(value, name), s, path_of(p, path, name), false);
    }
}

static void prune_object(struct pruner *p, yyjson_mut_val *value, yyjson_val *schema, const char *path, bool root)
{
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(value);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));) {
        const char *name = yyjson_mut_get_str(key);
        if (root && (kb_streq(name, "metadata") || kb_streq(name, "apiVersion") || kb_streq(name, "kind")))
            continue;
        bool open;
        yyjson_val *s = member_schema(schema, name, &open);
        yyjson_mut_val *v = yyjson_mut_obj_iter_get_val(key);
        if (!s && !open) {
            name_unknown(p, path, name);
            yyjson_mut_obj_iter_remove(&it);
        } else if (s && yyjson_mut_is_null(v) && !flag(s, "nullable")) {
            yyjson_mut_obj_iter_remove(&it);
        } else if (s) {
            prune(p, v, s, path_of(p, path, name), false);
        }
    }
    add_defaults(p, value, schema, path);
}

static void prune(struct pruner *p, yyjson_mut_val *value, yyjson_val *schema, const char *path, bool root)
{
    if (yyjson_mut_is_obj(value)) {
        prune_object(p, value, schema, path, root);
        return;
    }
    yyjson_val *items = yyjson_obj_get(schema, "items");
    yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(value);
    for (size_t i = 0; items && yyjson_mut_arr_iter_has_next(&it); i++) {
        const char *at = p->strict ? kb_arena_printf(p->w->arena, "%s[%zu]", path, i) : path;
        prune(p, yyjson_mut_arr_iter_next(&it), items, at, false);
    }
}

struct check {
    struct lab_write *w;
    struct kb_arena *arena;
};

static void check_value(struct check *c, yyjson_mut_val *value, yyjson_val *schema, const char *path, bool root);

static const char *type_of(yyjson_mut_val *v)
{
    if (yyjson_mut_is_null(v))
        return "null";
    if (yyjson_mut_is_bool(v))
        return "boolean";
    if (yyjson_mut_is_int(v))
        return "integer";
    if (yyjson_mut_is_num(v))
        return "number";
    if (yyjson_mut_is_str(v))
        return "string";
    return yyjson_mut_is_arr(v) ? "array" : "object";
}

static bool type_fits(const char *want, yyjson_mut_val *v, yyjson_val *schema)
{
    if (yyjson_mut_is_null(v))
        return flag(schema, "nullable");
    if (flag(schema, "x-kubernetes-int-or-string"))
        return yyjson_mut_is_int(v) || yyjson_mut_is_str(v);
    const char *have = type_of(v);
    return !*want || kb_streq(want, have) || (kb_streq(want, "number") && kb_streq(have, "integer")) ||
           (kb_streq(want, "integer") && yyjson_mut_is_real(v) &&
            yyjson_mut_get_real(v) == (double)(int64_t)yyjson_mut_get_real(v));
}

static const char *quoted(struct check *c, yyjson_mut_val *v)
{
    return lab_json_write(c->arena, v, NULL);
}

static void check_type(struct check *c, yyjson_mut_val *value, const char *want, const char *path)
{
    const char *type = type_of(value);
    lab_cause(c->w->call, "FieldValueTypeInvalid", path, "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"",
              type, path, *want ? want : "integer,string", type);
}

static void check_enum(struct check *c, yyjson_mut_val *value, yyjson_val *allowed, const char *path)
{
    struct kb_strbuf list = {.arena = c->arena};
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(allowed, i, n, v)
    {
        if (yyjson_mut_equals(yyjson_val_mut_copy(c->w->doc, v), value))
            return;
        kb_strbuf_printf(&list, "%s%s", i ? ", " : "", lab_json_write_val(c->arena, v, NULL));
    }
    lab_cause_unsupported(c->w->call, path, quoted(c, value), kb_strbuf_text(&list));
}

static void check_number(struct check *c, yyjson_mut_val *value, yyjson_val *schema, const char *path)
{
    yyjson_val *min = yyjson_obj_get(schema, "minimum"), *max = yyjson_obj_get(schema, "maximum");
    double x = yyjson_mut_get_num(value);
    bool past_min = min && (flag(schema, "exclusiveMinimum") ? x <= yyjson_get_num(min) : x < yyjson_get_num(min));
    bool past_max = max && (flag(schema, "exclusiveMaximum") ? x >= yyjson_get_num(max) : x > yyjson_get_num(max));
    if (past_min)
        lab_cause_invalid(c->w->call, path, quoted(c, value),
                          kb_arena_printf(c->arena, "%s in body should be greater than%s %s", path,
                                          flag(schema, "exclusiveMinimum") ? "" : " or equal to",
                                          lab_json_write_val(c->arena, min, NULL)));
    if (past_max)
        lab_cause_invalid(c->w->call, path, quoted(c, value),
                          kb_arena_printf(c->arena, "%s in body should be less than%s %s", path,
                                          flag(schema, "exclusiveMaximum") ? "" : " or equal to",
                                          lab_json_write_val(c->arena, max, NULL)));
}

static void check_size(struct check *c, size_t have, yyjson_val *min, yyjson_val *max, const char *what,
                       yyjson_mut_val *value, const char *path)
{
    if (min && have < yyjson_get_uint(min))
        lab_cause_invalid(c->w->call, path, quoted(c, value),
                          kb_arena_printf(c->arena, "%s in body should %s at least %llu %s", path,
                                          yyjson_mut_is_str(value) ? "be" : "have",
                                          (unsigned long long)yyjson_get_uint(min), what));
    if (!max || have <= yyjson_get_uint(max))
        return;
    unsigned long long limit = yyjson_get_uint(max);
    if (yyjson_mut_is_str(value))
        lab_cause(c->w->call, "FieldValueTooLong", path, "Too long: may not be more than %llu bytes", limit);
    else
        lab_cause(c->w->call, "FieldValueTooMany", path, "Too many: %zu: must have at most %llu item%s", have, limit,
                  limit == 1 ? "" : "s");
}

static const char *child(struct check *c, const char *path, const char *key)
{
    return *path ? kb_arena_printf(c->arena, "%s.%s", path, key) : key;
}

static void check_object(struct check *c, yyjson_mut_val *value, yyjson_val *schema, const char *path, bool root)
{
    size_t i, n;
    yyjson_val *name;
    yyjson_mut_val *key, *v;
    yyjson_mut_obj_foreach(value, i, n, key, v)
    {
        bool open;
        yyjson_val *s = member_schema(schema, yyjson_mut_get_str(key), &open);
        if (s && !(root && kb_streq(yyjson_mut_get_str(key), "metadata")))
            check_value(c, v, s, child(c, path, yyjson_mut_get_str(key)), false);
    }
    yyjson_arr_foreach(yyjson_obj_get(schema, "required"), i, n, name)
    {
        if (!yyjson_mut_obj_get(value, yyjson_get_str(name)))
            lab_cause_required(c->w->call, child(c, path, yyjson_get_str(name)), "");
    }
}

/* Lists declared as sets or maps must not name anything twice. */
static void check_unique(struct check *c, yyjson_mut_val *value, yyjson_val *schema, const char *path)
{
    yyjson_val *keys = yyjson_obj_get(schema, "x-kubernetes-list-map-keys");
    bool set = kb_streq(lab_val_str(schema, "x-kubernetes-list-type"), "set");
    size_t n = yyjson_mut_arr_size(value);
    for (size_t i = 1; (set || keys) && i < n; i++) {
        yyjson_mut_val *a = yyjson_mut_arr_get(value, i);
        for (size_t j = 0; j < i; j++) {
            yyjson_mut_val *b = yyjson_mut_arr_get(value, j);
            bool same = set ? yyjson_mut_equals(a, b) : true;
            size_t k, m;
            yyjson_val *key;
            yyjson_arr_foreach(keys, k, m, key)
            {
                yyjson_mut_val *x = yyjson_mut_obj_get(a, yyjson_get_str(key));
                yyjson_mut_val *y = yyjson_mut_obj_get(b, yyjson_get_str(key));
                same &= x == y || (x && y && yyjson_mut_equals(x, y));
            }
            if (!same)
                continue;
            lab_cause_duplicate(c->w->call, kb_arena_printf(c->arena, "%s[%zu]", path, i), quoted(c, a));
            break;
        }
    }
}

static void check_array(struct check *c, yyjson_mut_val *value, yyjson_val *schema, const char *path)
{
    yyjson_val *items = yyjson_obj_get(schema, "items");
    size_t i, n;
    yyjson_mut_val *v;
    check_size(c, yyjson_mut_arr_size(value), yyjson_obj_get(schema, "minItems"), yyjson_obj_get(schema, "maxItems"),
               "items", value, path);
    check_unique(c, value, schema, path);
    yyjson_mut_arr_foreach(value, i, n, v)
    {
        if (items)
            check_value(c, v, items, kb_arena_printf(c->arena, "%s[%zu]", path, i), false);
    }
}

static void check_value(struct check *c, yyjson_mut_val *value, yyjson_val *schema, const char *path, bool root)
{
    const char *want = lab_val_str(schema, "type");
    if (!type_fits(want, value, schema)) {
        if (*want || flag(schema, "x-kubernetes-int-or-string"))
            check_type(c, value, want, path);
        return;
    }
    yyjson_val *allowed = yyjson_obj_get(schema, "enum");
    if (allowed)
        check_enum(c, value, allowed, path);
    if (yyjson_mut_is_obj(value))
        check_object(c, value, schema, path, root);
    else if (yyjson_mut_is_arr(value))
        check_array(c, value, schema, path);
    else if (yyjson_mut_is_num(value))
        check_number(c, value, schema, path);
    else if (yyjson_mut_is_str(value))
        check_size(c, yyjson_mut_get_len(value), yyjson_obj_get(schema, "minLength"),
                   yyjson_obj_get(schema, "maxLength"), "chars long", value, path);
}

/* Errors after which rules in CEL can't be looked at; the server says so where there are any. (The lab has no CEL:
 * rules are taken to hold.) */
static bool blocks_rules(const struct lab_failure *f)
{
    static const char *const reasons[] = {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong",
                                          "FieldValueTooMany", "FieldValueTypeInvalid"};
    for (size_t i = 0; i < f->n; i++)
        if (kb_in_list(f->items[i].reason, reasons, KB_ARRAY_LEN(reasons)))
            return true;
    return false;
}

int lab_schema_apply(struct lab_write *w, yyjson_val *schema)
{
    const struct lab_call *call = w->call;
    struct pruner p = {.w = w, .strict = kb_streq_null(call->options.field_validation, "Strict")};
    p.unknown.arena = w->arena;
    prune(&p, w->root, schema, "", true);
    if (!p.unknown.length)
        return 0;
    return lab_fail_bad_request(w->call, "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                                call->kind->name, call->version->name, call->kind->name, kb_strbuf_text(&p.unknown));
}

void lab_schema_validate(struct lab_write *w, yyjson_val *schema, bool has_rules)
{
    struct check c = {w, w->arena};
    check_value(&c, w->root, schema, "", true);
    if (has_rules && blocks_rules(&w->call->failure))
        lab_cause(w->call, "FieldValueInvalid", "<nil>",
                  "Invalid value: null: some validation rules were not checked because the object was invalid; correct "
                  "the existing errors to complete validation");
}
