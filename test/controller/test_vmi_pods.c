/* Tests of the VMI controller: Pods in states that others brought about, and what is told of them. */
#include "base/strings.h"
#include "virt/conditions.h"
#include "vmi.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EVICT_ONLY "descheduler.alpha.kubernetes.io/request-evict-only"
#define EVICTING   "descheduler.alpha.kubernetes.io/eviction-in-progress"
#define DVS        "datavolumes.cdi.kubevirt.io"
#define MIGRATIONS "virtualmachineinstancemigrations.kubevirt.io"
#define LONG       (10 * 60 * KB_NS_PER_S)

static bool is_marked(struct cluster *c, const char *annotation)
{
    return api_map_has(&vmi_pod(c)->metadata.annotations, annotation);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    while ((text = strstr(text, what))) {
        text += strlen(what);
        n++;
    }
    return n;
}

/* ---- marks for the descheduler ---- */

static void a_volume_that_can_not_be_plugged_leaves_the_marks_alone(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_patch(c, VMIS, "vmi1",
                  "{\"spec\":{\"volumes\":[{\"name\":\"a\",\"persistentVolumeClaim\":{\"claimName\":\"none\","
                  "\"hotpluggable\":true}}]}}");
    cluster_patch(c, "pods", vmi_pod(c)->metadata.name, "{\"metadata\":{\"annotations\":{\"" EVICT_ONLY "\":null}}}");
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"evacuationNodeName\":\"node01\"}}");
    cluster_settle(c);
    assert_true(is_marked(c, EVICT_ONLY));
    assert_true(is_marked(c, EVICTING));
}

static void a_lost_claim_holds_the_marks_back(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_patch(c, VMIS, "vmi1",
                  "{\"spec\":{\"volumes\":[{\"name\":\"a\",\"persistentVolumeClaim\":{\"claimName\":\"none\"}}]},"
                  "\"status\":{\"evacuationNodeName\":\"node01\"}}");
    cluster_settle(c);
    assert_false(is_marked(c, EVICTING));
}

/* ---- what a Pod says ---- */

static void a_pod_without_guarantee_is_told_of_once(void **state)
{
    struct cluster *c = *state;
    size_t reads;

    vmi_create(c, "");
    cluster_advance(c, 2 * KB_NS_PER_S);
    cluster_patch(c, VMIS, "vmi1", "{\"spec\":{\"domain\":{\"cpu\":{\"dedicatedCpuPlacement\":true}}}}");
    cluster_bind(c, vmi_pod(c)->metadata.name, "node01");
    vmi_run_pod(c, vmi_pod(c)->metadata.name);
    cluster_settle(c);
    vmi_assert_phase(c, "Scheduling");
    assert_string_equal(vmi_condition(c, "Synchronized"), "False FailedGuaranteeResources");
    assert_true(is_marked(c, EVICT_ONLY));
    reads = script_count(cluster_script(c), "*", "*/events*");
    cluster_writes(c);
    cluster_advance(c, 20 * KB_NS_PER_S); /* the Pod's change will wake it: no attempt is made before */
    assert_int_equal(script_count(cluster_script(c), "*", "*/events*"), reads);
    assert_string_equal(cluster_writes(c), "");
}

static void memory_that_was_not_told_of_has_not_changed(void **state)
{
    struct cluster *c = *state;

    vmi_bring_up(c, "");
    cluster_patch(c, VMIS, "vmi1",
                  "{\"spec\":{\"domain\":{\"memory\":{\"guest\":\"1Gi\",\"maxGuest\":\"4Gi\"}}},"
                  "\"status\":{\"memory\":{\"memoryOverhead\":\"100Mi\"}}}");
    cluster_settle(c);
    assert_string_equal(vmi_condition(c, "HotMemoryChange"), "");
    cluster_patch(c, VMIS, "vmi1", "{\"status\":{\"memory\":{\"guestRequested\":\"2Gi\"}}}");
    cluster_settle(c);
    assert_string_equal(vmi_condition(c, "HotMemoryChange"), "True ");
}

