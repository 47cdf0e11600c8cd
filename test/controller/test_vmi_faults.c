/*
 * Tests of the VMI controller when things go wrong around it: each request of its way fails once, events are late or
 * lost, caches are behind. The end must be the same.
 */
#include "base/strings.h"
#include "virt/conditions.h"
#include "vmi.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define LONG (30 * KB_NS_PER_S)

/* ---- request k fails ---- */

static void await_pod(struct cluster *c)
{
    cluster_advance(c, LONG);
    assert_int_equal(vmi_pods(c, "virt-launcher-vmi1-"), 1);
}

static void bring_up(struct cluster *c)
{
    vmi_create(c, "");
    await_pod(c);
    cluster_bind(c, vmi_pod(c)->metadata.name, "node01");
    vmi_run_pod(c, vmi_pod(c)->metadata.name);
    cluster_advance(c, LONG);
    vmi_assert_phase(c, "Scheduled");
    vmi_start_guest(c);
    cluster_advance(c, LONG);
}

static void take_down(struct cluster *c)
{
    const char *pod = vmi_pod(c)->metadata.name;

    cluster_delete(c, VMIS, "vmi1");
    cluster_advance(c, LONG);
    assert_true(!vmi_pod(c) || vmi_pod(c)->metadata.deletion_timestamp);
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"phase\":\"Succeeded\"}}");
    if (vmi_pod(c))
        cluster_delete(c, "pods", pod);
    cluster_advance(c, LONG);
}

static void assert_is_up(struct cluster *c)
{
    const struct kv_vmi *vmi = vmi_get(c);
    const struct core_pod *pod = vmi_pod(c);

    assert_string_equal(vmi->status.phase, "Running");
    assert_string_equal(vmi_condition(c, "Ready"), "True ");
    assert_string_equal(vmi_condition(c, "Synchronized"), "");
    assert_string_equal(vmi->status.node_name, "node01");
    assert_int_equal(vmi->status.active_pods.n, 1);
    assert_string_equal(vmi->status.active_pods.items[0].key, pod->metadata.uid);
    assert_string_equal(api_map_get(&pod->metadata.labels, "kubevirt.io/nodeName"), "node01");
    assert_true(api_map_has(&pod->metadata.annotations, "descheduler.alpha.kubernetes.io/request-evict-only"));
    assert_true(virt_pod_condition_is(pod, "kubevirt.io/virtual-machine-unpaused", "True"));
}

static const enum script_fault faults[] = {SCRIPT_CUT_BEFORE, SCRIPT_CUT_AFTER, SCRIPT_CONFLICT, SCRIPT_INTERNAL,
                                           SCRIPT_TIMEOUT};
enum { MOST_REQUESTS = 12 };

/* Each time from the start: `before`, then `act` with one of its first `most` requests failing, then `check`. */
static void sweep(int most, void (*before)(struct cluster *c), void (*act)(struct cluster *c),
                  void (*check)(struct cluster *c))
{
    for (size_t f = 0; f < KB_ARRAY_LEN(faults); f++)
        for (int k = 1; k <= most; k++) {
            void *fixture;
            struct cluster *c;

            vmi_set_up(&fixture);
            c = fixture;
            before(c);
            script_fail_request(cluster_script(c), k, faults[f]);
            print_message("fault %d in request %d\n", (int)faults[f], k);
            act(c);
            check(c);
            vmi_tear_down(&fixture);
        }
}

static void an_instance_comes_up_whichever_request_fails(void **state)
{
    (void)state;
    sweep(MOST_REQUESTS, cluster_settle, bring_up, assert_is_up);
}

static void assert_is_gone(struct cluster *c)
{
    assert_null(vmi_get(c));
    assert_int_equal(vmi_pods(c, "virt-launcher-vmi1-"), 0);
}

static void an_instance_goes_whichever_request_fails(void **state)
{
    (void)state;
    sweep(MOST_REQUESTS, bring_up, take_down, assert_is_gone);
}

