/*
 * The life of the process:
 *
 *     connect -> CRD and KubeVirt caches -> HTTPS -> all other caches (warm on a standby, too) -> contend for the lease
 *         -> lead: workers run -> SIGTERM: workers drain -> lease released -> end
 *
 * Where the reference exits to start anew (CDI, DRA, templates or snapshots come or go) this process switches informers
 * in place, see reload.c. Losing the lease ends the process at once with status 1, as there: whatever runs is cut off
 * by the fence.
 */
#include "cmd/virt-controller/process.h"
#include "api/types/coordination.h"
#include "base/log.h"
#include "base/strings.h"
#include "cmd/virt-controller/debug.h"
#include "cmd/virt-controller/memory.h"
#include "cmd/virt-controller/request_log.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NAMESPACE_FILE    "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
#define DEFAULT_NAMESPACE "kubevirt"
#define LEASE_NAME        "virt-controller"
#if defined(__x86_64__)
#define ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#elif defined(__s390x__)
#define ARCHITECTURE "s390x"
#else
#define ARCHITECTURE "unknown"
#endif
#define USER_AGENT       "virt-controller/v1.9.0 (linux/" ARCHITECTURE ")"
#define DRAIN_GRACE_NS   (20 * KB_NS_PER_S) /* below the Pod's 30 s of grace */
#define MAX_THREADS      1024               /* of a controller */
#define SETTLED_MS       2000               /* without news for so long, the caches are full */
#define QUIET_MS         12000              /* and so much later what only the start needed is closed */
#define TRIM_INTERVAL_MS 60000              /* between two looks at how much of the heap is free */

void process_wake(struct process *process)
{
    uint64_t one = 1;
    ssize_t written = write(process->wake_fd, &one, sizeof(one));
    (void)written; /* the counter is full: the main thread will look anyway */
}

static int read_install_namespace(struct process *process, struct kube_error *reterr)
{
    process->install_namespace = DEFAULT_NAMESPACE;
    int fd = open(NAMESPACE_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return kube_error_set_errno(reterr, errno, "open %s", NAMESPACE_FILE);
    char text[256];
    ssize_t n = read(fd, text, sizeof(text) - 1);
    int error = errno;
    close(fd);
    if (n < 0)
        return kube_error_set_errno(reterr, error, "read %s", NAMESPACE_FILE);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]))
        n--;
    size_t start = strspn(text, " \t\r\n");
    if ((size_t)n > start)
        process->install_namespace = kb_arena_strndup(process->arena, text + start, (size_t)n - start);
    return 0;
}

/* The lease's holder must be one process: two with the same host name must not both believe that they lead. */
static int find_identity(struct process *process, struct kube_error *reterr)
{
    char host[256], suffix[6];
    if (gethostname(host, sizeof(host)) < 0)
        return kube_error_set_errno(reterr, errno, "host name");
    host[sizeof(host) - 1] = '\0';
    kb_random_suffix(process->random, suffix, 5);
    process->host_name = kb_arena_strdup(process->arena, host);
    process->identity = kb_arena_printf(process->arena, "%s_%s", host, suffix);
    return 0;
}

static int connect_transport(struct process *process, const char *thread_name, struct kube_transport **ret,
                             struct kube_error *reterr)
{
    struct kube_transport_options options = {
        .config = process->kube_config, .clock = process->clock, .user_agent = USER_AGENT, .thread_name = thread_name};
    return kube_transport_curl_new(&options, ret, reterr);
}

static struct kube_client *make_client(struct process *process, struct kube_transport *transport,
                                       struct kube_limiter *limiter)
{
    struct kube_client_observer *observer = kb_arena_one(process->arena, struct kube_client_observer);
    *observer = *virt_metrics_client_observer(process->metrics, process->kube_config->server);
    observer->exchanged = request_log;
    return kube_client_new(&(struct kube_client_options){
        .transport = transport,
        .limiter = limiter,
        .clock = process->clock,
        .observer = observer,
    });
}

