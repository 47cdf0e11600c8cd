/* Tests of `virt-controller render`, from its command line to what it prints. */
#include "cmd/virt-controller/render.h"

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a run ---- */

struct run {
    struct kb_arena *arena;
    char *folder;
    int status;
    const char *out, *err; /* what was printed; the folder's name is left out */
};

static int set_up(void **state)
{
    struct run *run = test_malloc(sizeof(*run));
    const char *base = getenv("TMPDIR") ?: "/tmp";

    *run = (struct run){.arena = kb_arena_new()};
    run->folder = kb_arena_printf(run->arena, "%s/render-XXXXXX", base);
    assert_non_null(mkdtemp(run->folder));
    *state = run;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const files[] = {"vm", "with", "kubevirt", "pod", "out", "err"};
    struct run *run = *state;

    for (size_t i = 0; i < KB_ARRAY_LEN(files); i++)
        unlink(kb_arena_printf(run->arena, "%s/%s", run->folder, files[i]));
    assert_int_equal(rmdir(run->folder), 0);
    kb_arena_free(run->arena);
    test_free(run);
    return 0;
}

static const char *path(struct run *run, const char *file)
{
    return kb_arena_printf(run->arena, "%s/%s", run->folder, file);
}

static void put(struct run *run, const char *file, const char *content)
{
    FILE *f = fopen(path(run, file), "we");

    assert_non_null(f);
    assert_int_equal(fputs(content, f) < 0, 0);
    assert_int_equal(fclose(f), 0);
}

static const char *get(struct run *run, const char *file)
{
    struct kb_strbuf text = {.arena = run->arena}, rest = {.arena = run->arena};
    FILE *f = fopen(path(run, file), "re");
    const char *found, *from;
    char bytes[4096];
    size_t n;

    assert_non_null(f);
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0)
        kb_strbuf_append(&text, bytes, n);
    fclose(f);
    for (from = kb_strbuf_text(&text); (found = strstr(from, run->folder)); from = found + strlen(run->folder) + 1)
        kb_strbuf_append(&rest, from, (size_t)(found - from));
    kb_strbuf_puts(&rest, from);
    return kb_strbuf_text(&rest);
}

static int redirect(struct run *run, int descriptor, const char *file)
{
    int kept = dup(descriptor);
    FILE *f = fopen(path(run, file), "we");

    assert_non_null(f);
    assert_true(kept >= 0 && dup2(fileno(f), descriptor) >= 0);
    fclose(f);
    return kept;
}

/* Words of the command line; those that start with @ are files in the run's folder. */
static void render(struct run *run, const char *command)
{
    const char *const *words;
    char *arguments[32] = {(char[]){"render"}};
    const size_t n = kb_split(run->arena, command, ' ', &words);
    int out, err;

    assert_true(n + 2 <= KB_ARRAY_LEN(arguments));
    for (size_t i = 0; i < n; i++)
        arguments[i + 1] = kb_arena_strdup(run->arena, *words[i] == '@' ? path(run, words[i] + 1) : words[i]);
    fflush(NULL);
    out = redirect(run, STDOUT_FILENO, "out");
    err = redirect(run, STDERR_FILENO, "err");
    run->status = render_main((int)n + 1, arguments);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    run->out = get(run, "out");
    run->err = get(run, "err");
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

#define VM                                                                                                             \
    "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\n"                                        \
    "spec:\n  runStrategy: Always\n  template:\n    spec:\n"

/* ---- bad input ---- */

static void bad_input_is_told_by_file_document_and_field(void **state)
{
    static const struct {
        const char *manifest, *error;
    } rows[] = {
        {"kind: VirtualMachine\n", "vm: document 1: apiVersion: expected a text such as \"kubevirt.io/v1\"\n"},
        {"apiVersion: v1\n", "vm: document 1: kind: expected a text such as \"VirtualMachine\"\n"},
        {"- 1\n", "vm: document 1: expected an object with apiVersion and kind\n"},
        {"a: [\n", "vm: "},
        {"apiVersion: v1\nkind: Secret\n",
         "vm: expected a VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceReplicaSet or "
         "VirtualMachinePool\n"},
        {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n" VM "      domain: {cpu: {cores: many}}\n",
         "vm: document 2: spec.template.spec.domain.cpu.cores: expected an integer, got a string\n"},
        {VM "      volumes:\n      - {name: a, persistantVolumeClaim: {claimName: b}}\n      domain: {devices: {}}\n",
         "vm: document 1: spec.template.spec.volumes[0].persistantVolumeClaim: expected a member of kubevirt.io/v1 "
         "VirtualMachine; it has none of this name\n"},
        {VM "      domain: {memory: {guest: 1Gb}, devices: {}}\n",
         "vm: document 1: spec.template.spec.domain.memory.guest: "},
        {"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nspec: {domain: {devices: {}}}\n",
         "vm: document 1: metadata.name: expected the object's name\n"},
        {"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec: {running: true}\n",
         "vm: document 1: spec.template.spec: expected the spec of a VirtualMachineInstance\n"},
        {"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceReplicaSet\nmetadata: {name: a}\n"
         "spec: {replicas: 2000000000, selector: {}, template: {spec: {domain: {devices: {}}}}}\n",
         "vm: document 1: spec.replicas: expected a number from 0 to 10000\n"},
        {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: kubevirt.io/v1\n  kind: VirtualMachineInstance\n  spec: "
         "7\n",
         "vm: document 1: items[0]: spec: expected an object, got a number\n"},
        {VM "      networks: [{name: a, pod: {}}]\n      domain: {devices: {interfaces: [{name: a, binding: {name: x}}]"
            "}}\n",
         "vm: document 1: spec.template.spec: "},
    };
    struct run *run = *state;

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        put(run, "vm", rows[i].manifest);
        render(run, "-f @vm");
        assert_int_equal(run->status, 1);
        assert_string_equal(run->out, "");
        if (!kb_starts_with(run->err, "virt-controller render: ") || !strstr(run->err, rows[i].error))
            fail_msg("%s: %s", rows[i].manifest, run->err);
    }
}

