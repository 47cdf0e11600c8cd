/* The VirtualMachine controller and run strategies, in a small world. */
#include "controller/vm_fixture.h"

#include "base/strings.h"

#define STRATEGY(name) "'runStrategy':'" name "'"
#define TEMPLATE                                                                                                       \
    "'domain':{'devices':{'disks':[{'name':'root','disk':{}}]}},'volumes':[{'name':'root','containerDisk':{'image':'"  \
    "a:1'}}]"
#define PHASE(name) "{'status':{'phase':'" name "'}}"

static const char *status(struct world *w)
{
    return vm_text(w, "/status/printableStatus");
}

static void request(struct world *w, const char *requests)
{
    world_patch_status(
        w, VMS, "vm", vm_json(w, kb_arena_printf(world_arena(w), "{'status':{'stateChangeRequests':[%s]}}", requests)));
    world_settle(w);
}

static void request_stop(struct world *w)
{
    request(w, kb_arena_printf(world_arena(w), "{'action':'Stop','uid':'%s'}", vmi_text(w, "/metadata/uid")));
}

/* The guest (and virt-handler) says that it is over. */
static void end(struct world *w, const char *phase)
{
    vm_patch_vmi(w, kb_arena_printf(world_arena(w), PHASE("%s"), phase));
}

static const char *uid(struct world *w)
{
    return vmi_text(w, "/metadata/uid");
}

static void always_runs_again(void **state)
{
    static const char *const phases[] = {"Succeeded", "Failed"};
    struct world *w = *state;
    vm_create(w, STRATEGY("Always"), TEMPLATE);
    for (size_t i = 0; i < KB_ARRAY_LEN(phases); i++) {
        vm_run(w);
        const char *before = uid(w);
        end(w, phases[i]);
        assert_true(world_exists(w, VMIS, "vm"));
        assert_string_not_equal(uid(w), before);
        assert_string_equal(status(w), "Starting");
    }
}

static void always_is_stopped_by_request_and_starts_anew(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Always"), TEMPLATE);
    vm_run(w);
    const char *before = uid(w);
    request_stop(w);
    assert_string_equal(status(w), "Stopping");
    end(w, "Succeeded");
    assert_string_not_equal(uid(w), before);
    assert_string_equal(vm_text(w, "/status/stateChangeRequests"), "");
}

static void a_start_that_fails_is_tried_again_ever_more_slowly(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Always"), TEMPLATE);
    world_step(w);
    world_step(w);
    world_patch(w, VMIS, "vm", vm_json(w, PHASE("Failed")));
    for (int i = 0; i < 4; i++)
        world_step(w);
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(status(w), "CrashLoopBackOff");
    assert_string_equal(vm_text(w, "/status/startFailure/consecutiveFailCount"), "1");
    assert_string_not_equal(vm_text(w, "/status/startFailure/retryAfterTimestamp"), "");
    world_settle(w); /* moves the time until nothing waits */
    assert_true(world_exists(w, VMIS, "vm"));
    vm_run(w);
    assert_string_equal(vm_text(w, "/status/startFailure"), "");
}

static void manual_does_what_it_is_asked_to(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Manual"), TEMPLATE);
    world_settle(w);
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(status(w), "Stopped");
    request(w, "{'action':'Start'}");
    vm_run(w);
    assert_string_equal(vm_text(w, "/status/stateChangeRequests"), "");
    end(w, "Succeeded");
    assert_true(world_exists(w, VMIS, "vm")); /* stays for whoever wants to look */
    assert_string_equal(status(w), "Stopped");
    request_stop(w);
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(vm_text(w, "/status/stateChangeRequests"), "");
}

static void a_start_may_be_paused(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Manual"), TEMPLATE);
    world_settle(w);
    request(w, "{'action':'Start','data':{'paused':'true'}}");
    assert_string_equal(vmi_text(w, "/spec/startStrategy"), "Paused");
}

static void a_stale_stop_request_is_dropped(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Manual"), TEMPLATE);
    world_settle(w);
    request(w, "{'action':'Start'}");
    vm_run(w);
    request(w, "{'action':'Stop','uid':'another'}");
    assert_true(world_exists(w, VMIS, "vm"));
    assert_string_equal(vm_text(w, "/status/stateChangeRequests"), "");
    assert_string_equal(status(w), "Running");
}

static void rerun_on_failure_starts_again_after_failures_alone(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("RerunOnFailure"), TEMPLATE);
    vm_run(w);
    const char *before = uid(w);
    end(w, "Failed");
    assert_string_not_equal(uid(w), before);
    vm_run(w);
    end(w, "Succeeded");
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(status(w), "Stopped");
}

