/*
 * What follows the cluster while the process runs: the KubeVirt CR (rate limit, verbosity, gates, through virt_config)
 * and the CRDs and gates that decide which optional informers run. The reference exits to pick these up; here they are
 * switched in place.
 *
 * Stores call in here from the transport's thread, one change at a time.
 */
#include "api/meta.h"
#include "api/types/apiext.h"
#include "base/log.h"
#include "base/strings.h"
#include "cmd/virt-controller/process.h"

/* An informer whose kind may be missing: it runs while the CRD serves the version and the gates are on. */
struct optional {
    int informer;
    const char *crd, *version;
    bool (*enabled)(const struct virt_config *config); /* NULL: always */
};

static bool template_enabled(const struct virt_config *config)
{
    return virt_config_deploys_templates(config) && virt_gate(config, VIRT_GATE_OCI_EXPORT);
}

static const struct optional optionals[] = {
    {VIRT_DATA_VOLUME, "datavolumes.cdi.kubevirt.io", "v1beta1", NULL},
    {VIRT_DATA_SOURCE, "datasources.cdi.kubevirt.io", "v1beta1", NULL},
    {VIRT_STORAGE_PROFILE, "storageprofiles.cdi.kubevirt.io", "v1beta1", NULL},
    {VIRT_CDI, "cdis.cdi.kubevirt.io", "v1beta1", NULL},
    {VIRT_CDI_CONFIG, "cdiconfigs.cdi.kubevirt.io", "v1beta1", NULL},
    {VIRT_VOLUME_SNAPSHOT, "volumesnapshots.snapshot.storage.k8s.io", "v1", NULL},
    {VIRT_VOLUME_SNAPSHOT_CLASS, "volumesnapshotclasses.snapshot.storage.k8s.io", "v1", NULL},
    {VIRT_TEMPLATE, "virtualmachinetemplates.template.kubevirt.io", "v1beta1", template_enabled},
};

static bool serves(const struct apiext_custom_resource_definition *crd, const char *version)
{
    api_list_foreach (v, &crd->spec.versions)
        if (v->served && kb_streq(v->name, version))
            return true;
    return false;
}

static bool is_there(struct process *process, const struct optional *optional)
{
    struct kube_store *crds = kube_informer_store(kube_runtime_informer(process->context.runtime, VIRT_CRD));
    const struct api_object *crd = kube_store_get(crds, "", optional->crd);
    bool there = crd && serves(api_object_data(crd), optional->version);
    api_object_unref(crd);
    return there;
}

static void switch_optional(struct process *process, const struct optional *optional, const struct virt_config *config)
{
    bool wanted = (!optional->enabled || optional->enabled(config)) && is_there(process, optional);
    struct kube_informer_state state;
    kube_informer_get_state(kube_runtime_informer(process->context.runtime, optional->informer), &state);
    if (wanted == state.started)
        return;
    kb_log(KB_INFO, "%s %s: its informer %s", optional->crd, wanted ? "is there" : "is gone or switched off",
           wanted ? "starts" : "stops");
    if (wanted)
        kube_runtime_start_informer(process->context.runtime, optional->informer);
    else
        kube_runtime_stop_informer(process->context.runtime, optional->informer);
}

/* `crd` NULL: all of them. */
static void switch_optionals(struct process *process, const char *crd)
{
    const struct virt_config *config = virt_config_current(process->context.config);
    for (size_t i = 0; i < KB_ARRAY_LEN(optionals); i++)
        if (!crd || kb_streq(optionals[i].crd, crd))
            switch_optional(process, &optionals[i], config);
    virt_config_unref(config);
}

static void crd_changed(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct process *process = userdata;
    const struct apiext_custom_resource_definition *crd = api_object_data(after ? after : before);
    switch_optionals(process, crd->metadata.name);
}

static void set_rate_limit(struct process *process, const struct virt_config *config)
{
    const struct kv_reloadable_component_configuration *controller = config->spec->controller_configuration;
    if (!controller || !controller->rest_client || !controller->rest_client->rate_limiter ||
        !controller->rest_client->rate_limiter->token_bucket_rate_limiter)
        return;
    const struct kv_token_bucket_rate_limiter *bucket =
        controller->rest_client->rate_limiter->token_bucket_rate_limiter;
    kube_limiter_set(process->limiter, bucket->qps, (int)bucket->burst);
}

static void apply(struct process *process)
{
    const struct virt_config *config = virt_config_current(process->context.config);
    int verbosity =
        config->kubevirt ? virt_config_verbosity(config, process->host_name) : (int)process->options->verbosity;
    int before = kb_log_verbosity();
    if (verbosity != before) {
        kb_log(KB_INFO, "set log verbosity from %d to %d", before, verbosity);
        kb_log_set_verbosity(verbosity);
    }
    set_rate_limit(process, config);
    virt_config_unref(config);
}

/* The CR that counts, referenced; NULL: none does. */
static const struct api_object *effective_kubevirt(struct process *process)
{
    struct kube_objects all =
        kube_store_list(kube_informer_store(kube_runtime_informer(process->context.runtime, VIRT_KUBEVIRT)), NULL);
    kb_cleanup_free const struct kv_kube_virt **data = kb_malloc((all.n + 1) * sizeof(*data));
    for (size_t i = 0; i < all.n; i++)
        data[i] = api_object_data(all.items[i]);
    const struct kv_kube_virt *chosen = virt_config_choose(data, all.n, process->install_namespace);
    const struct api_object *object = chosen ? api_object_ref(api_object_of(chosen)) : NULL;
    kube_objects_done(&all);
    return object;
}

static void kubevirt_changed(void *userdata, const struct api_object *before, const struct api_object *after)
{
    (void)before;
    (void)after;
    struct process *process = userdata;
    const struct api_object *object = effective_kubevirt(process);
    if (!object)
        return; /* the last valid configuration stays */
    const struct kv_kube_virt *kubevirt = api_object_data(object);
    struct kube_error error;
    int changed = virt_config_store_update(process->context.config, kubevirt, &error);
    if (changed < 0)
        kb_log(KB_ERROR, "Invalid cluster config using KubeVirt resource version '%s', the last good one stays: %s",
               kubevirt->metadata.resource_version, error.message);
    if (changed > 0) {
        kb_log(KB_INFO, "Updating cluster config from KubeVirt to resource version '%s'",
               kubevirt->metadata.resource_version);
        apply(process);
        switch_optionals(process, NULL);
    }
    api_object_unref(object);
}

void reload_attach(struct process *process)
{
    struct kube_runtime *runtime = process->context.runtime;
    kube_store_add_handler(kube_informer_store(kube_runtime_informer(runtime, VIRT_CRD)), crd_changed, process);
    kube_store_add_handler(kube_informer_store(kube_runtime_informer(runtime, VIRT_KUBEVIRT)), kubevirt_changed,
                           process);
}

int reload_start_optional(struct process *process, struct kube_error *reterr)
{
    switch_optionals(process, NULL);
    int openshift =
        kube_discover_resource(process->client, "security.openshift.io", "v1", "securitycontextconstraints", reterr);
    if (openshift < 0)
        return kube_error_wrap(reterr, "finding out whether this is OpenShift");
    if (openshift)
        kube_runtime_start_informer(process->context.runtime, VIRT_ROUTE);
    return 0;
}
