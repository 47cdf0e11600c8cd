/*
 * Deep copies: into an arena here, into one block in object.c. See struct api_copier.
 */
#include "api/codec_internal.h"

#include "base/vec.h"

/* Replaces a pointer to `size` bytes by one to a copy, and yields where to go on: the copy, or while measuring the
 * source. */
static void *copy_block(struct api_copier *copier, void **pointer, size_t size)
{
    void *target = copier->block(copier, size);

    if (!target)
        return *pointer;
    memcpy(target, *pointer, size);
    return *pointer = target;
}

/* The items of a list or map. A copy that can be changed has room as kb_vec_push expects it. */
static void *copy_items(struct api_copier *copier, struct api_list *list, size_t stride)
{
    const size_t room = copier->frozen ? list->n : kb_vec_capacity(list->n);
    void *target = copier->block(copier, room * stride);

    if (!target)
        return list->items;
    memcpy(target, list->items, list->n * stride);
    return list->items = target;
}

static void copy_text(struct api_copier *copier, const char **text, bool repeats)
{
    const char *copy = copier->text(copier, *text ? *text : "", repeats);

    if (!copier->measuring)
        *text = copy;
}

static void copy_value(struct api_copier *copier, const struct api_field *field, void *value)
{
    struct api_int_or_string *either = value;

    if (field->kind == API_STRUCT)
        api_copy_values(copier, field->type, value);
    else if (field->kind == API_INT_OR_STRING)
        copy_text(copier, &either->text, false);
    else if (api_field_is_text(field))
        copy_text(copier, value, field->shape != API_MAP && field->flags & API_FIELD_INTERN);
}

static void copy_run(struct api_copier *copier, const struct api_field *field, void *items, size_t n)
{
    const size_t stride = api_stride(field);
    const bool is_map = field->shape == API_MAP;

    if (!is_map && !api_kind_has_pointers(field->kind))
        return;
    for (size_t i = 0; i < n; i++) {
        char *item = (char *)items + i * stride;

        if (is_map)
            copy_text(copier, (const char **)item, true);
        copy_value(copier, field, is_map ? item + sizeof(char *) : item);
    }
}

static void copy_pointer(struct api_copier *copier, const struct api_field *field, void **pointer)
{
    static const bool constants[] = {false, true};

    if (api_field_is_text(field))
        copy_value(copier, field, pointer);
    else if (field->kind == API_BOOL && copier->frozen && !copier->measuring)
        *pointer = (void *)&constants[*(const bool *)*pointer];
    else if (field->kind == API_BOOL && copier->frozen)
        return;
    else
        copy_value(copier, field, copy_block(copier, pointer, api_value_size(field)));
}

void api_copy_member(struct api_copier *copier, const struct api_field *field, void *member)
{
    struct api_list *list = member;
    void **pointer = member;

    switch (field->shape) {
    case API_VALUE:
        copy_value(copier, field, member);
        break;
    case API_POINTER:
        if (*pointer)
            copy_pointer(copier, field, pointer);
        break;
    default:
        if (list->items && list->n > 0)
            copy_run(copier, field, copy_items(copier, list, api_stride(field)), list->n);
        else if (list->items && !copier->measuring)
            list->items = (void *)api_empty_items;
    }
}

void api_copy_values(struct api_copier *copier, const struct api_type *type, void *data)
{
    const char **extra = data;

    if (*extra)
        copy_text(copier, extra, false);
    for (unsigned i = 0; i < type->n_fields; i++)
        api_copy_member(copier, &type->fields[i], (char *)data + type->fields[i].offset);
}

/* ---- clones ---- */

struct cloner {
    struct api_copier base;
    struct api_text_pool pool;
};

static void *clone_block(struct api_copier *base, size_t size)
{
    return kb_arena_alloc(((struct cloner *)base)->pool.arena, size);
}

static const char *clone_text(struct api_copier *base, const char *text, bool repeats)
{
    (void)repeats;
    return api_text_pool_add(&((struct cloner *)base)->pool, text, strlen(text));
}

static struct cloner cloner_in(struct kb_arena *arena)
{
    return (struct cloner){.base = {.block = clone_block, .text = clone_text}, .pool = {.arena = arena}};
}

void api_clone_into(struct kb_arena *arena, const struct api_type *type, const void *data, void *target)
{
    struct cloner cloner = cloner_in(arena);

    memmove(target, data, type->size);
    api_copy_values(&cloner.base, type, target);
}

void *api_clone(struct kb_arena *arena, const struct api_type *type, const void *data)
{
    void *copy = kb_arena_alloc(arena, type->size);

    api_clone_into(arena, type, data, copy);
    return copy;
}

void api_copy_field(struct kb_arena *arena, const struct api_field *field, const void *from, void *to)
{
    struct cloner cloner = cloner_in(arena);
    void *member = (char *)to + field->offset;

    memmove(member, api_member(field, from), api_field_size(field));
    api_copy_member(&cloner.base, field, member);
}
