/*
 * Interfaces of a VMI between its spec, its Pod's report and its status.
 */
#include "virt/network/interfaces.h"

#include "api/codec.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/network/names.h"
#include <stdlib.h>

/* Words of infoSource, joined by ", ". */
#define SOURCE_MULTUS    "multus-status"
#define SOURCE_DOMAIN    "domain"
#define SOURCE_SEPARATOR ", "

/* ---- infoSource ---- */

/* The words of a list, without one of them; ret_had tells whether it was there. */
static const char *without_source(struct kb_arena *arena, const char *sources, const char *word, bool *ret_had)
{
    struct kb_strbuf rest = {.arena = arena};

    *ret_had = false;
    for (const char *s = sources, *end; s && *s; s = end ? end + strlen(SOURCE_SEPARATOR) : NULL) {
        const size_t n = (end = strstr(s, SOURCE_SEPARATOR)) ? (size_t)(end - s) : strlen(s);

        if (n == strlen(word) && strncmp(s, word, n) == 0) {
            *ret_had = true;
            continue;
        }
        if (rest.length > 0)
            kb_strbuf_puts(&rest, SOURCE_SEPARATOR);
        kb_strbuf_append(&rest, s, n);
    }
    return kb_strbuf_text(&rest);
}

static bool has_source(struct kb_arena *arena, const char *sources, const char *word)
{
    bool had;

    without_source(arena, sources, word, &had);
    return had;
}

static const char *with_source(struct kb_arena *arena, const char *sources, const char *word)
{
    if (!*sources)
        return word;
    return has_source(arena, sources, word) ? sources
                                            : kb_arena_printf(arena, "%s" SOURCE_SEPARATOR "%s", sources, word);
}

/* ---- status ---- */

static struct kv_vmi_network_interface *add_entry(struct kb_arena *arena, struct kv_vmi_network_interface_list *to,
                                                  const struct kv_vmi_network_interface *known, const char *name)
{
    static const struct kv_vmi_network_interface empty = {
        .ip_address = "",
        .mac = "",
        .name = "",
        .pod_interface_name = "",
        .interface_name = "",
        .info_source = "",
        .link_state = "",
    };
    struct kv_vmi_network_interface *entry = kb_vec_push(arena, to);

    *entry = known ? *known : empty;
    entry->name = name;
    return entry;
}

static const char *primary_pod_interface(const struct virt_network_statuses *statuses)
{
    for (size_t i = 0; i < statuses->n; i++)
        if (statuses->items[i].default_ && *statuses->items[i].interface)
            return statuses->items[i].interface;
    return VIRT_PRIMARY_POD_INTERFACE;
}

static void add_secondary(struct kb_arena *arena, struct kv_vmi_network_interface_list *to, const struct kv_vmi *vmi,
                          const struct kv_network *network, const struct virt_network_statuses *statuses)
{
    const struct kv_vmi_network_interface *known = virt_interface_status(vmi, network->name);
    const char *pod_interface =
        virt_pod_interface(arena, &vmi->spec.networks, network->name, virt_pod_has_ordinal_names(statuses));
    const bool reported = virt_network_status(statuses, pod_interface) != NULL;
    struct kv_vmi_network_interface *entry;
    bool had;

    if (!reported && !known)
        return;
    entry = add_entry(arena, to, known, network->name);
    entry->pod_interface_name = pod_interface;
    entry->info_source = reported ? with_source(arena, entry->info_source, SOURCE_MULTUS)
                                  : without_source(arena, entry->info_source, SOURCE_MULTUS, &had);
}

void virt_set_interface_status(struct kb_arena *arena, struct kv_vmi *vmi, const struct core_pod *pod)
{
    const struct virt_network_statuses statuses = virt_pod_network_statuses(arena, pod);
    const struct kv_network *primary = virt_default_network(&vmi->spec.networks);
    struct kv_vmi_network_interface_list entries = {0};

    if (primary)
        add_entry(arena, &entries, virt_interface_status(vmi, primary->name), primary->name)->pod_interface_name =
            primary_pod_interface(&statuses);
    api_list_foreach (network, &vmi->spec.networks)
        if (virt_network_is_secondary(network))
            add_secondary(arena, &entries, vmi, network, &statuses);
    for (int claims = 1; claims >= 0; claims--) /* networks from resource claims, then what no network owns */
        api_list_foreach (known, &vmi->status.interfaces) {
            const struct kv_network *network = virt_network(&vmi->spec.networks, known->name);

            if (claims ? network && network->resource_claim : !network)
                *kb_vec_push(arena, &entries) = *known;
        }
    vmi->status.interfaces = entries;
}

