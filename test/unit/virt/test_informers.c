/* Tests of virt/informers: scopes, indexes and projections of the table. */
#include "api/codec.h"
#include "api/types/core.h"
#include "base/strings.h"
#include "kube/selector.h"
#include "kube/store.h"
#include "virt/informers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct kb_arena *arena;
static const struct kube_informer_spec *specs;

static const struct api_object *object_of(const struct kube_informer_spec *spec, const char *json)
{
    const struct api_object *object = NULL;
    struct kube_error error = {0};
    yyjson_doc *doc = NULL;

    if (api_parse(json, strlen(json), &doc, &error) < 0 ||
        api_decode_shared(spec->type, yyjson_doc_get_root(doc), spec->projection, &object, &error) < 0)
        fail_msg("%s", error.message);
    yyjson_doc_free(doc);
    return object;
}

/* How many objects an index has for a value, in a store that holds just this one. */
static size_t found(enum virt_informer informer, const char *json, const char *index, const char *value)
{
    const struct kube_informer_spec *spec = &specs[informer];
    struct kube_store *store = kube_store_new(spec->type, spec->indexes, spec->n_indexes);
    const struct api_object *object = object_of(spec, json);
    struct kube_objects objects;
    size_t n;

    kube_store_apply(store, object);
    api_object_unref(object);
    objects = kube_store_by_index(store, index, value);
    n = objects.n;
    kube_objects_done(&objects);
    kube_store_free(store);
    return n;
}

#define META "\"metadata\":{\"namespace\":\"ns\",\"name\":\"x\",\"uid\":\"u\",\"resourceVersion\":\"1\"" /* open */

static void every_informer_has_a_kind_and_a_name_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < VIRT_N_INFORMERS; i++) {
        assert_non_null(specs[i].name);
        assert_non_null(specs[i].type->resource);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(specs[i].name, specs[k].name);
    }
}

static void only_what_the_installation_owns_is_read_from_its_namespace(void **state)
{
    static const enum virt_informer owned[] = {VIRT_EXPORT_CA,        VIRT_BACKUP_CA, VIRT_ROUTE_CA,
                                               VIRT_UNMANAGED_SECRET, VIRT_INGRESS,   VIRT_ROUTE,
                                               VIRT_VM_LABELS_CONFIG};
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < VIRT_N_INFORMERS; i++)
        n += specs[i].namespace_ != NULL;
    assert_int_equal(n, KB_ARRAY_LEN(owned));
    for (size_t i = 0; i < KB_ARRAY_LEN(owned); i++)
        assert_string_equal(specs[owned[i]].namespace_, "kubevirt-system");
    assert_string_equal(specs[VIRT_POD].label_selector, "kubevirt.io");
}

