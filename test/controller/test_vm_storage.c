/* The VirtualMachine controller and the volumes of its VMs, in a small world. */
#include "controller/world.h"

#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SPEC(more, volumes, disks)                                                                                     \
    "{" more "\"domain\":{\"devices\":{\"disks\":[" disks "]},\"resources\":{}},\"volumes\":[" volumes "]}"
#define VM(strategy, more, template)                                                                                   \
    "{\"metadata\":{\"name\":\"vm\"},\"spec\":{\"runStrategy\":\"" strategy "\"," more                                 \
    "\"template\":{\"metadata\":{},\"spec\":" template "}}}"
#define DISK(name)         "{\"name\":\"" name "\",\"disk\":{\"bus\":\"virtio\"}}"
#define DV_VOLUME(dv)      "{\"name\":\"root\",\"dataVolume\":{\"name\":\"" dv "\"}}"
#define PVC_VOLUME(claim)  "{\"name\":\"root\",\"persistentVolumeClaim\":{\"claimName\":\"" claim "\"}}"
#define DATA_VOLUME(claim) "{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"" claim "\"}}"
#define EXTRA_VOLUME       "{\"name\":\"extra\",\"persistentVolumeClaim\":{\"claimName\":\"extra\",\"hotpluggable\":true}}"
#define CONTAINER_DISK     "{\"name\":\"root\",\"containerDisk\":{\"image\":\"disk:1\"}}"
#define TEMPLATES(source)                                                                                              \
    "\"dataVolumeTemplates\":[{\"metadata\":{\"name\":\"root-dv\"" source                                              \
    ",\"storage\":{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}}],"
#define BLANK  "},\"spec\":{\"source\":{\"blank\":{}}"
#define GOLDEN "},\"spec\":{\"source\":{\"pvc\":{\"namespace\":\"images\",\"name\":\"golden\"}}"
#define CLAIM(name, class)                                                                                             \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":"        \
    "\"" class "\",\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}"

static int set_up(void **state)
{
    struct world *w = world_new(virt_vm_controller_add);
    world_create(w, "namespaces", "{\"metadata\":{\"name\":\"images\"}}");
    world_create(w, CLASSES, "{\"metadata\":{\"name\":\"standard\"},\"provisioner\":\"csi.example.com\"}");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    world_free(*state);
    return 0;
}

static void expect_condition(struct world *w, const char *type, const char *status, const char *reason,
                             const char *message)
{
    yyjson_doc *doc;
    const char *text = world_text(w, VMS, "vm", "/status/conditions");
    struct kube_error error = {0};
    assert_int_equal(api_parse(text, strlen(text), &doc, &error), 0);
    size_t i, n;
    yyjson_val *condition, *found = NULL;
    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, condition)
    {
        if (kb_streq(yyjson_get_str(yyjson_obj_get(condition, "type")), type))
            found = condition;
    }
    if (!found && status)
        fail_msg("no condition %s in %s", type, text);
    if (found && !status)
        fail_msg("condition %s is in %s", type, text);
    if (found) {
        const char *why = yyjson_get_str(yyjson_obj_get(found, "reason"));
        const char *words = yyjson_get_str(yyjson_obj_get(found, "message"));
        assert_string_equal(yyjson_get_str(yyjson_obj_get(found, "status")), status);
        assert_string_equal(why ? why : "", reason);
        assert_string_equal(words ? words : "", message);
    }
    yyjson_doc_free(doc);
}

static void expect_status(struct world *w, const char *printable)
{
    assert_string_equal(world_text(w, VMS, "vm", "/status/printableStatus"), printable);
}

