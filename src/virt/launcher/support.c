/*
 * Requests and limits of the containers beside compute. supportContainerResources overrides single values; Pods of
 * guaranteed quality have requests equal to limits everywhere.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

enum value { CPU_REQUEST, MEMORY_REQUEST, CPU_LIMIT, MEMORY_LIMIT, N_VALUES };

static const struct value_name {
    const char *resource;
    bool limit;
} values[N_VALUES] = {
    [CPU_REQUEST] = {"cpu", false},
    [MEMORY_REQUEST] = {"memory", false},
    [CPU_LIMIT] = {"cpu", true},
    [MEMORY_LIMIT] = {"memory", true},
};

static const struct row {
    const char *type;                    /* in supportContainerResources */
    const char *defaults[N_VALUES];      /* NULL: none, unless configured */
    const char *guaranteed_cpu_limit;    /* of guaranteed Pods, where it differs */
    const char *guaranteed_memory_limit; /* likewise */
    const char *ephemeral_storage;       /* request */
} rows[LAUNCHER_N_SUPPORT] = {
    [LAUNCHER_SUPPORT_CONSOLE_LOG] = {"guest-console-log", {"5m", "35M", "15m", "60M"}},
    [LAUNCHER_SUPPORT_CONTAINER_DISK_BINARY] = {"container-disk", {"10m", "1M", "100m", "40M"}, "10m", "40M"},
    [LAUNCHER_SUPPORT_CONTAINER_DISK] = {"container-disk",
                                         {"1m", "1M", "10m", "40M"},
                                         .ephemeral_storage = LAUNCHER_EPHEMERAL_STORAGE},
    [LAUNCHER_SUPPORT_VIRTIOFS] = {"virtiofs", {"10m", "1M", "100m", "80M"}},
    [LAUNCHER_SUPPORT_SIDECAR] = {"sidecar", {NULL}, "200m", "64M"},
    [LAUNCHER_SUPPORT_HOTPLUG] = {"hotplug-disk", {"10m", "2M", "100m", "80M"}},
    [LAUNCHER_SUPPORT_EXPORT] = {"vmexport", {"100m", "200Mi", "1", "1Gi"}},
};

static const char *value_of(const struct virt_config *config, const struct row *row, enum value value, bool guaranteed)
{
    const char *configured =
        virt_config_support_resource(config, row->type, values[value].limit, values[value].resource);

    if (configured)
        return configured;
    if (guaranteed && value == CPU_LIMIT && row->guaranteed_cpu_limit)
        return row->guaranteed_cpu_limit;
    if (guaranteed && value == MEMORY_LIMIT && row->guaranteed_memory_limit)
        return row->guaranteed_memory_limit;
    return row->defaults[value];
}

void launcher_support_resources(struct kb_arena *arena, const struct virt_config *config, enum launcher_support type,
                                bool guaranteed, struct core_resource_requirements *ret)
{
    const struct row *row = &rows[type];
    const char *amounts[N_VALUES];

    for (int i = 0; i < N_VALUES; i++)
        amounts[i] = value_of(config, row, (enum value)i, guaranteed);
    if (guaranteed) {
        amounts[CPU_REQUEST] = amounts[CPU_LIMIT];
        amounts[MEMORY_REQUEST] = amounts[MEMORY_LIMIT];
    }
    for (int i = 0; i < N_VALUES; i++)
        if (amounts[i])
            api_map_set(arena, values[i].limit ? &ret->limits : &ret->requests, values[i].resource, amounts[i]);
    if (row->ephemeral_storage)
        api_map_set(arena, &ret->requests, "ephemeral-storage", row->ephemeral_storage);
}
