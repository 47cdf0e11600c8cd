/*
 * Labels and annotations that follow another object's over time: a VMI's those of its VM's template, a launcher Pod's
 * those of its VMI. A key that is followed is set as `from` has it, and goes when `from` has it not.
 * Source: the reference's syncDynamicAnnotationsAndLabelsToVMI (watch/vm/vm.go) and ...ToPod (watch/vmi/lifecycle.go).
 */
#ifndef VIRT_FOLLOW_H
#define VIRT_FOLLOW_H

#include "api/meta.h"

/* The strings of `from` become `to`'s without a copy; `to` must be the caller's to change. */
void virt_follow_key(struct kb_arena *arena, const struct api_string_map *from, struct api_string_map *to,
                     const char *key);

/* `patterns`: keys, or prefixes with '*' behind. "" and a bare '*' are ignored: nobody means every key. */
void virt_follow(struct kb_arena *arena, const struct api_string_map *from, struct api_string_map *to,
                 const struct api_strings *patterns);

#endif
