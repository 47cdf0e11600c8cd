/*
 * The server's insides, shared by the files of the lab.
 */
#ifndef LAB_SERVER_INTERNAL_H
#define LAB_SERVER_INTERNAL_H

#include "base/map.h"
#include "lab/server.h"
#include "lab/store.h"
#include <pthread.h>
#include <stdio.h>

struct lab_gc;
struct lab_audit;

struct lab_delegate {
    const char *group, *version;
    lab_raw_handler handle;
    void *context;
};

struct lab_server {
    struct kb_clock *clock;
    struct kb_random *random;
    size_t watch_history;
    bool require_token;
    const struct lab_user *users;
    size_t n_users;
    struct lab_audit *audit; /* NULL: none */

    pthread_mutex_t lock;
    struct kb_arena *arena; /* kinds and what else lives as long as the server; under the lock */
    int64_t resource_version;
    struct lab_resource *resources; /* in the order of their making */
    struct kb_map *by_name;         /* "plural.group" -> resource */
    struct lab_client *clients;
    atomic_bool stopping; /* set under the lock */
    bool starting;        /* until lab_server_new returns */
    struct lab_delegate delegates[4];
    size_t n_delegates;
    unsigned next_ip; /* of Services */

    struct lab_gc *gc;
};

void lab_server_lock(struct lab_server *server);
void lab_server_unlock(struct lab_server *server);
/* By "plural.group"; NULL when it is not served. */
struct lab_resource *lab_server_resource(struct lab_server *server, const char *name);
/* The resource of a group and kind, any version; NULL: none. */
struct lab_resource *lab_server_kind(struct lab_server *server, const char *group, const char *kind);
/* Lock held. Adds a resource, or gives an existing one a new kind. */
struct lab_resource *lab_server_add_kind(struct lab_server *server, const struct lab_kind *kind);
int64_t lab_server_version(struct lab_server *server);
/* Wakes every sleeping client. */
void lab_client_wake_all(struct lab_server *server);

#endif
