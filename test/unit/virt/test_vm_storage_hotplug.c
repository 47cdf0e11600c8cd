/* Tests of virt/vm/volume_hotplug: what a running VMI gets of the volumes and disks that its template declares. */
#include "vm_fixture.h"

#define ROOT                 "{\"name\":\"root\",\"containerDisk\":{\"image\":\"i\"}}"
#define HOT                  "{\"name\":\"hot\",\"persistentVolumeClaim\":{\"claimName\":\"a\",\"hotpluggable\":true}}"
#define HOT_B                "{\"name\":\"hot\",\"persistentVolumeClaim\":{\"claimName\":\"b\",\"hotpluggable\":true}}"
#define COLD                 "{\"name\":\"hot\",\"persistentVolumeClaim\":{\"claimName\":\"a\"}}"
#define DV                   "{\"name\":\"dv\",\"dataVolume\":{\"name\":\"dv\",\"hotpluggable\":true}}"
#define DUMP                 "{\"name\":\"dump\",\"memoryDump\":{\"claimName\":\"dump\",\"hotpluggable\":true}}"
#define SPEC(volumes, disks) "{\"domain\":{\"devices\":{\"disks\":[" disks "]}},\"volumes\":[" volumes "]}"
#define DISK(name)           "{\"name\":\"" name "\",\"disk\":{\"bus\":\"virtio\"}}"
#define CD(name)             "{\"name\":\"" name "\",\"cdrom\":{\"bus\":\"sata\"}}"

static const struct row {
    const char *what, *template, *vmi, *reported /* in the VMI's volumeStatus */, *volumes, *disks;
} rows[] = {
    {"equal", SPEC(ROOT, DISK("root")), SPEC(ROOT, DISK("root")), "", "root", "root"},
    {"added", SPEC(ROOT "," HOT, DISK("root") "," DISK("hot")), SPEC(ROOT, DISK("root")), "", "root hot", "root hot"},
    {"added while the old one is still there", SPEC(ROOT "," HOT, DISK("root") "," DISK("hot")),
     SPEC(ROOT, DISK("root")), "hot", "root", "root"},
    {"a DataVolume", SPEC(ROOT "," DV, DISK("root") "," DISK("dv")), SPEC(ROOT, DISK("root")), "", "root dv",
     "root dv"},
    {"not hotpluggable", SPEC(ROOT "," COLD, DISK("root") "," DISK("hot")), SPEC(ROOT, DISK("root")), "", "root",
     "root"},
    {"without a disk", SPEC(ROOT "," HOT, DISK("root")), SPEC(ROOT, DISK("root")), "", "root hot", "root"},
    {"removed", SPEC(ROOT, DISK("root")), SPEC(ROOT "," HOT, DISK("root") "," DISK("hot")), "hot", "root", "root"},
    {"removed, but for the disk", SPEC(ROOT, DISK("root") "," DISK("hot")),
     SPEC(ROOT "," HOT, DISK("root") "," DISK("hot")), "hot", "root", "root hot"},
    {"changed", SPEC(ROOT "," HOT_B, DISK("root") "," DISK("hot")), SPEC(ROOT "," HOT, DISK("root") "," DISK("hot")),
     "hot", "root", "root"},
    {"no longer hotpluggable", SPEC(ROOT "," COLD, DISK("root") "," DISK("hot")),
     SPEC(ROOT "," HOT, DISK("root") "," DISK("hot")), "hot", "root hot", "root hot"},
    {"a medium is put in", SPEC(ROOT "," HOT, DISK("root") "," CD("hot")), SPEC(ROOT, DISK("root") "," CD("hot")), "",
     "root hot", "root hot"},
    {"a medium is taken out", SPEC(ROOT, DISK("root") "," CD("hot")), SPEC(ROOT "," HOT, DISK("root") "," CD("hot")),
     "hot", "root", "root hot"},
    {"a medium is changed", SPEC(ROOT "," HOT_B, DISK("root") "," CD("hot")),
     SPEC(ROOT "," HOT, DISK("root") "," CD("hot")), "hot", "root", "root hot"},
    {"a memory dump", SPEC(ROOT, DISK("root")), SPEC(ROOT "," DUMP, DISK("root")), "dump", "root dump", "root"},
    {"a cold volume of the VMI alone", SPEC(ROOT, DISK("root")), SPEC(ROOT "," COLD, DISK("root") "," DISK("hot")), "",
     "root hot", "root hot"},
};

static const char *names_of_volumes(struct kb_arena *arena, const struct kv_volume_list *volumes)
{
    struct api_strings names = {0};

    api_list_foreach (volume, volumes)
        api_strings_add(arena, &names, volume->name);
    return kb_join(arena, names.items, names.n, " ");
}

static const char *names_of_disks(struct kb_arena *arena, const struct kv_disk_list *disks)
{
    struct api_strings names = {0};

    api_list_foreach (disk, disks)
        api_strings_add(arena, &names, disk->name);
    return kb_join(arena, names.items, names.n, " ");
}

static void the_vmi_gets_what_its_template_declares(void **state)
{
    struct kb_arena *arena = *state;

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        const char *status =
            *r->reported ? kb_arena_printf(arena, "{\"name\":\"%s\",\"target\":\"\"}", r->reported) : "";
        struct kv_vmi *vmi =
            VMI_OF(arena, kb_arena_printf(arena, "{\"spec\":%s,\"status\":{\"volumeStatus\":[%s]}}", r->vmi, status));

        vm_declare_volumes(arena, SPEC_OF(arena, r->template), vmi);
        const char *volumes = names_of_volumes(arena, &vmi->spec.volumes);
        const char *disks = names_of_disks(arena, &vmi->spec.domain.devices.disks);
        if (!kb_streq(volumes, r->volumes) || !kb_streq(disks, r->disks))
            fail_msg("%s: expected volumes %s, disks %s; got volumes %s, disks %s", r->what, r->volumes, r->disks,
                     volumes, disks);
    }
}

static void what_the_vmi_has_in_common_stays_as_it_is(void **state)
{
    struct kb_arena *arena = *state;
    struct kv_vmi *vmi = VMI_OF(arena, "{\"spec\":" SPEC(HOT "," ROOT, DISK("hot") "," DISK("root")) "}");
    const struct kv_vmi *before = api_clone(arena, &kv_vmi_type, vmi);

    vm_declare_volumes(arena, SPEC_OF(arena, SPEC(ROOT "," HOT, DISK("root") "," DISK("hot"))), vmi);
    assert_true(api_equal(&kv_vmi_type, before, vmi));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(the_vmi_gets_what_its_template_declares),
        ARENA_TEST(what_the_vmi_has_in_common_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
