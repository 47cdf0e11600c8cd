/*
 * Server-side apply, see apply.h. managedFields knows only appliers: changes by other requests are owned by nobody, so
 * that the objects of controllers, which are most, carry no bookkeeping.
 *
 *   conflicts   fields of another applier that the configuration wants otherwise: refused, or taken over by force
 *   removal     fields that this manager applied before, and no longer does, and nobody else applies
 */
#include "lab/apply.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/fieldset.h"
#include "lab/json.h"

struct conflict_list {
    struct lab_call *call;
    const char *manager;
    struct {
        size_t n;
        struct {
            const char *manager, *path;
        } * items;
    } found;
};

static bool is_entry_of(yyjson_mut_val *entry, const struct lab_call *call)
{
    return kb_streq(lab_mut_str(entry, "manager"), call->options.field_manager) &&
           kb_streq(lab_mut_str(entry, "subresource"), call->subresource ? call->subresource : "");
}

static void add_conflict(void *context, const char *path)
{
    struct conflict_list *l = context;
    *kb_vec_push(l->call->arena, &l->found) = (__typeof__(*l->found.items)){l->manager, path};
}

/* Apply failed with 1 conflict: conflict with "a": .spec.b */
static int refuse(struct conflict_list *l)
{
    struct kb_strbuf b = {.arena = l->call->arena};
    const char *last = "";
    size_t n = l->found.n;
    for (size_t i = 0; i < n; i++) {
        bool same = kb_streq(l->found.items[i].manager, last);
        if (n == 1)
            kb_strbuf_printf(&b, "conflict with \"%s\": %s", l->found.items[i].manager, l->found.items[i].path);
        else if (same)
            kb_strbuf_printf(&b, "\n- %s", l->found.items[i].path);
        else
            kb_strbuf_printf(&b, "%sconflicts with \"%s\":\n- %s", i ? "\n" : "", l->found.items[i].manager,
                             l->found.items[i].path);
        last = l->found.items[i].manager;
    }
    lab_fail(l->call, 409, "Conflict", "Apply failed with %zu conflict%s: %s", n, n > 1 ? "s" : "", kb_strbuf_text(&b));
    l->call->failure.kind = l->call->failure.name = NULL;
    for (size_t i = 0; i < n; i++)
        lab_cause(l->call, "FieldManagerConflict", l->found.items[i].path, "conflict with \"%s\"",
                  l->found.items[i].manager);
    return -1;
}

/* Looks for conflicts with the other appliers; with force their entries lose what is taken over. */
static int check_conflicts(struct lab_write *w, yyjson_mut_val *entries, yyjson_mut_val *mine, yyjson_mut_val *live,
                           yyjson_mut_val *configuration)
{
    struct conflict_list l = {.call = w->call};
    size_t i, n;
    yyjson_mut_val *entry;
    yyjson_mut_arr_foreach(entries, i, n, entry)
    {
        if (is_entry_of(entry, w->call))
            continue;
        yyjson_mut_val *theirs = yyjson_mut_obj_get(entry, "fieldsV1");
        yyjson_mut_val *both = lab_fieldset_conflicts(w->doc, theirs, mine, live, configuration);
        if (!both)
            continue;
        l.manager = lab_mut_str(entry, "manager");
        lab_fieldset_each(w->arena, both, "", add_conflict, &l);
        if (!w->call->options.force)
            continue;
        yyjson_mut_val *left = lab_fieldset_minus(w->doc, theirs, both);
        lab_mut_put(w->doc, entry, "fieldsV1", left ? left : yyjson_mut_obj(w->doc));
    }
    return l.found.n && !w->call->options.force ? refuse(&l) : 0;
}

/* What this manager applied before and nobody applies now. */
static void remove_dropped(struct lab_write *w, yyjson_mut_val *entries, yyjson_mut_val *mine, yyjson_mut_val *live)
{
    yyjson_mut_val *dropped = NULL, *entry;
    size_t i, n;
    yyjson_mut_arr_foreach(entries, i, n, entry)
    {
        if (is_entry_of(entry, w->call))
            dropped = lab_fieldset_minus(w->doc, yyjson_mut_obj_get(entry, "fieldsV1"), mine);
    }
    yyjson_mut_arr_foreach(entries, i, n, entry)
    {
        if (dropped && !is_entry_of(entry, w->call))
            dropped = lab_fieldset_minus(w->doc, dropped, yyjson_mut_obj_get(entry, "fieldsV1"));
    }
    if (dropped)
        lab_fieldset_remove(live, dropped);
}

