/* Tests of virt/conditions. */
#include "base/vec.h"
#include "virt/conditions.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_condition_is_replaced_when_status_or_reason_differ(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct kv_vmi vmi = {0};

    (void)state;
    virt_vmi_set_condition(arena, &vmi, &(struct kv_vmi_condition){.type = "Ready", .status = "False", .reason = "A"});
    virt_vmi_set_condition(
        arena, &vmi, &(struct kv_vmi_condition){.type = "Ready", .status = "False", .reason = "A", .message = "new"});
    assert_int_equal(vmi.status.conditions.n, 1);
    assert_null(virt_vmi_condition(&vmi, "Ready")->message);
    virt_vmi_set_condition(
        arena, &vmi, &(struct kv_vmi_condition){.type = "Ready", .status = "False", .reason = "B", .message = "new"});
    assert_int_equal(vmi.status.conditions.n, 1);
    assert_string_equal(virt_vmi_condition(&vmi, "Ready")->message, "new");
    virt_vmi_set_condition(arena, &vmi, &(struct kv_vmi_condition){.type = "Ready", .status = "True", .reason = "B"});
    assert_true(virt_vmi_condition_is(&vmi, "Ready", VIRT_TRUE));
    assert_false(virt_vmi_condition_is(&vmi, "Paused", VIRT_TRUE));
}

static void removing_keeps_the_order_of_the_others(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static const char *const types[] = {"A", "B", "C", "B"};
    struct kv_vm vm = {0};

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(types); i++)
        *kb_vec_push(arena, &vm.status.conditions) = (struct kv_vm_condition){.type = types[i], .status = "True"};
    virt_vm_remove_condition(&vm, "B");
    assert_int_equal(vm.status.conditions.n, 2);
    assert_string_equal(vm.status.conditions.items[0].type, "A");
    assert_string_equal(vm.status.conditions.items[1].type, "C");
    virt_vm_set_condition(arena, &vm, &(struct kv_vm_condition){.type = "D", .status = "True"});
    assert_string_equal(vm.status.conditions.items[2].type, "D");
}

static void equality_ignores_messages_and_order(void **state)
{
    struct kv_vmi_condition one[] = {{.type = "A", .status = "True", .reason = "x", .message = "1"},
                                     {.type = "B", .status = "False"}};
    struct kv_vmi_condition two[] = {{.type = "B", .status = "False", .reason = ""},
                                     {.type = "A", .status = "True", .reason = "x", .message = "2"}};
    struct kv_vmi a = {.status.conditions = {2, one}}, b = {.status.conditions = {2, two}};

    (void)state;
    assert_true(virt_vmi_conditions_equal(&a, &b));
    two[1].reason = "y";
    assert_false(virt_vmi_conditions_equal(&a, &b));
    b.status.conditions.n = 1;
    assert_false(virt_vmi_conditions_equal(&a, &b));
}

static void nothing_has_no_conditions(void **state)
{
    (void)state;
    assert_null(virt_vmi_condition(NULL, "Ready"));
    assert_false(virt_pod_condition_is(NULL, "Ready", VIRT_TRUE));
    assert_null(virt_vm_condition(NULL, "Ready"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_is_replaced_when_status_or_reason_differ),
        cmocka_unit_test(removing_keeps_the_order_of_the_others),
        cmocka_unit_test(equality_ignores_messages_and_order),
        cmocka_unit_test(nothing_has_no_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
