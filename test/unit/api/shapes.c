/*
 * The tables of shapes.h. A test checks that `sorted` is in order.
 */
#include "shapes.h"

static const struct api_field leaf_fields[] = {
    {"name", NULL, NULL, offsetof(struct shape_leaf, name), 4, API_STRING, API_VALUE, API_OMIT_NEVER, 0},
    {"count", NULL, NULL, offsetof(struct shape_leaf, count), 5, API_INT32, API_VALUE, API_OMIT_EMPTY, 0},
};
static const uint8_t leaf_sorted[] = {1, 0};
const struct api_type shape_leaf_type = {"shape_leaf", leaf_fields, leaf_sorted, 2, sizeof(struct shape_leaf), NULL};

#define FIELD(name, json, kind, how, omit) /* of a kind without type */                                                \
    {                                                                                                                  \
        json, NULL, NULL, offsetof(struct shape, name), sizeof(json) - 1, kind, how, omit, 0                           \
    }
#define LEAF(name, json, how, omit)                                                                                    \
    {                                                                                                                  \
        json, &shape_leaf_type, NULL, offsetof(struct shape, name), sizeof(json) - 1, API_STRUCT, how, omit, 0         \
    }

static const struct api_field fields[] = {
    FIELD(text, "text", API_STRING, API_VALUE, API_OMIT_EMPTY),
    FIELD(flag, "flag", API_BOOL, API_VALUE, API_OMIT_EMPTY),
    FIELD(small, "small", API_INT32, API_VALUE, API_OMIT_EMPTY),
    FIELD(big, "big", API_INT64, API_VALUE, API_OMIT_EMPTY),
    FIELD(ratio, "ratio", API_FLOAT64, API_VALUE, API_OMIT_EMPTY),
    FIELD(bytes, "bytes", API_BYTES, API_VALUE, API_OMIT_EMPTY),
    FIELD(quantity, "quantity", API_QUANTITY, API_VALUE, API_OMIT_ZERO),
    FIELD(time, "time", API_TIME, API_VALUE, API_OMIT_ZERO),
    FIELD(micro, "micro", API_MICRO_TIME, API_VALUE, API_OMIT_ZERO),
    FIELD(duration, "duration", API_DURATION, API_VALUE, API_OMIT_ZERO),
    FIELD(either, "either", API_INT_OR_STRING, API_VALUE, API_OMIT_ZERO),
    FIELD(raw, "raw", API_RAW, API_VALUE, API_OMIT_EMPTY),
    LEAF(leaf, "leaf", API_VALUE, API_OMIT_EMPTY),
    LEAF(zero_leaf, "zeroLeaf", API_VALUE, API_OMIT_ZERO),
    FIELD(opt_text, "optText", API_STRING, API_POINTER, API_OMIT_EMPTY),
    FIELD(opt_flag, "optFlag", API_BOOL, API_POINTER, API_OMIT_EMPTY),
    FIELD(opt_small, "optSmall", API_INT32, API_POINTER, API_OMIT_EMPTY),
    FIELD(opt_big, "optBig", API_INT64, API_POINTER, API_OMIT_EMPTY),
    FIELD(opt_ratio, "optRatio", API_FLOAT64, API_POINTER, API_OMIT_EMPTY),
    FIELD(opt_quantity, "optQuantity", API_QUANTITY, API_POINTER, API_OMIT_EMPTY),
    FIELD(opt_time, "optTime", API_TIME, API_POINTER, API_OMIT_EMPTY),
    FIELD(opt_either, "optEither", API_INT_OR_STRING, API_POINTER, API_OMIT_EMPTY),
    LEAF(opt_leaf, "optLeaf", API_POINTER, API_OMIT_EMPTY),
    {"optShape", &shape_type, NULL, offsetof(struct shape, opt_shape), 8, API_STRUCT, API_POINTER, API_OMIT_EMPTY, 0},
    FIELD(texts, "texts", API_STRING, API_LIST, API_OMIT_EMPTY),
    {"leaves", &shape_leaf_type, "name", offsetof(struct shape, leaves), 6, API_STRUCT, API_LIST, API_OMIT_EMPTY, 0},
    FIELD(numbers, "numbers", API_INT64, API_LIST, API_OMIT_EMPTY),
    FIELD(labels, "labels", API_STRING, API_MAP, API_OMIT_EMPTY),
    FIELD(resources, "resources", API_QUANTITY, API_MAP, API_OMIT_EMPTY),
    FIELD(switches, "switches", API_BOOL, API_MAP, API_OMIT_EMPTY),
    LEAF(leaf_map, "leafMap", API_MAP, API_OMIT_EMPTY),
    FIELD(bare_texts, "bareTexts", API_STRING, API_LIST, API_OMIT_NEVER),
    FIELD(bare_map, "bareMap", API_STRING, API_MAP, API_OMIT_NEVER),
    FIELD(bare_time, "bareTime", API_TIME, API_VALUE, API_OMIT_EMPTY),
    FIELD(bare_quantity, "bareQuantity", API_QUANTITY, API_VALUE, API_OMIT_EMPTY),
    FIELD(bare_duration, "bareDuration", API_DURATION, API_VALUE, API_OMIT_NEVER),
    FIELD(bare_bytes, "bareBytes", API_BYTES, API_VALUE, API_OMIT_NEVER),
    LEAF(bare_leaf, "bareLeaf", API_POINTER, API_OMIT_NEVER),
    FIELD(zero_texts, "zeroTexts", API_STRING, API_LIST, API_OMIT_ZERO),
    {"repeated", NULL, NULL, offsetof(struct shape, repeated), 8, API_STRING, API_VALUE, API_OMIT_EMPTY,
     API_FIELD_INTERN},
};
static const uint8_t sorted[] = {36, 35, 37, 32, 34, 31, 33, 3,  5, 9, 10, 1,  27, 12, 30, 25, 8,  26, 17, 21,
                                 15, 22, 19, 18, 23, 16, 14, 20, 6, 4, 11, 39, 28, 2,  29, 0,  24, 7,  13, 38};
const struct api_type shape_type = {"shape", fields, sorted, sizeof(fields) / sizeof(fields[0]), sizeof(struct shape),
                                    NULL};
