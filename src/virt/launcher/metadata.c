/*
 * Labels, annotations and owner of the launcher Pod.
 */
#include "api/meta.h"
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include "virt/names.h"

enum {
    MAX_LABEL = 63,
    ID_HASH = 8 /* hexadecimal digits that make a cut name unique */
};

/* ---- labels ---- */

/* The VMI's name as a label value: long ones are cut and end with a part of their SHA-1. */
static const char *vmi_id(struct kb_arena *arena, const char *name)
{
    char hash[KB_SHA1_HEX];

    if (strlen(name) <= MAX_LABEL)
        return name;
    kb_sha1_hex(name, strlen(name), hash);
    return kb_arena_printf(arena, "%.*s-%.*s", MAX_LABEL - ID_HASH - 1, name, ID_HASH, hash);
}

static void put_all(struct kb_arena *arena, struct api_string_map *to, const struct api_string_map *from)
{
    api_list_foreach (entry, from)
        api_map_set(arena, to, entry->key, entry->value);
}

static void put_labels(struct launcher *l, struct api_string_map *labels)
{
    const struct meta_object_meta *vmi = &l->vmi->metadata;
    const char *istio = api_map_get(&vmi->annotations, LAUNCHER_ISTIO_INJECT);

    put_all(l->arena, labels, &vmi->labels);
    api_map_set(l->arena, labels, VIRT_LABEL_APP, "virt-launcher");
    api_map_set(l->arena, labels, VIRT_LABEL_CREATED_BY, vmi->uid);
    api_map_set(l->arena, labels, VIRT_LABEL_VM_NAME, virt_vmi_hostname(l->arena, l->vmi));
    api_map_set(l->arena, labels, VIRT_LABEL_VMI_ID, vmi_id(l->arena, vmi->name));
    if (istio)
        api_map_set(l->arena, labels, LAUNCHER_ISTIO_INJECT, istio);
    put_all(l->arena, labels, &l->reservation_labels);
}

int launcher_find_reservations(struct launcher *l, struct kube_error *reterr)
{
    api_list_foreach (disk, &l->vmi->spec.domain.devices.disks) {
        const struct kv_volume *volume;
        const struct core_pvc *pvc = NULL;
        const char *claim;

        if (!disk->lun || !disk->lun->reservation)
            continue;
        volume = launcher_volume_named(l->vmi, disk->name);
        claim = volume ? virt_volume_claim(volume) : "";
        if (!*claim)
            continue;
        if (launcher_pvc(l, claim, &pvc, reterr) < 0)
            return kube_error_wrap(reterr, "failed to get PVC %s/%s", l->vmi->metadata.namespace, claim);
        if (pvc)
            api_map_set(l->arena, &l->reservation_labels,
                        kb_arena_printf(l->arena, LAUNCHER_LABEL_RESERVATION_PREFIX "%s", pvc->metadata.uid), "");
    }
    return 0;
}

/* ---- annotations ---- */

static void put_annotations_of_vmi(struct launcher *l, struct api_string_map *annotations)
{
    static const char *const left_out[] = {"kubectl.kubernetes.io", VIRT_ANNOTATION_STORAGE_API,
                                           VIRT_ANNOTATION_LATEST_API}; /* prefixes */

    api_list_foreach (entry, &l->vmi->metadata.annotations) {
        bool copied = true;

        for (size_t i = 0; i < KB_ARRAY_LEN(left_out); i++)
            copied = copied && !kb_starts_with(entry->key, left_out[i]);
        if (copied)
            api_map_set(l->arena, annotations, entry->key, entry->value);
    }
}

/* Go's strconv.ParseBool; anything else is false. */
static bool parse_bool(const char *text)
{
    static const char *const trues[] = {"1", "t", "T", "TRUE", "true", "True"};

    return text && kb_in_list(text, trues, KB_ARRAY_LEN(trues));
}

static const char *freezer_command(struct kb_arena *arena, const struct kv_vmi *vmi, const char *verb)
{
    return kb_arena_printf(arena, "[\"/usr/bin/virt-freezer\", \"--%s\", \"--name\", %s, \"--namespace\", %s]", verb,
                           kb_quote(arena, vmi->metadata.name), kb_quote(arena, vmi->metadata.namespace));
}

const char *const virt_backup_hook_annotations[VIRT_N_BACKUP_HOOK_ANNOTATIONS] = {
    "pre.hook.backup.velero.io/container",  "pre.hook.backup.velero.io/command",  "pre.hook.backup.velero.io/timeout",
    "post.hook.backup.velero.io/container", "post.hook.backup.velero.io/command",
};

void virt_backup_hook_pod_annotations(struct kb_arena *arena, const struct kv_kube_virt *kubevirt,
                                      const struct kv_vmi *vmi, struct api_string_map *annotations)
{
    const char *skip = api_map_get(&vmi->metadata.annotations, VIRT_ANNOTATION_SKIP_BACKUP_HOOKS);
    const char *const *keys = virt_backup_hook_annotations;

    if (!skip && kubevirt)
        skip = api_map_get(&kubevirt->metadata.annotations, VIRT_ANNOTATION_SKIP_BACKUP_HOOKS);
    if (parse_bool(skip))
        return;
    api_map_set(arena, annotations, keys[0], LAUNCHER_COMPUTE);
    api_map_set(arena, annotations, keys[1], freezer_command(arena, vmi, "freeze"));
    api_map_set(arena, annotations, keys[2], "60s");
    api_map_set(arena, annotations, keys[3], LAUNCHER_COMPUTE);
    api_map_set(arena, annotations, keys[4], freezer_command(arena, vmi, "unfreeze"));
}

static int put_annotations(struct launcher *l, struct api_string_map *annotations, struct kube_error *reterr)
{
    api_map_set(l->arena, annotations, VIRT_ANNOTATION_DOMAIN, l->vmi->metadata.name);
    put_annotations_of_vmi(l, annotations);
    api_map_set(l->arena, annotations, LAUNCHER_ANNOTATION_DEFAULT_CONTAINER, LAUNCHER_COMPUTE);
    api_map_set(l->arena, annotations, VIRT_ANNOTATION_MIGRATION_UNIX, "true");
    api_map_set(l->arena, annotations, LAUNCHER_ANNOTATION_EVICT_ONLY, "");
    if (virt_network_pod_annotations(l->arena, l->input, annotations, reterr) < 0)
        return -1;
    virt_backup_hook_pod_annotations(l->arena, NULL, l->vmi, annotations); /* the CR's word counts later */
    if (l->input->mode == VIRT_LAUNCHER_TEMPORARY)
        api_map_set(l->arena, annotations, VIRT_ANNOTATION_EPHEMERAL, "true");
    if (virt_gate(l->config, VIRT_GATE_VMI_MEMORY_OVERHEAD_REPORT))
        api_map_set(l->arena, annotations, VIRT_ANNOTATION_MEMORY_OVERHEAD,
                    kb_arena_printf(l->arena, "%lld", (long long)l->memory_overhead));
    return 0;
}

/* ---- all ---- */

int launcher_metadata(struct launcher *l, struct meta_object_meta *ret, struct kube_error *reterr)
{
    ret->generate_name = kb_arena_printf(l->arena, "virt-launcher-%s-", l->vmi->metadata.name);
    api_add_controller(l->arena, ret, &kv_vmi_type, l->vmi);
    put_labels(l, &ret->labels);
    return put_annotations(l, &ret->annotations, reterr);
}
