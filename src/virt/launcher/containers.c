/*
 * Building blocks of containers: environment, words of commands, security contexts.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"
#include "virt/names.h"

static const bool yes = true, no = false;
static const int64_t root = 0, non_root_user = VIRT_NON_ROOT_USER;

struct api_strings launcher_strings(struct kb_arena *arena, const char *const *words, size_t n)
{
    struct api_strings list = {0};

    launcher_push_strings(arena, &list, words, n);
    return list;
}

void launcher_push_strings(struct kb_arena *arena, struct api_strings *list, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *kb_vec_push(arena, list) = words[i];
}

struct core_env_var *launcher_env(struct kb_arena *arena, struct core_container *container, const char *name,
                                  const char *value)
{
    struct core_env_var *variable = kb_vec_push(arena, &container->env);

    variable->name = name;
    variable->value = value;
    return variable;
}

struct core_volume_mount *launcher_container_mount(struct kb_arena *arena, struct core_container *container,
                                                   const char *name, const char *path)
{
    struct core_volume_mount *mount = kb_vec_push(arena, &container->volume_mounts);

    mount->name = name;
    mount->mount_path = path;
    return mount;
}

struct core_capabilities *launcher_drop_all(struct kb_arena *arena)
{
    struct core_capabilities *capabilities = kb_arena_one(arena, struct core_capabilities);

    *kb_vec_push(arena, &capabilities->drop) = "ALL";
    return capabilities;
}

struct core_security_context *launcher_unprivileged(struct kb_arena *arena)
{
    struct core_security_context *context = kb_arena_one(arena, struct core_security_context);

    context->run_as_user = &non_root_user;
    context->run_as_non_root = &yes;
    context->allow_privilege_escalation = &no;
    context->capabilities = launcher_drop_all(arena);
    return context;
}

static struct core_security_context *as_vmi(struct launcher *l)
{
    struct core_security_context *context = kb_arena_one(l->arena, struct core_security_context);

    if (!l->non_root) {
        context->run_as_user = &root;
        context->run_as_non_root = &no;
        return context;
    }
    context->run_as_user = &non_root_user;
    context->run_as_group = &non_root_user;
    context->run_as_non_root = &yes;
    context->allow_privilege_escalation = &no;
    return context;
}

struct core_container launcher_vmi_container(struct launcher *l, const char *name, const char *image,
                                             const char *pull_policy)
{
    struct core_container container = {
        .name = name,
        .image = image,
        .image_pull_policy = pull_policy,
        .termination_message_policy = LAUNCHER_FALLBACK_TO_LOGS,
        .security_context = as_vmi(l),
    };

    if (l->non_root) { /* root's home is writable */
        launcher_env(l->arena, &container, "XDG_CACHE_HOME", LAUNCHER_PRIVATE_DIR);
        launcher_env(l->arena, &container, "XDG_CONFIG_HOME", LAUNCHER_PRIVATE_DIR);
        launcher_env(l->arena, &container, "XDG_RUNTIME_DIR", "/var/run");
    }
    return container;
}
