/* Tests of kube/config.h and of what exec plug-ins are told and may answer. */
#include "base/strings.h"
#include "base/time.h"
#include "kube/config.h"
#include "kube/exec_plugin.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct kube_config *parse(const char *yaml)
{
    struct kube_config *config;
    struct kube_error error;
    if (kube_config_parse(yaml, strlen(yaml), "/etc/kube", &config, &error) < 0)
        fail_msg("%s", error.message);
    return config;
}

#define HEAD                                                                                                           \
    "apiVersion: v1\n"                                                                                                 \
    "kind: Config\n"                                                                                                   \
    "current-context: here\n"                                                                                          \
    "contexts:\n"                                                                                                      \
    "- name: other\n"                                                                                                  \
    "  context: {cluster: none, user: none}\n"                                                                         \
    "- name: here\n"                                                                                                   \
    "  context: {cluster: main, user: ann, namespace: work}\n"
#define CA_BASE64       "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"
#define CLUSTER(fields) "clusters:\n- name: main\n  cluster: {" fields "}\n"
#define USER(fields)    "users:\n- name: ann\n  user: {" fields "}\n"
#define PLAIN_CLUSTER   CLUSTER("server: 'https://example:6443/'")

static void the_current_context_names_cluster_user_and_namespace(void **state)
{
    (void)state;
    struct kube_config *config = parse(HEAD PLAIN_CLUSTER USER("token: secret"));
    assert_string_equal(config->server, "https://example:6443");
    assert_string_equal(config->namespace_, "work");
    assert_string_equal(config->token, "secret");
    assert_null(config->ca_file);
    assert_false(config->insecure_skip_tls_verify);
    kube_config_free(config);
}

static void a_file_may_be_json(void **state)
{
    (void)state;
    struct kube_config *config = parse(
        "{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"u\"}}],"
        "\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":\"http://h:1\"}}],"
        "\"users\":[{\"name\":\"u\",\"user\":{}}]}");
    assert_string_equal(config->server, "http://h:1");
    assert_string_equal(config->namespace_, "");
    kube_config_free(config);
}

static void data_fields_are_decoded(void **state)
{
    (void)state;
    struct kube_config *config = parse(HEAD CLUSTER("server: 'https://a', certificate-authority-data: " CA_BASE64)
                                           USER("client-certificate-data: Q0VSVA==, client-key-data: S0VZ"));
    assert_string_equal(config->ca_data, "-----BEGIN CERTIFICATE-----");
    assert_string_equal(config->client_cert_data, "CERT");
    assert_string_equal(config->client_key_data, "KEY");
    kube_config_free(config);
}

static void the_other_fields_are_read(void **state)
{
    (void)state;
    struct kube_config *config = parse(HEAD CLUSTER("server: 'https://a', insecure-skip-tls-verify: true, "
                                                    "tls-server-name: real, proxy-url: 'http://p:3128'")
                                           USER("username: ann, password: 'p:w', as: bob, as-uid: u1, as-groups: [g1, "
                                                "g2], as-user-extra: {k: [v1, v2]}"));
    assert_true(config->insecure_skip_tls_verify);
    assert_string_equal(config->tls_server_name, "real");
    assert_string_equal(config->proxy_url, "http://p:3128");
    assert_string_equal(config->username, "ann");
    assert_string_equal(config->password, "p:w");
    static const char *const lines[] = {"Impersonate-User: bob", "Impersonate-Uid: u1",     "Impersonate-Group: g1",
                                        "Impersonate-Group: g2", "Impersonate-Extra-k: v1", "Impersonate-Extra-k: v2"};
    for (size_t i = 0; i < KB_ARRAY_LEN(lines); i++)
        assert_string_equal(config->impersonate[i], lines[i]);
    assert_null(config->impersonate[KB_ARRAY_LEN(lines)]);
    kube_config_free(config);
}

