/*
 * The last lines of the log that concern an object or that are warnings, kept in memory for the diagnostics page: a
 * ring of fixed size. Threads: any.
 */
#ifndef CMD_VIRT_CONTROLLER_JOURNAL_H
#define CMD_VIRT_CONTROLLER_JOURNAL_H

#include "base/arena.h"
#include "base/log.h"

struct journal_line {
    int64_t wall;
    enum kb_log_level level;
    const char *kind, *namespace_, *name, *message; /* "" when absent; the message has the reason, too */
};

struct journal;
/* Becomes the log's observer. */
struct journal *journal_new(struct kb_clock *clock);
void journal_free(struct journal *journal); /* NULL is allowed */
/* Lines of this level and above (and of this object unless `name` is NULL), the newest first, copied into the arena. */
size_t journal_read(struct journal *journal, struct kb_arena *arena, enum kb_log_level level, const char *namespace_,
                    const char *name, struct journal_line **ret);

#endif
