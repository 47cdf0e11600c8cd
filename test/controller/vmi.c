/*
 * One instance and its surroundings.
 */
#include "vmi.h"

#include "base/strings.h"
#include "virt/conditions.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

int vmi_set_up(void **state)
{
    struct cluster *c = cluster_new();

    virt_vmi_controller_add(cluster_context(c), 0);
    *state = c;
    return 0;
}

int vmi_tear_down(void **state)
{
    cluster_free(*state);
    return 0;
}

void vmi_create(struct cluster *c, const char *spec)
{
    char json[4096];

    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"vmi1\",\"finalizers\":[\"kubevirt.io/foregroundDeleteVirtualMachine\"]},"
             "\"spec\":{\"architecture\":\"amd64\",\"domain\":{\"devices\":{},\"resources\":{\"requests\":{\"memory\":"
             "\"64Mi\"}}}%s}}",
             spec);
    cluster_create(c, VMIS, json);
}

const struct kv_vmi *vmi_get(struct cluster *c)
{
    return cluster_get(c, &kv_vmi_type, "vmi1");
}

size_t vmi_pods(struct cluster *c, const char *generate_name)
{
    const struct cluster_list pods = cluster_list(c, &core_pod_type);
    size_t n = 0;

    for (size_t i = 0; i < pods.n; i++)
        n += kb_streq(((const struct core_pod *)pods.items[i])->metadata.generate_name, generate_name);
    return n;
}

const struct core_pod *vmi_pod(struct cluster *c)
{
    const struct cluster_list pods = cluster_list(c, &core_pod_type);
    const struct core_pod *found = NULL;

    for (size_t i = 0; i < pods.n; i++) {
        const struct core_pod *pod = pods.items[i];

        if (!kb_streq(pod->metadata.generate_name, "virt-launcher-vmi1-"))
            continue;
        if (found)
            fail_msg("two launcher Pods: %s and %s", found->metadata.name, pod->metadata.name);
        found = pod;
    }
    return found;
}

void vmi_run_pod(struct cluster *c, const char *pod)
{
    cluster_patch(
        c, "pods/status", pod,
        "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
        "\"containerStatuses\":[{\"name\":\"compute\",\"image\":\"launcher:v1\",\"imageID\":\"\",\"ready\":true,"
        "\"restartCount\":0,\"state\":{\"running\":{}}}]}}");
}

void vmi_start_guest(struct cluster *c)
{
    cluster_patch(c, VMIS, "vmi1",
                  "{\"status\":{\"phase\":\"Running\",\"interfaces\":[{\"name\":\"default\",\"infoSource\":\"domain\","
                  "\"queueCount\":1}]}}");
}

void vmi_bring_up(struct cluster *c, const char *spec)
{
    vmi_create(c, spec);
    cluster_settle(c);
    assert_non_null(vmi_pod(c));
    cluster_bind(c, vmi_pod(c)->metadata.name, "node01");
    vmi_run_pod(c, vmi_pod(c)->metadata.name);
    cluster_settle(c);
    vmi_assert_phase(c, "Scheduled");
    vmi_start_guest(c);
    cluster_settle(c);
    vmi_assert_phase(c, "Running");
    cluster_writes(c);
}

void vmi_assert_phase(struct cluster *c, const char *phase)
{
    const struct kv_vmi *vmi = vmi_get(c);

    assert_non_null(vmi);
    assert_string_equal(vmi->status.phase, phase);
}

const char *vmi_condition(struct cluster *c, const char *type)
{
    static char text[256];
    const struct kv_vmi_condition *condition = virt_vmi_condition(vmi_get(c), type);

    if (!condition)
        return "";
    snprintf(text, sizeof text, "%s %s", condition->status, condition->reason);
    return text;
}
