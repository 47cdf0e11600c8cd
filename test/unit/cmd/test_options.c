/* The command line: pflag's rules, defaults, and what is refused. */
#include "base/clock.h"
#include "base/strings.h"
#include "cmd/virt-controller/options.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int parse(struct kb_arena *arena, const char *const *arguments, struct options *ret, struct kube_error *reterr)
{
    char *argv[16] = {(char *)"virt-controller"};
    int argc = 1;
    for (; arguments[argc - 1]; argc++)
        argv[argc] = (char *)arguments[argc - 1];
    return options_parse(arena, argc, argv, ret, reterr);
}

#define PARSE(arena, ret, ...)                                                                                         \
    do {                                                                                                               \
        struct kube_error parse_error = {0};                                                                           \
        if (parse((arena), (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}, (ret), &parse_error) < 0)           \
            fail_msg("%s", parse_error.message);                                                                       \
    } while (0)

static void expect_refusal(const char *expected, const char *const *arguments)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct options options;
    struct kube_error error = {0};
    assert_int_equal(parse(arena, arguments, &options, &error), -1);
    assert_string_equal(error.message, expected);
}
#define REFUSED(expected, ...) expect_refusal(expected, (const char *const[]){__VA_ARGS__, NULL})

static void without_arguments_the_defaults_are_those_of_the_reference(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct options o;
    PARSE(arena, &o);
    assert_int_equal(o.verbosity, 2);
    assert_int_equal(o.port, 8182);
    assert_string_equal(o.listen, "0.0.0.0");
    assert_int_equal(o.lease_duration_ns, 15 * KB_NS_PER_S);
    assert_int_equal(o.renew_deadline_ns, 10 * KB_NS_PER_S);
    assert_int_equal(o.retry_period_ns, 2 * KB_NS_PER_S);
    assert_string_equal(o.launcher_image, "virt-launcher");
    assert_int_equal(o.vmi_threads, 10);
    assert_int_equal(o.snapshot_resync_ns, 300 * KB_NS_PER_S);
    assert_int_equal(o.synced_labels.n, 0);
}

static void values_come_behind_an_equals_sign_or_as_the_next_argument(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct options o;
    PARSE(arena, &o, "--port=8443", "--listen", "::1", "-v", "4", "--leader-elect-retry-period=1s500ms");
    assert_int_equal(o.port, 8443);
    assert_string_equal(o.listen, "::1");
    assert_int_equal(o.verbosity, 4);
    assert_int_equal(o.retry_period_ns, 1500 * KB_NS_PER_MS);
    PARSE(arena, &o, "-v=7");
    assert_int_equal(o.verbosity, 7);
    PARSE(arena, &o, "-v9");
    assert_int_equal(o.verbosity, 9);
}

static void numbers_are_read_as_go_reads_them(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"10", 10},   {"+1", 1},   {"-0x10", -16}, {"0x1F", 31}, {"010", 8},
                 {"0o17", 15}, {"0b11", 3}, {"1_0", 10},    {"0", 0}};
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct options o;
        PARSE(arena, &o, "--launcher-qemu-timeout", cases[i].text);
        assert_int_equal(o.launcher_qemu_timeout, cases[i].value);
    }
    static const char *const wrong[] = {
        "", "-", "1 ", " 1", "0x", "0x-1", "08", "--1", "+-1", "1e3", "99999999999999999999"};
    for (size_t i = 0; i < KB_ARRAY_LEN(wrong); i++) {
        struct options o;
        struct kube_error error;
        const char *const arguments[] = {"--launcher-qemu-timeout", wrong[i], NULL};
        if (parse(arena, arguments, &o, &error) == 0)
            fail_msg("\"%s\" was read", wrong[i]);
    }
}

static void what_is_no_flag_is_passed_over(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct options o;
    PARSE(arena, &o, "", "run", "--port", "1", "-", "--", "--port", "2", "--no-such-flag");
    assert_int_equal(o.port, 1);
}

static void lists_are_split_at_commas_and_add_up(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct options o;
    PARSE(arena, &o, "--additional-launcher-labels-sync=a,b*", "--additional-launcher-labels-sync", "c");
    assert_int_equal(o.synced_labels.n, 3);
    assert_string_equal(o.synced_labels.items[1], "b*");
    assert_string_equal(o.synced_labels.items[2], "c");
}

static void wrong_arguments_are_refused_by_name(void **state)
{
    (void)state;
    REFUSED("unknown flag: --prot", "--prot", "1");
    REFUSED("unknown flag: --prot", "--prot=1");
    REFUSED("unknown shorthand flag: 'x' in -x", "-x");
    REFUSED("flag needs an argument: --port", "--port");
    REFUSED("flag needs an argument: 'v' in -v", "-v");
    REFUSED("invalid argument \"x\" for \"--port\" flag: expected a whole number from 0 to 65535", "--port", "x");
    REFUSED("invalid argument \"x\" for \"-v, --v\" flag: expected a whole number from -2147483648 to 2147483647",
            "-vx");
    REFUSED("invalid argument \"-1s\" for \"--leader-elect-retry-period\" flag: expected a duration like 15s or 1m30s",
            "--leader-elect-retry-period", "-1s");
    REFUSED("invalid argument \"\" for \"--launcher-image\" flag: expected an image", "--launcher-image=");
}

static void help_wins_over_what_follows(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct options o;
    PARSE(arena, &o, "--help", "--no-such-flag");
    assert_true(o.help);
    PARSE(arena, &o, "--version");
    assert_true(o.version);
}

static void the_usage_names_every_flag_with_its_default(void **state)
{
    (void)state;
    static const char *const parts[] = {"--port int",    "(default 8182)",
                                        "-v, --v int",   "--leader-elect-lease-duration",
                                        "(default 15s)", "--backup-controller-threads"};
    kb_cleanup_strbuf struct kb_strbuf usage = {0};
    options_usage(&usage);
    for (size_t i = 0; i < KB_ARRAY_LEN(parts); i++)
        if (!strstr(kb_strbuf_text(&usage), parts[i]))
            fail_msg("\"%s\" is not in the usage", parts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_arguments_the_defaults_are_those_of_the_reference),
        cmocka_unit_test(values_come_behind_an_equals_sign_or_as_the_next_argument),
        cmocka_unit_test(numbers_are_read_as_go_reads_them),
        cmocka_unit_test(what_is_no_flag_is_passed_over),
        cmocka_unit_test(lists_are_split_at_commas_and_add_up),
        cmocka_unit_test(wrong_arguments_are_refused_by_name),
        cmocka_unit_test(help_wins_over_what_follows),
        cmocka_unit_test(the_usage_names_every_flag_with_its_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
