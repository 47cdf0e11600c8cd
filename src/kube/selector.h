/*
 * Label selectors: the text form of the API's query parameter, and the structured metav1.LabelSelector.
 *
 *     "kubevirt.io"   "!key"   "app=x,tier!=db"   "key in (a,b)"   "key notin (a, b)"
 *
 * As in apimachinery: "!=" and "notin" also match when the key is absent; all requirements must hold; an empty selector
 * matches everything.
 */
#ifndef KUBE_SELECTOR_H
#define KUBE_SELECTOR_H

#include "api/types/meta.h"
#include <stdbool.h>

/* `selector` NULL or "": matches. A selector that can't be read matches nothing. */
bool kube_selector_matches(const char *selector, const struct api_string_map *labels);
/* NULL matches nothing, an empty one everything, as metav1.LabelSelectorAsSelector. One that Go
 * refuses - an unknown operator, a set without values, a key that no label has - matches nothing. */
bool kube_label_selector_matches(const struct meta_label_selector *selector, const struct api_string_map *labels);

#endif
