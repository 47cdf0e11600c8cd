/* Tests of base/error.h. */
#include "base/error.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void setting_an_error_fills_kind_and_message(void **state)
{
    (void)state;
    struct kube_error e;
    memset(&e, 0xAA, sizeof e);
    assert_int_equal(kube_error_set(&e, KUBE_ERROR_INVALID, "bad %s %d", "thing", 7), -1);
    assert_int_equal(e.kind, KUBE_ERROR_INVALID);
    assert_string_equal(e.message, "bad thing 7");
    assert_string_equal(e.reason, "");
    assert_int_equal(e.http_status, 0);
    assert_int_equal(e.retry_after_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_an_error_fills_kind_and_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
