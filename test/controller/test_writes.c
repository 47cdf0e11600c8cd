/*
 * What a VM costs in writes, with the controllers of VMs and VMIs together: the exact writes of its way up and down,
 * each of which the server takes and each of which changes something.
 */
#include "base/strings.h"
#include "controller/world.h"
#include "virt/holds.h"
#include "virt/vmis.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CREATED "POST controllerrevisions, POST virtualmachineinstances, PATCH virtualmachines, POST pods"
#define HANDED  "PATCH pods/status, PATCH virtualmachineinstances"

static int set_up(void **state)
{
    struct cluster *c = cluster_new();

    virt_vm_controller_add(cluster_context(c), 0);
    virt_vmi_controller_add(cluster_context(c), 0);
    cluster_settle(c);
    cluster_writes(c);
    cluster_expect_calm(c);
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    cluster_free(*state);
    return 0;
}

/* ---- what others do; NUMBER tells VMs apart ---- */

static const char *name_of(struct cluster *c, int number)
{
    return kb_arena_printf(cluster_arena(c), "vm%d", number);
}

/* In the form that Go would write, so that it needs no rewriting. `metadata`: further members of it. */
static void create_with(struct cluster *c, int number, const char *strategy, const char *metadata)
{
    cluster_create(
        c, VMS,
        kb_arena_printf(cluster_arena(c),
                        "{\"metadata\":{\"name\":\"vm%d\"%s},\"spec\":{\"runStrategy\":\"%s\",\"template\":{"
                        "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"architecture\":\"amd64\",\"domain\":{"
                        "\"devices\":{},\"memory\":{\"guest\":\"64Mi\"},\"resources\":{}}}}}}",
                        number, metadata, strategy));
}

static void create(struct cluster *c, int number, const char *strategy)
{
    create_with(c, number, strategy, "");
}

static const struct kv_vm *vm(struct cluster *c, int number)
{
    return cluster_get(c, &kv_vm_type, name_of(c, number));
}

static const struct kv_vmi *vmi(struct cluster *c, int number)
{
    return cluster_get(c, &kv_vmi_type, name_of(c, number));
}

static const char *pod(struct cluster *c, int number)
{
    const struct cluster_list pods = cluster_list(c, &core_pod_type);
    const char *prefix = kb_arena_printf(cluster_arena(c), "virt-launcher-vm%d-", number);

    for (size_t i = 0; i < pods.n; i++) {
        const struct core_pod *candidate = pods.items[i];

        if (kb_streq(candidate->metadata.generate_name, prefix))
            return candidate->metadata.name;
    }
    fail_msg("no launcher Pod of vm%d", number);
    return NULL;
}

static void run_pod(struct cluster *c, int number)
{
    cluster_bind(c, pod(c, number), "node01");
    cluster_patch(
        c, "pods/status", pod(c, number),
        "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
        "\"containerStatuses\":[{\"name\":\"compute\",\"image\":\"launcher:v1\",\"imageID\":\"\",\"ready\":true,"
        "\"restartCount\":0,\"state\":{\"running\":{}}}]}}");
}

/* Times are given, as a merge patch would lose the nulls that virt-handler writes. */
#define TIMES "\"lastProbeTime\":\"2026-01-02T03:04:05Z\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\""

static void run_guest(struct cluster *c, int number)
{
    cluster_patch(c, VMIS, name_of(c, number),
                  "{\"status\":{\"phase\":\"Running\",\"phaseTransitionTimestamps\":[{\"phase\":\"Running\","
                  "\"phaseTransitionTimestamp\":\"2026-01-02T03:04:05Z\"}],\"interfaces\":[{\"name\":\"default\","
                  "\"infoSource\":\"domain\","
                  "\"queueCount\":1}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":"
                  "\"GuestNotRunning\",\"message\":\"Guest VM is not reported as running\"," TIMES "},{\"type\":"
                  "\"LiveMigratable\",\"status\":\"True\"," TIMES "}]}}");
}

static void end_guest(struct cluster *c, int number)
{
    cluster_patch(c, VMIS, name_of(c, number), "{\"status\":{\"phase\":\"Succeeded\"}}");
}

static size_t events(struct cluster *c)
{
    return cluster_list(c, &core_event_type).n;
}

/* The webhook of virt-api. */
static void add_finalizer(struct cluster *c, int number)
{
    cluster_patch(c, VMIS, name_of(c, number),
                  "{\"metadata\":{\"finalizers\":[\"kubevirt.io/foregroundDeleteVirtualMachine\","
                  "\"kubevirt.io/virtualMachineControllerFinalize\"]}}");
    cluster_settle(c);
}

