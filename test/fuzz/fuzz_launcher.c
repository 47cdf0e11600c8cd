/*
 * Rendering: VMIs and configurations of every shape that the API knows. The bytes decide, member by member over the
 * tables of the types, what is there; texts come from a list of those that mean something. Two renderings of the same
 * give the same, and the terms that explain a resource add up to it.
 */
#include "api/codec.h"
#include "base/quantity.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "virt/defaults/defaults.h"
#include "virt/launcher/launcher.h"
#include "virt/network/multus.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- objects out of bytes ---- */

enum { MOST_ELEMENTS = 3, DEEPEST = 14, PRESENT = 96 /* of 256 */ };

struct source {
    const uint8_t *data;
    size_t left;
};

static unsigned take(struct source *s, unsigned below)
{
    if (s->left == 0)
        return 0;
    s->left--;
    return *s->data++ % below;
}

static const char *const texts[] = {
    "",
    "a",
    "b",
    "default",
    "x/y",
    "x/gpu",
    "true",
    "false",
    "kvm",
    "hyperv-direct",
    "amd64",
    "arm64",
    "s390x",
    "host-model",
    "Haswell",
    "require",
    "forbid",
    "invtsc",
    "virtio",
    "absent",
    "supplementalPool",
    "2Mi",
    "1Gi",
    "Block",
    "ReadWriteMany",
    "device-info",
    "Ready",
    "none",
    "u:r:t:s0:c1",
    "1.5",
    "nan",
    "-7",
    "5",
    "image@sha256:abc",
    "net1",
    "ImageVolume",
    "ExternalNetResourceInjection",
    "GPUsWithDRA",
    "NetworkDevicesWithDRA",
    "IOMMUFD",
    "HypervStrictCheck",
    "CrossArchitectureVirtualization",
    "PodSecondaryInterfaceNamingUpgrade",
    "Plugins",
    "Initializing",
    "Enabled",
    "virt-probe",
    "[{\"image\":\"i\",\"configMap\":{\"name\":\"a\",\"key\":\"k\"}}]",
    "[{\"name\":\"a\",\"interface\":\"net1\",\"dns\":{}}]",
    "[{\"interface\":\"pod0cc175b9c0f\",\"mtu\":3}]",
    "\\u0001\\\"",
    "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.0.1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g",
};
static const char *const quantities[] = {"0",    "1",  "1Gi", "64Mi", "2G",   "100m",  "1.5", "3Ki", "333333333n",
                                         "2000", "-1", "8Ti", "1e3",  "1e-3", "9999T", "12",  "15"};
static const char *const keys[] = {
    "memory",
    "cpu",
    "ephemeral-storage",
    "x/gpu",
    "limits.cpu",
    "limits.memory",
    "a",
    "b",
    "hooks.kubevirt.io/hookSidecars",
    "kubevirt.io/nonroot",
    "kubevirt.io/keep-launcher-alive-after-failure",
    "logVerbosity",
    "debugLogs",
    "sidecar.istio.io/inject",
    "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity",
    "alpha.kubevirt.io/auto-memory-limits-ratio",
    "k8s.v1.cni.cncf.io/networks",
    "k8s.v1.cni.cncf.io/network-status",
    "kubevirt.io/libvirt-log-filters",
    "kubevirt.io/skip-backup-hooks",
    "persistent-state-for",
};
#define PICK(source, list) (list)[take((source), KB_ARRAY_LEN(list))]

static void put_struct(struct source *s, const struct api_type *type, int depth, struct kb_strbuf *out);

static void put_quoted(struct kb_strbuf *out, const char *text)
{
    kb_strbuf_json_string(out, text, strlen(text));
}