/* The plug-in is fast: the Pod says that it has the network at once. */
static void plug_interface(struct cluster *c)
{
    cluster_patch(c, "pods", vmi_pod(c)->metadata.name,
                  "{\"metadata\":{\"annotations\":{\"k8s.v1.cni.cncf.io/network-status\":"
                  "\"[{\\\"name\\\":\\\"k8s-pod-network\\\",\\\"interface\\\":\\\"eth0\\\",\\\"default\\\":true},"
                  "{\\\"name\\\":\\\"ns/blue\\\",\\\"interface\\\":\\\"pod16477688c0e\\\"}]\"}}}");
    cluster_patch(c, VMIS, "vmi1",
                  "{\"spec\":{\"domain\":{\"devices\":{\"interfaces\":[{\"name\":\"default\",\"bridge\":{}},"
                  "{\"name\":\"blue\",\"bridge\":{}}]}},\"networks\":[{\"name\":\"default\",\"pod\":{}},"
                  "{\"name\":\"blue\",\"multus\":{\"networkName\":\"blue\"}}]}}");
    cluster_advance(c, LONG);
}

static void assert_has_network(struct cluster *c)
{
    const char *networks = api_map_get(&vmi_pod(c)->metadata.annotations, "k8s.v1.cni.cncf.io/networks");

    assert_non_null(networks);
    assert_non_null(strstr(networks, "blue"));
}

/* What asks for the Pod's list is an interface that the VMI's status does not have yet. */
static void a_pod_gets_the_network_of_a_new_interface_whichever_request_fails(void **state)
{
    (void)state;
    sweep(3, bring_up, plug_interface, assert_has_network);
}

/* ---- caches that are behind ---- */

static bool cut_reads_of_pods(void *userdata, const struct script_request *request, struct script_reply *reply)
{
    const bool *cut = userdata;

    if (!*cut || !kb_streq(request->method, "GET") || !strstr(request->path, "/pods"))
        return false;
    reply->cut = true;
    return true;
}

/* An instance younger than the controller, whose Pod is made though neither answer nor event arrive, and which can't be
 * looked for while `cut` says so. */
static void create_doubtfully(struct cluster *c, bool *cut)
{
    cluster_intercept(c, cut_reads_of_pods, cut);
    cluster_advance(c, 2 * KB_NS_PER_S);
    cluster_hold(c, VIRT_POD);
    script_fail_request(cluster_script(c), 2, SCRIPT_CUT_AFTER);
    vmi_create(c, "");
    while (vmi_pods(c, "virt-launcher-vmi1-") == 0) /* and no further: the next attempt is the test's */
        assert_true(cluster_step(c));
}

static void a_pod_whose_creation_got_no_answer_is_not_made_twice(void **state)
{
    struct cluster *c = *state;
    bool cut = true;

    create_doubtfully(c, &cut);
    cut = false;
    cluster_advance(c, LONG);
    assert_int_equal(vmi_pods(c, "virt-launcher-vmi1-"), 1);
    vmi_assert_phase(c, "Scheduling");
}

static void nor_when_its_instance_was_lost_for_a_moment(void **state)
{
    struct cluster *c = *state;
    bool cut = true;

    create_doubtfully(c, &cut);
    cluster_settle(c);
    cluster_hold(c, VIRT_VMI);
    cluster_forget(c, VIRT_VMI, "vmi1");
    cluster_advance(c, KB_NS_PER_S); /* the next attempt finds no instance */
    cut = false;
    cluster_patch(c, VMIS, "vmi1", "{\"metadata\":{\"annotations\":{\"example.com/poke\":\"1\"}}}");
    cluster_let_go(c, VIRT_VMI, false);
    cluster_advance(c, LONG);
    assert_int_equal(vmi_pods(c, "virt-launcher-vmi1-"), 1);
    vmi_assert_phase(c, "Scheduling");
}

