/*
 * The life of an informer and its interface; informer_internal.h says how its parts belong together.
 */
#include "kube/informer_internal.h"
#include <stdio.h>
#include <stdlib.h>

struct kube_informer *kube_informer_new(const struct kube_informer_spec *spec,
                                        const struct kube_informer_options *options)
{
    struct kube_informer *informer = kb_malloc(sizeof(*informer));
    pthread_mutexattr_t recursive;
    informer->spec = spec;
    informer->options = *options;
    if (options->client) {
        informer->transport = kube_client_transport(options->client);
        informer->clock = kube_client_clock(options->client);
    }
    informer->store = kube_store_new(spec->type, spec->indexes, spec->n_indexes);
    informer->refs = 1;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&informer->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return informer;
}

void kube_informer_unref(struct kube_informer *informer)
{
    if (atomic_fetch_sub(&informer->refs, 1) > 1)
        return;
    kb_strbuf_done(&informer->version);
    kb_strbuf_done(&informer->next_page);
    pthread_mutex_destroy(&informer->lock);
    free(informer);
}

void kube_informer_free(struct kube_informer *informer)
{
    if (!informer)
        return;
    kube_informer_stop(informer, false);
    kube_store_free(KB_TAKE_PTR(informer->store));
    kube_informer_unref(informer);
}

void kube_informer_start(struct kube_informer *informer)
{
    pthread_mutex_lock(&informer->lock);
    if (!informer->started) {
        informer->started = true;
        informer->told_synced = false;
        informer->failures = 0;
        kb_strbuf_clear(&informer->version);
        kube_reflector_begin(informer);
    }
    pthread_mutex_unlock(&informer->lock);
}

void kube_informer_stop(struct kube_informer *informer, bool clear_store)
{
    pthread_mutex_lock(&informer->lock);
    informer->started = false;
    informer->synced = false;
    kube_reflector_leave(informer);
    pthread_mutex_unlock(&informer->lock);
    if (clear_store)
        kube_store_clear(informer->store);
}

bool kube_informer_has_synced(const struct kube_informer *informer)
{
    return informer->synced;
}

struct kube_store *kube_informer_store(struct kube_informer *informer)
{
    return informer->store;
}

const struct kube_informer_spec *kube_informer_get_spec(const struct kube_informer *informer)
{
    return informer->spec;
}

void kube_informer_get_state(const struct kube_informer *informer, struct kube_informer_state *ret)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&informer->lock;
    pthread_mutex_lock(lock);
    *ret = (struct kube_informer_state){
        .started = informer->started,
        .synced = informer->synced,
        .watching = informer->current && informer->phase == KUBE_REFLECT_WATCH,
        .last_event_mono = informer->last_event_mono,
        .events = informer->events,
        .relists = informer->relists,
        .errors = informer->errors,
    };
    snprintf(ret->last_error, sizeof(ret->last_error), "%s", informer->last_error);
    pthread_mutex_unlock(lock);
}

void kube_informer_tell_error(struct kube_informer *informer, const struct kube_error *error)
{
    informer->errors++;
    snprintf(informer->last_error, sizeof(informer->last_error), "%.250s", error->message);
    if (informer->options.error)
        informer->options.error(informer->options.userdata, informer->spec, error);
}

void kube_informer_listed(struct kube_informer *informer, const char *version)
{
    informer->phase = KUBE_REFLECT_WATCH;
    informer->whole_list = false;
    kube_store_relist_end(informer->store, version);
    if (!informer->started) /* a handler has stopped it */
        return;
    kb_strbuf_clear(&informer->version);
    kb_strbuf_puts(&informer->version, version);
    informer->synced = true;
    if (informer->told_synced)
        return;
    informer->told_synced = true;
    if (informer->options.synced)
        informer->options.synced(informer->options.userdata, informer->spec);
}
