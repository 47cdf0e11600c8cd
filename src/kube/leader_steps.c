/*
 * The rules of the election. Safety rests on these:
 *
 *   - every write carries the resource version that was read, so that of two contenders one fails;
 *   - a contender takes the lease only when its record says that nobody holds it, or has not been seen to change for
 * its duration;
 *   - a leader's clients may write until (time before its last successful renewal was sent + duration - margin), which
 * is before anyone who saw that renewal can take the lease.
 */
#include "base/strings.h"
#include "kube/leader_internal.h"
#include <stdlib.h>

#define JITTER 1.2 /* client-go's: a contender waits between 1 and 1 + JITTER retry periods */

static int64_t now(const struct kube_leader *leader)
{
    return leader->options.clock->mono(leader->options.clock);
}

static int64_t own_duration_ns(const struct kube_leader *leader)
{
    return leader->options.lease_duration_ns / KB_NS_PER_S * KB_NS_PER_S;
}

static bool holds(const struct kube_leader *leader)
{
    return leader->lease.object && kb_streq(kube_lease_holder(&leader->lease), leader->options.identity);
}

static int64_t expires_at(const struct kube_leader *leader)
{
    return leader->observed_at + kube_lease_duration_ns(&leader->lease);
}

static bool held_by_another(const struct kube_leader *leader)
{
    return !holds(leader) && kube_lease_holder(&leader->lease)[0] && expires_at(leader) > now(leader);
}

static void set_fences(struct kube_leader *leader, int64_t deadline)
{
    for (size_t i = 0; i < leader->options.n_fenced; i++)
        kube_client_set_fence(leader->options.fenced[i], deadline);
}

static void record_event(struct kube_leader *leader, const char *what)
{
    if (leader->options.recorder && leader->lease.object)
        kube_event(leader->options.recorder, &coordination_lease_type, leader->lease.object, KUBE_EVENT_NORMAL,
                   "LeaderElection", "%s %s", leader->options.identity, what);
}

/* ---- what is seen ---- */

static void report(struct kube_leader *leader)
{
    const char *holder = kube_lease_holder(&leader->lease);
    if (kb_streq_null(holder, leader->reported))
        return;
    free(leader->reported);
    leader->reported = kb_strdup(holder);
    if (holder[0] && !holds(leader) && leader->options.observed) {
        free(leader->notices.observed);
        leader->notices.observed = kb_strdup(holder);
    }
}

/* Takes over `lease`. */
static void observe(struct kube_leader *leader, struct kube_lease *lease)
{
    if (!kube_lease_same_record(&leader->lease, lease))
        leader->observed_at = now(leader);
    kube_lease_done(&leader->lease);
    leader->lease = *lease;
    *lease = (struct kube_lease){0};
    report(leader);
}

/* ---- the next try ---- */

/* A standby whose watch lives need not ask before the record expires. */
static void schedule(struct kube_leader *leader)
{
    int64_t time = now(leader), retry = leader->options.retry_period_ns;
    leader->next_try = time + retry;
    if (leader->role != KUBE_LEADER_STANDBY)
        return;
    leader->next_try += (int64_t)kb_random_below(leader->options.random, (uint64_t)((double)retry * JITTER) + 1);
    if (leader->watch_open && held_by_another(leader))
        leader->next_try = expires_at(leader);
}

static int64_t lost_at(const struct kube_leader *leader)
{
    int64_t deadline = leader->round_began + leader->options.renew_deadline_ns;
    return leader->round_began != 0 && deadline < leader->fence ? deadline : leader->fence;
}

/* A call that hangs must leave time for another one. */
static void ask(struct kube_leader *leader, enum kube_leader_call call)
{
    int64_t deadline = now(leader) + leader->options.renew_deadline_ns / 2;
    if (leader->role == KUBE_LEADER_LEADING && !leader->stopping && deadline > lost_at(leader))
        deadline = lost_at(leader);
    if (leader->stopping && deadline > leader->release_until)
        deadline = leader->release_until;
    kube_leader_begin_call(leader, call, deadline);
}

static void try_now(struct kube_leader *leader)
{
    if (leader->role == KUBE_LEADER_LEADING && leader->round_began == 0)
        leader->round_began = now(leader);
    bool optimistic = holds(leader) && expires_at(leader) > now(leader);
    ask(leader, optimistic ? KUBE_LEADER_RENEW : KUBE_LEADER_GET);
}

/* ---- transitions ---- */

static void leave(struct kube_leader *leader, bool tell)
{
    bool led = leader->role == KUBE_LEADER_LEADING;
    set_fences(leader, 0);
    atomic_store(&leader->leading, false);
    leader->role = KUBE_LEADER_OVER;
    kube_leader_abandon_call(leader);
    kube_leader_stop_watch(leader);
    if (led)
        record_event(leader, "stopped leading");
    leader->notices.stopped = led && tell && !leader->stopping;
}

static void lead(struct kube_leader *leader)
{
    leader->role = KUBE_LEADER_LEADING;
    atomic_store(&leader->leading, true);
    kube_leader_stop_watch(leader);
    kube_lease_done(&leader->watched);
    record_event(leader, "became leader");
    leader->notices.started = !leader->stopping;
}

