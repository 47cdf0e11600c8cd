/*
 * What stands on the diagnostics page. Each section is a function that takes the facts where they are (runtime, caches,
 * recorders, /proc) and a table of its columns.
 */
#include "cmd/virt-controller/debug.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/time.h"
#include "cmd/virt-controller/debug_page.h"
#include "cmd/virt-controller/pretty.h"
#include "cmd/virt-controller/timeline.h"
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_CONTROLLERS 64
#define MAX_VMS         200 /* of the list that leads to their timelines */

#define COLUMNS(array) (array), KB_ARRAY_LEN(array)

static const char *age(struct kb_arena *arena, int64_t ns)
{
    char text[KB_TIME_TEXT];
    int64_t unit = ns < 10 * KB_NS_PER_S ? KB_NS_PER_MS : KB_NS_PER_S;
    kb_duration_format(ns / unit * unit, text);
    return kb_arena_strdup(arena, text);
}

/* ---- process ---- */

static double proc_status(const char *name)
{
    char line[256];
    double value = 0;
    size_t n = strlen(name);
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            value = strtod(line + n + 1, NULL);
    if (file)
        fclose(file);
    return value;
}

static size_t count_descriptors(void)
{
    size_t n = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory))
        n++;
    if (directory)
        closedir(directory);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

static void put_fact(struct debug_page *page, struct debug_section *section, const char *name, struct debug_cell value)
{
    struct debug_cell *cells = debug_add_row(page, section);
    cells[0] = debug_text(name);
    cells[1] = value;
}

static void add_process(struct debug_page *page, struct process *process)
{
    static const struct debug_column columns[] = {{"", "name"}, {"", "value"}};
    struct debug_section *s = debug_add_section(page, "Process", "process", NULL, COLUMNS(columns));
    const struct virt_config *config = virt_config_current(process->context.config);
    put_fact(page, s, "identity", debug_text(process->identity));
    put_fact(page, s, "install namespace", debug_text(process->install_namespace));
    put_fact(page, s, "role", debug_text(process->leading ? "leader" : "standby"));
    put_fact(page, s, "ready", debug_text(process_is_ready(process) ? "yes" : "no"));
    put_fact(page, s, "up for",
             debug_text(age(page->arena, process->clock->mono(process->clock) - process->started_mono)));
    put_fact(page, s, "configuration's version", debug_text(kb_arena_strdup(page->arena, config->resource_version)));
    put_fact(page, s, "resident memory, KiB", debug_number(page, proc_status("VmRSS"), 0));
    put_fact(page, s, "anonymous memory, KiB", debug_number(page, proc_status("RssAnon"), 0));
    put_fact(page, s, "heap in use, KiB", debug_number(page, (double)mallinfo2().uordblks / 1024, 0));
    put_fact(page, s, "threads", debug_number(page, proc_status("Threads"), 0));
    put_fact(page, s, "open descriptors", debug_number(page, (double)count_descriptors(), 0));
    virt_config_unref(config);
}

/* ---- controllers ---- */

static void add_controllers(struct debug_page *page, struct process *process)
{
    static const struct debug_column columns[] = {
        {"controller", "controller"}, {"ready", "ready"},   {"delayed", "delayed"},       {"running", "running"},
        {"reconciles", "reconciles"}, {"errors", "errors"}, {"slowest, ms", "slowestMs"}, {"slowest key", "slowestKey"},
        {"last error", "lastError"},
    };
    struct debug_section *s = debug_add_section(
        page, "Controllers", "controllers",
        "Keys that are ready wait for a worker; delayed ones for their time (back-off, or asked for).",
        COLUMNS(columns));
    struct kube_controller_state *states = kb_arena_many(page->arena, struct kube_controller_state, MAX_CONTROLLERS);
    size_t n = kube_runtime_states(process->context.runtime, states, MAX_CONTROLLERS);
    for (size_t i = 0; i < n; i++) {
        const struct kube_controller_state *state = &states[i];
        struct debug_cell *c = debug_add_row(page, s);
        c[0] = debug_text(state->definition->name);
        c[1] = debug_number(page, (double)state->ready, 0);
        c[2] = debug_number(page, (double)state->delayed, 0);
        c[3] = debug_number(page, (double)state->running, 0);
        c[4] = debug_number(page, (double)state->reconciles, 0);
        c[5] = debug_number(page, (double)state->errors, 0);
        c[6] = debug_number(page, (double)state->slowest_ns / KB_NS_PER_MS, 3);
        c[7] = debug_text(state->slowest_key);
        c[8] = debug_alarm(state->last_error);
    }
}

/* ---- watches and caches ---- */

static const char *watch_state(const struct kube_informer_state *state)
{
    if (!state->started)
        return "off";
    if (!state->synced)
        return "listing";
    return state->watching ? "watching" : "interrupted";
}

