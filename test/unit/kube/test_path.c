/* Tests of the paths of kube/client.h. */
#include "base/strings.h"
#include "kube/client.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct api_resource pods = {"", "v1", "Pod", "pods", true, true};
static const struct api_resource vms = {"kubevirt.io", "v1", "VirtualMachine", "virtualmachines", true, true};
static const struct api_resource nodes = {"", "v1", "Node", "nodes", false, true};

static const struct {
    struct kube_target target;
    const char *path, *template;
} rows[] = {
    {{&pods, "default", "a"}, "/api/v1/namespaces/default/pods/a", "/api/v1/namespaces/{namespace}/pods/{name}"},
    {{&pods}, "/api/v1/pods", "/api/v1/pods"},
    {{&pods, ""}, "/api/v1/pods", "/api/v1/pods"},
    {{&nodes, NULL, "n1"}, "/api/v1/nodes/n1", "/api/v1/nodes/{name}"},
    {{&nodes, "ignored", "n1"}, "/api/v1/nodes/n1", "/api/v1/nodes/{name}"},
    {{&vms, "ns", "vm", "status"},
     "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines/vm/status",
     "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines/{name}/status"},
    {{&vms, "ns", NULL, NULL, "limit=5"},
     "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines?limit=5",
     "/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachines"},
    {{&pods, "ns", "a", "portforward/80"},
     "/api/v1/namespaces/ns/pods/a/portforward/80",
     "/api/v1/namespaces/{namespace}/pods/{name}/portforward/80"},
    {{&pods, "ns", "a/b?c#d%e f"},
     "/api/v1/namespaces/ns/pods/a%2Fb%3Fc%23d%25e%20f",
     "/api/v1/namespaces/{namespace}/pods/{name}"},
    {{&pods, "ns", "\xc3\xa9"}, "/api/v1/namespaces/ns/pods/%C3%A9", "/api/v1/namespaces/{namespace}/pods/{name}"},
    {{&pods, "ns", "system:a@b"},
     "/api/v1/namespaces/ns/pods/system:a@b",
     "/api/v1/namespaces/{namespace}/pods/{name}"},
};

static void targets_become_paths_and_templates(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        assert_string_equal(kube_path(arena, &rows[i].target), rows[i].path);
        assert_string_equal(kube_path_template(arena, &rows[i].target), rows[i].template);
    }
}

static void built_paths_have_templates_with_bounded_values(void **state)
{
    (void)state;
    static const struct {
        const char *path, *template, *resource;
    } built[] = {
        {"/version", "/version", ""},
        {"/livez/ping", "/{prefix}", ""},
        {"/apis", "/apis", ""},
        {"/apis/kubevirt.io/v1", "/apis/kubevirt.io/v1", ""},
        {"/apis/kubevirt.io/v1/virtualmachines?limit=5", "/apis/kubevirt.io/v1/virtualmachines", "virtualmachines"},
        {"/api/v1/nodes/n1", "/api/v1/nodes/{name}", "nodes"},
        {"/api/v1/namespaces/ns", "/api/v1/namespaces/{name}", "namespaces"},
        {"/api/v1/namespaces/ns/pods", "/api/v1/namespaces/{namespace}/pods", "pods"},
        {"/apis/subresources.kubevirt.io/v1/namespaces/ns/virtualmachineinstances/vm/addvolume",
         "/apis/subresources.kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstances/{name}/addvolume",
         "virtualmachineinstances"},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    for (size_t i = 0; i < KB_ARRAY_LEN(built); i++) {
        const char *resource = NULL;
        assert_string_equal(kube_path_template_of(arena, built[i].path, &resource), built[i].template);
        assert_string_equal(resource, built[i].resource);
    }
}

static void a_path_names_what_was_asked_for(void **state)
{
    static const struct {
        const char *path, *names;
    } paths[] = {
        {"/api/v1/namespaces/ns/pods/a?x=y", "pods a"},
        {"/api/v1/namespaces/ns", "namespaces ns"},
        {"/apis/kubevirt.io/v1/namespaces/ns/virtualmachines", "virtualmachines.kubevirt.io"},
        {"/apis/subresources.kubevirt.io/v1/namespaces/ns/virtualmachineinstances/vm/addvolume",
         "virtualmachineinstances.kubevirt.io vm"},
        {"/apis/kubevirt.io/v1", ""},
        {"/version", ""},
        {"", ""},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(paths); i++)
        assert_string_equal(kube_path_names(arena, paths[i].path), paths[i].names);
}

static void a_name_of_dots_stays_in_its_collection(void **state)
{
    (void)state;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    assert_string_equal(kube_path(arena, &(struct kube_target){&pods, "..", "."}),
                        "/api/v1/namespaces/%2E%2E/pods/%2E");
    assert_string_equal(kube_path(arena, &(struct kube_target){&pods, "a", "..."}), "/api/v1/namespaces/a/pods/...");
}

static void query_members_are_encoded_and_joined(void **state)
{
    (void)state;
    kb_cleanup_strbuf struct kb_strbuf query = {0};
    kube_query_add(&query, "labelSelector", "kubevirt.io=virt-launcher,a in (b, c)");
    kube_query_add(&query, "limit", "500");
    assert_string_equal(query.data, "labelSelector=kubevirt.io%3Dvirt-launcher%2Ca%20in%20%28b%2C%20c%29&limit=500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_become_paths_and_templates),
        cmocka_unit_test(built_paths_have_templates_with_bounded_values),
        cmocka_unit_test(a_path_names_what_was_asked_for),
        cmocka_unit_test(a_name_of_dots_stays_in_its_collection),
        cmocka_unit_test(query_members_are_encoded_and_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
