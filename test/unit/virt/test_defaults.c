/* Tests of the defaults that a cluster's webhooks would give to a VMI. */
#include "launcher_fixture.h"

#include "api/codec.h"
#include "virt/defaults/defaults.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* The value at `path` of the VMI as JSON, or NULL. */
static const char *at(struct fixture *f, const struct kv_vmi *vmi, const char *path)
{
    const char *text = api_encode_text(f->arena, &kv_vmi_type, vmi, 0);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    yyjson_val *value = yyjson_ptr_get(yyjson_doc_get_root(doc), path);
    char *json = value ? yyjson_val_write(value, 0, NULL) : NULL;
    const char *copy = json ? kb_arena_strdup(f->arena, json) : NULL;

    free(json);
    yyjson_doc_free(doc);
    return copy;
}

#define DOMAIN "/spec/domain/"
#define HYPERV DOMAIN "features/hyperv/"

static void each_default_fills_what_the_manifest_leaves_open(void **state)
{
    static const struct {
        const char *configuration, *vmi, *path, *value; /* NULL: none */
    } rows[] = {
        {"{'machineType':'pc'}", "{}", DOMAIN "machine/type", "\"pc\""},
        {NULL, "{'spec':{'architecture':'arm64'}}", DOMAIN "machine/type", "\"virt\""},
        {NULL, "{'spec':{'domain':{'resources':{'limits':{'memory':'1Gi'}}}}}", DOMAIN "memory/guest", "\"1Gi\""},
        {NULL, "{'spec':{'domain':{'resources':{'requests':{'cpu':'3'}}}}}", DOMAIN "cpu/sockets", "3"},
        {NULL, "{'spec':{'domain':{'cpu':{'cores':2}}}}", DOMAIN "cpu/sockets", NULL},
        {NULL, "{'spec':{'volumes':[{'name':'a','containerDisk':{'image':'x:latest'}}]}}",
         "/spec/volumes/0/containerDisk/imagePullPolicy", "\"Always\""},
        {NULL, "{'spec':{'volumes':[{'name':'a','containerDisk':{'image':'x'}}]}}", DOMAIN "devices/disks/0/name",
         "\"a\""},
        {NULL, "{}", "/spec/networks/0/pod", "{}"},
        {NULL, "{'spec':{'domain':{'devices':{'autoattachPodInterface':false}}}}", "/spec/networks", NULL},
        {NULL, "{}", DOMAIN "cpu/model", "\"host-model\""},
        {"{'cpuModel':'Haswell'}", "{}", DOMAIN "cpu/model", "\"Haswell\""},
        {"{'cpuModel':'Haswell'}", "{'spec':{'architecture':'arm64'}}", DOMAIN "cpu/model", "\"host-passthrough\""},
        {"{'cpuModel':'Haswell'}", "{'spec':{'domain':{'cpu':{'model':'x'}}}}", DOMAIN "cpu/model", "\"x\""},
        {NULL, "{'spec':{'livenessProbe':{'exec':{}}}}", "/spec/livenessProbe/failureThreshold", "3"},
        {NULL, "{'spec':{'readinessProbe':{'periodSeconds':7}}}", "/spec/readinessProbe/periodSeconds", "7"},
        {NULL, "{}", "/metadata/annotations/kubevirt.io~1pci-topology-version", "\"v3\""},
        {NULL, "{'spec':{'domain':{'machine':{'type':'pc'}}}}",
         "/metadata/annotations/kubevirt.io~1pci-topology-version", NULL},
        {NULL, "{'spec':{'architecture':'s390x'}}", "/metadata/annotations/kubevirt.io~1pci-topology-version", NULL},
        {NULL, "{'metadata':{'annotations':{'kubevirt.io/pci-topology-version':'v1'}}}",
         "/metadata/annotations/kubevirt.io~1pci-topology-version", "\"v1\""},
        {NULL, "{'spec':{'domain':{'launchSecurity':{'tdx':{}}}}}",
         "/metadata/annotations/kubevirt.io~1qgs-socket-path", "\"/var/run/tdx-qgs/qgs.socket\""},
        {NULL, "{}", "/status/runtimeUser", "107"},
        {"{'developerConfiguration':{'featureGates':['Root']}}", "{}", "/status/runtimeUser", "0"},
        /* Hyper-V */
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'relaxed':{}}}}}}", HYPERV "relaxed/enabled", "true"},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'relaxed':{'enabled':false}}}}}}", HYPERV "relaxed/enabled",
         "false"},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'synictimer':{}}}}}}", HYPERV "vpindex/enabled", "true"},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'synictimer':{}}}}}}", HYPERV "synic/enabled", "true"},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'evmcs':{}}}}}}", HYPERV "vapic/enabled", "true"},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'evmcs':{}}}}}}", DOMAIN "cpu/features/0/name", "\"vmx\""},
        {NULL,
         "{'spec':{'domain':{'cpu':{'features':[{'name':'vmx','policy':'forbid'}]},"
         "'features':{'hyperv':{'evmcs':{}}}}}}",
         DOMAIN "cpu/features/0/policy", "\"require\""},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'evmcs':{},'vapic':{'enabled':false}}}}}}",
         DOMAIN "cpu/features", NULL},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{}}}}}", HYPERV "vpindex", NULL},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kv_vmi *vmi, *again;
        struct fixture f;
        const char *value;

        fixture_init(&f, rows[i].configuration, rows[i].vmi);
        vmi = api_clone(f.arena, &kv_vmi_type, f.input.vmi);
        assert_int_equal(virt_default_vmi(f.arena, f.config, vmi, NULL), 0);
        value = at(&f, vmi, rows[i].path);
        if (!kb_streq_null(value, rows[i].value) && !(kb_streq_null(rows[i].value, "0") && !value))
            fail_msg("%s of %s: %s is not %s", rows[i].path, rows[i].vmi, value, rows[i].value);
        again = api_clone(f.arena, &kv_vmi_type, vmi);
        assert_int_equal(virt_default_vmi(f.arena, f.config, again, NULL), 0);
        assert_true(api_equal(&kv_vmi_type, vmi, again));
        fixture_done(&f);
    }
}

static void a_forbidden_default_network_is_an_error(void **state)
{
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    fixture_init(&f, "{'network':{'permitBridgeInterfaceOnPodNetwork':false}}", "{}");
    assert_int_equal(virt_default_vmi(f.arena, f.config, api_clone(f.arena, &kv_vmi_type, f.input.vmi), &error), -1);
    assert_string_equal(error.message, "bridge interface is not enabled in kubevirt-config");
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_default_fills_what_the_manifest_leaves_open),
        cmocka_unit_test(a_forbidden_default_network_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
