/*
 * Defaults of Pods and Pod templates.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "lab/defaults.h"
#include "lab/json.h"

static const struct lab_default pod_defaults[] = {
    LAB_STR("restartPolicy", "Always"),
    LAB_STR("dnsPolicy", "ClusterFirst"),
    LAB_STR("schedulerName", "default-scheduler"),
    LAB_INT("terminationGracePeriodSeconds", 30),
    LAB_OBJECT("securityContext"),
};

static const struct lab_default container_defaults[] = {
    LAB_STR("terminationMessagePath", "/dev/termination-log"),
    LAB_STR("terminationMessagePolicy", "File"),
    LAB_OBJECT("resources"),
};

static const struct lab_default probe_defaults[] = {
    LAB_INT("timeoutSeconds", 1),
    LAB_INT("periodSeconds", 10),
    LAB_INT("successThreshold", 1),
    LAB_INT("failureThreshold", 3),
};

static const struct lab_default http_defaults[] = {LAB_STR("path", "/"), LAB_STR("scheme", "HTTP")};
static const struct lab_default mode_defaults[] = {LAB_INT("defaultMode", 420)};
static const struct lab_default token_defaults[] = {LAB_INT("expirationSeconds", 3600)};
static const struct lab_default field_defaults[] = {LAB_STR("apiVersion", "v1")};
static const struct lab_default port_defaults[] = {LAB_STR("protocol", "TCP")};
static const struct lab_default claim_defaults[] = {LAB_STR("volumeMode", "Filesystem")};
static const struct lab_default iscsi_defaults[] = {LAB_STR("iscsiInterface", "default")};
static const struct lab_default rbd_defaults[] = {LAB_STR("pool", "rbd"), LAB_STR("user", "admin"),
                                                  LAB_STR("keyring", "/etc/ceph/keyring")};

void lab_defaults_set(struct lab_write *w, yyjson_mut_val *object, const struct lab_default *defaults, size_t n)
{
    for (size_t i = 0; yyjson_mut_is_obj(object) && i < n; i++) {
        const struct lab_default *d = &defaults[i];
        switch (d->type) {
        case LAB_DEFAULT_STR:
            lab_mut_default_str(w->doc, object, d->key, d->text);
            break;
        case LAB_DEFAULT_INT:
            lab_mut_default_int(w->doc, object, d->key, d->number);
            break;
        case LAB_DEFAULT_BOOL:
            lab_mut_default_bool(w->doc, object, d->key, d->number);
            break;
        case LAB_DEFAULT_OBJECT:
            lab_mut_object(w->doc, object, d->key);
            break;
        }
    }
}

void lab_defaults_quantities(struct lab_write *w, yyjson_mut_val *resources)
{
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(resources);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));) {
        yyjson_mut_val *v = yyjson_mut_obj_iter_get_val(key);
        const char *text = yyjson_mut_is_num(v) ? lab_json_write(w->arena, v, NULL) : yyjson_mut_get_str(v);
        struct kb_quantity q;
        if (text && kb_quantity_parse(text, &q, NULL) == 0)
            yyjson_mut_set_str(v, kb_quantity_text(w->arena, q));
    }
}

/* The tag of an image: "" when it has none. A digest counts as a tag. */
static const char *image_tag(const char *image)
{
    const char *slash = strrchr(image, '/'), *digest = strchr(image, '@');
    if (digest)
        return digest;
    const char *colon = strchr(slash ? slash : image, ':');
    return colon ? colon + 1 : "";
}

static const char *pull_policy(const char *image)
{
    const char *tag = image_tag(image);
    return !*tag || kb_streq(tag, "latest") ? "Always" : "IfNotPresent";
}

static void default_probe(struct lab_write *w, yyjson_mut_val *probe)
{
    LAB_DEFAULTS(w, probe, probe_defaults);
    LAB_DEFAULTS(w, yyjson_mut_obj_get(probe, "httpGet"), http_defaults);
    yyjson_mut_val *grpc = yyjson_mut_obj_get(probe, "grpc");
    if (grpc && !yyjson_mut_obj_get(grpc, "service"))
        lab_mut_put_str(w->doc, grpc, "service", "");
}

static void default_limits(struct lab_write *w, yyjson_mut_val *resources)
{
    yyjson_mut_val *limits = yyjson_mut_obj_get(resources, "limits");
    lab_defaults_quantities(w, limits);
    lab_defaults_quantities(w, yyjson_mut_obj_get(resources, "requests"));
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(limits, i, n, key, value)
    {
        yyjson_mut_val *requests = lab_mut_object(w->doc, resources, "requests");
        if (!yyjson_mut_obj_get(requests, yyjson_mut_get_str(key)))
            lab_mut_put(w->doc, requests, yyjson_mut_get_str(key), yyjson_mut_val_mut_copy(w->doc, value));
    }
}

static void default_env(struct lab_write *w, yyjson_mut_val *container)
{
    size_t i, n;
    yyjson_mut_val *e;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "env"), i, n, e)
    {
        LAB_DEFAULTS(w, LAB_AT(e, "valueFrom", "fieldRef"), field_defaults);
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(e, "value"), ""))
            lab_mut_drop(e, "value");
        yyjson_mut_val *field = LAB_AT(e, "valueFrom", "resourceFieldRef");
        if (field && !yyjson_mut_obj_get(field, "divisor"))
            lab_mut_put_str(w->doc, field, "divisor", "0");
    }
}

