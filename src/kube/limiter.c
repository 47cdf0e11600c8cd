/*
 * The token bucket. `tokens` may be negative: callers that wait have taken theirs already, and their number (`issued`)
 * tells how many came after: caller k is due when the bucket would be at zero or above without those. So callers are
 * served in order, and a new rate moves all of them.
 */
#include "kube/limiter.h"
#include "base/arena.h"
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

static void fill_up(struct kube_limiter *l, double tokens)
{
    l->tokens = tokens < l->burst ? tokens : l->burst;
}

static void refill(struct kube_limiter *l)
{
    int64_t now = l->clock->mono(l->clock);
    if (now > l->at)
        fill_up(l, l->tokens + (double)(now - l->at) * l->qps / KB_NS_PER_S);
    l->at = now;
}

/* Nanoseconds from `at` until the ticket is due; INT64_MAX: never at this rate. */
static int64_t due_in(const struct kube_limiter *l, uint64_t ticket)
{
    double missing = -(l->tokens + (double)(l->issued - ticket));
    /* A billionth of a token is the error of adding up fractions, not a debt. */
    if (missing < 1e-9)
        return 0;
    double ns = missing / l->qps * KB_NS_PER_S;
    if (!(l->qps > 0 && ns < 9e18))
        return INT64_MAX;
    int64_t whole = (int64_t)ns;
    return (double)whole < ns ? whole + 1 : whole;
}

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* 0: it would be due after the deadline, or the limiter is closed. */
static uint64_t issue(struct kube_limiter *l, int64_t deadline)
{
    refill(l);
    l->tokens -= 1;
    l->issued++;
    int64_t wait = due_in(l, l->issued);
    if (!l->closed && (wait == 0 || add_saturating(l->at, wait) <= deadline))
        return l->issued;
    l->tokens += 1;
    l->issued--;
    return 0;
}

void kube_limiter_set(struct kube_limiter *l, double qps, int burst)
{
    pthread_mutex_lock(&l->lock);
    if (qps != l->qps || burst != l->burst) {
        refill(l);
        l->qps = qps;
        l->burst = burst;
        fill_up(l, l->tokens);
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
}

int64_t kube_limiter_take(struct kube_limiter *l, int64_t deadline)
{
    pthread_mutex_lock(&l->lock);
    uint64_t ticket = issue(l, deadline);
    int64_t begin = l->at, wait;
    while (ticket && !l->closed && (wait = due_in(l, ticket)) > 0) {
        l->clock->wait(l->clock, &l->changed, &l->lock, add_saturating(l->at, wait));
        refill(l);
    }
    int64_t waited = ticket && !l->closed ? l->at - begin : -1;
    pthread_mutex_unlock(&l->lock);
    return waited;
}

uint64_t kube_limiter_ticket(struct kube_limiter *l, int64_t deadline)
{
    pthread_mutex_lock(&l->lock);
    uint64_t ticket = issue(l, deadline);
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
    return kube_limiter_due(l, kube_limiter_ticket(l, INT64_MAX));
}

void kube_limiter_close(struct kube_limiter *l)
{
    pthread_mutex_lock(&l->lock);
    l->closed = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}
