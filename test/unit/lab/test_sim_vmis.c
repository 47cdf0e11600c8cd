/* Tests of the simulated virt-handler: phases, hotplugged volumes, live migration. */
#include "lab/json.h"
#include "sim_fixture.h"

static int setup(void **state)
{
    return sim_fixture_setup(state, &(struct lab_sim_options){.nodes = 2});
}

static void a_scheduled_vmi_runs(void **state)
{
    struct sim_fixture *s = *state;
    make_scheduled_vmi(s, "v",
                       ",\"phaseTransitionTimestamps\":[{\"phase\":\"Scheduled\",\"phaseTransitionTimestamp\":"
                       "\"2026-01-02T03:04:00Z\"}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                       "\"lastProbeTime\":null},{\"type\":\"LiveMigratable\",\"status\":\"False\"}]");
    settle(s);
    assert_seen(s, VMIS, "v", "/status/phase", "Running");
    assert_seen(s, VMIS, "v", "/status/phaseTransitionTimestamps/0/phase", "Scheduled");
    assert_seen(s, VMIS, "v", "/status/phaseTransitionTimestamps/1",
                "{\"phase\":\"Running\",\"phaseTransitionTimestamp\":\"2026-01-02T03:04:05Z\"}");
    assert_seen(s, VMIS, "v", "/status/conditions",
                "[{\"type\":\"Ready\",\"status\":\"True\",\"lastProbeTime\":null},"
                "{\"type\":\"LiveMigratable\",\"status\":\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":null},"
                "{\"type\":\"StorageLiveMigratable\",\"status\":\"True\",\"lastProbeTime\":null,"
                "\"lastTransitionTime\":null}]");
    assert_seen(s, VMIS, "v", "/status/machine/type", "pc-q35-rhel9.6.0");
    assert_seen(s, VMIS, "v", "/status/interfaces/0/name", "default");
    assert_seen(s, VMIS, "v", "/status/interfaces/1/mac", "02:00:00:00:00:07");
}

static void a_guest_has_the_address_of_its_launcher(void **state)
{
    struct sim_fixture *s = *state;
    make_scheduled_vmi(s, "v", "");
    must_create(s->f, "pods",
                lab_json_printf(s->f->arena,
                                "{\"metadata\":{\"name\":\"virt-launcher-v-1\",\"labels\":{"
                                "\"kubevirt.io/created-by\":\"%s\"}},\"spec\":{\"containers\":["
                                "{\"name\":\"compute\",\"image\":\"registry.local/c:1\"}]}}",
                                see(s, VMIS, "v", "/metadata/uid")));
    settle(s);
    assert_string_not_equal(see(s, "pods", "virt-launcher-v-1", "/status/podIP"), "");
    assert_seen(s, VMIS, "v", "/status/interfaces/0/ipAddress", see(s, "pods", "virt-launcher-v-1", "/status/podIP"));
    assert_seen(s, VMIS, "v", "/status/interfaces/0/ipAddresses",
                lab_json_printf(s->f->arena, "[\"%s\"]", see(s, "pods", "virt-launcher-v-1", "/status/podIP")));
}

static void a_vmi_that_nobody_scheduled_is_left_alone(void **state)
{
    struct sim_fixture *s = *state;
    must_create(s->f, VMIS, "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"domain\":{\"devices\":{}}}}");
    settle(s);
    assert_seen(s, VMIS, "v", "/status/phase", "");
}

static void a_deleted_vmi_succeeds(void **state)
{
    struct sim_fixture *s = *state;
    make_scheduled_vmi(s, "v", "");
    settle(s);
    must_delete(s->f, VMIS, "v");
    settle(s);
    assert_seen(s, VMIS, "v", "/status/phase", "Succeeded");
    assert_seen(s, VMIS, "v", "/status/phaseTransitionTimestamps/1/phase", "Succeeded");
}

static void set_volumes(struct sim_fixture *s, const char *name, const char *volumes, const char *statuses)
{
    must_patch(s->f, VMIS, name,
               lab_json_printf(s->f->arena, "{\"spec\":{\"volumes\":[%s]},\"status\":{\"volumeStatus\":[%s]}}", volumes,
                               statuses));
    settle(s);
}

