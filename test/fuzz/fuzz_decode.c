/*
 * Decodes arbitrary bytes as an object. The first byte picks the type. What is accepted must be a fixpoint of encode
 * and decode, equal to its copies, and no different from itself; and the patch to it from an empty object must be made.
 */
#include "api/codec.h"
#include "base/strings.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_copies(struct kb_arena *arena, const struct api_type *type, const void *data)
{
    const void *clone = api_clone(arena, type, data), *empty = kb_arena_alloc(arena, type->size);
    const struct api_object *shared = api_object_new(type, data);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    check(api_equal(type, data, clone) && api_equal(type, clone, api_object_data(shared)));
    check(!api_diff_merge(doc, type, data, clone));
    check(yyjson_mut_arr_size(api_diff_json(doc, type, clone, data)) == 0);
    check(!api_diff_merge(doc, type, empty, data) == api_equal(type, empty, data));
    api_diff_json(doc, type, data, empty);
    yyjson_mut_doc_free(doc);
    api_object_unref(shared);
}

static void check_projection(const struct api_type *type, const char *json, size_t n)
{
    const char *const paths[] = {"spec.template.spec", "spec.volumes.name", "status.conditions", "spec.containers"};
    const struct api_projection projection = {paths, KB_ARRAY_LEN(paths)};
    const struct api_object *object = NULL;
    yyjson_doc *doc = NULL;

    check(api_parse(json, n, &doc, NULL) == 0);
    check(api_decode_shared(type, yyjson_doc_get_root(doc), &projection, &object, NULL) == 0);
    api_object_unref(object);
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const kinds[][2] = {
        {"kubevirt.io/v1", "VirtualMachine"},
        {"kubevirt.io/v1", "VirtualMachineInstance"},
        {"v1", "Pod"},
        {"kubevirt.io/v1", "KubeVirt"},
        {"apps/v1", "ControllerRevision"},
        {"v1", "Secret"},
        {"v1", "Node"},
        {"coordination.k8s.io/v1", "Lease"},
    };
    const char *const *kind = kinds[n ? bytes[0] % KB_ARRAY_LEN(kinds) : 0];
    const struct api_type *type = api_type_of(kind[0], kind[1]);
    struct kb_arena *arena = kb_arena_new();
    struct kube_error error = {0};
    void *data, *again;

    check(type != NULL);
    if (n > 0 && api_decode(arena, type, (const char *)bytes + 1, n - 1, &data, &error) == 0) {
        const char *first = api_encode_text(arena, type, data, 0);

        check(api_decode(arena, type, first, strlen(first), &again, &error) == 0);
        check(kb_streq(api_encode_text(arena, type, again, 0), first));
        check(api_equal(type, data, again));
        check_copies(arena, type, data);
        check_projection(type, (const char *)bytes + 1, n - 1);
    } else {
        check(n == 0 || error.message[0] != 0);
    }
    kb_arena_free(arena);
    return 0;
}
