/*
 * Defaults of Kubernetes' own kinds, as tables of members and values that are set where they are absent.
 */
#ifndef LAB_DEFAULTS_H
#define LAB_DEFAULTS_H

#include "lab/write.h"

struct lab_default {
    const char *key;
    enum { LAB_DEFAULT_STR, LAB_DEFAULT_INT, LAB_DEFAULT_BOOL, LAB_DEFAULT_OBJECT } type;
    const char *text;
    int64_t number;
};
#define LAB_STR(key, text)                                                                                             \
    {                                                                                                                  \
        key, LAB_DEFAULT_STR, text, 0                                                                                  \
    }
#define LAB_INT(key, number)                                                                                           \
    {                                                                                                                  \
        key, LAB_DEFAULT_INT, NULL, number                                                                             \
    }
#define LAB_BOOL(key, number)                                                                                          \
    {                                                                                                                  \
        key, LAB_DEFAULT_BOOL, NULL, number                                                                            \
    }
#define LAB_OBJECT(key)                                                                                                \
    {                                                                                                                  \
        key, LAB_DEFAULT_OBJECT, NULL, 0                                                                               \
    }

void lab_defaults_set(struct lab_write *w, yyjson_mut_val *object, const struct lab_default *defaults, size_t n);
#define LAB_DEFAULTS(w, object, table) lab_defaults_set((w), (object), (table), KB_ARRAY_LEN(table))

/* A PodSpec, also one in a template. */
void lab_defaults_pod_spec(struct lab_write *w, yyjson_mut_val *spec);
/* Rewrites the quantities of a ResourceList in canonical form; what is not one is left for validation. */
void lab_defaults_quantities(struct lab_write *w, yyjson_mut_val *resources);

#endif
