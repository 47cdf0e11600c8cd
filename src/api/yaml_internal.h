/*
 * What a plain YAML scalar means: shared by reading and by writing, which must quote what would be read as something
 * else.
 */
#ifndef API_YAML_INTERNAL_H
#define API_YAML_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum yaml_kind {
    YAML_TEXT,
    YAML_NULL,
    YAML_BOOL,
    YAML_INTEGER,  /* within int64 */
    YAML_UNSIGNED, /* above it, within uint64 */
    YAML_FLOAT,
    YAML_NOT_FINITE, /* .inf, .nan: JSON has no such number */
};

struct yaml_scalar {
    enum yaml_kind kind;
    union {
        bool boolean;
        int64_t integer;
        uint64_t whole;
        double real;
    };
};

/* As sigs.k8s.io/yaml understands it: YAML 1.1, but no base 60; times are text. `text` ends with NUL. */
struct yaml_scalar api_yaml_resolve(const char *text);

#endif
