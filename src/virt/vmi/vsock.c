/*
 * VSOCK context ids: 32 bits from 3 up, unique over all instances of the cluster. They stand in status.VSOCKCID; this
 * map only keeps two passes from giving the same one.
 */
#include "virt/vmi/vmi_internal.h"

#include "base/map.h"
#include "base/strings.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CID 3u

struct vmi_cids {
    pthread_mutex_t lock;
    struct kb_map *by_key; /* VMI -> its id, as a pointer */
    struct kb_map *in_use; /* text of an id -> itself */
};

struct vmi_cids *vmi_cids_new(void)
{
    struct vmi_cids *cids = kb_malloc(sizeof *cids);

    pthread_mutex_init(&cids->lock, NULL);
    cids->by_key = kb_map_new(KB_MAP_COPY);
    cids->in_use = kb_map_new(KB_MAP_COPY);
    return cids;
}

void vmi_cids_free(struct vmi_cids *cids)
{
    kb_map_free(cids->by_key);
    kb_map_free(cids->in_use);
    pthread_mutex_destroy(&cids->lock);
    free(cids);
}

#define CID_TEXT 16

static const char *text_of(uint32_t cid, char buffer[CID_TEXT])
{
    snprintf(buffer, CID_TEXT, "%u", cid);
    return buffer;
}

static void put(struct vmi_cids *cids, const char *key, uint32_t cid)
{
    char text[CID_TEXT];

    kb_map_put(cids->by_key, key, (void *)(uintptr_t)cid);
    kb_map_put(cids->in_use, text_of(cid, text), (void *)(uintptr_t)cid);
}

static bool find_free(struct vmi_cids *cids, uint32_t start, uint32_t *ret)
{
    char text[CID_TEXT];
    uint32_t cid = start;

    while (kb_map_has(cids->in_use, text_of(cid, text))) {
        cid = cid == UINT32_MAX ? FIRST_CID : cid + 1;
        if (cid == start)
            return false;
    }
    *ret = cid;
    return true;
}

bool vmi_cids_allocate(struct vmi_cids *cids, const char *key, struct kb_random *random, uint32_t *ret)
{
    const uint32_t start = FIRST_CID + (uint32_t)kb_random_below(random, (uint64_t)UINT32_MAX - FIRST_CID + 1);
    bool found;

    pthread_mutex_lock(&cids->lock);
    *ret = (uint32_t)(uintptr_t)kb_map_get(cids->by_key, key);
    found = *ret != 0 || find_free(cids, start, ret);
    if (found)
        put(cids, key, *ret);
    pthread_mutex_unlock(&cids->lock);
    return found;
}

void vmi_cids_note(struct vmi_cids *cids, const char *key, uint32_t cid)
{
    pthread_mutex_lock(&cids->lock);
    put(cids, key, cid);
    pthread_mutex_unlock(&cids->lock);
}

void vmi_cids_release(struct vmi_cids *cids, const char *key)
{
    char text[CID_TEXT];
    const void *cid;

    pthread_mutex_lock(&cids->lock);
    cid = kb_map_remove(cids->by_key, key);
    if (cid)
        kb_map_remove(cids->in_use, text_of((uint32_t)(uintptr_t)cid, text));
    pthread_mutex_unlock(&cids->lock);
}
