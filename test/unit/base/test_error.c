/* Tests of base/error.h. */
#include "base/error.h"
#include "base/strings.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void setting_an_error_replaces_all_of_it(void **state)
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
    kube_error_clear(&e);
    assert_int_equal(e.kind, KUBE_ERROR_NONE);
    assert_string_equal(e.message, "");
}

static void system_errors_name_their_cause(void **state)
{
    (void)state;
    struct kube_error e;
    assert_int_equal(kube_error_set_errno(&e, ENOENT, "open %s", "/x"), -1);
    assert_int_equal(e.kind, KUBE_ERROR_IO);
    assert_string_equal(e.message, "open /x: No such file or directory");
}

static void context_goes_in_front_and_keeps_the_facts(void **state)
{
    (void)state;
    struct kube_error e;
    kube_error_set_api(&e, 429, "TooManyRequests", "slow down");
    e.retry_after_ms = 1000;
    assert_int_equal(kube_error_wrap(&e, "listing %s", "pods"), -1);
    assert_string_equal(e.message, "listing pods: slow down");
    assert_int_equal(e.kind, KUBE_ERROR_API);
    assert_int_equal(e.http_status, 429);
    assert_string_equal(e.reason, "TooManyRequests");
    assert_int_equal(e.retry_after_ms, 1000);
}

static void a_message_may_quote_the_one_before(void **state)
{
    (void)state;
    struct kube_error e;
    kube_error_set(&e, KUBE_ERROR_IO, "inner");
    kube_error_set(&e, KUBE_ERROR_INVALID, "outer (%s)", e.message);
    assert_string_equal(e.message, "outer (inner)");
    kube_error_set_api(&e, 409, "Conflict", "x");
    kube_error_set_api(&e, 500, e.reason, "%s", e.message);
    assert_string_equal(e.reason, "Conflict");
    assert_string_equal(e.message, "x");
}

static void long_messages_are_cut_between_characters(void **state)
{
    (void)state;
    struct kube_error e;
    char text[2 * KUBE_ERROR_MESSAGE_SIZE];
    for (size_t offset = 0; offset < 4; offset++) {
        memset(text, 'a', offset);
        size_t n = offset;
        for (; n + 4 < sizeof text; n += 4)
            memcpy(text + n, "\U0001F600", 4);
        text[n] = '\0';
        kube_error_set(&e, KUBE_ERROR_INVALID, "%s", text);
        assert_in_range(strlen(e.message), KUBE_ERROR_MESSAGE_SIZE - 4, KUBE_ERROR_MESSAGE_SIZE - 1);
        assert_true(kb_utf8_valid(e.message, strlen(e.message)));
        kube_error_wrap(&e, "context");
        assert_true(kb_starts_with(e.message, "context: "));
        assert_true(kb_utf8_valid(e.message, strlen(e.message)));
    }
}

static void answers_are_told_apart_by_status_and_reason(void **state)
{
    (void)state;
    struct kube_error e;
    kube_error_set_api(&e, 404, "NotFound", "no");
    assert_true(kube_error_is_not_found(&e));
    assert_false(kube_error_is_conflict(&e));
    kube_error_set_api(&e, 409, "Conflict", "no");
    assert_true(kube_error_is_conflict(&e));
    assert_false(kube_error_is_already_exists(&e));
    kube_error_set_api(&e, 409, "AlreadyExists", "no");
    assert_true(kube_error_is_already_exists(&e));
    assert_false(kube_error_is_conflict(&e));
    kube_error_set_api(&e, 400, NULL, "no");
    assert_string_equal(e.reason, "");
    kube_error_set(&e, KUBE_ERROR_IO, "no");
    e.http_status = 404;
    assert_false(kube_error_is_not_found(&e));
    assert_false(kube_error_is_not_found(NULL));
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    assert_int_equal(kube_error_set(NULL, KUBE_ERROR_IO, "x"), -1);
    assert_int_equal(kube_error_set_errno(NULL, EIO, "x"), -1);
    assert_int_equal(kube_error_set_api(NULL, 500, "x", "x"), -1);
    assert_int_equal(kube_error_wrap(NULL, "x"), -1);
    kube_error_clear(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_an_error_replaces_all_of_it),
        cmocka_unit_test(system_errors_name_their_cause),
        cmocka_unit_test(context_goes_in_front_and_keeps_the_facts),
        cmocka_unit_test(a_message_may_quote_the_one_before),
        cmocka_unit_test(long_messages_are_cut_between_characters),
        cmocka_unit_test(answers_are_told_apart_by_status_and_reason),
        cmocka_unit_test(nobody_needs_to_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
