/*
 * Leader election on a coordination.k8s.io/v1 Lease, compatible with client-go's: same fields, timings and jitter, so that
 * both can contend for one lease during a roll-out. Has its own thread and should have its own client (no rate limit can
 * starve it). The identity must be unique per process: host name plus a random suffix.
 *
 * While leading, the fence of `fenced` clients is moved to (last successful renewal + lease duration - margin): a process that
 * can't renew stops writing before another can take the lease.
 *
 * Released on orderly stop: holderIdentity "", so that a standby takes over at its next try (and standbys watch the Lease, so
 * that the next try is now).
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
    void (*started)(void *userdata); /* leads now; on the elector's thread */
    void (*stopped)(void *userdata); /* the lease is lost (not called after kube_leader_stop) */
    void (*observed)(void *userdata, const char *identity); /* another leads; or NULL */
    void *userdata;
};
/* lease > renew > retry * 1.2, all positive, identity not empty: otherwise an error that says which. */
int kube_leader_new(const struct kube_leader_options *options, struct kube_leader **ret, struct kube_error *reterr);
void kube_leader_start(struct kube_leader *leader);
bool kube_leader_is_leading(const struct kube_leader *leader);
/* Stops renewing; releases the lease when it is held. Call it after the workers have drained. */
void kube_leader_stop(struct kube_leader *leader);
void kube_leader_free(struct kube_leader *leader);

#endif
