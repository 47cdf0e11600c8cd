/*
 * For tests of instance types: objects from JSON (single quotes stand for double ones), and look-ups in a table.
 */
#ifndef TEST_INSTANCETYPE_FIXTURE_H
#define TEST_INSTANCETYPE_FIXTURE_H

#include "api/codec.h"
#include "virt/instancetype/instancetype.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Fails the test when the text is not such an object. */
void *from_text(struct kb_arena *arena, const struct api_type *type, const char *text);
#define FROM_TEXT(arena, ctype, text) ((struct ctype *)from_text((arena), &ctype##_type, (text)))
/* Both as JSON, in the order of the type: a difference is printed. */
void expect_object(struct kb_arena *arena, const struct api_type *type, const void *actual, const char *expected);

/* What a fake cluster holds. `fail`: every look-up of this name fails with 500. */
struct shelf {
    struct kb_arena *arena;
    size_t n;
    struct {
        const struct api_type *type;
        const void *object;
    } items[16];
    const char *fail;
    int asked;
};
void shelf_put(struct shelf *shelf, const struct api_type *type, const char *text);
struct virt_instancetype_lookups shelf_lookups(struct shelf *shelf);

#endif
