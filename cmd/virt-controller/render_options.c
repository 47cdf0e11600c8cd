/*
 * The command line of `render`.
 */
#include "cmd/virt-controller/render_internal.h"
#include "virt/defaults/defaults.h"
#include <getopt.h>
#include <stdlib.h>

enum {
    MANIFEST = 'f',
    NAMESPACE = 'n',
    OUTPUT = 'o',
    HELP = 'h',
    KUBEVIRT = 0x100,
    WITH,
    EXPLAIN,
    DIFF,
    SEED,
    AS_STORED,
    SETTING
};

/* Those of virt-controller itself that a Pod depends on. */
static const struct setting {
    const char *name;
    size_t offset;
} settings[] = {
    {"launcher-image", offsetof(struct virt_launcher_settings, launcher_image)},
    {"image-pull-secret", offsetof(struct virt_launcher_settings, image_pull_secret)},
    {"kubevirt-share-dir", offsetof(struct virt_launcher_settings, share_dir)},
    {"ephemeral-disk-dir", offsetof(struct virt_launcher_settings, ephemeral_disk_dir)},
    {"container-disk-dir", offsetof(struct virt_launcher_settings, container_disk_dir)},
    {"hotplug-disk-dir", offsetof(struct virt_launcher_settings, hotplug_disk_dir)},
};
#define QEMU_TIMEOUT "launcher-qemu-timeout"

static const struct option options[] = {
    {"filename", required_argument, NULL, MANIFEST},
    {"kubevirt", required_argument, NULL, KUBEVIRT},
    {"with", required_argument, NULL, WITH},
    {"namespace", required_argument, NULL, NAMESPACE},
    {"output", required_argument, NULL, OUTPUT},
    {"explain-resources", no_argument, NULL, EXPLAIN},
    {"diff", required_argument, NULL, DIFF},
    {"seed", required_argument, NULL, SEED},
    {"as-stored", no_argument, NULL, AS_STORED},
    {"launcher-image", required_argument, NULL, SETTING},
    {"image-pull-secret", required_argument, NULL, SETTING},
    {"kubevirt-share-dir", required_argument, NULL, SETTING},
    {"ephemeral-disk-dir", required_argument, NULL, SETTING},
    {"container-disk-dir", required_argument, NULL, SETTING},
    {"hotplug-disk-dir", required_argument, NULL, SETTING},
    {QEMU_TIMEOUT, required_argument, NULL, SETTING},
    {"help", no_argument, NULL, HELP},
    {0},
};

static int set_output(struct render_options *ret, const char *text, struct kube_error *reterr)
{
    if (!kb_streq(text, "yaml") && !kb_streq(text, "json"))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "--output %s: expected yaml or json", text);
    ret->json = kb_streq(text, "json");
    return 0;
}

static int set_setting(struct render_options *ret, const char *name, const char *text, struct kube_error *reterr)
{
    long long seconds;

    if (kb_streq(name, QEMU_TIMEOUT)) {
        if (!kb_parse_int(text, 0, INT32_MAX, &seconds))
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "--%s %s: expected a number of seconds", name, text);
        ret->settings.qemu_timeout_seconds = (int)seconds;
        return 0;
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(settings); i++)
        if (kb_streq(settings[i].name, name))
            *(const char **)((char *)&ret->settings + settings[i].offset) = text;
    return 0;
}

static int set_option(struct kb_arena *arena, struct render_options *ret, int option, const char *name,
                      struct kube_error *reterr)
{
    switch (option) {
    case MANIFEST:
        api_strings_add(arena, &ret->manifests, optarg);
        return 0;
    case WITH:
        api_strings_add(arena, &ret->with, optarg);
        return 0;
    case KUBEVIRT:
        ret->kubevirt = optarg;
        return 0;
    case NAMESPACE:
        ret->namespace_ = optarg;
        return 0;
    case OUTPUT:
        return set_output(ret, optarg, reterr);
    case EXPLAIN:
        ret->explain = true;
        return 0;
    case DIFF:
        ret->diff = optarg;
        return 0;
    case SEED:
        ret->seed = optarg;
        return 0;
    case AS_STORED:
        ret->as_stored = true;
        return 0;
    case HELP:
        ret->help = true;
        return 0;
    case SETTING:
        return set_setting(ret, name, optarg, reterr);
    default:
        return -1;
    }
}

