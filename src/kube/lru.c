/*
 * Entries stand in a ring behind a head, most recently used first, and in a hash map by digest.
 */
#include "kube/lru.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strings.h"
#include <stdlib.h>

struct entry {
    struct entry *previous, *next;
    char key[KB_MD5_HEX];
    max_align_t value[];
};

struct kube_lru {
    size_t max_entries, value_size;
    void (*done)(void *value);
    struct kb_map *entries; /* keys are in the entries */
    struct entry head;
};

struct kube_lru *kube_lru_new(size_t max_entries, size_t value_size, void (*done)(void *value))
{
    struct kube_lru *lru = kb_malloc(sizeof *lru);
    lru->max_entries = max_entries;
    lru->value_size = value_size;
    lru->done = done;
    lru->entries = kb_map_new(KB_MAP_BORROW);
    lru->head.previous = lru->head.next = &lru->head;
    return lru;
}

static void unlink_entry(struct entry *entry)
{
    entry->previous->next = entry->next;
    entry->next->previous = entry->previous;
}

static void link_first(struct kube_lru *lru, struct entry *entry)
{
    entry->previous = &lru->head;
    entry->next = lru->head.next;
    entry->previous->next = entry;
    entry->next->previous = entry;
}

static void drop(struct kube_lru *lru, struct entry *entry)
{
    kb_map_remove(lru->entries, entry->key);
    unlink_entry(entry);
    if (lru->done)
        lru->done(entry->value);
    free(entry);
}

void kube_lru_free(struct kube_lru *lru)
{
    while (lru->head.next != &lru->head)
        drop(lru, lru->head.next);
    kb_map_free(lru->entries);
    free(lru);
}

void *kube_lru_use(struct kube_lru *lru, const char *key, size_t key_length)
{
    char digest[KB_MD5_HEX];
    kb_md5_hex(key, key_length, digest);
    struct entry *entry = kb_map_get(lru->entries, digest);
    if (entry) {
        unlink_entry(entry);
        link_first(lru, entry);
        return entry->value;
    }
    if (kb_map_count(lru->entries) >= lru->max_entries)
        drop(lru, lru->head.previous);
    entry = kb_malloc(sizeof *entry + lru->value_size);
    memcpy(entry->key, digest, sizeof digest);
    kb_map_put(lru->entries, entry->key, entry);
    link_first(lru, entry);
    return entry->value;
}

size_t kube_lru_count(const struct kube_lru *lru)
{
    return kb_map_count(lru->entries);
}
