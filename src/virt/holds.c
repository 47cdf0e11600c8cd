/*
 * A map from key to UID and time. Entries go with their object (virt_holds_end), so there are never more than objects.
 */
#include "virt/holds.h"

#include "base/map.h"
#include "base/strings.h"
#include <pthread.h>
#include <stdlib.h>

struct entry {
    int64_t since; /* mono */
    bool among_many;
    char uid[];
};

struct virt_holds {
    pthread_mutex_t lock;
    struct kb_clock *clock;
    struct kb_map *entries;
    int64_t ended_at; /* mono: when the last one did */
};

struct virt_holds *virt_holds_new(struct kb_clock *clock)
{
    struct virt_holds *holds = kb_malloc(sizeof *holds);

    pthread_mutex_init(&holds->lock, NULL);
    holds->clock = clock;
    holds->entries = kb_map_new(KB_MAP_COPY);
    return holds;
}

void virt_holds_free(struct virt_holds *holds)
{
    const char *key;
    struct entry *entry;

    kb_map_foreach (holds->entries, key, entry)
        free(entry);
    kb_map_free(holds->entries);
    pthread_mutex_destroy(&holds->lock);
    free(holds);
}

static struct entry *find(const struct virt_holds *holds, const char *key, const char *uid)
{
    struct entry *entry = kb_map_get(holds->entries, key);

    return entry && kb_streq(entry->uid, uid) ? entry : NULL;
}

void virt_holds_begin(struct virt_holds *holds, const char *key, const char *uid)
{
    const size_t size = strlen(uid) + 1;
    struct entry *entry;

    pthread_mutex_lock(&holds->lock);
    if (!find(holds, key, uid)) {
        entry = kb_malloc(sizeof *entry + size);
        entry->since = holds->clock->mono(holds->clock);
        memcpy(entry->uid, uid, size);
        free(kb_map_put(holds->entries, key, entry));
    }
    pthread_mutex_unlock(&holds->lock);
}

void virt_holds_end(struct virt_holds *holds, const char *key)
{
    struct entry *entry;

    pthread_mutex_lock(&holds->lock);
    entry = kb_map_remove(holds->entries, key);
    if (entry)
        holds->ended_at = holds->clock->mono(holds->clock);
    pthread_mutex_unlock(&holds->lock);
    free(entry);
}

bool virt_holds_age(struct virt_holds *holds, const char *key, const char *uid, int64_t *ret_ns)
{
    const struct entry *entry;

    pthread_mutex_lock(&holds->lock);
    entry = find(holds, key, uid);
    if (entry)
        *ret_ns = holds->clock->mono(holds->clock) - entry->since;
    pthread_mutex_unlock(&holds->lock);
    return entry;
}

int64_t virt_holds_left(struct virt_holds *holds, const char *key, const char *uid, int64_t limit_ns)
{
    int64_t age;

    return virt_holds_age(holds, key, uid, &age) && age < limit_ns ? limit_ns - age : 0;
}

bool virt_holds_many(struct virt_holds *holds)
{
    bool many;

    pthread_mutex_lock(&holds->lock);
    many = kb_map_count(holds->entries) > VIRT_HOLD_MANY;
    pthread_mutex_unlock(&holds->lock);
    return many;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Until when one of many waits: as long as others get there, but not too long. */
static int64_t end_of_queueing(const struct virt_holds *holds, const struct entry *entry)
{
    return min(entry->since + VIRT_HOLD_MANY_NS, max(entry->since, holds->ended_at) + VIRT_HOLD_MANY_IDLE_NS);
}

int64_t virt_holds_deletion(struct virt_holds *holds, const char *key, const char *uid)
{
    int64_t until = 0, now = holds->clock->mono(holds->clock);
    struct entry *entry;

    virt_holds_begin(holds, key, uid);
    pthread_mutex_lock(&holds->lock);
    entry = find(holds, key, uid);
    if (entry) {
        entry->among_many |= kb_map_count(holds->entries) > VIRT_HOLD_MANY;
        until = entry->among_many ? end_of_queueing(holds, entry) : entry->since + VIRT_HOLD_NS;
    }
    pthread_mutex_unlock(&holds->lock);
    return until > now ? until - now : 0;
}
