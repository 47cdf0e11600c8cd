/*
 * The log of requests to the API server: each write from -v 3 on, every request and watch from 6, and what it weighed
 * from 7. Never what was sent or received, nor headers: these hold users' secrets (cloud-init) and this program's own.
 */
#ifndef CMD_REQUEST_LOG_H
#define CMD_REQUEST_LOG_H

#include "kube/client.h"

/* A kube_client_observer's `exchanged`. */
void request_log(void *userdata, const struct kube_exchange_facts *facts);

#endif
