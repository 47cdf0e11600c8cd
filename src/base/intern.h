/*
 * The process-wide table of strings that repeat (label keys, phases, images, namespace and node names): equal texts
 * share one immutable copy. Reference-counted, so that a name that no object uses any more goes away.
 * Threads: any; one lock inside.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>

/* A reference to the shared copy of text[0..n). Give it back with kb_intern_unref. "" needs none and is static. */
const char *kb_intern(const char *text, size_t n);
const char *kb_intern_ref(const char *interned);
void kb_intern_unref(const char *interned);
void kb_intern_stats(size_t *ret_strings, size_t *ret_bytes);

#endif
