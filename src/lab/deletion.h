/*
 * Deletion: preconditions, grace periods, finalizers and propagation policies.
 */
#ifndef LAB_DELETION_H
#define LAB_DELETION_H

#include "lab/gc.h"
#include "lab/write.h"

/* Whether a changed object that is being deleted has nothing left to wait for. */
bool lab_deletion_is_over(const struct lab_kind *kind, struct lab_write *w);
/* Reads a DeleteOptions body into the call's options. */
int lab_deletion_options(struct lab_call *call);

#endif
