/*
 * The one way in which objects change: start from what is stored, make the new object, check it, commit if what was
 * started from is still stored, otherwise start again.
 *
 * A kind of Kubernetes' own has a strategy: what the server fills in and checks. Custom resources share one that
 * follows their CRD.
 */
#ifndef LAB_WRITE_H
#define LAB_WRITE_H

#include "lab/call.h"

struct lab_write {
    struct lab_call *call;
    struct kb_arena *arena;
    struct lab_object *old; /* NULL when creating */
    yyjson_val *old_root;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root, *metadata;
    const char *key;
    bool same_generation; /* the change does not count */
    bool whole;           /* the mutator vouches for all parts: nothing is put back */
};

struct lab_strategy {
    const char *resource;
    /* All may be NULL. They report through lab_cause (422) or return -1 after lab_fail. */
    int (*admit)(struct lab_write *w);     /* creation: mutating admission */
    int (*review)(struct lab_write *w);    /* creation: validating admission */
    void (*defaults)(struct lab_write *w); /* every write */
    void (*prepare_create)(struct lab_write *w);
    void (*prepare_update)(struct lab_write *w);
    void (*validate)(struct lab_write *w); /* every write; w->old_root is NULL when creating */
    /* After a commit, lock held; old NULL: created, new_ NULL: removed. */
    void (*committed)(struct lab_call *call, struct lab_object *old, struct lab_object *new_);
    bool keep_status; /* a creation may bring a status */
    bool verbatim;    /* null members and empty lists are kept */
};

const struct lab_strategy *lab_strategy_of(const struct lab_kind *kind);

/* Makes w->root (with w->doc) from w->old_root; may fail. Called again after a lost race. */
typedef int (*lab_mutator)(struct lab_write *w, void *context);

/* Stores a creation. `body` is copied. */
int lab_write_create(struct lab_call *call, yyjson_val *body);
/* Changes the stored object. A body with a resourceVersion other than the stored one is a conflict. */
int lab_write_change(struct lab_call *call, lab_mutator mutate, void *context);

/* Shared by strategies. */
yyjson_mut_val *lab_write_old(struct lab_write *w, const char *member); /* a copy of the stored member, or NULL */
void lab_write_restore(struct lab_write *w, const char *member);        /* puts back the stored member */
const char *lab_write_now(struct lab_write *w);

#endif
