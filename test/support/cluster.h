/*
 * A cluster for component tests: the lab's API server behind a scripted transport, and the caches of the controllers
 * under test, without threads and without sockets. Time stands still unless the test moves it.
 *
 *     struct cluster *c = cluster_new();
 *     virt_vmi_controller_add(cluster_context(c), 0);
 *     cluster_create(c, "virtualmachineinstances.kubevirt.io", "{...}");
 *     cluster_settle(c);                       caches hear of it, controllers run, until nothing is left to do
 *     const struct kv_vmi *vmi = cluster_get(c, &kv_vmi_type, "vmi1");
 *     cluster_free(c);
 *
 * Caches are not watching: what the server has done is delivered to them by cluster_settle, in order; so a test may
 * hold events back or lose them (cluster_hold). Everything namespaced is in one namespace, "ns" unless said otherwise.
 * Requests of controllers meet faults by script_fail_request(cluster_script(c), ...); those of the test never do.
 */
#ifndef TEST_CLUSTER_H
#define TEST_CLUSTER_H

#include "lab/client.h"
#include "support/scripted_transport.h"
#include "virt/context.h"

struct cluster;

struct cluster *cluster_new(void); /* has a KubeVirt CR without configuration, two nodes, and namespace ns */
struct cluster *cluster_new_in(const char *namespace_);
void cluster_free(struct cluster *c);
struct virt_context *cluster_context(struct cluster *c);
struct script *cluster_script(struct cluster *c);
struct kb_arena *cluster_arena(struct cluster *c); /* lives as long as the cluster */
struct lab_client *cluster_lab(struct cluster *c); /* what the test does goes through it */
/* Asked for each request before the lab is; false: the lab answers. What it finds wrong it tells by cluster_complain,
 * as a test can't be ended while a request is served. */
void cluster_intercept(struct cluster *c, script_server server, void *userdata);
void cluster_complain(struct cluster *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- what the test does; a failure fails the test ---- */

struct lab_ref cluster_reference(struct cluster *c, const char *resource, const char *name);

/* `resource` as CRDs are named: "pods", "virtualmachines.kubevirt.io"; `json` needs no namespace. */
void cluster_create(struct cluster *c, const char *resource, const char *json);
void cluster_bind(struct cluster *c, const char *pod, const char *node); /* as the scheduler does */
/* A merge patch; `resource` may end in "/status". */
void cluster_patch(struct cluster *c, const char *resource, const char *name, const char *merge_patch);
void cluster_delete(struct cluster *c, const char *resource, const char *name); /* without grace */

/* ---- running ---- */

/* One round: events are delivered, controllers run. False: nothing happened. Fails the test after a complaint, and
 * after a request that no server would take (400, 405, 415, 422 but for a JSON patch whose test failed). */
bool cluster_step(struct cluster *c);
/* Delivers events and runs controllers until nothing happens any more. Time stands still. */
void cluster_settle(struct cluster *c);
/* The same again and again while the time goes on by `ns`: what was to come later comes. */
void cluster_advance(struct cluster *c, int64_t ns);
/* Events of an informer are held back; let go: delivered, or lost. */
void cluster_hold(struct cluster *c, enum virt_informer informer);
void cluster_let_go(struct cluster *c, enum virt_informer informer, bool lost);
/* Takes an object out of a cache, as if the cache were behind. */
void cluster_forget(struct cluster *c, enum virt_informer informer, const char *name);

/* ---- what is there; objects live until cluster_free ---- */

const void *cluster_get(struct cluster *c, const struct api_type *type, const char *name); /* NULL: not there */
struct cluster_list {
    size_t n;
    const void **items;
};
struct cluster_list cluster_list(struct cluster *c, const struct api_type *type); /* by name */
/* Requests of controllers since the last call or the start, but reads and events: "POST pods, PATCH pods/status, ...".
 */
const char *cluster_writes(struct cluster *c);
/* From now on each of these must be taken by the server and change something; one that is not fails the test. */
void cluster_expect_calm(struct cluster *c);
/* Events so far: "Normal SuccessfulCreate Created ...\n" each, in order of their making. */
const char *cluster_events(struct cluster *c);

#endif
