/*
 * The garbage collector: dependents of owners that are gone, foreground and orphan deletion, the content of namespaces
 * that terminate. It follows each commit through an index of owner uids, and works in the background.
 */
#ifndef LAB_GC_H
#define LAB_GC_H

#include "lab/store.h"

struct lab_gc;

struct lab_gc *lab_gc_new(struct lab_server *server, bool enabled);
void lab_gc_free(struct lab_gc *gc);  /* after lab_gc_stop */
void lab_gc_start(struct lab_gc *gc); /* its thread */
void lab_gc_stop(struct lab_gc *gc);
bool lab_gc_run(struct lab_gc *gc); /* without a thread: works until nothing is left; whether there was anything */

/* Lock held, at each commit. `old` NULL: created; `new_` NULL: removed. */
void lab_gc_object_changed(struct lab_server *server, struct lab_resource *resource, struct lab_object *old,
                           struct lab_object *new_);

#endif
