/*
 * Nodes: the ones that the lab makes, with what kubelet and virt-handler write on them; and how many Pods are on each.
 */
#include "base/strings.h"
#include "base/time.h"
#include "base/vec.h"
#include "lab/sim/sim_internal.h"
#include <stdlib.h>

#define HEARTBEAT       (30 * KB_NS_PER_S)
#define ANY_ADDRESS     "192.0.2.10"
#define HEARTBEAT_NOTE  "kubevirt.io/heartbeat"
#define KUBELET_VERSION "v1.36.3"
#define NOT_READY       "node.kubernetes.io/not-ready"

/* Labels with the value "true", as virt-handler's node labeller leaves them on a machine of these days. */
static const char *const true_labels[] = {
    "kubevirt.io/schedulable",
    "kubevirt.io/cpumanager",
    "machine-type.node.kubevirt.io/q35",
    "machine-type.node.kubevirt.io/pc-q35-rhel9.6.0",
    "machine-type.node.kubevirt.io/pc-q35-rhel9.4.0",
    "cpu-vendor.node.kubevirt.io/Intel",
    "cpu-model.node.kubevirt.io/Haswell",
    "cpu-model.node.kubevirt.io/Skylake-Server",
    "cpu-model-migration.node.kubevirt.io/Haswell",
    "cpu-model-migration.node.kubevirt.io/Skylake-Server",
    "host-model-cpu.node.kubevirt.io/Skylake-Server",
    "cpu-feature.node.kubevirt.io/aes",
    "cpu-feature.node.kubevirt.io/avx2",
    "cpu-feature.node.kubevirt.io/invtsc",
    "cpu-feature.node.kubevirt.io/ssbd",
    "cpu-feature.node.kubevirt.io/vmx",
    "hyperv.node.kubevirt.io/base",
    "hyperv.node.kubevirt.io/frequencies",
    "hyperv.node.kubevirt.io/ipi",
    "hyperv.node.kubevirt.io/reset",
    "hyperv.node.kubevirt.io/runtime",
    "hyperv.node.kubevirt.io/synic",
    "hyperv.node.kubevirt.io/synictimer",
    "hyperv.node.kubevirt.io/time",
    "hyperv.node.kubevirt.io/tlbflush",
    "hyperv.node.kubevirt.io/vpindex",
};

static const char capacity[] =
    "{\"cpu\":\"16\",\"memory\":\"64Gi\",\"pods\":\"250\",\"devices.kubevirt.io/kvm\":\"1k\","
    "\"devices.kubevirt.io/tun\":\"1k\",\"devices.kubevirt.io/vhost-net\":\"1k\"}";

static int make_node(struct lab_sim *sim, unsigned number, struct kube_error *reterr)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    yyjson_mut_doc *doc = lab_json_doc(arena);
    const char *now = kb_time_text(arena, sim->clock->wall(sim->clock));
    const char *name = kb_arena_printf(arena, "node%02u", number);
    yyjson_mut_val *node = yyjson_mut_obj(doc), *metadata = lab_mut_object(doc, node, "metadata");
    yyjson_mut_val *labels = lab_mut_object(doc, metadata, "labels");
    lab_mut_put_str(doc, metadata, "name", name);
    lab_mut_put_str(doc, labels, "kubernetes.io/hostname", name);
    lab_mut_put_str(doc, labels, "kubernetes.io/arch", "amd64");
    lab_mut_put_str(doc, labels, "kubernetes.io/os", "linux");
    for (size_t i = 0; i < KB_ARRAY_LEN(true_labels); i++)
        lab_mut_put_str(doc, labels, true_labels[i], "true");
    lab_mut_put_str(doc, lab_mut_object(doc, metadata, "annotations"), HEARTBEAT_NOTE, now);
    struct lab_client *kubelet = sim->users[LAB_PART_KUBELET];
    struct lab_ref ref = {.resource = "nodes", .name = name};
    if (lab_client_create(kubelet, &ref, node, NULL, reterr) < 0)
        return -1;
    ref.subresource = "status";
    const char *status = lab_json_printf(
        arena,
        "{\"status\":{\"capacity\":%s,\"allocatable\":%s,\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
        "\"192.0.2.%u\"},{\"type\":\"Hostname\",\"address\":\"%s\"}],\"nodeInfo\":{\"architecture\":\"amd64\","
        "\"operatingSystem\":\"linux\",\"kubeletVersion\":\"%s\",\"osImage\":\"virt-lab\",\"kernelVersion\":\"none\","
        "\"containerRuntimeVersion\":\"simulated://1\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
        "\"reason\":\"KubeletReady\",\"lastHeartbeatTime\":\"%s\",\"lastTransitionTime\":\"%s\"}]}}",
        capacity, capacity, 9 + number % 240, name, KUBELET_VERSION, now, now);
    if (lab_client_patch_text(kubelet, &ref, LAB_PATCH_MERGE, status, NULL, reterr) < 0)
        return -1;
    ref.subresource = NULL; /* ready from the start, however slow the parts are */
    return lab_client_patch_text(kubelet, &ref, LAB_PATCH_MERGE, "{\"spec\":{\"taints\":null}}", NULL, reterr);
}

int sim_nodes_make(struct lab_sim *sim, struct kube_error *reterr)
{
    sim->next_heartbeat = sim->clock->mono(sim->clock) + HEARTBEAT;
    if (sim->options.off & LAB_PART_BIT(LAB_PART_KUBELET))
        return 0;
    for (unsigned i = 1; i <= sim->options.nodes; i++)
        if (make_node(sim, i, reterr) < 0)
            return -1;
    return 0;
}

