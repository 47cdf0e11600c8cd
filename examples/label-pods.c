/*
 * A controller in one file: it gives every Pod the label "example.com/node" with the name of the node that it runs on.
 *
 *     label-pods [KUBECONFIG]           without an argument: inside a cluster, with the Pod's service account
 *
 * It shows all parts of a libkube program. A transport and a client talk to the API server. An informer keeps a cache
 * of all Pods. A controller is a const definition: which informers it watches, how a change becomes a key, and what to
 * do for a key. The runtime does the rest: workers, retries with back-off, one key at a time.
 */
#include "api/types/core.h"
#include "base/log.h"
#include "base/strings.h"
#include "kube/request.h"
#include <signal.h>
#include <stdlib.h>

#define LABEL "example.com/node"

enum { PODS }; /* this program's informers */

/* Called for one key at a time, by as many workers as the definition says. Everything that it looks up, edits and
 * allocates belongs to the request and goes when it returns. */
static int reconcile(void *self, struct kube_request *req, struct kube_error *reterr)
{
    const struct core_pod *pod = kube_lookup(req, PODS, kube_request_namespace(req), kube_request_name(req));
    (void)self;
    if (!pod || api_is_being_deleted(&pod->metadata) || kb_empty(pod->spec.node_name))
        return KUBE_DONE;
    struct core_pod *labelled = KUBE_EDIT(req, core_pod, pod);
    api_map_set(kube_arena(req), &labelled->metadata.labels, LABEL, pod->spec.node_name);
    /* Equal to what is there: no request. Otherwise one patch, and the cache has the answer when this returns. A
     * conflict is an error like others: the key comes again. */
    return kube_update(req, &core_pod_type, pod, labelled, NULL, reterr);
}

static const struct kube_informer_spec pods = {.name = "pod", .type = &core_pod_type};
static const struct kube_watch watches[] = {{PODS, kube_map_to_self}};
static const struct kube_controller label_pods = {
    .name = "label-pods",
    .queue_name = "label-pods",
    .kind = "Pod",
    .threads = 2,
    .watches = watches,
    .n_watches = KB_ARRAY_LEN(watches),
    .reconcile = reconcile,
};

static void wait_for_signal(void)
{
    sigset_t signals;
    int number;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigwait(&signals, &number);
}

static void run(struct kube_client *client)
{
    struct kube_runtime *runtime = kube_runtime_new(
        &(struct kube_runtime_options){.client = client, .clock = kb_clock_system(), .random = kb_random_system()});
    kube_runtime_add_informer(runtime, PODS, &pods);
    kube_runtime_add_controller(runtime, &label_pods, NULL, 0);
    kube_runtime_start_informer(runtime, PODS);
    kube_runtime_start_workers(runtime); /* the first reconcile waits until the cache is complete */
    wait_for_signal();
    kube_runtime_free(runtime); /* waits for what runs */
}

int main(int argc, char **argv)
{
    struct kube_error error;
    struct kube_config *config;
    struct kube_transport *transport;
    sigset_t signals; /* blocked before the first thread starts, so that only wait_for_signal takes them */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (kube_config_load(argc > 1 ? argv[1] : NULL, NULL, &config, &error) < 0 ||
        kube_transport_curl_new(&(struct kube_transport_options){config, kb_clock_system(), "label-pods"}, &transport,
                                &error) < 0) {
        kb_log(KB_ERROR, "%s", error.message);
        return 1;
    }
    struct kube_client *client =
        kube_client_new(&(struct kube_client_options){.transport = transport, .clock = kb_clock_system()});
    run(client);
    kube_client_free(client);
    transport->free(transport);
    kube_config_free(config);
    return 0;
}
