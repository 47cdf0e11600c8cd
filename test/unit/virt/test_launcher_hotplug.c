/* Tests of the Pods that serve hotplugged volumes. */
#include "launcher_fixture.h"

#include "api/codec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char the_launcher[] =
    "{'metadata':{'name':'virt-launcher-vm-x','uid':'pod-1','labels':{'a':'1','b':'2'}},'spec':{'nodeName':'node01',"
    "'tolerations':[{'key':'z','operator':'Exists'},{'key':'node.kubernetes.io/disk-pressure','operator':'Exists',"
    "'effect':'NoSchedule'},{'key':'a','value':'1'}]}}";

static struct virt_hotplug_volume volume(struct fixture *f, const char *json, const char *claim)
{
    return (struct virt_hotplug_volume){fixture_decode(f, &kv_volume_type, json),
                                        claim ? fixture_decode(f, &core_pvc_type, claim) : NULL};
}

static void an_attachment_pod_holds_claims_on_the_launchers_node(void **state)
{
    static const char *const tolerated[] = {"a",
                                            "node.kubernetes.io/disk-pressure",
                                            "node.kubernetes.io/memory-pressure",
                                            "node.kubernetes.io/network-unavailable",
                                            "node.kubernetes.io/pid-pressure",
                                            "node.kubernetes.io/unschedulable",
                                            "z"};
    const struct core_container *container;
    struct core_pod *pod;
    struct fixture f;

    (void)state;
    fixture_init(&f, "{'selinuxLauncherType':'launcher_t'}",
                 "{'status':{'selinuxContext':'u:r:t:s0:c1,c2','volumeStatus':[{'name':'mounted','hotplugVolume':{},"
                 "'phase':'MountedToPod'},{'name':'files','phase':'Ready'}]}}");
    const struct virt_hotplug_volume volumes[] = {
        volume(&f, "{'name':'block','persistentVolumeClaim':{'claimName':'c1'}}",
               "{'metadata':{'uid':'u1'},'spec':{'volumeMode':'Block'}}"),
        volume(&f, "{'name':'files','dataVolume':{'name':'c2'}}", "{'metadata':{'uid':'u2'}}"),
        volume(&f, "{'name':'mounted','memoryDump':{'claimName':'c3'}}", "{'metadata':{'uid':'u3'}}"),
        volume(&f, "{'name':'unknown','persistentVolumeClaim':{'claimName':'c4'}}", NULL),
        volume(&f, "{'name':'none','emptyDisk':{'capacity':'1Gi'}}", NULL),
    };
    assert_int_equal(virt_hotplug_attachment_pod(f.arena, &f.input, fixture_decode(&f, &core_pod_type, the_launcher),
                                                 volumes, KB_ARRAY_LEN(volumes), &pod, NULL),
                     0);
    container = &pod->spec.containers.items[0];
    assert_string_equal(pod->metadata.generate_name, "hp-volume-");
    assert_string_equal(pod->metadata.owner_references.items[0].uid, "pod-1");
    assert_string_equal(api_map_get(&pod->metadata.labels, "kubevirt.io"), "hotplug-disk");
    assert_int_equal(pod->metadata.annotations.n, 0);
    assert_string_equal(fixture_join(&f, &container->command),
                        "/bin/sh -c /usr/bin/container-disk --copy-path /path/hp");
    assert_string_equal(container->security_context->se_linux_options->type, "launcher_t");
    assert_string_equal(container->security_context->se_linux_options->level, "s0:c1,c2");
    assert_string_equal(api_map_get(&container->resources.limits, "memory"), "80M");
    assert_int_equal(pod->spec.tolerations.n, KB_ARRAY_LEN(tolerated));
    for (size_t i = 0; i < KB_ARRAY_LEN(tolerated); i++)
        assert_string_equal(pod->spec.tolerations.items[i].key, tolerated[i]);
    assert_int_equal(pod->spec.volumes.n, 5);
    assert_string_equal(pod->spec.volumes.items[4].persistent_volume_claim->claim_name, "c4");
    assert_int_equal(container->volume_devices.n, 1);
    assert_string_equal(container->volume_devices.items[0].device_path, "/path/block/u1");
    assert_int_equal(container->volume_mounts.n, 2);
    assert_string_equal(container->volume_mounts.items[0].mount_path, "/path");
    assert_string_equal(container->volume_mounts.items[1].mount_path, "/files");
    assert_string_equal(
        pod->spec.affinity->node_affinity->required_during_scheduling_ignored_during_execution->node_selector_terms
            .items[0]
            .match_expressions.items[0]
            .values.items[0],
        "node01");
    fixture_done(&f);
}

