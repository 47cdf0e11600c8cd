/*
 * Shared objects under threads: decoding, interned texts that come and go, references handed from one thread to
 * another.
 */
#include "shapes.h"

#include "base/intern.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include <cmocka.h>

#define THREADS 4
#define ROUNDS  2000

struct shared {
    yyjson_val *value;
    _Atomic(const struct api_object *) slot; /* holds one reference */
    atomic_uint wrong;
};

/* Puts a new object into the slot, and looks at the one that was there. */
static void *exchange(void *argument)
{
    struct shared *shared = argument;

    for (int i = 0; i < ROUNDS; i++) {
        const struct api_object *object = NULL, *previous;
        const struct shape *shape;

        if (api_decode_shared(&shape_type, shared->value, NULL, &object, NULL) < 0) {
            shared->wrong++;
            continue;
        }
        api_object_ref(object);
        previous = atomic_exchange(&shared->slot, object);
        api_object_unref(object);
        if (!previous)
            continue;
        shape = api_object_data(previous);
        if (strcmp(shape->repeated, "phase") != 0 || strcmp(shape->labels.items[0].key, "key") != 0)
            shared->wrong++;
        api_object_unref(previous);
    }
    return NULL;
}

static void objects_and_their_texts_outlive_no_reference(void **state)
{
    const char *json = "{\"repeated\":\"phase\",\"labels\":{\"key\":\"value\"}}";
    size_t strings, strings_before, bytes;
    struct shared shared = {0};
    pthread_t threads[THREADS];
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);

    (void)state;
    kb_intern_stats(&strings_before, &bytes);
    shared.value = yyjson_doc_get_root(doc);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, exchange, &shared), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(shared.wrong, 0);
    api_object_unref(shared.slot);
    kb_intern_stats(&strings, &bytes);
    assert_int_equal(strings, strings_before);
    yyjson_doc_free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_their_texts_outlive_no_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
