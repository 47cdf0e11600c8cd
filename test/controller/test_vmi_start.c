/* Tests of the VMI controller: from creation to running, and what ends it on the way. */
#include "support/cluster.h"
#include "virt/conditions.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void an_instance_gets_a_pod(void **state)
{
    struct cluster *c = *state;

    cluster_create(
        c, "virtualmachineinstances.kubevirt.io",
        "{\"metadata\":{\"name\":\"vmi1\"},\"spec\":{\"domain\":{\"devices\":{},\"resources\":{\"requests\":{"
        "\"memory\":\"64Mi\"}}}}}");
    cluster_settle(c);
    printf("%s\n%s", cluster_writes(c), cluster_events(c));
    cluster_advance(c, 2 * KB_NS_PER_S);
    printf("%s\n%s", cluster_writes(c), cluster_events(c));
}

static int set_up(void **state)
{
    struct cluster *c = cluster_new();

    virt_vmi_controller_add(cluster_context(c), 0);
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    cluster_free(*state);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_instance_gets_a_pod),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
