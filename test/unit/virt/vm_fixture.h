/* For tests of pure functions over VMs and VMIs: objects from JSON, in an arena of the test. */
#ifndef TEST_VIRT_VM_FIXTURE_H
#define TEST_VIRT_VM_FIXTURE_H

#include "base/strings.h"
#include "virt/vm/vm_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline int arena_set_up(void **state)
{
    *state = kb_arena_new();
    return 0;
}

static inline int arena_tear_down(void **state)
{
    kb_arena_free(*state);
    return 0;
}

static inline void *from_json(struct kb_arena *arena, const struct api_type *type, const char *json)
{
    struct kube_error error = {0};
    void *object;

    if (api_decode(arena, type, json, strlen(json), &object, &error) < 0)
        fail_msg("%s: %s", error.message, json);
    return object;
}
#define VM_OF(arena, json)   ((struct kv_vm *)from_json((arena), &kv_vm_type, (json)))
#define VMI_OF(arena, json)  ((struct kv_vmi *)from_json((arena), &kv_vmi_type, (json)))
#define SPEC_OF(arena, json) ((struct kv_vmi_spec *)from_json((arena), &kv_vmi_spec_type, (json)))

#define ARENA_TEST(name) cmocka_unit_test_setup_teardown(name, arena_set_up, arena_tear_down)

#endif
