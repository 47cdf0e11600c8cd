/*
 * Each source has a function that refreshes `current` from it; `generation` counts the changes. A source that can't be
 * read leaves what it gave before in place: a credential that still works is better than none.
 */
#include "kube/credentials.h"
#include "base/strings.h"
#include "kube/exec_plugin.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOKEN_PERIOD_NS (60 * KB_NS_PER_S)  /* client-go: cachingTokenSource */
#define CERT_PERIOD_NS  (300 * KB_NS_PER_S) /* client-go: CertCallbackRefreshDuration */
#define EXEC_TIMEOUT_MS 60000
#define MAX_FILE        (1 << 20)

struct memory_file {
    int fd; /* -1: none */
    char *path, *text;
};

struct kube_credentials {
    const struct kube_config *config;
    struct kb_clock *clock;
    void (*ready)(void *userdata);
    void *userdata;

    unsigned generation;
    char *authorization;
    struct memory_file cert, key;
    int64_t token_read_at, certs_read_at; /* mono ns; 0: never */

    /* the plug-in: its thread writes `result` and `failure`, then sets `plugin_done` */
    pthread_mutex_t lock;
    pthread_t thread;
    bool running, plugin_done, have_credential, refused;
    int stop;
    int64_t expires_at; /* wall ns */
    struct kube_exec_credential result;
    struct kube_error failure;
};

/* ---- files ---- */

int kube_read_file(const char *path, char **ret_text, struct kube_error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kube_error_set_errno(reterr, errno, "open %s", path);
    char *text = kb_malloc(MAX_FILE + 2);
    size_t n = 0;
    ssize_t r;
    while (n <= MAX_FILE && (r = read(fd, text + n, MAX_FILE + 1 - n)) != 0) {
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            break;
        n += (size_t)r;
    }
    int error = errno;
    close(fd);
    if (n <= MAX_FILE && r == 0) {
        text[n] = '\0';
        *ret_text = kb_strndup(text, n);
    }
    free(text);
    if (n > MAX_FILE)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: larger than 1 MiB", path);
    return r < 0 ? kube_error_set_errno(reterr, error, "read %s", path) : 0;
}

int kube_memory_file(const char *name, const char *text, char **ret_path, struct kube_error *reterr)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return kube_error_set_errno(reterr, errno, "memfd_create");
    size_t n = strlen(text), done = 0;
    while (done < n) {
        ssize_t r = write(fd, text + done, n - done);
        if (r < 0 && errno != EINTR) {
            int error = errno;
            close(fd);
            return kube_error_set_errno(reterr, error, "writing a file in memory");
        }
        done += r > 0 ? (size_t)r : 0;
    }
    *ret_path = kb_asprintf("/proc/self/fd/%d", fd);
    return fd;
}

static void memory_file_done(struct memory_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    free(file->text);
    *file = (struct memory_file){.fd = -1};
}

/* Keeps the file when the text is the same. The old one is closed last, so that the new one has another name. */
static int set_file(struct kube_credentials *c, struct memory_file *file, const char *name, const char *text,
                    struct kube_error *reterr)
{
    if (file->text && kb_streq(file->text, text))
        return 0;
    struct memory_file fresh = {.fd = -1};
    int fd = kube_memory_file(name, text, &fresh.path, reterr);
    if (fd < 0)
        return fd;
    fresh.fd = fd;
    fresh.text = kb_strdup(text);
    memory_file_done(file);
    *file = fresh;
    c->generation++;
    return 0;
}

/* ---- sources ---- */

static void set_authorization(struct kube_credentials *c, char *value)
{
    if (kb_streq_null(c->authorization, value)) {
        free(value);
        return;
    }
    free(c->authorization);
    c->authorization = value;
    c->generation++;
}

static int64_t now(const struct kube_credentials *c)
{
    return c->clock->mono(c->clock);
}

static bool fresh(const struct kube_credentials *c, int64_t read_at, int64_t period)
{
    return read_at != 0 && now(c) - read_at < period;
}

