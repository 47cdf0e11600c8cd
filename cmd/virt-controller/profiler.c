/*
 * What the profiler's dump is made of: a table of files, each written by one function from /proc, the allocator or the
 * runtime.
 */
#include "cmd/virt-controller/profiler.h"
#include "base/strings.h"
#include "virt/informers.h"
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_CONTROLLERS 64
#define MAX_THREADS     256

struct thread {
    long id, wakeups;
    double cpu_s;
    char name[32];
};

struct snapshot {
    int64_t mono;
    size_t n_threads, n_controllers;
    struct thread threads[MAX_THREADS];
    struct kube_controller_state controllers[MAX_CONTROLLERS];
};

struct profiler {
    struct kube_runtime *runtime;
    struct kb_clock *clock;
    struct snapshot *started, *stopped; /* NULL: not yet */
};

struct profiler *profiler_new(struct kube_runtime *runtime, struct kb_clock *clock)
{
    struct profiler *profiler = kb_malloc(sizeof(*profiler));
    *profiler = (struct profiler){.runtime = runtime, .clock = clock};
    return profiler;
}

void profiler_free(struct profiler *profiler)
{
    if (!profiler)
        return;
    free(profiler->started);
    free(profiler->stopped);
    free(profiler);
}

/* ---- threads ---- */

/* Small files of /proc, whole. */
static bool read_text(const char *path, char *ret, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(ret, 1, size - 1, file);
    fclose(file);
    ret[n] = '\0';
    return n > 0;
}

static bool read_thread(const char *id, struct thread *ret)
{
    char path[96], text[2048];
    unsigned long user, system;
    snprintf(path, sizeof(path), "/proc/self/task/%s/stat", id);
    if (!read_text(path, text, sizeof(text)))
        return false;
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close ||
        sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return false;
    *ret = (struct thread){.id = atol(id), .cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK)};
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(close - open - 1), open + 1);
    snprintf(path, sizeof(path), "/proc/self/task/%s/status", id);
    if (read_text(path, text, sizeof(text))) {
        const char *line = strstr(text, "\nvoluntary_ctxt_switches:");
        ret->wakeups = line ? strtol(strchr(line, ':') + 1, NULL, 10) : 0;
    }
    return true;
}

static size_t read_threads(struct thread *ret, size_t max)
{
    size_t n = 0;
    DIR *directory = opendir("/proc/self/task");
    if (!directory)
        return 0;
    for (const struct dirent *entry; n < max && (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && read_thread(entry->d_name, &ret[n]))
            n++;
    closedir(directory);
    return n;
}

/* ---- start, stop ---- */

static struct snapshot *take_snapshot(const struct profiler *profiler)
{
    struct snapshot *snapshot = kb_malloc(sizeof(*snapshot));
    snapshot->mono = profiler->clock->mono(profiler->clock);
    snapshot->n_threads = read_threads(snapshot->threads, MAX_THREADS);
    snapshot->n_controllers = kube_runtime_states(profiler->runtime, snapshot->controllers, MAX_CONTROLLERS);
    return snapshot;
}

void profiler_start(struct profiler *profiler)
{
    free(profiler->started);
    free(profiler->stopped);
    profiler->started = take_snapshot(profiler);
    profiler->stopped = NULL;
}

int profiler_stop(struct profiler *profiler, struct kube_error *reterr)
{
    if (!profiler->started)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "it was not started");
    free(profiler->stopped);
    profiler->stopped = take_snapshot(profiler);
    return 0;
}

/* ---- the files ---- */

static void write_malloc(const struct profiler *profiler, struct kb_strbuf *ret)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    (void)profiler;
    if (!file)
        return;
    malloc_info(0, file);
    fclose(file);
    kb_strbuf_append(ret, text, n);
    free(text);
}

static void write_smaps(const struct profiler *profiler, struct kb_strbuf *ret)
{
    char text[4096];
    (void)profiler;
    if (read_text("/proc/self/smaps_rollup", text, sizeof(text)))
        kb_strbuf_puts(ret, text);
}

static void write_threads(const struct profiler *profiler, struct kb_strbuf *ret)
{
    kb_cleanup_free struct thread *threads = kb_malloc(MAX_THREADS * sizeof(*threads));
    size_t n = read_threads(threads, MAX_THREADS);
    (void)profiler;
    kb_strbuf_puts(ret, "thread            cpu_s   wakeups\n");
    for (size_t i = 0; i < n; i++)
        kb_strbuf_printf(ret, "%-16s %6.2f %9ld\n", threads[i].name, threads[i].cpu_s, threads[i].wakeups);
}

