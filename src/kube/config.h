/*
 * Where the API server is and how to authenticate: kubeconfig files, in-cluster service account, --master.
 * A config is plain data in its own arena; the transport re-reads what rotates (token files, exec plug-ins' output,
 * client certificate files).
 *
 * Rules as in client-go's BuildConfigFromFlags: --kubeconfig and --master empty: in-cluster; otherwise the file's
 * current context with --master overriding its server. Relative paths in a file are relative to its directory. What
 * contradicts itself is refused: two ways to authenticate, a certificate without key, a CA that is not to be checked.
 * auth-provider (removed from client-go) is refused too.
 */
#ifndef KUBE_CONFIG_H
#define KUBE_CONFIG_H

#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

struct kube_exec_plugin { /* client.authentication.k8s.io/v1, v1beta1 */
    const char *api_version;
    const char *command;
    const char **args; /* NULL-terminated */
    const char **env;  /* NULL-terminated "NAME=value" */
    bool provide_cluster_info;
    const char *install_hint;
};

struct kube_config {
    struct kb_arena *arena;
    const char *server;     /* "https://host:port[/prefix]" without trailing slash */
    const char *namespace_; /* of the context; "" when not set */
    const char *ca_file;    /* PEM file, or NULL */
    const char *ca_data;    /* PEM text, or NULL; wins over ca_file */
    bool insecure_skip_tls_verify;
    const char *tls_server_name; /* or NULL */
    const char *proxy_url;       /* from the kubeconfig; NULL: environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) */
    const char *client_cert_file, *client_key_file; /* or NULL */
    const char *client_cert_data, *client_key_data; /* PEM text, or NULL; wins over the files */
    const char *token;                              /* or NULL */
    const char *token_file;              /* re-read at most once a minute and after a 401; wins over token; or NULL */
    const char *username, *password;     /* or NULL */
    const char **impersonate;            /* header lines "Impersonate-User: ann", NULL-terminated; or NULL */
    const struct kube_exec_plugin *exec; /* or NULL */
};

/* Both may be NULL or "". The error names the file, and the field in it. Free with kube_config_free. */
int kube_config_load(const char *kubeconfig, const char *master, struct kube_config **ret, struct kube_error *reterr);
/* From text, with paths relative to `directory`. */
int kube_config_parse(const char *yaml, size_t n, const char *directory, struct kube_config **ret,
                      struct kube_error *reterr);
/* From KUBERNETES_SERVICE_HOST/PORT and the service account below `directory`
 * ("/var/run/secrets/kubernetes.io/serviceaccount"). */
int kube_config_in_cluster(const char *directory, struct kube_config **ret, struct kube_error *reterr);
void kube_config_free(struct kube_config *config);

#endif
