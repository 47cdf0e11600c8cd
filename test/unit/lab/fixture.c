/*
 * See fixture.h.
 */
#include "fixture.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "lab/json.h"
#include <stdlib.h>

#define START_NS 1767323045000000000LL /* 2026-01-02T03:04:05Z */

static int setup(void **state, size_t history)
{
    struct kube_error err;
    struct fixture *f = kb_malloc(sizeof(*f));
    f->arena = kb_arena_new();
    f->clock = kb_clock_fake_new(START_NS);
    f->random = kb_random_seeded(1);
    struct lab_server_options options = {
        .clock = kb_clock_fake_clock(f->clock), .random = f->random, .watch_history = history, .no_background = true};
    if (lab_server_new(&options, &f->server, &err) < 0)
        fail_msg("%s", err.message);
    f->client = lab_client_new(f->server, "tester");
    *state = f;
    return 0;
}

int fixture_setup(void **state)
{
    return setup(state, 0);
}

int fixture_setup_small_history(void **state)
{
    return setup(state, 4);
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    lab_client_free(f->client);
    lab_server_free(f->server);
    free(f->random);
    kb_clock_fake_free(f->clock);
    kb_arena_free(f->arena);
    free(f);
    return 0;
}

struct lab_ref at(const char *resource, const char *name)
{
    return (struct lab_ref){.resource = resource, .namespace_ = "default", .name = name};
}

void must_create(struct fixture *f, const char *resource, const char *body)
{
    struct kube_error err;
    struct lab_ref ref = at(resource, NULL);
    if (lab_client_create_text(f->client, &ref, body, NULL, &err) < 0)
        fail_msg("create %s: %s", resource, err.message);
}

void must_patch(struct fixture *f, const char *resource, const char *name, const char *merge_patch)
{
    struct kube_error err;
    struct lab_ref ref = at(resource, name);
    if (lab_client_patch_text(f->client, &ref, LAB_PATCH_MERGE, merge_patch, NULL, &err) < 0)
        fail_msg("patch %s %s: %s", resource, name, err.message);
}

void must_delete(struct fixture *f, const char *resource, const char *name)
{
    struct kube_error err;
    struct lab_ref ref = at(resource, name);
    if (lab_client_delete(f->client, &ref, NULL, &err) < 0)
        fail_msg("delete %s %s: %s", resource, name, err.message);
}

yyjson_val *look(struct fixture *f, const char *resource, const char *name)
{
    struct lab_ref ref = at(resource, name);
    lab_cleanup_object struct lab_object *o = NULL;
    if (lab_client_get(f->client, &ref, &o, NULL) < 0)
        return NULL;
    return lab_object_parse(f->arena, o, NULL);
}

const char *member(struct fixture *f, yyjson_val *object, const char *pointer)
{
    yyjson_val *v = yyjson_ptr_get(object, pointer);
    if (!v)
        return "";
    return yyjson_is_str(v) ? yyjson_get_str(v) : lab_json_write_val(f->arena, v, NULL);
}

const char *refusal(struct fixture *f, const char *resource, const char *body)
{
    struct kube_error err;
    struct lab_ref ref = at(resource, NULL);
    if (lab_client_create_text(f->client, &ref, body, NULL, &err) == 0)
        fail_msg("the server took %s", body);
    return kb_arena_strdup(f->arena, err.message);
}

const char *drain(struct fixture *f, struct lab_watch *watch)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
    struct kb_strbuf b = {.arena = f->arena};
    struct lab_watch_event e;
    int rc;
    while ((rc = lab_watch_next(watch, &e)) > 0) {
        kb_strbuf_printf(&b, "%s%s %s", b.length ? ", " : "", names[e.type], e.object->meta->name);
        lab_watch_event_done(&e);
    }
    return rc < 0 ? "expired" : kb_strbuf_text(&b);
}
