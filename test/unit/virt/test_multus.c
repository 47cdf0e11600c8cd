/* Tests of what a Pod's annotations say about networks. */
#include "launcher_fixture.h"

#include "virt/network/multus.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NETWORKS "k8s.v1.cni.cncf.io/networks"
#define STATUS   "k8s.v1.cni.cncf.io/network-status"
#define INFO     "kubevirt.io/network-info"

/* The first 11 hexadecimal digits of the SHA-256 of "red" and "blue". */
#define RED  "podb1f51a511f1"
#define BLUE "pod16477688c0e"

static const char plugins[] = "{'network':{'binding':{'plain':{},'nad':{'networkAttachmentDefinition':'infra/plug'},"
                              "'device':{'downwardAPI':'device-info'}}}}";

static void a_definition_is_in_the_vmis_namespace_unless_it_says_otherwise(void **state)
{
    struct kb_arena *arena = kb_arena_new();
    struct virt_nad_name name = virt_nad_name(arena, "ns", "net");

    (void)state;
    assert_string_equal(name.namespace_, "ns");
    assert_string_equal(name.name, "net");
    name = virt_nad_name(arena, "ns", "other/net/x");
    assert_string_equal(name.namespace_, "other");
    assert_string_equal(name.name, "net/x");
    kb_arena_free(arena);
}

static void new_pods_ask_for_their_networks_in_the_order_of_interfaces(void **state)
{
    static const struct {
        const char *spec, *networks, *other_key, *other;
    } rows[] = {
        {"'networks':[{'name':'default','pod':{}}],'domain':{'devices':{'interfaces':[{'name':'default',"
         "'bridge':{}}]}}",
         NULL, "istio.io/reroute-virtual-interfaces", NULL},
        {"'networks':[{'name':'default','pod':{}}],'domain':{'devices':{'interfaces':[{'name':'default',"
         "'masquerade':{}}]}}",
         NULL, "istio.io/reroute-virtual-interfaces", "k6t-eth0"},
        {"'networks':[{'name':'red','multus':{'networkName':'a'}},{'name':'blue','multus':{'networkName':'x/b'}}],"
         "'domain':{'devices':{'interfaces':[{'name':'blue','macAddress':'02:00:00:00:00:01'},{'name':'red'}]}}",
         "[{\"name\":\"b\",\"namespace\":\"x\",\"mac\":\"02:00:00:00:00:01\",\"interface\":\"" BLUE "\"},"
         "{\"name\":\"a\",\"namespace\":\"ns\",\"interface\":\"" RED "\"}]",
         INFO, NULL},
        {"'networks':[{'name':'red','multus':{'networkName':'a'}}],"
         "'domain':{'devices':{'interfaces':[{'name':'red','state':'absent'}]}}",
         NULL, INFO, NULL},
        {"'networks':[{'name':'red','multus':{'networkName':'a','default':true}}],"
         "'domain':{'devices':{'interfaces':[{'name':'red'}]}}",
         NULL, "v1.multus-cni.io/default-network", "a"},
        {"'networks':[{'name':'red','pod':{}}],'domain':{'devices':{'interfaces':[{'name':'red',"
         "'binding':{'name':'nad'}}]}}",
         "[{\"name\":\"plug\",\"namespace\":\"infra\",\"cni-args\":{\"logicNetworkName\":\"red\"}}]", INFO, NULL},
        {"'networks':[{'name':'red','pod':{}}],'domain':{'devices':{'interfaces':[{'name':'red',"
         "'binding':{'name':'plain'}}]}}",
         NULL, INFO, NULL},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct api_string_map annotations = {0};
        struct fixture f;
        char vmi[1024];

        snprintf(vmi, sizeof(vmi), "{'spec':{%s}}", rows[i].spec);
        fixture_init(&f, plugins, vmi);
        assert_int_equal(virt_new_pod_networks(f.arena, f.config, f.input.vmi, &annotations, NULL), 0);
        const char *networks = api_map_get(&annotations, NETWORKS),
                   *other = api_map_get(&annotations, rows[i].other_key);

        if (!kb_streq_null(networks, rows[i].networks) || !kb_streq_null(other, rows[i].other))
            fail_msg("%s: %s and %s", rows[i].spec, networks, other);
        fixture_done(&f);
    }
}

