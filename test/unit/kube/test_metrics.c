/*
 * The registry and its text: golden expositions as Prometheus' Go client prints them for the same calls.
 */
#include "api/types/core.h"
#include "base/arena.h"
#include "kube/metrics.h"
#include "kube/metrics_internal.h"
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct kube_metric_family requests = {
    "http_requests_total", "Requests by verb and \\ path\nsince the start", KUBE_COUNTER, {"verb", "code", "path"}};
static const struct kube_metric_family ready = {"ready", "Whether it is", KUBE_GAUGE};
static const double latency_buckets[] = {0.005, 0.1, 1, 2.5, 1e6};
static const struct kube_metric_family latency = {"latency_seconds", "How long",      KUBE_HISTOGRAM,
                                                  {"name"},          latency_buckets, KB_ARRAY_LEN(latency_buckets)};

static void assert_text(struct kube_metrics *metrics, const char *expected)
{
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    kube_metrics_write(metrics, &text);
    assert_string_equal(kb_strbuf_text(&text), expected);
}

static void numbers_are_printed_as_go_prints_them(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {-7, "-7"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {999999, "999999"},
        {1e6, "1e+06"},
        {1234567, "1.234567e+06"},
        {123456.75, "123456.75"},
        {1769300000, "1.7693e+09"},
        {-1073741824, "-1.073741824e+09"},
        {9007199254740991, "9.007199254740991e+15"},
        {9007199254740992, "9.007199254740992e+15"},
        {12345678901234567890.0, "1.2345678901234567e+19"},
        {1e21, "1e+21"},
        {1e100, "1e+100"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {1e-8, "1e-08"},
        {9.999999999999999e-06, "9.999999999999999e-06"},
        {18446744073709551615.0, "1.8446744073709552e+19"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "+Inf"},
        {-INFINITY, "-Inf"},
        {NAN, "NaN"},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        char text[KUBE_METRIC_NUMBER_SIZE];
        kube_metric_number(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void families_series_and_labels_are_sorted_and_escaped(void **state)
{
    (void)state;
    struct kube_metrics *metrics = kube_metrics_new();
    kube_metrics_register(metrics, &ready);
    kube_metrics_register(metrics, &requests); /* has labels: nothing yet */
    assert_text(metrics, "# HELP ready Whether it is\n# TYPE ready gauge\nready 0\n");
    kube_metric_set(metrics, &ready, 1);
    kube_metric_add(metrics, &requests, 1, "GET", "200", "/b");
    kube_metric_add(metrics, &requests, 2, "GET", "200", "/b");
    kube_metric_add(metrics, &requests, 1, "GET", "200", "/a\"b\\c\nd");
    kube_metric_add(metrics, &requests, 1, "PUT", "", "/");
    kube_metric_add(metrics, &requests, 1, "GET", "200", "/bad\xff\xfe");
    kube_metric_add(metrics, &requests, 1, "GET", "20", "/z");
    assert_text(metrics, "# HELP http_requests_total Requests by verb and \\\\ path\\nsince the start\n"
                         "# TYPE http_requests_total counter\n"
                         "http_requests_total{code=\"\",path=\"/\",verb=\"PUT\"} 1\n"
                         "http_requests_total{code=\"20\",path=\"/z\",verb=\"GET\"} 1\n"
                         "http_requests_total{code=\"200\",path=\"/a\\\"b\\\\c\\nd\",verb=\"GET\"} 1\n"
                         "http_requests_total{code=\"200\",path=\"/b\",verb=\"GET\"} 3\n"
                         "http_requests_total{code=\"200\",path=\"/bad??\",verb=\"GET\"} 1\n"
                         "# HELP ready Whether it is\n"
                         "# TYPE ready gauge\n"
                         "ready 1\n");
    assert_true(kube_metric_value(metrics, &requests, "GET", "200", "/b") == 3);
    assert_true(kube_metric_value(metrics, &requests, "GET", "404", "/b") == 0);
    kube_metrics_free(metrics);
}

static void histograms_cumulate_their_buckets(void **state)
{
    (void)state;
    struct kube_metrics *metrics = kube_metrics_new();
    const double values[] = {0.005, 0.0051, 1, 3, 2e6, 0};
    for (size_t i = 0; i < KB_ARRAY_LEN(values); i++)
        kube_metric_observe(metrics, &latency, values[i], "q");
    assert_text(metrics, "# HELP latency_seconds How long\n"
                         "# TYPE latency_seconds histogram\n"
                         "latency_seconds_bucket{name=\"q\",le=\"0.005\"} 2\n"
                         "latency_seconds_bucket{name=\"q\",le=\"0.1\"} 3\n"
                         "latency_seconds_bucket{name=\"q\",le=\"1\"} 4\n"
                         "latency_seconds_bucket{name=\"q\",le=\"2.5\"} 4\n"
                         "latency_seconds_bucket{name=\"q\",le=\"1e+06\"} 5\n"
                         "latency_seconds_bucket{name=\"q\",le=\"+Inf\"} 6\n"
                         "latency_seconds_sum{name=\"q\"} 2.0000040101e+06\n"
                         "latency_seconds_count{name=\"q\"} 6\n");
    assert_true(kube_metric_value(metrics, &latency, "q") == 6);
    kube_metrics_free(metrics);
}

static void a_removed_series_is_gone_and_starts_again_at_zero(void **state)
{
    (void)state;
    struct kube_metrics *metrics = kube_metrics_new();
    kube_metric_add(metrics, &requests, 5, "GET", "200", "/b");
    kube_metric_add(metrics, &requests, 1, "GET", "200", "/c");
    kube_metric_remove(metrics, &requests, "GET", "200", "/b");
    kube_metric_remove(metrics, &requests, "GET", "200", "/never");
    kube_metric_remove(metrics, &latency, "of a family that is not there");
    assert_true(kube_metric_value(metrics, &requests, "GET", "200", "/b") == 0);
    kube_metric_touch(metrics, &requests, "GET", "200", "/b");
    kube_metric_remove(metrics, &requests, "GET", "200", "/c");
    assert_text(metrics, "# HELP http_requests_total Requests by verb and \\\\ path\\nsince the start\n"
                         "# TYPE http_requests_total counter\n"
                         "http_requests_total{code=\"200\",path=\"/b\",verb=\"GET\"} 0\n");
    kube_metrics_free(metrics);
}

static void label_values_of_any_length_are_kept(void **state)
{
    (void)state;
    struct kube_metrics *metrics = kube_metrics_new();
    char value[2000];
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    kube_metric_add(metrics, &requests, 1, value, value, NULL);
    kube_metric_add(metrics, &requests, 1, value, value, "");
    assert_true(kube_metric_value(metrics, &requests, value, value, "") == 2);
    kube_metrics_free(metrics);
}

static const struct kube_metric_family vm_labels = {"vm_labels", "", KUBE_GAUGE, {"name", "namespace"}};

static void collect_vms(void *userdata, struct kube_exposition *out)
{
    int *calls = userdata;
    (*calls)++;
    const char *names[] = {"label_z", "label_a", "label_empty"}, *values[] = {"1", "2", ""};
    kube_exposition_sample_with(out, &vm_labels, (const char *[]){"vm2", "ns"}, names, values, 3, 1);
    kube_exposition_sample_with(out, &vm_labels, (const char *[]){"vm1", "ns"}, names, values, 1, 1);
    kube_exposition_sample_with(out, &vm_labels, (const char *[]){"vm1", "ns"}, names + 1, values, 1, 1);
    kube_exposition_sample(out, &vm_labels, (const char *[]){"vm3", NULL}, 4);
    kube_exposition_sample(out, &vm_labels, (const char *[]){"vm3", ""}, 5); /* a duplicate: the first one counts */
    kube_exposition_sample(out, &ready, NULL, 1);
}

static void collectors_are_asked_at_each_scrape_and_their_samples_sorted(void **state)
{
    (void)state;
    struct kube_metrics *metrics = kube_metrics_new();
    int calls = 0;
    kube_metrics_add_collector(metrics, collect_vms, &calls);
    for (int i = 1; i <= 2; i++) {
        assert_text(metrics, "# HELP ready Whether it is\n"
                             "# TYPE ready gauge\n"
                             "ready 1\n"
                             "# HELP vm_labels \n"
                             "# TYPE vm_labels gauge\n"
                             "vm_labels{name=\"vm3\",namespace=\"\"} 4\n"
                             "vm_labels{label_z=\"1\",name=\"vm1\",namespace=\"ns\"} 1\n"
                             "vm_labels{label_a=\"1\",name=\"vm1\",namespace=\"ns\"} 1\n"
                             "vm_labels{label_a=\"2\",label_z=\"1\",name=\"vm2\",namespace=\"ns\"} 1\n");
        assert_int_equal(calls, i);
    }
    kube_metrics_free(metrics);
}

/* ---- tables over objects ---- */

static const struct kube_metric_family namespace_info = {"namespace_info", "", KUBE_GAUGE, {"name"}};
static const struct kube_metric_family namespace_labels = {"namespace_labels", "", KUBE_GAUGE, {"name", "label"}};
static const struct kube_metric_family namespace_none = {"namespace_none", "", KUBE_GAUGE, {"name"}};

static void sample_info(void *scrape, const struct kube_metric_family *family, const void *object,
                        struct kube_exposition *out)
{
    const struct core_namespace *namespace_ = object;
    kube_exposition_sample(out, family, (const char *[]){namespace_->metadata.name}, *(int *)scrape);
}

static void sample_labels(void *scrape, const struct kube_metric_family *family, const void *object,
                          struct kube_exposition *out)
{
    (void)scrape;
    const struct core_namespace *namespace_ = object;
    for (size_t i = namespace_->metadata.labels.n; i > 0; i--)
        for (int twice = 0; twice < 2; twice++)
            kube_exposition_sample(
                out, family, (const char *[]){namespace_->metadata.name, namespace_->metadata.labels.items[i - 1].key},
                1 + twice);
}

static void sample_none(void *scrape, const struct kube_metric_family *family, const void *object,
                        struct kube_exposition *out)
{
    (void)scrape, (void)family, (void)object, (void)out;
}

static const struct kube_metric_row namespace_rows[] = {
    {&namespace_labels, sample_labels},
    {&namespace_info, sample_info},
    {&namespace_none, sample_none},
};

static int scrapes_begun, scrapes_ended;

static void *begin_namespaces(void *userdata, struct kube_objects *ret)
{
    static int value = 7;
    scrapes_begun++;
    if (userdata)
        *ret = kube_store_list(userdata, NULL);
    return &value;
}

static void end_namespaces(void *scrape)
{
    assert_int_equal(*(int *)scrape, 7);
    scrapes_ended++;
}

static const struct kube_metric_table namespace_table = {namespace_rows, KB_ARRAY_LEN(namespace_rows), begin_namespaces,
                                                         end_namespaces};

static void tables_are_written_row_by_row_and_in_any_pieces(void **state)
{
    (void)state;
    static const char expected[] = "# HELP namespace_info \n"
                                   "# TYPE namespace_info gauge\n"
                                   "namespace_info{name=\"a\"} 7\n"
                                   "namespace_info{name=\"b\"} 7\n"
                                   "# HELP namespace_labels \n"
                                   "# TYPE namespace_labels gauge\n"
                                   "namespace_labels{label=\"k1\",name=\"b\"} 1\n"
                                   "namespace_labels{label=\"k2\",name=\"b\"} 1\n"
                                   "# HELP ready Whether it is\n"
                                   "# TYPE ready gauge\n"
                                   "ready 0\n";
    struct api_string_entry labels[] = {{"k1", ""}, {"k2", ""}};
    const struct core_namespace namespaces[] = {
        {.metadata = {.name = "a", .resource_version = "1"}},
        {.metadata = {.name = "b", .resource_version = "2", .labels = {2, labels}}},
    };
    struct kube_store *store = kube_store_new(&core_namespace_type, NULL, 0);
    for (size_t i = 0; i < KB_ARRAY_LEN(namespaces); i++) {
        const struct api_object *object = api_object_new(&core_namespace_type, &namespaces[i]);
        kube_store_apply(store, object);
        api_object_unref(object);
    }
    struct kube_metrics *metrics = kube_metrics_new();
    kube_metrics_register(metrics, &ready);
    kube_metrics_add_table(metrics, &namespace_table, store);
    kube_metrics_add_table(metrics, &namespace_table, NULL); /* without objects it shows nothing */
    assert_text(metrics, expected);
    for (size_t size = 1; size < sizeof expected + 10; size += 17) {
        kb_cleanup_strbuf struct kb_strbuf text = {0};
        struct kube_scrape *scrape = kube_scrape_new(metrics);
        while (kube_scrape_next(scrape, size, &text))
            continue;
        assert_string_equal(kb_strbuf_text(&text), expected);
        kube_scrape_free(scrape);
    }
    struct kube_scrape *scrape = kube_scrape_new(metrics);
    kube_scrape_free(scrape); /* given up at once */
    assert_int_equal(scrapes_ended, scrapes_begun);
    kube_metrics_free(metrics);
    kube_store_free(store);
}

static double value_of(const char *text, const char *name)
{
    char line[160];
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(text, line);
    assert_non_null(at);
    return strtod(at + strlen(line), NULL);
}

static void the_process_collector_tells_what_the_go_client_tells(void **state)
{
    (void)state;
    struct kube_metrics *metrics = kube_metrics_new();
    kube_metrics_add_process_collector(metrics);
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    kube_metrics_write(metrics, &text);
    const char *out = kb_strbuf_text(&text);
    assert_true(value_of(out, "process_cpu_seconds_total") >= 0);
    assert_true(value_of(out, "process_resident_memory_bytes") > 100000);
    assert_true(value_of(out, "process_virtual_memory_bytes") >= value_of(out, "process_resident_memory_bytes"));
    assert_true(value_of(out, "process_virtual_memory_max_bytes") > 0);
    assert_true(value_of(out, "process_open_fds") >= 3);
    assert_true(value_of(out, "process_max_fds") >= value_of(out, "process_open_fds"));
    assert_true(value_of(out, "process_start_time_seconds") > 1.6e9);
    assert_true(value_of(out, "process_network_receive_bytes_total") >= 0);
    assert_true(value_of(out, "process_network_transmit_bytes_total") >= 0);
    kube_metrics_free(metrics);
}

static void work_queues_have_the_series_of_client_go(void **state)
{
    (void)state;
    struct kb_clock_fake *fake = kb_clock_fake_new(0);
    struct kube_metrics *metrics = kube_metrics_new();
    void *data = kube_workqueue_metrics_data(metrics, "kubevirt_", "vm", kb_clock_fake_clock(fake));
    const struct kube_queue_observer *observer = &kube_workqueue_metrics;
    observer->added(data);
    observer->depth(data, 1);
    observer->added(data);
    observer->depth(data, 2);
    observer->depth(data, 1);
    observer->queued_for(data, 20 * KB_NS_PER_MS);
    observer->retried(data);
    kb_clock_fake_advance(fake, 3 * KB_NS_PER_S);
    observer->depth(data, 0);
    observer->queued_for(data, 0);
    kb_clock_fake_advance(fake, 1 * KB_NS_PER_S);
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    kube_metrics_write(metrics, &text);
    const char *out = kb_strbuf_text(&text);
    assert_true(value_of(out, "kubevirt_workqueue_depth{name=\"vm\"}") == 0);
    assert_true(value_of(out, "kubevirt_workqueue_adds_total{name=\"vm\"}") == 2);
    assert_true(value_of(out, "kubevirt_workqueue_retries_total{name=\"vm\"}") == 1);
    assert_true(value_of(out, "kubevirt_workqueue_longest_running_processor_seconds{name=\"vm\"}") == 4);
    assert_true(value_of(out, "kubevirt_workqueue_unfinished_work_seconds{name=\"vm\"}") == 5);
    assert_true(value_of(out, "kubevirt_workqueue_queue_duration_seconds_bucket{name=\"vm\",le=\"1e-08\"}") == 1);
    assert_true(
        value_of(out, "kubevirt_workqueue_queue_duration_seconds_bucket{name=\"vm\",le=\"9.999999999999999e-06\"}") ==
        1);
    assert_true(value_of(out, "kubevirt_workqueue_queue_duration_seconds_bucket{name=\"vm\",le=\"10\"}") == 2);
    assert_true(value_of(out, "kubevirt_workqueue_work_duration_seconds_count{name=\"vm\"}") == 0);
    observer->processed_for(data, 4 * KB_NS_PER_S); /* the first one */
    kb_strbuf_clear(&text);
    kube_metrics_write(metrics, &text);
    out = kb_strbuf_text(&text);
    assert_true(value_of(out, "kubevirt_workqueue_longest_running_processor_seconds{name=\"vm\"}") == 1);
    assert_true(value_of(out, "kubevirt_workqueue_work_duration_seconds_sum{name=\"vm\"}") == 4);
    kube_metrics_free(metrics);
    kb_clock_fake_free(fake);
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *count_much(void *userdata)
{
    for (int i = 0; i < ROUNDS; i++) {
        char verb[16];
        snprintf(verb, sizeof verb, "V%d", i % 7);
        kube_metric_add(userdata, &requests, 1, verb, "200", "/");
        kube_metric_observe(userdata, &latency, i, "q");
        kube_metric_remove(userdata, &requests, "V-none", "", "");
        if (i % 500 == 0) {
            kb_cleanup_strbuf struct kb_strbuf text = {0};
            kube_metrics_write(userdata, &text);
        }
    }
    return NULL;
}

static void threads_lose_no_change(void **state)
{
    (void)state;
    struct kube_metrics *metrics = kube_metrics_new();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_much, metrics), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    double sum = 0;
    for (int i = 0; i < 7; i++) {
        char verb[16];
        snprintf(verb, sizeof verb, "V%d", i);
        sum += kube_metric_value(metrics, &requests, verb, "200", "/");
    }
    assert_true(sum == THREADS * ROUNDS);
    assert_true(kube_metric_value(metrics, &latency, "q") == THREADS * ROUNDS);
    kube_metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_printed_as_go_prints_them),
        cmocka_unit_test(families_series_and_labels_are_sorted_and_escaped),
        cmocka_unit_test(histograms_cumulate_their_buckets),
        cmocka_unit_test(a_removed_series_is_gone_and_starts_again_at_zero),
        cmocka_unit_test(label_values_of_any_length_are_kept),
        cmocka_unit_test(collectors_are_asked_at_each_scrape_and_their_samples_sorted),
        cmocka_unit_test(tables_are_written_row_by_row_and_in_any_pieces),
        cmocka_unit_test(the_process_collector_tells_what_the_go_client_tells),
        cmocka_unit_test(work_queues_have_the_series_of_client_go),
        cmocka_unit_test(threads_lose_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
