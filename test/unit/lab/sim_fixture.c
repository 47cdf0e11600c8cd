/*
 * See sim_fixture.h.
 */
#include "sim_fixture.h"
#include "base/strings.h"
#include <stdlib.h>

int sim_fixture_setup(void **state, const struct lab_sim_options *options)
{
    struct kube_error err;
    struct sim_fixture *s = kb_malloc(sizeof(*s));
    fixture_setup((void **)&s->f);
    if (lab_sim_new(s->f->server, options, &s->sim, &err) < 0)
        fail_msg("%s", err.message);
    settle(s);
    *state = s;
    return 0;
}

int sim_fixture_teardown(void **state)
{
    struct sim_fixture *s = *state;
    void *f = s->f;
    lab_sim_free(s->sim);
    free(s);
    return fixture_teardown(&f);
}

void settle(struct sim_fixture *s)
{
    bool more;
    do {
        more = lab_sim_run(s->sim);
        more |= lab_server_run(s->f->server);
    } while (more);
}

void pass(struct sim_fixture *s, int64_t ns)
{
    kb_clock_fake_advance(s->f->clock, ns);
    settle(s);
}

const char *see(struct sim_fixture *s, const char *resource, const char *name, const char *pointer)
{
    yyjson_val *o = look(s->f, resource, name);
    return o ? member(s->f, o, pointer) : "gone";
}

void make_pod(struct sim_fixture *s, const char *name, const char *more)
{
    must_create(
        s->f, "pods",
        lab_json_printf(s->f->arena,
                        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"web\"}},\"spec\":{%s\"containers\":["
                        "{\"name\":\"c\",\"image\":\"registry.local/c:1\"}]}}",
                        name, more));
}

void make_scheduled_vmi(struct sim_fixture *s, const char *name, const char *more)
{
    must_create(
        s->f, VMIS,
        lab_json_printf(s->f->arena,
                        "{\"metadata\":{\"name\":\"%s\",\"finalizers\":[\"a/b\"]},\"spec\":{\"domain\":{"
                        "\"devices\":{\"interfaces\":[{\"name\":\"default\"},{\"name\":\"second\",\"macAddress\":"
                        "\"02:00:00:00:00:07\"}]}}},\"status\":{\"phase\":\"Scheduled\",\"nodeName\":\"node01\"%s}}",
                        name, more));
}
