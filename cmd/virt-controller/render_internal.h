/*
 * The parts of `render`: reading manifests into a set of objects (render_input.c), from these making the VMIs that a
 * cluster would have (render_instances.c), answering what rendering looks up (render_world.c), and writing Pods, sums
 * or differences (render_output.c, render_diff.c).
 *
 * Everything lives in one arena until the program ends.
 */
#ifndef CMD_VIRT_CONTROLLER_RENDER_INTERNAL_H
#define CMD_VIRT_CONTROLLER_RENDER_INTERNAL_H

#include "api/codec.h"
#include "api/meta.h"
#include "api/types/kv.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include "virt/config/config.h"
#include "virt/launcher/launcher.h"

/* ---- the command line: render_options.c ---- */

struct render_options {
    struct api_strings manifests, with;
    const char *kubevirt, *diff; /* NULL: not given */
    const char *namespace_;      /* of manifests that name none */
    const char *seed;            /* NULL: the instance's UID */
    bool json, explain, as_stored, help;
    struct virt_launcher_settings settings;
};
/* Texts are borrowed from argv. */
int render_parse_options(struct kb_arena *arena, int argc, char **argv, struct render_options *ret,
                         struct kube_error *reterr);
void render_usage(struct kb_strbuf *ret);

/* ---- objects from files: render_input.c ---- */

struct render_object {
    const char *origin; /* "FILE: document 2": how errors name it */
    const struct api_type *type;
    void *data; /* writable; starts as struct api_any */
};
struct render_objects {
    size_t n;
    struct render_object *items;
};
/* Appends all objects of a file ("-": standard input) whose kind is known; lists are taken apart. `strict`: members
 * that the kind has not are errors. */
int render_read(struct kb_arena *arena, const char *file, bool strict, struct render_objects *objects,
                struct kube_error *reterr);
/* "ORIGIN: PATH: message". Returns -1. */
int render_fail(struct kube_error *reterr, const struct render_object *object, const char *path, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* ---- what a cluster has: render_world.c ---- */

struct render_world {
    struct kb_arena *arena;
    const struct render_options *options;
    const struct virt_config *config;
    struct render_objects objects;
    struct virt_launcher_lookups lookups;
    const char *missing_config_map; /* the last one that rendering looked for in vain, or NULL */
};
void render_world_init(struct render_world *world);
/* NULL: there is none. Cluster-wide kinds: `namespace_` "". */
const void *render_find(const struct render_world *world, const struct api_type *type, const char *namespace_,
                        const char *name);
const char *render_namespace_of(const struct render_world *world, const struct render_object *object);
/* Deterministic stand-in for what the API server makes up. */
const char *render_uid(struct kb_arena *arena, const struct api_type *type, const struct meta_object_meta *meta);
/* The frequency that nodes agree on, for guests that need a fixed one. */
void render_set_topology_hints(const struct render_world *world, struct kv_vmi *vmi);

/* ---- claims: render_claims.c ---- */

/* A claim: given as such, or made for a DataVolume. *ret_open (may be NULL): its DataVolume leaves to the cluster
 * whether it is a block device or who may mount it. */
const struct core_pvc *render_find_claim(const struct render_world *world, const char *namespace_, const char *name,
                                         bool *ret_open);
/* Of a VMI with persistent state: the claim's name, given or as it would be called. */
const char *render_state_claim(const struct render_world *world, const struct kv_vmi *vmi);

/* ---- instances: render_instances.c, render_pool.c, render_infer.c ---- */

struct render_instance {
    const struct render_object *object; /* the manifest that it comes from */
    const char *spec_path;              /* of its VMI spec there: "spec", "spec.template.spec" ... */
    struct kv_vmi *vmi;
};
struct render_instances {
    size_t n;
    struct render_instance *items;
};
bool render_has_instances(const struct api_type *type);
/* Appends the VMIs that a manifest stands for, with defaults. */
int render_add_instances(struct render_world *world, const struct render_object *object,
                         struct render_instances *instances, struct kube_error *reterr);
/* The VM number `index` of a pool. */
struct kv_vm *render_pool_vm(struct kb_arena *arena, const struct render_object *pool, int index);

/* Finds out what the VM leaves to its volumes to say: instance type, preference, architecture. `prefix`: of the VM's
 * own members in the manifest. The error names the field. */
int render_infer(const struct render_world *world, const struct render_object *object, const char *prefix,
                 struct kv_vm *vm, struct kube_error *reterr);

/* ---- references: render_check.c ---- */

/* Appends a line for each object that rendering would look up in vain, with the field that asks for it. */
void render_find_missing(const struct render_world *world, const struct render_instance *instance,
                         struct api_strings *missing);

/* virt-controller adds a random number of seconds below this to the launcher's time-out. */
enum { RENDER_JITTER_RANGE = 120 };

/* ---- output: render_output.c, render_explain.c, render_diff.c ---- */

struct render_pods {
    size_t n;
    struct core_pod **items;
};
void render_write_pods(const struct render_options *options, const struct render_pods *pods, struct kb_strbuf *out);
int render_explain(struct kb_arena *arena, const struct virt_launcher_input *input, const struct core_pod *pod,
                   struct kb_strbuf *out, struct kube_error *reterr);
/* Appends what differs between the Pod in the file --diff and the rendered one, leaving out what kube-apiserver and the
 * cluster add to a Pod. Returns the number of differences, or negative. */
int render_diff(struct kb_arena *arena, const struct render_options *options, const struct render_pods *pods,
                struct kb_strbuf *out, struct kube_error *reterr);

#endif
