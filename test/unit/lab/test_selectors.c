/* Tests of label and field selectors, on Pods of a server. */
#include "base/strbuf.h"
#include "fixture.h"

static const char *pod(struct fixture *f, const char *name, const char *labels, const char *node)
{
    return kb_arena_printf(
        f->arena,
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{"
        "\"name\":\"c\",\"image\":\"x\"}]}}",
        name, labels, node);
}

static int setup(void **state)
{
    fixture_setup(state);
    struct fixture *f = *state;
    must_create(f, "pods", pod(f, "a", "\"app\":\"web\",\"tier\":\"1\"", "n1"));
    must_create(f, "pods", pod(f, "b", "\"app\":\"db\",\"tier\":\"2\"", "n2"));
    must_create(f, "pods", pod(f, "c", "", "n1"));
    return 0;
}

/* The names of the selected Pods, or the refusal. */
static const char *selected(struct fixture *f, const char *labels, const char *fields)
{
    struct lab_selector_options options = {labels, fields};
    struct lab_ref ref = at("pods", NULL);
    struct lab_object **items;
    struct kube_error err;
    struct kb_strbuf b = {.arena = f->arena};
    size_t n;
    if (lab_client_list(f->client, &ref, &options, f->arena, &items, &n, &err) < 0)
        return kb_arena_strdup(f->arena, err.message);
    for (size_t i = 0; i < n; i++) {
        kb_strbuf_puts(&b, items[i]->meta->name);
        lab_object_unref(items[i]);
    }
    return kb_strbuf_text(&b);
}

static void labels_select_as_kubernetes_has_it(void **state)
{
    static const struct {
        const char *selector, *want;
    } rows[] = {
        {"", "abc"},     {"app=web", "a"},           {"app==web", "a"},         {"app!=web", "bc"},  {"app", "ab"},
        {"!app", "c"},   {"app in (web, db)", "ab"}, {"app notin (web)", "bc"}, {"app,tier=2", "b"}, {"tier>1", "b"},
        {"tier<2", "a"}, {"app=web,app=db", ""},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        assert_string_equal(selected(*state, rows[i].selector, NULL), rows[i].want);
}

static void fields_select_what_the_kind_offers(void **state)
{
    static const struct {
        const char *selector, *want;
    } rows[] = {
        {"spec.nodeName=n1", "ac"},
        {"spec.nodeName!=n1", "b"},
        {"metadata.name=b", "b"},
        {"metadata.namespace=default,metadata.name=c", "c"},
        {"status.phase=Pending,spec.nodeName=n2", "b"},
        {"spec.color=red", "field label not supported: spec.color"},
    };
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        assert_string_equal(selected(*state, NULL, rows[i].selector), rows[i].want);
}

static void a_selector_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {"app in web", "app in (web", ",", "app=web,", "a b"};
    for (size_t i = 0; i < KB_ARRAY_LEN(bad); i++)
        assert_memory_equal(selected(*state, bad[i], NULL), "unable to parse requirement", 27);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(labels_select_as_kubernetes_has_it, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(fields_select_what_the_kind_offers, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_selector_that_is_none_is_refused, setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