static void put_value(struct source *s, const struct api_field *field, int depth, struct kb_strbuf *out)
{
    switch (field->kind) {
    case API_STRUCT:
        put_struct(s, field->type, depth + 1, out);
        return;
    case API_BOOL:
        kb_strbuf_puts(out, take(s, 2) ? "true" : "false");
        return;
    case API_INT32:
    case API_INT64:
    case API_INT_OR_STRING:
        kb_strbuf_printf(out, "%d", take(s, 8) ? (int)take(s, 200) : INT32_MAX);
        return;
    case API_FLOAT64:
        kb_strbuf_printf(out, "%u.5", take(s, 9));
        return;
    case API_QUANTITY:
        put_quoted(out, PICK(s, quantities));
        return;
    case API_BYTES:
        kb_strbuf_puts(out, "\"aGk=\"");
        return;
    case API_RAW:
        kb_strbuf_puts(out, "{}");
        return;
    case API_TIME:
    case API_MICRO_TIME:
        kb_strbuf_puts(out, "\"2026-01-02T03:04:05Z\"");
        return;
    case API_DURATION:
        kb_strbuf_puts(out, "\"5s\"");
        return;
    default:
        put_quoted(out, PICK(s, texts));
    }
}

static void put_field(struct source *s, const struct api_field *field, int depth, struct kb_strbuf *out)
{
    const bool list = field->shape == API_LIST, map = field->shape == API_MAP;
    const unsigned n = list || map ? take(s, MOST_ELEMENTS + 1) : 1;

    if (list || map)
        kb_strbuf_putc(out, list ? '[' : '{');
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            kb_strbuf_putc(out, ',');
        if (map) {
            put_quoted(out, PICK(s, keys));
            kb_strbuf_putc(out, ':');
        }
        put_value(s, field, depth, out);
    }
    if (list || map)
        kb_strbuf_putc(out, list ? ']' : '}');
}

static void put_struct(struct source *s, const struct api_type *type, int depth, struct kb_strbuf *out)
{
    bool first = true;

    kb_strbuf_putc(out, '{');
    for (size_t i = 0; i < type->n_fields && s->left > 0 && depth < DEEPEST; i++) {
        if (take(s, 256) >= PRESENT)
            continue;
        kb_strbuf_printf(out, "%s\"%s\":", first ? "" : ",", type->fields[i].json);
        put_field(s, &type->fields[i], depth, out);
        first = false;
    }
    kb_strbuf_putc(out, '}');
}

static void *make(struct kb_arena *arena, struct source *s, const struct api_type *type)
{
    struct kb_strbuf json = {.arena = arena};
    struct kube_error error = {0};
    void *object;

    put_struct(s, type, 0, &json);
    if (api_decode(arena, type, kb_strbuf_text(&json), json.length, &object, &error) < 0)
        abort(); /* what the tables say can be written can be read */
    return object;
}

/* ---- look-ups ---- */

struct world {
    struct core_pvc *pvc;
    struct nad_network_attachment_definition *nad;
    struct core_config_map *config_map;
    struct core_namespace *namespace_;
    const struct core_resource_quota *quota;
};

static const struct core_pvc *find_pvc(void *userdata, const char *namespace_, const char *name,
                                       struct kube_error *reterr)
{
    const struct world *world = userdata;

    (void)namespace_;
    (void)reterr;
    return kb_streq(name, "b") ? NULL : world->pvc;
}

static const struct nad_network_attachment_definition *find_nad(void *userdata, const char *namespace_,
                                                                const char *name, struct kube_error *reterr)
{
    const struct world *world = userdata;

    (void)namespace_;
    (void)reterr;
    return kb_streq(name, "b") ? NULL : world->nad;
}

static const struct core_config_map *find_config_map(void *userdata, const char *namespace_, const char *name,
                                                     struct kube_error *reterr)
{
    const struct world *world = userdata;

    (void)namespace_;
    (void)name;
    (void)reterr;
    return world->config_map;
}

static const struct core_namespace *find_namespace(void *userdata, const char *name, struct kube_error *reterr)
{
    const struct world *world = userdata;

    (void)name;
    (void)reterr;
    return world->namespace_;
}

static size_t find_quotas(void *userdata, const char *namespace_, const struct core_resource_quota *const **ret)
{
    const struct world *world = userdata;

    (void)namespace_;
    *ret = &world->quota;
    return 1;
}

/* ---- what must hold ---- */

/* Texts are capped at 2^63 - 1; sums that come near aren't looked at. */
static bool is_capped(struct kb_quantity sum)
{
    const int64_t limit = INT64_C(1) << 62, value = kb_quantity_value(sum);

    return value >= limit || value <= -limit;
}

