/*
 * A heap of functions that fall due, for the transport. Equal times run in the order they were added.
 * Threads: one at a time.
 */
#ifndef KUBE_TIMERS_H
#define KUBE_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_timer {
    int64_t due; /* mono ns */
    uint64_t id;
    void (*fn)(void *userdata);
    void *userdata;
};

/* Zero-initialised is valid and empty; release with kube_timers_done. */
struct kube_timers {
    size_t n;
    struct kube_timer *items;
    uint64_t last_id;
};

uint64_t kube_timers_add(struct kube_timers *timers, int64_t due, void (*fn)(void *userdata), void *userdata);
bool kube_timers_remove(struct kube_timers *timers, uint64_t id);
/* Takes the first one out when it is due at `now`. */
bool kube_timers_take_due(struct kube_timers *timers, int64_t now, struct kube_timer *ret);
int64_t kube_timers_next(const struct kube_timers *timers); /* INT64_MAX: none */
void kube_timers_done(struct kube_timers *timers);

#endif
