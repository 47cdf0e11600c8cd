/*
 * Start revisions: a ControllerRevision `revision-start-vm-<UID>-<generation>` keeps the spec that a VMI was started
 * from, so that later changes can be told from it; and the generations that VM and VMI report. Source: the reference's
 * watch/vm/vm.go.
 */
#include "api/meta.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include "virt/names.h"
#include "virt/vm/vm_internal.h"
#include "virt/vm/words.h"

#define REVISION_PREFIX "revision-start-vm-"

static const char *revision_prefix(struct vm_pass *pass)
{
    return kb_arena_printf(pass->arena, REVISION_PREFIX "%s", pass->vm->metadata.uid);
}

/* {"spec": ...}, with the names of the instance type and preference revisions that are in use. */
static const char *revision_data(struct vm_pass *pass)
{
    struct kv_vm_spec *spec = api_clone(pass->arena, &kv_vm_spec_type, &pass->stored->spec);
    const struct kv_vm_status *status = &pass->vm->status;
    if (spec->instancetype && status->instancetype_ref && status->instancetype_ref->controller_revision_ref)
        spec->instancetype->revision_name = status->instancetype_ref->controller_revision_ref->name;
    if (spec->preference && status->preference_ref && status->preference_ref->controller_revision_ref)
        spec->preference->revision_name = status->preference_ref->controller_revision_ref->name;
    const struct api_string_map *more = pass->annotations_of_new_instancetype;
    for (size_t i = 0; more && i < more->n; i++) /* seen so in the reference: not in starts of later passes */
        api_map_set(pass->arena, &spec->template->metadata.annotations, more->items[i].key, more->items[i].value);
    return kb_arena_printf(pass->arena, "{\"spec\":%s}", api_encode_text(pass->arena, &kv_vm_spec_type, spec, 0));
}

static struct kube_items revisions(struct vm_pass *pass)
{
    return kube_lookup_index(pass->req, VIRT_CONTROLLER_REVISION, VIRT_INDEX_VM, pass->vm->metadata.uid);
}

/* *ret_present: the one of this generation is there already. */
static int delete_older(struct vm_pass *pass, bool *ret_present, struct kube_error *reterr)
{
    struct kube_items items = revisions(pass);
    *ret_present = false;
    for (size_t i = 0; i < items.n; i++) {
        const struct apps_controller_revision *revision = items.items[i];
        if (!kb_starts_with(revision->metadata.name, revision_prefix(pass)))
            continue;
        if (revision->revision == pass->stored->metadata.generation)
            *ret_present = true;
        else if (kube_delete(pass->req, &apps_controller_revision_type, revision, reterr) < 0)
            return -1;
    }
    return 0;
}

int vm_write_revision(struct vm_pass *pass, const char **ret_name, struct kube_error *reterr)
{
    int64_t generation = pass->stored->metadata.generation;
    const char *name = kb_arena_printf(pass->arena, "%s-%lld", revision_prefix(pass), (long long)generation);
    bool present;
    if (delete_older(pass, &present, reterr) < 0)
        return -1;
    if (!present) {
        struct apps_controller_revision revision = {
            .api_version = "apps/v1",
            .kind = "ControllerRevision",
            .metadata = {.name = name, .namespace = pass->vm->metadata.namespace},
            .data = revision_data(pass),
            .revision = generation,
        };
        api_add_controller(pass->arena, &revision.metadata, &kv_vm_type, pass->vm);
        if (kube_create(pass->req, &apps_controller_revision_type, &revision, NULL, reterr) < 0 &&
            !kube_error_is_already_exists(reterr))
            return -1;
    }
    *ret_name = name;
    return 0;
}

/* A pass asks for the same one several times: it is decoded once. */
static int revision_spec(struct vm_pass *pass, const struct apps_controller_revision *revision,
                         const struct kv_vm_spec **ret, struct kube_error *reterr)
{
    yyjson_doc *doc;
    if (pass->decoded.revision == revision) {
        *ret = pass->decoded.spec;
        return 0;
    }
    if (api_parse(revision->data, strlen(revision->data), &doc, reterr) < 0)
        return kube_error_wrap(reterr, "ControllerRevision %s", revision->metadata.name);
    struct kv_vm_spec *spec = NULL;
    yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
    int status = value ? api_decode_value(pass->arena, &kv_vm_spec_type, value, &spec, reterr)
                       : kube_error_set(reterr, KUBE_ERROR_INVALID, "data has no spec");
    yyjson_doc_free(doc);
    if (status < 0)
        return kube_error_wrap(reterr, "ControllerRevision %s", revision->metadata.name);
    pass->decoded.revision = revision;
    pass->decoded.spec = spec;
    *ret = spec;
    return 0;
}

