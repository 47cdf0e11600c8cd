/*
 * kubevirt_vm_resource_requests and _limits: what the VM's template asks for once its instance type and preference are
 * applied, by where it is asked for (`source`), and what the guest gets in the end (guest_effective).
 */
#include "api/codec.h"
#include "base/quantity.h"
#include "base/strings.h"
#include "virt/instancetype/instancetype.h"
#include "virt/metrics/metrics_internal.h"

const struct kube_metric_family metrics_vm_requests = {
    "kubevirt_vm_resource_requests",
    "Resources requested by Virtual Machine. Reports memory and CPU requests.",
    KUBE_GAUGE,
    {"name", "namespace", "resource", "unit", "source"},
};
const struct kube_metric_family metrics_vm_limits = {
    "kubevirt_vm_resource_limits",
    "Resource limits set for a Virtual Machine. Reports CPU and memory limits only when they are defined.",
    KUBE_GAUGE,
    {"name", "namespace", "resource", "unit"},
};

struct sink {
    struct kube_exposition *out;
    const struct kube_metric_family *family;
    const struct meta_object_meta *meta;
};

static void put(const struct sink *to, const char *resource, const char *unit, const char *source, double value)
{
    kube_exposition_sample(to->out, to->family,
                           (const char *[]){to->meta->name, to->meta->namespace, resource, unit, source}, value);
}

static void put_unless_zero(const struct sink *to, const char *resource, const char *unit, const char *source,
                            double value)
{
    if (value != 0)
        put(to, resource, unit, source, value);
}

static struct kb_quantity amount(const struct api_string_map *resources, const char *name)
{
    const char *text = api_map_get(resources, name);
    return kb_quantity_of(text ? text : "");
}

static double cores(struct kb_quantity quantity)
{
    return (double)kb_quantity_milli_value(quantity) / 1000;
}

static double bytes(struct kb_quantity quantity)
{
    return (double)kb_quantity_value(quantity);
}

static void put_memory(const struct sink *to, const struct kv_domain_spec *domain)
{
    struct kb_quantity page;
    put_unless_zero(to, "memory", "bytes", "domain", bytes(amount(&domain->resources.requests, "memory")));
    if (domain->memory && domain->memory->guest)
        put_unless_zero(to, "memory", "bytes", "guest", bytes(kb_quantity_of(domain->memory->guest)));
    if (domain->memory && domain->memory->hugepages &&
        kb_quantity_parse(domain->memory->hugepages->page_size, &page, NULL) == 0)
        put(to, "memory", "bytes", "hugepages", bytes(page));
}

static void put_cpu(const struct sink *to, const struct kv_domain_spec *domain)
{
    static const char *const units[] = {"cores", "threads", "sockets"};
    struct kb_quantity requested = amount(&domain->resources.requests, "cpu");
    const struct kv_cpu *cpu = domain->cpu;
    const int64_t counts[] = {cpu ? cpu->cores : 0, cpu ? cpu->threads : 0, cpu ? cpu->sockets : 0};
    for (size_t i = 0; i < KB_ARRAY_LEN(units); i++)
        put_unless_zero(to, "cpu", units[i], "domain", (double)counts[i]);
    if (!kb_quantity_is_zero(requested)) {
        put(to, "cpu", "cores", "requests", cores(requested));
        return;
    }
    for (size_t i = 0; !cpu && i < KB_ARRAY_LEN(units); i++)
        put(to, "cpu", units[i], "default", 1);
}

/* The product of the counts that are given. */
static int64_t vcpus(const struct kv_cpu *cpu)
{
    const int64_t counts[] = {cpu->cores, cpu->sockets, cpu->threads};
    int64_t product = 0;
    for (size_t i = 0; i < KB_ARRAY_LEN(counts); i++)
        if (counts[i] != 0)
            product = product == 0 ? counts[i] : product * counts[i];
    return product;
}

