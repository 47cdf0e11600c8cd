/* Tests of the simulated parts in their thread, beside clients in others. */
#include "base/strings.h"
#include "sim_fixture.h"
#include <pthread.h>

#define N_CLIENTS 3
#define N_PODS    60

struct maker {
    struct lab_server *server;
    int number;
    bool failed;
};

/* Makes Pods, and deletes every third. */
static void *make_pods(void *arg)
{
    struct maker *m = arg;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct lab_client *c = lab_client_new(m->server, "tester");
    for (int i = 0; i < N_PODS; i++) {
        const char *name = kb_arena_printf(arena, "p-%d-%03d", m->number, i);
        struct lab_ref ref = at("pods", name);
        m->failed |= lab_client_create_text(c, &ref, "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}}",
                                            NULL, NULL) < 0;
        if (i % 3 == 0)
            m->failed |= lab_client_delete(c, &ref, NULL, NULL) < 0;
    }
    lab_client_free(c);
    return NULL;
}

static size_t count_running(struct lab_client *client)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct lab_selector_options running = {.field_selector = "status.phase=Running,spec.nodeName!="};
    struct lab_ref ref = {.resource = "pods"};
    struct lab_object **items;
    size_t n, alive = 0;
    if (lab_client_list(client, &ref, &running, arena, &items, &n, NULL) < 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        alive += !items[i]->meta->deleting;
        lab_object_unref(items[i]);
    }
    return alive;
}

/* Sleeps by a watch until so many Pods run and no others are left. */
static size_t await_running(struct lab_client *client, size_t wanted)
{
    struct lab_ref ref = {.resource = "pods"};
    struct lab_watch *w = lab_client_watch(client, &ref, NULL, NULL);
    struct kb_clock *clock = kb_clock_system();
    int64_t deadline = clock->mono(clock) + 60 * KB_NS_PER_S;
    while (count_running(client) != wanted && clock->mono(clock) < deadline && lab_client_wait(client, deadline)) {
        struct lab_watch_event e;
        while (lab_watch_next(w, &e) > 0)
            lab_watch_event_done(&e);
    }
    lab_watch_free(w);
    return count_running(client);
}

static void pods_of_many_clients_run(void **state)
{
    (void)state;
    struct kube_error err;
    struct lab_server *server;
    struct lab_sim *sim;
    pthread_t threads[N_CLIENTS];
    struct maker makers[N_CLIENTS];
    if (lab_server_new(&(struct lab_server_options){0}, &server, &err) < 0)
        fail_msg("%s", err.message);
    if (lab_sim_new(server, &(struct lab_sim_options){.nodes = 3, .delays[LAB_PART_KUBELET] = KB_NS_PER_MS}, &sim,
                    &err) < 0)
        fail_msg("%s", err.message);
    lab_sim_start(sim);
    for (int i = 0; i < N_CLIENTS; i++) {
        makers[i] = (struct maker){.server = server, .number = i};
        pthread_create(&threads[i], NULL, make_pods, &makers[i]);
    }
    lab_server_cut_watches(server); /* the parts' own, too */
    for (int i = 0; i < N_CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(makers[i].failed);
    }
    struct lab_client *client = lab_client_new(server, "observer");
    assert_int_equal(await_running(client, N_CLIENTS * N_PODS * 2 / 3), N_CLIENTS * N_PODS * 2 / 3);
    lab_client_free(client);
    lab_server_stop(server);
    lab_sim_free(sim);
    lab_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pods_of_many_clients_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
