/*
 * Probes of the compute container. Users probe the guest: exec and ping go through virt-probe, which asks the guest
 * agent; HTTP and TCP reach the guest through the Pod's address.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

#define VIRT_PROBE "virt-probe"

static int32_t at_least_one(int32_t value, int32_t fallback)
{
    return value < 1 ? fallback : value;
}

/* virt-probe --domainName NS_NAME --timeoutSeconds T ... */
static struct core_exec_action *through_virt_probe(struct kb_arena *arena, const struct kv_vmi *vmi, int timeout_s)
{
    const struct meta_object_meta *meta = &vmi->metadata;
    const char *words[] = {
        VIRT_PROBE,
        "--domainName",
        kb_arena_printf(arena, "%s_%s", meta->namespace, meta->name),
        "--timeoutSeconds",
        kb_arena_printf(arena, "%d", timeout_s),
    };
    struct core_exec_action *exec = kb_arena_one(arena, struct core_exec_action);

    exec->command = launcher_strings(arena, words, KB_ARRAY_LEN(words));
    return exec;
}

static struct core_exec_action *ping(struct kb_arena *arena, const struct kv_vmi *vmi, int timeout_s)
{
    struct core_exec_action *exec = through_virt_probe(arena, vmi, timeout_s);

    *kb_vec_push(arena, &exec->command) = "--guestAgentPing";
    return exec;
}

/* NULL: it stays as it is. */
static struct core_exec_action *wrapped(struct kb_arena *arena, const struct kv_vmi *vmi,
                                        const struct core_exec_action *inner, int timeout_s)
{
    const struct api_strings *command = inner ? &inner->command : NULL;
    struct core_exec_action *exec;

    if (!command || command->n == 0 || kb_streq(command->items[0], VIRT_PROBE))
        return NULL;
    exec = through_virt_probe(arena, vmi, timeout_s);
    launcher_push_strings(arena, &exec->command, (const char *const[]){"--command", command->items[0], "--"}, 3);
    launcher_push_strings(arena, &exec->command, command->items + 1, command->n - 1);
    return exec;
}

void virt_vmi_wrap_probes(struct kb_arena *arena, struct kv_vmi *vmi)
{
    struct kv_probe *const probes[] = {vmi->spec.readiness_probe, vmi->spec.liveness_probe};

    for (size_t i = 0; i < KB_ARRAY_LEN(probes); i++) {
        struct core_exec_action *exec;

        if (!probes[i] || probes[i]->guest_agent_ping)
            continue;
        exec = wrapped(arena, vmi, probes[i]->exec, at_least_one(probes[i]->timeout_seconds, 1));
        if (exec)
            probes[i]->exec = exec;
    }
}

struct core_probe *launcher_probe(struct launcher *l, const struct kv_probe *probe)
{
    struct core_exec_action *exec;
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
    exec = probe->guest_agent_ping ? ping(l->arena, l->vmi, ret->timeout_seconds)
                                   : wrapped(l->arena, l->vmi, probe->exec, ret->timeout_seconds);
    if (exec) {
        ret->exec = exec;
        ret->timeout_seconds += LAUNCHER_PROBE_OVERHEAD_S;
    }
    return ret;
}
