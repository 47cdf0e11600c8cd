/*
 * Validation of containers: names, images, ports, environment, mounts, probes, resources, security contexts.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/json.h"
#include "lab/names.h"
#include "lab/validate.h"

struct strings {
    size_t n;
    const char **items;
};

static const char *quoted(struct lab_pod_check *c, const char *text)
{
    return kb_quote(c->arena, text);
}

void lab_validate_one_of(struct lab_pod_check *c, yyjson_mut_val *object, const char *key, const char *path,
                         const char *const *allowed, size_t n)
{
    const char *text = lab_mut_str(object, key);
    struct kb_strbuf b = {.arena = c->arena};
    if (!*text || kb_in_list(text, allowed, n))
        return;
    for (size_t i = 0; i < n; i++)
        kb_strbuf_printf(&b, "%s\"%s\"", i ? ", " : "", allowed[i]);
    lab_cause_unsupported(c->call, LAB_PATH(c, "%s.%s", path, key), quoted(c, text), kb_strbuf_text(&b));
}

/* -- resources */

static bool is_hugepages(const char *name)
{
    return kb_starts_with(name, "hugepages-");
}

static bool is_standard(const char *name)
{
    return kb_streq(name, "cpu") || kb_streq(name, "memory") || kb_streq(name, "ephemeral-storage") ||
           is_hugepages(name);
}

/* Extended resources are counted in whole ones and can't be overcommitted; nor can huge pages. */
static bool is_exact(const char *name)
{
    return !is_standard(name) || is_hugepages(name);
}

void lab_validate_quantity(struct lab_pod_check *c, yyjson_mut_val *value, const char *path)
{
    struct kb_quantity q;
    const char *text = yyjson_mut_get_str(value);
    if (!text || kb_quantity_parse(text, &q, NULL) < 0) {
        lab_cause_invalid(c->call, path, lab_json_write(c->arena, value, NULL),
                          "quantities must match the regular expression "
                          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
        return;
    }
    if (q.nano < 0)
        lab_cause_invalid(c->call, path, quoted(c, text), "must be greater than or equal to 0");
}

static void check_hugepages(struct lab_pod_check *c, const char *name, const char *text, const char *path)
{
    struct kb_quantity size, q = kb_quantity_of(text);
    if (kb_quantity_parse(name + strlen("hugepages-"), &size, NULL) < 0 || size.nano <= 0) {
        lab_cause_invalid(c->call, path, quoted(c, name),
                          "page size must be in the format of a positive integer "
                          "binary quantity");
        return;
    }
    if (q.nano % size.nano)
        lab_cause_invalid(c->call, path, quoted(c, text),
                          LAB_PATH(c, "%s is not positive integer multiple of %s", text, name));
}

static void check_resource(struct lab_pod_check *c, yyjson_mut_val *key, yyjson_mut_val *value, const char *path)
{
    const char *name = yyjson_mut_get_str(key), *text = yyjson_mut_get_str(value);
    const char *wrong = lab_qualified_name_check(name);
    if (wrong)
        lab_cause_invalid(c->call, path, quoted(c, name), wrong);
    else if (!is_standard(name) && !strchr(name, '/')) {
        lab_cause_invalid(c->call, path, quoted(c, name), "must be a standard resource type or fully qualified");
        lab_cause_invalid(c->call, path, quoted(c, name), "must be a standard resource for containers");
    }
    size_t before = c->call->failure.n;
    lab_validate_quantity(c, value, path);
    if (c->call->failure.n > before)
        return;
    if (is_hugepages(name))
        check_hugepages(c, name, text, path);
    else if (!is_standard(name) && kb_quantity_of(text).nano % 1000000000)
        lab_cause_invalid(c->call, path, quoted(c, text), "must be an integer");
}

static void compare_lists(struct lab_pod_check *c, yyjson_mut_val *limits, yyjson_mut_val *requests, const char *path)
{
    size_t i, n;
    yyjson_mut_val *key, *value;
    bool huge = false, plain = false;
    yyjson_mut_obj_foreach(requests, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key), *request = yyjson_mut_get_str(value);
        const char *limit = yyjson_mut_get_str(yyjson_mut_obj_get(limits, name));
        const char *at = LAB_PATH(c, "%s.requests", path);
        huge |= is_hugepages(name);
        plain |= kb_streq(name, "cpu") || kb_streq(name, "memory");
        if (!request)
            continue;
        if (limit && kb_quantity_compare(kb_quantity_of(request), kb_quantity_of(limit)) > 0)
            lab_cause_invalid(c->call, at, quoted(c, request),
                              LAB_PATH(c, "must be less than or equal to %s limit of %s", name, limit));
        else if (is_exact(name) && !limit)
            lab_cause_required(c->call, LAB_PATH(c, "%s.limits", path),
                               LAB_PATH(c, "Limit must be set for non overcommitable resources"));
        else if (is_exact(name) && kb_quantity_compare(kb_quantity_of(request), kb_quantity_of(limit)))
            lab_cause_invalid(c->call, at, quoted(c, request),
                              LAB_PATH(c, "must be equal to %s limit of %s", name, limit));
    }
    yyjson_mut_obj_foreach(limits, i, n, key, value)
    {
        huge |= is_hugepages(yyjson_mut_get_str(key));
        plain |= kb_streq(yyjson_mut_get_str(key), "cpu") || kb_streq(yyjson_mut_get_str(key), "memory");
    }
    if (huge && !plain)
        lab_cause_forbidden(c->call, path, "HugePages require cpu or memory");
}

