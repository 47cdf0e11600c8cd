/* Tests of virt/instancetype: what a preference does to a VMI. */
#include "instancetype_fixture.h"

#define P(member, rest)  "{'" member "':{" rest "}}"
#define DEVICES(text)    "{'devices':{" text "}}"
#define IN_DEVICES(text) "{'domain':{'devices':{" text "}}}"

/* preference, the VMI's spec before, and after ("": as before). */
static const struct row {
    const char *preference, *before, *after;
} rows[] = {
    {"{}", "{}", ""},
    /* CPU features */
    {"{'cpu':{'preferredCPUFeatures':[{'name':'a','policy':'require'},{'name':'b'}]}}",
     "{'domain':{'cpu':{'features':[{'name':'a','policy':'disable'}]}}}",
     "{'domain':{'cpu':{'features':[{'name':'a','policy':'disable'},{'name':'b'}]}}}"},
    {"{'cpu':{'preferredCPUFeatures':[{'name':'a'},{'name':'a','policy':'force'}]}}", "{'domain':{'cpu':{'cores':1}}}",
     "{'domain':{'cpu':{'cores':1,'features':[{'name':'a'},{'name':'a','policy':'force'}]}}}"},
    {"{'cpu':{'preferredCPUFeatures':[{'name':'a'}]}}", "{}", "{'domain':{'cpu':{'features':[{'name':'a'}]}}}"},
    /* devices: filled when open */
    {DEVICES("'preferredUseVirtioTransitional':true,'preferredBlockMultiQueue':true,"
             "'preferredNetworkInterfaceMultiQueue':false,'preferredRng':{},'preferredTPM':{'persistent':true},"
             "'preferredVideoType':'virtio'"),
     "{}",
     IN_DEVICES("'useVirtioTransitional':true,'blockMultiQueue':true,'networkInterfaceMultiqueue':false,'rng':{},"
                "'tpm':{'persistent':true},'video':{'type':'virtio'}")},
    {DEVICES("'preferredUseVirtioTransitional':true,'preferredTPM':{'persistent':true},'preferredVideoType':'virtio'"),
     IN_DEVICES("'useVirtioTransitional':false,'tpm':{},'video':{'type':'vga'}"), ""},
    {DEVICES("'preferredDisableHotplug':false"), IN_DEVICES("'disableHotplug':true"), IN_DEVICES("")},
    {DEVICES("'preferredSoundModel':'ac97'"), "{}", ""},
    {DEVICES("'preferredSoundModel':'ac97'"), IN_DEVICES("'sound':{'name':'s'}"),
     IN_DEVICES("'sound':{'name':'s','model':'ac97'}")},
    {DEVICES("'preferredAutoattachGraphicsDevice':false,'preferredAutoattachMemBalloon':false,"
             "'preferredAutoattachPodInterface':false,'preferredAutoattachSerialConsole':true,"
             "'preferredAutoattachInputDevice':true"),
     IN_DEVICES("'autoattachMemBalloon':true"),
     IN_DEVICES("'autoattachGraphicsDevice':false,'autoattachMemBalloon':true,'autoattachPodInterface':false,"
                "'autoattachSerialConsole':true,'autoattachInputDevice':true")},
    /* disks */
    {DEVICES("'preferredDiskBus':'virtio','preferredCdromBus':'sata','preferredLunBus':'scsi',"
             "'preferredDiskCache':'none','preferredDiskIO':'native','preferredDiskDedicatedIoThread':true,"
             "'preferredDiskBlockSize':{'matchVolume':{'enabled':true}}"),
     IN_DEVICES("'disks':[{'name':'a'},{'name':'b','disk':{'bus':'sata'},'cache':'writeback','io':'threads'},"
                "{'name':'c','cdrom':{}},{'name':'d','lun':{}},{'name':'e','cdrom':{'bus':'scsi'}}]"),
     IN_DEVICES("'disks':[{'name':'a','disk':{'bus':'virtio'},'dedicatedIOThread':true,'cache':'none','io':'native',"
                "'blockSize':{'matchVolume':{'enabled':true}}},{'name':'b','disk':{'bus':'sata'},'cache':'writeback',"
                "'io':'threads','blockSize':{'matchVolume':{'enabled':true}}},{'name':'c','cdrom':{'bus':'sata'}},"
                "{'name':'d','lun':{'bus':'scsi'}},{'name':'e','cdrom':{'bus':'scsi'}}]")},
    {DEVICES("'preferredDiskDedicatedIoThread':true"),
     IN_DEVICES("'disks':[{'name':'a','disk':{'bus':'virtio'},'dedicatedIOThread':false}]"), ""},
    /* interfaces: the model always, the binding only where there is none, on the Pod's network */
    {DEVICES("'preferredInterfaceModel':'e1000','preferredInterfaceMasquerade':{}"),
     "{'networks':[{'name':'pod','pod':{}},{'name':'red','multus':{'networkName':'red'}},{'name':'own','pod':{}}],"
     "'domain':{'devices':{'interfaces':[{'name':'pod'},{'name':'red'},{'name':'own','binding':{'name':'x'}},"
     "{'name':'lost','model':'virtio'}]}}}",
     "{'networks':[{'name':'pod','pod':{}},{'name':'red','multus':{'networkName':'red'}},{'name':'own','pod':{}}],"
     "'domain':{'devices':{'interfaces':[{'name':'pod','model':'e1000','masquerade':{}},"
     "{'name':'red','model':'e1000'},{'name':'own','model':'e1000','binding':{'name':'x'}},"
     "{'name':'lost','model':'virtio'}]}}}"},
    /* inputs and panic devices */
    {DEVICES("'preferredInputBus':'virtio','preferredInputType':'tablet'"),
     IN_DEVICES("'inputs':[{'name':'a','type':''},{'name':'b','bus':'usb','type':'keyboard'}]"),
     IN_DEVICES("'inputs':[{'name':'a','bus':'virtio','type':'tablet'},{'name':'b','bus':'usb','type':'keyboard'}]")},
    {DEVICES("'preferredPanicDeviceModel':'isa'"), "{}", IN_DEVICES("'panicDevices':[{'model':'isa'}]")},
    {DEVICES("'preferredPanicDeviceModel':'isa'"), IN_DEVICES("'panicDevices':[{},{'model':'pvpanic'}]"),
     IN_DEVICES("'panicDevices':[{'model':'isa'},{'model':'pvpanic'}]")},
    /* features */
    {P("features", ""), "{}", "{'domain':{'features':{'acpi':{}}}}"},
    {P("features", "'preferredAcpi':{'enabled':false},'preferredApic':{'endOfInterrupt':true},"
                   "'preferredKvm':{'hidden':true},'preferredPvspinlock':{'enabled':true},'preferredSmm':{}"),
     "{'domain':{'features':{'acpi':{'enabled':true},'smm':{'enabled':false}}}}",
     "{'domain':{'features':{'acpi':{'enabled':false},'apic':{'endOfInterrupt':true},'kvm':{'hidden':true},"
     "'pvspinlock':{'enabled':true},'smm':{'enabled':false}}}}"},
    {P("features", "'preferredHyperv':{'relaxed':{},'vapic':{},'spinlocks':{'spinlocks':8191},'vpindex':{},"
                   "'runtime':{},'synic':{},'synictimer':{'direct':{}},'reset':{},'vendorid':{'vendorid':'x'},"
                   "'frequencies':{},'reenlightenment':{},'tlbflush':{},'ipi':{},'evmcs':{}}"),
     "{'domain':{'features':{'acpi':{},'hyperv':{'vapic':{'enabled':false}}}}}",
     "{'domain':{'features':{'acpi':{},'hyperv':{'relaxed':{},'vapic':{'enabled':false},'spinlocks':{'spinlocks':8191},"
     "'vpindex':{},'runtime':{},'synic':{},'synictimer':{'direct':{}},'reset':{},'vendorid':{'vendorid':'x'},"
     "'frequencies':{},'reenlightenment':{},'tlbflush':{},'ipi':{},'evmcs':{}}}}}"},
    /* firmware */
    {P("firmware", ""), "{}", "{'domain':{'firmware':{'bootloader':{}}}}"},
    {P("firmware", "'preferredUseBios':true,'preferredUseBiosSerial':true,'preferredUseEfi':true"), "{}",
     "{'domain':{'firmware':{'bootloader':{'bios':{'useSerial':true}}}}}"},
    {P("firmware", "'preferredUseBios':true,'preferredUseBiosSerial':true"),
     "{'domain':{'firmware':{'bootloader':{'efi':{}}}}}", ""},
    {P("firmware", "'preferredUseBios':false,'preferredUseEfi':true,'preferredUseSecureBoot':false"), "{}",
     "{'domain':{'firmware':{'bootloader':{'efi':{'secureBoot':false}}}}}"},
    {P("firmware", "'preferredEfi':{'persistent':true},'preferredUseEfi':true,'preferredUseSecureBoot':true"), "{}",
     "{'domain':{'firmware':{'bootloader':{'efi':{'persistent':true}}}}}"},
    {P("firmware", "'preferredEfi':{'persistent':true},'preferredUseSecureBoot':true"),
     "{'domain':{'firmware':{'bootloader':{'efi':{}}}}}",
     "{'domain':{'firmware':{'bootloader':{'efi':{'secureBoot':true}}}}}"},
    /* machine, clock */
    {P("machine", "'preferredMachineType':'q35'"), "{}", "{'domain':{'machine':{'type':'q35'}}}"},
    {P("machine", "'preferredMachineType':'q35'"), "{'domain':{'machine':{'type':'pc'}}}", ""},
    {P("machine", ""), "{}", ""},
    {P("clock", ""), "{}", "{'domain':{'clock':{}}}"},
    {P("clock", "'preferredClockOffset':{'utc':{'offsetSeconds':5}},'preferredTimer':{'hpet':{'present':false}}"), "{}",
     "{'domain':{'clock':{'utc':{'offsetSeconds':5},'timer':{'hpet':{'present':false}}}}}"},
    {P("clock", "'preferredClockOffset':{'utc':{}},'preferredTimer':{}"),
     "{'domain':{'clock':{'timezone':'Europe/Paris','timer':{'hpet':{}}}}}", ""},
    /* the rest */
    {"{'preferredSubdomain':'vms','preferredTerminationGracePeriodSeconds':15,'preferredArchitecture':'arm64',"
     "'preferredLaunchSecurity':{'sev':{}}}",
     "{}",
     "{'subdomain':'vms','terminationGracePeriodSeconds':15,'architecture':'arm64',"
     "'domain':{'launchSecurity':{'sev':{}}}}"},
    {"{'preferredSubdomain':'vms','preferredTerminationGracePeriodSeconds':15,'preferredArchitecture':'arm64',"
     "'preferredLaunchSecurity':{'sev':{}}}",
     "{'subdomain':'x','terminationGracePeriodSeconds':0,'architecture':'amd64','domain':{'launchSecurity':{}}}", ""},
};