/* Our write of the record, begun at `sent_at`, succeeded. */
static void written(struct kube_leader *leader, struct kube_lease *lease)
{
    observe(leader, lease);
    int64_t duration = own_duration_ns(leader), fence = leader->sent_at + duration - duration / 10;
    if (fence <= now(leader)) { /* the answer took so long that it is worth nothing */
        schedule(leader);
        return;
    }
    leader->fence = fence;
    leader->round_began = 0;
    if (!leader->stopping)
        set_fences(leader, fence);
    if (leader->role == KUBE_LEADER_STANDBY)
        lead(leader);
    schedule(leader);
}

/* ---- answers ---- */

static void got(struct kube_leader *leader)
{
    if (leader->stopping) {
        if (holds(leader))
            ask(leader, KUBE_LEADER_RELEASE);
        else
            leave(leader, false);
        return;
    }
    bool another = kube_lease_holder(&leader->lease)[0] && !holds(leader);
    if (another && leader->role == KUBE_LEADER_LEADING) {
        leave(leader, true);
        return;
    }
    if (held_by_another(leader)) {
        kube_leader_start_watch(leader);
        schedule(leader);
        return;
    }
    ask(leader, KUBE_LEADER_TAKE);
}

static void got_nothing(struct kube_leader *leader)
{
    if (leader->stopping)
        leave(leader, false);
    else if (leader->role == KUBE_LEADER_STANDBY && held_by_another(leader))
        leader->next_try = expires_at(leader); /* deleted; its leader may not know yet */
    else
        ask(leader, KUBE_LEADER_CREATE);
}

static void failed(struct kube_leader *leader, enum kube_leader_call call, const struct kube_error *error)
{
    if (call == KUBE_LEADER_GET && kube_error_is_not_found(error))
        got_nothing(leader);
    else if (call == KUBE_LEADER_RENEW || (call == KUBE_LEADER_RELEASE && kube_error_is_conflict(error)))
        ask(leader, KUBE_LEADER_GET);
    else if (leader->stopping && call != KUBE_LEADER_GET && call != KUBE_LEADER_RELEASE &&
             error->kind != KUBE_ERROR_API)
        ask(leader, KUBE_LEADER_GET); /* it may have given us the lease */
    else if (leader->stopping)
        leave(leader, false);
    else
        schedule(leader);
}

static void take_answer(struct kube_leader *leader)
{
    enum kube_leader_call call = leader->call;
    leader->call = KUBE_LEADER_NO_CALL;
    leader->answer.there = false;
    struct kube_error error = leader->answer.error;
    struct kube_lease lease = {0};
    if (error.kind == KUBE_ERROR_NONE)
        kube_lease_decode(leader->answer.body.data, leader->answer.body.length, &lease, &error);
    if (error.kind != KUBE_ERROR_NONE) {
        failed(leader, call, &error);
    } else if (call == KUBE_LEADER_GET) {
        observe(leader, &lease);
        got(leader);
    } else if (call == KUBE_LEADER_RELEASE) {
        kube_lease_done(&lease);
        leave(leader, false);
    } else {
        written(leader, &lease);
    }
}

static void take_watched(struct kube_leader *leader)
{
    if (leader->role != KUBE_LEADER_STANDBY) {
        kube_lease_done(&leader->watched);
        return;
    }
    observe(leader, &leader->watched);
    if (held_by_another(leader))
        schedule(leader);
    else
        leader->next_try = now(leader);
}

/* ---- stopping ---- */

static void go_on_stopping(struct kube_leader *leader)
{
    if (leader->role == KUBE_LEADER_LEADING)
        set_fences(leader, 0);
    if (leader->call == KUBE_LEADER_GET && leader->role == KUBE_LEADER_STANDBY)
        kube_leader_abandon_call(leader);
    if (leader->call != KUBE_LEADER_NO_CALL)
        return; /* a write in flight may give us the lease: then there is something to release */
    if ((leader->role == KUBE_LEADER_LEADING || holds(leader)) && now(leader) < leader->release_until)
        ask(leader, KUBE_LEADER_RELEASE);
    else
        leave(leader, false);
}

/* ---- */

int64_t kube_leader_step(struct kube_leader *leader)
{
    if (leader->role == KUBE_LEADER_OVER)
        return INT64_MAX;
    if (leader->answer.there) {
        take_answer(leader);
    } else if (leader->call != KUBE_LEADER_NO_CALL && now(leader) >= leader->call_deadline) {
        enum kube_leader_call call = leader->call;
        kube_leader_abandon_call(leader);
        failed(leader, call, &(struct kube_error){.kind = KUBE_ERROR_TIMEOUT});
    }
    if (leader->role == KUBE_LEADER_LEADING && !leader->stopping && now(leader) >= lost_at(leader))
        leave(leader, true);
    if (leader->watched.arena)
        take_watched(leader);
    if (leader->stopping && leader->role != KUBE_LEADER_OVER)
        go_on_stopping(leader);
    if (leader->role == KUBE_LEADER_OVER)
        return INT64_MAX;
    if (leader->call == KUBE_LEADER_NO_CALL && now(leader) >= leader->next_try)
        try_now(leader);
    int64_t due = leader->call == KUBE_LEADER_NO_CALL ? leader->next_try : leader->call_deadline;
    if (leader->role == KUBE_LEADER_LEADING && !leader->stopping && lost_at(leader) < due)
        due = lost_at(leader);
    return due;
}
