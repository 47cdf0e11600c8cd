/*
 * ResourceQuotas: a creation must fit into what status.hard allows beyond status.used, and is then counted there, as
 * kube-apiserver's plugin does. Nothing is counted back: that is the quota controller's work.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include "lab/admission.h"
#include "lab/client.h"
#include "lab/json.h"
#include "lab/server_internal.h"

struct usage {
    const char *name;
    struct kb_quantity value;
};

#define MAX_USAGES 64

struct usages {
    size_t n;
    struct usage items[MAX_USAGES];
};

static void count(struct usages *u, const char *name, struct kb_quantity value)
{
    for (size_t i = 0; i < u->n; i++) {
        if (!kb_streq(u->items[i].name, name))
            continue;
        u->items[i].value = kb_quantity_add(u->items[i].value, value);
        return;
    }
    if (u->n < MAX_USAGES)
        u->items[u->n++] = (struct usage){name, value};
}

static struct kb_quantity one(void)
{
    return kb_quantity_from(1, KB_QUANTITY_DECIMAL_SI);
}

static struct kb_quantity counted(const struct usages *u, const char *name)
{
    for (size_t i = 0; i < u->n; i++)
        if (kb_streq(u->items[i].name, name))
            return u->items[i].value;
    return kb_quantity_from(0, KB_QUANTITY_DECIMAL_SI);
}

enum container_kind { CONTAINERS, SIDECARS, INIT_CONTAINERS };

/* One list of the Pod's containers: adds its requests or limits to `u`; init containers run one after another, beside
 * the sidecars alone, and so only raise what is needed. */
static void count_containers(struct lab_write *w, enum container_kind kind, const char *member,
                             const struct usages *sidecars, struct usages *u)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec"), *c, *key, *value;
    size_t i, n, j, m;
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(spec, kind == CONTAINERS ? "containers" : "initContainers"), i, n, c)
    {
        bool sidecar = kb_streq(lab_mut_str(c, "restartPolicy"), "Always");
        if (kind != CONTAINERS && sidecar != (kind == SIDECARS))
            continue;
        yyjson_mut_obj_foreach(LAB_AT(c, "resources", member), j, m, key, value)
        {
            const char *name = kb_arena_printf(w->arena, "%s.%s", member, yyjson_mut_get_str(key));
            struct kb_quantity q = kb_quantity_of(yyjson_mut_is_str(value) ? yyjson_mut_get_str(value) : "");
            if (kind == INIT_CONTAINERS) {
                struct kb_quantity needed = kb_quantity_add(q, counted(sidecars, name)), have = counted(u, name);
                if (kb_quantity_compare(needed, have) <= 0)
                    continue;
                q = kb_quantity_sub(needed, have);
            }
            count(u, name, q);
        }
    }
}

static void pod_usage(struct lab_write *w, struct usages *u)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(w->root, "spec"), *key, *value;
    static const char *const members[] = {"requests", "limits"};
    count(u, "pods", one());
    for (size_t k = 0; k < KB_ARRAY_LEN(members); k++) {
        struct usages sidecars = {0};
        count_containers(w, SIDECARS, members[k], NULL, &sidecars);
        count_containers(w, CONTAINERS, members[k], NULL, u);
        count_containers(w, SIDECARS, members[k], NULL, u);
        count_containers(w, INIT_CONTAINERS, members[k], &sidecars, u);
    }
    size_t i, n;
    yyjson_mut_obj_foreach(yyjson_mut_obj_get(spec, "overhead"), i, n, key, value)
    {
        count(u, kb_arena_printf(w->arena, "requests.%s", yyjson_mut_get_str(key)),
              kb_quantity_of(yyjson_mut_get_str(value)));
    }
    for (i = 0, n = u->n; i < n; i++) {
        const char *bare = kb_after_prefix(u->items[i].name, "requests.");
        if (bare && (kb_streq(bare, "cpu") || kb_streq(bare, "memory")))
            count(u, bare, u->items[i].value);
    }
}

static void claim_usage(struct lab_write *w, struct usages *u)
{
    struct kb_quantity size = kb_quantity_of(lab_mut_str(LAB_AT(w->root, "spec", "resources", "requests"), "storage"));
    const char *class = lab_mut_str(yyjson_mut_obj_get(w->root, "spec"), "storageClassName");
    count(u, "persistentvolumeclaims", one());
    count(u, "requests.storage", size);
    if (!*class)
        return;
    count(u, kb_arena_printf(w->arena, "%s.storageclass.storage.k8s.io/requests.storage", class), size);
    count(u, kb_arena_printf(w->arena, "%s.storageclass.storage.k8s.io/persistentvolumeclaims", class), one());
}

