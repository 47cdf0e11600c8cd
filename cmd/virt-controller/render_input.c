/*
 * Manifests: files with any number of YAML documents or JSON values, each an object or a list of objects.
 */
#include "cmd/virt-controller/render_internal.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int render_fail(struct kube_error *reterr, const struct render_object *object, const char *path, const char *format,
                ...)
{
    char message[KUBE_ERROR_MESSAGE_SIZE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: %s%s%s", object->origin, path, *path ? ": " : "", message);
}

/* ---- files ---- */

static int read_all(FILE *file, const char *name, struct kb_strbuf *ret, struct kube_error *reterr)
{
    char bytes[1 << 16];
    size_t n;

    while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0) {
        kb_strbuf_append(ret, bytes, n);
        if (ret->length > API_MAX_BYTES)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: more than %u MiB", name, API_MAX_BYTES >> 20);
    }
    if (ferror(file))
        return kube_error_set_errno(reterr, errno, "reading %s", name);
    return 0;
}

static int read_file(const char *name, struct kb_strbuf *ret, struct kube_error *reterr)
{
    FILE *file = fopen(name, "re");
    int result;

    if (!file)
        return kube_error_set_errno(reterr, errno, "open %s", name);
    result = read_all(file, name, ret, reterr);
    fclose(file);
    return result;
}

/* ---- members that a kind has not ---- */

static const char *unknown_in(struct kb_arena *arena, const struct api_type *type, const void *data);

/* The name of the first one, from the inside of a JSON object. */
static const char *first_unknown(struct kb_arena *arena, const char *members)
{
    const char *end = *members ? strchr(members + 1, '"') : NULL;

    return end ? kb_arena_strndup(arena, members + 1, (size_t)(end - members - 1)) : "";
}

static const char *join(struct kb_arena *arena, const char *name, const char *rest)
{
    if (!rest)
        return NULL;
    return *rest == '[' ? kb_arena_printf(arena, "%s%s", name, rest) : kb_arena_printf(arena, "%s.%s", name, rest);
}

/* An element of a list or map; `key` NULL: by its index. */
static const char *unknown_in_element(struct kb_arena *arena, const struct api_field *field, const void *element,
                                      const char *key, size_t i)
{
    const char *rest = unknown_in(arena, field->type, element);

    if (!rest)
        return NULL;
    return join(arena,
                key ? kb_arena_printf(arena, "%s[%s]", field->json, key)
                    : kb_arena_printf(arena, "%s[%zu]", field->json, i),
                rest);
}

static const char *unknown_in_field(struct kb_arena *arena, const struct api_field *field, const void *data)
{
    enum { KEY_SIZE = sizeof(const char *) };
    const void *member = api_member(field, data);
    const struct api_list *many = member;
    const size_t step = field->type->size + (field->shape == API_MAP ? KEY_SIZE : 0);
    const char *unknown = NULL;

    if (field->shape == API_VALUE)
        return join(arena, field->json, unknown_in(arena, field->type, member));
    if (field->shape == API_POINTER) {
        const void *target = *(const void *const *)member;

        return target ? join(arena, field->json, unknown_in(arena, field->type, target)) : NULL;
    }
    for (size_t i = 0; i < many->n && !unknown; i++) {
        const char *item = (const char *)many->items + i * step;

        if (field->shape == API_MAP)
            unknown = unknown_in_element(arena, field, item + KEY_SIZE, *(const char *const *)item, i);
        else
            unknown = unknown_in_element(arena, field, item, NULL, i);
    }
    return unknown;
}

/* Its path, or NULL. */
static const char *unknown_in(struct kb_arena *arena, const struct api_type *type, const void *data)
{
    const char *extra = *(const char *const *)data;

    if (extra)
        return first_unknown(arena, extra);
    for (size_t i = 0; i < type->n_fields; i++) {
        const char *unknown =
            type->fields[i].kind == API_STRUCT ? unknown_in_field(arena, &type->fields[i], data) : NULL;

        if (unknown)
            return unknown;
    }
    return NULL;
}

/* ---- documents ---- */

struct reader {
    struct kb_arena *arena;
    const char *file;
    bool strict;
    struct render_objects *objects;
};

static const char *text_member(yyjson_val *object, const char *name)
{
    return yyjson_get_str(yyjson_obj_get(object, name));
}

/* VMs of all served versions have one shape. */
static const struct api_type *type_of(const char *api_version, const char *kind)
{
    static const char old[] = "kubevirt.io/v1alpha3";

    return api_type_of(kb_streq(api_version, old) ? "kubevirt.io/v1" : api_version, kind);
}

static int read_object(struct reader *reader, yyjson_val *value, const char *origin, struct kube_error *reterr)
{
    const char *api_version = text_member(value, "apiVersion"), *kind = text_member(value, "kind");
    struct render_object object = {.origin = origin};
    const char *unknown;

    if (!yyjson_is_obj(value))
        return render_fail(reterr, &object, "", "expected an object with apiVersion and kind");
    if (kb_empty(api_version))
        return render_fail(reterr, &object, "apiVersion", "expected a text such as \"kubevirt.io/v1\"");
    if (kb_empty(kind))
        return render_fail(reterr, &object, "kind", "expected a text such as \"VirtualMachine\"");
    object.type = type_of(api_version, kind);
    if (!object.type)
        return 0; /* nothing that a Pod depends on */
    if (api_decode_value(reader->arena, object.type, value, &object.data, reterr) < 0)
        return kube_error_wrap(reterr, "%s", origin);
    unknown = reader->strict ? unknown_in(reader->arena, object.type, object.data) : NULL;
    if (unknown)
        return render_fail(reterr, &object, unknown, "expected a member of %s %s; it has none of this name",
                           api_version, kind);
    *kb_vec_push(reader->arena, reader->objects) = object;
    return 0;
}

static int read_document(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    struct reader *reader = userdata;
    const char *origin = kb_arena_printf(reader->arena, "%s: document %d", reader->file, number);
    yyjson_val *root = yyjson_doc_get_root(doc), *items = yyjson_obj_get(root, "items"), *item;
    const char *kind = text_member(root, "kind");
    size_t i, n;

    if (!kind || !kb_ends_with(kind, "List") || !yyjson_is_arr(items))
        return read_object(reader, root, origin, reterr);
    yyjson_arr_foreach(items, i, n, item)
    {
        if (read_object(reader, item, kb_arena_printf(reader->arena, "%s: items[%zu]", origin, i), reterr) < 0)
            return -1;
    }
    return 0;
}

int render_read(struct kb_arena *arena, const char *file, bool strict, struct render_objects *objects,
                struct kube_error *reterr)
{
    const bool standard_input = kb_streq(file, "-");
    const char *name = standard_input ? "standard input" : file;
    struct reader reader = {.arena = arena, .file = name, .strict = strict, .objects = objects};
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    const size_t before = strlen(name);

    if ((standard_input ? read_all(stdin, name, &text, reterr) : read_file(file, &text, reterr)) < 0)
        return -1;
    if (api_yaml_read(kb_strbuf_text(&text), text.length, read_document, &reader, reterr) == 0)
        return 0;
    if (reterr && strncmp(reterr->message, name, before) == 0)
        return -1; /* of an object: it names its document */
    return kube_error_wrap(reterr, "%s", name);
}
