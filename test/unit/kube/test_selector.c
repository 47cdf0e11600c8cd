/* Tests of kube/selector.h. */
#include "base/arena.h"
#include "kube/selector.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct api_string_entry entries[] = {{"app", "virt"}, {"empty", ""}, {"kubevirt.io", "virt-launcher"}};
static const struct api_string_map labels = {KB_ARRAY_LEN(entries), entries};

static void text_selectors_match_as_the_api_server_does(void **state)
{
    static const struct {
        const char *selector;
        bool matches;
    } rows[] = {
        {"", true},
        {"kubevirt.io", true},
        {"other", false},
        {"!other", true},
        {"!app", false},
        {"app=virt", true},
        {"app==virt", true},
        {"app=virtx", false},
        {"app = virt , kubevirt.io", true},
        {"app=virt,other", false},
        {"empty=", true},
        {"app=", false},
        {"app!=virt", false},
        {"app!=x", true},
        {"other!=x", true},
        {"app in (a,virt)", true},
        {"app in ( a , virt )", true},
        {"app in (a,b)", false},
        {"other in (a,b)", false},
        {"empty in (a,)", true},
        {"app notin (virt,a )", false},
        {"app notin (virt-operator,kubevirt-operator )", true},
        {"other notin (a)", true},
        {"app in (a,virt),kubevirt.io=virt-launcher", true},
        {"app in (a,virt),kubevirt.io=x", false},
        {"app in (a", false},
        {"app near (virt)", false},
        {",", false},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        if (kube_selector_matches(rows[i].selector, &labels) != rows[i].matches)
            fail_msg("\"%s\": expected %d", rows[i].selector, rows[i].matches);
    }
    assert_true(kube_selector_matches(NULL, &labels));
}

/* `value` NULL: there are no values. */
static bool expression_matches(const char *key, const char *operator, const char * value)
{
    const char *values[] = {"x", value};
    struct meta_label_selector_requirement requirement = {
        .key = key, .operator= operator, .values = {value ? 2 : 0, values} };
    struct meta_label_selector selector = {.match_expressions = {1, &requirement}};
    return kube_label_selector_matches(&selector, &labels);
}

static void structured_selectors_match_labels_and_expressions(void **state)
{
    (void)state;
    struct api_string_entry one[] = {{"app", "virt"}}, wrong[] = {{"app", "x"}};
    assert_true(kube_label_selector_matches(&(struct meta_label_selector){.match_labels = {1, one}}, &labels));
    assert_false(kube_label_selector_matches(&(struct meta_label_selector){.match_labels = {1, wrong}}, &labels));
    assert_true(expression_matches("app", "In", "virt"));
    assert_false(expression_matches("app", "In", "y"));
    assert_false(expression_matches("app", "NotIn", "virt"));
    assert_true(expression_matches("none", "NotIn", "virt"));
    assert_true(expression_matches("app", "Exists", NULL));
    assert_false(expression_matches("none", "Exists", NULL));
    assert_true(expression_matches("none", "DoesNotExist", NULL));
    assert_false(expression_matches("app", "DoesNotExist", NULL));
    assert_false(expression_matches("app", "Near", "virt"));
}

static void an_empty_structured_selector_matches_all_and_a_missing_one_nothing(void **state)
{
    (void)state;
    assert_true(kube_label_selector_matches(&(struct meta_label_selector){0}, &labels));
    assert_false(kube_label_selector_matches(NULL, &labels));
}

static void what_go_refuses_matches_nothing(void **state)
{
    (void)state;
    assert_false(expression_matches("none", "NotIn", NULL));
    assert_false(expression_matches("app", "Exists", "y"));
    assert_false(expression_matches("none", "DoesNotExist", "y"));
    assert_false(expression_matches("none", "NotIn", "bad value"));
    assert_false(expression_matches("none", "NotIn", "-y"));
    assert_false(expression_matches("", "DoesNotExist", NULL));
    assert_false(expression_matches("a b", "DoesNotExist", NULL));
    assert_false(expression_matches("Upper.io/x", "DoesNotExist", NULL));
    assert_false(expression_matches("x.io/a/b", "DoesNotExist", NULL));
    assert_true(expression_matches("x-1.io/A_b.c", "DoesNotExist", NULL));
    assert_true(expression_matches("none", "NotIn", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_go_refuses_matches_nothing),
        cmocka_unit_test(text_selectors_match_as_the_api_server_does),
        cmocka_unit_test(structured_selectors_match_labels_and_expressions),
        cmocka_unit_test(an_empty_structured_selector_matches_all_and_a_missing_one_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