static int connect_clients(struct process *process, struct kube_error *reterr)
{
    const struct options *options = process->options;
    process->context.metrics = kube_metrics_new();
    process->metrics = virt_metrics_new(process->arena, process->context.metrics, process->clock);
    process->failure = PROCESS_USAGE;
    if (kube_config_load(options->kubeconfig, options->master, &process->kube_config, reterr) < 0)
        return -1;
    process->failure = PROCESS_FATAL;
    if (connect_transport(process, "transport", &process->transport, reterr) < 0)
        return -1;
    if (connect_transport(process, "lease", &process->lease_transport, reterr) < 0)
        return -1;
    process->limiter = kube_limiter_new(process->clock, PROCESS_CLIENT_QPS, PROCESS_CLIENT_BURST);
    process->lease_limiter = kube_limiter_new(process->clock, PROCESS_CLIENT_QPS, PROCESS_CLIENT_BURST);
    process->client = make_client(process, process->transport, process->limiter);
    process->lease_client = make_client(process, process->lease_transport, process->lease_limiter);
    process->health = health_new(process->lease_transport, process->clock);
    kube_client_set_fence(process->client, 0); /* nothing is written before this process leads */
    return 0;
}

static void informer_error(void *userdata, int informer, const struct kube_error *error)
{
    struct process *process = userdata;
    (void)error;
    if (informer == VIRT_KUBEVIRT)
        health_forget(process->health);
}

static void informer_synced(void *userdata, int informer)
{
    (void)informer;
    process_wake(userdata);
}

static void *queue_metrics(void *userdata, const char *queue_name)
{
    struct process *process = userdata;
    return virt_metrics_queue(process->metrics, queue_name);
}

static void make_context(struct process *process)
{
    const struct options *options = process->options;
    struct virt_context *context = &process->context;
    context->client = process->client;
    context->config = virt_config_store_new();
    context->install_namespace = process->install_namespace;
    context->synced_annotations = options->synced_annotations;
    context->synced_labels = options->synced_labels;
    context->launcher = (struct virt_launcher_settings){
        .launcher_image = options->launcher_image,
        .exporter_image = options->exporter_image,
        .image_pull_secret = options->image_pull_secret,
        .share_dir = options->share_dir,
        .ephemeral_disk_dir = options->ephemeral_disk_dir,
        .container_disk_dir = options->container_disk_dir,
        .hotplug_disk_dir = options->hotplug_disk_dir,
        .qemu_timeout_seconds = (int)options->launcher_qemu_timeout,
        .sidecar_shim_image = getenv("SIDECAR_SHIM_IMAGE") ?: "",
    };
    context->deletions = virt_holds_new(process->clock);
    context->vm_recorder =
        kube_recorder_new(process->client, "virtualmachine-controller", process->clock, process->random);
    process->leader_recorder =
        kube_recorder_new(process->lease_client, "virt-controller", process->clock, process->random);
    context->runtime = kube_runtime_new(&(struct kube_runtime_options){
        .client = process->client,
        .clock = process->clock,
        .random = process->random,
        .informer_error = informer_error,
        .informer_synced = informer_synced,
        .userdata = process,
        .queue_observer = &virt_metrics_queue_observer,
        .queue_observer_data = queue_metrics,
    });
}

static void add_informers(struct process *process)
{
    const struct kube_informer_spec *specs = virt_informer_specs(process->arena, process->install_namespace);
    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        kube_runtime_add_informer(process->context.runtime, id, &specs[id]);
}

static bool is_ready(void *process)
{
    return process_is_ready(process);
}

/* As the reference has it, a controller for which no threads are asked does nothing. */
static int threads_of(int64_t wanted)
{
    return wanted > MAX_THREADS ? MAX_THREADS : wanted > 0 ? (int)wanted : -1;
}

static void add_controllers(struct process *process)
{
    virt_vm_controller_add(&process->context, threads_of(process->options->vm_threads));
    virt_vmi_controller_add(&process->context, threads_of(process->options->vmi_threads));
}

/* ---- waiting; the main thread ---- */

