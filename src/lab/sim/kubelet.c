/*
 * The kubelets of all nodes: a Pod that has a node runs at once, its init containers completed; one that is deleted is
 * gone at once.
 */
#include "base/strings.h"
#include "lab/sim/sim_internal.h"
#include <stdlib.h>

static bool starts(const struct lab_object *pod)
{
    return !pod->meta->deleting && *pod->meta->fields[SIM_POD_NODE] &&
           kb_streq(pod->meta->fields[SIM_POD_PHASE], "Pending");
}

static bool ends(const struct lab_object *pod)
{
    return pod->meta->deleting && *pod->meta->fields[SIM_POD_NODE];
}

const char *sim_address(struct kb_arena *arena, const char *whose)
{
    char hex[KB_SHA1_HEX];
    kb_sha1_hex(whose, strlen(whose), hex);
    hex[4] = 0;
    unsigned n = (unsigned)strtoul(hex, NULL, 16);
    return kb_arena_printf(arena, "10.244.%u.%u", n >> 8, n & 0xff ? n & 0xff : 1);
}

static void put_conditions(struct sim_act *a, yyjson_mut_val *status)
{
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady",
                                        "PodScheduled"};
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(a->doc, status, "conditions");
    for (size_t i = 0; i < KB_ARRAY_LEN(types); i++) {
        yyjson_mut_val *c = yyjson_mut_arr_add_obj(a->doc, list);
        yyjson_mut_obj_add_str(a->doc, c, "type", types[i]);
        yyjson_mut_obj_add_str(a->doc, c, "status", "True");
        yyjson_mut_obj_add_str(a->doc, c, "lastTransitionTime", a->now);
    }
}

/* state.terminated of a container that ended well. */
static yyjson_mut_val *completed(struct sim_act *a)
{
    yyjson_mut_val *state = yyjson_mut_obj(a->doc), *t = yyjson_mut_obj_add_obj(a->doc, state, "terminated");
    yyjson_mut_obj_add_int(a->doc, t, "exitCode", 0);
    yyjson_mut_obj_add_str(a->doc, t, "reason", "Completed");
    yyjson_mut_obj_add_str(a->doc, t, "startedAt", a->now);
    yyjson_mut_obj_add_str(a->doc, t, "finishedAt", a->now);
    return state;
}

static yyjson_mut_val *running(struct sim_act *a)
{
    yyjson_mut_val *state = yyjson_mut_obj(a->doc);
    yyjson_mut_obj_add_str(a->doc, yyjson_mut_obj_add_obj(a->doc, state, "running"), "startedAt", a->now);
    return state;
}

static void put_container(struct sim_act *a, yyjson_mut_val *list, yyjson_val *container, bool init)
{
    const char *image = lab_val_str(container, "image"), *name = lab_val_str(container, "name");
    bool goes_on = !init || kb_streq(lab_val_str(container, "restartPolicy"), "Always");
    yyjson_mut_val *c = yyjson_mut_arr_add_obj(a->doc, list);
    yyjson_mut_obj_add_str(a->doc, c, "name", name);
    yyjson_mut_obj_add_bool(a->doc, c, "ready", true);
    yyjson_mut_obj_add_bool(a->doc, c, "started", true);
    yyjson_mut_obj_add_int(a->doc, c, "restartCount", 0);
    yyjson_mut_obj_add_str(a->doc, c, "image", image);
    yyjson_mut_obj_add_str(a->doc, c, "imageID", image);
    yyjson_mut_obj_add_str(a->doc, c, "containerID", kb_arena_printf(a->arena, "cri-o://%s", name));
    yyjson_mut_obj_add_val(a->doc, c, "state", goes_on ? running(a) : completed(a));
}

static void put_containers(struct sim_act *a, yyjson_mut_val *status)
{
    size_t i, n;
    yyjson_val *c;
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(a->doc, status, "containerStatuses");
    yyjson_arr_foreach(yyjson_obj_get(a->spec, "containers"), i, n, c)
    {
        put_container(a, list, c, false);
    }
    list = yyjson_mut_obj_add_arr(a->doc, status, "initContainerStatuses");
    yyjson_arr_foreach(yyjson_obj_get(a->spec, "initContainers"), i, n, c)
    {
        put_container(a, list, c, true);
    }
}

/* A guest has its launcher's address; the launcher that a migration goes to has one of its own. */
static const char *address_of(struct sim_act *a)
{
    yyjson_val *labels = yyjson_obj_get(a->metadata, "labels");
    const char *guest = lab_val_str(labels, "kubevirt.io/created-by");
    bool target = *lab_val_str(labels, "kubevirt.io/migrationJobUID");
    return sim_address(a->arena, *guest && !target ? guest : a->ref.name);
}

