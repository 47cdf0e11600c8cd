/*
 * What a scrape of a large cluster costs: N VMs, each with its VMI and launcher Pod, one in four with an instance type.
 *
 *     meson test --benchmark -C build metrics       or      build/bench/bench_metrics [VMs]
 */
#include "virt/metrics/metrics.h"
#include "api/codec.h"
#include "api/meta.h"
#include "api/types/instancetype.h"
#include "base/clock.h"
#include "base/strings.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct bench {
    struct kb_arena *arena;
    struct virt_context context;
    struct virt_metrics *metrics;
    int version;
};

static void *read_object(struct bench *b, const char *file, const struct api_type *type)
{
    const char *path = kb_arena_printf(b->arena, "%s/%s", OBJECTS, file);
    FILE *in = fopen(path, "re");
    struct kb_strbuf text = {.arena = b->arena};
    char piece[4096];
    size_t n;
    void *object;
    struct kube_error error = {0};

    if (!in) {
        perror(path);
        exit(1);
    }
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        kb_strbuf_append(&text, piece, n);
    fclose(in);
    if (api_decode(b->arena, type, text.data, text.length, &object, &error) < 0) {
        fprintf(stderr, "%s: %s\n", path, error.message);
        exit(1);
    }
    return object;
}

static void put(struct bench *b, enum virt_informer informer, void *data, const char *name, const char *uid)
{
    struct kube_store *store = kube_informer_store(kube_runtime_informer(b->context.runtime, (int)informer));
    struct api_any *any = data;
    char version[16];

    snprintf(version, sizeof(version), "%d", ++b->version);
    any->metadata.name = name;
    any->metadata.uid = uid;
    any->metadata.resource_version = version;
    const struct api_object *object = api_object_new(kube_store_type(store), data);
    kube_store_apply(store, object);
    api_object_unref(object);
}

static void fill(struct bench *b, int n)
{
    struct kv_vm *vm = read_object(b, "vm.json", &kv_vm_type);
    struct kv_vmi *vmi = read_object(b, "vmi.json", &kv_vmi_type);
    struct core_pod *pod = read_object(b, "pod.json", &core_pod_type);
    struct instancetype_vm_cluster_instancetype type = {.spec = {.cpu.guest = 2, .memory.guest = "4Gi"}};
    struct kv_instancetype_matcher matcher = {.name = "u1", .kind = "VirtualMachineClusterInstancetype"};
    const struct kv_domain_spec domain = vm->spec.template->spec.domain;

    put(b, VIRT_CLUSTER_INSTANCETYPE, &type, "u1", "u1");
    for (int i = 0; i < n; i++) {
        char name[32], uid[64], pod_name[64];

        snprintf(name, sizeof(name), "vm-%06d", i);
        snprintf(uid, sizeof(uid), "00000000-0000-0000-0000-%012d", i);
        snprintf(pod_name, sizeof(pod_name), "virt-launcher-%s-abcde", name);
        vm->spec.instancetype = i % 4 == 0 ? &matcher : NULL;
        vm->spec.template->spec.domain = domain;
        if (i % 4 == 0) {
            vm->spec.template->spec.domain.cpu = NULL;
            vm->spec.template->spec.domain.memory = NULL;
        }
        put(b, VIRT_VM, vm, name, uid);
        put(b, VIRT_VMI, vmi, name, uid);
        api_map_set(b->arena, &pod->metadata.labels, "kubevirt.io/created-by", uid);
        put(b, VIRT_POD, pod, pod_name, pod_name);
    }
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        exit(1);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* As the HTTPS server does it: piece by piece, each one forgotten. */
static void scrape(struct bench *b)
{
    struct kb_strbuf piece = {0};
    size_t bytes = 0, lines = 0;
    const long before = resident_kib();
    long most = before;
    const clock_t start = clock();
    void *state = virt_metrics_scrape_begin(b->metrics);

    for (size_t pieces = 0; virt_metrics_scrape_more(state, &piece); pieces++) {
        for (size_t i = 0; i < piece.length; i++)
            lines += piece.data[i] == '\n';
        bytes += piece.length;
        kb_strbuf_clear(&piece);
        if (pieces % 64 == 0 && resident_kib() > most)
            most = resident_kib();
    }
    virt_metrics_scrape_end(state);
    printf("scrape: %zu lines, %.1f MB, %.0f ms of CPU; memory %ld KiB, at most %ld KiB more, %ld KiB more after\n",
           lines, (double)bytes / 1e6, (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC, before, most - before,
           resident_kib() - before);
    kb_strbuf_done(&piece);
}

int main(int argc, char **argv)
{
    struct bench b = {.arena = kb_arena_new()};
    struct kb_random *random = kb_random_seeded(1);
    const struct kube_informer_spec *specs = virt_informer_specs(b.arena, "kubevirt");

    mallopt(M_ARENA_MAX, 1);
    b.context.metrics = kube_metrics_new();
    b.metrics = virt_metrics_new(b.arena, b.context.metrics, kb_clock_system());
    b.context.config = virt_config_store_new();
    b.context.install_namespace = "kubevirt";
    b.context.runtime = kube_runtime_new(&(struct kube_runtime_options){.clock = kb_clock_system(), .random = random});
    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        kube_runtime_add_informer(b.context.runtime, id, &specs[id]);
    virt_metrics_add(b.metrics, &b.context, &(struct virt_metrics_hooks){0});
    virt_metrics_lead(b.metrics);
    fill(&b, argc > 1 ? atoi(argv[1]) : 20000);
    for (int i = 0; i < 3; i++)
        scrape(&b);
    kube_runtime_free(b.context.runtime);
    virt_config_store_free(b.context.config);
    kube_metrics_free(b.context.metrics);
    kb_arena_free(b.arena);
    free(random);
    return 0;
}
