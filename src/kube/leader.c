/*
 * The elector's life: options, turns, calls to the API server without blocking, and what the owner is told.
 *
 * Calls are given a number; an answer whose number is not that of the call in flight comes from one that was abandoned,
 * and is ignored. Each call and the watch hold a reference, so that what comes late finds the elector even after
 * kube_leader_free.
 *
 * The elector has no thread: a post on its client's transport runs each turn, at the time that the one before named or
 * when something came. So a renewal costs the process two wake-ups, one to send it and one for the answer.
 */
#include "kube/leader.h"
#include "base/strings.h"
#include "kube/leader_internal.h"
#include <stdlib.h>

static int check(const struct kube_leader_options *o, struct kube_error *reterr)
{
    const char *wrong = NULL;
    if (kb_empty(o->identity))
        wrong = "the identity must not be empty";
    else if (kb_empty(o->name))
        wrong = "the name of the lease must not be empty";
    else if (o->retry_period_ns <= 0)
        wrong = "the retry period must be greater than zero";
    else if (o->lease_duration_ns < KB_NS_PER_S)
        wrong = "the lease duration must be at least one second";
    else if (o->lease_duration_ns / KB_NS_PER_S * KB_NS_PER_S <= o->renew_deadline_ns)
        wrong = "the lease duration must be greater than the renew deadline";
    else if ((double)o->renew_deadline_ns <= 1.2 * (double)o->retry_period_ns)
        wrong = "the renew deadline must be greater than the retry period * 1.2";
    return wrong ? kube_error_set(reterr, KUBE_ERROR_INVALID, "leader election: %s", wrong) : 0;
}

int kube_leader_new(const struct kube_leader_options *options, struct kube_leader **ret, struct kube_error *reterr)
{
    if (check(options, reterr) < 0)
        return -1;
    struct kube_leader *leader = kb_malloc(sizeof *leader);
    leader->options = *options;
    leader->options.namespace_ = kb_strdup(options->namespace_ ? options->namespace_ : "");
    leader->options.name = kb_strdup(options->name);
    leader->options.identity = kb_strdup(options->identity);
    leader->options.fenced = kb_malloc((options->n_fenced + 1) * sizeof *options->fenced);
    leader->references = 1;
    pthread_mutex_init(&leader->lock, NULL);
    kb_cond_init(&leader->over);
    for (size_t i = 0; i < options->n_fenced; i++) {
        leader->options.fenced[i] = options->fenced[i];
        kube_client_set_fence(options->fenced[i], 0);
    }
    leader->next_try = options->clock->mono(options->clock);
    *ret = leader;
    return 0;
}

static void release(struct kube_leader *leader)
{
    kube_lease_done(&leader->lease);
    kube_lease_done(&leader->watched);
    kb_strbuf_done(&leader->answer.body);
    pthread_cond_destroy(&leader->over);
    pthread_mutex_destroy(&leader->lock);
    free(leader->notices.observed);
    free(leader->reported);
    free((char *)leader->options.namespace_);
    free((char *)leader->options.name);
    free((char *)leader->options.identity);
    free(leader->options.fenced);
    free(leader);
}

void kube_leader_ref(struct kube_leader *leader)
{
    leader->references++;
}

void kube_leader_unlock_unref(struct kube_leader *leader)
{
    bool last = --leader->references == 0;
    pthread_mutex_unlock(&leader->lock);
    if (last)
        release(leader);
}

static void turn(void *userdata);

/* With the lock held: the next turn is at `due`. The post has a reference. */
static void arm(struct kube_leader *leader, int64_t due)
{
    struct kube_transport *transport = kube_client_transport(leader->options.client);
    int64_t delay = due - leader->options.clock->mono(leader->options.clock);
    if (leader->post && !transport->unpost(transport, leader->post))
        return; /* it waits for the lock, and will see what we have seen */
    if (!leader->post)
        kube_leader_ref(leader);
    leader->post = transport->post(transport, delay > 0 ? delay : 0, turn, leader);
}

void kube_leader_wake(struct kube_leader *leader)
{
    leader->woken = true;
    if (leader->started && !leader->in_turn && leader->role != KUBE_LEADER_OVER)
        arm(leader, 0);
}

/* ---- calls ---- */

struct ticket {
    struct kube_leader *leader;
    uint64_t number;
};

static void on_answer(void *userdata, const char *body, size_t n, const struct kube_error *error)
{
    struct ticket *ticket = userdata;
    struct kube_leader *leader = ticket->leader;
    pthread_mutex_lock(&leader->lock);
    if (leader->call != KUBE_LEADER_NO_CALL && leader->call_number == ticket->number) {
        leader->answer.there = true;
        leader->answer.error = error ? *error : (struct kube_error){0};
        kb_strbuf_clear(&leader->answer.body);
        kb_strbuf_append(&leader->answer.body, body, n);
        kube_leader_wake(leader);
    }
    free(ticket);
    kube_leader_unlock_unref(leader);
}