static int start_pod(struct sim_act *a, struct kube_error *reterr)
{
    const char *node = a->object->meta->fields[SIM_POD_NODE];
    if (!sim_plays(a->sim, LAB_PART_KUBELET, a->ref.namespace_, node) ||
        yyjson_obj_get(yyjson_obj_get(a->metadata, "annotations"), "virt-lab/hold"))
        return 0;
    const char *address = address_of(a), *qos = lab_val_str(a->status, "qosClass");
    yyjson_mut_val *patch = yyjson_mut_obj(a->doc), *status = yyjson_mut_obj_add_obj(a->doc, patch, "status");
    yyjson_mut_obj_add_str(a->doc, status, "phase", "Running");
    yyjson_mut_obj_add_str(a->doc, status, "podIP", address);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(a->doc, status, "podIPs");
    yyjson_mut_obj_add_str(a->doc, yyjson_mut_arr_add_obj(a->doc, list), "ip", address);
    yyjson_mut_obj_add_str(a->doc, status, "hostIP", sim_node(a->sim, node)->address);
    yyjson_mut_obj_add_str(a->doc, status, "qosClass", *qos ? qos : "Burstable");
    yyjson_mut_obj_add_str(a->doc, status, "startTime", a->now);
    put_conditions(a, status);
    put_containers(a, status);
    return sim_merge(a, "status", true, patch, reterr);
}

static int remove_pod(struct sim_act *a, struct kube_error *reterr)
{
    if (!sim_plays(a->sim, LAB_PART_KUBELET, a->ref.namespace_, a->object->meta->fields[SIM_POD_NODE]))
        return 0;
    struct lab_delete_options options = {.grace_seconds = 0, .uid = a->object->meta->uid};
    return lab_client_delete(a->client, &a->ref, &options, reterr);
}

static yyjson_mut_val *ended_containers(struct sim_act *a, yyjson_val *statuses)
{
    yyjson_mut_val *list = yyjson_mut_arr(a->doc);
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(statuses, i, n, c)
    {
        yyjson_mut_val *m = yyjson_val_mut_copy(a->doc, c);
        lab_mut_put_bool(a->doc, m, "ready", false);
        lab_mut_put_bool(a->doc, m, "started", false);
        lab_mut_put(a->doc, m, "state", completed(a));
        yyjson_mut_arr_append(list, m);
    }
    return list;
}

static yyjson_mut_val *ended_conditions(struct sim_act *a, yyjson_val *conditions)
{
    yyjson_mut_val *list = yyjson_mut_arr(a->doc);
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(conditions, i, n, c)
    {
        yyjson_mut_val *m = yyjson_val_mut_copy(a->doc, c);
        const char *type = lab_val_str(c, "type");
        if (kb_streq(type, "Ready") || kb_streq(type, "ContainersReady")) {
            lab_mut_put_str(a->doc, m, "status", "False");
            lab_mut_put_str(a->doc, m, "reason", "PodCompleted");
        }
        yyjson_mut_arr_append(list, m);
    }
    return list;
}

int sim_pod_exits(struct sim_act *a, const char *namespace_, const char *name, struct kube_error *reterr)
{
    struct lab_ref ref = {.resource = "pods", .namespace_ = namespace_, .name = name};
    struct lab_client *kubelet = a->sim->users[LAB_PART_KUBELET];
    lab_cleanup_object struct lab_object *pod = NULL;
    if (lab_client_get(kubelet, &ref, &pod, reterr) < 0)
        return -1;
    if (pod->meta->deleting || !sim_plays(a->sim, LAB_PART_KUBELET, namespace_, pod->meta->fields[SIM_POD_NODE]))
        return 0;
    yyjson_val *had = yyjson_obj_get(lab_object_parse(a->arena, pod, NULL), "status");
    yyjson_mut_val *patch = yyjson_mut_obj(a->doc), *status = yyjson_mut_obj_add_obj(a->doc, patch, "status");
    yyjson_mut_obj_add_str(a->doc, status, "phase", "Succeeded");
    yyjson_mut_obj_add_val(a->doc, status, "containerStatuses",
                           ended_containers(a, yyjson_obj_get(had, "containerStatuses")));
    yyjson_mut_obj_add_val(a->doc, status, "conditions", ended_conditions(a, yyjson_obj_get(had, "conditions")));
    ref.subresource = "status";
    return lab_client_patch(kubelet, &ref, LAB_PATCH_MERGE, patch, NULL, reterr);
}

const struct sim_rule sim_kubelet_rules[] = {
    {LAB_PART_KUBELET, "pods", starts, start_pod},
    {LAB_PART_KUBELET, "pods", ends, remove_pod},
    {0},
};
