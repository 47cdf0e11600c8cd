/*
 * What the compute container asks of its node. Each rule of launcher-pod.md section 5 is a function over the sums;
 * their order is part of the behaviour, as later rules see what earlier ones made of an amount.
 */
#include "kube/selector.h"
#include "virt/launcher/resources_internal.h"
#include "virt/launcher/words.h"
#include <stdio.h>
#include <stdlib.h>

#define DEVICE_PREFIX     "devices.kubevirt.io/"
#define HUGEPAGES_PREFIX  "hugepages-"
#define EPHEMERAL_STORAGE "ephemeral-storage"

#define RULE_VMI "spec.domain.resources of the VMI"

static const double default_memory_limit_ratio = 2.0; /* of the request, where a quota asks for limits */

enum { FULL_COMMIT = 100, MILLI = 1000 };

static const char *text_of(const struct api_string_map *map, const char *key)
{
    const char *text = api_map_get(map, key);

    return text ? text : "";
}

static struct kb_quantity number(int64_t n)
{
    return kb_quantity_from(n, KB_QUANTITY_BINARY_SI);
}

/* ---- what is asked for ---- */

static void copy_requirements(struct launcher *l, struct launcher_sums *sums)
{
    const struct kv_resource_requirements *resources = &l->vmi->spec.domain.resources;

    api_list_foreach (entry, &resources->requests)
        launcher_sums_set(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, entry->key, kb_quantity_of(entry->value), entry->value,
                          RULE_VMI);
    api_list_foreach (entry, &resources->limits)
        launcher_sums_set(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, entry->key, kb_quantity_of(entry->value), entry->value,
                          RULE_VMI);
}

static void add_ephemeral_storage(struct launcher_sums *sums)
{
    static const char rule[] = "files of the launcher";
    const struct kb_quantity overhead = kb_quantity_of(LAUNCHER_EPHEMERAL_STORAGE);

    launcher_sums_add(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, EPHEMERAL_STORAGE, overhead, rule);
    if (launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, EPHEMERAL_STORAGE))
        launcher_sums_add(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, EPHEMERAL_STORAGE, overhead, rule);
}

/* ---- devices of the hypervisor ---- */

static bool needs_tun(const struct kv_devices *devices)
{
    return devices->interfaces.n > 0 || !devices->autoattach_pod_interface || *devices->autoattach_pod_interface;
}

static bool has_virtio_interface(const struct kv_devices *devices)
{
    api_list_foreach (interface, &devices->interfaces)
        if (kb_empty(interface->model) || kb_streq(interface->model, "virtio"))
            return true;
    return false;
}

static void limit_to_one(struct launcher_sums *sums, const char *device, const char *rule)
{
    launcher_sums_set(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, device, kb_quantity_from(1, KB_QUANTITY_DECIMAL_SI), "1",
                      rule);
}

/* Limits alone: kube-apiserver makes them the requests, too. */
static void add_virtualization(struct launcher *l, struct launcher_sums *sums)
{
    const struct kv_devices *devices = &l->vmi->spec.domain.devices;
    const bool emulation = l->config->spec->developer_configuration->use_emulation;
    const char *hypervisor = l->settings->hypervisor;
    const bool kvm = !kb_streq(hypervisor ? hypervisor : virt_config_hypervisor(l->config), "hyperv-direct");

    if (needs_tun(devices))
        limit_to_one(sums, DEVICE_PREFIX "tun", "network interfaces");
    if (!emulation && has_virtio_interface(devices))
        limit_to_one(sums, DEVICE_PREFIX "vhost-net", "virtio interfaces");
    if (!emulation)
        limit_to_one(sums, kvm ? DEVICE_PREFIX "kvm" : DEVICE_PREFIX "mshv", "hypervisor");
    if (devices->autoattach_vsock && *devices->autoattach_vsock)
        limit_to_one(sums, DEVICE_PREFIX "vhost-vsock", "VSOCK");
}

/* ---- memory ---- */

