/*
 * Shared objects: everything of an object in one block of memory.
 *
 *     | header | struct | lists, maps, what pointers point at | texts, packed |
 *
 * Texts that are equal within an object stand there once. Texts that repeat from object to object (fields flagged
 * API_FIELD_INTERN, keys of maps) are not in the block but in the table of base/intern.h; the block holds a reference
 * for each occurrence, and gives it back at the end. Neither need marks: a text that points outside of its block and is
 * not empty is an interned one.
 *
 * Packing is two runs of the same walk: the first adds up sizes and decides for each text where it will stand, the
 * second copies, meeting the texts in the same order.
 */
#include "api/codec_internal.h"
#include "api/object_internal.h"

#include "base/intern.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Longer keys are rare enough not to be worth a place in the table. */
#define MAX_INTERNED 128

struct api_object {
    const struct api_type *type;
    uint32_t size : 30; /* of the whole block */
    uint32_t projected : 1;
    uint32_t in_form : 1;
    atomic_uint references;
    uint64_t data[];
};

/* Where a text will stand: in the intern table, or in the block. */
struct place {
    const char *interned;
    uint32_t offset; /* from the start of the texts */
};

struct known_text {
    const char *text;
    uint32_t n, offset;
};

struct packer {
    struct api_copier base;
    char *next;        /* second run: where the next piece goes */
    char *texts;       /* second run: where the texts start */
    size_t size;       /* first run: of the pieces, without texts */
    size_t texts_size; /* first run */
    struct place *places;
    size_t n_places, place_capacity;
    struct known_text *known; /* open addressing; a power of two */
    size_t n_known, known_capacity;
};

/* ---- the texts of the block ---- */