void lab_validate_resources(struct lab_pod_check *c, yyjson_mut_val *resources, const char *path)
{
    static const char *const members[] = {"limits", "requests"};
    size_t i, n;
    yyjson_mut_val *key, *value;
    for (size_t k = 0; k < KB_ARRAY_LEN(members); k++)
        yyjson_mut_obj_foreach(yyjson_mut_obj_get(resources, members[k]), i, n, key, value)
        {
            check_resource(c, key, value, LAB_PATH(c, "%s.%s[%s]", path, members[k], yyjson_mut_get_str(key) ?: ""));
        }
    compare_lists(c, yyjson_mut_obj_get(resources, "limits"), yyjson_mut_obj_get(resources, "requests"), path);
}

/* -- ports and environment */

static void check_port_number(struct lab_pod_check *c, yyjson_mut_val *value, const char *path)
{
    int64_t n = yyjson_mut_get_sint(value);
    if (n < 1 || n > 65535)
        lab_cause_invalid(c->call, path, LAB_PATH(c, "%lld", (long long)n), "must be between 1 and 65535, inclusive");
}

static void check_ports(struct lab_pod_check *c, yyjson_mut_val *ports, const char *path)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP"};
    struct strings names = {0};
    size_t i, n;
    yyjson_mut_val *p;
    yyjson_mut_arr_foreach(ports, i, n, p)
    {
        const char *at = LAB_PATH(c, "%s[%zu]", path, i), *name = lab_mut_str(p, "name");
        const char *wrong = *name ? lab_port_name_check(name) : NULL;
        if (wrong)
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.name", at), quoted(c, name), wrong);
        else if (*name && kb_in_list(name, names.items, names.n))
            lab_cause_duplicate(c->call, LAB_PATH(c, "%s.name", at), quoted(c, name));
        else if (*name)
            *kb_vec_push(c->arena, &names) = name;
        if (!yyjson_mut_get_sint(yyjson_mut_obj_get(p, "containerPort")))
            lab_cause_required(c->call, LAB_PATH(c, "%s.containerPort", at), "");
        else
            check_port_number(c, yyjson_mut_obj_get(p, "containerPort"), LAB_PATH(c, "%s.containerPort", at));
        if (yyjson_mut_obj_get(p, "hostPort"))
            check_port_number(c, yyjson_mut_obj_get(p, "hostPort"), LAB_PATH(c, "%s.hostPort", at));
        lab_validate_one_of(c, p, "protocol", at, protocols, KB_ARRAY_LEN(protocols));
    }
}

