/*
 * What the files of the metrics share. metrics.c: registration and leadership; scrape.c: what one scrape of VMs or VMIs
 * keeps; vm_stats.c, resources.c, disks.c, labels.c, vmi_stats.c, vnics.c: the families over VMs and VMIs;
 * migrations.c, phases.c, queues.c, client.c, counters.c: the others; own.c: about this program.
 *
 * Source of names, labels and values: the reference's pkg/monitoring/metrics, facts in metrics.md.
 */
#ifndef VIRT_METRICS_INTERNAL_H
#define VIRT_METRICS_INTERNAL_H

#include "virt/metrics/metrics.h"
#include <stdatomic.h>

struct metrics_queue;

struct virt_metrics {
    struct kb_arena *arena;
    struct kube_metrics *registry;
    struct kb_clock *clock;
    struct virt_context *context; /* NULL before virt_metrics_add */
    struct virt_metrics_hooks hooks;
    atomic_bool leading;
    struct metrics_queue *queues;
};

struct kube_store *metrics_store(struct virt_metrics *metrics, enum virt_informer informer);

/* ---- one scrape of VMs or VMIs ---- */

struct metrics_label_rules { /* which VM labels are reported */
    size_t n_allowed, n_ignored;
    const char *const *allowed, *const *ignored;
    bool allow_all;
};

struct metrics_scrape {
    struct virt_metrics *metrics;
    struct kb_arena *arena;   /* of the scrape */
    struct kb_arena *scratch; /* of one sampler's call: it resets it when it begins to use it */
    const struct virt_config *config;
    struct metrics_label_rules label_rules;
};

/* Begins a scrape over a cache; a standby sees no objects. */
struct metrics_scrape *metrics_scrape_begin(struct virt_metrics *metrics, enum virt_informer informer,
                                            struct kube_objects *ret);
void metrics_scrape_end(void *scrape);
/* Unix seconds of an RFC 3339 time; false when it is absent. */
bool metrics_unix_seconds(const char *time, int64_t *ret);
/* A value in the scrape's scratch memory. */
const char *metrics_lower(struct metrics_scrape *scrape, const char *text);
/* vm.kubevirt.io/NAME of annotations; "" when absent. */
const char *metrics_system_info(const struct api_string_map *annotations, const char *name);
/* What the outside is told of an instance type or preference: its name when its vendor is known, "<other>" otherwise.
 */
const char *metrics_vendor_name(struct metrics_scrape *scrape, enum virt_informer informer, const char *namespace_,
                                const char *name);

/* ---- samplers: functions of struct kube_metric_row ---- */

#define METRICS_SAMPLER(name)                                                                                          \
    void name(void *state, const struct kube_metric_family *family, const void *object, struct kube_exposition *out)

/* resources.c */
extern const struct kube_metric_family metrics_vm_requests, metrics_vm_limits;
METRICS_SAMPLER(metrics_sample_requests);
METRICS_SAMPLER(metrics_sample_limits);
/* disks.c */
extern const struct kube_metric_family metrics_vm_disk_size;
METRICS_SAMPLER(metrics_sample_disks);
/* labels.c */
extern const struct kube_metric_family metrics_vm_labels;
METRICS_SAMPLER(metrics_sample_labels);
/* `map` NULL: there is none. Texts are copied to the arena. */
struct metrics_label_rules metrics_label_rules(struct kb_arena *arena, const struct core_config_map *map);
/* vnics.c */
void metrics_add_vnics(struct kube_exposition *out, const struct kube_metric_family *family,
                       const struct meta_object_meta *meta, const struct kv_vmi_spec *spec);

/* ---- parts, added by virt_metrics_add ---- */

void metrics_add_vm_stats(struct virt_metrics *metrics);
void metrics_add_vmi_stats(struct virt_metrics *metrics);
void metrics_add_migrations(struct virt_metrics *metrics);
void metrics_add_phases(struct virt_metrics *metrics);
void metrics_add_own(struct virt_metrics *metrics);
/* counters.c: the gauge of leaders appears. */
void metrics_show_outdated(struct kube_metrics *registry);
/* queues.c: this replica leads from now on. */
void metrics_open_queues(struct virt_metrics *metrics);

#endif
