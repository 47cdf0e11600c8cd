/*
 * The audit log, see audit.h. A line is one write, so that readers never see half of one.
 */
#include "lab/audit.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/time.h"
#include "lab/server_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct lab_audit {
    int fd;
    char *users; /* "a,b"; NULL: all */
};

int lab_audit_open(const char *path, const char *users, struct lab_audit **ret, struct kube_error *reterr)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return kube_error_set_errno(reterr, errno, "open %s", path);
    struct lab_audit *a = kb_malloc(sizeof(*a));
    a->fd = fd;
    a->users = kb_empty(users) ? NULL : kb_asprintf(",%s,", users);
    *ret = a;
    return 0;
}

void lab_audit_close(struct lab_audit *audit)
{
    if (!audit)
        return;
    close(audit->fd);
    free(audit->users);
    free(audit);
}

static bool wanted(const struct lab_audit *audit, const struct lab_call *call)
{
    if (call->verb == LAB_VERB_GET || call->verb == LAB_VERB_LIST || call->verb == LAB_VERB_WATCH)
        return false;
    return !audit->users || strstr(audit->users, kb_arena_printf(call->arena, ",%s,", call->user));
}

static void put_text(struct kb_strbuf *b, const char *before, const char *text)
{
    kb_strbuf_puts(b, before);
    kb_strbuf_json_string(b, text, strlen(text));
}

static void put_groups(struct kb_strbuf *b, struct kb_arena *arena, const char *groups)
{
    const char *const *parts;
    size_t n = kb_empty(groups) ? 0 : kb_split(arena, groups, ',', &parts);
    kb_strbuf_puts(b, ",\"groups\":[");
    for (size_t i = 0; i < n; i++)
        put_text(b, i ? "," : "", parts[i]);
    kb_strbuf_puts(b, "]}");
}

static void put_reference(struct kb_strbuf *b, const struct lab_call *call)
{
    put_text(b, ",\"objectRef\":{\"resource\":", call->kind->plural);
    if (call->namespace_)
        put_text(b, ",\"namespace\":", call->namespace_);
    if (call->name)
        put_text(b, ",\"name\":", call->name);
    if (*call->kind->group)
        put_text(b, ",\"apiGroup\":", call->kind->group);
    put_text(b, ",\"apiVersion\":", call->version->name);
    if (call->subresource)
        put_text(b, ",\"subresource\":", call->subresource);
    kb_strbuf_putc(b, '}');
}

void lab_audit_log(struct lab_audit *audit, const struct lab_call *call)
{
    if (!audit || !wanted(audit, call))
        return;
    struct kb_strbuf b = {.arena = call->arena};
    char id[37], received[KB_TIME_TEXT], answered[KB_TIME_TEXT];
    struct lab_server *s = call->server;
    kb_random_uuid(s->random, id);
    kb_time_format_micro(call->received_ns, received);
    kb_time_format_micro(s->clock->wall(s->clock), answered);
    kb_strbuf_printf(&b,
                     "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"Metadata\",\"auditID\":\"%s\","
                     "\"stage\":\"ResponseComplete\"",
                     id);
    put_text(&b, ",\"requestURI\":", call->uri ? call->uri : "");
    put_text(&b, ",\"verb\":", lab_verb_name(call->verb));
    put_text(&b, ",\"user\":{\"username\":", call->user);
    put_groups(&b, call->arena, call->groups);
    put_text(&b, ",\"sourceIPs\":[", call->source_ip ? call->source_ip : "127.0.0.1");
    put_text(&b, "],\"userAgent\":", call->user_agent ? call->user_agent : "");
    put_reference(&b, call);
    kb_strbuf_printf(&b, ",\"responseStatus\":{\"metadata\":{},\"code\":%d}",
                     call->failure.code ? call->failure.code : call->result.code);
    kb_strbuf_printf(&b, ",\"requestReceivedTimestamp\":\"%s\",\"stageTimestamp\":\"%s\",\"annotations\":{}}\n",
                     received, answered);
    /* a full disk must not stop the server */
    if (write(audit->fd, b.data, b.length) < 0)
        return;
}
