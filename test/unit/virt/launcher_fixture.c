/* See the header. */
#include "launcher_fixture.h"

#include "api/codec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

const void *fixture_decode(struct fixture *f, const struct api_type *type, const char *json)
{
    char *text = kb_arena_strdup(f->arena, json);
    struct kube_error error = {0};
    void *object = NULL;

    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    if (api_decode(f->arena, type, text, strlen(text), &object, &error) < 0)
        fail_msg("%s in %s", error.message, text);
    return object;
}

static const struct core_pvc *find_claim(void *userdata, const char *namespace_, const char *name,
                                         struct kube_error *reterr)
{
    struct fixture *f = userdata;

    (void)reterr;
    assert_string_equal(namespace_, f->input.vmi->metadata.namespace);
    api_list_foreach (claim, &f->claims)
        if (kb_streq((*claim)->metadata.name, name))
            return *claim;
    return NULL;
}

void fixture_add_claim(struct fixture *f, const char *claim)
{
    *kb_vec_push(f->arena, &f->claims) = fixture_decode(f, &core_pvc_type, claim);
}

static const struct kv_vmi *complete(struct fixture *f, const char *json)
{
    struct kv_vmi *vmi = api_clone(f->arena, &kv_vmi_type, fixture_decode(f, &kv_vmi_type, json));

    if (!*vmi->metadata.name)
        vmi->metadata.name = "vm";
    if (!*vmi->metadata.namespace)
        vmi->metadata.namespace = "ns";
    if (!*vmi->metadata.uid)
        vmi->metadata.uid = "uid-1";
    return vmi;
}

void fixture_init(struct fixture *f, const char *configuration, const char *vmi)
{
    const struct kv_kube_virt *kubevirt = NULL;
    struct kube_error error = {0};

    *f = (struct fixture){.arena = kb_arena_new(), .settings = virt_launcher_default_settings};
    if (configuration)
        kubevirt = fixture_decode(f, &kv_kube_virt_type,
                                  kb_arena_printf(f->arena, "{'spec':{'configuration':%s}}", configuration));
    if (virt_config_new(kubevirt, &f->config, &error) < 0)
        fail_msg("%s", error.message);
    f->lookups = (struct virt_launcher_lookups){.pvc = find_claim, .userdata = f};
    f->input = (struct virt_launcher_input){
        .config = f->config,
        .settings = &f->settings,
        .vmi = complete(f, vmi),
        .lookups = &f->lookups,
        .backend_storage_claim = "",
    };
    if (launcher_init(&f->launcher, f->arena, &f->input, &error) < 0)
        fail_msg("%s", error.message);
}

void fixture_done(struct fixture *f)
{
    virt_config_unref(f->config);
    kb_arena_free(f->arena);
}

const char *fixture_join(struct fixture *f, const struct api_strings *words)
{
    return kb_join(f->arena, words->items, words->n, " ");
}
