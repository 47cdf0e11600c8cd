/*
 * Certificates and TLS policies of the HTTPS server.
 *
 * The directories of both files are watched with inotify, so that the swap of a mounted Secret's symbolic link is seen.
 * Any event makes both files be read again; the pair is replaced only when their content differs from what is in use
 * and loads. A pair is counted: connections keep the one that they began with. Without a watch (the directory does not
 * exist yet) the files are looked at when a client connects, at most once a second.
 *
 * Ciphers: GnuTLS selects them by parts (key exchange, cipher, MAC), so that a list of suites can not be expressed
 * without allowing others. Therefore the first suite of the list that the client offers and the key can serve is picked
 * from the client's hello, and is then the only one enabled. As in Go the list is for TLS 1.2 and older.
 */
#include "base/clock.h"
#include "base/strings.h"
#include "kube/server_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_NS         (60 * KB_NS_PER_S)
#define LOOK_INTERVAL_NS KB_NS_PER_S
#define MAX_FILE_BYTES   (1 << 20)
/* Without a list of ciphers: as Go has it, every key exchange keeps what was said secret if the key becomes known. */
#define DEFAULT_PRIORITY "NORMAL:-VERS-ALL:-RSA:-DHE-RSA:-AES-128-CCM:-AES-256-CCM"

struct kube_tls_suite {
    const char *name; /* IANA */
    unsigned id;
    bool rsa_key; /* needs an RSA key; otherwise an ECDSA or EdDSA one */
    const char *priority;
};

static const struct kube_tls_suite suites[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", 0xc02b, false, "+ECDHE-ECDSA:+AES-128-GCM:+AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", 0xc02f, true, "+ECDHE-RSA:+AES-128-GCM:+AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", 0xc02c, false, "+ECDHE-ECDSA:+AES-256-GCM:+AEAD"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", 0xc030, true, "+ECDHE-RSA:+AES-256-GCM:+AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca9, false, "+ECDHE-ECDSA:+CHACHA20-POLY1305:+AEAD"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", 0xcca8, true, "+ECDHE-RSA:+CHACHA20-POLY1305:+AEAD"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", 0xc023, false, "+ECDHE-ECDSA:+AES-128-CBC:+SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", 0xc027, true, "+ECDHE-RSA:+AES-128-CBC:+SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", 0xc009, false, "+ECDHE-ECDSA:+AES-128-CBC:+SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", 0xc013, true, "+ECDHE-RSA:+AES-128-CBC:+SHA1"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", 0xc00a, false, "+ECDHE-ECDSA:+AES-256-CBC:+SHA1"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", 0xc014, true, "+ECDHE-RSA:+AES-256-CBC:+SHA1"},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", 0x009c, true, "+RSA:+AES-128-GCM:+AEAD"},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", 0x009d, true, "+RSA:+AES-256-GCM:+AEAD"},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", 0x003c, true, "+RSA:+AES-128-CBC:+SHA256"},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", 0x002f, true, "+RSA:+AES-128-CBC:+SHA1"},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", 0x0035, true, "+RSA:+AES-256-CBC:+SHA1"},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", 0xc012, true, "+ECDHE-RSA:+3DES-CBC:+SHA1"},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", 0x000a, true, "+RSA:+3DES-CBC:+SHA1"},
};

/* From the given minimum up, newest first. */
static const struct {
    int minimum;
    const char *priority;
} versions[] = {
    {13, "+VERS-TLS1.3"},
    {12, "+VERS-TLS1.3:+VERS-TLS1.2"},
    {11, "+VERS-TLS1.3:+VERS-TLS1.2:+VERS-TLS1.1"},
    {10, "+VERS-TLS1.3:+VERS-TLS1.2:+VERS-TLS1.1:+VERS-TLS1.0"},
};

struct kube_tls_pair {
    int references;
    gnutls_certificate_credentials_t credentials;
    bool rsa_key;
    char digest[KB_SHA256_HEX]; /* of both files */
};

