/*
 * From manifests to the VMIs that a cluster would have: what the controllers of VMs, replica sets and pools make, with
 * the defaults of the webhooks.
 */
#include "api/types/pool.h"
#include "cmd/virt-controller/render_internal.h"
#include "virt/defaults/defaults.h"
#include "virt/instancetype/instancetype.h"
#include "virt/names.h"
#include "virt/vm/template.h"

#define SPEC          "spec"
#define TEMPLATE      "spec.template"
#define VMI_SPEC      TEMPLATE ".spec"
#define POOL_TEMPLATE "spec.virtualMachineTemplate"
#define POOL_VMI      POOL_TEMPLATE ".spec.template"

bool render_has_instances(const struct api_type *type)
{
    return type == &kv_vmi_type || type == &kv_vm_type || type == &kv_vmirs_type || type == &pool_vm_pool_type;
}

/* ---- names ---- */

/* As the API server ends generated names, but not at random: five letters from the alphabet of its own. */
static const char *generated_name(struct kb_arena *arena, const char *base, const char *salt)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    enum { LENGTH = 5 };
    uint64_t hash = kb_fnv64a(salt, strlen(salt));
    char suffix[LENGTH + 1] = "";

    for (int i = 0; i < LENGTH; i++, hash /= sizeof(letters) - 1)
        suffix[i] = letters[hash % (sizeof(letters) - 1)];
    return kb_arena_printf(arena, "%s%s", base, suffix);
}

static int name_object(const struct render_world *world, const struct render_object *object, struct kube_error *reterr)
{
    struct api_any *any = object->data;

    if (kb_empty(any->metadata.namespace))
        any->metadata.namespace = world->options->namespace_;
    if (kb_empty(any->metadata.name) && !kb_empty(any->metadata.generate_name))
        any->metadata.name = generated_name(world->arena, any->metadata.generate_name, any->metadata.generate_name);
    if (kb_empty(any->metadata.name))
        return render_fail(reterr, object, "metadata.name", "expected the object's name");
    any->metadata.uid = render_uid(world->arena, object->type, &any->metadata);
    if (any->metadata.generation == 0)
        any->metadata.generation = 1;
    return 0;
}

/* ---- one instance ---- */

/* As an API server gives it back after the webhooks: no text is NULL, quantities are canonical. */
static int store(struct render_world *world, const struct kv_vmi *vmi, struct kv_vmi **ret, struct kube_error *reterr)
{
    struct kb_strbuf json = {.arena = world->arena};

    api_encode(&kv_vmi_type, vmi, 0, &json);
    return api_decode(world->arena, &kv_vmi_type, kb_strbuf_text(&json), json.length, ret, reterr);
}

static int add_instance(struct render_world *world, const struct render_object *object, const char *spec_path,
                        struct kv_vmi *vmi, struct render_instances *instances, struct kube_error *reterr)
{
    struct kube_error error = {0};

    vmi = api_clone(world->arena, &kv_vmi_type, vmi);
    vmi->metadata.uid = render_uid(world->arena, &kv_vmi_type, &vmi->metadata);
    if (!world->options->as_stored && virt_default_vmi(world->arena, world->config, vmi, &error) < 0)
        return render_fail(reterr, object, spec_path, "%s", error.message);
    render_set_topology_hints(world, vmi);
    if (world->options->as_stored)
        vmi = api_clone(world->arena, &kv_vmi_type, vmi);
    else if (store(world, vmi, &vmi, &error) < 0)
        return render_fail(reterr, object, spec_path, "%s", error.message);
    *kb_vec_push(world->arena, instances) =
        (struct render_instance){.object = object, .spec_path = spec_path, .vmi = vmi};
    return 0;
}

/* ---- VMs ---- */

static const void *look_up(void *userdata, const struct api_type *type, const char *namespace_, const char *name,
                           struct kube_error *reterr)
{
    const struct render_world *world = userdata;

    (void)reterr;
    return render_find(world, type, type->resource->namespaced ? namespace_ : "", name);
}

static int check_found(const struct render_world *world, const struct render_object *object, const char *prefix,
                       const struct virt_instancetype_lookups *lookups, const struct kv_vm *vm,
                       struct kube_error *reterr)
{
    const struct instancetype_vm_instancetype_spec *instancetype;
    const struct instancetype_vm_preference_spec *preference;
    struct kube_error error = {0};
    char path[128];

    snprintf(path, sizeof(path), "%sspec.instancetype", prefix);
    if (virt_instancetype_find(world->arena, lookups, vm, &instancetype, &error) < 0)
        return render_fail(reterr, object, path, "%s: give it with --with", error.message);
    snprintf(path, sizeof(path), "%sspec.preference", prefix);
    if (virt_preference_find(world->arena, lookups, vm, &preference, &error) < 0)
        return render_fail(reterr, object, path, "%s: give it with --with", error.message);
    return 0;
}

