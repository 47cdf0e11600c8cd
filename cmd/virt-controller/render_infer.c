/*
 * What virt-api's webhook takes from the disks of a new VM: the instance type and preference that a volume's labels
 * name, and the architecture of a boot source. Source: the reference's pkg/instancetype/infer and pkg/defaults.
 */
#include "api/types/cdi.h"
#include "api/types/volumesnapshot.h"
#include "cmd/virt-controller/render_internal.h"
#include "virt/instancetype/instancetype.h"

#define LABEL_ARCHITECTURE "template.kubevirt.io/architecture" /* of a DataSource */
#define DATA_SOURCE        "DataSource"

static const struct flavor {
    const struct virt_flavor *flavor;
    const char *path, *name_label, *kind_label;
} flavors[] = {
    {&virt_instancetype_flavor, "spec.instancetype", "instancetype.kubevirt.io/default-instancetype",
     "instancetype.kubevirt.io/default-instancetype-kind"},
    {&virt_preference_flavor, "spec.preference", "instancetype.kubevirt.io/default-preference",
     "instancetype.kubevirt.io/default-preference-kind"},
};

struct inference {
    const struct render_world *world;
    const struct kv_vm *vm;
    const struct flavor *flavor;
    const char *name, *kind; /* found; name NULL: not yet */
    const char *fault;       /* why not */
    bool missing;            /* an object was not given; otherwise the user may have said that a fault doesn't matter */
};

static void fail(struct inference *inference, bool missing, const char *format, const char *detail)
{
    struct kb_strbuf text = {.arena = inference->world->arena};

    kb_strbuf_puts(&text, format);
    kb_strbuf_puts(&text, detail);
    inference->fault = kb_strbuf_text(&text);
    inference->missing = missing;
}

static bool take_labels(struct inference *inference, const struct meta_object_meta *meta)
{
    inference->name = api_map_get(&meta->labels, inference->flavor->name_label);
    if (!inference->name) {
        fail(inference, false, "no label on the volume: ", inference->flavor->name_label);
        return false;
    }
    inference->kind = api_map_get(&meta->labels, inference->flavor->kind_label) ?: "";
    return true;
}

static const void *look_up(struct inference *inference, const struct api_type *type, const char *namespace_,
                           const char *name)
{
    const void *object = render_find(inference->world, type, namespace_, name);

    if (!object)
        fail(inference, true, type->resource->kind,
             kb_arena_printf(inference->world->arena, " %s/%s", namespace_, name));
    return object;
}

static void from_object(struct inference *inference, const struct api_type *type, const char *namespace_,
                        const char *name)
{
    const struct api_any *any = look_up(inference, type, namespace_, name);

    if (any)
        take_labels(inference, &any->metadata);
}

static void from_sources(struct inference *inference, const struct cdi_data_volume_source_pvc *pvc,
                         const struct cdi_data_volume_source_snapshot *snapshot)
{
    if (pvc)
        from_object(inference, &core_pvc_type, pvc->namespace, pvc->name);
    else if (snapshot)
        from_object(inference, &volumesnapshot_volume_snapshot_type, snapshot->namespace, snapshot->name);
    else
        fail(inference, false, "the volume's source has no labels", "");
}

static const char *namespace_of_source(const struct kv_vm *vm, const struct cdi_data_volume_source_ref *source)
{
    return kb_empty(source->namespace) ? vm->metadata.namespace : source->namespace;
}

static void from_spec(struct inference *inference, const struct cdi_data_volume_spec *spec)
{
    const struct cdi_data_volume_source_ref *reference = spec->source_ref;
    const struct cdi_data_source *source;

    if (spec->source && (spec->source->pvc || spec->source->snapshot)) {
        from_sources(inference, spec->source->pvc, spec->source->snapshot);
        return;
    }
    if (!reference || !kb_streq(reference->kind, DATA_SOURCE)) {
        fail(inference, false, "the volume's source has no labels", "");
        return;
    }
    source = look_up(inference, &cdi_data_source_type, namespace_of_source(inference->vm, reference), reference->name);
    if (source && !take_labels(inference, &source->metadata))
        from_sources(inference, source->spec.source.pvc, source->spec.source.snapshot);
}

