/*
 * Discovery: whether a group version serves a resource.
 */
#include "base/strings.h"
#include "kube/client.h"

static bool lists(yyjson_val *resource_list, const char *plural)
{
    size_t i, n;
    yyjson_val *resource;
    yyjson_arr_foreach(yyjson_obj_get(resource_list, "resources"), i, n, resource)
    {
        if (yyjson_equals_str(yyjson_obj_get(resource, "name"), plural))
            return true;
    }
    return false;
}

int kube_discover_resource(struct kube_client *client, const char *group, const char *version, const char *plural,
                           struct kube_error *reterr)
{
    kb_cleanup_free char *path = kb_asprintf("%s%s/%s", *group ? "/apis/" : "/api", group, version);
    kb_cleanup_strbuf struct kb_strbuf answer = {0};
    struct kube_error error;
    if (kube_call_path(client, path, &answer, &error) < 0) {
        if (kube_error_is_not_found(&error))
            return 0;
        if (reterr)
            *reterr = error;
        return kube_error_wrap(reterr, "asking what %s serves", path);
    }
    yyjson_doc *doc;
    int r = api_parse(kb_strbuf_text(&answer), answer.length, &doc, reterr);
    if (r < 0)
        return kube_error_wrap(reterr, "asking what %s serves", path);
    bool found = lists(yyjson_doc_get_root(doc), plural);
    yyjson_doc_free(doc);
    return found;
}
