/*
 * The running virt-controller: everything that main() wires together, and its life from first connection to orderly
 * end. Files: process.c (life), endpoints.c (HTTP), reload.c (what follows the KubeVirt CR and the CRDs while running).
 */
#ifndef CMD_VIRT_CONTROLLER_PROCESS_H
#define CMD_VIRT_CONTROLLER_PROCESS_H

#include "cmd/virt-controller/options.h"
#include "kube/leader.h"
#include "kube/server.h"
#include "virt/context.h"
#include <pthread.h>
#include <stdatomic.h>

/* Exit statuses, as the reference's: lost lease and fatal errors 1, usage 2. */
enum { PROCESS_OK = 0, PROCESS_FATAL = 1, PROCESS_USAGE = 2 };

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
    struct kube_client *probe_client; /* for /healthz: no limiter, short deadline */
    struct kube_recorder *leader_recorder;
    struct kube_leader *leader;
    struct kube_server *server;
    struct virt_context context;

    atomic_bool leading; /* holds the lease */
    atomic_bool lost;    /* held it and lost it */
    int wake_fd;         /* eventfd: something for the main thread to look at */

    pthread_mutex_t version_lock; /* below: the API server's answer to /version, for /healthz */
    char *api_version;            /* JSON text; NULL: ask again */
};

/* Runs until SIGTERM or SIGINT (PROCESS_OK), a fatal error or the loss of the lease (PROCESS_FATAL). */
int process_run(const struct options *options);

/* Wakes the main thread. Any thread. */
void process_wake(struct process *process);

/* ---- endpoints.c ---- */

int endpoints_start(struct process *process, struct kube_error *reterr);
/* The KubeVirt watch failed: the next /healthz asks the API server again. */
void endpoints_forget_api_version(struct process *process);
/* This replica leads, and the caches that readiness is made of are full. */
bool process_is_ready(struct process *process);

/* ---- reload.c ---- */

/* Before the two first informers start: hooks configuration and optional kinds to their stores. */
void reload_attach(struct process *process);
/* After both have synced: starts the optional informers whose kinds are there. */
int reload_start_optional(struct process *process, struct kube_error *reterr);

#endif
