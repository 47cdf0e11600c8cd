/*
 * Members of statuses and Events that Kubernetes always shows, also when nobody set them: times as null, counts as 0.
 */
#include "lab/defaults_status.h"
#include "base/strings.h"
#include "lab/json.h"

static void default_null(struct lab_write *w, yyjson_mut_val *object, const char *key)
{
    if (!yyjson_mut_obj_get(object, key))
        lab_mut_put(w->doc, object, key, yyjson_mut_null(w->doc));
}

static void default_text(struct lab_write *w, yyjson_mut_val *object, const char *key)
{
    if (!yyjson_mut_obj_get(object, key))
        lab_mut_put_str(w->doc, object, key, "");
}

void lab_defaults_conditions(struct lab_write *w, const char *other_time)
{
    size_t i, n;
    yyjson_mut_val *c;
    yyjson_mut_arr_foreach(LAB_AT(w->root, "status", "conditions"), i, n, c)
    {
        default_null(w, c, other_time);
        default_null(w, c, "lastTransitionTime");
    }
}

static void container_status(struct lab_write *w, yyjson_mut_val *s)
{
    static const struct {
        const char *state, *times[2];
    } states[] = {{"running", {"startedAt", NULL}}, {"terminated", {"startedAt", "finishedAt"}}};
    lab_mut_default_bool(w->doc, s, "ready", false);
    lab_mut_default_int(w->doc, s, "restartCount", 0);
    default_text(w, s, "image");
    default_text(w, s, "imageID");
    lab_mut_object(w->doc, s, "state");
    lab_mut_object(w->doc, s, "lastState");
    for (size_t i = 0; i < KB_ARRAY_LEN(states); i++)
        for (size_t k = 0; k < 2 && states[i].times[k]; k++) {
            yyjson_mut_val *v = LAB_AT(s, "state", states[i].state);
            if (v)
                default_null(w, v, states[i].times[k]);
        }
}

/* podIP is the first of podIPs. */
static void mirror_address(struct lab_write *w, yyjson_mut_val *status)
{
    const char *one = lab_mut_str(status, "podIP");
    yyjson_mut_val *all = yyjson_mut_obj_get(status, "podIPs");
    if (*one && !all)
        yyjson_mut_obj_add_strcpy(
            w->doc, yyjson_mut_arr_add_obj(w->doc, yyjson_mut_obj_add_arr(w->doc, status, "podIPs")), "ip", one);
    else if (!*one && yyjson_mut_arr_size(all))
        lab_mut_put_str(w->doc, status, "podIP", lab_mut_str(yyjson_mut_arr_get_first(all), "ip"));
}

void lab_defaults_pod_status(struct lab_write *w)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"};
    yyjson_mut_val *status = yyjson_mut_obj_get(w->root, "status"), *s;
    size_t i, n;
    if (!status)
        return;
    lab_defaults_conditions(w, "lastProbeTime");
    mirror_address(w, status);
    for (size_t k = 0; k < KB_ARRAY_LEN(lists); k++)
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(status, lists[k]), i, n, s)
        {
            container_status(w, s);
        }
}

void lab_defaults_event(struct lab_write *w)
{
    static const char *const times[] = {"eventTime", "firstTimestamp", "lastTimestamp"};
    static const char *const texts[] = {"reportingComponent", "reportingInstance"};
    for (size_t i = 0; i < KB_ARRAY_LEN(times); i++)
        default_null(w, w->root, times[i]);
    for (size_t i = 0; i < KB_ARRAY_LEN(texts); i++)
        default_text(w, w->root, texts[i]);
    lab_mut_object(w->doc, w->root, "source");
    lab_mut_object(w->doc, w->root, "involvedObject");
}

void lab_validate_event(struct lab_write *w)
{
    const char *ns = lab_mut_str(yyjson_mut_obj_get(w->root, "involvedObject"), "namespace");
    if (*ns && !kb_streq(ns, lab_mut_str(w->metadata, "namespace")))
        lab_cause_invalid(w->call, "involvedObject.namespace", kb_quote(w->arena, ns),
                          "does not match event.namespace");
}

void lab_validate_revision(struct lab_write *w)
{
    yyjson_mut_val *now = yyjson_mut_obj_get(w->root, "data"), *before = lab_write_old(w, "data");
    if (w->old_root && before && !(now && yyjson_mut_equals(now, before)))
        lab_cause_invalid(w->call, "data", now ? lab_json_write(w->arena, now, NULL) : "null", "field is immutable");
}
