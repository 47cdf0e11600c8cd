/* Tests of base/log.h. Lines are read back from a pipe; its writes are whole, so a line that is split would be seen. */
#include "base/log.h"
#include "base/strings.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 4
#define LINES   50

static int ends[2];
static struct kb_clock_fake *fake;

static int set_up(void **state)
{
    (void)state;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    fake = kb_clock_fake_new(1767323045123456789);
    kb_log_init("virt-controller", ends[1], kb_clock_fake_clock(fake));
    kb_log_set_verbosity(2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    kb_log_init("", STDERR_FILENO, NULL);
    kb_clock_fake_free(fake);
    return 0;
}

/* All that is in the pipe. */
static const char *written(void)
{
    static char text[65536 + 1];
    ssize_t n = read(ends[0], text, sizeof text - 1);
    text[n < 0 ? 0 : n] = '\0';
    return text;
}

static void a_line_is_json_with_sorted_keys(void **state)
{
    (void)state;
    static const struct kb_log_object vm = {
        .kind = "VirtualMachine", .namespace_ = "default", .name = "vm", .uid = "u1", .reason = "why"};
    char expected[512];
    int line = __LINE__ + 1;
    kb_log_object(KB_WARNING, &vm, "it %s \"%d\"", "failed", 7);
    snprintf(expected, sizeof expected,
             "{\"component\":\"virt-controller\",\"kind\":\"VirtualMachine\",\"level\":\"warning\","
             "\"msg\":\"it failed \\\"7\\\"\",\"name\":\"vm\",\"namespace\":\"default\",\"pos\":\"test_log.c:%d\","
             "\"reason\":\"why\",\"timestamp\":\"2026-01-02T03:04:05.123456Z\",\"uid\":\"u1\"}\n",
             line);
    assert_string_equal(written(), expected);
}

static void empty_fields_are_left_out(void **state)
{
    (void)state;
    char expected[256];
    int line = __LINE__ + 1;
    kb_log_object(KB_INFO, &(struct kb_log_object){.kind = "", .name = NULL}, "started");
    snprintf(expected, sizeof expected,
             "{\"component\":\"virt-controller\",\"level\":\"info\",\"msg\":\"started\",\"pos\":\"test_log.c:%d\","
             "\"timestamp\":\"2026-01-02T03:04:05.123456Z\"}\n",
             line);
    assert_string_equal(written(), expected);
}

static void verbosity_hides_information_only(void **state)
{
    (void)state;
    kb_log_v(3, "hidden");
    assert_string_equal(written(), "");
    kb_log_set_verbosity(3);
    assert_int_equal(kb_log_verbosity(), 3);
    kb_log_v(3, "shown");
    assert_non_null(strstr(written(), "\"shown\""));
    kb_log_set_verbosity(0);
    kb_log(KB_INFO, "hidden");
    assert_string_equal(written(), "");
    kb_log(KB_ERROR, "shown");
    assert_non_null(strstr(written(), "\"level\":\"error\",\"msg\":\"shown\""));
}

static void a_line_that_is_too_long_is_cut_but_complete(void **state)
{
    (void)state;
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    kb_log_object(KB_ERROR,
                  &(struct kb_log_object){.kind = text, .namespace_ = text, .name = text, .uid = text, .reason = text},
                  "%s", text);
    const char *line = written();
    assert_in_range(strlen(line), 4000, 8191);
    assert_non_null(strstr(line, "x...\",\"name\":\"x"));
    assert_true(kb_ends_with(line, "x...\"}\n"));
    memset(text, '\1', sizeof text - 1);
    kb_log(KB_ERROR, "%s", text);
    line = written();
    assert_in_range(strlen(line), 4000, 8191);
    assert_non_null(strstr(line, "\\u0001...\",\"pos\":\"test_log.c:"));
    assert_true(kb_ends_with(line, "Z\"}\n"));
}

static void errno_is_kept(void **state)
{
    (void)state;
    kb_log_init("x", -1, NULL);
    errno = ENOENT;
    kb_log(KB_ERROR, "nobody hears");
    assert_int_equal(errno, ENOENT);
}

static void *log_lines(void *number)
{
    for (int i = 0; i < LINES; i++)
        kb_log(KB_INFO, "line %d of thread %d", i, (int)(intptr_t)number);
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_lines, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    char *text = strdup(written()), *rest = text;
    int next[THREADS] = {0}, lines = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line; lines++) {
        int number, thread;
        const char *message = strstr(line, "\"msg\":\"line ");
        assert_true(line[0] == '{' && kb_ends_with(line, "Z\"}"));
        assert_non_null(message);
        assert_int_equal(sscanf(message, "\"msg\":\"line %d of thread %d\"", &number, &thread), 2);
        assert_int_equal(number, next[thread]++);
    }
    assert_int_equal(lines, THREADS * LINES);
    free(text);
}

int main(void)
{
#define log_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        log_test(a_line_is_json_with_sorted_keys),
        log_test(empty_fields_are_left_out),
        log_test(verbosity_hides_information_only),
        log_test(a_line_that_is_too_long_is_cut_but_complete),
        log_test(errno_is_kept),
        log_test(lines_of_threads_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
