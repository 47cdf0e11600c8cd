/*
 * Leader election with libkube: contends for a Lease, says what happens, gives the lease back at Ctrl-C.
 *
 *     leader-election KUBECONFIG NAMESPACE LEASE
 *
 * Several may run, also beside Go programs that use client-go's LeaseLock with the same timings.
 */
#include "kube/leader.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void on_started(void *userdata)
{
    printf("%s leads\n", (const char *)userdata);
    fflush(stdout);
}

static void on_stopped(void *userdata)
{
    printf("%s has lost the lease\n", (const char *)userdata);
    exit(1);
}

static void on_observed(void *userdata, const char *identity)
{
    printf("%s sees that %s leads\n", (const char *)userdata, identity);
    fflush(stdout);
}

static int fail(const struct kube_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    return 1;
}

/* Waits for SIGINT or SIGTERM, which must be blocked in all threads. */
static void wait_for_signal(const sigset_t *signals)
{
    int number;
    sigwait(signals, &number);
}

int main(int argc, char **argv)
{
    struct kube_error error = {0};
    struct kube_config *config;
    struct kube_transport *transport;
    if (argc != 4) {
        fprintf(stderr, "usage: %s KUBECONFIG NAMESPACE LEASE\n", argv[0]);
        return 2;
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    struct kb_clock *clock = kb_clock_system();
    struct kb_random *random = kb_random_system();
    if (kube_config_load(argv[1], NULL, &config, &error) < 0)
        return fail(&error);
    const struct kube_transport_options transport_options = {config, clock, "leader-election"};
    if (kube_transport_curl_new(&transport_options, &transport, &error) < 0)
        return fail(&error);
    struct kube_client *client = kube_client_new(&(struct kube_client_options){.transport = transport, .clock = clock});
    struct kube_recorder *recorder = kube_recorder_new(client, "leader-election", clock, random);

    char identity[64], suffix[6];
    kb_random_suffix(random, suffix, 5);
    snprintf(identity, sizeof identity, "example-%s", suffix);
    const struct kube_leader_options options = {
        .client = client,
        .clock = clock,
        .random = random,
        .recorder = recorder,
        .namespace_ = argv[2],
        .name = argv[3],
        .identity = identity,
        .lease_duration_ns = 15 * KB_NS_PER_S,
        .renew_deadline_ns = 10 * KB_NS_PER_S,
        .retry_period_ns = 2 * KB_NS_PER_S,
        .started = on_started,
        .stopped = on_stopped,
        .observed = on_observed,
        .userdata = identity,
    };
    struct kube_leader *leader;
    if (kube_leader_new(&options, &leader, &error) < 0)
        return fail(&error);
    kube_leader_start(leader);
    wait_for_signal(&signals);
    kube_leader_free(leader);
    kube_recorder_free(recorder);
    kube_client_free(client);
    transport->free(transport);
    kube_config_free(config);
    return 0;
}