static void hotplugged_volumes_become_ready_and_go_again(void **state)
{
    struct sim_fixture *s = *state;
    make_scheduled_vmi(s, "v", "");
    settle(s);
    set_volumes(
        s, "v", "{\"name\":\"root\"},{\"name\":\"hot\"}",
        "{\"name\":\"root\",\"target\":\"vda\"},{\"name\":\"hot\",\"target\":\"\",\"hotplugVolume\":{},\"phase\":"
        "\"AttachedToNode\"}");
    assert_seen(s, VMIS, "v", "/status/volumeStatus/0", "{\"name\":\"root\",\"target\":\"vda\"}");
    assert_seen(s, VMIS, "v", "/status/volumeStatus/1/phase", "Ready");
    assert_seen(s, VMIS, "v", "/status/volumeStatus/1/target", "sda");
    assert_seen(s, VMIS, "v", "/status/volumeStatus/1/message", "Successfully attach hotplugged volume hot to VM");
    must_patch(s->f, VMIS, "v", "{\"spec\":{\"volumes\":[{\"name\":\"root\"}]}}");
    settle(s);
    assert_seen(s, VMIS, "v", "/status/volumeStatus/1/phase", "UnMountedFromPod");
    assert_seen(s, VMIS, "v", "/status/volumeStatus/1/reason", "VolumeUnMountedFromPod");
}

static void utility_volumes_are_mounted(void **state)
{
    struct sim_fixture *s = *state;
    make_scheduled_vmi(s, "v", "");
    settle(s);
    must_patch(s->f, VMIS, "v", "{\"spec\":{\"utilityVolumes\":[{\"name\":\"u\"}]}}");
    set_volumes(s, "v", "", "{\"name\":\"u\",\"hotplugVolume\":{},\"phase\":\"AttachedToNode\"}");
    assert_seen(s, VMIS, "v", "/status/volumeStatus/0/phase", "MountedToPod");
    assert_seen(s, VMIS, "v", "/status/volumeStatus/0/message", "Volume u has been mounted in virt-launcher pod");
}

static void start_migration(struct sim_fixture *s)
{
    make_pod(s, "source", "\"nodeName\":\"node01\",");
    make_pod(s, "target", "\"nodeName\":\"node02\",");
    make_scheduled_vmi(s, "v",
                       ",\"conditions\":[{\"type\":\"MigrationRequired\",\"status\":\"True\"}],\"evacuationNodeName\":"
                       "\"node01\"");
    settle(s);
    must_patch(s->f, VMIS, "v",
               "{\"metadata\":{\"labels\":{\"kubevirt.io/nodeName\":\"node01\",\"kubevirt.io/migrationTargetNodeName\":"
               "\"node02\"}},\"status\":{\"migrationState\":{\"targetNode\":\"node02\",\"targetPod\":\"target\","
               "\"sourceNode\":\"node01\",\"sourcePod\":\"source\"}}}");
}

static void a_migration_moves_the_vmi_and_ends_the_source(void **state)
{
    struct sim_fixture *s = *state;
    start_migration(s);
    settle(s);
    assert_seen(s, VMIS, "v", "/status/nodeName", "node02");
    assert_seen(s, VMIS, "v", "/metadata/labels", "{\"kubevirt.io/nodeName\":\"node02\"}");
    assert_seen(s, VMIS, "v", "/status/evacuationNodeName", "");
    assert_seen(s, VMIS, "v", "/status/conditions/0/type", "LiveMigratable");
    assert_seen(s, VMIS, "v", "/status/migrationState/targetNodeAddress", "192.0.2.11");
    assert_seen(s, VMIS, "v", "/status/migrationState/targetNodeDomainDetected", "true");
    assert_seen(s, VMIS, "v", "/status/migrationState/completed", "true");
    assert_seen(s, VMIS, "v", "/status/migrationState/endTimestamp", "2026-01-02T03:04:05Z");
    assert_seen(s, "pods", "source", "/status/phase", "Succeeded");
    assert_seen(s, "pods", "source", "/status/containerStatuses/0/ready", "false");
    assert_seen(s, "pods", "source", "/status/conditions/2/reason", "PodCompleted");
    assert_seen(s, "pods", "target", "/status/phase", "Running");
}

static void a_migration_waits_for_a_target_that_is_not_played(void **state)
{
    struct sim_fixture *s = *state;
    must_patch(s->f, "nodes", "node02", "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":\"virt-handler\"}}}");
    start_migration(s);
    settle(s);
    assert_seen(s, VMIS, "v", "/status/migrationState/targetNodeAddress", "");
    must_patch(s->f, "nodes", "node02", "{\"metadata\":{\"annotations\":{\"virt-lab/no-sim\":null}}}");
    settle(s);
    assert_seen(s, VMIS, "v", "/status/migrationState/completed", "true");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, sim_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_scheduled_vmi_runs),
        TEST(a_guest_has_the_address_of_its_launcher),
        TEST(a_vmi_that_nobody_scheduled_is_left_alone),
        TEST(a_deleted_vmi_succeeds),
        TEST(hotplugged_volumes_become_ready_and_go_again),
        TEST(utility_volumes_are_mounted),
        TEST(a_migration_moves_the_vmi_and_ends_the_source),
        TEST(a_migration_waits_for_a_target_that_is_not_played),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
