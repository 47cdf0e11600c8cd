/*
 * What rendering a launcher Pod costs: a small VMI, and one with most of what a VMI can have;
 * nanoseconds and bytes of memory a Pod. Exit status 1 when one takes longer than the limit.
 *
 *     meson test --benchmark -C build launcher       or      build/bench/bench_launcher [milliseconds a VMI]
 */
#include "virt/launcher/launcher.h"
#include "api/codec.h"
#include "base/clock.h"
#include "base/strings.h"
#include <stdio.h>
#include <stdlib.h>

#define LIMIT_NS 100000 /* a Pod, in a build without sanitizers */

static const char small[] =
    "{'metadata':{'name':'vm','namespace':'ns','uid':'u'},'spec':{'architecture':'amd64','domain':{'cpu':{'cores':1},"
    "'memory':{'guest':'1Gi'},'devices':{}}}}";

static const char large[] =
    "{'metadata':{'name':'vm','namespace':'ns','uid':'u','labels':{'a':'b'},'annotations':{"
    "'hooks.kubevirt.io/hookSidecars':'[{\\\"image\\\":\\\"hook\\\"}]'}},'spec':{'architecture':'amd64','hostname':'h',"
    "'affinity':{'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
    "'matchExpressions':[{'key':'zone','operator':'In','values':['a']}]}]}}},"
    "'livenessProbe':{'exec':{'command':['true']}},'readinessProbe':{'guestAgentPing':{}},"
    "'tolerations':[{'key':'a','operator':'Exists'}],"
    "'networks':[{'name':'default','pod':{}},{'name':'n1','multus':{'networkName':'net1'}},"
    "{'name':'n2','multus':{'networkName':'other/net2'}}],"
    "'volumes':[{'name':'disk','containerDisk':{'image':'disk:1'}},{'name':'root','dataVolume':{'name':'root'}},"
    "{'name':'files','persistentVolumeClaim':{'claimName':'files'}},{'name':'secret','secret':{'secretName':'s'}},"
    "{'name':'config','configMap':{'name':'c'}},{'name':'init','cloudInitNoCloud':{'userData':'x'}},"
    "{'name':'empty','emptyDisk':{'capacity':'1Gi'}},{'name':'account','serviceAccount':{'serviceAccountName':'a'}}],"
    "'domain':{'cpu':{'cores':4,'sockets':2,'model':'Haswell','dedicatedCpuPlacement':true,'features':[{'name':'vmx'},"
    "{'name':'x','policy':'forbid'}]},'memory':{'guest':'8Gi','hugepages':{'pageSize':'2Mi'}},"
    "'firmware':{'bootloader':{'efi':{'persistent':true}}},'machine':{'type':'q35'},"
    "'devices':{'tpm':{'persistent':true},'gpus':[{'name':'g','deviceName':'x/gpu'}],"
    "'filesystems':[{'name':'files','virtiofs':{}}],"
    "'interfaces':[{'name':'default','masquerade':{},'ports':[{'port':80}]},{'name':'n1','sriov':{}},"
    "{'name':'n2','bridge':{}}],'disks':[{'name':'disk','disk':{}},{'name':'root','disk':{}},{'name':'secret'},"
    "{'name':'config'},{'name':'init'},{'name':'empty'}]}}}}";

static const struct core_pvc *find_claim(void *userdata, const char *namespace_, const char *name,
                                         struct kube_error *reterr)
{
    static const struct core_pvc any;

    (void)userdata;
    (void)namespace_;
    (void)name;
    (void)reterr;
    return &any;
}

static char *double_quotes(const char *text)
{
    char *copy = kb_strdup(text);

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

static const struct kv_vmi *decode(struct kb_arena *arena, const char *text)
{
    kb_cleanup_free char *json = double_quotes(text);
    struct kube_error error = {0};
    struct kv_vmi *vmi;

    if (api_decode(arena, &kv_vmi_type, json, strlen(json), &vmi, &error) == 0)
        return vmi;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

/* Returns the memory that the Pod took. */
static size_t render(const struct virt_launcher_input *input)
{
    struct kb_arena *arena = kb_arena_new();
    struct kube_error error = {0};
    struct core_pod *pod;
    size_t bytes;

    if (virt_launcher_pod(arena, input, &pod, &error) < 0) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    bytes = kb_arena_bytes(arena);
    kb_arena_free(arena);
    return bytes;
}

static double ns_per_pod(const struct virt_launcher_input *input, int64_t limit)
{
    struct kb_clock *clock = kb_clock_system();
    const int64_t start = clock->mono(clock);
    int64_t pods = 0, passed;

    do {
        for (int i = 0; i < 100; i++)
            render(input);
        pods += 100;
        passed = clock->mono(clock) - start;
    } while (passed < limit);
    return (double)passed / pods;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *vmi;
    } subjects[] = {{"small", small}, {"large", large}};
    const int64_t limit = (argc > 1 ? atoi(argv[1]) : 200) * KB_NS_PER_MS;
    const struct virt_launcher_lookups lookups = {.pvc = find_claim};
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const struct virt_config *config;
    bool slow = false;

    if (virt_config_new(NULL, &config, NULL) < 0)
        return 1;
    for (size_t i = 0; i < KB_ARRAY_LEN(subjects); i++) {
        const struct virt_launcher_input input = {
            .config = config,
            .settings = &virt_launcher_default_settings,
            .vmi = decode(arena, subjects[i].vmi),
            .lookups = &lookups,
            .backend_storage_claim = "state",
        };
        const double ns = ns_per_pod(&input, limit);

        printf("%-6s %8.0f ns, %zu bytes a Pod\n", subjects[i].name, ns, render(&input));
        slow = slow || ns > LIMIT_NS;
    }
    virt_config_unref(config);
    return slow;
}
