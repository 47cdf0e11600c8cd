/* Tests of the simulated scheduler, kubelet and nodes. */
#include "sim_fixture.h"

static int setup(void **state)
{
    return sim_fixture_setup(state, &(struct lab_sim_options){.nodes = 3});
}

static void nodes_are_made_ready_and_without_taint(void **state)
{
    struct sim_fixture *s = *state;
    assert_seen(s, "nodes", "node03", "/status/conditions/0/status", "True");
    assert_seen(s, "nodes", "node03", "/spec/taints", "");
    assert_seen(s, "nodes", "node03", "/status/allocatable/cpu", "16");
    assert_seen(s, "nodes", "node03", "/metadata/labels/kubevirt.io~1schedulable", "true");
    assert_seen(s, "nodes", "node04", "", "gone");
}

static void nodes_have_heartbeats(void **state)
{
    struct sim_fixture *s = *state;
    assert_seen(s, "nodes", "node01", "/metadata/annotations/kubevirt.io~1heartbeat", "2026-01-02T03:04:05Z");
    pass(s, 30 * KB_NS_PER_S);
    assert_seen(s, "nodes", "node01", "/metadata/annotations/kubevirt.io~1heartbeat", "2026-01-02T03:04:35Z");
    assert_seen(s, "nodes", "node01", "/status/conditions/0/lastHeartbeatTime", "2026-01-02T03:04:35Z");
    assert_seen(s, "nodes", "node01", "/status/conditions/0/lastTransitionTime", "2026-01-02T03:04:05Z");
}

static void a_pod_gets_a_node_and_runs(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "p", "\"initContainers\":[{\"name\":\"i\",\"image\":\"x\"}],");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "p", "/status/phase", "Running");
    assert_seen(s, "pods", "p", "/status/podIPs", "[{\"ip\":\"10.244.81.107\"}]");
    assert_seen(s, "pods", "p", "/status/hostIP", "192.0.2.10");
    assert_seen(s, "pods", "p", "/status/conditions/2/type", "Ready");
    assert_seen(s, "pods", "p", "/status/conditions/2/status", "True");
    assert_seen(s, "pods", "p", "/status/containerStatuses/0/state/running/startedAt", "2026-01-02T03:04:05Z");
    assert_seen(s, "pods", "p", "/status/containerStatuses/0/image", "registry.local/c:1");
    assert_seen(s, "pods", "p", "/status/initContainerStatuses/0/state/terminated/reason", "Completed");
}

static void pods_are_spread(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "a", "");
    make_pod(s, "b", "");
    make_pod(s, "c", "");
    settle(s);
    assert_seen(s, "pods", "a", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "b", "/spec/nodeName", "node02");
    assert_seen(s, "pods", "c", "/spec/nodeName", "node03");
    must_delete(s->f, "pods", "b");
    settle(s);
    make_pod(s, "d", "");
    settle(s);
    assert_seen(s, "pods", "d", "/spec/nodeName", "node02");
}

static void a_deleted_pod_goes_at_once(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "p", "");
    settle(s);
    must_delete(s->f, "pods", "p");
    assert_seen(s, "pods", "p", "/metadata/deletionGracePeriodSeconds", "30");
    settle(s);
    assert_seen(s, "pods", "p", "", "gone");
}

static void node_selectors_and_affinity_are_obeyed(void **state)
{
    struct sim_fixture *s = *state;
    must_patch(s->f, "nodes", "node03", "{\"metadata\":{\"labels\":{\"disk\":\"ssd\",\"slots\":\"7\"}}}");
    make_pod(s, "selector", "\"nodeSelector\":{\"disk\":\"ssd\",\"kubevirt.io/schedulable\":\"true\"},");
#define AFFINITY(list, expression)                                                                                     \
    "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"     \
    "\"" list "\":[" expression "]}]}}},"
    make_pod(s, "in",
             AFFINITY("matchExpressions", "{\"key\":\"disk\",\"operator\":\"In\",\"values\":[\"x\",\"ssd\"]}"));
    make_pod(s, "exists", AFFINITY("matchExpressions", "{\"key\":\"disk\",\"operator\":\"Exists\"}"));
    make_pod(s, "greater", AFFINITY("matchExpressions", "{\"key\":\"slots\",\"operator\":\"Gt\",\"values\":[\"6\"]}"));
    make_pod(s, "field",
             AFFINITY("matchFields", "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"node02\"]}"));
    make_pod(s, "less", AFFINITY("matchExpressions", "{\"key\":\"slots\",\"operator\":\"Lt\",\"values\":[\"6\"]}"));
    settle(s);
    assert_seen(s, "pods", "selector", "/spec/nodeName", "node03");
    assert_seen(s, "pods", "in", "/spec/nodeName", "node03");
    assert_seen(s, "pods", "exists", "/spec/nodeName", "node03");
    assert_seen(s, "pods", "greater", "/spec/nodeName", "node03");
    assert_seen(s, "pods", "field", "/spec/nodeName", "node02");
    assert_seen(s, "pods", "less", "/spec/nodeName", "");
    make_pod(s, "not", AFFINITY("matchExpressions", "{\"key\":\"disk\",\"operator\":\"DoesNotExist\"}"));
    settle(s);
    assert_seen(s, "pods", "not", "/spec/nodeName", "node01");
}

#define TERM                                                                                                           \
    "{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}},"     \
    "\"topologyKey\":\"kubernetes.io/hostname\"}]}"

