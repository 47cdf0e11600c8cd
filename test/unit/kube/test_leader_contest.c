/*
 * Contenders for one Lease under arbitrary interleavings: a network whose every step - a request reaching the server,
 * an answer coming back, a connection breaking before or after the server acted, a watch event, a pause of a whole
 * process, a crash - is chosen by a seeded random number. After each step at most one contender may have an open fence;
 * when the faults end, one leads soon.
 *
 * The processes' clocks differ: monotonic by hours, wall by hours, so nothing may compare them.
 */
#include "api/codec.h"
#include "api/types/coordination.h"
#include "base/strings.h"
#include "base/vec.h"
#include "kube/leader_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S           KB_NS_PER_S
#define N_PROCESSES 3
#define LEASE_PATH  "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"

/* ---- the server: one Lease ---- */

struct store {
    char *text; /* NULL: no Lease */
    int version;
};

/* ---- the network ---- */

struct kube_exchange {
    char *method, *path, *body;
    const struct kube_http_handler *handler;
    void *userdata;
    bool watch, applied, opened, cancelled, ended;
    int status;
    struct kb_strbuf reply; /* of watches: events not delivered yet */
};

struct post {
    int64_t due;
    uint64_t number;
    void (*fn)(void *userdata);
    void *userdata;
};

struct net {
    struct kube_transport transport;
    int64_t mono;
    struct store store;
    struct kb_random *random;
    uint64_t post_number;
    bool faults;
    struct {
        size_t n;
        struct kube_exchange **items;
    } exchanges;
    struct {
        size_t n;
        struct post *items;
    } posts;
};

static struct net *net_of(struct kube_transport *transport)
{
    return (struct net *)transport; /* its first member */
}

static struct kube_exchange *net_start(struct kube_transport *self, const struct kube_http_request *request,
                                       const struct kube_http_handler *handler, void *userdata)
{
    struct kube_exchange *x = kb_malloc(sizeof *x);
    x->method = kb_strdup(request->method);
    x->path = kb_strdup(request->path);
    x->body = request->body ? kb_strndup(request->body, request->body_length) : kb_strdup("");
    x->handler = handler;
    x->userdata = userdata;
    x->watch = strstr(request->path, "watch=true") != NULL;
    *kb_vec_push(NULL, &net_of(self)->exchanges) = x;
    return x;
}

static void net_cancel(struct kube_transport *self, struct kube_exchange *x)
{
    (void)self;
    assert_false(x->ended);
    x->cancelled = true;
}

static uint64_t net_post(struct kube_transport *self, int64_t delay_ns, void (*fn)(void *userdata), void *userdata)
{
    struct net *net = net_of(self);
    *kb_vec_push(NULL, &net->posts) = (struct post){net->mono + delay_ns, ++net->post_number, fn, userdata};
    return net->post_number;
}

static bool net_unpost(struct kube_transport *self, uint64_t number)
{
    struct net *net = net_of(self);
    for (size_t i = 0; i < net->posts.n; i++) {
        if (net->posts.items[i].number == number) {
            kb_vec_remove(&net->posts, i);
            return true;
        }
    }
    return false;
}

static void end_exchange(struct net *net, size_t index, enum kube_error_kind kind)
{
    struct kube_exchange *x = net->exchanges.items[index];
    kb_vec_remove(&net->exchanges, index);
    x->ended = true;
    struct kube_error error = {.kind = kind};
    x->handler->end(x->userdata, kind == KUBE_ERROR_NONE ? NULL : &error);
    free(x->method);
    free(x->path);
    free(x->body);
    kb_strbuf_done(&x->reply);
    free(x);
}

static const char *spec_member(const char *text, const char *name, char *ret, size_t size)
{
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    yyjson_val *value = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "metadata"), name);
    snprintf(ret, size, "%s", value ? yyjson_get_str(value) : "");
    yyjson_doc_free(doc);
    return ret;
}

static void store_write(struct net *net, const char *text)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct coordination_lease *lease;
    assert_int_equal(api_decode(arena, &coordination_lease_type, text, strlen(text), &lease, NULL), 0);
    lease->metadata.resource_version = kb_arena_printf(arena, "%d", ++net->store.version);
    free(net->store.text);
    net->store.text = kb_strdup(api_encode_text(arena, &coordination_lease_type, lease, 0));
    for (size_t i = 0; i < net->exchanges.n; i++) {
        struct kube_exchange *x = net->exchanges.items[i];
        if (x->watch && x->applied)
            kb_strbuf_printf(&x->reply, "{\"type\":\"MODIFIED\",\"object\":%s}\n", net->store.text);
    }
}

static void refuse(struct kube_exchange *x, int status, const char *reason)
{
    x->status = status;
    kb_strbuf_printf(&x->reply,
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"%s\",\"code\":%d}",
                     reason, status);
}