static uint64_t hash(const char *text, size_t n)
{
    uint64_t h = n, word;

    for (; n >= 8; text += 8, n -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, n);
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static struct known_text *find_known(struct packer *p, const char *text, size_t n)
{
    size_t i = hash(text, n) & (p->known_capacity - 1);

    while (p->known[i].text && (p->known[i].n != n || memcmp(p->known[i].text, text, n) != 0))
        i = (i + 1) & (p->known_capacity - 1);
    return &p->known[i];
}

static void grow_known(struct packer *p)
{
    struct known_text *old = p->known;
    const size_t n = p->known_capacity;

    p->known_capacity = n ? 2 * n : 256;
    p->known = kb_malloc(p->known_capacity * sizeof(*p->known));
    for (size_t i = 0; i < n; i++)
        if (old[i].text)
            *find_known(p, old[i].text, old[i].n) = old[i];
    free(old);
}

static uint32_t offset_of(struct packer *p, const char *text, size_t n)
{
    struct known_text *known;

    if (4 * p->n_known >= 3 * p->known_capacity)
        grow_known(p);
    known = find_known(p, text, n);
    if (!known->text) {
        *known = (struct known_text){.text = text, .n = n, .offset = p->texts_size};
        p->texts_size += n + 1;
        p->n_known++;
    }
    return known->offset;
}

/* ---- two runs ---- */

static void *measure_block(struct api_copier *base, size_t size)
{
    ((struct packer *)base)->size += (size + 7) / 8 * 8;
    return NULL;
}

static const char *measure_text(struct api_copier *base, const char *text, bool repeats)
{
    struct packer *p = (struct packer *)base;
    const size_t n = strlen(text);
    struct place place = {0};

    if (n == 0)
        return NULL;
    if (repeats && n <= MAX_INTERNED)
        place.interned = kb_intern(text, n);
    else
        place.offset = offset_of(p, text, n);
    if (p->n_places == p->place_capacity) {
        p->place_capacity = p->place_capacity ? 2 * p->place_capacity : 512;
        p->places = kb_realloc(p->places, p->place_capacity * sizeof(*p->places));
    }
    p->places[p->n_places++] = place;
    return NULL;
}

static void *pack_block(struct api_copier *base, size_t size)
{
    struct packer *p = (struct packer *)base;
    char *block = p->next;

    p->next += (size + 7) / 8 * 8;
    return block;
}

static const char *pack_text(struct api_copier *base, const char *text, bool repeats)
{
    struct packer *p = (struct packer *)base;
    const struct place *place;
    char *copy;

    (void)repeats;
    if (!*text)
        return "";
    place = &p->places[p->n_places++];
    if (place->interned)
        return place->interned;
    copy = p->texts + place->offset;
    strcpy(copy, text);
    return copy;
}

const struct api_object *api_object_pack(const struct api_type *type, const void *data, bool projected)
{
    struct packer p = {.base = {.block = measure_block, .text = measure_text, .measuring = true, .frozen = true}};
    const size_t head = (sizeof(struct api_object) + type->size + 7) / 8 * 8;
    struct api_object *object;
    size_t size;

    api_copy_values(&p.base, type, (void *)data); /* measuring: only read */
    size = head + p.size + p.texts_size;
    assert(size < 1u << 31);
    object = malloc(size);
    if (!object)
        object = kb_malloc(size); /* reports and aborts */
    *object = (struct api_object){.type = type, .size = size, .projected = projected, .references = 1};
    memcpy(object->data, data, type->size);
    p.base = (struct api_copier){.block = pack_block, .text = pack_text, .frozen = true};
    p.next = (char *)object + head;
    p.texts = p.next + p.size;
    p.n_places = 0;
    api_copy_values(&p.base, type, object->data);
    free(p.places);
    free(p.known);
    return object;
}

const struct api_object *api_object_new(const struct api_type *type, const void *data)
{
    return api_object_pack(type, data, false);
}

/* ---- the end of an object ---- */

static void release_values(const struct api_object *object, const struct api_type *type, const void *data);

static void release_text(const struct api_object *object, const char *text)
{
    const bool inside = text >= (const char *)object && text < (const char *)object + object->size;

    if (!inside && *text)
        kb_intern_unref(text);
}

static void release_value(const struct api_object *object, const struct api_field *field, const void *value)
{
    if (field->kind == API_STRUCT)
        release_values(object, field->type, value);
    else if (api_field_is_text(field) && field->flags & API_FIELD_INTERN)
        release_text(object, api_text_at(value));
}

static void release_values(const struct api_object *object, const struct api_type *type, const void *data)
{
    for (unsigned i = 0; i < type->n_fields; i++) {
        const struct api_field *field = &type->fields[i];
        const struct api_span span = api_span_of(field, api_member(field, data));

        for (size_t v = 0; v < span.n; v++) {
            const char *value = span.values + v * span.stride;

            if (field->shape == API_MAP)
                release_text(object, *api_key_of(value));
            release_value(object, field, value);
        }
    }
}

const struct api_object *api_object_ref(const struct api_object *object)
{
    atomic_fetch_add_explicit(&((struct api_object *)object)->references, 1, memory_order_relaxed);
    return object;
}

void api_object_unref(const struct api_object *object)
{
    struct api_object *mine = (struct api_object *)object;

    if (!object || atomic_fetch_sub_explicit(&mine->references, 1, memory_order_acq_rel) != 1)
        return;
    release_values(object, object->type, object->data);
    free(mine);
}

const void *api_object_data(const struct api_object *object)
{
    return object->data;
}

const struct api_type *api_object_type(const struct api_object *object)
{
    return object->type;
}

size_t api_object_bytes(const struct api_object *object)
{
    return object->size;
}

bool api_object_is_projected(const struct api_object *object)
{
    return object->projected;
}

bool api_object_is_in_form(const struct api_object *object)
{
    return object->in_form;
}

void api_object_note_form(const struct api_object *object)
{
    ((struct api_object *)(uintptr_t)object)->in_form = true;
}

const struct api_object *api_object_of(const void *data)
{
    return (const struct api_object *)((const char *)data - offsetof(struct api_object, data));
}
