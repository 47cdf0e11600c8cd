/*
 * The intern table. An entry is one small block: count, hash, text; callers hold the address of the text. The table is
 * an array of entries with linear probing, at most 3/4 full, and closes gaps as base/map.c does.
 *
 * Counts are atomic, so that taking another reference and giving back one that is not the last need no lock. An entry's
 * count falls to 0 under the lock only, and is raised from the table under the lock only: who finds an entry in the
 * table finds it alive.
 */
#include "base/intern.h"
#include "base/arena.h"
#include "base/strings.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SMALLEST 64

struct entry {
    atomic_uint references;
    uint32_t hash;
    char text[];
};

static struct {
    pthread_mutex_t lock;
    struct entry **slots;
    size_t size; /* a power of two, or 0 */
    size_t count;
    size_t text_bytes; /* of all entries, with their headers */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct entry *entry_of(const char *interned)
{
    return (struct entry *)(interned - offsetof(struct entry, text));
}

static size_t entry_size(size_t text_length)
{
    return sizeof(struct entry) + text_length + 1;
}

/* The slot that holds the text, or the free one where it belongs. */
static size_t find(const char *text, size_t n, uint32_t hash)
{
    size_t mask = table.size - 1, i = hash & mask;
    for (; table.slots[i]; i = (i + 1) & mask) {
        const struct entry *entry = table.slots[i];
        if (entry->hash == hash && strncmp(entry->text, text, n) == 0 && entry->text[n] == '\0')
            break;
    }
    return i;
}

static void resize(size_t size)
{
    struct entry **slots = table.slots;
    size_t old_size = table.size, mask = size - 1;
    table.slots = kb_malloc(size * sizeof(struct entry *));
    table.size = size;
    for (size_t i = 0; i < old_size; i++) {
        if (!slots[i])
            continue;
        size_t at = slots[i]->hash & mask;
        while (table.slots[at])
            at = (at + 1) & mask;
        table.slots[at] = slots[i];
    }
    free(slots);
}

static struct entry *new_entry(const char *text, size_t n, uint32_t hash)
{
    struct entry *entry = kb_malloc(entry_size(n));
    entry->hash = hash;
    memcpy(entry->text, text, n);
    table.text_bytes += entry_size(n);
    table.count++;
    return entry;
}

const char *kb_intern(const char *text, size_t n)
{
    n = strnlen(text, n);
    if (n == 0)
        return "";
    uint32_t hash = kb_fnv32a(text, n);
    pthread_mutex_lock(&table.lock);
    if ((table.count + 1) * 4 > table.size * 3)
        resize(table.size ? table.size * 2 : SMALLEST);
    size_t i = find(text, n, hash);
    if (!table.slots[i])
        table.slots[i] = new_entry(text, n, hash);
    struct entry *entry = table.slots[i];
    atomic_fetch_add(&entry->references, 1);
    pthread_mutex_unlock(&table.lock);
    return entry->text;
}

const char *kb_intern_ref(const char *interned)
{
    if (*interned)
        atomic_fetch_add(&entry_of(interned)->references, 1);
    return interned;
}

static void close_gap(size_t gap)
{
    size_t mask = table.size - 1;
    for (size_t i = (gap + 1) & mask; table.slots[i]; i = (i + 1) & mask) {
        size_t home = table.slots[i]->hash & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        table.slots[gap] = table.slots[i];
        gap = i;
    }
    table.slots[gap] = NULL;
}

static void remove_entry(struct entry *entry)
{
    size_t n = strlen(entry->text);
    close_gap(find(entry->text, n, entry->hash));
    table.count--;
    table.text_bytes -= entry_size(n);
    free(entry);
    if (table.size > SMALLEST && table.count * 8 < table.size)
        resize(table.size / 2);
}

static bool drop_unless_last(struct entry *entry)
{
    unsigned references = atomic_load(&entry->references);
    while (references > 1) {
        if (atomic_compare_exchange_weak(&entry->references, &references, references - 1))
            return true;
    }
    return false;
}

void kb_intern_unref(const char *interned)
{
    if (!*interned)
        return;
    struct entry *entry = entry_of(interned);
    if (drop_unless_last(entry))
        return;
    pthread_mutex_lock(&table.lock);
    if (atomic_fetch_sub(&entry->references, 1) == 1)
        remove_entry(entry);
    pthread_mutex_unlock(&table.lock);
}

void kb_intern_stats(size_t *ret_strings, size_t *ret_bytes)
{
    pthread_mutex_lock(&table.lock);
    *ret_strings = table.count;
    *ret_bytes = table.text_bytes + table.size * sizeof(struct entry *);
    pthread_mutex_unlock(&table.lock);
}
