/* Tests of virt/instancetype: which object or revision counts for a VM. */
#include "api/meta.h"
#include "instancetype_fixture.h"

#define REVISION(name, object, kind, guest)                                                                            \
    "{'metadata':{'name':'" name "','namespace':'ns','labels':{'instancetype.kubevirt.io/object-name':'" object "'}}," \
    "'data':{'apiVersion':'instancetype.kubevirt.io/v1beta1','kind':'" kind "','metadata':{'name':'" object "'},"      \
    "'spec':{'cpu':{'guest':" guest "},'memory':{'guest':'1Gi'}}}}"
#define KEEPS(name, data) "{'metadata':{'name':'" name "','namespace':'ns'},'data':{" data "}}"
#define VM(instancetype, status)                                                                                       \
    "{'metadata':{'name':'vm','namespace':'ns'},'spec':{" instancetype "},'status':{" status "}}"
#define REF(revision) "'instancetypeRef':{'controllerRevisionRef':{'name':'" revision "'}}"

static void fill(struct shelf *shelf)
{
    shelf_put(shelf, &instancetype_vm_instancetype_type,
              "{'metadata':{'name':'small','namespace':'ns'},'spec':{'cpu':{'guest':1}}}");
    shelf_put(shelf, &instancetype_vm_cluster_instancetype_type,
              "{'metadata':{'name':'small'},'spec':{'cpu':{'guest':2}}}");
    shelf_put(shelf, &apps_controller_revision_type, REVISION("rev", "small", "VirtualMachineInstancetype", "3"));
    shelf_put(shelf, &apps_controller_revision_type,
              REVISION("other", "big", "VirtualMachineClusterInstancetype", "4"));
    shelf_put(shelf, &apps_controller_revision_type, REVISION("pref", "small", "VirtualMachinePreference", "5"));
    shelf_put(shelf, &apps_controller_revision_type, REVISION("pod", "small", "Pod", "6"));
    shelf_put(shelf, &apps_controller_revision_type, "{'metadata':{'name':'junk','namespace':'ns'},'data':[1]}");
    shelf_put(shelf, &apps_controller_revision_type,
              KEEPS("alpha", "'apiVersion':'instancetype.kubevirt.io/v1alpha2','kind':'VirtualMachineInstancetype'"));
    shelf_put(shelf, &apps_controller_revision_type,
              KEEPS("vm", "'apiVersion':'kubevirt.io/v1','kind':'VirtualMachine'"));
    shelf_put(shelf, &apps_controller_revision_type,
              KEEPS("list", "'apiVersion':'instancetype.kubevirt.io/v1beta1','kind':'VirtualMachineInstancetypeList'"));
    shelf_put(shelf, &apps_controller_revision_type,
              KEEPS("claim", "'apiVersion':'cdi.kubevirt.io/v1beta1','kind':'DataVolume'"));
    shelf_put(shelf, &apps_controller_revision_type,
              KEEPS("nokind", "'apiVersion':'instancetype.kubevirt.io/v1beta1'"));
    shelf_put(shelf, &apps_controller_revision_type, KEEPS("noversion", "'kind':'VirtualMachineInstancetype'"));
}