static void request_memory(struct launcher *l, struct launcher_sums *sums)
{
    const struct kv_memory *memory = l->vmi->spec.domain.memory;
    const struct launcher_amount *limit = launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, "memory");
    const int64_t commit = l->config->spec->developer_configuration->memory_overcommit;
    const char *guest = "";
    struct kb_quantity quantity;

    if (limit && !kb_quantity_is_zero(limit->quantity))
        launcher_sums_copy(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory", limit, "memory limit");
    if (launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory"))
        return;
    if (memory && memory->guest)
        guest = memory->guest;
    else if (memory && memory->hugepages)
        guest = memory->hugepages->page_size;
    quantity = kb_quantity_of(guest);
    if (kb_quantity_value(quantity) <= 0)
        return;
    launcher_sums_set(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory", quantity, guest, "guest memory");
    if (commit == FULL_COMMIT || commit == 0)
        return;
    /* Wraps around where Go's integers do. */
    int64_t scaled = (int64_t)((uint64_t)kb_quantity_value(quantity) * FULL_COMMIT) / commit;

    launcher_sums_set(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory", kb_quantity_from(scaled, quantity.format), NULL,
                      "memoryOvercommit");
}

/* Adds the overhead with each of its terms noted. */
static void add_overhead(struct launcher_sums *sums, enum launcher_side side, const struct launcher_overhead *overhead)
{
    for (size_t i = 0; i < overhead->n; i++)
        launcher_sums_add(sums, LAUNCHER_VMI, side, "memory", overhead->terms[i].quantity, overhead->terms[i].rule);
}

/* Memory beyond the guest's stays ordinary memory. */
static void keep_beyond_guest(struct launcher *l, struct launcher_sums *sums, enum launcher_side side)
{
    const char *guest = l->vmi->spec.domain.memory->guest;
    struct kb_quantity amount = launcher_sums_value(sums, side, "memory"), rest = {0};

    if (guest && kb_quantity_value(amount) > kb_quantity_value(kb_quantity_of(guest)))
        rest = kb_quantity_sub(amount, kb_quantity_of(guest));
    launcher_sums_set(sums, LAUNCHER_VMI, side, "memory", rest, NULL, "on huge pages");
}

static void add_hugepages(struct launcher *l, struct launcher_sums *sums, const struct launcher_overhead *overhead)
{
    const struct kv_memory *memory = l->vmi->spec.domain.memory;
    const char *resource = kb_arena_printf(l->arena, HUGEPAGES_PREFIX "%s", memory->hugepages->page_size);
    const struct launcher_amount *request = launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory");
    struct kb_quantity pages = request ? request->quantity : (struct kb_quantity){0};
    const char *text = request ? request->text : NULL;

    if (memory->guest && kb_quantity_value(pages) > kb_quantity_value(kb_quantity_of(memory->guest))) {
        pages = kb_quantity_of(memory->guest);
        text = memory->guest;
    }
    for (int side = 0; side < LAUNCHER_N_SIDES; side++)
        launcher_sums_set(sums, LAUNCHER_CALCULATED, (enum launcher_side)side, resource, pages, text, "guest memory");
    keep_beyond_guest(l, sums, LAUNCHER_REQUEST);
    add_overhead(sums, LAUNCHER_REQUEST, overhead);
    if (!launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, "memory"))
        return;
    keep_beyond_guest(l, sums, LAUNCHER_LIMIT);
    add_overhead(sums, LAUNCHER_LIMIT, overhead);
}

static void add_memory_overhead(struct launcher *l, struct launcher_sums *sums,
                                const struct launcher_overhead *overhead)
{
    if (!l->vmi->spec.domain.resources.overcommit_guest_overhead)
        add_overhead(sums, LAUNCHER_REQUEST, overhead);
    else if (!launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory"))
        launcher_sums_set(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory", (struct kb_quantity){0}, NULL,
                          "overcommitGuestOverhead");
    if (launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, "memory"))
        add_overhead(sums, LAUNCHER_LIMIT, overhead);
}

/* ---- CPU ---- */

static int64_t io_threads(const struct kv_vmi *vmi)
{
    const struct kv_disk_io_threads *threads = vmi->spec.domain.io_threads;

    return threads && threads->supplemental_pool_thread_count ? *threads->supplemental_pool_thread_count : 0;
}

/* Two where that makes an even number of CPUs, if the user asks for one: no thread shares a core with another Pod. */
static int64_t emulator_threads(struct launcher *l, struct kb_quantity limit)
{
    const char *policy = l->vmi->spec.domain.io_threads_policy;
    int64_t beside = policy && kb_streq(policy, "supplementalPool") ? io_threads(l->vmi) : 0;

    if (!api_map_has(&l->vmi->metadata.annotations, LAUNCHER_ANNOTATION_EVEN_PARITY))
        return 1;
    return ((uint64_t)kb_quantity_value(limit) + (uint64_t)beside) % 2 == 0 ? 2 : 1;
}

static void add_where_given(struct launcher_sums *sums, enum launcher_side side, int64_t n, const char *rule)
{
    if (launcher_sums_find(sums, LAUNCHER_VMI, side, "cpu"))
        launcher_sums_add(sums, LAUNCHER_VMI, side, "cpu", number(n), rule);
}

static void isolate_emulator(struct launcher *l, struct launcher_sums *sums)
{
    static const char rule[] = "isolated emulator thread";
    int64_t n = emulator_threads(l, launcher_sums_value(sums, LAUNCHER_LIMIT, "cpu"));

    launcher_sums_add(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, "cpu", number(n), rule);
    add_where_given(sums, LAUNCHER_REQUEST, n, rule);
}

static void pin_cpus(struct launcher *l, struct launcher_sums *sums)
{
    static const char vcpu_rule[] = "vCPUs", io_rule[] = "IO threads", limit_rule[] = "memory request";
    const int64_t vcpus = virt_vmi_vcpus(l->vmi), io = io_threads(l->vmi);
    const struct launcher_amount *request;

    for (int side = 0; side < LAUNCHER_N_SIDES; side++) {
        if (vcpus != 0)
            launcher_sums_set(sums, LAUNCHER_VMI, (enum launcher_side)side, "cpu", number(vcpus), NULL, vcpu_rule);
        if (vcpus == 0 || io != 0)
            add_where_given(sums, (enum launcher_side)side, io, io_rule);
    }
    if (l->vmi->spec.domain.cpu->isolate_emulator_thread)
        isolate_emulator(l, sums);
    request = launcher_sums_find(sums, LAUNCHER_VMI, LAUNCHER_REQUEST, "memory");
    if (request)
        launcher_sums_copy(sums, LAUNCHER_VMI, LAUNCHER_LIMIT, "memory", request, limit_rule);
}

/* The shortest decimal number that reads as `value`, as Go's %g writes it. */
static const char *text_of_double(struct kb_arena *arena, double value, bool milli)
{
    enum { MOST_DIGITS = 17, LARGE = 6 }; /* from 10^6 on, %g has an exponent */
    char text[512];
    int digits = 0, exponent;

    do
        snprintf(text, sizeof(text), "%.*e", digits, value);
    while (strtod(text, NULL) != value && ++digits < MOST_DIGITS);
    exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < LARGE)
        snprintf(text, sizeof(text), "%.*f", digits > exponent ? digits - exponent : 0, value);
    return kb_arena_printf(arena, "%s%s", text, milli ? "m" : "");
}

