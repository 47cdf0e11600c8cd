/*
 * Pod security: the namespace's label pod-security.kubernetes.io/enforce chooses the profile baseline or restricted.
 * Checked are those controls that can meet Pods of virtual machines; the texts are kube-apiserver's.
 */
#include "base/strings.h"
#include "base/vec.h"
#include "lab/admission.h"
#include "lab/json.h"

struct review {
    struct lab_write *w;
    struct kb_arena *arena;
    yyjson_mut_val *spec;
    struct {
        size_t n;
        yyjson_mut_val **items;
    } containers; /* all kinds, init containers first as in the plugin */
    struct kb_strbuf text;
};

struct names {
    size_t n;
    const char **items;
};

static void violate(struct review *r, const char *reason, const char *detail)
{
    kb_strbuf_printf(&r->text, "%s%s (%s)", r->text.length ? ", " : "", reason, detail);
}

/* container "a" / containers "a", "b" */
static const char *who(struct review *r, const struct names *names)
{
    struct kb_strbuf b = {.arena = r->arena};
    kb_strbuf_puts(&b, names->n > 1 ? "containers " : "container ");
    for (size_t i = 0; i < names->n; i++)
        kb_strbuf_printf(&b, "%s\"%s\"", i ? ", " : "", names->items[i]);
    return kb_strbuf_text(&b);
}

/* Names of the containers that `bad` picks. */
static struct names pick(struct review *r, bool (*bad)(struct review *r, yyjson_mut_val *container))
{
    struct names names = {0};
    for (size_t i = 0; i < r->containers.n; i++)
        if (bad(r, r->containers.items[i]))
            *kb_vec_push(r->arena, &names) = lab_mut_str(r->containers.items[i], "name");
    return names;
}

static yyjson_mut_val *context_of(yyjson_mut_val *container, const char *member)
{
    return LAB_AT(container, "securityContext", member);
}

static bool privileged(struct review *r, yyjson_mut_val *c)
{
    (void)r;
    return yyjson_mut_get_bool(context_of(c, "privileged"));
}

static bool may_escalate(struct review *r, yyjson_mut_val *c)
{
    (void)r;
    return !yyjson_mut_is_false(context_of(c, "allowPrivilegeEscalation"));
}

static bool keeps_capabilities(struct review *r, yyjson_mut_val *c)
{
    size_t i, n;
    yyjson_mut_val *v;
    (void)r;
    yyjson_mut_arr_foreach(LAB_AT(c, "securityContext", "capabilities", "drop"), i, n, v)
    {
        if (yyjson_mut_equals_str(v, "ALL"))
            return false;
    }
    return true;
}

static bool in_baseline(const char *capability)
{
    static const char *const allowed[] = {"AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE",     "FOWNER",  "FSETID",
                                          "KILL",        "MKNOD",  "NET_BIND_SERVICE", "SETFCAP", "SETGID",
                                          "SETPCAP",     "SETUID", "SYS_CHROOT"};
    return kb_in_list(capability, allowed, KB_ARRAY_LEN(allowed));
}

/* The containers that add forbidden capabilities, and the capabilities, as ("a", "b" must not include "X", "Y" in ...).
 */
static const char *added_capabilities(struct review *r, bool restricted)
{
    struct names bad = {0}, capabilities = {0};
    for (size_t k = 0; k < r->containers.n; k++) {
        size_t i, n, before = capabilities.n;
        bool any = false;
        yyjson_mut_val *v;
        yyjson_mut_arr_foreach(LAB_AT(r->containers.items[k], "securityContext", "capabilities", "add"), i, n, v)
        {
            const char *name = yyjson_mut_get_str(v);
            bool allowed = restricted ? kb_streq(name, "NET_BIND_SERVICE") : in_baseline(name);
            any |= !allowed;
            if (!allowed && !kb_in_list(name, capabilities.items, capabilities.n))
                *kb_vec_push(r->arena, &capabilities) = name;
        }
        (void)before;
        if (any)
            *kb_vec_push(r->arena, &bad) = lab_mut_str(r->containers.items[k], "name");
    }
    if (!bad.n)
        return NULL;
    struct kb_strbuf b = {.arena = r->arena};
    for (size_t i = 0; i < capabilities.n; i++)
        kb_strbuf_printf(&b, "%s\"%s\"", i ? ", " : "", capabilities.items[i]);
    return kb_arena_printf(r->arena, "%s must not include %s in securityContext.capabilities.add", who(r, &bad),
                           kb_strbuf_text(&b));
}