static void bring_up_with(struct cluster *c, int number, const char *metadata)
{
    create_with(c, number, "Always", metadata);
    cluster_settle(c);
    add_finalizer(c, number);
    run_pod(c, number);
    cluster_settle(c);
    run_guest(c, number);
    cluster_settle(c);
    cluster_advance(c, KB_NS_PER_S);
    assert_string_equal(vm(c, number)->status.printable_status, "Running");
    assert_true(vm(c, number)->status.ready);
    cluster_writes(c);
}

static void bring_up(struct cluster *c, int number)
{
    bring_up_with(c, number, "");
}

/* ---- up ---- */

static void a_vm_that_runs_at_once_takes_ten_writes(void **state)
{
    struct cluster *c = *state;

    create(c, 1, "Always");
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), CREATED);
    run_pod(c, 1);
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), HANDED);
    run_guest(c, 1);
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "PATCH virtualmachineinstances");
    cluster_advance(c, 10 * KB_NS_PER_S);
    assert_string_equal(cluster_writes(c), "PATCH virtualmachines/status");
    assert_string_equal(vm(c, 1)->status.printable_status, "Running");
    assert_int_equal(vm(c, 1)->status.volume_snapshot_statuses.n, 0);
    assert_int_equal(vm(c, 1)->status.observed_generation, 2);
    assert_int_equal(events(c), 2);
}

static void a_vm_that_takes_longer_says_that_it_starts_within_a_second(void **state)
{
    struct cluster *c = *state;

    create(c, 1, "Always");
    cluster_settle(c);
    cluster_writes(c);
    assert_string_equal(vm(c, 1)->status.printable_status, "");
    cluster_advance(c, 900 * KB_NS_PER_MS);
    assert_string_equal(vm(c, 1)->status.printable_status, "Starting");
    assert_string_equal(cluster_writes(c),
                        "PATCH pods/status, PATCH virtualmachineinstances, PATCH virtualmachines/status");
}

static void a_vm_whose_start_goes_wrong_says_so_at_once(void **state)
{
    struct cluster *c = *state;

    create(c, 1, "Always");
    cluster_settle(c);
    cluster_patch(c, "pods/status", pod(c, 1),
                  "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
                  "\"Unschedulable\",\"message\":\"no node\"}]}}");
    cluster_settle(c);
    cluster_advance(c, 300 * KB_NS_PER_MS);
    assert_string_equal(vm(c, 1)->status.printable_status, "ErrorUnschedulable");
}

static void a_stopped_vm_is_told_of_at_once_and_again_when_it_starts(void **state)
{
    struct cluster *c = *state;

    create(c, 1, "Halted");
    cluster_settle(c);
    assert_string_equal(vm(c, 1)->status.printable_status, "Stopped");
    cluster_patch(c, VMS, "vm1", "{\"spec\":{\"runStrategy\":\"Always\"}}");
    cluster_settle(c);
    assert_string_equal(vm(c, 1)->status.printable_status, "Starting");
}

/* A VM and its VMI as a leader left them that held the status back, found by a process that knows nothing of them. */
static void another_leader_tells_at_once_what_was_held_back(void **state)
{
    struct cluster *c = cluster_new();

    (void)state;
    create_with(c, 1, "Always",
                ",\"annotations\":{\"kubevirt.io/latest-observed-api-version\":\"v1\","
                "\"kubevirt.io/storage-observed-api-version\":\"v1\"},\"finalizers\":["
                "\"kubevirt.io/virtualMachineControllerFinalize\"]");
    cluster_create(c, VMIS,
                   kb_arena_printf(cluster_arena(c),
                                   "{\"metadata\":{\"name\":\"vm1\",\"ownerReferences\":[{\"apiVersion\":"
                                   "\"kubevirt.io/v1\",\"kind\":\"VirtualMachine\",\"name\":\"vm1\",\"uid\":\"%s\","
                                   "\"controller\":true}],\"annotations\":{\"kubevirt.io/vm-generation\":\"1\"}},"
                                   "\"spec\":{\"domain\":{\"devices\":{}}}}",
                                   vm(c, 1)->metadata.uid));
    virt_vm_controller_add(cluster_context(c), 0);
    cluster_settle(c);
    assert_string_equal(vm(c, 1)->status.printable_status, "Starting");
    cluster_free(c);
}

/* ---- down ---- */

/* Of VM 1, which runs. Returns the name of its launcher Pod. */
static const char *delete_running(struct cluster *c)
{
    const char *launcher;

    bring_up(c, 1);
    launcher = pod(c, 1);
    cluster_delete(c, VMS, "vm1");
    return launcher;
}

