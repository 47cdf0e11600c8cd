/*
 * The command line of virt-controller: every flag of v1.9.0 with its default and its meaning, as one table (options.c),
 * read by the rules of Go's pflag: --name value, --name=value, -v N, -vN, lists as comma-separated values that may be
 * repeated.
 */
#ifndef CMD_VIRT_CONTROLLER_OPTIONS_H
#define CMD_VIRT_CONTROLLER_OPTIONS_H

#include "api/object.h"
#include "base/error.h"
#include "base/strbuf.h"
#include <stdint.h>

struct options {
    int64_t verbosity;
    const char *kubeconfig, *master;
    const char *listen;
    int64_t port;
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    const char *resource_lock;
    const char *launcher_image, *exporter_image, *image_pull_secret;
    int64_t launcher_qemu_timeout;
    const char *share_dir, *ephemeral_disk_dir, *container_disk_dir, *hotplug_disk_dir;
    int64_t launcher_subgid;
    int64_t node_threads, vmi_threads, rs_threads, pool_threads, vm_threads, migration_threads, evacuation_threads,
        disruption_budget_threads, snapshot_threads, restore_threads, export_threads, clone_threads, backup_threads;
    int64_t snapshot_resync_ns, node_topology_period_ns;
    const char *cert_file, *key_file;
    struct api_strings synced_annotations, synced_labels;
    const char *debug_listen;
    int64_t debug_port; /* 0: no diagnostics page */
    bool help, version;
};

/*
 * Reads argv[1..]. Texts are borrowed from argv or in `arena`. The error says which flag and what was expected; after
 * --help or --version nothing more is checked.
 */
int options_parse(struct kb_arena *arena, int argc, char **argv, struct options *ret, struct kube_error *reterr);
/* Appends what --help prints. */
void options_usage(struct kb_strbuf *ret);

#endif
