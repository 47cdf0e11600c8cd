/*
 * The three stages of correlation, each with its cache.
 *
 * Where client-go takes "any" element out of the set of messages that it has seen in a group, so that the set stays
 * below its limit, here it is the one just added: so the messages which came first go on being counted each on its own.
 */
#include "kube/event_correlator.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/time.h"
#include "kube/lru.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CACHE_ENTRIES       4096
#define AGGREGATE_AT        10 /* different messages */
#define AGGREGATE_WINDOW_NS (600 * KB_NS_PER_S)
#define AGGREGATE_PREFIX    "(combined from similar events): "
#define SPAM_BURST          25
#define SPAM_REFILL_NS      (300 * KB_NS_PER_S)
#define MAX_NAME            253 /* of a DNS subdomain */

struct group {
    int64_t last_ns; /* mono; 0: new */
    unsigned n;
    uint64_t messages[AGGREGATE_AT - 1]; /* hashes */
};

struct earlier {
    int32_t count; /* 0: none */
    char first_timestamp[KB_TIME_TEXT];
    char *name;
};

struct bucket {
    int64_t at_ns; /* mono time at which `tokens` was right; 0: new */
    double tokens;
};

struct kube_correlator {
    struct kb_clock *clock;
    struct kb_random *random;
    struct kube_lru *groups, *earlier, *buckets;
};

static void earlier_done(void *value)
{
    free(((struct earlier *)value)->name);
}

struct kube_correlator *kube_correlator_new(struct kb_clock *clock, struct kb_random *random)
{
    struct kube_correlator *correlator = kb_malloc(sizeof *correlator);
    correlator->clock = clock;
    correlator->random = random;
    correlator->groups = kube_lru_new(CACHE_ENTRIES, sizeof(struct group), NULL);
    correlator->earlier = kube_lru_new(CACHE_ENTRIES, sizeof(struct earlier), earlier_done);
    correlator->buckets = kube_lru_new(CACHE_ENTRIES, sizeof(struct bucket), NULL);
    return correlator;
}

void kube_correlator_free(struct kube_correlator *correlator)
{
    kube_lru_free(correlator->groups);
    kube_lru_free(correlator->earlier);
    kube_lru_free(correlator->buckets);
    free(correlator);
}

/* ---- keys: parts with NUL between them ---- */

enum key_kind { KEY_GROUP, KEY_EVENT, KEY_SPAM };

static void put_part(struct kb_strbuf *key, const char *part)
{
    if (part)
        kb_strbuf_puts(key, part);
    kb_strbuf_putc(key, '\0');
}

static struct kb_strbuf key_of(struct kb_arena *arena, const struct core_event *event, enum key_kind kind)
{
    struct kb_strbuf key = {.arena = arena};
    const struct core_object_reference *object = &event->involved_object;
    const char *const parts[] = {event->source.component, event->source.host, object->kind,
                                 object->namespace,       object->name,       object->uid,
                                 object->api_version,     event->type};
    kb_strbuf_putc(&key, (char)('0' + kind));
    for (size_t i = 0; i < KB_ARRAY_LEN(parts); i++)
        put_part(&key, parts[i]);
    if (kind == KEY_GROUP || kind == KEY_EVENT)
        put_part(&key, event->reason);
    if (kind == KEY_EVENT) {
        put_part(&key, object->field_path);
        put_part(&key, event->message);
    }
    return key;
}

/* ---- names ---- */

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* RFC 1123: labels of lower-case letters, digits and '-' between dots, each beginning and ending with a letter or
 * digit. */
static bool is_subdomain(const char *name)
{
    char before = '.';
    size_t n = 0;
    for (; name[n]; n++) {
        char c = name[n];
        if (!is_alphanumeric(c) && c != '-' && c != '.')
            return false;
        if (!is_alphanumeric(c) && before == '.')
            return false;
        if (c == '.' && before == '-')
            return false;
        before = c;
    }
    return n > 0 && n <= MAX_NAME && is_alphanumeric(before);
}

