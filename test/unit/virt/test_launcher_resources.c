/* Tests of what the compute container asks for, of the memory beside the guest's, and of other containers' resources.
 */
#include "base/strbuf.h"
#include "launcher_fixture.h"
#include "virt/launcher/resources_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* "cpu=1 memory=2Gi" */
static const char *list(struct fixture *f, const struct api_string_map *amounts)
{
    struct kb_strbuf text = {.arena = f->arena};

    api_list_foreach (amount, amounts)
        kb_strbuf_printf(&text, "%s%s=%s", text.length > 0 ? " " : "", amount->key, amount->value);
    return kb_strbuf_text(&text);
}

/* A VMI with this domain (the inside of an object). */
static const char *with_domain(char ret[2048], const char *domain)
{
    snprintf(ret, 2048, "{'spec':{'architecture':'amd64','domain':{%s}}}", domain);
    return ret;
}

static void init(struct fixture *f, const char *configuration, const char *domain)
{
    char vmi[2048];

    fixture_init(f, configuration, with_domain(vmi, domain));
}

/* ---- memory beside the guest's ---- */

#define MIB INT64_C(1048576)
/* 220 Mi of processes, 8 Mi for one vCPU, 8 Mi for the IO thread, 32 Mi of video memory */
#define BASE (268 * MIB)

static void the_overhead_has_a_term_for_each_thing(void **state)
{
    static const struct {
        const char *configuration, *vmi;
        int64_t bytes;
    } rows[] = {
        {NULL, "{}", BASE},
        {NULL, "{'spec':{'domain':{'cpu':{'sockets':2,'cores':3}}}}", BASE + 5 * 8 * MIB},
        {NULL, "{'spec':{'domain':{'cpu':{}}}}", BASE},
        {NULL, "{'spec':{'domain':{'resources':{'limits':{'cpu':'2500m'}}}}}", BASE + 2 * 8 * MIB},
        {NULL, "{'spec':{'domain':{'resources':{'requests':{'cpu':'4'}}}}}", BASE + 3 * 8 * MIB},
        {NULL, "{'spec':{'domain':{'resources':{'requests':{'memory':'1Gi'}}}}}", BASE + 2 * MIB},
        {NULL, "{'spec':{'domain':{'resources':{'requests':{'memory':'1'}}}}}", BASE + 1},
        {NULL, "{'spec':{'domain':{'devices':{'autoattachGraphicsDevice':false}}}}", BASE - 32 * MIB},
        {NULL, "{'spec':{'architecture':'arm64'}}", BASE + 128 * MIB},
        {NULL, "{'spec':{'domain':{'devices':{'gpus':[{'name':'a'}],'hostDevices':[{'name':'b'}]}}}}",
         BASE + 1024 * MIB},
        {NULL, "{'spec':{'domain':{'devices':{'interfaces':[{'name':'a','sriov':{}}]}}}}", BASE + 1024 * MIB},
        {NULL, "{'spec':{'volumes':[{'name':'a','downwardMetrics':{}}]}}", BASE + MIB},
        {NULL, "{'spec':{'livenessProbe':{'exec':{}}}}", BASE + 110 * MIB},
        {NULL, "{'spec':{'livenessProbe':{'exec':{}},'readinessProbe':{'exec':{}}}}", BASE + 120 * MIB},
        {NULL, "{'spec':{'readinessProbe':{'guestAgentPing':{}}}}", BASE},
        {NULL, "{'spec':{'domain':{'launchSecurity':{'snp':{}}}}}", BASE + 256 * MIB},
        {NULL, "{'spec':{'domain':{'launchSecurity':{'tdx':{}}}}}", BASE},
        {NULL, "{'spec':{'domain':{'devices':{'tpm':{}}}}}", BASE + 53 * MIB},
        {NULL, "{'spec':{'domain':{'devices':{'tpm':{'enabled':false}}}}}", BASE},
        {NULL, "{'spec':{'domain':{'cpu':{'dedicatedCpuPlacement':true}}}}", BASE + 100 * MIB},
        {NULL, "{'spec':{'domain':{'memory':{'reservedOverhead':{'addedOverhead':'3Mi'}}}}}", BASE + 3 * MIB},
        {NULL,
         "{'spec':{'domain':{'devices':{'interfaces':[{'name':'a','passtBinding':{}},"
         "{'name':'b','passtBinding':{}}]}}}}",
         BASE + 250 * MIB},
        {"{'network':{'binding':{'x':{'computeResourceOverhead':{'requests':{'memory':'5Mi'}}},'y':{}}}}",
         "{'spec':{'domain':{'devices':{'interfaces':[{'name':'a','binding':{'name':'x'}},"
         "{'name':'b','binding':{'name':'y'}},{'name':'c','binding':{'name':'x'}},"
         "{'name':'d','binding':{'name':'unknown'}}]}}}}",
         BASE + 5 * MIB},
        /* thousands of bytes, rounded up, times 0.5, rounded down */
        {"{'additionalGuestMemoryOverheadRatio':'1.5'}", "{}", BASE + 140509 * 1000},
        {"{'additionalGuestMemoryOverheadRatio':'2 '}", "{}", BASE},
        {"{'additionalGuestMemoryOverheadRatio':'2'}",
         "{'spec':{'domain':{'devices':{'interfaces':[{'name':'a','passtBinding':{}}]}}}}",
         BASE + 281019 * 1000 + 250 * MIB},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct fixture f;
        int64_t bytes;

        fixture_init(&f, rows[i].configuration, rows[i].vmi);
        bytes = virt_launcher_memory_overhead(f.config, f.input.vmi);
        if (bytes != rows[i].bytes)
            fail_msg("%s: %lld is not %lld", rows[i].vmi, (long long)bytes, (long long)rows[i].bytes);
        fixture_done(&f);
    }
}