struct kube_tls {
    struct kube_server_options options;
    char *files[2], *directories[2]; /* certificate, key */
    int inotify;
    bool watching;
    struct kube_tls_pair *pair; /* NULL: none could be loaded yet */
    int64_t looked_at, retry_at;
    struct kube_error told; /* the last error that was told; kind NONE: success */
    bool told_any;
};

static int64_t now(void)
{
    struct kb_clock *clock = kb_clock_system();
    return clock->mono(clock);
}

/* ---- pairs ---- */

static void unref_pair(struct kube_tls_pair *pair)
{
    if (!pair || --pair->references > 0)
        return;
    gnutls_certificate_free_credentials(pair->credentials);
    free(pair);
}

struct text {
    unsigned char *bytes;
    size_t n;
};

static void text_done(struct text *text)
{
    if (text->bytes)
        explicit_bzero(text->bytes, text->n);
    free(text->bytes);
}

static int read_file(const char *path, struct text *ret, struct kube_error *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return kube_error_set_errno(reterr, errno, "open %s", path);
    unsigned char *bytes = kb_malloc(MAX_FILE_BYTES);
    size_t n = 0;
    ssize_t got = 1;
    while (n < MAX_FILE_BYTES && got > 0) {
        got = read(fd, bytes + n, MAX_FILE_BYTES - n);
        n += got > 0 ? (size_t)got : 0;
    }
    int error_number = errno;
    close(fd);
    *ret = (struct text){bytes, n};
    if (got < 0)
        return kube_error_set_errno(reterr, error_number, "read %s", path);
    if (n == MAX_FILE_BYTES)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s is larger than 1 MiB", path);
    return 0;
}

static void digest_of(const struct text texts[2], char ret[KB_SHA256_HEX])
{
    char both[2 * KB_SHA256_HEX];
    kb_sha256_hex(texts[0].bytes, texts[0].n, both);
    kb_sha256_hex(texts[1].bytes, texts[1].n, both + KB_SHA256_HEX);
    kb_sha256_hex(both, sizeof both, ret);
}

static bool has_rsa_key(gnutls_certificate_credentials_t credentials)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned n = 0;
    if (gnutls_certificate_get_x509_crt(credentials, 0, &list, &n) < 0)
        return true;
    bool rsa = n == 0 || gnutls_x509_crt_get_pk_algorithm(list[0], NULL) == GNUTLS_PK_RSA;
    for (unsigned i = 0; i < n; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    return rsa;
}

static int load_pair(struct kube_tls *tls, const struct text texts[2], const char *digest, struct kube_tls_pair **ret,
                     struct kube_error *reterr)
{
    gnutls_datum_t certificate = {texts[0].bytes, (unsigned)texts[0].n}, key = {texts[1].bytes, (unsigned)texts[1].n};
    gnutls_certificate_credentials_t credentials;
    int error = gnutls_certificate_allocate_credentials(&credentials);
    if (error < 0)
        return kube_error_set(reterr, KUBE_ERROR_INTERNAL, "certificate: %s", gnutls_strerror(error));
    error = gnutls_certificate_set_x509_key_mem(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM);
    if (error < 0) {
        gnutls_certificate_free_credentials(credentials);
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "certificate %s with key %s: %s", tls->files[0],
                              tls->files[1], gnutls_strerror(error));
    }
    struct kube_tls_pair *pair = kb_malloc(sizeof *pair);
    pair->references = 1;
    pair->credentials = credentials;
    pair->rsa_key = has_rsa_key(credentials);
    memcpy(pair->digest, digest, sizeof pair->digest);
    *ret = pair;
    return 0;
}

/* 1: replaced; 0: nothing new. */
static int reload(struct kube_tls *tls, struct kube_error *reterr)
{
    kb_cleanup(text_done) struct text certificate = {0}, key = {0};
    if (read_file(tls->files[0], &certificate, reterr) < 0 || read_file(tls->files[1], &key, reterr) < 0)
        return -1;
    const struct text texts[2] = {certificate, key};
    char digest[KB_SHA256_HEX];
    digest_of(texts, digest);
    if (tls->pair && kb_streq(tls->pair->digest, digest))
        return 0;
    struct kube_tls_pair *pair = NULL;
    if (load_pair(tls, texts, digest, &pair, reterr) < 0)
        return -1;
    unref_pair(tls->pair);
    tls->pair = pair;
    return 1;
}