static int bad_option(char **argv, int option, struct kube_error *reterr)
{
    const char *text = argv[optind - 1];

    if (option == ':')
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: expected a value", text);
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: no such option", text);
}

int render_parse_options(struct kb_arena *arena, int argc, char **argv, struct render_options *ret,
                         struct kube_error *reterr)
{
    int option, index = 0;

    *ret = (struct render_options){.namespace_ = "default", .settings = virt_launcher_default_settings};
    ret->settings.sidecar_shim_image = getenv("SIDECAR_SHIM_IMAGE") ?: "";
    optind = 1;
    while ((option = getopt_long(argc, argv, ":f:n:o:h", options, &index)) >= 0) {
        if (option == ':' || option == '?')
            return bad_option(argv, option, reterr);
        if (set_option(arena, ret, option, options[index].name, reterr) < 0)
            return -1;
    }
    if (optind < argc)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: manifests are given with -f", argv[optind]);
    if (ret->manifests.n == 0 && !ret->help)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "-f: expected a manifest (a file, or - for standard input)");
    return 0;
}

static const char usage[] =
    "Usage: virt-controller render -f FILE|- [OPTION]...\n"
    "\n"
    "Prints the launcher Pods that virt-controller makes for VirtualMachines, VirtualMachineInstances,\n"
    "VirtualMachineInstanceReplicaSets and VirtualMachinePools, without a cluster. The same input gives the same\n"
    "output.\n"
    "\n"
    "  -f, --filename FILE      manifest, YAML or JSON, with any number of documents; may be repeated\n"
    "      --with FILE          what a cluster would look up: PersistentVolumeClaims, DataVolumes, DataSources,\n"
    "                           VolumeSnapshots, instance types, preferences,\n"
    "                           NetworkAttachmentDefinitions, ConfigMaps, Namespaces, ResourceQuotas,\n"
    "                           Nodes, StorageClasses, StorageProfiles; may be repeated. Other objects in -f count, "
    "too\n"
    "      --kubevirt FILE      the KubeVirt resource with the cluster's configuration\n"
    "  -n, --namespace NAME     of objects that name none (default: default)\n"
    "  -o, --output yaml|json   (default: yaml)\n"
    "      --explain-resources  print the sum behind each request and limit instead, term by term\n"
    "      --diff FILE          print only what differs from this Pod, leaving out what a cluster adds;\n"
    "                           exit status 2 when anything does\n"
    "      --as-stored          the manifests come from a cluster: apply no defaults of its webhooks\n"
    "      --seed TEXT          from which the random part of the launcher's time-out is drawn (default: the UID)\n"
    "  -h, --help               print this and exit\n"
    "\n"
    "As for virt-controller: --launcher-image, --image-pull-secret, --launcher-qemu-timeout, --kubevirt-share-dir,\n"
    "--ephemeral-disk-dir, --container-disk-dir, --hotplug-disk-dir.\n"
    "\n"
    "What an API server would make up is derived from names: UIDs, the random end of generated names, the generation.\n"
    "\n"
    "Where a manifest says nothing, and without --as-stored, these defaults of the admission webhooks are applied:\n";

void render_usage(struct kb_strbuf *ret)
{
    kb_strbuf_puts(ret, usage);
    for (size_t i = 0; i < virt_n_default_rules; i++)
        kb_strbuf_printf(ret, "  %s:\n      %s\n", virt_default_rules[i].fields, virt_default_rules[i].value);
    kb_strbuf_puts(ret, "\nExit status: 0; 1 for bad input, or when something that rendering looks up is missing.\n");
}
