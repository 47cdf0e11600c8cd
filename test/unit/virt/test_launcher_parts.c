/* Tests of the parts of the launcher Pod: command, probes, sidecars, digests, volumes. */
#include "launcher_fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- command ---- */

static void the_command_names_the_vmi_and_the_directories(void **state)
{
    struct api_strings command = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f,
                 "{'developerConfiguration':{'disabledFeatureGates':['ImageVolume','LibvirtHooksServerAndClient',"
                 "'PodSecondaryInterfaceNamingUpgrade']}}",
                 "{'spec':{'architecture':'arm64','terminationGracePeriodSeconds':5}}");
    f.input.qemu_timeout_jitter = 7;
    launcher_command(&f.launcher, &command);
    assert_string_equal(fixture_join(&f, &command),
                        "/usr/bin/virt-launcher-monitor --qemu-timeout 247s --name vm --uid uid-1 --namespace ns "
                        "--kubevirt-share-dir /var/run/kubevirt --ephemeral-disk-dir /var/run/kubevirt-ephemeral-disks "
                        "--container-disk-dir /var/run/kubevirt/container-disks --grace-period-seconds 20 "
                        "--hook-sidecars 0 --ovmf-path /usr/share/AAVMF --disk-memory-limit 2097152000 "
                        "--hypervisor kvm");
    fixture_done(&f);
}

static void switches_follow_gates_and_annotations(void **state)
{
    struct api_strings command = {0};
    struct fixture f;
    const char *text;

    (void)state;
    fixture_init(&f, "{'developerConfiguration':{'useEmulation':true,'featureGates':['VMStatsCollector']}}",
                 "{'metadata':{'annotations':{'kubevirt.io/keep-launcher-alive-after-failure-of':'true!',"
                 "'kubevirt.io/func-test-virt-launcher-fail-fast':'','kubevirt.io/libvirt-log-filters':'1:qemu'}},"
                 "'status':{'runtimeUser':107}}");
    launcher_command(&f.launcher, &command);
    text = fixture_join(&f, &command);
    assert_non_null(strstr(text, " --hypervisor kvm --run-as-nonroot --image-volume --libvirt-hook-server-and-client "
                                 "--upgrade-ordinal-ifaces --vm-stats-collector --libvirt-log-filters 1:qemu "
                                 "--allow-emulation --keep-after-failure --simulate-crash"));
    fixture_done(&f);
}

static void a_stand_in_only_prints(void **state)
{
    struct api_strings command = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL, "{}");
    f.input.mode = VIRT_LAUNCHER_TEMPORARY;
    launcher_command(&f.launcher, &command);
    assert_int_equal(command.n, 4);
    assert_string_equal(command.items[3], "bound PVCs");
    fixture_done(&f);
}

/* ---- probes ---- */

static void probes_of_the_guest_go_through_virt_probe(void **state)
{
    static const struct {
        const char *probe, *command;
        int timeout;
    } rows[] = {
        {"{'guestAgentPing':{}}", "virt-probe --domainName ns_vm --timeoutSeconds 1 --guestAgentPing", 2},
        {"{'exec':{'command':['cat','/a','-n']},'timeoutSeconds':5}",
         "virt-probe --domainName ns_vm --timeoutSeconds 5 --command cat -- /a -n", 6},
        {"{'exec':{'command':['virt-probe','--x']},'timeoutSeconds':5}", "virt-probe --x", 5},
        {"{'exec':{}}", "", 1},
    };
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL, "{}");
    assert_null(launcher_probe(&f.launcher, NULL));
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct core_probe *probe = launcher_probe(&f.launcher, fixture_decode(&f, &kv_probe_type, rows[i].probe));

        assert_string_equal(fixture_join(&f, &probe->exec->command), rows[i].command);
        assert_int_equal(probe->timeout_seconds, rows[i].timeout);
        assert_int_equal(probe->initial_delay_seconds, 10);
        assert_int_equal(probe->period_seconds, 10);
        assert_int_equal(probe->success_threshold, 1);
        assert_int_equal(probe->failure_threshold, 3);
    }
    fixture_done(&f);
}