static void tell(struct kube_tls *tls, const struct kube_error *error)
{
    bool same = tls->told_any && kb_streq(tls->told.message, error ? error->message : "");
    if (same && error)
        return;
    tls->told_any = true;
    tls->told = error ? *error : (struct kube_error){0};
    if (tls->options.certificate)
        tls->options.certificate(tls->options.userdata, error);
}

static void look_at_files(struct kube_tls *tls)
{
    struct kube_error error = {0};
    tls->looked_at = now();
    int rc = reload(tls, &error);
    tls->retry_at = rc < 0 ? now() + RETRY_NS : INT64_MAX;
    if (rc != 0 || tls->told.kind != KUBE_ERROR_NONE)
        tell(tls, rc < 0 ? &error : NULL);
}

/* ---- watching ---- */

static void watch(struct kube_tls *tls)
{
    tls->watching = tls->inotify >= 0;
    for (int i = 0; i < 2; i++) {
        if (inotify_add_watch(tls->inotify, tls->directories[i],
                              IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_MOVED_FROM |
                                  IN_MOVED_TO | IN_ONLYDIR) < 0)
            tls->watching = false;
    }
}

static void drain_events(struct kube_tls *tls)
{
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;
    while ((n = read(tls->inotify, buffer, sizeof buffer)) > 0) {
        for (char *at = buffer; at < buffer + n;) {
            const struct inotify_event *event = (const struct inotify_event *)at;
            if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT))
                tls->watching = false;
            at += sizeof *event + event->len;
        }
    }
}

void kube_tls_files_changed(struct kube_tls *tls)
{
    drain_events(tls);
    if (!tls->watching)
        watch(tls);
    look_at_files(tls);
}

int kube_tls_watch_fd(const struct kube_tls *tls)
{
    return tls->inotify;
}

int64_t kube_tls_retry_at(const struct kube_tls *tls)
{
    return tls->retry_at;
}

static char *directory_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    if (!slash)
        return kb_strdup(".");
    return slash == file ? kb_strdup("/") : kb_strndup(file, (size_t)(slash - file));
}

int kube_tls_new(const struct kube_server_options *options, struct kube_tls **ret, struct kube_error *reterr)
{
    if (!options->key_file)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "a certificate file needs a key file");
    int inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (inotify < 0)
        return kube_error_set_errno(reterr, errno, "inotify_init1");
    struct kube_tls *tls = kb_malloc(sizeof *tls);
    tls->options = *options;
    tls->inotify = inotify;
    tls->files[0] = kb_strdup(options->cert_file);
    tls->files[1] = kb_strdup(options->key_file);
    tls->directories[0] = directory_of(options->cert_file);
    tls->directories[1] = directory_of(options->key_file);
    watch(tls);
    look_at_files(tls);
    *ret = tls;
    return 0;
}

void kube_tls_free(struct kube_tls *tls)
{
    if (!tls)
        return;
    close(tls->inotify);
    unref_pair(tls->pair);
    for (int i = 0; i < 2; i++) {
        free(tls->files[i]);
        free(tls->directories[i]);
    }
    free(tls);
}

/* ---- sessions ---- */

static const char *versions_from(int minimum)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(versions); i++) {
        if (versions[i].minimum == minimum)
            return versions[i].priority;
    }
    return versions[1].priority;
}

static void select_suites(const struct kube_tls_policy *policy, struct kube_tls_state *ret)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(suites); i++) {
        if (kb_in_list(suites[i].name, policy->ciphers, policy->n_ciphers))
            ret->suites[ret->n_suites++] = &suites[i];
    }
}

struct hello {
    const unsigned char *suites;
    size_t n_suites;
    bool tls13;
};

/* A part of a message with its length in front (`width` bytes); advances behind it. False: cut short. */
static bool take_part(const unsigned char **at, const unsigned char *end, size_t width, const unsigned char **ret_part,
                      size_t *ret_n)
{
    if ((size_t)(end - *at) < width)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < width; i++)
        n = n << 8 | (*at)[i];
    *at += width;
    if ((size_t)(end - *at) < n)
        return false;
    *ret_part = *at;
    *ret_n = n;
    *at += n;
    return true;
}

