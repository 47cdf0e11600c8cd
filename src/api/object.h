/*
 * The object model: what generated types and their tables look like, and the life of an object.
 *
 * A type is a C struct (generated from the api/ schemas into api/types/<group>.h) and a `const struct api_type` with
 * one `struct api_field` a field. All work on objects (decode, encode, clone, equal, diff) is a walk over these tables,
 * see api/codec.h; a new type costs no code.
 *
 * Shapes in C, from Go's:
 *     string, named string          const char *          never NULL in a decoded or cloned object; "" when absent.
 *                                                         (a struct from kb_arena_alloc has NULL there: every walk
 *                                                         takes NULL as "")
 *     bool, int32, int64, float64   bool, int32_t, int64_t, double
 *     *T                            const T * for scalars (const char * for *string), T * for structs; NULL when absent
 *     struct                        struct, in place
 *     embedded (",inline")          its members stand in the parent
 *     []T                           struct { size_t n; T *items; }      nil and empty differ: items NULL or not
 *     map[string]T                  struct { size_t n; struct { const char *key; T value; } *items; }   sorted by key
 *     []byte                        const char *          base64 text as on the wire
 *     resource.Quantity             const char *          text; written in Go's canonical form
 *     metav1.Time, MicroTime,
 *     metav1.Duration               const char *          text; "" (or NULL behind a pointer) when absent
 *     intstr.IntOrString            struct api_int_or_string
 *     RawExtension, JSON, any       const char *          compact JSON text; "" when absent
 *
 * Each generated struct starts with `const char *extra_`: the members that this build does not know, as the inside of a
 * JSON object ("\"a\":1,\"b\":{}"), sorted by name, or NULL. They are kept, compared, cloned, encoded (after the known
 * ones).
 *
 * A NUL inside a string, which JSON allows, is held as the two bytes C0 80 and becomes \u0000 again when encoded.
 *
 * Objects that come from the API server are in one block of memory each, immutable, shared and counted
 * (struct api_object). The only way to a writable one is a clone into an arena.
 */
#ifndef API_OBJECT_H
#define API_OBJECT_H

#include "base/arena.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum api_kind {
    API_STRING,
    API_BOOL,
    API_INT32,
    API_INT64,
    API_FLOAT64,
    API_BYTES,    /* base64 text */
    API_QUANTITY, /* text */
    API_TIME,     /* text, RFC 3339; absent encodes as null (unless omitted) */
    API_MICRO_TIME,
    API_DURATION,      /* text */
    API_INT_OR_STRING, /* struct api_int_or_string */
    API_RAW,           /* JSON text */
    API_STRUCT,        /* field.type */
};

enum api_shape {
    API_VALUE,
    API_POINTER,
    API_LIST, /* struct api_list of the element kind */
    API_MAP,  /* struct api_map: string keys, values of the element kind */
};

enum api_omit {
    API_OMIT_NEVER,
    API_OMIT_EMPTY, /* Go's omitempty: false, 0, "", nil pointer, empty list or map; never a struct in place */
    API_OMIT_ZERO,  /* Go's omitzero */
};

enum api_field_flag {
    API_FIELD_INTERN = 1, /* the text repeats across objects: decoded caches share it (phases, node names) */
    API_FIELD_SET = 2,    /* a list that is a set (listType=set): finalizers */
};

struct api_type;

struct api_field {
    const char *json;            /* JSON member name */
    const struct api_type *type; /* API_STRUCT: the element's type; otherwise NULL */
    const char *list_key;        /* list of structs: member that identifies an element (patchMergeKey), or NULL */
    uint32_t offset;             /* in the C struct */
    uint8_t json_length;
    uint8_t kind;  /* enum api_kind: of the value, the pointee, the list element or the map value */
    uint8_t shape; /* enum api_shape */
    uint8_t omit;  /* enum api_omit */
    uint8_t flags; /* enum api_field_flag, or-ed */
};

