/* Tests of the VMI controller: from creation to running, and what ends an instance on the way. */
#include "base/strings.h"
#include "virt/conditions.h"
#include "vmi.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- the way up ---- */

static void an_instance_whose_pod_is_ready_at_once_takes_six_writes(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "PUT virtualmachineinstances, POST pods");
    cluster_bind(c, vmi_pod(c)->metadata.name, "node01");
    cluster_settle(c);
    vmi_run_pod(c, vmi_pod(c)->metadata.name);
    cluster_settle(c);
    vmi_assert_phase(c, "Scheduled");
    assert_string_equal(cluster_writes(c), "PATCH pods/status, PATCH virtualmachineinstances");
    vmi_start_guest(c);
    cluster_settle(c);
    assert_string_equal(vmi_condition(c, "Ready"), "True ");
    assert_string_equal(cluster_writes(c), "PATCH virtualmachineinstances");
    assert_true(
        kb_starts_with(cluster_events(c), "Normal SuccessfulCreate Created virtual machine pod virt-launcher-"));
    assert_int_equal(script_count(cluster_script(c), "POST", "*/events"), 1);
}

static void a_pod_that_takes_its_time_is_told_of(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_advance(c, 2 * KB_NS_PER_S);
    vmi_assert_phase(c, "Scheduling");
    assert_string_equal(cluster_writes(c), "PUT virtualmachineinstances, POST pods, PATCH pods/status, "
                                           "PATCH virtualmachineinstances");
    assert_string_equal(vmi_condition(c, "Ready"), "False GuestNotRunning");
    assert_true(virt_pod_condition_is(vmi_pod(c), "kubevirt.io/virtual-machine-unpaused", "True"));
    assert_int_equal(vmi_get(c)->status.active_pods.n, 1);
}

static void a_pod_without_a_node_is_told_of_sooner(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_advance(c, 500 * KB_NS_PER_MS);
    vmi_assert_phase(c, "");
    cluster_advance(c, 200 * KB_NS_PER_MS);
    vmi_assert_phase(c, "Scheduling");
}

static void both_phases_are_noted_when_one_write_passes_them(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    assert_int_equal(vmi_get(c)->status.phase_transition_timestamps.n, 2);
    assert_string_equal(vmi_get(c)->status.phase_transition_timestamps.items[0].phase, "Scheduling");
    assert_string_equal(vmi_get(c)->status.phase_transition_timestamps.items[1].phase, "Scheduled");
}

static void a_pod_follows_its_instance(void **state)
{
    struct cluster *c = *state;
    const struct core_pod *pod;

    vmi_bring_up(c, "");
    pod = vmi_pod(c);
    assert_string_equal(api_map_get(&pod->metadata.labels, "kubevirt.io/nodeName"), "node01");
    assert_string_equal(api_map_get(&pod->metadata.annotations, "descheduler.alpha.kubernetes.io/request-evict-only"),
                        "");
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"evacuationNodeName\":\"node01\"}}");
    cluster_settle(c);
    assert_string_equal(
        api_map_get(&vmi_pod(c)->metadata.annotations, "descheduler.alpha.kubernetes.io/eviction-in-progress"), "true");
    assert_string_equal(vmi_condition(c, "EvictionRequested"), "True EvictionRequested");
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"evacuationNodeName\":null}}");
    cluster_settle(c);
    assert_false(
        api_map_has(&vmi_pod(c)->metadata.annotations, "descheduler.alpha.kubernetes.io/eviction-in-progress"));
    assert_string_equal(vmi_condition(c, "EvictionRequested"), "");
}

static void a_paused_guest_closes_the_readiness_gate(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"conditions\":[{\"type\":\"Paused\",\"status\":\"True\"}]}}");
    cluster_settle(c);
    assert_true(virt_pod_condition_is(vmi_pod(c), "kubevirt.io/virtual-machine-unpaused", "False"));
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"conditions\":[]}}");
    cluster_settle(c);
    assert_true(virt_pod_condition_is(vmi_pod(c), "kubevirt.io/virtual-machine-unpaused", "True"));
}

static void a_settled_instance_is_not_written_again(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_patch(c, VMIS, "vmi1", "{\"metadata\":{\"annotations\":{\"example.com/poke\":\"1\"}}}");
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "");
}

