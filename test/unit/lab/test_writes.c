/* Tests of creation, change and deletion: locks, generations, subresources, finalizers, grace periods, collection. */
#include "base/strings.h"
#include "fixture.h"
#include "lab/server_internal.h"

#define VM  "virtualmachines.kubevirt.io"
#define VMI "virtualmachineinstances.kubevirt.io"

static const char pod_on_node[] =
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":7,"
    "\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}";

static void assert_member(struct fixture *f, const char *resource, const char *name, const char *pointer,
                          const char *want)
{
    assert_string_equal(member(f, look(f, resource, name), pointer), want);
}

static void assert_gone(struct fixture *f, const char *resource, const char *name)
{
    if (look(f, resource, name))
        fail_msg("%s %s is still there", resource, name);
}

static void a_stale_update_is_a_conflict(void **state)
{
    struct fixture *f = *state;
    struct kube_error err;
    struct lab_ref ref = at("configmaps", "a");
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    assert_int_equal(lab_client_update_text(f->client, &ref, "{\"metadata\":{\"resourceVersion\":\"1\"}}", NULL, &err),
                     -1);
    assert_true(kube_error_is_conflict(&err));
    assert_string_equal(err.message, "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
                                     "please apply your changes to the latest version and try again");
}

static void a_name_is_generated_and_a_second_creation_refused(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at("configmaps", NULL);
    lab_cleanup_object struct lab_object *o = NULL;
    assert_int_equal(lab_client_create_text(f->client, &ref, "{\"metadata\":{\"generateName\":\"x-\"}}", &o, NULL), 0);
    assert_memory_equal(o->meta->name, "x-", 2);
    assert_int_equal(strlen(o->meta->name), 7);
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    assert_string_equal(refusal(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}"), "configmaps \"a\" already exists");
}

static void generations_count_changes_of_what_is_wanted(void **state)
{
    struct fixture *f = *state;
    must_create(f, VM, "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"a\":1},\"status\":{\"s\":1}}");
    assert_member(f, VM, "v", "/metadata/generation", "1");
    assert_member(f, VM, "v", "/status", ""); /* status is another resource */
    must_patch(f, VM, "v", "{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"status\":{\"s\":2}}");
    assert_member(f, VM, "v", "/metadata/generation", "1");
    must_patch(f, VM, "v", "{\"spec\":{\"a\":2}}");
    assert_member(f, VM, "v", "/metadata/generation", "2");
    must_create(f, VMI, "{\"metadata\":{\"name\":\"i\"},\"spec\":{},\"status\":{\"phase\":\"A\"}}");
    assert_member(f, VMI, "i", "/status/phase", "A"); /* instances have no status resource */
    must_patch(f, VMI, "i", "{\"status\":{\"phase\":\"B\"}}");
    assert_member(f, VMI, "i", "/metadata/generation", "2");
}

static void the_status_resource_changes_the_status_alone(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at(VM, "v");
    ref.subresource = "status";
    must_create(f, VM, "{\"metadata\":{\"name\":\"v\"},\"spec\":{\"a\":1}}");
    assert_int_equal(
        lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE,
                              "{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"spec\":{\"a\":2},\"status\":{\"s\":1}}", NULL,
                              NULL),
        0);
    yyjson_val *v = look(f, VM, "v");
    assert_string_equal(member(f, v, "/spec/a"), "1");
    assert_string_equal(member(f, v, "/status/s"), "1");
    assert_string_equal(member(f, v, "/metadata/labels"), "");
}

static void the_status_of_a_pod_takes_labels_and_annotations_together(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at("pods", "p");
    ref.subresource = "status";
    must_create(f, "pods", pod_on_node);
    must_patch(f, "pods", "p", "{\"metadata\":{\"labels\":{\"a\":\"1\"},\"annotations\":{\"b\":\"1\"}}}");
    assert_int_equal(
        lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE,
                              "{\"metadata\":{\"labels\":{\"a\":\"2\"},\"annotations\":{\"b\":\"2\",\"c\":\"3\"}},"
                              "\"status\":{\"message\":\"m\"}}",
                              NULL, NULL),
        0);
    assert_member(f, "pods", "p", "/metadata/labels/a", "2");
    assert_member(f, "pods", "p", "/metadata/annotations/b", "2");
    assert_member(f, "pods", "p", "/metadata/annotations/c", "3");
    assert_member(f, "pods", "p", "/status/message", "m");
}

static void finalizers_hold_a_deleted_object(void **state)
{
    struct fixture *f = *state;
    must_create(f, VM, "{\"metadata\":{\"name\":\"v\",\"finalizers\":[\"a/b\"]},\"spec\":{}}");
    must_delete(f, VM, "v");
    assert_member(f, VM, "v", "/metadata/deletionTimestamp", "2026-01-02T03:04:05Z");
    struct kube_error err;
    struct lab_ref ref = at(VM, "v");
    assert_int_equal(lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE,
                                           "{\"metadata\":{\"finalizers\":[\"a/b\",\"c/d\"]}}", NULL, &err),
                     -1);
    assert_int_equal(err.http_status, 422);
    /* the version of the end is on the answer: who keeps a cache must not take it for news */
    lab_cleanup_object struct lab_object *last = NULL;
    lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE, "{\"metadata\":{\"finalizers\":null}}", &last, &err);
    assert_int_equal(last->resource_version, lab_server_version(f->server));
    assert_gone(f, VM, "v");
}