static void usage_of(struct lab_write *w, struct usages *u)
{
    static const char *const counted[] = {"services", "secrets", "configmaps", "replicationcontrollers",
                                          "resourcequotas"};
    const char *resource = w->call->kind->resource;
    count(u, kb_arena_printf(w->arena, "count/%s", resource), one());
    if (kb_streq(resource, "pods"))
        pod_usage(w, u);
    else if (kb_streq(resource, "persistentvolumeclaims"))
        claim_usage(w, u);
    else if (kb_in_list(resource, counted, KB_ARRAY_LEN(counted)))
        count(u, resource, one());
}

static void add_pair(struct lab_write *w, struct kb_strbuf *b, const char *name, struct kb_quantity q)
{
    kb_strbuf_printf(b, "%s%s=%s", b->length ? "," : "", name, kb_quantity_text(w->arena, q));
}

static struct kb_quantity listed(yyjson_val *list, const char *name)
{
    return kb_quantity_of(lab_val_str(list, name));
}

/* Collects into `new_used` (a merge patch of status.used) what the quota counts. */
static int check_quota(struct lab_write *w, yyjson_val *quota, const struct usages *u, struct kb_strbuf *new_used)
{
    yyjson_val *hard = LAB_VAL_AT(quota, "status", "hard"), *used = LAB_VAL_AT(quota, "status", "used");
    struct kb_strbuf requested = {.arena = w->arena}, had = {.arena = w->arena}, limited = {.arena = w->arena};
    for (size_t i = 0; i < u->n; i++) {
        const char *name = u->items[i].name;
        if (!yyjson_obj_get(hard, name))
            continue;
        struct kb_quantity sum = kb_quantity_add(listed(used, name), u->items[i].value);
        kb_strbuf_printf(new_used, "%s\"%s\":\"%s\"", new_used->length ? "," : "", name,
                         kb_quantity_text(w->arena, sum));
        if (kb_quantity_compare(sum, listed(hard, name)) <= 0)
            continue;
        add_pair(w, &requested, name, u->items[i].value);
        add_pair(w, &had, name, listed(used, name));
        add_pair(w, &limited, name, listed(hard, name));
    }
    if (!requested.length)
        return 0;
    return lab_fail_forbidden(w->call, "exceeded quota: %s, requested: %s, used: %s, limited: %s",
                              lab_val_str(yyjson_obj_get(quota, "metadata"), "name"), kb_strbuf_text(&requested),
                              kb_strbuf_text(&had), kb_strbuf_text(&limited));
}

/* Stores the usage; another creation may have been counted meanwhile: then the quota is checked again. */
static int charge(struct lab_write *w, yyjson_val *quota, const char *used)
{
    yyjson_val *metadata = yyjson_obj_get(quota, "metadata");
    const char *name = lab_val_str(metadata, "name");
    struct lab_call call = *w->call;
    call.resource = lab_server_resource(call.server, "resourcequotas");
    call.kind = lab_resource_kind(call.resource);
    call.version = call.kind->storage;
    call.verb = LAB_VERB_PATCH;
    call.name = name;
    call.subresource = "status";
    call.patch_type = LAB_PATCH_MERGE;
    call.result = (struct lab_result){0};
    const char *patch =
        kb_arena_printf(w->arena, "{\"metadata\":{\"resourceVersion\":\"%s\"},\"status\":{\"used\":{%s}}}",
                        lab_val_str(metadata, "resourceVersion"), used);
    call.body = lab_json_parse(w->arena, patch, strlen(patch), NULL);
    int rc = lab_serve_patch(&call);
    lab_call_done(&call);
    return rc;
}

int lab_admit_quota(struct lab_write *w)
{
    struct lab_call *call = w->call;
    yyjson_val **quotas;
    if (!call->kind->namespaced || call->options.dry_run)
        return 0;
    size_t n = lab_admission_list(w, "resourcequotas", call->namespace_, &quotas);
    if (!n)
        return 0;
    struct usages u = {0};
    usage_of(w, &u);
    for (size_t i = 0; i < n; i++) {
        struct kb_strbuf used = {.arena = w->arena};
        if (check_quota(w, quotas[i], &u, &used) < 0)
            return -1;
        if (used.length && charge(w, quotas[i], kb_strbuf_text(&used)) < 0)
            return lab_admit_quota(w);
    }
    return 0;
}