static void check_env_source(struct lab_pod_check *c, yyjson_mut_val *e, const char *path)
{
    static const char *const sources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef",
                                          "fileKeyRef"};
    yyjson_mut_val *from = yyjson_mut_obj_get(e, "valueFrom");
    size_t n = 0;
    if (!from)
        return;
    for (size_t i = 0; i < KB_ARRAY_LEN(sources); i++)
        n += yyjson_mut_obj_get(from, sources[i]) != NULL;
    if (n != 1)
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.valueFrom", path), "\"\"",
                          n ? "may not have more than one field specified at a time"
                            : "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                              "`secretKeyRef` or `fileKeyRef`");
    if (*lab_mut_str(e, "value"))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.valueFrom", path), "\"\"",
                          "may not be specified when `value` is not empty");
    yyjson_mut_val *field = yyjson_mut_obj_get(from, "fieldRef");
    if (field && !*lab_mut_str(field, "fieldPath"))
        lab_cause_required(c->call, LAB_PATH(c, "%s.valueFrom.fieldRef.fieldPath", path), "");
}

static void check_env(struct lab_pod_check *c, yyjson_mut_val *env, const char *path)
{
    size_t i, n;
    yyjson_mut_val *e;
    yyjson_mut_arr_foreach(env, i, n, e)
    {
        const char *at = LAB_PATH(c, "%s[%zu]", path, i), *name = lab_mut_str(e, "name");
        const char *wrong = lab_env_name_check(name);
        if (!*name)
            lab_cause_required(c->call, LAB_PATH(c, "%s.name", at), "");
        else if (wrong)
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.name", at), quoted(c, name), wrong);
        yyjson_mut_val *value = yyjson_mut_obj_get(e, "value");
        if (value && !yyjson_mut_is_str(value))
            lab_cause(c->call, "FieldValueTypeInvalid", LAB_PATH(c, "%s.value", at), "Invalid value: must be a string");
        check_env_source(c, e, at);
    }
}

/* -- mounts */

static bool names_device(yyjson_mut_val *container, const char *list, const char *name)
{
    size_t i, n;
    yyjson_mut_val *m;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, list), i, n, m)
    {
        if (kb_streq(lab_mut_str(m, "name"), name))
            return true;
    }
    return false;
}

static void check_sub_path(struct lab_pod_check *c, yyjson_mut_val *m, const char *key, const char *path)
{
    const char *text = lab_mut_str(m, key);
    const char *const *parts;
    size_t n = kb_split(c->arena, text, '/', &parts);
    if (*text == '/')
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.%s", path, key), quoted(c, text), "must be a relative path");
    for (size_t i = 0; i < n; i++) {
        if (!kb_streq(parts[i], ".."))
            continue;
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.%s", path, key), quoted(c, text), "must not contain '..'");
        return;
    }
}

