/*
 * Static tokens, see auth.h.
 */
#include "lab/auth.h"
#include "base/strings.h"
#include "lab/server_internal.h"

int lab_auth_user(struct lab_call *call, const char *authorization)
{
    const struct lab_server *s = call->server;
    call->user = "system:anonymous";
    call->groups = "system:unauthenticated";
    if (!*authorization && !s->require_token)
        return 0;
    const char *token = kb_after_prefix(authorization, "Bearer ");
    for (size_t i = 0; token && i < s->n_users; i++) {
        if (!kb_streq(s->users[i].token, token))
            continue;
        call->user = s->users[i].name;
        call->groups = s->users[i].groups;
        return 0;
    }
    return lab_fail(call, 401, "Unauthorized", "Unauthorized");
}
