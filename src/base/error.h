/*
 * The one error object of every layer. A function that can fail returns a negative int and, last, takes
 * `struct kube_error *reterr`, owned by the caller and of fixed size, so that reporting an error never allocates
 * and can not fail itself. `reterr` may be NULL: then only the return value tells.
 *
 * The facts that decisions are made from (`kind`, `http_status`, `reason`, `retry_after_ms`) are fields; `message`
 * is for people. Context is added on the way up (kube_error_wrap: "reading kubeconfig: ..."); the runtime logs once.
 *
 * Threads: a struct kube_error belongs to one thread at a time.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum kube_error_kind {
    KUBE_ERROR_NONE = 0,
    KUBE_ERROR_INVALID,    /* bad input: manifest, flag, JSON, field value */
    KUBE_ERROR_IO,         /* files, sockets, system calls */
    KUBE_ERROR_CONNECTION, /* the API server could not be reached or the connection broke: the outcome is unknown */
    KUBE_ERROR_TIMEOUT,    /* a deadline passed: the outcome is unknown */
    KUBE_ERROR_API,        /* the API server answered with a Status; http_status and reason say which */
    KUBE_ERROR_CANCELLED,  /* the process is shutting down or leadership was lost */
    KUBE_ERROR_INTERNAL,   /* a bug or memory ran out */
};

#define KUBE_ERROR_MESSAGE_SIZE 1024
#define KUBE_ERROR_REASON_SIZE  48

struct kube_error {
    enum kube_error_kind kind;
    int http_status;                     /* KUBE_ERROR_API: 404, 409, ...; otherwise 0 */
    int64_t retry_after_ms;              /* what the server asked for; 0: nothing */
    char reason[KUBE_ERROR_REASON_SIZE]; /* metav1.Status reason: "NotFound", "AlreadyExists", "Conflict", ...; or "" */
    char message[KUBE_ERROR_MESSAGE_SIZE];
};

/* Sets the error and returns -1, so that `return kube_error_set(reterr, KUBE_ERROR_INVALID, "...")` is the idiom. */
int kube_error_set(struct kube_error *reterr, enum kube_error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Like kube_error_set with errno's text appended ("open /x: No such file or directory"). Kind KUBE_ERROR_IO. */
int kube_error_set_errno(struct kube_error *reterr, int error_number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An answer of the API server. */
int kube_error_set_api(struct kube_error *reterr, int http_status, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "context: " in front of the message; keeps the facts. Returns -1. */
int kube_error_wrap(struct kube_error *reterr, const char *format, ...) __attribute__((format(printf, 2, 3)));

void kube_error_clear(struct kube_error *reterr);
bool kube_error_is_api(const struct kube_error *error, int http_status);
static inline bool kube_error_is_not_found(const struct kube_error *e)
{
    return kube_error_is_api(e, 404);
}
/* 409 with reason Conflict (an optimistic lock failed), not AlreadyExists. */
bool kube_error_is_conflict(const struct kube_error *error);
bool kube_error_is_already_exists(const struct kube_error *error);

#endif
