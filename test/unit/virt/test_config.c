/* Tests of virt/config: merging, checking, gates, and the configuration in force. */
#include "api/codec.h"
#include "base/strings.h"
#include "virt/config/config.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct kb_arena *arena;

static const struct kv_kube_virt *cr(const char *version, const char *configuration)
{
    const char *json =
        kb_arena_printf(arena,
                        "{\"metadata\":{\"name\":\"kubevirt\",\"resourceVersion\":\"%s\"},"
                        "\"spec\":{\"configuration\":%s},\"status\":{\"defaultArchitecture\":\"arm64\"}}",
                        version, configuration);
    struct kv_kube_virt *kubevirt = NULL;
    struct kube_error error = {0};

    if (api_decode(arena, &kv_kube_virt_type, json, strlen(json), &kubevirt, &error) < 0)
        fail_msg("%s", error.message);
    return kubevirt;
}

static const struct virt_config *config_of(const char *configuration)
{
    const struct virt_config *config = NULL;
    struct kube_error error = {0};

    if (virt_config_new(configuration ? cr("7", configuration) : NULL, &config, &error) < 0)
        fail_msg("%s", error.message);
    return config;
}

static void defaults_are_in_force_without_a_cr(void **state)
{
    const struct virt_config *config = config_of(NULL);

    (void)state;
    assert_null(config->kubevirt);
    assert_string_equal(config->resource_version, "");
    assert_string_equal(config->spec->image_pull_policy, "IfNotPresent");
    assert_int_equal(config->spec->developer_configuration->memory_overcommit, 100);
    assert_string_equal(config->spec->architecture_configuration->default_architecture, virt_config_own_architecture());
    assert_int_equal(
        config->spec->controller_configuration->rest_client->rate_limiter->token_bucket_rate_limiter->burst, 400);
    assert_true(virt_gate(config, VIRT_GATE_IMAGE_VOLUME));
    assert_false(virt_gate(config, VIRT_GATE_PLUGINS));
    assert_true(virt_gate(config, VIRT_GATE_MIGRATION_PRIORITY_QUEUE));
    virt_config_unref(config);
}

static void members_merge_and_zero_values_change_nothing(void **state)
{
    const struct virt_config *config =
        config_of("{\"developerConfiguration\":{\"memoryOvercommit\":0,\"cpuAllocationRatio\":1},"
                  "\"migrations\":{\"allowPostCopy\":true},\"supportedGuestAgentVersions\":[\"6.*\"]}");

    (void)state;
    assert_int_equal(config->spec->developer_configuration->memory_overcommit, 100);
    assert_int_equal(config->spec->developer_configuration->cpu_allocation_ratio, 1);
    assert_int_equal(*config->spec->migrations->parallel_migrations_per_cluster, 5);
    assert_true(*config->spec->migrations->allow_workload_disruption);
    assert_int_equal(config->spec->supported_guest_agent_versions.n, 1);
    assert_string_equal(config->spec->architecture_configuration->default_architecture, "arm64");
    virt_config_unref(config);
}

static void gates_follow_list_then_state(void **state)
{
    const struct virt_config *config =
        config_of("{\"developerConfiguration\":{\"featureGates\":[\"Plugins\",\"HotplugVolumes\",\"NoSuchGate\"],"
                  "\"disabledFeatureGates\":[\"ImageVolume\",\"MigrationPriorityQueue\",\"Plugins\"]}}");

    (void)state;
    assert_true(virt_gate(config, VIRT_GATE_PLUGINS));
    assert_true(virt_gate(config, VIRT_GATE_HOTPLUG_VOLUMES));
    assert_false(virt_gate(config, VIRT_GATE_IMAGE_VOLUME));
    assert_true(virt_gate(config, VIRT_GATE_MIGRATION_PRIORITY_QUEUE));
    virt_config_unref(config);
}

static void invalid_values_name_their_field(void **state)
{
    static const struct {
        const char *configuration, *field;
    } rows[] = {
        {"{\"imagePullPolicy\":\"Sometimes\"}", "spec.configuration.imagePullPolicy"},
        {"{\"developerConfiguration\":{\"memoryOvercommit\":-1}}",
         "spec.configuration.developerConfiguration.memoryOvercommit"},
        {"{\"developerConfiguration\":{\"pvcTolerateLessSpaceUpToPercent\":101}}",
         "spec.configuration.developerConfiguration.pvcTolerateLessSpaceUpToPercent"},
        {"{\"network\":{\"defaultNetworkInterface\":\"macvtap\"}}",
         "spec.configuration.network.defaultNetworkInterface"},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct virt_config *config = NULL;
        struct kube_error error = {0};

        assert_int_equal(virt_config_new(cr("7", rows[i].configuration), &config, &error), -1);
        assert_int_equal(error.kind, KUBE_ERROR_INVALID);
        if (!kb_starts_with(error.message, rows[i].field))
            fail_msg("\"%s\" doesn't start with %s", error.message, rows[i].field);
    }
}

