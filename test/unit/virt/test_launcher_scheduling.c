/* Tests of where launcher Pods may run. */
#include "launcher_fixture.h"

#include "api/codec.h"
#include "base/strbuf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Keys whose value is "true" stand alone, without those that every Pod has. */
static const char *selector(struct fixture *f)
{
    struct api_string_map labels = {0};
    struct kb_strbuf text = {.arena = f->arena};

    launcher_node_selector(&f->launcher, &labels);
    api_list_foreach (label, &labels) {
        if (kb_streq(label->key, "kubevirt.io/schedulable"))
            continue;
        kb_strbuf_printf(&text, "%s%s", text.length > 0 ? " " : "", label->key);
        if (!kb_streq(label->value, "true"))
            kb_strbuf_printf(&text, "=%s", label->value);
    }
    return kb_strbuf_text(&text);
}

#define STRICT "{'developerConfiguration':{'featureGates':['HypervStrictCheck']}}"
#define CROSS  "{'developerConfiguration':{'featureGates':['CrossArchitectureVirtualization']}}"
#define HV     "hyperv.node.kubevirt.io/"

static void labels_that_the_node_must_have(void **state)
{
    static const struct {
        const char *configuration, *vmi, *labels;
    } rows[] = {
        {NULL, "{}", ""},
        {NULL, "{'spec':{'architecture':'AMD64'}}", "kubernetes.io/arch=amd64"},
        {"{'developerConfiguration':{'nodeSelectors':{'a':'cluster','b':'cluster'}}}",
         "{'spec':{'nodeSelector':{'b':'vmi','kubevirt.io/schedulable':'true'}}}", "a=cluster b=vmi"},
        {NULL, "{'spec':{'domain':{'cpu':{'dedicatedCpuPlacement':true,'realtime':{}}}}}",
         "kubevirt.io/cpumanager kubevirt.io/realtime"},
        {NULL, "{'spec':{'domain':{'cpu':{'model':'host-model','features':[{'name':'x'}]}}}}",
         "cpu-feature.node.kubevirt.io/x"},
        {NULL, "{'spec':{'domain':{'cpu':{'features':[{'name':'x'}]}}}}", ""},
        {NULL,
         "{'spec':{'domain':{'cpu':{'model':'Haswell','features':[{'name':'a','policy':'require'},"
         "{'name':'b','policy':'optional'},{'name':'c'}]}}}}",
         "cpu-feature.node.kubevirt.io/a cpu-feature.node.kubevirt.io/c cpu-model.node.kubevirt.io/Haswell"},
        {NULL, "{'spec':{'domain':{'machine':{'type':'q35'}}}}", "machine-type.node.kubevirt.io/q35"},
        {NULL, "{'spec':{'domain':{'machine':{'type':'q35'}}},'status':{'machine':{'type':'pc-q35-9'}}}",
         "machine-type.node.kubevirt.io/pc-q35-9"},
        {NULL,
         "{'spec':{'architecture':'amd64','domain':{'features':{'hyperv':{'reenlightenment':{'enabled':true}}}}},"
         "'status':{'topologyHints':{'tscFrequency':2400000000}}}",
         "kubernetes.io/arch=amd64 scheduling.node.kubevirt.io/tsc-frequency-2400000000"},
        {NULL,
         "{'spec':{'domain':{'features':{'hyperv':{'reenlightenment':{'enabled':true}}}}},"
         "'status':{'topologyHints':{'tscFrequency':2400000000}}}",
         "scheduling.node.kubevirt.io/tsc-frequency-2400000000"},
        {NULL, "{'spec':{'domain':{}},'status':{'topologyHints':{'tscFrequency':2400000000}}}", ""},
        {NULL,
         "{'spec':{'architecture':'amd64','domain':{'cpu':{'features':[{'name':'invtsc','policy':'force'}]}}},"
         "'status':{'topologyHints':{'tscFrequency':0}}}",
         "kubernetes.io/arch=amd64"},
        {NULL, "{'spec':{'domain':{'launchSecurity':{'sev':{'policy':{'encryptedState':true}}}}}}",
         "kubevirt.io/sev kubevirt.io/sev-es"},
        {NULL, "{'spec':{'domain':{'launchSecurity':{'snp':{}}}}}", "kubevirt.io/sev kubevirt.io/sev-snp"},
        {NULL, "{'spec':{'domain':{'launchSecurity':{'tdx':{}}}}}", "kubevirt.io/tdx"},
        {NULL, "{'spec':{'architecture':'s390x','domain':{'launchSecurity':{}}}}",
         "kubernetes.io/arch=s390x kubevirt.io/s390-pv"},
        {NULL, "{'spec':{'domain':{'features':{'hyperv':{'vpindex':{'enabled':true}}}}}}", ""},
        {STRICT,
         "{'spec':{'domain':{'features':{'hyperv':{'vpindex':{'enabled':true},'synic':{},'ipi':{'enabled':false},"
         "'tlbflush':{'enabled':true},'synictimer':{'enabled':true},'evmcs':{}}}}}}",
         "cpu-vendor.node.kubevirt.io/Intel " HV "synictimer " HV "tlbflush " HV "vpindex"},
        {STRICT, "{'spec':{'domain':{'features':{'hyperv':{'evmcs':{'enabled':false}}}}}}", ""},
        {CROSS, "{'spec':{'architecture':'arm64','nodeSelector':{'kubernetes.io/arch':'amd64'}}}",
         "kubevirt.io/vm-arch-arm64"},
        {CROSS, "{'spec':{'nodeSelector':{'kubernetes.io/arch':'amd64'}}}", "kubernetes.io/arch=amd64"},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct fixture f;

        fixture_init(&f, rows[i].configuration, rows[i].vmi);
        if (!kb_streq(selector(&f), rows[i].labels))
            fail_msg("%s:\n%s\nis not\n%s", rows[i].vmi, selector(&f), rows[i].labels);
        fixture_done(&f);
    }
}