static void probes_are_kept_as_their_pod_has_them(void **state)
{
    struct cluster *c = *state;
    const struct kv_probe *liveness, *readiness;
    const struct core_probe *of_pod;

    vmi_create(c, ",\"livenessProbe\":{\"exec\":{\"command\":[\"cat\",\"/x\"]},\"timeoutSeconds\":4},"
                  "\"readinessProbe\":{\"guestAgentPing\":{},\"exec\":{\"command\":[\"cat\"]}}");
    cluster_advance(c, 2 * KB_NS_PER_S);
    liveness = vmi_get(c)->spec.liveness_probe;
    readiness = vmi_get(c)->spec.readiness_probe;
    of_pod = vmi_pod(c)->spec.containers.items[0].liveness_probe;
    assert_int_equal(liveness->timeout_seconds, 4);
    assert_int_equal(of_pod->timeout_seconds, 5);
    assert_int_equal(liveness->exec->command.n, 9);
    assert_int_equal(of_pod->exec->command.n, 9);
    for (size_t i = 0; i < 9; i++)
        assert_string_equal(liveness->exec->command.items[i], of_pod->exec->command.items[i]);
    assert_string_equal(liveness->exec->command.items[0], "virt-probe");
    assert_string_equal(liveness->exec->command.items[4], "4");
    assert_string_equal(readiness->exec->command.items[0], "cat");
}

/* ---- claims ---- */

static void a_claim_that_goes_is_told_of_with_the_next_change(void **state)
{
    struct cluster *c = *state;

    cluster_create(c, "persistentvolumeclaims",
                   "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":"
                   "{\"requests\":{\"storage\":\"1Gi\"}}}}");
    cluster_settle(c);
    vmi_bring_up(c, ",\"volumes\":[{\"name\":\"a\",\"persistentVolumeClaim\":{\"claimName\":\"a\"}}]");
    cluster_patch(c, "persistentvolumeclaims", "a", "{\"metadata\":{\"finalizers\":null}}");
    cluster_delete(c, "persistentvolumeclaims", "a");
    cluster_settle(c);
    assert_null(strstr(cluster_events(c), "FailedPvcNotFound"));
    cluster_patch(c, VMIS, "vmi1", "{\"metadata\":{\"annotations\":{\"example.com/poke\":\"1\"}}}");
    cluster_settle(c);
    assert_non_null(strstr(cluster_events(c), "FailedPvcNotFound"));
}

/* ---- the claim of persistent state ---- */

static void a_claim_of_old_is_waited_for_and_left_as_it_is(void **state)
{
    struct cluster *c = *state;
    const struct core_pvc *claim;

    cluster_create(
        c, "persistentvolumeclaims",
        "{\"metadata\":{\"name\":\"persistent-state-for-vmi1\"},\"spec\":{\"accessModes\":"
        "[\"ReadWriteOnce\"],\"storageClassName\":\"\",\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}");
    cluster_create(
        c, VMIS,
        "{\"metadata\":{\"name\":\"vmi1\"},\"spec\":{\"domain\":{\"devices\":{\"tpm\":{\"persistent\":true}},"
        "\"resources\":{}}}}");
    cluster_settle(c);
    assert_null(vmi_pod(c));
    cluster_patch(c, "persistentvolumeclaims/status", "persistent-state-for-vmi1",
                  "{\"status\":{\"phase\":\"Bound\"}}");
    cluster_settle(c); /* no time goes by: the claim itself brings the instance back */
    assert_non_null(vmi_pod(c));
    claim = cluster_get(c, &core_pvc_type, "persistent-state-for-vmi1");
    assert_int_equal(claim->metadata.labels.n, 0);
}

/* ---- stand-ins for claims that wait for their first consumer ---- */

static void create_waiting_volume(struct cluster *c)
{
    const struct cdi_data_volume *volume;

    cluster_create(c, DVS, "{\"metadata\":{\"name\":\"a\"},\"spec\":{}}");
    cluster_patch(c, DVS "/status", "a", "{\"status\":{\"phase\":\"WaitForFirstConsumer\"}}");
    volume = cluster_get(c, &cdi_data_volume_type, "a");
    cluster_create(c, "persistentvolumeclaims",
                   kb_arena_printf(cluster_arena(c),
                                   "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"apiVersion\":"
                                   "\"cdi.kubevirt.io/v1beta1\",\"kind\":\"DataVolume\",\"name\":\"a\",\"uid\":\"%s\","
                                   "\"controller\":true}]},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":"
                                   "{\"requests\":{\"storage\":\"1Gi\"}}}}",
                                   volume->metadata.uid));
}

