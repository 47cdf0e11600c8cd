/*
 * What follows the cluster while the process runs: the KubeVirt CR (rate limit, verbosity, gates, through virt_config)
 * and the CRDs and gates that decide which optional informers run. The reference exits to pick these up; here they are
 * switched in place.
 *
 * Stores call in here from the transport's thread, one change at a time. What they tell of kinds is only noted there;
 * the main thread starts and stops informers, so that there is one who does.
 */
#include "api/meta.h"
#include "api/types/apiext.h"
#include "base/log.h"
#include "base/strings.h"
#include "cmd/virt-controller/config_changes.h"
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
    bool there = is_there(process, optional), wanted = there && (!optional->enabled || optional->enabled(config));
    struct kube_informer_state state;
    kube_informer_get_state(kube_runtime_informer(process->context.runtime, optional->informer), &state);
    if (wanted == state.started)
        return;
    const char *why = wanted ? "is served" : there ? "is switched off by the configuration" : "is not served any more";
    kb_log(KB_INFO, "%s %s: its informer %s", optional->crd, why, wanted ? "starts" : "stops");
    if (wanted)
        kube_runtime_start_informer(process->context.runtime, optional->informer);
    else
        kube_runtime_stop_informer(process->context.runtime, optional->informer);
}

void reload_switch_optional(struct process *process)
{
    const struct virt_config *config = virt_config_current(process->context.config);
    for (size_t i = 0; i < KB_ARRAY_LEN(optionals); i++)
        switch_optional(process, &optionals[i], config);
    virt_config_unref(config);
}

static void want_switch(struct process *process)
{
    process->switch_wanted = true;
    process_wake(process);
}

static void crd_changed(void *userdata, const struct api_object *before, const struct api_object *after)
{
    const struct apiext_custom_resource_definition *crd = api_object_data(after ? after : before);
    for (size_t i = 0; i < KB_ARRAY_LEN(optionals); i++)
        if (kb_streq(optionals[i].crd, crd->metadata.name))
            want_switch(userdata);
}

/* ---- the KubeVirt CR ---- */

static const struct kv_token_bucket_rate_limiter *token_bucket(const struct virt_config *config)
{
    const struct kv_reloadable_component_configuration *controller = config->spec->controller_configuration;
    if (!controller || !controller->rest_client || !controller->rest_client->rate_limiter)
        return NULL;
    return controller->rest_client->rate_limiter->token_bucket_rate_limiter;
}

/* Only a new limit: setting the same one would fill the bucket. */
static void set_rate_limit(struct process *process, const struct virt_config *config)
{
    const struct kv_token_bucket_rate_limiter *bucket = token_bucket(config);
    double qps = bucket ? (double)bucket->qps : PROCESS_CLIENT_QPS;
    int burst = bucket ? (int)bucket->burst : PROCESS_CLIENT_BURST;
    if (qps == process->qps && burst == process->burst)
        return;
    kb_log(KB_INFO, "the client's limit changes from %g QPS and burst %d to %g QPS and burst %d", process->qps,
           process->burst, qps, burst);
    kube_limiter_set(process->limiter, qps, burst);
    process->qps = qps;
    process->burst = burst;
}

static void set_verbosity(struct process *process, const struct virt_config *config)
{
    int verbosity =
        config->kubevirt ? virt_config_verbosity(config, process->host_name) : (int)process->options->verbosity;
    int before = kb_log_verbosity();
    if (verbosity == before)
        return;
    kb_log_write(KB_INFO, verbosity < before ? verbosity : before, "reload.c", __LINE__, NULL,
                 "the log's verbosity changes from %d to %d", before, verbosity);
    kb_log_set_verbosity(verbosity);
}

static void log_change(void *userdata, const char *field, const char *before, const char *after)
{
    (void)userdata;
    kb_log(KB_INFO, "configuration: %s changes from %s to %s", field, *before ? before : "absent",
           *after ? after : "absent");
}

static void apply(struct process *process, const struct virt_config *before)
{
    const struct virt_config *after = virt_config_current(process->context.config);
    config_changes(before, after, log_change, NULL);
    set_verbosity(process, after);
    set_rate_limit(process, after);
    virt_config_unref(after);
    want_switch(process);
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
    const struct virt_config *old = virt_config_current(process->context.config);
    const struct kb_log_object about = {
        .kind = "KubeVirt", .namespace_ = kubevirt->metadata.namespace, .name = kubevirt->metadata.name};
    struct kube_error error;
    int changed = virt_config_store_update(process->context.config, kubevirt, &error);
    if (changed < 0)
        kb_log_object(KB_ERROR, &about, "%s", error.message);
    if (changed > 0) {
        kb_log_object_v(3, &about, "Updating cluster config from KubeVirt to resource version '%s'",
                        kubevirt->metadata.resource_version);
        apply(process, old);
    }
    virt_config_unref(old);
    api_object_unref(object);
}

void reload_attach(struct process *process)
{
    struct kube_runtime *runtime = process->context.runtime;
    process->qps = PROCESS_CLIENT_QPS;
    process->burst = PROCESS_CLIENT_BURST;
    kube_store_add_handler(kube_informer_store(kube_runtime_informer(runtime, VIRT_CRD)), crd_changed, process);
    kube_store_add_handler(kube_informer_store(kube_runtime_informer(runtime, VIRT_KUBEVIRT)), kubevirt_changed,
                           process);
}

int reload_find_openshift(struct process *process, struct kube_error *reterr)
{
    int openshift =
        kube_discover_resource(process->client, "security.openshift.io", "v1", "securitycontextconstraints", reterr);
    if (openshift < 0)
        return kube_error_wrap(reterr, "finding out whether this is OpenShift");
    kb_log(KB_INFO, "we are on %s", openshift ? "openshift" : "kubernetes");
    process->openshift = openshift;
    return 0;
}
