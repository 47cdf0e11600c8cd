/*
 * CustomResourceDefinitions: a created or changed one makes or replaces a kind, also a built-in one of the same name.
 */
#ifndef LAB_CRD_H
#define LAB_CRD_H

#include "lab/write.h"

/* The strategy of customresourcedefinitions. */
extern const struct lab_strategy lab_crd_strategy;

/* Prunes, defaults and validates a custom object by its version's schema; without one nothing happens. */
int lab_crd_apply_schema(struct lab_write *w);

#endif
