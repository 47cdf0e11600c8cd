/*
 * The scheduler: gives a Pod the node with the fewest Pods among those that it may run on. Minds: readiness to take
 * Pods (cordon, taints), node selectors, required node affinity, required Pod affinity and anti-affinity of the Pod
 * itself. Does not mind: resources, preferences, spread constraints, anti-affinity of the Pods that are there.
 */
#include "base/strings.h"
#include "lab/selectors.h"
#include "lab/sim/sim_internal.h"
#include <stdlib.h>

#define RETRY (5 * KB_NS_PER_S)

static bool waits(const struct lab_object *pod)
{
    return !pod->meta->deleting && !*pod->meta->fields[SIM_POD_NODE];
}

static bool in_values(yyjson_val *expression, const char *value)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(yyjson_obj_get(expression, "values"), i, n, v)
    {
        if (yyjson_equals_str(v, value))
            return true;
    }
    return false;
}

/* Whether `value` (NULL: absent) is on the wanted side of the expression's number. */
static bool compares(yyjson_val *expression, const char *value, bool greater)
{
    long long have, bound;
    const char *text = yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(expression, "values")));
    if (!value || !text || !kb_parse_int(value, INT64_MIN, INT64_MAX, &have) ||
        !kb_parse_int(text, INT64_MIN, INT64_MAX, &bound))
        return false;
    return greater ? have > bound : have < bound;
}

static bool expression_matches(yyjson_val *expression, const char *value)
{
    const char *op = lab_val_str(expression, "operator");
    if (kb_streq(op, "In"))
        return value && in_values(expression, value);
    if (kb_streq(op, "NotIn"))
        return !value || !in_values(expression, value);
    if (kb_streq(op, "Exists"))
        return value;
    if (kb_streq(op, "DoesNotExist"))
        return !value;
    return compares(expression, value, kb_streq(op, "Gt"));
}

static bool term_matches(const struct sim_node *node, yyjson_val *term)
{
    size_t i, n;
    yyjson_val *e, *labels = yyjson_obj_get(term, "matchExpressions"), *fields = yyjson_obj_get(term, "matchFields");
    yyjson_arr_foreach(labels, i, n, e)
    {
        if (!expression_matches(e, lab_meta_label(node->object->meta, lab_val_str(e, "key"))))
            return false;
    }
    yyjson_arr_foreach(fields, i, n, e)
    {
        if (!expression_matches(e, kb_streq(lab_val_str(e, "key"), "metadata.name") ? node->name : NULL))
            return false;
    }
    return yyjson_arr_size(labels) + yyjson_arr_size(fields) > 0;
}

static bool affinity_allows(const struct sim_node *node, yyjson_val *spec)
{
    size_t i, n;
    yyjson_val *term, *required = LAB_VAL_AT(spec, "affinity", "nodeAffinity", //
                                             "requiredDuringSchedulingIgnoredDuringExecution");
    yyjson_arr_foreach(yyjson_obj_get(required, "nodeSelectorTerms"), i, n, term)
    {
        if (term_matches(node, term))
            return true;
    }
    return !required;
}

static bool selector_allows(const struct sim_node *node, yyjson_val *spec)
{
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(yyjson_obj_get(spec, "nodeSelector"), i, n, key, value)
    {
        const char *have = lab_meta_label(node->object->meta, yyjson_get_str(key));
        if (!have || !yyjson_equals_str(value, have))
            return false;
    }
    return true;
}

static bool tolerates(yyjson_val *spec, yyjson_val *taint)
{
    size_t i, n;
    yyjson_val *t;
    yyjson_arr_foreach(yyjson_obj_get(spec, "tolerations"), i, n, t)
    {
        const char *key = lab_val_str(t, "key"), *effect = lab_val_str(t, "effect");
        bool exists = kb_streq(lab_val_str(t, "operator"), "Exists");
        if (*effect && !kb_streq(effect, lab_val_str(taint, "effect")))
            continue;
        if (*key ? !kb_streq(key, lab_val_str(taint, "key")) : !exists)
            continue;
        if (exists || kb_streq(lab_val_str(t, "value"), lab_val_str(taint, "value")))
            return true;
    }
    return false;
}

static bool taints_allow(const struct sim_node *node, yyjson_val *spec)
{
    size_t i, n;
    yyjson_val *taint;
    yyjson_arr_foreach(yyjson_obj_get(node->spec, "taints"), i, n, taint)
    {
        if (!kb_streq(lab_val_str(taint, "effect"), "PreferNoSchedule") && !tolerates(spec, taint))
            return false;
    }
    return true;
}

static bool allows(const struct sim_node *node, yyjson_val *spec)
{
    return node->object && !node->excluded && !yyjson_get_bool(yyjson_obj_get(node->spec, "unschedulable")) &&
           selector_allows(node, spec) && affinity_allows(node, spec) && taints_allow(node, spec);
}

/* The values of a topology key on nodes with Pods that a term selects. */
struct domains {
    size_t n, n_pods;
    const char **items;
};

