/* What follows the KubeVirt CR and the CRDs: verbosity, limits, and which optional informers run. */
#include "api/types/apiext.h"
#include "base/log.h"
#include "base/strings.h"
#include "cmd/virt-controller/process.h"
#include "support/scripted_transport.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#define CDI_VERSIONS(served) "[{\"name\":\"v1beta1\",\"served\":" served "}]"
#define WATCH_DVS            "/apis/cdi.kubevirt.io/v1beta1/datavolumes?*"

struct world {
    struct script *script;
    struct options options;
    struct process process;
    int log_fd, version;
};

static int set_up(void **state)
{
    struct world *w = kb_malloc(sizeof(*w));
    struct process *p = &w->process;
    w->script = script_new();
    w->options.verbosity = 2;
    w->log_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    kb_log_init("test", w->log_fd, NULL);
    kb_log_set_verbosity(2);
    p->options = &w->options;
    p->arena = kb_arena_new();
    p->clock = script_clock(w->script);
    p->random = kb_random_seeded(1);
    p->host_name = "node-a";
    p->install_namespace = "kubevirt";
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->limiter = kube_limiter_new(p->clock, PROCESS_CLIENT_QPS, PROCESS_CLIENT_BURST);
    p->client =
        kube_client_new(&(struct kube_client_options){.transport = script_transport(w->script), .clock = p->clock});
    p->context.config = virt_config_store_new();
    p->context.runtime =
        kube_runtime_new(&(struct kube_runtime_options){.client = p->client, .clock = p->clock, .random = p->random});
    const struct kube_informer_spec *specs = virt_informer_specs(p->arena, p->install_namespace);
    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        kube_runtime_add_informer(p->context.runtime, id, &specs[id]);
    reload_attach(p);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    struct process *p = &w->process;
    kube_runtime_free(p->context.runtime);
    script_run(w->script);
    virt_config_store_free(p->context.config);
    kube_client_free(p->client);
    kube_limiter_free(p->limiter);
    script_free(w->script);
    free(p->random);
    close(p->wake_fd);
    kb_arena_free(p->arena);
    kb_log_init("test", STDERR_FILENO, NULL);
    kb_log_set_verbosity(2);
    close(w->log_fd);
    free(w);
    return 0;
}

static struct kube_store *store_of(struct world *w, int informer)
{
    return kube_informer_store(kube_runtime_informer(w->process.context.runtime, informer));
}

/* The last state that was put is what `remove_last` takes away. */
static const struct api_object *decode(const struct api_type *type, const char *json)
{
    yyjson_doc *doc;
    const struct api_object *object = NULL;
    struct kube_error error;
    if (api_parse(json, strlen(json), &doc, &error) < 0 ||
        api_decode_shared(type, yyjson_doc_get_root(doc), NULL, &object, &error) < 0)
        fail_msg("%s", error.message);
    yyjson_doc_free(doc);
    return object;
}

static void configure(struct world *w, const char *configuration)
{
    kb_cleanup_free char *json = kb_asprintf("{\"metadata\":{\"name\":\"kubevirt\",\"namespace\":\"kubevirt\","
                                             "\"resourceVersion\":\"%d\"},\"spec\":{\"configuration\":%s},"
                                             "\"status\":{\"phase\":\"Deployed\"}}",
                                             ++w->version, configuration);
    const struct api_object *object = decode(&kv_kube_virt_type, json);
    kube_store_apply(store_of(w, VIRT_KUBEVIRT), object);
    api_object_unref(object);
}

static const struct api_object *crd(struct world *w, const char *versions)
{
    kb_cleanup_free char *json = kb_asprintf("{\"metadata\":{\"name\":\"datavolumes.cdi.kubevirt.io\","
                                             "\"resourceVersion\":\"%d\"},\"spec\":{\"versions\":%s}}",
                                             ++w->version, versions);
    return decode(&apiext_custom_resource_definition_type, json);
}

static void put_crd(struct world *w, const char *versions)
{
    const struct api_object *object = crd(w, versions);
    kube_store_apply(store_of(w, VIRT_CRD), object);
    api_object_unref(object);
}

static void remove_crd(struct world *w)
{
    const struct api_object *object = crd(w, CDI_VERSIONS("true"));
    kube_store_remove(store_of(w, VIRT_CRD), object);
    api_object_unref(object);
}

/* What the main thread does when it is woken. */
static void switch_when_wanted(struct world *w, bool expected)
{
    eventfd_t count = 0;
    bool woken = eventfd_read(w->process.wake_fd, &count) == 0;
    assert_int_equal(woken, expected);
    assert_int_equal(w->process.switch_wanted, expected);
    w->process.switch_wanted = false;
    reload_switch_optional(&w->process);
    script_run(w->script);
}

