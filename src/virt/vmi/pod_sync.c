/*
 * The launcher Pod as its instance wants it: labels and annotations that follow the VMI over time, marks for the
 * descheduler, and the readiness gate that takes a paused guest out of its services. One patch of what differs.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/strings.h"
#include "base/vec.h"
#include "virt/conditions.h"
#include "virt/follow.h"
#include "virt/names.h"
#include "virt/network/multus.h"

/* ---- what should stand there ---- */

static struct api_string_map copy_of(struct kb_arena *arena, const struct api_string_map *map)
{
    struct api_string_map copy = {0};

    api_list_foreach (entry, map)
        *kb_vec_push(arena, &copy) = *entry;
    return copy;
}

static struct api_string_map wanted_labels(struct vmi_pass *p, const struct kv_vmi *after)
{
    static const char *own[] = {VIRT_LABEL_NODE_NAME, VIRT_LABEL_OUTDATED_IMAGE};
    struct api_string_map labels = copy_of(p->arena, &p->pod->metadata.labels);

    virt_follow(p->arena, &after->metadata.labels, &labels, &(struct api_strings){KB_ARRAY_LEN(own), own});
    virt_follow(p->arena, &after->metadata.labels, &labels, &p->controller->context->synced_labels);
    return labels;
}

static void mark_for_descheduler(struct vmi_pass *p, const struct kv_vmi *after, struct api_string_map *annotations)
{
    api_map_set(p->arena, annotations, VMI_ANNOTATION_EVICT_ONLY, "");
    if (!*after->status.evacuation_node_name)
        api_map_delete(annotations, VMI_ANNOTATION_EVICTING);
    else if (!api_map_has(annotations, VMI_ANNOTATION_EVICTING))
        api_map_set(p->arena, annotations, VMI_ANNOTATION_EVICTING, "true");
}

static struct api_string_map wanted_annotations(struct vmi_pass *p, const struct kv_vmi *after)
{
    static const char *own[] = {VMI_ANNOTATION_EVICT, VMI_ANNOTATION_PREFER_NO_EVICT};
    const struct api_strings hooks = {VIRT_N_BACKUP_HOOK_ANNOTATIONS,
                                      (const char **)(uintptr_t)virt_backup_hook_annotations};
    struct api_string_map annotations = copy_of(p->arena, &p->pod->metadata.annotations);
    struct api_string_map from = copy_of(p->arena, &after->metadata.annotations);

    virt_backup_hook_pod_annotations(p->arena, p->config->kubevirt, after, &from);
    virt_follow(p->arena, &from, &annotations, &(struct api_strings){KB_ARRAY_LEN(own), own});
    virt_follow(p->arena, &from, &annotations, &p->controller->context->synced_annotations);
    virt_follow(p->arena, &from, &annotations, &hooks);
    if (p->serves) {
        mark_for_descheduler(p, after, &annotations);
        virt_active_pod_networks(p->arena, p->config, p->vmi, p->pod, &annotations);
    }
    return annotations;
}

/* NULL: it stays as it is. */
static const struct core_pod_condition *wanted_gate(struct vmi_pass *p, const struct kv_vmi *after)
{
    const bool paused = virt_vmi_condition_is(after, VMI_PAUSED, VIRT_TRUE);
    const bool open = virt_pod_condition_is(p->pod, VMI_POD_UNPAUSED, VIRT_TRUE);
    const char *now = kube_now_text(p->request);
    struct core_pod_condition *gate;

    if (paused != open)
        return NULL;
    gate = kb_arena_one(p->arena, struct core_pod_condition);
    *gate = (struct core_pod_condition){
        .type = VMI_POD_UNPAUSED,
        .status = paused ? VIRT_FALSE : VIRT_TRUE,
        .last_probe_time = now,
        .last_transition_time = now,
        .reason = paused ? VMI_REASON_PAUSED : VMI_REASON_NOT_PAUSED,
        .message = paused ? "the virtual machine is paused" : "the virtual machine is not paused",
    };
    return gate;
}

/* ---- the patch ---- */

static void put_text(struct kb_strbuf *to, const char *text)
{
    kb_strbuf_json_string(to, text, strlen(text));
}

static void put_entry(struct kb_strbuf *to, const char *key, const char *value)
{
    if (to->length > 0)
        kb_strbuf_putc(to, ',');
    put_text(to, key);
    kb_strbuf_putc(to, ':');
    if (value)
        put_text(to, value);
    else
        kb_strbuf_puts(to, "null");
}

/* The entries that differ, as the inside of an object; "" when none does. */
static const char *difference(struct kb_arena *arena, const struct api_string_map *is,
                              const struct api_string_map *wanted)
{
    struct kb_strbuf changes = {.arena = arena};

    api_list_foreach (entry, wanted)
        if (!kb_streq_null(api_map_get(is, entry->key), entry->value))
            put_entry(&changes, entry->key, entry->value);
    api_list_foreach (entry, is)
        if (!api_map_has(wanted, entry->key))
            put_entry(&changes, entry->key, NULL);
    return kb_strbuf_text(&changes);
}

static void put_member(struct kb_strbuf *to, const char *name, const char *inside)
{
    if (!*inside)
        return;
    if (to->length > 0)
        kb_strbuf_putc(to, ',');
    kb_strbuf_printf(to, "\"%s\":{%s}", name, inside);
}

static const char *metadata_changes(struct vmi_pass *p, const struct kv_vmi *after)
{
    const struct api_string_map labels = wanted_labels(p, after);
    const struct api_string_map annotations = wanted_annotations(p, after);
    struct kb_strbuf changes = {.arena = p->arena};

    put_member(&changes, "labels", difference(p->arena, &p->pod->metadata.labels, &labels));
    put_member(&changes, "annotations", difference(p->arena, &p->pod->metadata.annotations, &annotations));
    return kb_strbuf_text(&changes);
}

int vmi_sync_pod(struct vmi_pass *p, const struct kv_vmi *after, struct kube_error *reterr)
{
    const struct core_pod_condition *gate = wanted_gate(p, after);
    struct kb_strbuf changes = {.arena = p->arena};
    const char *patch;

    put_member(&changes, "metadata", metadata_changes(p, after));
    if (gate)
        put_member(&changes, "status",
                   kb_arena_printf(p->arena, "\"conditions\":[%s]",
                                   api_encode_text(p->arena, &core_pod_condition_type, gate, 0)));
    if (changes.length == 0)
        return 0;
    /* The status subresource of a Pod takes metadata, too: one request for both. Conditions merge by their type. */
    patch = kb_arena_printf(p->arena, "{%s}", kb_strbuf_text(&changes));
    return kube_patch(p->request, &core_pod_type, p->pod, gate ? "status" : NULL,
                      gate ? KUBE_STRATEGIC_PATCH : KUBE_MERGE_PATCH, patch, (const void **)&p->pod, reterr);
}
