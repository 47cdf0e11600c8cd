/*
 * Registration, leadership and the text of a scrape.
 *
 * A scrape of a standby and one of a leader differ by `leading` alone, which goes from false to true once.
 */
#include "virt/metrics/metrics_internal.h"

static const struct kube_metric_family ready_status = {
    "kubevirt_virt_controller_ready_status",
    "Indication for a virt-controller that is ready to take the lead.",
    KUBE_GAUGE,
};
static const struct kube_metric_family leading_status = {
    "kubevirt_virt_controller_leading_status",
    "Indication for an operating virt-controller.",
    KUBE_GAUGE,
};
/* Of Prometheus' HTTP handler for Go. */
static const struct kube_metric_family scrapes = {
    "promhttp_metric_handler_requests_total",
    "Total number of scrapes by HTTP status code.",
    KUBE_COUNTER,
    {"code"},
};
static const struct kube_metric_family scrapes_in_flight = {
    "promhttp_metric_handler_requests_in_flight",
    "Current number of scrapes being served.",
    KUBE_GAUGE,
};

struct virt_metrics *virt_metrics_new(struct kb_arena *arena, struct kube_metrics *registry, struct kb_clock *clock)
{
    static const char *const codes[] = {"200", "500", "503"};
    struct virt_metrics *metrics = kb_arena_one(arena, struct virt_metrics);
    metrics->arena = arena;
    metrics->registry = registry;
    metrics->clock = clock;
    for (size_t i = 0; i < KB_ARRAY_LEN(codes); i++)
        kube_metric_touch(registry, &scrapes, codes[i]);
    kube_metrics_register(registry, &scrapes_in_flight);
    return metrics;
}

struct kube_store *metrics_store(struct virt_metrics *metrics, enum virt_informer informer)
{
    return kube_informer_store(kube_runtime_informer(metrics->context->runtime, (int)informer));
}

/* Before the registry is read: the two gauges follow what the process says at that moment. */
static void follow_status(void *userdata, struct kube_exposition *out)
{
    (void)out;
    struct virt_metrics *metrics = userdata;
    bool ready = metrics->hooks.ready && metrics->hooks.ready(metrics->hooks.userdata);
    kube_metric_set(metrics->registry, &leading_status, ready);
}

void virt_metrics_add(struct virt_metrics *metrics, struct virt_context *context,
                      const struct virt_metrics_hooks *hooks)
{
    metrics->context = context;
    metrics->hooks = *hooks;
    kube_metric_set(metrics->registry, &ready_status, 1);
    kube_metrics_add_collector(metrics->registry, follow_status, metrics);
    kube_metrics_add_process_collector(metrics->registry);
    metrics_add_vm_stats(metrics);
    metrics_add_vmi_stats(metrics);
    metrics_add_migrations(metrics);
    metrics_add_phases(metrics);
    metrics_add_own(metrics);
}

void virt_metrics_lead(struct virt_metrics *metrics)
{
    metrics_show_outdated(metrics->registry);
    metrics->leading = true;
    metrics_open_queues(metrics);
}

/* ---- the text ---- */

#define PIECE ((size_t)64 << 10)

struct text {
    struct virt_metrics *metrics;
    struct kube_scrape *scrape;
};

void *virt_metrics_scrape_begin(struct virt_metrics *metrics)
{
    struct text *text = kb_malloc(sizeof *text);
    kube_metric_add(metrics->registry, &scrapes_in_flight, 1);
    text->metrics = metrics;
    text->scrape = kube_scrape_new(metrics->registry);
    return text;
}

bool virt_metrics_scrape_more(void *scrape, struct kb_strbuf *piece)
{
    struct text *text = scrape;
    return kube_scrape_next(text->scrape, PIECE, piece);
}

void virt_metrics_scrape_end(void *scrape)
{
    kb_cleanup_free struct text *text = scrape;
    kube_scrape_free(text->scrape);
    kube_metric_add(text->metrics->registry, &scrapes_in_flight, -1);
    kube_metric_add(text->metrics->registry, &scrapes, 1, "200");
}
