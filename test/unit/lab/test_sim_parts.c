/* Tests of what all simulated parts share: leaving them out, delays, watches that fell behind, kinds that come late;
 * and of virt-api. */
#include "base/strings.h"
#include "lab/json.h"
#include "lab/route.h"
#include "lab/server_internal.h"
#include "sim_fixture.h"

static int setup(void **state)
{
    return sim_fixture_setup(state, &(struct lab_sim_options){.nodes = 2});
}

static int setup_slow(void **state)
{
    return sim_fixture_setup(state, &(struct lab_sim_options){.nodes = 1, .delays[LAB_PART_KUBELET] = KB_NS_PER_S});
}

static int setup_without(void **state)
{
    unsigned off = LAB_PART_BIT(LAB_PART_SCHEDULER) | LAB_PART_BIT(LAB_PART_PVC_BINDER);
    return sim_fixture_setup(state, &(struct lab_sim_options){.nodes = 1, .off = off});
}

static int setup_nothing(void **state)
{
    return sim_fixture_setup(state, &(struct lab_sim_options){.nodes = 1, .off = LAB_ALL_PARTS});
}

static void parts_have_names(void **state)
{
    (void)state;
    struct kube_error err;
    unsigned bits = 0;
    assert_int_equal(lab_parts_parse("scheduler,pvc-binder", &bits, &err), 0);
    assert_int_equal(bits, LAB_PART_BIT(LAB_PART_SCHEDULER) | LAB_PART_BIT(LAB_PART_PVC_BINDER));
    assert_int_equal(lab_parts_parse("all", &bits, &err), 0);
    assert_int_equal(bits, LAB_ALL_PARTS);
    assert_int_equal(lab_parts_parse("scheduler,cook", &bits, &err), -1);
    assert_string_equal(err.message, "there is no part \"cook\"");
}

static void parts_are_left_out(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "p", "");
    make_pod(s, "placed", "\"nodeName\":\"node01\",");
    must_create(
        s->f, "persistentvolumeclaims",
        "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
        "\"storage\":\"1Gi\"}}}}");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "");
    assert_seen(s, "pods", "placed", "/status/phase", "Running");
    assert_seen(s, "persistentvolumeclaims", "c", "/status/phase", "Pending");
    assert_seen(s, "storageclasses.storage.k8s.io", "standard", "", "gone");
}

static void without_parts_nothing_is_made_or_done(void **state)
{
    struct sim_fixture *s = *state;
    int64_t version = lab_server_version(s->f->server);
    pass(s, 60 * KB_NS_PER_S);
    assert_seen(s, "nodes", "node01", "", "gone");
    assert_int_equal(lab_server_version(s->f->server), version);
}

static void a_part_that_is_slow_reacts_later(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "p", "");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "node01");
    pass(s, KB_NS_PER_S - 1);
    assert_seen(s, "pods", "p", "/status/phase", "Pending");
    pass(s, 1);
    assert_seen(s, "pods", "p", "/status/phase", "Running");
}

static void a_part_that_is_slow_sees_the_latest_state(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "p", "");
    settle(s);
    must_patch(s->f, "pods", "p", "{\"metadata\":{\"annotations\":{\"virt-lab/hold\":\"\"}}}");
    pass(s, KB_NS_PER_S);
    assert_seen(s, "pods", "p", "/status/phase", "Pending");
}

static void a_namespace_plays_parts_by_hand(void **state)
{
    struct sim_fixture *s = *state;
    must_patch(s->f, "namespaces", "default",
               "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":\"kubelet,virt-handler\"}}}");
    make_pod(s, "p", "");
    make_scheduled_vmi(s, "v", "");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "p", "/status/phase", "Pending");
    assert_seen(s, VMIS, "v", "/status/phase", "Scheduled");
    must_patch(s->f, "namespaces", "default",
               "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":\"virt-handler\"}}}");
    settle(s);
    assert_seen(s, "pods", "p", "/status/phase", "Running");
    assert_seen(s, VMIS, "v", "/status/phase", "Scheduled");
}

static void a_node_plays_parts_by_hand(void **state)
{
    struct sim_fixture *s = *state;
    must_patch(s->f, "nodes", "node01", "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":\"all\"}}}");
    make_pod(s, "a", "\"nodeName\":\"node01\",");
    make_pod(s, "b", "\"nodeName\":\"node02\",");
    make_scheduled_vmi(s, "v", "");
    pass(s, 30 * KB_NS_PER_S);
    assert_seen(s, "pods", "a", "/status/phase", "Pending");
    assert_seen(s, "pods", "b", "/status/phase", "Running");
    assert_seen(s, VMIS, "v", "/status/phase", "Scheduled");
    assert_seen(s, "nodes", "node01", "/metadata/annotations/kubevirt.io~1heartbeat", "2026-01-02T03:04:05Z");
    assert_seen(s, "nodes", "node02", "/metadata/annotations/kubevirt.io~1heartbeat", "2026-01-02T03:04:35Z");
    must_patch(s->f, "nodes", "node01", "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":null}}}");
    settle(s);
    assert_seen(s, "pods", "a", "/status/phase", "Running");
    assert_seen(s, VMIS, "v", "/status/phase", "Running");
}

