/*
 * DataVolumes that clone a claim or a snapshot: what they clone, and who may.
 *
 * virt-controller may create DataVolumes everywhere, the VM's owner may not clone everything: the VM's service account
 * (named by the template, by a volume, or "default") must be allowed to. Inside its own namespace it is; elsewhere the
 * API server is asked, by CDI's rules:
 *
 *     claim      create datavolumes/source, or else create pods
 *     snapshot   create datavolumes/source, or else create pods and create pvcs
 *
 * Source: the reference's watch/vm/vm.go (handleCloneDataVolume), pkg/storage/types/dv.go, and CDI's authorize.go.
 */
#include "api/types/authorization.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

/* A DataVolume that needs no source: its claim is filled already, or will be found. */
#define PREPOPULATED        "cdi.kubevirt.io/storage.prePopulated"
#define CHECK_STATIC_VOLUME "cdi.kubevirt.io/storage.checkStaticVolume"

/* ---- what is cloned ---- */

static int find_data_source(struct vm_pass *pass, const char *namespace, const char *name,
                            const struct cdi_data_source **ret, struct kube_error *reterr)
{
    const void *found = kube_lookup(pass->req, VIRT_DATA_SOURCE, namespace, name);
    if (!found && kube_get_live(pass->req, &cdi_data_source_type, namespace, name, &found, reterr) < 0)
        return -1;
    if (!found)
        return kube_error_set_api(reterr, 404, "NotFound", "datasources.cdi.kubevirt.io \"%s\" not found", name);
    *ret = found;
    return 0;
}

/* A DataSource that stands for another one tells in its status what that is. */
static void take_source(struct vm_pass *pass, const struct cdi_data_source *from, struct cdi_data_volume_spec *spec)
{
    const struct cdi_data_source_source *source =
        from->spec.source.data_source ? &from->status.source : &from->spec.source;
    spec->source = NULL;
    if (!source->pvc && !source->snapshot)
        return;
    spec->source = kb_arena_one(pass->arena, struct cdi_data_volume_source);
    if (source->pvc)
        spec->source->pvc = api_clone(pass->arena, &cdi_data_volume_source_pvc_type, source->pvc);
    if (source->snapshot)
        spec->source->snapshot = api_clone(pass->arena, &cdi_data_volume_source_snapshot_type, source->snapshot);
    spec->source_ref = NULL;
}

int vm_resolve_clone_source(struct vm_pass *pass, struct cdi_data_volume *dv, struct kube_error *reterr)
{
    const char *namespace = pass->vm->metadata.namespace;
    const struct cdi_data_volume_source_ref *ref = dv->spec.source_ref;
    if (ref && kb_streq(ref->kind, "DataSource")) {
        if (ref->namespace)
        namespace = ref->namespace;
        const struct cdi_data_source *found = NULL;
        if (find_data_source(pass, namespace, ref->name, &found, reterr) < 0)
            return -1;
        take_source(pass, found, &dv->spec);
    }
    struct cdi_data_volume_source *source = dv->spec.source;
    if (source && source->pvc && kb_empty(source->pvc->namespace))
        source->pvc->namespace = namespace;
    else if (source && !source->pvc && source->snapshot && kb_empty(source->snapshot->namespace))
        source->snapshot->namespace = namespace;
    return 0;
}

/* ---- who may ---- */

struct source {
    const char *namespace, *name;
    bool is_snapshot;
};

static const char *service_account(const struct kv_vmi_spec *spec)
{
    if (!kb_empty(spec->service_account_name))
        return spec->service_account_name;
    api_list_foreach (volume, &spec->volumes)
        if (volume->service_account)
            return kb_empty(volume->service_account->service_account_name)
                       ? "default"
                       : volume->service_account->service_account_name;
    return "default";
}

struct question {
    const char *group, *resource, *subresource;
};

