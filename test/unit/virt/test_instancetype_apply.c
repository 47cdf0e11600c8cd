/* Tests of virt/instancetype: what an instance type does to a VMI. */
#include "instancetype_fixture.h"

#define TYPE(text)       FROM_TEXT(arena, instancetype_vm_instancetype_spec, text)
#define PREFERENCE(text) FROM_TEXT(arena, instancetype_vm_preference_spec, text)

static void vcpus_are_laid_out_as_the_preference_says(void **state)
{
    static const struct {
        int guest;
        const char *preference; /* "": none */
        int sockets, cores, threads;
    } rows[] = {
        {1, "", 1, 1, 1},
        {6, "", 6, 1, 1},
        {6, "{}", 6, 1, 1},
        {6, "{'cpu':{'preferredCPUTopology':'cores'}}", 1, 6, 1},
        {6, "{'cpu':{'preferredCPUTopology':'preferCores'}}", 1, 6, 1},
        {6, "{'cpu':{'preferredCPUTopology':'any'}}", 6, 1, 1},
        {6, "{'cpu':{'preferredCPUTopology':'threads'}}", 1, 1, 6},
        {1, "{'cpu':{'preferredCPUTopology':'threads'}}", 1, 1, 1},
        {6, "{'cpu':{'preferredCPUTopology':'diagonal'}}", 1, 1, 1},
        {8, "{'cpu':{'preferredCPUTopology':'spread'}}", 4, 2, 1},
        {8, "{'cpu':{'preferredCPUTopology':'preferSpread'},'preferSpreadSocketToCoreRatio':4}", 2, 4, 1},
        {9, "{'cpu':{'preferredCPUTopology':'spread','spreadOptions':{'ratio':2}},'preferSpreadSocketToCoreRatio':4}",
         4, 2, 1},
        {8, "{'cpu':{'preferredCPUTopology':'spread','spreadOptions':{'across':'CoresThreads','ratio':2}}}", 1, 4, 2},
        {24, "{'cpu':{'preferredCPUTopology':'spread','spreadOptions':{'across':'SocketsCoresThreads','ratio':3}}}", 4,
         3, 2},
        {8, "{'cpu':{'preferredCPUTopology':'spread','spreadOptions':{'across':'Everything'}}}", 1, 1, 1},
        {8, "{'cpu':{'preferredCPUTopology':'spread','spreadOptions':{'ratio':0}}}", 4, 2, 1},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct instancetype_vm_instancetype_spec *type = TYPE("{'memory':{'guest':'1Gi'}}");
        struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, "{}");
        struct meta_object_meta metadata = {0};
        const char *conflicts;
        type->cpu.guest = rows[i].guest;
        virt_instancetype_apply(arena, "spec", type, *rows[i].preference ? PREFERENCE(rows[i].preference) : NULL, spec,
                                &metadata, &conflicts);
        assert_null(conflicts);
        if (spec->domain.cpu->sockets != rows[i].sockets || spec->domain.cpu->cores != rows[i].cores ||
            spec->domain.cpu->threads != rows[i].threads)
            fail_msg("%d vCPUs, %s: got %d/%d/%d", rows[i].guest, rows[i].preference, (int)spec->domain.cpu->sockets,
                     (int)spec->domain.cpu->cores, (int)spec->domain.cpu->threads);
    }
}

static void overcommit_is_computed_in_single_precision(void **state)
{
    static const struct {
        const char *guest;
        int percent;
        const char *request; /* what Go's float32 arithmetic gives */
    } rows[] = {
        {"1Gi", 50, "512Mi"},  {"1Gi", 20, "858993472"}, {"3Gi", 15, "2673869Ki"},
        {"1000M", 10, "900M"}, {"7Gi", 99, "75161856"},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct instancetype_vm_instancetype_spec *type = TYPE("{'cpu':{'guest':1}}");
        struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, "{}");
        struct meta_object_meta metadata = {0};
        const char *conflicts;
        type->memory.guest = rows[i].guest;
        type->memory.overcommit_percent = rows[i].percent;
        virt_instancetype_apply(arena, "spec", type, NULL, spec, &metadata, &conflicts);
        assert_string_equal(spec->domain.memory->guest, rows[i].guest);
        assert_string_equal(api_map_get(&spec->domain.resources.requests, "memory"), rows[i].request);
    }
}

