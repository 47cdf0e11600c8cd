/*
 * Validation of Pods, in kube-apiserver's order and words. A render test's judge: what this lets through and a real
 * API server would not is a bug here.
 */
#ifndef LAB_VALIDATE_H
#define LAB_VALIDATE_H

#include "lab/write.h"

/* What the checks of one PodSpec share. */
struct lab_pod_check {
    struct lab_write *w;
    struct lab_call *call;
    struct kb_arena *arena;
    yyjson_mut_val *spec;
};

/* A field's path: printf into the arena. */
#define LAB_PATH(c, ...) kb_arena_printf((c)->arena, __VA_ARGS__)

void lab_validate_pod_spec(struct lab_write *w, yyjson_mut_val *spec, const char *path);
void lab_validate_pod_update(struct lab_write *w);

void lab_validate_volumes(struct lab_pod_check *c, const char *path);
/* Containers of one list; `init`: of initContainers. */
void lab_validate_containers(struct lab_pod_check *c, const char *path, yyjson_mut_val *list, bool init);
void lab_validate_resources(struct lab_pod_check *c, yyjson_mut_val *resources, const char *path);
void lab_validate_scheduling(struct lab_pod_check *c, const char *path);
/* A volume of that name, or NULL. */
yyjson_mut_val *lab_pod_volume(struct lab_pod_check *c, const char *name);

/* Text members that must be one of a list; "" is not checked. */
void lab_validate_one_of(struct lab_pod_check *c, yyjson_mut_val *object, const char *key, const char *path,
                         const char *const *allowed, size_t n);
void lab_validate_quantity(struct lab_pod_check *c, yyjson_mut_val *value, const char *path);

#endif
