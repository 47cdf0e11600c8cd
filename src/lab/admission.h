/*
 * What admission plugins of kube-apiserver do to creations: mutating ones before the object is complete (their errors
 * name it by generateName), validating ones after.
 */
#ifndef LAB_ADMISSION_H
#define LAB_ADMISSION_H

#include "lab/write.h"

/* Mutating. */
int lab_admit_pod(struct lab_write *w);   /* priority, runtime class, default tolerations, limit ranges */
int lab_admit_claim(struct lab_write *w); /* default storage class */
int lab_admit_limits(struct lab_write *w);

/* Validating. */
int lab_admit_pod_security(struct lab_write *w);
int lab_admit_quota(struct lab_write *w); /* any kind; counts the usage */

/* A stored object of a cluster-scoped or namespaced resource, parsed in the call's arena; NULL: none. */
yyjson_val *lab_admission_find(struct lab_write *w, const char *resource, const char *namespace_, const char *name);
/* All of a resource in a namespace (NULL: cluster-scoped). */
size_t lab_admission_list(struct lab_write *w, const char *resource, const char *namespace_, yyjson_val ***ret);

#endif
