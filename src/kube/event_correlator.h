/*
 * What becomes of an event before it is written: client-go's EventCorrelator with its default options. In this order:
 *
 *   aggregate  of ten and more different messages about the same (source, object, type, reason), with no gap of more
 * than ten minutes between them, the tenth and later ones become one event whose message says so count      an event
 * that was seen before (all equal, message too; of aggregated ones: the group) is the earlier one, its count one
 * higher: to be patched filter     of one source about one object 25 events pass, and then one every five minutes
 *
 * Memory is bounded: 4,096 entries of each. Threads: one at a time.
 */
#ifndef KUBE_EVENT_CORRELATOR_H
#define KUBE_EVENT_CORRELATOR_H

#include "api/types/core.h"
#include "base/clock.h"
#include <stdbool.h>

struct kube_correlator;
struct kube_correlator *kube_correlator_new(struct kb_clock *clock, struct kb_random *random);
void kube_correlator_free(struct kube_correlator *correlator);
/*
 * Changes the event (which has count 1, name and times as if it were new) into what is to be written; strings are put
 * in `arena`. False: nothing is to be written. Afterwards count 1 means create, more means patch the event of that
 * name.
 */
bool kube_correlate(struct kube_correlator *correlator, struct kb_arena *arena, struct core_event *event);

/* "<object's name>.<hex of the time>", or a UUID when that is no valid name. */
const char *kube_event_name(struct kb_arena *arena, struct kb_random *random, const char *object_name, int64_t wall_ns);
/* The strategic merge patch that brings count, time and message of an earlier event up to date. */
const char *kube_event_patch(struct kb_arena *arena, const struct core_event *event);

#endif
