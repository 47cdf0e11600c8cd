/* The VirtualMachine controller and changes of running VMs, in a small world. */
#include "controller/vm_fixture.h"

#include "base/strings.h"

#define ALWAYS "'runStrategy':'Always'"
#define VOLUME "'volumes':[{'name':'root','containerDisk':{'image':'a:1'}}]"
#define DISK   "{'name':'root','disk':{'bus':'virtio'}}"
#define NIC    "{'name':'default','masquerade':{}}"
#define NET    "{'name':'default','pod':{}}"
#define DOMAIN(more)                                                                                                   \
    "'domain':{'devices':{'disks':[" DISK "],'interfaces':[" NIC "]}" more "},'networks':[" NET "]," VOLUME
#define CPU(sockets)                                                                                                   \
    ",'cpu':{'cores':2,'threads':1,'sockets':" sockets ",'maxSockets':4},'resources':{'requests':{'cpu':'1'},"         \
    "'limits':{'cpu':'4'}}"
#define MEMORY(guest) ",'memory':{'guest':'" guest "'}"
#define SOCKETS(n)    "{'domain':{'cpu':{'sockets':" n "}}}"
#define GUEST(n)      "{'domain':{'memory':{'guest':'" n "'}}}"
#define SIZED                                                                                                          \
    "{'spec':{'architecture':'amd64','domain':{'memory':{'maxGuest':'4Gi'}}},'status':{'memory':{'guestAtBoot':'1Gi'," \
    "'guestCurrent':'1Gi','guestRequested':'1Gi'}}}"
#define CONDITIONS(more)                                                                                               \
    "{'status':{'conditions':[{'type':'Ready','status':'True'},{'type':'LiveMigratable','status':'True'}" more "]}}"
#define MIGRATING "{'status':{'migrationState':{'startTimestamp':'2026-01-01T00:00:00Z'}}}"
#define NOT_LIVE  "True : a non-live-updatable field was changed in the template spec"

static const char *restart(struct world *w)
{
    return vm_condition(w, "RestartRequired");
}

static const char *failure(struct world *w)
{
    return vm_condition(w, "Failure");
}

/* One look, as failing ones are tried again. */
static void patch_and_look(struct world *w, const char *template)
{
    world_patch(w, VMS, "vm",
                vm_json(w, kb_arena_printf(world_arena(w), "{'spec':{'template':{'spec':%s}}}", template)));
    world_step(w);
    world_step(w);
}

/* ---- CPU ---- */

static void more_sockets_reach_the_vmi(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(CPU("1")));
    vm_run(w);
    vm_patch_template(w, SOCKETS("3"));
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "3");
    /* four more vCPUs, ten of which share a CPU */
    assert_string_equal(vmi_text(w, "/spec/domain/resources/requests/cpu"), "1400m");
    assert_string_equal(vmi_text(w, "/spec/domain/resources/limits/cpu"), "4400m");
    assert_string_equal(restart(w), "");
    vm_expect_rest(w);
}

static void some_numbers_of_sockets_need_a_restart(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(CPU("2")));
    vm_run(w);
    vm_patch_template(w, SOCKETS("5"));
    assert_string_equal(restart(w),
                        "True : CPU sockets updated in template spec to a value higher than what's available");
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "2");
    vm_expect_rest(w); /* the condition is not written again and again */
    vm_patch_template(w, SOCKETS("1"));
    assert_string_equal(restart(w), "True : Reduction of CPU socket count requires a restart");
    vm_patch_template(w, SOCKETS("2"));
    assert_string_equal(restart(w), "");
    vm_patch_template(w, "{'architecture':'arm64'}");
    assert_string_equal(restart(w), NOT_LIVE);
}

static void arm_has_no_cpu_hotplug(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, "'architecture':'arm64'," DOMAIN(CPU("1")));
    vm_run(w);
    vm_patch_template(w, SOCKETS("2"));
    assert_string_equal(restart(w), "True : ARM doesn't support CPU hotplug");
}

