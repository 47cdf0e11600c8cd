/*
 * Exec credential plug-ins (client.authentication.k8s.io v1 and v1beta1): runs the program, reads the ExecCredential
 * that it prints. Blocks: call it on a thread of its own.
 */
#ifndef KUBE_EXEC_PLUGIN_H
#define KUBE_EXEC_PLUGIN_H

#include "base/error.h"
#include "kube/config.h"
#include <stdatomic.h>
#include <stdint.h>

struct kube_exec_credential { /* strings on the heap, NULL when absent */
    char *token;
    char *cert, *key;
    int64_t expires_at; /* wall ns; INT64_MAX: never */
};
void kube_exec_credential_done(struct kube_exec_credential *credential);

/* At most `timeout_ms`; `stop` (an eventfd or pipe that becomes readable) ends it early. The program is killed then. */
int kube_exec_plugin_run(const struct kube_config *config, int timeout_ms, int stop, struct kube_exec_credential *ret,
                         struct kube_error *reterr);
/* What the program printed. */
int kube_exec_credential_parse(const char *json, size_t n, const char *api_version, struct kube_exec_credential *ret,
                               struct kube_error *reterr);
/* The value of KUBERNETES_EXEC_INFO; free() it. */
char *kube_exec_info(const struct kube_config *config);

#endif