static void a_pod_of_another_leader_is_found(void **state)
{
    struct cluster *c = *state;

    cluster_hold(c, VIRT_POD);
    vmi_create(c, ""); /* as old as the controller: another one may have seen it */
    cluster_settle(c);
    assert_int_equal(vmi_pods(c, "virt-launcher-vmi1-"), 1);
    assert_int_equal(script_count(cluster_script(c), "GET", "*labelSelector=kubevirt.io*created-by*"), 1);
}

static void an_instance_whose_pod_the_cache_lost_goes_on(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_forget(c, VIRT_POD, vmi_pod(c)->metadata.name);
    cluster_patch(c, VMIS, "vmi1", "{\"metadata\":{\"annotations\":{\"example.com/poke\":\"1\"}}}");
    cluster_advance(c, LONG);
    vmi_assert_phase(c, "Running");
    assert_int_equal(vmi_pods(c, "virt-launcher-vmi1-"), 1);
    assert_string_equal(cluster_writes(c), "");
}

static void an_instance_that_its_cache_lost_gets_no_second_pod(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_forget(c, VIRT_VMI, "vmi1");
    cluster_settle(c);
    cluster_patch(c, VMIS, "vmi1", "{\"metadata\":{\"annotations\":{\"example.com/poke\":\"1\"}}}");
    cluster_advance(c, LONG);
    assert_int_equal(vmi_pods(c, "virt-launcher-vmi1-"), 1);
    vmi_assert_phase(c, "Running");
}

static void a_ready_pod_that_was_not_heard_of_is_asked_for(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_advance(c, 2 * KB_NS_PER_S);
    vmi_assert_phase(c, "Scheduling");
    cluster_hold(c, VIRT_POD);
    cluster_bind(c, vmi_pod(c)->metadata.name, "node01");
    vmi_run_pod(c, vmi_pod(c)->metadata.name);
    cluster_let_go(c, VIRT_POD, true); /* its events are lost */
    cluster_advance(c, 3 * 60 * KB_NS_PER_S);
    vmi_assert_phase(c, "Scheduled");
}

static void a_deletion_that_no_event_confirmed_does_not_park_the_instance(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_hold(c, VIRT_POD);
    cluster_delete(c, VMIS, "vmi1");
    cluster_settle(c);
    cluster_delete(c, "pods", vmi_pod(c)->metadata.name);
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"phase\":\"Succeeded\"}}");
    cluster_let_go(c, VIRT_POD, true);
    cluster_advance(c, 3 * 60 * KB_NS_PER_S);
    assert_null(vmi_get(c));
}

static void stale_instances_conflict_and_go_on(void **state)
{
    struct cluster *c = *state;

    vmi_create(c, "");
    cluster_settle(c);
    cluster_hold(c, VIRT_VMI);
    cluster_patch(c, VMIS, "vmi1", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    cluster_advance(c, 2 * KB_NS_PER_S);
    cluster_let_go(c, VIRT_VMI, false);
    cluster_advance(c, LONG);
    vmi_assert_phase(c, "Scheduling");
    assert_string_equal(api_map_get(&vmi_get(c)->metadata.labels, "a"), "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_comes_up_whichever_request_fails),
        cmocka_unit_test(an_instance_goes_whichever_request_fails),
        cmocka_unit_test(a_pod_gets_the_network_of_a_new_interface_whichever_request_fails),
        VMI_TEST(a_pod_whose_creation_got_no_answer_is_not_made_twice),
        VMI_TEST(nor_when_its_instance_was_lost_for_a_moment),
        VMI_TEST(a_pod_of_another_leader_is_found),
        VMI_TEST(an_instance_whose_pod_the_cache_lost_goes_on),
        VMI_TEST(an_instance_that_its_cache_lost_gets_no_second_pod),
        VMI_TEST(a_ready_pod_that_was_not_heard_of_is_asked_for),
        VMI_TEST(a_deletion_that_no_event_confirmed_does_not_park_the_instance),
        VMI_TEST(stale_instances_conflict_and_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