static void indexes_find_by_value(void **state)
{
    static const struct {
        enum virt_informer informer;
        const char *json, *index, *value;
        size_t n;
    } rows[] = {
        {VIRT_VMI, "{" META "},\"status\":{\"nodeName\":\"node1\"}}", VIRT_INDEX_NODE, "node1", 1},
        {VIRT_VMI, "{" META "}}", VIRT_INDEX_NODE, "", 0},
        {VIRT_VMI, "{" META "},\"spec\":{\"volumes\":[{\"name\":\"v\",\"dataVolume\":{\"name\":\"d\"}}]}}",
         VIRT_INDEX_DV, "ns/d", 1},
        {VIRT_VMI,
         "{" META "},\"spec\":{\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]}}",
         VIRT_INDEX_PVC, "ns/c", 1},
        {VIRT_VM,
         "{" META
         "},\"spec\":{\"template\":{\"spec\":{\"volumes\":[{\"name\":\"v\",\"dataVolume\":{\"name\":\"d\"}}]}}}}",
         VIRT_INDEX_DV, "ns/d", 1},
        {VIRT_VM, "{" META "}}", VIRT_INDEX_DV, "ns/d", 0},
        {VIRT_POD, "{" META ",\"ownerReferences\":[{\"uid\":\"o\",\"controller\":true}]}}", VIRT_INDEX_OWNER, "o", 1},
        {VIRT_POD, "{" META ",\"ownerReferences\":[{\"uid\":\"o\"}]}}", VIRT_INDEX_OWNER, "o", 0},
        {VIRT_POD, "{" META ",\"labels\":{\"kubevirt.io/created-by\":\"u1\"}}}", VIRT_INDEX_CREATED_BY, "u1", 1},
        {VIRT_MIGRATION, "{" META "},\"spec\":{\"vmiName\":\"a\"}}", VIRT_INDEX_VMI_NAME, "ns/a", 1},
        {VIRT_MIGRATION, "{" META "}}", VIRT_INDEX_UNFINISHED, VIRT_INDEX_UNFINISHED, 1},
        {VIRT_MIGRATION, "{" META "},\"status\":{\"phase\":\"Failed\"}}", VIRT_INDEX_UNFINISHED, VIRT_INDEX_UNFINISHED,
         0},
        {VIRT_CONTROLLER_REVISION, "{" META ",\"ownerReferences\":[{\"uid\":\"o\",\"kind\":\"VirtualMachine\"}]}}",
         VIRT_INDEX_VM, "o", 1},
        {VIRT_EXPORT, "{" META "},\"spec\":{\"source\":{\"kind\":\"PersistentVolumeClaim\",\"name\":\"c\"}}}",
         VIRT_INDEX_PVC, "ns/c", 1},
        {VIRT_SNAPSHOT,
         "{" META "},\"spec\":{\"source\":{\"apiGroup\":\"kubevirt.io\",\"kind\":\"VirtualMachine\",\"name\":\"a\"}}}",
         VIRT_INDEX_VM, "ns/a", 1},
        {VIRT_SNAPSHOT, "{" META "},\"spec\":{\"source\":{\"kind\":\"VirtualMachine\",\"name\":\"a\"}}}", VIRT_INDEX_VM,
         "ns/a", 0},
        {VIRT_CLONE, "{" META "},\"status\":{\"phase\":\"Succeeded\",\"restoreName\":\"r\"}}", VIRT_INDEX_SUCCEEDED,
         "ns/r", 1},
        {VIRT_CLONE, "{" META "},\"status\":{\"phase\":\"Succeeded\",\"restoreName\":\"r\"}}",
         VIRT_INDEX_RESTORE_IN_PROGRESS, "ns/r", 0},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        size_t n = found(rows[i].informer, rows[i].json, rows[i].index, rows[i].value);

        if (n != rows[i].n)
            fail_msg("row %zu: %zu objects in \"%s\" for \"%s\"", i, n, rows[i].index, rows[i].value);
    }
}

static void pods_of_others_are_kept_without_containers(void **state)
{
    const struct api_object *object = object_of(
        &specs[VIRT_OTHER_POD], "{" META "},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"}],"
                                "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]"
                                "},\"status\":{\"phase\":\"Running\"}}");
    const struct core_pod *pod = api_object_data(object);

    (void)state;
    assert_true(api_object_is_projected(object));
    assert_string_equal(pod->spec.node_name, "n");
    assert_int_equal(pod->spec.containers.n, 0);
    assert_string_equal(pod->spec.volumes.items[0].persistent_volume_claim->claim_name, "c");
    assert_string_equal(pod->status.phase, "Running");
    api_object_unref(object);
}

static void a_pod_is_kept_once(void **state)
{
    const char *pods[] = {"{" META ",\"labels\":{\"kubevirt.io\":\"virt-launcher\"}}}",
                          "{" META ",\"labels\":{\"app\":\"web\"}}}", "{" META "}}"};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(pods); i++) {
        const struct api_object *object = object_of(&specs[VIRT_POD], pods[i]);
        const struct core_pod *pod = api_object_data(object);

        assert_int_equal(kube_selector_matches(specs[VIRT_POD].label_selector, &pod->metadata.labels), i == 0);
        assert_int_equal(kube_selector_matches(specs[VIRT_OTHER_POD].label_selector, &pod->metadata.labels), i != 0);
        api_object_unref(object);
    }
}

static int set_up(void **state)
{
    (void)state;
    arena = kb_arena_new();
    specs = virt_informer_specs(arena, "kubevirt-system");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kb_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_informer_has_a_kind_and_a_name_of_its_own),
        cmocka_unit_test(only_what_the_installation_owns_is_read_from_its_namespace),
        cmocka_unit_test(indexes_find_by_value),
        cmocka_unit_test(pods_of_others_are_kept_without_containers),
        cmocka_unit_test(a_pod_is_kept_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
