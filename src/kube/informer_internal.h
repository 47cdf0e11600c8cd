/*
 * An informer from inside. informer.c has its life and interface, reflector.c the state machine of lists and watches,
 * reflector_stream.c what stands in their answers.
 *
 *              refused, or ended without its mark
 *     STREAM ------------------------------------> PAGES        both fill the store: a list
 *        | bookmark "initial-events-end"             | last page
 *        v                                           |
 *     WATCH <----------------------------------------+
 *        | ended: again from the last version
 *        | 410: a new list
 *
 * Any failure waits (back-off) and goes on where it was: a list from its beginning, a watch from its last version.
 *
 * Lock: recursive, taken by every callback of the transport and held while handlers run, so that `stop` returns when
 * none runs any more, also when a handler stops its own informer. An exchange that is not `current` is one that was
 * left: its callbacks do nothing. Exchanges and posts have a reference on the informer.
 */
#ifndef KUBE_INFORMER_INTERNAL_H
#define KUBE_INFORMER_INTERNAL_H

#include "base/strbuf.h"
#include "kube/informer.h"
#include <pthread.h>
#include <stdatomic.h>

enum kube_reflector_phase { KUBE_REFLECT_STREAM, KUBE_REFLECT_PAGES, KUBE_REFLECT_WATCH };

struct kube_reflection { /* one exchange */
    struct kube_informer *informer;
    struct kube_exchange *exchange;
    enum kube_verb verb;
    int64_t started_at;
    int status;
    int64_t retry_after_ms;
    uint64_t events;       /* and bookmarks */
    struct kb_strbuf body; /* of a page, or of a refusal */
    struct kb_strbuf line; /* the beginning of an event */
    bool failed;           /* `failure` ends the exchange, whatever the transport says */
    struct kube_error failure;
};

struct kube_informer {
    const struct kube_informer_spec *spec;
    struct kube_informer_options options;
    struct kube_store *store;
    struct kube_transport *transport;
    struct kb_clock *clock;
    pthread_mutex_t lock;
    atomic_int refs;

    bool started;
    enum kube_reflector_phase phase;
    struct kube_reflection *current; /* NULL: waiting */
    uint64_t post;                   /* the wait's end; 0: none */
    struct kb_strbuf version;        /* where the watch goes on; empty: a list is needed */
    struct kb_strbuf next_page;      /* continue token */
    bool no_streams;                 /* the server does not know streamed lists */
    bool whole_list;                 /* pages expired while they were read: next time in one */
    bool told_synced;
    int failures; /* in a row */

    atomic_bool synced;
    _Atomic int64_t last_event_mono;
    atomic_uint_fast64_t events, relists, errors;
    char last_error[256];
};

/* All with the lock held. */
void kube_reflector_begin(struct kube_informer *informer);
void kube_reflector_leave(struct kube_informer *informer); /* cancels what runs and waits */
void kube_informer_tell_error(struct kube_informer *informer, const struct kube_error *error);
/* The list is complete. */
void kube_informer_listed(struct kube_informer *informer, const char *version);

/* Takes a piece of a stream. Negative: the exchange is over (`failed` is set, or it was left). */
int kube_reflection_feed(struct kube_reflection *reflection, const char *bytes, size_t n);
/* Takes a page. *ret_complete: it was the last. */
int kube_reflection_page(struct kube_reflection *reflection, bool *ret_complete, struct kube_error *reterr);

void kube_informer_unref(struct kube_informer *informer);

#endif