static void the_command_line_is_checked(void **state)
{
    static const struct {
        const char *command, *error;
    } rows[] = {
        {"-o yaml", "-f: expected a manifest"},
        {"-f", "-f: expected a value"},
        {"-f @vm -o xml", "--output xml: expected yaml or json"},
        {"-f @vm --no-such", "--no-such: no such option"},
        {"-f @vm more", "more: manifests are given with -f"},
        {"-f @vm --launcher-qemu-timeout x", "--launcher-qemu-timeout x: expected a number of seconds"},
        {"-f @absent", "open absent: No such file or directory"},
        {"-f @vm --kubevirt @vm", "vm: expected a KubeVirt (kubevirt.io/v1)"},
    };
    struct run *run = *state;

    put(run, "vm", VM "      domain: {devices: {}}\n");
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        render(run, rows[i].command);
        assert_int_equal(run->status, 1);
        assert_contains(run->err, rows[i].error);
    }
    render(run, "--help");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "--explain-resources");
    assert_contains(run->out, "status.runtimeUser:");
}

static void a_wrong_configuration_names_its_field(void **state)
{
    struct run *run = *state;

    put(run, "vm", VM "      domain: {devices: {}}\n");
    put(run, "kubevirt",
        "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\n"
        "spec: {configuration: {imagePullPolicy: Sometimes}}\n");
    render(run, "-f @vm --kubevirt @kubevirt");
    assert_int_equal(run->status, 1);
    assert_contains(run->err, "kubevirt: document 1: spec.configuration.imagePullPolicy");
}

/* ---- what a cluster would look up ---- */

