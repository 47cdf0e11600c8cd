/*
 * What the API server knows about a kind: names, versions, subresources, printer columns, selectable fields. Built in
 * from a table of text rows (kinds.c), or made from a CustomResourceDefinition (crd.c).
 *
 * A struct lab_kind is immutable and lives as long as the server: a changed CRD makes a new one.
 */
#ifndef LAB_KINDS_H
#define LAB_KINDS_H

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#define LAB_MAX_FIELDS   12
#define LAB_MAX_VERSIONS 8

struct lab_column {
    const char *name, *type, *path, *format;
    int priority;
};

struct lab_version {
    const char *name, *api_version; /* "v1", "kubevirt.io/v1" */
    bool served, status, scale;
    const char *spec_replicas, *status_replicas, *label_selector; /* JSON paths of a CRD's scale; NULL: built in */
    size_t n_columns;
    const struct lab_column *columns;
    yyjson_val *schema; /* openAPIV3Schema, or NULL */
    bool has_rules;     /* the schema holds x-kubernetes-validations */
};

struct lab_kind {
    const char *group, *name, *list_name, *plural, *singular, *resource; /* resource: "plural.group" or "plural" */
    size_t n_short_names, n_categories, n_fields, n_versions;
    const char *const *short_names, *const *categories;
    const char *const *fields;          /* selectable beside metadata.name and metadata.namespace, as "spec.nodeName" */
    const struct lab_version *versions; /* the preferred one first */
    const struct lab_version *storage;
    bool namespaced;
    bool custom;               /* follows the rules of custom resources */
    bool generation;           /* counts changes of its specification */
    bool unconditional_update; /* an update needs no resourceVersion */
    bool no_list;              /* only create: reviews */
};

const struct lab_version *lab_kind_version(const struct lab_kind *kind, const char *name); /* served, or NULL */

/* The kinds of Kubernetes, and those of KubeVirt and its neighbours, made in the arena. */
size_t lab_kinds_core(struct kb_arena *arena, struct lab_kind **ret);
size_t lab_kinds_custom(struct kb_arena *arena, struct lab_kind **ret);

#endif
