/*
 * Validation of what places a Pod: affinity, tolerations, topology spread.
 */
#include "base/strings.h"
#include "lab/json.h"
#include "lab/names.h"
#include "lab/validate.h"

static bool takes_values(const char *operator)
{
    return kb_streq(operator, "In") || kb_streq(operator, "NotIn");
}

static void check_requirement(struct lab_pod_check *c, yyjson_mut_val *r, const char *path, bool node)
{
    static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    const char *key = lab_mut_str(r, "key"), *op = lab_mut_str(r, "operator");
    size_t n = yyjson_mut_arr_size(yyjson_mut_obj_get(r, "values"));
    if (!kb_in_list(op, operators, node ? 6 : 4))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.operator", path), kb_quote(c->arena, op),
                          "not a valid selector operator");
    else if (takes_values(op) && !n)
        lab_cause_required(c->call, LAB_PATH(c, "%s.values", path),
                           "must be specified when `operator` is 'In' or 'NotIn'");
    else if ((kb_streq(op, "Gt") || kb_streq(op, "Lt")) && n != 1)
        lab_cause_required(c->call, LAB_PATH(c, "%s.values", path),
                           "must be specified single value when `operator` is 'Lt' or 'Gt'");
    else if ((kb_streq(op, "Exists") || kb_streq(op, "DoesNotExist")) && n)
        lab_cause_forbidden(c->call, LAB_PATH(c, "%s.values", path),
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    lab_qualified_name_validate(c->call, LAB_PATH(c, "%s.key", path), key);
}

static void check_requirements(struct lab_pod_check *c, yyjson_mut_val *list, const char *path, bool node)
{
    size_t i, n;
    yyjson_mut_val *r;
    yyjson_mut_arr_foreach(list, i, n, r)
    {
        check_requirement(c, r, LAB_PATH(c, "%s[%zu]", path, i), node);
    }
}

static void check_node_term(struct lab_pod_check *c, yyjson_mut_val *term, const char *path)
{
    check_requirements(c, yyjson_mut_obj_get(term, "matchExpressions"), LAB_PATH(c, "%s.matchExpressions", path), true);
    size_t i, n;
    yyjson_mut_val *f;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(term, "matchFields"), i, n, f)
    {
        if (!kb_streq(lab_mut_str(f, "key"), "metadata.name"))
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.matchFields[%zu].key", path, i),
                              kb_quote(c->arena, lab_mut_str(f, "key")), "not a valid field selector key");
    }
}

static void check_weight(struct lab_pod_check *c, yyjson_mut_val *item, const char *path)
{
    int64_t weight = yyjson_mut_get_sint(yyjson_mut_obj_get(item, "weight"));
    if (weight < 1 || weight > 100)
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.weight", path), LAB_PATH(c, "%lld", (long long)weight),
                          "must be in the range 1-100");
}

static void check_node_affinity(struct lab_pod_check *c, yyjson_mut_val *affinity, const char *path)
{
    yyjson_mut_val *must = yyjson_mut_obj_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), *t;
    yyjson_mut_val *terms = yyjson_mut_obj_get(must, "nodeSelectorTerms");
    const char *at = LAB_PATH(c, "%s.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", path);
    size_t i, n;
    if (must && !yyjson_mut_arr_size(terms))
        lab_cause_required(c->call, at, "must have at least one node selector term");
    yyjson_mut_arr_foreach(terms, i, n, t)
    {
        check_node_term(c, t, LAB_PATH(c, "%s[%zu]", at, i));
    }
    at = LAB_PATH(c, "%s.preferredDuringSchedulingIgnoredDuringExecution", path);
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(affinity, "preferredDuringSchedulingIgnoredDuringExecution"), i, n, t)
    {
        check_weight(c, t, LAB_PATH(c, "%s[%zu]", at, i));
        check_node_term(c, yyjson_mut_obj_get(t, "preference"), LAB_PATH(c, "%s[%zu].preference", at, i));
    }
}

static void check_selector(struct lab_pod_check *c, yyjson_mut_val *selector, const char *path)
{
    lab_labels_check(c->call, yyjson_mut_obj_get(selector, "matchLabels"), LAB_PATH(c, "%s.matchLabels", path));
    check_requirements(c, yyjson_mut_obj_get(selector, "matchExpressions"), LAB_PATH(c, "%s.matchExpressions", path),
                       false);
}

