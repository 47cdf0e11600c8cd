/* One line for each exchange; the levels are told in request_log.h. */
#include "cmd/virt-controller/request_log.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include <stdio.h>

enum { WRITES = 3, REQUESTS = 6, WEIGHTS = 7 };

static int level_of(const struct kube_exchange_facts *facts)
{
    bool reads = facts->verb == KUBE_GET || facts->verb == KUBE_LIST || facts->verb == KUBE_WATCH;
    bool routine = kb_streq(facts->resource, "leases") || kb_streq(facts->resource, "events");
    return reads || routine ? REQUESTS : WRITES;
}

void request_log(void *userdata, const struct kube_exchange_facts *facts)
{
    (void)userdata;
    int level = level_of(facts);
    if (kb_log_verbosity() < level)
        return;
    char took[KB_TIME_TEXT], status[16] = "no answer", weight[96] = "";
    kb_duration_format(facts->duration_ns / 1000 * 1000, took);
    if (facts->status)
        snprintf(status, sizeof(status), "%d", facts->status);
    if (kb_log_verbosity() >= WEIGHTS)
        snprintf(weight, sizeof(weight), ", attempt %d, %zu bytes sent, %zu received", facts->attempt,
                 facts->sent_bytes, facts->received_bytes);
    kb_log_object_v(level, &(struct kb_log_object){.reason = facts->error}, "%s %s: %s in %s%s", facts->method,
                    facts->path, status, took, weight);
}
