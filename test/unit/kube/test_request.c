/* Tests of kube/request.h: look-ups, writes and what they leave in the caches, JSON patches. */
#include "api/types/core.h"
#include "base/strings.h"
#include "kube/request.h"
#include "support/scripted_transport.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PODS, LABELLED, PARTS, ONE, MAPS };

static void by_node(const void *object, struct kube_index_sink *sink)
{
    kube_index_add(sink, ((const struct core_pod *)object)->spec.node_name);
}
static const struct kube_index indexes[] = {{"node", by_node}};
static const char *const kept[] = {"metadata", "spec.nodeName"};
static const struct api_projection parts = {kept, KB_ARRAY_LEN(kept)};
static const struct kube_informer_spec specs[] = {
    [PODS] = {.name = "pod", .type = &core_pod_type, .indexes = indexes, .n_indexes = 1},
    [LABELLED] = {.name = "labelled", .type = &core_pod_type, .label_selector = "app"},
    [PARTS] = {.name = "parts", .type = &core_pod_type, .projection = &parts},
    [ONE] = {.name = "one", .type = &core_pod_type, .field_selector = "metadata.name=a"},
    [MAPS] = {.name = "maps", .type = &core_config_map_type, .namespace_ = "ns"},
};

struct fixture {
    struct script *script;
    struct kube_client *client;
    struct kb_random *random;
    struct kube_runtime *runtime;
    struct kube_request *req;
    struct kube_error error;
};

static int set_up(void **state)
{
    struct fixture *f = kb_malloc(sizeof *f);
    f->script = script_new();
    f->client = kube_client_new(
        &(struct kube_client_options){.transport = script_transport(f->script), .clock = script_clock(f->script)});
    f->random = kb_random_seeded(1);
    f->runtime = kube_runtime_new(
        &(struct kube_runtime_options){.client = f->client, .clock = script_clock(f->script), .random = f->random});
    for (int i = 0; i < (int)KB_ARRAY_LEN(specs); i++)
        kube_runtime_add_informer(f->runtime, i, &specs[i]);
    f->req = kube_request_new(f->runtime, "ns/a", 3);
    *state = f;
    return 0;
}
static int tear_down(void **state)
{
    struct fixture *f = *state;
    kube_request_free(f->req);
    kube_runtime_free(f->runtime);
    kube_client_free(f->client);
    script_free(f->script);
    free(f->random);
    free(f);
    return 0;
}

#define POD(name, version, more)                                                                                       \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                                           \
    "\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"" version "\"" more                                   \
    "},\"spec\":{\"nodeName\":\"n1\","                                                                                 \
    "\"hostname\":\"h\",\"containers\":null},\"status\":{\"phase\":\"Running\"}}"

static void cache(struct fixture *f, int informer, const char *json)
{
    const struct api_object *object;
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    assert_int_equal(api_decode_shared(specs[informer].type, yyjson_doc_get_root(doc), specs[informer].projection,
                                       &object, &f->error),
                     0);
    kube_store_apply(kube_informer_store(kube_runtime_informer(f->runtime, informer)), object);
    api_object_unref(object);
    yyjson_doc_free(doc);
}

static const struct core_pod *cached(struct fixture *f, int informer, const char *name)
{
    return kube_lookup(f->req, informer, "ns", name);
}
static const char *cached_version(struct fixture *f, int informer, const char *name)
{
    const struct core_pod *pod = cached(f, informer, name);
    return pod ? pod->metadata.resource_version : "";
}

static void a_request_knows_its_key(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(kube_request_key(f->req), "ns/a");
    assert_string_equal(kube_request_namespace(f->req), "ns");
    assert_string_equal(kube_request_name(f->req), "a");
    assert_int_equal(kube_request_priority(f->req), 3);
    assert_string_equal(kube_now_text(f->req), "2026-01-02T03:04:05Z");
    struct kube_request *cluster = kube_request_new(f->runtime, "node-1", 0);
    assert_string_equal(kube_request_namespace(cluster), "");
    assert_string_equal(kube_request_name(cluster), "node-1");
    kube_request_free(cluster);
}

static void what_was_looked_up_stays_until_the_request_ends(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    const struct core_pod *pod = cached(f, PODS, "a");
    kube_store_clear(kube_informer_store(kube_runtime_informer(f->runtime, PODS)));
    assert_null(cached(f, PODS, "a"));
    assert_string_equal(pod->metadata.name, "a");
}