static void lists_in_another_order_are_not_written_again(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, ",\"volumes\":[{\"name\":\"a\",\"emptyDisk\":{\"capacity\":\"1Gi\"}},"
                    "{\"name\":\"b\",\"emptyDisk\":{\"capacity\":\"1Gi\"}}]");
    cluster_patch(
        c, VMIS, "vmi1",
        "{\"status\":{\"volumeStatus\":[{\"name\":\"b\",\"target\":\"\"},{\"name\":\"a\",\"target\":\"\"}]}}");
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "");
}

static void interfaces_in_another_order_are_not_written_again(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, ",\"networks\":[{\"name\":\"default\",\"pod\":{}},{\"name\":\"blue\",\"multus\":"
                    "{\"networkName\":\"blue\"}}]");
    cluster_patch(c, VMIS, "vmi1",
                  "{\"status\":{\"interfaces\":[{\"interfaceName\":\"lo\",\"infoSource\":\"guest-agent\"},"
                  "{\"name\":\"blue\",\"infoSource\":\"domain\",\"podInterfaceName\":\"pod16477688c0e\"},"
                  "{\"name\":\"default\",\"infoSource\":\"domain\",\"podInterfaceName\":\"eth0\"}]}}");
    cluster_settle(c);
    assert_string_equal(cluster_writes(c), "");
}

static void a_null_that_somebody_dropped_does_not_stop_the_patch(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    /* A merge patch loses the nulls that Go writes into conditions; the tests of a patch compare them. */
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"conditions\":[{\"type\":\"LiveMigratable\",\"status\":\"True\"}]}}");
    cluster_settle(c);
    assert_string_equal(vmi_condition(c, "Ready"), "True ");
    assert_string_equal(vmi_condition(c, "LiveMigratable"), "True ");
}

/* ---- ends ---- */

static void a_pod_that_dies_early_fails_its_instance(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_advance(c, 2 * KB_NS_PER_S);
    cluster_patch(c, "pods/status", vmi_pod(c)->metadata.name, "{\"status\":{\"phase\":\"Failed\"}}");
    cluster_settle(c);
    vmi_assert_phase(c, "Failed");
    assert_string_equal(vmi_condition(c, "Ready"), "False PodTerminating");
}

static void a_pod_that_is_gone_before_it_was_told_of_fails_its_instance(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_settle(c);
    cluster_delete(c, "pods", vmi_pod(c)->metadata.name);
    cluster_advance(c, 2 * KB_NS_PER_S);
    vmi_assert_phase(c, "Failed");
    assert_null(vmi_pod(c));
}

static void a_pod_that_is_gone_fails_a_running_instance(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_delete(c, "pods", vmi_pod(c)->metadata.name);
    cluster_settle(c);
    vmi_assert_phase(c, "Failed");
    assert_null(vmi_pod(c));
    assert_int_equal(vmi_get(c)->metadata.finalizers.n, 0);
}

static void a_deleted_instance_goes_when_its_pod_has(void **state)
{
    struct cluster *c = *state;
    const char *pod;

    vmi_bring_up(c, "");
    pod = vmi_pod(c)->metadata.name;
    cluster_delete(c, VMIS, "vmi1");
    cluster_settle(c);
    assert_non_null(vmi_get(c)->metadata.deletion_timestamp);
    assert_non_null(vmi_pod(c)->metadata.deletion_timestamp);
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"phase\":\"Succeeded\"}}");
    cluster_settle(c);
    assert_non_null(vmi_get(c));
    cluster_delete(c, "pods", pod);
    cluster_settle(c);
    assert_null(vmi_get(c));
}

static void an_instance_deleted_before_its_pod_was_made_goes(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, ",\"volumes\":[{\"name\":\"root\",\"persistentVolumeClaim\":{\"claimName\":\"later\"}}]");
    cluster_settle(c);
    vmi_assert_phase(c, "Pending");
    assert_string_equal(cluster_writes(c), "PUT virtualmachineinstances, PATCH virtualmachineinstances");
    assert_string_equal(cluster_events(c),
                        "Normal FailedPvcNotFound PVC ns/later does not exist, waiting for it to appear\n");
    cluster_delete(c, VMIS, "vmi1");
    cluster_settle(c);
    assert_null(vmi_get(c));
}

