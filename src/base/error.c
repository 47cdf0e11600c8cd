/*
 * The error object. Messages are built in a buffer beside the object, so that a caller may quote the old message in the
 * new one, and are cut at a character's boundary when they are too long.
 */
#include "base/error.h"
#include <stdio.h>
#include <string.h>

/* Cuts a UTF-8 sequence that the end of the buffer split. */
static void cut_at_character(char *text, size_t n)
{
    size_t start = n;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (n - (start - 1) < length)
        text[start - 1] = '\0';
}

static void store_message(struct kube_error *error, const char *text, int full_length)
{
    memcpy(error->message, text, KUBE_ERROR_MESSAGE_SIZE);
    if (full_length >= KUBE_ERROR_MESSAGE_SIZE)
        cut_at_character(error->message, KUBE_ERROR_MESSAGE_SIZE - 1);
}

static void set(struct kube_error *error, enum kube_error_kind kind, const char *format, va_list args)
{
    char text[KUBE_ERROR_MESSAGE_SIZE] = "";
    int n = vsnprintf(text, sizeof text, format, args);
    kube_error_clear(error);
    error->kind = kind;
    store_message(error, text, n);
}

int kube_error_set(struct kube_error *reterr, enum kube_error_kind kind, const char *format, ...)
{
    if (!reterr)
        return -1;
    va_list args;
    va_start(args, format);
    set(reterr, kind, format, args);
    va_end(args);
    return -1;
}

int kube_error_set_errno(struct kube_error *reterr, int error_number, const char *format, ...)
{
    if (!reterr)
        return -1;
    va_list args;
    va_start(args, format);
    set(reterr, KUBE_ERROR_IO, format, args);
    va_end(args);
    char buffer[128], text[KUBE_ERROR_MESSAGE_SIZE] = "";
    int n = snprintf(text, sizeof text, "%s: %s", reterr->message, strerror_r(error_number, buffer, sizeof buffer));
    store_message(reterr, text, n);
    return -1;
}

int kube_error_set_api(struct kube_error *reterr, int http_status, const char *reason, const char *format, ...)
{
    if (!reterr)
        return -1;
    char copy[KUBE_ERROR_REASON_SIZE];
    snprintf(copy, sizeof copy, "%s", reason ? reason : "");
    va_list args;
    va_start(args, format);
    set(reterr, KUBE_ERROR_API, format, args);
    va_end(args);
    reterr->http_status = http_status;
    memcpy(reterr->reason, copy, sizeof copy);
    return -1;
}

int kube_error_wrap(struct kube_error *reterr, const char *format, ...)
{
    if (!reterr)
        return -1;
    char context[KUBE_ERROR_MESSAGE_SIZE] = "", text[KUBE_ERROR_MESSAGE_SIZE] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    int n = snprintf(text, sizeof text, "%s: %s", context, reterr->message);
    store_message(reterr, text, n);
    return -1;
}

void kube_error_clear(struct kube_error *reterr)
{
    if (!reterr)
        return;
    reterr->kind = KUBE_ERROR_NONE;
    reterr->http_status = 0;
    reterr->retry_after_ms = 0;
    reterr->reason[0] = '\0';
    reterr->message[0] = '\0';
}

bool kube_error_is_api(const struct kube_error *error, int http_status)
{
    return error && error->kind == KUBE_ERROR_API && error->http_status == http_status;
}

bool kube_error_is_conflict(const struct kube_error *error)
{
    return kube_error_is_api(error, 409) && strcmp(error->reason, "Conflict") == 0;
}

bool kube_error_is_already_exists(const struct kube_error *error)
{
    return kube_error_is_api(error, 409) && strcmp(error->reason, "AlreadyExists") == 0;
}