/* `list` is the path of all mounts: for some members the server does not say which one it means. */
static void check_mount(struct lab_pod_check *c, yyjson_mut_val *container, yyjson_mut_val *m, const char *list,
                        const char *at, struct strings *paths)
{
    static const char *const propagations[] = {"Bidirectional", "HostToContainer", "None"};
    const char *name = lab_mut_str(m, "name"), *where = lab_mut_str(m, "mountPath");
    if (!*name)
        lab_cause_required(c->call, LAB_PATH(c, "%s.name", at), "");
    else if (!lab_pod_volume(c, name))
        lab_cause_not_found(c->call, LAB_PATH(c, "%s.name", at), quoted(c, name));
    if (!*where)
        lab_cause_required(c->call, LAB_PATH(c, "%s.mountPath", at), "");
    else if (kb_in_list(where, paths->items, paths->n))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.mountPath", at), quoted(c, where), "must be unique");
    *kb_vec_push(c->arena, paths) = where;
    if (*name && names_device(container, "volumeDevices", name))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.name", at), quoted(c, name),
                          "must not already exist in volumeDevices");
    check_sub_path(c, m, "subPath", list);
    check_sub_path(c, m, "subPathExpr", list);
    if (*lab_mut_str(m, "subPath") && *lab_mut_str(m, "subPathExpr"))
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.subPathExpr", list), quoted(c, lab_mut_str(m, "subPathExpr")),
                          "subPathExpr and subPath are mutually exclusive");
    lab_validate_one_of(c, m, "mountPropagation", list, propagations, KB_ARRAY_LEN(propagations));
    bool privileged = yyjson_mut_get_bool(LAB_AT(container, "securityContext", "privileged"));
    if (kb_streq(lab_mut_str(m, "mountPropagation"), "Bidirectional") && !privileged)
        lab_cause_forbidden(c->call, LAB_PATH(c, "%s.mountPropagation", list),
                            "Bidirectional mount propagation is available only to privileged containers");
}

static void check_mounts(struct lab_pod_check *c, yyjson_mut_val *container, const char *path)
{
    struct strings paths = {0};
    size_t i, n;
    yyjson_mut_val *m;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "volumeMounts"), i, n, m)
    {
        const char *list = LAB_PATH(c, "%s.volumeMounts", path);
        check_mount(c, container, m, list, LAB_PATH(c, "%s[%zu]", list, i), &paths);
    }
}

static void check_devices(struct lab_pod_check *c, yyjson_mut_val *container, const char *path)
{
    struct strings paths = {0}, names = {0};
    size_t i, n;
    yyjson_mut_val *d;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(container, "volumeDevices"), i, n, d)
    {
        const char *at = LAB_PATH(c, "%s.volumeDevices[%zu]", path, i), *where = lab_mut_str(d, "devicePath");
        const char *name = lab_mut_str(d, "name"), *name_at = LAB_PATH(c, "%s.name", at);
        yyjson_mut_val *volume = lab_pod_volume(c, name);
        if (!*name)
            lab_cause_required(c->call, name_at, "");
        else if (volume && !yyjson_mut_obj_get(volume, "persistentVolumeClaim") &&
                 !yyjson_mut_obj_get(volume, "ephemeral"))
            lab_cause_invalid(c->call, name_at, quoted(c, name),
                              "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
        else if (!volume)
            lab_cause_not_found(c->call, name_at, quoted(c, name));
        if (!*where)
            lab_cause_required(c->call, LAB_PATH(c, "%s.devicePath", at), "");
        else if (kb_in_list(where, paths.items, paths.n))
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.devicePath", at), quoted(c, where), "must be unique");
        if (*name && kb_in_list(name, names.items, names.n))
            lab_cause_invalid(c->call, name_at, quoted(c, name), "must be unique");
        if (*name && names_device(container, "volumeMounts", name))
            lab_cause_invalid(c->call, name_at, quoted(c, name), "must not already exist in volumeMounts");
        *kb_vec_push(c->arena, &paths) = where;
        *kb_vec_push(c->arena, &names) = name;
    }
}

/* -- probes and handlers */

static void check_port_reference(struct lab_pod_check *c, yyjson_mut_val *port, const char *path)
{
    const char *name = yyjson_mut_get_str(port);
    const char *wrong = name ? lab_port_name_check(name) : NULL;
    if (wrong)
        lab_cause_invalid(c->call, path, quoted(c, name), wrong);
    else if (!name)
        check_port_number(c, port, path);
}

