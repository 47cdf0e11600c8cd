/*
 * The HTTPS end points: /healthz, /leader, /metrics and the profiler's three. What people parse is byte for byte the
 * reference's: JSON with one space of indent, sorted keys, no new line at the end. Source: process.md section 4.
 */
#include "base/log.h"
#include "base/strings.h"
#include "cmd/virt-controller/pretty.h"
#include "cmd/virt-controller/process.h"

#define PLAIN_TEXT "text/plain; charset=utf-8"

/* ---- /healthz, /leader, /metrics ---- */

static void put_member(struct kb_strbuf *out, const char *name, const char *text)
{
    kb_strbuf_printf(out, "\"%s\":", name);
    kb_strbuf_json_string(out, text, strlen(text));
}

static void healthz(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)query;
    struct process *process = userdata;
    const struct virt_config *config = virt_config_current(process->context.config);
    kb_cleanup_strbuf struct kb_strbuf version = {0}, json = {0};
    struct kube_error error = {0};
    kb_strbuf_puts(&json, "{\"apiserver\":{");
    if (health_check(process->health, &version, &error) == 0) {
        put_member(&json, "connectivity", "ok");
        kb_strbuf_printf(&json, ",\"version\":%s", kb_strbuf_text(&version));
    } else {
        ret->status = 500;
        put_member(&json, "connectivity", "failed");
        kb_strbuf_putc(&json, ',');
        put_member(&json, "error", error.message);
    }
    kb_strbuf_puts(&json, "},");
    put_member(&json, "config-resource-version", config->resource_version);
    kb_strbuf_putc(&json, '}');
    pretty_json(kb_strbuf_text(&json), json.length, &ret->body, NULL);
    virt_config_unref(config);
}

bool process_is_ready(struct process *process)
{
    static const int needed[] = {VIRT_PVC, VIRT_NAMESPACE, VIRT_RESOURCE_QUOTA};
    for (size_t i = 0; i < KB_ARRAY_LEN(needed); i++)
        if (!kube_informer_has_synced(kube_runtime_informer(process->context.runtime, needed[i])))
            return false;
    return process->leading;
}

static void leader(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)query;
    kb_strbuf_printf(&ret->body, "{\n \"apiserver\": {\n  \"leader\": \"%s\"\n }\n}",
                     process_is_ready(userdata) ? "true" : "false");
}

static void metrics(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)query;
    struct process *process = userdata;
    ret->content_type = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
    ret->more = virt_metrics_scrape_more;
    ret->end = virt_metrics_scrape_end;
    ret->state = virt_metrics_scrape_begin(process->metrics);
}

/* ---- the profiler ---- */

/* Refuses unless the KubeVirt CR switches the profiler on. */
static bool may_profile(struct process *process, const char *what, struct kube_http_answer *ret)
{
    const struct virt_config *config = virt_config_current(process->context.config);
    const struct kv_developer_configuration *developer = config->spec->developer_configuration;
    bool enabled = developer && developer->cluster_profiler;
    virt_config_unref(config);
    if (enabled)
        return true;
    ret->status = 403;
    ret->content_type = PLAIN_TEXT;
    kb_strbuf_printf(&ret->body, "Unable to %s. \"ClusterProfiler\" feature gate must be enabled", what);
    return false;
}

static void start_profiler(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)query;
    struct process *process = userdata;
    if (!may_profile(process, "start profiler", ret))
        return;
    ret->content_type = PLAIN_TEXT;
    profiler_start(process->profiler);
}

static void stop_profiler(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)query;
    struct process *process = userdata;
    struct kube_error error;
    if (!may_profile(process, "stop profiler", ret))
        return;
    ret->content_type = PLAIN_TEXT;
    if (profiler_stop(process->profiler, &error) == 0)
        return;
    ret->status = 500;
    kb_strbuf_printf(&ret->body, "could not stop internal profiling: %s", error.message);
}

static void dump_profiler(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)query;
    struct process *process = userdata;
    kb_cleanup_strbuf struct kb_strbuf json = {0};
    if (!may_profile(process, "retrieve profiler data", ret))
        return;
    profiler_dump(process->profiler, &json);
    pretty_json(kb_strbuf_text(&json), json.length, &ret->body, NULL);
}

static const struct kube_http_route routes[] = {
    {"GET", "/healthz", healthz, .json = true},
    {"GET", "/leader", leader, .json = true},
    {NULL, "/metrics", metrics},
    {"GET", "/start-profiler", start_profiler, .json = true},
    {"GET", "/stop-profiler", stop_profiler, .json = true},
    {"GET", "/dump-profiler", dump_profiler, .json = true},
};

/* ---- TLS ---- */

/* VersionTLS10 ... VersionTLS13; anything else is 1.2. */
static int tls_version(const char *name)
{
    static const char *const names[] = {"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"};
    for (size_t i = 0; i < KB_ARRAY_LEN(names); i++)
        if (kb_streq(name, names[i]))
            return 10 + (int)i;
    return 12;
}

/* The names stay valid until the next handshake, because the configuration that they stand in is kept until then. */
static void tls_policy(void *userdata, struct kube_tls_policy *ret)
{
    struct process *process = userdata;
    const struct virt_config *config = virt_config_current(process->context.config);
    const struct kv_tls_configuration *tls = config->spec->tls_configuration;
    virt_config_unref(process->tls_config);
    process->tls_config = config;
    ret->minimum_version = tls ? tls_version(tls->min_tls_version) : 12;
    ret->ciphers = tls ? tls->ciphers.items : NULL;
    ret->n_ciphers = tls ? tls->ciphers.n : 0;
}

static void certificate(void *userdata, const struct kube_error *error)
{
    const struct process *process = userdata;
    if (error)
        kb_log_object(KB_WARNING, &(struct kb_log_object){.reason = error->message},
                      "the certificate in %s can not be loaded", process->options->cert_file);
    else
        kb_log(KB_INFO, "certificate %s loaded", process->options->cert_file);
}

int endpoints_start(struct process *process, struct kube_error *reterr)
{
    const struct options *options = process->options;
    struct kube_server_options server = {
        .address = options->listen,
        .port = (int)options->port,
        .cert_file = options->cert_file,
        .key_file = options->key_file,
        .routes = routes,
        .n_routes = KB_ARRAY_LEN(routes),
        .userdata = process,
        .tls_policy = tls_policy,
        .certificate = certificate,
    };
    if (kube_server_start(&server, &process->server, reterr) < 0)
        return kube_error_wrap(reterr, "HTTPS server");
    kb_log(KB_INFO, "serving /healthz, /leader and /metrics on %s port %d", options->listen,
           kube_server_port(process->server));
    return 0;
}