static void all_that_is_missing_is_named(void **state)
{
    struct run *run = *state;

    put(run, "vm",
        VM "      volumes:\n      - {name: a, persistentVolumeClaim: {claimName: one}}\n"
           "      - {name: b, dataVolume: {name: two}}\n"
           "      - {name: c, ephemeral: {persistentVolumeClaim: {claimName: three}}}\n"
           "      - {name: d, persistentVolumeClaim: {claimName: four, hotpluggable: true}}\n"
           "      networks: [{name: red, multus: {networkName: net}}]\n"
           "      domain: {devices: {interfaces: [{name: red, bridge: {}}]}}\n");
    put(run, "kubevirt",
        "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\nspec: {configuration: "
        "{developerConfiguration: {disabledFeatureGates: [ExternalNetResourceInjection]}}}\n");
    render(run, "-f @vm --kubevirt @kubevirt");
    assert_int_equal(run->status, 1);
    assert_string_equal(run->out, "");
    assert_string_equal(
        run->err,
        "virt-controller render: vm: document 1: spec.template.spec.volumes[0].persistentVolumeClaim.claimName: needs "
        "PersistentVolumeClaim (or DataVolume) default/one: give it with --with\n"
        "virt-controller render: vm: document 1: spec.template.spec.volumes[1].dataVolume.name: needs "
        "PersistentVolumeClaim (or DataVolume) default/two: give it with --with\n"
        "virt-controller render: vm: document 1: spec.template.spec.volumes[2].ephemeral.persistentVolumeClaim."
        "claimName: needs PersistentVolumeClaim (or DataVolume) default/three: give it with --with\n"
        "virt-controller render: vm: document 1: spec.template.spec.networks[0].multus.networkName: needs "
        "NetworkAttachmentDefinition default/net: give it with --with\n");
    put(run, "with",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: one}\nspec: {volumeMode: Block}\n---\n"
        "apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {name: two}\nspec: {pvc: {accessModes: "
        "[ReadWriteMany]}}\n---\n"
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: three}}\n"
        "- {apiVersion: k8s.cni.cncf.io/v1, kind: NetworkAttachmentDefinition, metadata: {name: net, annotations: "
        "{k8s.v1.cni.cncf.io/resourceName: x/nic}}}\n- {apiVersion: example.com/v1, kind: Unknown}\n");
    render(run, "-f @vm --kubevirt @kubevirt --with @with");
    assert_string_equal(run->err, "");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "devicePath: /dev/a");
    assert_contains(run->out, "value: /var/run/kubevirt-private/vmi-disks/b");
    assert_contains(run->out, "x/nic: \"1\"");
}

static void storage_classes_tell_what_a_data_volume_leaves_open(void **state)
{
    static const char classes[] =
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast, annotations: "
        "{storageclass.kubernetes.io/is-default-class: 'true'}}\nprovisioner: x\n---\n"
        "apiVersion: cdi.kubevirt.io/v1beta1\nkind: StorageProfile\nmetadata: {name: fast}\nstatus: "
        "{claimPropertySets: "
        "[{accessModes: [ReadWriteOnce], volumeMode: Filesystem}, {accessModes: [ReadWriteMany], volumeMode: "
        "Block}]}\n";
    static const struct {
        const char *storage, *expected; /* of the Pod; NULL: it takes the class */
    } rows[] = {
        {"{}", NULL},
        {"{accessModes: [ReadWriteMany]}", NULL},
        {"{volumeMode: Filesystem}", NULL},
        {"{volumeMode: Block}", "devicePath: /dev/a"},
        {"{volumeMode: Filesystem, accessModes: [ReadWriteMany]}", "name: SHARED_FILESYSTEM_PATHS"},
    };
    struct run *run = *state;

    put(run, "with", classes);
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        put(run, "vm",
            kb_arena_printf(
                run->arena,
                "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec:\n"
                "  runStrategy: Always\n  dataVolumeTemplates: [{metadata: {name: disk}, spec: {storage: %s}}]\n"
                "  template: {spec: {volumes: [{name: a, dataVolume: {name: disk}}], domain: {devices: {}}}}\n",
                rows[i].storage));
        render(run, "-f @vm");
        assert_int_equal(run->status, rows[i].expected ? 0 : 1);
        assert_contains(rows[i].expected ? run->out : run->err,
                        rows[i].expected
                            ?: "spec.template.spec.volumes[0].dataVolume.name: DataVolume default/disk leaves "
                               "volumeMode or accessModes to its storage class");
        render(run, "-f @vm --with @with");
        assert_int_equal(run->status, 0);
        assert_contains(run->out, i == 0 || i == 2 ? "mountPath: /var/run/kubevirt-private/vmi-disks/a"
                                                   : (i == 1 ? "devicePath: /dev/a" : rows[i].expected));
    }
}

static void instance_types_and_preferences_are_applied(void **state)
{
    static const char types[] =
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\n"
        "metadata: {name: small}\nspec: {cpu: {guest: 2}, memory: {guest: 3Gi}}\n---\n"
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterPreference\n"
        "metadata: {name: old}\nspec: {machine: {preferredMachineType: pc-q35-7}}\n";
    struct run *run = *state;

    put(run, "vm",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec:\n  runStrategy: Always\n"
        "  instancetype: {name: small}\n  preference: {name: old}\n  template: {spec: {domain: {devices: {}}}}\n");
    render(run, "-f @vm");
    assert_int_equal(run->status, 1);
    assert_contains(run->err, "vm: document 1: spec.instancetype: ");
    assert_contains(run->err, "\"small\" not found: give it with --with");
    put(run, "with", types);
    render(run, "-f @vm --with @with");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "kubevirt.io/cluster-instancetype-name: small");
    assert_contains(run->out, "memory: 3348Mi"); /* 3 Gi, and 276 Mi beside it with two vCPUs */
    assert_contains(run->out, "machine-type.node.kubevirt.io/pc-q35-7: \"true\"");
}