static void one_cpu_change_waits_for_another(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(CPU("1")));
    vm_run(w);
    vm_patch_vmi(w, CONDITIONS(",{'type':'HotVCPUChange','status':'True'}"));
    patch_and_look(w, SOCKETS("2"));
    assert_string_equal(failure(w),
                        "True HotPlugCPUError: Error encountered while handling CPU change request: another "
                        "CPU hotplug is in progress");
    vm_patch_vmi(w, CONDITIONS(""));
    assert_string_equal(failure(w), "");
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "2");
}

static void what_else_changes_waits_while_a_change_fails(void **state)
{
    static const char pointer[] = "/spec/template/metadata/annotations/kubevirt.io~1pci-topology-version";
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(CPU("1")));
    vm_run(w);
    vm_patch_vmi(w, CONDITIONS(",{'type':'HotVCPUChange','status':'True'}"));
    patch_and_look(w, SOCKETS("2"));
    world_patch(w, VMIS, "vm", vm_json(w, "{'metadata':{'annotations':{'kubevirt.io/pci-topology-version':'v2'}}}"));
    for (int i = 0; i < 3; i++) {
        world_advance(w, KB_NS_PER_S);
        world_step(w);
    }
    assert_string_not_equal(failure(w), "");
    assert_string_equal(vm_text(w, pointer), "");
    vm_patch_vmi(w, CONDITIONS(""));
    assert_string_equal(vm_text(w, pointer), "v2");
}

/* ---- memory ---- */

static void more_memory_reaches_the_vmi(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS,
              "'architecture':'amd64'," DOMAIN(
                  MEMORY("1Gi") ",'resources':{'requests':{'memory':'1280Mi'},'limits':{'memory':'2Gi'}}"));
    vm_run(w);
    vm_patch_vmi(w, SIZED);
    vm_patch_template(w, GUEST("2Gi"));
    assert_string_equal(vmi_text(w, "/spec/domain/memory/guest"), "2Gi");
    assert_string_equal(vmi_text(w, "/spec/domain/resources/requests/memory"), "2304Mi");
    assert_string_equal(vmi_text(w, "/spec/domain/resources/limits/memory"), "3Gi");
    assert_string_equal(restart(w), "");
    vm_expect_rest(w);
}

static void requests_never_fall_below_the_guest(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS,
              "'architecture':'amd64'," DOMAIN(
                  MEMORY("1Gi") ",'resources':{'requests':{'memory':'512Mi'},'limits':{'memory':'2Gi'}}"));
    vm_run(w);
    vm_patch_vmi(w, SIZED);
    vm_patch_template(w, GUEST("2Gi"));
    assert_string_equal(vmi_text(w, "/spec/domain/resources/requests/memory"), "2Gi");
    assert_string_equal(vmi_text(w, "/spec/domain/resources/limits/memory"), "2Gi");
}

