/*
 * virt-lab: a Kubernetes cluster in one process, for demonstrations, tests and load. This file: flags, wiring, signals.
 */
#include "base/arena.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include "base/vec.h"
#include "lab/http.h"
#include "lab/server.h"
#include "lab/sim/sim.h"
#include "lab/tls.h"
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "Usage: virt-lab [options]\n"
    "\n"
    "A Kubernetes API server in memory, with the kinds of KubeVirt, CDI, CSI snapshots and network\n"
    "attachments, for kubectl and controllers alike. Prints its address once it serves; SIGTERM ends it.\n"
    "POST /debug/cut-watches ends all watches, and lets them begin with a new list only.\n"
    "\n"
    "  --port N                 listen on this port (default: any free one)\n"
    "  --listen ADDRESS         listen on this address (default: 127.0.0.1)\n"
    "  --tls                    serve HTTPS with a certificate made at start\n"
    "  --write-kubeconfig FILE  write a kubeconfig of the user admin\n"
    "  --token TOKEN=USER[,GROUP...]\n"
    "                           accept one more token; may be repeated. Always accepted: admin-token,\n"
    "                           controller-token, sim-token (users admin, controller, sim)\n"
    "  --require-token          refuse requests without a token (default: they are system:anonymous)\n"
    "  --audit-log FILE         append a line for each write, as kube-apiserver does at level Metadata\n"
    "  --audit-users USER,...   only of these users\n"
    "  --watch-history N        events kept for watches, for each resource (default: 8192)\n"
    "  --no-kinds               start without the KubeVirt, CDI, snapshot and network kinds\n"
    "  --nodes N                nodes that are made at the start (default: 3)\n"
    "  --no-sim PART,...        do not play these parts: scheduler, kubelet, virt-handler, virt-api, cdi,\n"
    "                           snapshotter, pvc-binder, gc; or all. The annotation virt-lab/no-sim on a\n"
    "                           Namespace or Node has the same form, and turns parts (not gc) off there.\n"
    "                           Pods with the annotation virt-lab/hold are not started\n"
    "  --delay PART=DURATION    let a part react so much later, for example kubelet=500ms; may be repeated\n"
    "  --threads N              threads that serve HTTP (default: 2)\n"
    "  --help                   this text\n";

struct flags {
    struct lab_server_options server;
    struct lab_http_options http;
    struct lab_sim_options sim;
    const char *kubeconfig;
    bool tls;
    struct {
        size_t n;
        struct lab_user *items;
    } users;
};

enum flag {
    OPTION_PORT = 256,
    OPTION_LISTEN,
    OPTION_TLS,
    OPTION_KUBECONFIG,
    OPTION_TOKEN,
    OPTION_REQUIRE_TOKEN,
    OPTION_AUDIT_LOG,
    OPTION_AUDIT_USERS,
    OPTION_WATCH_HISTORY,
    OPTION_NO_KINDS,
    OPTION_NODES,
    OPTION_NO_SIM,
    OPTION_DELAY,
    OPTION_THREADS,
    OPTION_HELP,
};

static const struct option options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"tls", no_argument, NULL, OPTION_TLS},
    {"write-kubeconfig", required_argument, NULL, OPTION_KUBECONFIG},
    {"token", required_argument, NULL, OPTION_TOKEN},
    {"require-token", no_argument, NULL, OPTION_REQUIRE_TOKEN},
    {"audit-log", required_argument, NULL, OPTION_AUDIT_LOG},
    {"audit-users", required_argument, NULL, OPTION_AUDIT_USERS},
    {"watch-history", required_argument, NULL, OPTION_WATCH_HISTORY},
    {"no-kinds", no_argument, NULL, OPTION_NO_KINDS},
    {"nodes", required_argument, NULL, OPTION_NODES},
    {"no-sim", required_argument, NULL, OPTION_NO_SIM},
    {"delay", required_argument, NULL, OPTION_DELAY},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("virt-lab: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return -1;
}

static int parse_number(const char *flag, const char *text, long long min, long long max, long long *ret)
{
    if (kb_parse_int(text, min, max, ret))
        return 0;
    return fail("--%s: \"%s\" is not a number from %lld to %lld", flag, text, min, max);
}

static int add_user(struct flags *f, struct kb_arena *arena, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return fail("--token: \"%s\" is not of the form TOKEN=USER[,GROUP...]", text);
    struct lab_user *u = kb_vec_push(arena, &f->users);
    u->token = kb_arena_strndup(arena, text, (size_t)(equals - text));
    u->name = kb_arena_strndup(arena, equals + 1, strcspn(equals + 1, ","));
    const char *groups = strchr(equals, ',');
    u->groups = groups ? groups + 1 : "";
    return 0;
}

static int disable_parts(struct flags *f, const char *text)
{
    struct kube_error err;
    return lab_parts_parse(text, &f->sim.off, &err) < 0 ? fail("--no-sim: %s", err.message) : 0;
}

static int add_delay(struct flags *f, struct kb_arena *arena, const char *text)
{
    struct kube_error err;
    unsigned parts = 0;
    int64_t delay;
    const char *equals = strchr(text, '=');
    if (!equals || !kb_duration_parse(equals + 1, &delay) || delay < 0)
        return fail("--delay: \"%s\" is not of the form PART=DURATION", text);
    if (lab_parts_parse(kb_arena_strndup(arena, text, (size_t)(equals - text)), &parts, &err) < 0)
        return fail("--delay: %s", err.message);
    for (int i = 0; i < LAB_N_PARTS; i++)
        if (parts & LAB_PART_BIT(i))
            f->sim.delays[i] = delay;
    return 0;
}

