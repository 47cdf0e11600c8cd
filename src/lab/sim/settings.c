/*
 * Parts that an annotation turns off for a namespace or a node.
 */
#include "base/log.h"
#include "base/strings.h"
#include "lab/sim/sim_internal.h"

#define NO_SIM "virt-lab/no-sim"

static const char *const namespaced[] = {"pods", "virtualmachineinstances.kubevirt.io", "persistentvolumeclaims",
                                         "datavolumes.cdi.kubevirt.io", "volumesnapshots.snapshot.storage.k8s.io"};

unsigned sim_parts_off(const struct lab_object *object)
{
    if (!strstr(object->text, NO_SIM)) /* parsing is rarely needed */
        return 0;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    yyjson_val *annotations = LAB_VAL_AT(lab_object_parse(arena, object, NULL), "metadata", "annotations");
    const char *text = lab_val_str(annotations, NO_SIM);
    struct kube_error err;
    unsigned off = 0;
    if (*text && lab_parts_parse(text, &off, &err) < 0)
        kb_log(KB_WARNING, "annotation %s of %s: %s", NO_SIM, object->meta->name, err.message);
    return off;
}

void sim_observe_namespace(struct lab_sim *sim, enum lab_event_type type, struct lab_object *object)
{
    const char *name = object->meta->name;
    unsigned off = type == LAB_DELETED ? 0 : sim_parts_off(object);
    unsigned before = (unsigned)(uintptr_t)kb_map_get(sim->namespaces, name);
    if (off == before)
        return;
    if (off)
        kb_map_put(sim->namespaces, name, (void *)(uintptr_t)off);
    else
        kb_map_remove(sim->namespaces, name);
    if (before & ~off) /* parts that were off have something to catch up with */
        for (size_t i = 0; i < KB_ARRAY_LEN(namespaced); i++)
            sim_requeue(sim, namespaced[i], name);
}