static void put_watch(struct debug_page *page, struct debug_section *s, struct kube_informer *informer, int64_t now)
{
    struct kube_informer_state *state = kb_arena_one(page->arena, struct kube_informer_state);
    struct kube_store *store = kube_informer_store(informer);
    kube_informer_get_state(informer, state);
    struct debug_cell *c = debug_add_row(page, s);
    const char *word = watch_state(state);
    c[0] = debug_text(kube_informer_get_spec(informer)->name);
    c[1] = kb_streq(word, "interrupted") || kb_streq(word, "listing") ? debug_alarm(word) : debug_text(word);
    c[2] = debug_number(page, (double)kube_store_count(store), 0);
    c[3] = debug_number(page, (double)kube_store_bytes(store) / 1024, 1);
    c[4] = debug_number(page, (double)state->events, 0);
    c[5] = debug_text(state->last_event_mono ? age(page->arena, now - state->last_event_mono) : "");
    c[6] = debug_number(page, (double)state->relists, 0);
    c[7] = debug_number(page, (double)state->errors, 0);
    c[8] = debug_text(state->last_error);
}

static void add_watches(struct debug_page *page, struct process *process)
{
    static const struct debug_column columns[] = {
        {"cache", "cache"},     {"watch", "watch"},   {"objects", "objects"},
        {"size, KiB", "kib"},   {"events", "events"}, {"last heard of", "lastHeardOf"},
        {"relists", "relists"}, {"errors", "errors"}, {"last error", "lastError"},
    };
    struct debug_section *s = debug_add_section(
        page, "Watches and caches", "watches",
        "API servers send a bookmark about once a minute: a watch that was not heard of for much longer "
        "lags behind.",
        COLUMNS(columns));
    int64_t now = process->clock->mono(process->clock);
    for (int id = 0; id < VIRT_N_INFORMERS; id++)
        put_watch(page, s, kube_runtime_informer(process->context.runtime, id), now);
}

/* ---- events ---- */

static void put_recorder(struct debug_page *page, struct debug_section *s, const char *name,
                         struct kube_recorder *recorder)
{
    struct kube_recorder_state *state = kb_arena_one(page->arena, struct kube_recorder_state);
    if (!recorder)
        return;
    kube_recorder_get_state(recorder, state);
    struct debug_cell *c = debug_add_row(page, s);
    c[0] = debug_text(name);
    c[1] = debug_number(page, (double)state->written, 0);
    c[2] = debug_number(page, (double)state->suppressed, 0);
    c[3] = debug_number(page, (double)state->dropped, 0);
    c[4] = debug_number(page, (double)state->refused, 0);
    c[5] = debug_alarm(state->last_error);
}

static void add_recorders(struct debug_page *page, struct process *process)
{
    static const struct debug_column columns[] = {{"component", "component"},   {"written", "written"},
                                                  {"suppressed", "suppressed"}, {"dropped", "dropped"},
                                                  {"refused", "refused"},       {"last error", "lastError"}};
    struct debug_section *s = debug_add_section(page, "Events", "events", NULL, COLUMNS(columns));
    put_recorder(page, s, "virtualmachine-controller", process->context.vm_recorder);
    put_recorder(page, s, "virt-controller", process->leader_recorder);
}

/* ---- the log, VMs, timelines ---- */

static const char *time_text(struct kb_arena *arena, int64_t wall)
{
    char text[KB_TIME_TEXT];
    if (wall % KB_NS_PER_S)
        kb_time_format_micro(wall, text);
    else
        kb_time_format(wall, text);
    return kb_arena_strdup(arena, text);
}

static void add_recent(struct debug_page *page, struct process *process)
{
    static const struct debug_column columns[] = {{"time", "time"}, {"object", "object"}, {"what", "what"}};
    struct debug_section *s =
        debug_add_section(page, "Recent warnings and errors", "recent",
                          "The newest first. What is tried again is shown, too.", COLUMNS(columns));
    struct journal_line *lines;
    size_t n = journal_read(process->journal, page->arena, KB_WARNING, NULL, NULL, &lines);
    for (size_t i = 0; i < n; i++) {
        struct debug_cell *c = debug_add_row(page, s);
        c[0] = debug_text(time_text(page->arena, lines[i].wall));
        c[1] = debug_text(kb_arena_printf(page->arena, "%s %s%s%s", lines[i].kind, lines[i].namespace_,
                                          *lines[i].namespace_ ? "/" : "", lines[i].name));
        c[2] = lines[i].level == KB_WARNING ? debug_text(lines[i].message) : debug_alarm(lines[i].message);
    }
}

