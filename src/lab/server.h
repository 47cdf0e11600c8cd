/*
 * The lab's API server: an in-memory Kubernetes API server for one process. Make one with lab_server_new, serve HTTP
 * with lab_http_start (lab/http.h), call it in-process with lab/client.h.
 *
 * Threads: lab_server_new and lab_server_free from one thread; everything else from any.
 */
#ifndef LAB_SERVER_H
#define LAB_SERVER_H

#include "base/clock.h"
#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

struct lab_server;

struct lab_user {
    const char *token, *name;
    const char *groups; /* separated by commas */
};

struct lab_server_options {
    struct kb_clock *clock;       /* NULL: the system's */
    struct kb_random *random;     /* NULL: the system's */
    const char *audit_path;       /* NULL: no audit log */
    const char *audit_users;      /* only these users' writes are logged, separated by commas; NULL: all */
    const struct lab_user *users; /* beside admin-token, controller-token and sim-token */
    size_t n_users;
    bool require_token;   /* refuse requests without a token; otherwise they are system:anonymous */
    size_t watch_history; /* events kept for each resource; 0: 8192 */
    bool no_gc;           /* owner references and namespaces are not collected */
    bool no_kinds;        /* without the KubeVirt, CDI, snapshot and network attachment kinds */
    bool no_background;   /* no thread of its own: call lab_server_run (tests) */
};

int lab_server_new(const struct lab_server_options *options, struct lab_server **ret, struct kube_error *reterr);
/* Ends watches and wakes sleepers; calls fail from then on. */
void lab_server_stop(struct lab_server *server);
void lab_server_free(struct lab_server *server); /* NULL is allowed; clients must be gone */

/* Does what is due in the background: garbage collection, graceful deletions, expiry of Events. Returns whether there
 * was anything to do. Only with no_background. */
bool lab_server_run(struct lab_server *server);

/* Cuts all watches and forgets all changes, as when etcd is compacted and the server restarted: who watches must list
 * again. */
void lab_server_cut_watches(struct lab_server *server);

struct kb_clock *lab_server_clock(struct lab_server *server);
struct kb_random *lab_server_random(struct lab_server *server);

/* A group that somebody else in the process serves (virt-api's subresources): every request below /apis/GROUP/VERSION
 * goes to `handle`, which answers with an HTTP status and a JSON body in the arena. Before serving starts. */
struct kb_arena;
struct lab_raw_request {
    const char *method, *path, *user; /* path behind /apis/GROUP/VERSION/ */
    const char *body;
    size_t body_length;
};
typedef int (*lab_raw_handler)(void *context, struct kb_arena *arena, const struct lab_raw_request *request,
                               const char **ret_body);
void lab_server_delegate(struct lab_server *server, const char *group, const char *version, lab_raw_handler handle,
                         void *context);

#endif
