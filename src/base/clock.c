/*
 * The system's clock and the fake one; system, seeded and derived randomness.
 *
 * The fake clock keeps a list of the threads that wait. To wake one, kb_clock_fake_advance needs the waiter's mutex, so
 * that a waiter that is about to sleep does not miss the signal. A waiter takes the clock's lock while it holds its
 * mutex, so advance, which takes them in the other order, only tries the mutex and starts over when another thread has
 * it.
 */
#include "base/clock.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/strings.h"
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

/* A fake clock's monotonic time at the start: away from 0, which code may take for "never". */
#define FAKE_MONO_START (3600 * KB_NS_PER_S)

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec * KB_NS_PER_S + t.tv_nsec;
}

static int64_t system_wall(struct kb_clock *self)
{
    (void)self;
    return read_clock(CLOCK_REALTIME);
}

static int64_t system_mono(struct kb_clock *self)
{
    (void)self;
    return read_clock(CLOCK_MONOTONIC);
}

static bool system_wait(struct kb_clock *self, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    (void)self;
    if (deadline == INT64_MAX) {
        pthread_cond_wait(cond, mutex);
        return false;
    }
    if (deadline < 0)
        deadline = 0;
    struct timespec t = {.tv_sec = deadline / KB_NS_PER_S, .tv_nsec = deadline % KB_NS_PER_S};
    return pthread_cond_timedwait(cond, mutex, &t) == ETIMEDOUT;
}

struct kb_clock *kb_clock_system(void)
{
    static struct kb_clock clock = {.wall = system_wall, .mono = system_mono, .wait = system_wait};
    return &clock;
}

void kb_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct waiter {
    struct waiter *next;
    pthread_cond_t *cond;
    pthread_mutex_t *mutex;
    int64_t deadline;
    bool woken;
};

struct kb_clock_fake {
    struct kb_clock clock; /* first: callbacks get its address */
    pthread_mutex_t lock;
    pthread_cond_t arrived; /* a waiter joined the list */
    struct waiter *waiters;
    int64_t mono, wall;
};

static struct kb_clock_fake *fake_of(struct kb_clock *clock)
{
    return (struct kb_clock_fake *)clock;
}

static int64_t fake_read(struct kb_clock *self, const int64_t *time)
{
    struct kb_clock_fake *fake = fake_of(self);
    pthread_mutex_lock(&fake->lock);
    int64_t now = *time;
    pthread_mutex_unlock(&fake->lock);
    return now;
}

static int64_t fake_wall(struct kb_clock *self)
{
    return fake_read(self, &fake_of(self)->wall);
}

static int64_t fake_mono(struct kb_clock *self)
{
    return fake_read(self, &fake_of(self)->mono);
}

static void leave(struct kb_clock_fake *fake, struct waiter *waiter)
{
    struct waiter **link = &fake->waiters;
    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
}

static bool fake_wait(struct kb_clock *self, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline)
{
    struct kb_clock_fake *fake = fake_of(self);
    struct waiter waiter = {.cond = cond, .mutex = mutex, .deadline = deadline};
    pthread_mutex_lock(&fake->lock);
    if (fake->mono >= deadline) {
        pthread_mutex_unlock(&fake->lock);
        return true;
    }
    waiter.next = fake->waiters;
    fake->waiters = &waiter;
    pthread_cond_broadcast(&fake->arrived);
    pthread_mutex_unlock(&fake->lock);
    pthread_cond_wait(cond, mutex);
    pthread_mutex_lock(&fake->lock);
    leave(fake, &waiter);
    bool passed = fake->mono >= deadline;
    pthread_mutex_unlock(&fake->lock);
    return passed;
}

struct kb_clock_fake *kb_clock_fake_new(int64_t wall_ns)
{
    struct kb_clock_fake *fake = kb_malloc(sizeof *fake);
    fake->clock = (struct kb_clock){.wall = fake_wall, .mono = fake_mono, .wait = fake_wait};
    fake->wall = wall_ns;
    fake->mono = FAKE_MONO_START;
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->arrived, NULL);
    return fake;
}

struct kb_clock *kb_clock_fake_clock(struct kb_clock_fake *fake)
{
    return &fake->clock;
}

