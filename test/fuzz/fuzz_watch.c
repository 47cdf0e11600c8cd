/*
 * The answer to a streamed list: any bytes, in two pieces. The first byte says where they are cut.
 * The store must stay usable, and everything must be released.
 */
#include "api/types/core.h"
#include "kube/informer.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A transport that has at most one exchange running and never runs a post. */
struct stub {
    struct kube_transport transport; /* first: callbacks get its address */
    const struct kube_http_handler *handler;
    void *userdata;
    bool running;
};

static struct kube_exchange *start(struct kube_transport *self, const struct kube_http_request *request,
                                   const struct kube_http_handler *handler, void *userdata)
{
    struct stub *stub = (struct stub *)self;
    (void)request;
    stub->handler = handler;
    stub->userdata = userdata;
    stub->running = true;
    return (struct kube_exchange *)stub;
}
static void cancel(struct kube_transport *self, struct kube_exchange *exchange)
{
    (void)self;
    (void)exchange; /* its end is delivered by end_exchange */
}
static uint64_t post(struct kube_transport *self, int64_t delay_ns, void (*fn)(void *userdata), void *userdata)
{
    (void)self;
    (void)delay_ns;
    (void)fn;
    (void)userdata;
    return 1;
}
static bool unpost(struct kube_transport *self, uint64_t number)
{
    (void)self;
    return number != 0;
}

static void end_exchange(struct stub *stub, const struct kube_error *error)
{
    if (!stub->running)
        return;
    stub->running = false;
    stub->handler->end(stub->userdata, error);
}

static void answer(struct stub *stub, const char *bytes, size_t n, size_t cut)
{
    const struct kube_http_head head = {.status = 200, .content_type = "application/json"};
    stub->handler->head(stub->userdata, &head);
    if (stub->handler->body(stub->userdata, bytes, cut) == 0)
        stub->handler->body(stub->userdata, bytes + cut, n - cut);
    end_exchange(stub, NULL);
}

static void by_node(const void *object, struct kube_index_sink *sink)
{
    kube_index_add(sink, ((const struct core_pod *)object)->spec.node_name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct kube_index indexes[] = {{"node", by_node}};
    static const struct kube_informer_spec pods = {
        .name = "pod", .type = &core_pod_type, .indexes = indexes, .n_indexes = 1};
    if (size == 0)
        return 0;
    struct stub stub = {.transport = {.start = start, .cancel = cancel, .post = post, .unpost = unpost}};
    struct kube_client *client =
        kube_client_new(&(struct kube_client_options){.transport = &stub.transport, .clock = kb_clock_system()});
    struct kube_informer *informer =
        kube_informer_new(&pods, &(struct kube_informer_options){.client = client, .random = kb_random_system()});
    kube_informer_start(informer);
    answer(&stub, (const char *)data + 1, size - 1, data[0] % size);
    struct kube_objects all = kube_store_list(kube_informer_store(informer), NULL);
    if (all.n != kube_store_count(kube_informer_store(informer)))
        abort();
    kube_objects_done(&all);
    kube_informer_stop(informer, true);
    end_exchange(&stub, &(struct kube_error){.kind = KUBE_ERROR_CANCELLED});
    kube_informer_free(informer);
    kube_client_free(client);
    return 0;
}