static void every_member_reaches_the_vmi(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const struct instancetype_vm_instancetype_spec *type =
        TYPE("{'nodeSelector':{'disk':'ssd'},'schedulerName':'own','cpu':{'guest':2,'model':'Haswell','maxSockets':8,"
             "'dedicatedCPUPlacement':true,'isolateEmulatorThread':true,'numa':{'guestMappingPassthrough':{}},"
             "'realtime':{'mask':'0-1'}},'memory':{'guest':'2Gi','maxGuest':'4Gi','hugepages':{'pageSize':'1Gi'}},"
             "'gpus':[{'name':'g','deviceName':'gpu.example/a'}],'hostDevices':[{'name':'h','deviceName':'d'}],"
             "'ioThreadsPolicy':'supplementalPool','ioThreads':{'supplementalPoolThreadCount':3},"
             "'launchSecurity':{'sev':{}},'annotations':{'a':'1'}}");
    struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, "{'domain':{'devices':{}}}");
    struct meta_object_meta metadata = {0};
    const char *conflicts;

    (void)state;
    virt_instancetype_apply(arena, "spec", type, NULL, spec, &metadata, &conflicts);
    assert_null(conflicts);
    expect_object(
        arena, &kv_vmi_spec_type, spec,
        "{'nodeSelector':{'disk':'ssd'},'schedulerName':'own','domain':{'cpu':{'sockets':2,'cores':1,'threads':1,"
        "'maxSockets':8,'model':'Haswell','dedicatedCpuPlacement':true,'isolateEmulatorThread':true,"
        "'numa':{'guestMappingPassthrough':{}},'realtime':{'mask':'0-1'}},'memory':{'guest':'2Gi','maxGuest':'4Gi',"
        "'hugepages':{'pageSize':'1Gi'}},'devices':{'gpus':[{'name':'g','deviceName':'gpu.example/a'}],"
        "'hostDevices':[{'name':'h','deviceName':'d'}]},'ioThreadsPolicy':'supplementalPool',"
        "'ioThreads':{'supplementalPoolThreadCount':3},'launchSecurity':{'sev':{}}}}");
    assert_string_equal(api_map_get(&metadata.annotations, "a"), "1");
}

static void a_member_that_the_vmi_sets_is_a_conflict(void **state)
{
    static const struct {
        const char *type, *vmi, *conflicts;
    } rows[] = {
        {"{}", "{'domain':{'cpu':{'sockets':1,'cores':1,'threads':1}}}",
         "spec.domain.cpu.sockets, spec.domain.cpu.cores, spec.domain.cpu.threads"},
        {"{}", "{'domain':{'cpu':{'model':'Penryn'}}}", NULL},
        {"{'cpu':{'model':'Haswell'}}", "{'domain':{'cpu':{'model':'Penryn'}}}", "spec.domain.cpu.model"},
        {"{}", "{'domain':{'resources':{'requests':{'cpu':'1'},'limits':{'cpu':'2'}}}}",
         "spec.domain.resources.requests.cpu, spec.domain.resources.limits.cpu"},
        {"{}", "{'domain':{'memory':{'guest':'1Gi'},'resources':{'requests':{'memory':'1Gi'}}}}",
         "spec.domain.memory.guest"},
        {"{}", "{'domain':{'resources':{'requests':{'memory':'1Gi'},'limits':{'memory':'1Gi'}}}}",
         "spec.domain.resources.requests.memory"},
        {"{'memory':{'hugepages':{'pageSize':'2Mi'}}}", "{'domain':{'memory':{'hugepages':{'pageSize':'1Gi'}}}}",
         "spec.domain.memory.hugepages"},
        {"{'nodeSelector':{'a':'1'}}", "{'nodeSelector':{}}", "spec.nodeSelector"},
        {"{}", "{'nodeSelector':{'a':'1'},'schedulerName':'x'}", NULL},
        {"{'schedulerName':'y','ioThreadsPolicy':'auto'}",
         "{'schedulerName':'x','domain':{'ioThreadsPolicy':'shared'}}",
         "spec.schedulerName, spec.domain.ioThreadsPolicy"},
        {"{'ioThreads':{'supplementalPoolThreadCount':1}}",
         "{'domain':{'ioThreads':{'supplementalPoolThreadCount':2}}}",
         "spec.domain.ioThreads.supplementalPoolThreadCount"},
        {"{'launchSecurity':{'sev':{}}}", "{'domain':{'launchSecurity':{}}}", "spec.domain.launchSecurity"},
        {"{'gpus':[{'name':'a'}],'hostDevices':[{'name':'a'}]}",
         "{'domain':{'devices':{'gpus':[{'name':'b'}],'hostDevices':[{'name':'b'}]}}}",
         "spec.domain.devices.gpus, spec.domain.devices.hostDevices"},
        {"{'annotations':{'same':'1','other':'1','new':'1'}}", "{}", "annotations.other"},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, rows[i].vmi);
        struct meta_object_meta *metadata =
            FROM_TEXT(arena, meta_object_meta, "{'annotations':{'same':'1','other':'2'}}");
        const char *conflicts;
        virt_instancetype_apply(arena, "spec", TYPE(rows[i].type), PREFERENCE("{'preferredSubdomain':'late'}"), spec,
                                metadata, &conflicts);
        if (!rows[i].conflicts) {
            assert_null(conflicts);
            continue;
        }
        assert_non_null(conflicts);
        assert_string_equal(conflicts, rows[i].conflicts);
        assert_string_equal(spec->subdomain, ""); /* the preference is not applied any more */
    }
}

