/*
 * kubevirt_rest_client_*: requests to the API server. `url` is a template, so that its values are bounded: the server's
 * address and the path with {namespace} and {name} in place of the values, percent-encoded as in Go.
 *
 * The verb of the two histograms is derived from that template, as in the reference, where a template tells lists only
 * of paths without placeholders. Watches are not part of the histograms.
 *
 * Source: the reference's pkg/monitoring/metrics/common/client.
 */
#include "base/strings.h"
#include "virt/metrics/metrics_internal.h"
#include <stdio.h>

static const double latency_buckets[] = {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
                                         3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60};
static const double wait_buckets[] = {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512};

static const struct kube_metric_family latency = {
    "kubevirt_rest_client_request_latency_seconds",
    "Request latency in seconds. Broken down by verb and URL.",
    KUBE_HISTOGRAM,
    {"verb", "url"},
    latency_buckets,
    KB_ARRAY_LEN(latency_buckets),
};
static const struct kube_metric_family wait = {
    "kubevirt_rest_client_rate_limiter_duration_seconds",
    "Client side rate limiter latency in seconds. Broken down by verb and URL.",
    KUBE_HISTOGRAM,
    {"verb", "url"},
    wait_buckets,
    KB_ARRAY_LEN(wait_buckets),
};
static const struct kube_metric_family requests = {
    "kubevirt_rest_client_requests_total",
    "Number of HTTP requests, partitioned by status code, method, and host.",
    KUBE_COUNTER,
    {"code", "method", "host", "resource", "verb"},
};

struct observer {
    struct kube_client_observer observer;
    struct kube_metrics *registry;
    const char *server, *host;
};

static const char *const verb_names[] = {
    [KUBE_GET] = "GET",       [KUBE_LIST] = "LIST",   [KUBE_WATCH] = "WATCH",   [KUBE_CREATE] = "CREATE",
    [KUBE_UPDATE] = "UPDATE", [KUBE_PATCH] = "PATCH", [KUBE_DELETE] = "DELETE",
};

static bool is_write(enum kube_verb verb)
{
    return verb == KUBE_CREATE || verb == KUBE_UPDATE || verb == KUBE_PATCH || verb == KUBE_DELETE;
}

/* The number of segments below which a path names no resource: "/api/v1/pods", "/apis/GROUP/v1/pods". */
static bool names_resource(const char *template)
{
    size_t slashes = 0;
    for (const char *c = template; *c; c++)
        slashes += *c == '/';
    return (kb_starts_with(template, "/api/") && slashes >= 3) || (kb_starts_with(template, "/apis/") && slashes >= 4);
}

static const char *template_verb(enum kube_verb verb, const char *template)
{
    if (is_write(verb))
        return verb_names[verb];
    if (!names_resource(template))
        return "none";
    return strchr(template, '{') ? "GET" : "LIST";
}

static const char *make_url(const struct observer *o, const char *template, char *ret, size_t size)
{
    size_t n = (size_t)snprintf(ret, size, "%s", o->server);
    for (const char *c = template; *c && n + 4 < size; c++) {
        if (*c == '{' || *c == '}')
            n += (size_t)snprintf(ret + n, size - n, *c == '{' ? "%%7B" : "%%7D");
        else
            ret[n++] = *c;
    }
    ret[n < size ? n : size - 1] = '\0';
    return ret;
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)KB_NS_PER_S;
}

static void request(void *userdata, enum kube_verb verb, const char *method, const char *resource, const char *template,
                    int status, int64_t duration_ns)
{
    const struct observer *o = userdata;
    char code[16], url[1024];
    bool known = !kb_empty(resource);
    snprintf(code, sizeof code, status > 0 ? "%d" : "<error>", status);
    kube_metric_add(o->registry, &requests, 1, code, method, o->host, known ? resource : "none",
                    known ? verb_names[verb] : "none");
    if (verb != KUBE_WATCH)
        kube_metric_observe(o->registry, &latency, seconds(duration_ns), template_verb(verb, template),
                            make_url(o, template, url, sizeof url));
}

static void throttled(void *userdata, enum kube_verb verb, const char *template, int64_t waited_ns)
{
    const struct observer *o = userdata;
    char url[1024];
    kube_metric_observe(o->registry, &wait, seconds(waited_ns), template_verb(verb, template),
                        make_url(o, template, url, sizeof url));
}

const struct kube_client_observer *virt_metrics_client_observer(struct virt_metrics *metrics, const char *server)
{
    struct observer *o = kb_arena_one(metrics->arena, struct observer);
    const char *host = strstr(server, "://");
    host = host ? host + 3 : server;
    o->registry = metrics->registry;
    o->server = kb_arena_strdup(metrics->arena, server);
    o->host = kb_arena_strndup(metrics->arena, host, strcspn(host, "/"));
    o->observer = (struct kube_client_observer){.request = request, .throttled = throttled, .userdata = o};
    return &o->observer;
}
