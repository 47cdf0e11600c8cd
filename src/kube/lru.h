/*
 * A map of bounded size from strings to values of one size, which forgets the entry that was not used for the longest
 * time. Keys are kept as MD5 digests: long keys cost nothing, and nobody gains by making two of them collide. Threads:
 * one at a time.
 */
#ifndef KUBE_LRU_H
#define KUBE_LRU_H

#include <stddef.h>

struct kube_lru;
/* `done` (may be NULL) is called with each value that goes. */
struct kube_lru *kube_lru_new(size_t max_entries, size_t value_size, void (*done)(void *value));
void kube_lru_free(struct kube_lru *lru);
/* The value, now the most recently used one; a zeroed one when the key was absent. Valid until the next call. */
void *kube_lru_use(struct kube_lru *lru, const char *key, size_t key_length);
size_t kube_lru_count(const struct kube_lru *lru);

#endif
