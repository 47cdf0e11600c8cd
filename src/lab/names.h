/*
 * Kubernetes' rules for names and labels. A check returns NULL when the text is right, and what is wrong otherwise, in
 * Kubernetes' words.
 */
#ifndef LAB_NAMES_H
#define LAB_NAMES_H

#include "lab/call.h"

const char *lab_dns1123_label_check(const char *text);
const char *lab_dns1123_subdomain_check(const char *text);
const char *lab_qualified_name_check(const char *text); /* label and annotation keys, finalizers, resources */
const char *lab_label_value_check(const char *text);
const char *lab_env_name_check(const char *text);
const char *lab_port_name_check(const char *text);
/* The rule of the kind: a label for Services and namespaces, path segments for RBAC, a subdomain for others. */
const char *lab_name_check(const struct lab_kind *kind, const char *name);

/* Collect causes. NULL members are right. */
void lab_qualified_name_validate(struct lab_call *call, const char *field, const char *name);
void lab_labels_check(struct lab_call *call, yyjson_mut_val *labels, const char *field);
void lab_annotations_check(struct lab_call *call, yyjson_mut_val *annotations, const char *field);

#endif