static void lists_are_ordered_and_indexes_found(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("b", "1", ""));
    cache(f, PODS, POD("a", "2", ""));
    struct kube_items all = kube_lookup_all(f->req, PODS, NULL);
    struct kube_items of_node = kube_lookup_index(f->req, PODS, "node", "n1");
    assert_int_equal(all.n, 2);
    assert_int_equal(of_node.n, 2);
    assert_string_equal(((const struct core_pod *)all.items[0])->metadata.name, "a");
    assert_ptr_equal(of_node.items[1], all.items[1]);
    assert_int_equal(kube_lookup_all(f->req, PODS, "other").n, 0);
    assert_int_equal(kube_lookup_index(f->req, PODS, "node", "n2").n, 0);
    assert_int_equal(kube_lookup_all(f->req, 90, NULL).n, 0);
}

static void an_update_that_changes_nothing_sends_nothing(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    const struct core_pod *pod = cached(f, PODS, "a");
    struct core_pod *copy = KUBE_EDIT(f->req, core_pod, pod);
    const void *answer = NULL;
    copy->metadata.resource_version = "7"; /* not a change */
    assert_int_equal(kube_update(f->req, &core_pod_type, pod, copy, &answer, &f->error), 0);
    assert_ptr_equal(answer, pod);
    assert_int_equal(kube_update_status(f->req, &core_pod_type, pod, copy, NULL, &f->error), 0);
}

static void an_update_sends_what_differs_and_its_answer_is_seen_at_once(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    cache(f, PARTS, POD("a", "1", ""));
    const struct core_pod *pod = cached(f, PODS, "a");
    struct core_pod *copy = KUBE_EDIT(f->req, core_pod, pod);
    const struct core_pod *answer;
    api_map_set(kube_arena(f->req), &copy->metadata.labels, "app", "x");
    copy->status.phase = "Failed"; /* a kind with status subresource: not part of an update */
    script_answer_body(f->script, "PATCH", "/api/v1/namespaces/ns/pods/a",
                       "{\"metadata\":{\"labels\":{\"app\":\"x\"},\"resourceVersion\":\"1\"}}", 200,
                       POD("a", "2", ",\"labels\":{\"app\":\"x\"}"));
    assert_int_equal(kube_update(f->req, &core_pod_type, pod, copy, (const void **)&answer, &f->error), 0);
    assert_string_equal(answer->metadata.resource_version, "2");
    assert_string_equal(cached_version(f, PODS, "a"), "2");
    assert_string_equal(cached_version(f, PARTS, "a"), "2");
    assert_string_equal(cached(f, PARTS, "a")->spec.node_name, "n1");
    assert_string_equal(cached(f, PARTS, "a")->spec.hostname, "");
    assert_string_equal(script_request(f->script, 0)->content_type, "application/merge-patch+json");
}

/* The watch's event can be faster than the answer. */
static void an_answer_that_is_in_the_cache_already_is_not_decoded_again(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    const struct core_pod *pod = cached(f, PODS, "a");
    struct core_pod *copy = KUBE_EDIT(f->req, core_pod, pod);
    const void *answer;
    api_map_set(kube_arena(f->req), &copy->metadata.labels, "app", "x");
    cache(f, PODS, POD("a", "2", ",\"labels\":{\"app\":\"x\"}"));
    script_answer(f->script, "PATCH", "/api/v1/namespaces/ns/pods/a", 200,
                  POD("a", "2", ",\"labels\":{\"app\":\"x\"}"));
    assert_int_equal(kube_update(f->req, &core_pod_type, pod, copy, &answer, &f->error), 0);
    assert_ptr_equal(answer, cached(f, PODS, "a"));
}

#define DELETING ",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\",\"deletionGracePeriodSeconds\":0"

/* Its version is that from before, its content is not. */
static void the_answer_to_the_last_finalizer_is_read_though_its_version_is_known(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", DELETING ",\"finalizers\":[\"x\"]"));
    const struct core_pod *pod = cached(f, PODS, "a");
    struct core_pod *copy = KUBE_EDIT(f->req, core_pod, pod);
    copy->metadata.finalizers.n = 0;
    script_answer(f->script, "PATCH", "/api/v1/namespaces/ns/pods/a", 200, POD("a", "1", DELETING));
    assert_int_equal(kube_update(f->req, &core_pod_type, pod, copy, NULL, &f->error), 0);
    assert_null(cached(f, PODS, "a"));
}

