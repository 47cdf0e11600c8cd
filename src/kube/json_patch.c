/*
 * Building JSON patches (RFC 6902), with a test in front of each change where the writer asks for it.
 *
 * A member is absent when its omit rule leaves it out of the encoding. When a parent is absent too, the change is made
 * at the highest one that is, since "add" does not make parents.
 */
#include "base/strings.h"
#include "kube/runtime_internal.h"
#include <stdlib.h>

struct kube_json_patch kube_json_patch_new(struct kube_request *req)
{
    return (struct kube_json_patch){.arena = req->arena, .text = {.arena = req->arena}};
}

void kube_json_patch_op(struct kube_json_patch *p, const char *op, const char *path, const char *json_value)
{
    kb_strbuf_puts(&p->text, p->n++ ? "," : "[");
    kb_strbuf_puts(&p->text, "{\"op\":");
    kb_strbuf_json_string(&p->text, op, strlen(op));
    kb_strbuf_puts(&p->text, ",\"path\":");
    kb_strbuf_json_string(&p->text, path, strlen(path));
    if (json_value) {
        kb_strbuf_puts(&p->text, ",\"value\":");
        kb_strbuf_puts(&p->text, json_value);
    }
    kb_strbuf_putc(&p->text, '}');
}

const char *kube_json_patch_text(struct kube_json_patch *p)
{
    if (p->n == 0)
        return "[]";
    if (p->text.data[p->text.length - 1] != ']')
        kb_strbuf_putc(&p->text, ']');
    return kb_strbuf_text(&p->text);
}

const char *kube_json_pointer_escape(struct kb_arena *arena, const char *member)
{
    struct kb_strbuf escaped = {.arena = arena};
    for (; *member; member++) {
        if (*member == '~')
            kb_strbuf_puts(&escaped, "~0");
        else if (*member == '/')
            kb_strbuf_puts(&escaped, "~1");
        else
            kb_strbuf_putc(&escaped, *member);
    }
    return kb_strbuf_text(&escaped);
}

/* The member's JSON text; NULL when it is absent. */
static const char *member_text(struct kb_arena *arena, const struct api_type *type, const void *data, const char *path)
{
    struct kb_strbuf text = {.arena = arena};
    const struct api_field *field;
    const char *address = api_field_at(type, data, path, &field);
    if (!address || !api_encode_field_text(field, address - field->offset, &text))
        return NULL;
    return kb_streq(kb_strbuf_text(&text), "null") ? NULL : kb_strbuf_text(&text);
}

static bool is_absent(struct kb_arena *arena, const struct api_type *type, const void *data, const char *path)
{
    const struct api_field *field;
    const char *address = api_field_at(type, data, path, &field);
    if (address && field->shape == API_VALUE && field->kind == API_STRUCT) /* without writing a whole status */
        return api_field_is_omitted(field, address - field->offset);
    return !member_text(arena, type, data, path);
}

/* Most members of most patches: found out without text. */
static bool is_unchanged(const struct api_type *type, const void *before, const void *after, const char *path)
{
    const struct api_field *field;
    const char *a = api_field_at(type, before, path, &field), *b = api_field_at(type, after, path, &field);
    return a && b && api_equal_field(field, a - field->offset, b - field->offset);
}

/* The shortest beginning of the path that is absent in `data`; the whole path when none is. */
static const char *first_absent(struct kb_arena *arena, const struct api_type *type, const void *data, const char *path)
{
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *parent = kb_arena_strndup(arena, path, (size_t)(dot - path));
        if (is_absent(arena, type, data, parent))
            return parent;
    }
    return path;
}

static const char *pointer_of(struct kb_arena *arena, const char *path)
{
    char *pointer = kb_arena_printf(arena, "/%s", path);
    for (char *c = pointer; *c; c++) {
        if (*c == '.')
            *c = '/';
    }
    return pointer;
}

bool kube_json_patch_member(struct kube_json_patch *p, const struct api_type *type, const void *before,
                            const void *after, const char *dotted_path, bool with_test)
{
    if (is_unchanged(type, before, after, dotted_path))
        return false;
    const char *path = first_absent(p->arena, type, before, dotted_path);
    const char *old = member_text(p->arena, type, before, path);
    const char *new = member_text(p->arena, type, after, path);
    if (kb_streq_null(old, new))
        return false;
    const char *pointer = pointer_of(p->arena, path);
    if (with_test)
        kube_json_patch_op(p, "test", pointer, old ? old : "null");
    kube_json_patch_op(p, !new ? "remove" : old ? "replace" : "add", pointer, new);
    return true;
}
