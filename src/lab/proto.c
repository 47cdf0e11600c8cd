/*
 * Protobuf bodies, see proto.h. The wire format is walked with tables of fields: number, JSON name, type. What a table
 * does not name is skipped.
 */
#include "lab/proto.h"
#include "base/strings.h"
#include <string.h>

enum type { END, STRING, STRINGS, INT, BOOL, MESSAGE, MESSAGES, STRING_MAP, BYTES_MAP };

struct field {
    unsigned number;
    const char *name;
    enum type type;
    const struct field *message;
};

/* k8s.io/apimachinery and k8s.io/api, generated.proto */
static const struct field owner_fields[] = {{1, "kind", STRING},
                                            {3, "name", STRING},
                                            {4, "uid", STRING},
                                            {5, "apiVersion", STRING},
                                            {6, "controller", BOOL},
                                            {7, "blockOwnerDeletion", BOOL},
                                            {0}};
static const struct field metadata_fields[] = {{1, "name", STRING},
                                               {2, "generateName", STRING},
                                               {3, "namespace", STRING},
                                               {5, "uid", STRING},
                                               {6, "resourceVersion", STRING},
                                               {11, "labels", STRING_MAP},
                                               {12, "annotations", STRING_MAP},
                                               {13, "ownerReferences", MESSAGES, owner_fields},
                                               {14, "finalizers", STRINGS},
                                               {0}};
static const struct field precondition_fields[] = {{1, "uid", STRING}, {2, "resourceVersion", STRING}, {0}};
static const struct field delete_fields[] = {
    {1, "gracePeriodSeconds", INT}, {2, "preconditions", MESSAGE, precondition_fields},
    {3, "orphanDependents", BOOL},  {4, "propagationPolicy", STRING},
    {5, "dryRun", STRINGS},         {0}};
static const struct field plain_fields[] = {{1, "metadata", MESSAGE, metadata_fields}, {0}};
static const struct field config_map_fields[] = {{1, "metadata", MESSAGE, metadata_fields},
                                                 {2, "data", STRING_MAP},
                                                 {3, "binaryData", BYTES_MAP},
                                                 {4, "immutable", BOOL},
                                                 {0}};
static const struct field secret_fields[] = {{1, "metadata", MESSAGE, metadata_fields},
                                             {2, "data", BYTES_MAP},
                                             {3, "type", STRING},
                                             {4, "stringData", STRING_MAP},
                                             {5, "immutable", BOOL},
                                             {0}};
static const struct field eviction_fields[] = {
    {1, "metadata", MESSAGE, metadata_fields}, {2, "deleteOptions", MESSAGE, delete_fields}, {0}};
static const struct field resource_fields[] = {
    {1, "namespace", STRING}, {2, "verb", STRING},        {3, "group", STRING}, {4, "version", STRING},
    {5, "resource", STRING},  {6, "subresource", STRING}, {7, "name", STRING},  {0}};
static const struct field other_fields[] = {{1, "path", STRING}, {2, "verb", STRING}, {0}};
static const struct field self_access_fields[] = {
    {1, "resourceAttributes", MESSAGE, resource_fields}, {2, "nonResourceAttributes", MESSAGE, other_fields}, {0}};
static const struct field access_fields[] = {{1, "resourceAttributes", MESSAGE, resource_fields},
                                             {2, "nonResourceAttributes", MESSAGE, other_fields},
                                             {3, "user", STRING},
                                             {4, "groups", STRINGS},
                                             {0}};
static const struct field self_rules_fields[] = {{1, "namespace", STRING}, {0}};
static const struct field self_review_fields[] = {
    {1, "metadata", MESSAGE, metadata_fields}, {2, "spec", MESSAGE, self_access_fields}, {0}};
static const struct field review_fields[] = {
    {1, "metadata", MESSAGE, metadata_fields}, {2, "spec", MESSAGE, access_fields}, {0}};
static const struct field rules_fields[] = {
    {1, "metadata", MESSAGE, metadata_fields}, {2, "spec", MESSAGE, self_rules_fields}, {0}};

static const struct {
    const char *kind;
    const struct field *fields;
} kinds[] = {
    {"Namespace", plain_fields},
    {"ServiceAccount", plain_fields},
    {"ConfigMap", config_map_fields},
    {"Secret", secret_fields},
    {"Eviction", eviction_fields},
    {"DeleteOptions", delete_fields},
    {"SelfSubjectReview", plain_fields},
    {"SelfSubjectAccessReview", self_review_fields},
    {"SubjectAccessReview", review_fields},
    {"SelfSubjectRulesReview", rules_fields},
};

struct reader {
    struct kb_arena *arena;
    yyjson_mut_doc *doc;
    const unsigned char *at, *end;
    bool damaged;
};

static uint64_t read_varint(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 64; shift += 7) {
        unsigned char c = *r->at++;
        value |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return value;
    }
    r->damaged = true;
    return 0;
}

static const unsigned char *take(struct reader *r, uint64_t n)
{
    if (n > (uint64_t)(r->end - r->at)) {
        r->damaged = true;
        r->at = r->end;
        return r->end;
    }
    const unsigned char *start = r->at;
    r->at += n;
    return start;
}