int vm_last_start_spec(struct vm_pass *pass, const struct kv_vm_spec **ret, struct kube_error *reterr)
{
    struct kube_items items = revisions(pass);
    const struct apps_controller_revision *newest = NULL;
    for (size_t i = 0; i < items.n; i++) {
        const struct apps_controller_revision *revision = items.items[i];
        if (kb_starts_with(revision->metadata.name, revision_prefix(pass)) &&
            (!newest || revision->revision > newest->revision))
            newest = revision;
    }
    *ret = NULL;
    return newest ? revision_spec(pass, newest, ret, reterr) : 0;
}

/* From the cache, or else from the API server: a revision is named by the VMI before the cache may have it. */
static int find_revision(struct vm_pass *pass, const char *name, const struct apps_controller_revision **ret,
                         struct kube_error *reterr)
{
    const char *namespace = pass->vm->metadata.namespace;
    *ret = kube_lookup(pass->req, VIRT_CONTROLLER_REVISION, namespace, name);
    if (*ret || !*name)
        return 0;
    return kube_get_live(pass->req, &apps_controller_revision_type, namespace, name, (const void **)ret, reterr);
}

static int annotate_generation(struct vm_pass *pass, int64_t generation, struct kube_error *reterr)
{
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    api_map_set(pass->arena, &after->metadata.annotations, VIRT_ANNOTATION_VM_GENERATION,
                kb_arena_printf(pass->arena, "%lld", (long long)generation));
    struct kube_json_patch patch = kube_json_patch_new(pass->req);
    kube_json_patch_member(&patch, &kv_vmi_type, pass->vmi, after, "metadata.annotations", true);
    return vm_json_patch_vmi(pass, &patch, reterr);
}

int vm_bump_vmi_generation(struct vm_pass *pass, struct kube_error *reterr)
{
    if (!pass->vmi)
        return 0;
    const char *known = api_map_get(&pass->vmi->metadata.annotations, VIRT_ANNOTATION_VM_GENERATION);
    int64_t generation = pass->stored->metadata.generation;
    if (known && kb_streq(known, kb_arena_printf(pass->arena, "%lld", (long long)generation)))
        return 0;
    const char *name = pass->vmi->status.virtual_machine_revision_name;
    const struct apps_controller_revision *revision;
    if (kb_empty(name)) { /* adopted: nobody knows what it was started from */
        pass->untold = true;
        return 0;
    }
    if (find_revision(pass, name, &revision, reterr) < 0)
        return -1;
    if (!revision)
        return 0;
    const struct kv_vm_spec *started;
    if (revision_spec(pass, revision, &started, reterr) < 0)
        return -1;
    bool same = started->template && pass->stored->spec.template &&
                api_equal(&kv_vmi_template_spec_type, started->template, pass->stored->spec.template);
    return same ? annotate_generation(pass, generation, reterr) : 0;
}

/* The number behind the last '-' of a revision's name. */
static bool generation_of_name(const char *name, long long *ret)
{
    const char *dash = strrchr(name, '-');
    return dash && kb_parse_int(dash + 1, 0, INT64_MAX, ret);
}

int vm_sync_generations(struct vm_pass *pass, struct kube_error *reterr)
{
    const char *known = api_map_get(&pass->vmi->metadata.annotations, VIRT_ANNOTATION_VM_GENERATION);
    long long generation;
    if (!known || !kb_parse_int(known, 0, INT64_MAX, &generation)) {
        const struct apps_controller_revision *revision;
        if (find_revision(pass, pass->vmi->status.virtual_machine_revision_name, &revision, reterr) < 0)
            return -1;
        if (!revision || !generation_of_name(revision->metadata.name, &generation))
            return 0;
        if (annotate_generation(pass, generation, reterr) < 0)
            return -1;
    }
    if (pass->settled && !virt_vm_condition(pass->vm, VM_CONDITION_RESTART_REQUIRED))
        generation = pass->stored->metadata.generation; /* changed live: the annotation still tells of the start */
    pass->vm->status.observed_generation = generation;
    pass->vm->status.desired_generation = pass->stored->metadata.generation;
    return 0;
}
