/*
 * The reflector: keeps a store equal to what the API server has, by a list and then a watch (informer_internal.h draws
 * it). A state machine on the transport's thread, without a thread of its own.
 *
 * Lists are consistent reads (no resourceVersion): they never go back in time. Streamed lists (sendInitialEvents) are
 * asked for first; a server that refuses them, or ends one without its mark, is asked for pages from then on.
 *
 * Watches ask the server to end them after 5 to 10 minutes. When that has not come half a minute later the connection
 * is taken for dead, so a watch that silently hangs is found.
 */
#include "base/strings.h"
#include "kube/informer_internal.h"
#include <stdlib.h>

#define PAGE_SIZE         500
#define PAGE_TIMEOUT_NS   (60 * KB_NS_PER_S)
#define WATCH_MIN_S       300
#define WATCH_SPREAD_S    300
#define WATCH_GRACE_S     30
#define BACKOFF_FIRST_NS  (800 * KB_NS_PER_MS)
#define BACKOFF_MAX_NS    (30 * KB_NS_PER_S)
#define SHORT_WATCH_NS    KB_NS_PER_S /* one that lasted so long and broke is taken up again at once */
#define MAX_REFUSAL_BYTES (64u << 10)

/* ---- what is asked ---- */

static void add_number(struct kb_strbuf *query, const char *name, uint64_t value)
{
    kb_strbuf_printf(query, "%s%s=%llu", query->length ? "&" : "", name, (unsigned long long)value);
}

static void add_watch(const struct kube_informer *informer, struct kb_strbuf *query, int64_t timeout_s)
{
    kube_query_add(query, "watch", "true");
    kube_query_add(query, "allowWatchBookmarks", "true");
    add_number(query, "timeoutSeconds", (uint64_t)timeout_s);
    if (informer->phase == KUBE_REFLECT_WATCH) {
        kube_query_add(query, "resourceVersion", kb_strbuf_text(&informer->version));
        return;
    }
    kube_query_add(query, "sendInitialEvents", "true");
    kube_query_add(query, "resourceVersionMatch", "NotOlderThan");
}

static void add_page(const struct kube_informer *informer, struct kb_strbuf *query)
{
    if (!informer->whole_list)
        add_number(query, "limit", PAGE_SIZE);
    if (informer->next_page.length)
        kube_query_add(query, "continue", kb_strbuf_text(&informer->next_page));
}

static const char *request_path(const struct kube_informer *informer, struct kb_arena *arena, int64_t timeout_s)
{
    const struct kube_informer_spec *spec = informer->spec;
    struct kb_strbuf query = {.arena = arena};
    if (informer->phase == KUBE_REFLECT_PAGES)
        add_page(informer, &query);
    else
        add_watch(informer, &query, timeout_s);
    if (spec->label_selector)
        kube_query_add(&query, "labelSelector", spec->label_selector);
    if (spec->field_selector)
        kube_query_add(&query, "fieldSelector", spec->field_selector);
    const struct kube_target target = {
        .resource = spec->type->resource, .namespace_ = spec->namespace_, .query = kb_strbuf_text(&query)};
    return kube_path(arena, &target);
}

static const struct kube_http_handler handler;

static void ask(struct kube_informer *informer)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    bool page = informer->phase == KUBE_REFLECT_PAGES;
    int64_t timeout_s = WATCH_MIN_S + (int64_t)kb_random_below(informer->options.random, WATCH_SPREAD_S);
    struct kube_http_request request = {
        .method = "GET",
        .path = request_path(informer, arena, timeout_s),
        /* A watch has no time-out of its own, so that it goes with the streams; the server ends it after timeout_s. */
        .timeout_ns = page ? PAGE_TIMEOUT_NS : 0,
        .busy = !page && informer->spec->busy,
        .idle_timeout_ns = page ? 0 : (timeout_s + WATCH_GRACE_S) * KB_NS_PER_S,
    };
    struct kube_reflection *reflection = kb_malloc(sizeof(*reflection));
    reflection->informer = informer;
    reflection->verb = page ? KUBE_LIST : KUBE_WATCH;
    reflection->started_at = informer->clock->mono(informer->clock);
    informer->refs++;
    informer->current = reflection;
    reflection->exchange = informer->transport->start(informer->transport, &request, &handler, reflection);
}

