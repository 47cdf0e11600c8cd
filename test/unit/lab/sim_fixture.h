/*
 * A lab server and its simulated parts for tests, without threads: they act when `settle` is called.
 */
#ifndef TEST_LAB_SIM_FIXTURE_H
#define TEST_LAB_SIM_FIXTURE_H

#include "fixture.h"
#include "lab/sim/sim.h"

struct sim_fixture {
    struct fixture *f;
    struct lab_sim *sim;
};

/* For setup functions of tests: options as the command line gives them. */
int sim_fixture_setup(void **state, const struct lab_sim_options *options);
int sim_fixture_teardown(void **state);

/* Lets parts and garbage collector act until nothing is left to do now. */
void settle(struct sim_fixture *s);
/* Time passes, and they act on it. */
void pass(struct sim_fixture *s, int64_t ns);
/* A member of an object in the namespace default (or of a cluster-scoped one), as text; "gone" when there is no such
 * object. */
const char *see(struct sim_fixture *s, const char *resource, const char *name, const char *pointer);
#define assert_seen(s, resource, name, pointer, want)                                                                  \
    assert_string_equal(see((s), (resource), (name), (pointer)), (want))

/* A Pod of one container; `more` are further members of its spec: "" or "\"nodeSelector\":{...},". */
void make_pod(struct sim_fixture *s, const char *name, const char *more);
/* A VMI as virt-controller leaves it for virt-handler; `more` are further members of its status. */
void make_scheduled_vmi(struct sim_fixture *s, const char *name, const char *more);

#define VMIS "virtualmachineinstances.kubevirt.io"
#define VMS  "virtualmachines.kubevirt.io"

#endif