static void the_revision_or_the_object_counts(void **state)
{
    static const struct {
        const char *vm;
        int guest; /* 0: an error */
        const char *error;
    } rows[] = {
        {VM("'instancetype':{'name':'small'}", ""), 2, NULL},
        {VM("'instancetype':{'name':'small','kind':'VirtualMachineClusterInstancetype'}", ""), 2, NULL},
        {VM("'instancetype':{'name':'small','kind':'virtualmachineclusterinstancetypes'}", ""), 2, NULL},
        {VM("'instancetype':{'name':'small','kind':'VIRTUALMACHINEINSTANCETYPE'}", ""), 1, NULL},
        {VM("'instancetype':{'name':'small','revisionName':'other'}", REF("rev")), 4, NULL},
        {VM("'instancetype':{'name':'small'}", REF("rev")), 3, NULL},
        {VM("'instancetype':{'name':'small'}", REF("other")), 2, NULL},
        {VM("'instancetype':{'name':'small'}", REF("")), 2, NULL},
        {VM("'instancetype':{'name':'small'}", REF("gone")), 0, "controllerrevisions.apps \"gone\" not found"},
        {VM("'instancetype':{'name':'small','revisionName':'gone'}", ""), 0,
         "controllerrevisions.apps \"gone\" not found"},
        {VM("'instancetype':{'name':'none'}", ""), 0,
         "virtualmachineclusterinstancetypes.instancetype.kubevirt.io \"none\" not found"},
        {VM("'instancetype':{'name':'none','kind':'VirtualMachineInstancetype'}", ""), 0,
         "virtualmachineinstancetypes.instancetype.kubevirt.io \"none\" not found"},
        {VM("'instancetype':{'name':'small','kind':'Pod'}", ""), 0, "got unexpected kind in InstancetypeMatcher: Pod"},
        {VM("'instancetype':{'name':'small','revisionName':'pref'}", ""), 0,
         "unexpected type in ControllerRevision: *v1beta1.VirtualMachinePreference"},
        {VM("'instancetype':{'name':'small','revisionName':'pod'}", ""), 0,
         "failed to decode object in ControllerRevision: no kind \"Pod\" is registered for version "
         "\"instancetype.kubevirt.io/v1beta1\" in scheme \"kubevirt.io/client-go/kubevirt/scheme/register.go:44\""},
        {VM("'instancetype':{'name':'small','revisionName':'alpha'}", ""), 0,
         "failed to decode object in ControllerRevision: no kind \"VirtualMachineInstancetype\" is registered for "
         "version "
         "\"instancetype.kubevirt.io/v1alpha2\" in scheme \"kubevirt.io/client-go/kubevirt/scheme/register.go:44\""},
        {VM("'instancetype':{'name':'small','revisionName':'vm'}", ""), 0,
         "unexpected type in ControllerRevision: *v1.VirtualMachine"},
        {VM("'instancetype':{'name':'small','revisionName':'list'}", ""), 0,
         "unexpected type in ControllerRevision: *v1beta1.VirtualMachineInstancetypeList"},
        {VM("'instancetype':{'name':'small','revisionName':'claim'}", ""), 0,
         "failed to decode object in ControllerRevision: no kind \"DataVolume\" is registered for version "
         "\"cdi.kubevirt.io/v1beta1\" in scheme \"kubevirt.io/client-go/kubevirt/scheme/register.go:44\""},
        {VM("'instancetype':{'name':'small','revisionName':'nokind'}", ""), 0,
         "failed to decode object in ControllerRevision: Object 'Kind' is missing in "
         "'{\"apiVersion\":\"instancetype.kubevirt.io/v1beta1\"}'"},
        {VM("'instancetype':{'name':'small','revisionName':'noversion'}", ""), 0,
         "failed to decode object in ControllerRevision: Object 'apiVersion' is missing in "
         "'{\"kind\":\"VirtualMachineInstancetype\"}'"},
        {VM("'instancetype':{'name':'small','revisionName':'junk'}", ""), 0,
         "failed to decode object in ControllerRevision: Object 'Kind' is missing in '[1]'"},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        struct shelf shelf = {.arena = arena};
        struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);
        const struct instancetype_vm_instancetype_spec *spec;
        struct kube_error error = {0};
        fill(&shelf);
        int status = virt_instancetype_find(arena, &lookups, FROM_TEXT(arena, kv_vm, rows[i].vm), &spec, &error);
        assert_string_equal(error.message, rows[i].error ? rows[i].error : "");
        assert_int_equal(status, rows[i].error ? -1 : 0);
        if (rows[i].guest)
            assert_int_equal(spec->cpu.guest, rows[i].guest);
    }
}

static void a_vm_without_matchers_asks_for_nothing(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct shelf shelf = {.arena = arena};
    struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);
    const struct instancetype_vm_instancetype_spec *spec;
    const struct instancetype_vm_preference_spec *preference;
    struct kv_vm *vm = FROM_TEXT(arena, kv_vm, VM("", REF("rev")));

    (void)state;
    assert_int_equal(virt_instancetype_find(arena, &lookups, vm, &spec, NULL), 0);
    assert_int_equal(virt_preference_find(arena, &lookups, vm, &preference, NULL), 0);
    assert_null(spec);
    assert_null(preference);
    assert_int_equal(shelf.asked, 0);
}

static void preferences_follow_the_same_rules(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct shelf shelf = {.arena = arena};
    struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);
    const struct instancetype_vm_preference_spec *preference;
    struct kube_error error = {0};

    (void)state;
    shelf_put(&shelf, &instancetype_vm_preference_type,
              "{'metadata':{'name':'linux','namespace':'ns'},'spec':{'preferredSubdomain':'x'}}");
    struct kv_vm *vm =
        FROM_TEXT(arena, kv_vm, VM("'preference':{'name':'linux','kind':'VirtualMachinePreference'}", ""));
    assert_int_equal(virt_preference_find(arena, &lookups, vm, &preference, &error), 0);
    assert_string_equal(preference->preferred_subdomain, "x");
    vm->spec.preference->kind = "";
    assert_int_equal(virt_preference_find(arena, &lookups, vm, &preference, &error), -1);
    assert_string_equal(error.message, "virtualmachineclusterpreferences.instancetype.kubevirt.io \"linux\" not found");
    vm->spec.preference->kind = "Preference";
    assert_int_equal(virt_preference_find(arena, &lookups, vm, &preference, &error), -1);
    assert_string_equal(error.message, "got unexpected kind in PreferenceMatcher: Preference");
}