static void an_exec_plugin_is_read(void **state)
{
    (void)state;
    struct kube_config *config =
        parse(HEAD PLAIN_CLUSTER USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/login, args: "
                                      "[a, 'b c'], env: [{name: X, value: 'y=z'}], interactiveMode: IfAvailable, "
                                      "provideClusterInfo: true, installHint: install it}"));
    const struct kube_exec_plugin *exec = config->exec;
    assert_string_equal(exec->command, "/etc/kube/bin/login");
    assert_string_equal(exec->args[0], "a");
    assert_string_equal(exec->args[1], "b c");
    assert_null(exec->args[2]);
    assert_string_equal(exec->env[0], "X=y=z");
    assert_null(exec->env[1]);
    assert_string_equal(exec->install_hint, "install it");
    assert_true(exec->provide_cluster_info);

    char *info = kube_exec_info(config);
    assert_string_equal(info,
                        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"spec\":"
                        "{\"cluster\":{\"server\":\"https://example:6443\",\"config\":null},\"interactive\":false}}");
    free(info);
    kube_config_free(config);
}

static void a_command_without_a_slash_is_looked_up_in_the_path(void **state)
{
    (void)state;
    struct kube_config *config =
        parse(HEAD PLAIN_CLUSTER USER("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: login}"));
    assert_string_equal(config->exec->command, "login");
    kube_config_free(config);
}

static void a_server_without_a_scheme_gets_one(void **state)
{
    (void)state;
    struct kube_config *plain = parse(HEAD CLUSTER("server: 'h:1'") USER(""));
    struct kube_config *tls = parse(HEAD CLUSTER("server: 'h:1', certificate-authority-data: " CA_BASE64) USER(""));
    assert_string_equal(plain->server, "http://h:1");
    assert_string_equal(tls->server, "https://h:1");
    kube_config_free(plain);
    kube_config_free(tls);
}

/* ---- refusals ---- */

static const struct {
    const char *yaml, *message;
} refusals[] = {
    {"", "current-context: is not set"},
    {"kind: Pod", "kind: expected Config, got Pod"},
    {"apiVersion: v2", "apiVersion: expected v1, got v2"},
    {"- a", "expected an object, got a list"},
    {HEAD USER(""), "clusters: has no entry named \"main\""},
    {HEAD PLAIN_CLUSTER, "users: has no entry named \"ann\""},
    {"current-context: gone", "contexts: has no entry named \"gone\""},
    {HEAD PLAIN_CLUSTER USER("") "- {name: ann}\n", "users[ann]: the name is there twice"},
    {HEAD CLUSTER("server: 1") USER(""), "clusters[main]: server: expected a string, got a number"},
    {HEAD CLUSTER("") USER(""), "clusters[main]: server: is missing"},
    {HEAD CLUSTER("server: 'ftp://a'") USER(""),
     "clusters[main]: server: \"ftp://a\" is neither an http nor an https URL"},
    {HEAD CLUSTER("server: a/b") USER(""), "clusters[main]: server: \"a/b\" is neither a URL nor a host:port pair"},
    {HEAD CLUSTER("server: 'https://a', insecure-skip-tls-verify: 'yes'") USER(""),
     "clusters[main]: insecure-skip-tls-verify: expected true or false, got a string"},
    {HEAD CLUSTER("server: 'https://a', insecure-skip-tls-verify: true, certificate-authority-data: Q0E=") USER(""),
     "insecure-skip-tls-verify: contradicts certificate-authority"},
    {HEAD CLUSTER("server: 'https://a', certificate-authority-data: Q0E=") USER(""),
     "certificate-authority-data: holds no certificate in PEM"},
    {HEAD CLUSTER("server: 'https://a', certificate-authority-data: '*'") USER(""),
     "clusters[main]: certificate-authority-data: is not base64"},
    {HEAD CLUSTER("server: 'https://a', certificate-authority: ca.crt") USER(""),
     "certificate-authority: /etc/kube/ca.crt: No such file or directory"},
    {HEAD CLUSTER("server: 'https://a', proxy-url: 'gopher://x'") USER(""),
     "proxy-url: \"gopher://x\" is not an http, https or socks5 URL"},
    {HEAD PLAIN_CLUSTER USER("token: a, username: b"), "token and username: only one way to authenticate is allowed"},
    {HEAD PLAIN_CLUSTER USER("password: b"), "username: is missing beside password"},
    {HEAD PLAIN_CLUSTER USER("client-certificate-data: Q0E="), "client-key: is missing beside client-certificate"},
    {HEAD PLAIN_CLUSTER USER("client-key-data: Q0E="), "client-certificate: is missing beside client-key"},
    {HEAD PLAIN_CLUSTER USER("tokenFile: t"), "tokenFile: /etc/kube/t: No such file or directory"},
    {HEAD PLAIN_CLUSTER USER("token: \"a\\nb\""), "token: has a control character"},
    {HEAD PLAIN_CLUSTER USER("as: \"a\\r\\nX: y\""), "as: has a control character"},
    {HEAD PLAIN_CLUSTER USER("as-uid: a"), "users[ann]: as: is missing beside the other fields of impersonation"},
    {HEAD PLAIN_CLUSTER USER("auth-provider: {name: gcp}"), "users[ann]: auth-provider: is not supported; use exec"},
    {HEAD PLAIN_CLUSTER USER("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
     "users[ann]: exec: command: is missing"},
    {HEAD PLAIN_CLUSTER USER("exec: {apiVersion: v1, command: c}"),
     "users[ann]: exec: apiVersion: must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"},
    {HEAD PLAIN_CLUSTER USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: c}"),
     "users[ann]: exec: interactiveMode: is missing"},
    {HEAD PLAIN_CLUSTER USER(
         "exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Always}"),
     "users[ann]: exec: interactiveMode: Always is not possible here, there is nobody to ask"},
    {HEAD PLAIN_CLUSTER USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: c, args: [1]}"),
     "users[ann]: exec: args[0]: expected a string, got a number"},
    {HEAD PLAIN_CLUSTER USER("exec: {apiVersion: client.authentication.k8s.io/v1, command: c, env: [{value: x}]}"),
     "users[ann]: exec: env[0].name: must be there and have no '='"},
};

