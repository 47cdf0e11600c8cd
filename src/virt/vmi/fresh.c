/*
 * Instances whose launcher Pod was made by this process and that don't say so yet.
 *
 * A Pod is often ready within a second. Then the instance goes from no phase to Scheduled in one write instead of
 * three, and the Pod gets its condition, label and annotations in one patch instead of two: so nothing is written in
 * that second unless there is something to tell. What the API does not hold meanwhile is kept here: that there was a
 * Pod. One that is gone again does not get a successor.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/map.h"
#include "base/strings.h"
#include "virt/conditions.h"
#include <pthread.h>
#include <stdlib.h>

struct entry {
    int64_t made_at; /* mono */
    char uid[];      /* of the VMI */
};

struct vmi_fresh {
    pthread_mutex_t lock;
    struct kb_clock *clock;
    struct kb_map *entries; /* by key of the VMI */
};

struct vmi_fresh *vmi_fresh_new(struct kb_clock *clock)
{
    struct vmi_fresh *fresh = kb_malloc(sizeof *fresh);

    pthread_mutex_init(&fresh->lock, NULL);
    fresh->clock = clock;
    fresh->entries = kb_map_new(KB_MAP_COPY);
    return fresh;
}

void vmi_fresh_free(struct vmi_fresh *fresh)
{
    const char *key;
    struct entry *entry;

    kb_map_foreach (fresh->entries, key, entry)
        free(entry);
    kb_map_free(fresh->entries);
    pthread_mutex_destroy(&fresh->lock);
    free(fresh);
}

void vmi_fresh_note(const struct vmi_pass *p)
{
    struct vmi_fresh *fresh = p->controller->fresh;
    const char *uid = p->vmi->metadata.uid;
    struct entry *entry = kb_malloc(sizeof *entry + strlen(uid) + 1);

    entry->made_at = fresh->clock->mono(fresh->clock);
    memcpy(entry->uid, uid, strlen(uid) + 1);
    pthread_mutex_lock(&fresh->lock);
    free(kb_map_put(fresh->entries, kube_request_key(p->request), entry));
    pthread_mutex_unlock(&fresh->lock);
}

void vmi_fresh_forget(struct vmi_fresh *fresh, const char *key)
{
    pthread_mutex_lock(&fresh->lock);
    free(kb_map_remove(fresh->entries, key));
    pthread_mutex_unlock(&fresh->lock);
}

/* Of this VMI, not of another one that had its name. */
static bool find(const struct vmi_pass *p, int64_t *ret_made_at)
{
    struct vmi_fresh *fresh = p->controller->fresh;
    const struct entry *entry;
    bool found;

    pthread_mutex_lock(&fresh->lock);
    entry = kb_map_get(fresh->entries, kube_request_key(p->request));
    found = entry && kb_streq(entry->uid, p->vmi->metadata.uid);
    if (found)
        *ret_made_at = entry->made_at;
    pthread_mutex_unlock(&fresh->lock);
    return found;
}

bool vmi_had_pod(const struct vmi_pass *p)
{
    int64_t made_at;

    return find(p, &made_at);
}

int64_t vmi_hold_back(const struct vmi_pass *p, const struct kv_vmi *after)
{
    struct kb_clock *clock = p->controller->fresh->clock;
    int64_t made_at, age;
    const bool tells_nothing = kb_streq(after->status.phase, VIRT_PHASE_SCHEDULING) && !p->sync.reason &&
                               !p->vmi->metadata.deletion_timestamp && !virt_vmi_condition(after, VMI_POD_SCHEDULED);

    if (!virt_vmi_is_unprocessed(p->vmi) || !vmi_launcher(p) || !tells_nothing || !find(p, &made_at))
        return 0;
    age = clock->mono(clock) - made_at;
    return age < VMI_FRESH_NS ? VMI_FRESH_NS - age : 0;
}
