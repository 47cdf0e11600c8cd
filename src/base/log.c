/*
 * Log lines. A line is put together in a buffer of fixed size on the stack, so that logging allocates nothing and works
 * when memory is out. Values that are too long end in "...". Each has room of its own, so that the line is complete
 * JSON in any case.
 */
#include "base/log.h"
#include "base/escape.h"
#include "base/time.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_SIZE    8192
#define MESSAGE_SIZE 4096 /* before escaping */

/* Bytes in the line that a value may take, with escapes. */
#define MESSAGE_ROOM 5120
#define REASON_ROOM  1536 /* an error's message */
#define NAME_ROOM    384
#define SHORT_ROOM   128
#define KEYS_ROOM    128 /* all keys and their punctuation */

_Static_assert(MESSAGE_ROOM + REASON_ROOM + NAME_ROOM + 7 * SHORT_ROOM + KEYS_ROOM <= LINE_SIZE,
               "all values at their longest fit into a line");

static struct {
    char component[64];
    int fd;
    struct kb_clock *clock;
    atomic_int verbosity;
    kb_log_observer observer;
    void *observer_data;
} log_to = {.fd = STDERR_FILENO, .verbosity = 2};

struct line {
    char text[LINE_SIZE];
    size_t n;
};

void kb_log_init(const char *component, int fd, struct kb_clock *clock)
{
    snprintf(log_to.component, sizeof log_to.component, "%s", component);
    log_to.fd = fd;
    log_to.clock = clock;
}

void kb_log_set_observer(kb_log_observer observer, void *userdata)
{
    log_to.observer = observer;
    log_to.observer_data = userdata;
}

void kb_log_set_verbosity(int verbosity)
{
    atomic_store(&log_to.verbosity, verbosity);
}

int kb_log_verbosity(void)
{
    return atomic_load_explicit(&log_to.verbosity, memory_order_relaxed);
}

static void put(struct line *line, const char *text)
{
    size_t n = strlen(text);
    memcpy(line->text + line->n, text, n);
    line->n += n;
}

/* Appends text with escapes, and "..." when it does not fit into `room` bytes. */
static void put_escaped(struct line *line, const char *text, size_t room)
{
    static const char more[] = "...";
    size_t n = strlen(text), limit = line->n + room - strlen(more);
    for (size_t i = 0; i < n;) {
        char escaped[KB_ESCAPED_SIZE] = {text[i]};
        i += kb_escape_is_plain((unsigned char)text[i]) ? 1 : kb_escape_json(text + i, n - i, escaped);
        if (line->n + strlen(escaped) > limit) {
            put(line, more);
            return;
        }
        put(line, escaped);
    }
}

static void put_field(struct line *line, const char *key, const char *value, size_t room)
{
    if (!value || !*value)
        return;
    put(line, line->n ? ",\"" : "{\"");
    put(line, key);
    put(line, "\":\"");
    put_escaped(line, value, room);
    put(line, "\"");
}

static void write_line(struct line *line)
{
    put(line, "}\n");
    for (size_t done = 0; done < line->n;) {
        ssize_t n = write(log_to.fd, line->text + done, line->n - done);
        if (n < 0 && errno != EINTR)
            return;
        if (n > 0)
            done += (size_t)n;
    }
}

static void format_line(enum kb_log_level level, const struct kb_log_object *object, const char *position,
                        const char *message, struct line *ret)
{
    static const char *const names[] = {"info", "warning", "error", "fatal"};
    static const struct kb_log_object nothing;
    const struct kb_log_object *o = object ? object : &nothing;
    struct kb_clock *clock = log_to.clock ? log_to.clock : kb_clock_system();
    char timestamp[KB_TIME_TEXT];
    kb_time_format_micro(clock->wall(clock), timestamp);
    const struct {
        const char *key, *value;
        size_t room;
    } fields[] = {
        {"component", log_to.component, SHORT_ROOM},
        {"kind", o->kind, SHORT_ROOM},
        {"level", names[level], SHORT_ROOM},
        {"msg", message, MESSAGE_ROOM},
        {"name", o->name, NAME_ROOM},
        {"namespace", o->namespace_, SHORT_ROOM},
        {"pos", position, SHORT_ROOM},
        {"reason", o->reason, REASON_ROOM},
        {"timestamp", timestamp, SHORT_ROOM},
        {"uid", o->uid, SHORT_ROOM},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put_field(ret, fields[i].key, fields[i].value, fields[i].room);
}

void kb_log_write(enum kb_log_level level, int verbosity, const char *file, int line,
                  const struct kb_log_object *object, const char *format, ...)
{
    if (level == KB_INFO && verbosity > kb_log_verbosity())
        return;
    int saved_errno = errno;
    char message[MESSAGE_SIZE], position[128];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (n >= MESSAGE_SIZE)
        memcpy(message + MESSAGE_SIZE - 4, "...", 4);
    snprintf(position, sizeof position, "%s:%d", file, line);
    struct line text;
    text.n = 0;
    format_line(level, object, position, n < 0 ? format : message, &text);
    write_line(&text);
    if (log_to.observer)
        log_to.observer(log_to.observer_data, level, object, n < 0 ? format : message);
    errno = saved_errno;
}