static void start_running(struct world *w)
{
    world_settle(w);
    assert_true(world_exists(w, VMIS, "vm"));
    world_patch(w, VMIS, "vm",
                "{\"status\":{\"phase\":\"Running\",\"phaseTransitionTimestamps\":[{\"phase\":\"Running\","
                "\"phaseTransitionTimestamp\":\"2026-01-02T03:04:05Z\"}],"
                "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    world_settle(w);
    expect_status(w, "Running");
    world_writes(w);
}

/* ---- DataVolumes ---- */

static void templates_become_data_volumes_that_the_vm_owns(void **state)
{
    struct world *w = *state;
    world_create(w, VMS, VM("Halted", TEMPLATES(BLANK), SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_settle(w);
    assert_string_equal(world_text(w, DVS, "root-dv", "/metadata/ownerReferences/0/name"), "vm");
    assert_string_equal(world_text(w, DVS, "root-dv", "/metadata/ownerReferences/0/controller"), "true");
    assert_string_equal(world_text(w, DVS, "root-dv", "/metadata/labels/kubevirt.io~1created-by"),
                        world_text(w, VMS, "vm", "/metadata/uid"));
    assert_string_equal(world_text(w, DVS, "root-dv", "/metadata/annotations/cdi.kubevirt.io~1allowClaimAdoption"),
                        "true");
    assert_string_equal(world_events(w), "Normal SuccessfulDataVolumeCreate Created DataVolume root-dv\n");
    assert_string_equal(world_reviews(w), "");
}

static void a_data_volume_that_the_cache_lacks_is_no_failure(void **state)
{
    struct world *w = *state;
    cluster_hold(world_cluster(w), VIRT_DATA_VOLUME);
    world_create(w, DVS, "{\"metadata\":{\"name\":\"root-dv\"},\"spec\":{\"source\":{\"blank\":{}}}}");
    world_create(w, VMS, VM("Halted", TEMPLATES(BLANK), SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_step(w);
    world_step(w);
    expect_condition(w, "Failure", NULL, NULL, NULL);
    assert_string_equal(world_events(w), "");
    cluster_let_go(world_cluster(w), VIRT_DATA_VOLUME, false);
    world_settle(w);
    assert_string_equal(world_text(w, DVS, "root-dv", "/metadata/ownerReferences/0/name"), "vm");
}

static void a_vmi_that_the_cache_lacks_is_no_failure(void **state)
{
    struct world *w = *state;
    script_fail_request(world_script(w), 3, SCRIPT_CUT_AFTER); /* after the first write of the VM, and its revision */
    cluster_hold(world_cluster(w), VIRT_VMI);
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    for (int i = 0; i < 20; i++) {
        world_step(w);
        script_advance(world_script(w), KB_NS_PER_S);
    }
    expect_condition(w, "Failure", NULL, NULL, NULL);
    expect_status(w, "Starting");
    assert_null(strstr(world_events(w), "already exists"));
}

static void a_vm_starts_when_its_data_volume_is_populated(void **state)
{
    struct world *w = *state;
    world_create(w, VMS, VM("Always", TEMPLATES(BLANK), SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_settle(w);
    assert_false(world_exists(w, VMIS, "vm"));
    expect_status(w, "Provisioning");
    world_patch_status(w, DVS, "root-dv", "{\"status\":{\"phase\":\"Succeeded\"}}");
    world_settle(w);
    assert_true(world_exists(w, VMIS, "vm"));
    expect_status(w, "Starting");
}

static void data_volumes_that_nobody_owns_are_adopted(void **state)
{
    struct world *w = *state;
    world_create(w, DVS, "{\"metadata\":{\"name\":\"root-dv\"},\"spec\":{\"source\":{\"blank\":{}}}}");
    world_create(w, VMS, VM("Halted", TEMPLATES(BLANK), SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_settle(w);
    assert_string_equal(world_text(w, DVS, "root-dv", "/metadata/ownerReferences/0/name"), "vm");
    assert_string_equal(world_events(w), "");
}

static void expect_first_reviews(struct world *w, const char *expected)
{
    if (!kb_starts_with(world_reviews(w), expected))
        fail_msg("asked:\n%snot:\n%s", world_reviews(w), expected);
}

static void cloning_from_elsewhere_needs_leave_for_the_service_account(void **state)
{
    struct world *w = *state;
    world_set_allowed(w, false);
    world_create(w, VMS,
                 VM("Always", TEMPLATES(GOLDEN),
                    SPEC("\"serviceAccountName\":\"builder\",", DV_VOLUME("root-dv"), DISK("root"))));
    world_step(w);
    expect_first_reviews(w, "system:serviceaccount:default:builder create images/datavolumes/source/golden\n"
                            "system:serviceaccount:default:builder create images/pods//golden\n");
    assert_false(world_exists(w, DVS, "root-dv"));
    expect_condition(w, "Failure", "True", "FailedCreate",
                     "Error encountered while creating DataVolumes: not authorized to create DataVolume: User "
                     "system:serviceaccount:default:builder has insufficient permissions in clone source namespace "
                     "images");
    assert_string_equal(
        world_events(w),
        "Warning SourcePVCNotAvailabe Source PVC golden not available: Target PVC root-dv will remain unpopulated "
        "until "
        "source is created\n"
        "Warning UnauthorizedDataVolumeCreate Not authorized to create DataVolume root-dv: User "
        "system:serviceaccount:default:builder has insufficient permissions in clone source namespace images\n");
    world_set_allowed(w, true);
    world_settle(w);
    assert_true(world_exists(w, DVS, "root-dv"));
    expect_condition(w, "Failure", NULL, NULL, NULL);
}

static void a_populated_data_volume_needs_no_leave(void **state)
{
    struct world *w = *state;
    world_set_allowed(w, false);
    world_create(w, VMS,
                 VM("Halted",
                    TEMPLATES(",\"annotations\":{\"cdi.kubevirt.io/storage.prePopulated\":\"root-dv\"}" GOLDEN),
                    SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_settle(w);
    assert_true(world_exists(w, DVS, "root-dv"));
}

static void snapshots_need_leave_for_pods_and_claims(void **state)
{
    struct world *w = *state;
    world_set_allowed(w, false);
    world_create(w, VMS,
                 VM("Halted",
                    TEMPLATES("},\"spec\":{\"source\":{\"snapshot\":{\"namespace\":\"images\",\"name\":\"s\"}}"),
                    SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_step(w);
    expect_first_reviews(w, "system:serviceaccount:default:default create images/datavolumes/source/s\n"
                            "system:serviceaccount:default:default create images/pods//s\n");
}

static void a_data_source_is_resolved(void **state)
{
    struct world *w = *state;
    world_create(w, DSS,
                 "{\"metadata\":{\"name\":\"linux\"},\"spec\":{\"source\":{\"pvc\":{\"name\":\"linux-img\"}}}}");
    world_create(w, PVCS, CLAIM("linux-img", "standard"));
    world_create(w, VMS,
                 VM("Halted", TEMPLATES("},\"spec\":{\"sourceRef\":{\"kind\":\"DataSource\",\"name\":\"linux\"}"),
                    SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_settle(w);
    assert_string_equal(world_text(w, DVS, "root-dv", "/spec/source/pvc"),
                        "{\"namespace\":\"default\",\"name\":\"linux-img\"}");
    assert_string_equal(world_text(w, DVS, "root-dv", "/spec/sourceRef"), "");
    assert_string_equal(world_reviews(w), ""); /* its own namespace */
}

static void a_missing_data_source_is_told_of_and_awaited(void **state)
{
    struct world *w = *state;
    world_create(w, VMS,
                 VM("Halted", TEMPLATES("},\"spec\":{\"sourceRef\":{\"kind\":\"DataSource\",\"name\":\"linux\"}"),
                    SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_step(w);
    expect_condition(w, "Failure", "True", "FailedCreate",
                     "Error encountered while creating DataVolumes: unable to create DataVolume manifest: "
                     "datasources.cdi.kubevirt.io \"linux\" not found");
    world_create(w, DSS,
                 "{\"metadata\":{\"name\":\"linux\"},\"spec\":{\"source\":{\"pvc\":{\"name\":\"linux-img\"}}}}");
    world_settle(w);
    assert_true(world_exists(w, DVS, "root-dv"));
}

static void a_data_volume_over_the_quota_is_told_of(void **state)
{
    struct world *w = *state;
    world_create(w, VMS, VM("Always", TEMPLATES(BLANK), SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_settle(w);
    world_patch_status(w, DVS, "root-dv",
                       "{\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"Bound\",\"status\":\"Unknown\","
                       "\"reason\":\"ErrExceededQuota\",\"message\":\"exceeded quota\"}]}}");
    world_step(w);
    expect_condition(w, "Failure", "True", "FailedCreate",
                     "Error encountered while creating DataVolumes: DataVolume root-dv importer is not running due to "
                     "an error: exceeded quota");
    world_patch_status(w, DVS, "root-dv", "{\"status\":{\"phase\":\"Succeeded\",\"conditions\":null}}");
    world_settle(w);
    assert_true(world_exists(w, VMIS, "vm"));
}

/* ---- hotplug ---- */

#define ADD_EXTRA                                                                                                      \
    "{\"status\":{\"volumeRequests\":[{\"addVolumeOptions\":{\"name\":\"extra\",\"disk\":{\"disk\":{\"bus\":\"scsi\"}" \
    "},"                                                                                                               \
    "\"volumeSource\":{\"persistentVolumeClaim\":{\"claimName\":\"extra\"}}}}]}}"

static void a_requested_volume_is_plugged_into_vmi_and_template(void **state)
{
    struct world *w = *state;
    world_configure(w, "{\"developerConfiguration\":{\"featureGates\":[\"HotplugVolumes\"]}}");
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    start_running(w);
    world_patch_status(w, VMS, "vm", ADD_EXTRA);
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/name"), "extra");
    assert_string_equal(world_text(w, VMS, "vm", "/spec/template/spec/volumes/1/persistentVolumeClaim"),
                        "{\"claimName\":\"extra\",\"hotpluggable\":true}");
    assert_string_equal(world_text(w, VMS, "vm", "/spec/template/spec/domain/devices/disks/1/name"), "extra");
    assert_string_equal(world_text(w, VMS, "vm", "/status/volumeRequests"), "");
    world_patch_status(w, VMS, "vm",
                       "{\"status\":{\"volumeRequests\":[{\"removeVolumeOptions\":{\"name\":\"extra\"}}]}}");
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/name"), "");
    assert_string_equal(world_text(w, VMS, "vm", "/spec/template/spec/volumes/1/name"), "");
    assert_string_equal(world_text(w, VMS, "vm", "/status/volumeRequests"), "");
}

#define ADD_AFTER_REMOVE                                                                                               \
    "{\"status\":{\"volumeRequests\":[{\"removeVolumeOptions\":{\"name\":\"old\"}},{\"addVolumeOptions\":{\"name\":"   \
    "\"extra\",\"disk\":" DISK("extra") ",\"volumeSource\":{\"persistentVolumeClaim\":{\"claimName\":\"extra\"}}}}]}}"

/* And so do those beside it, as the template is changed for all of them at once. */
static void a_request_that_the_vmi_refuses_stays_open(void **state)
{
    struct world *w = *state;
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root") "," DISK("old"))));
    start_running(w);
    world_answer_subresources(w, 409); /* no conflict of versions, which would only be tried again */
    world_patch_status(w, VMS, "vm", ADD_AFTER_REMOVE);
    world_step(w);
    expect_condition(w, "Failure", "True", "HotPlugVolumeError",
                     "Error encountered while handling volume hotplug requests: virt-api says no");
    assert_string_equal(world_text(w, VMS, "vm", "/spec/template/spec/volumes/1/name"), "");
    assert_string_equal(world_text(w, VMS, "vm", "/status/volumeRequests/1/addVolumeOptions/name"), "extra");
    assert_string_equal(world_text(w, VMS, "vm", "/spec/template/spec/domain/devices/disks/1/name"), "old");
    world_answer_subresources(w, 0);
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/name"), "extra");
    assert_string_equal(world_text(w, VMS, "vm", "/status/volumeRequests"), "");
    expect_condition(w, "Failure", NULL, NULL, NULL);
}

#define WITH_EXTRA                                                                                                     \
    "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[" CONTAINER_DISK "," EXTRA_VOLUME                                 \
    "],\"domain\":{\"devices\":{\"disks\":[" DISK("root") "," DISK("extra") "]}}}}}}"
#define WITHOUT_EXTRA                                                                                                  \
    "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[" CONTAINER_DISK                                                  \
    "],\"domain\":{\"devices\":{\"disks\":[" DISK("root") "]}}}}}}"

static void a_declared_volume_comes_and_goes_with_the_template(void **state)
{
    struct world *w = *state;
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    start_running(w);
    world_patch(w, VMS, "vm", WITH_EXTRA);
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/name"), "extra");
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/domain/devices/disks/1/name"), "extra");
    expect_condition(w, "RestartRequired", NULL, NULL, NULL);
    assert_string_equal(world_text(w, VMS, "vm", "/status/observedGeneration"),
                        world_text(w, VMS, "vm", "/metadata/generation"));
    world_patch(w, VMS, "vm", WITHOUT_EXTRA);
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/name"), "");
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/domain/devices/disks/1/name"), "");
}

static void the_old_gate_switches_declaration_off(void **state)
{
    struct world *w = *state;
    world_configure(w, "{\"developerConfiguration\":{\"featureGates\":[\"HotplugVolumes\"]}}");
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    start_running(w);
    world_patch(w, VMS, "vm", WITH_EXTRA);
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/name"), "");
}

/* ---- memory dumps ---- */

static void report_dump(struct world *w, const char *status)
{
    world_patch(w, VMIS, "vm", kb_arena_printf(world_arena(w), "{\"status\":{\"volumeStatus\":%s}}", status));
    world_settle(w);
}

static void a_memory_dump_goes_through_its_phases(void **state)
{
    struct world *w = *state;
    world_create(w, PVCS, CLAIM("dump", "standard"));
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    start_running(w);
    world_patch_status(w, VMS, "vm",
                       "{\"status\":{\"memoryDumpRequest\":{\"claimName\":\"dump\",\"phase\":\"Associating\"}}}");
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/memoryDump"),
                        "{\"claimName\":\"dump\",\"hotpluggable\":true}");
    assert_string_equal(world_text(w, VMS, "vm", "/status/memoryDumpRequest/phase"), "InProgress");
    report_dump(w, "[{\"name\":\"dump\",\"target\":\"\",\"phase\":\"MemoryDumpCompleted\",\"memoryDumpVolume\":"
                   "{\"claimName\":\"dump\",\"targetFileName\":\"f\",\"startTimestamp\":\"2026-01-01T00:00:00Z\","
                   "\"endTimestamp\":\"2026-01-01T00:00:09Z\"}}]");
    assert_string_equal(world_text(w, VMS, "vm", "/status/memoryDumpRequest/phase"), "Unmounting");
    assert_string_equal(world_text(w, PVCS, "dump", "/metadata/annotations/kubevirt.io~1memory-dump"), "f");
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1"), "");
    report_dump(w, "null");
    assert_string_equal(world_text(w, VMS, "vm", "/status/memoryDumpRequest/phase"), "Completed");
    world_patch_status(w, VMS, "vm", "{\"status\":{\"memoryDumpRequest\":{\"remove\":true}}}");
    world_settle(w);
    assert_string_equal(world_text(w, VMS, "vm", "/status/memoryDumpRequest"), "");
    assert_string_equal(world_text(w, VMS, "vm", "/spec/template/spec/volumes/1"), "");
}

/* ---- volumes that move ---- */

static void start_with_claim(struct world *w)
{
    world_create(w, PVCS, CLAIM("old", "standard"));
    world_patch_status(w, PVCS, "old", "{\"status\":{\"phase\":\"Bound\"}}");
    world_create(w, VMS,
                 VM("Manual", "\"updateVolumesStrategy\":\"Migration\",", SPEC("", PVC_VOLUME("old"), DISK("root"))));
    world_settle(w);
    world_patch_status(w, VMS, "vm", "{\"status\":{\"stateChangeRequests\":[{\"action\":\"Start\"}]}}");
    start_running(w);
}

static void change_claim(struct world *w, const char *claim)
{
    world_patch(w, VMS, "vm",
                kb_arena_printf(world_arena(w),
                                "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"root\","
                                "\"persistentVolumeClaim\":{\"claimName\":\"%s\"}}]}}}}",
                                claim));
    world_settle(w);
}

static void tell_volumes_change(struct world *w)
{
    world_patch(w, VMIS, "vm",
                "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"VolumesChange\","
                "\"status\":\"True\",\"message\":\"migrate volumes\"}]}}");
    world_settle(w);
}

static void a_changed_claim_is_migrated_to(void **state)
{
    struct world *w = *state;
    start_with_claim(w);
    world_create(w, PVCS, CLAIM("new", "standard"));
    change_claim(w, "new");
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/0/persistentVolumeClaim/claimName"), "new");
    assert_string_equal(world_text(w, VMIS, "vm", "/status/migratedVolumes/0/sourcePVCInfo/claimName"), "old");
    assert_string_equal(world_text(w, VMIS, "vm", "/status/migratedVolumes/0/destinationPVCInfo/claimName"), "new");
    assert_string_equal(
        world_text(w, VMS, "vm",
                   "/status/volumeUpdateState/volumeMigrationState/migratedVolumes/0/destinationPVCInfo/claimName"),
        "new");
    tell_volumes_change(w);
    world_writes(w);
    world_poke(w, "vm", "default/vm");
    assert_string_equal(world_writes(w), "");
}

static void putting_the_claim_back_cancels_the_move(void **state)
{
    struct world *w = *state;
    start_with_claim(w);
    world_create(w, PVCS, CLAIM("new", "standard"));
    change_claim(w, "new");
    tell_volumes_change(w);
    change_claim(w, "old");
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/0/persistentVolumeClaim/claimName"), "old");
    assert_string_equal(world_text(w, VMIS, "vm", "/status/migratedVolumes"), "");
    assert_string_equal(world_text(w, VMIS, "vm", "/status/conditions/1/reason"), "VolumesChangeCancellation");
    assert_string_equal(world_text(w, VMS, "vm", "/status/volumeUpdateState/volumeMigrationState"), "");
}

static void during_a_move_only_the_old_claim_is_taken(void **state)
{
    struct world *w = *state;
    start_with_claim(w);
    world_create(w, PVCS, CLAIM("new", "standard"));
    world_create(w, PVCS, CLAIM("third", "standard"));
    change_claim(w, "new");
    tell_volumes_change(w);
    world_patch(w, VMS, "vm", "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[" PVC_VOLUME("third") "]}}}}");
    world_step(w);
    expect_condition(w, "Failure", "True", "VolumesUpdateError",
                     "error encountered while handling volumes update requests: The volume can only be reverted to the "
                     "previous version during the update");
}

static void a_missing_target_is_told_of_and_awaited(void **state)
{
    struct world *w = *state;
    start_with_claim(w);
    change_claim(w, "new");
    assert_string_equal(world_text(w, VMIS, "vm", "/status/conditions/1/message"),
                        "One of the destination volumes doesn't exist: the pvc new doesn't exist");
    assert_string_equal(world_text(w, VMIS, "vm", "/status/migratedVolumes"), "");
    world_create(w, PVCS, CLAIM("new", "standard"));
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/status/migratedVolumes/0/volumeName"), "root");
    assert_string_equal(world_text(w, VMIS, "vm", "/status/conditions/1"), "");
}

static void a_target_that_is_about_to_be_bound_is_waited_for(void **state)
{
    struct world *w = *state;
    start_with_claim(w);
    world_create(w, PVCS, CLAIM("new", "standard"));
    world_patch(w, VMS, "vm", "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[" PVC_VOLUME("new") "]}}}}");
    world_step(w);
    world_step(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/status/migratedVolumes"), "");
    world_patch_status(w, PVCS, "new", "{\"status\":{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"2Gi\"}}}");
    world_step(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/status/migratedVolumes/0/destinationPVCInfo/capacity/storage"),
                        "2Gi");
}

#define TWO_VOLUMES(root, data)                                                                                        \
    "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[" PVC_VOLUME(root) "," DATA_VOLUME(data) "]}}}}"

/* The claim of the volume that moves is for one node, so that it can't be left out of the next move. */
static void another_volume_that_changes_during_a_move_needs_a_restart(void **state)
{
    struct world *w = *state;
    static const char *const claims[] = {CLAIM("old", "standard"), CLAIM("new", "standard"), CLAIM("data", "standard"),
                                         CLAIM("data-new", "standard")};
    for (size_t i = 0; i < KB_ARRAY_LEN(claims); i++)
        world_create(w, PVCS, claims[i]);
    world_create(w, VMS,
                 VM("Always", "\"updateVolumesStrategy\":\"Migration\",",
                    SPEC("", PVC_VOLUME("old") "," DATA_VOLUME("data"), DISK("root") "," DISK("data"))));
    start_running(w);
    world_patch(w, VMS, "vm", TWO_VOLUMES("new", "data"));
    world_settle(w);
    world_patch(w, VMIS, "vm",
                "{\"status\":{\"volumeStatus\":[{\"name\":\"root\",\"target\":\"\",\"persistentVolumeClaimInfo\":{"
                "\"claimName\":\"new\",\"accessModes\":[\"ReadWriteOnce\"]}}]}}");
    tell_volumes_change(w);
    world_patch(w, VMS, "vm", TWO_VOLUMES("new", "data-new"));
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/spec/volumes/1/persistentVolumeClaim/claimName"), "data");
    expect_condition(w, "VolumesChange", "True", "", "migrate volumes");
    expect_condition(w, "RestartRequired", "True", "",
                     "cannot migrate the VM. The volume root is RWO and not included in the migration volumes");
}

static void a_vmi_lost_during_a_move_needs_a_hand(void **state)
{
    struct world *w = *state;
    start_with_claim(w);
    world_create(w, PVCS, CLAIM("new", "standard"));
    change_claim(w, "new");
    tell_volumes_change(w);
    world_delete(w, VMIS, "vm");
    world_patch(w, VMIS, "vm", "{\"status\":{\"phase\":\"Failed\"}}");
    world_settle(w);
    assert_false(world_exists(w, VMIS, "vm"));
    expect_condition(w, "ManualRecoveryRequired", "True", "VMI was removed or was final during the volume migration",
                     "");
    world_patch_status(w, VMS, "vm", "{\"status\":{\"stateChangeRequests\":[{\"action\":\"Start\"}]}}");
    world_settle(w);
    assert_false(world_exists(w, VMIS, "vm"));
    change_claim(w, "old");
    expect_condition(w, "ManualRecoveryRequired", NULL, NULL, NULL);
    assert_true(world_exists(w, VMIS, "vm"));
}

/* ---- changed block tracking ---- */

static void chosen_namespaces_have_their_changed_blocks_tracked(void **state)
{
    struct world *w = *state;
    world_configure(w, "{\"developerConfiguration\":{\"featureGates\":[\"IncrementalBackup\"]},"
                       "\"changedBlockTrackingLabelSelectors\":{\"namespaceLabelSelector\":"
                       "{\"matchLabels\":{\"cbt\":\"on\"}}}}");
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    start_running(w);
    assert_string_equal(world_text(w, VMS, "vm", "/status/changedBlockTracking"), "");
    world_patch(w, "namespaces", "default", "{\"metadata\":{\"labels\":{\"cbt\":\"on\"}}}");
    world_settle(w);
    assert_string_equal(world_text(w, VMS, "vm", "/status/changedBlockTracking/state"), "PendingRestart");
    world_patch(w, VMIS, "vm", "{\"status\":{\"phase\":\"Succeeded\"}}");
    world_settle(w);
    assert_string_equal(world_text(w, VMIS, "vm", "/status/changedBlockTracking/state"), "Initializing");
    assert_string_equal(world_text(w, VMS, "vm", "/status/changedBlockTracking/state"), "Initializing");
}

/* ---- claims that are not bound ---- */

static void a_stopped_vm_stays_stopped_whatever_its_claim_does(void **state)
{
    struct world *w = *state;
    world_create(w, PVCS, CLAIM("old", "standard"));
    world_patch_status(w, PVCS, "old", "{\"status\":{\"phase\":\"Bound\"}}");
    world_create(w, VMS, VM("RerunOnFailure", "", SPEC("", PVC_VOLUME("old"), DISK("root"))));
    start_running(w);
    world_patch_status(w, VMS, "vm",
                       kb_arena_printf(world_arena(w),
                                       "{\"status\":{\"stateChangeRequests\":[{\"action\":\"Stop\",\"uid\":\"%s\"}]}}",
                                       world_text(w, VMIS, "vm", "/metadata/uid")));
    world_settle(w);
    world_patch(w, VMIS, "vm", "{\"status\":{\"phase\":\"Succeeded\"}}");
    world_settle(w);
    assert_false(world_exists(w, VMIS, "vm"));
    world_patch_status(w, PVCS, "old", "{\"status\":{\"phase\":\"Pending\"}}");
    world_settle(w);
    expect_status(w, "Stopped");
}

static void a_claim_without_its_class_is_told_of(void **state)
{
    struct world *w = *state;
    world_create(w, PVCS, CLAIM("old", "fast"));
    world_patch_status(w, PVCS, "old", "{\"status\":{\"phase\":\"Pending\"}}");
    world_create(w, VMS, VM("Always", "", SPEC("", PVC_VOLUME("old"), DISK("root"))));
    world_settle(w);
    expect_status(w, "WaitingForVolumeBinding");
    expect_condition(w, "ClaimsUnbound", "True", "StorageClassNotFound",
                     "PersistentVolumeClaim old is not bound: its StorageClass fast does not exist");
    world_create(w, CLASSES, "{\"metadata\":{\"name\":\"fast\"},\"provisioner\":\"csi.example.com\"}");
    world_settle(w);
    expect_condition(w, "ClaimsUnbound", "True", "ProvisionerIsSlow",
                     "PersistentVolumeClaim old is not bound: provisioner csi.example.com of its StorageClass fast has "
                     "not made a volume yet");
    world_patch_status(w, PVCS, "old", "{\"status\":{\"phase\":\"Bound\"}}");
    world_settle(w);
    expect_condition(w, "ClaimsUnbound", NULL, NULL, NULL);
}

/* ---- snapshot statuses ---- */

static void a_lost_claim_of_a_running_vm_is_nothing_to_wait_for(void **state)
{
    struct world *w = *state;
    world_create(w, PVCS, CLAIM("old", "standard"));
    world_patch_status(w, PVCS, "old", "{\"status\":{\"phase\":\"Lost\"}}");
    world_create(w, VMS, VM("Always", "", SPEC("", PVC_VOLUME("old"), DISK("root"))));
    world_settle(w);
    expect_condition(w, "ClaimsUnbound", "True", "ClaimLost",
                     "PersistentVolumeClaim old is not bound: its PersistentVolume is gone");
    start_running(w);
    expect_condition(w, "ClaimsUnbound", NULL, NULL, NULL);
}

static void a_snapshot_class_brings_the_vms_back(void **state)
{
    struct world *w = *state;
    world_create(w, PVCS, CLAIM("old", "standard"));
    world_create(w, VMS, VM("Halted", "", SPEC("", PVC_VOLUME("old"), DISK("root"))));
    world_settle(w);
    assert_string_equal(world_text(w, VMS, "vm", "/status/volumeSnapshotStatuses/0/enabled"), "false");
    world_create(w, SNAPSHOTS,
                 "{\"metadata\":{\"name\":\"s\"},\"driver\":\"csi.example.com\",\"deletionPolicy\":\"Delete\"}");
    world_settle(w);
    assert_string_equal(world_text(w, VMS, "vm", "/status/volumeSnapshotStatuses/0/enabled"), "true");
}

static void the_same_statuses_in_another_order_are_not_written(void **state)
{
    struct world *w = *state;
    world_create(w, PVCS, CLAIM("extra", "standard"));
    world_create(w, VMS, VM("Halted", "", SPEC("", CONTAINER_DISK "," EXTRA_VOLUME, DISK("root") "," DISK("extra"))));
    world_settle(w);
    world_writes(w);
    world_patch(w, VMS, "vm",
                "{\"spec\":{\"template\":{\"spec\":{\"volumes\":[" EXTRA_VOLUME "," CONTAINER_DISK "]}}}}");
    world_settle(w);
    assert_string_equal(world_writes(w), "");
}

/* ---- whatever fails ---- */

static void play_data_volumes(struct world *w)
{
    world_create(w, "namespaces", "{\"metadata\":{\"name\":\"images\"}}");
    world_create(w, VMS, VM("Always", TEMPLATES(GOLDEN), SPEC("", DV_VOLUME("root-dv"), DISK("root"))));
    world_settle(w);
    world_patch_status(w, DVS, "root-dv", "{\"status\":{\"phase\":\"Succeeded\"}}");
}

static const char *started_vm(struct world *w)
{
    return kb_arena_printf(world_arena(w), "%s %s %s", world_text(w, VMS, "vm", "/status/printableStatus"),
                           world_text(w, VMIS, "vm", "/metadata/ownerReferences/0/name"),
                           world_text(w, DVS, "root-dv", "/spec/source"));
}

static void a_vm_gets_its_data_volume_and_starts_whatever_fails(void **state)
{
    (void)state;
    world_play_sweep(&(struct world_sweep){.add_controller = virt_vm_controller_add,
                                           .scenario = play_data_volumes,
                                           .digest = started_vm,
                                           .controller = "vm",
                                           .key = "default/vm"});
}

static void play_volumes(struct world *w)
{
    world_create(w, PVCS, CLAIM("dump", "standard"));
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    start_running(w);
    world_patch(w, VMS, "vm", WITH_EXTRA);
    world_settle(w);
    world_patch_status(w, VMS, "vm",
                       "{\"status\":{\"memoryDumpRequest\":{\"claimName\":\"dump\",\"phase\":\"Associating\"}}}");
    world_settle(w);
    report_dump(w, "[{\"name\":\"dump\",\"target\":\"\",\"phase\":\"MemoryDumpFailed\",\"message\":\"no room\","
                   "\"memoryDumpVolume\":{\"claimName\":\"dump\"}}]");
    report_dump(w, "null");
}

static const char *volumes_of_vm(struct world *w)
{
    return kb_arena_printf(world_arena(w), "%s %s %s %s", world_text(w, VMS, "vm", "/spec/template/spec/volumes"),
                           world_text(w, VMIS, "vm", "/spec/volumes"),
                           world_text(w, VMS, "vm", "/status/memoryDumpRequest"),
                           world_text(w, PVCS, "dump", "/metadata/annotations"));
}

static void volumes_get_where_they_belong_whatever_fails(void **state)
{
    (void)state;
    world_play_sweep(&(struct world_sweep){.add_controller = virt_vm_controller_add,
                                           .scenario = play_volumes,
                                           .digest = volumes_of_vm,
                                           .controller = "vm",
                                           .key = "default/vm"});
}

static void play_move(struct world *w)
{
    start_with_claim(w);
    world_create(w, PVCS, CLAIM("new", "standard"));
    world_patch_status(w, PVCS, "new", "{\"status\":{\"phase\":\"Bound\"}}");
    change_claim(w, "new");
    tell_volumes_change(w);
    change_claim(w, "old");
}

static const char *end_of_move(struct world *w)
{
    return kb_arena_printf(world_arena(w), "%s %s %s %s", world_text(w, VMIS, "vm", "/spec/volumes"),
                           world_text(w, VMIS, "vm", "/status/migratedVolumes"),
                           world_text(w, VMIS, "vm", "/status/conditions/1/reason"),
                           world_text(w, VMS, "vm", "/status/volumeUpdateState"));
}

static void a_move_is_cancelled_whatever_fails(void **state)
{
    (void)state;
    world_play_sweep(&(struct world_sweep){.add_controller = virt_vm_controller_add,
                                           .scenario = play_move,
                                           .digest = end_of_move,
                                           .controller = "vm",
                                           .key = "default/vm"});
}

static void play_requests(struct world *w)
{
    world_create(w, VMS, VM("Always", "", SPEC("", CONTAINER_DISK, DISK("root"))));
    start_running(w);
    world_patch_status(w, VMS, "vm", ADD_EXTRA);
}

static const char *requested_volumes(struct world *w)
{
    return kb_arena_printf(world_arena(w), "%s %s %s %s", world_text(w, VMS, "vm", "/spec/template/spec/volumes"),
                           world_text(w, VMIS, "vm", "/spec/volumes"),
                           world_text(w, VMIS, "vm", "/spec/domain/devices/disks"),
                           world_text(w, VMS, "vm", "/status/volumeRequests"));
}

static void a_requested_volume_is_plugged_once_whatever_fails(void **state)
{
    (void)state;
    world_play_sweep(&(struct world_sweep){.add_controller = virt_vm_controller_add,
                                           .scenario = play_requests,
                                           .digest = requested_volumes,
                                           .controller = "vm",
                                           .key = "default/vm"});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(templates_become_data_volumes_that_the_vm_owns),
        TEST(a_data_volume_that_the_cache_lacks_is_no_failure),
        TEST(a_vmi_that_the_cache_lacks_is_no_failure),
        TEST(a_vm_starts_when_its_data_volume_is_populated),
        TEST(data_volumes_that_nobody_owns_are_adopted),
        TEST(cloning_from_elsewhere_needs_leave_for_the_service_account),
        TEST(a_populated_data_volume_needs_no_leave),
        TEST(snapshots_need_leave_for_pods_and_claims),
        TEST(a_data_source_is_resolved),
        TEST(a_missing_data_source_is_told_of_and_awaited),
        TEST(a_data_volume_over_the_quota_is_told_of),
        TEST(a_requested_volume_is_plugged_into_vmi_and_template),
        TEST(a_request_that_the_vmi_refuses_stays_open),
        TEST(a_declared_volume_comes_and_goes_with_the_template),
        TEST(the_old_gate_switches_declaration_off),
        TEST(a_memory_dump_goes_through_its_phases),
        TEST(a_changed_claim_is_migrated_to),
        TEST(putting_the_claim_back_cancels_the_move),
        TEST(during_a_move_only_the_old_claim_is_taken),
        TEST(a_missing_target_is_told_of_and_awaited),
        TEST(a_target_that_is_about_to_be_bound_is_waited_for),
        TEST(another_volume_that_changes_during_a_move_needs_a_restart),
        TEST(a_vmi_lost_during_a_move_needs_a_hand),
        TEST(chosen_namespaces_have_their_changed_blocks_tracked),
        TEST(a_stopped_vm_stays_stopped_whatever_its_claim_does),
        TEST(a_claim_without_its_class_is_told_of),
        TEST(a_lost_claim_of_a_running_vm_is_nothing_to_wait_for),
        TEST(a_snapshot_class_brings_the_vms_back),
        TEST(the_same_statuses_in_another_order_are_not_written),
        cmocka_unit_test(a_vm_gets_its_data_volume_and_starts_whatever_fails),
        cmocka_unit_test(volumes_get_where_they_belong_whatever_fails),
        cmocka_unit_test(a_move_is_cancelled_whatever_fails),
        cmocka_unit_test(a_requested_volume_is_plugged_once_whatever_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
