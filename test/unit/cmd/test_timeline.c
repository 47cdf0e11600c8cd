/* The log's last lines, and one VM's timeline made of caches and log. */
#include "api/types/kv.h"
#include "base/strings.h"
#include "base/time.h"
#include "cmd/virt-controller/timeline.h"
#include "virt/informers.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define VM(vm) (&(struct kb_log_object){.kind = "VirtualMachine", .namespace_ = "ns", .name = (vm)})

struct world {
    struct kb_arena *arena;
    struct kb_clock_fake *clock;
    struct journal *journal;
    struct kube_runtime *runtime;
    int fd;
};

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof(*w));
    int64_t start;
    w->arena = kb_arena_new();
    kb_time_parse("2026-01-02T03:04:05Z", &start);
    w->clock = kb_clock_fake_new(start);
    w->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    kb_log_init("test", w->fd, kb_clock_fake_clock(w->clock));
    kb_log_set_verbosity(2);
    w->journal = journal_new(kb_clock_fake_clock(w->clock));
    w->runtime = kube_runtime_new(&(struct kube_runtime_options){.clock = kb_clock_fake_clock(w->clock)});
    const struct kube_informer_spec *specs = virt_informer_specs(w->arena, "kubevirt");
    static const int used[] = {VIRT_VM, VIRT_VMI, VIRT_POD, VIRT_MIGRATION};
    for (size_t i = 0; i < KB_ARRAY_LEN(used); i++)
        kube_runtime_add_informer(w->runtime, used[i], &specs[used[i]]);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    kube_runtime_free(w->runtime);
    journal_free(w->journal);
    kb_log_init("test", STDERR_FILENO, NULL);
    kb_clock_fake_free(w->clock);
    close(w->fd);
    kb_arena_free(w->arena);
    free(w);
    return 0;
}

static void put(struct world *w, int informer, const struct api_type *type, const char *json)
{
    yyjson_doc *doc;
    const struct api_object *object;
    struct kube_error error;
    if (api_parse(json, strlen(json), &doc, &error) < 0 ||
        api_decode_shared(type, yyjson_doc_get_root(doc), NULL, &object, &error) < 0)
        fail_msg("%s", error.message);
    kube_store_apply(kube_informer_store(kube_runtime_informer(w->runtime, informer)), object);
    api_object_unref(object);
    yyjson_doc_free(doc);
}

static void expect_lines(struct world *w, enum kb_log_level level, const char *name, const char *expected)
{
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    struct journal_line *lines;
    size_t n = journal_read(w->journal, w->arena, level, "ns", name, &lines);
    for (size_t i = 0; i < n; i++)
        kb_strbuf_printf(&text, "%s %s\n", lines[i].name, lines[i].message);
    assert_string_equal(kb_strbuf_text(&text), expected);
}

static void the_journal_keeps_warnings_failures_and_what_concerns_objects(void **state)
{
    struct world *w = *state;
    kb_log(KB_INFO, "nothing special");
    kb_log_object(KB_INFO, VM("a"), "started");
    kb_log_object_v(9, VM("a"), "not shown");
    kb_log(KB_WARNING, "no connection");
    kb_log_object(KB_INFO, &(struct kb_log_object){.namespace_ = "ns", .name = "b", .reason = "full"}, "again");
    expect_lines(w, KB_INFO, "a", "a started\n");
    expect_lines(w, KB_INFO, "b", "b again: full\n");
    expect_lines(w, KB_WARNING, NULL, "b again: full\n no connection\n");
}

static void the_journal_forgets_the_oldest(void **state)
{
    struct world *w = *state;
    struct journal_line *lines;
    for (int i = 0; i < 600; i++)
        kb_log(KB_WARNING, "number %d", i);
    size_t n = journal_read(w->journal, w->arena, KB_WARNING, NULL, NULL, &lines);
    assert_int_equal(n, 512);
    assert_string_equal(lines[0].message, "number 599");
    assert_string_equal(lines[n - 1].message, "number 88");
}

static void a_timeline_is_in_the_order_of_time_whatever_it_was_read_from(void **state)
{
    struct world *w = *state;
    put(w, VIRT_VM, &kv_vm_type,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"resourceVersion\":\"1\","
        "\"creationTimestamp\":\"2026-01-02T03:00:00Z\"},\"status\":{\"conditions\":[{\"type\":\"Ready\","
        "\"status\":\"False\",\"reason\":\"GuestNotRunning\",\"message\":\"not yet\","
        "\"lastTransitionTime\":\"2026-01-02T03:00:09Z\"}]}}");
    put(w, VIRT_VMI, &kv_vmi_type,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"2\","
        "\"creationTimestamp\":\"2026-01-02T03:00:01Z\"},\"status\":{\"phaseTransitionTimestamps\":[{\"phase\":"
        "\"Scheduling\",\"phaseTransitionTimestamp\":\"2026-01-02T03:00:03Z\"}]}}");
    put(w, VIRT_POD, &core_pod_type,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"resourceVersion\":\"3\",\"labels\":"
        "{\"kubevirt.io/created-by\":\"u\"},\"creationTimestamp\":\"2026-01-02T03:00:02Z\"},\"status\":"
        "{\"containerStatuses\":[{\"name\":\"compute\",\"state\":{\"terminated\":{\"exitCode\":3,\"reason\":\"Error\","
        "\"startedAt\":\"2026-01-02T03:00:04Z\",\"finishedAt\":\"2026-01-02T03:00:05Z\"}}}]}}");
    put(w, VIRT_MIGRATION, &kv_vmim_type,
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"m\",\"resourceVersion\":\"4\",\"creationTimestamp\":"
        "\"2026-01-02T03:00:06Z\"},\"spec\":{\"vmiName\":\"a\"}}");
    kb_log_object(KB_INFO, VM("a"), "seen");
    struct timeline timeline = {.arena = w->arena};
    timeline_read(&timeline, w->runtime, w->journal, "ns", "a");
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    for (size_t i = 0; i < timeline.n; i++)
        kb_strbuf_printf(&text, "%s: %s\n", timeline.items[i].source, timeline.items[i].what);
    assert_string_equal(kb_strbuf_text(&text), "VirtualMachine: created\n"
                                               "VirtualMachineInstance: created\n"
                                               "Pod p: created\n"
                                               "VirtualMachineInstance: phase Scheduling\n"
                                               "Pod p: container compute started\n"
                                               "Pod p: container compute ended with status 3 Error\n"
                                               "VirtualMachineInstanceMigration m: created\n"
                                               "VirtualMachine: condition Ready is False (GuestNotRunning): not yet\n"
                                               "log: seen\n");
}

static void a_vm_that_is_not_there_has_no_timeline(void **state)
{
    struct world *w = *state;
    struct timeline timeline = {.arena = w->arena};
    timeline_read(&timeline, w->runtime, NULL, "ns", "nobody");
    assert_int_equal(timeline.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_journal_keeps_warnings_failures_and_what_concerns_objects),
        TEST(the_journal_forgets_the_oldest),
        TEST(a_timeline_is_in_the_order_of_time_whatever_it_was_read_from),
        TEST(a_vm_that_is_not_there_has_no_timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