static void add_vms(struct debug_page *page, struct process *process)
{
    static const struct debug_column columns[] = {{"VM", "vm"}, {"status", "status"}};
    struct debug_section *s = debug_add_section(
        page, "VMs", "vms", "The first 200; of any other: /debug/vm?name=NAMESPACE/NAME.", COLUMNS(columns));
    struct kube_objects vms =
        kube_store_list(kube_informer_store(kube_runtime_informer(process->context.runtime, VIRT_VM)), NULL);
    for (size_t i = 0; i < vms.n && i < MAX_VMS; i++) {
        const struct kv_vm *vm = api_object_data(vms.items[i]);
        struct debug_cell *c = debug_add_row(page, s);
        c[0] = debug_text(kb_arena_printf(page->arena, "%s/%s", vm->metadata.namespace, vm->metadata.name));
        c[0].link = kb_arena_printf(page->arena, "/debug/vm?name=%s", c[0].text);
        c[1] = debug_text(kb_arena_strdup(page->arena, vm->status.printable_status));
    }
    kube_objects_done(&vms);
}

static void add_timeline(struct debug_page *page, struct process *process, const char *namespace_, const char *name)
{
    static const struct debug_column columns[] = {{"time", "time"}, {"after", "after"}, {"of", "of"}, {"what", "what"}};
    struct debug_section *s = debug_add_section(
        page, "Timeline", "timeline", "Times of objects are whole seconds; a condition shows its last change only.",
        COLUMNS(columns));
    struct timeline timeline = {.arena = page->arena};
    timeline_read(&timeline, process->context.runtime, process->journal, namespace_, name);
    for (size_t i = 0; i < timeline.n; i++) {
        struct debug_cell *c = debug_add_row(page, s);
        c[0] = debug_text(time_text(page->arena, timeline.items[i].wall));
        c[1] = debug_text(age(page->arena, timeline.items[i].wall - timeline.items[0].wall));
        c[2] = debug_text(timeline.items[i].source);
        c[3] = debug_text(timeline.items[i].what);
    }
}

/* ---- answers ---- */

static void answer(const struct debug_page *page, bool json, struct kube_http_answer *ret)
{
    if (!json) {
        ret->content_type = "text/html; charset=utf-8";
        debug_page_html(page, &ret->body);
        return;
    }
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    debug_page_json(page, &text);
    pretty_json(kb_strbuf_text(&text), text.length, &ret->body, NULL);
}

static bool wants_json(const struct kube_http_query *query)
{
    return kb_ends_with(kube_http_query_path(query), ".json");
}

static void overview(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    struct process *process = userdata;
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct debug_page page = {.arena = arena, .title = kb_arena_printf(arena, "virt-controller %s", process->identity)};
    add_process(&page, process);
    add_controllers(&page, process);
    add_watches(&page, process);
    add_recorders(&page, process);
    add_recent(&page, process);
    add_vms(&page, process);
    answer(&page, wants_json(query), ret);
}

static void vm_timeline(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const char *key = kube_http_query_argument(query, "name"), *slash = key ? strchr(key, '/') : NULL;
    if (!slash || !slash[1]) {
        ret->status = 400;
        ret->content_type = "text/plain; charset=utf-8";
        kb_strbuf_puts(&ret->body, "which VM? name=NAMESPACE/NAME\n");
        return;
    }
    struct debug_page page = {.arena = arena, .title = kb_arena_printf(arena, "VM %s", key), .up = "/debug"};
    add_timeline(&page, userdata, kb_arena_strndup(arena, key, (size_t)(slash - key)), slash + 1);
    answer(&page, wants_json(query), ret);
}

static void redirect(void *userdata, const struct kube_http_query *query, struct kube_http_answer *ret)
{
    (void)userdata;
    (void)query;
    ret->content_type = "text/html; charset=utf-8";
    kb_strbuf_puts(&ret->body, "<!doctype html><meta http-equiv=refresh content=\"0;url=/debug\">\n");
}

static const struct kube_http_route routes[] = {
    {"GET", "/", redirect},
    {"GET", "/debug", overview},
    {"GET", "/debug.json", overview},
    {"GET", "/debug/vm", vm_timeline},
    {"GET", "/debug/vm.json", vm_timeline},
};

int debug_start(struct process *process, struct kube_error *reterr)
{
    const struct options *options = process->options;
    const struct kube_server_options server = {
        .address = options->debug_listen,
        .port = (int)options->debug_port,
        .routes = routes,
        .n_routes = KB_ARRAY_LEN(routes),
        .userdata = process,
    };
    if (options->debug_port == 0)
        return 0;
    if (kube_server_start(&server, &process->debug_server, reterr) < 0)
        return kube_error_wrap(reterr, "diagnostics page");
    kb_log(KB_INFO, "diagnostics on http://%s:%d/debug", options->debug_listen,
           kube_server_port(process->debug_server));
    return 0;
}
