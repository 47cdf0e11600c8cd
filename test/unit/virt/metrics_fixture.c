/* See the header. */
#include "metrics_fixture.h"

#include "api/meta.h"
#include "base/strings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static bool is_ready(void *userdata)
{
    return ((struct metrics_fixture *)userdata)->is_ready;
}

static void *queue_data(void *userdata, const char *queue_name)
{
    return virt_metrics_queue(((struct metrics_fixture *)userdata)->metrics, queue_name);
}

void metrics_fixture_init(struct metrics_fixture *f, bool leading)
{
    *f =
        (struct metrics_fixture){.arena = kb_arena_new(), .clock = kb_clock_fake_new(0), .random = kb_random_seeded(1)};
    struct kb_clock *clock = kb_clock_fake_clock(f->clock);
    const struct kube_informer_spec *specs = virt_informer_specs(f->arena, "kubevirt");
    f->context.metrics = kube_metrics_new();
    f->metrics = virt_metrics_new(f->arena, f->context.metrics, clock);
    f->context.config = virt_config_store_new();
    f->context.install_namespace = "kubevirt";
    f->context.runtime = kube_runtime_new(&(struct kube_runtime_options){
        .clock = clock,
        .random = f->random,
        .userdata = f,
        .queue_observer = &virt_metrics_queue_observer,
        .queue_observer_data = queue_data,
    });
    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        kube_runtime_add_informer(f->context.runtime, id, &specs[id]);
    f->hooks = (struct virt_metrics_hooks){.ready = is_ready, .userdata = f};
    virt_metrics_add(f->metrics, &f->context, &f->hooks);
    if (leading)
        virt_metrics_lead(f->metrics);
}

void metrics_fixture_done(struct metrics_fixture *f)
{
    kube_runtime_free(f->context.runtime);
    virt_config_store_free(f->context.config);
    kube_metrics_free(f->context.metrics);
    kb_clock_fake_free(f->clock);
    free(f->random);
    kb_arena_free(f->arena);
}

static char *swap(struct kb_arena *arena, const char *text, char from, char to)
{
    char *copy = kb_arena_strdup(arena, text);
    for (char *c = copy; *c; c++)
        if (*c == from)
            *c = to;
    return copy;
}

void metrics_fixture_put(struct metrics_fixture *f, enum virt_informer informer, const char *json)
{
    struct kube_store *store = kube_informer_store(kube_runtime_informer(f->context.runtime, (int)informer));
    const char *text = swap(f->arena, json, '\'', '"');
    struct kube_error error = {0};
    struct api_any *any = NULL;
    if (api_decode(f->arena, kube_store_type(store), text, strlen(text), &any, &error) < 0)
        fail_msg("%s in %s", error.message, text);
    any->metadata.resource_version = kb_arena_printf(f->arena, "%d", ++f->version);
    const struct api_object *object = api_object_new(kube_store_type(store), any);
    kube_store_apply(store, object);
    api_object_unref(object);
}

void metrics_fixture_configure(struct metrics_fixture *f, const char *configuration)
{
    const char *json = kb_arena_printf(f->arena, "{'metadata':{'resourceVersion':'%d'},'spec':{'configuration':%s}}",
                                       ++f->version, configuration);
    const char *text = swap(f->arena, json, '\'', '"');
    struct kube_error error = {0};
    struct kv_kube_virt *kubevirt = NULL;
    if (api_decode(f->arena, &kv_kube_virt_type, text, strlen(text), &kubevirt, &error) < 0)
        fail_msg("%s in %s", error.message, text);
    if (virt_config_store_update(f->context.config, kubevirt, &error) != 1)
        fail_msg("%s", error.message);
}

const char *metrics_fixture_text(struct metrics_fixture *f)
{
    struct kb_strbuf text = {.arena = f->arena};
    void *scrape = virt_metrics_scrape_begin(f->metrics);
    while (virt_metrics_scrape_more(scrape, &text))
        continue;
    virt_metrics_scrape_end(scrape);
    return kb_strbuf_text(&text);
}

void metrics_fixture_assert(struct metrics_fixture *f, const char *family_prefix, const char *expected)
{
    struct kb_strbuf found = {.arena = f->arena};
    for (const char *line = metrics_fixture_text(f); *line;) {
        size_t n = strcspn(line, "\n") + 1;
        if (kb_starts_with(line, family_prefix))
            kb_strbuf_append(&found, line, n);
        line += n;
    }
    assert_string_equal(swap(f->arena, kb_strbuf_text(&found), '"', '\''), expected);
}
