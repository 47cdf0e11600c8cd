/*
 * Memory dumps of running VMs into a claim, by request (status.memoryDumpRequest, put there by virt-api). The claim is
 * plugged into the VMI as a volume of its own name; virt-handler dumps into it and reports in the VMI's volumeStatus.
 *
 *     Associating ---------> InProgress ---------> Unmounting ---------> Completed
 *       volume into VMI        virt-handler dumps    annotate the claim,    (again Associating by virt-api)
 *       and template             |                   volume out of the VMI
 *                                +---------------> Failed: annotate the claim, volume out of the VMI
 *     any, with remove=true -> Dissociating: volume out of VMI and template, then the request goes
 *
 * The first half of this file acts by the phase, the second moves the phase on. The reference forgets a removal that is
 * asked for while the dump is being unmounted or is complete; here it counts in every phase.
 * Source: the reference's pkg/storage/memorydump/memorydump.go.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "virt/names.h"
#include "virt/storage/volumes.h"
#include "virt/vm/vm_internal.h"

#define ASSOCIATING  "Associating"
#define IN_PROGRESS  "InProgress"
#define UNMOUNTING   "Unmounting"
#define COMPLETED    "Completed"
#define FAILED       "Failed"
#define DISSOCIATING "Dissociating"

#define VOLUME_COMPLETED "MemoryDumpCompleted" /* phases of the VMI's volumeStatus */
#define VOLUME_FAILED    "MemoryDumpFailed"

#define DUMP_ANNOTATION "kubevirt.io/memory-dump"
#define FAILED_TEXT     "Memory dump failed"

static bool in_phase(const struct kv_vm_memory_dump_request *request, const char *phase)
{
    return kb_streq(request->phase, phase);
}

/* ---- what a phase does ---- */

static void add_volume(struct kb_arena *arena, struct kv_vmi_spec *spec, const char *claim)
{
    if (vm_find_volume(spec, claim))
        return;
    struct kv_volume *volume = kb_vec_push(arena, &spec->volumes);
    volume->name = claim;
    volume->memory_dump = kb_arena_one(arena, struct kv_memory_dump_volume_source);
    volume->memory_dump->claim_name = claim;
    volume->memory_dump->hotpluggable = true;
}

static int plug(struct vm_pass *pass, const char *claim, bool in, struct kube_error *reterr)
{
    if (!pass->vmi || (vm_find_volume(&pass->vmi->spec, claim) != NULL) == in)
        return 0;
    struct kv_vmi *after = KUBE_EDIT(pass->req, kv_vmi, pass->vmi);
    if (in)
        add_volume(pass->arena, &after->spec, claim);
    else
        vm_remove_volume(&after->spec, claim);
    return vm_update_vmi(pass, after, reterr);
}

static int associate(struct vm_pass *pass, const char *claim, struct kube_error *reterr)
{
    if (!pass->vmi || api_is_being_deleted(&pass->vmi->metadata) || !kb_streq(pass->vmi->status.phase, "Running"))
        return 0;
    if (plug(pass, claim, true, reterr) < 0)
        return -1;
    add_volume(pass->arena, &pass->vm->spec.template->spec, claim);
    return 0;
}

/* The claim tells what is in it: the name of the dump, or that there is none. */
static int annotate_claim(struct vm_pass *pass, const struct kv_vm_memory_dump_request *request,
                          struct kube_error *reterr)
{
    const struct core_pvc *pvc = virt_claim(pass->req, pass->vm->metadata.namespace, request->claim_name);
    if (!pvc)
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "Error when trying to update memory dump annotation, pvc %s not found",
                              request->claim_name);
    const char *text = in_phase(request, FAILED) ? FAILED_TEXT : request->file_name;
    if (!text)
        return 0;
    struct core_pvc *after = KUBE_EDIT(pass->req, core_pvc, pvc);
    api_map_set(pass->arena, &after->metadata.annotations, DUMP_ANNOTATION, text);
    return kube_update(pass->req, &core_pvc_type, pvc, after, NULL, reterr);
}

static int release(struct vm_pass *pass, const struct kv_vm_memory_dump_request *request, struct kube_error *reterr)
{
    if (annotate_claim(pass, request, reterr) < 0)
        return -1;
    return plug(pass, request->claim_name, false, reterr);
}

static int dissociate(struct vm_pass *pass, const char *claim, struct kube_error *reterr)
{
    if (plug(pass, claim, false, reterr) < 0)
        return -1;
    vm_remove_volume(&pass->vm->spec.template->spec, claim);
    return 0;
}

int vm_sync_memory_dump(struct vm_pass *pass, struct kube_error *reterr)
{
    const struct kv_vm_memory_dump_request *request = pass->vm->status.memory_dump_request;
    if (!request)
        return 0;
    if (in_phase(request, ASSOCIATING))
        return associate(pass, request->claim_name, reterr);
    if (in_phase(request, UNMOUNTING) || in_phase(request, FAILED))
        return release(pass, request, reterr);
    if (in_phase(request, DISSOCIATING))
        return dissociate(pass, request->claim_name, reterr);
    return 0;
}

void vm_drop_done_memory_dump(const struct kv_vm *vm, struct kv_vmi_spec *spec)
{
    const struct kv_vm_memory_dump_request *request = vm->status.memory_dump_request;
    if (request && !in_phase(request, ASSOCIATING) && !in_phase(request, IN_PROGRESS))
        vm_remove_volume(spec, request->claim_name);
}

/* ---- the next phase ---- */

static const struct kv_volume_status *volume_status(const struct kv_vmi *vmi, const char *name)
{
    if (!vmi)
        return NULL;
    api_list_foreach (status, &vmi->status.volume_status)
        if (kb_streq(status->name, name))
            return status;
    return NULL;
}

static void take_progress(struct kv_vm_memory_dump_request *request, const struct kv_volume_status *volume)
{
    const struct kv_domain_memory_dump_info *dump = volume ? volume->memory_dump_volume : NULL;
    if (!dump)
        return;
    if (dump->start_timestamp)
        request->start_timestamp = dump->start_timestamp;
    if (kb_streq(volume->phase, VOLUME_COMPLETED)) {
        request->phase = UNMOUNTING;
        request->end_timestamp = dump->end_timestamp;
        request->file_name = dump->target_file_name;
    } else if (kb_streq(volume->phase, VOLUME_FAILED)) {
        request->phase = FAILED;
        request->message = volume->message;
        request->end_timestamp = dump->end_timestamp;
    }
}

bool vm_next_memory_dump(const struct kv_vmi_spec *template, const struct kv_vmi *vmi,
                         struct kv_vm_memory_dump_request *request)
{
    const struct kv_volume_status *volume = volume_status(vmi, request->claim_name);
    bool in_template = vm_find_volume(template, request->claim_name);
    if (in_phase(request, DISSOCIATING))
        return volume || in_template;
    if (request->remove)
        request->phase = DISSOCIATING;
    else if (in_phase(request, ASSOCIATING) && in_template)
        request->phase = IN_PROGRESS;
    else if (in_phase(request, IN_PROGRESS))
        take_progress(request, volume);
    else if (in_phase(request, UNMOUNTING) && !volume)
        request->phase = COMPLETED;
    return true;
}

void vm_update_memory_dump(struct vm_pass *pass)
{
    struct kv_vm *vm = pass->vm;
    struct kv_vm_memory_dump_request *request = vm->status.memory_dump_request;
    if (request && !vm_next_memory_dump(&vm->spec.template->spec, pass->vmi, request))
        vm->status.memory_dump_request = NULL;
}