void kube_reflector_begin(struct kube_informer *informer)
{
    if (informer->version.length) {
        informer->phase = KUBE_REFLECT_WATCH;
    } else {
        informer->phase = informer->no_streams ? KUBE_REFLECT_PAGES : KUBE_REFLECT_STREAM;
        informer->relists++;
        kb_strbuf_clear(&informer->next_page);
        kube_store_relist_begin(informer->store);
    }
    ask(informer);
}

void kube_reflector_leave(struct kube_informer *informer)
{
    struct kube_reflection *left = KB_TAKE_PTR(informer->current);
    if (left)
        informer->transport->cancel(informer->transport, left->exchange);
    if (informer->post && informer->transport->unpost(informer->transport, informer->post))
        kube_informer_unref(informer);
    informer->post = 0;
}

/* ---- waiting ---- */

static void on_wait_over(void *userdata)
{
    struct kube_informer *informer = userdata;
    pthread_mutex_lock(&informer->lock);
    if (informer->started && !informer->current) {
        informer->post = 0;
        kube_reflector_begin(informer);
    }
    pthread_mutex_unlock(&informer->lock);
    kube_informer_unref(informer);
}

static void begin_after(struct kube_informer *informer, int64_t delay_ns)
{
    if (delay_ns <= 0) {
        kube_reflector_begin(informer);
        return;
    }
    informer->refs++;
    informer->post = informer->transport->post(informer->transport, delay_ns, on_wait_over, informer);
}

static int64_t backoff(struct kube_informer *informer)
{
    int64_t ns = BACKOFF_FIRST_NS;
    for (int i = 1; i < informer->failures && ns < BACKOFF_MAX_NS; i++)
        ns *= 2;
    ns += (int64_t)kb_random_below(informer->options.random, (uint64_t)ns);
    return ns < BACKOFF_MAX_NS ? ns : BACKOFF_MAX_NS;
}

/* ---- how an exchange ended ---- */

static bool says_version_is_too_large(const struct kube_error *error)
{
    return error->http_status == 504 && strstr(error->message, "Too large resource version");
}

static bool refuses_streams(const struct kube_informer *informer, const struct kube_error *error)
{
    return informer->phase == KUBE_REFLECT_STREAM &&
           (error->http_status == 400 || error->http_status == 405 || error->http_status == 422);
}

static bool is_expired(const struct kube_error *error)
{
    return kube_error_is_api(error, 410) || kb_streq(error->reason, "Expired") || kb_streq(error->reason, "Gone");
}

/* A watch that broke after a while, or was cut by its own limit, is no failure. */
static bool may_go_on_at_once(const struct kube_informer *informer, const struct kube_error *error, int64_t lasted)
{
    return informer->phase == KUBE_REFLECT_WATCH && lasted >= SHORT_WATCH_NS && informer->version.length &&
           (error->kind == KUBE_ERROR_CONNECTION || error->kind == KUBE_ERROR_TIMEOUT);
}

static void forget_version(struct kube_informer *informer)
{
    kb_strbuf_clear(&informer->version);
}

static void go_on_after_failure(struct kube_informer *informer, const struct kube_error *error, int64_t lasted)
{
    int64_t delay = 0;
    if (refuses_streams(informer, error)) {
        informer->no_streams = true;
        kube_reflector_begin(informer);
        return;
    }
    if (may_go_on_at_once(informer, error, lasted)) {
        informer->failures = 0;
        kube_reflector_begin(informer);
        return;
    }
    informer->failures++;
    if (is_expired(error)) {
        if (informer->phase == KUBE_REFLECT_PAGES)
            informer->whole_list = true;
        forget_version(informer);
    }
    if (says_version_is_too_large(error)) {
        kube_store_distrust(informer->store);
        forget_version(informer);
    }
    if (kube_error_is_not_found(error)) { /* the kind is not there (any more) */
        informer->synced = false;
        forget_version(informer);
    }
    if (!is_expired(error) || informer->failures > 1)
        delay = backoff(informer);
    if (delay < error->retry_after_ms * KB_NS_PER_MS)
        delay = error->retry_after_ms * KB_NS_PER_MS;
    kube_informer_tell_error(informer, error);
    if (informer->started)
        begin_after(informer, delay);
}

