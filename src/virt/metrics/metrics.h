/*
 * The metrics of virt-controller: every family of the reference (names, types, labels and values are contract) and,
 * under names that start with virt_controller_, what this program tells about itself. docs/metrics.md lists them.
 *
 * A standby keeps its caches warm and its queues filled, which the reference's does not: until virt_metrics_lead is
 * called no series of VMs, VMIs and migrations is shown, no phase transition is counted and the queues look empty.
 *
 * Order: virt_metrics_new, then clients and the runtime with its observers, then the informers, virt_metrics_add, then
 * informers are started. `arena` must outlive clients, runtime and registry.
 *
 * Threads: virt_metrics_lead, virt_metrics_scrape and the counters: any.
 */
#ifndef VIRT_METRICS_METRICS_H
#define VIRT_METRICS_METRICS_H

#include "api/types/snapshot.h"
#include "kube/metrics.h"
#include "virt/context.h"

struct virt_metrics;
struct virt_metrics *virt_metrics_new(struct kb_arena *arena, struct kube_metrics *registry, struct kb_clock *clock);

/* kubevirt_rest_client_*. `server`: base URL of the API server. One observer may serve several clients. */
const struct kube_client_observer *virt_metrics_client_observer(struct virt_metrics *metrics, const char *server);
/* kubevirt_workqueue_*: for struct kube_runtime_options. The data are made once a queue, while the runtime is built. */
extern const struct kube_queue_observer virt_metrics_queue_observer;
void *virt_metrics_queue(struct virt_metrics *metrics, const char *queue_name);

struct virt_metrics_hooks {
    /* This replica leads, and the caches that its readiness is made of are full; NULL: never. */
    bool (*ready)(void *userdata);
    void *userdata;
};
/* All that is computed from caches, and the families that are there from the start. */
void virt_metrics_add(struct virt_metrics *metrics, struct virt_context *context,
                      const struct virt_metrics_hooks *hooks);
/* From now on this replica leads (for good: it ends when it loses the lease). */
void virt_metrics_lead(struct virt_metrics *metrics);

/* The exposition, in pieces: begin gives the state for kube_http_answer's `more` and `end`. */
void *virt_metrics_scrape_begin(struct virt_metrics *metrics);
bool virt_metrics_scrape_more(void *scrape, struct kb_strbuf *piece);
void virt_metrics_scrape_end(void *scrape);

/* ---- counters for controllers; `registry` NULL: nothing is counted ---- */

/* kubevirt_vmi_sync_total: after each successful write of a VMI's status by the VMI controller. */
void virt_metrics_vmi_synced(struct kube_metrics *registry, const char *namespace_, const char *name);
/* The VMI controller was given the key of a VMI that does not exist any more. */
void virt_metrics_vmi_gone(struct kube_metrics *registry, const char *namespace_, const char *name);
/* kubevirt_vmi_number_of_outdated: at each pass of the workload updater. */
void virt_metrics_outdated(struct kube_metrics *registry, size_t vmis);
/* kubevirt_vmsnapshot_succeeded_timestamp_seconds: when the snapshot controller has written this status; does nothing
 * unless its phase is Succeeded. */
void virt_metrics_snapshot(struct kube_metrics *registry, const struct snapshot_vm_snapshot *snapshot);

#endif
