/*
 * The running virt-controller: everything that main() wires together, and its life from first connection to orderly
 * end. Files: process.c (life), endpoints.c (HTTP), reload.c (what follows the KubeVirt CR and the CRDs while running).
 */
#ifndef CMD_VIRT_CONTROLLER_PROCESS_H
#define CMD_VIRT_CONTROLLER_PROCESS_H

#include "cmd/virt-controller/health.h"
#include "cmd/virt-controller/journal.h"
#include "cmd/virt-controller/options.h"
#include "cmd/virt-controller/profiler.h"
#include "kube/leader.h"
#include "kube/server.h"
#include "virt/context.h"
#include "virt/metrics/metrics.h"
#include <stdatomic.h>

/* Exit statuses, as the reference's: lost lease and fatal errors 1, usage 2. */
enum { PROCESS_OK = 0, PROCESS_FATAL = 1, PROCESS_USAGE = 2 };

/* The client's limit unless the KubeVirt CR names one; pkg/virt-controller/watch/application.go. */
#define PROCESS_CLIENT_QPS   200.0
#define PROCESS_CLIENT_BURST 400

struct process {
    const struct options *options;
    struct kb_arena *arena;
    struct kb_clock *clock;
    struct kb_random *random;
    const char *host_name, *identity, *install_namespace;

    struct kube_config *kube_config;
    struct kube_limiter *limiter, *lease_limiter;
    struct kube_transport *transport, *lease_transport;
    struct kube_client *client, *lease_client;
    struct kube_recorder *leader_recorder;
    struct kube_leader *leader;
    struct kube_server *server, *debug_server;
    struct journal *journal; /* NULL: no diagnostics page */
    struct health *health;
    struct profiler *profiler;
    struct virt_context context;
    struct virt_metrics *metrics;

    atomic_bool leading;       /* holds the lease, and its workers run */
    atomic_bool lost;          /* held it and lost it */
    atomic_bool switch_wanted; /* kinds or gates have changed: which optional informers run is to be looked at */
    int wake_fd;               /* eventfd: something for the main thread to look at */
    int signal_fd;
    int64_t started_mono;
    bool openshift;
    int failure; /* how it ends when it can not start */

    double qps; /* in force; the transport's thread's own */
    int burst;
    const struct virt_config *tls_config; /* whose ciphers the last handshake was given; the server's thread's own */
};

/* Runs until SIGTERM or SIGINT (PROCESS_OK), a fatal error or the loss of the lease (PROCESS_FATAL), or
 * until it is clear that the client configuration is wrong (PROCESS_USAGE). */
int process_run(const struct options *options);

/* Wakes the main thread. Any thread. */
void process_wake(struct process *process);

/* ---- endpoints.c ---- */

int endpoints_start(struct process *process, struct kube_error *reterr);
/* This replica leads, and the caches that readiness is made of are full. */
bool process_is_ready(struct process *process);

/* ---- reload.c ---- */

/* Before the two first informers start: hooks configuration and optional kinds to their stores. */
void reload_attach(struct process *process);
/* Once: asks the API server, so that reload_switch_optional knows. */
int reload_find_openshift(struct process *process, struct kube_error *reterr);
/* Starts the optional informers whose kinds are there and wanted, stops the others. Main thread. */
void reload_switch_optional(struct process *process);

#endif