#define OBSOLETE "{\"key\":\"node-labeller.kubevirt.io/obsolete-host-model\",\"operator\":\"DoesNotExist\"}"
#define NO_X     "{\"key\":\"cpu-feature.node.kubevirt.io/x\",\"operator\":\"DoesNotExist\"}"
#define NODE(terms)                                                                                                    \
    "\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[" terms "]}}"
#define TERM(expressions) "{\"matchExpressions\":[" expressions "]}"

static void every_term_refuses_what_the_guest_cannot_have(void **state)
{
    static const struct {
        const char *configuration, *vmi, *affinity; /* NULL: none */
    } rows[] = {
        {NULL, "{}", "{" NODE(TERM(OBSOLETE)) "}"},
        {NULL, "{'spec':{'domain':{'cpu':{'model':'host-passthrough'}}}}", NULL},
        {NULL, "{'spec':{'domain':{'cpu':{'model':'Haswell'}}}}", NULL},
        {NULL, "{'spec':{'domain':{'cpu':{'model':'host-model','features':[{'name':'x','policy':'forbid'}]}}}}",
         "{" NODE(TERM(OBSOLETE "," NO_X)) "}"},
        {NULL,
         "{'spec':{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':"
         "[{'matchExpressions':[{'key':'a','operator':'Exists'}]},{}]}},'podAntiAffinity':{}}}}",
         "{" NODE(
             TERM("{\"key\":\"a\",\"operator\":\"Exists\"}," OBSOLETE) "," TERM(OBSOLETE)) ",\"podAntiAffinity\":{}}"},
        {NULL, "{'spec':{'affinity':{'podAffinity':{}},'domain':{'cpu':{'model':'Haswell'}}}}", "{\"podAffinity\":{}}"},
        {CROSS, "{'spec':{'architecture':'arm64','domain':{'cpu':{'model':'Haswell'}}}}",
         "{\"nodeAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":100,\"preference\":"
         "{\"matchExpressions\":[{\"key\":\"kubernetes.io/arch\",\"operator\":\"In\",\"values\":[\"arm64\"]}]}}]}}"},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct core_affinity *affinity;
        struct fixture f;

        fixture_init(&f, rows[i].configuration, rows[i].vmi);
        affinity = launcher_affinity(&f.launcher);
        if (!rows[i].affinity)
            assert_null(affinity);
        else
            assert_string_equal(api_encode_text(f.arena, &core_affinity_type, affinity, 0), rows[i].affinity);
        fixture_done(&f);
    }
}

static void the_users_affinity_is_not_touched(void **state)
{
    struct fixture f;
    const char *before;

    (void)state;
    fixture_init(&f, NULL,
                 "{'spec':{'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':"
                 "{'nodeSelectorTerms':[{}]}}}}}");
    before = api_encode_text(f.arena, &kv_vmi_type, f.input.vmi, 0);
    assert_non_null(launcher_affinity(&f.launcher));
    assert_string_equal(api_encode_text(f.arena, &kv_vmi_type, f.input.vmi, 0), before);
    fixture_done(&f);
}

static void pods_that_reserve_the_same_lun_keep_apart(void **state)
{
    const struct core_pod_affinity_term *term;
    struct core_affinity *affinity;
    struct fixture f;

    (void)state;
    fixture_init(&f, NULL, "{'spec':{'domain':{'cpu':{'model':'Haswell'}}}}");
    api_map_set(f.arena, &f.launcher.reservation_labels, "pr.kubevirt.io/u1", "");
    api_map_set(f.arena, &f.launcher.reservation_labels, "pr.kubevirt.io/u2", "");
    affinity = launcher_affinity(&f.launcher);
    assert_non_null(affinity);
    assert_int_equal(affinity->pod_anti_affinity->required_during_scheduling_ignored_during_execution.n, 2);
    term = &affinity->pod_anti_affinity->required_during_scheduling_ignored_during_execution.items[1];
    assert_string_equal(term->topology_key, "kubernetes.io/hostname");
    assert_string_equal(term->label_selector->match_expressions.items[0].key, "pr.kubevirt.io/u2");
    assert_string_equal(term->label_selector->match_expressions.items[0].operator, "Exists");
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_that_the_node_must_have),
        cmocka_unit_test(every_term_refuses_what_the_guest_cannot_have),
        cmocka_unit_test(the_users_affinity_is_not_touched),
        cmocka_unit_test(pods_that_reserve_the_same_lun_keep_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
