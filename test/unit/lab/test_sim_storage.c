/* Tests of the simulated storage: claims, DataVolumes, snapshots. */
#include "sim_fixture.h"

#define CLAIMS    "persistentvolumeclaims"
#define VOLUMES   "datavolumes.cdi.kubevirt.io"
#define SNAPSHOTS "volumesnapshots.snapshot.storage.k8s.io"

static int setup(void **state)
{
    return sim_fixture_setup(state, &(struct lab_sim_options){0});
}

static void make_claim(struct sim_fixture *s, const char *name, const char *metadata)
{
    must_create(s->f, CLAIMS,
                lab_json_printf(s->f->arena,
                                "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{\"accessModes\":[\"ReadWriteMany\"],"
                                "\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}",
                                name, metadata));
}

static void a_claim_is_bound_and_may_be_deleted(void **state)
{
    struct sim_fixture *s = *state;
    make_claim(s, "c", "");
    settle(s);
    assert_seen(s, CLAIMS, "c", "/spec/storageClassName", "standard");
    assert_seen(s, CLAIMS, "c", "/status/phase", "Bound");
    assert_seen(s, CLAIMS, "c", "/status/capacity/storage", "2Gi");
    assert_seen(s, CLAIMS, "c", "/status/accessModes", "[\"ReadWriteMany\"]");
    must_delete(s->f, CLAIMS, "c");
    settle(s);
    assert_seen(s, CLAIMS, "c", "", "gone");
}

static void finalizers_of_others_hold_a_claim(void **state)
{
    struct sim_fixture *s = *state;
    make_claim(s, "c", ",\"finalizers\":[\"a/b\"]");
    must_delete(s->f, CLAIMS, "c");
    settle(s);
    assert_seen(s, CLAIMS, "c", "/metadata/finalizers", "[\"a/b\",\"kubernetes.io/pvc-protection\"]");
}

static void a_data_volume_gets_its_claim(void **state)
{
    struct sim_fixture *s = *state;
    must_create(
        s->f, VOLUMES,
        "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"source\":{\"blank\":{}},\"storage\":{\"volumeMode\":\"Block\","
        "\"resources\":{\"requests\":{\"storage\":\"3Gi\"}}}}}");
    settle(s);
    assert_seen(s, VOLUMES, "d", "/status/phase", "Succeeded");
    assert_seen(s, VOLUMES, "d", "/status/progress", "100.0%");
    assert_seen(s, CLAIMS, "d", "/metadata/ownerReferences/0/kind", "DataVolume");
    assert_seen(s, CLAIMS, "d", "/spec/volumeMode", "Block");
    assert_seen(s, CLAIMS, "d", "/spec/accessModes", "[\"ReadWriteOnce\"]");
    assert_seen(s, CLAIMS, "d", "/status/capacity/storage", "3Gi");
    must_delete(s->f, VOLUMES, "d");
    settle(s);
    assert_seen(s, CLAIMS, "d", "", "gone");
}

#define POPULATED ",\"annotations\":{\"cdi.kubevirt.io/storage.populatedFor\":\"d\"}"

static void a_claim_that_was_populated_before_is_adopted(void **state)
{
    struct sim_fixture *s = *state;
    make_claim(s, "d", POPULATED);
    make_claim(s, "other", "");
    settle(s);
    assert_seen(s, CLAIMS, "d", "/metadata/ownerReferences", "");
    must_create(s->f, VOLUMES, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"storage\":{}}}");
    must_create(s->f, VOLUMES, "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"storage\":{}}}");
    settle(s);
    assert_seen(s, CLAIMS, "d", "/metadata/ownerReferences/0/name", "d");
    assert_seen(s, CLAIMS, "other", "/metadata/ownerReferences", "");
}

static void a_claim_that_comes_after_its_data_volume_is_adopted(void **state)
{
    struct sim_fixture *s = *state;
    must_create(s->f, VOLUMES, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"storage\":{}}}");
    settle(s);
    make_claim(s, "later", POPULATED);
    settle(s);
    assert_seen(s, CLAIMS, "later", "/metadata/ownerReferences/0/name", "d");
}

static void a_snapshot_is_ready(void **state)
{
    struct sim_fixture *s = *state;
    must_create(s->f, SNAPSHOTS,
                "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"source\":{\"persistentVolumeClaimName\":\"c\"}}}");
    settle(s);
    assert_seen(s, SNAPSHOTS, "x", "/status/readyToUse", "true");
    assert_seen(s, SNAPSHOTS, "x", "/status/creationTime", "2026-01-02T03:04:05Z");
    assert_seen(s, SNAPSHOTS, "x", "/status/boundVolumeSnapshotContentName", "snapcontent-x");
    assert_seen(s, "volumesnapshotclasses.snapshot.storage.k8s.io", "standard", "/deletionPolicy", "Delete");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, sim_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_claim_is_bound_and_may_be_deleted),
        TEST(finalizers_of_others_hold_a_claim),
        TEST(a_data_volume_gets_its_claim),
        TEST(a_claim_that_was_populated_before_is_adopted),
        TEST(a_claim_that_comes_after_its_data_volume_is_adopted),
        TEST(a_snapshot_is_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