/* The request reaches the server. */
static void apply(struct net *net, struct kube_exchange *x)
{
    char version[32], current[32];
    x->applied = true;
    x->status = 200;
    if (x->watch) {
        if (net->store.text)
            kb_strbuf_printf(&x->reply, "{\"type\":\"ADDED\",\"object\":%s}\n", net->store.text);
        return;
    }
    if (kb_streq(x->method, "POST") && net->store.text)
        refuse(x, 409, "AlreadyExists");
    else if (!kb_streq(x->method, "POST") && !net->store.text)
        refuse(x, 404, "NotFound");
    else if (kb_streq(x->method, "PUT") &&
             !kb_streq(spec_member(x->body, "resourceVersion", version, sizeof version),
                       spec_member(net->store.text, "resourceVersion", current, sizeof current)))
        refuse(x, 409, "Conflict");
    else if (!kb_streq(x->method, "GET"))
        store_write(net, x->body);
    if (x->status == 200)
        kb_strbuf_puts(&x->reply, net->store.text);
}

/* The answer, or what a watch has so far, reaches the client. */
static void deliver(struct net *net, size_t index)
{
    struct kube_exchange *x = net->exchanges.items[index];
    if (!x->opened) {
        x->opened = true;
        x->handler->head(x->userdata,
                         &(struct kube_http_head){.status = x->status, .content_type = "application/json"});
    }
    size_t n = x->reply.length;
    if (x->watch && n > 1)
        n = 1 + kb_random_below(net->random, n); /* cut anywhere */
    int rc = n > 0 && x->handler->body ? x->handler->body(x->userdata, x->reply.data, n) : 0;
    kb_strbuf_drop_front(&x->reply, n);
    if (rc < 0)
        end_exchange(net, index, KUBE_ERROR_CANCELLED);
    else if (!x->watch)
        end_exchange(net, index, KUBE_ERROR_NONE);
}

static void step_exchange(struct net *net, size_t index)
{
    struct kube_exchange *x = net->exchanges.items[index];
    if (x->cancelled)
        end_exchange(net, index, KUBE_ERROR_CANCELLED);
    else if (net->faults && kb_random_below(net->random, 12) == 0)
        end_exchange(net, index, KUBE_ERROR_CONNECTION); /* before or after the server acted */
    else if (net->faults && x->watch && x->opened && kb_random_below(net->random, 20) == 0)
        end_exchange(net, index, KUBE_ERROR_NONE);
    else if (!x->applied)
        apply(net, x);
    else
        deliver(net, index);
}

static bool run_post(struct net *net)
{
    for (size_t i = 0; i < net->posts.n; i++) {
        struct post post = net->posts.items[i];
        if (post.due > net->mono)
            continue;
        kb_vec_remove(&net->posts, i);
        post.fn(post.userdata);
        return true;
    }
    return false;
}

/* Cancelled exchanges and due posts: what a client that is freed waits for. */
static void settle(struct net *net)
{
    while (run_post(net))
        continue;
    for (size_t i = net->exchanges.n; i > 0; i--) {
        if (net->exchanges.items[i - 1]->cancelled)
            end_exchange(net, i - 1, KUBE_ERROR_CANCELLED);
    }
}

/* ---- processes ---- */

struct process {
    struct kb_clock clock; /* first */
    struct net *net;
    int64_t mono_offset, wall_offset;
    struct kube_client *client, *fenced;
    struct kb_random *random;
    struct kube_leader *leader;
    int number, life;     /* which one; how often it was started */
    int64_t paused_until; /* of the network's time: the elector's thread does not run (SIGSTOP, a slow node) */
    int started, stopped;
};

static int64_t process_mono(struct kb_clock *self)
{
    struct process *p = (struct process *)self;
    return p->net->mono + p->mono_offset;
}

static int64_t process_wall(struct kb_clock *self)
{
    struct process *p = (struct process *)self;
    return 1767323045 * S + p->net->mono + p->wall_offset;
}

static bool process_wait(struct kb_clock *self, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    (void)cond, (void)deadline;
    pthread_mutex_unlock(mutex);
    settle(((struct process *)self)->net);
    pthread_mutex_lock(mutex);
    return false;
}

static void on_started(void *userdata)
{
    ((struct process *)userdata)->started++;
}

static void on_stopped(void *userdata)
{
    ((struct process *)userdata)->stopped++;
}

static void start_process(struct process *p)
{
    char identity[32];
    snprintf(identity, sizeof identity, "p%d_%d", p->number, ++p->life);
    p->clock = (struct kb_clock){process_wall, process_mono, process_wait};
    p->mono_offset = (int64_t)kb_random_below(p->random, 10000) * S;
    p->wall_offset = ((int64_t)kb_random_below(p->random, 20000) - 10000) * S;
    p->started = p->stopped = 0;
    struct kube_client_options options = {.transport = &p->net->transport, .clock = &p->clock};
    p->client = kube_client_new(&options);
    p->fenced = kube_client_new(&options);
    const struct kube_leader_options leader = {
        .client = p->client,
        .clock = &p->clock,
        .random = p->random,
        .namespace_ = "ns",
        .name = "l",
        .identity = identity,
        .lease_duration_ns = 15 * S,
        .renew_deadline_ns = 10 * S,
        .retry_period_ns = 2 * S,
        .fenced = &p->fenced,
        .n_fenced = 1,
        .started = on_started,
        .stopped = on_stopped,
        .userdata = p,
    };
    struct kube_error error;
    assert_int_equal(kube_leader_new(&leader, &p->leader, &error), 0);
}

