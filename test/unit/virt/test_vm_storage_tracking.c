/* Tests of virt/vm/changed_blocks: the next state of changed block tracking. */
#include "vm_fixture.h"

#define NONE NULL /* no VMI; or no state at all */
#define GATE "IncrementalBackupFeatureGateDisabled"

static const struct row {
    bool gate, wanted;
    const char *state, *vmi, *next;
} rows[] = {
    /* wanted, no VMI */
    {true, true, "", NONE, "Initializing"},
    {true, true, "PendingRestart", NONE, "Initializing"},
    {true, true, "Disabled", NONE, "Initializing"},
    {true, true, GATE, NONE, "Initializing"},
    {true, true, "Enabled", NONE, "Enabled"},
    {true, true, "nonsense", NONE, ""},
    /* wanted, with a VMI */
    {true, true, "", "", "PendingRestart"},
    {true, true, "", "Enabled", "PendingRestart"},
    {true, true, GATE, "Enabled", "PendingRestart"},
    {true, true, "PendingRestart", "", "PendingRestart"},
    {true, true, "PendingRestart", "Initializing", "Initializing"},
    {true, true, "PendingRestart", "Enabled", "Enabled"},
    {true, true, "Disabled", "Disabled", "PendingRestart"},
    {true, true, "Disabled", "Enabled", "Enabled"},
    {true, true, "Initializing", "Enabled", "Enabled"},
    {true, true, "Initializing", "", "Initializing"},
    {true, true, "Enabled", "Enabled", "Enabled"},
    {true, true, "Enabled", "Disabled", "Initializing"},
    {true, true, "nonsense", "Enabled", ""},
    /* not wanted */
    {true, false, "", NONE, ""},
    {true, false, "Disabled", "Enabled", "Disabled"},
    {true, false, "Enabled", NONE, "Disabled"},
    {true, false, "Enabled", "", "Disabled"},
    {true, false, "Enabled", "Disabled", "Disabled"},
    {true, false, "Enabled", "Enabled", "PendingRestart"},
    {true, false, GATE, "Initializing", "PendingRestart"},
    /* without the gate */
    {false, true, "", NONE, GATE},
    {false, true, "Enabled", "Disabled", GATE},
    {false, false, "Enabled", NONE, NONE},
    {false, false, "", NONE, NONE},
    {false, false, GATE, NONE, GATE},
    {false, true, GATE, "Enabled", GATE},
    {false, true, "Enabled", "Enabled", "PendingRestart"},
    {false, false, "Initializing", "Initializing", "PendingRestart"},
    {false, true, "PendingRestart", "Enabled", "PendingRestart"},
    {false, true, "", "Enabled", ""},
};

static void each_state_has_its_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        const char *next = vm_tracking_state(r->gate, r->wanted, r->state, r->vmi);

        if (!kb_streq_null(next, r->next))
            fail_msg("row %zu (gate %d, wanted %d, \"%s\", VMI %s): expected %s, got %s", i, r->gate, r->wanted,
                     r->state, r->vmi ? r->vmi : "none", r->next ? r->next : "none", next ? next : "none");
    }
}

/* Otherwise the controller would write for ever. */
static void a_state_settles(void **state)
{
    static const char *const states[] = {"", "PendingRestart", "Initializing", "Enabled", "Disabled", GATE};

    (void)state;
    for (int bits = 0; bits < 4; bits++)
        for (size_t i = 0; i < KB_ARRAY_LEN(states); i++)
            for (size_t j = 0; j <= KB_ARRAY_LEN(states); j++) {
                const char *vmi = j < KB_ARRAY_LEN(states) ? states[j] : NONE;
                const char *next = states[i], *before = NULL;

                for (int step = 0; step < 3; step++) {
                    before = next;
                    next = vm_tracking_state(bits & 1, bits & 2, next ? next : "", vmi);
                }
                if (!kb_streq_null(next, before))
                    fail_msg("\"%s\" with VMI %s does not settle", states[i], vmi ? vmi : "none");
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state_has_its_next),
        cmocka_unit_test(a_state_settles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
