/*
 * The profiler's three end points, which virt-api's cluster profiler calls on every component. The switch, the answers
 * to callers while it is off, and the envelope of the dump ({"pprofData": {file name: base64}}) are the reference's.
 * What is in the dump is this program's own: there is no Go runtime to profile.
 *
 *     malloc.xml        what malloc_info(3) says of the heap
 *     smaps_rollup.txt  the kernel's sums of the process' memory
 *     threads.txt       name, CPU time and wake-ups of each thread
 *     controllers.txt   reconciles, errors and queues of each controller
 *     caches.txt        objects and bytes of each cache
 *     cpu.txt           after start and stop: what threads and controllers did in between
 *
 * Threads: one at a time (the HTTPS server's).
 */
#ifndef CMD_VIRT_CONTROLLER_PROFILER_H
#define CMD_VIRT_CONTROLLER_PROFILER_H

#include "base/clock.h"
#include "kube/controller.h"

struct profiler;
struct profiler *profiler_new(struct kube_runtime *runtime, struct kb_clock *clock);
void profiler_free(struct profiler *profiler); /* NULL is allowed */
/* Starting again begins anew; stopping what was not started is an error. */
void profiler_start(struct profiler *profiler);
int profiler_stop(struct profiler *profiler, struct kube_error *reterr);
/* Appends the dump as JSON, not indented. */
void profiler_dump(const struct profiler *profiler, struct kb_strbuf *ret);

#endif