static const char *share_of_cpu(struct kb_arena *arena, int64_t total, int64_t ratio)
{
    double value = (double)total / (double)ratio;

    return value < 1 ? text_of_double(arena, value * MILLI, true) : text_of_double(arena, value, false);
}

static bool has_quota_of(struct launcher *l, const char *hard)
{
    const struct virt_launcher_lookups *lookups = l->input->lookups;
    const struct core_resource_quota *const *quotas;
    size_t n;

    if (!lookups || !lookups->quotas)
        return false;
    n = lookups->quotas(lookups->userdata, l->vmi->metadata.namespace, &quotas);
    for (size_t i = 0; i < n; i++)
        if (api_map_has(&quotas[i]->spec.hard, hard))
            return true;
    return false;
}

static const struct core_namespace *own_namespace(struct launcher *l)
{
    const struct virt_launcher_lookups *lookups = l->input->lookups;
    struct kube_error ignored = {0};

    if (!lookups || !lookups->namespace_)
        return NULL;
    return lookups->namespace_(lookups->userdata, l->vmi->metadata.namespace, &ignored);
}

static bool needs_cpu_limit(struct launcher *l)
{
    const struct meta_label_selector *selector = l->config->spec->auto_cpu_limit_namespace_label_selector;
    const struct core_namespace *namespace_;

    if (api_map_has(&l->vmi->spec.domain.resources.limits, "cpu"))
        return false;
    if (has_quota_of(l, "limits.cpu"))
        return true;
    namespace_ = selector ? own_namespace(l) : NULL;
    return namespace_ && kube_label_selector_matches(selector, &namespace_->metadata.labels);
}

static void share_cpus(struct launcher *l, struct launcher_sums *sums)
{
    const int64_t total = virt_vmi_vcpus(l->vmi) + io_threads(l->vmi);
    const int64_t ratio = l->config->spec->developer_configuration->cpu_allocation_ratio;
    const char *share;

    if (total == 0 || ratio <= 0)
        return;
    share = share_of_cpu(l->arena, total, ratio);
    launcher_sums_set(sums, LAUNCHER_CALCULATED, LAUNCHER_REQUEST, "cpu", kb_quantity_of(share),
                      kb_quantity_is_canonical(share) ? share : NULL, "vCPUs and IO threads / cpuAllocationRatio");
    if (needs_cpu_limit(l))
        launcher_sums_set(sums, LAUNCHER_CALCULATED, LAUNCHER_LIMIT, "cpu",
                          kb_quantity_from(total, KB_QUANTITY_DECIMAL_SI), NULL, "quota or selector of the namespace");
}

/* ---- memory limits that a quota asks for ---- */

static double memory_limit_ratio(struct launcher *l)
{
    const struct core_namespace *namespace_ = own_namespace(l);
    const char *label =
        namespace_ ? api_map_get(&namespace_->metadata.labels, LAUNCHER_LABEL_MEMORY_LIMIT_RATIO) : NULL;
    double ratio;

    if (!label || !launcher_parse_float(label, &ratio) || ratio < 1.0)
        return default_memory_limit_ratio;
    return ratio;
}

