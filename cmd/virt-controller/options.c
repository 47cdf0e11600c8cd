/*
 * The flags of virt-controller as one table. Names, types and defaults are those of v1.9.0: a Deployment made for the
 * reference starts this program unchanged. A flag that has no effect here (it had none there either) says so in its
 * help.
 */
#include "cmd/virt-controller/options.h"
#include "base/strings.h"
#include "base/time.h"
#include "base/vec.h"
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum option_type { TEXT, INTEGER, DURATION, LIST, SWITCH };

struct option {
    const char *name;
    char letter; /* 0: none */
    enum option_type type;
    const char *initial; /* as on the command line; NULL: empty list or off */
    int64_t minimum, maximum;
    size_t offset;
    const char *help;
};

#define AT(member) offsetof(struct options, member)
#define THREADS(name_, n, member)                                                                                      \
    {                                                                                                                  \
        name_, 0, INTEGER, n, ANY_INT, AT(member), "parallel reconciles of this controller"                            \
    }
#define ANY_INT      INT32_MIN, INT32_MAX
#define ANY_DURATION 0, INT64_MAX

static const struct option table[] = {
    {"additional-launcher-annotations-sync", 0, LIST, NULL, 0, 0, AT(synced_annotations),
     "annotation keys (or prefix*) copied from the VM template to the VMI and its launcher Pod"},
    {"additional-launcher-labels-sync", 0, LIST, NULL, 0, 0, AT(synced_labels),
     "label keys (or prefix*) copied from the VM template to the VMI and its launcher Pod"},
    THREADS("backup-controller-threads", "6", backup_threads),
    THREADS("clone-controller-threads", "3", clone_threads),
    {"container-disk-dir", 0, TEXT, "/var/run/kubevirt/container-disks", 0, 0, AT(container_disk_dir),
     "where launchers find container disks"},
    {"debug-listen", 0, TEXT, "127.0.0.1", 0, 0, AT(debug_listen),
     "address of the diagnostics page; it has no access control"},
    {"debug-port", 0, INTEGER, "0", 0, 65535, AT(debug_port),
     "port of the diagnostics page, http://ADDRESS:PORT/debug; 0: there is none"},
    THREADS("disruption-budget-controller-threads", "3", disruption_budget_threads),
    {"ephemeral-disk-dir", 0, TEXT, "/var/run/kubevirt-ephemeral-disks", 0, 0, AT(ephemeral_disk_dir),
     "where launchers keep ephemeral disks"},
    THREADS("evacuation-controller-threads", "3", evacuation_threads),
    THREADS("export-controller-threads", "3", export_threads),
    {"exporter-image", 0, TEXT, "virt-exportserver", 0, 0, AT(exporter_image), "image of exporter Pods"},
    {"help", 'h', SWITCH, NULL, 0, 0, AT(help), "print this and exit"},
    {"hotplug-disk-dir", 0, TEXT, "/var/run/kubevirt/hotplug-disks", 0, 0, AT(hotplug_disk_dir),
     "where launchers find hotplugged disks"},
    {"image-pull-secret", 0, TEXT, "", 0, 0, AT(image_pull_secret), "pull secret added to launcher Pods"},
    {"kubeconfig", 0, TEXT, "", 0, 0, AT(kubeconfig), "kubeconfig file; with --master empty too: in-cluster"},
    {"kubevirt-share-dir", 0, TEXT, "/var/run/kubevirt", 0, 0, AT(share_dir),
     "shared folder of launcher and virt-handler"},
    {"launcher-image", 0, TEXT, "virt-launcher", 0, 0, AT(launcher_image), "image of launcher Pods; must not be empty"},
    {"launcher-qemu-timeout", 0, INTEGER, "240", ANY_INT, AT(launcher_qemu_timeout),
     "seconds that a launcher waits for its QEMU process, before a random part below 120"},
    {"launcher-subgid", 0, INTEGER, "107", ANY_INT, AT(launcher_subgid), "without effect, as in v1.9.0"},
    {"leader-elect-lease-duration", 0, DURATION, "15s", ANY_DURATION, AT(lease_duration_ns),
     "how long others wait before they take a lease that is not renewed"},
    {"leader-elect-renew-deadline", 0, DURATION, "10s", ANY_DURATION, AT(renew_deadline_ns),
     "how long the leader tries to renew before it gives up"},
    {"leader-elect-resource-lock", 0, TEXT, "leases", 0, 0, AT(resource_lock), "kind of the lock; only leases works"},
    {"leader-elect-retry-period", 0, DURATION, "2s", ANY_DURATION, AT(retry_period_ns), "time between two tries"},
    {"listen", 0, TEXT, "0.0.0.0", 0, 0, AT(listen), "address of the HTTPS server"},
    {"master", 0, TEXT, "", 0, 0, AT(master), "URL of the API server; wins over the kubeconfig's"},
    THREADS("migration-controller-threads", "3", migration_threads),
    THREADS("node-controller-threads", "3", node_threads),
    {"node-topology-update-period", 0, DURATION, "30s", ANY_DURATION, AT(node_topology_period_ns),
     "time between two updates of the nodes' TSC labels"},
    THREADS("pool-controller-threads", "3", pool_threads),
    {"port", 0, INTEGER, "8182", 0, 65535, AT(port), "port of the HTTPS server; 0: any free one"},
    {"prom-cert-file", 0, TEXT, "/etc/virt-controller/certificates/tls.crt", 0, 0, AT(cert_file),
     "certificate of the HTTPS server"},
    {"prom-key-file", 0, TEXT, "/etc/virt-controller/certificates/tls.key", 0, 0, AT(key_file),
     "key of the HTTPS server"},
    THREADS("restore-controller-threads", "3", restore_threads),
    THREADS("rs-controller-threads", "3", rs_threads),
    THREADS("snapshot-controller-threads", "6", snapshot_threads),
    {"snapshot-controller-resync-period", 0, DURATION, "5m", ANY_DURATION, AT(snapshot_resync_ns),
     "resync of VolumeSnapshots and their classes"},
    {"v", 'v', INTEGER, "2", ANY_INT, AT(verbosity), "log verbosity, until the KubeVirt CR says otherwise"},
    {"version", 0, SWITCH, NULL, 0, 0, AT(version), "print the version and exit"},
    THREADS("vm-controller-threads", "3", vm_threads),
    THREADS("vmi-controller-threads", "10", vmi_threads),
};

