/*
 * The VMI controller from inside: one pass over one VMI, and who does what in it.
 *
 *     vmi.c            definition, mappings, reconcile: gathers, then
 *     sync.c           steps towards the wanted world: Pods, claims, attachment Pods
 *     data_volumes.c   are the claims of the volumes there and populated
 *     backend.c        the claim of persistent TPM, EFI and CBT state
 *     hotplug.c        attachment and trigger Pods of hotplugged volumes
 *     status.c         the VMI as it should now stand in the API: reads the pass, changes a copy, writes nothing
 *       phases.c       which phase comes next: a pure function
 *       pod_facts.c    what a Pod says about its VMI: Ready, QoS class, image, overhead
 *       volume_status.c, updates.c   parts of that: volumes; changes of CPU, memory, volumes and networks
 *     pod_sync.c       the launcher Pod as it should be: labels, annotations, readiness gate
 *     apply.c          the writes of what status.c and pod_sync.c found, and the events
 *     pods.c           creates and deletes Pods, and asks the API server where the cache is not to be believed
 *     hold.c           which statuses are not written yet
 *     vsock.c          context ids
 *
 * Memory: everything is in the request's arena or pinned by it.
 */
#ifndef VIRT_VMI_INTERNAL_H
#define VIRT_VMI_INTERNAL_H

#include "kube/request.h"
#include "virt/context.h"
#include "virt/holds.h"
#include "virt/pods.h"
#include "virt/storage/volumes.h"
#include "virt/vmi/words.h"
#include "virt/vmis.h"

struct vmi_cids;
struct vmi_doubts;

struct vmi_controller {
    struct virt_context *context;
    struct kube_expectations *deletions; /* of Pods, by key of their VMI */
    struct vmi_doubts *doubts;
    struct virt_holds *fresh; /* VMIs whose launcher Pod this process made, until their status tells of it */
    struct virt_holds *gone;  /* the last Pod of a VMI of which the cache saw that it was deleted; its UID */
    struct vmi_cids *cids;
    int64_t started_at; /* wall ns: what is older may have been seen by another leader */
};

/* Why the wanted world was not reached: condition Synchronized. */
struct vmi_sync_error {
    const char *reason; /* NULL: none */
    const char *message;
    bool informal; /* no retry: what it waits for will wake the key */
};

struct vmi_event {
    const char *type, *reason, *message;
};
struct vmi_event_list {
    size_t n;
    struct vmi_event *items;
};

struct vmi_pass {
    struct vmi_controller *controller;
    struct kube_request *request;
    struct kb_arena *arena;
    const struct virt_config *config;
    const struct kv_vmi *vmi;   /* as cached */
    struct virt_pods pods;      /* all that the VMI controls */
    const struct core_pod *pod; /* the current one of them, or NULL */
    struct virt_data_volumes data_volumes;
    struct vmi_sync_error sync;
    struct vmi_event_list events; /* told when the status that they belong to is written */
    bool rendered;                /* a launcher Pod was, or should have been, made from the VMI */
    bool serves;                  /* the steps got as far as a launcher Pod that is ready */
};