static void what_contradicts_itself_is_refused_with_the_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(refusals); i++) {
        struct kube_config *config;
        struct kube_error error = {0};
        assert_int_equal(kube_config_parse(refusals[i].yaml, strlen(refusals[i].yaml), "/etc/kube", &config, &error),
                         -1);
        assert_string_equal(error.message, refusals[i].message);
    }
}

/* ---- files and flags ---- */

static int set_up(void **state)
{
    char *directory = kb_strdup("/tmp/test_config.XXXXXX");
    assert_non_null(mkdtemp(directory));
    *state = directory;
    return 0;
}

static int tear_down(void **state)
{
    kb_cleanup_free char *directory = *state, *command = kb_asprintf("rm -rf %s", directory);
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    return system(command);
}

static char *write_file(const char *directory, const char *name, const char *text)
{
    char *path = kb_asprintf("%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static void paths_are_relative_to_the_file(void **state)
{
    const char *directory = *state;
    struct kube_config *config;
    kb_cleanup_free char *token = write_file(directory, "token", "t\n"), *ca = write_file(directory, "ca.crt", "CA"),
                         *path = write_file(directory, "config",
                                            HEAD CLUSTER("server: 'https://a', certificate-authority: ca.crt")
                                                USER("tokenFile: token"));
    assert_int_equal(kube_config_load(path, NULL, &config, NULL), 0);
    assert_string_equal(config->ca_file, ca);
    assert_string_equal(config->token_file, token);
    kube_config_free(config);
}

static void master_overrides_the_files_server_and_keeps_its_credentials(void **state)
{
    struct kube_config *config;
    kb_cleanup_free char *path = write_file(*state, "config", HEAD PLAIN_CLUSTER USER("token: t"));
    assert_int_equal(kube_config_load(path, "https://b:2/", &config, NULL), 0);
    assert_string_equal(config->server, "https://b:2");
    assert_string_equal(config->token, "t");
    kube_config_free(config);
}

static void master_alone_is_enough(void **state)
{
    (void)state;
    struct kube_config *config;
    assert_int_equal(kube_config_load("", "localhost:8080", &config, NULL), 0);
    assert_string_equal(config->server, "http://localhost:8080");
    kube_config_free(config);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct kube_config *config;
    struct kube_error error;
    assert_int_equal(kube_config_load("/nowhere/config", NULL, &config, &error), -1);
    assert_string_equal(error.message, "kubeconfig: open /nowhere/config: No such file or directory");
}

static void a_bad_file_is_named_with_its_field(void **state)
{
    struct kube_config *config;
    struct kube_error error;
    kb_cleanup_free char *path = write_file(*state, "config", HEAD CLUSTER("") USER(""));
    kb_cleanup_free char *expected = kb_asprintf("kubeconfig %s: clusters[main]: server: is missing", path);
    assert_int_equal(kube_config_load(path, NULL, &config, &error), -1);
    assert_string_equal(error.message, expected);
}

static void a_service_account_gives_token_ca_and_namespace(void **state)
{
    const char *directory = *state;
    struct kube_config *config;
    kb_cleanup_free char *token = write_file(directory, "token", "t"), *ca = write_file(directory, "ca.crt", "CA");
    free(write_file(directory, "namespace", "kubevirt\n"));
    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kube_config_in_cluster(directory, &config, NULL), 0);
    assert_string_equal(config->server, "https://[fd00::1]:443");
    assert_string_equal(config->token_file, token);
    assert_string_equal(config->ca_file, ca);
    assert_string_equal(config->namespace_, "kubevirt");
    kube_config_free(config);
}

static void outside_of_a_cluster_there_is_no_in_cluster_config(void **state)
{
    struct kube_config *config;
    struct kube_error error;
    assert_int_equal(kube_config_in_cluster(*state, &config, &error), -1);
    assert_string_equal(error.message, "in-cluster configuration: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT "
                                       "must be set");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    assert_int_equal(kube_config_in_cluster(*state, &config, &error), -1);
    assert_non_null(strstr(error.message, "in-cluster configuration: tokenFile: "));
}

/* ---- what plug-ins answer ---- */

#define V1                 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status) "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}"

static void a_credential_has_a_token_or_a_certificate_and_a_time(void **state)
{
    (void)state;
    struct kube_exec_credential c;
    const char *token = CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":\"2026-01-02T03:04:05Z\"");
    const char *cert = CREDENTIAL("\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"");
    int64_t expected;
    assert_true(kb_time_parse("2026-01-02T03:04:05Z", &expected));
    assert_int_equal(kube_exec_credential_parse(token, strlen(token), V1, &c, NULL), 0);
    assert_string_equal(c.token, "t");
    assert_null(c.cert);
    assert_int_equal(c.expires_at, expected);
    kube_exec_credential_done(&c);
    assert_int_equal(kube_exec_credential_parse(cert, strlen(cert), V1, &c, NULL), 0);
    assert_string_equal(c.cert, "c");
    assert_string_equal(c.key, "k");
    assert_int_equal(c.expires_at, INT64_MAX);
    kube_exec_credential_done(&c);
}

static const struct {
    const char *json, *message;
} bad_credentials[] = {
    {"", "the output is not JSON"},
    {"{}", "not an ExecCredential but \"\""},
    {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v9\"}", "apiVersion is \"v9\" where \"" V1 "\" was configured"},
    {CREDENTIAL(""), "status has neither token nor clientCertificateData"},
    {CREDENTIAL("\"clientCertificateData\":\"c\""),
     "status needs both of clientCertificateData and clientKeyData, or none"},
    {CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":\"soon\""), "status.expirationTimestamp is not a time: soon"},
};

