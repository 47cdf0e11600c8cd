/*
 * What a controller has asked for and not yet seen in its cache, per key: counted creations and deletions (client-go's
 * ControllerExpectations) and named ones (UIDExpectations). While a key is not satisfied its controller must not
 * create or delete more. An unmet expectation expires after five minutes, and then the key is queued again by the
 * runtime (nothing waits for a resync). Threads: any.
 */
#ifndef KUBE_EXPECTATIONS_H
#define KUBE_EXPECTATIONS_H

#include "base/clock.h"
#include <stdbool.h>
#include <stdint.h>

#define KUBE_EXPECTATION_TIMEOUT_NS (5 * 60 * KB_NS_PER_S)

struct kube_expectations;
struct kube_expectations *kube_expectations_new(struct kb_clock *clock);
void kube_expectations_free(struct kube_expectations *e);

void kube_expect_creations(struct kube_expectations *e, const char *key, int n);
void kube_expect_deletions(struct kube_expectations *e, const char *key, int n);
void kube_creation_observed(struct kube_expectations *e, const char *key);
void kube_deletion_observed(struct kube_expectations *e, const char *key);
/* Named: counts each name once. */
void kube_expect_deletion_of(struct kube_expectations *e, const char *key, const char *name);
void kube_deletion_observed_of(struct kube_expectations *e, const char *key, const char *name);

bool kube_expectations_satisfied(struct kube_expectations *e, const char *key); /* also when expired or unknown */
/* Something of the kind is expected and has not come yet. */
bool kube_creations_expected(struct kube_expectations *e, const char *key);
bool kube_deletions_expected(struct kube_expectations *e, const char *key); /* counted or named */
/* Nanoseconds until the key's expectation expires; 0: nothing is expected. */
int64_t kube_expectations_remaining(struct kube_expectations *e, const char *key);
void kube_expectations_forget(struct kube_expectations *e, const char *key);

#endif
