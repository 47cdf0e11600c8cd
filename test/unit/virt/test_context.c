/* Tests of virt/context: what a reconcile gets of the configuration and of the launcher's look-ups. */
#include "virt/context.h"

#include "base/strings.h"
#include "kube/request.h"
#include "support/scripted_transport.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct kb_arena *arena;
    struct script *script;
    struct kb_random *random;
    struct virt_context context;
    struct kube_request *request;
};

static int set_up(void **state)
{
    static const enum virt_informer used[] = {VIRT_PVC, VIRT_NAMESPACE, VIRT_RESOURCE_QUOTA};
    struct fixture *f = kb_malloc(sizeof(*f));
    const struct kube_informer_spec *specs;

    f->arena = kb_arena_new();
    f->script = script_new();
    f->random = kb_random_seeded(1);
    f->context.client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(f->script), .clock = script_clock(f->script)});
    f->context.runtime = kube_runtime_new(&(struct kube_runtime_options){
        .client = f->context.client, .clock = script_clock(f->script), .random = f->random});
    f->context.config = virt_config_store_new();
    specs = virt_informer_specs(f->arena, "kubevirt");
    for (size_t i = 0; i < KB_ARRAY_LEN(used); i++)
        kube_runtime_add_informer(f->context.runtime, (int)used[i], &specs[used[i]]);
    f->request = kube_request_new(f->context.runtime, "ns/vm", 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kube_request_free(f->request);
    virt_config_store_free(f->context.config);
    kube_runtime_free(f->context.runtime);
    kube_client_free(f->context.client);
    script_free(f->script);
    kb_arena_free(f->arena);
    free(f->random);
    free(f);
    return 0;
}

static void cache(struct fixture *f, enum virt_informer informer, const void *data)
{
    struct kube_store *store = kube_informer_store(kube_runtime_informer(f->context.runtime, (int)informer));
    const struct api_object *object = api_object_new(kube_store_type(store), data);

    kube_store_apply(store, object);
    api_object_unref(object);
}

static void a_request_keeps_the_configuration_that_it_began_with(void **state)
{
    struct fixture *f = *state;
    const struct virt_config *config = virt_request_config(&f->context, f->request);
    struct kv_kube_virt kubevirt = {.metadata.resource_version = "5", .spec.configuration.image_pull_policy = "Always"};
    struct kube_error error = {0};

    assert_int_equal(virt_config_store_update(f->context.config, &kubevirt, &error), 1);
    assert_string_equal(config->spec->image_pull_policy, "IfNotPresent");
    config = virt_request_config(&f->context, f->request);
    assert_string_equal(config->spec->image_pull_policy, "Always");
}

static void claims_namespaces_and_quotas_come_from_caches(void **state)
{
    struct fixture *f = *state;
    struct virt_launcher_lookups lookups = virt_request_lookups(&f->context, f->request);
    const struct core_resource_quota *const *quotas = NULL;
    struct kube_error error = {0};

    cache(f, VIRT_PVC, &(struct core_pvc){.metadata = {.namespace = "ns", .name = "a", .resource_version = "1"}});
    cache(f, VIRT_NAMESPACE, &(struct core_namespace){.metadata = {.name = "ns", .resource_version = "1"}});
    cache(f, VIRT_RESOURCE_QUOTA,
          &(struct core_resource_quota){.metadata = {.namespace = "ns", .name = "q", .resource_version = "1"}});
    assert_string_equal(lookups.pvc(lookups.userdata, "ns", "a", &error)->metadata.name, "a");
    assert_null(lookups.pvc(lookups.userdata, "other", "a", &error));
    assert_string_equal(lookups.namespace_(lookups.userdata, "ns", &error)->metadata.name, "ns");
    assert_int_equal(lookups.quotas(lookups.userdata, "ns", &quotas), 1);
    assert_string_equal(quotas[0]->metadata.name, "q");
    assert_int_equal(lookups.quotas(lookups.userdata, "other", &quotas), 0);
    assert_int_equal(error.kind, KUBE_ERROR_NONE);
}

static void config_maps_are_read_live(void **state)
{
    struct fixture *f = *state;
    struct virt_launcher_lookups lookups = virt_request_lookups(&f->context, f->request);
    struct kube_error error = {0};
    const struct core_config_map *map;

    script_answer(f->script, "GET", "/api/v1/namespaces/ns/configmaps/a", 200,
                  "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\"}}");
    script_refuse(f->script, "GET", "/api/v1/namespaces/ns/configmaps/b", 404, "NotFound",
                  "configmaps \"b\" not found");
    script_refuse(f->script, "GET", "/api/v1/namespaces/ns/configmaps/c", 403, "Forbidden", "no");
    map = lookups.config_map(lookups.userdata, "ns", "a", &error);
    assert_non_null(map);
    assert_string_equal(map->metadata.name, "a");
    assert_null(lookups.config_map(lookups.userdata, "ns", "b", &error));
    assert_int_equal(error.kind, KUBE_ERROR_NONE);
    assert_null(lookups.config_map(lookups.userdata, "ns", "c", &error));
    assert_int_equal(error.http_status, 403);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_request_keeps_the_configuration_that_it_began_with, set_up, tear_down),
        cmocka_unit_test_setup_teardown(claims_namespaces_and_quotas_come_from_caches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(config_maps_are_read_live, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
