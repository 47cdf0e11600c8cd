/*
 * For component tests of the VM controller: a VM named "vm" in a small world (world.h). Texts are JSON with single
 * quotes in place of double ones.
 */
#ifndef TEST_CONTROLLER_VM_FIXTURE_H
#define TEST_CONTROLLER_VM_FIXTURE_H

#include "controller/world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define REVISIONS         "controllerrevisions.apps"
#define INSTANCETYPES     "virtualmachineinstancetypes.instancetype.kubevirt.io"
#define ALL_INSTANCETYPES "virtualmachineclusterinstancetypes.instancetype.kubevirt.io"
#define PREFERENCES       "virtualmachinepreferences.instancetype.kubevirt.io"

/* The world is *state. */
int vm_set_up(void **state);
int vm_tear_down(void **state);
#define VM_TEST(name) cmocka_unit_test_setup_teardown(name, vm_set_up, vm_tear_down)

const char *vm_json(struct world *w, const char *text);
void vm_create_object(struct world *w, const char *resource, const char *text);
/* `more`: members of spec beside the template; `template`: inside of its spec. */
void vm_create(struct world *w, const char *more, const char *template);
void vm_patch(struct world *w, const char *spec);          /* of the VM's spec, and settles */
void vm_patch_template(struct world *w, const char *text); /* of the template's spec, and settles */
void vm_patch_vmi(struct world *w, const char *text);      /* of the VMI, and settles */
/* As virt-handler does: the VMI runs, and is migratable. Forgets the writes until then. */
void vm_run(struct world *w);

/* "True REASON: MESSAGE" of a condition of the VM; "" when it has none. */
const char *vm_condition(struct world *w, const char *type);
/* Members of the VM, and of the VMI, by JSON pointer. */
const char *vm_text(struct world *w, const char *pointer);
const char *vmi_text(struct world *w, const char *pointer);
/* Another look at the VM writes nothing. */
void vm_expect_rest(struct world *w);

#endif