static void some_sizes_of_memory_need_a_restart(void **state)
{
#define UNSUPPORTED "True : memory hotplug not supported, "
#define UPDATED     "True : memory updated in template spec"
    static const struct {
        const char *template, *vmi, *guest, *message;
    } rows[] = {
        {"", SIZED, "8Gi", UNSUPPORTED "Guest memory is greater than the configured maxGuest memory"},
        {"", SIZED, "1025Mi", UNSUPPORTED "Guest memory must be 2Mi aligned"},
        {"", SIZED, "512Mi", UNSUPPORTED "Memory hotplug is only available for VMs with at least 1Gi of guest memory"},
        {",'cpu':{'realtime':{}}", SIZED, "2Gi", UNSUPPORTED "Memory hotplug is not compatible with realtime VMs"},
        {",'cpu':{'numa':{'guestMappingPassthrough':{}}}", SIZED, "2Gi",
         UNSUPPORTED "Memory hotplug is not compatible with guest mapping passthrough"},
        {",'launchSecurity':{'sev':{}}", SIZED, "2Gi",
         UNSUPPORTED "Memory hotplug is not compatible with encrypted VMs"},
        {"", "{'spec':{'domain':{'memory':{'maxGuest':'4097Mi'}}},'status':{'memory':{'guestCurrent':'1Gi'}}}", "2Gi",
         UNSUPPORTED "MaxGuest must be 2Mi aligned"},
        {"",
         "{'spec':{'domain':{'memory':{'maxGuest':'4Gi'}}},'status':{'memory':{'guestCurrent':'3Gi','guestAtBoot':"
         "'3Gi'}}}",
         "2Gi", UPDATED " to a value lower than what the VM started with"},
        {"", "{'status':{'memory':{'guestCurrent':'1Gi'}}}", "2Gi",
         UPDATED ". Memory-hotplug is not available for this VM configuration"},
        {"", "{'status':{'memory':{'guestCurrent':'1Gi'},'conditions':[{'type':'Ready','status':'True'}]}}", "2Gi",
         UPDATED ". Memory-hotplug is only available for migratable VMs"},
        {"",
         "{'status':{'memory':{'guestCurrent':'1Gi'},'conditions':[{'type':'Ready','status':'True'},"
         "{'type':'HotMemoryChange','status':'False'}]}}",
         "1Gi", UPDATED ". Memory-hotplug failed and is not available for this VM configuration"},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct world *w;
        vm_set_up((void **)&w);
        print_message("%s\n", rows[i].message);
        vm_create(
            w, ALWAYS,
            kb_arena_printf(world_arena(w), "'architecture':'amd64'," DOMAIN(MEMORY("1Gi") "%s"), rows[i].template));
        vm_run(w);
        vm_patch_vmi(w, rows[i].vmi);
        vm_patch_template(w, kb_arena_printf(world_arena(w), GUEST("%s"), rows[i].guest));
        assert_string_equal(restart(w), rows[i].message);
        assert_string_equal(vmi_text(w, "/spec/domain/memory/guest"), "1Gi");
        vm_expect_rest(w);
        world_free(w);
    }
    (void)state;
}

/* ... and takes back what the steps before it asked for. */
static void a_restart_is_told_when_no_later_change_fails(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, "'architecture':'amd64'," DOMAIN(CPU("2") ",'memory':{'guest':'1Gi'}"));
    vm_run(w);
    vm_patch_vmi(w, SIZED);
    vm_patch_vmi(w, CONDITIONS(",{'type':'HotMemoryChange','status':'True'}"));
    patch_and_look(w, "{'domain':{'cpu':{'sockets':1},'memory':{'guest':'2Gi'}}}");
    assert_string_equal(failure(w),
                        "True HotPlugMemoryError: error encountered while handling memory hotplug requests: another "
                        "memory hotplug is in progress");
    assert_string_equal(restart(w), "");
    vm_patch_template(w, GUEST("1Gi"));
    assert_string_equal(failure(w), "");
    assert_string_equal(restart(w), "True : Reduction of CPU socket count requires a restart");
}

static void a_vmi_that_does_not_tell_its_memory_is_left_alone(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, "'architecture':'amd64'," DOMAIN(MEMORY("1Gi")));
    vm_run(w);
    vm_patch_template(w, GUEST("2Gi"));
    assert_string_equal(restart(w), "");
    assert_string_equal(vmi_text(w, "/spec/domain/memory/guest"), "1Gi");
}

/* ---- placement ---- */

#define PLACED                                                                                                         \
    "{'nodeSelector':{'disk':'ssd'},'tolerations':[{'key':'gpu','operator':'Exists'}],'affinity':{'nodeAffinity':"     \
    "{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"      \
    "'operator':'In','values':['a']}]}]}}}}"

static void placement_follows_the_template(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(""));
    vm_run(w);
    vm_patch_template(w, PLACED);
    assert_string_equal(vmi_text(w, "/spec/nodeSelector/disk"), "ssd");
    assert_string_equal(vmi_text(w, "/spec/tolerations/0/key"), "gpu");
    assert_string_not_equal(vmi_text(w, "/spec/affinity/nodeAffinity"), "");
    assert_string_equal(restart(w), "");
    vm_patch_template(w, "{'nodeSelector':{'disk':null,'zone':'b'},'tolerations':null,'affinity':null}");
    assert_string_equal(vmi_text(w, "/spec/nodeSelector"), "{\"zone\":\"b\"}");
    assert_string_equal(vmi_text(w, "/spec/tolerations"), "");
    assert_string_equal(vmi_text(w, "/spec/affinity"), "");
    vm_expect_rest(w);
}