static void check_restricted_capabilities(struct review *r)
{
    struct names keep = pick(r, keeps_capabilities);
    const char *added = added_capabilities(r, true);
    struct kb_strbuf b = {.arena = r->arena};
    if (keep.n)
        kb_strbuf_printf(&b, "%s must set securityContext.capabilities.drop=[\"ALL\"]", who(r, &keep));
    if (added)
        kb_strbuf_printf(&b, "%s%s", b.length ? "; " : "", added);
    if (b.length)
        violate(r, "unrestricted capabilities", kb_strbuf_text(&b));
}

/* Whether a Pod or container member is `value`: 1 yes, 0 no, -1 not set. */
static int is_true(yyjson_mut_val *v)
{
    return !v ? -1 : yyjson_mut_get_bool(v);
}

static void check_non_root(struct review *r)
{
    int pod = is_true(LAB_AT(r->spec, "securityContext", "runAsNonRoot"));
    struct names denies = {0}, silent = {0};
    for (size_t i = 0; i < r->containers.n; i++) {
        int own = is_true(context_of(r->containers.items[i], "runAsNonRoot"));
        const char *name = lab_mut_str(r->containers.items[i], "name");
        if (own == 0)
            *kb_vec_push(r->arena, &denies) = name;
        else if (own < 0 && pod != 1)
            *kb_vec_push(r->arena, &silent) = name;
    }
    if (pod == 0 || denies.n) {
        const char *subject = denies.n ? who(r, &denies) : "pod";
        if (pod == 0 && denies.n)
            subject = kb_arena_printf(r->arena, "pod and %s", subject);
        violate(r, "runAsNonRoot != true",
                kb_arena_printf(r->arena, "%s must not set securityContext.runAsNonRoot=false", subject));
    } else if (silent.n) {
        violate(r, "runAsNonRoot != true",
                kb_arena_printf(r->arena, "pod or %s must set securityContext.runAsNonRoot=true", who(r, &silent)));
    }
}

static bool is_root(yyjson_mut_val *user)
{
    return yyjson_mut_is_int(user) && yyjson_mut_get_sint(user) == 0;
}

static bool runs_as_root(struct review *r, yyjson_mut_val *c)
{
    (void)r;
    return is_root(context_of(c, "runAsUser"));
}

static void check_user(struct review *r)
{
    bool pod = is_root(LAB_AT(r->spec, "securityContext", "runAsUser"));
    struct names bad = pick(r, runs_as_root);
    if (!pod && !bad.n)
        return;
    const char *subject = bad.n ? who(r, &bad) : "pod";
    if (pod && bad.n)
        subject = kb_arena_printf(r->arena, "pod and %s", subject);
    violate(r, "runAsUser=0", kb_arena_printf(r->arena, "%s must not set runAsUser=0", subject));
}

static bool seccomp_is_fine(yyjson_mut_val *profile)
{
    const char *type = lab_mut_str(profile, "type");
    return kb_streq(type, "RuntimeDefault") || kb_streq(type, "Localhost");
}

static bool lacks_seccomp(struct review *r, yyjson_mut_val *c)
{
    yyjson_mut_val *own = context_of(c, "seccompProfile");
    return !seccomp_is_fine(own ? own : LAB_AT(r->spec, "securityContext", "seccompProfile"));
}

static void check_seccomp(struct review *r)
{
    struct names bad = pick(r, lacks_seccomp);
    if (bad.n)
        violate(r, "seccompProfile",
                kb_arena_printf(r->arena,
                                "pod or %s must set securityContext.seccompProfile.type to \"RuntimeDefault\" "
                                "or \"Localhost\"",
                                who(r, &bad)));
}

