/*
 * Refusals: what a metav1.Status, or the lack of one, says. An answer without a Status (a proxy, an aggregated API that
 * is down) gets the reason that apimachinery gives to its code.
 */
#include "base/strings.h"
#include "kube/client.h"
#include <limits.h>

static const struct {
    int status;
    const char *reason;
    const char *message; /* when the body has none */
} generic[] = {
    {400, "BadRequest", "the server rejected our request"},
    {401, "Unauthorized", "the server has asked for the client to provide credentials"},
    {403, "Forbidden", "the server does not allow this method on the requested resource"},
    {404, "NotFound", "the server could not find the requested resource"},
    {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"},
    {406, "NotAcceptable", "the server was unable to respond with a content type that the client supports"},
    {409, "Conflict", "the server reported a conflict"},
    {410, "Gone", "the resource version is too old"},
    {413, "RequestEntityTooLarge", "the request is too large"},
    {415, "UnsupportedMediaType", "the server does not support the content type of the request"},
    {422, "Invalid", "the server rejected our request due to an error in our request"},
    {429, "TooManyRequests", "the server has received too many requests and has asked us to try again later"},
    {500, "InternalError", "an error on the server has prevented the request from succeeding"},
    {503, "ServiceUnavailable", "the server is currently unable to handle the request"},
    {504, "Timeout", "the server was unable to return a response in the time allotted"},
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

static void set_generic(struct kube_error *reterr, const char *method, int status, const char *body, size_t n)
{
    const char *reason = "", *message = "unknown";
    for (size_t i = 0; i < KB_ARRAY_LEN(generic); i++) {
        if (generic[i].status != status)
            continue;
        reason = generic[i].reason;
        message = generic[i].message;
    }
    if (status == 409 && kb_streq(method, "POST"))
        reason = "AlreadyExists";
    if (n > 0 && kb_utf8_valid(body, n))
        kube_error_set_api(reterr, status, reason, "%s (status %d: %.*s)", message, status, n < 512 ? (int)n : 512,
                           body);
    else
        kube_error_set_api(reterr, status, reason, "%s (status %d)", message, status);
}

int kube_error_from_answer(struct kube_error *reterr, const char *method, int status, int64_t retry_after_ms,
                           const char *body, size_t n)
{
    yyjson_doc *doc = n <= API_MAX_BYTES ? yyjson_read(body, n, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (kb_streq(text_of(root, "kind"), "Status"))
        kube_error_from_status(reterr, root);
    else
        set_generic(reterr, method, status, body, n);
    yyjson_doc_free(doc);
    if (!reterr)
        return -1;
    reterr->http_status = status;
    if (retry_after_ms > 0)
        reterr->retry_after_ms = retry_after_ms;
    return -1;
}
