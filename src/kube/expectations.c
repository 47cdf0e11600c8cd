/*
 * Expectations: a small record a key that exists only while something is expected. An observation that nobody expects
 * is ignored, and counts never go below zero, so that an event which arrives twice can't satisfy a later expectation.
 * Expecting more while something is expected already adds to it; what has expired is forgotten first.
 */
#include "kube/expectations.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/strings.h"
#include "base/vec.h"
#include <pthread.h>
#include <stdlib.h>

struct names {
    size_t n;
    char **items;
};

struct expected {
    int creations, deletions;
    struct names deletions_of;
    int64_t expires_at;
};

struct kube_expectations {
    pthread_mutex_t lock;
    struct kb_clock *clock;
    struct kb_map *keys; /* key -> struct expected */
};

static void expected_free(struct expected *expected)
{
    kb_vec_foreach (name, &expected->deletions_of)
        free(*name);
    free(expected->deletions_of.items);
    free(expected);
}

static void forget(struct kube_expectations *e, const char *key)
{
    struct expected *expected = kb_map_remove(e->keys, key);
    if (expected)
        expected_free(expected);
}

/* What is expected of the key and has not expired, or NULL. */
static struct expected *pending(struct kube_expectations *e, const char *key)
{
    struct expected *expected = kb_map_get(e->keys, key);
    if (!expected)
        return NULL;
    if (e->clock->mono(e->clock) < expected->expires_at)
        return expected;
    forget(e, key);
    return NULL;
}

static struct expected *expect_more(struct kube_expectations *e, const char *key)
{
    struct expected *expected = pending(e, key);
    if (!expected) {
        expected = kb_malloc(sizeof(*expected));
        kb_map_put(e->keys, key, expected);
    }
    expected->expires_at = e->clock->mono(e->clock) + KUBE_EXPECTATION_TIMEOUT_NS;
    return expected;
}

static void forget_if_met(struct kube_expectations *e, const char *key, const struct expected *expected)
{
    if (expected->creations <= 0 && expected->deletions <= 0 && expected->deletions_of.n == 0)
        forget(e, key);
}

static size_t name_index(const struct names *names, const char *name)
{
    size_t i = 0;
    while (i < names->n && !kb_streq(names->items[i], name))
        i++;
    return i;
}

struct kube_expectations *kube_expectations_new(struct kb_clock *clock)
{
    struct kube_expectations *e = kb_malloc(sizeof(*e));
    pthread_mutex_init(&e->lock, NULL);
    e->clock = clock;
    e->keys = kb_map_new(KB_MAP_COPY);
    return e;
}

void kube_expectations_free(struct kube_expectations *e)
{
    const char *key;
    struct expected *expected;
    if (!e)
        return;
    kb_map_foreach (e->keys, key, expected)
        expected_free(expected);
    kb_map_free(e->keys);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void kube_expect_creations(struct kube_expectations *e, const char *key, int n)
{
    if (n <= 0)
        return;
    pthread_mutex_lock(&e->lock);
    expect_more(e, key)->creations += n;
    pthread_mutex_unlock(&e->lock);
}

void kube_expect_deletions(struct kube_expectations *e, const char *key, int n)
{
    if (n <= 0)
        return;
    pthread_mutex_lock(&e->lock);
    expect_more(e, key)->deletions += n;
    pthread_mutex_unlock(&e->lock);
}

static void observe(struct kube_expectations *e, const char *key, bool creation)
{
    pthread_mutex_lock(&e->lock);
    struct expected *expected = pending(e, key);
    if (expected) {
        int *count = creation ? &expected->creations : &expected->deletions;
        if (*count > 0)
            (*count)--;
        forget_if_met(e, key, expected);
    }
    pthread_mutex_unlock(&e->lock);
}

void kube_creation_observed(struct kube_expectations *e, const char *key)
{
    observe(e, key, true);
}

void kube_deletion_observed(struct kube_expectations *e, const char *key)
{
    observe(e, key, false);
}

void kube_expect_deletion_of(struct kube_expectations *e, const char *key, const char *name)
{
    pthread_mutex_lock(&e->lock);
    struct names *names = &expect_more(e, key)->deletions_of;
    if (name_index(names, name) == names->n)
        *kb_vec_push(NULL, names) = kb_strdup(name);
    pthread_mutex_unlock(&e->lock);
}

void kube_deletion_observed_of(struct kube_expectations *e, const char *key, const char *name)
{
    pthread_mutex_lock(&e->lock);
    struct expected *expected = pending(e, key);
    size_t i = expected ? name_index(&expected->deletions_of, name) : 0;
    if (expected && i < expected->deletions_of.n) {
        free(expected->deletions_of.items[i]);
        kb_vec_remove(&expected->deletions_of, i);
        forget_if_met(e, key, expected);
    }
    pthread_mutex_unlock(&e->lock);
}

bool kube_expectations_satisfied(struct kube_expectations *e, const char *key)
{
    return kube_expectations_remaining(e, key) == 0;
}

int64_t kube_expectations_remaining(struct kube_expectations *e, const char *key)
{
    pthread_mutex_lock(&e->lock);
    const struct expected *expected = pending(e, key);
    int64_t remaining = expected ? expected->expires_at - e->clock->mono(e->clock) : 0;
    pthread_mutex_unlock(&e->lock);
    return remaining;
}

void kube_expectations_forget(struct kube_expectations *e, const char *key)
{
    pthread_mutex_lock(&e->lock);
    forget(e, key);
    pthread_mutex_unlock(&e->lock);
}

bool kube_creations_expected(struct kube_expectations *e, const char *key)
{
    pthread_mutex_lock(&e->lock);
    const struct expected *expected = pending(e, key);
    bool waits = expected && expected->creations > 0;
    pthread_mutex_unlock(&e->lock);
    return waits;
}

bool kube_deletions_expected(struct kube_expectations *e, const char *key)
{
    pthread_mutex_lock(&e->lock);
    const struct expected *expected = pending(e, key);
    bool waits = expected && (expected->deletions > 0 || expected->deletions_of.n > 0);
    pthread_mutex_unlock(&e->lock);
    return waits;
}
