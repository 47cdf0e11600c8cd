/*
 * One implementation for all lists of conditions: a shape tells where type, status and reason are in an element.
 */
#include "virt/conditions.h"

#include "base/strings.h"
#include "base/vec.h"
#include <stddef.h>

struct shape {
    size_t size, type, status, reason;
};
#define SHAPE(ctype)                                                                                                   \
    {                                                                                                                  \
        sizeof(struct ctype), offsetof(struct ctype, type), offsetof(struct ctype, status),                            \
            offsetof(struct ctype, reason)                                                                             \
    }
static const struct shape vmi_shape = SHAPE(kv_vmi_condition);
static const struct shape vm_shape = SHAPE(kv_vm_condition);
static const struct shape pod_shape = SHAPE(core_pod_condition);
static const struct shape data_volume_shape = SHAPE(cdi_data_volume_condition);

static const char *text_at(const void *condition, size_t offset)
{
    const char *text = *(const char *const *)((const char *)condition + offset);

    return text ? text : "";
}

/* `list` is any list of conditions; its layout is that of struct api_list. */
static void *find(const struct shape *shape, const void *list, const char *type)
{
    const struct api_list *l = list;

    for (size_t i = 0; i < l->n; i++) {
        char *condition = (char *)l->items + i * shape->size;

        if (kb_streq(text_at(condition, shape->type), type))
            return condition;
    }
    return NULL;
}

static bool is(const struct shape *shape, const void *list, const char *type, const char *status)
{
    const void *condition = find(shape, list, type);

    return condition && kb_streq(text_at(condition, shape->status), status);
}

static bool same(const struct shape *shape, const void *a, const void *b)
{
    return kb_streq(text_at(a, shape->status), text_at(b, shape->status)) &&
           kb_streq(text_at(a, shape->reason), text_at(b, shape->reason));
}

/* Returns whether `condition` still has to be appended. */
static bool replace(const struct shape *shape, void *list, const void *condition)
{
    void *present = find(shape, list, text_at(condition, shape->type));

    if (!present)
        return true;
    if (!same(shape, present, condition))
        memcpy(present, condition, shape->size);
    return false;
}

static void drop(const struct shape *shape, void *list, const char *type)
{
    struct api_list *l = list;
    char *present;

    while ((present = find(shape, list, type))) {
        char *end = (char *)l->items + l->n * shape->size;

        memmove(present, present + shape->size, (size_t)(end - present) - shape->size);
        l->n--;
    }
}

/* ---- VMI ---- */

const struct kv_vmi_condition *virt_vmi_condition(const struct kv_vmi *vmi, const char *type)
{
    return vmi ? find(&vmi_shape, &vmi->status.conditions, type) : NULL;
}

bool virt_vmi_condition_is(const struct kv_vmi *vmi, const char *type, const char *status)
{
    return vmi && is(&vmi_shape, &vmi->status.conditions, type, status);
}

void virt_vmi_set_condition(struct kb_arena *arena, struct kv_vmi *vmi, const struct kv_vmi_condition *condition)
{
    if (replace(&vmi_shape, &vmi->status.conditions, condition))
        *kb_vec_push(arena, &vmi->status.conditions) = *condition;
}

void virt_vmi_remove_condition(struct kv_vmi *vmi, const char *type)
{
    drop(&vmi_shape, &vmi->status.conditions, type);
}

bool virt_vmi_conditions_equal(const struct kv_vmi *a, const struct kv_vmi *b)
{
    if (a->status.conditions.n != b->status.conditions.n)
        return false;
    api_list_foreach (condition, &a->status.conditions) {
        const struct kv_vmi_condition *other = virt_vmi_condition(b, condition->type);

        if (!other || !same(&vmi_shape, condition, other))
            return false;
    }
    return true;
}

/* ---- VM ---- */

const struct kv_vm_condition *virt_vm_condition(const struct kv_vm *vm, const char *type)
{
    return vm ? find(&vm_shape, &vm->status.conditions, type) : NULL;
}

bool virt_vm_condition_is(const struct kv_vm *vm, const char *type, const char *status)
{
    return vm && is(&vm_shape, &vm->status.conditions, type, status);
}

void virt_vm_set_condition(struct kb_arena *arena, struct kv_vm *vm, const struct kv_vm_condition *condition)
{
    if (replace(&vm_shape, &vm->status.conditions, condition))
        *kb_vec_push(arena, &vm->status.conditions) = *condition;
}

void virt_vm_remove_condition(struct kv_vm *vm, const char *type)
{
    drop(&vm_shape, &vm->status.conditions, type);
}

/* ---- Pod ---- */

const struct core_pod_condition *virt_pod_condition(const struct core_pod *pod, const char *type)
{
    return pod ? find(&pod_shape, &pod->status.conditions, type) : NULL;
}

bool virt_pod_condition_is(const struct core_pod *pod, const char *type, const char *status)
{
    return pod && is(&pod_shape, &pod->status.conditions, type, status);
}

const struct cdi_data_volume_condition *virt_data_volume_condition(const struct cdi_data_volume *dv, const char *type)
{
    return find(&data_volume_shape, &dv->status.conditions, type);
}
