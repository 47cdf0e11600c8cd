/*
 * Filling what one object leaves open from another: the rules of preferences are rows of paths, and this walks them.
 */
#include "base/strings.h"
#include "virt/instancetype/internal.h"

static bool is_open(const struct api_field *field, const void *member)
{
    switch (field->shape) {
    case API_POINTER:
        return !*(const void *const *)member;
    case API_LIST:
    case API_MAP:
        return ((const struct api_list *)member)->n == 0;
    default:
        return field->kind == API_STRING && kb_empty(*(const char *const *)member);
    }
}

void virt_fill(struct kb_arena *arena, const struct virt_fill *rule, const struct api_type *from_type, const void *from,
               const struct api_type *to_type, void *to)
{
    const struct api_field *from_field, *to_field;
    const void *source = api_field_at(from_type, from, rule->from, &from_field);
    void *target = (void *)(uintptr_t)api_field_at(to_type, to, rule->to, &to_field);
    if (!source || !target || is_open(from_field, source) || !is_open(to_field, target))
        return;
    if (to_field->shape == API_VALUE) { /* of a string, or of a pointer to one: both are const char * */
        *(const char **)target = *(const char *const *)source;
        return;
    }
    struct api_field in_place = *from_field;
    in_place.offset = 0;
    api_copy_field(arena, &in_place, source, target);
}

void virt_fill_all(struct kb_arena *arena, const struct virt_fill *rules, size_t n, const struct api_type *from_type,
                   const void *from, const struct api_type *to_type, void *to)
{
    for (size_t i = 0; i < n; i++)
        virt_fill(arena, &rules[i], from_type, from, to_type, to);
}
