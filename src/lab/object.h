/*
 * A stored API object: immutable, reference-counted and shared by the store, event rings, lists and watches.
 *
 * It keeps the object as compact JSON text without its head. What is served is
 *     {"apiVersion":"GROUP/VERSION","kind":"KIND","metadata":{"resourceVersion":"N",   the head, made when serving
 *     "name":...},"spec":{...}}                                                        `text`
 * so one copy serves every version of a CRD, two writes with the same content have the same text (a write that changes
 * nothing is seen by memcmp), and the text can be made before the lock is taken that hands out resource versions.
 * What selectors and indexes need stands parsed in `meta`.
 *
 * Threads: any; the counts are atomic.
 */
#ifndef LAB_OBJECT_H
#define LAB_OBJECT_H

#include "base/arena.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

struct lab_kind; /* see lab/kinds.h */
struct lab_resource;

struct lab_pair {
    const char *key, *value;
};

/* What can be selected by, and who owns it. Shared by an object and the events that name it as the state before. */
struct lab_meta {
    atomic_int refs;
    const char *key; /* "namespace/name", or "name" when cluster-scoped: the order of the store */
    const char *namespace_, *name, *uid;
    size_t n_labels;
    const struct lab_pair *labels;
    size_t n_fields; /* values of the kind's selectable fields, in the order of its table */
    const char *const *fields;
    size_t n_owners; /* uids of the owner references */
    const char *const *owners;
    bool deleting;      /* has a deletionTimestamp */
    bool finalizers;    /* has at least one */
    int64_t created_ns; /* creationTimestamp */
};

struct lab_object {
    atomic_int refs;
    int64_t resource_version; /* 0 until it is stored */
    struct lab_meta *meta;
    const struct lab_kind *kind; /* as of its writing; lives as long as the server */
    size_t length;
    char text[]; /* NUL-terminated */
};

struct lab_object *lab_object_ref(struct lab_object *object);
void lab_object_unref(struct lab_object *object); /* NULL is allowed */
void lab_object_unref_pointer(struct lab_object **object);
#define lab_cleanup_object kb_cleanup(lab_object_unref_pointer)
struct lab_meta *lab_meta_ref(struct lab_meta *meta);
void lab_meta_unref(struct lab_meta *meta);

/* The value of a label, or NULL. */
const char *lab_meta_label(const struct lab_meta *meta, const char *key);

/* Makes an object with one reference out of a complete API object (its metadata.name must be set). apiVersion, kind
 * and metadata.resourceVersion of `root` are removed. `resource` tells which fields are selectable. */
struct lab_object *lab_object_new(const struct lab_resource *resource, yyjson_mut_doc *doc, yyjson_mut_val *root);

/* The head for `api_version` and `kind` at `resource_version`; text follows it directly. Returns its length. */
#define LAB_HEAD_SIZE 512
size_t lab_object_head(const char *api_version, const char *kind, int64_t resource_version, char ret[LAB_HEAD_SIZE]);

/* The whole object as text, or parsed; both live in the arena. `api_version` NULL: the kind's storage version. */
const char *lab_object_text(struct kb_arena *arena, const struct lab_object *object, const char *api_version,
                            size_t *ret_length);
yyjson_val *lab_object_parse(struct kb_arena *arena, const struct lab_object *object, const char *api_version);

#endif
