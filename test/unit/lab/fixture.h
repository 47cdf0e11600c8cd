/*
 * A lab server without threads for tests: a clock that stands still, repeatable randomness, collection by hand.
 */
#ifndef TEST_LAB_FIXTURE_H
#define TEST_LAB_FIXTURE_H

#include "base/arena.h"
#include "base/clock.h"
#include "lab/client.h"
#include "lab/server.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
    struct kb_arena *arena;
    struct kb_clock_fake *clock;
    struct kb_random *random;
    struct lab_server *server;
    struct lab_client *client;
};

/* cmocka's setup and teardown; *state is the fixture. */
int fixture_setup(void **state);
int fixture_setup_small_history(void **state); /* watches see the last four events */
int fixture_teardown(void **state);

/* In the namespace default. They fail the test when the server refuses. */
struct lab_ref at(const char *resource, const char *name);
void must_create(struct fixture *f, const char *resource, const char *body);
void must_patch(struct fixture *f, const char *resource, const char *name, const char *merge_patch);
void must_delete(struct fixture *f, const char *resource, const char *name);
/* The object's JSON, or NULL when there is none. */
yyjson_val *look(struct fixture *f, const char *resource, const char *name);
/* A member as text, by JSON pointer; "" when absent. */
const char *member(struct fixture *f, yyjson_val *object, const char *pointer);
/* The refusal's message; fails the test when the creation succeeds. */
const char *refusal(struct fixture *f, const char *resource, const char *body);

/* "ADDED a" ... of all that a watch has now, joined by ", ". */
const char *drain(struct fixture *f, struct lab_watch *watch);

#endif
