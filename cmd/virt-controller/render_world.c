/*
 * A cluster made of the objects in files.
 */
#include "cmd/virt-controller/render_internal.h"
#include "virt/names.h"
#include "virt/topology.h"

/* Name space of the UIDs that stand in for the API server's. */
static const unsigned char uid_space[16] = {0x1f, 0x5c, 0x2b, 0x90, 0x6d, 0x3a, 0x4e, 0x77,
                                            0x9a, 0x10, 0x52, 0xc4, 0x8e, 0x31, 0x0b, 0xd6};

const char *render_uid(struct kb_arena *arena, const struct api_type *type, const struct meta_object_meta *meta)
{
    char uid[KB_UUID_TEXT];

    if (!kb_empty(meta->uid))
        return meta->uid;
    kb_uuid_v5(
        uid_space,
        kb_arena_printf(arena, "%s/%s/%s", type->resource->plural, meta->namespace ? meta->namespace : "", meta->name),
        uid);
    return kb_arena_strdup(arena, uid);
}

/* ---- finding ---- */

const char *render_namespace_of(const struct render_world *world, const struct render_object *object)
{
    const struct api_any *any = object->data;

    if (!object->type->resource->namespaced)
        return "";
    return kb_empty(any->metadata.namespace) ? world->options->namespace_ : any->metadata.namespace;
}

static const struct render_object *find_object(const struct render_world *world, const struct api_type *type,
                                               const char *namespace_, const char *name)
{
    kb_vec_foreach (object, &world->objects)
        if (object->type == type && kb_streq(((const struct api_any *)object->data)->metadata.name, name) &&
            kb_streq(render_namespace_of(world, object), namespace_))
            return object;
    return NULL;
}

const void *render_find(const struct render_world *world, const struct api_type *type, const char *namespace_,
                        const char *name)
{
    const struct render_object *object = find_object(world, type, namespace_, name);

    return object ? object->data : NULL;
}

/* ---- look-ups of rendering ---- */

static const struct core_pvc *look_up_pvc(void *userdata, const char *namespace_, const char *name,
                                          struct kube_error *reterr)
{
    (void)reterr;
    return render_find_claim(userdata, namespace_, name, NULL);
}

static const struct nad_network_attachment_definition *look_up_nad(void *userdata, const char *namespace_,
                                                                   const char *name, struct kube_error *reterr)
{
    (void)reterr;
    return render_find(userdata, &nad_network_attachment_definition_type, namespace_, name);
}

static const struct core_config_map *look_up_config_map(void *userdata, const char *namespace_, const char *name,
                                                        struct kube_error *reterr)
{
    struct render_world *world = userdata;
    const struct core_config_map *config_map = render_find(world, &core_config_map_type, namespace_, name);

    if (!config_map) {
        world->missing_config_map = name;
        kube_error_set_api(reterr, 404, "NotFound", "configmaps \"%s\" not found", name);
    }
    return config_map;
}

static const struct core_namespace *look_up_namespace(void *userdata, const char *name, struct kube_error *reterr)
{
    (void)reterr;
    return render_find(userdata, &core_namespace_type, "", name);
}

static size_t look_up_quotas(void *userdata, const char *namespace_, const struct core_resource_quota *const **ret)
{
    struct render_world *world = userdata;
    struct {
        size_t n;
        const struct core_resource_quota **items;
    } quotas = {0};

    kb_vec_foreach (object, &world->objects)
        if (object->type == &core_resource_quota_type && kb_streq(render_namespace_of(world, object), namespace_))
            *kb_vec_push(world->arena, &quotas) = object->data;
    *ret = quotas.items;
    return quotas.n;
}

void render_world_init(struct render_world *world)
{
    world->lookups = (struct virt_launcher_lookups){
        .pvc = look_up_pvc,
        .nad = look_up_nad,
        .config_map = look_up_config_map,
        .namespace_ = look_up_namespace,
        .quotas = look_up_quotas,
        .userdata = world,
    };
}

/* ---- nodes ---- */

static int64_t lowest_frequency(const struct render_world *world)
{
    const struct kv_developer_configuration *developer = world->config->spec->developer_configuration;
    int64_t lowest = 0;

    if (developer->minimum_cluster_tsc_frequency)
        return *developer->minimum_cluster_tsc_frequency;
    kb_vec_foreach (object, &world->objects) {
        const struct core_node *node = object->data;
        const char *schedulable;
        int64_t frequency;

        if (object->type != &core_node_type)
            continue;
        schedulable = api_map_get(&node->metadata.labels, VIRT_LABEL_SCHEDULABLE);
        frequency = virt_node_tsc_frequency(node);
        if (schedulable && kb_streq(schedulable, "true") && frequency > 0 && (lowest == 0 || frequency < lowest))
            lowest = frequency;
    }
    return lowest;
}

void render_set_topology_hints(const struct render_world *world, struct kv_vmi *vmi)
{
    int64_t frequency;

    if (vmi->status.topology_hints || virt_tsc_requirement(vmi) == VIRT_TSC_NOT_REQUIRED)
        return;
    frequency = lowest_frequency(world);
    if (frequency <= 0)
        return;
    vmi->status.topology_hints = kb_arena_one(world->arena, struct kv_topology_hints);
    vmi->status.topology_hints->tsc_frequency = kb_arena_copy(world->arena, &frequency, sizeof(frequency));
}