static void check_handler(struct lab_pod_check *c, yyjson_mut_val *handler, const char *path)
{
    static const char *const kinds[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
    size_t n = 0;
    for (size_t i = 0; i < KB_ARRAY_LEN(kinds); i++) {
        yyjson_mut_val *h = yyjson_mut_obj_get(handler, kinds[i]);
        const char *at = LAB_PATH(c, "%s.%s", path, kinds[i]);
        if (!h)
            continue;
        if (n++)
            lab_cause_forbidden(c->call, at, "may not specify more than 1 handler type");
        if (kb_streq(kinds[i], "exec") && !yyjson_mut_arr_size(yyjson_mut_obj_get(h, "command")))
            lab_cause_required(c->call, LAB_PATH(c, "%s.command", at), "");
        if (kb_streq(kinds[i], "httpGet") || kb_streq(kinds[i], "tcpSocket") || kb_streq(kinds[i], "grpc"))
            check_port_reference(c, yyjson_mut_obj_get(h, "port"), LAB_PATH(c, "%s.port", at));
    }
    if (!n)
        lab_cause_required(c->call, path, "must specify a handler type");
}

static void check_probe(struct lab_pod_check *c, yyjson_mut_val *container, const char *key, const char *path)
{
    static const char *const counters[] = {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
                                           "failureThreshold"};
    yyjson_mut_val *p = yyjson_mut_obj_get(container, key);
    const char *at = LAB_PATH(c, "%s.%s", path, key);
    if (!p)
        return;
    check_handler(c, p, at);
    for (size_t i = 0; i < KB_ARRAY_LEN(counters); i++) {
        yyjson_mut_val *v = yyjson_mut_obj_get(p, counters[i]);
        if (v && yyjson_mut_get_sint(v) < 0)
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.%s", at, counters[i]), lab_json_write(c->arena, v, NULL),
                              "must be greater than or equal to 0");
    }
    yyjson_mut_val *success = yyjson_mut_obj_get(p, "successThreshold");
    if (!kb_streq(key, "readinessProbe") && success && yyjson_mut_get_sint(success) != 1)
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.successThreshold", at), lab_json_write(c->arena, success, NULL),
                          "must be 1");
}

static void check_lifecycle(struct lab_pod_check *c, yyjson_mut_val *container, const char *path)
{
    static const char *const hooks[] = {"postStart", "preStop"};
    yyjson_mut_val *lifecycle = yyjson_mut_obj_get(container, "lifecycle");
    for (size_t i = 0; i < KB_ARRAY_LEN(hooks); i++)
        if (yyjson_mut_obj_get(lifecycle, hooks[i]))
            check_handler(c, yyjson_mut_obj_get(lifecycle, hooks[i]), LAB_PATH(c, "%s.lifecycle.%s", path, hooks[i]));
}

/* -- security context */

