/*
 * Stored objects, see object.h. One allocation holds an object and its text, one its parsed metadata and the strings
 * of it.
 */
#include "lab/object.h"
#include "base/strings.h"
#include "base/time.h"
#include "lab/json.h"
#include "lab/kinds.h"
#include "lab/store.h"
#include <stdio.h>
#include <stdlib.h>

struct lab_object *lab_object_ref(struct lab_object *object)
{
    atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
    return object;
}

void lab_object_unref(struct lab_object *object)
{
    if (!object || atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) != 1)
        return;
    lab_meta_unref(object->meta);
    free(object);
}

void lab_object_unref_pointer(struct lab_object **object)
{
    lab_object_unref(*object);
}

struct lab_meta *lab_meta_ref(struct lab_meta *meta)
{
    atomic_fetch_add_explicit(&meta->refs, 1, memory_order_relaxed);
    return meta;
}

void lab_meta_unref(struct lab_meta *meta)
{
    if (meta && atomic_fetch_sub_explicit(&meta->refs, 1, memory_order_acq_rel) == 1)
        free(meta);
}

const char *lab_meta_label(const struct lab_meta *meta, const char *key)
{
    for (size_t i = 0; i < meta->n_labels; i++)
        if (kb_streq(meta->labels[i].key, key))
            return meta->labels[i].value;
    return NULL;
}

/* What goes into a lab_meta, as borrowed strings; a first pass counts, a second copies. */
struct parts {
    yyjson_mut_val *metadata, *labels, *owners;
    const char *namespace_, *name, *uid;
    size_t n_fields;
    const char *fields[LAB_MAX_FIELDS];
};

/* A selectable field's value as text: strings as they are, booleans as Go prints them, nothing as "". */
static const char *field_text(yyjson_mut_val *root, const char *path)
{
    char step[64];
    for (const char *p = path; root && *p;) {
        size_t n = strcspn(p, ".");
        snprintf(step, sizeof(step), "%.*s", (int)n, p);
        root = yyjson_mut_obj_get(root, step);
        p += n + (p[n] == '.');
    }
    if (yyjson_mut_is_bool(root))
        return yyjson_mut_get_bool(root) ? "true" : "false";
    const char *text = yyjson_mut_get_str(root);
    return text ? text : "";
}

static size_t parts_size(const struct parts *p)
{
    size_t size = sizeof(struct lab_meta) + 2 * (strlen(p->namespace_) + strlen(p->name)) + strlen(p->uid) + 8;
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(p->labels, i, n, key, value)
    {
        size += sizeof(struct lab_pair) + yyjson_mut_get_len(key) + yyjson_mut_get_len(value) + 2;
    }
    yyjson_mut_arr_foreach(p->owners, i, n, value)
    {
        size += sizeof(char *) + strlen(lab_mut_str(value, "uid")) + 1;
    }
    for (i = 0; i < p->n_fields; i++)
        size += sizeof(char *) + strlen(p->fields[i]) + 1;
    return size;
}

static const char *put(char **at, const char *text)
{
    char *start = *at;
    *at = stpcpy(start, text) + 1;
    return start;
}

