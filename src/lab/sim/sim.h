/*
 * The simulated parts of a cluster: what acts on objects beside virt-controller, as far as the outside sees it in the
 * API. Nothing really runs: a Pod "runs" because the kubelet part writes so.
 *
 *     scheduler     gives Pods a node: node selectors, node and Pod affinity, taints; fewest Pods first. Counts no
 *                   resources
 *     kubelet       nodes with heartbeats; starts and removes the Pods of nodes
 *     virt-handler  VMIs from Scheduled to Running to Succeeded, hotplugged volumes, both ends of live migrations
 *     virt-api      the subresources of VMs and VMIs (start, stop, pause, freeze ...)
 *     cdi           DataVolumes get their claim, and succeed
 *     snapshotter   VolumeSnapshots become ready
 *     pvc-binder    claims are bound; a storage class
 *     gc            garbage collection: not here, see lab/gc.h
 *
 * Each part can be left out or slowed down for the whole process, and left out for a namespace or a node by the
 * annotation `virt-lab/no-sim: PART,...` (or `all`; not gc) on it: so a test plays that part by hand. A Pod with the
 * annotation `virt-lab/hold` is scheduled but not started.
 *
 * All parts but virt-api run in one thread: watches wake it, each object that a part should look at becomes an entry of
 * one queue with a due time, and looking is level-triggered (see sim_internal.h).
 */
#ifndef LAB_SIM_H
#define LAB_SIM_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

struct lab_server;
struct lab_sim;

enum lab_part {
    LAB_PART_SCHEDULER,
    LAB_PART_KUBELET,
    LAB_PART_VIRT_HANDLER,
    LAB_PART_VIRT_API,
    LAB_PART_CDI,
    LAB_PART_SNAPSHOTTER,
    LAB_PART_PVC_BINDER,
    LAB_PART_GC,
    LAB_N_PARTS,
};
#define LAB_PART_BIT(part) (1u << (part))
#define LAB_ALL_PARTS      (LAB_PART_BIT(LAB_N_PARTS) - 1)

const char *lab_part_name(enum lab_part part);
/* "scheduler,gc" or "all" as a set of bits, added to *ret. */
int lab_parts_parse(const char *text, unsigned *ret, struct kube_error *reterr);

struct lab_sim_options {
    unsigned off;                /* parts that are not played */
    int64_t delays[LAB_N_PARTS]; /* how long a part takes to react, in ns */
    unsigned nodes;              /* made at the start, if there is a kubelet: node01, node02 ... */
};

/* Makes nodes, storage classes and the like, and takes virt-api's place at the server: before that serves HTTP. The
 * server must outlive it. */
int lab_sim_new(struct lab_server *server, const struct lab_sim_options *options, struct lab_sim **ret,
                struct kube_error *reterr);
void lab_sim_start(struct lab_sim *sim); /* its thread; ends with the server (lab_server_stop) */
/* Without a thread: does what is due now, until nothing is left; whether there was anything. */
bool lab_sim_run(struct lab_sim *sim);
/* When something is due next, in the clock's mono time; INT64_MAX: never. */
int64_t lab_sim_next(const struct lab_sim *sim);
void lab_sim_free(struct lab_sim *sim); /* after lab_server_stop when it was started; NULL is allowed */

#endif
