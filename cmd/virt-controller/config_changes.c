/*
 * Differences of configurations: a walk over both as JSON. Objects are compared member by member, everything else as a
 * whole; so a field that a later release adds is reported without a change here.
 */
#include "cmd/virt-controller/config_changes.h"
#include "api/codec.h"
#include "base/strings.h"
#include <stdio.h>
#include <stdlib.h>

struct walk {
    config_change each;
    void *userdata;
};

static char *text_of(yyjson_mut_val *value)
{
    char *text = value ? yyjson_mut_val_write(value, 0, NULL) : NULL;
    return text ? text : kb_strdup("");
}

static void compare(const struct walk *walk, const char *path, yyjson_mut_val *before, yyjson_mut_val *after);

/* The members of `of` with their counterparts in `other`; `added`: only those without one. */
static void compare_members(const struct walk *walk, const char *path, yyjson_mut_val *of, yyjson_mut_val *other,
                            bool added)
{
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(of);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&iter));) {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *value = yyjson_mut_obj_iter_get_val(key), *counterpart = yyjson_mut_obj_get(other, name);
        kb_cleanup_free char *below = kb_asprintf("%s%s%s", path, *path ? "." : "", name);
        if (!added)
            compare(walk, below, value, counterpart);
        else if (!counterpart)
            compare(walk, below, NULL, value);
    }
}

static void compare(const struct walk *walk, const char *path, yyjson_mut_val *before, yyjson_mut_val *after)
{
    if ((!before || yyjson_mut_is_obj(before)) && (!after || yyjson_mut_is_obj(after))) {
        compare_members(walk, path, before, after, false);
        compare_members(walk, path, after, before, true);
        return;
    }
    kb_cleanup_free char *old = text_of(before), *new = text_of(after);
    if (!kb_streq(old, new))
        walk->each(walk->userdata, path, old, new);
}

static void compare_gates(const struct walk *walk, const struct virt_config *before, const struct virt_config *after)
{
    static const char *const states[] = {"off", "on"};
    for (int gate = 0; gate < VIRT_N_GATES; gate++) {
        bool was = virt_gate(before, (enum virt_gate)gate), is = virt_gate(after, (enum virt_gate)gate);
        char name[96];
        snprintf(name, sizeof(name), "gate %s", virt_gate_table[gate].name);
        if (was != is)
            walk->each(walk->userdata, name, states[was], states[is]);
    }
}

void config_changes(const struct virt_config *before, const struct virt_config *after, config_change each,
                    void *userdata)
{
    const struct walk walk = {each, userdata};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    compare(&walk, "", api_encode_value(doc, &kv_kube_virt_configuration_type, before->spec, 0),
            api_encode_value(doc, &kv_kube_virt_configuration_type, after->spec, 0));
    yyjson_mut_doc_free(doc);
    compare_gates(&walk, before, after);
}