/* ---- requests and limits ---- */

#define DEVICES "devices.kubevirt.io/kvm=1 devices.kubevirt.io/tun=1"

struct sum_row {
    const char *configuration, *domain, *requests, *limits;
};

static void check_sums(const struct sum_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct core_resource_requirements resources = {0};
        struct kube_error error = {0};
        struct fixture f;
        init(&f, rows[i].configuration, rows[i].domain);
        assert_int_equal(launcher_resources(&f.launcher, &resources, &error), 0);
        const char *requests = list(&f, &resources.requests), *limits = list(&f, &resources.limits);
        if (!kb_streq(requests, rows[i].requests) || !kb_streq(limits, rows[i].limits))
            fail_msg("%s\n  requests %s\n  not      %s\n  limits   %s\n  not      %s", rows[i].domain, requests,
                     rows[i].requests, limits, rows[i].limits);
        fixture_done(&f);
    }
}

static void requests_and_limits_follow_the_domain(void **state)
{
    static const struct sum_row rows[] = {
        {NULL, "'memory':{'guest':'1Gi'}", "cpu=100m ephemeral-storage=50M memory=1292Mi", DEVICES},
        {NULL, "'resources':{'requests':{'memory':'1Gi','cpu':'3','ephemeral-storage':'1Gi'}}",
         "cpu=3 ephemeral-storage=1123741824 memory=1310Mi", DEVICES},
        {NULL, "'resources':{'requests':{'memory':'1G'}}", "cpu=100m ephemeral-storage=50M memory=1282971493", DEVICES},
        {NULL, "'resources':{'limits':{'memory':'1Gi','ephemeral-storage':'1G'}}",
         "cpu=100m ephemeral-storage=50M memory=1292Mi", DEVICES " ephemeral-storage=1050M memory=1292Mi"},
        {NULL, "'resources':{'limits':{'memory':'1Gi'},'overcommitGuestOverhead':true}",
         "cpu=100m ephemeral-storage=50M memory=1Gi", DEVICES " memory=1292Mi"},
        {NULL, "'resources':{'overcommitGuestOverhead':true}", "cpu=100m ephemeral-storage=50M memory=0", DEVICES},
        {"{'developerConfiguration':{'memoryOvercommit':150}}", "'memory':{'guest':'1Gi'}",
         "cpu=100m ephemeral-storage=50M memory=996846250", DEVICES},
        {"{'developerConfiguration':{'memoryOvercommit':150}}", "'resources':{'requests':{'memory':'1Gi'}}",
         "cpu=100m ephemeral-storage=50M memory=1294Mi", DEVICES},
        /* CPUs */
        {"{'developerConfiguration':{'cpuAllocationRatio':3}}", "'cpu':{'cores':1},'memory':{'guest':'1Gi'}",
         "cpu=333333334n ephemeral-storage=50M memory=1292Mi", DEVICES},
        {NULL, "'cpu':{'cores':15},'memory':{'guest':'1Gi'}", "cpu=1500m ephemeral-storage=50M memory=1404Mi", DEVICES},
        {NULL, "'cpu':{'cores':20},'ioThreads':{'supplementalPoolThreadCount':10},'memory':{'guest':'1Gi'}",
         "cpu=3 ephemeral-storage=50M memory=1444Mi", DEVICES},
        {NULL, "'cpu':{},'memory':{'guest':'1Gi'}", "ephemeral-storage=50M memory=1292Mi", DEVICES},
        /* dedicated ones */
        {NULL, "'cpu':{'cores':2,'threads':2,'dedicatedCpuPlacement':true},'memory':{'guest':'1Gi'}",
         "cpu=4 ephemeral-storage=50M memory=1416Mi", "cpu=4 " DEVICES " memory=1416Mi"},
        {NULL, "'cpu':{'cores':4,'dedicatedCpuPlacement':true,'isolateEmulatorThread':true},'memory':{'guest':'1Gi'}",
         "cpu=5 ephemeral-storage=50M memory=1416Mi", "cpu=5 " DEVICES " memory=1416Mi"},
        {NULL,
         "'cpu':{'dedicatedCpuPlacement':true},'ioThreads':{'supplementalPoolThreadCount':2},"
         "'resources':{'requests':{'memory':'1Gi','cpu':'2'}}",
         "cpu=4 ephemeral-storage=50M memory=1394Mi", DEVICES " memory=1394Mi"},
        /* huge pages */
        {NULL, "'memory':{'guest':'1Gi','hugepages':{'pageSize':'2Mi'}},'resources':{'requests':{'memory':'2Gi'}}",
         "cpu=100m ephemeral-storage=50M hugepages-2Mi=1Gi memory=1296Mi", DEVICES " hugepages-2Mi=1Gi"},
        {NULL,
         "'memory':{'guest':'64Mi','hugepages':{'pageSize':'2Mi'}},"
         "'resources':{'requests':{'memory':'64Mi'},'limits':{'memory':'64Mi'}}",
         "cpu=100m ephemeral-storage=50M hugepages-2Mi=64Mi memory=281149440",
         DEVICES " hugepages-2Mi=64Mi memory=281149440"},
        {NULL, "'memory':{'hugepages':{'pageSize':'1Gi'}}",
         "cpu=100m ephemeral-storage=50M hugepages-1Gi=1Gi memory=268Mi", DEVICES " hugepages-1Gi=1Gi"},
        /* devices */
        {"{'developerConfiguration':{'useEmulation':true}}",
         "'memory':{'guest':'1Gi'},'devices':{'autoattachPodInterface':false,'autoattachVSOCK':true}",
         "cpu=100m ephemeral-storage=50M memory=1292Mi", "devices.kubevirt.io/vhost-vsock=1"},
        {NULL, "'memory':{'guest':'1Gi'},'devices':{'interfaces':[{'name':'a'}]}",
         "cpu=100m ephemeral-storage=50M memory=1292Mi", DEVICES " devices.kubevirt.io/vhost-net=1"},
        {NULL, "'memory':{'guest':'1Gi'},'devices':{'interfaces':[{'name':'a','model':'e1000'}]}",
         "cpu=100m ephemeral-storage=50M memory=1292Mi", DEVICES},
        {NULL, "'memory':{'guest':'1Gi'},'launchSecurity':{'sev':{}}",
         "cpu=100m devices.kubevirt.io/sev=1 ephemeral-storage=50M memory=1548Mi",
         "devices.kubevirt.io/kvm=1 devices.kubevirt.io/sev=1 devices.kubevirt.io/tun=1"},
        {NULL,
         "'memory':{'guest':'1Gi'},'devices':{'gpus':[{'name':'a','deviceName':'x/gpu'},"
         "{'name':'b','deviceName':'x/gpu'},{'name':'c','claimName':'claim'}],"
         "'hostDevices':[{'name':'d','deviceName':'x/gpu'},{'name':'e','deviceName':'x/nic'}]},"
         "'resources':{'limits':{'x/nic':'7'}}",
         "cpu=100m ephemeral-storage=50M memory=2316Mi x/gpu=3 x/nic=1", DEVICES " x/gpu=3 x/nic=7"},
        {"{'developerConfiguration':{'featureGates':['IOMMUFD','ConfigurableHypervisor']},"
         "'hypervisors':[{'name':'hyperv-direct'}]}",
         "'memory':{'guest':'1Gi'}", "cpu=100m devices.kubevirt.io/iommufd=1 ephemeral-storage=50M memory=1292Mi",
         "devices.kubevirt.io/iommufd=1 devices.kubevirt.io/mshv=1 devices.kubevirt.io/tun=1"},
    };
    (void)state;
    check_sums(rows, KB_ARRAY_LEN(rows));
}

