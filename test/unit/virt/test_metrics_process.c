/* Tests of what does not come from VMs or VMIs: leader and standby, requests, queues, counters, the program itself. */
#include "metrics_fixture.h"

#include "base/strings.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_standby_with_full_caches_looks_empty(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, false);
    metrics_fixture_put(&f, VIRT_VM, "{'metadata':{'namespace':'ns','name':'vm','labels':{'a':'b'}}}");
    metrics_fixture_put(&f, VIRT_VMI, "{'metadata':{'namespace':'ns','name':'vm'},'status':{'phase':'Pending'}}");
    metrics_fixture_put(
        &f, VIRT_VMI,
        "{'metadata':{'namespace':'ns','name':'vm','creationTimestamp':'2026-01-01T00:00:00Z'},'status':"
        "{'phase':'Running','phaseTransitionTimestamps':[{'phase':'Running','phaseTransitionTimestamp':"
        "'2026-01-01T00:00:00Z'}]}}");
    metrics_fixture_put(&f, VIRT_MIGRATION, "{'metadata':{'namespace':'ns','name':'m','uid':'m'}}");
    static const char standby[] = "kubevirt_virt_controller_leading_status 0\n"
                                  "kubevirt_virt_controller_ready_status 1\n"
                                  "kubevirt_vmi_migrations_in_pending_phase 0\n"
                                  "kubevirt_vmi_migrations_in_running_phase 0\n"
                                  "kubevirt_vmi_migrations_in_scheduling_phase 0\n"
                                  "kubevirt_vmi_migrations_in_unset_phase 0\n";
    metrics_fixture_assert(&f, "kubevirt_", standby);
    virt_metrics_lead(f.metrics);
    f.is_ready = true;
    metrics_fixture_assert(&f, "kubevirt_virt_controller_leading", "kubevirt_virt_controller_leading_status 1\n");
    metrics_fixture_assert(&f, "kubevirt_vmi_migrations_in_unset", "kubevirt_vmi_migrations_in_unset_phase 1\n");
    metrics_fixture_assert(&f, "kubevirt_vmi_number", "kubevirt_vmi_number_of_outdated 0\n");
    metrics_fixture_assert(&f, "kubevirt_vm_labels", "kubevirt_vm_labels{label_a='b',name='vm',namespace='ns'} 1\n");
    metrics_fixture_assert(&f, "kubevirt_vmi_phase", ""); /* that was before it led */
    metrics_fixture_done(&f);
}

static void scrapes_are_counted(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, false);
    for (int i = 0; i < 2; i++)
        metrics_fixture_assert(&f, "promhttp_",
                               kb_arena_printf(f.arena,
                                               "promhttp_metric_handler_requests_in_flight 1\n"
                                               "promhttp_metric_handler_requests_total{code='200'} %d\n"
                                               "promhttp_metric_handler_requests_total{code='500'} 0\n"
                                               "promhttp_metric_handler_requests_total{code='503'} 0\n",
                                               i));
    metrics_fixture_done(&f);
}

static void requests_are_told_with_bounded_urls(void **state)
{
    static const struct {
        enum kube_verb verb;
        const char *method, *resource, *template;
        int status;
        const char *requests, *latency; /* labels; latency NULL: none */
    } cases[] = {
        {KUBE_LIST, "GET", "pods", "/api/v1/pods", 200,
         "code='200',host='h:1',method='GET',resource='pods',verb='LIST'",
         "url='https://h:1/p/api/v1/pods',verb='LIST'"},
        {KUBE_LIST, "GET", "pods", "/api/v1/namespaces/{namespace}/pods", 200,
         "code='200',host='h:1',method='GET',resource='pods',verb='LIST'",
         "url='https://h:1/p/api/v1/namespaces/%7Bnamespace%7D/pods',verb='GET'"},
        {KUBE_WATCH, "GET", "pods", "/api/v1/pods", 410,
         "code='410',host='h:1',method='GET',resource='pods',verb='WATCH'", NULL},
        {KUBE_PATCH, "PATCH", "virtualmachines",
         "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}/status", 0,
         "code='<error>',host='h:1',method='PATCH',resource='virtualmachines',verb='PATCH'",
         "url='https://h:1/p/apis/kubevirt.io/v1/namespaces/%7Bnamespace%7D/virtualmachines/%7Bname%7D/status',"
         "verb='PATCH'"},
        {KUBE_CREATE, "POST", "pods", "/api/v1/namespaces/{namespace}/pods", 201,
         "code='201',host='h:1',method='POST',resource='pods',verb='CREATE'",
         "url='https://h:1/p/api/v1/namespaces/%7Bnamespace%7D/pods',verb='CREATE'"},
        {KUBE_GET, "GET", "", "/version", 200, "code='200',host='h:1',method='GET',resource='none',verb='none'",
         "url='https://h:1/p/version',verb='none'"},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct metrics_fixture f;
        metrics_fixture_init(&f, false);
        const struct kube_client_observer *o = virt_metrics_client_observer(f.metrics, "https://h:1/p");
        o->request(o->userdata, cases[i].verb, cases[i].method, cases[i].resource, cases[i].template, cases[i].status,
                   300 * KB_NS_PER_MS);
        metrics_fixture_assert(
            &f, "kubevirt_rest_client_requests_total",
            kb_arena_printf(f.arena, "kubevirt_rest_client_requests_total{%s} 1\n", cases[i].requests));
        const char *family = "kubevirt_rest_client_request_latency_seconds_sum";
        metrics_fixture_assert(
            &f, family, cases[i].latency ? kb_arena_printf(f.arena, "%s{%s} 0.3\n", family, cases[i].latency) : "");
        metrics_fixture_done(&f);
    }
}

