/*
 * `virt-controller render` from its command line to its output.
 */
#include "cmd/virt-controller/render.h"
#include "cmd/virt-controller/render_internal.h"
#include <stdio.h>

enum { RENDER_OK = 0, RENDER_FAILED = 1, RENDER_DIFFERS = 2 };

#define SIDECARS_FIELD "metadata.annotations[hooks.kubevirt.io/hookSidecars]"

struct render {
    struct kb_arena *arena;
    struct render_options options;
    struct render_world world;
    struct render_objects manifests;
    struct render_instances instances;
    struct render_pods pods;
    struct kb_strbuf out;
};

/* ---- configuration ---- */

/* A manifest has no status: the architecture is this program's unless it says otherwise. */
static int configure(struct render *r, const struct render_object *object, struct kube_error *reterr)
{
    struct kv_kube_virt *kubevirt = object ? object->data : NULL;

    if (kubevirt && kb_empty(kubevirt->status.default_architecture))
        kubevirt->status.default_architecture = virt_config_own_architecture();
    if (virt_config_new(kubevirt, &r->world.config, reterr) < 0)
        return object ? kube_error_wrap(reterr, "%s", object->origin) : -1;
    return 0;
}

static int read_configuration(struct render *r, struct kube_error *reterr)
{
    struct render_objects objects = {0};
    const struct render_object *found = NULL;

    if (!r->options.kubevirt)
        return configure(r, NULL, reterr);
    if (render_read(r->arena, r->options.kubevirt, false, &objects, reterr) < 0)
        return -1;
    kb_vec_foreach (object, &objects)
        if (object->type == &kv_kube_virt_type)
            found = object;
    if (!found)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: expected a KubeVirt (kubevirt.io/v1)",
                              r->options.kubevirt);
    return configure(r, found, reterr);
}

/* ---- objects ---- */

static int read_objects(struct render *r, struct kube_error *reterr)
{
    for (size_t i = 0; i < r->options.with.n; i++)
        if (render_read(r->arena, r->options.with.items[i], false, &r->world.objects, reterr) < 0)
            return -1;
    for (size_t i = 0; i < r->options.manifests.n; i++)
        if (render_read(r->arena, r->options.manifests.items[i], true, &r->manifests, reterr) < 0)
            return -1;
    kb_vec_foreach (object, &r->manifests)
        *kb_vec_push(r->arena, &r->world.objects) = *object;
    return 0;
}

static int make_instances(struct render *r, struct kube_error *reterr)
{
    const char *first = r->options.manifests.items[0];
    bool any = false;

    kb_vec_foreach (object, &r->manifests) {
        if (!render_has_instances(object->type))
            continue;
        any = true;
        if (render_add_instances(&r->world, object, &r->instances, reterr) < 0)
            return -1;
    }
    if (!any)
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "%s: expected a VirtualMachine, VirtualMachineInstance, "
                              "VirtualMachineInstanceReplicaSet or VirtualMachinePool",
                              kb_streq(first, "-") ? "standard input" : first);
    return 0;
}

/* Prints all that is missing at once. */
static int check_missing(struct render *r, struct kube_error *reterr)
{
    struct api_strings missing = {0};

    kb_vec_foreach (instance, &r->instances)
        render_find_missing(&r->world, instance, &missing);
    if (missing.n == 0)
        return 0;
    for (size_t i = 0; i + 1 < missing.n; i++)
        fprintf(stderr, "virt-controller render: %s\n", missing.items[i]);
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s", missing.items[missing.n - 1]);
}

/* ---- Pods ---- */

static int jitter_of(const struct render *r, const struct kv_vmi *vmi)
{
    const char *seed = r->options.seed ? r->options.seed : vmi->metadata.uid;

    return (int)(kb_fnv32a(seed, strlen(seed)) % RENDER_JITTER_RANGE);
}

static int render_pod(struct render *r, const struct render_instance *instance, struct kube_error *reterr)
{
    const struct virt_launcher_input input = {
        .config = r->world.config,
        .settings = &r->options.settings,
        .vmi = instance->vmi,
        .lookups = &r->world.lookups,
        .qemu_timeout_jitter = jitter_of(r, instance->vmi),
        .backend_storage_claim =
            virt_vmi_needs_backend_storage(instance->vmi) ? render_state_claim(&r->world, instance->vmi) : NULL,
    };
    struct kube_error error = {0};
    struct core_pod *pod;

    r->world.missing_config_map = NULL;
    if (virt_launcher_pod(r->arena, &input, &pod, &error) < 0)
        return render_fail(reterr, instance->object, r->world.missing_config_map ? SIDECARS_FIELD : instance->spec_path,
                           "%s%s", error.message, r->world.missing_config_map ? ": give it with --with" : "");
    pod->metadata.namespace = instance->vmi->metadata.namespace;
    *kb_vec_push(r->arena, &r->pods) = pod;
    if (!r->options.explain)
        return 0;
    if (r->pods.n > 1)
        kb_strbuf_putc(&r->out, '\n');
    return render_explain(r->arena, &input, pod, &r->out, reterr);
}

/* Returns the exit status, or negative. */
static int run(struct render *r, struct kube_error *reterr)
{
    int differences = 0;

    render_world_init(&r->world);
    if (read_configuration(r, reterr) < 0 || read_objects(r, reterr) < 0)
        return -1;
    if (make_instances(r, reterr) < 0 || check_missing(r, reterr) < 0)
        return -1;
    kb_vec_foreach (instance, &r->instances)
        if (render_pod(r, instance, reterr) < 0)
            return -1;
    if (r->options.diff)
        differences = render_diff(r->arena, &r->options, &r->pods, &r->out, reterr);
    else if (!r->options.explain)
        render_write_pods(&r->options, &r->pods, &r->out);
    if (differences < 0)
        return -1;
    return differences > 0 ? RENDER_DIFFERS : RENDER_OK;
}

static int print(const struct kb_strbuf *out, int status)
{
    fputs(kb_strbuf_text(out), stdout);
    if (fflush(stdout) == 0)
        return status;
    perror("virt-controller render");
    return RENDER_FAILED;
}

int render_main(int argc, char **argv)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct render r = {.arena = arena, .out = {.arena = arena}, .world = {.arena = arena}};
    struct kube_error error = {0};
    int status;

    r.world.options = &r.options;
    if (render_parse_options(arena, argc, argv, &r.options, &error) < 0) {
        fprintf(stderr, "virt-controller render: %s\nTry --help.\n", error.message);
        return RENDER_FAILED;
    }
    if (r.options.help) {
        render_usage(&r.out);
        return print(&r.out, RENDER_OK);
    }
    status = run(&r, &error);
    virt_config_unref(r.world.config);
    if (status >= 0)
        return print(&r.out, status);
    fprintf(stderr, "virt-controller render: %s\n", error.message);
    return RENDER_FAILED;
}
