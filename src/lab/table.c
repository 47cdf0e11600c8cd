/*
 * Tables (meta.k8s.io/v1), see table.h. Columns come from code for Kubernetes' own kinds, from the kind's printer
 * columns for the others, and are name and age where there are none.
 */
#include "lab/table.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/json.h"
#include "lab/jsonpath.h"
#include "lab/server_internal.h"
#include "lab/table_columns.h"

struct column_list {
    size_t n;
    struct lab_code_column *items;
};

struct table {
    struct kb_arena *arena;
    const struct lab_call *call;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root, *rows;
    struct column_list columns;
    int64_t now;
};

bool lab_table_wanted(const struct lab_call *call)
{
    return call->accept && call->kind && strstr(call->accept, "as=Table") && strstr(call->accept, "g=meta.k8s.io");
}

static void list_columns(struct table *t)
{
    const struct lab_kind *kind = t->call->kind;
    const struct lab_version *v = t->call->version;
    const struct lab_code_column *code, *name = lab_name_column(kind);
    size_t n = lab_code_columns(kind, &code);
    if (name)
        *kb_vec_push(t->arena, &t->columns) = *name;
    for (size_t i = 0; i < n; i++)
        *kb_vec_push(t->arena, &t->columns) = code[i];
    for (size_t i = 0; !n && i < v->n_columns; i++)
        *kb_vec_push(t->arena, &t->columns) = (struct lab_code_column){"",
                                                                       v->columns[i].name,
                                                                       v->columns[i].type,
                                                                       v->columns[i].format,
                                                                       v->columns[i].priority,
                                                                       v->columns[i].path,
                                                                       NULL};
    if (!n && !v->n_columns)
        *kb_vec_push(t->arena, &t->columns) =
            (struct lab_code_column){"", "Age", "date", "", 0, ".metadata.creationTimestamp", NULL};
}

static void put_columns(struct table *t)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(t->doc, t->root, "columnDefinitions");
    for (size_t i = 0; i < t->columns.n; i++) {
        const struct lab_code_column *c = &t->columns.items[i];
        yyjson_mut_val *d = yyjson_mut_arr_add_obj(t->doc, list);
        yyjson_mut_obj_add_str(t->doc, d, "name", c->name);
        yyjson_mut_obj_add_str(t->doc, d, "type", c->type);
        yyjson_mut_obj_add_str(t->doc, d, "format", kb_streq(c->name, "Name") ? "name" : c->format);
        yyjson_mut_obj_add_str(t->doc, d, "description", "");
        yyjson_mut_obj_add_int(t->doc, d, "priority", c->priority);
    }
}

static yyjson_mut_val *cell_of(struct table *t, const struct lab_code_column *c, yyjson_val *object)
{
    struct lab_cell_input in = {t->arena, object, t->now};
    if (c->cell)
        return yyjson_mut_strcpy(t->doc, c->cell(&in));
    yyjson_val *v = lab_jsonpath(t->arena, object, c->path);
    if (!v || yyjson_is_null(v))
        return kb_streq(c->type, "string") && !t->call->kind->custom ? yyjson_mut_str(t->doc, "")
                                                                     : yyjson_mut_null(t->doc);
    if (kb_streq(c->type, "date"))
        return yyjson_mut_strcpy(t->doc, lab_age_text(t->arena, yyjson_is_str(v) ? yyjson_get_str(v) : "", t->now));
    if (kb_streq(c->type, "string") && !yyjson_is_str(v))
        return yyjson_mut_strcpy(t->doc, lab_json_write_val(t->arena, v, NULL));
    return yyjson_val_mut_copy(t->doc, v);
}

static void add_row(struct table *t, const struct lab_object *o, int64_t version)
{
    yyjson_val *object = lab_object_parse(t->arena, o, t->call->version->api_version);
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(t->doc, t->rows);
    yyjson_mut_val *cells = yyjson_mut_obj_add_arr(t->doc, row, "cells");
    for (size_t i = 0; i < t->columns.n; i++)
        yyjson_mut_arr_append(cells, cell_of(t, &t->columns.items[i], object));
    bool whole = strstr(t->call->uri ? t->call->uri : "", "includeObject=Object");
    if (whole) {
        yyjson_mut_obj_add_val(t->doc, row, "object", yyjson_val_mut_copy(t->doc, object));
        return;
    }
    yyjson_mut_val *partial =
        lab_json_mut(t->doc, t->arena, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\"}");
    yyjson_mut_val *metadata = yyjson_val_mut_copy(t->doc, yyjson_obj_get(object, "metadata"));
    lab_mut_put_str(t->doc, metadata, "resourceVersion", kb_arena_printf(t->arena, "%lld", (long long)version));
    yyjson_mut_obj_add_val(t->doc, partial, "metadata", metadata);
    yyjson_mut_obj_add_val(t->doc, row, "object", partial);
}

static void begin(struct table *t, struct kb_arena *arena, const struct lab_call *call)
{
    *t = (struct table){.arena = arena, .call = call, .doc = lab_json_doc(arena)};
    t->now = call->server->clock->wall(call->server->clock);
    t->root = lab_json_mut(t->doc, arena, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"}");
    list_columns(t);
}

const char *lab_table_text(struct lab_call *call, size_t *ret_length)
{
    struct table t;
    const struct lab_result *r = &call->result;
    begin(&t, call->arena, call);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(t.doc, t.root, "metadata");
    int64_t version = r->object ? r->object->resource_version : r->resource_version;
    lab_mut_put_str(t.doc, metadata, "resourceVersion", kb_arena_printf(t.arena, "%lld", (long long)version));
    if (r->continue_)
        yyjson_mut_obj_add_str(t.doc, metadata, "continue", r->continue_);
    if (r->remaining)
        yyjson_mut_obj_add_int(t.doc, metadata, "remainingItemCount", r->remaining);
    put_columns(&t);
    t.rows = yyjson_mut_obj_add_arr(t.doc, t.root, "rows");
    for (size_t i = 0; i < r->n; i++)
        add_row(&t, r->items[i], r->items[i]->resource_version);
    if (r->object)
        add_row(&t, r->object, r->object->resource_version);
    return lab_json_write(call->arena, t.root, ret_length);
}

const char *lab_table_event(struct kb_arena *arena, const struct lab_call *call, const struct lab_object *object,
                            int64_t resource_version, bool with_columns)
{
    struct table t;
    begin(&t, arena, call);
    lab_mut_put_str(t.doc, yyjson_mut_obj_add_obj(t.doc, t.root, "metadata"), "resourceVersion",
                    kb_arena_printf(arena, "%lld", (long long)resource_version));
    if (with_columns)
        put_columns(&t);
    else
        yyjson_mut_obj_add_null(t.doc, t.root, "columnDefinitions");
    t.rows = yyjson_mut_obj_add_arr(t.doc, t.root, "rows");
    add_row(&t, object, resource_version);
    return lab_json_write(arena, t.root, NULL);
}