static void other_output_of_a_plugin_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(bad_credentials); i++) {
        struct kube_exec_credential c;
        struct kube_error error;
        const char *json = bad_credentials[i].json;
        assert_int_equal(kube_exec_credential_parse(json, strlen(json), V1, &c, &error), -1);
        assert_string_equal(error.message, bad_credentials[i].message);
    }
}

static int run_plugin(const char *const *args, int timeout_ms, struct kube_exec_credential *ret,
                      struct kube_error *reterr)
{
    struct kube_exec_plugin plugin = {.api_version = V1, .command = "sh", .args = (const char **)args};
    struct kube_config config = {.server = "https://a", .exec = &plugin};
    return kube_exec_plugin_run(&config, timeout_ms, -1, ret, reterr);
}

static void a_plugin_sees_what_is_asked_for_and_reads_nothing(void **state)
{
    (void)state;
    struct kube_exec_credential c;
    struct kube_error error;
    const char *args[] = {"-c",
                          "[ -z \"$(cat)\" ] || exit 1\n"
                          "[ -n \"$KUBERNETES_EXEC_INFO\" ] || exit 2\n"
                          "echo '" CREDENTIAL("\"token\":\"t\"") "'",
                          NULL};
    if (run_plugin(args, 20000, &c, &error) < 0)
        fail_msg("%s", error.message);
    assert_string_equal(c.token, "t");
    kube_exec_credential_done(&c);
}