static void texts_and_numbers_are_kept_as_go_keeps_them(void **state)
{
    static const struct sum_row rows[] = {
        {"{'developerConfiguration':{'cpuAllocationRatio':8}}", "'cpu':{'cores':9},'memory':{'guest':'1Gi'}",
         "cpu=1.125 ephemeral-storage=50M memory=1356Mi", DEVICES},
        /* by reference: what is added to the request is added to the limit it was made of, and the other way round */
        {NULL, "'resources':{'limits':{'memory':'1.5Gi'}}", "cpu=100m ephemeral-storage=50M memory=2072Mi",
         DEVICES " memory=2072Mi"},
        {NULL, "'cpu':{'cores':1,'dedicatedCpuPlacement':true},'memory':{'guest':'1.5Gi'}",
         "cpu=1 ephemeral-storage=50M memory=2272Mi", "cpu=1 " DEVICES " memory=2272Mi"},
        {NULL, "'resources':{'requests':{'memory':'1.5Gi'},'limits':{'memory':'1.5Gi'}}",
         "cpu=100m ephemeral-storage=50M memory=1807Mi", DEVICES " memory=1807Mi"},
        {NULL,
         "'memory':{'guest':'1Gi'},'devices':{'gpus':[{'name':'a','deviceName':'x/gpu'}]},"
         "'resources':{'limits':{'x/gpu':'0.5Ki'}}",
         "cpu=100m ephemeral-storage=50M memory=2316Mi x/gpu=1", DEVICES " x/gpu=513"},
    };

    (void)state;
    check_sums(rows, KB_ARRAY_LEN(rows));
}

