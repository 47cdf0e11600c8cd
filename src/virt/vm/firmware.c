/*
 * The firmware UUID of a VM: derived from its name, and written into the template where it has none, so that the guest
 * sees the same one for ever. Source: the reference's watch/vm/firmware.go.
 */
#include "base/strings.h"
#include "virt/vm/vm_internal.h"

/* 6a1a24a1-4061-4607-8bf4-a3963d0c5895 */
static const unsigned char name_space[16] = {0x6a, 0x1a, 0x24, 0xa1, 0x40, 0x61, 0x46, 0x07,
                                             0x8b, 0xf4, 0xa3, 0x96, 0x3d, 0x0c, 0x58, 0x95};

const char *vm_firmware_uuid(struct kb_arena *arena, const char *vm_name)
{
    char uuid[KB_UUID_TEXT];
    kb_uuid_v5(name_space, vm_name, uuid);
    return kb_arena_strdup(arena, uuid);
}

void vm_persist_firmware_uuid(struct vm_pass *pass)
{
    struct kv_firmware **firmware = &pass->vm->spec.template->spec.domain.firmware;
    if (!*firmware)
        *firmware = kb_arena_one(pass->arena, struct kv_firmware);
    if (kb_empty((*firmware)->uuid))
        (*firmware)->uuid = vm_firmware_uuid(pass->arena, pass->vm->metadata.name);
}
