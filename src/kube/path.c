/*
 * Paths of the API. Segments are percent-encoded as Go's url.PathEscape does, and a segment that is "." or ".." is
 * encoded too, so that no name can lead out of its collection.
 */
#include "base/strings.h"
#include "kube/client.h"

static void escape(struct kb_strbuf *b, const char *text, const char *also_plain)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || strchr("-._~", c) ||
                     strchr(also_plain, c);
        if (plain)
            kb_strbuf_putc(b, *text);
        else
            kb_strbuf_printf(b, "%%%02X", c);
    }
}

static void add_segment(struct kb_strbuf *b, const char *text)
{
    kb_strbuf_putc(b, '/');
    if (kb_streq(text, ".") || kb_streq(text, ".."))
        kb_strbuf_puts(b, text[1] ? "%2E%2E" : "%2E");
    else
        escape(b, text, "$&+:=@");
}

static void add_collection(struct kb_strbuf *b, const struct kube_target *target, const char *namespace_)
{
    const struct api_resource *r = target->resource;
    if (kb_empty(r->group))
        kb_strbuf_puts(b, "/api");
    else
        kb_strbuf_puts(b, "/apis"), add_segment(b, r->group);
    add_segment(b, r->version);
    if (namespace_) {
        kb_strbuf_puts(b, "/namespaces");
        add_segment(b, namespace_);
    }
    add_segment(b, r->plural);
}

static bool is_namespaced(const struct kube_target *target)
{
    return target->resource->namespaced && !kb_empty(target->namespace_);
}

const char *kube_path(struct kb_arena *arena, const struct kube_target *target)
{
    struct kb_strbuf b = {.arena = arena};
    add_collection(&b, target, is_namespaced(target) ? target->namespace_ : NULL);
    if (target->name)
        add_segment(&b, target->name);
    if (target->subresource) {
        kb_strbuf_putc(&b, '/');
        escape(&b, target->subresource, "$&+:=@/"); /* "portforward/8080" is two segments */
    }
    if (!kb_empty(target->query))
        kb_strbuf_printf(&b, "?%s", target->query);
    return kb_strbuf_text(&b);
}

const char *kube_path_template(struct kb_arena *arena, const struct kube_target *target)
{
    const struct api_resource *r = target->resource;
    return kb_arena_printf(
        arena, "%s%s/%s%s/%s%s%s%s", kb_empty(r->group) ? "/api" : "/apis/", kb_empty(r->group) ? "" : r->group,
        r->version, is_namespaced(target) ? "/namespaces/{namespace}" : "", r->plural, target->name ? "/{name}" : "",
        target->subresource ? "/" : "", target->subresource ? target->subresource : "");
}

const char *kube_path_template_of(struct kb_arena *arena, const char *path, const char **ret_resource)
{
    const char **parts;
    size_t n = kb_split(arena, kb_arena_strndup(arena, path, strcspn(path, "?")), '/', (const char *const **)&parts);
    *ret_resource = "";
    if (n <= 2)
        return kb_join(arena, parts, n, "/");
    size_t at = kb_streq(parts[1], "api") ? 3 : kb_streq(parts[1], "apis") ? 4 : 0; /* what follows the version */
    if (at == 0)
        return "/{prefix}";
    if (at + 2 < n && kb_streq(parts[at], "namespaces")) {
        parts[at + 1] = "{namespace}";
        at += 2;
    }
    if (at < n)
        *ret_resource = parts[at];
    if (at + 1 < n)
        parts[at + 1] = "{name}";
    return kb_join(arena, parts, n, "/");
}

const char *kube_path_names(struct kb_arena *arena, const char *path)
{
    static const char aggregated[] = "subresources.";
    const char *const *parts;
    size_t n = kb_split(arena, kb_arena_strndup(arena, path, strcspn(path, "?")), '/', &parts);
    bool core = n > 2 && kb_streq(parts[1], "api");
    if (n <= 2 || (!core && !kb_streq(parts[1], "apis")))
        return "";
    size_t at = core ? 3 : 4;
    if (at + 2 < n && kb_streq(parts[at], "namespaces"))
        at += 2;
    if (at >= n)
        return "";
    const char *group = core ? "" : parts[2], *name = at + 1 < n ? parts[at + 1] : "";
    if (kb_starts_with(group, aggregated))
        group += sizeof(aggregated) - 1;
    return kb_arena_printf(arena, "%s%s%s%s%s", parts[at], *group ? "." : "", group, *name ? " " : "", name);
}

void kube_query_add(struct kb_strbuf *query, const char *name, const char *value)
{
    if (query->length > 0)
        kb_strbuf_putc(query, '&');
    escape(query, name, "");
    kb_strbuf_putc(query, '=');
    escape(query, value, "");
}
