/*
 * The program runs with our environment, the plug-in's own additions and KUBERNETES_EXEC_INFO; it reads nothing, its
 * standard error is ours, and it is killed when it takes too long or prints too much.
 */
#include "kube/exec_plugin.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/time.h"
#include "base/vec.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#define MAX_OUTPUT (1 << 20)

extern char **environ;

void kube_exec_credential_done(struct kube_exec_credential *credential)
{
    free(credential->token);
    free(credential->cert);
    free(credential->key);
    *credential = (struct kube_exec_credential){0};
}

/* ---- what the program is told ---- */

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, const char *value)
{
    if (value)
        yyjson_mut_obj_add_strcpy(doc, object, name, value);
}

static void add_cluster(yyjson_mut_doc *doc, yyjson_mut_val *spec, const struct kube_config *config)
{
    yyjson_mut_val *cluster = yyjson_mut_obj_add_obj(doc, spec, "cluster");
    add_text(doc, cluster, "server", config->server);
    add_text(doc, cluster, "tls-server-name", config->tls_server_name);
    if (config->insecure_skip_tls_verify)
        yyjson_mut_obj_add_bool(doc, cluster, "insecure-skip-tls-verify", true);
    if (config->ca_data) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        add_text(doc, cluster, "certificate-authority-data",
                 kb_base64_encode(arena, config->ca_data, strlen(config->ca_data)));
    }
    add_text(doc, cluster, "proxy-url", config->proxy_url);
    yyjson_mut_obj_add_null(doc, cluster, "config");
}

char *kube_exec_info(const struct kube_config *config)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "kind", "ExecCredential");
    yyjson_mut_obj_add_str(doc, root, "apiVersion", config->exec->api_version);
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    if (config->exec->provide_cluster_info)
        add_cluster(doc, spec, config);
    yyjson_mut_obj_add_bool(doc, spec, "interactive", false);
    char *text = yyjson_mut_write(doc, 0, NULL);
    yyjson_mut_doc_free(doc);
    return text;
}

/* ---- what it answers ---- */

static const char *text_of(yyjson_val *object, const char *name)
{
    const char *text = yyjson_get_str(yyjson_obj_get(object, name));
    return text ? text : "";
}

static char *dup_or_null(const char *text)
{
    return *text ? kb_strdup(text) : NULL;
}

static int read_status(yyjson_val *status, struct kube_exec_credential *ret, struct kube_error *reterr)
{
    const char *token = text_of(status, "token"), *cert = text_of(status, "clientCertificateData"),
               *key = text_of(status, "clientKeyData"), *expires = text_of(status, "expirationTimestamp");
    int64_t expires_at = INT64_MAX;
    if (!*token && !*cert)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "status has neither token nor clientCertificateData");
    if (!*cert != !*key)
        return kube_error_set(reterr, KUBE_ERROR_INVALID,
                              "status needs both of clientCertificateData and clientKeyData, or none");
    if (*expires && !kb_time_parse(expires, &expires_at))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "status.expirationTimestamp is not a time: %s", expires);
    *ret = (struct kube_exec_credential){
        .token = dup_or_null(token), .cert = dup_or_null(cert), .key = dup_or_null(key), .expires_at = expires_at};
    return 0;
}

static int read_credential(yyjson_val *root, const char *api_version, struct kube_exec_credential *ret,
                           struct kube_error *reterr)
{
    if (!kb_streq(text_of(root, "kind"), "ExecCredential"))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "not an ExecCredential but \"%s\"", text_of(root, "kind"));
    if (!kb_streq(text_of(root, "apiVersion"), api_version))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "apiVersion is \"%s\" where \"%s\" was configured",
                              text_of(root, "apiVersion"), api_version);
    return read_status(yyjson_obj_get(root, "status"), ret, reterr);
}

int kube_exec_credential_parse(const char *json, size_t n, const char *api_version, struct kube_exec_credential *ret,
                               struct kube_error *reterr)
{
    yyjson_doc *doc = yyjson_read(json, n, 0);
    int r = doc ? read_credential(yyjson_doc_get_root(doc), api_version, ret, reterr)
                : kube_error_set(reterr, KUBE_ERROR_INVALID, "the output is not JSON");
    yyjson_doc_free(doc);
    return r;
}

/* ---- running it ---- */

struct child {
    pid_t pid;
    int output;
};

struct texts {
    size_t n;
    const char **items;
};

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(b, "=");
    return strncmp(a, b, n) == 0 && a[n] == '=';
}

/* Ours, without what the plug-in sets. */
static void build_environment(struct kb_arena *arena, const struct kube_config *config, struct texts *ret)
{
    struct texts added = {0};
    kb_cleanup_free char *info = kube_exec_info(config);
    *kb_vec_push(arena, &added) = kb_arena_printf(arena, "KUBERNETES_EXEC_INFO=%s", info);
    for (const char **e = config->exec->env; e && *e; e++)
        *kb_vec_push(arena, &added) = *e;
    for (char **e = environ; *e; e++) {
        bool replaced = false;
        kb_vec_foreach (a, &added)
            replaced = replaced || same_name(*e, *a);
        if (!replaced)
            *kb_vec_push(arena, ret) = *e;
    }
    kb_vec_foreach (a, &added)
        *kb_vec_push(arena, ret) = *a;
    *kb_vec_push(arena, ret) = NULL;
}