static void a_lookup_that_fails_is_no_missing_object(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct shelf shelf = {.arena = arena, .fail = "small"};
    struct virt_instancetype_lookups lookups = shelf_lookups(&shelf);
    const struct instancetype_vm_instancetype_spec *spec;
    struct kv_vm *vm = FROM_TEXT(arena, kv_vm, VM("'instancetype':{'name':'small'}", ""));
    struct kube_error error = {0};

    (void)state;
    assert_int_equal(virt_instancetype_find(arena, &lookups, vm, &spec, &error), -1);
    assert_int_equal(error.http_status, 500);
    assert_int_equal(virt_instancetype_find(arena, &lookups, vm, &spec, NULL), -1);
}

static void a_revision_says_what_it_keeps(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct kv_vm *vm = FROM_TEXT(arena, kv_vm, "{'metadata':{'name':'vm','namespace':'ns','uid':'u-1'}}");
    struct instancetype_vm_cluster_instancetype *object =
        FROM_TEXT(arena, instancetype_vm_cluster_instancetype,
                  "{'metadata':{'name':'small','uid':'u-2','generation':7,'labels':{'a':'b'},'annotations':{'a':'b'},"
                  "'finalizers':['x'],'ownerReferences':[{'apiVersion':'v1','kind':'x','name':'y','uid':'z'}],"
                  "'resourceVersion':'9'},'spec':{'cpu':{'guest':2},'memory':{'guest':'1Gi'}}}");

    (void)state;
    const struct apps_controller_revision *revision =
        virt_instancetype_make_revision(arena, vm, &instancetype_vm_cluster_instancetype_type, object);
    expect_object(arena, &apps_controller_revision_type, revision,
                  "{'kind':'ControllerRevision','apiVersion':'apps/v1','metadata':{'name':'vm-small-v1beta1-u-2-7',"
                  "'namespace':'ns','labels':{'instancetype.kubevirt.io/object-generation':'7',"
                  "'instancetype.kubevirt.io/object-kind':'VirtualMachineClusterInstancetype',"
                  "'instancetype.kubevirt.io/object-name':'small','instancetype.kubevirt.io/object-uid':'u-2',"
                  "'instancetype.kubevirt.io/object-version':'v1beta1'},'ownerReferences':[{'apiVersion':"
                  "'kubevirt.io/v1','kind':'VirtualMachine','name':'vm','uid':'u-1','controller':true,"
                  "'blockOwnerDeletion':true}]},'data':{'kind':'VirtualMachineClusterInstancetype','apiVersion':"
                  "'instancetype.kubevirt.io/v1beta1','metadata':{'name':'small','uid':'u-2','resourceVersion':'9',"
                  "'generation':7},'spec':{'cpu':{'guest':2},'memory':{'guest':'1Gi'}}},'revision':0}");
    assert_true(virt_instancetype_revision_is_latest(revision));
    assert_int_equal(object->metadata.labels.n, 1); /* the object itself is as it was */
}

static void revisions_are_compared_by_what_they_keep(void **state)
{
    static const struct {
        const char *a, *b;
        int same;
    } rows[] = {
        {REVISION("a", "small", "VirtualMachineInstancetype", "1"),
         REVISION("b", "x", "VirtualMachineInstancetype", "1"), 1},
        {REVISION("a", "small", "VirtualMachineInstancetype", "1"),
         REVISION("b", "x", "VirtualMachineClusterInstancetype", "1"), 1},
        {REVISION("a", "small", "VirtualMachineInstancetype", "1"),
         REVISION("b", "x", "VirtualMachineInstancetype", "2"), 0},
        {REVISION("a", "small", "VirtualMachineInstancetype", "1"), REVISION("b", "x", "VirtualMachinePreference", "1"),
         0},
        {REVISION("a", "small", "VirtualMachineInstancetype", "1"), "{'data':{}}", -1},
        {REVISION("a", "small", "VirtualMachineInstancetype", "1"), "{}", -1},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        assert_int_equal(
            virt_instancetype_compare_revisions(arena, FROM_TEXT(arena, apps_controller_revision, rows[i].a),
                                                FROM_TEXT(arena, apps_controller_revision, rows[i].b), NULL),
            rows[i].same);
}

static void a_revision_without_the_latest_version_is_old(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static const struct {
        const char *labels;
        bool latest;
    } rows[] = {{"", false},
                {"'instancetype.kubevirt.io/object-version':'v1alpha2'", false},
                {"'instancetype.kubevirt.io/object-version':'v1beta1'", true}};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        assert_int_equal(virt_instancetype_revision_is_latest(
                             FROM_TEXT(arena, apps_controller_revision,
                                       kb_arena_printf(arena, "{'metadata':{'labels':{%s}}}", rows[i].labels))),
                         rows[i].latest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_revision_or_the_object_counts),
        cmocka_unit_test(a_vm_without_matchers_asks_for_nothing),
        cmocka_unit_test(preferences_follow_the_same_rules),
        cmocka_unit_test(a_lookup_that_fails_is_no_missing_object),
        cmocka_unit_test(a_revision_says_what_it_keeps),
        cmocka_unit_test(revisions_are_compared_by_what_they_keep),
        cmocka_unit_test(a_revision_without_the_latest_version_is_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
