/*
 * What the files of leader election share.
 *
 *   leader.c        life, turns, calls to the API server, callbacks to the owner
 *   leader_steps.c  the rules: what is done when (no thread, no waiting: tests drive it by kube_leader_poll)
 *   leader_lease.c  the record in the Lease
 *   leader_watch.c  the watch of a standby
 *
 *            GET ok, held by another ---+
 *                                       v
 *      standby --- acquired --> leading --- renew deadline, fence or another holder --> over (lost)
 *          \                       \
 *           +--- stop               +--- stop: released --> over
 *
 * Everything is guarded by `lock`, which is held when calls are begun and taken by their callbacks.
 */
#ifndef KUBE_LEADER_INTERNAL_H
#define KUBE_LEADER_INTERNAL_H

#include "api/types/coordination.h"
#include "kube/leader.h"
#include <pthread.h>

/* ---- the record ---- */

struct kube_lease {
    struct kb_arena *arena; /* NULL: none */
    const struct coordination_lease *object;
};

int kube_lease_decode(const char *json, size_t n, struct kube_lease *ret, struct kube_error *reterr);
void kube_lease_done(struct kube_lease *lease);
const char *kube_lease_holder(const struct kube_lease *lease);  /* "": none */
int64_t kube_lease_duration_ns(const struct kube_lease *lease); /* 0: none */
int32_t kube_lease_transitions(const struct kube_lease *lease);
bool kube_lease_same_record(const struct kube_lease *a, const struct kube_lease *b);

enum kube_lease_change { KUBE_LEASE_CREATE, KUBE_LEASE_TAKE, KUBE_LEASE_RENEW, KUBE_LEASE_RELEASE };
/* Appends the Lease to be written: `lease` (not for CREATE) with a new record. */
void kube_lease_write(const struct kube_lease *lease, enum kube_lease_change change,
                      const struct kube_leader_options *options, struct kb_strbuf *ret);

/* ---- the elector ---- */

enum kube_leader_role { KUBE_LEADER_STANDBY, KUBE_LEADER_LEADING, KUBE_LEADER_OVER };
enum kube_leader_call {
    KUBE_LEADER_NO_CALL,
    KUBE_LEADER_GET,
    KUBE_LEADER_CREATE,
    KUBE_LEADER_RENEW, /* optimistic: with the resource version of our last write */
    KUBE_LEADER_TAKE,  /* with that of the GET just before */
    KUBE_LEADER_RELEASE,
};

struct kube_lease_watch;

struct kube_leader {
    struct kube_leader_options options; /* strings and `fenced` are copies */
    pthread_mutex_t lock;
    pthread_cond_t over; /* the last turn has ended */
    bool started, in_turn, woken, stopping;
    uint64_t post;  /* the next turn; 0: none */
    int references; /* the owner, calls, the watch, the post */
    _Atomic bool leading;
    enum kube_leader_role role;

    struct kube_lease lease; /* as last seen or written */
    int64_t observed_at;     /* mono time at which its record was first seen so */
    int64_t next_try;        /* mono time */
    int64_t round_began;     /* leading: when the renewals that failed so far began; 0: the last one succeeded */
    int64_t fence;           /* leading: until when the clients may write */
    int64_t release_until;

    enum kube_leader_call call; /* in flight */
    uint64_t call_number;
    int64_t sent_at, call_deadline;
    struct {
        bool there;
        struct kb_strbuf body;
        struct kube_error error; /* kind NONE: success */
    } answer;

    struct kube_lease_watch *watch; /* NULL: none runs */
    bool watch_open;                /* it was answered with 200 */
    struct kube_lease watched;      /* came by the watch, not looked at yet */

    char *reported; /* the last other leader that was told */
    struct {
        bool started, stopped;
        char *observed;
    } notices;
};

/* Does all that is due; returns the mono time of what is due next. INT64_MAX when over. With the lock held. */
int64_t kube_leader_step(struct kube_leader *leader);
/* The same for tests, without kube_leader_start: takes the lock and tells the owner. */
int64_t kube_leader_poll(struct kube_leader *leader);
/* What kube_leader_stop does before it waits. */
void kube_leader_begin_stop(struct kube_leader *leader);
bool kube_leader_is_over(struct kube_leader *leader);

/* With the lock held. */
void kube_leader_begin_call(struct kube_leader *leader, enum kube_leader_call call, int64_t deadline);
void kube_leader_abandon_call(struct kube_leader *leader);
void kube_leader_wake(struct kube_leader *leader);
void kube_leader_ref(struct kube_leader *leader);
/* Gives the lock back as well. */
void kube_leader_unlock_unref(struct kube_leader *leader);

/* With the lock held. */
void kube_leader_start_watch(struct kube_leader *leader);
void kube_leader_stop_watch(struct kube_leader *leader);

#endif
