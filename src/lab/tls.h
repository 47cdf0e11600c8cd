/*
 * The certificate of --tls.
 */
#ifndef LAB_TLS_H
#define LAB_TLS_H

#include "base/arena.h"
#include "base/error.h"

/* A self-signed server certificate for `address`, localhost and 127.0.0.1, valid for ten years, as PEM texts. */
int lab_tls_self_signed(struct kb_arena *arena, const char *address, const char **ret_certificate, const char **ret_key,
                        struct kube_error *reterr);

#endif
