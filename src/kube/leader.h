/*
 * Leader election on a coordination.k8s.io/v1 Lease, compatible with client-go's: same fields, timings and jitter, so
 * that both can contend for one lease during a roll-out. Runs on the thread of its client's transport and should have
 * a client and a transport of its own (no rate limit and no load can starve it). The identity must be unique per
 * process: host name plus a random suffix.
 *
 * While leading, the fence of `fenced` clients is moved to (last successful renewal + lease duration - margin): a
 * process that can't renew stops writing before another can take the lease.
 *
 * Released on orderly stop: holderIdentity "", so that a standby takes over at its next try (and standbys watch the
 * Lease, so that the next try is now). While the watch lives a standby asks only when the record has expired; otherwise
 * every retry period.
 *
 * Time is the local monotonic clock: another's record expires its own duration after it was last seen to change,
 * whatever times stand in it. A Lease that was deleted while another leader's record had not expired is not created
 * before that.
 *
 * The lease duration counts in whole seconds, as it stands in the record. The margin of the fence is a tenth of it.
 */
#ifndef KUBE_LEADER_H
#define KUBE_LEADER_H

#include "kube/client.h"
#include "kube/recorder.h"

struct kube_leader;
struct kube_leader_options {
    struct kube_client *client;
    struct kb_clock *clock;
    struct kb_random *random;
    struct kube_recorder *recorder; /* "became leader" events; or NULL */
    const char *namespace_, *name;
    const char *identity;
    int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
    struct kube_client **fenced; /* clients whose writes need the lease */
    size_t n_fenced;
    /* On the transport's thread, which renews: they must not block, nor call stop or free. */
    void (*started)(void *userdata); /* leads now */
    void (*stopped)(void *userdata); /* the lease is lost, for good; not called after kube_leader_stop */
    void (*observed)(void *userdata, const char *identity); /* another leads; or NULL */
    void *userdata;
};
/* Copies the options and strings. lease > renew > retry * 1.2, all positive, identity not empty: otherwise an error
 * that says which. */
int kube_leader_new(const struct kube_leader_options *options, struct kube_leader **ret, struct kube_error *reterr);
void kube_leader_start(struct kube_leader *leader);
bool kube_leader_is_leading(const struct kube_leader *leader);
/* Stops renewing; closes the fences and releases the lease when it is held; returns after at most the renew deadline.
 * Call it after the workers have drained, not on the transport's thread. */
void kube_leader_stop(struct kube_leader *leader);
void kube_leader_free(struct kube_leader *leader); /* stops first; before the client is freed; NULL is allowed */

#endif