/* One field of any type: varints in `ret_number`, the bytes of others as a reader. */
static struct reader read_field(struct reader *r, unsigned *ret_field, uint64_t *ret_number)
{
    uint64_t key = read_varint(r), n = 0;
    struct reader inner = *r;
    *ret_field = (unsigned)(key >> 3);
    switch (key & 7) {
    case 0:
        *ret_number = read_varint(r);
        inner.end = inner.at;
        return inner;
    case 1:
        n = 8;
        break;
    case 2:
        n = read_varint(r);
        break;
    case 5:
        n = 4;
        break;
    default:
        r->damaged = true;
    }
    inner.at = take(r, n);
    inner.end = inner.at + (r->damaged ? 0 : n);
    return inner;
}

static yyjson_mut_val *read_message(struct reader *r, const struct field *fields);

static yyjson_mut_val *text_of(const struct reader *inner)
{
    return yyjson_mut_strncpy(inner->doc, (const char *)inner->at, (size_t)(inner->end - inner->at));
}

static yyjson_mut_val *base64_of(const struct reader *inner)
{
    return yyjson_mut_str(inner->doc, kb_base64_encode(inner->arena, inner->at, (size_t)(inner->end - inner->at)));
}

/* A map is a list of {1: key, 2: value}. */
static void read_pair(struct reader *r, yyjson_mut_val *map, bool bytes)
{
    yyjson_mut_val *key = yyjson_mut_str(r->doc, ""), *value = yyjson_mut_str(r->doc, "");
    while (r->at < r->end && !r->damaged) {
        unsigned field;
        uint64_t number;
        struct reader inner = read_field(r, &field, &number);
        if (field == 1)
            key = text_of(&inner);
        else if (field == 2)
            value = bytes ? base64_of(&inner) : text_of(&inner);
    }
    yyjson_mut_obj_put(map, key, value);
}

static yyjson_mut_val *list_member(struct reader *r, yyjson_mut_val *object, const char *name)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(object, name);
    return list ? list : yyjson_mut_obj_add_arr(r->doc, object, name);
}

static void put_field(struct reader *r, yyjson_mut_val *object, const struct field *f, struct reader *inner,
                      uint64_t number)
{
    switch (f->type) {
    case STRING:
        lab_mut_put(r->doc, object, f->name, text_of(inner));
        break;
    case STRINGS:
        yyjson_mut_arr_append(list_member(r, object, f->name), text_of(inner));
        break;
    case INT:
        lab_mut_put_int(r->doc, object, f->name, (int64_t)number);
        break;
    case BOOL:
        lab_mut_put_bool(r->doc, object, f->name, number);
        break;
    case MESSAGE:
        lab_mut_put(r->doc, object, f->name, read_message(inner, f->message));
        break;
    case MESSAGES:
        yyjson_mut_arr_append(list_member(r, object, f->name), read_message(inner, f->message));
        break;
    case STRING_MAP:
    case BYTES_MAP:
        read_pair(inner, lab_mut_object(r->doc, object, f->name), f->type == BYTES_MAP);
        break;
    case END:
        break;
    }
    r->damaged |= inner->damaged;
}

static yyjson_mut_val *read_message(struct reader *r, const struct field *fields)
{
    yyjson_mut_val *object = yyjson_mut_obj(r->doc);
    while (r->at < r->end && !r->damaged) {
        unsigned number;
        uint64_t value = 0;
        struct reader inner = read_field(r, &number, &value);
        for (const struct field *f = fields; f->type != END; f++)
            if (f->number == number)
                put_field(r, object, f, &inner, value);
    }
    return object;
}

static const struct field type_fields[] = {{1, "apiVersion", STRING}, {2, "kind", STRING}, {0}};

/* runtime.Unknown: {1: type, 2: the object's bytes} */
yyjson_val *lab_proto_parse(struct kb_arena *arena, const char *body, size_t n, struct kube_error *reterr)
{
    struct reader r = {.arena = arena, .doc = lab_json_doc(arena), .at = (const unsigned char *)body + 4};
    struct reader raw = r;
    yyjson_mut_val *type = NULL, *object = NULL;
    if (n < 4 || memcmp(body, "k8s", 4) != 0) {
        kube_error_set(reterr, KUBE_ERROR_INVALID, "provided data does not appear to be a protobuf message");
        return NULL;
    }
    raw.at = raw.end = r.end = (const unsigned char *)body + n;
    while (r.at < r.end && !r.damaged) {
        unsigned field;
        uint64_t number;
        struct reader inner = read_field(&r, &field, &number);
        if (field == 1)
            type = read_message(&inner, type_fields);
        else if (field == 2)
            raw = inner;
    }
    const char *kind = lab_mut_str(type, "kind");
    for (size_t i = 0; !object && !r.damaged && i < KB_ARRAY_LEN(kinds); i++)
        if (kb_streq(kinds[i].kind, kind))
            object = read_message(&raw, kinds[i].fields);
    if (!object || raw.damaged) {
        kube_error_set(reterr, KUBE_ERROR_INVALID, "a %s in protobuf can't be read: send JSON", *kind ? kind : "body");
        return NULL;
    }
    lab_mut_put_str(r.doc, object, "kind", kind);
    lab_mut_put_str(r.doc, object, "apiVersion", lab_mut_str(type, "apiVersion"));
    yyjson_alc alc = lab_json_alc(arena);
    return yyjson_doc_get_root(yyjson_mut_val_imut_copy(object, &alc));
}