/* "volume "a" uses restricted volume type "hostPath"" */
static void check_volumes(struct review *r)
{
    static const char *const allowed[] = {"configMap", "csi",   "downwardAPI",           "emptyDir",
                                          "ephemeral", "image", "persistentVolumeClaim", "projected",
                                          "secret"};
    struct names bad = {0}, types = {0};
    size_t i, n, j, m;
    yyjson_mut_val *v, *key, *value;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(r->spec, "volumes"), i, n, v)
    {
        yyjson_mut_obj_foreach(v, j, m, key, value)
        {
            const char *type = yyjson_mut_get_str(key);
            if (kb_streq(type, "name") || kb_in_list(type, allowed, KB_ARRAY_LEN(allowed)))
                continue;
            *kb_vec_push(r->arena, &bad) = lab_mut_str(v, "name");
            if (!kb_in_list(type, types.items, types.n))
                *kb_vec_push(r->arena, &types) = type;
        }
    }
    if (!bad.n)
        return;
    struct kb_strbuf b = {.arena = r->arena};
    for (i = 0; i < bad.n; i++)
        kb_strbuf_printf(&b, "%s\"%s\"", i ? ", " : bad.n > 1 ? "volumes " : "volume ", bad.items[i]);
    kb_strbuf_printf(&b, " use%s restricted volume type%s ", bad.n > 1 ? "" : "s", types.n > 1 ? "s" : "");
    for (i = 0; i < types.n; i++)
        kb_strbuf_printf(&b, "%s\"%s\"", i ? ", " : "", types.items[i]);
    violate(r, "restricted volume types", kb_strbuf_text(&b));
}

static void check_host(struct review *r)
{
    static const char *const flags[] = {"hostNetwork", "hostPID", "hostIPC"};
    struct kb_strbuf b = {.arena = r->arena};
    for (size_t i = 0; i < KB_ARRAY_LEN(flags); i++)
        if (yyjson_mut_get_bool(yyjson_mut_obj_get(r->spec, flags[i])))
            kb_strbuf_printf(&b, "%s%s=true", b.length ? ", " : "", flags[i]);
    if (b.length)
        violate(r, "host namespaces", kb_strbuf_text(&b));
    b = (struct kb_strbuf){.arena = r->arena};
    size_t i, n, count = 0;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(r->spec, "volumes"), i, n, v)
    {
        if (yyjson_mut_obj_get(v, "hostPath"))
            kb_strbuf_printf(&b, "%s\"%s\"", count++ ? ", " : "", lab_mut_str(v, "name"));
    }
    if (count)
        violate(r, "hostPath volumes",
                kb_arena_printf(r->arena, "volume%s %s", count > 1 ? "s" : "", kb_strbuf_text(&b)));
}

static void check_privileged(struct review *r)
{
    struct names bad = pick(r, privileged);
    if (bad.n)
        violate(r, "privileged",
                kb_arena_printf(r->arena, "%s must not set securityContext.privileged=true", who(r, &bad)));
}

static void add_containers(struct review *r, const char *list)
{
    size_t i, n;
    yyjson_mut_val *c;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(r->spec, list), i, n, c)
    {
        *kb_vec_push(r->arena, &r->containers) = c;
    }
}

static void check(struct review *r, bool restricted)
{
    const char *added = restricted ? NULL : added_capabilities(r, false);
    check_host(r);
    if (added)
        violate(r, "non-default capabilities", added);
    check_privileged(r);
    if (!restricted)
        return;
    struct names escalate = pick(r, may_escalate);
    if (escalate.n)
        violate(
            r, "allowPrivilegeEscalation != false",
            kb_arena_printf(r->arena, "%s must set securityContext.allowPrivilegeEscalation=false", who(r, &escalate)));
    check_restricted_capabilities(r);
    check_volumes(r);
    check_non_root(r);
    check_user(r);
    check_seccomp(r);
}

int lab_admit_pod_security(struct lab_write *w)
{
    yyjson_val *ns = lab_admission_find(w, "namespaces", NULL, w->call->namespace_);
    yyjson_val *labels = LAB_VAL_AT(ns, "metadata", "labels");
    const char *level = lab_val_str(labels, "pod-security.kubernetes.io/enforce");
    const char *version = lab_val_str(labels, "pod-security.kubernetes.io/enforce-version");
    if (!kb_streq(level, "restricted") && !kb_streq(level, "baseline"))
        return 0;
    struct review r = {.w = w, .arena = w->arena, .spec = yyjson_mut_obj_get(w->root, "spec"), .text.arena = w->arena};
    add_containers(&r, "initContainers");
    add_containers(&r, "containers");
    check(&r, kb_streq(level, "restricted"));
    if (!r.text.length)
        return 0;
    return lab_fail_forbidden(w->call, "violates PodSecurity \"%s:%s\": %s", level, *version ? version : "latest",
                              kb_strbuf_text(&r.text));
}