static void a_vm_tells_its_conflicts(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct shelf shelf = {.arena = arena};
    struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);
    struct kube_error error = {0};
    struct kv_vm *vm = FROM_TEXT(arena, kv_vm,
                                 "{'metadata':{'name':'vm','namespace':'ns'},'spec':{'instancetype':{'name':'small'},"
                                 "'template':{'spec':{'domain':{'cpu':{'cores':2}}}}}}");

    (void)state;
    shelf_put(&shelf, &instancetype_vm_cluster_instancetype_type,
              "{'metadata':{'name':'small'},'spec':{'cpu':{'guest':1},'memory':{'guest':'1Gi'}}}");
    assert_int_equal(virt_instancetype_apply_to_vm(arena, &lookups, vm, &error), -1);
    assert_string_equal(error.message, "VM conflicts with instancetype spec in fields: [spec.domain.cpu.cores]");
    struct kv_vmi *vmi = FROM_TEXT(arena, kv_vmi, "{'spec':{'domain':{'cpu':{'cores':2}}}}");
    assert_int_equal(virt_instancetype_apply_to_vmi(arena, &lookups, vm, vmi, &error), -1);
    assert_string_equal(error.message, "VMI conflicts with instancetype spec in fields: [spec.domain.cpu.cores]");
}

static void a_vmi_tells_where_it_comes_from(void **state)
{
    static const struct {
        const char *kind, *preference_kind, *key, *preference_key;
    } rows[] = {
        {"", "", "kubevirt.io/cluster-instancetype-name", "kubevirt.io/cluster-preference-name"},
        {"VirtualMachineInstancetype", "virtualmachinepreferences", "kubevirt.io/instancetype-name",
         "kubevirt.io/preference-name"},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct shelf shelf = {.arena = arena};
    struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);

    (void)state;
    shelf_put(&shelf, &instancetype_vm_cluster_instancetype_type, "{'metadata':{'name':'small'},'spec':{}}");
    shelf_put(&shelf, &instancetype_vm_instancetype_type,
              "{'metadata':{'name':'small','namespace':'ns'},'spec':{'cpu':{'guest':3}}}");
    shelf_put(&shelf, &instancetype_vm_cluster_preference_type, "{'metadata':{'name':'linux'},'spec':{}}");
    shelf_put(&shelf, &instancetype_vm_preference_type, "{'metadata':{'name':'linux','namespace':'ns'},'spec':{}}");
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kv_instancetype_matcher type = {.name = "small", .kind = rows[i].kind};
        struct kv_preference_matcher preference = {.name = "linux", .kind = rows[i].preference_kind};
        struct kv_vm vm = {.metadata = {.namespace = "ns"}, .spec = {.instancetype = &type, .preference = &preference}};
        struct kv_vmi *vmi = FROM_TEXT(arena, kv_vmi, "{}");
        struct kube_error error = {0};
        assert_int_equal(virt_instancetype_apply_to_vmi(arena, &lookups, &vm, vmi, &error), 0);
        assert_int_equal(vmi->metadata.annotations.n, 2);
        assert_string_equal(api_map_get(&vmi->metadata.annotations, rows[i].key), "small");
        assert_string_equal(api_map_get(&vmi->metadata.annotations, rows[i].preference_key), "linux");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vcpus_are_laid_out_as_the_preference_says),
        cmocka_unit_test(overcommit_is_computed_in_single_precision),
        cmocka_unit_test(every_member_reaches_the_vmi),
        cmocka_unit_test(a_member_that_the_vmi_sets_is_a_conflict),
        cmocka_unit_test(a_vm_tells_its_conflicts),
        cmocka_unit_test(a_vmi_tells_where_it_comes_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