static void what_is_empty_in_the_template_is_empty_in_the_vmi(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(""));
    vm_run(w);
    vm_patch_template(w, PLACED);
    vm_patch_template(w, "{'nodeSelector':{'disk':null},'tolerations':[],'affinity':null}");
    assert_string_equal(vmi_text(w, "/spec/nodeSelector"), "{}");
    assert_string_equal(vmi_text(w, "/spec/tolerations"), "[]");
    assert_string_equal(vmi_text(w, "/spec/affinity"), "");
    vm_expect_rest(w);
}

static void nothing_changes_during_a_migration(void **state)
{
    static const struct {
        const char *patch, *failure;
    } rows[] = {
        {SOCKETS("2"), "True HotPlugCPUError: Error encountered while handling CPU change request: CPU hotplug is not "
                       "allowed while VMI is migrating"},
        {GUEST("2Gi"), "True HotPlugMemoryError: error encountered while handling memory hotplug requests: memory "
                       "hotplug is not allowed while VMI is migrating"},
        {"{'nodeSelector':{'a':'b'}}",
         "True AffinityChangeError: Error encountered while handling node affinity change "
         "request: Node affinity should not be changed during VMI migration"},
        {"{'tolerations':[{'key':'a'}]}", "True TolerationsChangeError: Error encountered while handling tolerations "
                                          "change request: tolerations should not be changed during VMI migration"},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct world *w;
        vm_set_up((void **)&w);
        vm_create(w, ALWAYS, "'architecture':'amd64'," DOMAIN(MEMORY("1Gi") CPU("1")));
        vm_run(w);
        vm_patch_vmi(w, SIZED);
        vm_patch_vmi(w, MIGRATING);
        patch_and_look(w, rows[i].patch);
        assert_string_equal(failure(w), rows[i].failure);
        vm_patch_vmi(w, "{'status':{'migrationState':{'endTimestamp':'2026-01-01T00:00:01Z'}}}");
        assert_string_equal(failure(w), "");
        world_free(w);
    }
    (void)state;
}

/* ---- networks ---- */

static void an_interface_is_plugged_and_unplugged(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(""));
    vm_run(w);
    vm_patch_template(w, "{'domain':{'devices':{'interfaces':[" NIC ",{'name':'blue','bridge':{}}]}},'networks':[" NET
                         ",{'name':'blue','multus':{'networkName':'blue'}}]}");
    assert_string_equal(vmi_text(w, "/spec/domain/devices/interfaces/1/name"), "blue");
    assert_string_equal(vmi_text(w, "/spec/networks/1/multus/networkName"), "blue");
    assert_string_equal(restart(w), "");
    vm_patch_vmi(w, "{'status':{'interfaces':[{'name':'default','podInterfaceName':'eth0'},{'name':'blue',"
                    "'podInterfaceName':'pod16477688c0e'}]}}");
    vm_patch_template(w,
                      "{'domain':{'devices':{'interfaces':[" NIC ",{'name':'blue','bridge':{},'state':'absent'}]}}}");
    assert_string_equal(vmi_text(w, "/spec/domain/devices/interfaces/1/state"), "absent");
    assert_string_equal(vm_text(w, "/spec/template/spec/networks/1/name"), "blue");
    vm_patch_vmi(w, "{'status':{'interfaces':[{'name':'default','podInterfaceName':'eth0'}]}}");
    assert_string_equal(vmi_text(w, "/spec/networks/1"), "");
    assert_string_equal(vm_text(w, "/spec/template/spec/networks/1"), "");
    assert_string_equal(vm_text(w, "/spec/template/spec/domain/devices/interfaces/1"), "");
    assert_string_equal(restart(w), "");
    vm_expect_rest(w);
}

static void an_absent_interface_of_a_stopped_vm_is_forgotten(void **state)
{
    struct world *w = *state;
    vm_create(w, "'runStrategy':'Halted'",
              "'domain':{'devices':{'interfaces':[" NIC
              ",{'name':'blue','bridge':{},'state':'absent'}]}},'networks':[" NET
              ",{'name':'blue','multus':{'networkName':'blue'}}]");
    world_settle(w);
    assert_string_equal(vm_text(w, "/spec/template/spec/networks/1"), "");
    assert_string_equal(vm_text(w, "/spec/template/spec/domain/devices/interfaces/1"), "");
}