static yyjson_mut_val *new_entry(struct lab_write *w, yyjson_mut_val *mine)
{
    yyjson_mut_val *e = yyjson_mut_obj(w->doc);
    lab_mut_put_str(w->doc, e, "manager", w->call->options.field_manager);
    lab_mut_put_str(w->doc, e, "operation", "Apply");
    lab_mut_put_str(w->doc, e, "apiVersion", w->call->version->api_version);
    lab_mut_put_str(w->doc, e, "time", lab_write_now(w));
    lab_mut_put_str(w->doc, e, "fieldsType", "FieldsV1");
    lab_mut_put(w->doc, e, "fieldsV1", mine);
    if (w->call->subresource)
        lab_mut_put_str(w->doc, e, "subresource", w->call->subresource);
    return e;
}

/* Puts this manager's entry in; one that says the same stays as it is, so that applying again changes nothing. */
static void put_entry(struct lab_write *w, yyjson_mut_val *entries, yyjson_mut_val *mine)
{
    for (size_t i = yyjson_mut_arr_size(entries); i-- > 0;) {
        yyjson_mut_val *entry = yyjson_mut_arr_get(entries, i), *had = yyjson_mut_obj_get(entry, "fieldsV1");
        if (!is_entry_of(entry, w->call)) {
            if (!yyjson_mut_obj_size(had))
                yyjson_mut_arr_remove(entries, i);
            continue;
        }
        if (yyjson_mut_equals(had, mine))
            return;
        yyjson_mut_arr_remove(entries, i);
    }
    if (yyjson_mut_obj_size(mine))
        yyjson_mut_arr_append(entries, new_entry(w, mine));
}

int lab_apply_mutate(struct lab_write *w, yyjson_val *configuration)
{
    struct lab_field_place root = lab_field_root(w->arena, w->call->kind, w->call->version);
    yyjson_mut_val *wanted = yyjson_val_mut_copy(w->doc, configuration);
    yyjson_mut_val *live = yyjson_val_mut_copy(w->doc, w->old_root);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(live, "metadata");
    yyjson_mut_val *entries = yyjson_mut_obj_get(metadata, "managedFields");
    if (!entries)
        entries = yyjson_mut_arr(w->doc);
    lab_mut_drop(yyjson_mut_obj_get(wanted, "metadata"), "managedFields");
    yyjson_mut_val *mine = lab_fieldset_of(w->doc, root, wanted);
    if (check_conflicts(w, entries, mine, live, wanted) < 0)
        return -1;
    remove_dropped(w, entries, mine, live);
    w->root = lab_fieldset_merge(w->doc, root, live, wanted);
    put_entry(w, entries, mine);
    lab_mut_put(w->doc, lab_mut_object(w->doc, w->root, "metadata"), "managedFields", entries);
    return 0;
}

/* The configuration as a new object, with its manager's entry. */
static int create(struct lab_call *call)
{
    struct lab_write w = {.call = call, .arena = call->arena, .doc = lab_json_doc(call->arena)};
    yyjson_mut_val *body = yyjson_val_mut_copy(w.doc, call->body), *entries = yyjson_mut_arr(w.doc);
    struct lab_field_place root = lab_field_root(call->arena, call->kind, call->version);
    put_entry(&w, entries, lab_fieldset_of(w.doc, root, body));
    lab_mut_put(w.doc, lab_mut_object(w.doc, body, "metadata"), "managedFields", entries);
    size_t n;
    const char *text = lab_json_write(call->arena, body, &n);
    call->failure = (struct lab_failure){0};
    return lab_write_create(call, lab_json_parse(call->arena, text, n, NULL));
}

int lab_serve_apply(struct lab_call *call, lab_mutator mutate)
{
    if (kb_empty(call->options.field_manager)) {
        static const struct lab_kind options = {.name = "PatchOptions", .group = "meta.k8s.io"};
        const struct lab_kind *kind = call->kind;
        call->kind = &options;
        lab_cause_required(call, "fieldManager", "is required for apply patch");
        lab_fail_invalid(call, "");
        call->kind = kind;
        return -1;
    }
    if (!yyjson_is_obj(call->body))
        return lab_fail_bad_request(call, "error decoding YAML: the configuration is not an object");
    int rc = lab_write_change(call, mutate, call->body);
    if (rc < 0 && call->failure.code == 404 && !call->subresource)
        return create(call);
    return rc;
}
