/* What the log says of a new configuration. */
#include "api/codec.h"
#include "base/strings.h"
#include "cmd/virt-controller/config_changes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct virt_config *config_of(const char *configuration, const char *version)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const char *json = kb_arena_printf(arena,
                                       "{\"metadata\":{\"name\":\"kubevirt\",\"namespace\":\"kubevirt\","
                                       "\"resourceVersion\":\"%s\"},\"spec\":{\"configuration\":%s}}",
                                       version, configuration);
    struct kv_kube_virt *kubevirt;
    const struct virt_config *config;
    struct kube_error error;
    if (api_decode(arena, &kv_kube_virt_type, json, strlen(json), &kubevirt, &error) < 0)
        fail_msg("%s", error.message);
    if (virt_config_new(kubevirt, &config, &error) < 0)
        fail_msg("%s", error.message);
    return config;
}

static void collect(void *userdata, const char *field, const char *before, const char *after)
{
    kb_strbuf_printf(userdata, "%s: %s -> %s\n", field, before, after);
}

static void expect(const char *from, const char *to, const char *expected)
{
    const struct virt_config *before = config_of(from, "1"), *after = config_of(to, "2");
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    config_changes(before, after, collect, &text);
    assert_string_equal(kb_strbuf_text(&text), expected);
    virt_config_unref(before);
    virt_config_unref(after);
}

static void equal_configurations_have_no_changes(void **state)
{
    (void)state;
    expect("{}", "{}", "");
    expect("{\"vmStateStorageClass\":\"a\"}", "{\"vmStateStorageClass\":\"a\"}", "");
}

static void a_field_is_told_with_its_path_old_and_new(void **state)
{
    (void)state;
    expect("{\"developerConfiguration\":{\"logVerbosity\":{\"virtController\":2}}}",
           "{\"developerConfiguration\":{\"logVerbosity\":{\"virtController\":6}}}",
           "developerConfiguration.logVerbosity.virtController: 2 -> 6\n");
}

static void fields_that_come_and_go_have_an_empty_side(void **state)
{
    (void)state;
    expect("{\"vmStateStorageClass\":\"a\"}", "{\"tlsConfiguration\":{\"minTLSVersion\":\"VersionTLS13\"}}",
           "vmStateStorageClass: \"a\" -> \n"
           "tlsConfiguration.minTLSVersion:  -> \"VersionTLS13\"\n");
}

static void gates_are_told_by_their_state(void **state)
{
    (void)state;
    expect("{\"developerConfiguration\":{\"featureGates\":[\"Sidecar\"]}}",
           "{\"developerConfiguration\":{\"featureGates\":[\"HostDisk\"]}}",
           "developerConfiguration.featureGates: [\"Sidecar\"] -> [\"HostDisk\"]\n"
           "gate Sidecar: on -> off\n"
           "gate HostDisk: off -> on\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_configurations_have_no_changes),
        cmocka_unit_test(a_field_is_told_with_its_path_old_and_new),
        cmocka_unit_test(fields_that_come_and_go_have_an_empty_side),
        cmocka_unit_test(gates_are_told_by_their_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