static void guaranteed_ends_where_request_and_limit_part(void **state)
{
    static const struct {
        const char *memory;
        bool overcommit, guaranteed;
    } rows[] = {{"1Gi", true, true}, {"1.5Gi", false, true}, {"1.5Gi", true, false}};
    char domain[512];

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct core_resource_requirements resources = {0};
        struct fixture f;

        snprintf(domain, sizeof(domain),
                 "'resources':{'requests':{'memory':'%s','cpu':'1'},'limits':{'memory':'%s','cpu':'1'},"
                 "'overcommitGuestOverhead':%s}",
                 rows[i].memory, rows[i].memory, rows[i].overcommit ? "true" : "false");
        init(&f, NULL, domain);
        assert_int_equal(launcher_resources(&f.launcher, &resources, NULL), 0);
        assert_int_equal(f.launcher.guaranteed, rows[i].guaranteed);
        fixture_done(&f);
    }
}

static void an_even_number_of_cpus_is_asked_for_by_annotation(void **state)
{
    static const struct {
        const char *domain, *cpu;
    } rows[] = {
        {"'cpu':{'cores':4,'dedicatedCpuPlacement':true,'isolateEmulatorThread':true}", "6"},
        {"'cpu':{'cores':5,'dedicatedCpuPlacement':true,'isolateEmulatorThread':true}", "6"},
        /* three threads are counted twice with this policy, as in the reference */
        {"'cpu':{'cores':4,'dedicatedCpuPlacement':true,'isolateEmulatorThread':true},"
         "'ioThreadsPolicy':'supplementalPool','ioThreads':{'supplementalPoolThreadCount':3}",
         "9"},
    };
    char vmi[2048];

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct core_resource_requirements resources = {0};
        struct fixture f;

        snprintf(vmi, sizeof(vmi),
                 "{'metadata':{'annotations':{'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity':''}},"
                 "'spec':{'domain':{%s}}}",
                 rows[i].domain);
        fixture_init(&f, NULL, vmi);
        assert_int_equal(launcher_resources(&f.launcher, &resources, NULL), 0);
        assert_string_equal(api_map_get(&resources.limits, "cpu"), rows[i].cpu);
        assert_string_equal(api_map_get(&resources.requests, "cpu"), rows[i].cpu);
        fixture_done(&f);
    }
}

