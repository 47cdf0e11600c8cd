/*
 * The CPU of an instance type: a number of vCPUs, which a preference lays out in sockets, cores and threads.
 */
#include "base/strings.h"
#include "virt/instancetype/internal.h"

#define DEFAULT_RATIO    2
#define THREADS_PER_CORE 2

enum layout { IN_SOCKETS, IN_CORES, IN_THREADS, SPREAD };

static const struct {
    const char *name;
    enum layout layout;
} topologies[] = {
    {"sockets", IN_SOCKETS}, {"preferSockets", IN_SOCKETS}, {"any", IN_SOCKETS},     {"preferAny", IN_SOCKETS},
    {"cores", IN_CORES},     {"preferCores", IN_CORES},     {"threads", IN_THREADS}, {"preferThreads", IN_THREADS},
    {"spread", SPREAD},      {"preferSpread", SPREAD},
};

static int64_t spread_ratio(const struct instancetype_vm_preference_spec *preference)
{
    const struct instancetype_spread_options *options = preference->cpu ? preference->cpu->spread_options : NULL;
    int64_t ratio = options && options->ratio ? *options->ratio : preference->prefer_spread_socket_to_core_ratio;
    return ratio > 0 ? ratio : DEFAULT_RATIO;
}

static void spread(const struct instancetype_vm_preference_spec *preference, int64_t guest, struct kv_cpu *cpu)
{
    const struct instancetype_spread_options *options = preference->cpu->spread_options;
    const char *across = options && options->across ? options->across : "SocketsCores";
    int64_t ratio = spread_ratio(preference);
    if (kb_streq(across, "SocketsCores")) {
        cpu->cores = ratio;
        cpu->sockets = guest / ratio;
    } else if (kb_streq(across, "CoresThreads")) {
        cpu->threads = ratio;
        cpu->cores = guest / ratio;
    } else if (kb_streq(across, "SocketsCoresThreads")) {
        cpu->threads = THREADS_PER_CORE;
        cpu->cores = ratio;
        cpu->sockets = guest / THREADS_PER_CORE / ratio;
    }
}

static void lay_out(int64_t guest, const struct instancetype_vm_preference_spec *preference, struct kv_cpu *cpu)
{
    const char *wanted = preference && preference->cpu ? preference->cpu->preferred_cpu_topology : NULL;
    cpu->cores = cpu->sockets = cpu->threads = 1;
    if (guest == 1)
        return;
    if (!wanted) {
        cpu->sockets = guest;
        return;
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(topologies); i++) {
        if (!kb_streq(topologies[i].name, wanted))
            continue;
        if (topologies[i].layout == IN_SOCKETS)
            cpu->sockets = guest;
        else if (topologies[i].layout == IN_CORES)
            cpu->cores = guest;
        else if (topologies[i].layout == IN_THREADS)
            cpu->threads = guest;
        else
            spread(preference, guest, cpu);
    }
}

static bool find_conflicts(struct conflicts *conflicts, const struct instancetype_cpu_instancetype *from,
                           const struct kv_domain_spec *domain)
{
    const struct kv_cpu *cpu = domain->cpu;
    const struct {
        bool conflict;
        const char *field;
    } rules[] = {
        {api_map_has(&domain->resources.requests, "cpu"), "domain.resources.requests.cpu"},
        {api_map_has(&domain->resources.limits, "cpu"), "domain.resources.limits.cpu"},
        {cpu->sockets, "domain.cpu.sockets"},
        {cpu->cores, "domain.cpu.cores"},
        {cpu->threads, "domain.cpu.threads"},
        {!kb_empty(cpu->model) && from->model, "domain.cpu.model"},
        {cpu->dedicated_cpu_placement && from->dedicated_cpu_placement, "domain.cpu.dedicatedCPUPlacement"},
        {cpu->isolate_emulator_thread && from->isolate_emulator_thread, "domain.cpu.isolateEmulatorThread"},
        {cpu->numa && from->numa, "domain.cpu.numa"},
        {cpu->realtime && from->realtime, "domain.cpu.realtime"},
    };
    bool any = false;
    for (size_t i = 0; i < KB_ARRAY_LEN(rules); i++) {
        if (!rules[i].conflict)
            continue;
        virt_add_conflict(conflicts, rules[i].field);
        any = true;
    }
    return any;
}

void virt_instancetype_apply_cpu(struct conflicts *conflicts,
                                 const struct instancetype_vm_instancetype_spec *instancetype,
                                 const struct instancetype_vm_preference_spec *preference, struct kv_vmi_spec *spec)
{
    const struct instancetype_cpu_instancetype *from = &instancetype->cpu;
    struct kb_arena *arena = conflicts->arena;
    if (!spec->domain.cpu)
        spec->domain.cpu = kb_arena_one(arena, struct kv_cpu);
    if (find_conflicts(conflicts, from, &spec->domain))
        return;
    struct kv_cpu *cpu = spec->domain.cpu;
    if (from->model)
        cpu->model = from->model;
    if (from->dedicated_cpu_placement)
        cpu->dedicated_cpu_placement = *from->dedicated_cpu_placement;
    if (from->isolate_emulator_thread)
        cpu->isolate_emulator_thread = *from->isolate_emulator_thread;
    if (from->numa)
        cpu->numa = api_clone(arena, &kv_numa_type, from->numa);
    if (from->realtime)
        cpu->realtime = api_clone(arena, &kv_realtime_type, from->realtime);
    if (from->max_sockets)
        cpu->max_sockets = *from->max_sockets;
    lay_out(from->guest, preference, cpu);
}