static void a_preference_fills_what_is_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, rows[i].before);
        const char *expected = *rows[i].after ? rows[i].after : rows[i].before;
        struct meta_object_meta metadata = {0};
        virt_preference_apply(arena, FROM_TEXT(arena, instancetype_vm_preference_spec, rows[i].preference), spec,
                              &metadata);
        expect_object(arena, &kv_vmi_spec_type, spec, expected);
    }
}

static void the_preference_stays_as_it_is(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const char *text = "{'firmware':{'preferredEfi':{}},'devices':{'preferredTPM':{}},'cpu':{'preferredCPUFeatures':"
                       "[{'name':'a'}]}}";
    struct instancetype_vm_preference_spec *preference = FROM_TEXT(arena, instancetype_vm_preference_spec, text);
    struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, "{}");
    struct meta_object_meta metadata = {0};
    static const bool yes = true;

    (void)state;
    virt_preference_apply(arena, preference, spec, &metadata);
    spec->domain.firmware->bootloader->efi->secure_boot = &yes;
    spec->domain.devices.tpm->persistent = &yes;
    spec->domain.cpu->features.items[0].name = "b";
    expect_object(arena, &instancetype_vm_preference_spec_type, preference, text);
}

static void annotations_that_are_there_win(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct meta_object_meta *metadata = FROM_TEXT(arena, meta_object_meta, "{'annotations':{'a':'own'}}");
    struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, "{}");

    (void)state;
    virt_preference_apply(arena, FROM_TEXT(arena, instancetype_vm_preference_spec, "{'annotations':{'a':'1','b':'2'}}"),
                          spec, metadata);
    expect_object(arena, &meta_object_meta_type, metadata, "{'annotations':{'a':'own','b':'2'}}");
}

static void auto_attach_alone_touches_nothing_else(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, "{}");

    (void)state;
    virt_preference_apply_auto_attach(arena,
                                      FROM_TEXT(arena, instancetype_vm_preference_spec,
                                                DEVICES("'preferredAutoattachInputDevice':true,'preferredRng':{}")),
                                      spec);
    expect_object(arena, &kv_vmi_spec_type, spec, IN_DEVICES("'autoattachInputDevice':true"));
    virt_preference_apply_auto_attach(arena, FROM_TEXT(arena, instancetype_vm_preference_spec, "{}"), spec);
    expect_object(arena, &kv_vmi_spec_type, spec, IN_DEVICES("'autoattachInputDevice':true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preference_fills_what_is_open),
        cmocka_unit_test(the_preference_stays_as_it_is),
        cmocka_unit_test(annotations_that_are_there_win),
        cmocka_unit_test(auto_attach_alone_touches_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
