/* Tests of virt/instancetype: instance types written into VMs, and the defaults that go with it. */
#include "instancetype_fixture.h"

static const struct virt_config *configure(struct kb_arena *arena, const char *configuration)
{
    const struct virt_config *config;
    struct kube_error error = {0};
    struct kv_kube_virt *kubevirt =
        FROM_TEXT(arena, kv_kube_virt,
                  kb_arena_printf(arena, "{'spec':{'configuration':%s},'status':{'defaultArchitecture':'amd64'}}",
                                  configuration));
    if (virt_config_new(kubevirt, &config, &error) < 0)
        fail_msg("%s", error.message);
    return config;
}

/* What the template's spec becomes. */
static const struct {
    const char *configuration, *type, *preference, *before, *after;
} rows[] = {
    {"{}", "{'cpu':{'guest':2},'memory':{'guest':'1Gi'}}", "{}",
     "{'domain':{'devices':{'interfaces':[{'name':'n','bridge':{}}]}},'networks':[{'name':'n','pod':{}}],"
     "'volumes':[{'name':'v','containerDisk':{'image':'a/b:1'}}]}",
     "{'domain':{'cpu':{'sockets':2,'cores':1,'threads':1},'memory':{'guest':'1Gi'},'machine':{'type':'q35'},"
     "'devices':{'disks':[{'name':'v'}],'interfaces':[{'name':'n','bridge':{}}]}},'evictionStrategy':'None',"
     "'architecture':'amd64','networks':[{'name':'n','pod':{}}],"
     "'volumes':[{'name':'v','containerDisk':{'image':'a/b:1','imagePullPolicy':'IfNotPresent'}}]}"},
    /* the default network and the preference's bus reach what the VM left out */
    {"{'network':{'defaultNetworkInterface':'masquerade'},'cpuRequest':'200m','evictionStrategy':'LiveMigrate'}",
     "{'cpu':{'guest':1},'memory':{'guest':'1Gi'}}",
     "{'devices':{'preferredDiskBus':'virtio'},'preferredArchitecture':'arm64'}",
     "{'domain':{'devices':{}},'volumes':[{'name':'v','containerDisk':{'image':'a/b'}},"
     "{'name':'w','containerDisk':{'image':'a/b@sha256:0'}},{'name':'x','containerDisk':{'image':'a:latest'}}]}",
     "{'domain':{'resources':{'requests':{'cpu':'200m'}},'cpu':{'sockets':1,'cores':1,'threads':1},"
     "'memory':{'guest':'1Gi'},'machine':{'type':'virt'},'devices':{'disks':[{'name':'v','disk':{'bus':'virtio'}},"
     "{'name':'w','disk':{'bus':'virtio'}},{'name':'x','disk':{'bus':'virtio'}}],'interfaces':[{'name':'default',"
     "'masquerade':{}}]}},'evictionStrategy':'LiveMigrate','architecture':'arm64','networks':[{'name':'default',"
     "'pod':{}}],'volumes':[{'name':'v','containerDisk':{'image':'a/b','imagePullPolicy':'Always'}},{'name':'w',"
     "'containerDisk':{'image':'a/b@sha256:0','imagePullPolicy':'IfNotPresent'}},{'name':'x','containerDisk':"
     "{'image':'a:latest','imagePullPolicy':'Always'}}]}"},
    /* a preference alone: sizes come from resources */
    {"{'cpuRequest':'200m'}", NULL, "{}",
     "{'domain':{'resources':{'limits':{'cpu':'2500m','memory':'2Gi'}},'devices':{'autoattachPodInterface':false}}}",
     "{'domain':{'resources':{'requests':{'cpu':'2500m'},'limits':{'cpu':'2500m','memory':'2Gi'}},"
     "'cpu':{'sockets':3,'cores':1,'threads':1},'memory':{'guest':'2Gi'},'machine':{'type':'q35'},"
     "'devices':{'autoattachPodInterface':false}},'evictionStrategy':'None','architecture':'amd64'}"},
    {"{'cpuRequest':'200m'}", NULL, "{}",
     "{'domain':{'resources':{},'cpu':{'cores':4,'dedicatedCpuPlacement':true},'memory':{'hugepages':{'pageSize':"
     "'2Mi'}},'devices':{'autoattachPodInterface':false}}}",
     "{'domain':{'resources':{},'cpu':{'cores':4,'dedicatedCpuPlacement':true},'memory':{'hugepages':{'pageSize':"
     "'2Mi'},'guest':'2Mi'},'machine':{'type':'q35'},'devices':{'autoattachPodInterface':false}},"
     "'evictionStrategy':'None','architecture':'amd64'}"},
};

