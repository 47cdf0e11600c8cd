/*
 * The configuration in force: one pointer behind a lock, replaced when a valid new one comes.
 *
 * Invariant: `current` is never NULL; it starts with the defaults. A CR whose version was seen already, valid or not,
 * is not looked at again.
 */
#include "api/meta.h"
#include "base/log.h"
#include "base/strings.h"
#include "virt/config/config.h"
#include <pthread.h>
#include <stdlib.h>

struct virt_config_store {
    pthread_mutex_t lock; /* of all members */
    const struct virt_config *current;
    char *invalid_version; /* of the last CR that was refused; "" */
};

const struct kv_kube_virt *virt_config_choose(const struct kv_kube_virt *const *all, size_t n,
                                              const char *install_namespace)
{
    const char *name = NULL;

    for (size_t i = 0; i < n; i++)
        if (*all[i]->status.phase && !api_is_being_deleted(&all[i]->metadata))
            name = all[i]->metadata.name;
    for (size_t i = 0; name && i < n; i++)
        if (kb_streq(all[i]->metadata.name, name) && kb_streq(all[i]->metadata.namespace, install_namespace))
            return all[i];
    return NULL;
}

struct virt_config_store *virt_config_store_new(void)
{
    struct virt_config_store *store = kb_malloc(sizeof(*store));
    struct kube_error error = {0};

    pthread_mutex_init(&store->lock, NULL);
    store->invalid_version = kb_strdup("");
    if (virt_config_new(NULL, &store->current, &error) < 0) {
        kb_log(KB_FATAL, "The default configuration is invalid: %s", error.message);
        abort();
    }
    return store;
}

void virt_config_store_free(struct virt_config_store *store)
{
    if (!store)
        return;
    virt_config_unref(store->current);
    pthread_mutex_destroy(&store->lock);
    free(store->invalid_version);
    free(store);
}

const struct virt_config *virt_config_current(struct virt_config_store *store)
{
    const struct virt_config *config;

    pthread_mutex_lock(&store->lock);
    config = virt_config_ref(store->current);
    pthread_mutex_unlock(&store->lock);
    return config;
}

static int replace(struct virt_config_store *store, const struct kv_kube_virt *kubevirt, struct kube_error *reterr)
{
    const char *version = kubevirt->metadata.resource_version;
    const struct virt_config *config;

    if (kb_streq(version, store->current->resource_version) || kb_streq(version, store->invalid_version))
        return 0;
    if (virt_config_new(kubevirt, &config, reterr) < 0) {
        free(store->invalid_version);
        store->invalid_version = kb_strdup(version);
        return kube_error_wrap(reterr,
                               "Invalid cluster config using KubeVirt resource version '%s', falling back to last good "
                               "resource version '%s'",
                               version, store->current->resource_version);
    }
    virt_config_unref(store->current);
    store->current = config;
    return 1;
}

int virt_config_store_update(struct virt_config_store *store, const struct kv_kube_virt *kubevirt,
                             struct kube_error *reterr)
{
    int r;

    if (!kubevirt)
        return 0;
    pthread_mutex_lock(&store->lock);
    r = replace(store, kubevirt, reterr);
    pthread_mutex_unlock(&store->lock);
    return r;
}
