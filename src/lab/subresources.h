/*
 * Subresources other than status, and reviews.
 */
#ifndef LAB_SUBRESOURCES_H
#define LAB_SUBRESOURCES_H

#include "lab/call.h"

int lab_subresource_serve(struct lab_call *call);
int lab_review_serve(struct lab_call *call); /* SubjectAccessReview & co: everything is allowed */
int lab_fail_no_path(struct lab_call *call); /* "the server could not find the requested resource" */

/* Of a kind, as discovery shows them: {"binding", "Binding", "v1", ""} ... */
struct lab_subresource {
    const char *name, *kind, *group, *version;
    const char *verbs; /* separated by spaces */
};
size_t lab_subresources_of(const struct lab_kind *kind, const struct lab_version *version,
                           const struct lab_subresource **ret, size_t max);

#endif