static void a_status_goes_to_its_subresource_alone(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    const struct core_pod *pod = cached(f, PODS, "a");
    struct core_pod *copy = KUBE_EDIT(f->req, core_pod, pod);
    copy->spec.hostname = "other";
    copy->status.phase = "Failed";
    script_answer_body(f->script, "PATCH", "/api/v1/namespaces/ns/pods/a/status",
                       "{\"status\":{\"phase\":\"Failed\"},\"metadata\":{\"resourceVersion\":\"1\"}}", 200,
                       POD("a", "2", ""));
    assert_int_equal(kube_update_status(f->req, &core_pod_type, pod, copy, NULL, &f->error), 0);
    assert_string_equal(cached_version(f, PODS, "a"), "2");
}

static void a_kind_without_status_is_updated_whole(void **state)
{
    struct fixture *f = *state;
    struct core_config_map before = {.metadata = {.name = "m", .namespace = "ns", .resource_version = "4"}};
    struct core_config_map after = before;
    api_map_set(kube_arena(f->req), &after.data, "k", "v");
    script_answer_body(f->script, "PATCH", "/api/v1/namespaces/ns/configmaps/m",
                       "{\"data\":{\"k\":\"v\"},\"metadata\":{\"resourceVersion\":\"4\"}}", 200,
                       "{\"metadata\":{\"name\":\"m\",\"namespace\":\"ns\",\"resourceVersion\":\"5\"}}");
    assert_int_equal(kube_update(f->req, &core_config_map_type, &before, &after, NULL, &f->error), 0);
    assert_non_null(kube_lookup(f->req, MAPS, "ns", "m"));
}

static void an_update_with_a_null_in_a_list_is_a_json_patch(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS,
          "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"resourceVersion\":\"7\"},"
          "\"status\":{\"phase\":\"Pending\"}}");
    const struct core_pod *pod = kube_lookup(f->req, PODS, "ns", "a");
    struct core_pod *after = KUBE_EDIT(f->req, core_pod, pod);
    struct core_pod_condition condition = {.type = "Ready", .status = "True"};
    after->status.conditions = (struct core_pod_condition_list){1, &condition};
    after->metadata.labels = (struct api_string_map){0};
    after->spec.node_name = "not a status";
    script_answer_body(f->script, "PATCH", "/api/v1/namespaces/ns/pods/a/status",
                       "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"},"
                       "{\"op\":\"add\",\"path\":\"/status/conditions\",\"value\":[{\"type\":\"Ready\",\"status\":"
                       "\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":null}]}]",
                       200, "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"resourceVersion\":\"8\"}}");
    assert_int_equal(kube_update_status(f->req, &core_pod_type, pod, after, NULL, &f->error), 0);
}

static void a_conflict_is_an_error_and_changes_no_cache(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    const struct core_pod *pod = cached(f, PODS, "a");
    struct core_pod *copy = KUBE_EDIT(f->req, core_pod, pod);
    copy->spec.hostname = "other";
    script_refuse(f->script, "PATCH", "*", 409, "Conflict", "the object has been modified");
    assert_true(kube_update(f->req, &core_pod_type, pod, copy, NULL, &f->error) < 0);
    assert_true(kube_error_is_conflict(&f->error));
    assert_string_equal(f->error.message, "the object has been modified");
    assert_string_equal(cached_version(f, PODS, "a"), "1");
}

static void a_creation_is_seen_where_the_selector_fits(void **state)
{
    struct fixture *f = *state;
    struct core_pod pod = {.metadata = {.name = "a-1", .namespace = "ns"}};
    const struct core_pod *answer;
    script_answer_body(f->script, "POST", "/api/v1/namespaces/ns/pods",
                       "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a-1\",\"namespace\":\"ns\"},"
                       "\"spec\":{\"containers\":null},\"status\":{}}",
                       201, POD("a-1", "5", ""));
    assert_int_equal(kube_create(f->req, &core_pod_type, &pod, (const void **)&answer, &f->error), 0);
    assert_string_equal(answer->metadata.name, "a-1");
    assert_string_equal(cached_version(f, PODS, "a-1"), "5");
    assert_string_equal(cached_version(f, PARTS, "a-1"), "5");
    assert_string_equal(cached_version(f, LABELLED, "a-1"), "");
    assert_string_equal(cached_version(f, ONE, "a-1"), "");
    script_answer(f->script, "POST", "*", 201, POD("a-2", "6", ",\"labels\":{\"app\":\"x\"}"));
    assert_int_equal(kube_create(f->req, &core_pod_type, &pod, NULL, &f->error), 0);
    assert_string_equal(cached_version(f, LABELLED, "a-2"), "6");
}

