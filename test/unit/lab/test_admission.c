/* Tests of what the server fills in and refuses: Pods, quotas, limit ranges, Pod security, CRDs. */
#include "base/strings.h"
#include "fixture.h"

static const char *pod(struct fixture *f, const char *spec)
{
    return kb_arena_printf(f->arena, "{\"metadata\":{\"name\":\"p\"},\"spec\":{%s}}", spec);
}

static const char *container(struct fixture *f, const char *members)
{
    return kb_arena_printf(
        f->arena, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\",%s}]}}",
        members);
}

static void pods_are_completed(void **state)
{
    static const struct {
        const char *pointer, *want;
    } rows[] = {
        {"/spec/restartPolicy", "Always"},
        {"/spec/terminationGracePeriodSeconds", "30"},
        {"/spec/tolerations/1/key", "node.kubernetes.io/unreachable"},
        {"/spec/priority", "0"},
        {"/spec/containers/0/imagePullPolicy", "IfNotPresent"},
        {"/spec/containers/0/resources/requests/cpu", "500m"},
        {"/spec/containers/0/resources/limits/memory", "1Gi"},
        {"/spec/volumes/0/emptyDir", "{}"},
        {"/status/phase", "Pending"},
        {"/status/qosClass", "Guaranteed"},
    };
    struct fixture *f = *state;
    must_create(f, "pods",
                pod(f, "\"volumes\":[{\"name\":\"v\"}],\"containers\":[{\"name\":\"c\",\"image\":\"r/"
                       "x:1\",\"resources\":{\"limits\":"
                       "{\"cpu\":\"0.5\",\"memory\":\"1024Mi\"}}}]"));
    yyjson_val *p = look(f, "pods", "p");
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        assert_string_equal(member(f, p, rows[i].pointer), rows[i].want);
}

