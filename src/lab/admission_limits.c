/*
 * LimitRanges: defaults for containers, and their bounds.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/admission.h"
#include "lab/json.h"
#include <stdlib.h>

struct limits {
    struct lab_write *w;
    yyjson_val *limit; /* one item of a LimitRange */
    const char *prefix;
    struct kb_strbuf note; /* what was set, for an annotation */
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sets what is missing, and notes it: "cpu, memory limit for container compute". */
static void add_missing(struct limits *l, yyjson_mut_val *container, const char *member, yyjson_val *defaults)
{
    struct lab_write *w = l->w;
    struct {
        size_t n;
        const char **items;
    } set = {0};
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(defaults, i, n, key, value)
    {
        yyjson_mut_val *list = lab_mut_object(w->doc, lab_mut_object(w->doc, container, "resources"), member);
        if (yyjson_mut_obj_get(list, yyjson_get_str(key)))
            continue;
        lab_mut_put(w->doc, list, yyjson_get_str(key), yyjson_val_mut_copy(w->doc, value));
        *kb_vec_push(w->arena, &set) = yyjson_get_str(key);
    }
    if (!set.n)
        return;
    qsort(set.items, set.n, sizeof(*set.items), by_text);
    kb_strbuf_printf(&l->note, "%s%s %.*s for %s %s",
                     l->note.length ? "; " : "LimitRanger plugin set: ", kb_join(w->arena, set.items, set.n, ", "),
                     (int)strlen(member) - 1, member, l->prefix, lab_mut_str(container, "name"));
}

static int compare_text(const char *a, const char *b)
{
    return kb_quantity_compare(kb_quantity_of(a), kb_quantity_of(b));
}

/* "maximum memory usage per Container is 1Gi, but limit is 2Gi" */
static int check_bounds(struct limits *l, yyjson_mut_val *resources)
{
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_mut_val *limits = yyjson_mut_obj_get(resources, "limits");
    yyjson_mut_val *requests = yyjson_mut_obj_get(resources, "requests");
    yyjson_obj_foreach(yyjson_obj_get(l->limit, "max"), i, n, key, value)
    {
        const char *name = yyjson_get_str(key), *max = yyjson_get_str(value), *have = lab_mut_str(limits, name);
        if (!*have)
            return lab_fail_forbidden(l->w->call, "maximum %s usage per Container is %s.  No limit is specified", name,
                                      max);
        if (compare_text(have, max) > 0)
            return lab_fail_forbidden(l->w->call, "maximum %s usage per Container is %s, but limit is %s", name, max,
                                      have);
    }
    yyjson_obj_foreach(yyjson_obj_get(l->limit, "min"), i, n, key, value)
    {
        const char *name = yyjson_get_str(key), *min = yyjson_get_str(value), *have = lab_mut_str(requests, name);
        if (!*have)
            return lab_fail_forbidden(l->w->call, "minimum %s usage per Container is %s.  No request is specified",
                                      name, min);
        if (compare_text(have, min) < 0)
            return lab_fail_forbidden(l->w->call, "minimum %s usage per Container is %s, but request is %s", name, min,
                                      have);
    }
    return 0;
}

static int admit_containers(struct limits *l, const char *prefix, yyjson_mut_val *containers)
{
    size_t i, n;
    l->prefix = prefix;
    yyjson_mut_val *c;
    yyjson_mut_arr_foreach(containers, i, n, c)
    {
        add_missing(l, c, "requests", yyjson_obj_get(l->limit, "defaultRequest"));
        add_missing(l, c, "limits", yyjson_obj_get(l->limit, "default"));
        if (check_bounds(l, yyjson_mut_obj_get(c, "resources")) < 0)
            return -1;
    }
    return 0;
}

int lab_admit_limits(struct lab_write *w)
{
    yyjson_val **ranges;
    size_t n = lab_admission_list(w, "limitranges", w->call->namespace_, &ranges), i, m;
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec");
    struct limits l = {.w = w, .note.arena = w->arena};
    for (size_t k = 0; k < n; k++) {
        yyjson_arr_foreach(LAB_VAL_AT(ranges[k], "spec", "limits"), i, m, l.limit)
        {
            if (!kb_streq(lab_val_str(l.limit, "type"), "Container"))
                continue;
            if (admit_containers(&l, "container", yyjson_mut_obj_get(spec, "containers")) < 0 ||
                admit_containers(&l, "init container", yyjson_mut_obj_get(spec, "initContainers")) < 0)
                return -1;
        }
    }
    if (l.note.length)
        lab_mut_put_str(w->doc, lab_mut_object(w->doc, w->metadata, "annotations"), "kubernetes.io/limit-ranger",
                        kb_strbuf_text(&l.note));
    return 0;
}
