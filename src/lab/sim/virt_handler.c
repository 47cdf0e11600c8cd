/*
 * virt-handler on all nodes: what it writes about VMIs.
 *
 *   Scheduled -> Running            the domain is up: conditions, machine type, interfaces
 *   Scheduled, Running -> Succeeded the VMI is deleted: the guest is shut down
 *   Running, hotplug                attached volumes become ready (or mounted), dropped ones are unmounted
 *   Running, migration              target address -> start -> domain on the target -> the target takes over and the
 *                                   source's launcher ends; a step each time it looks, as two handlers take turns
 *
 * virt-handler updates whole objects: the nulls in conditions stay, which a merge patch would drop. Where conditions
 * are written this is a JSON patch therefore.
 */
#include "base/strings.h"
#include "lab/sim/sim_internal.h"

static yyjson_mut_val *conditions_without(struct sim_act *a, const char *const *types, size_t n_types)
{
    yyjson_mut_val *list = yyjson_mut_arr(a->doc);
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(yyjson_obj_get(a->status, "conditions"), i, n, c)
    {
        if (!kb_in_list(lab_val_str(c, "type"), types, n_types))
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(a->doc, c));
    }
    return list;
}

/* status.phaseTransitionTimestamps with the entry of a phase that is entered for the first time. */
static yyjson_mut_val *transitions(struct sim_act *a, const char *phase)
{
    yyjson_mut_val *list = yyjson_mut_arr(a->doc);
    size_t i, n;
    yyjson_val *t;
    bool seen = false;
    yyjson_arr_foreach(yyjson_obj_get(a->status, "phaseTransitionTimestamps"), i, n, t)
    {
        yyjson_mut_arr_append(list, yyjson_val_mut_copy(a->doc, t));
        seen |= kb_streq(lab_val_str(t, "phase"), phase);
    }
    if (seen)
        return list;
    yyjson_mut_val *entry = yyjson_mut_arr_add_obj(a->doc, list);
    yyjson_mut_obj_add_str(a->doc, entry, "phase", phase);
    yyjson_mut_obj_add_str(a->doc, entry, "phaseTransitionTimestamp", a->now);
    return list;
}

/* A JSON patch that only fits the object as it was read. */
static yyjson_mut_val *patch_begin(struct sim_act *a)
{
    yyjson_mut_val *patch = yyjson_mut_arr(a->doc), *op = yyjson_mut_arr_add_obj(a->doc, patch);
    yyjson_mut_obj_add_str(a->doc, op, "op", "replace");
    yyjson_mut_obj_add_str(a->doc, op, "path", "/metadata/resourceVersion");
    yyjson_mut_obj_add_str(a->doc, op, "value",
                           kb_arena_printf(a->arena, "%lld", (long long)a->object->resource_version));
    return patch;
}

static void patch_set(struct sim_act *a, yyjson_mut_val *patch, const char *path, yyjson_mut_val *value)
{
    yyjson_mut_val *op = yyjson_mut_arr_add_obj(a->doc, patch);
    yyjson_mut_obj_add_str(a->doc, op, "op", "add");
    yyjson_mut_obj_add_str(a->doc, op, "path", path);
    yyjson_mut_obj_add_val(a->doc, op, "value", value);
}

static yyjson_mut_val *text(struct sim_act *a, const char *value)
{
    return yyjson_mut_strcpy(a->doc, value);
}

/* A locally administered MAC address made of the VMI's identity. */
static const char *mac_address(struct sim_act *a, yyjson_val *interface, size_t index)
{
    const char *given = lab_val_str(interface, "macAddress");
    uint32_t h = kb_fnv32a(a->object->meta->uid, strlen(a->object->meta->uid)) + (uint32_t)index;
    return *given ? given
                  : kb_arena_printf(a->arena, "02:00:00:%02x:%02x:%02x", h >> 16 & 0xff, h >> 8 & 0xff, h & 0xff);
}

static yyjson_mut_val *interfaces(struct sim_act *a)
{
    yyjson_mut_val *list = yyjson_mut_arr(a->doc);
    const char *address = sim_address(a->arena, a->object->meta->uid);
    size_t i, n;
    yyjson_val *given;
    yyjson_arr_foreach(LAB_VAL_AT(a->spec, "domain", "devices", "interfaces"), i, n, given)
    {
        yyjson_mut_val *f = yyjson_mut_arr_add_obj(a->doc, list);
        lab_mut_put_str(a->doc, f, "name", lab_val_str(given, "name"));
        lab_mut_put_str(a->doc, f, "ipAddress", address);
        yyjson_mut_arr_add_str(a->doc, yyjson_mut_obj_add_arr(a->doc, f, "ipAddresses"), address);
        lab_mut_put_str(a->doc, f, "infoSource", "domain");
        lab_mut_put_int(a->doc, f, "queueCount", 1);
        lab_mut_put_str(a->doc, f, "mac", mac_address(a, given, i));
    }
    return list;
}