static void default_container(struct lab_write *w, yyjson_mut_val *c, bool host_network)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
    size_t i, n;
    yyjson_mut_val *p;
    LAB_DEFAULTS(w, c, container_defaults);
    lab_mut_default_str(w->doc, c, "imagePullPolicy", pull_policy(lab_mut_str(c, "image")));
    for (size_t k = 0; k < KB_ARRAY_LEN(probes); k++)
        default_probe(w, yyjson_mut_obj_get(c, probes[k]));
    LAB_DEFAULTS(w, LAB_AT(c, "lifecycle", "postStart", "httpGet"), http_defaults);
    LAB_DEFAULTS(w, LAB_AT(c, "lifecycle", "preStop", "httpGet"), http_defaults);
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(c, "ports"), i, n, p)
    {
        LAB_DEFAULTS(w, p, port_defaults);
        if (host_network && !yyjson_mut_obj_get(p, "hostPort"))
            lab_mut_put_int(w->doc, p, "hostPort", yyjson_mut_get_sint(yyjson_mut_obj_get(p, "containerPort")));
    }
    default_env(w, c);
    default_limits(w, yyjson_mut_obj_get(c, "resources"));
}

static void default_downward(struct lab_write *w, yyjson_mut_val *source)
{
    size_t i, n;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(source, "items"), i, n, item)
    {
        LAB_DEFAULTS(w, yyjson_mut_obj_get(item, "fieldRef"), field_defaults);
        yyjson_mut_val *field = yyjson_mut_obj_get(item, "resourceFieldRef");
        if (field && !yyjson_mut_obj_get(field, "divisor"))
            lab_mut_put_str(w->doc, field, "divisor", "0");
    }
}

static void default_volume(struct lab_write *w, yyjson_mut_val *v)
{
    static const char *const with_mode[] = {"secret", "configMap", "downwardAPI", "projected"};
    size_t i, n;
    yyjson_mut_val *source;
    if (yyjson_mut_obj_size(v) == (yyjson_mut_obj_get(v, "name") ? 1u : 0u))
        lab_mut_object(w->doc, v, "emptyDir");
    for (size_t k = 0; k < KB_ARRAY_LEN(with_mode); k++)
        LAB_DEFAULTS(w, yyjson_mut_obj_get(v, with_mode[k]), mode_defaults);
    yyjson_mut_val *path = yyjson_mut_obj_get(v, "hostPath");
    if (path && !yyjson_mut_obj_get(path, "type"))
        lab_mut_put_str(w->doc, path, "type", "");
    default_downward(w, yyjson_mut_obj_get(v, "downwardAPI"));
    yyjson_mut_arr_foreach(LAB_AT(v, "projected", "sources"), i, n, source)
    {
        LAB_DEFAULTS(w, yyjson_mut_obj_get(source, "serviceAccountToken"), token_defaults);
        default_downward(w, yyjson_mut_obj_get(source, "downwardAPI"));
    }
    LAB_DEFAULTS(w, yyjson_mut_obj_get(v, "iscsi"), iscsi_defaults);
    LAB_DEFAULTS(w, yyjson_mut_obj_get(v, "rbd"), rbd_defaults);
    LAB_DEFAULTS(w, LAB_AT(v, "ephemeral", "volumeClaimTemplate", "spec"), claim_defaults);
    yyjson_mut_val *image = yyjson_mut_obj_get(v, "image");
    if (image)
        lab_mut_default_str(w->doc, image, "pullPolicy", pull_policy(lab_mut_str(image, "reference")));
    yyjson_mut_val *limit = yyjson_mut_obj_get(v, "emptyDir");
    struct kb_quantity q;
    if (*lab_mut_str(limit, "sizeLimit") && kb_quantity_parse(lab_mut_str(limit, "sizeLimit"), &q, NULL) == 0)
        lab_mut_put_str(w->doc, limit, "sizeLimit", kb_quantity_text(w->arena, q));
    if (yyjson_mut_equals_str(yyjson_mut_obj_get(limit, "medium"), ""))
        lab_mut_drop(limit, "medium");
}

void lab_defaults_pod_spec(struct lab_write *w, yyjson_mut_val *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};
    size_t i, n;
    yyjson_mut_val *item;
    bool host_network = yyjson_mut_get_bool(yyjson_mut_obj_get(spec, "hostNetwork"));
    LAB_DEFAULTS(w, spec, pod_defaults);
    for (size_t k = 0; k < KB_ARRAY_LEN(lists); k++)
        yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, lists[k]), i, n, item)
        {
            default_container(w, item, host_network);
        }
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, "volumes"), i, n, item)
    {
        default_volume(w, item);
    }
    const char *account = lab_mut_str(spec, "serviceAccountName");
    if (*account)
        lab_mut_put_str(w->doc, spec, "serviceAccount", account);
    lab_defaults_quantities(w, yyjson_mut_obj_get(spec, "overhead"));
}