static void a_running_pod_has_its_grace_period(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at("pods", "p");
    must_create(f, "pods", pod_on_node);
    must_delete(f, "pods", "p");
    assert_member(f, "pods", "p", "/metadata/deletionTimestamp", "2026-01-02T03:04:12Z");
    assert_member(f, "pods", "p", "/metadata/deletionGracePeriodSeconds", "7");
    assert_int_equal(lab_client_delete(f->client, &ref, &(struct lab_delete_options){.grace_seconds = 0}, NULL), 0);
    assert_gone(f, "pods", "p");
}

static void a_pod_without_a_node_goes_at_once(void **state)
{
    struct fixture *f = *state;
    must_create(f, "pods",
                "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}");
    must_delete(f, "pods", "p");
    assert_gone(f, "pods", "p");
}

static void a_deletion_may_name_the_uid_it_means(void **state)
{
    struct fixture *f = *state;
    struct kube_error err;
    struct lab_ref ref = at("configmaps", "a");
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    struct lab_delete_options options = {.grace_seconds = -1, .uid = "other"};
    assert_int_equal(lab_client_delete(f->client, &ref, &options, &err), -1);
    assert_int_equal(err.http_status, 409);
    options.uid = member(f, look(f, "configmaps", "a"), "/metadata/uid");
    assert_int_equal(lab_client_delete(f->client, &ref, &options, &err), 0);
}

static void binding_assigns_a_pod_once(void **state)
{
    struct fixture *f = *state;
    struct kube_error err;
    struct lab_ref ref = at("pods", "p");
    ref.subresource = "binding";
    must_create(f, "pods",
                "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}");
    assert_int_equal(lab_client_create_text(f->client, &ref, "{\"target\":{\"name\":\"n1\"}}", NULL, NULL), 0);
    assert_member(f, "pods", "p", "/spec/nodeName", "n1");
    assert_int_equal(lab_client_create_text(f->client, &ref, "{\"target\":{\"name\":\"n2\"}}", NULL, &err), -1);
    assert_string_equal(err.message,
                        "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
                        "node \"n1\"");
}

/* A budget `b` for the Pod `p` that allows `allowed` disruptions. */
static void add_budget(struct fixture *f, int allowed)
{
    struct lab_ref ref = at("poddisruptionbudgets.policy", "b");
    ref.subresource = "status";
    must_create(f, ref.resource,
                "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"minAvailable\":1,\"selector\":{\"matchLabels\":{"
                "\"app\":\"x\"}}}}");
    const char *status = kb_arena_printf(f->arena,
                                         "{\"status\":{\"disruptionsAllowed\":%d,\"observedGeneration\":1,"
                                         "\"currentHealthy\":1,\"desiredHealthy\":1,\"expectedPods\":1}}",
                                         allowed);
    assert_int_equal(lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE, status, NULL, NULL), 0);
}

static void run_pod(struct fixture *f)
{
    struct lab_ref ref = at("pods", "p");
    ref.subresource = "status";
    must_create(f, "pods", pod_on_node);
    must_patch(f, "pods", "p", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}");
    assert_int_equal(
        lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE,
                              "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":"
                              "\"True\"}]}}",
                              NULL, NULL),
        0);
}

static void a_budget_refuses_an_eviction(void **state)
{
    struct fixture *f = *state;
    struct kube_error err;
    struct lab_ref ref = at("pods", "p");
    ref.subresource = "eviction";
    run_pod(f);
    add_budget(f, 0);
    assert_int_equal(lab_client_create_text(f->client, &ref, "{}", NULL, &err), -1);
    assert_int_equal(err.http_status, 429);
    assert_member(f, "pods", "p", "/metadata/deletionTimestamp", "");
}

static void an_eviction_is_counted_by_its_budget(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at("pods", "p");
    ref.subresource = "eviction";
    run_pod(f);
    add_budget(f, 1);
    assert_int_equal(lab_client_create_text(f->client, &ref, "{}", NULL, NULL), 0);
    assert_member(f, "poddisruptionbudgets.policy", "b", "/status/disruptionsAllowed", "0");
    assert_member(f, "pods", "p", "/metadata/deletionGracePeriodSeconds", "7");
    assert_member(f, "pods", "p", "/status/conditions/1/type", "DisruptionTarget");
}

/* A config map that the object `owner` of `resource` owns. */
static void add_dependent(struct fixture *f, const char *name, const char *kind, const char *owner_resource,
                          const char *owner)
{
    must_create(f, "configmaps",
                kb_arena_printf(
                    f->arena,
                    "{\"metadata\":{\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":"
                    "\"%s\",\"name\":\"%s\",\"uid\":\"%s\",\"blockOwnerDeletion\":true}]}}",
                    name, kind, owner, member(f, look(f, owner_resource, owner), "/metadata/uid")));
}