static int start_guest(struct sim_act *a, struct kube_error *reterr)
{
    static const char *const judged[] = {"LiveMigratable", "StorageLiveMigratable"};
    yyjson_mut_val *conditions = conditions_without(a, judged, KB_ARRAY_LEN(judged));
    for (size_t i = 0; i < KB_ARRAY_LEN(judged); i++) {
        yyjson_mut_val *c = yyjson_mut_arr_add_obj(a->doc, conditions);
        yyjson_mut_obj_add_str(a->doc, c, "type", judged[i]);
        yyjson_mut_obj_add_str(a->doc, c, "status", "True");
        yyjson_mut_obj_add_null(a->doc, c, "lastProbeTime");
        yyjson_mut_obj_add_null(a->doc, c, "lastTransitionTime");
    }
    yyjson_mut_val *machine = yyjson_mut_obj(a->doc), *patch = patch_begin(a), *nics = interfaces(a);
    yyjson_mut_obj_add_str(a->doc, machine, "type", "pc-q35-rhel9.6.0");
    patch_set(a, patch, "/status/phase", text(a, "Running"));
    patch_set(a, patch, "/status/phaseTransitionTimestamps", transitions(a, "Running"));
    patch_set(a, patch, "/status/conditions", conditions);
    patch_set(a, patch, "/status/machine", machine);
    patch_set(a, patch, "/status/selinuxContext", text(a, "none"));
    if (yyjson_mut_arr_size(nics))
        patch_set(a, patch, "/status/interfaces", nics);
    return lab_client_patch(a->client, &a->ref, LAB_PATCH_JSON, patch, NULL, reterr);
}

static int stop_guest(struct sim_act *a, struct kube_error *reterr)
{
    yyjson_mut_val *patch = yyjson_mut_obj(a->doc), *status = yyjson_mut_obj_add_obj(a->doc, patch, "status");
    yyjson_mut_obj_add_str(a->doc, status, "phase", "Succeeded");
    yyjson_mut_obj_add_val(a->doc, status, "phaseTransitionTimestamps", transitions(a, "Succeeded"));
    return sim_merge(a, NULL, true, patch, reterr);
}

/* -- hotplug */

static bool names_volume(struct sim_act *a, const char *list, const char *name)
{
    size_t i, n;
    yyjson_val *v;
    yyjson_arr_foreach(yyjson_obj_get(a->spec, list), i, n, v)
    {
        if (kb_streq(lab_val_str(v, "name"), name))
            return true;
    }
    return false;
}

struct volume_step {
    const char *phase, *reason, *message, *target;
};

static const struct volume_step mounted = {"MountedToPod", "VolumeMountedToPod",
                                           "Volume %s has been mounted in virt-launcher pod", NULL};
static const struct volume_step ready = {"Ready", "VolumeReady", "Successfully attach hotplugged volume %s to VM",
                                         "sda"};
static const struct volume_step unmounted = {"UnMountedFromPod", "VolumeUnMountedFromPod",
                                             "Volume %s has been unmounted from virt-launcher pod", NULL};

/* NULL: nothing to do about this volume. */
static const struct volume_step *volume_step(struct sim_act *a, yyjson_val *volume)
{
    const char *phase = lab_val_str(volume, "phase"), *name = lab_val_str(volume, "name");
    if (!yyjson_obj_get(volume, "hotplugVolume"))
        return NULL;
    bool helper = names_volume(a, "utilityVolumes", name);
    if (kb_streq(phase, "AttachedToNode"))
        return helper ? &mounted : &ready;
    bool dropped = !helper && !names_volume(a, "volumes", name);
    return dropped && (kb_streq(phase, "Ready") || kb_streq(phase, "MountedToPod")) ? &unmounted : NULL;
}

static void put_step(struct sim_act *a, yyjson_mut_val *volume, const struct volume_step *step)
{
    const char *name = lab_mut_str(volume, "name"), *gap = strstr(step->message, "%s");
    lab_mut_put_str(a->doc, volume, "phase", step->phase);
    lab_mut_put_str(a->doc, volume, "reason", step->reason);
    lab_mut_put_str(
        a->doc, volume, "message",
        kb_arena_printf(a->arena, "%.*s%s%s", (int)(gap - step->message), step->message, name, gap + strlen("%s")));
    if (step->target)
        lab_mut_put_str(a->doc, volume, "target", step->target);
}

/* True when a volume moved; then *ret_rc is the outcome. */
static bool move_volumes(struct sim_act *a, int *ret_rc, struct kube_error *reterr)
{
    yyjson_mut_val *list = yyjson_mut_arr(a->doc);
    size_t i, n;
    yyjson_val *v;
    bool any = false;
    yyjson_arr_foreach(yyjson_obj_get(a->status, "volumeStatus"), i, n, v)
    {
        const struct volume_step *step = volume_step(a, v);
        yyjson_mut_val *m = yyjson_val_mut_copy(a->doc, v);
        if (step)
            put_step(a, m, step);
        any |= step != NULL;
        yyjson_mut_arr_append(list, m);
    }
    if (!any)
        return false;
    yyjson_mut_val *patch = yyjson_mut_obj(a->doc);
    yyjson_mut_obj_add_val(a->doc, yyjson_mut_obj_add_obj(a->doc, patch, "status"), "volumeStatus", list);
    *ret_rc = sim_merge(a, NULL, true, patch, reterr);
    return true;
}