void kb_clock_fake_free(struct kb_clock_fake *fake)
{
    pthread_cond_destroy(&fake->arrived);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

/* False when a waiter's mutex was taken; with the clock's lock held. */
static bool wake_due(struct kb_clock_fake *fake)
{
    for (struct waiter *waiter = fake->waiters; waiter; waiter = waiter->next) {
        if (waiter->woken || waiter->deadline > fake->mono)
            continue;
        if (pthread_mutex_trylock(waiter->mutex))
            return false;
        pthread_cond_broadcast(waiter->cond);
        waiter->woken = true;
        pthread_mutex_unlock(waiter->mutex);
    }
    return true;
}

void kb_clock_fake_advance(struct kb_clock_fake *fake, int64_t ns)
{
    pthread_mutex_lock(&fake->lock);
    fake->mono += ns;
    fake->wall += ns;
    while (!wake_due(fake)) {
        pthread_mutex_unlock(&fake->lock);
        sched_yield();
        pthread_mutex_lock(&fake->lock);
    }
    pthread_mutex_unlock(&fake->lock);
}

static size_t count_waiters(const struct kb_clock_fake *fake)
{
    size_t n = 0;
    for (const struct waiter *waiter = fake->waiters; waiter; waiter = waiter->next)
        n += !waiter->woken && waiter->deadline != INT64_MAX;
    return n;
}

void kb_clock_fake_await(struct kb_clock_fake *fake, size_t waiters)
{
    pthread_mutex_lock(&fake->lock);
    while (count_waiters(fake) < waiters)
        pthread_cond_wait(&fake->arrived, &fake->lock);
    pthread_mutex_unlock(&fake->lock);
}

int64_t kb_clock_fake_next(struct kb_clock_fake *fake)
{
    int64_t next = INT64_MAX;
    pthread_mutex_lock(&fake->lock);
    for (const struct waiter *waiter = fake->waiters; waiter; waiter = waiter->next) {
        if (!waiter->woken && waiter->deadline < next)
            next = waiter->deadline;
    }
    pthread_mutex_unlock(&fake->lock);
    return next;
}

static uint64_t system_next(struct kb_random *self)
{
    (void)self;
    uint64_t bits;
    size_t n = 0;
    while (n < sizeof bits) {
        ssize_t got = getrandom((char *)&bits + n, sizeof bits - n, 0);
        if (got > 0) {
            n += (size_t)got;
        } else if (errno != EINTR) {
            kb_log(KB_FATAL, "no random numbers: getrandom failed with error %d", errno);
            abort();
        }
    }
    return bits;
}

struct kb_random *kb_random_system(void)
{
    static struct kb_random random = {.next = system_next};
    return &random;
}

struct seeded {
    struct kb_random random; /* first: callbacks get its address */
    _Atomic uint64_t state;
};

/* splitmix64: the state only counts, so that threads need no more than an atomic addition. */
static uint64_t seeded_next(struct kb_random *self)
{
    const uint64_t step = 0x9E3779B97F4A7C15u;
    uint64_t z = atomic_fetch_add(&((struct seeded *)self)->state, step) + step;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

struct kb_random *kb_random_seeded(uint64_t seed)
{
    struct seeded *seeded = kb_malloc(sizeof *seeded);
    seeded->random.next = seeded_next;
    seeded->state = seed;
    return &seeded->random;
}

uint64_t kb_random_below(struct kb_random *random, uint64_t n)
{
    uint64_t unfair = -n % n; /* 2^64 mod n: so many values at the bottom would be too often */
    uint64_t bits;
    do
        bits = random->next(random);
    while (bits < unfair);
    return bits % n;
}

void kb_random_suffix(struct kb_random *random, char *ret, int n)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    const unsigned bits_a_character = 5, characters = sizeof alphabet - 1;
    uint64_t bits = 0;
    unsigned left = 0;
    for (int i = 0; i < n;) {
        if (left < bits_a_character) {
            bits = random->next(random);
            left = 64;
        }
        unsigned index = bits & ((1u << bits_a_character) - 1);
        bits >>= bits_a_character;
        left -= bits_a_character;
        if (index < characters)
            ret[i++] = alphabet[index];
    }
    ret[n] = '\0';
}

void kb_random_uuid(struct kb_random *random, char ret[37])
{
    unsigned char bytes[16];
    for (size_t i = 0; i < sizeof bytes; i += 8) {
        uint64_t bits = random->next(random);
        memcpy(bytes + i, &bits, sizeof bits);
    }
    kb_uuid_text(bytes, 4, ret);
}
