/*
 * The Table form of objects, which kubectl asks for to print them.
 */
#ifndef LAB_TABLE_H
#define LAB_TABLE_H

#include "lab/call.h"

/* Whether the client accepts tables of this call's result. */
bool lab_table_wanted(const struct lab_call *call);
/* The objects of the call's result (a list or one object) as a table. */
const char *lab_table_text(struct lab_call *call, size_t *ret_length);
/* A table of one row, for a watch; only the first carries the column definitions. */
const char *lab_table_event(struct kb_arena *arena, const struct lab_call *call, const struct lab_object *object,
                            int64_t resource_version, bool with_columns);

#endif