static void volumes_may_say_which_instance_type_and_architecture(void **state)
{
    static const char cluster[] =
        "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\nmetadata: {name: own}\n"
        "spec: {cpu: {guest: 1}, memory: {guest: 3Gi}}\n---\n"
        "apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataSource\nmetadata: {name: fedora, namespace: images, labels: "
        "{template.kubevirt.io/architecture: arm64}}\nspec: {source: {pvc: {name: golden, namespace: images}}}\n---\n"
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: golden, namespace: images, labels: "
        "{instancetype.kubevirt.io/default-instancetype: own, "
        "instancetype.kubevirt.io/default-instancetype-kind: virtualmachineinstancetype}}\n";
    static const char vm[] =
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec:\n  runStrategy: Always\n"
        "  instancetype: {inferFromVolume: %s}\n  dataVolumeTemplates: [{metadata: {name: disk}, spec: {sourceRef: "
        "{kind: "
        "DataSource, name: fedora, namespace: images}, pvc: {volumeMode: Block}}}]\n"
        "  template: {spec: {volumes: [{name: a, dataVolume: {name: disk}}, {name: b, emptyDisk: {capacity: 1Gi}}], "
        "domain: {devices: {}}}}\n";
    struct run *run = *state;

    put(run, "with", cluster);
    put(run, "vm", kb_arena_printf(run->arena, vm, "a"));
    render(run, "-f @vm");
    assert_int_equal(run->status, 1);
    assert_contains(run->err, "spec.instancetype: inferFromVolume a: needs DataSource images/fedora\n");
    render(run, "-f @vm --with @with");
    assert_string_equal(run->err, "");
    assert_contains(run->out, "kubevirt.io/instancetype-name: own");
    assert_contains(run->out, "kubernetes.io/arch: arm64");
    put(run, "vm", kb_arena_printf(run->arena, vm, "b"));
    render(run, "-f @vm --with @with");
    assert_contains(run->err, "spec.instancetype: inferFromVolume b: the volume's source has no labels\n");
    put(run, "vm", kb_arena_printf(run->arena, vm, "b, inferFromVolumeFailurePolicy: Ignore"));
    render(run, "-f @vm --with @with");
    assert_int_equal(run->status, 0);
}

/* ---- output ---- */

static void the_same_input_gives_the_same_pod(void **state)
{
    struct run *run = *state;
    const char *first;

    put(run, "vm", VM "      domain: {devices: {}}\n");
    render(run, "-f @vm");
    assert_int_equal(run->status, 0);
    first = run->out;
    assert_contains(first, "generateName: virt-launcher-web-");
    assert_contains(first, "namespace: default");
    render(run, "-f @vm");
    assert_string_equal(run->out, first);
    render(run, "-f @vm --seed other -n elsewhere");
    assert_true(!kb_streq(run->out, first));
    assert_contains(run->out, "namespace: elsewhere");
}