static void values_with_rules_fall_back(void **state)
{
    const struct virt_config *config =
        config_of("{\"hypervisors\":[{\"name\":\"hyperv-direct\"}],"
                  "\"supportContainerResources\":[{\"type\":\"virtiofs\",\"resources\":{\"limits\":{\"cpu\":\"0\"}}},"
                  "{\"type\":\"virtiofs\",\"resources\":{\"limits\":{\"cpu\":\"2\"}}}]}");

    (void)state;
    assert_string_equal(virt_config_hypervisor(config), "kvm");
    assert_string_equal(virt_config_ovmf_path(config, "arm64"), "/usr/share/AAVMF");
    assert_string_equal(virt_config_ovmf_path(config, "s390x"), "");
    assert_string_equal(virt_config_ovmf_path(config, "riscv64"), "/usr/share/edk2/ovmf");
    assert_string_equal(virt_config_machine_type(config, "amd64"), "q35");
    assert_string_equal(virt_config_support_resource(config, "virtiofs", true, "cpu"), "2");
    assert_null(virt_config_support_resource(config, "virtiofs", false, "cpu"));
    virt_config_unref(config);
    config = config_of("{\"machineType\":\"pc\",\"ovmfPath\":\"/x\",\"hypervisors\":[{\"name\":\"hyperv-direct\"}],"
                       "\"developerConfiguration\":{\"featureGates\":[\"ConfigurableHypervisor\"]}}");
    assert_string_equal(virt_config_hypervisor(config), "hyperv-direct");
    assert_string_equal(virt_config_ovmf_path(config, "arm64"), "/x");
    assert_string_equal(virt_config_machine_type(config, "arm64"), "pc");
    virt_config_unref(config);
    config =
        config_of("{\"hypervisors\":[{}],\"developerConfiguration\":{\"featureGates\":[\"ConfigurableHypervisor\"]}}");
    assert_string_equal(virt_config_hypervisor(config), "kvm");
    virt_config_unref(config);
}

static void verbosity_is_that_of_the_host(void **state)
{
    const struct virt_config *config = config_of("{\"developerConfiguration\":{\"logVerbosity\":{\"virtController\":4,"
                                                 "\"nodeVerbosity\":{\"node1\":7,\"node2\":0}}}}");

    (void)state;
    assert_int_equal(virt_config_verbosity(config, "node1"), 7);
    assert_int_equal(virt_config_verbosity(config, "node2"), 4);
    assert_int_equal(virt_config_verbosity(config, ""), 4);
    assert_true(virt_config_deploys_templates(config));
    virt_config_unref(config);
    config = config_of("{\"virtTemplateDeployment\":{\"enabled\":false}}");
    assert_false(virt_config_deploys_templates(config));
    virt_config_unref(config);
}

static const struct kv_kube_virt *cr_in(const char *namespace_, const char *name, const char *phase)
{
    struct kv_kube_virt *kubevirt = kb_arena_one(arena, struct kv_kube_virt);

    kubevirt->metadata.namespace = namespace_;
    kubevirt->metadata.name = name;
    kubevirt->metadata.deletion_timestamp = NULL;
    kubevirt->status.phase = phase;
    return kubevirt;
}

static void the_cr_that_counts_is_in_the_install_namespace(void **state)
{
    const struct kv_kube_virt *all[] = {cr_in("kubevirt", "one", ""), cr_in("other", "one", "Deployed"),
                                        cr_in("kubevirt", "two", "")};

    (void)state;
    assert_ptr_equal(virt_config_choose(all, KB_ARRAY_LEN(all), "kubevirt"), all[0]);
    assert_ptr_equal(virt_config_choose(all, KB_ARRAY_LEN(all), "other"), all[1]);
    assert_null(virt_config_choose(all, KB_ARRAY_LEN(all), "third"));
    assert_null(virt_config_choose(all, 1, "kubevirt"));
}

static void an_invalid_configuration_keeps_the_last_valid_one(void **state)
{
    struct virt_config_store *store = virt_config_store_new();
    const struct virt_config *first, *second;
    struct kube_error error = {0};

    (void)state;
    assert_int_equal(virt_config_store_update(store, NULL, &error), 0);
    assert_int_equal(virt_config_store_update(store, cr("1", "{\"imagePullPolicy\":\"Always\"}"), &error), 1);
    first = virt_config_current(store);
    assert_int_equal(virt_config_store_update(store, cr("1", "{\"imagePullPolicy\":\"Never\"}"), &error), 0);
    assert_int_equal(virt_config_store_update(store, cr("2", "{\"imagePullPolicy\":\"?\"}"), &error), -1);
    assert_int_equal(virt_config_store_update(store, cr("2", "{\"imagePullPolicy\":\"?\"}"), &error), 0);
    second = virt_config_current(store);
    assert_ptr_equal(first, second);
    virt_config_unref(second);
    assert_int_equal(virt_config_store_update(store, cr("3", "{\"imagePullPolicy\":\"Never\"}"), &error), 1);
    assert_string_equal(first->spec->image_pull_policy, "Always");
    virt_config_unref(first);
    virt_config_store_free(store);
}

static int set_up(void **state)
{
    (void)state;
    arena = kb_arena_new();
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
        cmocka_unit_test(defaults_are_in_force_without_a_cr),
        cmocka_unit_test(members_merge_and_zero_values_change_nothing),
        cmocka_unit_test(gates_follow_list_then_state),
        cmocka_unit_test(invalid_values_name_their_field),
        cmocka_unit_test(values_with_rules_fall_back),
        cmocka_unit_test(verbosity_is_that_of_the_host),
        cmocka_unit_test(the_cr_that_counts_is_in_the_install_namespace),
        cmocka_unit_test(an_invalid_configuration_keeps_the_last_valid_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
