/*
 * The compute container: virt-launcher, libvirt and the guest.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include <strings.h>

static void add_ports(struct launcher *l, struct core_container *compute)
{
    api_list_foreach (interface, &l->vmi->spec.domain.devices.interfaces)
        api_list_foreach (port, &interface->ports)
            *kb_vec_push(l->arena, &compute->ports) = (struct core_container_port){
                .name = port->name,
                .protocol = kb_empty(port->protocol) ? "TCP" : port->protocol,
                .container_port = port->port,
            };
}

static void add_capabilities(struct launcher *l, struct core_container *compute)
{
    struct core_capabilities *capabilities =
        l->non_root ? launcher_drop_all(l->arena) : kb_arena_one(l->arena, struct core_capabilities);

    *kb_vec_push(l->arena, &capabilities->add) = "NET_BIND_SERVICE";
    if (!l->non_root)
        *kb_vec_push(l->arena, &capabilities->add) = "SYS_NICE"; /* CPU affinity of vCPUs */
    compute->security_context->capabilities = capabilities;
}

/* ---- environment ---- */

static bool is_true(const struct kv_vmi *vmi, const char *label)
{
    const char *value = api_map_get(&vmi->metadata.labels, label);

    return value && strcasecmp(value, "true") == 0;
}

static void add_log_variables(struct launcher *l, struct core_container *compute)
{
    const char *label = api_map_get(&l->vmi->metadata.labels, LAUNCHER_LABEL_VERBOSITY);
    int64_t cluster_wide = l->config->spec->developer_configuration->log_verbosity->virt_launcher;
    bool verbose = l->verbosity > LAUNCHER_LIBVIRT_VERBOSITY;

    if (label || cluster_wide != LAUNCHER_DEFAULT_VERBOSITY)
        launcher_env(l->arena, compute, LAUNCHER_ENV_VERBOSITY,
                     label ? label : kb_arena_printf(l->arena, "%lld", (long long)cluster_wide));
    if (verbose || is_true(l->vmi, LAUNCHER_LABEL_DEBUG_LOGS))
        launcher_env(l->arena, compute, "LIBVIRT_DEBUG_LOGS", "1");
    if (verbose || is_true(l->vmi, LAUNCHER_LABEL_VIRTIOFSD_LOGS))
        launcher_env(l->arena, compute, "VIRTIOFSD_DEBUG_LOGS", "1");
}

static void add_pod_name(struct launcher *l, struct core_container *compute)
{
    struct core_env_var *variable = launcher_env(l->arena, compute, "POD_NAME", NULL);

    variable->value_from = kb_arena_one(l->arena, struct core_env_var_source);
    variable->value_from->field_ref = kb_arena_one(l->arena, struct core_object_field_selector);
    variable->value_from->field_ref->field_path = "metadata.name";
}

static void add_environment(struct launcher *l, struct core_container *compute)
{
    if (l->shared_paths.n > 0)
        launcher_env(l->arena, compute, "SHARED_FILESYSTEM_PATHS",
                     kb_join(l->arena, l->shared_paths.items, l->shared_paths.n, ":"));
    add_log_variables(l, compute);
    add_pod_name(l, compute);
}

void launcher_add_compute(struct launcher *l)
{
    struct core_container compute =
        launcher_vmi_container(l, LAUNCHER_COMPUTE, l->settings->launcher_image, l->config->spec->image_pull_policy);

    launcher_command(l, &compute.command);
    compute.volume_devices = l->devices;
    compute.volume_mounts = l->mounts;
    compute.resources = l->resources;
    compute.readiness_probe = launcher_probe(l, l->vmi->spec.readiness_probe);
    compute.liveness_probe = launcher_probe(l, l->vmi->spec.liveness_probe);
    add_ports(l, &compute);
    add_capabilities(l, &compute);
    add_environment(l, &compute);
    *kb_vec_push(l->arena, &l->containers) = compute;
}
