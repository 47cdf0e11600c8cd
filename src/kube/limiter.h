/*
 * A token bucket as client-go's flowcontrol: `qps` tokens a second, at most `burst` saved up. Can be changed while
 * callers wait. Threads: any.
 */
#ifndef KUBE_LIMITER_H
#define KUBE_LIMITER_H

#include "base/clock.h"

struct kube_limiter;

struct kube_limiter *kube_limiter_new(struct kb_clock *clock, double qps, int burst);
void kube_limiter_free(struct kube_limiter *limiter);
/* New rate; a fuller bucket is cut to `burst`. No effect when both are as they were. */
void kube_limiter_set(struct kube_limiter *limiter, double qps, int burst);
/* Takes a token, waiting for it until `deadline` (mono ns, INT64_MAX: for ever). Returns the nanoseconds waited, or -1
 * when the token would come after the deadline (none is taken then) or the limiter was closed. */
int64_t kube_limiter_take(struct kube_limiter *limiter, int64_t deadline);
/* Takes a token that may lie in the future without waiting; returns the nanoseconds until it is due (0: now). */
int64_t kube_limiter_reserve(struct kube_limiter *limiter);
/* The same for callers that come back when it is due, so that a new rate counts for them too: a ticket, or 0 when it
 * would be due after `deadline` (no token is taken then) or the limiter was closed... */
uint64_t kube_limiter_ticket(struct kube_limiter *limiter, int64_t deadline);
/* ...and the nanoseconds until it is due at the present rate (0: now; INT64_MAX: never; -1: the limiter was closed). */
int64_t kube_limiter_due(struct kube_limiter *limiter, uint64_t ticket);
void kube_limiter_close(struct kube_limiter *limiter); /* wakes all waiters; every later take fails */

#endif
