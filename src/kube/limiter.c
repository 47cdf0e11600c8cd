/*
 * The token bucket. `tokens` may be negative: callers that wait have taken theirs already, and their number (`issued`)
 * tells how many came after: caller k is due when the bucket would be at zero or above without those. So callers are
 * served in order, and a new rate moves all of them.
 */
#include "kube/limiter.h"
#include "base/arena.h"
#include <math.h>
#include <stdlib.h>

struct kube_limiter {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* rate set, closed */
    struct kb_clock *clock;
    double qps;
    int burst;
    double tokens;   /* at time `at` */
    int64_t at;      /* mono ns */
    uint64_t issued; /* number of the last ticket */
    bool closed;
};

struct kube_limiter *kube_limiter_new(struct kb_clock *clock, double qps, int burst)
{
    struct kube_limiter *l = kb_malloc(sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    kb_cond_init(&l->changed);
    l->clock = clock;
    l->qps = qps;
    l->burst = burst;
    l->tokens = burst;
    l->at = clock->mono(clock);
    return l;
}

void kube_limiter_free(struct kube_limiter *l)
{
    if (!l)
        return;
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void refill(struct kube_limiter *l)
{
    int64_t now = l->clock->mono(l->clock);
    if (now > l->at)
        l->tokens = fmin(l->tokens + (double)(now - l->at) * l->qps / KB_NS_PER_S, l->burst);
    l->at = now;
}

/* Nanoseconds from `at` until the ticket is due; INT64_MAX: never at this rate. */
static int64_t due_in(const struct kube_limiter *l, uint64_t ticket)
{
    double missing = -(l->tokens + (double)(l->issued - ticket));
    /* A billionth of a token is the error of adding up fractions, not a debt. */
    if (missing < 1e-9)
        return 0;
    double ns = ceil(missing / l->qps * KB_NS_PER_S);
    return l->qps > 0 && ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

static uint64_t issue(struct kube_limiter *l)
{
    refill(l);
    l->tokens -= 1;
    return ++l->issued;
}

void kube_limiter_set(struct kube_limiter *l, double qps, int burst)
{
    pthread_mutex_lock(&l->lock);
    if (qps != l->qps || burst != l->burst) {
        refill(l);
        l->qps = qps;
        l->burst = burst;
        l->tokens = fmin(l->tokens, burst);
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
}

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t kube_limiter_take(struct kube_limiter *l, int64_t deadline)
{
    pthread_mutex_lock(&l->lock);
    uint64_t ticket = issue(l);
    int64_t begin = l->at, wait = due_in(l, ticket);
    if (l->closed || (wait > 0 && add_saturating(begin, wait) > deadline)) {
        /* Nobody came later: the lock is held since the ticket was issued. */
        l->tokens += 1;
        l->issued--;
        pthread_mutex_unlock(&l->lock);
        return -1;
    }
    while (wait > 0 && !l->closed) {
        l->clock->wait(l->clock, &l->changed, &l->lock, add_saturating(l->at, wait));
        refill(l);
        wait = due_in(l, ticket);
    }
    int64_t waited = l->closed ? -1 : l->at - begin;
    pthread_mutex_unlock(&l->lock);
    return waited;
}

uint64_t kube_limiter_ticket(struct kube_limiter *l)
{
    pthread_mutex_lock(&l->lock);
    uint64_t ticket = issue(l);
    pthread_mutex_unlock(&l->lock);
    return ticket;
}

int64_t kube_limiter_due(struct kube_limiter *l, uint64_t ticket)
{
    pthread_mutex_lock(&l->lock);
    refill(l);
    int64_t wait = l->closed ? -1 : due_in(l, ticket);
    pthread_mutex_unlock(&l->lock);
    return wait;
}

int64_t kube_limiter_reserve(struct kube_limiter *l)
{
    return kube_limiter_due(l, kube_limiter_ticket(l));
}

void kube_limiter_close(struct kube_limiter *l)
{
    pthread_mutex_lock(&l->lock);
    l->closed = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}