static void wrong_containers_are_refused(void **state)
{
    static const struct {
        const char *members, *want; /* want: behind 'Pod "p" is invalid: ' */
    } rows[] = {
        {"\"resources\":{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"1\"}}",
         "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"},
        {"\"readinessProbe\":{}", "spec.containers[0].readinessProbe: Required value: must specify a handler type"},
        {"\"ports\":[{\"containerPort\":80,\"name\":\"NOT_valid\"}]",
         "spec.containers[0].ports[0].name: Invalid value: \"NOT_valid\": must contain only alpha-numeric characters "
         "(a-z, "
         "0-9), and hyphens (-)"},
        {"\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/x\"}]",
         "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
        {"\"env\":[{\"name\":\"a=b\",\"value\":\"\"}]", "spec.containers[0].env[0].name: Invalid value: \"a=b\": a "
                                                        "valid environment variable name must consist only of "
                                                        "printable ASCII characters other than '='"},
        {"\"resources\":{\"limits\":{\"example.com/x\":\"500m\"}}",
         "[spec.containers[0].resources.limits[example.com/x]: Invalid value: \"500m\": must be an integer, "
         "spec.containers[0].resources.requests[example.com/x]: Invalid value: \"500m\": must be an integer]"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const char *message = refusal(f, "pods", container(f, rows[i].members));
        assert_string_equal(message, kb_arena_printf(f->arena, "Pod \"p\" is invalid: %s", rows[i].want));
    }
}

static void wrong_pods_are_refused(void **state)
{
    static const struct {
        const char *spec, *want;
    } rows[] = {
        {"\"containers\":[]", "spec.containers: Required value"},
        {"\"containers\":[{\"name\":\"c\",\"image\":\"x\"}],\"volumes\":[{\"name\":\"a\",\"emptyDir\":{}},{\"name\":"
         "\"a\","
         "\"emptyDir\":{}}]",
         "spec.volumes[1].name: Duplicate value: \"a\""},
        {"\"containers\":[{\"name\":\"c\",\"image\":\"x\"}],\"restartPolicy\":\"Sometimes\"",
         "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", "
         "\"Never\""},
        {"\"containers\":[{\"name\":\"c\"}]", "spec.containers[0].image: Required value"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        assert_string_equal(refusal(f, "pods", pod(f, rows[i].spec)),
                            kb_arena_printf(f->arena, "Pod \"p\" is invalid: %s", rows[i].want));
}

static void a_pods_spec_is_fixed(void **state)
{
    struct fixture *f = *state;
    struct kube_error err;
    struct lab_ref ref = at("pods", "p");
    must_create(f, "pods", pod(f, "\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]"));
    assert_int_equal(
        lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE, "{\"spec\":{\"hostname\":\"h\"}}", NULL, &err), -1);
    assert_int_equal(err.http_status, 422);
    assert_int_equal(lab_client_patch_text(f->client, &ref, LAB_PATCH_STRATEGIC,
                                           "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"y\"}]}}", NULL,
                                           &err),
                     0);
}

static void a_quota_counts_and_refuses(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at("resourcequotas", "q");
    ref.subresource = "status";
    must_create(f, "resourcequotas", "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":\"1\"}}}");
    assert_int_equal(lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE,
                                           "{\"status\":{\"hard\":{\"pods\":\"1\"},\"used\":{\"pods\":\"0\"}}}", NULL,
                                           NULL),
                     0);
    must_create(f, "pods", pod(f, "\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]"));
    assert_string_equal(member(f, look(f, "resourcequotas", "q"), "/status/used/pods"), "1");
    assert_string_equal(
        refusal(f, "pods",
                "{\"metadata\":{\"name\":\"z\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}"),
        "pods \"z\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1");
}

static void a_limit_range_gives_limits(void **state)
{
    struct fixture *f = *state;
    must_create(
        f, "limitranges",
        "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"limits\":[{\"type\":\"Container\",\"default\":{\"memory\":\"2Gi\"},"
        "\"max\":{\"memory\":\"4Gi\"}}]}}");
    must_create(f, "pods", pod(f, "\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]"));
    yyjson_val *p = look(f, "pods", "p");
    assert_string_equal(member(f, p, "/spec/containers/0/resources/limits/memory"), "2Gi");
    assert_string_equal(member(f, p, "/spec/containers/0/resources/requests/memory"), "2Gi");
    assert_string_equal(member(f, p, "/metadata/annotations/kubernetes.io~1limit-ranger"),
                        "LimitRanger plugin set: memory request for container c; memory limit for container c");
    assert_string_equal(
        refusal(f, "pods",
                "{\"metadata\":{\"name\":\"z\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\","
                "\"resources\":{\"limits\":{\"memory\":\"5Gi\"}}}]}}"),
        "pods \"z\" is forbidden: maximum memory usage per Container is 4Gi, but limit is 5Gi");
}

static void a_restricted_namespace_refuses_root(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ns = {.resource = "namespaces", .name = "default"};
    assert_int_equal(
        lab_client_patch_text(f->client, &ns, LAB_PATCH_MERGE,
                              "{\"metadata\":{\"labels\":{\"pod-security.kubernetes.io/enforce\":\"restricted\"}}}",
                              NULL, NULL),
        0);
    assert_string_equal(
        refusal(f, "pods",
                pod(f,
                    "\"securityContext\":{\"seccompProfile\":{\"type\":\"RuntimeDefault\"}},\"containers\":[{\"name\":"
                    "\"compute\",\"image\":\"x\",\"securityContext\":{\"runAsUser\":0,\"runAsNonRoot\":false,"
                    "\"capabilities\":"
                    "{\"add\":[\"SYS_NICE\"]}}}]")),
        "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false "
        "(container "
        "\"compute\" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
        "\"compute\" must set securityContext.capabilities.drop=[\"ALL\"]; container \"compute\" must not include "
        "\"SYS_NICE\" "
        "in securityContext.capabilities.add), runAsNonRoot != true (container \"compute\" must not set "
        "securityContext.runAsNonRoot=false), runAsUser=0 (container \"compute\" must not set runAsUser=0)");
}

static const char crd[] =
    "{\"metadata\":{\"name\":\"things.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\","
    "\"names\":{"
    "\"plural\":\"things\",\"kind\":\"Thing\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
    "\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"size\"],"
    "\"properties\":{\"size\":{\"type\":\"integer\",\"minimum\":1},\"color\":{\"type\":\"string\",\"enum\":[\"red\","
    "\"blue\"],"
    "\"default\":\"red\"}}}}}}}]}}";

static void a_crd_makes_a_kind(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = {.resource = "customresourcedefinitions.apiextensions.k8s.io"};
    struct kube_error err;
    if (lab_client_create_text(f->client, &ref, crd, NULL, &err) < 0)
        fail_msg("%s", err.message);
    must_create(f, "things.example.com", "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"size\":3,\"unknown\":1}}");
    yyjson_val *t = look(f, "things.example.com", "t");
    assert_string_equal(member(f, t, "/spec"), "{\"size\":3,\"color\":\"red\"}");
    assert_string_equal(
        refusal(f, "things.example.com", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"color\":\"green\"}}"),
        "Thing.example.com \"x\" is invalid: [spec.color: Unsupported value: \"green\": supported values: "
        "\"red\", \"blue\", spec.size: Required value]");
    assert_string_equal(
        refusal(f, "things.example.com", "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"size\":\"3\"}}"),
        "Thing.example.com \"x\" is invalid: spec.size: Invalid value: \"string\": spec.size in body must be "
        "of type integer: \"string\"");
}

static void a_built_in_kind_has_a_definition_and_follows_it(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = {.resource = "customresourcedefinitions.apiextensions.k8s.io",
                          .name = "datavolumes.cdi.kubevirt.io"};
    static const char required[] =
        "{\"spec\":{\"versions\":[{\"name\":\"v1beta1\",\"served\":true,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"required\":[\"spec\"],"
        "\"x-kubernetes-preserve-unknown-fields\":true}},\"subresources\":{\"status\":{}}}]}}";
    must_create(f, "datavolumes.cdi.kubevirt.io", "{\"metadata\":{\"name\":\"d\"}}");
    yyjson_val *definition = look(f, ref.resource, ref.name);
    assert_string_equal(member(f, definition, "/spec/names/kind"), "DataVolume");
    assert_string_equal(member(f, definition, "/spec/versions/0/served"), "true");
    assert_string_equal(member(f, definition, "/status/conditions/1/type"), "Established");
    assert_int_equal(lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE, required, NULL, NULL), 0);
    assert_non_null(look(f, "datavolumes.cdi.kubevirt.io", "d"));
    assert_string_equal(refusal(f, "datavolumes.cdi.kubevirt.io", "{\"metadata\":{\"name\":\"e\"}}"),
                        "DataVolume.cdi.kubevirt.io \"e\" is invalid: spec: Required value");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(pods_are_completed),
        TEST(wrong_containers_are_refused),
        TEST(wrong_pods_are_refused),
        TEST(a_pods_spec_is_fixed),
        TEST(a_quota_counts_and_refuses),
        TEST(a_limit_range_gives_limits),
        TEST(a_restricted_namespace_refuses_root),
        TEST(a_crd_makes_a_kind),
        TEST(a_built_in_kind_has_a_definition_and_follows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
