/*
 * process_*: what Prometheus' process collector for Linux tells, from /proc/self at each scrape. What can not be read
 * is left out.
 */
#include "kube/metrics_internal.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    CPU_SECONDS,
    MAX_FDS,
    RECEIVED_BYTES,
    SENT_BYTES,
    OPEN_FDS,
    RESIDENT_BYTES,
    START_TIME,
    VIRTUAL_BYTES,
    VIRTUAL_MAX_BYTES,
};

static const struct kube_metric_family families[] = {
    [CPU_SECONDS] = {"process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", KUBE_COUNTER},
    [MAX_FDS] = {"process_max_fds", "Maximum number of open file descriptors.", KUBE_GAUGE},
    [RECEIVED_BYTES] = {"process_network_receive_bytes_total",
                        "Number of bytes received by the process over the network.", KUBE_COUNTER},
    [SENT_BYTES] = {"process_network_transmit_bytes_total", "Number of bytes sent by the process over the network.",
                    KUBE_COUNTER},
    [OPEN_FDS] = {"process_open_fds", "Number of open file descriptors.", KUBE_GAUGE},
    [RESIDENT_BYTES] = {"process_resident_memory_bytes", "Resident memory size in bytes.", KUBE_GAUGE},
    [START_TIME] = {"process_start_time_seconds", "Start time of the process since unix epoch in seconds.", KUBE_GAUGE},
    [VIRTUAL_BYTES] = {"process_virtual_memory_bytes", "Virtual memory size in bytes.", KUBE_GAUGE},
    [VIRTUAL_MAX_BYTES] = {"process_virtual_memory_max_bytes", "Maximum amount of virtual memory available in bytes.",
                           KUBE_GAUGE},
};

static void put(struct kube_exposition *out, int family, double value)
{
    kube_exposition_sample(out, &families[family], NULL, value);
}

/* The first line of `path` that starts with `prefix`; false when there is none. */
static bool read_line(const char *path, const char *prefix, char *ret, int size)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool found = false;
    while (!found && fgets(ret, size, file))
        found = strncmp(ret, prefix, strlen(prefix)) == 0;
    fclose(file);
    return found;
}

static void collect_stat(struct kube_exposition *out)
{
    char line[1024], boot[128];
    if (!read_line("/proc/self/stat", "", line, sizeof line))
        return;
    const char *rest = strrchr(line, ')'); /* the name before it may contain anything */
    unsigned long user, system, virtual_bytes;
    unsigned long long started;
    long resident_pages;
    if (!rest ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %llu %lu %ld",
               &user, &system, &started, &virtual_bytes, &resident_pages) != 5)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    put(out, CPU_SECONDS, (double)(user + system) / ticks);
    put(out, VIRTUAL_BYTES, (double)virtual_bytes);
    put(out, RESIDENT_BYTES, (double)resident_pages * (double)sysconf(_SC_PAGESIZE));
    if (read_line("/proc/stat", "btime ", boot, sizeof boot))
        put(out, START_TIME, strtod(boot + strlen("btime "), NULL) + (double)started / ticks);
}

static void collect_open_fds(struct kube_exposition *out)
{
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return;
    int n = 0;
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
        n += entry->d_name[0] != '.';
    closedir(directory);
    put(out, OPEN_FDS, n - 1); /* without the one that reads */
}

static void collect_limit(struct kube_exposition *out, int family, int resource)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) == 0)
        put(out, family, limit.rlim_cur == RLIM_INFINITY ? 18446744073709551615.0 : (double)limit.rlim_cur);
}

/* /proc/self/net/netstat has pairs of lines: names, values. */
static void collect_network(struct kube_exposition *out)
{
    char names[4096], values[4096];
    FILE *file = fopen("/proc/self/net/netstat", "re");
    if (!file)
        return;
    bool found = false;
    while (!found && fgets(names, sizeof names, file) && fgets(values, sizeof values, file))
        found = strncmp(names, "IpExt:", 6) == 0;
    fclose(file);
    if (!found)
        return;
    char *name_state, *value_state;
    char *name = strtok_r(names, " \n", &name_state), *value = strtok_r(values, " \n", &value_state);
    while (name && value) {
        if (strcmp(name, "InOctets") == 0)
            put(out, RECEIVED_BYTES, strtod(value, NULL));
        else if (strcmp(name, "OutOctets") == 0)
            put(out, SENT_BYTES, strtod(value, NULL));
        name = strtok_r(NULL, " \n", &name_state);
        value = strtok_r(NULL, " \n", &value_state);
    }
}

static void collect(void *userdata, struct kube_exposition *out)
{
    (void)userdata;
    collect_stat(out);
    collect_open_fds(out);
    collect_limit(out, MAX_FDS, RLIMIT_NOFILE);
    collect_limit(out, VIRTUAL_MAX_BYTES, RLIMIT_AS);
    collect_network(out);
}

void kube_metrics_add_process_collector(struct kube_metrics *metrics)
{
    kube_metrics_add_collector(metrics, collect, NULL);
}
