/* Tests of the metrics over VMs: golden lines from small objects. */
#include "metrics_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void info_tells_template_and_status(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(
        &f, VIRT_VM,
        "{'metadata':{'namespace':'ns','name':'full'},'spec':{'template':{'metadata':{'annotations':{"
        "'vm.kubevirt.io/os':'fedora','vm.kubevirt.io/workload':'server','vm.kubevirt.io/flavor':'big'}},"
        "'spec':{'domain':{'machine':{'type':'q35'}}}}},'status':{'printableStatus':'ErrImagePull'}}");
    metrics_fixture_put(&f, VIRT_VM, "{'metadata':{'namespace':'ns','name':'bare'}}");
    metrics_fixture_put(&f, VIRT_VM,
                        "{'metadata':{'namespace':'a','name':'vm'},'status':{'printableStatus':'WaitingForReceiver'}}");
    metrics_fixture_assert(
        &f, "kubevirt_vm_info",
        "kubevirt_vm_info{flavor='',instance_type='',machine_type='',name='vm',namespace='a',os='',preference='',"
        "status='waitingforreceiver',status_group='<unknown>',workload=''} 1\n"
        "kubevirt_vm_info{flavor='',instance_type='',machine_type='',name='bare',namespace='ns',os='',preference='',"
        "status='',status_group='<unknown>',workload=''} 1\n"
        "kubevirt_vm_info{flavor='big',instance_type='',machine_type='q35',name='full',namespace='ns',os='fedora',"
        "preference='',status='errimagepull',status_group='error',workload='server'} 1\n");
    metrics_fixture_done(&f);
}

static void instance_types_are_named_when_their_vendor_is_known(void **state)
{
    static const struct {
        const char *matcher, *expected;
    } cases[] = {
        {"{'kind':'VirtualMachineInstancetype','name':'own'}", "own"},
        {"{'kind':'virtualmachineinstancetype','name':'u1'}", "<other>"}, /* of another namespace */
        {"{'kind':'VirtualMachineClusterInstancetype','name':'u1'}", "u1"},
        {"{'kind':'VirtualMachineClusterInstancetype','name':'private'}", "<other>"},
        {"{'kind':'VirtualMachineClusterInstancetype','name':'missing'}", "<other>"},
        {"{'kind':'SomethingElse','name':'u1'}", ""},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct metrics_fixture f;
        metrics_fixture_init(&f, true);
        metrics_fixture_put(&f, VIRT_INSTANCETYPE,
                            "{'metadata':{'namespace':'ns','name':'own','labels':{'instancetype.kubevirt.io/vendor':"
                            "'redhat.com'}}}");
        metrics_fixture_put(&f, VIRT_CLUSTER_INSTANCETYPE,
                            "{'metadata':{'name':'u1','labels':{'instancetype.kubevirt.io/vendor':'kubevirt.io'}}}");
        metrics_fixture_put(&f, VIRT_CLUSTER_INSTANCETYPE, "{'metadata':{'name':'private'}}");
        metrics_fixture_put(
            &f, VIRT_CLUSTER_PREFERENCE,
            "{'metadata':{'name':'fedora','labels':{'instancetype.kubevirt.io/vendor':'kubevirt.io'}}}");
        metrics_fixture_put(&f, VIRT_VM,
                            kb_arena_printf(f.arena,
                                            "{'metadata':{'namespace':'ns','name':'vm'},'spec':{'instancetype':%s,"
                                            "'preference':{'kind':'VirtualMachineClusterPreference','name':'fedora'}}}",
                                            cases[i].matcher));
        metrics_fixture_assert(
            &f, "kubevirt_vm_info",
            kb_arena_printf(f.arena,
                            "kubevirt_vm_info{flavor='',instance_type='%s',machine_type='',name='vm',namespace='ns',"
                            "os='',preference='fedora',status='',status_group='<unknown>',workload=''} 1\n",
                            cases[i].expected));
        metrics_fixture_done(&f);
    }
}