static void check_security(struct lab_pod_check *c, yyjson_mut_val *container, const char *path)
{
    static const char *const ids[] = {"runAsUser", "runAsGroup"};
    static const char *const profiles[] = {"Localhost", "RuntimeDefault", "Unconfined"};
    static const char *const mounts[] = {"Default", "Unmasked"};
    yyjson_mut_val *s = yyjson_mut_obj_get(container, "securityContext");
    const char *at = LAB_PATH(c, "%s.securityContext", path);
    for (size_t i = 0; i < KB_ARRAY_LEN(ids); i++) {
        yyjson_mut_val *v = yyjson_mut_obj_get(s, ids[i]);
        int64_t id = yyjson_mut_get_sint(v);
        if (v && (id < 0 || id > INT32_MAX))
            lab_cause_invalid(c->call, LAB_PATH(c, "%s.%s", at, ids[i]), LAB_PATH(c, "%lld", (long long)id),
                              "must be between 0 and 2147483647, inclusive");
    }
    lab_validate_one_of(c, yyjson_mut_obj_get(s, "seccompProfile"), "type", LAB_PATH(c, "%s.seccompProfile", at),
                        profiles, KB_ARRAY_LEN(profiles));
    lab_validate_one_of(c, s, "procMount", at, mounts, KB_ARRAY_LEN(mounts));
    yyjson_mut_val *escalate = yyjson_mut_obj_get(s, "allowPrivilegeEscalation");
    if (escalate && !yyjson_mut_get_bool(escalate) && yyjson_mut_get_bool(yyjson_mut_obj_get(s, "privileged")))
        lab_cause_invalid(c->call, at, lab_json_write(c->arena, s, NULL),
                          "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
}

static void check_names(struct lab_pod_check *c, yyjson_mut_val *container, const char *path, struct strings *names)
{
    const char *name = lab_mut_str(container, "name"), *image = lab_mut_str(container, "image");
    const char *wrong = lab_dns1123_label_check(name);
    if (!*name)
        lab_cause_required(c->call, LAB_PATH(c, "%s.name", path), "");
    else if (wrong)
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.name", path), quoted(c, name), wrong);
    else if (kb_in_list(name, names->items, names->n))
        lab_cause_duplicate(c->call, LAB_PATH(c, "%s.name", path), quoted(c, name));
    *kb_vec_push(c->arena, names) = name;
    if (!*image)
        lab_cause_required(c->call, LAB_PATH(c, "%s.image", path), "");
    else if (*image == ' ' || image[strlen(image) - 1] == ' ')
        lab_cause_invalid(c->call, LAB_PATH(c, "%s.image", path), quoted(c, image),
                          "must not have leading or trailing whitespace");
}

/* Probes of init containers make sense only when they keep running. */
static void check_probes(struct lab_pod_check *c, yyjson_mut_val *container, const char *path, bool init)
{
    static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};
    bool sidecar = kb_streq(lab_mut_str(container, "restartPolicy"), "Always");
    if (!init || sidecar) {
        check_lifecycle(c, container, path);
        for (size_t k = 0; k < KB_ARRAY_LEN(probes); k++)
            check_probe(c, container, probes[k], path);
        return;
    }
    if (yyjson_mut_obj_get(container, "lifecycle"))
        lab_cause_forbidden(c->call, LAB_PATH(c, "%s.lifecycle", path),
                            "may not be set for init containers without restartPolicy=Always");
    for (size_t k = 0; k < KB_ARRAY_LEN(probes); k++)
        if (yyjson_mut_obj_get(container, probes[k]))
            lab_cause_forbidden(c->call, LAB_PATH(c, "%s.%s", path, probes[k]),
                                "may not be set for init containers without restartPolicy=Always");
}

void lab_validate_containers(struct lab_pod_check *c, const char *path, yyjson_mut_val *list, bool init)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never"};
    static const char *const restarts[] = {"Always", "Never", "OnFailure"};
    static const char *const messages[] = {"File", "FallbackToLogsOnError"};
    struct strings names = {0};
    size_t i, n;
    yyjson_mut_val *k;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(c->spec, "containers"), i, n, k)
    {
        if (init) /* no init container may be called as one of these */
            *kb_vec_push(c->arena, &names) = lab_mut_str(k, "name");
    }
    yyjson_mut_arr_foreach(list, i, n, k)
    {
        const char *at = LAB_PATH(c, "%s[%zu]", path, i);
        check_names(c, k, at, &names);
        lab_validate_one_of(c, k, "terminationMessagePolicy", at, messages, KB_ARRAY_LEN(messages));
        lab_validate_one_of(c, k, "imagePullPolicy", at, policies, KB_ARRAY_LEN(policies));
        check_ports(c, yyjson_mut_obj_get(k, "ports"), LAB_PATH(c, "%s.ports", at));
        check_env(c, yyjson_mut_obj_get(k, "env"), LAB_PATH(c, "%s.env", at));
        check_mounts(c, k, at);
        check_devices(c, k, at);
        lab_validate_resources(c, yyjson_mut_obj_get(k, "resources"), LAB_PATH(c, "%s.resources", at));
        check_security(c, k, at);
        lab_validate_one_of(c, k, "restartPolicy", at, restarts, KB_ARRAY_LEN(restarts));
        check_probes(c, k, at, init);
    }
}
