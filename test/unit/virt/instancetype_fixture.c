/* See instancetype_fixture.h. */
#include "instancetype_fixture.h"
#include "api/meta.h"
#include "base/strings.h"

void *from_text(struct kb_arena *arena, const struct api_type *type, const char *text)
{
    char *json = kb_arena_strdup(arena, text);
    struct kube_error error = {0};
    void *object;
    for (char *c = json; *c; c++)
        if (*c == '\'')
            *c = '"';
    if (api_decode(arena, type, json, strlen(json), &object, &error) < 0)
        fail_msg("%s: %s", text, error.message);
    return object;
}

void expect_object(struct kb_arena *arena, const struct api_type *type, const void *actual, const char *expected)
{
    assert_string_equal(api_encode_text(arena, type, actual, 0),
                        api_encode_text(arena, type, from_text(arena, type, expected), 0));
}

void shelf_put(struct shelf *shelf, const struct api_type *type, const char *text)
{
    assert_true(shelf->n < KB_ARRAY_LEN(shelf->items));
    shelf->items[shelf->n].type = type;
    shelf->items[shelf->n++].object = from_text(shelf->arena, type, text);
}

static const void *get(void *userdata, const struct api_type *type, const char *namespace_, const char *name,
                       struct kube_error *reterr)
{
    struct shelf *shelf = userdata;
    shelf->asked++;
    if (shelf->fail && kb_streq(shelf->fail, name)) {
        kube_error_set_api(reterr, 500, "InternalError", "broken");
        return NULL;
    }
    for (size_t i = 0; i < shelf->n; i++) {
        const struct api_any *any = shelf->items[i].object;
        if (shelf->items[i].type == type && kb_streq(any->metadata.name, name) &&
            kb_streq(any->metadata.namespace, namespace_))
            return any;
    }
    return NULL;
}

struct virt_instancetype_lookups shelf_lookups(struct shelf *shelf)
{
    return (struct virt_instancetype_lookups){get, shelf};
}
