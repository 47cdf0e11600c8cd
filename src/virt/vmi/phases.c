/*
 * The phase machine of an instance, as a pure function.
 *
 *                     a failed volume, or deleted
 *     (none), Pending ------------------------------------------------------------------> Failed
 *          |   \  receiver of a migration whose target node is not known                     ^
 *          |    `-----------------------> WaitingForSync <----------.                        |
 *          | launcher Pod is there          | Pod is there           \ receiver              |
 *          v                                v                         \                      |
 *       Scheduling <------------------------'--------------------------- Pod gone or down ---+
 *          | Pod ready: the instance is handed to virt-handler                               |
 *          v                                                                                 |
 *       Scheduled ------------------------------------------------------ Pod gone -----------+
 *          | virt-handler: the guest runs                                                    |
 *          v                                                                                 |
 *       Running -------------------------------------------------------- Pod gone -----------'
 *          | virt-handler: the guest has ended; here: its Pod has, after a migration to another cluster
 *          v
 *       Succeeded, Failed: nothing follows
 *
 * An instance without phase whose Pod is ready, or gone, by the time that its status is written passes through
 * Scheduling in that write. A stand-in Pod keeps an instance Pending; it becomes Failed when that Pod fails.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/strings.h"

static const char *when_lost(const struct vmi_phase_facts *f)
{
    return f->migration_target ? VIRT_PHASE_WAITING_FOR_SYNC : VIRT_PHASE_FAILED;
}

static const char *from_scheduling(const struct vmi_phase_facts *f)
{
    if (!f->pod)
        return when_lost(f);
    if (f->pod_ready && !f->being_deleted)
        return f->lacks_guarantee ? VIRT_PHASE_SCHEDULING : VIRT_PHASE_SCHEDULED;
    return f->pod_down_or_going ? when_lost(f) : VIRT_PHASE_SCHEDULING;
}

static const char *from_pending(const struct vmi_phase_facts *f)
{
    if (f->pod || f->had_pod)
        return from_scheduling(f);
    if (f->being_deleted || f->data_volume_failed)
        return VIRT_PHASE_FAILED;
    if (f->migration_target && !f->target_node_known)
        return VIRT_PHASE_WAITING_FOR_SYNC;
    if (f->waits_for_consumer && f->temporary_pod && f->temporary_pod_failed)
        return VIRT_PHASE_FAILED;
    return VIRT_PHASE_PENDING;
}

static const char *from_scheduled(const struct vmi_phase_facts *f)
{
    if (!f->pod || (f->migration_target && f->pod_down) || f->target_failed)
        return when_lost(f);
    return VIRT_PHASE_SCHEDULED;
}

static const char *from_running(const struct vmi_phase_facts *f)
{
    if (!f->pod)
        return VIRT_PHASE_FAILED;
    return f->moved_away ? VIRT_PHASE_SUCCEEDED : VIRT_PHASE_RUNNING;
}

static const char *from_waiting(const struct vmi_phase_facts *f)
{
    const bool goes_on = f->pod && !f->target_failed && !(f->migration_target && f->pod_down);

    return goes_on && !f->being_deleted ? VIRT_PHASE_SCHEDULING : VIRT_PHASE_WAITING_FOR_SYNC;
}

static const char *ended_well(const struct vmi_phase_facts *f)
{
    (void)f;
    return VIRT_PHASE_SUCCEEDED;
}

static const char *ended_badly(const struct vmi_phase_facts *f)
{
    (void)f;
    return VIRT_PHASE_FAILED;
}

static const struct {
    const char *phase;
    const char *(*next)(const struct vmi_phase_facts *facts);
} machine[] = {
    {"", from_pending},
    {VIRT_PHASE_PENDING, from_pending},
    {VIRT_PHASE_SCHEDULING, from_scheduling},
    {VIRT_PHASE_SCHEDULED, from_scheduled},
    {VIRT_PHASE_RUNNING, from_running},
    {VIRT_PHASE_WAITING_FOR_SYNC, from_waiting},
    {VIRT_PHASE_SUCCEEDED, ended_well},
    {VIRT_PHASE_FAILED, ended_badly},
};

const char *vmi_next_phase(const char *phase, const struct vmi_phase_facts *facts)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(machine); i++)
        if (kb_streq(machine[i].phase, phase))
            return machine[i].next(facts);
    return NULL;
}
