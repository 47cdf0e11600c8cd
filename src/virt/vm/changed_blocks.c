/*
 * Changed block tracking of a VM: wanted when the cluster's selectors choose the VM (by its labels, or its
 * namespace's), and switched on or off by starting a VMI anew. status.changedBlockTracking.state tells how far that is.
 *
 *     gate  wanted  VMI                         state
 *     on    yes     none                        Initializing; Enabled stays
 *     on    yes     there                       PendingRestart, until a VMI was started with it: Initializing, Enabled
 *     on    no      none, or one without it     Disabled, unless it never was on
 *     on    no      one with it                 PendingRestart
 *     off   yes     none, or one without it     IncrementalBackupFeatureGateDisabled
 *     off   no      none, or one without it     no state at all
 *     off   any     one with it                 PendingRestart, when it is on
 *
 * Source: the reference's pkg/storage/cbt/cbt.go.
 */
#include "base/strings.h"
#include "kube/selector.h"
#include "virt/vm/vm_internal.h"

#define PENDING_RESTART "PendingRestart"
#define INITIALIZING    "Initializing"
#define ENABLED         "Enabled"
#define DISABLED        "Disabled"
#define GATE_DISABLED   "IncrementalBackupFeatureGateDisabled"

static bool is_off(const char *state)
{
    return kb_streq(state, "") || kb_streq(state, DISABLED);
}

static bool is_on(const char *state)
{
    return kb_streq(state, INITIALIZING) || kb_streq(state, ENABLED);
}

static bool is_known(const char *state)
{
    static const char *const states[] = {"", PENDING_RESTART, INITIALIZING, ENABLED, DISABLED, GATE_DISABLED};
    return kb_in_list(state, states, KB_ARRAY_LEN(states));
}

static const char *switched_on(const char *state, const char *vmi_state)
{
    if (!is_known(state))
        return "";
    if (!vmi_state)
        return kb_streq(state, ENABLED) ? ENABLED : INITIALIZING;
    if (kb_streq(state, "") || kb_streq(state, GATE_DISABLED))
        return PENDING_RESTART;
    if (is_on(state))
        return kb_streq(vmi_state, ENABLED) ? ENABLED : INITIALIZING;
    return is_on(vmi_state) ? vmi_state : PENDING_RESTART;
}

static const char *switched_off(const char *state, const char *vmi_state)
{
    if (is_off(state))
        return state;
    if (!vmi_state || is_off(vmi_state))
        return DISABLED;
    return is_known(state) ? PENDING_RESTART : "";
}

static const char *without_gate(bool wanted, const char *state, const char *vmi_state)
{
    if (kb_streq(state, GATE_DISABLED))
        return state;
    if (!vmi_state || is_off(vmi_state))
        return wanted ? GATE_DISABLED : NULL;
    return is_on(state) ? PENDING_RESTART : state;
}

const char *vm_tracking_state(bool gate, bool wanted, const char *state, const char *vmi_state)
{
    if (!gate)
        return without_gate(wanted, state, vmi_state);
    return wanted ? switched_on(state, vmi_state) : switched_off(state, vmi_state);
}

/* A selector that is not set chooses nothing. */
static bool is_wanted(struct vm_pass *pass)
{
    const struct kv_changed_block_tracking_selectors *selectors =
        pass->config->spec->changed_block_tracking_label_selectors;
    if (!selectors)
        return false;
    const struct meta_object_meta *vm = &pass->vm->metadata;
    if (kube_label_selector_matches(selectors->virtual_machine_label_selector, &vm->labels))
        return true;
    const struct core_namespace *namespace =
        selectors->namespace_label_selector ? kube_lookup(pass->req, VIRT_NAMESPACE, "", vm->namespace) : NULL;
    return namespace && kube_label_selector_matches(selectors->namespace_label_selector, &namespace->metadata.labels);
}

static const char *state_of(const struct kv_changed_block_tracking_status *status)
{
    return status ? status->state : "";
}

void vm_sync_tracking_state(struct vm_pass *pass)
{
    struct kv_changed_block_tracking_status **status = &pass->vm->status.changed_block_tracking;
    const char *state = state_of(*status);
    const char *vmi_state = pass->vmi ? state_of(pass->vmi->status.changed_block_tracking) : NULL;
    const char *next =
        vm_tracking_state(virt_gate(pass->config, VIRT_GATE_INCREMENTAL_BACKUP), is_wanted(pass), state, vmi_state);
    if (!next) {
        *status = NULL;
        return;
    }
    if (kb_streq(next, state))
        return;
    if (!*status)
        *status = kb_arena_one(pass->arena, struct kv_changed_block_tracking_status);
    (*status)->state = next;
}

void vm_start_tracking(struct vm_pass *pass, struct kv_vmi *vmi)
{
    if (!virt_gate(pass->config, VIRT_GATE_INCREMENTAL_BACKUP))
        return;
    const char *state = is_wanted(pass)                                                   ? INITIALIZING
                        : kb_streq(state_of(pass->vm->status.changed_block_tracking), "") ? NULL
                                                                                          : DISABLED;
    if (!state)
        return;
    vmi->status.changed_block_tracking = kb_arena_one(pass->arena, struct kv_changed_block_tracking_status);
    vmi->status.changed_block_tracking->state = state;
}
