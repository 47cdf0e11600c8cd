/*
 * Memory that the process does not need any more, given back to the system. Main thread.
 */
#ifndef CMD_VIRT_CONTROLLER_MEMORY_H
#define CMD_VIRT_CONTROLLER_MEMORY_H

#include <stddef.h>

/* Before there are threads: one heap, and large blocks outside of it. */
void memory_init(void);
/* After a phase that does not come again (start-up): free parts of the heap, and the pages of code. */
void memory_settle(void);
/* From time to time: the free parts of the heap when a burst of work has left many. */
struct memory_watch {
    size_t free_after_trim;
};
void memory_look(struct memory_watch *watch);

#endif
