/*
 * Whether the API server can be reached, for /healthz. Its version is asked for once, in the background, and kept until
 * somebody says that the connection failed; so a healthy process makes no calls, and an answer to a probe never waits
 * for the API server longer than HEALTH_PATIENCE_NS, because all other clients of the HTTPS server wait with it.
 *
 * Threads: any; health_check not on the transport's thread.
 */
#ifndef CMD_VIRT_CONTROLLER_HEALTH_H
#define CMD_VIRT_CONTROLLER_HEALTH_H

#include "base/strbuf.h"
#include "kube/transport.h"

#define HEALTH_PATIENCE_NS (1 * KB_NS_PER_S)

struct health;
struct health *health_new(struct kube_transport *transport, struct kb_clock *clock);
/* After the transport is freed: no answer can come any more. NULL is allowed. */
void health_free(struct health *health);
/* The next check asks the API server again. */
void health_forget(struct health *health);
/* Appends the API server's answer to /version; or says why there is none. */
int health_check(struct health *health, struct kb_strbuf *ret_version, struct kube_error *reterr);

#endif
