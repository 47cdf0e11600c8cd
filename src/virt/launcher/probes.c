/*
 * Probes of the compute container. Users probe the guest: exec and ping go through virt-probe, which asks the guest
 * agent; HTTP and TCP reach the guest through the Pod's address.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

static int32_t at_least_one(int32_t value, int32_t fallback)
{
    return value < 1 ? fallback : value;
}

/* virt-probe --domainName NS_NAME --timeoutSeconds T ... */
static struct core_exec_action *through_virt_probe(struct launcher *l, struct core_probe *probe)
{
    const struct meta_object_meta *meta = &l->vmi->metadata;
    const char *words[] = {
        "virt-probe",
        "--domainName",
        kb_arena_printf(l->arena, "%s_%s", meta->namespace, meta->name),
        "--timeoutSeconds",
        kb_arena_printf(l->arena, "%d", (int)probe->timeout_seconds),
    };
    struct core_exec_action *exec = kb_arena_one(l->arena, struct core_exec_action);

    exec->command = launcher_strings(l->arena, words, KB_ARRAY_LEN(words));
    probe->timeout_seconds += LAUNCHER_PROBE_OVERHEAD_S;
    return exec;
}

static void wrap_ping(struct launcher *l, struct core_probe *probe)
{
    probe->exec = through_virt_probe(l, probe);
    *kb_vec_push(l->arena, &probe->exec->command) = "--guestAgentPing";
}

static void wrap_exec(struct launcher *l, struct core_probe *probe)
{
    const struct api_strings *command;
    struct core_exec_action *exec;

    if (!probe->exec || probe->exec->command.n == 0 || kb_streq(probe->exec->command.items[0], "virt-probe"))
        return;
    command = &probe->exec->command;
    exec = through_virt_probe(l, probe);
    launcher_push_strings(l->arena, &exec->command, (const char *const[]){"--command", command->items[0], "--"}, 3);
    launcher_push_strings(l->arena, &exec->command, command->items + 1, command->n - 1);
    probe->exec = exec;
}

struct core_probe *launcher_probe(struct launcher *l, const struct kv_probe *probe)
{
    struct core_probe *ret;

    if (!probe)
        return NULL;
    ret = kb_arena_one(l->arena, struct core_probe);
    *ret = (struct core_probe){
        .exec = probe->exec,
        .http_get = probe->http_get,
        .tcp_socket = probe->tcp_socket,
        .initial_delay_seconds = probe->initial_delay_seconds + LAUNCHER_LIBVIRT_START_S,
        .timeout_seconds = at_least_one(probe->timeout_seconds, 1),
        .period_seconds = at_least_one(probe->period_seconds, 10),
        .success_threshold = at_least_one(probe->success_threshold, 1),
        .failure_threshold = at_least_one(probe->failure_threshold, 3),
    };
    if (probe->guest_agent_ping)
        wrap_ping(l, ret);
    else
        wrap_exec(l, ret);
    return ret;
}
