/* Tests of the patch formats: a table of documents, patches and results each. */
#include "base/strings.h"
#include "fixture.h"
#include "lab/json.h"
#include "lab/patch.h"

struct row {
    const char *target, *patch, *want; /* want NULL: the patch fails */
};

static yyjson_val *parse(struct kb_arena *arena, const char *text)
{
    struct kube_error err;
    yyjson_val *v = lab_json_parse(arena, text, strlen(text), &err);
    if (!v)
        fail_msg("%s: %s", text, err.message);
    return v;
}

typedef int (*patch_function)(yyjson_mut_doc *doc, struct kb_arena *arena, yyjson_mut_val *target, yyjson_val *patch,
                              yyjson_mut_val **ret, struct kube_error *reterr);

static void check_rows(const struct row *rows, size_t n, patch_function apply)
{
    for (size_t i = 0; i < n; i++) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        struct kube_error err = {0};
        yyjson_mut_doc *doc = lab_json_doc(arena);
        yyjson_mut_val *target = yyjson_val_mut_copy(doc, parse(arena, rows[i].target)), *got = NULL;
        int rc = apply(doc, arena, target, parse(arena, rows[i].patch), &got, &err);
        const char *text = rc < 0 ? NULL : lab_json_write(arena, got, NULL);
        if (!kb_streq_null(text, rows[i].want))
            fail_msg("%s + %s: got %s, want %s", rows[i].target, rows[i].patch, text ? text : err.message,
                     rows[i].want ? rows[i].want : "a failure");
    }
}

static int merge(yyjson_mut_doc *doc, struct kb_arena *arena, yyjson_mut_val *target, yyjson_val *patch,
                 yyjson_mut_val **ret, struct kube_error *reterr)
{
    (void)arena;
    (void)reterr;
    *ret = lab_patch_merge(doc, target, patch);
    return 0;
}

static void a_merge_patch_follows_rfc_7396(void **state)
{
    static const struct row rows[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };
    (void)state;
    check_rows(rows, KB_ARRAY_LEN(rows), merge);
}

static void a_json_patch_follows_rfc_6902(void **state)
{
    static const struct row rows[] = {
        {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":2}]", "{\"a\":1,\"b\":2}"},
        {"{\"a\":[1,3]}", "[{\"op\":\"add\",\"path\":\"/a/1\",\"value\":2}]", "{\"a\":[1,2,3]}"},
        {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/-\",\"value\":2}]", "{\"a\":[1,2]}"},
        {"{\"a\":[1]}", "[{\"op\":\"add\",\"path\":\"/a/3\",\"value\":2}]", NULL},
        {"{\"a\":{\"x/y\":1,\"x~y\":2}}",
         "[{\"op\":\"remove\",\"path\":\"/a/x~1y\"},{\"op\":\"replace\",\"path\":\"/a/x~0y\",\"value\":3}]",
         "{\"a\":{\"x~y\":3}}"},
        {"{\"a\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/a/0\"}]", "{\"a\":[2]}"},
        {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"}]", "{\"b\":1}"},
        {"{\"a\":{\"c\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]",
         "{\"a\":{\"c\":1},\"b\":{\"c\":1}}"},
        {"{\"a\":{\"b\":1,\"c\":2}}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"c\":2,\"b\":1}}]",
         "{\"a\":{\"b\":1,\"c\":2}}"},
        {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]", NULL},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"z\":1}}]", "{\"z\":1}"},
        {"{}", "[{\"op\":\"dance\",\"path\":\"/a\"}]", NULL},
        {"{}", "{}", NULL},
    };
    (void)state;
    check_rows(rows, KB_ARRAY_LEN(rows), lab_patch_json);
}

/* n times `text`, and `then`. */
static const char *times(struct kb_arena *arena, size_t n, const char *text, const char *then)
{
    struct kb_strbuf out = {.arena = arena};
    for (size_t i = 0; i < n; i++)
        kb_strbuf_puts(&out, text);
    kb_strbuf_puts(&out, then);
    return kb_strbuf_text(&out);
}

static void a_json_patch_that_grows_without_bounds_fails(void **state)
{
#define COPY  "{\"op\":\"copy\",\"from\":\"\",\"path\":\"/a\"},"
#define AGAIN "{\"op\":\"test\",\"path\":\"/b\",\"value\":1}"
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const char *document = times(arena, 1, "{\"b\":1,\"c\":\"", times(arena, 1000, "0123456789", "\"}"));
    const char *brackets = times(arena, LAB_MAX_DEPTH - 2, "[", times(arena, LAB_MAX_DEPTH - 2, "]", "}]"));
    const struct row rows[] = {
        {document, times(arena, 1, "[", times(arena, 300, COPY, AGAIN "]")), NULL},
        {document, times(arena, 1, "[", times(arena, 10000, AGAIN ",", AGAIN "]")), NULL},
        {"{\"a\":{\"a\":{}}}", times(arena, 1, "[{\"op\":\"add\",\"path\":\"/a/a/b\",\"value\":", brackets), NULL},
    };
    (void)state;
    check_rows(rows, KB_ARRAY_LEN(rows), lab_patch_json);
}

