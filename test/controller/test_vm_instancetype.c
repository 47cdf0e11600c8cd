/* The VirtualMachine controller and instance types, in a small world. */
#include "controller/vm_fixture.h"

#include "base/strings.h"

#define DISKS                                                                                                          \
    "'domain':{'devices':{'disks':[{'name':'root','disk':{}}]}},'volumes':[{'name':'root','containerDisk':{'image':'"  \
    "a:1'}}]"
#define SMALL      "{'metadata':{'name':'small'},'spec':{'cpu':{'guest':2},'memory':{'guest':'1Gi'}}}"
#define LARGE      "{'metadata':{'name':'large'},'spec':{'cpu':{'guest':4},'memory':{'guest':'4Gi'}}}"
#define LINUX      "{'metadata':{'name':'linux'},'spec':{'devices':{'preferredDiskBus':'virtio'}}}"
#define IT(name)   "'instancetype':{'kind':'VirtualMachineInstancetype','name':'" name "'}"
#define PREFERENCE "'preference':{'kind':'VirtualMachinePreference','name':'linux'}"
#define ALWAYS     "'runStrategy':'Always',"
#define HALTED     "'runStrategy':'Halted',"
#define REF        "/status/instancetypeRef/controllerRevisionRef/name"

/* The revision that the status refers to. */
static const char *kept(struct world *w, const char *pointer)
{
    return world_text(w, REVISIONS, vm_text(w, REF), pointer);
}

static void an_instance_type_is_kept_and_applied(void **state)
{
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create_object(w, PREFERENCES, LINUX);
    vm_create(w, ALWAYS IT("small") "," PREFERENCE, DISKS);
    world_settle(w);
    assert_string_equal(world_writes(w),
                        "PUT virtualmachines/vm, POST controllerrevisions, POST controllerrevisions, "
                        "POST controllerrevisions, POST virtualmachineinstances, PATCH virtualmachines/vm, "
                        "PATCH virtualmachines/vm/status");
    assert_string_equal(vm_text(w, "/status/instancetypeRef/name"), "small");
    assert_string_equal(vm_text(w, "/status/preferenceRef/name"), "linux");
    assert_string_equal(kept(w, "/data/spec/cpu/guest"), "2");
    assert_string_equal(kept(w, "/metadata/ownerReferences/0/name"), "vm");
    assert_string_equal(vmi_text(w, "/spec/domain/cpu"), "{\"cores\":1,\"sockets\":2,\"threads\":1}");
    assert_string_equal(vmi_text(w, "/spec/domain/memory/guest"), "1Gi");
    assert_string_equal(vmi_text(w, "/spec/domain/devices/disks/0/disk/bus"), "virtio");
    assert_string_equal(vmi_text(w, "/metadata/annotations/kubevirt.io~1instancetype-name"), "small");
    assert_string_equal(vm_text(w, "/spec/template/spec/domain/cpu"), "");
    vm_expect_rest(w);
}

static void a_missing_instance_type_is_told_of_and_awaited(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS IT("small"), DISKS);
    world_step(w);
    world_step(w);
    assert_string_equal(vm_condition(w, "Failure"),
                        "True FailedFindInstancetype: virtualmachineinstancetypes.instancetype.kubevirt.io \"small\" "
                        "not found");
    assert_false(world_exists(w, VMIS, "vm"));
    vm_create_object(w, INSTANCETYPES, SMALL);
    world_settle(w);
    assert_true(world_exists(w, VMIS, "vm"));
    assert_string_equal(vm_condition(w, "Failure"), "");
}

static void a_missing_preference_is_told_of(void **state)
{
    struct world *w = *state;
    vm_create(w, HALTED "'preference':{'name':'none'}", DISKS);
    world_step(w);
    world_step(w);
    assert_string_equal(vm_condition(w, "Failure"),
                        "True FailedFindPreference: virtualmachineclusterpreferences.instancetype.kubevirt.io "
                        "\"none\" not found");
}

static void conflicts_are_told_and_nothing_is_kept(void **state)
{
    static const char text[] = "error encountered while storing instancetype.kubevirt.io controllerRevisions: VM "
                               "field(s) spec.template.spec.domain.cpu.cores conflicts with selected instance type";
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create(w, ALWAYS IT("small"), "'domain':{'cpu':{'cores':2},'devices':{}}");
    world_step(w);
    world_step(w);
    assert_string_equal(vm_condition(w, "Failure"), kb_arena_printf(world_arena(w), "True FailedCreate: %s", text));
    assert_string_equal(vm_text(w, REF), "");
    assert_false(world_exists(w, VMIS, "vm"));
    assert_non_null(strstr(world_events(w), text));
}

static void a_kept_instance_type_does_not_change(void **state)
{
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create(w, HALTED IT("small"), DISKS);
    world_settle(w);
    world_patch(w, INSTANCETYPES, "small", "{\"spec\":{\"cpu\":{\"guest\":8}}}");
    vm_patch(w, "{'runStrategy':'Always'}");
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "2");
}

