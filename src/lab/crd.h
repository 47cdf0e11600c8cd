/*
 * CustomResourceDefinitions: a created or changed one makes or replaces a kind, also a built-in one of the same name.
 */
#ifndef LAB_CRD_H
#define LAB_CRD_H

#include "lab/write.h"

/* The strategy of customresourcedefinitions. */
extern const struct lab_strategy lab_crd_strategy;

#endif
