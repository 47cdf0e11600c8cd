/* Tests of virt/vm/memory_dump: the phases of a request, and what a new start takes along. */
#include "vm_fixture.h"

#define WITHOUT "{\"domain\":{\"devices\":{}},\"volumes\":[]}"
#define WITH    "{\"domain\":{\"devices\":{}},\"volumes\":[{\"name\":\"dump\",\"memoryDump\":{\"claimName\":\"dump\"}}]}"
#define REPORTED(more)                                                                                                 \
    "{\"status\":{\"volumeStatus\":[{\"name\":\"other\",\"target\":\"\"},{\"name\":\"dump\",\"target\":\"\"" more "}]" \
    "}}"
#define GONE    "{\"status\":{}}"
#define TIMES   "\"startTimestamp\":\"2026-01-01T00:00:00Z\",\"endTimestamp\":\"2026-01-01T00:00:09Z\""
#define DUMP    ",\"memoryDumpVolume\":{\"claimName\":\"dump\"," TIMES ",\"targetFileName\":\"f\"}"
#define START   ",\"memoryDumpVolume\":{\"claimName\":\"dump\",\"startTimestamp\":\"2026-01-01T00:00:00Z\"}"
#define IN(ph)  "{\"claimName\":\"dump\",\"phase\":\"" ph "\"}"
#define OUT(ph) "{\"claimName\":\"dump\",\"phase\":\"" ph "\",\"remove\":true}"

static const struct row {
    const char *what, *request, *template, *vmi /* "": none */, *next /* "": the request is done */;
} rows[] = {
    {"waits for the volume", IN("Associating"), WITHOUT, GONE, IN("Associating")},
    {"has its volume", IN("Associating"), WITH, GONE, IN("InProgress")},
    {"has its volume, without VMI", IN("Associating"), WITH, "", IN("InProgress")},
    {"nothing reported", IN("InProgress"), WITH, REPORTED(""), IN("InProgress")},
    {"no VMI", IN("InProgress"), WITH, "", IN("InProgress")},
    {"begun", IN("InProgress"), WITH, REPORTED(",\"phase\":\"MemoryDumpInProgress\"" START),
     "{\"claimName\":\"dump\",\"phase\":\"InProgress\",\"startTimestamp\":\"2026-01-01T00:00:00Z\"}"},
    {"dumped", IN("InProgress"), WITH, REPORTED(",\"phase\":\"MemoryDumpCompleted\"" DUMP),
     "{\"claimName\":\"dump\",\"phase\":\"Unmounting\"," TIMES ",\"fileName\":\"f\"}"},
    {"failed", IN("InProgress"), WITH, REPORTED(",\"phase\":\"MemoryDumpFailed\",\"message\":\"no room\"" DUMP),
     "{\"claimName\":\"dump\",\"phase\":\"Failed\"," TIMES ",\"message\":\"no room\"}"},
    {"still mounted", IN("Unmounting"), WITH, REPORTED(""), IN("Unmounting")},
    {"unmounted", IN("Unmounting"), WITH, GONE, IN("Completed")},
    {"unmounted with the VMI", IN("Unmounting"), WITH, "", IN("Completed")},
    {"done", IN("Completed"), WITH, GONE, IN("Completed")},
    {"failed for good", IN("Failed"), WITH, GONE, IN("Failed")},
    {"removed before it began", OUT("Associating"), WITH, GONE, OUT("Dissociating")},
    {"removed while it runs", OUT("InProgress"), WITH, REPORTED(",\"phase\":\"MemoryDumpCompleted\"" DUMP),
     OUT("Dissociating")},
    {"removed while it is unmounted", OUT("Unmounting"), WITH, REPORTED(""), OUT("Dissociating")},
    {"removed when it was done", OUT("Completed"), WITH, GONE, OUT("Dissociating")},
    {"removed when it had failed", OUT("Failed"), WITH, GONE, OUT("Dissociating")},
    {"going, but mounted", OUT("Dissociating"), WITHOUT, REPORTED(""), OUT("Dissociating")},
    {"going, but in the template", OUT("Dissociating"), WITH, GONE, OUT("Dissociating")},
    {"gone", OUT("Dissociating"), WITHOUT, GONE, ""},
    {"gone with the VMI", OUT("Dissociating"), WITHOUT, "", ""},
};

static void each_phase_has_its_next(void **state)
{
    struct kb_arena *arena = *state;
    const struct api_type *type = &kv_vm_memory_dump_request_type;

    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct row *r = &rows[i];
        struct kv_vm_memory_dump_request *request = from_json(arena, type, r->request);
        const struct kv_vmi *vmi = *r->vmi ? VMI_OF(arena, r->vmi) : NULL;
        bool stays = vm_next_memory_dump(SPEC_OF(arena, r->template), vmi, request);
        const char *got = stays ? api_encode_text(arena, type, request, 0) : "";
        const char *expected = *r->next ? api_encode_text(arena, type, from_json(arena, type, r->next), 0) : "";

        if (!kb_streq(got, expected))
            fail_msg("%s: expected %s, got %s", r->what, expected, got);
    }
}

static void only_an_open_dump_is_taken_into_a_start(void **state)
{
    static const struct {
        const char *phase;
        size_t volumes;
    } starts[] = {{"Associating", 1}, {"InProgress", 1}, {"Unmounting", 0}, {"Completed", 0}, {"Failed", 0}};
    struct kb_arena *arena = *state;

    for (size_t i = 0; i < KB_ARRAY_LEN(starts); i++) {
        const struct kv_vm *vm = VM_OF(
            arena,
            kb_arena_printf(arena, "{\"status\":{\"memoryDumpRequest\":{\"claimName\":\"dump\",\"phase\":\"%s\"}}}",
                            starts[i].phase));
        struct kv_vmi_spec *spec = SPEC_OF(arena, WITH);

        vm_drop_done_memory_dump(vm, spec);
        if (spec->volumes.n != starts[i].volumes)
            fail_msg("%s: expected %zu volumes, got %zu", starts[i].phase, starts[i].volumes, spec->volumes.n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ARENA_TEST(each_phase_has_its_next),
        ARENA_TEST(only_an_open_dump_is_taken_into_a_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
