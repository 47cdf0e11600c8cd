/*
 * Reads arbitrary bytes as YAML. What is accepted must come back the same when it is written and read again.
 */
#include "api/codec.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int compare(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    (void)number;
    (void)reterr;
    if (!yyjson_equals(userdata, yyjson_doc_get_root(doc)))
        abort();
    return 0;
}

/* True when there is a number that is not an integer of 64 bits: its text need not come back. */
static bool is_inexact(yyjson_val *value)
{
    size_t i, n;
    yyjson_val *key, *item;

    yyjson_arr_foreach(value, i, n, item)
    {
        if (is_inexact(item))
            return true;
    }
    yyjson_obj_foreach(value, i, n, key, item)
    {
        if (is_inexact(item))
            return true;
    }
    return yyjson_is_raw(value) || yyjson_is_real(value);
}

static int write_again(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    struct kb_strbuf yaml = {0};
    struct kube_error error = {0};

    (void)userdata;
    (void)number;
    (void)reterr;
    api_yaml_write(yyjson_mut_doc_get_root(copy), &yaml);
    if (!is_inexact(yyjson_doc_get_root(doc)) &&
        api_yaml_read(yaml.data, yaml.length, compare, yyjson_doc_get_root(doc), &error) < 0)
        abort();
    kb_strbuf_done(&yaml);
    yyjson_mut_doc_free(copy);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct kube_error error = {0};

    if (api_yaml_read((const char *)bytes, n, write_again, NULL, &error) < 0 && !error.message[0])
        abort();
    return 0;
}
