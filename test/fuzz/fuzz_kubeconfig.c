/*
 * kubeconfig files: whatever stands in one is either a config with a server, or an error with a message.
 */
#include "kube/config.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct kube_config *config;
    struct kube_error error = {0};
    if (kube_config_parse((const char *)data, n, "/nowhere", &config, &error) < 0) {
        if (error.kind == KUBE_ERROR_NONE || !error.message[0])
            abort();
        return 0;
    }
    if (!config->server || !config->server[0])
        abort();
    kube_config_free(config);
    return 0;
}
