/*
 * The VMs of a pool: all from one template, each with a number that ends its name and the names of what is its own.
 */
#include "api/types/pool.h"
#include "cmd/virt-controller/render_internal.h"

#define LABEL_REVISION "kubevirt.io/vm-pool-revision-name"

struct numbered {
    struct kb_arena *arena;
    int index;
    bool config_maps, secrets;          /* are numbered, too */
    struct api_string_map data_volumes; /* name in the template -> name of this VM's */
};

static const char *numbered_name(const struct numbered *n, const char *name)
{
    return kb_arena_printf(n->arena, "%s-%d", name, n->index);
}

static void number_reference(const struct numbered *n, struct core_local_object_reference *reference)
{
    if (reference)
        reference->name = numbered_name(n, reference->name);
}

static void number_claim(const struct numbered *n, const char **name)
{
    const char *numbered = api_map_get(&n->data_volumes, *name);

    if (numbered)
        *name = numbered;
}

static void number_volume(const struct numbered *n, struct kv_volume *volume)
{
    if (volume->persistent_volume_claim)
        number_claim(n, &volume->persistent_volume_claim->claim_name);
    if (volume->data_volume)
        number_claim(n, &volume->data_volume->name);
    if (volume->config_map && n->config_maps)
        volume->config_map->name = numbered_name(n, volume->config_map->name);
    if (!n->secrets)
        return;
    if (volume->secret)
        volume->secret->secret_name = numbered_name(n, volume->secret->secret_name);
    if (volume->cloud_init_no_cloud) {
        number_reference(n, volume->cloud_init_no_cloud->secret_ref);
        number_reference(n, volume->cloud_init_no_cloud->network_data_secret_ref);
    }
    if (volume->cloud_init_config_drive) {
        number_reference(n, volume->cloud_init_config_drive->secret_ref);
        number_reference(n, volume->cloud_init_config_drive->network_data_secret_ref);
    }
}

static void number_spec(struct numbered *n, struct kv_vm_spec *spec)
{
    api_list_foreach (template, &spec->data_volume_templates) {
        const char *name = numbered_name(n, template->metadata.name);

        api_map_set(n->arena, &n->data_volumes, template->metadata.name, name);
        template->metadata.name = name;
    }
    api_list_foreach (volume, &spec->template->spec.volumes)
        number_volume(n, volume);
}

struct kv_vm *render_pool_vm(struct kb_arena *arena, const struct render_object *object, int index)
{
    const struct pool_vm_pool *pool = object->data;
    const struct pool_vm_template_spec *template = pool->spec.virtual_machine_template;
    const struct pool_vm_pool_name_generation *names = pool->spec.name_generation;
    const char *revision = kb_arena_printf(arena, "%s-%lld", pool->metadata.name, (long long)pool->metadata.generation);
    struct kv_vm *vm = kb_arena_one(arena, struct kv_vm);
    struct numbered numbered = {
        .arena = arena,
        .index = index,
        .config_maps = names && names->append_index_to_config_map_refs && *names->append_index_to_config_map_refs,
        .secrets = names && names->append_index_to_secret_refs && *names->append_index_to_secret_refs,
    };

    api_clone_into(arena, &kv_vm_spec_type, &template->spec, &vm->spec);
    vm->metadata.name = numbered_name(&numbered, pool->metadata.name);
    vm->metadata.namespace = pool->metadata.namespace;
    vm->metadata.generation = 1;
    number_spec(&numbered, &vm->spec);
    api_map_set(arena, &vm->spec.template->metadata.labels, LABEL_REVISION, revision);
    return vm;
}
