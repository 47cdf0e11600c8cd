/*
 * A registry with all metrics of virt-controller over caches without a cluster, filled from JSON.
 */
#ifndef TEST_VIRT_METRICS_FIXTURE_H
#define TEST_VIRT_METRICS_FIXTURE_H

#include "virt/metrics/metrics.h"

struct metrics_fixture {
    struct kb_arena *arena;
    struct kb_clock_fake *clock;
    struct kb_random *random;
    struct virt_metrics *metrics;
    struct virt_context context;
    struct virt_metrics_hooks hooks;
    bool is_ready;
    int version; /* resourceVersion of the last object */
};

/* A standby; `leading`: it leads already. */
void metrics_fixture_init(struct metrics_fixture *f, bool leading);
void metrics_fixture_done(struct metrics_fixture *f);
/* JSON is written with ' in place of "; a new version of what was put before is an update. */
void metrics_fixture_put(struct metrics_fixture *f, enum virt_informer informer, const char *json);
/* `configuration`: spec.configuration of the KubeVirt CR. */
void metrics_fixture_configure(struct metrics_fixture *f, const char *configuration);
/* Fails unless the lines of the families whose names start so, without comments, are `expected`; " is written '. */
void metrics_fixture_assert(struct metrics_fixture *f, const char *family_prefix, const char *expected);
/* The whole text of a scrape, in the arena. */
const char *metrics_fixture_text(struct metrics_fixture *f);

#endif