static void an_unknown_plugin_is_an_error(void **state)
{
    struct api_string_map annotations = {0};
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, plugins,
                 "{'spec':{'networks':[{'name':'red','pod':{}}],'domain':{'devices':{'interfaces':["
                 "{'name':'red','binding':{'name':'none'}}]}}}}");
    assert_int_equal(virt_new_pod_networks(f.arena, f.config, f.input.vmi, &annotations, &error), -1);
    assert_string_equal(error.message, "unable to find the network binding plugin 'none' in Kubevirt configuration");
    fixture_done(&f);
}

static const struct core_pod *pod_with(struct fixture *f, const char *networks, const char *status)
{
    struct core_pod *pod = kb_arena_one(f->arena, struct core_pod);

    if (networks)
        api_map_set(f->arena, &pod->metadata.annotations, NETWORKS, networks);
    if (status)
        api_map_set(f->arena, &pod->metadata.annotations, STATUS, status);
    return pod;
}

static const char two_networks[] =
    "{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}},{'name':'blue','multus':{'networkName':'b'}}],"
    "'domain':{'devices':{'interfaces':[{'name':'red'},{'name':'blue'}]}}}}";

static void migration_targets_keep_ordinal_names_until_the_cluster_moves_on(void **state)
{
    static const char keep[] =
        "{'developerConfiguration':{'disabledFeatureGates':['PodSecondaryInterfaceNamingUpgrade']}}";
    static const char ordinal[] = "[{\"name\":\"a\",\"interface\":\"net1\",\"dns\":{}}]";
    static const char hashed[] = "[{\"name\":\"a\",\"interface\":\"" RED "\",\"dns\":{}}]";
    static const char kept[] = "[{\"name\":\"a\",\"namespace\":\"ns\",\"interface\":\"net1\"},"
                               "{\"name\":\"b\",\"namespace\":\"ns\",\"interface\":\"net2\"}]";
    static const struct {
        const char *configuration, *status, *networks;
    } rows[] = {{keep, ordinal, kept}, {keep, hashed, NULL}, {keep, NULL, NULL}, {NULL, ordinal, NULL}};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct api_string_map annotations = {0};
        struct fixture f;

        fixture_init(&f, rows[i].configuration, two_networks);
        assert_int_equal(virt_target_pod_networks(f.arena, f.config, f.input.vmi, pod_with(&f, NULL, rows[i].status),
                                                  &annotations, NULL),
                         0);
        if (!kb_streq_null(api_map_get(&annotations, NETWORKS), rows[i].networks))
            fail_msg("%zu: %s", i, api_map_get(&annotations, NETWORKS));
        fixture_done(&f);
    }
}

