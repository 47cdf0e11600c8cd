/*
 * Server-side apply.
 */
#ifndef LAB_APPLY_H
#define LAB_APPLY_H

#include "lab/write.h"

int lab_apply_mutate(struct lab_write *w, yyjson_val *configuration);
/* Applies, or creates what does not exist. */
int lab_serve_apply(struct lab_call *call, lab_mutator mutate);

#endif
