/* Tests of the VMI controller: volumes that come and go while the guest runs. */
#include "base/strings.h"
#include "virt/conditions.h"
#include "vmi.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define DISK(name)                                                                                                     \
    "{\"name\":\"" name "\",\"persistentVolumeClaim\":{\"claimName\":\"" name "\",\"hotpluggable\":true}}"
#define PODS "hp-volume-"

/* ---- surroundings ---- */

static void create_claim(struct cluster *c, const char *name)
{
    char json[512];

    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{"
        "\"storage\":\"1Gi\"}}}}",
        name);
    cluster_create(c, "persistentvolumeclaims", json);
    cluster_patch(c, "persistentvolumeclaims/status", name,
                  "{\"status\":{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"1Gi\"}}}");
}

static void set_volumes(struct cluster *c, const char *vmi, const char *volumes)
{
    char json[1024];

    snprintf(json, sizeof json, "{\"spec\":{\"volumes\":[%s]}}", volumes);
    cluster_patch(c, VMIS, vmi, json);
    cluster_settle(c);
}

static void run_attachments(struct cluster *c)
{
    const struct cluster_list pods = cluster_list(c, &core_pod_type);

    for (size_t i = 0; i < pods.n; i++) {
        const struct core_pod *pod = pods.items[i];

        if (kb_streq(pod->metadata.generate_name, PODS) && kb_streq(pod->status.phase, "Pending"))
            cluster_patch(c, "pods/status", pod->metadata.name,
                          "{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"hotplug-disk\","
                          "\"image\":\"\",\"imageID\":\"\",\"ready\":true,\"restartCount\":0}]}}");
    }
    cluster_settle(c);
}

static const struct kv_volume_status *status_of(struct cluster *c, const char *volume)
{
    const struct kv_vmi *vmi = vmi_get(c); /* each call makes another copy */

    api_list_foreach (status, &vmi->status.volume_status)
        if (kb_streq(status->name, volume))
            return status;
    return NULL;
}

/* virt-handler brings all that is attached into the guest, and lets go of what is not wanted any more. */
static void set_phases(struct cluster *c, const char *vmi_name, const char *phase)
{
    const struct kv_vmi *vmi = cluster_get(c, &kv_vmi_type, vmi_name);
    struct kb_arena *arena = kb_arena_new();
    struct kb_strbuf patch = {.arena = arena};

    api_list_foreach (status, &vmi->status.volume_status) {
        struct kv_volume_status moved = *status;

        moved.phase = phase;
        kb_strbuf_printf(&patch, "%s%s", patch.length ? "," : "",
                         api_encode_text(arena, &kv_volume_status_type, &moved, 0));
    }
    cluster_patch(c, VMIS, vmi_name,
                  kb_arena_printf(arena, "{\"status\":{\"volumeStatus\":[%s]}}", kb_strbuf_text(&patch)));
    cluster_settle(c);
    kb_arena_free(arena);
}

static void bring_up(struct cluster *c)
{
    vmi_bring_up(c, "");
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"selinuxContext\":\"none\"}}");
    cluster_settle(c);
}

static void plug(struct cluster *c)
{
    create_claim(c, "a");
    set_volumes(c, "vmi1", DISK("a"));
    run_attachments(c);
    assert_string_equal(status_of(c, "a")->phase, "AttachedToNode");
    set_phases(c, "vmi1", "Ready");
}

/* The claim becomes that of the DataVolume of its name. */
static void give_to_data_volume(struct cluster *c, const char *name)
{
    const struct cdi_data_volume *dv = cluster_get(c, &cdi_data_volume_type, name);

    cluster_patch(c, "persistentvolumeclaims", name,
                  kb_arena_printf(cluster_arena(c),
                                  "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"cdi.kubevirt.io/v1beta1\","
                                  "\"kind\":\"DataVolume\",\"name\":\"%s\",\"uid\":\"%s\",\"controller\":true}]}}",
                                  name, dv->metadata.uid));
}

/* ---- in ---- */

static void a_volume_is_attached_through_a_pod(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    create_claim(c, "a");
    set_volumes(c, "vmi1", DISK("a"));
    assert_int_equal(vmi_pods(c, PODS), 1);
    assert_string_equal(status_of(c, "a")->phase, "AttachedToNode");
    assert_string_equal(status_of(c, "a")->hotplug_volume->attach_pod_uid, "");
    run_attachments(c);
    assert_true(*status_of(c, "a")->hotplug_volume->attach_pod_uid);
    assert_string_equal(status_of(c, "a")->persistent_volume_claim_info->claim_name, "a");
    assert_non_null(strstr(cluster_events(c), "Normal SuccessfulCreate Created attachment pod hp-volume-"));
    assert_non_null(strstr(cluster_events(c), ", for volume a\n"));
}

static void a_missing_claim_is_told_of_and_waited_for(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    set_volumes(c, "vmi1", DISK("a"));
    assert_string_equal(status_of(c, "a")->phase, "Pending");
    assert_string_equal(status_of(c, "a")->message, "PVC a not found");
    create_claim(c, "a");
    cluster_advance(c, 10 * KB_NS_PER_S);
    assert_string_equal(status_of(c, "a")->phase, "AttachedToNode");
}