static void a_plugin_that_takes_too_long_is_killed(void **state)
{
    (void)state;
    static const char *const scripts[] = {"sleep 600", "exec >&-; sleep 600"};
    for (size_t i = 0; i < KB_ARRAY_LEN(scripts); i++) {
        struct kube_exec_credential c;
        struct kube_error error;
        const char *args[] = {"-c", scripts[i], NULL};
        assert_int_equal(run_plugin(args, 50, &c, &error), -1);
        assert_int_equal(error.kind, KUBE_ERROR_TIMEOUT);
    }
}

static void a_plugin_that_is_not_there_is_named_with_its_hint(void **state)
{
    (void)state;
    struct kube_exec_plugin plugin = {.api_version = V1, .command = "/nowhere/login", .install_hint = "Install it."};
    struct kube_config config = {.server = "https://a", .exec = &plugin};
    struct kube_exec_credential c;
    struct kube_error error;
    assert_int_equal(kube_exec_plugin_run(&config, 1000, -1, &c, &error), -1);
    assert_string_equal(error.message,
                        "exec plug-in: Install it.: executable /nowhere/login: No such file or directory");
}

#define WITH_DIRECTORY(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_current_context_names_cluster_user_and_namespace),
        cmocka_unit_test(a_file_may_be_json),
        cmocka_unit_test(data_fields_are_decoded),
        cmocka_unit_test(the_other_fields_are_read),
        cmocka_unit_test(an_exec_plugin_is_read),
        cmocka_unit_test(a_command_without_a_slash_is_looked_up_in_the_path),
        cmocka_unit_test(a_server_without_a_scheme_gets_one),
        cmocka_unit_test(what_contradicts_itself_is_refused_with_the_field),
        WITH_DIRECTORY(paths_are_relative_to_the_file),
        WITH_DIRECTORY(master_overrides_the_files_server_and_keeps_its_credentials),
        cmocka_unit_test(master_alone_is_enough),
        cmocka_unit_test(a_missing_file_is_named),
        WITH_DIRECTORY(a_bad_file_is_named_with_its_field),
        WITH_DIRECTORY(a_service_account_gives_token_ca_and_namespace),
        WITH_DIRECTORY(outside_of_a_cluster_there_is_no_in_cluster_config),
        cmocka_unit_test(a_credential_has_a_token_or_a_certificate_and_a_time),
        cmocka_unit_test(other_output_of_a_plugin_is_refused),
        cmocka_unit_test(a_plugin_sees_what_is_asked_for_and_reads_nothing),
        cmocka_unit_test(a_plugin_that_takes_too_long_is_killed),
        cmocka_unit_test(a_plugin_that_is_not_there_is_named_with_its_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