static void probes_of_ports_are_kept(void **state)
{
    const struct core_probe *probe;
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL, "{}");
    probe = launcher_probe(&f.launcher, fixture_decode(&f, &kv_probe_type,
                                                       "{'httpGet':{'port':80},'initialDelaySeconds':20,"
                                                       "'periodSeconds':3,'failureThreshold':9}"));
    assert_int_equal(probe->http_get->port.number, 80);
    assert_null(probe->exec);
    assert_int_equal(probe->initial_delay_seconds, 30);
    assert_int_equal(probe->period_seconds, 3);
    assert_int_equal(probe->failure_threshold, 9);
    fixture_done(&f);
}

/* ---- sidecars ---- */

static void sidecars_come_from_the_annotation_then_from_plugins(void **state)
{
    const struct launcher_sidecar *sidecars;
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(
        &f, "{'network':{'binding':{'p':{'sidecarImage':'plug:1','downwardAPI':'device-info'},'q':{}}}}",
        "{'metadata':{'annotations':{'hooks.kubevirt.io/hookSidecars':'[{\\'Image\\':\\'hook:1\\',\\'args\\':"
        "[\\'-v\\'],\\'configMap\\':{\\'name\\':\\'cm\\',\\'key\\':\\'k\\'}},{\\'pvc\\':{\\'name\\':\\'c\\'}}]'}},"
        "'spec':{'domain':{'devices':{'interfaces':[{'name':'a','binding':{'name':'p'}},"
        "{'name':'b','binding':{'name':'q'}},{'name':'c','binding':{'name':'p'}}]}}}}");
    assert_int_equal(launcher_find_sidecars(&f.launcher, &error), 0);
    assert_int_equal(f.launcher.sidecars.n, 3);
    sidecars = f.launcher.sidecars.items;
    assert_string_equal(sidecars[0].image, "hook:1");
    assert_string_equal(sidecars[0].args.items[0], "-v");
    assert_string_equal(sidecars[0].config_map_name, "cm");
    assert_string_equal(sidecars[0].config_map_path, "");
    assert_null(sidecars[0].pvc_name);
    assert_string_equal(sidecars[1].image, "");
    assert_null(sidecars[1].config_map_name);
    assert_string_equal(sidecars[1].pvc_name, "c");
    assert_string_equal(sidecars[2].image, "plug:1");
    assert_string_equal(sidecars[2].image_pull_policy, "IfNotPresent");
    assert_true(sidecars[2].device_info);
    fixture_done(&f);
}

static void a_wrong_annotation_is_explained_as_go_does(void **state)
{
    static const struct {
        const char *annotation, *message;
    } rows[] = {
        {"[{\\'image\\':5}]", "json: cannot unmarshal number into Go struct field HookSidecar.image of type string"},
        {"[{\\'imagePullPolicy\\':true}]",
         "json: cannot unmarshal bool into Go struct field HookSidecar.imagePullPolicy of type v1.PullPolicy"},
        {"[{\\'args\\':\\'x\\'}]",
         "json: cannot unmarshal string into Go struct field HookSidecar.args of type []string"},
        {"{}", "json: cannot unmarshal object into Go value of type hooks.HookSidecarList"},
        {"[5]", "json: cannot unmarshal number into Go value of type hooks.HookSidecar"},
        {"", "unexpected end of JSON input"},
        {"[{}] x", "invalid character 'x' after top-level value"},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kube_error error = {0};
        char vmi[512];
        struct fixture f;

        snprintf(vmi, sizeof(vmi), "{'metadata':{'annotations':{'hooks.kubevirt.io/hookSidecars':'%s'}}}",
                 rows[i].annotation);
        fixture_init(&f, NULL, vmi);
        assert_int_equal(launcher_find_sidecars(&f.launcher, &error), -1);
        assert_string_equal(error.message, rows[i].message);
        fixture_done(&f);
    }
}

static void an_unknown_binding_plugin_is_an_error(void **state)
{
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL, "{'spec':{'domain':{'devices':{'interfaces':[{'name':'a','binding':{'name':'p'}}]}}}}");
    assert_int_equal(launcher_find_sidecars(&f.launcher, &error), -1);
    assert_string_equal(error.message, "couldn't find configuration for network binding: p");
    fixture_done(&f);
}

/* ---- digests ---- */