/* Until `done`, or until the process is to end: false. */
static bool wait_until(struct process *process, bool (*done)(struct process *process), int timeout_ms)
{
    struct pollfd fds[] = {{.fd = process->signal_fd, .events = POLLIN}, {.fd = process->wake_fd, .events = POLLIN}};
    while (!process->lost && !done(process)) {
        int n = poll(fds, KB_ARRAY_LEN(fds), timeout_ms);
        uint64_t count;
        if (n == 0)
            return true;
        if (n < 0 && errno != EINTR)
            abort(); /* these descriptors can't fail */
        if (n > 0 && fds[0].revents)
            return false;
        if (n > 0 && fds[1].revents && read(process->wake_fd, &count, sizeof(count)) < 0)
            continue; /* somebody else's wake-up was taken along */
    }
    return !process->lost;
}

static const int first_informers[] = {VIRT_CRD, VIRT_KUBEVIRT};

static bool have_first_caches(struct process *process)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(first_informers); i++)
        if (!kube_informer_has_synced(kube_runtime_informer(process->context.runtime, first_informers[i])))
            return false;
    return true;
}

/* The caches without which nothing can be decided; waits for the API server as long as it takes. */
static bool first_caches(struct process *process)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(first_informers); i++)
        kube_runtime_start_informer(process->context.runtime, first_informers[i]);
    if (!wait_until(process, have_first_caches, -1))
        return false;
    const struct virt_config *config = virt_config_current(process->context.config);
    process->context.launcher.hypervisor = kb_arena_strdup(process->arena, virt_config_hypervisor(config));
    virt_config_unref(config);
    return true;
}

static void leading_started(void *userdata)
{
    struct process *process = userdata;
    kb_log(KB_INFO, "Started leading as %s", process->identity);
    virt_metrics_lead(process->metrics);
    kube_runtime_start_workers(process->context.runtime);
    process->leading = true;
}

static void another_leads(void *userdata, const char *identity)
{
    const struct process *process = userdata;
    if (process->leading)
        kb_log(KB_WARNING, "%s has taken the lease", identity);
    else
        kb_log(KB_INFO, "%s leads; this replica stands by with warm caches", identity);
}

static void leading_stopped(void *userdata)
{
    struct process *process = userdata;
    process->leading = false;
    process->lost = true;
    process_wake(process);
}

static int contend(struct process *process, struct kube_error *reterr)
{
    const struct options *options = process->options;
    if (!kb_streq(options->resource_lock, "leases"))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "--leader-elect-resource-lock %s: only leases works",
                              options->resource_lock);
    struct kube_leader_options leader = {
        .client = process->lease_client,
        .clock = process->clock,
        .random = process->random,
        .recorder = process->leader_recorder,
        .namespace_ = process->install_namespace,
        .name = LEASE_NAME,
        .identity = process->identity,
        .lease_duration_ns = options->lease_duration_ns,
        .renew_deadline_ns = options->renew_deadline_ns,
        .retry_period_ns = options->retry_period_ns,
        .fenced = &process->client,
        .n_fenced = 1,
        .started = leading_started,
        .stopped = leading_stopped,
        .observed = another_leads,
        .userdata = process,
    };
    if (kube_leader_new(&leader, &process->leader, reterr) < 0)
        return -1;
    kube_leader_start(process->leader);
    return 0;
}

static int prepare(struct process *process, struct kube_error *reterr)
{
    process->started_mono = process->clock->mono(process->clock);
    if (process->options->debug_port)
        process->journal = journal_new(process->clock);
    if (read_install_namespace(process, reterr) < 0)
        return -1;
    if (find_identity(process, reterr) < 0)
        return -1;
    if (connect_clients(process, reterr) < 0)
        return -1;
    make_context(process);
    add_informers(process);
    reload_attach(process); /* before the controllers: what they do for a change of the CR is done by the new one */
    virt_metrics_add(process->metrics, &process->context,
                     &(struct virt_metrics_hooks){.ready = is_ready, .userdata = process});
    add_controllers(process);
    process->profiler = profiler_new(process->context.runtime, process->clock);
    return debug_start(process, reterr);
}

