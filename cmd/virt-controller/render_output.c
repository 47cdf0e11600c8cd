/*
 * Pods as YAML documents, or as a JSON object or list.
 */
#include "cmd/virt-controller/render_internal.h"
#include <stdlib.h>

/* Without the members that only an API server fills in. */
static yyjson_mut_val *encode(yyjson_mut_doc *doc, const struct core_pod *pod)
{
    yyjson_mut_val *value = api_encode_value(doc, &core_pod_type, pod, 0);

    yyjson_mut_obj_remove_key(value, "status");
    yyjson_mut_obj_remove_key(yyjson_mut_obj_get(value, "metadata"), "creationTimestamp");
    return value;
}

static void write_json(const struct render_pods *pods, yyjson_mut_doc *doc, struct kb_strbuf *out)
{
    yyjson_mut_val *root, *items;
    char *text;
    size_t n;

    if (pods->n == 1) {
        root = encode(doc, pods->items[0]);
    } else {
        root = yyjson_mut_obj(doc);
        yyjson_mut_obj_add_str(doc, root, "apiVersion", "v1");
        yyjson_mut_obj_add_str(doc, root, "kind", "List");
        items = yyjson_mut_obj_add_arr(doc, root, "items");
        for (size_t i = 0; i < pods->n; i++)
            yyjson_mut_arr_append(items, encode(doc, pods->items[i]));
    }
    text = yyjson_mut_val_write(root, YYJSON_WRITE_PRETTY_TWO_SPACES, &n);
    kb_strbuf_append(out, text, n);
    kb_strbuf_putc(out, '\n');
    free(text);
}

void render_write_pods(const struct render_options *options, const struct render_pods *pods, struct kb_strbuf *out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    if (options->json) {
        write_json(pods, doc, out);
    } else {
        for (size_t i = 0; i < pods->n; i++) {
            if (i > 0)
                kb_strbuf_puts(out, "---\n");
            api_yaml_write(encode(doc, pods->items[i]), out);
        }
    }
    yyjson_mut_doc_free(doc);
}