static void a_second_volume_replaces_the_pod_when_the_new_one_runs(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    plug(c);
    create_claim(c, "b");
    set_volumes(c, "vmi1", DISK("a") "," DISK("b"));
    assert_int_equal(vmi_pods(c, PODS), 2);
    run_attachments(c);
    assert_int_equal(vmi_pods(c, PODS), 1);
    assert_string_equal(status_of(c, "a")->phase, "Ready");
    assert_string_equal(status_of(c, "b")->phase, "AttachedToNode");
}

static void a_volume_that_is_not_ready_does_not_send_others_back(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    create_claim(c, "a");
    set_volumes(c, "vmi1", DISK("a"));
    run_attachments(c);
    set_volumes(c, "vmi1", DISK("a") "," DISK("b"));
    assert_string_equal(status_of(c, "a")->phase, "AttachedToNode");
    assert_int_equal(vmi_pods(c, PODS), 1);
}

static void a_volume_that_is_not_ready_holds_others_up_for_a_while_only(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    cluster_create(c, "datavolumes.cdi.kubevirt.io",
                   "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"source\":{\"blank\":{}}}}");
    create_claim(c, "a");
    create_claim(c, "b");
    give_to_data_volume(c, "b");
    set_volumes(c, "vmi1", DISK("a") "," DISK("b"));
    assert_int_equal(vmi_pods(c, PODS), 1);
    run_attachments(c);
    assert_string_equal(status_of(c, "a")->phase, "Bound");
    cluster_advance(c, 31 * KB_NS_PER_S);
    assert_string_equal(status_of(c, "a")->phase, "AttachedToNode");
    assert_string_equal(status_of(c, "b")->phase, "Bound");
}

static void nothing_is_attached_before_the_guest_runs(void **state)
{
    struct cluster *c = *state;

    create_claim(c, "a");
    vmi_bring_up(c, ",\"volumes\":[" DISK("a") "]");
    assert_int_equal(vmi_pods(c, PODS), 0);
    assert_string_equal(vmi_condition(c, "Synchronized"), "");
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"selinuxContext\":\"none\"}}");
    cluster_settle(c);
    assert_int_equal(vmi_pods(c, PODS), 1);
}

static void a_claim_that_waits_for_a_consumer_gets_one(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    cluster_create(c, "datavolumes.cdi.kubevirt.io",
                   "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"source\":{\"blank\":{}}}}");
    cluster_patch(c, "datavolumes.cdi.kubevirt.io/status", "d", "{\"status\":{\"phase\":\"WaitForFirstConsumer\"}}");
    create_claim(c, "d");
    give_to_data_volume(c, "d");
    set_volumes(c, "vmi1", "{\"name\":\"d\",\"dataVolume\":{\"name\":\"d\",\"hotpluggable\":true}}");
    assert_int_equal(vmi_pods(c, PODS), 1);
    cluster_patch(c, VMIS, "vmi1", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    cluster_advance(c, 30 * KB_NS_PER_S);
    assert_int_equal(vmi_pods(c, PODS), 1);
    assert_int_equal(script_count(cluster_script(c), "POST", "/api/v1/namespaces/ns/pods"), 2);
}

/* ---- out ---- */

static void a_removed_volume_goes_when_the_guest_has_let_go(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    plug(c);
    set_volumes(c, "vmi1", "");
    assert_int_equal(vmi_pods(c, PODS), 1);
    assert_string_equal(status_of(c, "a")->phase, "Ready");
    set_phases(c, "vmi1", "UnMountedFromPod");
    cluster_advance(c, 30 * KB_NS_PER_S);
    assert_int_equal(vmi_pods(c, PODS), 0);
    assert_null(status_of(c, "a"));
    assert_null(strstr(cluster_events(c), "Deleted hotplug attachment pod"));
}

static void a_pod_that_takes_its_time_to_go_is_told_of(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    plug(c);
    cluster_patch(c, "pods", status_of(c, "a")->hotplug_volume->attach_pod_name,
                  "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}");
    set_volumes(c, "vmi1", "");
    set_phases(c, "vmi1", "UnMountedFromPod");
    assert_string_equal(status_of(c, "a")->phase, "Detaching");
    assert_null(strstr(cluster_events(c), "Deleted hotplug attachment pod"));
    cluster_advance(c, 3 * KB_NS_PER_S);
    assert_non_null(strstr(cluster_events(c), "Deleted hotplug attachment pod"));
}

static void a_volume_that_comes_back_while_it_goes_is_attached_again(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    plug(c);
    cluster_hold(c, VIRT_POD);
    set_volumes(c, "vmi1", "");
    set_phases(c, "vmi1", "UnMountedFromPod");
    set_volumes(c, "vmi1", DISK("a"));
    cluster_let_go(c, VIRT_POD, false);
    cluster_advance(c, 30 * KB_NS_PER_S);
    run_attachments(c);
    cluster_advance(c, 30 * KB_NS_PER_S);
    assert_int_equal(vmi_pods(c, PODS), 1);
    assert_string_equal(status_of(c, "a")->phase, "AttachedToNode");
}

static void attachments_go_with_a_deleted_instance(void **state)
{
    struct cluster *c = *state;
    const char *launcher;

    bring_up(c);
    plug(c);
    launcher = vmi_pod(c)->metadata.name;
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"phase\":\"Succeeded\"}}");
    cluster_patch(c, "pods/status", launcher, "{\"status\":{\"phase\":\"Succeeded\"}}");
    cluster_settle(c);
    assert_int_equal(vmi_pods(c, PODS), 0);
}