static void write_controllers(const struct profiler *profiler, struct kb_strbuf *ret)
{
    kb_cleanup_free struct kube_controller_state *states = kb_malloc(MAX_CONTROLLERS * sizeof(*states));
    size_t n = kube_runtime_states(profiler->runtime, states, MAX_CONTROLLERS);
    kb_strbuf_puts(ret, "controller           ready  delayed  running  reconciles   errors  slowest_ms\n");
    for (size_t i = 0; i < n; i++)
        kb_strbuf_printf(ret, "%-18s %7zu %8zu %8zu %11llu %8llu %11.3f\n", states[i].definition->name, states[i].ready,
                         states[i].delayed, states[i].running, (unsigned long long)states[i].reconciles,
                         (unsigned long long)states[i].errors, (double)states[i].slowest_ns / KB_NS_PER_MS);
}

static void write_caches(const struct profiler *profiler, struct kb_strbuf *ret)
{
    kb_strbuf_puts(ret, "cache                    objects       bytes\n");
    for (int id = 0; id < VIRT_N_INFORMERS; id++) {
        struct kube_informer *informer = kube_runtime_informer(profiler->runtime, id);
        if (!informer)
            continue;
        struct kube_store *store = kube_informer_store(informer);
        kb_strbuf_printf(ret, "%-22s %9zu %11zu\n", kube_informer_get_spec(informer)->name, kube_store_count(store),
                         kube_store_bytes(store));
    }
}

static const struct thread *find_thread(const struct snapshot *in, const struct thread *like)
{
    for (size_t i = 0; i < in->n_threads; i++)
        if (in->threads[i].id == like->id && kb_streq(in->threads[i].name, like->name))
            return &in->threads[i];
    return NULL;
}

static void write_cpu(const struct profiler *profiler, struct kb_strbuf *ret)
{
    const struct snapshot *from = profiler->started, *to = profiler->stopped;
    if (!to)
        return;
    kb_strbuf_printf(ret, "in %.3f s\n\nthread            cpu_s   wakeups\n",
                     (double)(to->mono - from->mono) / KB_NS_PER_S);
    for (size_t i = 0; i < to->n_threads; i++) {
        const struct thread none = {0}, *now = &to->threads[i], *known = find_thread(from, now);
        const struct thread *before = known ? known : &none;
        kb_strbuf_printf(ret, "%-16s %6.2f %9ld\n", now->name, now->cpu_s - before->cpu_s,
                         now->wakeups - before->wakeups);
    }
    kb_strbuf_puts(ret, "\ncontroller         reconciles   errors\n");
    for (size_t i = 0; i < to->n_controllers && i < from->n_controllers; i++)
        kb_strbuf_printf(ret, "%-18s %10llu %8llu\n", to->controllers[i].definition->name,
                         (unsigned long long)(to->controllers[i].reconciles - from->controllers[i].reconciles),
                         (unsigned long long)(to->controllers[i].errors - from->controllers[i].errors));
}

static const struct {
    const char *name;
    void (*write)(const struct profiler *profiler, struct kb_strbuf *ret); /* appends nothing: the file is left out */
} files[] = {
    {"caches.txt", write_caches}, {"controllers.txt", write_controllers}, {"cpu.txt", write_cpu},
    {"malloc.xml", write_malloc}, {"smaps_rollup.txt", write_smaps},      {"threads.txt", write_threads},
};

void profiler_dump(const struct profiler *profiler, struct kb_strbuf *ret)
{
    size_t shown = 0;
    kb_strbuf_puts(ret, "{\"pprofData\":{");
    for (size_t i = 0; i < KB_ARRAY_LEN(files); i++) {
        kb_cleanup_strbuf struct kb_strbuf text = {0};
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        files[i].write(profiler, &text);
        if (text.length == 0)
            continue;
        kb_strbuf_printf(ret, "%s\"%s\":\"%s\"", shown++ ? "," : "", files[i].name,
                         kb_base64_encode(arena, kb_strbuf_text(&text), text.length));
    }
    kb_strbuf_puts(ret, "}}");
}
