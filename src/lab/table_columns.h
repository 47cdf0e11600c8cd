/*
 * The columns of Kubernetes' own kinds whose cells are more than a member of the object.
 */
#ifndef LAB_TABLE_COLUMNS_H
#define LAB_TABLE_COLUMNS_H

#include "lab/kinds.h"

struct lab_cell_input {
    struct kb_arena *arena;
    yyjson_val *root;
    int64_t now_ns;
};

struct lab_code_column {
    const char *resource, *name, *type, *format;
    int priority;
    const char *path;                                        /* a JSON path, or NULL */
    const char *(*cell)(const struct lab_cell_input *input); /* or a function */
};

/* The kind's columns in code; 0 when it has none. They follow the name. */
size_t lab_code_columns(const struct lab_kind *kind, const struct lab_code_column **ret);
/* The first column, or NULL where there is none. */
const struct lab_code_column *lab_name_column(const struct lab_kind *kind);
/* How long ago a time was, as kubectl shows it ("5m", "3h10m", "<unknown>"). */
const char *lab_age_text(struct kb_arena *arena, const char *time, int64_t now_ns);

#endif