static void beat(struct lab_sim *sim, const struct sim_node *node, const char *now)
{
    unsigned off = node->off | sim->options.off;
    struct lab_ref ref = {.resource = "nodes", .name = node->name};
    const char *note =
        kb_arena_printf(sim->arena, "{\"metadata\":{\"annotations\":{\"%s\":\"%s\"}}}", HEARTBEAT_NOTE, now);
    const char *ready = kb_arena_printf(
        sim->arena,
        "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastHeartbeatTime\":\"%s\"}]}}", now);
    if (!(off & LAB_PART_BIT(LAB_PART_VIRT_HANDLER)))
        lab_client_patch_text(sim->users[LAB_PART_VIRT_HANDLER], &ref, LAB_PATCH_MERGE, note, NULL, NULL);
    ref.subresource = "status";
    if (!(off & LAB_PART_BIT(LAB_PART_KUBELET)))
        lab_client_patch_text(sim->users[LAB_PART_KUBELET], &ref, LAB_PATCH_STRATEGIC, ready, NULL, NULL);
}

void sim_nodes_beat(struct lab_sim *sim)
{
    sim->next_heartbeat = sim->clock->mono(sim->clock) + HEARTBEAT;
    kb_arena_reset(sim->arena);
    const char *now = kb_time_text(sim->arena, sim->clock->wall(sim->clock));
    for (size_t i = 0; i < sim->nodes.n; i++)
        if (sim->nodes.items[i]->object)
            beat(sim, sim->nodes.items[i], now);
}

struct sim_node *sim_node(struct lab_sim *sim, const char *name)
{
    for (size_t i = 0; i < sim->nodes.n; i++)
        if (kb_streq(sim->nodes.items[i]->name, name))
            return sim->nodes.items[i];
    struct sim_node *node = kb_malloc(sizeof(*node));
    node->name = kb_strdup(name);
    node->address = ANY_ADDRESS;
    node->arena = kb_arena_new();
    *kb_vec_push(NULL, &sim->nodes) = node;
    return node;
}

static const char *address_of(yyjson_val *status)
{
    size_t i, n;
    yyjson_val *a;
    yyjson_arr_foreach(yyjson_obj_get(status, "addresses"), i, n, a)
    {
        if (kb_streq(lab_val_str(a, "type"), "InternalIP"))
            return lab_val_str(a, "address");
    }
    return ANY_ADDRESS;
}

void sim_observe_node(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object)
{
    struct sim_node *node = sim_node(sim, object->meta->name);
    lab_object_unref(node->object);
    kb_arena_reset(node->arena);
    node->object = NULL;
    node->spec = NULL;
    node->address = ANY_ADDRESS;
    unsigned before = node->off;
    node->off = 0;
    if (type == LAB_DELETED)
        return;
    node->object = lab_object_ref(object);
    node->off = sim_parts_off(object);
    yyjson_val *root = lab_object_parse(node->arena, object, NULL);
    node->spec = yyjson_obj_get(root, "spec");
    node->address = address_of(yyjson_obj_get(root, "status"));
    if (before & ~node->off) { /* parts that were off have something to catch up with */
        sim_requeue(sim, "pods", NULL);
        sim_requeue(sim, "virtualmachineinstances.kubevirt.io", NULL);
    }
}

void sim_pod_moved(struct lab_sim *sim, const char *key, struct sim_node *node)
{
    struct sim_node *before = kb_map_get(sim->pods, key);
    if (before == node)
        return;
    if (before)
        before->pods--;
    if (node) {
        node->pods++;
        kb_map_put(sim->pods, key, node);
    } else {
        kb_map_remove(sim->pods, key);
    }
}

void sim_observe_pod(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object)
{
    const char *name = object->meta->fields[SIM_POD_NODE], *phase = object->meta->fields[SIM_POD_PHASE];
    bool over = type == LAB_DELETED || kb_streq(phase, "Succeeded") || kb_streq(phase, "Failed");
    if (*name || over)
        sim_pod_moved(sim, object->meta->key, over || !*name ? NULL : sim_node(sim, name));
}

/* -- the node controller: a node is tainted until it is ready */

static bool is_ready(yyjson_val *status)
{
    size_t i, n;
    yyjson_val *c;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), i, n, c)
    {
        if (kb_streq(lab_val_str(c, "type"), "Ready"))
            return kb_streq(lab_val_str(c, "status"), "True");
    }
    return false;
}

static int follow_readiness(struct sim_act *a, struct kube_error *reterr)
{
    yyjson_mut_val *patch = yyjson_mut_obj(a->doc), *spec = yyjson_mut_obj_add_obj(a->doc, patch, "spec");
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(a->doc, spec, "taints");
    bool ready = is_ready(a->status), tainted = false;
    size_t i, n;
    yyjson_val *t;
    yyjson_arr_foreach(yyjson_obj_get(a->spec, "taints"), i, n, t)
    {
        if (kb_streq(lab_val_str(t, "key"), NOT_READY))
            tainted = true;
        else
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(a->doc, t));
    }
    if (ready != tainted)
        return 0;
    if (!ready) {
        yyjson_mut_val *taint = yyjson_mut_arr_add_obj(a->doc, list);
        yyjson_mut_obj_add_str(a->doc, taint, "key", NOT_READY);
        yyjson_mut_obj_add_str(a->doc, taint, "effect", "NoSchedule");
    }
    return sim_merge(a, NULL, true, patch, reterr);
}

const struct sim_rule sim_node_rules[] = {
    {LAB_PART_KUBELET, "nodes", NULL, follow_readiness},
    {0},
};

void sim_nodes_done(struct lab_sim *sim)
{
    for (size_t i = 0; i < sim->nodes.n; i++) {
        struct sim_node *node = sim->nodes.items[i];
        lab_object_unref(node->object);
        kb_arena_free(node->arena);
        free((char *)node->name);
        free(node);
    }
    free(sim->nodes.items);
}
