/*
 * Which source a config comes from, and in-cluster configs.
 */
#include "base/strings.h"
#include "kube/config_internal.h"
#include "kube/credentials.h"
#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

struct kube_config *kube_config_new(void)
{
    struct kb_arena *arena = kb_arena_new_sized(1024);
    struct kube_config *config = kb_arena_one(arena, struct kube_config);
    config->arena = arena;
    config->namespace_ = "";
    return config;
}

void kube_config_free(struct kube_config *config)
{
    if (config)
        kb_arena_free(config->arena);
}

/* client-go's DefaultServerURL: a host:port alone gets https when anything about TLS is set. */
int kube_config_set_server(struct kube_config *config, const char *server, struct kube_error *reterr)
{
    bool tls = config->ca_file || config->ca_data || config->client_cert_file || config->client_cert_data ||
               config->insecure_skip_tls_verify;
    bool has_scheme = kb_starts_with(server, "http://") || kb_starts_with(server, "https://");
    if (!has_scheme && strstr(server, "://"))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "server: \"%s\" is neither an http nor an https URL", server);
    if (!has_scheme && strchr(server, '/'))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "server: \"%s\" is neither a URL nor a host:port pair",
                              server);
    char *url = has_scheme ? kb_arena_strdup(config->arena, server)
                           : kb_arena_printf(config->arena, "%s://%s", tls ? "https" : "http", server);
    for (size_t n = strlen(url); n > 0 && url[n - 1] == '/'; n--)
        url[n - 1] = '\0';
    config->server = url;
    return 0;
}

/* ---- in-cluster ---- */

static void read_namespace(struct kube_config *config, const char *directory)
{
    kb_cleanup_free char *path = kb_asprintf("%s/namespace", directory), *text = NULL;
    if (kube_read_file(path, &text, NULL) < 0)
        return;
    text[strcspn(text, " \t\r\n")] = '\0';
    config->namespace_ = kb_arena_strdup(config->arena, text);
}

int kube_config_in_cluster(const char *directory, struct kube_config **ret, struct kube_error *reterr)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    if (kb_empty(host) || kb_empty(port))
        return kube_error_set(
            reterr, KUBE_ERROR_INVALID,
            "in-cluster configuration: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set");
    struct kube_config *config = kube_config_new();
    bool v6 = strchr(host, ':') && host[0] != '[';
    config->server = kb_arena_printf(config->arena, v6 ? "https://[%s]:%s" : "https://%s:%s", host, port);
    config->token_file = kb_arena_printf(config->arena, "%s/token", directory);
    const char *ca = kb_arena_printf(config->arena, "%s/ca.crt", directory);
    if (access(ca, R_OK) == 0) /* as client-go: without it the system's roots count */
        config->ca_file = ca;
    read_namespace(config, directory);
    int r = kube_config_check(config, reterr);
    if (r < 0) {
        kube_config_free(config);
        return kube_error_wrap(reterr, "in-cluster configuration");
    }
    *ret = config;
    return 0;
}

/* ---- flags ---- */

static int load_file(const char *path, const char *master, struct kube_config **ret, struct kube_error *reterr)
{
    kb_cleanup_free char *text = NULL, *copy = kb_strdup(path);
    int r = kube_read_file(path, &text, reterr);
    if (r < 0)
        return kube_error_wrap(reterr, "kubeconfig");
    r = kube_config_parse_file(text, strlen(text), dirname(copy), master, ret, reterr);
    return r < 0 ? kube_error_wrap(reterr, "kubeconfig %s", path) : 0;
}

static int only_master(const char *master, struct kube_config **ret, struct kube_error *reterr)
{
    struct kube_config *config = kube_config_new();
    int r = kube_config_set_server(config, master, reterr);
    if (r < 0) {
        kube_config_free(config);
        return kube_error_wrap(reterr, "--master");
    }
    *ret = config;
    return 0;
}

int kube_config_load(const char *kubeconfig, const char *master, struct kube_config **ret, struct kube_error *reterr)
{
    if (!kb_empty(kubeconfig))
        return load_file(kubeconfig, master, ret, reterr);
    if (!kb_empty(master))
        return only_master(master, ret, reterr);
    return kube_config_in_cluster(SERVICE_ACCOUNT, ret, reterr);
}

int kube_config_parse(const char *yaml, size_t n, const char *directory, struct kube_config **ret,
                      struct kube_error *reterr)
{
    return kube_config_parse_file(yaml, n, directory, NULL, ret, reterr);
}