static void the_counter_of_the_status_group_has_the_time_of_the_last_change(void **state)
{
    static const struct {
        const char *status, *group;
    } cases[] = {
        {"Provisioning", "starting"},
        {"Starting", "starting"},
        {"WaitingForVolumeBinding", "starting"},
        {"Running", "running"},
        {"Migrating", "migrating"},
        {"Stopped", "non_running"},
        {"Paused", "non_running"},
        {"Stopping", "non_running"},
        {"Terminating", "non_running"},
        {"CrashLoopBackOff", "error"},
        {"Unknown", "error"},
        {"ErrorUnschedulable", "error"},
        {"ErrImagePull", "error"},
        {"ImagePullBackOff", "error"},
        {"ErrorPvcNotFound", "error"},
        {"DataVolumeError", "error"},
        {"WaitingForReceiver", "error"},
        {"", "error"},
    };
    static const char *const groups[] = {"starting", "running", "migrating", "non_running", "error"};
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct metrics_fixture f;
        metrics_fixture_init(&f, true);
        metrics_fixture_put(
            &f, VIRT_VM,
            kb_arena_printf(f.arena,
                            "{'metadata':{'namespace':'ns','name':'vm'},'status':{'printableStatus':'%s','conditions':["
                            "{'type':'Ready','lastTransitionTime':'2026-01-01T00:00:10Z'},"
                            "{'type':'Paused','lastTransitionTime':'2026-01-01T00:00:30Z'},"
                            "{'type':'Failure','lastTransitionTime':null},"
                            "{'type':'LiveMigratable','lastTransitionTime':'2026-01-01T00:00:50Z'}]}}",
                            cases[i].status));
        for (size_t g = 0; g < KB_ARRAY_LEN(groups); g++) {
            const char *family =
                kb_arena_printf(f.arena, "kubevirt_vm_%s_status_last_transition_timestamp_seconds", groups[g]);
            bool current = strcmp(groups[g], cases[i].group) == 0;
            metrics_fixture_assert(&f, family,
                                   kb_arena_printf(f.arena, "%s{name='vm',namespace='ns'} %s\n", family,
                                                   current ? "1.76722563e+09" : "0"));
        }
        metrics_fixture_done(&f);
    }
}

static void a_status_without_a_time_counts_minus_one(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_VM,
                        "{'metadata':{'namespace':'ns','name':'vm'},'status':{'printableStatus':'Running'}}");
    metrics_fixture_assert(
        &f, "kubevirt_vm_running_status",
        "kubevirt_vm_running_status_last_transition_timestamp_seconds{name='vm',namespace='ns'} -1\n");
    assert_non_null(strstr(metrics_fixture_text(&f),
                           "# TYPE kubevirt_vm_running_status_last_transition_timestamp_seconds counter\n"));
    metrics_fixture_done(&f);
}

static void the_creation_time_is_told_where_there_is_one(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_VM,
                        "{'metadata':{'namespace':'ns','name':'vm','creationTimestamp':'2026-01-01T00:00:00Z'}}");
    metrics_fixture_put(&f, VIRT_VM, "{'metadata':{'namespace':'ns','name':'without'}}");
    metrics_fixture_assert(&f, "kubevirt_vm_create_date",
                           "kubevirt_vm_create_date_timestamp_seconds{name='vm',namespace='ns'} 1.7672256e+09\n");
    metrics_fixture_done(&f);
}

/* Lines without the prefix that they share. */
static const char *lines(struct metrics_fixture *f, const char *family, const char *const *tails, size_t n)
{
    struct kb_strbuf text = {.arena = f->arena};
    for (size_t i = 0; i < n && tails[i]; i++)
        kb_strbuf_printf(&text, "%s{name='vm',namespace='ns',resource='%s\n", family, tails[i]);
    return kb_strbuf_text(&text);
}

