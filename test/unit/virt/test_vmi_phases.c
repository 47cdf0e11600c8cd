/* Tests of the phase machine of instances: from which phase, with which facts, to which. */
#include "virt/vmi/vmi_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct row {
    const char *from;
    struct vmi_phase_facts facts;
    const char *to;
};

static const struct row rows[] = {
    /* before there is a Pod */
    {"", {0}, "Pending"},
    {"Pending", {0}, "Pending"},
    {"Pending", {.being_deleted = true}, "Failed"},
    {"Pending", {.data_volume_failed = true}, "Failed"},
    {"Pending", {.migration_target = true}, "WaitingForSync"},
    {"Pending", {.migration_target = true, .target_node_known = true}, "Pending"},
    {"Pending", {.temporary_pod = true, .waits_for_consumer = true}, "Pending"},
    {"Pending", {.temporary_pod = true, .waits_for_consumer = true, .temporary_pod_failed = true}, "Failed"},
    {"Pending", {.temporary_pod = true, .temporary_pod_failed = true}, "Pending"},
    /* with a Pod that the phase does not tell of yet */
    {"", {.pod = true}, "Scheduling"},
    {"Pending", {.pod = true, .data_volume_failed = true}, "Scheduling"},
    {"", {.pod = true, .pod_ready = true}, "Scheduled"},
    {"", {.pod = true, .pod_down_or_going = true}, "Failed"},
    {"", {.had_pod = true}, "Failed"},
    /* until it is handed over */
    {"Scheduling", {.pod = true}, "Scheduling"},
    {"Scheduling", {.pod = true, .pod_ready = true}, "Scheduled"},
    {"Scheduling", {.pod = true, .pod_ready = true, .being_deleted = true}, "Scheduling"},
    {"Scheduling", {.pod = true, .pod_ready = true, .lacks_guarantee = true}, "Scheduling"},
    {"Scheduling", {.pod = true, .pod_down_or_going = true}, "Failed"},
    {"Scheduling", {.pod = true, .pod_down_or_going = true, .migration_target = true}, "WaitingForSync"},
    {"Scheduling", {0}, "Failed"},
    {"Scheduling", {.migration_target = true}, "WaitingForSync"},
    /* virt-handler's */
    {"Scheduled", {.pod = true}, "Scheduled"},
    {"Scheduled", {.pod = true, .pod_down = true}, "Scheduled"},
    {"Scheduled", {0}, "Failed"},
    {"Scheduled", {.pod = true, .pod_down = true, .migration_target = true}, "WaitingForSync"},
    {"Scheduled", {.pod = true, .migration_target = true, .target_failed = true}, "WaitingForSync"},
    {"Running", {.pod = true}, "Running"},
    {"Running", {.pod = true, .pod_down = true}, "Running"},
    {"Running", {.pod = true, .moved_away = true}, "Succeeded"},
    {"Running", {0}, "Failed"},
    /* receivers */
    {"WaitingForSync", {0}, "WaitingForSync"},
    {"WaitingForSync", {.pod = true, .migration_target = true}, "Scheduling"},
    {"WaitingForSync", {.pod = true, .migration_target = true, .being_deleted = true}, "WaitingForSync"},
    {"WaitingForSync", {.pod = true, .migration_target = true, .pod_down = true}, "WaitingForSync"},
    {"WaitingForSync", {.pod = true, .migration_target = true, .target_failed = true}, "WaitingForSync"},
    /* ends */
    {"Succeeded", {.pod = true, .pod_ready = true}, "Succeeded"},
    {"Failed", {0}, "Failed"},
};

static void each_phase_is_followed_by_what_the_facts_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const char *to = vmi_next_phase(rows[i].from, &rows[i].facts);

        if (!to || strcmp(to, rows[i].to) != 0)
            fail_msg("row %zu: from %s to %s, expected %s", i, rows[i].from, to ? to : "nowhere", rows[i].to);
    }
}

static void an_unknown_phase_has_no_next(void **state)
{
    (void)state;
    assert_null(vmi_next_phase("Unknown", &(struct vmi_phase_facts){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_phase_is_followed_by_what_the_facts_say),
        cmocka_unit_test(an_unknown_phase_has_no_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