static void trim(char *text)
{
    size_t n = strlen(text), start = strspn(text, " \t\r\n");
    while (n > start && strchr(" \t\r\n", text[n - 1]))
        n--;
    memmove(text, text + start, n - start);
    text[n - start] = '\0';
}

/* A token with a control character would break the header's line. */
static int use_token(struct kube_credentials *c, const char *token, const char *source, struct kube_error *reterr)
{
    for (const char *at = token; *at; at++)
        if (iscntrl((unsigned char)*at))
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: the token has a control character", source);
    set_authorization(c, kb_asprintf("Bearer %s", token));
    return 0;
}

static int read_token_file(struct kube_credentials *c, struct kube_error *reterr)
{
    char *text;
    int r = kube_read_file(c->config->token_file, &text, reterr);
    if (r < 0)
        return c->authorization ? 0 : kube_error_wrap(reterr, "the token file");
    trim(text);
    if (*text)
        r = use_token(c, text, c->config->token_file, reterr);
    else if (!c->authorization)
        r = kube_error_set(reterr, KUBE_ERROR_INVALID, "the token file %s is empty", c->config->token_file);
    free(text);
    return r;
}

static int refresh_token(struct kube_credentials *c, struct kube_error *reterr)
{
    if (!c->config->token_file || fresh(c, c->token_read_at, TOKEN_PERIOD_NS))
        return 0;
    int r = read_token_file(c, reterr);
    if (r >= 0)
        c->token_read_at = now(c);
    return r;
}

/* PEM text from the data or the file; NULL and 0: neither is given. */
static int pem_text(const char *data, const char *path, char **ret, struct kube_error *reterr)
{
    if (data) {
        *ret = kb_strdup(data);
        return 0;
    }
    if (path)
        return kube_read_file(path, ret, reterr);
    return 0;
}

static int load_certs(struct kube_credentials *c, struct kube_error *reterr)
{
    const struct kube_config *config = c->config;
    kb_cleanup_free char *cert = NULL, *key = NULL;
    int r = pem_text(config->client_cert_data, config->client_cert_file, &cert, reterr);
    if (r >= 0)
        r = pem_text(config->client_key_data, config->client_key_file, &key, reterr);
    if (r >= 0 && cert)
        r = set_file(c, &c->cert, "client-certificate", cert, reterr);
    if (r >= 0 && key)
        r = set_file(c, &c->key, "client-key", key, reterr);
    return r;
}

static int refresh_certs(struct kube_credentials *c, struct kube_error *reterr)
{
    if (fresh(c, c->certs_read_at, CERT_PERIOD_NS))
        return 0;
    int r = load_certs(c, reterr);
    if (r < 0 && !c->cert.path)
        return kube_error_wrap(reterr, "the client certificate");
    c->certs_read_at = now(c);
    return 0;
}

static void set_fixed(struct kube_credentials *c)
{
    const struct kube_config *config = c->config;
    if (config->token) {
        set_authorization(c, kb_asprintf("Bearer %s", config->token));
    } else if (config->username) {
        kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
        const char *pair = kb_arena_printf(arena, "%s:%s", config->username, config->password ? config->password : "");
        set_authorization(c, kb_asprintf("Basic %s", kb_base64_encode(arena, pair, strlen(pair))));
    }
}

/* ---- the plug-in ---- */

static void *run_plugin(void *userdata)
{
    struct kube_credentials *c = userdata;
    struct kube_exec_credential result = {0};
    struct kube_error failure = {0};
    pthread_setname_np(pthread_self(), "exec-plugin");
    kube_exec_plugin_run(c->config, EXEC_TIMEOUT_MS, c->stop, &result, &failure);
    pthread_mutex_lock(&c->lock);
    c->result = result;
    c->failure = failure;
    c->plugin_done = true;
    pthread_mutex_unlock(&c->lock);
    c->ready(c->userdata);
    return NULL;
}

static int start_plugin(struct kube_credentials *c, struct kube_error *reterr)
{
    int r = pthread_create(&c->thread, NULL, run_plugin, c);
    if (r != 0)
        return kube_error_set_errno(reterr, r, "starting a thread for the exec plug-in");
    c->running = true;
    return 0;
}