static bool offers_tls13(const unsigned char *versions_list, size_t n)
{
    for (size_t i = 1; i + 1 < n; i += 2) {
        if (versions_list[i] == 3 && versions_list[i + 1] == 4)
            return true;
    }
    return false;
}

static bool parse_hello(const gnutls_datum_t *message, struct hello *ret)
{
    enum { FIXED = 2 + 32, SUPPORTED_VERSIONS = 43 };
    const unsigned char *at = message->data, *end = at + message->size, *part;
    size_t n;
    if (message->size < FIXED)
        return false;
    at += FIXED;
    if (!take_part(&at, end, 1, &part, &n) || !take_part(&at, end, 2, &ret->suites, &ret->n_suites) ||
        !take_part(&at, end, 1, &part, &n))
        return false;
    ret->n_suites /= 2;
    if (at == end)
        return true;
    const unsigned char *extension;
    size_t extensions;
    if (!take_part(&at, end, 2, &extension, &extensions))
        return false;
    for (end = extension + extensions; end - extension > 2;) {
        unsigned type = (unsigned)(extension[0] << 8 | extension[1]);
        extension += 2;
        if (!take_part(&extension, end, 2, &part, &n))
            return false;
        ret->tls13 |= type == SUPPORTED_VERSIONS && offers_tls13(part, n);
    }
    return true;
}

static bool offers(const struct hello *hello, unsigned id)
{
    for (size_t i = 0; i < hello->n_suites; i++) {
        if ((unsigned)(hello->suites[2 * i] << 8 | hello->suites[2 * i + 1]) == id)
            return true;
    }
    return false;
}

static int set_priorities(gnutls_session_t session, const char *text)
{
    return gnutls_priority_set_direct(session, text, NULL);
}

/* GnuTLS calls it before it looks at the client's hello itself. */
static int on_client_hello(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                           const gnutls_datum_t *message)
{
    (void)type, (void)when, (void)incoming;
    struct kube_tls_state *state = kube_server_tls_state(session);
    struct hello hello = {0};
    if (!state || !state->pair || !parse_hello(message, &hello))
        return GNUTLS_E_UNEXPECTED_PACKET_LENGTH;
    if (hello.tls13 || state->n_suites == 0)
        return 0;
    for (size_t i = 0; i < state->n_suites; i++) {
        const struct kube_tls_suite *suite = state->suites[i];
        if (suite->rsa_key != state->pair->rsa_key || !offers(&hello, suite->id))
            continue;
        char text[256];
        snprintf(text, sizeof text, "NONE:%s:%s:+COMP-NULL:+GROUP-ALL:+SIGN-ALL", versions_from(state->minimum_version),
                 suite->priority);
        return set_priorities(session, text);
    }
    return GNUTLS_E_NO_CIPHER_SUITES;
}

void kube_tls_connected(struct kube_tls *tls, gnutls_session_t session, struct kube_tls_state *ret)
{
    if (!tls->watching && now() - tls->looked_at >= LOOK_INTERVAL_NS) {
        watch(tls);
        look_at_files(tls);
    }
    struct kube_tls_policy policy = {.minimum_version = 12};
    if (tls->options.tls_policy)
        tls->options.tls_policy(tls->options.userdata, &policy);
    ret->tls = tls;
    ret->minimum_version = policy.minimum_version;
    select_suites(&policy, ret);
    char text[256];
    snprintf(text, sizeof text, DEFAULT_PRIORITY ":%s", versions_from(policy.minimum_version));
    set_priorities(session, text);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_CLIENT_HELLO, GNUTLS_HOOK_PRE, on_client_hello);
    if (!tls->pair)
        return; /* libmicrohttpd's own credentials have no certificate: the handshake fails */
    ret->pair = tls->pair;
    ret->pair->references++;
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, ret->pair->credentials);
}

void kube_tls_disconnected(struct kube_tls_state *state)
{
    unref_pair(state->pair);
    state->pair = NULL;
}