static void digests_are_those_of_the_source(void **state)
{
    static const struct {
        const char *image, *image_id, *with_digest; /* NULL: an error */
    } rows[] = {
        {"r/guest:1", "docker.io/r/guest@sha256:ab12", "r/guest@sha256:ab12"},
        {"host:5000/guest", "sha256:cd34", "host:5000/guest@sha256:cd34"},
        {"host:5000/guest@sha256:00", "x@sha256:ef56-", "host:5000/guest@sha256:ef56"},
        {"r/guest:1", "", NULL},
        {"r/guest:1", "sha256:", NULL},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kube_error error = {0};
        struct fixture f;
        int r;

        fixture_init(&f, NULL, "{}");
        f.input.vmi = f.launcher.vmi = fixture_decode(
            &f, &kv_vmi_type,
            kb_arena_printf(f.arena, "{'spec':{'volumes':[{'name':'d','containerDisk':{'image':'%s'}}]}}",
                            rows[i].image));
        f.input.mode = VIRT_LAUNCHER_MIGRATION_TARGET;
        f.input.source_pod = fixture_decode(
            &f, &core_pod_type,
            kb_arena_printf(f.arena,
                            "{'status':{'initContainerStatuses':[{'name':'volumed','imageID':'%s'},{'name':'x'}]}}",
                            rows[i].image_id));
        r = launcher_find_digests(&f.launcher, &error);
        assert_int_equal(r, rows[i].with_digest ? 0 : -1);
        if (rows[i].with_digest)
            assert_string_equal(launcher_image_of(&f.launcher, "d", "?"), rows[i].with_digest);
        else
            assert_non_null(strstr(error.message, "failed to identify image digest for container \"r/guest:1\""));
        fixture_done(&f);
    }
}

static void a_missing_digest_is_told_before_missing_storage(void **state)
{
    static const char *const image_ids[] = {"", "sha256:ab12"};
    static const char *const messages[] = {"failed to identify image digest", "can't generate manifest without"};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(image_ids); i++) {
        struct kube_error error = {0};
        struct core_pod *pod;
        struct fixture f;

        fixture_init(&f, NULL,
                     "{'spec':{'domain':{'devices':{'tpm':{'persistent':true}}},"
                     "'volumes':[{'name':'d','containerDisk':{'image':'g:1'}}]}}");
        f.input.mode = VIRT_LAUNCHER_MIGRATION_TARGET;
        f.input.source_pod = fixture_decode(
            &f, &core_pod_type,
            kb_arena_printf(f.arena, "{'status':{'containerStatuses':[{'name':'volumed','imageID':'%s'}]}}",
                            image_ids[i]));
        assert_int_equal(virt_launcher_pod(f.arena, &f.input, &pod, &error), -1);
        assert_non_null(strstr(error.message, messages[i]));
        fixture_done(&f);
    }
}

static void an_image_volume_by_digest_needs_no_status(void **state)
{
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL, "{'spec':{'volumes':[{'name':'d','containerDisk':{'image':'g:1'}}]}}");
    f.input.mode = VIRT_LAUNCHER_MIGRATION_TARGET;
    f.input.source_pod = fixture_decode(&f, &core_pod_type,
                                        "{'spec':{'volumes':[{'name':'d','image':{'reference':'g@sha256:12'}},"
                                        "{'name':'other','image':{'reference':'o@sha256:34'}}]}}");
    assert_int_equal(launcher_find_digests(&f.launcher, &error), 0);
    assert_string_equal(launcher_image_of(&f.launcher, "d", "?"), "g@sha256:12");
    assert_string_equal(launcher_image_of(&f.launcher, "other", "?"), "?");
    assert_true(launcher_digest_is_known(&f.launcher, "d"));
    fixture_done(&f);
}

/* ---- volumes ---- */

static const char *names(struct fixture *f, const struct core_volume_list *volumes)
{
    struct api_strings list = {0};

    api_list_foreach (volume, volumes)
        *kb_vec_push(f->arena, &list) = volume->name;
    return fixture_join(f, &list);
}

static const char *paths(struct fixture *f, const char *volume)
{
    struct api_strings list = {0};

    api_list_foreach (mount, &f->launcher.mounts)
        if (kb_streq(mount->name, volume))
            *kb_vec_push(f->arena, &list) =
                mount->sub_path ? kb_arena_printf(f->arena, "%s<-%s", mount->mount_path, mount->sub_path)
                                : mount->mount_path;
    return fixture_join(f, &list);
}