static void requests_and_limits_follow_the_template(void **state)
{
    static const struct {
        const char *domain, *requests[10], *limits[3];
    } cases[] = {
        {"{}",
         {"cpu',source='default',unit='cores'} 1", "cpu',source='default',unit='sockets'} 1",
          "cpu',source='default',unit='threads'} 1", "cpu',source='guest_effective',unit='cores'} 1"},
         {0}},
        {"{'cpu':{},'memory':{'guest':'0'},'resources':{'requests':{'memory':'1Gi'}}}",
         {"cpu',source='guest_effective',unit='cores'} 0", "memory',source='domain',unit='bytes'} 1.073741824e+09"},
         {0}},
        {"{'cpu':{'cores':4,'threads':2},'memory':{'guest':'2Gi','hugepages':{'pageSize':'2Mi'}}}",
         {"cpu',source='domain',unit='cores'} 4", "cpu',source='domain',unit='threads'} 2",
          "cpu',source='guest_effective',unit='cores'} 8", "memory',source='guest',unit='bytes'} 2.147483648e+09",
          "memory',source='guest_effective',unit='bytes'} 2.147483648e+09",
          "memory',source='hugepages',unit='bytes'} 2.097152e+06"},
         {0}},
        {"{'resources':{'requests':{'cpu':'1500m','memory':'64M'},'limits':{'cpu':'2','memory':'128M'}}}",
         {"cpu',source='guest_effective',unit='cores'} 1", "cpu',source='requests',unit='cores'} 1.5",
          "memory',source='domain',unit='bytes'} 6.4e+07", "memory',source='guest_effective',unit='bytes'} 6.4e+07"},
         {"cpu',unit='cores'} 2", "memory',unit='bytes'} 1.28e+08"}},
        {"{'resources':{'limits':{'memory':'128M'}}}",
         {"cpu',source='default',unit='cores'} 1", "cpu',source='default',unit='sockets'} 1",
          "cpu',source='default',unit='threads'} 1", "cpu',source='guest_effective',unit='cores'} 1",
          "memory',source='guest_effective',unit='bytes'} 1.28e+08"},
         {"memory',unit='bytes'} 1.28e+08"}},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct metrics_fixture f;
        metrics_fixture_init(&f, true);
        metrics_fixture_put(&f, VIRT_VM,
                            kb_arena_printf(f.arena,
                                            "{'metadata':{'namespace':'ns','name':'vm'},'spec':{'template':{'spec':{"
                                            "'domain':%s}}}}",
                                            cases[i].domain));
        metrics_fixture_put(&f, VIRT_VM, "{'metadata':{'namespace':'ns','name':'without-template'}}");
        metrics_fixture_assert(&f, "kubevirt_vm_resource_requests",
                               lines(&f, "kubevirt_vm_resource_requests", cases[i].requests, 10));
        metrics_fixture_assert(&f, "kubevirt_vm_resource_limits",
                               lines(&f, "kubevirt_vm_resource_limits", cases[i].limits, 3));
        metrics_fixture_done(&f);
    }
}

static void instance_types_are_applied_before_resources_are_counted(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_CLUSTER_INSTANCETYPE,
                        "{'metadata':{'name':'two'},'spec':{'cpu':{'guest':2},'memory':{'guest':'1Gi'}}}");
    metrics_fixture_put(&f, VIRT_VM,
                        "{'metadata':{'namespace':'ns','name':'vm'},'spec':{'instancetype':{'name':'two'},'template':{"
                        "'spec':{'domain':{}}}}}");
    static const char *const expected[] = {
        "cpu',source='domain',unit='cores'} 1",
        "cpu',source='domain',unit='sockets'} 2",
        "cpu',source='domain',unit='threads'} 1",
        "cpu',source='guest_effective',unit='cores'} 2",
        "memory',source='guest',unit='bytes'} 1.073741824e+09",
        "memory',source='guest_effective',unit='bytes'} 1.073741824e+09",
    };
    metrics_fixture_assert(&f, "kubevirt_vm_resource_requests",
                           lines(&f, "kubevirt_vm_resource_requests", expected, KB_ARRAY_LEN(expected)));
    metrics_fixture_done(&f);
}

