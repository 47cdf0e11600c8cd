/*
 * Time and randomness, injected. Everything that asks for the time, a timer or a random number takes a
 * `struct kb_clock *` or `struct kb_random *`; programs pass the system's, tests pass a fake that they move by hand.
 *
 * Units: nanoseconds. "wall" is UTC since 1970; "mono" never goes back and is what deadlines are made of.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KB_NS_PER_MS 1000000LL
#define KB_NS_PER_S  1000000000LL

struct kb_clock {
    int64_t (*wall)(struct kb_clock *self);
    int64_t (*mono)(struct kb_clock *self);
    /* Like pthread_cond_timedwait with a deadline in mono time; INT64_MAX waits for ever. May wake spuriously.
     * Returns true when the deadline had passed. `cond` must have been made by kb_cond_init. */
    bool (*wait)(struct kb_clock *self, pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline);
};

struct kb_clock *kb_clock_system(void);
void kb_cond_init(pthread_cond_t *cond); /* a condition that uses the monotonic clock */

/* A clock for tests: stands still until it is advanced; waits return when the fake time passes their deadline.
 * kb_clock_fake_advance wakes every waiter whose deadline has passed; the caller must not hold a mutex that is waited
 * with. Threads: any. Free it when nobody waits any more. */
struct kb_clock_fake;
struct kb_clock_fake *kb_clock_fake_new(int64_t wall_ns);
struct kb_clock *kb_clock_fake_clock(struct kb_clock_fake *fake);
void kb_clock_fake_advance(struct kb_clock_fake *fake, int64_t ns);
/* Blocks until at least so many threads wait for a deadline (not for ever) that has not passed: then it is safe to
 * advance. */
void kb_clock_fake_await(struct kb_clock_fake *fake, size_t waiters);
/* The earliest deadline (mono) that a thread waits for; INT64_MAX when there is none. */
int64_t kb_clock_fake_next(struct kb_clock_fake *fake);
void kb_clock_fake_free(struct kb_clock_fake *fake);

struct kb_random {
    uint64_t (*next)(struct kb_random *self); /* 64 random bits; safe from any thread */
};
struct kb_random *kb_random_system(void);          /* getrandom(2) */
struct kb_random *kb_random_seeded(uint64_t seed); /* repeatable; free() it */
/* Uniform in [0, n), n > 0. */
uint64_t kb_random_below(struct kb_random *random, uint64_t n);
/* Kubernetes' alphabet for name suffixes, without vowels: bcdfghjklmnpqrstvwxz2456789. Writes n characters and NUL. */
void kb_random_suffix(struct kb_random *random, char *ret, int n);
/* RFC 4122 version 4. */
void kb_random_uuid(struct kb_random *random, char ret[37]);

#endif