/* ---- two ---- */

static void bring_up_another(struct cluster *c)
{
    const struct cluster_list *pods;
    struct cluster_list all;

    cluster_create(c, VMIS,
                   "{\"metadata\":{\"name\":\"vmi2\"},\"spec\":{\"architecture\":\"amd64\",\"domain\":{\"devices\":{},"
                   "\"resources\":{\"requests\":{\"memory\":\"64Mi\"}}}}}");
    cluster_settle(c);
    all = cluster_list(c, &core_pod_type);
    pods = &all;
    for (size_t i = 0; i < pods->n; i++) {
        const struct core_pod *pod = pods->items[i];

        if (!kb_streq(pod->metadata.generate_name, "virt-launcher-vmi2-"))
            continue;
        cluster_bind(c, pod->metadata.name, "node01");
        vmi_run_pod(c, pod->metadata.name);
    }
    cluster_settle(c);
    cluster_patch(c, VMIS, "vmi2", "{\"status\":{\"phase\":\"Running\",\"selinuxContext\":\"none\"}}");
    cluster_settle(c);
}

/* Which instance's attachment Pods hold a claim, as "1", "2", "12", "". */
static const char *holders(struct cluster *c, const char *claim)
{
    static char text[8];
    const struct cluster_list pods = cluster_list(c, &core_pod_type);
    bool holds[2] = {0};

    for (size_t i = 0; i < pods.n; i++) {
        const struct core_pod *pod = pods.items[i];

        api_list_foreach (volume, &pod->spec.volumes)
            if (volume->persistent_volume_claim && kb_streq(volume->persistent_volume_claim->claim_name, claim))
                holds[strstr(pod->metadata.owner_references.items[0].name, "vmi2") != NULL] = true;
    }
    snprintf(text, sizeof text, "%s%s", holds[0] ? "1" : "", holds[1] ? "2" : "");
    return text;
}

static void two_instances_can_swap_claims(void **state)
{
    struct cluster *c = *state;

    bring_up(c);
    bring_up_another(c);
    create_claim(c, "x");
    create_claim(c, "y");
    create_claim(c, "z");
    create_claim(c, "w");
    set_volumes(c, "vmi1", DISK("x") "," DISK("z"));
    set_volumes(c, "vmi2", DISK("y") "," DISK("w"));
    run_attachments(c);
    set_phases(c, "vmi1", "Ready");
    set_phases(c, "vmi2", "Ready");

    cluster_patch(c, VMIS, "vmi1", "{\"spec\":{\"volumes\":[" DISK("y") "," DISK("z") "]}}");
    set_volumes(c, "vmi2", DISK("x") "," DISK("w"));
    set_phases(c, "vmi1", "UnMountedFromPod");
    set_phases(c, "vmi2", "UnMountedFromPod");
    for (int i = 0; i < 6; i++) {
        /* As the scheduler and the kubelet would: no Pod runs with a claim that another one still has. */
        if (!strchr(holders(c, "x"), '1') || !strchr(holders(c, "x"), '2'))
            run_attachments(c);
        cluster_advance(c, 10 * KB_NS_PER_S);
    }
    assert_string_equal(holders(c, "x"), "2");
    assert_string_equal(holders(c, "y"), "1");
    assert_string_equal(holders(c, "z"), "1");
    assert_string_equal(holders(c, "w"), "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VMI_TEST(a_volume_is_attached_through_a_pod),
        VMI_TEST(a_missing_claim_is_told_of_and_waited_for),
        VMI_TEST(a_second_volume_replaces_the_pod_when_the_new_one_runs),
        VMI_TEST(a_volume_that_is_not_ready_does_not_send_others_back),
        VMI_TEST(a_volume_that_is_not_ready_holds_others_up_for_a_while_only),
        VMI_TEST(nothing_is_attached_before_the_guest_runs),
        VMI_TEST(a_claim_that_waits_for_a_consumer_gets_one),
        VMI_TEST(a_removed_volume_goes_when_the_guest_has_let_go),
        VMI_TEST(a_pod_that_takes_its_time_to_go_is_told_of),
        VMI_TEST(a_volume_that_comes_back_while_it_goes_is_attached_again),
        VMI_TEST(attachments_go_with_a_deleted_instance),
        VMI_TEST(two_instances_can_swap_claims),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
