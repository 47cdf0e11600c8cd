/*
 * A type made by hand that has every kind and every shape, for tests of the codec that don't depend on generated types.
 */
#ifndef TEST_API_SHAPES_H
#define TEST_API_SHAPES_H

#include "api/codec.h"

struct shape_leaf {
    const char *extra_;
    const char *name;
    int32_t count;
};
struct shape_leaf_list {
    size_t n;
    struct shape_leaf *items;
};
struct shape_leaf_entry {
    const char *key;
    struct shape_leaf value;
};
struct shape_leaf_map {
    size_t n;
    struct shape_leaf_entry *items;
};

struct shape {
    const char *extra_;
    const char *text;
    bool flag;
    int32_t small;
    int64_t big;
    double ratio;
    const char *bytes;
    const char *quantity;
    const char *time;
    const char *micro;
    const char *duration;
    struct api_int_or_string either;
    const char *raw;
    struct shape_leaf leaf;
    struct shape_leaf zero_leaf;
    const char *opt_text;
    const bool *opt_flag;
    const int32_t *opt_small;
    const int64_t *opt_big;
    const double *opt_ratio;
    const char *opt_quantity;
    const char *opt_time;
    const struct api_int_or_string *opt_either;
    struct shape_leaf *opt_leaf;
    struct shape *opt_shape;
    struct api_strings texts;
    struct shape_leaf_list leaves;
    struct api_int64s numbers;
    struct api_string_map labels;
    struct api_string_map resources;
    struct api_bool_map switches;
    struct shape_leaf_map leaf_map;
    struct api_strings bare_texts;
    struct api_string_map bare_map;
    const char *bare_time;
    const char *bare_quantity;
    const char *bare_duration;
    const char *bare_bytes;
    struct shape_leaf *bare_leaf;
    struct api_strings zero_texts;
    const char *repeated;
};

extern const struct api_type shape_leaf_type, shape_type;

#endif
