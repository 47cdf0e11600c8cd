/*
 * A controller in a small world, for tests: a cluster (support/cluster.h) in the namespace "default" with virt-api's
 * subresources, answers to SubjectAccessReviews, and time that moves on while keys wait for another attempt.
 *
 *     struct world *w = world_new(virt_vm_controller_add);
 *     world_create(w, "virtualmachines.kubevirt.io", "{...}");
 *     world_settle(w);
 *     assert_string_equal(world_text(w, "virtualmachines.kubevirt.io", "vm", "/status/printableStatus"), "Stopped");
 *     world_free(w);
 */
#ifndef TEST_CONTROLLER_WORLD_H
#define TEST_CONTROLLER_WORLD_H

#include "support/cluster.h"

#define VMS       "virtualmachines.kubevirt.io"
#define VMIS      "virtualmachineinstances.kubevirt.io"
#define DVS       "datavolumes.cdi.kubevirt.io"
#define DSS       "datasources.cdi.kubevirt.io"
#define PVCS      "persistentvolumeclaims"
#define CLASSES   "storageclasses.storage.k8s.io"
#define SNAPSHOTS "volumesnapshotclasses.snapshot.storage.k8s.io"

struct world;

struct world *world_new(void (*add_controller)(struct virt_context *context, int threads));
void world_free(struct world *w);
struct kb_arena *world_arena(struct world *w);
struct script *world_script(struct world *w);
struct cluster *world_cluster(struct world *w); /* to hold events back, for example */

/* The configuration of the KubeVirt CR (spec.configuration as JSON), from now on. */
void world_configure(struct world *w, const char *configuration);
/* SubjectAccessReviews are answered so; allowed unless set. All that was asked, one a line:
 * "USER VERB NAMESPACE/RESOURCE/SUBRESOURCE/NAME". */
void world_set_allowed(struct world *w, bool allowed);
const char *world_reviews(struct world *w);
/* A PUT to a path below subresources.kubevirt.io ("virtualmachineinstances/vm/addvolume") is answered with `status`; 0:
 * as virt-api does. */
void world_answer_subresources(struct world *w, int status);

/* What others do. They fail the test when the server refuses. */
void world_create(struct world *w, const char *resource, const char *json);
void world_patch(struct world *w, const char *resource, const char *name, const char *merge_patch);
void world_patch_status(struct world *w, const char *resource, const char *name, const char *merge_patch);
void world_delete(struct world *w, const char *resource, const char *name);

/* Brings what happened to the caches and lets the controller work, until there is nothing to do. Time moves on only
 * while keys wait for another attempt, at most ten minutes in all. */
void world_settle(struct world *w);
/* One round: the caches, then what is ready. */
void world_step(struct world *w);
void world_advance(struct world *w, int64_t ns);
/* Lets the controller look at a key again, and works until there is nothing to do. */
void world_poke(struct world *w, const char *controller, const char *key);

/* A member by JSON pointer; "" when absent, JSON unless it is text. */
const char *world_text(struct world *w, const char *resource, const char *name, const char *pointer);
bool world_exists(struct world *w, const char *resource, const char *name);
/* "Normal SuccessfulCreate text\n..." of all Events, sorted. */
const char *world_events(struct world *w);
/* Requests other than GET since the last call, without Events: "POST datavolumes, PATCH virtualmachines/vm". */
const char *world_writes(struct world *w);

/*
 * The sweep: plays a scenario once undisturbed, then again with its first request failing, its second, and so on, each
 * with every fault that a request can meet. Each time the digest must be what it was undisturbed, and another look at
 * the key must write nothing: whatever fails, the controller gets there.
 */
struct world_sweep {
    void (*add_controller)(struct virt_context *context, int threads);
    void (*scenario)(struct world *w);
    const char *(*digest)(struct world *w); /* in the world's arena */
    const char *controller, *key;           /* "vm", "default/vm" */
};
void world_play_sweep(const struct world_sweep *sweep);

#endif