static void go_on_after_success(struct kube_informer *informer, const struct kube_reflection *reflection,
                                int64_t lasted)
{
    struct kube_error error;
    if (informer->phase == KUBE_REFLECT_PAGES) {
        ask(informer); /* the next one */
        return;
    }
    if (informer->phase == KUBE_REFLECT_STREAM) {
        informer->no_streams = true;
        kube_reflector_begin(informer);
        return;
    }
    if (reflection->events > 0 || lasted >= SHORT_WATCH_NS) {
        kube_reflector_begin(informer);
        return;
    }
    kube_error_set(&error, KUBE_ERROR_CONNECTION, "very short watch: it ended at once, without an event");
    go_on_after_failure(informer, &error, lasted);
}

/* Negative: *ret_failure says why. */
static int judge(struct kube_reflection *reflection, const struct kube_error *error, struct kube_error *ret_failure)
{
    *ret_failure = (struct kube_error){0};
    if (reflection->failed)
        *ret_failure = reflection->failure;
    else if (error)
        *ret_failure = *error;
    else if (reflection->status >= 400)
        kube_error_from_answer(ret_failure, "GET", "", reflection->status, reflection->retry_after_ms,
                               kb_strbuf_text(&reflection->body), reflection->body.length);
    else
        return 0;
    return -1;
}

static void go_on(struct kube_reflection *reflection, const struct kube_error *error)
{
    struct kube_informer *informer = reflection->informer;
    int64_t lasted = informer->clock->mono(informer->clock) - reflection->started_at;
    struct kube_error failure;
    bool complete = false;
    int r = judge(reflection, error, &failure);
    if (r == 0 && informer->phase == KUBE_REFLECT_PAGES)
        r = kube_reflection_page(reflection, &complete, &failure);
    if (informer->current != reflection)
        return;
    informer->current = NULL;
    if (r < 0)
        go_on_after_failure(informer, &failure, lasted);
    else if (complete)
        kube_reflector_begin(informer);
    else
        go_on_after_success(informer, reflection, lasted);
}

/* ---- callbacks of the transport ---- */

/* Once, when the answer begins or when it is known that there will be none: a watch lasts for minutes. */
static void observe(const struct kube_reflection *reflection)
{
    const struct kube_informer *informer = reflection->informer;
    const struct kube_target target = {.resource = informer->spec->type->resource,
                                       .namespace_ = informer->spec->namespace_};
    kube_client_observe(informer->options.client, reflection->verb, &target, reflection->status,
                        informer->clock->mono(informer->clock) - reflection->started_at);
}

static void on_head(void *userdata, const struct kube_http_head *head)
{
    struct kube_reflection *reflection = userdata;
    reflection->status = head->status;
    reflection->retry_after_ms = head->retry_after_ms;
    pthread_mutex_lock(&reflection->informer->lock);
    if (reflection->informer->current == reflection)
        observe(reflection);
    pthread_mutex_unlock(&reflection->informer->lock);
}

static int take_body(struct kube_reflection *reflection, const char *bytes, size_t n)
{
    struct kube_informer *informer = reflection->informer;
    if (informer->current != reflection || reflection->failed)
        return -1;
    bool refusal = reflection->status >= 400;
    if (!refusal && informer->phase != KUBE_REFLECT_PAGES)
        return kube_reflection_feed(reflection, bytes, n);
    if (reflection->body.length + n <= (refusal ? MAX_REFUSAL_BYTES : API_MAX_BYTES)) {
        kb_strbuf_append(&reflection->body, bytes, n);
        return 0;
    }
    if (refusal)
        return 0;
    reflection->failed = true;
    return kube_error_set(&reflection->failure, KUBE_ERROR_INVALID, "list larger than %u bytes", API_MAX_BYTES);
}

static int on_body(void *userdata, const char *bytes, size_t n)
{
    struct kube_reflection *reflection = userdata;
    pthread_mutex_lock(&reflection->informer->lock);
    int r = take_body(reflection, bytes, n);
    pthread_mutex_unlock(&reflection->informer->lock);
    return r;
}

static void on_end(void *userdata, const struct kube_error *error)
{
    struct kube_reflection *reflection = userdata;
    struct kube_informer *informer = reflection->informer;
    pthread_mutex_lock(&informer->lock);
    if (informer->current == reflection) {
        if (reflection->status == 0)
            observe(reflection);
        go_on(reflection, error);
    }
    pthread_mutex_unlock(&informer->lock);
    kb_strbuf_done(&reflection->body);
    kb_strbuf_done(&reflection->line);
    free(reflection);
    kube_informer_unref(informer);
}

static const struct kube_http_handler handler = {.head = on_head, .body = on_body, .end = on_end};
