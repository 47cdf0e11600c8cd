/*
 * Keys, owners, finalizers.
 */
#include "api/codec.h"
#include "api/meta.h"
#include "api/types/core.h"
#include "api/types/kv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct kb_arena *arena;

static int new_arena(void **state)
{
    (void)state;
    arena = kb_arena_new();
    return 0;
}

static int free_arena(void **state)
{
    (void)state;
    kb_arena_free(arena);
    return 0;
}

static const struct meta_object_meta *decode(const char *metadata)
{
    const char *json = kb_arena_printf(arena, "{\"kind\":\"Pod\",\"metadata\":%s}", metadata);
    struct kube_error error = {0};
    struct api_any *any = NULL;

    if (api_decode(arena, &core_pod_type, json, strlen(json), &any, &error) < 0)
        fail_msg("%s: %s", metadata, error.message);
    assert_string_equal(any->kind, "Pod");
    return &any->metadata;
}

static void keys_have_a_namespace_if_the_object_has(void **state)
{
    const char *namespace, *name;

    (void)state;
    assert_string_equal(api_key(arena, decode("{\"name\":\"n\",\"namespace\":\"ns\"}")), "ns/n");
    assert_string_equal(api_key(arena, decode("{\"name\":\"n\"}")), "n");
    assert_string_equal(api_key(arena, &(struct meta_object_meta){0}), "");
    api_key_split(arena, "ns/n", &namespace, &name);
    assert_string_equal(namespace, "ns");
    assert_string_equal(name, "n");
    api_key_split(arena, "n", &namespace, &name);
    assert_string_equal(namespace, "");
    assert_string_equal(name, "n");
}

static void the_controller_is_the_owner_that_says_so(void **state)
{
    const struct meta_object_meta *meta =
        decode("{\"ownerReferences\":[{\"uid\":\"1\"},{\"uid\":\"2\",\"controller\":false},"
               "{\"uid\":\"3\",\"controller\":true}]}");

    (void)state;
    assert_string_equal(api_controller_of(meta)->uid, "3");
    assert_true(api_is_controlled_by(meta, "3"));
    assert_false(api_is_controlled_by(meta, "1"));
    assert_null(api_controller_of(decode("{}")));
    assert_false(api_is_controlled_by(decode("{}"), ""));
}

static void a_controller_is_added_with_its_kind(void **state)
{
    const struct kv_vmi vmi = {.metadata = {.name = "vm1", .uid = "1"}};
    const struct core_pod pod = {.metadata = {.name = "p", .uid = "2"}};
    struct meta_object_meta meta = {0};

    (void)state;
    api_add_controller(arena, &meta, &kv_vmi_type, &vmi);
    api_add_controller(arena, &meta, &core_pod_type, &pod);
    assert_string_equal(api_encode_text(arena, &meta_object_meta_type, &meta, 0),
                        "{\"ownerReferences\":["
                        "{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":\"VirtualMachineInstance\",\"name\":\"vm1\","
                        "\"uid\":\"1\",\"controller\":true,\"blockOwnerDeletion\":true},"
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\","
                        "\"uid\":\"2\",\"controller\":true,\"blockOwnerDeletion\":true}]}");
}

static void finalizers_and_deletion_are_told(void **state)
{
    const struct meta_object_meta *meta =
        decode("{\"finalizers\":[\"a\",\"b\"],\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}");

    (void)state;
    assert_true(api_has_finalizer(meta, "b"));
    assert_false(api_has_finalizer(meta, "c"));
    assert_true(api_is_being_deleted(meta));
    assert_false(api_has_finalizer(decode("{}"), ""));
    assert_false(api_is_being_deleted(decode("{}")));
}

static void every_resource_is_found_by_its_names(void **state)
{
    (void)state;
    for (size_t i = 0; api_types[i]; i++) {
        const struct api_resource *r = api_types[i]->resource;
        const char *version = api_version_text(arena, r);

        assert_ptr_equal(api_type_find(r->group, r->version, r->kind), api_types[i]);
        assert_ptr_equal(api_type_of(version, r->kind), api_types[i]);
    }
    assert_null(api_type_of("kubevirt.io", "VirtualMachine"));
    assert_null(api_type_of("", ""));
    assert_null(api_type_find("kubevirt.io", "v1", "Pod"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keys_have_a_namespace_if_the_object_has, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(the_controller_is_the_owner_that_says_so, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(a_controller_is_added_with_its_kind, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(finalizers_and_deletion_are_told, new_arena, free_arena),
        cmocka_unit_test_setup_teardown(every_resource_is_found_by_its_names, new_arena, free_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