/* ---- a creation that fails once ---- */

static const bool yes = true;
static struct meta_owner_reference owner = {.kind = "Node", .name = "n", .uid = "u1", .controller = &yes};
#define OWNED_BY(uid)                                                                                                  \
    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n\",\"uid\":\"" uid                     \
    "\",\"controller\":true}]"

static const struct core_pod owned = {.metadata = {.name = "a", .namespace = "ns", .owner_references = {1, &owner}}};

static void a_creation_with_a_generated_name_sends_the_whole_name(void **state)
{
    struct fixture *f = *state;
    const char *prefix = "a-base-of-which-only-fifty-eight-characters-are-left-for-the-name-";
    struct core_pod pod = {.metadata = {.generate_name = prefix, .namespace = "ns"}};
    script_answer(f->script, "POST", "*", 201, POD("x", "5", ""));
    assert_int_equal(kube_create(f->req, &core_pod_type, &pod, NULL, &f->error), 0);
    const char *body = script_request(f->script, 0)->body;
    const char *name = strstr(body, "\"name\":\"");
    assert_non_null(name);
    assert_int_equal(strspn(name + 8, "abcdefghijklmnopqrstuvwxyz0123456789-"), 63);
    assert_memory_equal(name + 8, prefix, 58);
    assert_non_null(strstr(body, "\"generateName\":\"a-base"));
}

static void a_creation_whose_answer_is_lost_is_found_and_seen(void **state)
{
    struct fixture *f = *state;
    const struct core_pod *answer;
    script_cut(f->script, "POST", "/api/v1/namespaces/ns/pods");
    script_answer(f->script, "GET", "/api/v1/namespaces/ns/pods/a", 200, POD("a", "5", OWNED_BY("u1")));
    assert_int_equal(kube_create(f->req, &core_pod_type, &owned, (const void **)&answer, &f->error), 0);
    assert_string_equal(answer->metadata.name, "a");
    assert_string_equal(cached_version(f, PODS, "a"), "5");
}

static void a_creation_that_did_not_reach_the_server_is_sent_again(void **state)
{
    struct fixture *f = *state;
    script_cut(f->script, "POST", "*");
    script_refuse(f->script, "GET", "*", 404, "NotFound", "not found");
    script_answer(f->script, "POST", "*", 201, POD("a", "5", OWNED_BY("u1")));
    assert_int_equal(kube_create(f->req, &core_pod_type, &owned, NULL, &f->error), 0);
    assert_string_equal(cached_version(f, PODS, "a"), "5");
}

static void a_creation_that_reached_the_server_late_is_found_and_seen(void **state)
{
    struct fixture *f = *state;
    script_cut(f->script, "POST", "*");
    script_refuse(f->script, "GET", "*", 404, "NotFound", "not found");
    script_refuse(f->script, "POST", "*", 409, "AlreadyExists", "it is there");
    script_answer(f->script, "GET", "*", 200, POD("a", "5", OWNED_BY("u1")));
    assert_int_equal(kube_create(f->req, &core_pod_type, &owned, NULL, &f->error), 0);
    assert_string_equal(cached_version(f, PODS, "a"), "5");
}

/* The first may still be under way: one without a name would be made beside it. */
static void a_refusal_after_a_lost_answer_is_not_asked_without_a_name(void **state)
{
    struct fixture *f = *state;
    struct core_pod pod = {.metadata = {.generate_name = "a-", .namespace = "ns"}};
    script_cut(f->script, "POST", "*");
    script_refuse(f->script, "GET", "*", 404, "NotFound", "not found");
    script_refuse(f->script, "POST", "*", 403, "Forbidden", "exceeded quota");
    assert_true(kube_create(f->req, &core_pod_type, &pod, NULL, &f->error) < 0);
    assert_string_equal(f->error.message, "exceeded quota");
}

