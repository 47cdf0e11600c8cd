/*
 * Log lines in the reference's form: one JSON object a line on stderr, keys sorted
 * (component, kind, level, msg, name, namespace, pos, reason, timestamp, uid; empty ones left out).
 * Libraries do not log: controllers' runtime and programs do.
 *
 *     kb_log(KB_INFO, "started");                        shown at verbosity >= 2
 *     kb_log_v(4, "cache synced");                       shown at verbosity >= 4
 *     kb_log_object(KB_ERROR, &(struct kb_log_object){.kind = "VirtualMachine", .namespace_ = ns, .name = n}, "...");
 *
 * Warnings and worse are always shown. A line is cut at 8 KiB, and one write(2); nothing is allocated; errno is kept.
 * Threads: any. Never pass secrets.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/clock.h"
#include <stdarg.h>

enum kb_log_level { KB_INFO, KB_WARNING, KB_ERROR, KB_FATAL }; /* KB_FATAL only names the level: it does not exit */

struct kb_log_object {
    /* NULL or "": left out. `reason` is an error's message. */
    const char *kind, *namespace_, *name, *uid, *reason;
};

/* Once, before threads start. fd 2 and component "" until then. `clock` may be NULL for the system's. */
void kb_log_init(const char *component, int fd, struct kb_clock *clock);
/* Told of each line that is shown, by the thread that logs, after the line was written; it must not log. Once, before
 * threads start; NULL: nobody. */
typedef void (*kb_log_observer)(void *userdata, enum kb_log_level level, const struct kb_log_object *object,
                                const char *message);
void kb_log_set_observer(kb_log_observer observer, void *userdata);
void kb_log_set_verbosity(int verbosity); /* default 2 */
int kb_log_verbosity(void);

/* The object is a part of the variable arguments so that a compound literal with commas may be given. */
#define kb_log(level, ...)              kb_log_write((level), 2, __FILE_NAME__, __LINE__, NULL, __VA_ARGS__)
#define kb_log_v(verbosity, ...)        kb_log_write(KB_INFO, (verbosity), __FILE_NAME__, __LINE__, NULL, __VA_ARGS__)
#define kb_log_object(level, ...)       kb_log_write((level), 2, __FILE_NAME__, __LINE__, __VA_ARGS__)
#define kb_log_object_v(verbosity, ...) kb_log_write(KB_INFO, (verbosity), __FILE_NAME__, __LINE__, __VA_ARGS__)

void kb_log_write(enum kb_log_level level, int verbosity, const char *file, int line,
                  const struct kb_log_object *object, const char *format, ...) __attribute__((format(printf, 6, 7)));

#endif