static int by_name(const void *a, const void *b)
{
    const struct kv_vmi_network_interface *const *left = a, *const *right = b;
    const int order = strcmp((*left)->name, (*right)->name);

    return order ? order : (*left > *right) - (*left < *right);
}

static const struct kv_vmi_network_interface **sorted(const struct kv_vmi *vmi)
{
    const size_t n = vmi->status.interfaces.n;
    const struct kv_vmi_network_interface **entries = kb_malloc(n * sizeof *entries + 1);

    for (size_t i = 0; i < n; i++)
        entries[i] = &vmi->status.interfaces.items[i];
    qsort(entries, n, sizeof *entries, by_name);
    return entries;
}

bool virt_interfaces_equal(const struct kv_vmi *a, const struct kv_vmi *b)
{
    const size_t n = a->status.interfaces.n;
    kb_cleanup_free const struct kv_vmi_network_interface **left = sorted(a);
    kb_cleanup_free const struct kv_vmi_network_interface **right = sorted(b);

    if (n != b->status.interfaces.n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!api_equal(&kv_vmi_network_interface_type, left[i], right[i]))
            return false;
    return true;
}

/* ---- migration ---- */

static bool is_nad(const char *in_spec, const char *in_report, const char *namespace_)
{
    const char *rest;

    if (kb_streq(in_spec, in_report))
        return true;
    if (strchr(in_spec, '/'))
        return false;
    rest = kb_after_prefix(in_report, namespace_);
    return rest && *rest == '/' && kb_streq(rest + 1, in_spec);
}

static enum virt_network_need need_of(struct kb_arena *arena, const struct kv_vmi *vmi,
                                      const struct kv_network *network, const struct kv_interface *interface,
                                      const struct virt_network_statuses *statuses)
{
    const struct kv_vmi_network_interface *status = virt_interface_status(vmi, network->name);
    const bool absent = kb_streq(interface->state, VIRT_INTERFACE_ABSENT);
    const struct nad_network_status *report;

    if (!absent && !status)
        return interface->sriov ? VIRT_NETWORK_MIGRATE_NOW : VIRT_NETWORK_MIGRATE_LATER;
    if (!status)
        return VIRT_NETWORK_NO_MIGRATION;
    if (absent && has_source(arena, status->info_source, SOURCE_MULTUS) &&
        !has_source(arena, status->info_source, SOURCE_DOMAIN))
        return VIRT_NETWORK_MIGRATE_LATER;
    report = *status->pod_interface_name ? virt_network_status(statuses, status->pod_interface_name) : NULL;
    if (report && !is_nad(network->multus->network_name, report->name, vmi->metadata.namespace))
        return VIRT_NETWORK_MIGRATE_NOW;
    return VIRT_NETWORK_NO_MIGRATION;
}

static const struct kv_interface *interface_of(const struct kv_vmi *vmi, const char *network)
{
    api_list_foreach (interface, &vmi->spec.domain.devices.interfaces)
        if (kb_streq(interface->name, network))
            return interface;
    return NULL;
}

enum virt_network_need virt_network_need(struct kb_arena *arena, const struct kv_vmi *vmi, const struct core_pod *pod)
{
    const struct virt_network_statuses statuses = virt_pod_network_statuses(arena, pod);

    api_list_foreach (network, &vmi->spec.networks) {
        const struct kv_interface *interface = interface_of(vmi, network->name);
        enum virt_network_need need = VIRT_NETWORK_NO_MIGRATION;

        if (virt_network_is_secondary(network) && interface)
            need = need_of(arena, vmi, network, interface, &statuses);
        if (need != VIRT_NETWORK_NO_MIGRATION)
            return need;
    }
    return VIRT_NETWORK_NO_MIGRATION;
}
