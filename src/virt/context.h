/*
 * What all controllers of the process share; each gets it as (part of) its `self`. Made once by the program
 * (cmd/virt-controller), alive until every worker has ended.
 */
#ifndef VIRT_CONTEXT_H
#define VIRT_CONTEXT_H

#include "kube/controller.h"
#include "kube/metrics.h"
#include "kube/recorder.h"
#include "virt/config/config.h"
#include "virt/holds.h"
#include "virt/informers.h"
#include "virt/launcher/launcher.h"

struct virt_context {
    struct kube_runtime *runtime;
    struct kube_client *client;
    struct kube_metrics *metrics;
    struct virt_config_store *config;
    struct virt_launcher_settings launcher;
    const char *install_namespace;
    /* --additional-launcher-annotations-sync, --additional-launcher-labels-sync: keys or prefixes ending in '*' */
    struct api_strings synced_annotations, synced_labels;
    struct virt_holds *deletions;      /* of VMs and VMIs: virt/holds.h */
    struct kube_recorder *vm_recorder; /* component virtualmachine-controller: VM, VMI and migration */
};

struct kube_request;
/* The configuration in force, pinned until the request ends. */
const struct virt_config *virt_request_config(struct virt_context *context, struct kube_request *request);
/* Look-ups of the launcher over the caches of a request (NADs and ConfigMaps: live GETs). */
struct virt_launcher_lookups virt_request_lookups(struct virt_context *context, struct kube_request *request);

/* One function a controller: adds its definition to context->runtime. `threads` 0: its default. */
void virt_vmi_controller_add(struct virt_context *context, int threads);
void virt_vm_controller_add(struct virt_context *context, int threads);

#endif
