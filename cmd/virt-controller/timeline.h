/*
 * What happened to one VM, in the order of time: from the caches (VM, VMI, its Pods, its migrations) and from the log.
 */
#ifndef CMD_VIRT_CONTROLLER_TIMELINE_H
#define CMD_VIRT_CONTROLLER_TIMELINE_H

#include "cmd/virt-controller/journal.h"
#include "kube/controller.h"

struct timeline_entry {
    int64_t wall;
    const char *source; /* "VirtualMachine", "Pod virt-launcher-x-abcde", "log" */
    const char *what;
};

struct timeline {
    struct kb_arena *arena;
    size_t n;
    struct timeline_entry *items;
};

/* Fills the timeline, the oldest first. `journal` may be NULL. */
void timeline_read(struct timeline *ret, struct kube_runtime *runtime, struct journal *journal, const char *namespace_,
                   const char *name);

#endif