const char *kube_event_name(struct kb_arena *arena, struct kb_random *random, const char *object_name, int64_t wall_ns)
{
    char *name = kb_arena_printf(arena, "%s.%" PRIx64, object_name, (uint64_t)wall_ns);
    if (is_subdomain(name))
        return name;
    char uuid[37];
    kb_random_uuid(random, uuid);
    return kb_arena_strdup(arena, uuid);
}

const char *kube_event_patch(struct kb_arena *arena, const struct core_event *event)
{
    struct kb_strbuf patch = {.arena = arena};
    kb_strbuf_printf(&patch, "{\"count\":%d,\"lastTimestamp\":\"%s\"", event->count, event->last_timestamp);
    if (event->message[0]) {
        kb_strbuf_puts(&patch, ",\"message\":");
        kb_strbuf_json_string(&patch, event->message, strlen(event->message));
    }
    kb_strbuf_putc(&patch, '}');
    return kb_strbuf_text(&patch);
}

/* ---- aggregate ---- */

/* True when the event belongs to those which are combined. */
static bool note_message(struct group *group, const char *message, int64_t now)
{
    uint64_t hash = kb_fnv64a(message, strlen(message));
    if (group->last_ns == 0 || now - group->last_ns > AGGREGATE_WINDOW_NS)
        group->n = 0;
    group->last_ns = now;
    for (unsigned i = 0; i < group->n; i++) {
        if (group->messages[i] == hash)
            return false;
    }
    if (group->n == KB_ARRAY_LEN(group->messages))
        return true;
    group->messages[group->n++] = hash;
    return false;
}

/* Returns the key under which the event is counted. */
static struct kb_strbuf aggregate(struct kube_correlator *correlator, struct kb_arena *arena, struct core_event *event)
{
    struct kb_strbuf group_key = key_of(arena, event, KEY_GROUP);
    struct group *group = kube_lru_use(correlator->groups, group_key.data, group_key.length);
    if (!note_message(group, event->message, correlator->clock->mono(correlator->clock)))
        return key_of(arena, event, KEY_EVENT);
    int64_t wall = correlator->clock->wall(correlator->clock);
    event->metadata.name = kube_event_name(arena, correlator->random, event->involved_object.name, wall);
    event->message = kb_arena_printf(arena, AGGREGATE_PREFIX "%s", event->message);
    event->first_timestamp = event->last_timestamp = kb_time_text(arena, wall);
    event->reporting_component = event->reporting_instance = "";
    return group_key;
}

/* ---- count ---- */

static void count(struct kube_correlator *correlator, struct kb_arena *arena, const struct kb_strbuf *key,
                  struct core_event *event)
{
    struct earlier *earlier = kube_lru_use(correlator->earlier, key->data, key->length);
    if (earlier->count > 0) {
        event->metadata.name = kb_arena_strdup(arena, earlier->name);
        event->first_timestamp = kb_arena_strdup(arena, earlier->first_timestamp);
        event->count = earlier->count + 1;
    } else {
        earlier->name = kb_strdup(event->metadata.name);
        snprintf(earlier->first_timestamp, sizeof earlier->first_timestamp, "%s", event->first_timestamp);
    }
    earlier->count = event->count;
}

/* ---- filter ---- */

static bool take_token(struct bucket *bucket, int64_t now)
{
    if (bucket->at_ns == 0)
        bucket->tokens = SPAM_BURST;
    else
        bucket->tokens += (double)(now - bucket->at_ns) / (double)SPAM_REFILL_NS;
    if (bucket->tokens > SPAM_BURST)
        bucket->tokens = SPAM_BURST;
    bucket->at_ns = now;
    if (bucket->tokens < 1)
        return false;
    bucket->tokens -= 1;
    return true;
}

bool kube_correlate(struct kube_correlator *correlator, struct kb_arena *arena, struct core_event *event)
{
    struct kb_strbuf key = aggregate(correlator, arena, event);
    count(correlator, arena, &key, event);
    struct kb_strbuf spam_key = key_of(arena, event, KEY_SPAM);
    struct bucket *bucket = kube_lru_use(correlator->buckets, spam_key.data, spam_key.length);
    return take_token(bucket, correlator->clock->mono(correlator->clock));
}