static void a_running_pod_follows_interfaces_that_come_and_go(void **state)
{
    static const char status[] = "[{\"name\":\"a\",\"interface\":\"" RED "\",\"dns\":{}}]";
    static const struct {
        const char *vmi, *present, *networks; /* NULL: stays */
    } rows[] = {
        /* both are plugged already */
        {"{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}}],'domain':{'devices':{'interfaces':["
         "{'name':'red'}]}}},'status':{'interfaces':[{'name':'red'}]}}",
         "old", NULL},
        /* blue is new */
        {"{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}},{'name':'blue','multus':{'networkName':'b'"
         "}}],'domain':{'devices':{'interfaces':[{'name':'red'},{'name':'blue'}]}}},"
         "'status':{'interfaces':[{'name':'red'}]}}",
         "old",
         "[{\"name\":\"a\",\"namespace\":\"ns\",\"interface\":\"" RED "\"},"
         "{\"name\":\"b\",\"namespace\":\"ns\",\"interface\":\"" BLUE "\"}]"},
        /* blue goes */
        {"{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}},{'name':'blue','multus':{'networkName':'b'"
         "}}],'domain':{'devices':{'interfaces':[{'name':'red'},{'name':'blue','state':'absent'}]}}},"
         "'status':{'interfaces':[{'name':'red'},{'name':'blue'}]}}",
         "old", "[{\"name\":\"a\",\"namespace\":\"ns\",\"interface\":\"" RED "\"}]"},
        /* an SR-IOV interface takes a new Pod */
        {"{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}}],'domain':{'devices':{'interfaces':["
         "{'name':'red','sriov':{}}]}}}}",
         "old", NULL},
        /* what stands there is right */
        {"{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}}],'domain':{'devices':{'interfaces':["
         "{'name':'red'}]}}}}",
         "[{\"name\":\"a\",\"namespace\":\"ns\",\"interface\":\"" RED "\"}]", NULL},
        /* the last one goes */
        {"{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}}],'domain':{'devices':{'interfaces':["
         "{'name':'red','state':'absent'}]}}}}",
         "old", ""},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct api_string_map annotations = {0};
        struct fixture f;

        fixture_init(&f, NULL, rows[i].vmi);
        virt_active_pod_networks(f.arena, f.config, f.input.vmi, pod_with(&f, rows[i].present, status), &annotations);
        if (!kb_streq_null(api_map_get(&annotations, NETWORKS), rows[i].networks))
            fail_msg("%zu: %s", i, api_map_get(&annotations, NETWORKS));
        fixture_done(&f);
    }
}

static void devices_that_multus_reports_are_passed_on_by_network(void **state)
{
    static const char vmi[] =
        "{'spec':{'networks':[{'name':'red','multus':{'networkName':'a'}},{'name':'blue','multus':{'networkName':'b'}},"
        "{'name':'default','pod':{}}],'domain':{'devices':{'interfaces':[{'name':'red','sriov':{}},"
        "{'name':'blue','binding':{'name':'device'}},{'name':'default','bridge':{}}]}}},"
        "'status':{'interfaces':[{'name':'red'},{'name':'blue'},{'name':'default'}]}}";
    static const char status[] =
        "[{\"name\":\"p\",\"interface\":\"eth0\",\"mac\":\"x\",\"dns\":{}},"
        "{\"name\":\"a\",\"interface\":\"" RED "\",\"mac\":\"m\",\"mtu\":1400,\"dns\":{},"
        "\"device-info\":{\"type\":\"pci\",\"version\":\"1.1.0\",\"pci\":{\"pci-address\":\"0000:65:00.2\"}}},"
        "{\"name\":\"b\",\"interface\":\"" BLUE "\",\"dns\":{}}]";
    struct api_string_map annotations = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, plugins, vmi);
    virt_active_pod_networks(f.arena, f.config, f.input.vmi, pod_with(&f, NULL, status), &annotations);
    assert_string_equal(
        api_map_get(&annotations, INFO),
        "{\"interfaces\":[{\"network\":\"blue\"},{\"network\":\"red\",\"deviceInfo\":{\"type\":\"pci\","
        "\"version\":\"1.1.0\",\"pci\":{\"pci-address\":\"0000:65:00.2\"}},\"mac\":\"m\",\"mtu\":1400}]}");
    assert_int_equal(annotations.n, 1);
    annotations = (struct api_string_map){0};
    virt_active_pod_networks(f.arena, f.config, f.input.vmi, pod_with(&f, NULL, "no list"), &annotations);
    assert_int_equal(annotations.n, 0);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_definition_is_in_the_vmis_namespace_unless_it_says_otherwise),
        cmocka_unit_test(new_pods_ask_for_their_networks_in_the_order_of_interfaces),
        cmocka_unit_test(an_unknown_plugin_is_an_error),
        cmocka_unit_test(migration_targets_keep_ordinal_names_until_the_cluster_moves_on),
        cmocka_unit_test(a_running_pod_follows_interfaces_that_come_and_go),
        cmocka_unit_test(devices_that_multus_reports_are_passed_on_by_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
