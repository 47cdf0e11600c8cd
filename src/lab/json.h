/*
 * Small helpers on yyjson trees whose memory is an arena: nothing here is ever released.
 * Threads: a tree belongs to one thread at a time.
 */
#ifndef LAB_JSON_H
#define LAB_JSON_H

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <yyjson.h>

yyjson_alc lab_json_alc(struct kb_arena *arena);
yyjson_mut_doc *lab_json_doc(struct kb_arena *arena);
/* What comes from outside is nested less deep: walks over trees may recurse. A CRD has 60 levels. */
#define LAB_MAX_DEPTH 1000
/* NULL and reterr (KUBE_ERROR_INVALID) when `text` is not JSON, or is nested deeper than LAB_MAX_DEPTH. */
yyjson_val *lab_json_parse(struct kb_arena *arena, const char *text, size_t n, struct kube_error *reterr);
/* For text that is known to be JSON (constants of the program). */
yyjson_mut_val *lab_json_mut(yyjson_mut_doc *doc, struct kb_arena *arena, const char *text);
const char *lab_json_write(struct kb_arena *arena, const yyjson_mut_val *value, size_t *ret_length);
const char *lab_json_write_val(struct kb_arena *arena, const yyjson_val *value, size_t *ret_length);

/* Members. A missing member, or one of another type, is NULL ("" or 0 for the *_or forms). */
yyjson_mut_val *lab_mut_at(yyjson_mut_val *object, const char *const *path, size_t n);
#define LAB_AT(object, ...)                                                                                            \
    lab_mut_at((object), (const char *const[]){__VA_ARGS__}, KB_ARRAY_LEN(((const char *const[]){__VA_ARGS__})))
yyjson_val *lab_val_at(yyjson_val *object, const char *const *path, size_t n);
#define LAB_VAL_AT(object, ...)                                                                                        \
    lab_val_at((object), (const char *const[]){__VA_ARGS__}, KB_ARRAY_LEN(((const char *const[]){__VA_ARGS__})))
const char *lab_mut_str(yyjson_mut_val *object, const char *key); /* "" when absent */
const char *lab_val_str(yyjson_val *object, const char *key);

/* Changes. Keys and strings are copied when their name says so. */
void lab_mut_put(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, yyjson_mut_val *value);
void lab_mut_put_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text); /* copies */
void lab_mut_put_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t value);
void lab_mut_put_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, bool value);
void lab_mut_drop(yyjson_mut_val *object, const char *key);
/* The object member `key`, made when absent or not an object. */
yyjson_mut_val *lab_mut_object(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key);
/* Sets `key` where it is absent or null. */
void lab_mut_default_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text);
void lab_mut_default_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t value);
void lab_mut_default_bool(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, bool value);
/* null, {}, [] and "" are empty, and so is an absent value. */
bool lab_mut_empty(yyjson_mut_val *value);
/* Drops null members everywhere below, and empty arrays: what a typed API object does not show. */
void lab_mut_drop_nulls(yyjson_mut_val *value);
bool lab_mut_deeper_than(yyjson_mut_val *value, unsigned depth);
/* A number or string as text; NULL for others. */
const char *lab_scalar_text(struct kb_arena *arena, const yyjson_val *value);

#endif
