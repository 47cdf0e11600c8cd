/*
 * The init container (restarted for ever) that prints the guest's serial console, so that it is a container log.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

static bool is_wanted(const struct launcher *l)
{
    const struct kv_devices *devices = &l->vmi->spec.domain.devices;
    const struct kv_vm_options *options = l->config->spec->virtual_machine_options;

    if (devices->autoattach_serial_console && !*devices->autoattach_serial_console)
        return false;
    if (devices->log_serial_console)
        return *devices->log_serial_console;
    return !options || !options->disable_serial_console_log;
}

void launcher_add_console_log(struct launcher *l)
{
    struct core_container *container;

    if (!is_wanted(l))
        return;
    container = kb_vec_push(l->arena, &l->init_containers);
    container->name = LAUNCHER_CONSOLE_LOG;
    container->image = l->settings->launcher_image;
    container->image_pull_policy = l->config->spec->image_pull_policy;
    container->restart_policy = "Always";
    container->command = LAUNCHER_STRINGS(l->arena, "/usr/bin/virt-tail");
    container->args =
        LAUNCHER_STRINGS(l->arena, "--logfile",
                         kb_arena_printf(l->arena, LAUNCHER_PRIVATE_DIR "/%s/virt-serial0-log", l->vmi->metadata.uid));
    container->security_context = launcher_unprivileged(l->arena);
    launcher_env(l->arena, container, LAUNCHER_ENV_VERBOSITY,
                 kb_arena_printf(l->arena, "%llu", (unsigned long long)l->verbosity));
    launcher_container_mount(l->arena, container, LAUNCHER_PRIVATE, LAUNCHER_PRIVATE_DIR)->read_only = true;
    launcher_support_resources(l->arena, l->config, LAUNCHER_SUPPORT_CONSOLE_LOG, l->guaranteed, &container->resources);
}
