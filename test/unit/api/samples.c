/*
 * Reads the samples. Types that are not top-level are found as parts of those that are; the rest are named here.
 */
#include "samples.h"

#include "api/types/backup.h"
#include "api/types/kv.h"
#include "api/types/meta.h"
#include "api/types/nad.h"
#include "api/types/version.h"
#include "base/strings.h"
#include "base/vec.h"
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct api_type *const other_types[] = {
    &backup_backup_options_type,
    &kv_freeze_unfreeze_timeout_type,
    &kv_start_options_type,
    &kv_stop_options_type,
    &meta_api_group_list_type,
    &meta_api_resource_list_type,
    &meta_delete_options_type,
    &meta_list_meta_type,
    &meta_partial_object_metadata_type,
    &meta_status_type,
    &nad_network_selection_element_type,
    &nad_network_status_type,
    &version_info_type,
};

static struct {
    size_t n;
    struct sample *items;
} all;

static const struct api_type *type_named(const char *name)
{
    for (size_t i = 0; api_types[i]; i++)
        if (kb_streq(api_types[i]->name, name))
            return api_types[i];
    for (size_t i = 0; i < KB_ARRAY_LEN(other_types); i++)
        if (kb_streq(other_types[i]->name, name))
            return other_types[i];
    fail_msg("no type %s", name);
    return NULL;
}

static void add(const char *line, size_t n)
{
    struct kube_error error = {0};
    struct sample *sample;
    yyjson_doc *doc = NULL;
    yyjson_val *root;

    if (api_parse(line, n, &doc, &error) < 0)
        fail_msg("a sample: %s", error.message);
    root = yyjson_doc_get_root(doc);
    sample = kb_vec_push(NULL, &all);
    sample->doc = doc;
    sample->type = type_named(yyjson_get_str(yyjson_obj_get(root, "type")));
    sample->name = yyjson_get_str(yyjson_obj_get(root, "sample"));
    sample->object = yyjson_obj_get(root, "object");
    assert_non_null(sample->object);
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    kb_cleanup_free char *line = NULL;
    size_t size = 0;
    ssize_t n;

    assert_non_null(file);
    while ((n = getline(&line, &size, file)) > 0)
        add(line, n);
    fclose(file);
}

const struct sample *samples(size_t *ret_n)
{
    glob_t found = {0};

    if (all.n == 0) {
        assert_int_equal(glob(SAMPLES "/*.jsonl", 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++)
            read_file(found.gl_pathv[i]);
        globfree(&found);
    }
    assert_true(all.n > 100);
    *ret_n = all.n;
    return all.items;
}

int samples_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.n; i++)
        yyjson_doc_free(all.items[i].doc);
    free(all.items);
    all.items = NULL;
    all.n = 0;
    return 0;
}