/* Top-level kinds only. */
struct api_resource {
    const char *group; /* "" for core */
    const char *version;
    const char *kind;
    const char *plural;
    bool namespaced;
    bool has_status; /* writes to status go to the status subresource */
};

struct api_type {
    const char *name;               /* C struct name: "kv_vmi_spec" */
    const struct api_field *fields; /* in Go's order, which is the order of encoding */
    const uint8_t *sorted;          /* indexes into fields, sorted by JSON name: for decoding */
    uint16_t n_fields;
    uint32_t size;                       /* sizeof the C struct */
    const struct api_resource *resource; /* NULL for types that are not top level */
};

struct api_list {
    size_t n;
    void *items;
};
struct api_map {
    size_t n;
    void *items; /* of { const char *key; VALUE value; }, VALUE at offset 8 */
};

struct api_int_or_string {
    bool is_string;
    int32_t number;
    const char *text; /* when is_string */
};

/* Lists and maps of scalars that many types use. Maps are sorted by key (strcmp). */
struct api_strings {
    size_t n;
    const char **items;
};
struct api_int32s {
    size_t n;
    int32_t *items;
};
struct api_int64s {
    size_t n;
    int64_t *items;
};
struct api_string_entry {
    const char *key;
    const char *value;
};
struct api_string_map { /* also maps of quantities (ResourceList) and of bytes (Secret.data) */
    size_t n;
    struct api_string_entry *items;
};
struct api_int64_entry {
    const char *key;
    int64_t value;
};
struct api_int64_map {
    size_t n;
    struct api_int64_entry *items;
};
struct api_bool_entry {
    const char *key;
    bool value;
};
struct api_bool_map {
    size_t n;
    struct api_bool_entry *items;
};

#define api_list_foreach(item, list)                                                                                   \
    for (__typeof__(*(list)->items) *item = (list)->items; item && item < (list)->items + (list)->n; item++)

/* ---- maps and lists as values: api/maps.c ---- */

/* NULL when the key is absent. */
const char *api_map_get(const struct api_string_map *map, const char *key);
bool api_map_has(const struct api_string_map *map, const char *key);
/* Sets or replaces; keeps the order; entries are in `arena`, strings are borrowed (not copied). */
void api_map_set(struct kb_arena *arena, struct api_string_map *map, const char *key, const char *value);
bool api_map_delete(struct api_string_map *map, const char *key); /* in place; true when it was there */
/* True when `map` has every entry of `subset` with the same value. */
bool api_map_contains_all(const struct api_string_map *map, const struct api_string_map *subset);
bool api_strings_has(const struct api_strings *list, const char *text);
void api_strings_add(struct kb_arena *arena, struct api_strings *list, const char *text);
bool api_strings_remove(struct api_strings *list, const char *text); /* all equal ones; true when any was there */

/* ---- shared immutable objects: api/object.c ---- */

/*
 * One decoded top-level object: header and struct in one block. `data` points at the generated struct
 * (const struct kv_vmi *). Reference counted (atomic); everything reachable from `data` lives exactly as long.
 */
struct api_object;

const struct api_object *api_object_ref(const struct api_object *object);
void api_object_unref(const struct api_object *object); /* NULL is allowed */
const void *api_object_data(const struct api_object *object);
const struct api_type *api_object_type(const struct api_object *object);
size_t api_object_bytes(const struct api_object *object); /* memory of the block, interned strings not counted */
bool api_object_is_projected(const struct api_object *object);
/* What the decoder's user noted with api_object_note_form: the object's spec is as this codec would write it. */
bool api_object_is_in_form(const struct api_object *object);
void api_object_note_form(const struct api_object *object); /* before it is shared */
/* The object whose data this is. Only for pointers that came from api_object_data. */
const struct api_object *api_object_of(const void *data);

/* A shared object with the same content as `data` (a struct of `type`); for answers of writes and for tests. */
const struct api_object *api_object_new(const struct api_type *type, const void *data);

#endif