/* Without a word, as by SIGKILL. */
static void kill_process(struct process *p)
{
    kube_leader_free(p->leader);
    kube_client_free(p->client);
    kube_client_free(p->fenced);
    settle(p->net);
}

static bool fence_is_open(const struct process *p)
{
    return p->leader->role == KUBE_LEADER_LEADING && !p->leader->stopping &&
           p->leader->fence > p->net->mono + p->mono_offset;
}

/* ---- the walk ---- */

struct contest {
    struct net net;
    struct process processes[N_PROCESSES];
    int terms; /* how often one began to lead */
};

static void assert_one_leader(struct contest *c, uint64_t seed, int step)
{
    int open = 0;
    for (int i = 0; i < N_PROCESSES; i++) {
        open += fence_is_open(&c->processes[i]);
        assert_true(c->processes[i].started <= 1);
        assert_true(c->processes[i].stopped <= c->processes[i].started);
    }
    if (open > 1)
        fail_msg("seed %llu, step %d: %d contenders may write", (unsigned long long)seed, step, open);
}

static void poll_process(struct contest *c, struct process *p)
{
    int before = p->started;
    kube_leader_poll(p->leader);
    c->terms += p->started - before;
    if (kube_leader_is_over(p->leader)) {
        kill_process(p);
        start_process(p);
    }
}

static void step(struct contest *c)
{
    struct net *net = &c->net;
    struct process *p = &c->processes[kb_random_below(net->random, N_PROCESSES)];
    uint64_t what = kb_random_below(net->random, 1000);
    if (what < 300) {
        if (p->paused_until <= net->mono)
            poll_process(c, p);
    } else if (what < 700) {
        if (net->exchanges.n > 0)
            step_exchange(net, kb_random_below(net->random, net->exchanges.n));
    } else if (what < 800) {
        run_post(net);
    } else if (what < 980) {
        net->mono += (int64_t)kb_random_below(net->random, 700) * KB_NS_PER_MS;
    } else if (what < 987) {
        p->paused_until = net->mono + (int64_t)kb_random_below(net->random, 40) * S;
    } else if (what < 990) {
        net->mono += (int64_t)kb_random_below(net->random, 20) * S; /* everybody sleeps */
    } else if (what < 993) {
        kill_process(p);
        start_process(p);
    } else {
        kube_leader_begin_stop(p->leader);
    }
}

static int leaders(const struct contest *c)
{
    int n = 0;
    for (int i = 0; i < N_PROCESSES; i++)
        n += fence_is_open(&c->processes[i]);
    return n;
}

/* All run, nothing fails: within two lease durations and a retry one leads, and stays. */
static void run_fairly(struct contest *c, uint64_t seed)
{
    c->net.faults = false;
    for (int i = 0; i < 600; i++) {
        for (size_t rounds = 0; rounds < 8; rounds++) {
            for (int p = 0; p < N_PROCESSES; p++)
                poll_process(c, &c->processes[p]);
            settle(&c->net);
            for (size_t x = c->net.exchanges.n; x > 0; x--)
                step_exchange(&c->net, x - 1);
        }
        c->net.mono += 100 * KB_NS_PER_MS;
        assert_one_leader(c, seed, 1000000 + i);
        if (i > 400)
            assert_int_equal(leaders(c), 1);
    }
}

static int walk(uint64_t seed, int steps)
{
    struct contest *c = kb_malloc(sizeof *c);
    c->net.transport = (struct kube_transport){net_start, net_cancel, net_post, net_unpost, NULL};
    c->net.random = kb_random_seeded(seed);
    c->net.faults = true;
    c->net.mono = 1000 * S;
    for (int i = 0; i < N_PROCESSES; i++) {
        struct process *p = &c->processes[i];
        *p = (struct process){.net = &c->net, .number = i, .random = kb_random_seeded(seed * 31 + (uint64_t)i)};
        start_process(p);
    }
    for (int i = 0; i < steps; i++) {
        step(c);
        assert_one_leader(c, seed, i);
    }
    run_fairly(c, seed);
    for (int i = 0; i < N_PROCESSES; i++) {
        kill_process(&c->processes[i]);
        free(c->processes[i].random);
    }
    int terms = c->terms;
    assert_int_equal(c->net.exchanges.n, 0);
    free(c->net.exchanges.items);
    free(c->net.posts.items);
    free(c->net.store.text);
    free(c->net.random);
    free(c);
    return terms;
}

static void never_may_two_contenders_write(void **state)
{
    (void)state;
    int terms = 0;
    for (uint64_t seed = 1; seed <= 200; seed++)
        terms += walk(seed, 4000);
    print_message("%d terms of leadership\n", terms);
    assert_true(terms > 1000); /* otherwise the walks prove nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_may_two_contenders_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