static void halted_stops(void **state)
{
    struct world *w = *state;
    vm_create(w, "'running':true", TEMPLATE);
    vm_run(w);
    assert_string_equal(vm_text(w, "/status/runStrategy"), "Always");
    vm_patch(w, "{'running':false}");
    assert_string_not_equal(vmi_text(w, "/metadata/deletionTimestamp"), "");
    assert_string_equal(status(w), "Stopping");
    end(w, "Succeeded");
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(status(w), "Stopped");
    vm_expect_rest(w);
}

static void a_halted_vm_that_is_asked_to_start_becomes_always(void **state)
{
    static const struct {
        const char *before, *pointer, *after;
    } rows[] = {{STRATEGY("Halted"), "/spec/runStrategy", "Always"}, {"'running':false", "/spec/running", "true"}};
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct world *w;
        vm_set_up((void **)&w);
        vm_create(w, rows[i].before, TEMPLATE);
        world_settle(w);
        world_writes(w);
        request(w, "{'action':'Start'}");
        assert_string_equal(world_writes(w),
                            "PATCH virtualmachines/vm, POST controllerrevisions, POST virtualmachineinstances, "
                            "PATCH virtualmachines/vm/status");
        assert_string_equal(vm_text(w, rows[i].pointer), rows[i].after);
        vm_run(w);
        world_free(w);
    }
    (void)state;
}

static void once_runs_once(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Once"), TEMPLATE);
    vm_run(w);
    const char *before = uid(w);
    end(w, "Failed");
    assert_string_equal(uid(w), before);
    assert_string_equal(status(w), "Stopped");
}

static void a_receiver_waits_and_becomes_what_it_was(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("WaitAsReceiver"), TEMPLATE);
    world_patch(w, VMS, "vm", "{\"metadata\":{\"annotations\":{\"kubevirt.io/restore-run-strategy\":\"Manual\"}}}");
    world_settle(w);
    assert_string_equal(vmi_text(w, "/metadata/annotations/kubevirt.io~1create-migration-target"), "true");
    vm_patch_vmi(w, PHASE("WaitingForSync"));
    assert_string_equal(status(w), "WaitingForReceiver");
    vm_patch_vmi(w,
                 "{'metadata':{'annotations':{'kubevirt.io/create-migration-target':null}},'status':{'phase':'Running',"
                 "'migrationState':{'completed':true}}}");
    assert_string_equal(vm_text(w, "/spec/runStrategy"), "Manual");
}

static void a_receiver_does_not_take_a_running_vmi(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Manual"), TEMPLATE);
    world_settle(w);
    request(w, "{'action':'Start'}");
    vm_run(w);
    world_patch(w, VMS, "vm", "{\"spec\":{\"runStrategy\":\"WaitAsReceiver\"}}");
    world_step(w);
    assert_string_equal(vm_condition(w, "Failure"), "True FailedCreate: Found non receiver VMI while VM is receiver");
    assert_true(world_exists(w, VMIS, "vm"));
}

static void a_vm_with_two_strategies_does_nothing(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Always") ",'running':true", TEMPLATE);
    world_step(w);
    world_step(w);
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(vm_text(w, "/status/conditions"), "");
    assert_string_equal(vm_text(w, "/status/volumeSnapshotStatuses/0/name"), "root");
}

/* Gone to another cluster: halted by the strategy, although the old flag says that it runs. */
static void a_vm_that_comes_to_two_strategies_tells_the_one_it_had(void **state)
{
    struct world *w = *state;
    vm_create(w, "'running':true", TEMPLATE);
    vm_run(w);
    world_patch(w, VMIS, "vm",
                vm_json(w, "{'status':{'phase':'Succeeded','migrationState':{'completed':true,'sourceState':{},"
                           "'targetState':{'syncAddress':'192.0.2.1:9185'}}}}"));
    world_step(w);
    world_step(w);
    assert_string_equal(vm_text(w, "/spec/runStrategy"), "Halted");
    assert_string_equal(vm_text(w, "/status/runStrategy"), "Always");
}

/* KubeVirt's CRD refuses such VMs, but it is not always there. */
static void a_vm_without_template_is_left_alone_and_can_go(void **state)
{
    struct world *w = *state;
    vm_create_object(w, VMS, "{'metadata':{'name':'vm'},'spec':{'runStrategy':'Always'}}");
    world_settle(w);
    assert_false(world_exists(w, VMIS, "vm"));
    world_delete(w, VMS, "vm");
    world_settle(w);
    assert_false(world_exists(w, VMS, "vm"));
}

static void a_vm_that_loses_its_template_takes_its_vmi_along(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Always"), TEMPLATE);
    vm_run(w);
    vm_patch(w, "{'template':null}");
    assert_true(world_exists(w, VMIS, "vm"));
    world_delete(w, VMS, "vm");
    world_settle(w);
    assert_string_not_equal(vmi_text(w, "/metadata/deletionTimestamp"), "");
    world_patch(w, VMIS, "vm", vm_json(w, "{'metadata':{'finalizers':null}}"));
    world_settle(w);
    assert_false(world_exists(w, VMS, "vm"));
}

