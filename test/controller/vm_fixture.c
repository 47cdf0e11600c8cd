/* See vm_fixture.h. */
#include "controller/vm_fixture.h"

#include "api/codec.h"
#include "base/strings.h"

int vm_set_up(void **state)
{
    *state = world_new(virt_vm_controller_add);
    return 0;
}

int vm_tear_down(void **state)
{
    world_free(*state);
    return 0;
}

const char *vm_json(struct world *w, const char *text)
{
    char *json = kb_arena_strdup(world_arena(w), text);
    for (char *c = json; *c; c++)
        if (*c == '\'')
            *c = '"';
    return json;
}

void vm_create_object(struct world *w, const char *resource, const char *text)
{
    world_create(w, resource, vm_json(w, text));
}

void vm_create(struct world *w, const char *more, const char *template)
{
    vm_create_object(w, VMS,
                     kb_arena_printf(world_arena(w), "{'metadata':{'name':'vm'},'spec':{%s,'template':{'spec':{%s}}}}",
                                     more, template));
}

void vm_patch(struct world *w, const char *spec)
{
    world_patch(w, VMS, "vm", vm_json(w, kb_arena_printf(world_arena(w), "{'spec':%s}", spec)));
    world_settle(w);
}

void vm_patch_template(struct world *w, const char *text)
{
    vm_patch(w, kb_arena_printf(world_arena(w), "{'template':{'spec':%s}}", text));
}

void vm_patch_vmi(struct world *w, const char *text)
{
    world_patch(w, VMIS, "vm", vm_json(w, text));
    world_settle(w);
}

void vm_run(struct world *w)
{
    world_settle(w);
    assert_true(world_exists(w, VMIS, "vm"));
    vm_patch_vmi(w,
                 "{'status':{'phase':'Running','phaseTransitionTimestamps':[{'phase':'Running',"
                 "'phaseTransitionTimestamp':'2026-01-02T03:04:05Z'}],'conditions':[{'type':'Ready','status':'True'},"
                 "{'type':'LiveMigratable','status':'True'}]}}");
    assert_string_equal(vm_text(w, "/status/printableStatus"), "Running");
    world_writes(w);
}

static const char *member(yyjson_val *object, const char *name)
{
    const char *text = yyjson_get_str(yyjson_obj_get(object, name));
    return text ? text : "";
}

const char *vm_condition(struct world *w, const char *type)
{
    const char *text = vm_text(w, "/status/conditions"), *found = "";
    yyjson_doc *doc;
    size_t i, n;
    yyjson_val *condition;
    if (!*text)
        return "";
    assert_int_equal(api_parse(text, strlen(text), &doc, NULL), 0);
    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, condition)
    {
        if (kb_streq(member(condition, "type"), type))
            found = kb_arena_printf(world_arena(w), "%s %s: %s", member(condition, "status"),
                                    member(condition, "reason"), member(condition, "message"));
    }
    yyjson_doc_free(doc);
    return found;
}

const char *vm_text(struct world *w, const char *pointer)
{
    return world_text(w, VMS, "vm", pointer);
}

const char *vmi_text(struct world *w, const char *pointer)
{
    return world_text(w, VMIS, "vm", pointer);
}

void vm_expect_rest(struct world *w)
{
    world_settle(w);
    world_writes(w);
    world_advance(w, 5 * KB_NS_PER_S);
    world_poke(w, "vm", "default/vm");
    assert_string_equal(world_writes(w), "");
}
