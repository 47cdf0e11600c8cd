/*
 * The one codec: generic walks over the tables of api/object.h. Functions take `const struct api_type *type` and an
 * untyped pointer to a struct of that type.
 *
 * JSON text is read and written with yyjson. Limits on input: depth 100, size 64 MiB, valid UTF-8, integers exact and
 * in the range of their field, duplicate keys: the last one wins (as in Go); member names are matched exactly. An error
 * names the path ("spec.template.spec.volumes[3].name: expected a string, got a number"). null is the same as absent,
 * as in Go.
 *
 * `metadata.managedFields` is skipped when decoding.
 *
 * Threads: all functions are pure; different arenas may be used in parallel.
 */
#ifndef API_CODEC_H
#define API_CODEC_H

#include "api/object.h"
#include "base/error.h"
#include "base/strbuf.h"
#include <yyjson.h>

#define API_MAX_DEPTH 100
#define API_MAX_BYTES (64u << 20)

/* ---- reading ---- */

/* Decodes JSON text into a new struct in `arena` (*ret is writable: it is the caller's own). */
int api_decode(struct kb_arena *arena, const struct api_type *type, const char *json, size_t n, void *ret,
               struct kube_error *reterr); /* ret: T ** */
/* The same from a value that was parsed already (an element of a list, the object of a watch event). */
int api_decode_value(struct kb_arena *arena, const struct api_type *type, yyjson_val *value, void *ret,
                     struct kube_error *reterr);
/* Parses text with the limits above into an immutable document; free with yyjson_doc_free. */
int api_parse(const char *json, size_t n, yyjson_doc **ret, struct kube_error *reterr);

/*
 * What a cache keeps of an object: paths of members, for example {"metadata", "spec.nodeName", "spec.containers.name",
 * "status"}. A path keeps all below it; lists and maps are passed through. NULL paths: everything.
 * kind and apiVersion are always kept, and all of metadata (without managedFields) unless a path begins with
 * "metadata.": then what is named there, and name, namespace, uid, resourceVersion and deletionTimestamp.
 */
struct api_projection {
    const char *const *paths;
    size_t n_paths;
};
/* Decodes into a shared immutable object of exactly the needed size, with interned strings. `projection` may be NULL.
 */
int api_decode_shared(const struct api_type *type, yyjson_val *value, const struct api_projection *projection,
                      const struct api_object **ret, struct kube_error *reterr);

/* ---- writing ---- */

enum api_encode_flag {
    API_ENCODE_KNOWN_ONLY = 1, /* without `extra_` members */
    API_ENCODE_PRETTY = 2,     /* two spaces */
};
/* Appends JSON as Go's encoder would print it (omit rules, order of fields, nil lists as null). */
void api_encode(const struct api_type *type, const void *data, unsigned flags, struct kb_strbuf *ret);
/* The same as a value in a mutable document. */
yyjson_mut_val *api_encode_value(yyjson_mut_doc *doc, const struct api_type *type, const void *data, unsigned flags);
/* One field of a struct (a whole list, map, sub-struct): what a JSON patch carries. NULL when the omit rule leaves it
 * out. */
yyjson_mut_val *api_encode_field(yyjson_mut_doc *doc, const struct api_field *field, const void *data, unsigned flags);
/* The same as text, appended; false, and nothing is appended, when the omit rule leaves it out. */
bool api_encode_field_text(const struct api_field *field, const void *data, struct kb_strbuf *ret);
bool api_field_is_omitted(const struct api_field *field, const void *data);
/* Appends `type`'s value as Go's fmt "%v"-free JSON into an arena string: api_encode into an arena. */
const char *api_encode_text(struct kb_arena *arena, const struct api_type *type, const void *data, unsigned flags);

/* ---- values ---- */

/* A deep, writable copy: nothing is shared with `data`. */
void *api_clone(struct kb_arena *arena, const struct api_type *type, const void *data);
void api_clone_into(struct kb_arena *arena, const struct api_type *type, const void *data, void *target);
/* A deep copy of the value of one field from one struct to another of the same type. */
void api_copy_field(struct kb_arena *arena, const struct api_field *field, const void *from, void *to);

/* Semantic equality as apimachinery's equality.Semantic.DeepEqual with quantities by value: nil and empty lists and
 * maps are equal, "" and NULL strings in place are equal; pointers: both NULL or both equal. */
bool api_equal(const struct api_type *type, const void *a, const void *b);
bool api_equal_field(const struct api_field *field, const void *a, const void *b);
/* 64-bit hash of the content (of the known encoding). */
uint64_t api_hash(const struct api_type *type, const void *data);

/* True when encoding the member `member` ("spec") of `data` gives what `value`, from which it was decoded, has there,
 * whatever the order of members: writing the object whole would not change that member. */
bool api_is_in_form(const struct api_type *type, const void *data, yyjson_val *value, const char *member);

/* ---- differences ---- */

/* JSON merge patch (RFC 7386) that turns `before` into `after`; lists are replaced whole. NULL when nothing differs.
 * The value is in `doc`. What this format can't say is lost: a null inside raw JSON or an unknown member. */
yyjson_mut_val *api_diff_merge(yyjson_mut_doc *doc, const struct api_type *type, const void *before, const void *after);
/* JSON patch (RFC 6902, add/remove/replace, no tests) at member granularity; lists are replaced whole. A struct in
 * place that is all zero in `before` is added whole, as it may not stand in the server's copy. An empty array when
 * nothing differs. Neither diff may start from a projected object. */
yyjson_mut_val *api_diff_json(yyjson_mut_doc *doc, const struct api_type *type, const void *before, const void *after);

/* ---- looking up ---- */

const struct api_field *api_field_find(const struct api_type *type, const char *json, size_t n);
/* By dotted path through structs in place and pointers: "spec.nodeName"; yields the address of the member, or NULL when
 * a pointer on the way is NULL or there is no such field. Lists and maps end the path. */
const void *api_field_at(const struct api_type *type, const void *data, const char *path,
                         const struct api_field **ret_field);
/* Address of a field in a struct. */
static inline const void *api_member(const struct api_field *field, const void *data)
{
    return (const char *)data + field->offset;
}

/* All top-level types of this build; a NULL-terminated array, generated. */
extern const struct api_type *const api_types[];
/* By group, version and kind; NULL when this build does not know it. */
const struct api_type *api_type_find(const char *group, const char *version, const char *kind);
/* By apiVersion ("apps/v1", "v1") and kind. */
const struct api_type *api_type_of(const char *api_version, const char *kind);

/* ---- YAML ---- */

/* Reads one or several YAML documents, or JSON values one after the other, as sigs.k8s.io/yaml does: plain scalars by
 * YAML 1.1 (yes and off are bools, 0x10 and 010 are numbers), times are text, aliases and merge keys are resolved. A
 * key that is there twice is an error, as is what JSON can't hold. Errors name line and column.
 *
 * Calls back once a document that isn't empty, with its number in the stream from 1; stops when the callback is
 * negative. `doc` is freed afterwards. Depth and size are limited as for JSON, and so is what aliases stand for. */
typedef int (*api_yaml_document)(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr);
int api_yaml_read(const char *text, size_t n, api_yaml_document callback, void *userdata, struct kube_error *reterr);
/* Appends a JSON value as YAML (block style, keys in the order given). */
void api_yaml_write(yyjson_mut_val *value, struct kb_strbuf *ret);

#endif