static int set_flag(struct flags *f, struct kb_arena *arena, int option, const char *value)
{
    long long n = 0;
    switch (option) {
    case OPTION_PORT:
        if (parse_number("port", value, 0, UINT16_MAX, &n) < 0)
            return -1;
        f->http.port = (uint16_t)n;
        return 0;
    case OPTION_THREADS:
        if (parse_number("threads", value, 1, 64, &n) < 0)
            return -1;
        f->http.threads = (unsigned)n;
        return 0;
    case OPTION_WATCH_HISTORY:
        if (parse_number("watch-history", value, 1, 1 << 24, &n) < 0)
            return -1;
        f->server.watch_history = (size_t)n;
        return 0;
    case OPTION_LISTEN:
        f->http.listen = value;
        return 0;
    case OPTION_TLS:
        f->tls = true;
        return 0;
    case OPTION_KUBECONFIG:
        f->kubeconfig = value;
        return 0;
    case OPTION_TOKEN:
        return add_user(f, arena, value);
    case OPTION_REQUIRE_TOKEN:
        f->server.require_token = true;
        return 0;
    case OPTION_AUDIT_LOG:
        f->server.audit_path = value;
        return 0;
    case OPTION_AUDIT_USERS:
        f->server.audit_users = value;
        return 0;
    case OPTION_NO_KINDS:
        f->server.no_kinds = true;
        return 0;
    case OPTION_NO_SIM:
        return disable_parts(f, value);
    case OPTION_DELAY:
        return add_delay(f, arena, value);
    case OPTION_NODES:
        if (parse_number("nodes", value, 0, 10000, &n) < 0)
            return -1;
        f->sim.nodes = (unsigned)n;
        return 0;
    case OPTION_HELP:
        fputs(help, stdout);
        exit(0);
    default:
        return fail("see virt-lab --help");
    }
}

static int parse_flags(int argc, char **argv, struct kb_arena *arena, struct flags *ret)
{
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (set_flag(ret, arena, option, optarg) < 0)
            return -1;
    if (optind < argc)
        return fail("unexpected argument \"%s\"", argv[optind]);
    ret->server.no_gc = ret->sim.off & LAB_PART_BIT(LAB_PART_GC);
    ret->server.users = ret->users.items;
    ret->server.n_users = ret->users.n;
    return 0;
}

/* JSON is YAML, and needs no quoting rules. */
static int write_kubeconfig(const char *path, const char *url, const char *certificate, struct kb_arena *arena)
{
    FILE *f = fopen(path, "we");
    if (!f)
        return fail("%s: %s", path, strerror(errno));
    const char *ca = "";
    if (certificate)
        ca = kb_arena_printf(arena, ",\"certificate-authority-data\":\"%s\"",
                             kb_base64_encode(arena, certificate, strlen(certificate)));
    fprintf(f,
            "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"virt-lab\","
            "\"clusters\":[{\"name\":\"virt-lab\",\"cluster\":{\"server\":\"%s\"%s}}],"
            "\"users\":[{\"name\":\"admin\",\"user\":{\"token\":\"admin-token\"}}],"
            "\"contexts\":[{\"name\":\"virt-lab\",\"context\":{\"cluster\":\"virt-lab\",\"user\":\"admin\"}}]}\n",
            url, ca);
    return fclose(f) == 0 ? 0 : fail("%s: %s", path, strerror(errno));
}

/* Serves until a signal comes. */
static int serve(struct flags *f, struct lab_server *server, struct kb_arena *arena, const sigset_t *signals)
{
    struct kube_error err;
    struct lab_http *http;
    const char *listen = f->http.listen ? f->http.listen : "127.0.0.1";
    if (f->tls && lab_tls_self_signed(arena, listen, &f->http.tls_certificate, &f->http.tls_key, &err) < 0)
        return fail("%s", err.message);
    if (lab_http_start(server, &f->http, &http, &err) < 0)
        return fail("%s", err.message);
    const char *url = kb_arena_printf(arena, strchr(listen, ':') ? "%s://[%s]:%d" : "%s://%s:%d",
                                      f->tls ? "https" : "http", listen, lab_http_port(http));
    int rc = f->kubeconfig ? write_kubeconfig(f->kubeconfig, url, f->http.tls_certificate, arena) : 0;
    if (rc == 0) {
        int signal_number;
        printf("virt-lab: serving on %s\n", url);
        fflush(stdout);
        sigwait(signals, &signal_number);
    }
    lab_server_stop(server);
    lab_http_stop(http);
    return rc;
}

int main(int argc, char **argv)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct flags flags = {.sim.nodes = 3};
    struct lab_server *server;
    struct kube_error err;
    sigset_t signals;
    if (parse_flags(argc, argv, arena, &flags) < 0)
        return 2;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before threads start: only sigwait takes them */
    signal(SIGPIPE, SIG_IGN);
    if (lab_server_new(&flags.server, &server, &err) < 0)
        return fail("%s", err.message), 1;
    struct lab_sim *sim = NULL;
    int rc = lab_sim_new(server, &flags.sim, &sim, &err) < 0 ? fail("%s", err.message) : 0;
    if (rc == 0) {
        lab_sim_start(sim);
        rc = serve(&flags, server, arena, &signals);
    }
    lab_server_stop(server);
    lab_sim_free(sim);
    lab_server_free(server);
    return rc < 0;
}