/* ---- what needs a restart ---- */

static void another_field_needs_a_restart(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(CPU("1")));
    vm_run(w);
    vm_patch_template(w, "{'domain':{'devices':{'rng':{}}}}");
    assert_string_equal(restart(w), NOT_LIVE);
    vm_expect_rest(w);
    vm_patch_template(w, SOCKETS("2")); /* waits for the restart, too */
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "1");
    vm_patch_template(w, "{'domain':{'devices':{'rng':null}}}");
    assert_string_equal(restart(w), "");
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "2");
}

static void a_restart_is_the_end_of_it(void **state)
{
    struct world *w = *state;
    vm_create(w, ALWAYS, DOMAIN(CPU("2")));
    vm_run(w);
    vm_patch_template(w, SOCKETS("1"));
    assert_string_not_equal(restart(w), "");
    vm_patch(w, "{'runStrategy':'Halted'}");
    vm_patch_vmi(w, "{'status':{'phase':'Succeeded'}}");
    assert_false(world_exists(w, VMIS, "vm"));
    assert_string_equal(restart(w), "");
    vm_patch(w, "{'runStrategy':'Always'}");
    vm_run(w);
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "1");
    assert_string_equal(restart(w), "");
}

static void with_rollout_strategy_stage_everything_needs_a_restart(void **state)
{
    struct world *w = *state;
    world_configure(w, "{\"vmRolloutStrategy\":\"Stage\"}");
    vm_create(w, ALWAYS, DOMAIN(CPU("1")));
    vm_run(w);
    vm_patch_template(w, SOCKETS("2"));
    assert_string_equal(restart(w), NOT_LIVE);
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "1");
    vm_patch_template(w, SOCKETS("1"));
    assert_string_equal(restart(w), "");
    vm_patch_template(w, "{'nodeSelector':{'a':'b'}}");
    assert_string_equal(restart(w), NOT_LIVE);
}

static void volumes_and_disks_need_a_restart_unless_they_are_hotplugged(void **state)
{
#define CDROM "{'name':'cd','cdrom':{'bus':'sata'}}"
#define WITH(disks, volumes)                                                                                           \
    "{'domain':{'devices':{'disks':[" DISK disks                                                                       \
    "]}},'volumes':[{'name':'root','containerDisk':{'image':'a:1'}}" volumes "]}"
    static const struct {
        const char *what, *patch;
        bool restart;
    } rows[] = {
        {"a volume", WITH(",{'name':'x','disk':{}}", ",{'name':'x','emptyDisk':{'capacity':'1Gi'}}"), true},
        {"a hotplugged volume",
         WITH("," CDROM ",{'name':'x','disk':{}}",
              ",{'name':'x','persistentVolumeClaim':{'claimName':'x','hotpluggable':true}}"),
         false},
        {"another image",
         "{'domain':{'devices':{'disks':[" DISK "," CDROM
         "]}},'volumes':[{'name':'root','containerDisk':{'image':'a:2'}}]}",
         true},
        {"a disk changed",
         "{'domain':{'devices':{'disks':[{'name':'root','disk':{'bus':'sata'}}," CDROM "]}},'volumes':[{'name':'root',"
         "'containerDisk':{'image':'a:1'}}]}",
         true},
        {"a CD-ROM drive taken away", WITH("", ""), true},
        {"nothing", WITH("," CDROM, ""), false},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct world *w;
        vm_set_up((void **)&w);
        vm_create(w, ALWAYS,
                  "'domain':{'devices':{'disks':[" DISK "," CDROM "],'interfaces':[" NIC "]}},'networks':[" NET
                  "]," VOLUME);
        vm_run(w);
        vm_patch_template(w, rows[i].patch);
        print_message("%s\n", rows[i].what);
        assert_string_equal(restart(w), rows[i].restart ? NOT_LIVE : "");
        world_free(w);
    }
    (void)state;
}

/* ---- instance types ---- */

