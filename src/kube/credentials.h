/*
 * What authenticates requests now: a header, a client certificate, or both, from a kube_config. Rotating sources are
 * read again here: token files (at most once a minute, and after a 401), client certificate files (every five minutes,
 * and after a 401), exec plug-ins (when what they gave has expired, and after a 401).
 *
 * Certificates are handed to libcurl as files in memory ("/proc/self/fd/7"): GnuTLS takes file names only, and a new
 * name makes libcurl open a new connection for a new certificate.
 *
 * Threads: the transport's, except that `ready` is called from the plug-in's thread.
 */
#ifndef KUBE_CREDENTIALS_H
#define KUBE_CREDENTIALS_H

#include "base/clock.h"
#include "base/error.h"
#include "kube/config.h"

struct kube_credentials;

struct kube_auth {                    /* valid until the next call */
    const char *authorization;        /* value of the header, or NULL */
    const char *cert_path, *key_path; /* PEM files, or NULL */
    unsigned generation;              /* changes whenever any of them does */
};

enum kube_auth_state {
    KUBE_AUTH_READY,
    KUBE_AUTH_WAIT,   /* a plug-in runs: `ready` will be called */
    KUBE_AUTH_FAILED, /* reterr says why; the next call tries again */
};

struct kube_credentials *kube_credentials_new(const struct kube_config *config, struct kb_clock *clock,
                                              void (*ready)(void *userdata), void *userdata);
/* Stops a plug-in that runs. No `ready` comes afterwards. */
void kube_credentials_free(struct kube_credentials *credentials);
enum kube_auth_state kube_credentials_get(struct kube_credentials *credentials, struct kube_auth *ret,
                                          struct kube_error *reterr);
/* A request that used `generation` was refused with 401: true when the next kube_credentials_get may give something
 * else. */
bool kube_credentials_refused(struct kube_credentials *credentials, unsigned generation);

/* A file in memory with this content; *ret_path is its name, to be released with free(); returns its descriptor, to be
 * closed, or negative. */
int kube_memory_file(const char *name, const char *text, char **ret_path, struct kube_error *reterr);
/* Reads a whole file of at most 1 MiB; the text is the caller's. */
int kube_read_file(const char *path, char **ret_text, struct kube_error *reterr);

#endif