static bool runs(struct world *w, int informer)
{
    struct kube_informer_state state;
    kube_informer_get_state(kube_runtime_informer(w->process.context.runtime, informer), &state);
    return state.started;
}

/* ---- configuration ---- */

static void verbosity_is_that_of_the_node_else_of_the_component(void **state)
{
    struct world *w = *state;
    configure(w, "{\"developerConfiguration\":{\"logVerbosity\":{\"virtController\":4}}}");
    assert_int_equal(kb_log_verbosity(), 4);
    configure(w, "{\"developerConfiguration\":{\"logVerbosity\":{\"virtController\":4,\"nodeVerbosity\":"
                 "{\"node-a\":7,\"node-b\":9}}}}");
    assert_int_equal(kb_log_verbosity(), 7);
    configure(w, "{}");
    assert_int_equal(kb_log_verbosity(), 2);
}

static void the_client_s_limit_follows_and_goes_back(void **state)
{
    struct world *w = *state;
    configure(w, "{\"controllerConfiguration\":{\"restClient\":{\"rateLimiter\":{\"tokenBucketRateLimiter\":"
                 "{\"qps\":5,\"burst\":7}}}}}");
    assert_true(w->process.qps == 5);
    assert_int_equal(w->process.burst, 7);
    configure(w, "{}");
    assert_true(w->process.qps == PROCESS_CLIENT_QPS);
    assert_int_equal(w->process.burst, PROCESS_CLIENT_BURST);
}

static void an_invalid_configuration_leaves_the_last_good_one_in_force(void **state)
{
    struct world *w = *state;
    configure(w, "{\"developerConfiguration\":{\"logVerbosity\":{\"virtController\":4}}}");
    configure(w, "{\"developerConfiguration\":{\"logVerbosity\":{\"virtController\":6}},"
                 "\"imagePullPolicy\":\"Sometimes\"}");
    assert_int_equal(kb_log_verbosity(), 4);
}

/* ---- kinds ---- */

static void a_kind_is_watched_while_its_version_is_served(void **state)
{
    struct world *w = *state;
    put_crd(w, CDI_VERSIONS("false"));
    switch_when_wanted(w, true);
    assert_false(runs(w, VIRT_DATA_VOLUME));
    struct script_stream *stream = script_stream(w->script, "GET", WATCH_DVS);
    put_crd(w, CDI_VERSIONS("true"));
    switch_when_wanted(w, true);
    assert_true(runs(w, VIRT_DATA_VOLUME));
    assert_true(script_stream_is_open(stream));
    remove_crd(w);
    switch_when_wanted(w, true);
    assert_false(runs(w, VIRT_DATA_VOLUME));
    assert_false(script_stream_is_open(stream));
}

static void a_kind_that_goes_while_its_watch_is_down_harms_nothing_and_may_come_again(void **state)
{
    struct world *w = *state;
    struct script_stream *stream = script_stream(w->script, "GET", WATCH_DVS);
    put_crd(w, CDI_VERSIONS("true"));
    switch_when_wanted(w, true);
    script_refuse(w->script, "GET", WATCH_DVS, 404, "NotFound", "the server could not find the requested resource");
    script_refuse(w->script, "GET", WATCH_DVS, 404, "NotFound", "the server could not find the requested resource");
    script_any_order(w->script);
    script_stream_cut(stream);
    script_run(w->script);
    script_advance(w->script, 5 * KB_NS_PER_S); /* it asks again, and is told that there is no such kind */
    script_run(w->script);
    remove_crd(w);
    switch_when_wanted(w, true);
    assert_false(runs(w, VIRT_DATA_VOLUME));
    script_clear(w->script);
    stream = script_stream(w->script, "GET", WATCH_DVS);
    put_crd(w, CDI_VERSIONS("true"));
    switch_when_wanted(w, true);
    assert_true(script_stream_is_open(stream));
}

static void other_crds_wake_nobody(void **state)
{
    struct world *w = *state;
    const struct api_object *object =
        decode(&apiext_custom_resource_definition_type,
               "{\"metadata\":{\"name\":\"things.example.com\",\"resourceVersion\":\"1\"},\"spec\":{\"versions\":[]}}");
    kube_store_apply(store_of(w, VIRT_CRD), object);
    api_object_unref(object);
    switch_when_wanted(w, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verbosity_is_that_of_the_node_else_of_the_component),
        TEST(the_client_s_limit_follows_and_goes_back),
        TEST(an_invalid_configuration_leaves_the_last_good_one_in_force),
        TEST(a_kind_is_watched_while_its_version_is_served),
        TEST(a_kind_that_goes_while_its_watch_is_down_harms_nothing_and_may_come_again),
        TEST(other_crds_wake_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