static void another_instance_type_is_taken_over_live_as_far_as_it_goes(void **state)
{
    struct world *w = *state;
    vm_create_object(
        w, INSTANCETYPES,
        "{'metadata':{'name':'small'},'spec':{'cpu':{'guest':1,'maxSockets':4},'memory':{'guest':'1Gi'}}}");
    vm_create_object(
        w, INSTANCETYPES,
        "{'metadata':{'name':'large'},'spec':{'cpu':{'guest':2,'maxSockets':4},'memory':{'guest':'2Gi'}}}");
    vm_create_object(w, INSTANCETYPES,
                     "{'metadata':{'name':'other'},'spec':{'cpu':{'guest':2,'maxSockets':4,'model':'Haswell'},'memory':"
                     "{'guest':'2Gi'}}}");
    vm_create(w, ALWAYS ",'instancetype':{'kind':'VirtualMachineInstancetype','name':'small'}",
              "'architecture':'amd64'," DOMAIN(""));
    vm_run(w);
    vm_patch_vmi(w, SIZED);
    vm_patch(w, "{'instancetype':{'name':'large'}}");
    assert_string_equal(vmi_text(w, "/spec/domain/cpu/sockets"), "2");
    assert_string_equal(vmi_text(w, "/spec/domain/memory/guest"), "2Gi");
    assert_string_equal(restart(w), "");
    vm_patch(w, "{'instancetype':{'name':'other'}}");
    assert_string_equal(restart(w), NOT_LIVE);
    vm_expect_rest(w);
}

/* ---- whatever fails ---- */

static void play(struct world *w)
{
    vm_create(w, ALWAYS, "'architecture':'amd64'," DOMAIN(MEMORY("1Gi") CPU("1")));
    vm_run(w);
    vm_patch_vmi(w, SIZED);
    vm_patch_template(w, SOCKETS("2"));
    vm_patch_template(w, GUEST("2Gi"));
    vm_patch_template(w, PLACED);
    vm_patch_template(w, "{'domain':{'devices':{'interfaces':[" NIC ",{'name':'blue','bridge':{}}]}},'networks':[" NET
                         ",{'name':'blue','multus':{'networkName':'blue'}}]}");
    vm_patch_template(w, "{'domain':{'devices':{'rng':{}}}}");
}

static const char *digest(struct world *w)
{
    return kb_arena_printf(world_arena(w), "%s %s %s", vmi_text(w, "/spec"), restart(w), failure(w));
}

static void a_running_vm_is_updated_whatever_fails(void **state)
{
    (void)state;
    world_play_sweep(&(struct world_sweep){.add_controller = virt_vm_controller_add,
                                           .scenario = play,
                                           .digest = digest,
                                           .controller = "vm",
                                           .key = "default/vm"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VM_TEST(more_sockets_reach_the_vmi),
        VM_TEST(some_numbers_of_sockets_need_a_restart),
        VM_TEST(arm_has_no_cpu_hotplug),
        VM_TEST(one_cpu_change_waits_for_another),
        VM_TEST(what_else_changes_waits_while_a_change_fails),
        VM_TEST(more_memory_reaches_the_vmi),
        VM_TEST(requests_never_fall_below_the_guest),
        cmocka_unit_test(some_sizes_of_memory_need_a_restart),
        VM_TEST(a_restart_is_told_when_no_later_change_fails),
        VM_TEST(a_vmi_that_does_not_tell_its_memory_is_left_alone),
        VM_TEST(placement_follows_the_template),
        VM_TEST(what_is_empty_in_the_template_is_empty_in_the_vmi),
        cmocka_unit_test(nothing_changes_during_a_migration),
        VM_TEST(an_interface_is_plugged_and_unplugged),
        VM_TEST(an_absent_interface_of_a_stopped_vm_is_forgotten),
        VM_TEST(another_field_needs_a_restart),
        VM_TEST(a_restart_is_the_end_of_it),
        VM_TEST(with_rollout_strategy_stage_everything_needs_a_restart),
        cmocka_unit_test(volumes_and_disks_need_a_restart_unless_they_are_hotplugged),
        VM_TEST(another_instance_type_is_taken_over_live_as_far_as_it_goes),
        cmocka_unit_test(a_running_vm_is_updated_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
