/*
 * What the tests of the VMI controller share: an instance, and the parts of the others (scheduler, kubelet,
 * virt-handler) by hand.
 */
#ifndef TEST_CONTROLLER_VMI_H
#define TEST_CONTROLLER_VMI_H

#include "support/cluster.h"

#define VMIS "virtualmachineinstances.kubevirt.io"

int vmi_set_up(void **state); /* *state: a cluster with the VMI controller */
int vmi_tear_down(void **state);

/* "vmi1", owned by nobody, with finalizer; `spec` are further members of the spec ("" or ",\"volumes\":[...]"). */
void vmi_create(struct cluster *c, const char *spec);
const struct kv_vmi *vmi_get(struct cluster *c);   /* NULL: gone */
const struct core_pod *vmi_pod(struct cluster *c); /* the only launcher Pod; NULL: none; fails when there are more */
size_t vmi_pods(struct cluster *c, const char *generate_name); /* how many Pods have this generateName */

/* Phase Running, all containers ready. */
void vmi_run_pod(struct cluster *c, const char *pod);
/* To the phase Running, with what virt-handler writes. */
void vmi_start_guest(struct cluster *c);
/* All of it: created, bound, ready, running. */
void vmi_bring_up(struct cluster *c, const char *spec);

void vmi_assert_phase(struct cluster *c, const char *phase);
/* "STATUS REASON", "" when it is absent. */
const char *vmi_condition(struct cluster *c, const char *type);

#define VMI_TEST(f) cmocka_unit_test_setup_teardown(f, vmi_set_up, vmi_tear_down)

#endif
