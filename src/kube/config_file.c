/*
 * kubeconfig files: the current context, its cluster and its user. Fields are rows of tables; errors name the field by
 * its path in the file ("users[ann].client-key-data: ...").
 */
#include "api/codec.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/config_internal.h"
#include <stddef.h>
#include <string.h>

enum field_kind { FIELD_TEXT, FIELD_PATH, FIELD_DATA, FIELD_BOOL };

struct field_row {
    const char *json;
    enum field_kind kind;
    size_t offset; /* in struct kube_config: const char * or bool */
};

#define ROW(json, kind, member)                                                                                        \
    {                                                                                                                  \
        json, kind, offsetof(struct kube_config, member)                                                               \
    }

static const struct field_row cluster_rows[] = {
    ROW("certificate-authority", FIELD_PATH, ca_file),
    ROW("certificate-authority-data", FIELD_DATA, ca_data),
    ROW("insecure-skip-tls-verify", FIELD_BOOL, insecure_skip_tls_verify),
    ROW("tls-server-name", FIELD_TEXT, tls_server_name),
    ROW("proxy-url", FIELD_TEXT, proxy_url),
};

static const struct field_row user_rows[] = {
    ROW("client-certificate", FIELD_PATH, client_cert_file),
    ROW("client-certificate-data", FIELD_DATA, client_cert_data),
    ROW("client-key", FIELD_PATH, client_key_file),
    ROW("client-key-data", FIELD_DATA, client_key_data),
    ROW("token", FIELD_TEXT, token),
    ROW("tokenFile", FIELD_PATH, token_file),
    ROW("username", FIELD_TEXT, username),
    ROW("password", FIELD_TEXT, password),
};

struct parser {
    struct kube_config *config;
    const char *directory; /* of the file */
    const char *master;    /* or NULL */
    bool seen;             /* the file had a document */
};

#define REFUSE(...) return kube_error_set(reterr, KUBE_ERROR_INVALID, __VA_ARGS__)

/* ---- members ---- */

static const char *type_name(yyjson_val *value)
{
    static const char *const names[] = {
        [YYJSON_TYPE_NULL] = "null",    [YYJSON_TYPE_BOOL] = "a boolean", [YYJSON_TYPE_NUM] = "a number",
        [YYJSON_TYPE_STR] = "a string", [YYJSON_TYPE_ARR] = "a list",     [YYJSON_TYPE_OBJ] = "an object"};
    yyjson_type type = yyjson_get_type(value);
    return type < KB_ARRAY_LEN(names) && names[type] ? names[type] : "something else";
}

/* NULL when absent, null or ""; negative when it is something else. Borrowed from the document. */
static int get_text(yyjson_val *object, const char *name, const char **ret, struct kube_error *reterr)
{
    yyjson_val *value = yyjson_obj_get(object, name);
    const char *text = yyjson_get_str(value);
    if (value && !text && !yyjson_is_null(value))
        REFUSE("%s: expected a string, got %s", name, type_name(value));
    *ret = kb_empty(text) ? NULL : text;
    return 0;
}

static const char *resolve(struct kube_config *config, const char *directory, const char *path)
{
    if (path[0] == '/' || kb_empty(directory))
        return kb_arena_strdup(config->arena, path);
    return kb_arena_printf(config->arena, "%s/%s", directory, path);
}

static int read_bool(yyjson_val *object, const struct field_row *row, bool *ret, struct kube_error *reterr)
{
    yyjson_val *value = yyjson_obj_get(object, row->json);
    if (value && !yyjson_is_bool(value) && !yyjson_is_null(value))
        REFUSE("%s: expected true or false, got %s", row->json, type_name(value));
    *ret = yyjson_get_bool(value);
    return 0;
}

