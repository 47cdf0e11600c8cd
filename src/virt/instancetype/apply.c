/*
 * Applying an instance type to the spec of a VMI: one function a group of members, in the order in which conflicts are
 * listed; and the entrances that find it first.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "virt/instancetype/internal.h"

static void add_path(struct conflicts *conflicts, const char *path)
{
    conflicts->paths = conflicts->paths ? kb_arena_printf(conflicts->arena, "%s, %s", conflicts->paths, path) : path;
}

void virt_add_conflict(struct conflicts *conflicts, const char *field)
{
    add_path(conflicts, kb_arena_printf(conflicts->arena, "%s.%s", conflicts->base, field));
}

/* ---- members that are copied whole, where they are not set ---- */

static const struct whole {
    struct virt_fill rule;
    const char *field; /* in conflicts */
} before_cpu[] =
    {
        {{"nodeSelector", "nodeSelector"}, "nodeSelector"},
        {{"schedulerName", "schedulerName"}, "schedulerName"},
},
  after_memory[] = {
      {{"ioThreads.supplementalPoolThreadCount", "domain.ioThreads.supplementalPoolThreadCount"},
       "domain.ioThreads.supplementalPoolThreadCount"},
      {{"ioThreadsPolicy", "domain.ioThreadsPolicy"}, "domain.ioThreadsPolicy"},
      {{"launchSecurity", "domain.launchSecurity"}, "domain.launchSecurity"},
      {{"gpus", "domain.devices.gpus"}, "domain.devices.gpus"},
      {{"hostDevices", "domain.devices.hostDevices"}, "domain.devices.hostDevices"},
};

static bool is_set(const struct api_type *type, const void *data, const char *path)
{
    const struct api_field *field;
    const void *member = api_field_at(type, data, path, &field);
    if (!member)
        return false;
    switch (field->shape) {
    case API_MAP: /* an empty selector counts as one */
        return ((const struct api_map *)member)->items;
    case API_LIST:
        return ((const struct api_list *)member)->n;
    case API_POINTER:
        return *(const void *const *)member;
    default:
        return !kb_empty(*(const char *const *)member);
    }
}

static void copy_whole(struct conflicts *conflicts, const struct whole *members, size_t n,
                       const struct instancetype_vm_instancetype_spec *from, struct kv_vmi_spec *spec)
{
    for (size_t i = 0; i < n; i++) {
        const struct whole *member = &members[i];
        if (!is_set(&instancetype_vm_instancetype_spec_type, from, member->rule.from))
            continue;
        if (is_set(&kv_vmi_spec_type, spec, member->rule.to))
            virt_add_conflict(conflicts, member->field);
        else
            virt_fill(conflicts->arena, &member->rule, &instancetype_vm_instancetype_spec_type, from, &kv_vmi_spec_type,
                      spec);
    }
}

/* ---- memory ---- */

/* The first hit alone is told. */
static const char *memory_conflict(const struct instancetype_memory_instancetype *from,
                                   const struct kv_domain_spec *domain)
{
    if (domain->memory->guest)
        return "domain.memory.guest";
    if (domain->memory->hugepages && from->hugepages)
        return "domain.memory.hugepages";
    if (domain->memory->max_guest && from->max_guest)
        return "domain.memory.maxGuest";
    if (api_map_has(&domain->resources.requests, "memory"))
        return "domain.resources.requests.memory";
    if (api_map_has(&domain->resources.limits, "memory"))
        return "domain.resources.limits.memory";
    return NULL;
}

/* In single precision, step by step, as the reference computes it: what is seen differs otherwise. */
static const char *overcommitted(struct kb_arena *arena, const char *guest, int64_t percent)
{
    struct kb_quantity quantity = kb_quantity_of(guest);
    float whole = (float)kb_quantity_value(quantity);
    float part = (float)percent / 100.0f;
    float share = 1.0f - part;
    float requested = whole * share;
    return kb_quantity_text(arena, kb_quantity_from((int64_t)requested, quantity.format));
}

static void apply_memory(struct conflicts *conflicts, const struct instancetype_memory_instancetype *from,
                         struct kv_vmi_spec *spec)
{
    struct kb_arena *arena = conflicts->arena;
    struct kv_domain_spec *domain = &spec->domain;
    if (!domain->memory)
        domain->memory = kb_arena_one(arena, struct kv_memory);
    const char *conflict = memory_conflict(from, domain);
    if (conflict) {
        virt_add_conflict(conflicts, conflict);
        return;
    }
    domain->memory->guest = kb_empty(from->guest) ? "0" : from->guest;
    if (from->overcommit_percent > 0)
        api_map_set(arena, &domain->resources.requests, "memory",
                    overcommitted(arena, domain->memory->guest, from->overcommit_percent));
    if (from->hugepages)
        domain->memory->hugepages = api_clone(arena, &kv_hugepages_type, from->hugepages);
    if (from->max_guest)
        domain->memory->max_guest = from->max_guest;
}