static void find_domains(struct sim_act *a, yyjson_val *term, const char *namespace_, struct domains *ret)
{
    struct lab_object **pods;
    size_t n;
    const struct lab_selector *selector = lab_selector_of(a->arena, yyjson_obj_get(term, "labelSelector"));
    struct lab_ref ref = {.resource = "pods", .namespace_ = namespace_};
    *ret = (struct domains){0};
    if (lab_client_list(a->client, &ref, NULL, a->arena, &pods, &n, NULL) < 0)
        return;
    ret->items = kb_arena_many(a->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct lab_meta *m = pods[i]->meta;
        const char *name = m->fields[SIM_POD_NODE];
        if (*name && !kb_streq(m->uid, a->object->meta->uid) && lab_selector_matches(selector, m)) {
            struct sim_node *node = sim_node(a->sim, name);
            const char *v = node->object ? lab_meta_label(node->object->meta, lab_val_str(term, "topologyKey")) : NULL;
            if (v)
                ret->items[ret->n++] = kb_arena_strdup(a->arena, v);
            ret->n_pods++;
        }
        lab_object_unref(pods[i]);
    }
}

/* Excludes the nodes that a term of Pod affinity, or of anti-affinity, forbids. */
static void exclude_by_term(struct sim_act *a, yyjson_val *term, bool anti)
{
    const char *key = lab_val_str(term, "topologyKey"), *namespace_ = a->object->meta->namespace_;
    yyjson_val *others = yyjson_obj_get(term, "namespaces");
    struct domains d;
    if (yyjson_arr_size(others))
        namespace_ = yyjson_get_str(yyjson_arr_get_first(others));
    find_domains(a, term, namespace_, &d);
    const struct lab_selector *selector = lab_selector_of(a->arena, yyjson_obj_get(term, "labelSelector"));
    if (!anti && !d.n_pods && lab_selector_matches(selector, a->object->meta))
        return; /* the first of a group */
    for (size_t i = 0; i < a->sim->nodes.n; i++) {
        struct sim_node *node = a->sim->nodes.items[i];
        const char *value = node->object ? lab_meta_label(node->object->meta, key) : NULL;
        if ((value && kb_in_list(value, d.items, d.n)) == anti)
            node->excluded = true;
    }
}

static void exclude_by_pods(struct sim_act *a)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    for (size_t i = 0; i < a->sim->nodes.n; i++)
        a->sim->nodes.items[i]->excluded = false;
    for (int anti = 0; anti < 2; anti++) {
        size_t i, n;
        yyjson_val *term,
            *terms = LAB_VAL_AT(a->spec, "affinity", kinds[anti], "requiredDuringSchedulingIgnoredDuringExecution");
        yyjson_arr_foreach(terms, i, n, term)
        {
            exclude_by_term(a, term, anti);
        }
    }
}

static bool says_unschedulable(yyjson_val *status, const char *message)
{
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, c)
    {
        if (kb_streq(lab_val_str(c, "type"), "PodScheduled"))
            return kb_streq(lab_val_str(c, "message"), message);
    }
    return false;
}

static int report_unschedulable(struct sim_act *a, struct kube_error *reterr)
{
    size_t n = 0;
    for (size_t i = 0; i < a->sim->nodes.n; i++)
        n += a->sim->nodes.items[i]->object != NULL;
    const char *message = kb_arena_printf(
        a->arena,
        n ? "0/%zu nodes are available: none is schedulable and fits the Pod's node selector, affinity and "
            "tolerations."
          : "no nodes available to schedule pods",
        n);
    a->again = RETRY;
    if (says_unschedulable(a->status, message))
        return 0;
    struct lab_ref ref = a->ref;
    ref.subresource = "status";
    yyjson_mut_val *patch = yyjson_mut_obj(a->doc);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(a->doc, lab_mut_object(a->doc, patch, "status"), "conditions");
    yyjson_mut_val *c = yyjson_mut_arr_add_obj(a->doc, list);
    lab_mut_put_str(a->doc, c, "type", "PodScheduled");
    lab_mut_put_str(a->doc, c, "status", "False");
    lab_mut_put_str(a->doc, c, "reason", "Unschedulable");
    lab_mut_put_str(a->doc, c, "message", message);
    lab_mut_put_str(a->doc, c, "lastTransitionTime", a->now);
    return lab_client_patch(a->client, &ref, LAB_PATCH_STRATEGIC, patch, NULL, reterr);
}

static int bind_pod(struct sim_act *a, struct sim_node *node, struct kube_error *reterr)
{
    struct lab_ref ref = a->ref;
    ref.subresource = "binding";
    const char *body =
        lab_json_printf(a->arena, "{\"metadata\":{\"name\":\"%s\"},\"target\":{\"kind\":\"Node\",\"name\":\"%s\"}}",
                        a->ref.name, node->name);
    if (lab_client_create_text(a->client, &ref, body, NULL, reterr) < 0)
        return -1;
    sim_pod_moved(a->sim, a->object->meta->key, node);
    return 0;
}

static int schedule(struct sim_act *a, struct kube_error *reterr)
{
    if (yyjson_arr_size(yyjson_obj_get(a->spec, "schedulingGates")))
        return 0; /* their removal is a change of the Pod */
    exclude_by_pods(a);
    struct sim_node *best = NULL;
    for (size_t i = 0; i < a->sim->nodes.n; i++) {
        struct sim_node *node = a->sim->nodes.items[i];
        if (allows(node, a->spec) && (!best || node->pods < best->pods))
            best = node;
    }
    return best ? bind_pod(a, best, reterr) : report_unschedulable(a, reterr);
}

const struct sim_rule sim_scheduler_rules[] = {
    {LAB_PART_SCHEDULER, "pods", waits, schedule},
    {0},
};