static void from_data_volume(struct inference *inference, const char *name)
{
    const char *namespace_ = inference->vm->metadata.namespace;
    const struct cdi_data_volume *data_volume;

    api_list_foreach (template, &inference->vm->spec.data_volume_templates) {
        if (!kb_streq(template->metadata.name, name))
            continue;
        from_spec(inference, &template->spec);
        return;
    }
    data_volume = render_find(inference->world, &cdi_data_volume_type, namespace_, name);
    if (!data_volume)
        from_object(inference, &core_pvc_type, namespace_, name);
    else if (!take_labels(inference, &data_volume->metadata))
        from_spec(inference, &data_volume->spec);
}

static void from_volume(struct inference *inference, const char *name)
{
    fail(inference, true, "a volume of the name ", name);
    api_list_foreach (volume, &inference->vm->spec.template->spec.volumes) {
        if (!kb_streq(volume->name, name))
            continue;
        if (volume->persistent_volume_claim)
            from_object(inference, &core_pvc_type, inference->vm->metadata.namespace,
                        volume->persistent_volume_claim->claim_name);
        else if (volume->data_volume)
            from_data_volume(inference, volume->data_volume->name);
        else
            fail(inference, false, "the volume's source has no labels", "");
        return;
    }
}

/* ---- what is found goes into the VM ---- */

static void set_matcher(struct kb_arena *arena, const struct flavor *flavor, struct kv_vm *vm, const char *name,
                        const char *kind)
{
    if (flavor->flavor == &virt_instancetype_flavor) {
        vm->spec.instancetype = name ? kb_arena_one(arena, struct kv_instancetype_matcher) : NULL;
        if (name)
            *vm->spec.instancetype = (struct kv_instancetype_matcher){.name = name, .kind = kind};
        return;
    }
    vm->spec.preference = name ? kb_arena_one(arena, struct kv_preference_matcher) : NULL;
    if (name)
        *vm->spec.preference = (struct kv_preference_matcher){.name = name, .kind = kind};
}

static int infer(const struct render_world *world, const struct render_object *object, const char *prefix,
                 const struct flavor *flavor, struct kv_vm *vm, struct kube_error *reterr)
{
    const struct kv_instancetype_matcher *matcher = virt_flavor_matcher(flavor->flavor, vm);
    struct inference inference = {.world = world, .vm = vm, .flavor = flavor};
    char path[128];
    bool may_fail;

    if (!matcher)
        return 0;
    snprintf(path, sizeof(path), "%s%s", prefix, flavor->path);
    if (kb_empty(matcher->infer_from_volume))
        return kb_empty(matcher->name) ? render_fail(reterr, object, path, "expected a name or inferFromVolume") : 0;
    may_fail =
        matcher->infer_from_volume_failure_policy && kb_streq(matcher->infer_from_volume_failure_policy, "Ignore");
    from_volume(&inference, matcher->infer_from_volume);
    if (!inference.name && (inference.missing || !may_fail))
        return render_fail(reterr, object, path, "inferFromVolume %s: %s%s", matcher->infer_from_volume,
                           inference.missing ? "needs " : "", inference.fault);
    if (inference.name && may_fail && flavor->flavor == &virt_instancetype_flavor)
        vm->spec.template->spec.domain.memory = NULL; /* the user's own was for when nothing is found */
    set_matcher(world->arena, flavor, vm, inference.name, inference.kind);
    return 0;
}

/* Where nothing else says which it is, that of the first boot source that has a label. */
static void infer_architecture(const struct render_world *world, struct kv_vm *vm)
{
    static const char *const known[] = {"amd64", "arm64", "s390x"};

    api_list_foreach (template, &vm->spec.data_volume_templates) {
        const struct cdi_data_volume_source_ref *reference = template->spec.source_ref;
        const struct cdi_data_source *source;
        const char *architecture;

        if (!kb_empty(vm->spec.template->spec.architecture))
            return;
        if (!reference || !kb_streq(reference->kind, DATA_SOURCE))
            continue;
        source = render_find(world, &cdi_data_source_type, namespace_of_source(vm, reference), reference->name);
        architecture = source ? api_map_get(&source->metadata.labels, LABEL_ARCHITECTURE) : NULL;
        if (architecture && kb_in_list(architecture, known, KB_ARRAY_LEN(known)))
            vm->spec.template->spec.architecture = architecture;
    }
}

int render_infer(const struct render_world *world, const struct render_object *object, const char *prefix,
                 struct kv_vm *vm, struct kube_error *reterr)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(flavors); i++)
        if (infer(world, object, prefix, &flavors[i], vm, reterr) < 0)
            return -1;
    if (!world->options->as_stored)
        infer_architecture(world, vm);
    return 0;
}