static void another_instance_type_is_kept_in_its_place(void **state)
{
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create_object(w, INSTANCETYPES, LARGE);
    vm_create(w, HALTED IT("small"), DISKS);
    world_settle(w);
    const char *first = vm_text(w, REF);
    vm_patch(w, "{'instancetype':{'name':'large'}}");
    assert_string_equal(vm_text(w, "/status/instancetypeRef/name"), "large");
    assert_string_not_equal(vm_text(w, REF), first);
    assert_string_equal(kept(w, "/data/spec/cpu/guest"), "4");
    vm_patch(w, kb_arena_printf(world_arena(w), "{'instancetype':{'revisionName':'%s'}}", first));
    assert_string_equal(vm_text(w, REF), first);
    vm_expect_rest(w);
}

/* What somebody else has put in the place of the revision. */
static void take_place_of_revision(struct world *w, const char *guest)
{
    const char *uid = world_text(w, INSTANCETYPES, "small", "/metadata/uid");
    vm_create_object(
        w, REVISIONS,
        kb_arena_printf(world_arena(w),
                        "{'metadata':{'name':'vm-small-v1beta1-%s-1'},'revision':0,'data':{'apiVersion':"
                        "'instancetype.kubevirt.io/v1beta1','kind':'VirtualMachineInstancetype','metadata':"
                        "{'name':'small'},'spec':{'cpu':{'guest':%s},'memory':{'guest':'1Gi'}}}}",
                        uid, guest));
}

static void a_revision_that_is_there_must_keep_the_same(void **state)
{
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    take_place_of_revision(w, "3");
    vm_create(w, HALTED IT("small"), DISKS);
    world_step(w);
    world_step(w);
    const char *told = vm_condition(w, "Failure");
    assert_non_null(strstr(told, "found existing ControllerRevision with unexpected data: vm-small-v1beta1-"));
}

static void a_revision_that_is_there_is_used(void **state)
{
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    take_place_of_revision(w, "2");
    vm_create(w, HALTED IT("small"), DISKS);
    world_settle(w);
    assert_string_equal(vm_condition(w, "Failure"), "");
    assert_true(world_exists(w, REVISIONS, vm_text(w, REF)));
}

#define OLD_REVISION                                                                                                   \
    "{'metadata':{'name':'old','labels':{'instancetype.kubevirt.io/object-name':'small'}},'revision':0,'data':"        \
    "{'apiVersion':'instancetype.kubevirt.io/v1beta1','kind':'VirtualMachineInstancetype','metadata':{'name':'small'," \
    "'uid':'u','generation':3},'spec':{'cpu':{'guest':5},'memory':{'guest':'1Gi'}}}}"
#define OLD_REF                                                                                                        \
    "{'status':{'instancetypeRef':{'kind':'VirtualMachineInstancetype','name':'small','controllerRevisionRef':"        \
    "{'name':'old'}}}}"

static void old_revisions_are_renewed(void **state)
{
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create_object(w, REVISIONS, OLD_REVISION);
    vm_create(w, HALTED IT("small"), DISKS);
    world_patch_status(w, VMS, "vm", vm_json(w, OLD_REF));
    world_settle(w);
    assert_string_equal(vm_text(w, REF), "vm-small-v1beta1-u-3");
    assert_string_equal(kept(w, "/data/spec/cpu/guest"), "5");
    assert_string_equal(kept(w, "/metadata/labels/instancetype.kubevirt.io~1object-version"), "v1beta1");
    assert_false(world_exists(w, REVISIONS, "old"));
}

/* Somebody took its label; what it would be renewed to has its name. */
static void a_revision_is_not_renewed_to_itself(void **state)
{
    struct world *w = *state;
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create(w, HALTED IT("small"), DISKS);
    world_settle(w);
    const char *name = vm_text(w, REF);
    world_patch(w, REVISIONS, name,
                vm_json(w, "{'metadata':{'labels':{'instancetype.kubevirt.io/object-version':'v1alpha2'}}}"));
    vm_patch(w, "{'instancetype':{'inferFromVolumeFailurePolicy':'Ignore'}}");
    assert_string_equal(vm_condition(w, "Failure"),
                        kb_arena_printf(world_arena(w),
                                        "True FailedCreate: error encountered while upgrading instancetype.kubevirt.io "
                                        "controllerRevisions: controllerrevisions.apps \"%s\" already exists",
                                        name));
    assert_true(world_exists(w, REVISIONS, name));
}