static void waits_for_the_rate_limit_have_their_buckets(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, false);
    const struct kube_client_observer *o = virt_metrics_client_observer(f.metrics, "https://h");
    o->throttled(o->userdata, KUBE_CREATE, "/api/v1/nodes", 4 * KB_NS_PER_MS);
#define WAIT "kubevirt_rest_client_rate_limiter_duration_seconds"
#define URL  "url='https://h/api/v1/nodes',verb='CREATE'"
    metrics_fixture_assert(
        &f, WAIT,
        WAIT "_bucket{" URL ",le='0.001'} 0\n" WAIT "_bucket{" URL ",le='0.002'} 0\n" WAIT "_bucket{" URL
             ",le='0.004'} 1\n" WAIT "_bucket{" URL ",le='0.008'} 1\n" WAIT "_bucket{" URL ",le='0.016'} 1\n" WAIT
             "_bucket{" URL ",le='0.032'} 1\n" WAIT "_bucket{" URL ",le='0.064'} 1\n" WAIT "_bucket{" URL
             ",le='0.128'} 1\n" WAIT "_bucket{" URL ",le='0.256'} 1\n" WAIT "_bucket{" URL ",le='0.512'} 1\n" WAIT
             "_bucket{" URL ",le='+Inf'} 1\n" WAIT "_sum{" URL "} 0.004\n" WAIT "_count{" URL "} 1\n");
#undef WAIT
#undef URL
    metrics_fixture_done(&f);
}

static void queues_of_a_standby_look_empty_until_it_leads(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, false);
    struct kube_queue *queue =
        kube_queue_new("virt-controller-vm", NULL, kb_clock_fake_clock(f.clock), &virt_metrics_queue_observer,
                       virt_metrics_queue(f.metrics, "virt-controller-vm"));
    kube_queue_add(queue, "ns/a");
    kube_queue_add(queue, "ns/b");
    metrics_fixture_assert(&f, "kubevirt_workqueue_depth", "kubevirt_workqueue_depth{name='virt-controller-vm'} 0\n");
    metrics_fixture_assert(&f, "kubevirt_workqueue_adds",
                           "kubevirt_workqueue_adds_total{name='virt-controller-vm'} 0\n");
    kb_clock_fake_advance(f.clock, 3600 * KB_NS_PER_S);
    virt_metrics_lead(f.metrics);
    metrics_fixture_assert(&f, "kubevirt_workqueue_depth", "kubevirt_workqueue_depth{name='virt-controller-vm'} 2\n");
    metrics_fixture_assert(&f, "kubevirt_workqueue_adds",
                           "kubevirt_workqueue_adds_total{name='virt-controller-vm'} 2\n");
    kb_clock_fake_advance(f.clock, 2 * KB_NS_PER_S);
    char *key;
    assert_true(kube_queue_try_get(queue, &key, NULL));
    metrics_fixture_assert(&f, "kubevirt_workqueue_queue_duration_seconds_sum",
                           "kubevirt_workqueue_queue_duration_seconds_sum{name='virt-controller-vm'} 2\n");
    kube_queue_done(queue, key);
    kube_queue_free(queue);
    metrics_fixture_done(&f);
}

static void controllers_count_what_they_write(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    struct kube_metrics *registry = f.context.metrics;
    virt_metrics_vmi_synced(registry, "ns", "a");
    virt_metrics_vmi_synced(registry, "ns", "a");
    virt_metrics_vmi_synced(registry, "ns", "b");
    virt_metrics_vmi_gone(registry, "ns", "b");
    metrics_fixture_assert(&f, "kubevirt_vmi_sync", "kubevirt_vmi_sync_total{name='a',namespace='ns'} 2\n");
    virt_metrics_outdated(registry, 7);
    metrics_fixture_assert(&f, "kubevirt_vmi_number", "kubevirt_vmi_number_of_outdated 7\n");
    virt_metrics_vmi_synced(NULL, "ns", "a"); /* controllers without a registry: nothing happens */
    virt_metrics_vmi_gone(NULL, "ns", "a");
    virt_metrics_outdated(NULL, 7);
    metrics_fixture_done(&f);
}

