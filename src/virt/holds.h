/*
 * Writes that are held back for a moment, because what they tell is about to be overtaken: when it began, for each
 * object that has something to tell. Used where an object passes through states in less than a second (a start whose
 * Pod is ready at once, a deletion that nothing delays), so that the last one is written and not each.
 *
 * Rules for who holds: nothing that tells of an error or answers a user, and nothing for longer than the times below:
 * a second at most, but for one of many deletions. The state is this process' memory: a successor tells at once of what
 * another leader held back of a start, and begins anew with a deletion.
 *
 * Key: of the object ("namespace/name"). UID: of what the moment is about; one of another UID counts as none. Times are
 * of the injected clock. Threads: any.
 */
#ifndef VIRT_HOLDS_H
#define VIRT_HOLDS_H

#include "base/clock.h"

/* Well below a second, after which people and scripts take what they see for the result. */
#define VIRT_HOLD_NS (750 * KB_NS_PER_MS)
/* More deletions than this at once, of VMs and VMIs, wait for each other. What tells of one that has only not had its
 * turn is held back while others end, each within the second time of the one before, but for no longer than the third.
 */
#define VIRT_HOLD_MANY         25
#define VIRT_HOLD_MANY_IDLE_NS (3 * KB_NS_PER_S)
#define VIRT_HOLD_MANY_NS      (30 * KB_NS_PER_S)

struct virt_holds;
struct virt_holds *virt_holds_new(struct kb_clock *clock);
void virt_holds_free(struct virt_holds *holds);

/* From now on, unless it has begun. */
void virt_holds_begin(struct virt_holds *holds, const char *key, const char *uid);
void virt_holds_end(struct virt_holds *holds, const char *key);
bool virt_holds_age(struct virt_holds *holds, const char *key, const char *uid, int64_t *ret_ns);
/* How long to wait still before writing; 0: no longer, or it has not begun. */
int64_t virt_holds_left(struct virt_holds *holds, const char *key, const char *uid, int64_t limit_ns);

/* ---- deletions: in a `holds` of their own, of objects of several kinds ---- */

/* How long to wait still before telling that an object is being deleted; the first question begins it. Once over, it
 * stays so. */
int64_t virt_holds_deletion(struct virt_holds *holds, const char *kind, const char *key, const char *uid);
void virt_holds_end_deletion(struct virt_holds *holds, const char *kind, const char *key); /* it is gone */
/* More than VIRT_HOLD_MANY deletions are held back. */
bool virt_holds_many(struct virt_holds *holds);

/*
 * For a moment that begins with a time which the API server wrote (an object's creation, its deletion): how much of its
 * `limit_ns` is left at `now_ns`; 0: none, or `since` is no time. The two clocks may differ. A time further ahead than
 * the limit counts as over, so that nobody waits longer than twice the limit.
 */
int64_t virt_moment_left(int64_t now_ns, const char *since, int64_t limit_ns);

#endif