static void a_vm_that_goes_at_once_takes_six_writes(void **state)
{
    struct cluster *c = *state;
    const char *launcher = delete_running(c);

    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "DELETE virtualmachineinstances, DELETE pods");
    end_guest(c, 1);
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "");
    cluster_delete(c, "pods", launcher);
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "PATCH virtualmachineinstances, PATCH virtualmachines");
    cluster_advance(c, 10 * KB_NS_PER_S);
    assert_string_equal(cluster_writes(c), "");
    assert_null(vm(c, 1));
    assert_null(vmi(c, 1));
    assert_int_equal(events(c), 4);
}

static void the_word_of_virt_handler_may_come_after_its_pod_has_gone(void **state)
{
    struct cluster *c = *state;
    const char *launcher = delete_running(c);

    cluster_settle(c);
    cluster_hold(c, VIRT_VMI);
    end_guest(c, 1);
    cluster_delete(c, "pods", launcher);
    cluster_settle(c);
    cluster_let_go(c, VIRT_VMI, false);
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "DELETE virtualmachineinstances, DELETE pods, "
                                           "PATCH virtualmachineinstances, PATCH virtualmachines");
    assert_null(vm(c, 1));
}

static void a_vm_whose_virt_handler_is_silent_goes_all_the_same(void **state)
{
    struct cluster *c = *state;
    const char *launcher = delete_running(c);

    cluster_settle(c);
    cluster_delete(c, "pods", launcher);
    cluster_settle(c);
    assert_string_equal(vmi(c, 1)->status.phase, "Running");
    cluster_advance(c, 900 * KB_NS_PER_MS);
    assert_null(vmi(c, 1));
    assert_null(vm(c, 1));
}

static void a_vm_that_takes_longer_to_go_says_so_within_a_second(void **state)
{
    struct cluster *c = *state;

    bring_up(c, 1);
    cluster_delete(c, VMS, "vm1");
    cluster_advance(c, 900 * KB_NS_PER_MS);
    assert_string_equal(vm(c, 1)->status.printable_status, "Terminating");
    assert_string_equal(vmi(c, 1)->status.conditions.items[0].reason, "PodTerminating");
    cluster_writes(c);
    cluster_advance(c, 10 * KB_NS_PER_S);
    assert_string_equal(cluster_writes(c), "");
}

static void a_vm_that_stops_keeps_its_vmi_until_it_has_recorded_the_end(void **state)
{
    struct cluster *c = *state;
    const char *launcher;

    bring_up(c, 1);
    launcher = pod(c, 1);
    cluster_patch(c, VMS, "vm1", "{\"spec\":{\"runStrategy\":\"Halted\"}}");
    cluster_settle(c);
    assert_string_equal(vm(c, 1)->status.printable_status, "Stopping");
    cluster_writes(c);
    end_guest(c, 1);
    cluster_delete(c, "pods", launcher);
    cluster_settle(c);
    assert_null(vmi(c, 1));
    assert_string_equal(vm(c, 1)->status.printable_status, "Stopped");
    assert_string_equal(cluster_writes(c), "PATCH virtualmachines/status, PATCH virtualmachineinstances, "
                                           "PATCH virtualmachineinstances, PATCH virtualmachines/status");
}

/* Its Pod is there all the while. */
static void a_vm_that_was_told_of_leaves_both_finalizers_to_one_write_too(void **state)
{
    struct cluster *c = *state;
    const char *launcher = delete_running(c);

    cluster_advance(c, 5 * KB_NS_PER_S);
    cluster_writes(c);
    end_guest(c, 1);
    cluster_settle(c);
    cluster_delete(c, "pods", launcher);
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "PATCH virtualmachineinstances, PATCH virtualmachines");
    assert_null(vm(c, 1));
}

enum { MANY = VIRT_HOLD_MANY + 2 };

static void many_that_go_at_once_wait_for_each_other(void **state)
{
    struct cluster *c = *state;
    const char *launchers[MANY];

    for (int i = 0; i < MANY; i++) {
        bring_up(c, i);
        launchers[i] = pod(c, i);
    }
    for (int i = 0; i < MANY; i++)
        cluster_delete(c, VMS, name_of(c, i));
    cluster_settle(c);
    cluster_writes(c);
    for (int i = 0; i < MANY; i++) {
        cluster_advance(c, KB_NS_PER_S);
        end_guest(c, i);
        cluster_delete(c, "pods", launchers[i]);
        cluster_settle(c);
        assert_string_equal(cluster_writes(c), "PATCH virtualmachineinstances, PATCH virtualmachines");
        assert_null(vm(c, i));
    }
}