static void check_pod_term(struct lab_pod_check *c, yyjson_mut_val *term, const char *path)
{
    const char *key = lab_mut_str(term, "topologyKey");
    check_selector(c, yyjson_mut_obj_get(term, "labelSelector"), LAB_PATH(c, "%s.labelSelector", path));
    if (!*key)
        lab_cause_required(c->call, LAB_PATH(c, "%s.topologyKey", path), "can not be empty");
    lab_qualified_name_validate(c->call, LAB_PATH(c, "%s.topologyKey", path), key);
}

static void check_pod_affinity(struct lab_pod_check *c, yyjson_mut_val *affinity, const char *path)
{
    const char *at = LAB_PATH(c, "%s.requiredDuringSchedulingIgnoredDuringExecution", path);
    size_t i, n;
    yyjson_mut_val *t;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), i, n, t)
    {
        check_pod_term(c, t, LAB_PATH(c, "%s[%zu]", at, i));
    }
    at = LAB_PATH(c, "%s.preferredDuringSchedulingIgnoredDuringExecution", path);
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(affinity, "preferredDuringSchedulingIgnoredDuringExecution"), i, n, t)
    {
        check_weight(c, t, LAB_PATH(c, "%s[%zu]", at, i));
        check_pod_term(c, yyjson_mut_obj_get(t, "podAffinityTerm"), LAB_PATH(c, "%s[%zu].podAffinityTerm", at, i));
    }
}

static void check_toleration(struct lab_pod_check *c, yyjson_mut_val *t, const char *path)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    const char *key = lab_mut_str(t, "key"), *op = lab_mut_str(t, "operator");
    if (*key)
        lab_qualified_name_validate(c->call, LAB_PATH(c, "%s.key", path), key);
    if (!*key && !kb_streq(op, "Exists"))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.operator", path), kb_quote(c->arena, op),
                          "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (yyjson_mut_obj_get(t, "tolerationSeconds") && !kb_streq(lab_mut_str(t, "effect"), "NoExecute"))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.effect", path), kb_quote(c->arena, lab_mut_str(t, "effect")),
                          "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (kb_streq(op, "Exists") && *lab_mut_str(t, "value"))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.operator", path), kb_quote(c->arena, lab_mut_str(t, "value")),
                          "value must be empty when `operator` is 'Exists'");
    else if (*op && !kb_streq(op, "Exists") && !kb_streq(op, "Equal"))
        lab_cause_unsupported(c->call, LAB_PATH(c, "%s.operator", path), kb_quote(c->arena, op),
                              "\"Equal\", \"Exists\"");
    lab_validate_one_of(c, t, "effect", path, effects, KB_ARRAY_LEN(effects));
}

static void check_spread(struct lab_pod_check *c, yyjson_mut_val *s, const char *path)
{
    static const char *const actions[] = {"DoNotSchedule", "ScheduleAnyway"};
    if (yyjson_mut_get_sint(yyjson_mut_obj_get(s, "maxSkew")) < 1)
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.maxSkew", path), "0", "must be greater than zero");
    if (!*lab_mut_str(s, "topologyKey"))
        lab_cause_required(c->call, LAB_PATH(c, "%s.topologyKey", path), "can not be empty");
    if (!*lab_mut_str(s, "whenUnsatisfiable"))
        lab_cause_unsupported(c->call, LAB_PATH(c, "%s.whenUnsatisfiable", path), "\"\"",
                              "\"DoNotSchedule\", \"ScheduleAnyway\"");
    lab_validate_one_of(c, s, "whenUnsatisfiable", path, actions, KB_ARRAY_LEN(actions));
    check_selector(c, yyjson_mut_obj_get(s, "labelSelector"), LAB_PATH(c, "%s.labelSelector", path));
}

void lab_validate_scheduling(struct lab_pod_check *c, const char *path)
{
    yyjson_mut_val *affinity = yyjson_mut_obj_get(c->spec, "affinity"), *item;
    size_t i, n;
    check_node_affinity(c, yyjson_mut_obj_get(affinity, "nodeAffinity"), LAB_PATH(c, "%s.affinity.nodeAffinity", path));
    check_pod_affinity(c, yyjson_mut_obj_get(affinity, "podAffinity"), LAB_PATH(c, "%s.affinity.podAffinity", path));
    check_pod_affinity(c, yyjson_mut_obj_get(affinity, "podAntiAffinity"),
                       LAB_PATH(c, "%s.affinity.podAntiAffinity", path));
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(c->spec, "tolerations"), i, n, item)
    {
        check_toleration(c, item, LAB_PATH(c, "%s.tolerations[%zu]", path, i));
    }
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(c->spec, "topologySpreadConstraints"), i, n, item)
    {
        check_spread(c, item, LAB_PATH(c, "%s.topologySpreadConstraints[%zu]", path, i));
    }
}
