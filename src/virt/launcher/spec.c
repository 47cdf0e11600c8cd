/*
 * The members of the Pod's spec around volumes and containers.
 */
#include "api/codec.h"
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include "virt/names.h"
#include <strings.h>

static const bool yes = true, no = false;
static const int64_t root = 0, non_root_user = VIRT_NON_ROOT_USER;

/* ---- security ---- */

static struct core_seccomp_profile *seccomp(struct launcher *l)
{
    const struct kv_seccomp_configuration *configured = l->config->spec->seccomp_configuration;
    const struct kv_vmi_profile *vmi = configured ? configured->virtual_machine_instance_profile : NULL;
    const struct kv_custom_profile *custom = vmi ? vmi->custom_profile : NULL;
    struct core_seccomp_profile *profile;

    if (!custom || (!custom->localhost_profile && !custom->runtime_default_profile))
        return NULL;
    profile = kb_arena_one(l->arena, struct core_seccomp_profile);
    profile->type = custom->localhost_profile ? "Localhost" : "RuntimeDefault";
    profile->localhost_profile = custom->localhost_profile;
    return profile;
}

static void set_security(struct launcher *l, struct core_pod_security_context *context)
{
    const char *selinux_type = l->config->spec->selinux_launcher_type;

    context->fs_group = &non_root_user; /* virtiofsd writes to volumes as that user, in root Pods too */
    context->run_as_user = l->non_root ? &non_root_user : &root;
    if (l->non_root) {
        context->run_as_group = &non_root_user;
        context->run_as_non_root = &yes;
    }
    context->seccomp_profile = seccomp(l);
    if (kb_empty(selinux_type))
        return;
    context->se_linux_options = kb_arena_one(l->arena, struct core_se_linux_options);
    context->se_linux_options->type = selinux_type;
}

/* Docker gives each container categories of its own; without them all others can talk to compute. */
static void drop_selinux_categories(struct launcher *l)
{
    if (!virt_gate(l->config, VIRT_GATE_DOCKER_SELINUX_MCS_WORKAROUND))
        return;
    api_list_foreach (container, &l->containers) {
        struct core_se_linux_options *options;

        if (kb_streq(container->name, LAUNCHER_COMPUTE))
            continue;
        options = kb_arena_one(l->arena, struct core_se_linux_options);
        options->type = l->config->spec->selinux_launcher_type;
        options->level = "s0";
        container->security_context->se_linux_options = options;
    }
}

/* ---- identity ---- */

static void add_pull_secret(struct launcher *l, struct core_pod_spec *spec, const char *name)
{
    if (kb_empty(name))
        return;
    api_list_foreach (present, &spec->image_pull_secrets)
        if (kb_streq(present->name, name))
            return;
    kb_vec_push(l->arena, &spec->image_pull_secrets)->name = name;
}

static void add_pull_secrets(struct launcher *l, struct core_pod_spec *spec)
{
    const struct kv_kernel_boot_container *boot = launcher_kernel_boot(l->vmi);

    api_list_foreach (volume, &l->vmi->spec.volumes)
        if (volume->container_disk)
            add_pull_secret(l, spec, volume->container_disk->image_pull_secret);
    if (boot)
        add_pull_secret(l, spec, boot->image_pull_secret);
    add_pull_secret(l, spec, l->settings->image_pull_secret);
}

static const char *service_account_of_volumes(const struct kv_vmi *vmi)
{
    api_list_foreach (volume, &vmi->spec.volumes)
        if (volume->service_account)
            return volume->service_account->service_account_name;
    return "";
}

static bool is_in_service_mesh(const struct kv_vmi *vmi)
{
    const char *inject = api_map_get(&vmi->metadata.annotations, LAUNCHER_ISTIO_INJECT);

    return inject && strcasecmp(inject, "true") == 0;
}

static void set_service_account(struct launcher *l, struct core_pod_spec *spec)
{
    const char *of_volume = service_account_of_volumes(l->vmi);

    spec->service_account_name =
        kb_empty(l->vmi->spec.service_account_name) ? of_volume : l->vmi->spec.service_account_name;
    spec->automount_service_account_token = *of_volume || is_in_service_mesh(l->vmi) ? &yes : &no;
}

/* ---- scheduling and the rest ---- */

static void copy_claims(struct launcher *l, struct core_pod_spec *spec)
{
    api_list_foreach (claim, &l->vmi->spec.resource_claims)
        *kb_vec_push(l->arena, &spec->resource_claims) = (struct core_pod_resource_claim){
            .name = claim->name,
            .resource_claim_name = claim->resource_claim_name,
            .resource_claim_template_name = claim->resource_claim_template_name,
        };
}

/* What users set for the VMI and the kubelet or the scheduler applies to the Pod. */
static void copy_from_vmi(struct launcher *l, struct core_pod_spec *spec)
{
    const struct kv_vmi_spec *vmi = &l->vmi->spec;

    spec->hostname = virt_vmi_hostname(l->arena, l->vmi);
    spec->subdomain = vmi->subdomain;
    spec->dns_policy = vmi->dns_policy;
    spec->dns_config = vmi->dns_config;
    spec->scheduler_name = vmi->scheduler_name;
    spec->priority_class_name = vmi->priority_class_name;
    api_list_foreach (toleration, &vmi->tolerations)
        *kb_vec_push(l->arena, &spec->tolerations) = *toleration;
    api_list_foreach (constraint, &vmi->topology_spread_constraints)
        *kb_vec_push(l->arena, &spec->topology_spread_constraints) = *constraint;
    copy_claims(l, spec);
}

static void set_life(struct launcher *l, struct core_pod_spec *spec)
{
    int64_t grace = launcher_grace_period(l->vmi) + INT64_C(2) * LAUNCHER_GRACE_PADDING_S;

    spec->termination_grace_period_seconds = kb_arena_copy(l->arena, &grace, sizeof(grace));
    spec->restart_policy = "Never";
    spec->enable_service_links = &no;
    kb_vec_push(l->arena, &spec->readiness_gates)->condition_type = "kubevirt.io/virtual-machine-unpaused";
    if (!kb_empty(l->config->spec->default_runtime_class))
        spec->runtime_class_name = l->config->spec->default_runtime_class;
}

void launcher_spec(struct launcher *l, struct core_pod_spec *spec)
{
    drop_selinux_categories(l);
    spec->volumes = l->volumes;
    spec->init_containers = l->init_containers;
    spec->containers = l->containers;
    spec->security_context = kb_arena_one(l->arena, struct core_pod_security_context);
    set_security(l, spec->security_context);
    set_life(l, spec);
    copy_from_vmi(l, spec);
    add_pull_secrets(l, spec);
    set_service_account(l, spec);
    launcher_node_selector(l, &spec->node_selector);
    spec->affinity = launcher_affinity(l);
}