/* CDI's configuration is needed for what virt-handler is told of claims. */
static void an_instance_that_can_not_be_handed_over_yet_tells_of_its_pod(void **state)
{
    struct cluster *c = *state;

    cluster_create(c, "cdis.cdi.kubevirt.io", "{\"metadata\":{\"name\":\"cdi\"},\"spec\":{}}");
    cluster_create(c, "persistentvolumeclaims",
                   "{\"metadata\":{\"name\":\"data\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{"
                   "\"requests\":{\"storage\":\"1Gi\"}}}}");
    vmi_create(c, ",\"volumes\":[{\"name\":\"root\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}}]");
    cluster_settle(c);
    cluster_bind(c, vmi_pod(c)->metadata.name, "node01");
    vmi_run_pod(c, vmi_pod(c)->metadata.name);
    cluster_advance(c, 10 * KB_NS_PER_S);
    vmi_assert_phase(c, "Scheduling");
    cluster_create(c, "cdiconfigs.cdi.kubevirt.io",
                   "{\"metadata\":{\"name\":\"config\"},\"status\":{\"filesystemOverhead\":{\"global\":\"0.1\"}}}");
    cluster_patch(c, "cdiconfigs.cdi.kubevirt.io/status", "config",
                  "{\"status\":{\"filesystemOverhead\":{\"global\":\"0.1\"}}}");
    cluster_advance(c, 60 * KB_NS_PER_S);
    vmi_assert_phase(c, "Scheduled");
}

static void a_claim_that_goes_under_a_running_guest_is_no_event(void **state)
{
    struct cluster *c = *state;

    cluster_create(c, "persistentvolumeclaims",
                   "{\"metadata\":{\"name\":\"data\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{"
                   "\"requests\":{\"storage\":\"1Gi\"}}}}");
    vmi_bring_up(c, ",\"volumes\":[{\"name\":\"root\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}}]");
    cluster_patch(c, "persistentvolumeclaims", "data", "{\"metadata\":{\"finalizers\":null}}");
    cluster_delete(c, "persistentvolumeclaims", "data");
    cluster_settle(c);
    assert_null(strstr(cluster_events(c), "FailedPvcNotFound"));
}

static void an_image_that_can_not_be_pulled_is_told_of(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_settle(c);
    cluster_patch(c, "pods/status", vmi_pod(c)->metadata.name,
                  "{\"status\":{\"containerStatuses\":[{\"name\":\"compute\",\"image\":\"\",\"imageID\":\"\",\"ready\":"
                  "false,\"restartCount\":0,\"state\":{\"waiting\":{\"reason\":\"ErrImagePull\",\"message\":\"no such "
                  "image\"}}}]}}");
    cluster_settle(c);
    assert_string_equal(vmi_condition(c, "Synchronized"), "False ErrImagePull");
    cluster_bind(c, vmi_pod(c)->metadata.name, "node01");
    vmi_run_pod(c, vmi_pod(c)->metadata.name);
    cluster_advance(c, 5 * KB_NS_PER_S);
    vmi_assert_phase(c, "Scheduled");
    assert_string_equal(vmi_condition(c, "Synchronized"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VMI_TEST(an_instance_whose_pod_is_ready_at_once_takes_six_writes),
        VMI_TEST(a_pod_that_takes_its_time_is_told_of),
        VMI_TEST(a_pod_without_a_node_is_told_of_sooner),
        VMI_TEST(both_phases_are_noted_when_one_write_passes_them),
        VMI_TEST(a_pod_follows_its_instance),
        VMI_TEST(a_paused_guest_closes_the_readiness_gate),
        VMI_TEST(a_settled_instance_is_not_written_again),
        VMI_TEST(lists_in_another_order_are_not_written_again),
        VMI_TEST(interfaces_in_another_order_are_not_written_again),
        VMI_TEST(a_null_that_somebody_dropped_does_not_stop_the_patch),
        VMI_TEST(a_pod_that_dies_early_fails_its_instance),
        VMI_TEST(a_pod_that_is_gone_before_it_was_told_of_fails_its_instance),
        VMI_TEST(a_pod_that_is_gone_fails_a_running_instance),
        VMI_TEST(a_deleted_instance_goes_when_its_pod_has),
        VMI_TEST(an_instance_deleted_before_its_pod_was_made_goes),
        VMI_TEST(an_instance_that_can_not_be_handed_over_yet_tells_of_its_pod),
        VMI_TEST(a_claim_that_goes_under_a_running_guest_is_no_event),
        VMI_TEST(an_image_that_can_not_be_pulled_is_told_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
