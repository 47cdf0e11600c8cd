/*
 * What a config must be, told by the names of its fields in kubeconfig files. The rules are clientcmd's.
 */
#include "base/strings.h"
#include "kube/config_internal.h"
#include <ctype.h>
#include <errno.h>
#include <unistd.h>

#define REFUSE(...) return kube_error_set(reterr, KUBE_ERROR_INVALID, __VA_ARGS__)

static int check_readable(const char *field, const char *path, struct kube_error *reterr)
{
    if (path && access(path, R_OK) < 0)
        return kube_error_set_errno(reterr, errno, "%s: %s", field, path);
    return 0;
}

/* What would end the header's line. */
static int check_header(const char *field, const char *value, struct kube_error *reterr)
{
    for (; value && *value; value++)
        if (iscntrl((unsigned char)*value))
            REFUSE("%s: has a control character", field);
    return 0;
}

static int check_cluster(const struct kube_config *c, struct kube_error *reterr)
{
    if (kb_empty(c->server))
        REFUSE("server: is missing");
    if (c->insecure_skip_tls_verify && (c->ca_file || c->ca_data))
        REFUSE("insecure-skip-tls-verify: contradicts certificate-authority");
    if (c->proxy_url && !kb_starts_with(c->proxy_url, "http://") && !kb_starts_with(c->proxy_url, "https://") &&
        !kb_starts_with(c->proxy_url, "socks5://"))
        REFUSE("proxy-url: \"%s\" is not an http, https or socks5 URL", c->proxy_url);
    if (c->ca_data && !strstr(c->ca_data, "-----BEGIN CERTIFICATE-----"))
        REFUSE("certificate-authority-data: holds no certificate in PEM");
    return c->ca_data ? 0 : check_readable("certificate-authority", c->ca_file, reterr);
}

static int check_client_cert(const struct kube_config *c, struct kube_error *reterr)
{
    bool cert = c->client_cert_file || c->client_cert_data, key = c->client_key_file || c->client_key_data;
    if (cert && !key)
        REFUSE("client-key: is missing beside client-certificate");
    if (key && !cert)
        REFUSE("client-certificate: is missing beside client-key");
    int r = c->client_cert_data ? 0 : check_readable("client-certificate", c->client_cert_file, reterr);
    if (r >= 0 && !c->client_key_data)
        r = check_readable("client-key", c->client_key_file, reterr);
    return r;
}

static int check_methods(const struct kube_config *c, struct kube_error *reterr)
{
    bool token = c->token || c->token_file, basic = c->username || c->password;
    if (token && basic)
        REFUSE("token and username: only one way to authenticate is allowed");
    if (c->exec && (token || basic))
        REFUSE("exec and %s: only one way to authenticate is allowed", token ? "token" : "username");
    if (c->password && !c->username)
        REFUSE("username: is missing beside password");
    return 0;
}

int kube_config_check(const struct kube_config *c, struct kube_error *reterr)
{
    int r = check_cluster(c, reterr);
    if (r >= 0)
        r = check_methods(c, reterr);
    if (r >= 0)
        r = check_client_cert(c, reterr);
    if (r >= 0)
        r = check_header("token", c->token, reterr);
    if (r >= 0 && !c->token)
        r = check_readable("tokenFile", c->token_file, reterr);
    for (const char **line = c->impersonate; r >= 0 && line && *line; line++)
        r = check_header("as", *line, reterr);
    return r;
}
