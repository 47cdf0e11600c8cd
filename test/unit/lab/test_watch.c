/* Tests of watches: what they begin with, what selectors make of changes, what is forgotten. */
#include "fixture.h"

static struct lab_watch *open_watch(struct fixture *f, const char *resource, const char *labels)
{
    struct lab_selector_options options = {.label_selector = labels};
    struct lab_ref ref = at(resource, NULL);
    struct kube_error err;
    struct lab_watch *w = lab_client_watch(f->client, &ref, &options, &err);
    if (!w)
        fail_msg("%s", err.message);
    return w;
}

static void a_watch_begins_with_what_is_there(void **state)
{
    struct fixture *f = *state;
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"b\"}}");
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    struct lab_watch *w = open_watch(f, "configmaps", NULL);
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"c\"}}");
    assert_string_equal(drain(f, w), "ADDED a, ADDED b, ADDED c");
    must_patch(f, "configmaps", "a", "{\"data\":{\"x\":\"y\"}}");
    must_delete(f, "configmaps", "b");
    assert_string_equal(drain(f, w), "MODIFIED a, DELETED b");
    assert_string_equal(drain(f, w), "");
    lab_watch_free(w);
}

static void a_write_that_changes_nothing_is_no_event(void **state)
{
    struct fixture *f = *state;
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\",\"y\":\"2\"}}");
    struct lab_watch *w = open_watch(f, "configmaps", NULL);
    drain(f, w);
    const char *before = member(f, look(f, "configmaps", "a"), "/metadata/resourceVersion");
    must_patch(f, "configmaps", "a", "{\"data\":{\"x\":\"1\"}}");
    struct lab_ref ref = at("configmaps", "a");
    assert_int_equal(lab_client_update_text(f->client, &ref, "{\"data\":{\"y\":\"2\",\"x\":\"1\"}}", NULL, NULL), 0);
    assert_string_equal(drain(f, w), "");
    assert_string_equal(member(f, look(f, "configmaps", "a"), "/metadata/resourceVersion"), before);
    lab_watch_free(w);
}

static void an_object_that_comes_to_match_is_added_and_one_that_stops_is_deleted(void **state)
{
    struct fixture *f = *state;
    struct lab_watch *w = open_watch(f, "configmaps", "app=web");
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    assert_string_equal(drain(f, w), "");
    must_patch(f, "configmaps", "a", "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}");
    assert_string_equal(drain(f, w), "ADDED a");
    must_patch(f, "configmaps", "a", "{\"data\":{\"x\":\"y\"}}");
    assert_string_equal(drain(f, w), "MODIFIED a");
    must_patch(f, "configmaps", "a", "{\"metadata\":{\"labels\":{\"app\":\"db\"}}}");
    assert_string_equal(drain(f, w), "DELETED a");
    must_delete(f, "configmaps", "a");
    assert_string_equal(drain(f, w), "");
    lab_watch_free(w);
}

/* As the API server does it: who reads the watch learns of the deletion before the Pod is gone. */
static void a_pod_that_goes_at_once_is_seen_going_first(void **state)
{
    struct fixture *f = *state;
    must_create(f, "pods",
                "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    struct lab_watch *w = open_watch(f, "pods", NULL);
    drain(f, w);
    must_delete(f, "pods", "p");
    assert_string_equal(drain(f, w), "MODIFIED p, DELETED p");
    lab_watch_free(w);
}

static void other_namespaces_are_not_seen(void **state)
{
    struct fixture *f = *state;
    struct lab_watch *w = open_watch(f, "configmaps", NULL);
    struct lab_ref ref = {.resource = "configmaps", .namespace_ = "kube-system"};
    assert_int_equal(lab_client_create_text(f->client, &ref, "{\"metadata\":{\"name\":\"x\"}}", NULL, NULL), 0);
    assert_string_equal(drain(f, w), "");
    lab_watch_free(w);
}

static void a_watch_that_falls_behind_the_history_is_told_so(void **state)
{
    struct fixture *f = *state;
    struct lab_watch *slow = open_watch(f, "configmaps", NULL), *quick = open_watch(f, "configmaps", NULL);
    for (char name = 'a'; name <= 'd'; name++)
        must_create(f, "configmaps", kb_arena_printf(f->arena, "{\"metadata\":{\"name\":\"%c\"}}", name));
    assert_string_equal(drain(f, quick), "ADDED a, ADDED b, ADDED c, ADDED d");
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"e\"}}");
    assert_string_equal(drain(f, slow), "expired");
    assert_string_equal(drain(f, quick), "ADDED e");
    lab_watch_free(slow);
    lab_watch_free(quick);
}

static void a_deleted_event_shows_the_last_state_at_a_new_version(void **state)
{
    struct fixture *f = *state;
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"x\":\"1\"}}");
    struct lab_watch *w = open_watch(f, "configmaps", NULL);
    struct lab_watch_event e;
    drain(f, w);
    must_delete(f, "configmaps", "a");
    assert_int_equal(lab_watch_next(w, &e), 1);
    assert_int_equal(e.type, LAB_DELETED);
    assert_true(e.resource_version > e.object->resource_version);
    assert_string_equal(member(f, lab_object_parse(f->arena, e.object, NULL), "/data/x"), "1");
    lab_watch_event_done(&e);
    lab_watch_free(w);
}

static void a_client_wakes_for_its_watches_and_at_its_deadline(void **state)
{
    struct fixture *f = *state;
    struct kb_clock *clock = lab_server_clock(f->server);
    struct lab_watch *w = open_watch(f, "configmaps", NULL);
    assert_true(lab_client_wait(f->client, INT64_MAX)); /* a new watch may have something */
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    assert_true(lab_client_wait(f->client, INT64_MAX));
    assert_string_equal(drain(f, w), "ADDED a");
    assert_true(lab_client_wait(f->client, clock->mono(clock)));
    lab_server_stop(f->server);
    assert_false(lab_client_wait(f->client, INT64_MAX));
    lab_watch_free(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static void watches_that_are_cut_must_begin_anew(void **state)
{
    struct fixture *f = *state;
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    struct lab_watch *w = open_watch(f, "configmaps", NULL);
    assert_string_equal(drain(f, w), "ADDED a");
    lab_server_cut_watches(f->server);
    assert_string_equal(drain(f, w), "expired");
    lab_watch_free(w);
    w = open_watch(f, "configmaps", NULL);
    must_create(f, "configmaps", "{\"metadata\":{\"name\":\"b\"}}");
    assert_string_equal(drain(f, w), "ADDED a, ADDED b");
    lab_watch_free(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_watch_begins_with_what_is_there),
        TEST(a_write_that_changes_nothing_is_no_event),
        TEST(an_object_that_comes_to_match_is_added_and_one_that_stops_is_deleted),
        TEST(a_pod_that_goes_at_once_is_seen_going_first),
        TEST(other_namespaces_are_not_seen),
        cmocka_unit_test_setup_teardown(a_watch_that_falls_behind_the_history_is_told_so, fixture_setup_small_history,
                                        fixture_teardown),
        TEST(a_deleted_event_shows_the_last_state_at_a_new_version),
        TEST(watches_that_are_cut_must_begin_anew),
        TEST(a_client_wakes_for_its_watches_and_at_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
