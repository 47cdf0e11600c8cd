/* Tests of virt/vm/volume_migration and its rules: moves that were changed or put back, refusals, and the VM's status.
 */
#include "virt/conditions.h"
#include "vm_fixture.h"

#define CLAIM(name, claim) "{\"name\":\"" name "\",\"persistentVolumeClaim\":{\"claimName\":\"" claim "\"}}"
#define DV(name, dv)       "{\"name\":\"" name "\",\"dataVolume\":{\"name\":\"" dv "\"}}"
#define SPEC(volumes)      "{\"domain\":{\"devices\":{}},\"volumes\":[" volumes "]}"
#define MOVE(name, from, to)                                                                                           \
    "{\"volumeName\":\"" name "\",\"sourcePVCInfo\":{\"claimName\":\"" from                                            \
    "\"},\"destinationPVCInfo\":{\"claimName\":\"" to "\"}}"
#define MOVING(volumes, moves) "{\"spec\":" SPEC(volumes) ",\"status\":{\"migratedVolumes\":[" moves "]}}"

static void a_move_under_way_knows_its_changes(void **state)
{
    static const struct row {
        const char *what, *template, *vmi;
        bool changed, reverted;
    } rows[] = {
        {"as it is", SPEC(CLAIM("a", "a2")), MOVING(CLAIM("a", "a2"), MOVE("a", "a1", "a2")), false, false},
        {"put back", SPEC(CLAIM("a", "a1")), MOVING(CLAIM("a", "a2"), MOVE("a", "a1", "a2")), true, true},
        {"put back as a DataVolume", SPEC(DV("a", "a1")), MOVING(CLAIM("a", "a2"), MOVE("a", "a1", "a2")), true, true},
        {"elsewhere", SPEC(CLAIM("a", "a3")), MOVING(CLAIM("a", "a2"), MOVE("a", "a1", "a2")), true, false},
        {"one of two put back", SPEC(CLAIM("a", "a1") "," CLAIM("b", "b2")),
         MOVING(CLAIM("a", "a2") "," CLAIM("b", "b2"), MOVE("a", "a1", "a2") "," MOVE("b", "b1", "b2")), true, false},
        {"put back, and another changed", SPEC(CLAIM("a", "a1") "," CLAIM("c", "c2")),
         MOVING(CLAIM("a", "a2") "," CLAIM("c", "c1"), MOVE("a", "a1", "a2")), true, false},
        {"another changed", SPEC(CLAIM("a", "a2") "," CLAIM("c", "c2")),
         MOVING(CLAIM("a", "a2") "," CLAIM("c", "c1"), MOVE("a", "a1", "a2")), false, false},
        {"volume removed", SPEC(""), MOVING(CLAIM("a", "a2"), MOVE("a", "a1", "a2")), false, false},
        {"source unknown", SPEC(CLAIM("a", "a1")), MOVING(CLAIM("a", "a2"), "{\"volumeName\":\"a\"}"), true, false},
    };
    struct kb_arena *arena = *state;

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct kv_vmi_spec *template = SPEC_OF(arena, rows[i].template);
        const struct kv_vmi *vmi = VMI_OF(arena, rows[i].vmi);

        if (vm_moves_changed(template, vmi) != rows[i].changed)
            fail_msg("%s: changed should be %d", rows[i].what, rows[i].changed);
        if (rows[i].changed && vm_moves_reverted(template, vmi) != rows[i].reverted)
            fail_msg("%s: reverted should be %d", rows[i].what, rows[i].reverted);
    }
}

