/*
 * From JSON text to a document within the limits of api/codec.h, and the members that this build does not know.
 *
 * yyjson checks syntax and UTF-8 and does not recurse; depth is checked afterwards, over its values.
 */
#include "api/codec_internal.h"

#include "base/strings.h"
#include <stdlib.h>

static bool depth_is_below(yyjson_val *value, unsigned limit)
{
    yyjson_arr_iter items;
    yyjson_obj_iter members;
    yyjson_val *item;

    if (!yyjson_is_ctn(value))
        return true;
    if (limit == 0)
        return false;
    if (yyjson_arr_iter_init(value, &items)) {
        while ((item = yyjson_arr_iter_next(&items)))
            if (!depth_is_below(item, limit - 1))
                return false;
        return true;
    }
    yyjson_obj_iter_init(value, &members);
    while ((item = yyjson_obj_iter_next(&members)))
        if (!depth_is_below(yyjson_obj_iter_get_val(item), limit - 1))
            return false;
    return true;
}

static yyjson_doc *parse(char *json, size_t n, yyjson_read_flag flags, struct kube_error *reterr)
{
    yyjson_read_err error;
    yyjson_doc *doc;

    if (n > API_MAX_BYTES) {
        kube_error_set(reterr, KUBE_ERROR_INVALID, "JSON of %zu bytes is larger than %u", n, API_MAX_BYTES);
        return NULL;
    }
    doc = yyjson_read_opts(json, n, flags | YYJSON_READ_BIGNUM_AS_RAW, NULL, &error);
    if (!doc) {
        kube_error_set(reterr, KUBE_ERROR_INVALID, "bad JSON at byte %zu: %s", error.pos, error.msg);
        return NULL;
    }
    if (!depth_is_below(yyjson_doc_get_root(doc), API_MAX_DEPTH)) {
        yyjson_doc_free(doc);
        kube_error_set(reterr, KUBE_ERROR_INVALID, "JSON is nested deeper than %d", API_MAX_DEPTH);
        return NULL;
    }
    return doc;
}

int api_parse(const char *json, size_t n, yyjson_doc **ret, struct kube_error *reterr)
{
    yyjson_doc *doc = parse((char *)json, n, 0, reterr); /* without the flag for it, the text is not changed */

    if (!doc)
        return -1;
    *ret = doc;
    return 0;
}

yyjson_doc *api_parse_in_place(char *json, size_t n, struct kube_error *reterr)
{
    return parse(json, n, YYJSON_READ_INSITU, reterr);
}

yyjson_doc *api_parse_first(const char *json, size_t n, struct kube_error *reterr)
{
    return parse((char *)json, n, YYJSON_READ_STOP_WHEN_DONE, reterr);
}

yyjson_doc *api_raw_parse(const char *text)
{
    return *text ? parse((char *)text, strlen(text), 0, NULL) : NULL;
}

yyjson_doc *api_extra_parse(const char *extra)
{
    kb_cleanup_strbuf struct kb_strbuf b = {0};

    if (kb_empty(extra))
        return NULL;
    kb_strbuf_printf(&b, "{%s}", extra);
    return api_raw_parse(kb_strbuf_text(&b));
}

/* ---- members in order ---- */

static int compare_names(yyjson_val *a, yyjson_val *b)
{
    const size_t n = yyjson_get_len(a), m = yyjson_get_len(b);
    const int order = memcmp(yyjson_get_str(a), yyjson_get_str(b), n < m ? n : m);

    return order ? order : (n > m) - (n < m);
}

/* By name, then by place in the document. */
static int compare_members(const void *a, const void *b)
{
    yyjson_val *left = *(yyjson_val *const *)a, *right = *(yyjson_val *const *)b;
    const int order = compare_names(left, right);

    return order ? order : (left > right) - (left < right);
}

yyjson_val **api_sorted_members(yyjson_val *object, api_member_filter wanted, const void *userdata, size_t *ret_n)
{
    yyjson_val **members = kb_malloc(yyjson_obj_size(object) * sizeof(*members) + 1), *key;
    yyjson_obj_iter iterator = yyjson_obj_iter_with(object);
    size_t n = 0, kept = 0;
    bool sorted = true;

    while ((key = yyjson_obj_iter_next(&iterator))) {
        if (wanted && !wanted(userdata, yyjson_get_str(key), yyjson_get_len(key)))
            continue;
        sorted = sorted && (n == 0 || compare_names(members[n - 1], key) < 0);
        members[n++] = key;
    }
    *ret_n = n;
    if (sorted)
        return members;
    qsort(members, n, sizeof(*members), compare_members);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || compare_names(members[i], members[i + 1]) != 0)
            members[kept++] = members[i];
    *ret_n = kept;
    return members;
}