static void many_that_all_take_longer_say_so(void **state)
{
    struct cluster *c = *state;

    for (int i = 0; i < MANY; i++)
        bring_up(c, i);
    for (int i = 0; i < MANY; i++)
        cluster_delete(c, VMS, name_of(c, i));
    cluster_advance(c, 4 * KB_NS_PER_S);
    for (int i = 0; i < MANY; i++)
        assert_string_equal(vm(c, i)->status.printable_status, "Terminating");
}

/* A finalizer of somebody else, who never comes. */
static void vms_that_others_keep_are_not_counted_among_many(void **state)
{
    struct cluster *c = *state;

    for (int i = 0; i < MANY; i++) {
        const char *launcher;

        bring_up_with(c, i, ",\"finalizers\":[\"example.com/keep\"]");
        launcher = pod(c, i);
        cluster_delete(c, VMS, name_of(c, i));
        cluster_settle(c);
        end_guest(c, i);
        cluster_delete(c, "pods", launcher);
        cluster_advance(c, KB_NS_PER_S);
        assert_null(vmi(c, i));
        assert_non_null(vm(c, i));
    }
    bring_up(c, MANY);
    cluster_delete(c, VMS, name_of(c, MANY));
    cluster_advance(c, 900 * KB_NS_PER_MS);
    assert_string_equal(vm(c, MANY)->status.printable_status, "Terminating");
}

/* ---- faults: what is held back is held back by memory alone ---- */

static void add_both(struct virt_context *context, int threads)
{
    virt_vm_controller_add(context, threads);
    virt_vmi_controller_add(context, threads);
}

static void come(struct world *w)
{
    struct cluster *c = world_cluster(w);

    create(c, 1, "Always");
    world_settle(w);
    run_pod(c, 1);
    world_settle(w);
    run_guest(c, 1);
    world_settle(w);
}

static const char *state_of_vm(struct world *w)
{
    const struct kv_vm *present = vm(world_cluster(w), 1);
    const struct kv_vmi *instance = vmi(world_cluster(w), 1);

    return present && instance ? kb_arena_printf(world_arena(w), "%s %d %s %zu", present->status.printable_status,
                                                 present->status.ready, instance->status.phase,
                                                 cluster_list(world_cluster(w), &core_pod_type).n)
                               : "not there";
}

static void a_vm_comes_whichever_request_fails(void **state)
{
    const struct world_sweep sweep = {add_both, come, state_of_vm, "vm", "default/vm1"};

    (void)state;
    world_play_sweep(&sweep);
}

static void go(struct world *w)
{
    struct cluster *c = world_cluster(w);
    const char *launcher;

    come(w);
    launcher = pod(c, 1);
    cluster_delete(c, VMS, "vm1");
    world_settle(w);
    end_guest(c, 1);
    cluster_delete(c, "pods", launcher);
    world_settle(w);
}

static const char *what_is_left(struct world *w)
{
    struct cluster *c = world_cluster(w);

    return kb_arena_printf(world_arena(w), "%d %d %zu", vm(c, 1) != NULL, vmi(c, 1) != NULL,
                           cluster_list(c, &core_pod_type).n);
}

static void a_vm_goes_whichever_request_fails(void **state)
{
    const struct world_sweep sweep = {add_both, go, what_is_left, "vm", "default/vm1"};

    (void)state;
    world_play_sweep(&sweep);
}

#define WRITES_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITES_TEST(a_vm_that_runs_at_once_takes_ten_writes),
        WRITES_TEST(a_vm_that_takes_longer_says_that_it_starts_within_a_second),
        WRITES_TEST(a_vm_whose_start_goes_wrong_says_so_at_once),
        WRITES_TEST(a_stopped_vm_is_told_of_at_once_and_again_when_it_starts),
        WRITES_TEST(another_leader_tells_at_once_what_was_held_back),
        WRITES_TEST(a_vm_that_goes_at_once_takes_six_writes),
        WRITES_TEST(the_word_of_virt_handler_may_come_after_its_pod_has_gone),
        WRITES_TEST(a_vm_whose_virt_handler_is_silent_goes_all_the_same),
        WRITES_TEST(a_vm_that_takes_longer_to_go_says_so_within_a_second),
        WRITES_TEST(a_vm_that_was_told_of_leaves_both_finalizers_to_one_write_too),
        WRITES_TEST(a_vm_that_stops_keeps_its_vmi_until_it_has_recorded_the_end),
        WRITES_TEST(many_that_go_at_once_wait_for_each_other),
        WRITES_TEST(many_that_all_take_longer_say_so),
        WRITES_TEST(vms_that_others_keep_are_not_counted_among_many),
        cmocka_unit_test(a_vm_comes_whichever_request_fails),
        cmocka_unit_test(a_vm_goes_whichever_request_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
