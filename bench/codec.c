/*
 * What the codec costs, on a VM, its VMI and its launcher Pod: nanoseconds an operation and bytes a shared object.
 *
 *     meson test --benchmark -C build codec       or      build/bench/bench_codec [milliseconds an operation]
 */
#include "api/codec.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/strings.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define COPIES 1000 /* of an object, for its memory */

struct subject {
    const struct api_type *type;
    char *json;
    size_t n;
    yyjson_doc *doc;
    struct kb_arena *arena;
    void *data, *changed;
};

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "re");
    struct kb_strbuf b = {0};
    char piece[4096];
    size_t n;

    if (!file) {
        perror(path);
        exit(1);
    }
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        kb_strbuf_append(&b, piece, n);
    fclose(file);
    *ret_n = b.length;
    return kb_strbuf_take(&b);
}

static struct subject open_subject(const char *file, const char *api_version, const char *kind)
{
    struct subject s = {.type = api_type_of(api_version, kind), .arena = kb_arena_new()};
    struct kube_error error = {0};
    struct meta_head {
        const char *extra_, *kind, *api_version;
    } * head;

    s.json = read_file(kb_arena_printf(s.arena, "%s/%s", OBJECTS, file), &s.n);
    if (api_parse(s.json, s.n, &s.doc, &error) < 0 || api_decode(s.arena, s.type, s.json, s.n, &s.data, &error) < 0) {
        fprintf(stderr, "%s: %s\n", file, error.message);
        exit(1);
    }
    s.changed = api_clone(s.arena, s.type, s.data);
    head = s.changed;
    head->extra_ = "\"changed\":true";
    return s;
}

/* ---- operations ---- */

static void parse(struct subject *s)
{
    yyjson_doc *doc;

    if (api_parse(s->json, s->n, &doc, NULL) == 0)
        yyjson_doc_free(doc);
}

static void decode(struct subject *s)
{
    struct kb_arena *arena = kb_arena_new();
    void *data;

    api_decode(arena, s->type, s->json, s->n, &data, NULL);
    kb_arena_free(arena);
}

static void decode_shared(struct subject *s)
{
    const struct api_object *object;

    if (api_decode_shared(s->type, yyjson_doc_get_root(s->doc), NULL, &object, NULL) == 0)
        api_object_unref(object);
}

static void encode(struct subject *s)
{
    struct kb_strbuf b = {0};

    api_encode(s->type, s->data, 0, &b);
    kb_strbuf_done(&b);
}

static void copy(struct subject *s)
{
    struct kb_arena *arena = kb_arena_new();

    api_clone(arena, s->type, s->data);
    kb_arena_free(arena);
}

static void equal(struct subject *s)
{
    if (api_equal(s->type, s->data, s->changed))
        abort();
}

static void diff(struct subject *s)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    api_diff_merge(doc, s->type, s->data, s->changed);
    yyjson_mut_doc_free(doc);
}

static const struct operation {
    const char *name;
    void (*run)(struct subject *subject);
} operations[] = {
    {"parse", parse}, {"decode", decode},   {"decode_shared", decode_shared}, {"encode", encode}, {"clone", copy},
    {"equal", equal}, {"diff_merge", diff},
};

static double ns_per_run(const struct operation *operation, struct subject *s, int64_t limit)
{
    struct kb_clock *clock = kb_clock_system();
    const int64_t start = clock->mono(clock);
    int64_t runs = 0, passed;

    do {
        for (int i = 0; i < 100; i++)
            operation->run(s);
        runs += 100;
        passed = clock->mono(clock) - start;
    } while (passed < limit);
    return (double)passed / runs;
}

/* What a copy of the object costs the process, its allocator's overhead and its part of the intern table included. */
static void measure_memory(const char *name, struct subject *s)
{
    const struct api_object *objects[COPIES];
    const size_t before = mallinfo2().uordblks;
    size_t texts, bytes;

    for (int i = 0; i < COPIES; i++)
        if (api_decode_shared(s->type, yyjson_doc_get_root(s->doc), NULL, &objects[i], NULL) < 0)
            exit(1);
    kb_intern_stats(&texts, &bytes);
    printf("%-4s bytes: block %zu, malloc %zu an object; struct %u; %zu interned texts of %zu bytes\n", name,
           api_object_bytes(objects[0]), (mallinfo2().uordblks - before) / COPIES, s->type->size, texts, bytes);
    for (int i = 0; i < COPIES; i++)
        api_object_unref(objects[i]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *file, *api_version, *kind;
    } files[] = {
        {"vm", "vm.json", "kubevirt.io/v1", "VirtualMachine"},
        {"vmi", "vmi.json", "kubevirt.io/v1", "VirtualMachineInstance"},
        {"pod", "pod.json", "v1", "Pod"},
    };
    const int64_t limit = (argc > 1 ? atoi(argv[1]) : 100) * KB_NS_PER_MS;

    for (size_t f = 0; f < KB_ARRAY_LEN(files); f++) {
        struct subject s = open_subject(files[f].file, files[f].api_version, files[f].kind);

        measure_memory(files[f].name, &s);
        for (size_t i = 0; i < KB_ARRAY_LEN(operations); i++)
            printf("%-4s %-14s %8.0f ns\n", files[f].name, operations[i].name, ns_per_run(&operations[i], &s, limit));
        yyjson_doc_free(s.doc);
        free(s.json);
        kb_arena_free(s.arena);
    }
    return 0;
}
