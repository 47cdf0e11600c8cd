/*
 * How a reconcile gets at the configuration and at what rendering looks up.
 */
#include "virt/context.h"

#include "kube/request.h"

static void unref_config(void *config)
{
    virt_config_unref(config);
}

const struct virt_config *virt_request_config(struct virt_context *context, struct kube_request *request)
{
    const struct virt_config *config = virt_config_current(context->config);

    kube_request_at_end(request, unref_config, (void *)(uintptr_t)config);
    return config;
}

/* ---- look-ups; userdata is the request ---- */

static const struct core_pvc *pvc(void *userdata, const char *namespace_, const char *name, struct kube_error *reterr)
{
    (void)reterr;
    return kube_lookup(userdata, VIRT_PVC, namespace_, name);
}

static const struct core_namespace *namespace_of(void *userdata, const char *name, struct kube_error *reterr)
{
    (void)reterr;
    return kube_lookup(userdata, VIRT_NAMESPACE, "", name);
}

static size_t quotas(void *userdata, const char *namespace_, const struct core_resource_quota *const **ret)
{
    struct kube_items items = kube_lookup_all(userdata, VIRT_RESOURCE_QUOTA, namespace_);

    *ret = (const struct core_resource_quota *const *)items.items;
    return items.n;
}

static const void *live(struct kube_request *request, const struct api_type *type, const char *namespace_,
                        const char *name, struct kube_error *reterr)
{
    const void *object = NULL;

    return kube_get_live(request, type, namespace_, name, &object, reterr) < 0 ? NULL : object;
}

static const struct nad_network_attachment_definition *nad(void *userdata, const char *namespace_, const char *name,
                                                           struct kube_error *reterr)
{
    return live(userdata, &nad_network_attachment_definition_type, namespace_, name, reterr);
}

static const struct core_config_map *config_map(void *userdata, const char *namespace_, const char *name,
                                                struct kube_error *reterr)
{
    return live(userdata, &core_config_map_type, namespace_, name, reterr);
}

struct virt_launcher_lookups virt_request_lookups(struct virt_context *context, struct kube_request *request)
{
    (void)context;
    return (struct virt_launcher_lookups){
        .pvc = pvc,
        .nad = nad,
        .config_map = config_map,
        .namespace_ = namespace_of,
        .quotas = quotas,
        .userdata = request,
    };
}
