/*
 * One API request, however it came, and its outcome. The router (route.c) or the in-process client fills in what is
 * asked; the verbs (read.c, write.c, patch.c, deletion.c ...) answer.
 *
 * Verbs return 0 with `result` set, or -1 with `failure` set (lab_fail & co return -1, so `return lab_fail(...)`).
 * Memory is the call's arena. Threads: a call belongs to one thread.
 */
#ifndef LAB_CALL_H
#define LAB_CALL_H

#include "base/arena.h"
#include "lab/client.h"
#include "lab/kinds.h"
#include "lab/object.h"
#include "lab/store.h"

enum lab_verb {
    LAB_VERB_GET,
    LAB_VERB_LIST,
    LAB_VERB_WATCH,
    LAB_VERB_CREATE,
    LAB_VERB_UPDATE,
    LAB_VERB_PATCH,
    LAB_VERB_DELETE,
    LAB_VERB_DELETE_COLLECTION,
};
const char *lab_verb_name(enum lab_verb verb);

struct lab_cause {
    const char *reason, *message, *field; /* "FieldValueRequired", "Required value", "spec.containers" */
};

/* A metav1.Status of a failure. */
struct lab_failure {
    int code;
    const char *reason, *message;
    const char *name, *group, *kind, *uid; /* details; NULL: left out */
    int retry_after;
    bool bare_details; /* details are shown although they are empty */
    size_t n;
    struct lab_cause *items;
};

struct lab_call_options {
    const char *label_selector, *field_selector;
    const char *resource_version, *resource_version_match, *continue_;
    long long limit;
    bool bookmarks, send_initial_events, dry_run, force;
    int timeout_seconds; /* 0: none given */
    const char *field_manager, *field_validation;
    /* DeleteOptions, from the query or the body */
    int64_t grace_seconds; /* -1: none given */
    const char *propagation, *precondition_uid, *precondition_version;
};

enum lab_result_kind { LAB_RESULT_TEXT, LAB_RESULT_OBJECT, LAB_RESULT_LIST, LAB_RESULT_WATCH };

struct lab_result {
    enum lab_result_kind kind;
    int code;                        /* 200, 201, 202 */
    const char *text, *content_type; /* content_type NULL: application/json */
    size_t length;
    struct lab_object *object; /* one reference */
    struct lab_object **items; /* references, given back by lab_call_done */
    size_t n;
    int64_t resource_version;
    const char *continue_;
    long long remaining;
    struct lab_watch *watch;
    const char *warning; /* NULL: none */
};

struct lab_call {
    struct lab_server *server;
    struct kb_arena *arena;
    const char *user, *groups, *user_agent, *source_ip, *uri;
    enum lab_verb verb;
    struct lab_resource *resource;
    const struct lab_kind *kind;
    const struct lab_version *version;
    const char *namespace_, *name, *subresource; /* NULL: none */
    struct lab_call_options options;
    const char *accept, *content_type;
    enum lab_patch_type patch_type;
    yyjson_val *body; /* NULL: none */
    int64_t received_ns;
    struct lab_result result;
    struct lab_failure failure;
};

/* The request's object key in the store: "namespace/name" or "name". */
const char *lab_call_key(const struct lab_call *call);
/* Does what the call asks, and writes the audit log. */
int lab_call_serve(struct lab_call *call);
/* Gives back the references of the result. */
void lab_call_done(struct lab_call *call);
void lab_call_return(struct lab_call *call, int code, struct lab_object *object); /* takes the reference */

int lab_fail(struct lab_call *call, int code, const char *reason, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int lab_fail_not_found(struct lab_call *call, const char *name);
int lab_fail_conflict(struct lab_call *call, const char *why); /* NULL: the object has been modified */
int lab_fail_forbidden(struct lab_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
int lab_fail_bad_request(struct lab_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
int lab_fail_method(struct lab_call *call);
int lab_fail_media_type(struct lab_call *call, const char *accepted);
/* 422 with the causes collected by lab_cause & co in call->failure. */
int lab_fail_invalid(struct lab_call *call, const char *name);
/* From an error of a helper: API errors keep their facts, others are 400. */
int lab_fail_error(struct lab_call *call, const struct kube_error *error);

/* Collect what is wrong with a field; the verb fails afterwards when there was any. */
void lab_cause(struct lab_call *call, const char *reason, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void lab_cause_required(struct lab_call *call, const char *field, const char *detail);
void lab_cause_invalid(struct lab_call *call, const char *field, const char *value, const char *detail);
void lab_cause_forbidden(struct lab_call *call, const char *field, const char *detail);
void lab_cause_duplicate(struct lab_call *call, const char *field, const char *value);
void lab_cause_not_found(struct lab_call *call, const char *field, const char *value);
void lab_cause_unsupported(struct lab_call *call, const char *field, const char *value, const char *supported);

const char *lab_failure_text(struct kb_arena *arena, const struct lab_failure *failure, size_t *ret_length);

/* The verbs. */
int lab_serve_get(struct lab_call *call);
int lab_serve_list(struct lab_call *call);
int lab_serve_watch(struct lab_call *call);
int lab_serve_create(struct lab_call *call);
int lab_serve_update(struct lab_call *call);
int lab_serve_patch(struct lab_call *call);
int lab_serve_delete(struct lab_call *call);
int lab_serve_delete_collection(struct lab_call *call);

#endif
