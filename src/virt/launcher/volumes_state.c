/*
 * The claim that keeps a VM's state across restarts: TPM, EFI variables, changed block tracking. Each is a directory of
 * the claim, mounted where libvirt or swtpm expects it.
 */
#include "virt/launcher/launcher_internal.h"
#include "virt/launcher/words.h"

#define NON_ROOT_LIBVIRT LAUNCHER_PRIVATE_DIR "/libvirt"
#define NON_ROOT_QEMU    NON_ROOT_LIBVIRT "/qemu"

static const struct part {
    const char *sub_path;
    const char *path, *non_root_path;
    bool (*wanted)(const struct kv_vmi *vmi);
} parts[] = {
    {"swtpm", "/var/lib/libvirt/swtpm", NON_ROOT_QEMU "/swtpm", launcher_has_persistent_tpm},
    {"swtpm-localca", "/var/lib/swtpm-localca", LAUNCHER_PRIVATE_DIR "/var/lib/swtpm-localca",
     launcher_has_persistent_tpm},
    {"nvram", "/var/lib/libvirt/qemu/nvram", NON_ROOT_QEMU "/nvram", launcher_has_persistent_efi},
    {"cbt", "/var/lib/libvirt/qemu/cbt", NON_ROOT_QEMU "/cbt", launcher_has_block_tracking},
};

/* The kubelet makes missing directories above a mount point as root, closed to others; as volumes of their own they
 * belong to the Pod's group. */
static void add_parents(struct launcher *l)
{
    static const char *const rows[][2] = {{"private-libvirt", NON_ROOT_LIBVIRT},
                                          {"private-libvirt-qemu", NON_ROOT_QEMU}};

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        launcher_empty_dir(l, rows[i][0]);
        launcher_mount(l, rows[i][0], rows[i][1]);
    }
}

void launcher_add_backend_storage(struct launcher *l)
{
    if (!virt_vmi_needs_backend_storage(l->vmi))
        return;
    launcher_claim_volume(l, LAUNCHER_STATE, l->input->backend_storage_claim);
    launcher_mount(l, LAUNCHER_STATE, LAUNCHER_STATE_META_DIR)->sub_path = "meta";
    if (l->non_root)
        add_parents(l);
    for (size_t i = 0; i < KB_ARRAY_LEN(parts); i++)
        if (parts[i].wanted(l->vmi))
            launcher_mount(l, LAUNCHER_STATE, l->non_root ? parts[i].non_root_path : parts[i].path)->sub_path =
                parts[i].sub_path;
}