static void check_sums(struct kb_arena *arena, const struct virt_launcher_input *input, const struct core_pod *pod)
{
    static const char *const summed[] = {"memory", "cpu"};
    const struct core_resource_requirements *resources = &pod->spec.containers.items[0].resources;
    struct virt_resource_explanation terms;

    if (virt_launcher_explain(arena, input, &terms, NULL) < 0)
        abort();
    for (size_t i = 0; i < KB_ARRAY_LEN(summed) * 2; i++) {
        const bool limit = i % 2;
        const char *name = summed[i / 2],
                   *amount = api_map_get(limit ? &resources->limits : &resources->requests, name);
        struct kb_quantity sum = {0};

        for (size_t t = 0; t < terms.n; t++)
            if (terms.items[t].limit == limit && kb_streq(terms.items[t].resource, name))
                sum = kb_quantity_add(sum, kb_quantity_of(terms.items[t].quantity));
        if (amount && !is_capped(sum) && kb_quantity_compare(sum, kb_quantity_of(amount)) != 0)
            abort();
    }
}

static void render(struct kb_arena *arena, const struct virt_launcher_input *input)
{
    struct kube_error error = {0};
    struct core_pod *pod, *again;

    if (virt_launcher_pod(arena, input, &pod, &error) < 0) {
        if (!*error.message)
            abort();
        return;
    }
    if (virt_launcher_pod(arena, input, &again, NULL) < 0 || !api_equal(&core_pod_type, pod, again))
        abort();
    check_sums(arena, input, pod);
    api_encode_text(arena, &core_pod_type, pod, 0);
}

static void render_hotplug(struct kb_arena *arena, struct source *s, const struct virt_launcher_input *input,
                           const struct core_pod *launcher, const struct core_pvc *pvc)
{
    struct virt_hotplug_volume volumes[] = {{make(arena, s, &kv_volume_type), pvc},
                                            {make(arena, s, &kv_volume_type), NULL}};
    struct api_string_map annotations = {0};
    struct core_pod *pod;

    virt_hotplug_attachment_pod(arena, input, launcher, volumes, KB_ARRAY_LEN(volumes), &pod, NULL);
    virt_hotplug_trigger_pod(arena, input, launcher, &volumes[0], &pod, NULL);
    virt_active_pod_networks(arena, input->config, input->vmi, launcher, &annotations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct source source = {data, size};
    const unsigned mode = take(&source, 3), defaults = take(&source, 2);
    struct kv_kube_virt *kubevirt = kb_arena_one(arena, struct kv_kube_virt);
    struct world world = {
        .pvc = make(arena, &source, &core_pvc_type),
        .nad = make(arena, &source, &nad_network_attachment_definition_type),
        .config_map = make(arena, &source, &core_config_map_type),
        .namespace_ = make(arena, &source, &core_namespace_type),
        .quota = make(arena, &source, &core_resource_quota_type),
    };
    const struct virt_launcher_lookups lookups = {find_pvc,       find_nad,    find_config_map,
                                                  find_namespace, find_quotas, &world};
    const struct core_pod *pod = make(arena, &source, &core_pod_type);
    struct kv_vmi *vmi; /* the largest takes what is left */
    const struct virt_config *config;

    kubevirt->spec.configuration =
        *(struct kv_kube_virt_configuration *)make(arena, &source, &kv_kube_virt_configuration_type);
    vmi = make(arena, &source, &kv_vmi_type);
    vmi->metadata.name = kb_empty(vmi->metadata.name) ? "vm" : vmi->metadata.name;
    vmi->metadata.namespace = "ns";
    if (virt_config_new(api_clone(arena, &kv_kube_virt_type, kubevirt), &config, NULL) < 0 &&
        virt_config_new(NULL, &config, NULL) < 0)
        abort();
    if (defaults)
        virt_default_vmi(arena, config, vmi, NULL);
    const struct virt_launcher_input input = {
        .config = config,
        .settings = &virt_launcher_default_settings,
        .vmi = api_clone(arena, &kv_vmi_type, vmi),
        .lookups = &lookups,
        .mode = (enum virt_launcher_mode)mode,
        .backend_storage_claim = take(&source, 2) ? "claim" : NULL,
        .source_pod = pod,
    };
    render(arena, &input);
    render_hotplug(arena, &source, &input, pod, world.pvc);
    virt_config_unref(config);
    return 0;
}