static void several_pods_are_documents_or_a_list(void **state)
{
    struct run *run = *state;

    put(run, "vm",
        "apiVersion: pool.kubevirt.io/v1beta1\nkind: VirtualMachinePool\nmetadata: {name: pool}\nspec:\n  replicas: 2\n"
        "  selector: {}\n  nameGeneration: {appendIndexToSecretRefs: true}\n  virtualMachineTemplate:\n    spec:\n"
        "      runStrategy: Always\n      dataVolumeTemplates:\n      - {metadata: {name: disk}, spec: {pvc: "
        "{volumeMode: "
        "Block}}}\n      template:\n        spec:\n          volumes:\n          - {name: d, dataVolume: {name: "
        "disk}}\n"
        "          - {name: s, secret: {secretName: key}}\n          domain: {devices: {}}\n---\n"
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceReplicaSet\nmetadata: {name: set}\n"
        "spec: {selector: {}, template: {spec: {domain: {devices: {}}}}}\n");
    render(run, "-f @vm");
    assert_string_equal(run->err, "");
    assert_contains(run->out, "generateName: virt-launcher-pool-0-");
    assert_contains(run->out, "\n---\n");
    assert_contains(run->out, "generateName: virt-launcher-pool-1-");
    assert_contains(run->out, "claimName: disk-1");
    assert_contains(run->out, "secretName: key-1");
    assert_contains(run->out, "kubevirt.io/vm-pool-revision-name: pool-1");
    assert_contains(run->out, "generateName: virt-launcher-set");
    render(run, "-f @vm -o json");
    assert_true(kb_starts_with(run->out, "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": ["));
}

static void the_sum_of_a_resource_is_explained(void **state)
{
    struct run *run = *state;

    put(run, "vm", VM "      domain: {memory: {guest: 1Gi}, devices: {autoattachGraphicsDevice: false}}\n");
    render(run, "-f @vm --explain-resources");
    assert_int_equal(run->status, 0);
    assert_contains(run->out, "# launcher Pod of default/web\ncontainer compute:\n");
    assert_contains(run->out, "  requests.memory = 1260Mi\n    + 1Gi          guest memory\n    + 25Mi         "
                              "virt-launcher-monitor\n");
    assert_contains(run->out, "    + 8Mi          vCPUs\n    + 8Mi          IO thread\n  limits.");
    assert_contains(run->out, "init container guest-console-log: ");
}

static void quantities_are_those_that_a_cluster_stores(void **state)
{
    static const char vmi[] =
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a, namespace: ns}\n"
        "spec: {domain: {devices: {}, resources: {limits: {memory: 1.5Gi}}}}\n";
    struct run *run = *state;

    put(run, "vm", vmi);
    render(run, "-f @vm");
    assert_string_equal(run->err, "");
    assert_contains(run->out, "memory: 1804Mi");
    render(run, "-f @vm --as-stored");
    assert_contains(run->out, "memory: 2072Mi");
}

static void only_differences_of_a_pod_are_printed(void **state)
{
    struct run *run = *state;
    struct kb_strbuf changed = {.arena = run->arena};
    const char *place;

    put(run, "vm", VM "      domain: {devices: {}}\n");
    render(run, "-f @vm");
    put(run, "pod", run->out);
    render(run, "-f @vm --diff @pod");
    assert_int_equal(run->status, 0);
    assert_string_equal(run->out, "");
    /* as a cluster gives it back, with another random part of the time-out */
    render(run, "-f @vm --seed other");
    kb_strbuf_puts(&changed, run->out);
    kb_strbuf_puts(&changed,
                   "  nodeName: node01\n  dnsPolicy: ClusterFirst\n  priority: 0\nstatus: {phase: Running}\n");
    put(run, "pod", kb_strbuf_text(&changed));
    render(run, "-f @vm --diff @pod");
    assert_string_equal(run->out, "");
    assert_int_equal(run->status, 0);
    place = strstr(kb_strbuf_text(&changed), "hostname: web");
    assert_non_null(place);
    memcpy((char *)(uintptr_t)place, "hostname: xyz", strlen("hostname: xyz"));
    put(run, "pod", kb_strbuf_text(&changed));
    render(run, "-f @vm --diff @pod --launcher-image other");
    assert_int_equal(run->status, 2);
    assert_string_equal(run->out,
                        "--- pod\n+++ virt-launcher-web- (rendered)\n"
                        "spec.initContainers[guest-console-log].image:\n  - \"virt-launcher\"\n  + \"other\"\n"
                        "spec.containers[compute].image:\n  - \"virt-launcher\"\n  + \"other\"\n"
                        "spec.hostname:\n  - \"xyz\"\n  + \"web\"\n");
    put(run, "pod", "apiVersion: v1\nkind: Service\n");
    render(run, "-f @vm --diff @pod");
    assert_int_equal(run->status, 1);
    assert_contains(run->err, "pod: expected a Pod named virt-launcher-web-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bad_input_is_told_by_file_document_and_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_command_line_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_configuration_names_its_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_that_is_missing_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(storage_classes_tell_what_a_data_volume_leaves_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(instance_types_and_preferences_are_applied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(volumes_may_say_which_instance_type_and_architecture, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_same_input_gives_the_same_pod, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_pods_are_documents_or_a_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_sum_of_a_resource_is_explained, set_up, tear_down),
        cmocka_unit_test_setup_teardown(quantities_are_those_that_a_cluster_stores, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_differences_of_a_pod_are_printed, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