static void volumes_come_in_the_order_of_their_groups(void **state)
{
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, "{'developerConfiguration':{'featureGates':['Plugins']}}",
                 "{'spec':{'domain':{'memory':{'hugepages':{'pageSize':'2Mi'}},'devices':{"
                 "'disks':[{'name':'secret'}],'filesystems':[{'name':'cm','virtiofs':{}}],"
                 "'interfaces':[{'name':'n','sriov':{}}]}},"
                 "'volumes':[{'name':'disk','containerDisk':{'image':'g:1'}},{'name':'cm','configMap':{'name':'c'}},"
                 "{'name':'host','hostDisk':{'path':'/data//x/../a.img','type':'DiskOrCreate'}},"
                 "{'name':'secret','secret':{'secretName':'s'}},{'name':'empty','emptyDisk':{'capacity':'1Gi'}}]}}");
    assert_int_equal(launcher_add_volumes(&f.launcher, &error), 0);
    assert_string_equal(names(&f, &f.launcher.volumes),
                        "private public sockets virt-bin-share-dir libvirt-runtime ephemeral-disks cm secret host disk "
                        "launcher-volume kubevirt-plugin-sockets hugepages hugetblfs-dir hotplug-disks "
                        "network-info-annotation virtiofs-containers");
    assert_string_equal(paths(&f, "cm"), "");
    assert_string_equal(paths(&f, "secret"), "/var/run/kubevirt-private/secret/secret");
    assert_string_equal(paths(&f, "disk"), "/var/run/kubevirt-image-volume/disk_0");
    assert_string_equal(f.launcher.volumes.items[8].host_path->path, "/data");
    assert_string_equal(f.launcher.volumes.items[8].host_path->type, "DirectoryOrCreate");
    fixture_done(&f);
}

static void claims_are_devices_or_mounts(void **state)
{
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL,
                 "{'spec':{'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'block','readOnly':true}},"
                 "{'name':'b','dataVolume':{'name':'shared'}},"
                 "{'name':'c','ephemeral':{'persistentVolumeClaim':{'claimName':'own'}}},"
                 "{'name':'d','dataVolume':{'name':'later','hotpluggable':true}},"
                 "{'name':'e','persistentVolumeClaim':{'claimName':'plugged'}}]},"
                 "'status':{'volumeStatus':[{'name':'e','hotplugVolume':{}}]}}");
    fixture_add_claim(&f, "{'metadata':{'name':'block'},'spec':{'volumeMode':'Block'}}");
    fixture_add_claim(&f, "{'metadata':{'name':'shared'},'spec':{'accessModes':['ReadWriteOnce','ReadWriteMany']}}");
    fixture_add_claim(&f, "{'metadata':{'name':'own'},'spec':{'volumeMode':'Filesystem'}}");
    assert_int_equal(launcher_add_vmi_volumes(&f.launcher, &error), 0);
    assert_string_equal(names(&f, &f.launcher.volumes), "a b c");
    assert_true(f.launcher.volumes.items[0].persistent_volume_claim->read_only);
    assert_int_equal(f.launcher.devices.n, 1);
    assert_string_equal(f.launcher.devices.items[0].device_path, "/dev/a");
    assert_string_equal(paths(&f, "b"), "/var/run/kubevirt-private/vmi-disks/b");
    assert_string_equal(fixture_join(&f, &f.launcher.shared_paths), "/var/run/kubevirt-private/vmi-disks/b");
    fixture_done(&f);
}

static void a_missing_claim_is_told_apart(void **state)
{
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL, "{'spec':{'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'gone'}}]}}");
    assert_int_equal(launcher_add_vmi_volumes(&f.launcher, &error), -1);
    assert_string_equal(error.reason, VIRT_REASON_PVC_NOT_FOUND);
    assert_string_equal(error.message, "didn't find PVC gone");
    fixture_done(&f);
}

static void cloud_init_secrets_are_mounted_under_both_spellings(void **state)
{
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL,
                 "{'spec':{'volumes':[{'name':'ci','cloudInitNoCloud':{'secretRef':{'name':'u'},"
                 "'networkDataSecretRef':{'name':'n'}}}]}}");
    assert_int_equal(launcher_add_vmi_volumes(&f.launcher, &error), 0);
    assert_string_equal(names(&f, &f.launcher.volumes), "ci-udata ci-ndata");
    assert_string_equal(paths(&f, "ci-udata"), "/var/run/kubevirt-private/secret/ci/userdata<-userdata "
                                               "/var/run/kubevirt-private/secret/ci/userData<-userData");
    fixture_done(&f);
}

