/*
 * The probe of the API server.
 *
 *     unknown --- check ---> asking --- answer ---> known --- forget ---> unknown
 *        ^                     |
 *        +------ failure ------+
 *
 * `round` tells an answer that was asked for before a `forget` from one that counts.
 */
#include "cmd/virt-controller/health.h"
#include "api/codec.h"
#include "base/strings.h"
#include "kube/client.h"
#include <pthread.h>
#include <stdlib.h>

#define PROBE_TIMEOUT_NS (5 * KB_NS_PER_S)
#define MAX_ANSWER       (64u << 10)

struct health {
    struct kube_transport *transport;
    struct kb_clock *clock;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    char *version; /* JSON text; NULL: unknown */
    bool asking;
    uint64_t round, asked_in;
    int status; /* of the answer that comes */
    struct kb_strbuf body;
    struct kube_error failure; /* of the last probe */
};

struct health *health_new(struct kube_transport *transport, struct kb_clock *clock)
{
    struct health *health = kb_malloc(sizeof(*health));
    health->transport = transport;
    health->clock = clock;
    pthread_mutex_init(&health->lock, NULL);
    kb_cond_init(&health->answered);
    return health;
}

void health_free(struct health *health)
{
    if (!health)
        return;
    pthread_cond_destroy(&health->answered);
    pthread_mutex_destroy(&health->lock);
    kb_strbuf_done(&health->body);
    free(health->version);
    free(health);
}

void health_forget(struct health *health)
{
    pthread_mutex_lock(&health->lock);
    free(health->version);
    health->version = NULL;
    health->round++;
    pthread_mutex_unlock(&health->lock);
}

/* ---- the answer; on the transport's thread ---- */

static void on_head(void *userdata, const struct kube_http_head *head)
{
    struct health *health = userdata;
    health->status = head->status;
}

static int on_body(void *userdata, const char *bytes, size_t n)
{
    struct health *health = userdata;
    if (health->body.length + n > MAX_ANSWER)
        return -1;
    kb_strbuf_append(&health->body, bytes, n);
    return 0;
}

static int judge(struct health *health, const struct kube_error *error, struct kube_error *reterr)
{
    yyjson_doc *doc;
    if (error) {
        *reterr = *error;
        return -1;
    }
    if (health->status >= 400)
        return kube_error_from_answer(reterr, "GET", "", health->status, 0, kb_strbuf_text(&health->body),
                                      health->body.length);
    if (api_parse(kb_strbuf_text(&health->body), health->body.length, &doc, reterr) < 0)
        return kube_error_wrap(reterr, "/version");
    yyjson_doc_free(doc);
    return 0;
}

static void on_end(void *userdata, const struct kube_error *error)
{
    struct health *health = userdata;
    struct kube_error failure = {0};
    pthread_mutex_lock(&health->lock);
    if (judge(health, error, &failure) < 0) {
        health->failure = failure;
    } else if (health->asked_in == health->round) {
        free(health->version);
        health->version = kb_strdup(kb_strbuf_text(&health->body));
        health->failure = (struct kube_error){0};
    }
    health->asking = false;
    pthread_cond_broadcast(&health->answered);
    pthread_mutex_unlock(&health->lock);
}

static const struct kube_http_handler handler = {on_head, on_body, on_end};

/* ---- asking ---- */

/* Lock held. */
static void ask(struct health *health)
{
    static const struct kube_http_request request = {
        .method = "GET", .path = "/version", .timeout_ns = PROBE_TIMEOUT_NS};
    health->asking = true;
    health->asked_in = health->round;
    health->status = 0;
    kb_strbuf_clear(&health->body);
    health->transport->start(health->transport, &request, &handler, health);
}

/* Lock held. */
static void wait_for_answer(struct health *health)
{
    int64_t deadline = health->clock->mono(health->clock) + HEALTH_PATIENCE_NS;
    while (health->asking)
        if (health->clock->wait(health->clock, &health->answered, &health->lock, deadline))
            return;
}

int health_check(struct health *health, struct kb_strbuf *ret_version, struct kube_error *reterr)
{
    int rc = 0;
    pthread_mutex_lock(&health->lock);
    if (!health->version) {
        if (!health->asking)
            ask(health);
        wait_for_answer(health);
    }
    if (health->version) {
        kb_strbuf_puts(ret_version, health->version);
    } else if (health->asking || health->failure.kind == KUBE_ERROR_NONE) {
        rc = kube_error_set(reterr, KUBE_ERROR_TIMEOUT, "the API server has not answered yet");
    } else {
        *reterr = health->failure;
        rc = -1;
    }
    pthread_mutex_unlock(&health->lock);
    return rc;
}