static int read_row(struct parser *p, yyjson_val *object, const struct field_row *row, struct kube_error *reterr)
{
    struct kube_config *config = p->config;
    void *target = (char *)config + row->offset;
    const char *text = NULL;
    if (row->kind == FIELD_BOOL)
        return read_bool(object, row, target, reterr);
    int r = get_text(object, row->json, &text, reterr);
    if (r < 0 || !text)
        return r;
    size_t n = 0;
    const char *value = NULL;
    switch (row->kind) {
    case FIELD_PATH:
        value = resolve(config, p->directory, text);
        break;
    case FIELD_DATA:
        value = (const char *)kb_base64_decode(config->arena, text, &n);
        value = value ? kb_arena_strndup(config->arena, value, n) : NULL;
        break;
    case FIELD_TEXT:
    case FIELD_BOOL:
        value = kb_arena_strdup(config->arena, text);
        break;
    }
    if (!value)
        REFUSE("%s: is not base64", row->json);
    *(const char **)target = value;
    return 0;
}

static int read_rows(struct parser *p, yyjson_val *object, const struct field_row *rows, size_t n,
                     struct kube_error *reterr)
{
    for (size_t i = 0; i < n; i++) {
        int r = read_row(p, object, &rows[i], reterr);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The entry of a list like clusters: [{name: NAME, cluster: {...}}]. */
static int find_named(yyjson_val *root, const char *list, const char *member, const char *name, yyjson_val **ret,
                      struct kube_error *reterr)
{
    yyjson_val *found = NULL, *entry;
    size_t i, n;
    yyjson_arr_foreach(yyjson_obj_get(root, list), i, n, entry)
    {
        if (!yyjson_equals_str(yyjson_obj_get(entry, "name"), name))
            continue;
        if (found)
            REFUSE("%s[%s]: the name is there twice", list, name);
        found = entry;
    }
    if (!found)
        REFUSE("%s: has no entry named \"%s\"", list, name);
    *ret = yyjson_obj_get(found, member);
    if (*ret && !yyjson_is_obj(*ret) && !yyjson_is_null(*ret))
        REFUSE("%s[%s].%s: expected an object, got %s", list, name, member, type_name(*ret));
    return 0;
}

/* ---- exec ---- */

struct texts {
    size_t n;
    const char **items;
};

static int read_texts(struct kb_arena *arena, yyjson_val *object, const char *name, struct texts *ret,
                      struct kube_error *reterr)
{
    yyjson_val *list = yyjson_obj_get(object, name), *item;
    size_t i, n;
    if (list && !yyjson_is_arr(list) && !yyjson_is_null(list))
        REFUSE("%s: expected a list, got %s", name, type_name(list));
    yyjson_arr_foreach(list, i, n, item)
    {
        if (!yyjson_is_str(item))
            REFUSE("%s[%zu]: expected a string, got %s", name, i, type_name(item));
        *kb_vec_push(arena, ret) = kb_arena_strdup(arena, yyjson_get_str(item));
    }
    return 0;
}

static int read_env(struct kb_arena *arena, yyjson_val *exec, struct texts *ret, struct kube_error *reterr)
{
    yyjson_val *item;
    size_t i, n;
    yyjson_arr_foreach(yyjson_obj_get(exec, "env"), i, n, item)
    {
        const char *name, *value;
        if (get_text(item, "name", &name, reterr) < 0 || get_text(item, "value", &value, reterr) < 0)
            return kube_error_wrap(reterr, "env[%zu]", i);
        if (!name || strchr(name, '='))
            REFUSE("env[%zu].name: must be there and have no '='", i);
        *kb_vec_push(arena, ret) = kb_arena_printf(arena, "%s=%s", name, value ? value : "");
    }
    return 0;
}

static const char **terminated(struct kb_arena *arena, struct texts *texts)
{
    *kb_vec_push(arena, texts) = NULL;
    return texts->items;
}

static int check_exec(const struct kube_exec_plugin *exec, const char *mode, struct kube_error *reterr)
{
    static const char *const versions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};
    static const char *const modes[] = {"Never", "IfAvailable", "Always"};
    if (!exec->command)
        REFUSE("command: is missing");
    if (!exec->api_version || !kb_in_list(exec->api_version, versions, KB_ARRAY_LEN(versions)))
        REFUSE("apiVersion: must be %s or %s", versions[0], versions[1]);
    if (mode && !kb_in_list(mode, modes, KB_ARRAY_LEN(modes)))
        REFUSE("interactiveMode: must be Never, IfAvailable or Always");
    if (!mode && kb_streq(exec->api_version, versions[0]))
        REFUSE("interactiveMode: is missing");
    if (mode && kb_streq(mode, "Always"))
        REFUSE("interactiveMode: Always is not possible here, there is nobody to ask");
    return 0;
}

static int read_exec(struct parser *p, yyjson_val *value, struct kube_error *reterr)
{
    struct kb_arena *arena = p->config->arena;
    struct kube_exec_plugin *exec = kb_arena_one(arena, struct kube_exec_plugin);
    const char *command, *version, *hint, *mode;
    struct texts args = {0}, env = {0};
    if (get_text(value, "command", &command, reterr) < 0 || get_text(value, "apiVersion", &version, reterr) < 0 ||
        get_text(value, "installHint", &hint, reterr) < 0 || get_text(value, "interactiveMode", &mode, reterr) < 0 ||
        read_texts(arena, value, "args", &args, reterr) < 0 || read_env(arena, value, &env, reterr) < 0)
        return -1;
    if (command)
        exec->command =
            strchr(command, '/') ? resolve(p->config, p->directory, command) : kb_arena_strdup(arena, command);
    exec->api_version = version ? kb_arena_strdup(arena, version) : NULL;
    exec->install_hint = hint ? kb_arena_strdup(arena, hint) : NULL;
    exec->args = terminated(arena, &args);
    exec->env = terminated(arena, &env);
    exec->provide_cluster_info = yyjson_get_bool(yyjson_obj_get(value, "provideClusterInfo"));
    p->config->exec = exec;
    return check_exec(exec, mode, reterr);
}

/* ---- impersonation ---- */

static int read_extra(struct kb_arena *arena, yyjson_val *user, struct texts *ret, struct kube_error *reterr)
{
    yyjson_val *extra = yyjson_obj_get(user, "as-user-extra"), *key, *values;
    size_t i, n;
    yyjson_obj_foreach(extra, i, n, key, values)
    {
        const char *name = yyjson_get_str(key);
        struct texts list = {0};
        if (strpbrk(name, ": \t\r\n"))
            REFUSE("as-user-extra: \"%s\" can't be part of a header's name", name);
        if (read_texts(arena, extra, name, &list, reterr) < 0)
            return kube_error_wrap(reterr, "as-user-extra");
        kb_vec_foreach (value, &list)
            *kb_vec_push(arena, ret) = kb_arena_printf(arena, "Impersonate-Extra-%s: %s", name, *value);
    }
    return 0;
}

static int read_impersonation(struct parser *p, yyjson_val *user, struct kube_error *reterr)
{
    struct kb_arena *arena = p->config->arena;
    struct texts lines = {0}, groups = {0};
    const char *name, *uid;
    if (get_text(user, "as", &name, reterr) < 0 || get_text(user, "as-uid", &uid, reterr) < 0 ||
        read_texts(arena, user, "as-groups", &groups, reterr) < 0)
        return -1;
    if (name)
        *kb_vec_push(arena, &lines) = kb_arena_printf(arena, "Impersonate-User: %s", name);
    if (uid)
        *kb_vec_push(arena, &lines) = kb_arena_printf(arena, "Impersonate-Uid: %s", uid);
    kb_vec_foreach (group, &groups)
        *kb_vec_push(arena, &lines) = kb_arena_printf(arena, "Impersonate-Group: %s", *group);
    if (read_extra(arena, user, &lines, reterr) < 0)
        return -1;
    if (lines.n > 0 && !name)
        REFUSE("as: is missing beside the other fields of impersonation");
    if (lines.n > 0)
        p->config->impersonate = terminated(arena, &lines);
    return 0;
}

/* ---- the parts of a file ---- */

static int read_cluster(struct parser *p, yyjson_val *cluster, struct kube_error *reterr)
{
    const char *server;
    int r = read_rows(p, cluster, cluster_rows, KB_ARRAY_LEN(cluster_rows), reterr);
    if (r >= 0)
        r = get_text(cluster, "server", &server, reterr);
    if (r < 0)
        return r;
    if (p->master)
        server = p->master;
    if (!server)
        REFUSE("server: is missing");
    return kube_config_set_server(p->config, server, reterr);
}

static int read_user(struct parser *p, yyjson_val *user, struct kube_error *reterr)
{
    if (yyjson_is_obj(yyjson_obj_get(user, "auth-provider")))
        REFUSE("auth-provider: is not supported; use exec");
    int r = read_rows(p, user, user_rows, KB_ARRAY_LEN(user_rows), reterr);
    if (r >= 0)
        r = read_impersonation(p, user, reterr);
    yyjson_val *exec = yyjson_obj_get(user, "exec");
    if (r >= 0 && yyjson_is_obj(exec) && read_exec(p, exec, reterr) < 0)
        r = kube_error_wrap(reterr, "exec");
    return r;
}

/* Without a current context only --master says where to go. */
static int read_without_context(struct parser *p, struct kube_error *reterr)
{
    if (!p->master)
        REFUSE("current-context: is not set");
    return kube_config_set_server(p->config, p->master, reterr);
}

static int read_context(struct parser *p, yyjson_val *root, const char *name, struct kube_error *reterr)
{
    yyjson_val *context, *cluster, *user;
    const char *cluster_name, *user_name, *namespace_;
    if (find_named(root, "contexts", "context", name, &context, reterr) < 0)
        return -1;
    if (get_text(context, "cluster", &cluster_name, reterr) < 0 || get_text(context, "user", &user_name, reterr) < 0 ||
        get_text(context, "namespace", &namespace_, reterr) < 0)
        return kube_error_wrap(reterr, "contexts[%s]", name);
    if (!cluster_name && !p->master)
        REFUSE("contexts[%s].cluster: is missing", name);
    if (namespace_)
        p->config->namespace_ = kb_arena_strdup(p->config->arena, namespace_);
    if (user_name) {
        if (find_named(root, "users", "user", user_name, &user, reterr) < 0)
            return -1;
        if (read_user(p, user, reterr) < 0)
            return kube_error_wrap(reterr, "users[%s]", user_name);
    }
    if (!cluster_name)
        return kube_config_set_server(p->config, p->master, reterr);
    if (find_named(root, "clusters", "cluster", cluster_name, &cluster, reterr) < 0)
        return -1;
    return read_cluster(p, cluster, reterr) < 0 ? kube_error_wrap(reterr, "clusters[%s]", cluster_name) : 0;
}

static int check_kind(yyjson_val *root, struct kube_error *reterr)
{
    const char *kind, *version;
    if (!yyjson_is_obj(root))
        REFUSE("expected an object, got %s", type_name(root));
    if (get_text(root, "kind", &kind, reterr) < 0 || get_text(root, "apiVersion", &version, reterr) < 0)
        return -1;
    if (kind && !kb_streq(kind, "Config"))
        REFUSE("kind: expected Config, got %s", kind);
    if (version && !kb_streq(version, "v1"))
        REFUSE("apiVersion: expected v1, got %s", version);
    return 0;
}

static int read_document(void *userdata, int number, yyjson_doc *doc, struct kube_error *reterr)
{
    struct parser *p = userdata;
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *current;
    if (number > 1 || p->seen)
        return 0; /* as sigs.k8s.io/yaml: the first document counts */
    p->seen = true;
    int r = check_kind(root, reterr);
    if (r >= 0)
        r = get_text(root, "current-context", &current, reterr);
    if (r < 0)
        return r;
    return current ? read_context(p, root, current, reterr) : read_without_context(p, reterr);
}

int kube_config_parse_file(const char *yaml, size_t n, const char *directory, const char *master,
                           struct kube_config **ret, struct kube_error *reterr)
{
    struct parser p = {.config = kube_config_new(), .directory = directory, .master = kb_empty(master) ? NULL : master};
    int r = api_yaml_read(yaml, n, read_document, &p, reterr);
    if (r >= 0 && !p.seen)
        r = read_without_context(&p, reterr);
    if (r >= 0)
        r = kube_config_check(p.config, reterr);
    if (r < 0) {
        kube_config_free(p.config);
        return r;
    }
    *ret = p.config;
    return 0;
}