static void a_deleted_vm_takes_its_vmi_along(void **state)
{
    struct world *w = *state;
    vm_create(w, STRATEGY("Always"), TEMPLATE);
    vm_run(w);
    world_delete(w, VMS, "vm");
    world_settle(w);
    assert_string_equal(status(w), "Terminating");
    assert_string_not_equal(vmi_text(w, "/metadata/deletionTimestamp"), "");
    end(w, "Succeeded");
    assert_false(world_exists(w, VMIS, "vm"));
    assert_false(world_exists(w, VMS, "vm"));
}

static void an_orphan_vmi_is_adopted(void **state)
{
    struct world *w = *state;
    vm_create_object(w, VMIS,
                     "{'metadata':{'name':'vm'},'spec':{'domain':{'devices':{}}},'status':{'phase':'Running'}}");
    vm_create(w, STRATEGY("Manual"), TEMPLATE);
    world_settle(w);
    assert_string_equal(vmi_text(w, "/metadata/ownerReferences/0/name"), "vm");
    assert_string_equal(vm_text(w, "/status/created"), ""); /* nobody knows what it was started from */
    request_stop(w);                                        /* but it can be stopped */
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(vm_text(w, "/status/stateChangeRequests"), "");
    assert_string_equal(status(w), "Stopped");
}

static void a_binding_that_is_gone_is_told_of(void **state)
{
    struct world *w = *state;
    vm_create(
        w, STRATEGY("Always"),
        "'domain':{'devices':{'interfaces':[{'name':'default','slirp':{}}]}},'networks':[{'name':'default','pod':{}}]");
    world_step(w);
    world_step(w);
    assert_string_equal(
        vm_condition(w, "Failure"),
        "True FailedCreate: Failure while starting VMI: failed create validation: &StatusCause{Type:FieldValueInvalid,"
        "Message:Slirp interface support has been discontinued since "
        "v1.3,Field:spec.domain.devices.interfaces[0].slirp,}");
    assert_false(world_exists(w, VMIS, "vm"));
}

/* ---- whatever fails ---- */

static void play_requests(struct world *w)
{
    vm_create(w, STRATEGY("Manual"), TEMPLATE);
    world_settle(w);
    request(w, "{'action':'Start'}");
    vm_run(w);
    request_stop(w);
    end(w, "Succeeded");
    request(w, "{'action':'Start'}");
}

static void play_failure(struct world *w)
{
    vm_create(w, STRATEGY("RerunOnFailure"), TEMPLATE);
    vm_run(w);
    end(w, "Failed");
    vm_run(w);
}

static void play_deletion(struct world *w)
{
    vm_create(w, STRATEGY("Always"), TEMPLATE);
    vm_run(w);
    world_delete(w, VMS, "vm");
    world_settle(w);
    if (world_exists(w, VMIS, "vm"))
        end(w, "Succeeded");
}

static const char *digest(struct world *w)
{
    return kb_arena_printf(world_arena(w), "%s %s %s %s %s", vm_text(w, "/spec"), vmi_text(w, "/spec"), status(w),
                           vm_text(w, "/status/stateChangeRequests"), vm_condition(w, "Failure"));
}

static void run_strategies_are_kept_whatever_fails(void **state)
{
    static void (*const scenarios[])(struct world * w) = {play_requests, play_failure, play_deletion};
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
        VM_TEST(always_runs_again),
        VM_TEST(always_is_stopped_by_request_and_starts_anew),
        VM_TEST(a_start_that_fails_is_tried_again_ever_more_slowly),
        VM_TEST(manual_does_what_it_is_asked_to),
        VM_TEST(a_start_may_be_paused),
        VM_TEST(a_stale_stop_request_is_dropped),
        VM_TEST(rerun_on_failure_starts_again_after_failures_alone),
        VM_TEST(halted_stops),
        cmocka_unit_test(a_halted_vm_that_is_asked_to_start_becomes_always),
        VM_TEST(once_runs_once),
        VM_TEST(a_receiver_waits_and_becomes_what_it_was),
        VM_TEST(a_receiver_does_not_take_a_running_vmi),
        VM_TEST(a_vm_with_two_strategies_does_nothing),
        VM_TEST(a_vm_that_comes_to_two_strategies_tells_the_one_it_had),
        VM_TEST(a_vm_without_template_is_left_alone_and_can_go),
        VM_TEST(a_vm_that_loses_its_template_takes_its_vmi_along),
        VM_TEST(a_deleted_vm_takes_its_vmi_along),
        VM_TEST(an_orphan_vmi_is_adopted),
        VM_TEST(a_binding_that_is_gone_is_told_of),
        cmocka_unit_test(run_strategies_are_kept_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
