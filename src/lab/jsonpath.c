/*
 * JSONPath, see jsonpath.h. Evaluated step by step on the text: paths are short and evaluated rarely.
 */
#include "lab/jsonpath.h"
#include "base/strings.h"
#include "lab/json.h"

/* A name behind a dot; backslashes escape. */
static const char *member_name(struct kb_arena *arena, const char **at)
{
    struct kb_strbuf b = {.arena = arena};
    for (; **at && !strchr(".[}", **at); (*at)++) {
        if (**at == '\\' && (*at)[1])
            (*at)++;
        kb_strbuf_putc(&b, **at);
    }
    return kb_strbuf_text(&b);
}

/* What stands in quotes at `at`, or up to one of `end`. */
static const char *operand(struct kb_arena *arena, const char *at, const char *end)
{
    char quote = *at;
    if (quote == '\'' || quote == '"') {
        const char *close = strchr(at + 1, quote);
        return kb_arena_strndup(arena, at + 1, close ? (size_t)(close - at - 1) : strlen(at + 1));
    }
    return kb_arena_strndup(arena, at, strcspn(at, end));
}

/* [?(@.type=='Ready')] : the first element for which it holds. */
static yyjson_val *filter(struct kb_arena *arena, yyjson_val *list, const char *expression)
{
    const char *at = strchr(expression, '@'), *equals = at ? strstr(at, "==") : NULL;
    if (!equals)
        return NULL;
    const char *end = equals;
    while (end > at && end[-1] == ' ')
        end--;
    const char *path = kb_arena_strndup(arena, at + 1, (size_t)(end - at - 1));
    const char *value = equals + 2 + strspn(equals + 2, " ");
    const char *want = operand(arena, value, " )]");
    size_t i, n;
    yyjson_val *e;
    yyjson_arr_foreach(list, i, n, e)
    {
        const char *have = lab_scalar_text(arena, lab_jsonpath(arena, e, path));
        if (have && kb_streq(have, want))
            return e;
    }
    return NULL;
}

/* `at` is behind '['; moves it behind ']'. */
static yyjson_val *bracket(struct kb_arena *arena, yyjson_val *value, const char **at)
{
    const char *inner = *at, *close = strchr(inner, ']');
    if (*inner == '?')
        close = strstr(inner, ")]") ? strstr(inner, ")]") + 1 : NULL;
    if (!close)
        return NULL;
    *at = close + 1;
    if (*inner == '?')
        return filter(arena, value, inner);
    if (*inner == '*')
        return yyjson_arr_get_first(value);
    const char *name = operand(arena, inner, "]");
    long long i;
    if (!kb_parse_int(name, INT32_MIN, INT32_MAX, &i))
        return yyjson_obj_get(value, name);
    long long n = (long long)yyjson_arr_size(value);
    return i < n && i >= -n ? yyjson_arr_get(value, (size_t)(i < 0 ? i + n : i)) : NULL;
}

yyjson_val *lab_jsonpath(struct kb_arena *arena, yyjson_val *root, const char *path)
{
    const char *at = path + (*path == '{');
    while (root && *at && *at != '}') {
        if (*at == '[') {
            at++;
            root = bracket(arena, root, &at);
            continue;
        }
        at += *at == '.';
        if (*at == '[' || !*at || *at == '}')
            continue;
        root = yyjson_obj_get(root, member_name(arena, &at));
    }
    return root;
}