static void build_arguments(struct kb_arena *arena, const struct kube_exec_plugin *exec, struct texts *ret)
{
    *kb_vec_push(arena, ret) = exec->command;
    for (const char **a = exec->args; a && *a; a++)
        *kb_vec_push(arena, ret) = *a;
    *kb_vec_push(arena, ret) = NULL;
}

static int spawn(const struct kube_config *config, struct child *ret, struct kube_error *reterr)
{
    const struct kube_exec_plugin *exec = config->exec;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct texts arguments = {0}, environment = {0};
    build_arguments(arena, exec, &arguments);
    build_environment(arena, config, &environment);
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return kube_error_set_errno(reterr, errno, "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    int r = posix_spawnp(&ret->pid, exec->command, &actions, &attributes, (char **)arguments.items,
                         (char **)environment.items);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pipe_fds[1]);
    ret->output = pipe_fds[0];
    if (r == 0)
        return 0;
    close(pipe_fds[0]);
    kube_error_set_errno(reterr, r, "executable %s", exec->command);
    return exec->install_hint ? kube_error_wrap(reterr, "%s", exec->install_hint) : -1;
}

static int left_ms(int64_t deadline)
{
    struct kb_clock *clock = kb_clock_system();
    int64_t left = (deadline - clock->mono(clock)) / KB_NS_PER_MS;
    return left > 0 ? (int)left : 0;
}

/* Waits until `fd` (-1: nothing) can be read, at most `ms`. 1: it can; 0: not in that time. */
static int wait_for(int fd, int stop, int ms, struct kube_error *reterr)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    int r = poll(fds, 2, ms);
    if (r < 0 && errno != EINTR)
        return kube_error_set_errno(reterr, errno, "poll");
    if (r > 0 && fds[1].revents)
        return kube_error_set(reterr, KUBE_ERROR_CANCELLED, "stopped");
    return r > 0;
}

/* Until the program closes its output. */
static int read_output(const struct child *child, int64_t deadline, int stop, struct kb_strbuf *ret,
                       struct kube_error *reterr)
{
    char piece[4096];
    for (;;) {
        int r = wait_for(child->output, stop, left_ms(deadline), reterr);
        if (r < 0)
            return r;
        if (r == 0 && left_ms(deadline) == 0)
            return kube_error_set(reterr, KUBE_ERROR_TIMEOUT, "no answer in time");
        ssize_t n = r ? read(child->output, piece, sizeof piece) : -1;
        if (n == 0)
            return 0;
        if (r && n < 0 && errno != EINTR)
            return kube_error_set_errno(reterr, errno, "reading its output");
        if (n > 0)
            kb_strbuf_append(ret, piece, (size_t)n);
        if (ret->length > MAX_OUTPUT)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "it prints more than 1 MiB");
    }
}

/* Between closing its output and its end there is no event to wait for that all kernels have. */
static int wait_for_exit(const struct child *child, int64_t deadline, int stop, struct kube_error *reterr)
{
    int status = 0;
    pid_t pid;
    for (int ms = 1; (pid = waitpid(child->pid, &status, WNOHANG)) == 0; ms = ms < 64 ? ms * 2 : ms) {
        int r = wait_for(-1, stop, ms, reterr);
        if (r >= 0 && left_ms(deadline) == 0)
            r = kube_error_set(reterr, KUBE_ERROR_TIMEOUT, "no end in time");
        if (r < 0) {
            kill(-child->pid, SIGKILL);
            waitpid(child->pid, NULL, 0);
            return r;
        }
    }
    if (pid < 0)
        return kube_error_set_errno(reterr, errno, "waiting for it");
    if (WIFSIGNALED(status))
        return kube_error_set(reterr, KUBE_ERROR_IO, "killed by signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return kube_error_set(reterr, KUBE_ERROR_IO, "failed with exit code %d", WEXITSTATUS(status));
    return 0;
}

static int read_child(const struct child *child, int64_t deadline, int stop, struct kb_strbuf *ret,
                      struct kube_error *reterr)
{
    int r = read_output(child, deadline, stop, ret, reterr);
    close(child->output);
    if (r >= 0)
        return wait_for_exit(child, deadline, stop, reterr);
    kill(-child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    return r;
}

int kube_exec_plugin_run(const struct kube_config *config, int timeout_ms, int stop, struct kube_exec_credential *ret,
                         struct kube_error *reterr)
{
    struct kb_clock *clock = kb_clock_system();
    int64_t deadline = clock->mono(clock) + timeout_ms * KB_NS_PER_MS;
    struct child child;
    int r = spawn(config, &child, reterr);
    if (r < 0)
        return kube_error_wrap(reterr, "exec plug-in");
    kb_cleanup_strbuf struct kb_strbuf output = {0};
    r = read_child(&child, deadline, stop, &output, reterr);
    if (r >= 0)
        r = kube_exec_credential_parse(kb_strbuf_text(&output), output.length, config->exec->api_version, ret, reterr);
    return r < 0 ? kube_error_wrap(reterr, "exec plug-in %s", config->exec->command) : 0;
}