static void limit_memory(struct launcher *l, struct launcher_sums *sums)
{
    struct kb_quantity request;

    if (api_map_has(&l->vmi->spec.domain.resources.limits, "memory") || !has_quota_of(l, "limits.memory"))
        return;
    request = launcher_sums_value(sums, LAUNCHER_REQUEST, "memory");
    launcher_sums_set(
        sums, LAUNCHER_CALCULATED, LAUNCHER_LIMIT, "memory",
        kb_quantity_from(launcher_truncate((double)kb_quantity_value(request) * memory_limit_ratio(l)), request.format),
        NULL, "quota of the namespace");
}

/* ---- everything ---- */

int launcher_sum_resources(struct launcher *l, struct launcher_noted_terms *trace, struct launcher_sums *ret,
                           struct core_resource_claim_list *ret_claims, struct kube_error *reterr)
{
    struct launcher_sums *sums = ret;
    struct launcher_devices devices;
    struct launcher_overhead overhead;

    if (launcher_find_devices(l, &devices, reterr) < 0)
        return -1;
    *sums = (struct launcher_sums){.arena = l->arena, .trace = trace};
    launcher_overhead(l->config, l->vmi, &overhead);
    copy_requirements(l, sums);
    add_ephemeral_storage(sums);
    add_virtualization(l, sums);
    if (kb_quantity_is_zero(kb_quantity_of(text_of(&l->vmi->spec.domain.resources.requests, "memory"))))
        request_memory(l, sums);
    if (l->dedicated_cpu)
        pin_cpus(l, sums);
    else
        share_cpus(l, sums);
    if (l->hugepages)
        add_hugepages(l, sums, &overhead);
    else
        add_memory_overhead(l, sums, &overhead);
    limit_memory(l, sums);
    kb_vec_foreach (device, &devices.devices)
        launcher_sums_add_device(sums, device->resource, device->rule);
    *ret_claims = devices.claims;
    return 0;
}

/* The VMI's own amount of memory; one that is held by reference has changed with the sum. */
static struct kb_quantity own_memory(struct launcher *l, const struct launcher_sums *sums, enum launcher_side side)
{
    const struct kv_resource_requirements *own = &l->vmi->spec.domain.resources;
    const struct launcher_amount *amount = launcher_sums_find(sums, LAUNCHER_VMI, side, "memory");

    if (amount && amount->reference)
        return amount->quantity;
    return kb_quantity_of(text_of(side == LAUNCHER_REQUEST ? &own->requests : &own->limits, "memory"));
}

/* Containers beside compute are told by what has become of the VMI's memory. */
static bool stays_guaranteed(struct launcher *l, const struct launcher_sums *sums)
{
    const char *request = text_of(&l->vmi->spec.domain.resources.requests, "memory");

    if (l->dedicated_cpu || !l->guaranteed || kb_quantity_is_zero(kb_quantity_of(request)))
        return l->guaranteed;
    return kb_quantity_compare(own_memory(l, sums, LAUNCHER_REQUEST), own_memory(l, sums, LAUNCHER_LIMIT)) == 0;
}

int launcher_resources(struct launcher *l, struct core_resource_requirements *ret, struct kube_error *reterr)
{
    struct launcher_sums sums;

    if (launcher_sum_resources(l, NULL, &sums, &ret->claims, reterr) < 0)
        return -1;
    l->guaranteed = stays_guaranteed(l, &sums);
    ret->requests = launcher_sums_result(&sums, LAUNCHER_REQUEST);
    ret->limits = launcher_sums_result(&sums, LAUNCHER_LIMIT);
    return 0;
}

int virt_launcher_explain(struct kb_arena *arena, const struct virt_launcher_input *input,
                          struct virt_resource_explanation *ret, struct kube_error *reterr)
{
    struct core_resource_claim_list claims;
    struct launcher_noted_terms noted = {0};
    struct launcher_sums sums;
    struct launcher l;

    if (launcher_init(&l, arena, input, reterr) < 0)
        return -1;
    if (launcher_sum_resources(&l, &noted, &sums, &claims, reterr) < 0)
        return -1;
    *ret = (struct virt_resource_explanation){0};
    kb_vec_foreach (note, &noted) {
        const enum launcher_side side = note->term.limit ? LAUNCHER_LIMIT : LAUNCHER_REQUEST;

        if (note->layer == LAUNCHER_CALCULATED && launcher_sums_find(&sums, LAUNCHER_VMI, side, note->term.resource))
            continue; /* the VMI's own wins */
        *kb_vec_push(arena, ret) = note->term;
    }
    return 0;
}
