/*
 * The process-wide table of strings that repeat (label keys, phases, images, namespace and node names): equal texts
 * share one immutable copy. Reference-counted, so that a name that no object uses any more goes away.
 * Threads: any; one lock inside.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>

/* A reference to the shared copy of text[0..n), or up to a NUL in it. Give it back with kb_intern_unref; "" may be
 * given back, but needs not: it is static. */
const char *kb_intern(const char *text, size_t n);
const char *kb_intern_ref(const char *interned);
void kb_intern_unref(const char *interned);
/* How many texts there are, and the bytes of entries and table. */
void kb_intern_stats(size_t *ret_strings, size_t *ret_bytes);

#endif
