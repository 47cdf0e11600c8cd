/*
 * A map from key to UID and time. Entries go with their object (virt_holds_end), so there are never more than objects.
 */
#include "virt/holds.h"

#include "base/map.h"
#include "base/strings.h"
#include "base/time.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_SIZE = 640 }; /* kind, namespace (63) and name (253) fit */

struct entry {
    int64_t since; /* mono */
    bool among_many;
    bool over; /* a deletion that was told of, or may be: it takes its time, and nobody waits for it */
    char uid[];
};

struct virt_holds {
    pthread_mutex_t lock;
    struct kb_clock *clock;
    struct kb_map *entries;
    size_t n_over;
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

static void drop(struct virt_holds *holds, struct entry *entry)
{
    if (entry)
        holds->n_over -= entry->over;
    free(entry);
}

/* With the lock held. */
static struct entry *begin(struct virt_holds *holds, const char *key, const char *uid)
{
    const size_t size = strlen(uid) + 1;
    struct entry *entry = find(holds, key, uid);

    if (entry)
        return entry;
    entry = kb_malloc(sizeof *entry + size);
    entry->since = holds->clock->mono(holds->clock);
    memcpy(entry->uid, uid, size);
    drop(holds, kb_map_put(holds->entries, key, entry));
    return entry;
}

void virt_holds_begin(struct virt_holds *holds, const char *key, const char *uid)
{
    pthread_mutex_lock(&holds->lock);
    begin(holds, key, uid);
    pthread_mutex_unlock(&holds->lock);
}

void virt_holds_end(struct virt_holds *holds, const char *key)
{
    struct entry *entry;

    pthread_mutex_lock(&holds->lock);
    entry = kb_map_remove(holds->entries, key);
    if (entry)
        holds->ended_at = holds->clock->mono(holds->clock);
    drop(holds, entry);
    pthread_mutex_unlock(&holds->lock);
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

static bool has_many(const struct virt_holds *holds)
{
    return kb_map_count(holds->entries) - holds->n_over > VIRT_HOLD_MANY;
}

bool virt_holds_many(struct virt_holds *holds)
{
    bool many;

    pthread_mutex_lock(&holds->lock);
    many = has_many(holds);
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

/* With the lock held. How long still. */
static int64_t judge(struct virt_holds *holds, struct entry *entry)
{
    const int64_t now = holds->clock->mono(holds->clock);
    int64_t until;

    if (entry->over)
        return 0;
    entry->among_many |= has_many(holds);
    until = entry->among_many ? end_of_queueing(holds, entry) : entry->since + VIRT_HOLD_NS;
    entry->over = until <= now;
    holds->n_over += entry->over;
    return entry->over ? 0 : until - now;
}

static const char *deletion_key(char *to, const char *kind, const char *key)
{
    snprintf(to, KEY_SIZE, "%s/%s", kind, key);
    return to;
}

int64_t virt_holds_deletion(struct virt_holds *holds, const char *kind, const char *key, const char *uid)
{
    char text[KEY_SIZE];
    int64_t left;

    pthread_mutex_lock(&holds->lock);
    left = judge(holds, begin(holds, deletion_key(text, kind, key), uid));
    pthread_mutex_unlock(&holds->lock);
    return left;
}

void virt_holds_end_deletion(struct virt_holds *holds, const char *kind, const char *key)
{
    char text[KEY_SIZE];

    virt_holds_end(holds, deletion_key(text, kind, key));
}

int64_t virt_moment_left(int64_t now_ns, const char *since, int64_t limit_ns)
{
    int64_t began, left;

    if (!since || !kb_time_parse(since, &began))
        return 0;
    left = began + limit_ns - now_ns;
    return left <= 0 || left > 2 * limit_ns ? 0 : min(left, limit_ns);
}