static void *member(struct options *options, const struct option *option)
{
    return (char *)options + option->offset;
}

static int bad_value(const struct option *option, const char *text, const char *expected, struct kube_error *reterr)
{
    char letter[] = {'-', option->letter, ',', ' ', '\0'};
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "invalid argument \"%s\" for \"%s--%s\" flag: expected %s", text,
                          option->letter ? letter : "", option->name, expected);
}

/* As Go reads numbers: also 0x1f, 0o17, 017, 0b11 and 1_000. */
static bool read_integer(const char *text, int64_t *ret)
{
    char digits[72];
    size_t n = 0;
    bool negative = *text == '-';
    text += *text == '-' || *text == '+';
    for (; *text && n < sizeof(digits) - 1; text++)
        if (*text != '_' || n == 0)
            digits[n++] = *text;
    digits[n] = '\0';
    static const char letters[] = "xXoObB";
    static const int bases[] = {16, 16, 8, 8, 2, 2};
    const char *letter = digits[0] == '0' && digits[1] ? strchr(letters, digits[1]) : NULL;
    const char *from = letter ? digits + 2 : digits;
    int base = letter ? bases[letter - letters] : digits[0] == '0' ? 8 : 10;
    char *end;
    errno = 0;
    long long value = strtoll(from, &end, base);
    if (*text || errno || end == from || *end || !isxdigit((unsigned char)*from))
        return false;
    *ret = negative ? -value : value;
    return true;
}

static int set_integer(struct options *options, const struct option *option, const char *text,
                       struct kube_error *reterr)
{
    int64_t value;
    if (!read_integer(text, &value) || value < option->minimum || value > option->maximum) {
        char expected[96];
        snprintf(expected, sizeof(expected), "a whole number from %lld to %lld", (long long)option->minimum,
                 (long long)option->maximum);
        return bad_value(option, text, expected, reterr);
    }
    *(int64_t *)member(options, option) = value;
    return 0;
}

static int set_duration(struct options *options, const struct option *option, const char *text,
                        struct kube_error *reterr)
{
    int64_t value;
    if (!kb_duration_parse(text, &value) || value < option->minimum)
        return bad_value(option, text, "a duration like 15s or 1m30s", reterr);
    *(int64_t *)member(options, option) = value;
    return 0;
}

static void add_list(struct kb_arena *arena, struct options *options, const struct option *option, const char *text)
{
    struct api_strings *list = member(options, option);
    const char *const *parts;
    size_t n = *text ? kb_split(arena, text, ',', &parts) : 0;
    for (size_t i = 0; i < n; i++)
        *kb_vec_push(arena, list) = parts[i];
}

static int set(struct kb_arena *arena, struct options *options, const struct option *option, const char *text,
               struct kube_error *reterr)
{
    switch (option->type) {
    case TEXT:
        *(const char **)member(options, option) = text;
        return 0;
    case INTEGER:
        return set_integer(options, option, text, reterr);
    case DURATION:
        return set_duration(options, option, text, reterr);
    case LIST:
        add_list(arena, options, option, text);
        return 0;
    case SWITCH:
        *(bool *)member(options, option) = kb_streq(text, "true");
        return kb_streq(text, "true") || kb_streq(text, "false") ? 0 : bad_value(option, text, "true or false", reterr);
    }
    return 0;
}