static int go_on_air(struct process *process, struct kube_error *reterr)
{
    if (reload_find_openshift(process, reterr) < 0)
        return -1;
    if (endpoints_start(process, reterr) < 0)
        return -1;
    for (int id = VIRT_VMI; id < VIRT_ROUTE; id++)
        kube_runtime_start_informer(process->context.runtime, id);
    if (process->openshift)
        kube_runtime_start_informer(process->context.runtime, VIRT_ROUTE);
    process->switch_wanted = true;
    return contend(process, reterr);
}

/* Blocked in every thread (they inherit the mask), read here. */
static int signal_descriptor(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static bool wants_switch(struct process *process)
{
    return process->switch_wanted;
}

static void run(struct process *process)
{
    static const int first_ms[] = {SETTLED_MS, QUIET_MS};
    struct memory_watch memory = {0};
    size_t settled = 0;
    while (wait_until(process, wants_switch, settled < KB_ARRAY_LEN(first_ms) ? first_ms[settled] : TRIM_INTERVAL_MS)) {
        if (atomic_exchange(&process->switch_wanted, false)) {
            reload_switch_optional(process);
        } else if (settled < KB_ARRAY_LEN(first_ms)) {
            memory_settle();
            settled++;
        } else {
            memory_look(&memory);
        }
    }
}

static void release(struct process *process)
{
    kube_server_stop(process->server);
    kube_runtime_free(process->context.runtime);
    kube_leader_free(process->leader);
    kube_client_free(process->client); /* its calls end by posts: while the transport still runs those */
    kube_client_free(process->lease_client);
    process->transport->free(process->transport);
    process->lease_transport->free(process->lease_transport);
    health_free(process->health);
    profiler_free(process->profiler);
    journal_free(process->journal);
    kube_limiter_free(process->limiter);
    kube_limiter_free(process->lease_limiter);
    virt_config_unref(process->tls_config);
    virt_config_store_free(process->context.config);
    virt_holds_free(process->context.deletions);
    kube_metrics_free(process->context.metrics);
    kube_config_free(process->kube_config);
    close(process->wake_fd);
    close(process->signal_fd);
    kb_arena_free(process->arena);
}

/*
 * Workers first, so that the next leader finds nothing half done; then their events, which need the lease; then the
 * lease, so that the next leader needn't wait. A reconcile that hangs is left behind (false): the fence is closed to
 * it.
 */
static bool stop(struct process *process)
{
    kb_log(KB_INFO, "ending: workers finish what they have begun, then the lease is released");
    process->leading = false;
    bool drained = kube_runtime_stop_workers(process->context.runtime, DRAIN_GRACE_NS);
    kube_server_stop(KB_TAKE_PTR(process->debug_server)); /* it shows what goes now */
    if (drained)
        kube_recorder_free(process->context.vm_recorder);
    else
        kb_log(KB_WARNING, "some reconciles still ran when the time to end was over");
    if (process->leader)
        kube_leader_stop(process->leader);
    kube_recorder_free(process->leader_recorder);
    kb_log(KB_INFO, "ended");
    if (drained)
        release(process);
    return drained;
}

int process_run(const struct options *options)
{
    memory_init();
    kb_log_init("virt-controller", STDERR_FILENO, NULL);
    kb_log_set_verbosity((int)options->verbosity);
    struct process process = {
        .options = options,
        .failure = PROCESS_FATAL,
        .arena = kb_arena_new(),
        .clock = kb_clock_system(),
        .random = kb_random_system(),
        .signal_fd = signal_descriptor(),
        .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
    };
    struct kube_error error = {0};
    int rc = prepare(&process, &error);
    bool synced = rc == 0 && first_caches(&process);
    if (synced)
        rc = go_on_air(&process, &error);
    if (rc < 0) {
        kb_log(KB_FATAL, "%s", error.message);
        _exit(process.failure); /* nothing was written yet, and other threads run: ending is the clean-up */
    }
    if (synced)
        run(&process);
    if (process.lost) {
        kb_log(KB_FATAL, "leaderelection lost");
        _exit(PROCESS_FATAL);
    }
    if (!stop(&process))
        _exit(PROCESS_OK);
    return PROCESS_OK;
}