static void a_policy_writes_the_instance_type_into_the_vm(void **state)
{
    struct world *w = *state;
    world_configure(w, vm_json(w, "{'instancetype':{'referencePolicy':'expand'}}"));
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create_object(w, PREFERENCES, LINUX);
    vm_create(w, HALTED IT("small") "," PREFERENCE, DISKS);
    world_settle(w);
    assert_string_equal(vm_text(w, "/spec/instancetype"), "");
    assert_string_equal(vm_text(w, "/spec/preference"), "");
    assert_string_equal(vm_text(w, "/spec/template/spec/domain/cpu/sockets"), "2");
    assert_string_equal(vm_text(w, "/spec/template/spec/domain/devices/disks/0/disk/bus"), "virtio");
    assert_string_equal(vm_text(w, "/status/instancetypeRef"), "");
    vm_expect_rest(w);
}

static void a_vm_with_a_revision_is_expanded_only_when_all_are(void **state)
{
    struct world *w = *state;
    world_configure(w, vm_json(w, "{'instancetype':{'referencePolicy':'expand'}}"));
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create_object(w, REVISIONS, OLD_REVISION);
    vm_create(w, HALTED IT("small"), DISKS);
    world_patch_status(w, VMS, "vm", vm_json(w, OLD_REF));
    world_settle(w);
    assert_string_equal(vm_text(w, "/spec/instancetype/name"), "small");
    assert_true(world_exists(w, REVISIONS, "old"));
    world_configure(w, vm_json(w, "{'instancetype':{'referencePolicy':'expandAll'}}"));
    world_poke(w, "vm", "default/vm");
    assert_string_equal(vm_text(w, "/spec/instancetype"), "");
    assert_string_equal(vm_text(w, "/spec/template/spec/domain/cpu/sockets"), "5");
    assert_false(world_exists(w, REVISIONS, "old"));
}

static void a_vm_that_can_not_be_expanded_says_why(void **state)
{
    struct world *w = *state;
    world_configure(w, vm_json(w, "{'instancetype':{'referencePolicy':'expandAll'}}"));
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create(w, HALTED IT("small"), "'domain':{'cpu':{'cores':2},'devices':{}}");
    world_step(w);
    world_step(w);
    assert_string_equal(vm_condition(w, "Failure"),
                        "True UnsupportedSyncError: unsupported error: error encountered while expanding into "
                        "VirtualMachine: VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected "
                        "instance type");
}

/* ---- whatever fails ---- */

static void play_start(struct world *w)
{
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create_object(w, PREFERENCES, LINUX);
    vm_create(w, ALWAYS IT("small") "," PREFERENCE, DISKS);
    world_settle(w);
}

static void play_renewal(struct world *w)
{
    vm_create_object(w, INSTANCETYPES, SMALL);
    vm_create_object(w, REVISIONS, OLD_REVISION);
    vm_create(w, HALTED IT("small"), DISKS);
    world_patch_status(w, VMS, "vm", vm_json(w, OLD_REF));
    world_settle(w);
}

static void play_expansion(struct world *w)
{
    world_configure(w, vm_json(w, "{'instancetype':{'referencePolicy':'expandAll'}}"));
    play_renewal(w);
    vm_patch(w, "{'runStrategy':'Always'}");
}

/* Names of revisions have a UID in them, which is another one each time; one that has been replaced may stay. */
static const char *digest(struct world *w)
{
    return kb_arena_printf(world_arena(w), "%s %s %s %s %s %s", vm_text(w, "/spec"),
                           vm_text(w, "/status/instancetypeRef/name"), vm_text(w, "/status/preferenceRef/name"),
                           kept(w, "/data/spec"), vmi_text(w, "/spec"), vm_condition(w, "Failure"));
}

static void instance_types_are_kept_whatever_fails(void **state)
{
    static void (*const scenarios[])(struct world * w) = {play_start, play_renewal, play_expansion};
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(scenarios); i++)
        world_play_sweep(&(struct world_sweep){.add_controller = virt_vm_controller_add,
                                               .scenario = scenarios[i],
                                               .digest = digest,
                                               .controller = "vm",
                                               .key = "default/vm"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VM_TEST(an_instance_type_is_kept_and_applied),
        VM_TEST(a_missing_instance_type_is_told_of_and_awaited),
        VM_TEST(a_missing_preference_is_told_of),
        VM_TEST(conflicts_are_told_and_nothing_is_kept),
        VM_TEST(a_kept_instance_type_does_not_change),
        VM_TEST(another_instance_type_is_kept_in_its_place),
        VM_TEST(a_revision_that_is_there_must_keep_the_same),
        VM_TEST(a_revision_that_is_there_is_used),
        VM_TEST(old_revisions_are_renewed),
        VM_TEST(a_revision_is_not_renewed_to_itself),
        VM_TEST(a_policy_writes_the_instance_type_into_the_vm),
        VM_TEST(a_vm_with_a_revision_is_expanded_only_when_all_are),
        VM_TEST(a_vm_that_can_not_be_expanded_says_why),
        cmocka_unit_test(instance_types_are_kept_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
