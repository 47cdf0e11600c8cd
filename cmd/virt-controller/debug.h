/*
 * The diagnostics page: a server of its own on --debug-listen and --debug-port, plain HTTP, without access control, off
 * unless asked for.
 *
 *     /debug               everything, HTML            /debug.json               the same as JSON
 *     /debug/vm?name=NS/N  one VM's timeline, HTML     /debug/vm.json?name=NS/N
 */
#ifndef CMD_VIRT_CONTROLLER_DEBUG_H
#define CMD_VIRT_CONTROLLER_DEBUG_H

#include "cmd/virt-controller/process.h"

/* Does nothing when there is no --debug-port. */
int debug_start(struct process *process, struct kube_error *reterr);

#endif
