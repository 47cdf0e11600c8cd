/*
 * Events on objects (core/v1 Event), with client-go's correlation: equal events are one whose count grows (PATCH), more
 * than ten similar ones (same source, object, type, reason) in ten minutes become "(combined from similar events): ",
 * and a spam filter per source and object (burst 25, one per five minutes). Written in the background through the
 * transport, eight at a time (one while the server is away), at most 1,000 waiting: beyond, new ones are dropped and
 * counted. An event that the server refuses is dropped, after five tries where it stumbled (5xx, 429, conflict); while
 * it can't be reached, after 16 tries in about a minute: 0.1 s apart at first, at most 10 s. Threads: any.
 */
#ifndef KUBE_RECORDER_H
#define KUBE_RECORDER_H

#include "api/object.h"
#include "kube/client.h"

struct kube_recorder;
/* `component` is events' source.component and reportingComponent. Several recorders may share a client. */
struct kube_recorder *kube_recorder_new(struct kube_client *client, const char *component, struct kb_clock *clock,
                                        struct kb_random *random);
/* Waits until what is waiting is written, at most 2 s. Before the client is freed; not on the transport's thread. */
void kube_recorder_free(struct kube_recorder *recorder);

#define KUBE_EVENT_NORMAL  "Normal"
#define KUBE_EVENT_WARNING "Warning"

/* `object` is a generated top-level struct of `type`. */
void kube_event(struct kube_recorder *recorder, const struct api_type *type, const void *object, const char *event_type,
                const char *reason, const char *format, ...) __attribute__((format(printf, 6, 7)));

struct kube_event_reference { /* for objects that are not at hand */
    const char *api_version, *kind, *namespace_, *name, *uid, *resource_version;
};
void kube_event_on(struct kube_recorder *recorder, const struct kube_event_reference *reference, const char *event_type,
                   const char *reason, const char *message);

struct kube_recorder_state {
    uint64_t written;    /* creates and patches that succeeded */
    uint64_t suppressed; /* by the spam filter */
    uint64_t dropped;    /* too many were waiting, or the server could not be reached */
    uint64_t refused;    /* by the server */
    char last_error[256];
};
void kube_recorder_get_state(struct kube_recorder *recorder, struct kube_recorder_state *ret);

#endif