static void claims_of_devices_follow_their_gates(void **state)
{
    static const char domain[] = "'devices':{'gpus':[{'name':'a','claimName':'g','requestName':'one'}],"
                                 "'hostDevices':[{'name':'b','claimName':'h'}]}";
    struct core_resource_requirements resources = {0};
    struct fixture f;

    (void)state;
    init(&f, NULL, domain);
    assert_int_equal(launcher_resources(&f.launcher, &resources, NULL), 0);
    assert_int_equal(resources.claims.n, 2);
    assert_string_equal(resources.claims.items[0].name, "g");
    assert_string_equal(resources.claims.items[0].request, "one");
    assert_string_equal(resources.claims.items[1].name, "h");
    fixture_done(&f);
    resources = (struct core_resource_requirements){0};
    init(&f, "{'developerConfiguration':{'disabledFeatureGates':['GPUsWithDRA','HostDevicesWithDRA']}}", domain);
    assert_int_equal(launcher_resources(&f.launcher, &resources, NULL), 0);
    assert_int_equal(resources.claims.n, 0);
    fixture_done(&f);
}

static void devices_that_are_not_permitted_are_all_named(void **state)
{
    struct core_resource_requirements resources = {0};
    struct kube_error error = {0};
    struct fixture f;

    (void)state;
    init(&f,
         "{'permittedHostDevices':{'pciHostDevices':[{'resourceName':'x/a'}],'usb':[{'resourceName':'x/b'}],"
         "'mediatedDevices':[{'resourceName':'x/c'}]}}",
         "'devices':{'gpus':[{'name':'1','deviceName':'x/a'},{'name':'2','deviceName':'x/no'}],"
         "'hostDevices':[{'name':'3','deviceName':'x/b'},{'name':'4','deviceName':'x/c'},"
         "{'name':'5','deviceName':'x/never'},{'name':'6','claimName':'c'}]}");
    assert_int_equal(launcher_resources(&f.launcher, &resources, &error), -1);
    assert_string_equal(error.message, "GPU x/no is not permitted in permittedHostDevices configuration "
                                       "HostDevice x/never is not permitted in permittedHostDevices configuration");
    fixture_done(&f);
}

/* ---- what the namespace asks for ---- */

static const struct core_namespace *the_namespace;
static const struct core_resource_quota *the_quota;

static const struct core_namespace *find_namespace(void *userdata, const char *name, struct kube_error *reterr)
{
    (void)userdata;
    (void)reterr;
    assert_string_equal(name, "ns");
    return the_namespace;
}

static size_t find_quotas(void *userdata, const char *namespace_, const struct core_resource_quota *const **ret)
{
    (void)userdata;
    assert_string_equal(namespace_, "ns");
    *ret = &the_quota;
    return the_quota ? 1 : 0;
}

