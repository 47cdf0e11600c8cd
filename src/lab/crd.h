/*
 * CustomResourceDefinitions: a created or changed one makes or replaces a kind. Built-in kinds that are custom ones in
 * a real cluster have definitions, too, which say what the table does; a changed one takes its place.
 */
#ifndef LAB_CRD_H
#define LAB_CRD_H

#include "lab/write.h"

/* The strategy of customresourcedefinitions. */
extern const struct lab_strategy lab_crd_strategy;

/* Stores the definitions of built-in kinds, which are there already; while the server starts. */
int lab_crd_add_builtin(struct lab_server *server, const struct lab_kind *kinds, size_t n, struct kube_error *reterr);

#endif