static void dependents_follow_their_owner(void **state)
{
    struct fixture *f = *state;
    must_create(f, VM, "{\"metadata\":{\"name\":\"v\"},\"spec\":{}}");
    add_dependent(f, "d", "VirtualMachine", VM, "v");
    lab_server_run(f->server);
    assert_non_null(look(f, "configmaps", "d"));
    must_delete(f, VM, "v");
    lab_server_run(f->server);
    assert_gone(f, "configmaps", "d");
}

static void foreground_deletion_waits_for_dependents(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at(VM, "v");
    must_create(f, VM, "{\"metadata\":{\"name\":\"v\"},\"spec\":{}}");
    add_dependent(f, "d", "VirtualMachine", VM, "v");
    must_patch(f, "configmaps", "d", "{\"metadata\":{\"finalizers\":[\"a/b\"]}}");
    lab_server_run(f->server);
    struct lab_delete_options options = {.grace_seconds = -1, .propagation = "Foreground"};
    assert_int_equal(lab_client_delete(f->client, &ref, &options, NULL), 0);
    lab_server_run(f->server);
    assert_member(f, VM, "v", "/metadata/finalizers", "[\"foregroundDeletion\"]");
    assert_member(f, "configmaps", "d", "/metadata/deletionTimestamp", "2026-01-02T03:04:05Z");
    must_patch(f, "configmaps", "d", "{\"metadata\":{\"finalizers\":null}}");
    lab_server_run(f->server);
    assert_gone(f, VM, "v");
}

static void orphans_lose_their_reference(void **state)
{
    struct fixture *f = *state;
    struct lab_ref ref = at(VM, "v");
    must_create(f, VM, "{\"metadata\":{\"name\":\"v\"},\"spec\":{}}");
    add_dependent(f, "d", "VirtualMachine", VM, "v");
    struct lab_delete_options options = {.grace_seconds = -1, .propagation = "Orphan"};
    assert_int_equal(lab_client_delete(f->client, &ref, &options, NULL), 0);
    lab_server_run(f->server);
    assert_gone(f, VM, "v");
    assert_member(f, "configmaps", "d", "/metadata/ownerReferences", "");
}

static void an_object_whose_owner_never_was_is_collected(void **state)
{
    struct fixture *f = *state;
    must_create(f, "configmaps",
                "{\"metadata\":{\"name\":\"d\",\"ownerReferences\":[{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":"
                "\"VirtualMachine\",\"name\":\"v\",\"uid\":\"u\"}]}}");
    lab_server_run(f->server);
    assert_gone(f, "configmaps", "d");
}

static void a_namespace_goes_with_its_content(void **state)
{
    struct fixture *f = *state;
    struct lab_ref space = {.resource = "namespaces", .name = "x"};
    struct lab_ref inside = {.resource = "configmaps", .namespace_ = "x", .name = "a"};
    struct kube_error err;
    assert_int_equal(lab_client_create_text(f->client, &space, "{}", NULL, NULL), 0);
    assert_int_equal(lab_client_create_text(f->client, &inside, "{}", NULL, NULL), 0);
    assert_int_equal(lab_client_delete(f->client, &space, NULL, NULL), 0);
    inside.name = "b";
    assert_int_equal(lab_client_create_text(f->client, &inside, "{}", NULL, &err), -1);
    assert_int_equal(err.http_status, 403);
    lab_server_run(f->server);
    assert_int_equal(lab_client_get(f->client, &space, NULL, &err), -1);
    assert_int_equal(err.http_status, 404);
}

static void events_end_after_an_hour(void **state)
{
    struct fixture *f = *state;
    must_create(f, "events", "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"name\":\"x\"}}");
    kb_clock_fake_advance(f->clock, 3599 * KB_NS_PER_S);
    lab_server_run(f->server);
    assert_non_null(look(f, "events", "e"));
    kb_clock_fake_advance(f->clock, 120 * KB_NS_PER_S);
    lab_server_run(f->server);
    assert_gone(f, "events", "e");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_stale_update_is_a_conflict),
        TEST(a_name_is_generated_and_a_second_creation_refused),
        TEST(generations_count_changes_of_what_is_wanted),
        TEST(the_status_resource_changes_the_status_alone),
        TEST(the_status_of_a_pod_takes_labels_and_annotations_together),
        TEST(finalizers_hold_a_deleted_object),
        TEST(a_running_pod_has_its_grace_period),
        TEST(a_pod_without_a_node_goes_at_once),
        TEST(a_deletion_may_name_the_uid_it_means),
        TEST(binding_assigns_a_pod_once),
        TEST(a_budget_refuses_an_eviction),
        TEST(an_eviction_is_counted_by_its_budget),
        TEST(dependents_follow_their_owner),
        TEST(foreground_deletion_waits_for_dependents),
        TEST(orphans_lose_their_reference),
        TEST(an_object_whose_owner_never_was_is_collected),
        TEST(a_namespace_goes_with_its_content),
        TEST(events_end_after_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