static void volumes_that_stay_must_be_reachable_from_elsewhere(void **state)
{
#define STATUS(name, mode)                                                                                             \
    "{\"name\":\"" name "\",\"target\":\"\",\"persistentVolumeClaimInfo\":{\"accessModes\":[\"" mode "\"]}}"
    static const struct row {
        const char *vmi, *refusal;
    } rows[] = {
        {"{\"status\":{\"volumeStatus\":[" STATUS("a", "ReadWriteOnce") "]}}", ""},
        {"{\"status\":{\"volumeStatus\":[" STATUS("a", "ReadWriteOnce") "," STATUS("b", "ReadWriteMany") "]}}", ""},
        {"{\"status\":{\"volumeStatus\":[" STATUS("b", "ReadWriteOnce") "]}}",
         "cannot migrate the VM. The volume b is RWO and not included in the migration volumes"},
        {"{\"status\":{\"volumeStatus\":[" STATUS("b", "ReadWriteOncePod") "]}}",
         "cannot migrate the VM. The volume b is RWO and not included in the migration volumes"},
        {"{\"status\":{\"volumeStatus\":[" STATUS("persistent-state-for-this-vm", "ReadWriteOnce") "]}}", ""},
        {"{\"status\":{\"volumeStatus\":[{\"name\":\"root\",\"target\":\"vda\"}]}}", ""},
        {"{\"status\":{\"conditions\":[{\"type\":\"StorageLiveMigratable\",\"status\":\"False\",\"message\":\"no\"}]}}",
         "cannot migrate the volumes as the VMI isn't migratable: no"},
    };
    struct kb_arena *arena = *state;
    struct kv_vmi *moving = VMI_OF(arena, MOVING("", MOVE("a", "a1", "a2")));

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const char *refusal =
            vm_refuse_storage_migration(arena, VMI_OF(arena, rows[i].vmi), &moving->status.migrated_volumes);

        if (!kb_streq(refusal ? refusal : "", rows[i].refusal))
            fail_msg("row %zu: expected \"%s\", got \"%s\"", i, rows[i].refusal, refusal ? refusal : "");
    }
}

#define VM(strategy, claim, change)                                                                                    \
    "{\"spec\":{\"updateVolumesStrategy\":\"" strategy "\",\"template\":{\"spec\":" SPEC(                              \
        CLAIM("a", claim)) "}},\"status\":{\"volumeUpdateState\":{\"volumeMigrationState\":{\"migratedVolumes\":"      \
                           "[" MOVE("a", "a1", "a2") "]}},\"conditions\":[" change "]}}"
#define CHANGE "{\"type\":\"VolumesChange\",\"status\":\"True\"}"
#define MANUAL "{\"type\":\"ManualRecoveryRequired\",\"status\":\"True\"}"

static void the_vm_knows_how_its_move_ended(void **state)
{
    static const struct row {
        const char *what, *vm, *vmi /* "": none */;
        bool moving, change, manual;
    } rows[] = {
        {"runs", VM("Migration", "a2", CHANGE), "{\"status\":{\"phase\":\"Running\"}}", true, true, false},
        {"lost", VM("Migration", "a2", CHANGE), "", true, true, true},
        {"failed", VM("Migration", "a2", CHANGE), "{\"status\":{\"phase\":\"Failed\"}}", true, true, true},
        {"stopped later", VM("Migration", "a2", ""), "", true, false, false},
        {"put back after it was lost", VM("Migration", "a1", CHANGE "," MANUAL), "", false, false, false},
        {"other strategy", VM("Replacement", "a2", CHANGE "," MANUAL), "", false, false, false},
        {"cancelled", VM("Migration", "a2", ""),
         "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"VolumesChange\",\"status\":\"False\","
         "\"reason\":\"VolumesChangeCancellation\"}]}}",
         false, false, false},
    };
    struct kb_arena *arena = *state;

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        struct kv_vm *vm = VM_OF(arena, r->vm);

        vm_update_volume_migration(arena, vm, *r->vmi ? VMI_OF(arena, r->vmi) : NULL);
        bool moving = vm->status.volume_update_state->volume_migration_state;
        bool change = virt_vm_condition(vm, "VolumesChange");
        bool manual = virt_vm_condition_is(vm, "ManualRecoveryRequired", VIRT_TRUE);
        if (moving != r->moving || change != r->change || manual != r->manual)
            fail_msg("%s: moving %d, change %d, manual %d", r->what, moving, change, manual);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(a_move_under_way_knows_its_changes),
        ARENA_TEST(volumes_that_stay_must_be_reachable_from_elsewhere),
        ARENA_TEST(the_vm_knows_how_its_move_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