static void parts_catch_up_when_their_watches_fell_behind(void **state)
{
    struct sim_fixture *s = *state;
    for (int i = 0; i < 9000; i++) /* more than the server remembers */
        must_patch(s->f, "namespaces", "default",
                   lab_json_printf(s->f->arena, "{\"metadata\":{\"labels\":{\"n\":\"%d\"}}}", i));
    must_patch(s->f, "namespaces", "default", "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":\"kubelet\"}}}");
    make_pod(s, "p", "");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "p", "/status/phase", "Pending");
}

/* -- virt-api */

static const char *call(struct sim_fixture *s, const char *path)
{
    struct lab_http_request request = {
        .method = "PUT",
        .path = lab_json_printf(s->f->arena, "/apis/subresources.kubevirt.io/v1/namespaces/default/%s", path),
        .accept = "",
        .content_type = "",
        .authorization = "",
        .user_agent = "",
        .source_ip = "",
        .uri = "",
        .body = ""};
    struct lab_call answer;
    assert_int_equal(lab_route(s->f->server, s->f->arena, &request, &answer), 0);
    struct kube_error err;
    yyjson_val *status = lab_json_parse(s->f->arena, answer.result.text, answer.result.length, &err);
    return lab_json_printf(s->f->arena, "%d %s", answer.result.code, lab_val_str(status, "message"));
}

static void vms_are_started_and_stopped(void **state)
{
    struct sim_fixture *s = *state;
    must_create(s->f, VMS, "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"runStrategy\":\"Halted\"}}");
    assert_string_equal(call(s, "virtualmachines/v/start"), "202 ");
    assert_seen(s, VMS, "v", "/spec/runStrategy", "Always");
    assert_string_equal(call(s, "virtualmachines/v/restart"), "409 VM is not running");
    make_scheduled_vmi(s, "v", "");
    assert_string_equal(call(s, "virtualmachines/v/start"), "409 VM is already running");
    assert_string_equal(call(s, "virtualmachines/v/restart"), "202 ");
    assert_seen(s, VMS, "v", "/status/stateChangeRequests/0/uid", see(s, VMIS, "v", "/metadata/uid"));
    assert_seen(s, VMS, "v", "/status/stateChangeRequests/1/action", "Start");
    assert_string_equal(call(s, "virtualmachines/v/stop"), "202 ");
    assert_seen(s, VMS, "v", "/spec/runStrategy", "Halted");
    assert_string_equal(call(s, "virtualmachines/w/stop"), "404 virtualmachines.kubevirt.io \"w\" not found");
}

static void guests_are_frozen_and_paused(void **state)
{
    struct sim_fixture *s = *state;
    make_scheduled_vmi(s, "v", "");
    assert_string_equal(call(s, "virtualmachineinstances/v/freeze"), "200 ");
    assert_seen(s, VMIS, "v", "/status/fsFreezeStatus", "frozen");
    assert_string_equal(call(s, "virtualmachineinstances/v/unfreeze"), "200 ");
    assert_seen(s, VMIS, "v", "/status/fsFreezeStatus", "");
    assert_string_equal(call(s, "virtualmachineinstances/v/pause"), "200 ");
    assert_seen(s, VMIS, "v", "/status/conditions/0/reason", "PausedByUser");
    assert_string_equal(call(s, "virtualmachineinstances/v/pause"), "409 VMI is already paused");
    assert_string_equal(call(s, "virtualmachineinstances/v/unpause"), "200 ");
    assert_seen(s, VMIS, "v", "/status/conditions", "[]");
    assert_string_equal(call(s, "virtualmachineinstances/v/dance"),
                        "404 the server could not find the requested resource");
}

static void calls_fail_on_demand(void **state)
{
    struct sim_fixture *s = *state;
    make_scheduled_vmi(s, "v", "");
    must_patch(s->f, VMIS, "v", "{\"metadata\":{\"annotations\":{\"virt-lab/fail-freeze\":\"500 no agent\"}}}");
    assert_string_equal(call(s, "virtualmachineinstances/v/freeze"), "500 no agent");
    must_patch(s->f, "namespaces", "default", "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":\"virt-api\"}}}");
    assert_string_equal(call(s, "virtualmachineinstances/v/unfreeze"),
                        "404 the server could not find the requested resource");
}

int main(void)
{
#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, sim_fixture_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_names),
        TEST(parts_are_left_out, setup_without),
        TEST(without_parts_nothing_is_made_or_done, setup_nothing),
        TEST(a_part_that_is_slow_reacts_later, setup_slow),
        TEST(a_part_that_is_slow_sees_the_latest_state, setup_slow),
        TEST(a_namespace_plays_parts_by_hand, setup),
        TEST(a_node_plays_parts_by_hand, setup),
        TEST(parts_catch_up_when_their_watches_fell_behind, setup),
        TEST(vms_are_started_and_stopped, setup),
        TEST(guests_are_frozen_and_paused, setup),
        TEST(calls_fail_on_demand, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
