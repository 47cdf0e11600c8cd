/*
 * What one scrape of VMs or VMIs keeps: the configuration and the rules for labels at its begin, and scratch memory for
 * one object. Look-ups in other caches happen object by object.
 */
#include "api/meta.h"
#include "base/strings.h"
#include "base/time.h"
#include "virt/metrics/metrics_internal.h"
#include <ctype.h>

#define LABELS_CONFIG_MAP "kubevirt-vm-labels-config"

static struct metrics_label_rules read_label_rules(struct metrics_scrape *scrape)
{
    struct kube_store *store = metrics_store(scrape->metrics, VIRT_VM_LABELS_CONFIG);
    const struct api_object *map =
        kube_store_get(store, scrape->metrics->context->install_namespace, LABELS_CONFIG_MAP);
    struct metrics_label_rules rules = metrics_label_rules(scrape->arena, map ? api_object_data(map) : NULL);
    api_object_unref(map);
    return rules;
}

struct metrics_scrape *metrics_scrape_begin(struct virt_metrics *metrics, enum virt_informer informer,
                                            struct kube_objects *ret)
{
    struct kb_arena *arena = kb_arena_new();
    struct metrics_scrape *scrape = kb_arena_one(arena, struct metrics_scrape);
    scrape->metrics = metrics;
    scrape->arena = arena;
    scrape->scratch = kb_arena_new();
    if (metrics->leading)
        *ret = kube_store_list(metrics_store(metrics, informer), NULL);
    scrape->config = virt_config_current(metrics->context->config);
    scrape->label_rules = read_label_rules(scrape);
    return scrape;
}

void metrics_scrape_end(void *state)
{
    struct metrics_scrape *scrape = state;
    virt_config_unref(scrape->config);
    kb_arena_free(scrape->scratch);
    kb_arena_free(scrape->arena);
}

bool metrics_unix_seconds(const char *time, int64_t *ret)
{
    int64_t ns;
    if (kb_empty(time) || !kb_time_parse(time, &ns) || ns == INT64_MIN || ns == INT64_MAX)
        return false;
    *ret = ns / KB_NS_PER_S - (ns % KB_NS_PER_S < 0);
    return true;
}

const char *metrics_lower(struct metrics_scrape *scrape, const char *text)
{
    char *lower = kb_arena_strdup(scrape->scratch, text);
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return lower;
}

const char *metrics_system_info(const struct api_string_map *annotations, const char *name)
{
    char key[64] = "vm.kubevirt.io/";
    strncat(key, name, sizeof key - strlen(key) - 1);
    const char *value = api_map_get(annotations, key);
    return value ? value : "";
}

const char *metrics_vendor_name(struct metrics_scrape *scrape, enum virt_informer informer, const char *namespace_,
                                const char *name)
{
    static const char *const known[] = {"kubevirt.io", "redhat.com"};
    const struct api_object *object = kube_store_get(metrics_store(scrape->metrics, informer), namespace_, name);
    const char *result = "<other>";
    if (object) {
        const struct api_any *any = api_object_data(object);
        const char *vendor = api_map_get(&any->metadata.labels, "instancetype.kubevirt.io/vendor");
        if (vendor && kb_in_list(vendor, known, KB_ARRAY_LEN(known)))
            result = kb_arena_strdup(scrape->scratch, any->metadata.name);
    }
    api_object_unref(object);
    return result;
}
