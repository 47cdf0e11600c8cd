/*
 * Annotations about networks, for a new Pod.
 */
#include "virt/launcher/launcher_internal.h"

int virt_network_pod_annotations(struct kb_arena *arena, const struct virt_launcher_input *input,
                                 struct api_string_map *annotations, struct kube_error *reterr)
{
    if (virt_new_pod_networks(arena, input->config, input->vmi, annotations, reterr) < 0)
        return -1;
    if (input->mode != VIRT_LAUNCHER_MIGRATION_TARGET)
        return 0;
    return virt_target_pod_networks(arena, input->config, input->vmi, input->source_pod, annotations, reterr);
}