static void a_creation_whose_name_someone_else_has_is_a_failure(void **state)
{
    static const char *const found[] = {
        POD("a", "5", ""), POD("a", "5", OWNED_BY("u2")),
        POD("a", "5", OWNED_BY("u1") ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"")};
    struct fixture *f = *state;
    for (size_t i = 0; i < KB_ARRAY_LEN(found); i++) {
        script_cut(f->script, "POST", "*");
        script_answer(f->script, "GET", "*", 200, found[i]);
        assert_true(kube_create(f->req, &core_pod_type, &owned, NULL, &f->error) < 0);
        assert_int_equal(f->error.kind, KUBE_ERROR_CONNECTION);
    }
}

static void a_creation_that_fails_twice_fails(void **state)
{
    struct fixture *f = *state;
    script_refuse(f->script, "POST", "*", 409, "Conflict", "the quota has been modified");
    script_refuse(f->script, "POST", "*", 500, "InternalError", "a fault");
    assert_true(kube_create(f->req, &core_pod_type, &owned, NULL, &f->error) < 0);
    assert_string_equal(f->error.message, "a fault");
}

static void a_creation_that_is_refused_is_not_sent_again(void **state)
{
    struct fixture *f = *state;
    script_refuse(f->script, "POST", "*", 409, "AlreadyExists", "it is there");
    assert_true(kube_create(f->req, &core_pod_type, &owned, NULL, &f->error) < 0);
    script_refuse(f->script, "POST", "*", 403, "Forbidden", "no");
    assert_true(kube_create(f->req, &core_pod_type, &owned, NULL, &f->error) < 0);
}

static void a_refusal_has_the_name_that_the_server_would_have_put(void **state)
{
    struct fixture *f = *state;
    struct core_pod pod = {.metadata = {.generate_name = "a-", .namespace = "ns"}};
    script_refuse(f->script, "POST", "*", 403, "Forbidden", "pods \"a-bcdfg\" is forbidden: no such class");
    script_refuse(f->script, "POST", "*", 403, "Forbidden", "pods \"a-\" is forbidden: no such class");
    assert_true(kube_create(f->req, &core_pod_type, &pod, NULL, &f->error) < 0);
    assert_string_equal(f->error.message, "pods \"a-\" is forbidden: no such class");
    assert_non_null(strstr(script_request(f->script, 0)->body, "\"name\":"));
    assert_null(strstr(script_request(f->script, 1)->body, "\"name\":"));
}

static void a_deletion_whose_answer_is_lost_is_sent_again(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    script_cut(f->script, "DELETE", "/api/v1/namespaces/ns/pods/a");
    script_refuse(f->script, "DELETE", "/api/v1/namespaces/ns/pods/a", 404, "NotFound", "not found");
    assert_int_equal(kube_delete(f->req, &core_pod_type, cached(f, PODS, "a"), &f->error), 0);
    script_refuse(f->script, "DELETE", "*", 409, "Conflict", "another");
    script_refuse(f->script, "DELETE", "*", 500, "InternalError", "a fault");
    assert_true(kube_delete(f->req, &core_pod_type, cached(f, PODS, "a"), &f->error) < 0);
    assert_string_equal(f->error.message, "a fault");
}

static void an_informer_of_another_namespace_does_not_see_a_creation(void **state)
{
    struct fixture *f = *state;
    struct core_config_map map = {.metadata = {.name = "m", .namespace = "other"}};
    script_answer(f->script, "POST", "/api/v1/namespaces/other/configmaps", 201,
                  "{\"metadata\":{\"name\":\"m\",\"namespace\":\"other\",\"resourceVersion\":\"5\"}}");
    assert_int_equal(kube_create(f->req, &core_config_map_type, &map, NULL, &f->error), 0);
    assert_null(kube_lookup(f->req, MAPS, "other", "m"));
}