static void a_missing_instance_type_leaves_the_template_as_it_is(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(
        &f, VIRT_VM,
        "{'metadata':{'namespace':'ns','name':'vm'},'spec':{'instancetype':{'name':'two'},'preference':{"
        "'name':'none'},'template':{'spec':{'domain':{'resources':{'limits':{'cpu':'3'}}}}}}}");
    metrics_fixture_assert(&f, "kubevirt_vm_resource_limits",
                           "kubevirt_vm_resource_limits{name='vm',namespace='ns',resource='cpu',unit='cores'} 3\n");
    metrics_fixture_done(&f);
}

static void disks_have_the_size_of_their_claims(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_PVC,
                        "{'metadata':{'namespace':'ns','name':'claim'},'spec':{'volumeMode':'Block','resources':{"
                        "'requests':{'storage':'1Gi'}}}}");
    metrics_fixture_put(
        &f, VIRT_PVC,
        "{'metadata':{'namespace':'ns','name':'dv'},'spec':{'resources':{'requests':{'storage':'3Gi'}}}}");
    metrics_fixture_put(&f, VIRT_PVC,
                        "{'metadata':{'namespace':'ns','name':'made'},'spec':{'resources':{'requests':{'storage':"
                        "'3Gi'}}}}");
    metrics_fixture_put(&f, VIRT_PVC,
                        "{'metadata':{'namespace':'ns','name':'odd'},'spec':{'resources':{'requests':{'storage':"
                        "'3Gi'}}}}");
    metrics_fixture_put(&f, VIRT_VM,
                        "{'metadata':{'namespace':'ns','name':'vm'},'spec':{'dataVolumeTemplates':["
                        "{'metadata':{'name':'made'},'spec':{'storage':{'resources':{'requests':{'storage':'2Gi'}}}}},"
                        "{'metadata':{'name':'odd'},'spec':{'pvc':{}}}],"
                        "'template':{'spec':{'volumes':["
                        "{'name':'a','persistentVolumeClaim':{'claimName':'claim'}},"
                        "{'name':'b','dataVolume':{'name':'dv'}},"
                        "{'name':'c','dataVolume':{'name':'made'}},"
                        "{'name':'d','dataVolume':{'name':'missing'}},"
                        "{'name':'e','emptyDisk':{'capacity':'1Gi'}},"
                        "{'name':'f','dataVolume':{'name':'odd'}},"
                        "{'name':'g','persistentVolumeClaim':{'claimName':'made'}}]}}}}");
#define DISK "kubevirt_vm_disk_allocated_size_bytes{"
    metrics_fixture_assert(
        &f, "kubevirt_vm_disk",
        DISK
        "device='a',name='vm',namespace='ns',persistentvolumeclaim='claim',volume_mode='Block'} 1.073741824e+09\n" DISK
        "device='b',name='vm',namespace='ns',persistentvolumeclaim='dv',volume_mode=''} 3.221225472e+09\n" DISK
        "device='c',name='vm',namespace='ns',persistentvolumeclaim='made',volume_mode=''} 2.147483648e+09\n" DISK
        "device='f',name='vm',namespace='ns',persistentvolumeclaim='odd',volume_mode=''} 0\n" DISK
        "device='g',name='vm',namespace='ns',persistentvolumeclaim='made',volume_mode=''} 3.221225472e+09\n");
#undef DISK
    metrics_fixture_done(&f);
}

static void vnics_have_their_binding_and_network(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_VM,
                        "{'metadata':{'namespace':'ns','name':'vm'},'spec':{'template':{'spec':{'networks':["
                        "{'name':'a','pod':{}},{'name':'b','multus':{'networkName':'lan'}},{'name':'c','pod':{}},"
                        "{'name':'d','multus':{'networkName':'x/y'}},{'name':'e','pod':{}},{'name':'f'}],"
                        "'domain':{'devices':{'interfaces':[{'name':'a','masquerade':{},'model':'virtio'},"
                        "{'name':'b','bridge':{}},{'name':'c','binding':{'name':'passt'}},{'name':'d','sriov':{}},"
                        "{'name':'e'},{'name':'f','bridge':{}},{'name':'missing','bridge':{}}]}}}}}}");
