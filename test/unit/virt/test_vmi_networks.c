/* Tests of networks of a VMI: names of Pod interfaces, status.interfaces, and what takes a migration. */
#include "api/codec.h"
#include "base/strings.h"
#include "virt/network/interfaces.h"
#include "virt/network/names.h"
#include "virt/network/validation.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct kb_arena *arena;
    struct kv_vmi *vmi;
    struct core_pod *pod;
};

#define HASHED_BLUE "pod16477688c0e" /* the first eleven digits of SHA-256 of "blue" */

static void *read(struct fixture *f, const struct api_type *type, const char *json)
{
    struct kube_error error;
    void *object;

    if (api_decode(f->arena, type, json, strlen(json), &object, &error) < 0)
        fail_msg("%s", error.message);
    return object;
}

/* A VMI with a masquerade and a bridge on network "blue"; members of the bridge's interface; its status.interfaces. */
static void set_vmi(struct fixture *f, const char *bridge, const char *statuses)
{
    f->vmi = read(
        f, &kv_vmi_type,
        kb_arena_printf(f->arena,
                        "{\"metadata\":{\"name\":\"vmi1\",\"namespace\":\"ns\"},\"spec\":{\"domain\":{\"devices\":{"
                        "\"interfaces\":[{\"name\":\"default\",\"masquerade\":{}},{\"name\":\"blue\"%s}]}},"
                        "\"networks\":[{\"name\":\"default\",\"pod\":{}},{\"name\":\"blue\",\"multus\":{"
                        "\"networkName\":\"nad\"}}]},\"status\":{\"interfaces\":[%s]}}",
                        bridge, statuses));
}

/* What Multus reports of the second interface; "": nothing. */
static void set_pod(struct fixture *f, const char *interface, const char *nad)
{
    const char *second =
        *interface ? kb_arena_printf(f->arena, ",{\\\"name\\\":\\\"%s\\\",\\\"interface\\\":\\\"%s\\\"}", nad,
                                     interface)
                   : "";

    f->pod =
        read(f, &core_pod_type,
             kb_arena_printf(f->arena,
                             "{\"metadata\":{\"annotations\":{\"k8s.v1.cni.cncf.io/network-status\":\"[{\\\"name\\\":"
                             "\\\"net\\\",\\\"interface\\\":\\\"eth7\\\",\\\"default\\\":true}%s]\"}}}",
                             second));
}

static int set_up(void **state)
{
    struct fixture *f = kb_malloc(sizeof *f);

    f->arena = kb_arena_new();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    kb_arena_free(f->arena);
    free(f);
    return 0;
}

static void pod_interfaces_are_named_by_hash_or_number(void **state)
{
    struct fixture *f = *state;

    set_vmi(f, "", "");
    assert_string_equal(virt_pod_interface(f->arena, &f->vmi->spec.networks, "default", false), "eth0");
    assert_string_equal(virt_pod_interface(f->arena, &f->vmi->spec.networks, "blue", false), HASHED_BLUE);
    assert_string_equal(virt_pod_interface(f->arena, &f->vmi->spec.networks, "blue", true), "net1");
    assert_null(virt_pod_interface(f->arena, &f->vmi->spec.networks, "red", false));
    assert_true(virt_pod_interface_is_ordinal("net12"));
    assert_false(virt_pod_interface_is_ordinal("net"));
    assert_false(virt_pod_interface_is_ordinal("net1x"));
}

static void the_primary_interface_is_told_without_a_report(void **state)
{
    struct fixture *f = *state;

    set_vmi(f, "", "");
    f->pod = read(f, &core_pod_type, "{}");
    virt_set_interface_status(f->arena, f->vmi, f->pod);
    assert_int_equal(f->vmi->status.interfaces.n, 1);
    assert_string_equal(f->vmi->status.interfaces.items[0].pod_interface_name, "eth0");
}

static void a_reported_interface_gets_an_entry(void **state)
{
    struct fixture *f = *state;

    set_vmi(f, "", "");
    set_pod(f, HASHED_BLUE, "ns/nad");
    virt_set_interface_status(f->arena, f->vmi, f->pod);
    assert_int_equal(f->vmi->status.interfaces.n, 2);
    assert_string_equal(f->vmi->status.interfaces.items[0].pod_interface_name, "eth7");
    assert_string_equal(f->vmi->status.interfaces.items[1].pod_interface_name, HASHED_BLUE);
    assert_string_equal(f->vmi->status.interfaces.items[1].info_source, "multus-status");
}

