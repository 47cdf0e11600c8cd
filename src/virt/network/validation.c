/*
 * Bindings that are no more.
 */
#include "virt/network/validation.h"

#include "base/strbuf.h"
#include "base/strings.h"

static void add(struct kb_strbuf *problems, const char *field, size_t index, const char *member, const char *what)
{
    if (problems->length > 0)
        kb_strbuf_putc(problems, '\n');
    kb_strbuf_printf(problems,
                     "&StatusCause{Type:FieldValueInvalid,Message:%s has been discontinued since v1.3,"
                     "Field:%s.domain.devices.interfaces[%zu].%s,}",
                     what, field, index, member);
}

const char *virt_network_problems(struct kb_arena *arena, const char *field, const struct kv_vmi_spec *spec)
{
    struct kb_strbuf problems = {.arena = arena};

    for (size_t i = 0; i < spec->domain.devices.interfaces.n; i++) {
        const struct kv_interface *interface = &spec->domain.devices.interfaces.items[i];

        if (interface->slirp)
            add(&problems, field, i, "slirp", "Slirp interface support");
        if (interface->passt)
            add(&problems, field, i, "passt", "Passt network binding");
        if (interface->macvtap)
            add(&problems, field, i, "macvtap", "Macvtap network binding");
    }
    return problems.length > 0 ? kb_strbuf_text(&problems) : NULL;
}
