/*
 * The HTTPS end points: /healthz, /leader, /metrics and the profiler's three. What people parse is byte for byte the
 * reference's: JSON with one space of indent, sorted keys, no new line at the end. Source: process.md section 4.
 */
#include "base/strings.h"
#include "cmd/virt-controller/process.h"

static void put_indented(struct kb_strbuf *out, const char *json, int depth)
{
    for (const char *c = json; *c; c++) {
        kb_strbuf_putc(out, *c);
        for (int i = 0; *c == '\n' && i < depth; i++)
            kb_strbuf_putc(out, ' ');
    }
}

/* {"gitVersion":"..."} -> one space of indent, keys sorted, as the reference prints it. */
static char *pretty_version(const char *json, size_t n)
{
    yyjson_doc *doc;
    if (api_parse(json, n, &doc, NULL) < 0)
        return NULL;
    struct kb_arena *arena = kb_arena_new();
    struct api_string_map map = {0};
    struct kb_strbuf text = {0};
    yyjson_obj_iter iter = yyjson_obj_iter_with(yyjson_doc_get_root(doc));
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&iter));) {
        yyjson_val *value = yyjson_obj_iter_get_val(key);
        if (yyjson_is_str(value))
            api_map_set(arena, &map, yyjson_get_str(key), yyjson_get_str(value));
    }
    kb_strbuf_putc(&text, '{');
    for (size_t i = 0; i < map.n; i++) {
        kb_strbuf_puts(&text, i ? ",\n " : "\n ");
        kb_strbuf_json_string(&text, map.items[i].key, strlen(map.items[i].key));
        kb_strbuf_puts(&text, ": ");
        kb_strbuf_json_string(&text, map.items[i].value, strlen(map.items[i].value));
    }
    kb_strbuf_puts(&text, map.n ? "\n}" : "}");
    kb_arena_free(arena);
    yyjson_doc_free(doc);
    return kb_strbuf_take(&text);
}

void endpoints_forget_api_version(struct process *process)
{
    pthread_mutex_lock(&process->version_lock);
    free(process->api_version);
    process->api_version = NULL;
    pthread_mutex_unlock(&process->version_lock);
}

/* The API server's version, asked for once and again after a broken watch. The caller frees *ret. */
static int api_version(struct process *process, char **ret, struct kube_error *reterr)
{
    pthread_mutex_lock(&process->version_lock);
    char *known = process->api_version ? kb_strdup(process->api_version) : NULL;
    pthread_mutex_unlock(&process->version_lock);
    if (!known) {
        kb_cleanup_strbuf struct kb_strbuf body = {0};
        if (kube_call_path(process->probe_client, "/version", &body, reterr) < 0)
            return -1;
        known = pretty_version(kb_strbuf_text(&body), body.length);
        if (!known)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "/version: the answer is not JSON");
        pthread_mutex_lock(&process->version_lock);
        free(process->api_version);
        process->api_version = kb_strdup(known);
        pthread_mutex_unlock(&process->version_lock);
    }
    *ret = known;
    return 0;
}

static void healthz(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)query;
    struct process *process = userdata;
    const struct virt_config *config = virt_config_current(process->context.config);
    kb_cleanup_free char *version = NULL;
    struct kube_error error = {0};
    kb_strbuf_puts(&ret->body, "{\n \"apiserver\": {\n  \"connectivity\": ");
    if (api_version(process, &version, &error) == 0) {
        kb_strbuf_puts(&ret->body, "\"ok\",\n  \"version\": ");
        put_indented(&ret->body, version, 2);
    } else {
        ret->status = 500;
        kb_strbuf_puts(&ret->body, "\"failed\",\n  \"error\": ");
        kb_strbuf_json_string(&ret->body, error.message, strlen(error.message));
    }
    kb_strbuf_puts(&ret->body, "\n },\n \"config-resource-version\": ");
    kb_strbuf_json_string(&ret->body, config->resource_version, strlen(config->resource_version));
    kb_strbuf_puts(&ret->body, "\n}");
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
    ret->content_type = "text/plain; version=0.0.4; charset=utf-8";
    kube_metrics_write(process->context.metrics, &ret->body);
}

static const struct kube_http_route routes[] = {
    {"GET", "/healthz", healthz, .json = true},
    {"GET", "/leader", leader, .json = true},
    {"GET", "/metrics", metrics},
};

/* VersionTLS10 ... VersionTLS13; anything else is 1.2. */
static int tls_version(const char *name)
{
    static const char *const names[] = {"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"};
    for (size_t i = 0; i < KB_ARRAY_LEN(names); i++)
        if (kb_streq(name, names[i]))
            return 10 + (int)i;
    return 12;
}

static void tls_policy(void *userdata, struct kube_tls_policy *ret)
{
    struct process *process = userdata;
    const struct virt_config *config = virt_config_current(process->context.config);
    ret->minimum_version = 12;
    if (config->spec->tls_configuration)
        ret->minimum_version = tls_version(config->spec->tls_configuration->min_tls_version);
    virt_config_unref(config);
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
    };
    kube_metrics_add_process_collector(process->context.metrics);
    if (kube_server_start(&server, &process->server, reterr) < 0)
        return kube_error_wrap(reterr, "HTTPS server");
    return 0;
}