static const struct {
    enum kube_verb verb;
    enum kube_lease_change change;
} calls[] = {
    [KUBE_LEADER_GET] = {KUBE_GET, 0},
    [KUBE_LEADER_CREATE] = {KUBE_CREATE, KUBE_LEASE_CREATE},
    [KUBE_LEADER_RENEW] = {KUBE_UPDATE, KUBE_LEASE_RENEW},
    [KUBE_LEADER_TAKE] = {KUBE_UPDATE, KUBE_LEASE_TAKE},
    [KUBE_LEADER_RELEASE] = {KUBE_UPDATE, KUBE_LEASE_RELEASE},
};

void kube_leader_begin_call(struct kube_leader *leader, enum kube_leader_call call, int64_t deadline)
{
    kb_cleanup_strbuf struct kb_strbuf body = {0};
    struct kube_target target = {.resource = coordination_lease_type.resource,
                                 .namespace_ = leader->options.namespace_};
    if (call != KUBE_LEADER_CREATE)
        target.name = leader->options.name;
    enum kube_lease_change change = calls[call].change;
    if (call == KUBE_LEADER_TAKE && kb_streq(kube_lease_holder(&leader->lease), leader->options.identity))
        change = KUBE_LEASE_RENEW;
    if (call != KUBE_LEADER_GET)
        kube_lease_write(&leader->lease, change, &leader->options, &body);
    struct ticket *ticket = kb_malloc(sizeof *ticket);
    *ticket = (struct ticket){leader, ++leader->call_number};
    kube_leader_ref(leader);
    leader->call = call;
    leader->sent_at = leader->options.clock->mono(leader->options.clock);
    leader->call_deadline = deadline;
    kube_call_async(leader->options.client, calls[call].verb, &target, KUBE_JSON, kb_strbuf_text(&body), body.length,
                    on_answer, ticket);
}

void kube_leader_abandon_call(struct kube_leader *leader)
{
    leader->call = KUBE_LEADER_NO_CALL;
    leader->answer.there = false;
}

/* ---- the owner ---- */

/* Gives the lock back for the time of the callbacks. */
static void tell_owner(struct kube_leader *leader)
{
    bool started = leader->notices.started, stopped = leader->notices.stopped;
    kb_cleanup_free char *observed = KB_TAKE_PTR(leader->notices.observed);
    leader->notices.started = leader->notices.stopped = false;
    if (!started && !stopped && !observed)
        return;
    const struct kube_leader_options *o = &leader->options;
    pthread_mutex_unlock(&leader->lock);
    if (observed && o->observed)
        o->observed(o->userdata, observed);
    if (started && o->started)
        o->started(o->userdata);
    if (stopped && o->stopped)
        o->stopped(o->userdata);
    pthread_mutex_lock(&leader->lock);
}

int64_t kube_leader_poll(struct kube_leader *leader)
{
    pthread_mutex_lock(&leader->lock);
    leader->woken = false;
    int64_t due = kube_leader_step(leader);
    tell_owner(leader);
    pthread_mutex_unlock(&leader->lock);
    return due;
}

/* On the transport's thread: what is due, and when it goes on. */
static void turn(void *userdata)
{
    struct kube_leader *leader = userdata;
    pthread_mutex_lock(&leader->lock);
    leader->post = 0;
    leader->in_turn = true;
    int64_t due;
    do {
        leader->woken = false;
        due = kube_leader_step(leader);
        tell_owner(leader);
    } while (leader->woken && leader->role != KUBE_LEADER_OVER);
    leader->in_turn = false;
    if (leader->role == KUBE_LEADER_OVER)
        pthread_cond_broadcast(&leader->over);
    else
        arm(leader, due);
    kube_leader_unlock_unref(leader);
}

void kube_leader_start(struct kube_leader *leader)
{
    pthread_mutex_lock(&leader->lock);
    leader->started = true;
    arm(leader, 0);
    pthread_mutex_unlock(&leader->lock);
}

bool kube_leader_is_leading(const struct kube_leader *leader)
{
    return atomic_load(&leader->leading);
}

bool kube_leader_is_over(struct kube_leader *leader)
{
    pthread_mutex_lock(&leader->lock);
    bool over = leader->role == KUBE_LEADER_OVER;
    pthread_mutex_unlock(&leader->lock);
    return over;
}

void kube_leader_begin_stop(struct kube_leader *leader)
{
    pthread_mutex_lock(&leader->lock);
    if (!leader->stopping) {
        leader->stopping = true;
        leader->release_until = leader->options.clock->mono(leader->options.clock) + leader->options.renew_deadline_ns;
        if (leader->call_deadline > leader->release_until)
            leader->call_deadline = leader->release_until;
        kube_leader_wake(leader);
    }
    pthread_mutex_unlock(&leader->lock);
}

void kube_leader_stop(struct kube_leader *leader)
{
    struct kb_clock *clock = leader->options.clock;
    kube_leader_begin_stop(leader);
    pthread_mutex_lock(&leader->lock);
    while (leader->started && (leader->role != KUBE_LEADER_OVER || leader->in_turn))
        clock->wait(clock, &leader->over, &leader->lock, INT64_MAX);
    leader->started = false;
    pthread_mutex_unlock(&leader->lock);
}

void kube_leader_free(struct kube_leader *leader)
{
    if (!leader)
        return;
    kube_leader_stop(leader);
    pthread_mutex_lock(&leader->lock);
    kube_leader_stop_watch(leader);
    kube_leader_abandon_call(leader);
    kube_leader_unlock_unref(leader);
}
