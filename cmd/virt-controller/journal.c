/*
 * The ring: `next` is where the next line goes, the one before it is the newest. A line that is overwritten is freed.
 */
#include "cmd/virt-controller/journal.h"
#include "base/strings.h"
#include <pthread.h>
#include <stdlib.h>

#define LINES 512

struct entry { /* texts in one block, one after the other */
    int64_t wall;
    enum kb_log_level level;
    char *kind, *namespace_, *name, *message;
};

struct journal {
    struct kb_clock *clock;
    pthread_mutex_t lock;
    size_t next;
    struct entry entries[LINES];
};

/* A line with a reason tells of something that failed, if only to be tried again. */
static enum kb_log_level level_of(enum kb_log_level level, const struct kb_log_object *object)
{
    return level == KB_INFO && object && !kb_empty(object->reason) ? KB_WARNING : level;
}

static bool is_worth_keeping(enum kb_log_level level, const struct kb_log_object *object)
{
    return level_of(level, object) != KB_INFO || (object && !kb_empty(object->name));
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void observe(void *userdata, enum kb_log_level level, const struct kb_log_object *object, const char *message)
{
    static const struct kb_log_object nothing;
    struct journal *journal = userdata;
    const struct kb_log_object *o = object ? object : &nothing;
    if (!is_worth_keeping(level, object))
        return;
    char *text = kb_asprintf("%s%c%s%c%s%c%s%s%s", or_empty(o->kind), 0, or_empty(o->namespace_), 0, or_empty(o->name),
                             0, message, kb_empty(o->reason) ? "" : ": ", or_empty(o->reason));
    struct entry entry = {.wall = journal->clock->wall(journal->clock), .level = level_of(level, object), .kind = text};
    entry.namespace_ = entry.kind + strlen(entry.kind) + 1;
    entry.name = entry.namespace_ + strlen(entry.namespace_) + 1;
    entry.message = entry.name + strlen(entry.name) + 1;
    pthread_mutex_lock(&journal->lock);
    free(journal->entries[journal->next].kind);
    journal->entries[journal->next] = entry;
    journal->next = (journal->next + 1) % LINES;
    pthread_mutex_unlock(&journal->lock);
}

struct journal *journal_new(struct kb_clock *clock)
{
    struct journal *journal = kb_malloc(sizeof(*journal));
    journal->clock = clock;
    pthread_mutex_init(&journal->lock, NULL);
    kb_log_set_observer(observe, journal);
    return journal;
}

void journal_free(struct journal *journal)
{
    if (!journal)
        return;
    kb_log_set_observer(NULL, NULL);
    for (size_t i = 0; i < LINES; i++)
        free(journal->entries[i].kind);
    pthread_mutex_destroy(&journal->lock);
    free(journal);
}

static bool matches(const struct entry *entry, enum kb_log_level level, const char *namespace_, const char *name)
{
    if (!entry->kind || entry->level < level)
        return false;
    return !name || (kb_streq(entry->name, name) && kb_streq(entry->namespace_, namespace_));
}

size_t journal_read(struct journal *journal, struct kb_arena *arena, enum kb_log_level level, const char *namespace_,
                    const char *name, struct journal_line **ret)
{
    struct journal_line *lines = kb_arena_many(arena, struct journal_line, LINES);
    size_t n = 0;
    pthread_mutex_lock(&journal->lock);
    for (size_t i = 1; i <= LINES; i++) {
        const struct entry *entry = &journal->entries[(journal->next + LINES - i) % LINES];
        if (!matches(entry, level, namespace_, name))
            continue;
        lines[n++] = (struct journal_line){
            .wall = entry->wall,
            .level = entry->level,
            .kind = kb_arena_strdup(arena, entry->kind),
            .namespace_ = kb_arena_strdup(arena, entry->namespace_),
            .name = kb_arena_strdup(arena, entry->name),
            .message = kb_arena_strdup(arena, entry->message),
        };
    }
    pthread_mutex_unlock(&journal->lock);
    *ret = lines;
    return n;
}