static void a_trigger_pod_makes_a_claim_bind_near_the_launcher(void **state)
{
    static const struct {
        const char *claim;
        bool block;
    } rows[] = {{"{'spec':{'volumeMode':'Block'}}", true}, {"{}", false}};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct core_pod_affinity_term *near;
        const struct core_container *container;
        struct core_pod *pod;
        struct fixture f;

        fixture_init(&f, "{'selinuxLauncherType':'launcher_t'}", "{'status':{'selinuxContext':'none'}}");
        const struct virt_hotplug_volume hotplug =
            volume(&f, "{'name':'v','persistentVolumeClaim':{'claimName':'c'}}", rows[i].claim);
        assert_int_equal(virt_hotplug_trigger_pod(f.arena, &f.input, fixture_decode(&f, &core_pod_type, the_launcher),
                                                  &hotplug, &pod, NULL),
                         0);
        container = &pod->spec.containers.items[0];
        near = &pod->spec.affinity->pod_affinity->required_during_scheduling_ignored_during_execution.items[0];
        assert_string_equal(api_map_get(&pod->metadata.annotations, "kubevirt.io/ephemeral-provisioning"), "true");
        assert_string_equal(fixture_join(&f, &container->command), "/bin/bash -c exit 0");
        assert_string_equal(near->topology_key, "kubernetes.io/hostname");
        assert_string_equal(api_map_get(&near->label_selector->match_labels, "b"), "2");
        assert_int_equal(pod->spec.tolerations.n, 3);
        assert_string_equal(container->security_context->se_linux_options->level, "s0");
        assert_true(kb_empty(container->security_context->se_linux_options->type));
        assert_int_equal(container->volume_devices.n, rows[i].block);
        assert_int_equal(container->volume_mounts.n, rows[i].block ? 1 : 2);
        assert_int_equal(pod->spec.security_context != NULL, rows[i].block);
        fixture_done(&f);
    }
}

static void the_selinux_level_is_the_launchers(void **state)
{
    static const struct {
        const char *status, *level, *error;
    } rows[] = {
        {"{'selinuxContext':'none'}", "s0", NULL},
        {"{'selinuxContext':'u:r:t:s0'}", "s0", NULL},
        {"{'migrationState':{'sourceState':{'selinuxContext':'u:r:t:s0:c7,c8'}}}", "s0:c7,c8", NULL},
        {"{'migrationState':{'sourceState':{}}}", NULL, "VMI is missing SELinux context"},
        {"{}", NULL, "VMI is missing SELinux context"},
        {"{'selinuxContext':'a:b:c'}", NULL, "VMI has invalid SELinux context: a:b:c"},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kube_error error = {0};
        struct core_pod *pod;
        struct fixture f;
        char vmi[256];
        int result;

        snprintf(vmi, sizeof(vmi), "{'status':%s}", rows[i].status);
        fixture_init(&f, NULL, vmi);
        result = virt_hotplug_attachment_pod(f.arena, &f.input, fixture_decode(&f, &core_pod_type, the_launcher), NULL,
                                             0, &pod, &error);
        assert_int_equal(result, rows[i].error ? -1 : 0);
        if (rows[i].error)
            assert_string_equal(error.message, rows[i].error);
        else
            assert_string_equal(pod->spec.containers.items[0].security_context->se_linux_options->level, rows[i].level);
        fixture_done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attachment_pod_holds_claims_on_the_launchers_node),
        cmocka_unit_test(a_trigger_pod_makes_a_claim_bind_near_the_launcher),
        cmocka_unit_test(the_selinux_level_is_the_launchers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