/* `prefix`: of the VM's own members in the manifest; `path`: of the VMI's spec there. */
static int add_vm(struct render_world *world, const struct render_object *object, const char *prefix, const char *path,
                  struct kv_vm *vm, struct render_instances *instances, struct kube_error *reterr)
{
    const struct virt_instancetype_lookups lookups = {.get = look_up, .userdata = world};
    struct kube_error error = {0};
    struct kv_vmi *vmi;

    if (!vm->spec.template)
        return render_fail(reterr, object, path, "expected the spec of a VirtualMachineInstance");
    if (render_infer(world, object, prefix, vm, reterr) < 0 ||
        check_found(world, object, prefix, &lookups, vm, reterr) < 0)
        return -1;
    vmi = virt_vm_make_vmi(world->arena, vm, vm->metadata.generation);
    if (virt_vm_attach_automatically(world->arena, &lookups, vm, vmi, &error) < 0 ||
        virt_vm_add_devices(world->arena, world->config, vmi, &error) < 0 ||
        virt_instancetype_apply_to_vmi(world->arena, &lookups, vm, vmi, &error) < 0)
        return render_fail(reterr, object, path, "%s", error.message);
    return add_instance(world, object, path, vmi, instances, reterr);
}

/* ---- VMIs, replica sets, pools ---- */

enum { MOST_REPLICAS = 10000 };

/* Returns the number, or negative. */
static int count_replicas(const struct render_object *object, const int32_t *replicas, struct kube_error *reterr)
{
    const int32_t n = replicas ? *replicas : 1;

    if (n < 0 || n > MOST_REPLICAS)
        return render_fail(reterr, object, "spec.replicas", "expected a number from 0 to %d", MOST_REPLICAS);
    return n;
}

static int add_vmi(struct render_world *world, const struct render_object *object, struct render_instances *instances,
                   struct kube_error *reterr)
{
    return add_instance(world, object, SPEC, object->data, instances, reterr);
}

/* The beginning of the instances' generated names. */
static const char *base_name(const struct kv_vmirs *set)
{
    const struct meta_object_meta *template = &set->spec.template->metadata;

    if (!kb_empty(template->name))
        return template->name;
    return kb_empty(template->generate_name) ? set->metadata.name : template->generate_name;
}

static int add_replicas(struct render_world *world, const struct render_object *object,
                        struct render_instances *instances, struct kube_error *reterr)
{
    const struct kv_vmirs *set = object->data;
    const int n = count_replicas(object, set->spec.replicas, reterr);

    if (n < 0)
        return -1;
    if (!set->spec.template)
        return render_fail(reterr, object, TEMPLATE, "expected the template of a VirtualMachineInstance");
    for (int i = 0; i < n; i++) {
        struct kv_vmi *vmi = kb_arena_one(world->arena, struct kv_vmi);

        api_clone_into(world->arena, &meta_object_meta_type, &set->spec.template->metadata, &vmi->metadata);
        api_clone_into(world->arena, &kv_vmi_spec_type, &set->spec.template->spec, &vmi->spec);
        vmi->metadata.name =
            generated_name(world->arena, base_name(set), kb_arena_printf(world->arena, "%s/%d", set->metadata.uid, i));
        vmi->metadata.generate_name = base_name(set);
        vmi->metadata.namespace = set->metadata.namespace;
        if (add_instance(world, object, VMI_SPEC, vmi, instances, reterr) < 0)
            return -1;
    }
    return 0;
}

static int add_pool(struct render_world *world, const struct render_object *object, struct render_instances *instances,
                    struct kube_error *reterr)
{
    const struct pool_vm_pool *pool = object->data;
    const int n = count_replicas(object, pool->spec.replicas, reterr);

    if (n < 0)
        return -1;
    if (!pool->spec.virtual_machine_template)
        return render_fail(reterr, object, POOL_TEMPLATE, "expected the template of a VirtualMachine");
    if (!pool->spec.virtual_machine_template->spec.template)
        return render_fail(reterr, object, POOL_VMI, "expected the template of a VirtualMachineInstance");
    for (int i = 0; i < n; i++) {
        struct kv_vm *vm = render_pool_vm(world->arena, object, i);

        vm->metadata.uid = render_uid(world->arena, &kv_vm_type, &vm->metadata);
        *kb_vec_push(world->arena, &world->objects) =
            (struct render_object){.origin = object->origin, .type = &kv_vm_type, .data = vm};
        if (add_vm(world, object, POOL_TEMPLATE ".", POOL_VMI ".spec", vm, instances, reterr) < 0)
            return -1;
    }
    return 0;
}

int render_add_instances(struct render_world *world, const struct render_object *object,
                         struct render_instances *instances, struct kube_error *reterr)
{
    if (name_object(world, object, reterr) < 0)
        return -1;
    if (object->type == &kv_vmi_type)
        return add_vmi(world, object, instances, reterr);
    if (object->type == &kv_vm_type)
        return add_vm(world, object, "", VMI_SPEC, object->data, instances, reterr);
    if (object->type == &kv_vmirs_type)
        return add_replicas(world, object, instances, reterr);
    return add_pool(world, object, instances, reterr);
}
