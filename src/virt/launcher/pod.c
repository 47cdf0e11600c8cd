/*
 * The launcher Pod from facts, parts and assembly (see launcher_internal.h).
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

/* Go's strconv.Atoi. Returns what is wrong with `text`, or NULL. */
static const char *parse_verbosity(const char *text, uint64_t *ret)
{
    const char *digits = text + (*text == '+' || *text == '-');
    long long value;

    if (!*digits || digits[strspn(digits, "0123456789")])
        return "invalid syntax";
    if (!kb_parse_int(*text == '+' ? digits : text, INT64_MIN, INT64_MAX, &value))
        return "value out of range";
    *ret = (uint64_t)value; /* a negative one is huge, as an unsigned number is in Go */
    return NULL;
}

/* The label of the VMI wins over the cluster's value. */
static int find_verbosity(struct launcher *l, struct kube_error *reterr)
{
    const char *label = api_map_get(&l->vmi->metadata.labels, LAUNCHER_LABEL_VERBOSITY);
    const char *fault;

    l->verbosity = (uint64_t)l->config->spec->developer_configuration->log_verbosity->virt_launcher;
    fault = label ? parse_verbosity(label, &l->verbosity) : NULL;
    if (!fault)
        return 0;
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "verbosity %s cannot cast to int: strconv.Atoi: parsing %s: %s",
                          label, kb_quote(l->arena, label), fault);
}

static int add_containers(struct launcher *l, struct kube_error *reterr)
{
    launcher_add_compute(l);
    if (!l->image_volumes)
        launcher_add_container_disks(l, false);
    launcher_add_virtiofs(l);
    if (launcher_add_sidecars(l, reterr) < 0)
        return -1;
    launcher_add_console_log(l);
    if (l->image_volumes)
        launcher_add_digest_finders(l);
    else
        launcher_add_container_disks(l, true);
    return 0;
}

static int check_backend_storage(const struct launcher *l, struct kube_error *reterr)
{
    if (!virt_vmi_needs_backend_storage(l->vmi) || !kb_empty(l->input->backend_storage_claim))
        return 0;
    return kube_error_set(reterr, KUBE_ERROR_INVALID,
                          "can't generate manifest without backend-storage PVC, waiting for the PVC to be created");
}

/* In this order: which error a user sees first is part of the behaviour. */
static int find_parts(struct launcher *l, struct kube_error *reterr)
{
    if (launcher_find_digests(l, reterr) < 0)
        return -1;
    if (check_backend_storage(l, reterr) < 0)
        return -1;
    if (launcher_resources(l, &l->resources, reterr) < 0)
        return -1;
    if (launcher_find_sidecars(l, reterr) < 0)
        return -1;
    if (launcher_add_volumes(l, reterr) < 0)
        return -1;
    if (find_verbosity(l, reterr) < 0)
        return -1;
    if (add_containers(l, reterr) < 0)
        return -1;
    return launcher_find_reservations(l, reterr);
}

int virt_launcher_pod(struct kb_arena *arena, const struct virt_launcher_input *input, struct core_pod **ret,
                      struct kube_error *reterr)
{
    struct core_pod *pod = kb_arena_one(arena, struct core_pod);
    struct launcher l;

    if (launcher_init(&l, arena, input, reterr) < 0)
        return -1;
    l.memory_overhead = virt_launcher_memory_overhead(input->config, input->vmi);
    if (find_parts(&l, reterr) < 0)
        return -1;
    pod->api_version = "v1";
    pod->kind = "Pod";
    if (launcher_metadata(&l, &pod->metadata, reterr) < 0)
        return -1;
    launcher_spec(&l, &pod->spec);
    *ret = pod;
    return 0;
}
