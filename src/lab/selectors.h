/*
 * Label and field selectors, parsed once and matched against a lab_meta.
 * Label selectors: "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2". Field selectors: "a=b,c!=d".
 * A parsed selector lives in the arena it was parsed into and is immutable.
 */
#ifndef LAB_SELECTORS_H
#define LAB_SELECTORS_H

#include "base/arena.h"
#include "base/error.h"
#include "lab/kinds.h"
#include "lab/object.h"

struct lab_selector;

/* NULL or "" select all. Errors are KUBE_ERROR_INVALID with Kubernetes' text. */
int lab_selector_parse(struct kb_arena *arena, const struct lab_kind *kind, const char *labels, const char *fields,
                       const struct lab_selector **ret, struct kube_error *reterr);
bool lab_selector_matches(const struct lab_selector *selector, const struct lab_meta *meta);
bool lab_selector_is_everything(const struct lab_selector *selector);
/* A LabelSelector object {matchLabels, matchExpressions} as a selector; an invalid one matches nothing. */
const struct lab_selector *lab_selector_of(struct kb_arena *arena, yyjson_val *label_selector);

#endif
