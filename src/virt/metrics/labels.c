/*
 * kubevirt_vm_labels: the labels of a VM and of its template as labels of the metric. Which of them are reported says
 * ConfigMap kubevirt-vm-labels-config in the install namespace: `allowlist` ("*": all, the default) and `ignorelist`
 * (none by default, wins), both with commas between.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/metrics/metrics_internal.h"
#include <ctype.h>

const struct kube_metric_family metrics_vm_labels = {
    "kubevirt_vm_labels",
    "The metric exposes the VM labels as Prometheus labels. Configure allowed and ignored labels via the "
    "'kubevirt-vm-labels-config' ConfigMap.",
    KUBE_GAUGE,
    {"name", "namespace"},
};

/* ---- the rules ---- */

/* The parts between commas without blanks around; empty ones do not count. */
static size_t split_list(struct kb_arena *arena, const char *text, const char *const **ret)
{
    struct {
        size_t n;
        const char **items;
    } list = {0};
    while (*text) {
        text += strspn(text, " \t\r\n");
        size_t n = strcspn(text, ","), kept = n;
        while (kept > 0 && strchr(" \t\r\n", text[kept - 1]))
            kept--;
        if (kept > 0)
            *kb_vec_push(arena, &list) = kb_arena_strndup(arena, text, kept);
        text += n + (text[n] == ',');
    }
    *ret = list.items;
    return list.n;
}

struct metrics_label_rules metrics_label_rules(struct kb_arena *arena, const struct core_config_map *map)
{
    struct metrics_label_rules rules = {0};
    const char *allowed = map ? api_map_get(&map->data, "allowlist") : NULL;
    const char *ignored = map ? api_map_get(&map->data, "ignorelist") : NULL;
    rules.n_allowed = split_list(arena, allowed ? allowed : "*", &rules.allowed);
    rules.n_ignored = split_list(arena, ignored ? ignored : "", &rules.ignored);
    rules.allow_all = kb_in_list("*", rules.allowed, rules.n_allowed);
    return rules;
}

static bool is_reported(const struct metrics_label_rules *rules, const char *key)
{
    if (kb_in_list(key, rules->ignored, rules->n_ignored))
        return false;
    return rules->allow_all || kb_in_list(key, rules->allowed, rules->n_allowed);
}

/* ---- names ---- */

/* What Prometheus does not allow in a label's name becomes '_'; one that starts with a digit gets a '_' in front. */
static const char *label_name(struct kb_arena *arena, const char *key)
{
    bool starts_well = isalpha((unsigned char)key[0]) || (key[0] && !isdigit((unsigned char)key[0]));
    char *name = kb_arena_printf(arena, "label_%s%s", starts_well ? "" : "_", key);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return name;
}

/* Two keys may end in one name: the later one counts, as a sample can't have both. */
static void put(struct kb_arena *arena, const struct metrics_label_rules *rules, struct api_string_map *to,
                const struct api_string_map *labels)
{
    api_list_foreach (label, labels)
        if (is_reported(rules, label->key))
            api_map_set(arena, to, label_name(arena, label->key), label->value);
}

METRICS_SAMPLER(metrics_sample_labels)
{
    struct metrics_scrape *scrape = state;
    const struct kv_vm *vm = object;
    struct api_string_map found = {0};
    kb_arena_reset(scrape->scratch);
    put(scrape->scratch, &scrape->label_rules, &found, &vm->metadata.labels);
    if (vm->spec.template)
        put(scrape->scratch, &scrape->label_rules, &found, &vm->spec.template->metadata.labels);
    if (found.n == 0)
        return;
    const char **names = kb_arena_many(scrape->scratch, const char *, found.n);
    const char **values = kb_arena_many(scrape->scratch, const char *, found.n);
    for (size_t i = 0; i < found.n; i++) {
        names[i] = found.items[i].key;
        values[i] = found.items[i].value;
    }
    kube_exposition_sample_with(out, family, (const char *[]){vm->metadata.name, vm->metadata.namespace}, names, values,
                                found.n, 1);
}