/* 1: the service account may create it in the source's namespace; 0: it may not. */
static int ask(struct vm_pass *pass, const char *account, const struct source *source, const struct question *question,
               struct kube_error *reterr)
{
    const char *namespace = pass->vm->metadata.namespace;
    struct authorization_resource_attributes attributes = {
        .namespace = source->namespace,
        .verb = "create",
        .group = question->group,
        .resource = question->resource,
        .subresource = question->subresource,
        .name = source->name,
    };
    const char *groups[] = {"system:serviceaccounts",
                            kb_arena_printf(pass->arena, "system:serviceaccounts:%s", namespace),
                            "system:authenticated"};
    struct authorization_subject_access_review review = {
        .api_version = "authorization.k8s.io/v1",
        .kind = "SubjectAccessReview",
        .spec = {.resource_attributes = &attributes,
                 .user = kb_arena_printf(pass->arena, "system:serviceaccount:%s:%s", namespace, account),
                 .groups = {KB_ARRAY_LEN(groups), groups}},
    };
    const void *answer;
    const void *clone = api_clone(pass->arena, &authorization_subject_access_review_type, &review);
    if (kube_create(pass->req, &authorization_subject_access_review_type, clone, &answer, reterr) < 0)
        return -1;
    return ((const struct authorization_subject_access_review *)answer)->status.allowed;
}

static int may_clone(struct vm_pass *pass, const char *account, const struct source *source, struct kube_error *reterr)
{
    static const struct question clone = {"cdi.kubevirt.io", "datavolumes", "source"};
    static const struct question pods = {"", "pods", ""}, claims = {"", "pvcs", ""};
    if (kb_streq(source->namespace, pass->vm->metadata.namespace))
        return 1;
    int allowed = ask(pass, account, source, &clone, reterr);
    if (allowed == 0)
        allowed = ask(pass, account, source, &pods, reterr);
    else
        return allowed;
    return allowed > 0 && source->is_snapshot ? ask(pass, account, source, &claims, reterr) : allowed;
}

static int authorize(struct vm_pass *pass, const struct cdi_data_volume *dv, const struct source *source,
                     struct kube_error *reterr)
{
    const char *account = service_account(&pass->vm->spec.template->spec);
    if (!kube_lookup(pass->req, VIRT_NAMESPACE, "", source->namespace))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "namespace %s does not exist", source->namespace);
    int allowed = may_clone(pass, account, source, reterr);
    if (allowed < 0)
        return -1;
    if (allowed || api_map_has(&dv->metadata.annotations, PREPOPULATED) ||
        api_map_has(&dv->metadata.annotations, CHECK_STATIC_VOLUME))
        return 0;
    return kube_error_set(reterr, KUBE_ERROR_INVALID,
                          "User system:serviceaccount:%s:%s has insufficient permissions in clone source namespace %s",
                          pass->vm->metadata.namespace, account, source->namespace);
}

static struct source source_of(const struct cdi_data_volume *dv)
{
    const struct cdi_data_volume_source *source = dv->spec.source;
    if (source && source->pvc)
        return (struct source){source->pvc->namespace, source->pvc->name, false};
    if (source && source->snapshot)
        return (struct source){source->snapshot->namespace, source->snapshot->name, true};
    return (struct source){0};
}

int vm_check_clone(struct vm_pass *pass, const struct cdi_data_volume *dv, struct kube_error *reterr)
{
    if (dv->spec.source_ref)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "DataVolume sourceRef not supported");
    struct source source = source_of(dv);
    if (!source.name)
        return 0;
    if (!source.is_snapshot && !kube_lookup(pass->req, VIRT_PVC, source.namespace, source.name))
        vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_SOURCE_UNAVAILABLE,
                 "Source PVC %s not available: Target PVC %s will remain unpopulated until source is created",
                 source.name, dv->metadata.name);
    if (authorize(pass, dv, &source, reterr) == 0)
        return 0;
    vm_event(pass, KUBE_EVENT_WARNING, VM_REASON_DV_UNAUTHORIZED, "Not authorized to create DataVolume %s: %s",
             dv->metadata.name, reterr->message);
    return kube_error_wrap(reterr, "not authorized to create DataVolume");
}