static void only_snapshots_that_succeeded_are_told(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    struct snapshot_vm_snapshot_status status = {.phase = "InProgress", .creation_time = "2026-01-01T00:00:00Z"};
    struct snapshot_vm_snapshot snapshot = {.metadata = {.namespace = "ns", .name = "s"}, .spec.source.name = "vm"};
    virt_metrics_snapshot(f.context.metrics, &snapshot);
    snapshot.status = &status;
    virt_metrics_snapshot(f.context.metrics, &snapshot);
    metrics_fixture_assert(&f, "kubevirt_vmsnapshot", "");
    status.phase = "Succeeded";
    virt_metrics_snapshot(f.context.metrics, &snapshot);
    metrics_fixture_assert(
        &f, "kubevirt_vmsnapshot",
        "kubevirt_vmsnapshot_succeeded_timestamp_seconds{name='vm',namespace='ns',snapshot_name='s'} 1.7672256e+09\n");
    metrics_fixture_done(&f);
}

static void the_program_tells_about_itself(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, false);
    const char *text = metrics_fixture_text(&f);
    static const char *const there[] = {"\nvirt_controller_heap_bytes{state=\"used\"} ",
                                        "\nvirt_controller_interned_strings ", "\nprocess_resident_memory_bytes "};
    for (size_t i = 0; i < KB_ARRAY_LEN(there); i++)
        assert_non_null(strstr(text, there[i]));
    assert_null(strstr(text, "virt_controller_informer_")); /* none was started */
    metrics_fixture_done(&f);
}

/* ---- threads ---- */

enum { ROUNDS = 60 };

static void *scrape_often(void *userdata)
{
    struct metrics_fixture *f = userdata;
    for (int i = 0; i < ROUNDS; i++) {
        kb_cleanup_strbuf struct kb_strbuf text = {0};
        void *scrape = virt_metrics_scrape_begin(f->metrics);
        while (virt_metrics_scrape_more(scrape, &text))
            continue;
        virt_metrics_scrape_end(scrape);
    }
    return NULL;
}

static void *request_often(void *userdata)
{
    const struct kube_client_observer *o = userdata;
    for (int i = 0; i < ROUNDS * 10; i++)
        o->request(o->userdata, KUBE_PATCH, "PATCH", "pods", "/api/v1/pods", 200, i);
    return NULL;
}

static void scrapes_changes_and_leadership_go_on_together(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, false);
    const struct kube_client_observer *o = virt_metrics_client_observer(f.metrics, "https://h");
    pthread_t threads[3];
    assert_int_equal(pthread_create(&threads[0], NULL, scrape_often, &f), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, scrape_often, &f), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, request_often, (void *)(uintptr_t)o), 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS / 3)
            virt_metrics_lead(f.metrics);
        const char *phase = i % 2 ? "Running" : "Scheduled";
        metrics_fixture_put(&f, VIRT_VM, "{'metadata':{'namespace':'ns','name':'vm','labels':{'a':'b'}}}");
        metrics_fixture_put(&f, VIRT_VMI,
                            kb_arena_printf(f.arena,
                                            "{'metadata':{'namespace':'ns','name':'vm','creationTimestamp':"
                                            "'2026-01-01T00:00:00Z'},'status':{'phase':'%s',"
                                            "'phaseTransitionTimestamps':[{'phase':'%s','phaseTransitionTimestamp':"
                                            "'2026-01-01T00:00:00Z'}]}}",
                                            phase, phase));
        virt_metrics_vmi_synced(f.context.metrics, "ns", "vm");
    }
    for (size_t i = 0; i < KB_ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    metrics_fixture_assert(&f, "kubevirt_rest_client_requests_total",
                           "kubevirt_rest_client_requests_total{code='200',host='h',method='PATCH',resource='pods',"
                           "verb='PATCH'} 600\n");
    metrics_fixture_assert(&f, "promhttp_metric_handler_requests_total{code=\"200",
                           "promhttp_metric_handler_requests_total{code='200'} 121\n");
    metrics_fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_standby_with_full_caches_looks_empty),
        cmocka_unit_test(scrapes_are_counted),
        cmocka_unit_test(requests_are_told_with_bounded_urls),
        cmocka_unit_test(waits_for_the_rate_limit_have_their_buckets),
        cmocka_unit_test(queues_of_a_standby_look_empty_until_it_leads),
        cmocka_unit_test(controllers_count_what_they_write),
        cmocka_unit_test(only_snapshots_that_succeeded_are_told),
        cmocka_unit_test(the_program_tells_about_itself),
        cmocka_unit_test(scrapes_changes_and_leadership_go_on_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