static void pods_keep_apart_by_anti_affinity(void **state)
{
    struct sim_fixture *s = *state;
    const char *apart = "\"affinity\":{\"podAntiAffinity\":" TERM "},";
    must_patch(s->f, "nodes", "node03", "{\"spec\":{\"unschedulable\":true}}");
    make_pod(s, "a", apart);
    make_pod(s, "b", apart);
    make_pod(s, "c", apart);
    settle(s);
    assert_seen(s, "pods", "a", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "b", "/spec/nodeName", "node02");
    assert_seen(s, "pods", "c", "/spec/nodeName", "");
    assert_seen(s, "pods", "c", "/status/conditions/0/reason", "Unschedulable");
    must_delete(s->f, "pods", "a");
    settle(s);
    pass(s, 5 * KB_NS_PER_S);
    assert_seen(s, "pods", "c", "/spec/nodeName", "node01");
}

static void pods_go_together_by_affinity(void **state)
{
    struct sim_fixture *s = *state;
    const char *together = "\"affinity\":{\"podAffinity\":" TERM "},";
    make_pod(s, "a", together); /* the first of its group may go anywhere */
    settle(s);
    make_pod(s, "b", together);
    settle(s);
    assert_seen(s, "pods", "a", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "b", "/spec/nodeName", "node01");
}

static void taints_are_obeyed_and_tolerated(void **state)
{
    struct sim_fixture *s = *state;
    const char *taint = "{\"spec\":{\"taints\":[{\"key\":\"only\",\"value\":\"vms\",\"effect\":\"NoSchedule\"}]}}";
    must_patch(s->f, "nodes", "node01", taint);
    must_patch(s->f, "nodes", "node02", taint);
    must_patch(s->f, "nodes", "node03", "{\"spec\":{\"unschedulable\":true}}");
    make_pod(s, "plain", "");
    make_pod(s, "other", "\"tolerations\":[{\"key\":\"only\",\"value\":\"x\"}],");
    make_pod(s, "right", "\"tolerations\":[{\"key\":\"only\",\"value\":\"vms\",\"effect\":\"NoSchedule\"}],");
    make_pod(s, "any", "\"tolerations\":[{\"operator\":\"Exists\"}],");
    settle(s);
    assert_seen(s, "pods", "plain", "/spec/nodeName", "");
    assert_seen(s, "pods", "other", "/spec/nodeName", "");
    assert_seen(s, "pods", "right", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "any", "/spec/nodeName", "node02");
}

static void an_unschedulable_pod_runs_when_a_node_takes_it(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "p", "\"nodeSelector\":{\"disk\":\"ssd\"},");
    settle(s);
    assert_seen(s, "pods", "p", "/status/phase", "Pending");
    assert_seen(
        s, "pods", "p", "/status/conditions/0/message",
        "0/3 nodes are available: none is schedulable and fits the Pod's node selector, affinity and tolerations.");
    const char *version = see(s, "pods", "p", "/metadata/resourceVersion");
    pass(s, 20 * KB_NS_PER_S);
    assert_seen(s, "pods", "p", "/metadata/resourceVersion", version); /* said once */
    must_patch(s->f, "nodes", "node02", "{\"metadata\":{\"labels\":{\"disk\":\"ssd\"}}}");
    pass(s, 5 * KB_NS_PER_S);
    assert_seen(s, "pods", "p", "/status/phase", "Running");
    assert_seen(s, "pods", "p", "/spec/nodeName", "node02");
}

static void a_gated_pod_waits(void **state)
{
    struct sim_fixture *s = *state;
    make_pod(s, "p", "\"schedulingGates\":[{\"name\":\"g\"}],");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "");
    must_patch(s->f, "pods", "p", "{\"spec\":{\"schedulingGates\":null}}");
    settle(s);
    assert_seen(s, "pods", "p", "/status/phase", "Running");
}

static void a_node_is_tainted_while_it_is_not_ready(void **state)
{
    struct sim_fixture *s = *state;
    struct lab_ref ref = {.resource = "nodes", .name = "node01", .subresource = "status"};
    const char *broken = "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}";
    must_patch(s->f, "nodes", "node01", "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":\"kubelet\"}}}");
    lab_client_patch_text(s->f->client, &ref, LAB_PATCH_STRATEGIC, broken, NULL, NULL);
    settle(s);
    assert_seen(s, "nodes", "node01", "/spec/taints/0/key", "node.kubernetes.io/not-ready");
    make_pod(s, "p", "");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "node02");
}

static void a_held_pod_is_scheduled_but_not_started(void **state)
{
    struct sim_fixture *s = *state;
    must_create(s->f, "pods",
                "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"virt-lab/hold\":\"\"}},\"spec\":{\"containers\":[{"
                "\"name\":\"c\",\"image\":\"x\"}]}}");
    settle(s);
    assert_seen(s, "pods", "p", "/spec/nodeName", "node01");
    assert_seen(s, "pods", "p", "/status/phase", "Pending");
    must_patch(s->f, "pods", "p", "{\"metadata\":{\"annotations\":null}}");
    settle(s);
    assert_seen(s, "pods", "p", "/status/phase", "Running");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, sim_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(nodes_are_made_ready_and_without_taint),
        TEST(nodes_have_heartbeats),
        TEST(a_pod_gets_a_node_and_runs),
        TEST(pods_are_spread),
        TEST(a_deleted_pod_goes_at_once),
        TEST(node_selectors_and_affinity_are_obeyed),
        TEST(pods_keep_apart_by_anti_affinity),
        TEST(pods_go_together_by_affinity),
        TEST(taints_are_obeyed_and_tolerated),
        TEST(an_unschedulable_pod_runs_when_a_node_takes_it),
        TEST(a_gated_pod_waits),
        TEST(a_node_is_tainted_while_it_is_not_ready),
        TEST(a_held_pod_is_scheduled_but_not_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