/* Guest memory; otherwise the request; a limit alone is the request, too. */
static struct kb_quantity guest_memory(const struct kv_domain_spec *domain)
{
    if (domain->memory && domain->memory->guest)
        return kb_quantity_of(domain->memory->guest);
    bool requested = api_map_has(&domain->resources.requests, "memory");
    return amount(requested ? &domain->resources.requests : &domain->resources.limits, "memory");
}

/* ---- instance types ---- */

struct lookups { /* of one VM */
    struct metrics_scrape *scrape;
    struct pin {
        struct pin *next;
        const struct api_object *object;
    } * pins;
};

static const void *get(void *userdata, const struct api_type *type, const char *namespace_, const char *name,
                       struct kube_error *reterr)
{
    static const struct {
        const struct api_type *type;
        enum virt_informer informer;
    } caches[] = {
        {&apps_controller_revision_type, VIRT_CONTROLLER_REVISION},
        {&instancetype_vm_instancetype_type, VIRT_INSTANCETYPE},
        {&instancetype_vm_cluster_instancetype_type, VIRT_CLUSTER_INSTANCETYPE},
        {&instancetype_vm_preference_type, VIRT_PREFERENCE},
        {&instancetype_vm_cluster_preference_type, VIRT_CLUSTER_PREFERENCE},
    };
    (void)reterr;
    struct lookups *lookups = userdata;
    size_t i = 0;
    while (caches[i].type != type)
        i++;
    const struct api_object *object =
        kube_store_get(metrics_store(lookups->scrape->metrics, caches[i].informer), namespace_, name);
    if (!object)
        return NULL;
    struct pin *pin = kb_arena_one(lookups->scrape->scratch, struct pin);
    *pin = (struct pin){lookups->pins, object};
    lookups->pins = pin;
    return api_object_data(object);
}

/* NULL: the VM has none. What can't be found or does not fit together is left as it is. */
static const struct kv_vmi_template_spec *applied_template(struct lookups *lookups, const struct kv_vm *vm)
{
    if (!vm->spec.template || (!vm->spec.instancetype && !vm->spec.preference))
        return vm->spec.template;
    struct kb_arena *scratch = lookups->scrape->scratch;
    const struct virt_instancetype_lookups find = {get, lookups};
    kb_arena_reset(scratch);
    struct kv_vm *copy = api_clone(scratch, &kv_vm_type, vm);
    struct kube_error error = {0};
    (void)virt_instancetype_apply_to_vm(scratch, &find, copy, &error);
    return copy->spec.template;
}

static void release(struct lookups *lookups)
{
    for (struct pin *pin = lookups->pins; pin; pin = pin->next)
        api_object_unref(pin->object);
}

/* ---- the samplers ---- */

METRICS_SAMPLER(metrics_sample_requests)
{
    const struct kv_vm *vm = object;
    const struct sink to = {out, family, &vm->metadata};
    struct lookups lookups = {.scrape = state};
    const struct kv_vmi_template_spec *template = applied_template(&lookups, vm);
    if (template) {
        const struct kv_domain_spec *domain = &template->spec.domain;
        put_memory(&to, domain);
        put_cpu(&to, domain);
        put(&to, "cpu", "cores", "guest_effective", domain->cpu ? (double)vcpus(domain->cpu) : 1);
        put_unless_zero(&to, "memory", "bytes", "guest_effective", bytes(guest_memory(domain)));
    }
    release(&lookups);
}

METRICS_SAMPLER(metrics_sample_limits)
{
    const struct kv_vm *vm = object;
    const struct sink to = {out, family, &vm->metadata};
    struct lookups lookups = {.scrape = state};
    const struct kv_vmi_template_spec *template = applied_template(&lookups, vm);
    if (template) {
        const struct api_string_map *limits = &template->spec.domain.resources.limits;
        put_unless_zero(&to, "memory", "bytes", "", bytes(amount(limits, "memory")));
        put_unless_zero(&to, "cpu", "cores", "", cores(amount(limits, "cpu")));
    }
    release(&lookups);
}