static void the_source_comes_and_goes_with_the_report(void **state)
{
    struct fixture *f = *state;

    set_vmi(f, "", "{\"name\":\"blue\",\"infoSource\":\"domain, guest-agent\"},{\"interfaceName\":\"docker0\"}");
    set_pod(f, HASHED_BLUE, "ns/nad");
    virt_set_interface_status(f->arena, f->vmi, f->pod);
    assert_string_equal(f->vmi->status.interfaces.items[1].info_source, "domain, guest-agent, multus-status");
    assert_string_equal(f->vmi->status.interfaces.items[2].interface_name, "docker0");
    set_pod(f, "", "");
    virt_set_interface_status(f->arena, f->vmi, f->pod);
    assert_string_equal(f->vmi->status.interfaces.items[1].info_source, "domain, guest-agent");
}

static void interfaces_are_compared_in_any_order(void **state)
{
    struct fixture *f = *state;
    const struct kv_vmi *other;

    set_vmi(f, "", "{\"name\":\"b\"},{\"name\":\"a\"}");
    other = f->vmi;
    set_vmi(f, "", "{\"name\":\"a\"},{\"name\":\"b\"}");
    assert_true(virt_interfaces_equal(other, f->vmi));
    set_vmi(f, "", "{\"name\":\"a\"},{\"name\":\"b\",\"mac\":\"02:00:00:00:00:01\"}");
    assert_false(virt_interfaces_equal(other, f->vmi));
}

static void changes_of_networks_ask_for_migration(void **state)
{
#define IN_POD  "{\"name\":\"blue\",\"infoSource\":\"multus-status\",\"podInterfaceName\":\"" HASHED_BLUE "\"}"
#define IN_BOTH "{\"name\":\"blue\",\"infoSource\":\"domain, multus-status\",\"podInterfaceName\":\"" HASHED_BLUE "\"}"
    static const struct {
        const char *bridge, *statuses, *nad;
        enum virt_network_need need;
    } rows[] = {
        {",\"bridge\":{}", "", "ns/nad", VIRT_NETWORK_MIGRATE_LATER},
        {",\"sriov\":{}", "", "ns/nad", VIRT_NETWORK_MIGRATE_NOW},
        {",\"bridge\":{},\"state\":\"absent\"", "", "ns/nad", VIRT_NETWORK_NO_MIGRATION},
        {",\"bridge\":{},\"state\":\"absent\"", IN_POD, "ns/nad", VIRT_NETWORK_MIGRATE_LATER},
        {",\"bridge\":{},\"state\":\"absent\"", IN_BOTH, "ns/nad", VIRT_NETWORK_NO_MIGRATION},
        {",\"bridge\":{}", IN_BOTH, "ns/nad", VIRT_NETWORK_NO_MIGRATION},
        {",\"bridge\":{}", IN_BOTH, "nad", VIRT_NETWORK_NO_MIGRATION},
        {",\"bridge\":{}", IN_BOTH, "ns/other", VIRT_NETWORK_MIGRATE_NOW},
        {",\"bridge\":{}", IN_BOTH, "n/nad", VIRT_NETWORK_MIGRATE_NOW},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        set_vmi(f, rows[i].bridge, rows[i].statuses);
        set_pod(f, HASHED_BLUE, rows[i].nad);
        if (virt_network_need(f->arena, f->vmi, f->pod) != rows[i].need)
            fail_msg("row %zu: %d, expected %d", i, (int)virt_network_need(f->arena, f->vmi, f->pod),
                     (int)rows[i].need);
    }
}

static void bindings_that_are_no_more_are_named(void **state)
{
    struct fixture *f = *state;

    set_vmi(f, ",\"bridge\":{}", "");
    assert_null(virt_network_problems(f->arena, "spec", &f->vmi->spec));
    set_vmi(f, ",\"slirp\":{}", "");
    assert_string_equal(
        virt_network_problems(f->arena, "spec", &f->vmi->spec),
        "&StatusCause{Type:FieldValueInvalid,Message:Slirp interface support has been discontinued since "
        "v1.3,Field:spec.domain.devices.interfaces[1].slirp,}");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pod_interfaces_are_named_by_hash_or_number), TEST(the_primary_interface_is_told_without_a_report),
        TEST(a_reported_interface_gets_an_entry),         TEST(the_source_comes_and_goes_with_the_report),
        TEST(interfaces_are_compared_in_any_order),       TEST(changes_of_networks_ask_for_migration),
        TEST(bindings_that_are_no_more_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
