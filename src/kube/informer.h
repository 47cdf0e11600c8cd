/*
 * A shared informer: one reflector (list + watch) that keeps one store. Lives on the transport's thread: no thread of
 * its own. WatchList streaming first (sendInitialEvents), paged lists where the server refuses that; bookmarks; 410 ->
 * relist; back-off 0.8 s .. 30 s with jitter as client-go. Objects are decoded from the stream straight into shared
 * objects.
 *
 * An informer whose kind may be missing (`optional`: CRDs of other projects) is started and stopped by its owner
 * as the CRD comes and goes; a 404 makes it wait, harms nothing and counts as "not synced".
 */
#ifndef KUBE_INFORMER_H
#define KUBE_INFORMER_H

#include "api/codec.h"
#include "kube/client.h"
#include "kube/store.h"

struct kube_informer_spec {
    const char *name; /* "vmi", "kubevirt-pod": for logs, metrics, the diagnostics page */
    const struct api_type *type;
    const char *namespace_;     /* NULL: all */
    const char *label_selector; /* NULL: none; plain text, encoded by the informer */
    const char *field_selector; /* NULL: none */
    const struct kube_index *indexes;
    size_t n_indexes;
    const struct api_projection *projection; /* NULL: all members */
    bool busy;                               /* its objects change often */
    bool note_form;                          /* objects tell whether a whole write would change their spec */
};

struct kube_informer;
struct kube_informer_options {
    struct kube_client *client; /* NULL: it can't be started; its store is filled by the program (no cluster) */
    struct kb_random *random;
    /* The watch or list failed (also told for 404, 410); may be NULL. Transport's thread. */
    void (*error)(void *userdata, const struct kube_informer_spec *spec, const struct kube_error *error);
    /* The first complete list has arrived (once per start). */
    void (*synced)(void *userdata, const struct kube_informer_spec *spec);
    void *userdata;
};
struct kube_informer *kube_informer_new(const struct kube_informer_spec *spec,
                                        const struct kube_informer_options *options);
void kube_informer_free(struct kube_informer *informer); /* stop first */
void kube_informer_start(struct kube_informer *informer);
void kube_informer_stop(struct kube_informer *informer, bool clear_store); /* returns when no more callbacks come */
bool kube_informer_has_synced(const struct kube_informer *informer);
struct kube_store *kube_informer_store(struct kube_informer *informer);
const struct kube_informer_spec *kube_informer_get_spec(const struct kube_informer *informer);

struct kube_informer_state { /* for metrics and the diagnostics page */
    bool started, synced, watching;
    int64_t last_event_mono; /* 0: none yet */
    uint64_t events, relists, errors;
    char last_error[256];
};
void kube_informer_get_state(const struct kube_informer *informer, struct kube_informer_state *ret);

#endif