/* The current Pod when it is a launcher and not a stand-in; otherwise NULL. */
const struct core_pod *vmi_launcher(const struct vmi_pass *p);
/* Sends an event about the VMI at once. */
void vmi_event(const struct vmi_pass *p, const char *type, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Notes one for when the status is written. */
void vmi_event_later(struct vmi_pass *p, const char *type, const char *reason, const char *message);
/* Sets the sync error; returns -1. `informal` as in struct vmi_sync_error. */
int vmi_fail(struct vmi_pass *p, const char *reason, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vmi_wait(struct vmi_pass *p, const char *reason, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What the Pod says, in place of an error of the steps; these are tried again as before. */
void vmi_tell(struct vmi_pass *p, const char *reason, const char *message);

/* ---- steps: 0: done, or nothing to do; -1: sync error set, the rest is for a later pass ---- */

int vmi_sync(struct vmi_pass *p); /* sync.c */

struct vmi_storage_state {
    bool ready;              /* every claim is, or waits for its first consumer */
    bool waits_for_consumer; /* of at least one */
};
int vmi_check_volumes(struct vmi_pass *p, struct vmi_storage_state *ret); /* data_volumes.c */
/* *ret_claim: its name, "" when the VMI needs none. */
int vmi_ensure_backend_storage(struct vmi_pass *p, const char **ret_claim); /* backend.c */

/* hotplug.c */
int vmi_sync_hotplug(struct vmi_pass *p);
/* Attachment Pods of launchers that are down, or of the current one. Failures are for the next pass. */
void vmi_delete_orphaned_attachments(struct vmi_pass *p);
int vmi_delete_attachments(struct vmi_pass *p, struct kube_error *reterr);
struct vmi_volumes {
    size_t n;
    const struct kv_volume **items;
};
/* Volumes of the spec (utility volumes as volumes) that the launcher was not made with. */
struct vmi_volumes vmi_hotplug_volumes(struct vmi_pass *p, const struct core_pod *launcher);
/* Among attachment Pods: the one that carries exactly these volumes and stays; NULL: none. */
const struct core_pod *vmi_matching_attachment(const struct virt_pods *attachments, const struct vmi_volumes *volumes);

/* ---- Pods: pods.c ---- */

int vmi_create_pod(struct vmi_pass *p, struct core_pod *pod, const struct core_pod **ret, struct kube_error *reterr);
/* grace_s -1: the Pod's own. */
int vmi_delete_pod(struct vmi_pass *p, const struct core_pod *pod, int64_t grace_s, struct kube_error *reterr);
/* Pods of the VMI that the API server has, when the cache has none though there should be some. */
int vmi_find_unseen_pods(struct vmi_pass *p, struct kube_error *reterr);
/* 1: a Pod may be made; 0: there is one that the cache does not show, which is the pass' Pod now; negative: could not
 * ask. */
int vmi_may_create_pod(struct vmi_pass *p, struct kube_error *reterr);
/* Asks for a Pod from which nothing has been heard for long although something should have happened. */
int vmi_refresh_stale_pod(struct vmi_pass *p, struct kube_error *reterr);

/* Keys of which a creation was asked for and no answer came. */
struct vmi_doubts *vmi_doubts_new(void);
void vmi_doubts_free(struct vmi_doubts *doubts);
void vmi_doubt(struct vmi_doubts *doubts, const char *key);
bool vmi_is_doubted(struct vmi_doubts *doubts, const char *key);
void vmi_doubt_no_more(struct vmi_doubts *doubts, const char *key);
/* The outcome of a write that failed so is unknown. */
bool vmi_outcome_unknown(const struct kube_error *error);

/* ---- status ---- */

/* phases.c */
struct vmi_phase_facts {
    bool had_pod;             /* one was made, and the status does not tell */
    bool pod, temporary_pod;  /* one is there */
    bool pod_ready, pod_down; /* of the launcher Pod */
    bool pod_down_or_going;
    bool temporary_pod_failed; /* or it goes down */
    bool being_deleted;
    bool data_volume_failed, waits_for_consumer;
    bool migration_target, target_node_known, target_failed;
    bool lacks_guarantee; /* dedicated CPUs in a Pod that is not of QoS class Guaranteed */
    bool moved_away;      /* to another cluster; the Pod has ended */
};
/* NULL: an unknown phase. */
const char *vmi_next_phase(const char *phase, const struct vmi_phase_facts *facts);

/* *ret: a changed copy of p->vmi, good for vmi_apply as far as it got, also when an error is returned. */
int vmi_derive(struct vmi_pass *p, struct kv_vmi **ret, struct kube_error *reterr); /* status.c */

/* pod_facts.c */
void vmi_set_ready(struct vmi_pass *p, struct kv_vmi *after);
void vmi_set_launcher_image(struct vmi_pass *p, struct kv_vmi *after, const char *image);
void vmi_set_memory_overhead(struct vmi_pass *p, struct kv_vmi *after);
void vmi_set_pod_scheduled(struct vmi_pass *p, struct kv_vmi *after);
void vmi_note_image_error(struct vmi_pass *p);

int vmi_set_volume_status(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr); /* volume_status.c */
void vmi_set_backend_status(struct vmi_pass *p, struct kv_vmi *after);
void vmi_set_updates(struct vmi_pass *p, struct kv_vmi *after); /* updates.c */

/* ---- the launcher Pod, and the writes ---- */

int vmi_sync_pod(struct vmi_pass *p, const struct kv_vmi *after, struct kube_error *reterr); /* pod_sync.c */
int vmi_apply(struct vmi_pass *p, struct kv_vmi *after, struct kube_error *reterr);          /* apply.c */
/* Scheduled or Running: virt-handler writes it, too. */
bool vmi_is_shared(const struct kv_vmi *vmi);

/* ---- hold.c ---- */

/* A launcher Pod was made. */
void vmi_note_new_pod(const struct vmi_pass *p);
/* It was, by this process, and the status does not tell yet. */
bool vmi_had_pod(const struct vmi_pass *p);
/* The Pod that the status names was deleted: the cache has seen that, so nobody needs to be asked. */
bool vmi_saw_pods_go(const struct vmi_pass *p);
/* How long to wait before this status is written; 0: now. */
int64_t vmi_hold_back(const struct vmi_pass *p, const struct kv_vmi *after);

/* ---- context ids: vsock.c ---- */

struct vmi_cids *vmi_cids_new(void);
void vmi_cids_free(struct vmi_cids *cids);
/* Gives the VMI of `key` its id, an id of its own. False: there is none left. */
bool vmi_cids_allocate(struct vmi_cids *cids, const char *key, struct kb_random *random, uint32_t *ret);
/* An id that a VMI has already. */
void vmi_cids_note(struct vmi_cids *cids, const char *key, uint32_t cid);
void vmi_cids_release(struct vmi_cids *cids, const char *key);

#endif