/* ---- annotations ---- */

static void apply_annotations(struct conflicts *conflicts, const struct api_string_map *from,
                              struct meta_object_meta *metadata)
{
    for (size_t i = 0; i < from->n; i++) {
        const char *key = from->items[i].key, *present = api_map_get(&metadata->annotations, key);
        if (!present)
            api_map_set(conflicts->arena, &metadata->annotations, key, from->items[i].value);
        else if (!kb_streq(present, from->items[i].value))
            add_path(conflicts, kb_arena_printf(conflicts->arena, "annotations.%s", key));
    }
}

/* ---- all of it ---- */

static void apply_instancetype(struct conflicts *conflicts, const struct instancetype_vm_instancetype_spec *from,
                               const struct instancetype_vm_preference_spec *preference, struct kv_vmi_spec *spec,
                               struct meta_object_meta *metadata)
{
    copy_whole(conflicts, before_cpu, KB_ARRAY_LEN(before_cpu), from, spec);
    virt_instancetype_apply_cpu(conflicts, from, preference, spec);
    apply_memory(conflicts, &from->memory, spec);
    if (from->io_threads && from->io_threads->supplemental_pool_thread_count && !spec->domain.io_threads)
        spec->domain.io_threads = kb_arena_one(conflicts->arena, struct kv_disk_io_threads);
    copy_whole(conflicts, after_memory, KB_ARRAY_LEN(after_memory), from, spec);
    apply_annotations(conflicts, &from->annotations, metadata);
}

void virt_instancetype_apply(struct kb_arena *arena, const char *base,
                             const struct instancetype_vm_instancetype_spec *instancetype,
                             const struct instancetype_vm_preference_spec *preference, struct kv_vmi_spec *spec,
                             struct meta_object_meta *metadata, const char **ret_conflicts)
{
    struct conflicts conflicts = {.arena = arena, .base = base};
    if (instancetype)
        apply_instancetype(&conflicts, instancetype, preference, spec, metadata);
    if (preference && !conflicts.paths)
        virt_preference_apply(arena, preference, spec, metadata);
    *ret_conflicts = conflicts.paths;
}

int virt_instancetype_apply_to_vm(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                                  struct kv_vm *vm, struct kube_error *reterr)
{
    const struct instancetype_vm_instancetype_spec *instancetype;
    const struct instancetype_vm_preference_spec *preference;
    const char *conflicts;
    if (virt_instancetype_find(arena, lookups, vm, &instancetype, reterr) < 0 ||
        virt_preference_find(arena, lookups, vm, &preference, reterr) < 0)
        return -1;
    virt_instancetype_apply(arena, "spec", instancetype, preference, &vm->spec.template->spec,
                            &vm->spec.template->metadata, &conflicts);
    return conflicts ? kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_CONFLICT_IN_VM, conflicts) : 0;
}

static void annotate(struct kb_arena *arena, const struct virt_flavor *flavor, const struct kv_vm *vm,
                     struct kv_vmi *vmi)
{
    const struct kv_instancetype_matcher *matcher = virt_flavor_matcher(flavor, vm);
    const struct api_type *type = matcher ? virt_flavor_type_of_kind(flavor, matcher->kind) : NULL;
    if (type)
        api_map_set(arena, &vmi->metadata.annotations,
                    type == flavor->cluster ? flavor->cluster_annotation : flavor->annotation, matcher->name);
}

int virt_instancetype_apply_to_vmi(struct kb_arena *arena, const struct virt_instancetype_lookups *lookups,
                                   const struct kv_vm *vm, struct kv_vmi *vmi, struct kube_error *reterr)
{
    const struct instancetype_vm_instancetype_spec *instancetype;
    const struct instancetype_vm_preference_spec *preference;
    const char *conflicts;
    if (virt_instancetype_find(arena, lookups, vm, &instancetype, reterr) < 0 ||
        virt_preference_find(arena, lookups, vm, &preference, reterr) < 0)
        return -1;
    annotate(arena, &virt_instancetype_flavor, vm, vmi);
    annotate(arena, &virt_preference_flavor, vm, vmi);
    virt_instancetype_apply(arena, "spec", instancetype, preference, &vmi->spec, &vmi->metadata, &conflicts);
    return conflicts ? kube_error_set(reterr, KUBE_ERROR_INVALID, VIRT_CONFLICT_IN_VMI, conflicts) : 0;
}
