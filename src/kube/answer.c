/*
 * Refusals: what a metav1.Status, or the lack of one, says. An answer without a Status (a proxy, an aggregated API that
 * is down) gets the reason that client-go gives to its code, and its message.
 */
#include "base/strings.h"
#include "kube/client.h"
#include <ctype.h>
#include <limits.h>

enum { SHOWN = 2048 }; /* bytes of an answer that are told */

enum text { OURS, SERVERS };

static const struct {
    int status;
    const char *reason;
    enum text text;
    const char *message;
} generic[] = {
    {400, "BadRequest", OURS, "the server rejected our request for an unknown reason"},
    {401, "Unauthorized", OURS, "the server has asked for the client to provide credentials"},
    {403, "Forbidden", SERVERS, ""},
    {404, "NotFound", OURS, "the server could not find the requested resource"},
    {405, "MethodNotAllowed", OURS, "the server does not allow this method on the requested resource"},
    {406, "NotAcceptable", SERVERS, ""},
    {409, "Conflict", OURS, "the server reported a conflict"},
    {410, "Gone", OURS, "the resource version is too old"},
    {413, "RequestEntityTooLarge", OURS, "the request is too large"},
    {415, "UnsupportedMediaType", SERVERS, ""},
    {422, "Invalid", OURS, "the server rejected our request due to an error in our request"},
    {429, "TooManyRequests", OURS, "the server has received too many requests and has asked us to try again later"},
    {503, "ServiceUnavailable", OURS, "the server is currently unable to handle the request"},
    {504, "Timeout", OURS,
     "the server was unable to return a response in the time allotted, but may still be processing the request"},
};

static const char *text_of(yyjson_val *object, const char *name)
{
    const char *text = yyjson_get_str(yyjson_obj_get(object, name));
    return text ? text : "";
}

int kube_error_from_status(struct kube_error *reterr, yyjson_val *status)
{
    yyjson_val *seconds = yyjson_obj_get(yyjson_obj_get(status, "details"), "retryAfterSeconds");
    const char *message = text_of(status, "message"), *reason = text_of(status, "reason");
    kube_error_set_api(reterr, yyjson_get_int(yyjson_obj_get(status, "code")), reason, "%s",
                       *message  ? message
                       : *reason ? reason
                                 : "unknown");
    int64_t wait = yyjson_get_sint(seconds);
    if (reterr && wait > 0 && wait < INT_MAX)
        reterr->retry_after_ms = wait * 1000;
    return -1;
}

/* What the answer says, without the white space around it. */
static const char *server_text(struct kb_arena *arena, const char *body, size_t n)
{
    n = n < SHOWN ? n : SHOWN;
    while (n > 0 && isspace((unsigned char)body[n - 1]))
        n--;
    while (n > 0 && isspace((unsigned char)*body))
        body++, n--;
    return n > 0 && kb_utf8_valid(body, n) ? kb_arena_strndup(arena, body, n) : "unknown";
}

static const char *lower(struct kb_arena *arena, const char *text)
{
    char *lower = kb_arena_strdup(arena, text);
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return lower;
}

static const char *generic_text(struct kb_arena *arena, int status, const char *says, const char **ret_reason)
{
    *ret_reason = status >= 500 ? "InternalError" : "";
    for (size_t i = 0; i < KB_ARRAY_LEN(generic); i++) {
        if (generic[i].status != status)
            continue;
        *ret_reason = generic[i].reason;
        return generic[i].text == OURS ? generic[i].message : says;
    }
    if (status >= 500)
        return kb_arena_printf(arena, "an error on the server (\"%s\") has prevented the request from succeeding",
                               says);
    return kb_arena_printf(arena, "the server responded with the status code %d but did not return more information",
                           status);
}

static void set_generic(struct kube_error *reterr, const char *method, const char *path, int status, const char *body,
                        size_t n)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    const char *names = kube_path_names(arena, path), *reason;
    const char *message = generic_text(arena, status, server_text(arena, body, n), &reason);
    if (status == 409 && kb_streq(method, "POST"))
        reason = "AlreadyExists";
    if (*names)
        message = kb_arena_printf(arena, "%s (%s %s)", message, lower(arena, method), names);
    kube_error_set_api(reterr, status, reason, "%s", message);
}

int kube_error_from_answer(struct kube_error *reterr, const char *method, const char *path, int status,
                           int64_t retry_after_ms, const char *body, size_t n)
{
    yyjson_doc *doc = n <= API_MAX_BYTES ? yyjson_read(body, n, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (kb_streq(text_of(root, "kind"), "Status"))
        kube_error_from_status(reterr, root);
    else
        set_generic(reterr, method, path, status, body, n);
    yyjson_doc_free(doc);
    if (!reterr)
        return -1;
    reterr->http_status = status;
    if (retry_after_ms > 0)
        reterr->retry_after_ms = retry_after_ms;
    return -1;
}