static void quotas_and_labels_of_the_namespace_give_limits(void **state)
{
    static const char selector[] = "{'autoCPULimitNamespaceLabelSelector':{'matchLabels':{'limit':'yes'}}}";
    static const struct {
        const char *configuration, *domain, *labels, *hard;
        const char *cpu, *memory; /* limits; NULL: none */
    } rows[] = {
        {NULL, "'cpu':{'cores':3},'memory':{'guest':'1008Mi'}", "{}", "{'limits.memory':'1Ti'}", NULL, "2584Mi"},
        {NULL, "'memory':{'guest':'1Gi'}", "{}", "{'limits.cpu':'9'}", "1", NULL},
        {NULL, "'memory':{'guest':'1Gi'}", "{}", "{'requests.cpu':'9'}", NULL, NULL},
        {NULL, "'memory':{'guest':'1Gi'}", "{'alpha.kubevirt.io/auto-memory-limits-ratio':'1.5'}",
         "{'limits.memory':'1Ti'}", NULL, "1938Mi"},
        {NULL, "'memory':{'guest':'1Gi'}", "{'alpha.kubevirt.io/auto-memory-limits-ratio':'0.9'}",
         "{'limits.memory':'1Ti'}", NULL, "2584Mi"},
        {NULL, "'memory':{'guest':'1Gi'}", "{'alpha.kubevirt.io/auto-memory-limits-ratio':'x'}",
         "{'limits.memory':'1Ti'}", NULL, "2584Mi"},
        {NULL, "'resources':{'limits':{'memory':'1Gi','cpu':'2'}}", "{}", "{'limits.memory':'1Ti','limits.cpu':'9'}",
         "2", "1300Mi"},
        {selector, "'memory':{'guest':'1Gi'},'cpu':{'cores':3}", "{'limit':'yes'}", NULL, "3", NULL},
        {selector, "'memory':{'guest':'1Gi'},'cpu':{'cores':3}", "{'limit':'no'}", NULL, NULL, NULL},
        {selector, "'memory':{'guest':'1Gi'},'cpu':{'cores':3}", NULL, NULL, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct core_resource_requirements resources = {0};
        struct fixture f;
        char json[512];

        init(&f, rows[i].configuration, rows[i].domain);
        f.lookups.namespace_ = find_namespace;
        f.lookups.quotas = find_quotas;
        snprintf(json, sizeof(json), "{'metadata':{'labels':%s}}", rows[i].labels ? rows[i].labels : "{}");
        the_namespace = rows[i].labels ? fixture_decode(&f, &core_namespace_type, json) : NULL;
        snprintf(json, sizeof(json), "{'spec':{'hard':%s}}", rows[i].hard ? rows[i].hard : "{}");
        the_quota = rows[i].hard ? fixture_decode(&f, &core_resource_quota_type, json) : NULL;
        assert_int_equal(launcher_resources(&f.launcher, &resources, NULL), 0);
        const char *cpu = api_map_get(&resources.limits, "cpu"), *memory = api_map_get(&resources.limits, "memory");

        if (!kb_streq_null(cpu, rows[i].cpu) || !kb_streq_null(memory, rows[i].memory))
            fail_msg("%zu: %s %s", i, cpu, memory);
        fixture_done(&f);
    }
}

/* ---- the explanation ---- */

static void the_terms_add_up(void **state)
{
    static const char *const domains[] = {
        "'memory':{'guest':'1Gi'}",
        "'cpu':{'cores':2,'dedicatedCpuPlacement':true,'isolateEmulatorThread':true},'memory':{'guest':'1Gi'}",
        ("'memory':{'guest':'1Gi','hugepages':{'pageSize':'2Mi'}},'resources':{'requests':{'memory':'2Gi'},"
         "'limits':{'memory':'3Gi'}}"),
        "'resources':{'requests':{'memory':'1G','cpu':'1'}},'devices':{'gpus':[{'name':'a','deviceName':'x/g'}]}",
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(domains); i++) {
        struct core_resource_requirements resources = {0};
        struct virt_resource_explanation terms;
        struct fixture f;

        init(&f, "{'developerConfiguration':{'memoryOvercommit':120}}", domains[i]);
        assert_int_equal(launcher_resources(&f.launcher, &resources, NULL), 0);
        assert_int_equal(virt_launcher_explain(f.arena, &f.input, &terms, NULL), 0);
        for (int limit = 0; limit < 2; limit++) {
            api_list_foreach (amount, limit ? &resources.limits : &resources.requests) {
                struct kb_quantity sum = {0};

                for (size_t t = 0; t < terms.n; t++)
                    if (terms.items[t].limit == limit && kb_streq(terms.items[t].resource, amount->key))
                        sum = kb_quantity_add(sum, kb_quantity_of(terms.items[t].quantity));
                if (kb_quantity_compare(sum, kb_quantity_of(amount->value)) != 0)
                    fail_msg("%s of %s: %s is not %s", amount->key, domains[i], kb_quantity_text(f.arena, sum),
                             amount->value);
            }
        }
        fixture_done(&f);
    }
}

/* ---- containers beside compute ---- */

static void other_containers_have_small_defaults(void **state)
{
    static const struct {
        const char *configuration;
        enum launcher_support type;
        bool guaranteed;
        const char *requests, *limits;
    } rows[] = {
        {NULL, LAUNCHER_SUPPORT_CONSOLE_LOG, false, "cpu=5m memory=35M", "cpu=15m memory=60M"},
        {NULL, LAUNCHER_SUPPORT_CONSOLE_LOG, true, "cpu=15m memory=60M", "cpu=15m memory=60M"},
        {NULL, LAUNCHER_SUPPORT_CONTAINER_DISK, false, "cpu=1m ephemeral-storage=50M memory=1M", "cpu=10m memory=40M"},
        {NULL, LAUNCHER_SUPPORT_CONTAINER_DISK_BINARY, false, "cpu=10m memory=1M", "cpu=100m memory=40M"},
        {NULL, LAUNCHER_SUPPORT_CONTAINER_DISK_BINARY, true, "cpu=10m memory=40M", "cpu=10m memory=40M"},
        {NULL, LAUNCHER_SUPPORT_VIRTIOFS, true, "cpu=100m memory=80M", "cpu=100m memory=80M"},
        {NULL, LAUNCHER_SUPPORT_SIDECAR, false, "", ""},
        {NULL, LAUNCHER_SUPPORT_SIDECAR, true, "cpu=200m memory=64M", "cpu=200m memory=64M"},
        {NULL, LAUNCHER_SUPPORT_HOTPLUG, false, "cpu=10m memory=2M", "cpu=100m memory=80M"},
        {NULL, LAUNCHER_SUPPORT_EXPORT, false, "cpu=100m memory=200Mi", "cpu=1 memory=1Gi"},
        {"{'supportContainerResources':[{'type':'sidecar','resources':{'requests':{'cpu':'7m'},"
         "'limits':{'memory':'9M'}}}]}",
         LAUNCHER_SUPPORT_SIDECAR, false, "cpu=7m", "memory=9M"},
        {"{'supportContainerResources':[{'type':'sidecar','resources':{'requests':{'cpu':'7m'},"
         "'limits':{'memory':'9M'}}}]}",
         LAUNCHER_SUPPORT_SIDECAR, true, "cpu=200m memory=9M", "cpu=200m memory=9M"},
    };

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct core_resource_requirements resources = {0};
        struct fixture f;

        fixture_init(&f, rows[i].configuration, "{}");
        launcher_support_resources(f.arena, f.config, rows[i].type, rows[i].guaranteed, &resources);
        assert_string_equal(list(&f, &resources.requests), rows[i].requests);
        assert_string_equal(list(&f, &resources.limits), rows[i].limits);
        fixture_done(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_overhead_has_a_term_for_each_thing),
        cmocka_unit_test(requests_and_limits_follow_the_domain),
        cmocka_unit_test(texts_and_numbers_are_kept_as_go_keeps_them),
        cmocka_unit_test(guaranteed_ends_where_request_and_limit_part),
        cmocka_unit_test(an_even_number_of_cpus_is_asked_for_by_annotation),
        cmocka_unit_test(claims_of_devices_follow_their_gates),
        cmocka_unit_test(devices_that_are_not_permitted_are_all_named),
        cmocka_unit_test(quotas_and_labels_of_the_namespace_give_limits),
        cmocka_unit_test(the_terms_add_up),
        cmocka_unit_test(other_containers_have_small_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