/* Takes over what the plug-in gave. */
static int use_result(struct kube_credentials *c, struct kube_error *reterr)
{
    struct kube_exec_credential result = c->result;
    struct kube_error failure = c->failure;
    c->result = (struct kube_exec_credential){0};
    c->plugin_done = false;
    c->running = false;
    if (failure.kind != KUBE_ERROR_NONE) {
        if (reterr)
            *reterr = failure;
        return kube_error_wrap(reterr, "getting credentials");
    }
    int r = result.token ? use_token(c, result.token, c->config->exec->command, reterr) : 0;
    if (r >= 0 && result.cert) {
        r = set_file(c, &c->cert, "client-certificate", result.cert, reterr);
        if (r >= 0)
            r = set_file(c, &c->key, "client-key", result.key, reterr);
    }
    c->expires_at = result.expires_at;
    c->have_credential = r >= 0;
    c->refused = false;
    kube_exec_credential_done(&result);
    return r;
}

static bool credential_is_good(const struct kube_credentials *c)
{
    return c->have_credential && !c->refused && c->clock->wall(c->clock) < c->expires_at;
}

static enum kube_auth_state refresh_exec(struct kube_credentials *c, struct kube_error *reterr)
{
    if (!c->config->exec)
        return KUBE_AUTH_READY;
    pthread_mutex_lock(&c->lock);
    bool done = c->plugin_done;
    pthread_mutex_unlock(&c->lock);
    if (c->running && !done)
        return KUBE_AUTH_WAIT;
    if (c->running) {
        pthread_join(c->thread, NULL);
        return use_result(c, reterr) < 0 ? KUBE_AUTH_FAILED : KUBE_AUTH_READY;
    }
    if (credential_is_good(c))
        return KUBE_AUTH_READY;
    return start_plugin(c, reterr) < 0 ? KUBE_AUTH_FAILED : KUBE_AUTH_WAIT;
}

/* ---- public ---- */

struct kube_credentials *kube_credentials_new(const struct kube_config *config, struct kb_clock *clock,
                                              void (*ready)(void *userdata), void *userdata)
{
    struct kube_credentials *c = kb_malloc(sizeof *c);
    c->config = config;
    c->clock = clock;
    c->ready = ready;
    c->userdata = userdata;
    c->generation = 1;
    c->cert.fd = c->key.fd = -1;
    c->stop = config->exec ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    pthread_mutex_init(&c->lock, NULL);
    set_fixed(c);
    return c;
}

void kube_credentials_free(struct kube_credentials *c)
{
    if (!c)
        return;
    if (c->running) {
        eventfd_write(c->stop, 1);
        pthread_join(c->thread, NULL);
    }
    if (c->stop >= 0)
        close(c->stop);
    kube_exec_credential_done(&c->result);
    memory_file_done(&c->cert);
    memory_file_done(&c->key);
    free(c->authorization);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

enum kube_auth_state kube_credentials_get(struct kube_credentials *c, struct kube_auth *ret, struct kube_error *reterr)
{
    enum kube_auth_state state = refresh_exec(c, reterr);
    if (state != KUBE_AUTH_READY)
        return state;
    if (refresh_token(c, reterr) < 0 || refresh_certs(c, reterr) < 0)
        return KUBE_AUTH_FAILED;
    *ret = (struct kube_auth){.authorization = c->authorization,
                              .cert_path = c->cert.path,
                              .key_path = c->key.path,
                              .generation = c->generation};
    return KUBE_AUTH_READY;
}

bool kube_credentials_refused(struct kube_credentials *c, unsigned generation)
{
    if (generation != c->generation)
        return true; /* refreshed since */
    if (c->config->exec) {
        c->refused = true;
        return true;
    }
    if (c->config->token_file && read_token_file(c, NULL) >= 0)
        c->token_read_at = now(c);
    if (load_certs(c, NULL) >= 0)
        c->certs_read_at = now(c);
    return generation != c->generation;
}