static void state_is_mounted_where_the_user_can_write(void **state)
{
    static const char spec[] = "'spec':{'domain':{'devices':{'tpm':{'persistent':true}}}}";
    char vmi[256];
    struct fixture f;

    (void)state;
    snprintf(vmi, sizeof(vmi), "{%s}", spec);
    fixture_init(&f, NULL, vmi);
    launcher_add_backend_storage(&f.launcher);
    assert_string_equal(paths(&f, "vm-state"), "/run/kubevirt-private/backend-storage-meta<-meta "
                                               "/var/lib/libvirt/swtpm<-swtpm /var/lib/swtpm-localca<-swtpm-localca");
    fixture_done(&f);
    snprintf(vmi, sizeof(vmi), "{%s,'status':{'runtimeUser':107}}", spec);
    fixture_init(&f, NULL, vmi);
    launcher_add_backend_storage(&f.launcher);
    assert_string_equal(names(&f, &f.launcher.volumes), "vm-state private-libvirt private-libvirt-qemu");
    assert_string_equal(paths(&f, "vm-state"), "/run/kubevirt-private/backend-storage-meta<-meta "
                                               "/var/run/kubevirt-private/libvirt/qemu/swtpm<-swtpm "
                                               "/var/run/kubevirt-private/var/lib/swtpm-localca<-swtpm-localca");
    fixture_done(&f);
}

/* ---- facts ---- */

static void a_host_name_is_one_label(void **state)
{
    static const struct {
        const char *vmi, *hostname;
    } rows[] = {
        {"{'metadata':{'name':'web.shop'}}", "web"},
        {"{'metadata':{'name':'web.shop'},'spec':{'hostname':'mine'}}", "mine"},
        {"{'metadata':{'name':'a123456789b123456789c123456789d123456789e123456789f123456789g123456789'}}",
         "a123456789b123456789c123456789d123456789e123456789f123456789g12"},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct fixture f;

        fixture_init(&f, NULL, rows[i].vmi);
        assert_string_equal(virt_vmi_hostname(f.arena, f.input.vmi), rows[i].hostname);
        fixture_done(&f);
    }
}

static void guaranteed_means_equal_requests_and_limits(void **state)
{
    static const struct {
        const char *resources;
        bool guaranteed;
    } rows[] = {
        {"{'requests':{'memory':'1Gi','cpu':'1'},'limits':{'memory':'1024Mi','cpu':'1000m'}}", true},
        {"{'requests':{'cpu':'1'},'limits':{'memory':'1Gi','cpu':'1'}}", true},
        {"{'limits':{'memory':'1Gi','cpu':'1'}}", false},
        {"{'requests':{'memory':'1Gi','cpu':'1'},'limits':{'memory':'2Gi','cpu':'1'}}", false},
        {"{}", false},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        char vmi[256];
        struct fixture f;

        snprintf(vmi, sizeof(vmi), "{'spec':{'domain':{'resources':%s}}}", rows[i].resources);
        fixture_init(&f, NULL, vmi);
        if (f.launcher.guaranteed != rows[i].guaranteed)
            fail_msg("%s: %d", rows[i].resources, f.launcher.guaranteed);
        fixture_done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_names_the_vmi_and_the_directories),
        cmocka_unit_test(switches_follow_gates_and_annotations),
        cmocka_unit_test(a_stand_in_only_prints),
        cmocka_unit_test(probes_of_the_guest_go_through_virt_probe),
        cmocka_unit_test(probes_of_ports_are_kept),
        cmocka_unit_test(sidecars_come_from_the_annotation_then_from_plugins),
        cmocka_unit_test(a_wrong_annotation_is_explained_as_go_does),
        cmocka_unit_test(an_unknown_binding_plugin_is_an_error),
        cmocka_unit_test(digests_are_those_of_the_source),
        cmocka_unit_test(a_missing_digest_is_told_before_missing_storage),
        cmocka_unit_test(an_image_volume_by_digest_needs_no_status),
        cmocka_unit_test(volumes_come_in_the_order_of_their_groups),
        cmocka_unit_test(claims_are_devices_or_mounts),
        cmocka_unit_test(a_missing_claim_is_told_apart),
        cmocka_unit_test(cloud_init_secrets_are_mounted_under_both_spellings),
        cmocka_unit_test(state_is_mounted_where_the_user_can_write),
        cmocka_unit_test(a_host_name_is_one_label),
        cmocka_unit_test(guaranteed_means_equal_requests_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
