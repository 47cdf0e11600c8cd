/*
 * What the files of the config share: config.c (which source), config_file.c (kubeconfig files), config_check.c (what a
 * config must be).
 */
#ifndef KUBE_CONFIG_INTERNAL_H
#define KUBE_CONFIG_INTERNAL_H

#include "kube/config.h"

struct kube_config *kube_config_new(void);
/* With scheme and without trailing slash. */
int kube_config_set_server(struct kube_config *config, const char *server, struct kube_error *reterr);
/* Contradictions, missing halves, files that can't be read. */
int kube_config_check(const struct kube_config *config, struct kube_error *reterr);
/* `master` may be NULL. */
int kube_config_parse_file(const char *yaml, size_t n, const char *directory, const char *master,
                           struct kube_config **ret, struct kube_error *reterr);

#endif
