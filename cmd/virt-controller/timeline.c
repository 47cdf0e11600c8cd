/*
 * One VM's timeline. Each kind has a function that notes what its times say; several notes of one time stay in the
 * order in which the kinds are read.
 */
#include "cmd/virt-controller/timeline.h"
#include "api/types/kv.h"
#include "base/strings.h"
#include "base/time.h"
#include "base/vec.h"
#include "virt/informers.h"
#include <stdlib.h>

static void note_at(struct timeline *timeline, int64_t wall, const char *source, const char *what)
{
    *kb_vec_push(timeline->arena, timeline) = (struct timeline_entry){wall, source, what};
}

static void note(struct timeline *timeline, const char *time, const char *source, const char *what)
{
    int64_t wall;
    if (!kb_empty(time) && kb_time_parse(time, &wall) && wall > 0)
        note_at(timeline, wall, source, kb_arena_strdup(timeline->arena, what));
}

/* ---- kinds ---- */

static const char *condition_text(struct kb_arena *arena, const char *type, const char *status, const char *reason,
                                  const char *message)
{
    return kb_arena_printf(arena, "condition %s is %s%s%s%s%s", type, status, *reason ? " (" : "", reason,
                           *reason ? ")" : "", *message ? kb_arena_printf(arena, ": %s", message) : "");
}

#define NOTE_CONDITIONS(timeline, source, list)                                                                        \
    api_list_foreach (c, (list))                                                                                       \
    note((timeline), c->last_transition_time, (source),                                                                \
         condition_text((timeline)->arena, c->type, c->status, c->reason, c->message))

#define NOTE_PHASES(timeline, source, list)                                                                            \
    api_list_foreach (p, (list))                                                                                       \
    note((timeline), p->phase_transition_timestamp, (source), kb_arena_printf((timeline)->arena, "phase %s", p->phase))

static void note_life(struct timeline *timeline, const char *source, const struct meta_object_meta *meta)
{
    note(timeline, meta->creation_timestamp, source, "created");
    note(timeline, meta->deletion_timestamp, source, "deletion asked for");
}

static void note_vm(struct timeline *timeline, const struct kv_vm *vm)
{
    note_life(timeline, "VirtualMachine", &vm->metadata);
    NOTE_CONDITIONS(timeline, "VirtualMachine", &vm->status.conditions);
}

static void note_vmi(struct timeline *timeline, const struct kv_vmi *vmi)
{
    note_life(timeline, "VirtualMachineInstance", &vmi->metadata);
    NOTE_PHASES(timeline, "VirtualMachineInstance", &vmi->status.phase_transition_timestamps);
    NOTE_CONDITIONS(timeline, "VirtualMachineInstance", &vmi->status.conditions);
}

static void note_container(struct timeline *timeline, const char *source, const struct core_container_status *status)
{
    const struct core_container_state *state = &status->state;
    if (state->running)
        note(timeline, state->running->started_at, source,
             kb_arena_printf(timeline->arena, "container %s started", status->name));
    if (!state->terminated)
        return;
    note(timeline, state->terminated->started_at, source,
         kb_arena_printf(timeline->arena, "container %s started", status->name));
    note(timeline, state->terminated->finished_at, source,
         kb_arena_printf(timeline->arena, "container %s ended with status %d %s", status->name,
                         state->terminated->exit_code, state->terminated->reason));
}

static void note_pod(struct timeline *timeline, const struct core_pod *pod)
{
    const char *source = kb_arena_printf(timeline->arena, "Pod %s", pod->metadata.name);
    note_life(timeline, source, &pod->metadata);
    NOTE_CONDITIONS(timeline, source, &pod->status.conditions);
    api_list_foreach (status, &pod->status.container_statuses)
        note_container(timeline, source, status);
}

static void note_migration(struct timeline *timeline, const struct kv_vmim *migration)
{
    const char *source =
        kb_arena_printf(timeline->arena, "VirtualMachineInstanceMigration %s", migration->metadata.name);
    note_life(timeline, source, &migration->metadata);
    NOTE_PHASES(timeline, source, &migration->status.phase_transition_timestamps);
}

/* ---- reading ---- */

static struct kube_store *store_of(struct kube_runtime *runtime, int informer)
{
    struct kube_informer *found = kube_runtime_informer(runtime, informer);
    return found ? kube_informer_store(found) : NULL;
}

static void read_pods(struct timeline *timeline, struct kube_runtime *runtime, const char *vmi_uid)
{
    struct kube_store *store = store_of(runtime, VIRT_POD);
    if (!store)
        return;
    struct kube_objects pods = kube_store_by_index(store, VIRT_INDEX_CREATED_BY, vmi_uid);
    for (size_t i = 0; i < pods.n; i++)
        note_pod(timeline, api_object_data(pods.items[i]));
    kube_objects_done(&pods);
}

static void read_instance(struct timeline *timeline, struct kube_runtime *runtime, const char *namespace_,
                          const char *name)
{
    struct kube_store *store = store_of(runtime, VIRT_VMI);
    const struct api_object *object = store ? kube_store_get(store, namespace_, name) : NULL;
    if (!object)
        return;
    const struct kv_vmi *vmi = api_object_data(object);
    note_vmi(timeline, vmi);
    read_pods(timeline, runtime, vmi->metadata.uid);
    api_object_unref(object);
}

static void read_migrations(struct timeline *timeline, struct kube_runtime *runtime, const char *key)
{
    struct kube_store *store = store_of(runtime, VIRT_MIGRATION);
    if (!store)
        return;
    struct kube_objects migrations = kube_store_by_index(store, VIRT_INDEX_VMI_NAME, key);
    for (size_t i = 0; i < migrations.n; i++)
        note_migration(timeline, api_object_data(migrations.items[i]));
    kube_objects_done(&migrations);
}

static void read_log(struct timeline *timeline, struct journal *journal, const char *namespace_, const char *name)
{
    struct journal_line *lines;
    size_t n = journal_read(journal, timeline->arena, KB_INFO, namespace_, name, &lines);
    while (n-- > 0)
        note_at(timeline, lines[n].wall, "log", lines[n].message);
}

struct ordered {
    size_t order;
    struct timeline_entry entry;
};

static int by_time(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    if (x->entry.wall != y->entry.wall)
        return x->entry.wall < y->entry.wall ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort(struct timeline *timeline)
{
    struct ordered *all = kb_arena_many(timeline->arena, struct ordered, timeline->n + 1);
    for (size_t i = 0; i < timeline->n; i++)
        all[i] = (struct ordered){i, timeline->items[i]};
    qsort(all, timeline->n, sizeof(*all), by_time);
    for (size_t i = 0; i < timeline->n; i++)
        timeline->items[i] = all[i].entry;
}

void timeline_read(struct timeline *ret, struct kube_runtime *runtime, struct journal *journal, const char *namespace_,
                   const char *name)
{
    struct kube_store *vms = store_of(runtime, VIRT_VM);
    const struct api_object *vm = vms ? kube_store_get(vms, namespace_, name) : NULL;
    if (vm)
        note_vm(ret, api_object_data(vm));
    api_object_unref(vm);
    read_instance(ret, runtime, namespace_, name);
    read_migrations(ret, runtime, kb_arena_printf(ret->arena, "%s/%s", namespace_, name));
    if (journal)
        read_log(ret, journal, namespace_, name);
    sort(ret);
}