static void a_deletion_names_the_uid_and_forgives_absence(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    const struct core_pod *pod = cached(f, PODS, "a");
    script_answer_body(f->script, "DELETE", "/api/v1/namespaces/ns/pods/a",
                       "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u\"}}", 200,
                       "{}");
    assert_int_equal(kube_delete(f->req, &core_pod_type, pod, &f->error), 0);
    script_refuse(f->script, "DELETE", "*", 404, "NotFound", "not found");
    assert_int_equal(kube_delete(f->req, &core_pod_type, pod, &f->error), 0);
    script_refuse(f->script, "DELETE", "*", 403, "Forbidden", "no");
    assert_true(kube_delete(f->req, &core_pod_type, pod, &f->error) < 0);
    assert_string_equal(f->error.message, "no");
}

static void an_eviction_is_posted_to_the_pod(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    script_answer_body(
        f->script, "POST", "/api/v1/namespaces/ns/pods/a/eviction",
        "{\"kind\":\"Eviction\",\"apiVersion\":\"policy/v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}", 201,
        "{}");
    assert_int_equal(kube_evict(f->req, cached(f, PODS, "a"), &f->error), 0);
}

static void a_patch_goes_out_as_it_is(void **state)
{
    struct fixture *f = *state;
    cache(f, PODS, POD("a", "1", ""));
    struct kube_json_patch patch = kube_json_patch_new(f->req);
    kube_json_patch_op(&patch, "add", "/metadata/labels/x", "\"y\"");
    script_answer_body(f->script, "PATCH", "/api/v1/namespaces/ns/pods/a",
                       "[{\"op\":\"add\",\"path\":\"/metadata/labels/x\",\"value\":\"y\"}]", 200, POD("a", "9", ""));
    assert_int_equal(kube_patch(f->req, &core_pod_type, cached(f, PODS, "a"), NULL, KUBE_JSON_PATCH,
                                kube_json_patch_text(&patch), NULL, &f->error),
                     0);
    assert_string_equal(cached_version(f, PODS, "a"), "9");
}

static void a_put_goes_to_any_path(void **state)
{
    struct fixture *f = *state;
    script_answer_body(f->script, "PUT", "/apis/subresources.kubevirt.io/v1/x/freeze", "{\"a\":1}", 202, "done");
    struct kb_strbuf answer = {.arena = kube_arena(f->req)};
    assert_int_equal(
        kube_put_path(f->req, "/apis/subresources.kubevirt.io/v1/x/freeze", "{\"a\":1}", &answer, &f->error), 0);
    assert_string_equal(kb_strbuf_text(&answer), "done");
}

static void a_live_look_up_tells_absence_from_failure(void **state)
{
    struct fixture *f = *state;
    const void *pod;
    script_refuse(f->script, "GET", "/api/v1/namespaces/ns/pods/a", 404, "NotFound", "not found");
    assert_int_equal(kube_get_live(f->req, &core_pod_type, "ns", "a", &pod, &f->error), 0);
    assert_null(pod);
    script_answer(f->script, "GET", "/api/v1/namespaces/ns/pods/a", 200, POD("a", "3", ""));
    assert_int_equal(kube_get_live(f->req, &core_pod_type, "ns", "a", &pod, &f->error), 0);
    assert_string_equal(((const struct core_pod *)pod)->metadata.resource_version, "3");
    script_refuse(f->script, "GET", "/api/v1/namespaces/ns/pods/a", 403, "Forbidden", "no");
    assert_true(kube_get_live(f->req, &core_pod_type, "ns", "a", &pod, &f->error) < 0);
}

static void note(void *data)
{
    static int count;
    *(int *)data = ++count;
}

static void what_must_be_done_at_the_end_is_done_last_first(void **state)
{
    struct fixture *f = *state;
    int first = 0, second = 0;
    struct kube_request *req = kube_request_new(f->runtime, "x", 0);
    kube_request_at_end(req, note, &first);
    kube_request_at_end(req, note, &second);
    kube_request_free(req);
    assert_true(second > 0 && first == second + 1);
}

/* ---- JSON patches ---- */

static const char *member_patch(struct fixture *f, const struct core_pod *before, const struct core_pod *after,
                                const char *path, bool with_test)
{
    struct kube_json_patch patch = kube_json_patch_new(f->req);
    kube_json_patch_member(&patch, &core_pod_type, before, after, path, with_test);
    return kube_json_patch_text(&patch);
}