static struct lab_meta *meta_new(const struct parts *p)
{
    struct lab_meta *m = kb_malloc(parts_size(p));
    size_t n_labels = yyjson_mut_obj_size(p->labels), n_owners = yyjson_mut_arr_size(p->owners);
    struct lab_pair *labels = (struct lab_pair *)(m + 1);
    const char **fields = (const char **)(labels + n_labels), **owners = fields + p->n_fields;
    char *at = (char *)(owners + n_owners);
    atomic_init(&m->refs, 1);
    m->key = at;
    if (*p->namespace_) {
        at = stpcpy(at, p->namespace_);
        *at++ = '/';
    }
    m->name = put(&at, p->name);
    m->namespace_ = put(&at, p->namespace_);
    m->uid = put(&at, p->uid);
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(p->labels, i, n, key, value)
    {
        const char *text = yyjson_mut_get_str(value);
        labels[i].key = put(&at, yyjson_mut_get_str(key));
        labels[i].value = put(&at, text ? text : "");
    }
    yyjson_mut_arr_foreach(p->owners, i, n, value)
    {
        owners[i] = put(&at, lab_mut_str(value, "uid"));
    }
    for (i = 0; i < p->n_fields; i++)
        fields[i] = put(&at, p->fields[i]);
    m->labels = labels;
    m->n_labels = n_labels;
    m->fields = fields;
    m->n_fields = p->n_fields;
    m->owners = owners;
    m->n_owners = n_owners;
    m->deleting = *lab_mut_str(p->metadata, "deletionTimestamp");
    m->finalizers = yyjson_mut_arr_size(yyjson_mut_obj_get(p->metadata, "finalizers")) > 0;
    kb_time_parse(lab_mut_str(p->metadata, "creationTimestamp"), &m->created_ns);
    return m;
}

struct lab_object *lab_object_new(const struct lab_resource *resource, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const struct lab_kind *kind = lab_resource_kind(resource);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");
    struct parts p = {.metadata = metadata,
                      .labels = yyjson_mut_obj_get(metadata, "labels"),
                      .owners = yyjson_mut_obj_get(metadata, "ownerReferences"),
                      .namespace_ = lab_mut_str(metadata, "namespace"),
                      .name = lab_mut_str(metadata, "name"),
                      .uid = lab_mut_str(metadata, "uid"),
                      .n_fields = kind->n_fields};
    for (size_t i = 0; i < p.n_fields; i++)
        p.fields[i] = field_text(root, kind->fields[i]);
    lab_mut_drop(root, "apiVersion");
    lab_mut_drop(root, "kind");
    lab_mut_drop(metadata, "resourceVersion");
    lab_mut_drop(root, "metadata");
    yyjson_mut_obj_insert(root, yyjson_mut_str(doc, "metadata"), metadata, 0);
    size_t length, skip = strlen("{\"metadata\":{");
    const char *text = lab_json_write(arena, root, &length);
    length -= skip;
    struct lab_object *o = kb_malloc(sizeof(*o) + length + 1);
    atomic_init(&o->refs, 1);
    o->meta = meta_new(&p);
    o->kind = kind;
    o->length = length;
    memcpy(o->text, text + skip, length + 1);
    return o;
}

size_t lab_object_head(const char *api_version, const char *kind, int64_t resource_version, char ret[LAB_HEAD_SIZE])
{
    if (!resource_version)
        return (size_t)snprintf(ret, LAB_HEAD_SIZE, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{",
                                api_version, kind);
    return (size_t)snprintf(ret, LAB_HEAD_SIZE,
                            "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"resourceVersion\":\"%lld\",",
                            api_version, kind, (long long)resource_version);
}

const char *lab_object_text(struct kb_arena *arena, const struct lab_object *object, const char *api_version,
                            size_t *ret_length)
{
    char head[LAB_HEAD_SIZE];
    const struct lab_kind *kind = object->kind;
    size_t n = lab_object_head(api_version ? api_version : kind->storage->api_version, kind->name,
                               object->resource_version, head);
    /* the padding lets a parser work in place */
    char *text = kb_arena_alloc(arena, n + object->length + YYJSON_PADDING_SIZE);
    memcpy(text, head, n);
    memcpy(text + n, object->text, object->length + 1);
    if (ret_length)
        *ret_length = n + object->length;
    return text;
}

yyjson_val *lab_object_parse(struct kb_arena *arena, const struct lab_object *object, const char *api_version)
{
    size_t n;
    yyjson_alc alc = lab_json_alc(arena);
    char *text = (char *)lab_object_text(arena, object, api_version, &n);
    return yyjson_doc_get_root(yyjson_read_opts(text, n, YYJSON_READ_INSITU, &alc, NULL));
}