static const struct option *find(const char *name, size_t n)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++)
        if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0)
            return &table[i];
    return NULL;
}

static const struct option *find_letter(char letter)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++)
        if (table[i].letter == letter)
            return &table[i];
    return NULL;
}

static int unknown(const char *argument, struct kube_error *reterr)
{
    if (argument[1] != '-')
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "unknown shorthand flag: '%c' in %s", argument[1], argument);
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "unknown flag: %.*s", (int)strcspn(argument, "="), argument);
}

static int needs_argument(const char *argument, struct kube_error *reterr)
{
    if (argument[1] != '-')
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "flag needs an argument: '%c' in %s", argument[1], argument);
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "flag needs an argument: %s", argument);
}

/* One argument -> the flag and the text behind '=' (or the letter); NULL when its value is the next argument. */
static const struct option *split(const char *argument, const char **ret_value)
{
    *ret_value = NULL;
    if (argument[1] != '-') {
        const struct option *option = argument[1] ? find_letter(argument[1]) : NULL;
        if (option && argument[2])
            *ret_value = argument + 2 + (argument[2] == '=');
        return option;
    }
    const char *name = argument + 2, *equals = strchr(name, '=');
    if (equals)
        *ret_value = equals + 1;
    return find(name, equals ? (size_t)(equals - name) : strlen(name));
}

int options_parse(struct kb_arena *arena, int argc, char **argv, struct options *ret, struct kube_error *reterr)
{
    struct options options = {0};
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++)
        if (table[i].initial)
            set(arena, &options, &table[i], table[i].initial, NULL);
    for (int i = 1; i < argc && !options.help && !options.version; i++) {
        if (kb_streq(argv[i], "--"))
            break;
        if (argv[i][0] != '-' || kb_streq(argv[i], "-"))
            continue; /* as the reference: it takes no arguments, and is not bothered by any */
        const char *value;
        const struct option *option = split(argv[i], &value);
        if (!option)
            return unknown(argv[i], reterr);
        if (!value && option->type == SWITCH)
            value = "true";
        if (!value && i + 1 == argc)
            return needs_argument(argv[i], reterr);
        if (set(arena, &options, option, value ? value : argv[++i], reterr) < 0)
            return -1;
    }
    if (!options.help && !options.version && !*options.launcher_image)
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "invalid argument \"\" for \"--launcher-image\" flag: expected an image");
    *ret = options;
    return 0;
}

static const char head[] = "Usage:\n"
                           "  virt-controller [flags]                   run the controllers against a cluster\n"
                           "  virt-controller render [flags] -f FILE    show launcher Pods without a cluster\n"
                           "\n"
                           "Flags:\n";

static const char examples[] =
    "\n"
    "Examples:\n"
    "  As virt-operator starts it, in a Pod with the service account kubevirt-controller:\n"
    "    virt-controller --launcher-image REGISTRY/virt-launcher:v1.9.0 \\\n"
    "        --exporter-image REGISTRY/virt-exportserver:v1.9.0 --port 8443 -v 2\n"
    "  Outside of the cluster, with a kubeconfig, a certificate and the diagnostics page:\n"
    "    virt-controller --kubeconfig ~/.kube/config --listen 127.0.0.1 --debug-port 8080 \\\n"
    "        --prom-cert-file tls.crt --prom-key-file tls.key\n"
    "  What the launcher Pod of a VM asks for, and why:\n"
    "    virt-controller render --explain-resources -f vm.yaml\n"
    "\n"
    "SIGTERM and SIGINT end it in order: running work is finished, the lease released. Exit status: 0 after that, 1 "
    "after\n"
    "a fatal error or the loss of the lease, 2 for a wrong command line or client configuration.\n";

void options_usage(struct kb_strbuf *ret)
{
    static const char *const types[] = {"string", "int", "duration", "strings", ""};
    kb_strbuf_puts(ret, head);
    for (size_t i = 0; i < KB_ARRAY_LEN(table); i++) {
        const struct option *option = &table[i];
        char name[64];
        snprintf(name, sizeof(name), "--%s %s", option->name, types[option->type]);
        if (option->letter)
            kb_strbuf_printf(ret, "  -%c, %-50s", option->letter, name);
        else
            kb_strbuf_printf(ret, "      %-50s", name);
        kb_strbuf_printf(ret, " %s", option->help);
        if (option->initial && *option->initial)
            kb_strbuf_printf(ret, " (default %s)", option->initial);
        kb_strbuf_putc(ret, '\n');
    }
    kb_strbuf_puts(ret, examples);
}