static void a_member_is_tested_and_replaced_added_or_removed(void **state)
{
    struct fixture *f = *state;
    struct core_pod empty = {0}, x = {.spec = {.node_name = "x"}}, y = {.spec = {.node_name = "y"}};
    assert_string_equal(member_patch(f, &x, &x, "spec.nodeName", true), "[]");
    assert_string_equal(member_patch(f, &x, &y, "spec.nodeName", true),
                        "[{\"op\":\"test\",\"path\":\"/spec/nodeName\",\"value\":\"x\"},"
                        "{\"op\":\"replace\",\"path\":\"/spec/nodeName\",\"value\":\"y\"}]");
    assert_string_equal(member_patch(f, &empty, &y, "spec.nodeName", true),
                        "[{\"op\":\"test\",\"path\":\"/spec/nodeName\",\"value\":null},"
                        "{\"op\":\"add\",\"path\":\"/spec/nodeName\",\"value\":\"y\"}]");
    assert_string_equal(member_patch(f, &x, &empty, "spec.nodeName", false),
                        "[{\"op\":\"remove\",\"path\":\"/spec/nodeName\"}]");
}

static void members_that_mean_the_same_are_not_patched(void **state)
{
    struct fixture *f = *state;
    struct core_container none[1] = {0};
    struct core_pod nil = {0}, empty = {.spec = {.containers = {.items = none}}};
    assert_string_equal(member_patch(f, &nil, &empty, "spec.containers", true), "[]");
    assert_string_equal(member_patch(f, &empty, &nil, "spec.containers", true), "[]");
}

static void an_absent_parent_is_added_whole(void **state)
{
    struct fixture *f = *state;
    int64_t user = 107;
    struct core_pod_security_context context = {.run_as_user = &user};
    struct core_pod before = {0}, after = {.spec = {.security_context = &context}};
    assert_string_equal(member_patch(f, &before, &after, "spec.securityContext.runAsUser", false),
                        "[{\"op\":\"add\",\"path\":\"/spec/securityContext\",\"value\":{\"runAsUser\":107}}]");
}

static void pointers_escape_slash_and_tilde(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(kube_json_pointer_escape(kube_arena(f->req), "a/b~c"), "a~1b~0c");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_request_knows_its_key),
        TEST(what_was_looked_up_stays_until_the_request_ends),
        TEST(lists_are_ordered_and_indexes_found),
        TEST(an_update_that_changes_nothing_sends_nothing),
        TEST(an_update_sends_what_differs_and_its_answer_is_seen_at_once),
        TEST(an_answer_that_is_in_the_cache_already_is_not_decoded_again),
        TEST(the_answer_to_the_last_finalizer_is_read_though_its_version_is_known),
        TEST(a_status_goes_to_its_subresource_alone),
        TEST(a_kind_without_status_is_updated_whole),
        TEST(an_update_with_a_null_in_a_list_is_a_json_patch),
        TEST(a_conflict_is_an_error_and_changes_no_cache),
        TEST(a_creation_is_seen_where_the_selector_fits),
        TEST(a_creation_with_a_generated_name_sends_the_whole_name),
        TEST(a_creation_whose_answer_is_lost_is_found_and_seen),
        TEST(a_creation_that_did_not_reach_the_server_is_sent_again),
        TEST(a_creation_that_reached_the_server_late_is_found_and_seen),
        TEST(a_refusal_after_a_lost_answer_is_not_asked_without_a_name),
        TEST(a_creation_whose_name_someone_else_has_is_a_failure),
        TEST(a_creation_that_fails_twice_fails),
        TEST(a_creation_that_is_refused_is_not_sent_again),
        TEST(a_refusal_has_the_name_that_the_server_would_have_put),
        TEST(a_deletion_whose_answer_is_lost_is_sent_again),
        TEST(an_informer_of_another_namespace_does_not_see_a_creation),
        TEST(a_deletion_names_the_uid_and_forgives_absence),
        TEST(an_eviction_is_posted_to_the_pod),
        TEST(a_patch_goes_out_as_it_is),
        TEST(a_put_goes_to_any_path),
        TEST(a_live_look_up_tells_absence_from_failure),
        TEST(what_must_be_done_at_the_end_is_done_last_first),
        TEST(a_member_is_tested_and_replaced_added_or_removed),
        TEST(members_that_mean_the_same_are_not_patched),
        TEST(an_absent_parent_is_added_whole),
        TEST(pointers_escape_slash_and_tilde),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