/* -- migration */

static int patch_migration(struct sim_act *a, const char *state, struct kube_error *reterr)
{
    const char *patch = kb_arena_printf(a->arena, "{\"status\":{\"migrationState\":%s}}", state);
    return sim_merge(a, NULL, true, lab_json_mut(a->doc, a->arena, patch), reterr);
}

static int migration_arrives(struct sim_act *a, yyjson_val *state, struct kube_error *reterr)
{
    static const char *const dropped[] = {"MigrationRequired"};
    yyjson_mut_val *m = yyjson_val_mut_copy(a->doc, state), *patch = patch_begin(a);
    lab_mut_put_bool(a->doc, m, "targetNodeDomainDetected", true);
    lab_mut_put_str(a->doc, m, "targetNodeDomainReadyTimestamp", a->now);
    patch_set(a, patch, "/status/migrationState", m);
    patch_set(a, patch, "/status/conditions", conditions_without(a, dropped, 1));
    return lab_client_patch(a->client, &a->ref, LAB_PATCH_JSON, patch, NULL, reterr);
}

static int migration_ends(struct sim_act *a, yyjson_val *state, struct kube_error *reterr)
{
    yyjson_mut_val *patch = lab_json_mut(
        a->doc, a->arena,
        "{\"metadata\":{\"labels\":{\"kubevirt.io/outdatedLauncherImage\":null,"
        "\"kubevirt.io/migrationTargetNodeName\":null},\"annotations\":{\"kubevirt.io/eviction-source\":null}},"
        "\"status\":{\"evacuationNodeName\":null,\"launcherContainerImageVersion\":null,"
        "\"migrationTransport\":\"Unix\",\"migrationState\":{\"completed\":true}}}");
    const char *target = lab_val_str(state, "targetNode"), *source_pod = lab_val_str(state, "sourcePod");
    yyjson_mut_val *status = yyjson_mut_obj_get(patch, "status");
    lab_mut_put_str(a->doc, LAB_AT(patch, "metadata", "labels"), "kubevirt.io/nodeName", target);
    lab_mut_put_str(a->doc, status, "nodeName", target);
    lab_mut_put_str(a->doc, yyjson_mut_obj_get(status, "migrationState"), "endTimestamp", a->now);
    if (sim_merge(a, NULL, true, patch, reterr) < 0)
        return -1;
    return *source_pod ? sim_pod_exits(a, a->ref.namespace_, source_pod, reterr) : 0;
}

static int migrate(struct sim_act *a, yyjson_val *state, struct kube_error *reterr)
{
    if (!*lab_val_str(state, "targetNodeAddress"))
        return patch_migration(
            a,
            kb_arena_printf(a->arena,
                            "{\"targetNodeAddress\":\"%s\",\"targetDirectMigrationNodePorts\":{\"49152\":49152}}",
                            sim_node(a->sim, lab_val_str(state, "targetNode"))->address),
            reterr);
    if (!*lab_val_str(state, "startTimestamp"))
        return patch_migration(a, kb_arena_printf(a->arena, "{\"startTimestamp\":\"%s\"}", a->now), reterr);
    if (!yyjson_get_bool(yyjson_obj_get(state, "targetNodeDomainDetected")))
        return migration_arrives(a, state, reterr);
    return migration_ends(a, state, reterr);
}

/* -- */

static bool migrates(yyjson_val *state)
{
    return *lab_val_str(state, "targetNode") && *lab_val_str(state, "targetPod") &&
           !yyjson_get_bool(yyjson_obj_get(state, "completed"));
}

static int handle(struct sim_act *a, struct kube_error *reterr)
{
    const char *phase = lab_val_str(a->status, "phase"), *node = lab_val_str(a->status, "nodeName");
    yyjson_val *migration = yyjson_obj_get(a->status, "migrationState");
    bool scheduled = kb_streq(phase, "Scheduled"), up = kb_streq(phase, "Running");
    int rc = 0;
    if ((!scheduled && !up) || !sim_plays(a->sim, LAB_PART_VIRT_HANDLER, a->ref.namespace_, node))
        return 0;
    if (a->object->meta->deleting)
        return stop_guest(a, reterr);
    if (scheduled)
        return start_guest(a, reterr);
    if (move_volumes(a, &rc, reterr))
        return rc;
    if (migrates(migration) &&
        sim_plays(a->sim, LAB_PART_VIRT_HANDLER, a->ref.namespace_, lab_val_str(migration, "targetNode")))
        return migrate(a, migration, reterr);
    return 0;
}

const struct sim_rule sim_virt_handler_rules[] = {
    {LAB_PART_VIRT_HANDLER, "virtualmachineinstances.kubevirt.io", NULL, handle},
    {0},
};
