/*
 * Failures as Kubernetes words them: the texts are what clients match on.
 */
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/call.h"
#include "lab/json.h"

int lab_fail(struct lab_call *call, int code, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = kb_arena_vprintf(call->arena, format, args);
    va_end(args);
    struct lab_failure f = {.code = code, .reason = reason, .message = message};
    if (call->kind && code < 500) {
        f.name = call->name;
        f.group = call->kind->group;
        f.kind = call->kind->plural;
    }
    call->failure = f;
    return -1;
}

int lab_fail_not_found(struct lab_call *call, const char *name)
{
    lab_fail(call, 404, "NotFound", "%s \"%s\" not found", call->kind->resource, name);
    call->failure.name = name;
    return -1;
}

int lab_fail_conflict(struct lab_call *call, const char *why)
{
    return lab_fail(
        call, 409, "Conflict", "Operation cannot be fulfilled on %s \"%s\": %s", call->kind->resource, call->name,
        why ? why : "the object has been modified; please apply your changes to the latest version and try again");
}

int lab_fail_forbidden(struct lab_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *why = kb_arena_vprintf(call->arena, format, args);
    va_end(args);
    return lab_fail(call, 403, "Forbidden", "%s \"%s\" is forbidden: %s", call->kind->resource,
                    call->name ? call->name : "", why);
}

int lab_fail_bad_request(struct lab_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = kb_arena_vprintf(call->arena, format, args);
    va_end(args);
    lab_fail(call, 400, "BadRequest", "%s", message);
    call->failure.kind = NULL;
    return -1;
}

int lab_fail_method(struct lab_call *call)
{
    lab_fail(call, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
    call->failure.kind = call->failure.name = NULL;
    call->failure.bare_details = true;
    return -1;
}

int lab_fail_media_type(struct lab_call *call, const char *accepted)
{
    lab_fail(call, 415, "UnsupportedMediaType",
             "the body of the request was in an unknown format - accepted media types include: %s", accepted);
    call->failure.kind = call->failure.name = NULL;
    return -1;
}

static const char *cause_text(struct kb_arena *arena, const struct lab_cause *c)
{
    return kb_arena_printf(arena, "%s: %s", c->field, c->message);
}

int lab_fail_invalid(struct lab_call *call, const char *name)
{
    struct lab_failure *f = &call->failure;
    struct kb_strbuf b = {.arena = call->arena};
    for (size_t i = 0; i < f->n; i++)
        kb_strbuf_printf(&b, "%s%s", i ? ", " : "", cause_text(call->arena, &f->items[i]));
    const char *group = call->kind->group;
    f->code = 422;
    f->reason = "Invalid";
    f->message =
        kb_arena_printf(call->arena, f->n > 1 ? "%s%s%s \"%s\" is invalid: [%s]" : "%s%s%s \"%s\" is invalid: %s",
                        call->kind->name, *group ? "." : "", group, name, kb_strbuf_text(&b));
    f->name = name;
    f->group = group;
    f->kind = call->kind->name;
    return -1;
}

int lab_fail_error(struct lab_call *call, const struct kube_error *error)
{
    if (error->kind != KUBE_ERROR_API)
        return lab_fail_bad_request(call, "%s", error->message);
    return lab_fail(call, error->http_status, kb_arena_strdup(call->arena, error->reason), "%s", error->message);
}

void lab_cause(struct lab_call *call, const char *reason, const char *field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = kb_arena_vprintf(call->arena, format, args);
    va_end(args);
    struct lab_cause *c = kb_vec_push(call->arena, &call->failure);
    *c = (struct lab_cause){reason, message, kb_arena_strdup(call->arena, field)};
}

void lab_cause_required(struct lab_call *call, const char *field, const char *detail)
{
    lab_cause(call, "FieldValueRequired", field, "Required value%s%s", *detail ? ": " : "", detail);
}

void lab_cause_invalid(struct lab_call *call, const char *field, const char *value, const char *detail)
{
    lab_cause(call, "FieldValueInvalid", field, "Invalid value: %s: %s", value, detail);
}

void lab_cause_forbidden(struct lab_call *call, const char *field, const char *detail)
{
    lab_cause(call, "FieldValueForbidden", field, "Forbidden: %s", detail);
}

void lab_cause_duplicate(struct lab_call *call, const char *field, const char *value)
{
    lab_cause(call, "FieldValueDuplicate", field, "Duplicate value: %s", value);
}

void lab_cause_not_found(struct lab_call *call, const char *field, const char *value)
{
    lab_cause(call, "FieldValueNotFound", field, "Not found: %s", value);
}

void lab_cause_unsupported(struct lab_call *call, const char *field, const char *value, const char *supported)
{
    lab_cause(call, "FieldValueNotSupported", field, "Unsupported value: %s: supported values: %s", value, supported);
}

static void put_details(yyjson_mut_doc *doc, yyjson_mut_val *status, const struct lab_failure *f)
{
    if (!f->kind && !f->n && !f->retry_after && !f->bare_details)
        return;
    yyjson_mut_val *details = yyjson_mut_obj_add_obj(doc, status, "details");
    if (!kb_empty(f->name))
        yyjson_mut_obj_add_str(doc, details, "name", f->name);
    if (!kb_empty(f->group) && f->kind)
        yyjson_mut_obj_add_str(doc, details, "group", f->group);
    if (f->kind)
        yyjson_mut_obj_add_str(doc, details, "kind", f->kind);
    if (f->uid)
        yyjson_mut_obj_add_str(doc, details, "uid", f->uid);
    if (f->retry_after)
        yyjson_mut_obj_add_int(doc, details, "retryAfterSeconds", f->retry_after);
    if (!f->n)
        return;
    yyjson_mut_val *causes = yyjson_mut_obj_add_arr(doc, details, "causes");
    for (size_t i = 0; i < f->n; i++) {
        yyjson_mut_val *c = yyjson_mut_arr_add_obj(doc, causes);
        yyjson_mut_obj_add_str(doc, c, "reason", f->items[i].reason);
        yyjson_mut_obj_add_str(doc, c, "message", f->items[i].message);
        if (*f->items[i].field)
            yyjson_mut_obj_add_str(doc, c, "field", f->items[i].field);
    }
}

const char *lab_failure_text(struct kb_arena *arena, const struct lab_failure *f, size_t *ret_length)
{
    yyjson_mut_doc *doc = lab_json_doc(arena);
    yyjson_mut_val *s = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_str(doc, s, "kind", "Status");
    yyjson_mut_obj_add_str(doc, s, "apiVersion", "v1");
    yyjson_mut_obj_add_obj(doc, s, "metadata");
    yyjson_mut_obj_add_str(doc, s, "status", "Failure");
    yyjson_mut_obj_add_str(doc, s, "message", f->message);
    if (!kb_empty(f->reason))
        yyjson_mut_obj_add_str(doc, s, "reason", f->reason);
    put_details(doc, s, f);
    yyjson_mut_obj_add_int(doc, s, "code", f->code);
    return lab_json_write(arena, s, ret_length);
}