static void what_is_nested_too_deep_is_refused(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct kube_error error = {0};
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        size_t depth = LAB_MAX_DEPTH + extra;
        const char *text = times(arena, depth, "[", times(arena, depth, "]", ""));
        yyjson_val *value = lab_json_parse(arena, text, strlen(text), &error);
        assert_int_equal(value == NULL, extra == 1);
    }
    assert_non_null(strstr(error.message, "exceeded max depth"));
    const char *flat = times(arena, 1, "\"\\\"", times(arena, 2 * LAB_MAX_DEPTH, "[", "\""));
    assert_non_null(lab_json_parse(arena, flat, strlen(flat), &error));
}

static void a_json_patch_is_as_lenient_as_the_api_servers(void **state)
{
    static const struct row rows[] = {
        {"{}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":1}]", "{\"a\":1}"},
        {"{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{}"},
        {"{}", "[{\"op\":\"test\",\"path\":\"/a\"}]", "{}"},
        {"{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", NULL},
        {"{}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", NULL},
        {"{}", "[{\"op\":\"test\",\"path\":\"/a/b\",\"value\":null}]", NULL},
    };
    (void)state;
    check_rows(rows, KB_ARRAY_LEN(rows), lab_patch_json);
}

static void a_strategic_patch_merges_lists_by_their_keys(void **state)
{
    static const struct row rows[] = {
        {"{\"containers\":[{\"name\":\"a\",\"image\":\"x\"},{\"name\":\"b\"}]}",
         "{\"containers\":[{\"name\":\"a\",\"image\":\"y\"},{\"name\":\"c\"}]}",
         "{\"containers\":[{\"name\":\"a\",\"image\":\"y\"},{\"name\":\"c\"},{\"name\":\"b\"}]}"},
        {"{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}",
         "{\"containers\":[{\"name\":\"a\",\"$patch\":\"delete\"}]}", "{\"containers\":[{\"name\":\"b\"}]}"},
        {"{\"containers\":[{\"name\":\"a\"}]}", "{\"containers\":[{\"$patch\":\"replace\"},{\"name\":\"z\"}]}",
         "{\"containers\":[{\"name\":\"z\"}]}"},
        {"{\"finalizers\":[\"a\"]}", "{\"finalizers\":[\"b\",\"a\"]}", "{\"finalizers\":[\"b\",\"a\"]}"},
        {"{\"finalizers\":[\"a\",\"b\"]}", "{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}",
         "{\"finalizers\":[\"b\"]}"},
        {"{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}",
         "{\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}",
         "{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}"},
        {"{\"strategy\":{\"type\":\"a\",\"more\":{}}}", "{\"strategy\":{\"$retainKeys\":[\"type\"],\"type\":\"b\"}}",
         "{\"strategy\":{\"type\":\"b\"}}"},
        {"{\"tolerations\":[{\"key\":\"a\"}]}", "{\"tolerations\":[{\"key\":\"b\"}]}",
         "{\"tolerations\":[{\"key\":\"b\"}]}"},
        {"{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}", "{\"labels\":{\"a\":null}}", "{\"labels\":{\"b\":\"2\"}}"},
        {"{}", "{\"spec\":{\"a\":1,\"b\":null}}", "{\"spec\":{\"a\":1}}"},
        {"{\"a\":{\"b\":1}}", "{\"a\":{\"$patch\":\"replace\",\"c\":2}}", "{\"a\":{\"c\":2}}"},
        {"{\"containers\":[{\"name\":\"a\"}]}", "{\"containers\":[{\"image\":\"x\"}]}", NULL},
    };
    (void)state;
    check_rows(rows, KB_ARRAY_LEN(rows), lab_patch_strategic);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_patch_follows_rfc_7396),
        cmocka_unit_test(a_json_patch_follows_rfc_6902),
        cmocka_unit_test(a_json_patch_that_grows_without_bounds_fails),
        cmocka_unit_test(what_is_nested_too_deep_is_refused),
        cmocka_unit_test(a_json_patch_is_as_lenient_as_the_api_servers),
        cmocka_unit_test(a_strategic_patch_merges_lists_by_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