static void a_vm_is_expanded_with_its_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        const struct virt_config *config = configure(arena, rows[i].configuration);
        struct shelf shelf = {.arena = arena};
        struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);
        struct kube_error error = {0};
        struct kv_vm *vm = FROM_TEXT(arena, kv_vm,
                                     "{'status':{'instancetypeRef':{'name':'t'},'preferenceRef':{'name':'p'}},'spec':{'"
                                     "preference':{'name':'p'}}}");
        vm->spec.template =
            FROM_TEXT(arena, kv_vmi_template_spec, kb_arena_printf(arena, "{'metadata':{},'spec':%s}", rows[i].before));
        shelf_put(&shelf, &instancetype_vm_cluster_preference_type,
                  kb_arena_printf(arena, "{'metadata':{'name':'p'},'spec':%s}", rows[i].preference));
        if (rows[i].type) {
            vm->spec.instancetype = FROM_TEXT(arena, kv_instancetype_matcher, "{'name':'t'}");
            shelf_put(&shelf, &instancetype_vm_cluster_instancetype_type,
                      kb_arena_printf(arena, "{'metadata':{'name':'t'},'spec':%s}", rows[i].type));
        }
        if (virt_instancetype_expand(arena, config, &lookups, vm, &error) < 0)
            fail_msg("%s", error.message);
        expect_object(arena, &kv_vmi_spec_type, &vm->spec.template->spec, rows[i].after);
        assert_null(vm->spec.instancetype);
        assert_null(vm->spec.preference);
        assert_null(vm->status.instancetype_ref);
        assert_null(vm->status.preference_ref);
        virt_config_unref(config);
    }
}

static void what_can_not_be_expanded_says_why(void **state)
{
    static const struct {
        const char *configuration, *spec, *error;
    } bad[] = {
        {"{}", "{'domain':{'cpu':{'cores':2},'memory':{'guest':'1Gi'}}}",
         "VM field(s) spec.template.spec.domain.cpu.cores, spec.template.spec.domain.memory.guest conflicts with "
         "selected instance type"},
        {"{'network':{'permitBridgeInterfaceOnPodNetwork':false}}", "{}",
         "bridge interface is not enabled in kubevirt-config"},
        {"{'network':{'defaultNetworkInterface':'slirp'}}", "{}", "slirp interface is deprecated as of v1.3"},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(bad); i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        const struct virt_config *config = configure(arena, bad[i].configuration);
        struct shelf shelf = {.arena = arena};
        struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);
        struct kube_error error = {0};
        struct kv_vm *vm = FROM_TEXT(
            arena, kv_vm,
            kb_arena_printf(arena, "{'spec':{'instancetype':{'name':'t'},'template':{'spec':%s}}}", bad[i].spec));
        shelf_put(&shelf, &instancetype_vm_cluster_instancetype_type,
                  "{'metadata':{'name':'t'},'spec':{'cpu':{'guest':1},'memory':{'guest':'1Gi'}}}");
        assert_int_equal(virt_instancetype_expand(arena, config, &lookups, vm, &error), -1);
        assert_string_equal(error.message, bad[i].error);
        virt_config_unref(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vm_is_expanded_with_its_defaults),
        cmocka_unit_test(what_can_not_be_expanded_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