static void a_stand_in_stays_until_it_has_run(void **state)
{
    struct cluster *c = *state;
    const char *stand_in;

    create_waiting_volume(c);
    vmi_create(c, ",\"volumes\":[{\"name\":\"a\",\"dataVolume\":{\"name\":\"a\"}}]");
    cluster_settle(c);
    vmi_assert_phase(c, "Pending");
    assert_string_equal(vmi_condition(c, "Provisioning"), "True ");
    stand_in = vmi_pod(c)->metadata.name;
    cluster_patch(c, DVS "/status", "a", "{\"status\":{\"phase\":\"Succeeded\"}}");
    cluster_settle(c);
    assert_string_equal(vmi_pod(c)->metadata.name, stand_in);
    /* told as if it were so */
    assert_int_equal(count(cluster_events(c), "Deleted WaitForFirstConsumer temporary pod"), 1);
    cluster_bind(c, stand_in, "node01");
    vmi_run_pod(c, stand_in);
    cluster_settle(c);
    cluster_advance(c, 2 * KB_NS_PER_S);
    assert_string_not_equal(vmi_pod(c)->metadata.name, stand_in);
    vmi_assert_phase(c, "Scheduling");
    assert_string_equal(vmi_condition(c, "Provisioning"), "");
}

/* ---- migrations ---- */

static void migrate(struct cluster *c, const char *spec, const char *phase)
{
    cluster_create(
        c, MIGRATIONS,
        kb_arena_printf(cluster_arena(c), "{\"metadata\":{\"name\":\"m\"},\"spec\":{\"vmiName\":\"vmi1\"%s}}", spec));
    cluster_patch(c, MIGRATIONS "/status", "m",
                  kb_arena_printf(cluster_arena(c), "{\"status\":{\"phase\":\"%s\"}}", phase));
}

static void a_running_migration_of_that_name_holds_the_pod_back(void **state)
{
    struct cluster *c = *state;

    migrate(c, "", "TargetReady");
    vmi_create(c, "");
    cluster_settle(c);
    assert_null(vmi_pod(c));
    assert_string_equal(vmi_condition(c, "Synchronized"), "False FailedCreate");
    cluster_patch(c, MIGRATIONS "/status", "m", "{\"status\":{\"phase\":\"Succeeded\"}}");
    cluster_advance(c, LONG);
    vmi_assert_phase(c, "Scheduling");
}

static void migrations_that_make_no_pod_here_do_not_count(void **state)
{
    static const struct {
        const char *spec, *phase;
    } idle[] = {
        {"", "WaitingForSync"},
        {"", "Synchronizing"},
        {",\"sendTo\":{\"migrationID\":\"x\",\"connectURL\":\"192.0.2.1\"}", "Scheduling"},
    };
    struct cluster *c;

    for (size_t i = 0; i < KB_ARRAY_LEN(idle); i++) {
        if (i > 0)
            vmi_set_up(state);
        c = *state;
        migrate(c, idle[i].spec, idle[i].phase);
        vmi_create(c, "");
        cluster_settle(c);
        assert_non_null(vmi_pod(c));
        if (i + 1 < KB_ARRAY_LEN(idle))
            vmi_tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VMI_TEST(a_volume_that_can_not_be_plugged_leaves_the_marks_alone),
        VMI_TEST(a_lost_claim_holds_the_marks_back),
        VMI_TEST(a_pod_without_guarantee_is_told_of_once),
        VMI_TEST(memory_that_was_not_told_of_has_not_changed),
        VMI_TEST(probes_are_kept_as_their_pod_has_them),
        VMI_TEST(a_claim_that_goes_is_told_of_with_the_next_change),
        VMI_TEST(a_claim_of_old_is_waited_for_and_left_as_it_is),
        VMI_TEST(a_stand_in_stays_until_it_has_run),
        VMI_TEST(a_running_migration_of_that_name_holds_the_pod_back),
        VMI_TEST(migrations_that_make_no_pod_here_do_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