#define VNIC "kubevirt_vm_vnic_info{"
    metrics_fixture_assert(
        &f, "kubevirt_vm_vnic",
        VNIC "binding_name='',binding_type='',model='<none>',name='vm',namespace='ns',network='pod networking',"
             "vnic_name='e'} 1\n" VNIC
             "binding_name='bridge',binding_type='core',model='<none>',name='vm',namespace='ns',network='lan',"
             "vnic_name='b'} 1\n" VNIC "binding_name='masquerade',binding_type='core',model='virtio',name='vm',"
             "namespace='ns',network='pod networking',vnic_name='a'} 1\n" VNIC
             "binding_name='passt',binding_type='plugin',model='<none>',name='vm',namespace='ns',network='pod "
             "networking',vnic_name='c'} 1\n" VNIC
             "binding_name='sriov',binding_type='core',model='<none>',name='vm',namespace='ns',network='x/y',"
             "vnic_name='d'} 1\n");
#undef VNIC
    metrics_fixture_done(&f);
}

static void labels_are_chosen_by_the_config_map(void **state)
{
    static const struct {
        const char *data, *expected; /* NULL: no series */
    } cases[] = {
        {NULL, "label__1st='1',label_app='template',label_kubevirt_io_size='big',"},
        {"null", "label__1st='1',label_app='template',label_kubevirt_io_size='big',"},
        {"{'ignorelist':' app , 1st'}", "label_kubevirt_io_size='big',"},
        {"{'allowlist':'app'}", "label_app='template',"},
        {"{'allowlist':'app,*','ignorelist':'app'}", "label__1st='1',label_kubevirt_io_size='big',"},
        {"{'allowlist':'app','ignorelist':'app'}", NULL},
        {"{'allowlist':' , '}", NULL},
        {"{'allowlist':'empty'}", ""},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct metrics_fixture f;
        metrics_fixture_init(&f, true);
        if (cases[i].data)
            metrics_fixture_put(&f, VIRT_VM_LABELS_CONFIG,
                                kb_arena_printf(f.arena,
                                                "{'metadata':{'namespace':'kubevirt','name':'kubevirt-vm-labels-config'"
                                                "},'data':%s}",
                                                cases[i].data));
        metrics_fixture_put(&f, VIRT_VM, "{'metadata':{'namespace':'ns','name':'without'}}");
        metrics_fixture_put(&f, VIRT_VM,
                            "{'metadata':{'namespace':'ns','name':'vm','labels':{'app':'vm','1st':'1','empty':''}},"
                            "'spec':{'template':{'metadata':{'labels':{'app':'template','kubevirt.io/size':'big'}}}}}");
        metrics_fixture_assert(
            &f, "kubevirt_vm_labels",
            cases[i].expected
                ? kb_arena_printf(f.arena, "kubevirt_vm_labels{%sname='vm',namespace='ns'} 1\n", cases[i].expected)
                : "");
        metrics_fixture_done(&f);
    }
}

static void keys_that_end_in_one_name_make_one_label(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_VM,
                        "{'metadata':{'namespace':'ns','name':'vm','labels':{'a.b':'1','a/b':'2','A-z_9':'3'}}}");
    metrics_fixture_assert(&f, "kubevirt_vm_labels",
                           "kubevirt_vm_labels{label_A_z_9='3',label_a_b='2',name='vm',namespace='ns'} 1\n");
    metrics_fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_tells_template_and_status),
        cmocka_unit_test(instance_types_are_named_when_their_vendor_is_known),
        cmocka_unit_test(the_counter_of_the_status_group_has_the_time_of_the_last_change),
        cmocka_unit_test(a_status_without_a_time_counts_minus_one),
        cmocka_unit_test(the_creation_time_is_told_where_there_is_one),
        cmocka_unit_test(requests_and_limits_follow_the_template),
        cmocka_unit_test(instance_types_are_applied_before_resources_are_counted),
        cmocka_unit_test(a_missing_instance_type_leaves_the_template_as_it_is),
        cmocka_unit_test(disks_have_the_size_of_their_claims),
        cmocka_unit_test(vnics_have_their_binding_and_network),
        cmocka_unit_test(labels_are_chosen_by_the_config_map),
        cmocka_unit_test(keys_that_end_in_one_name_make_one_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
