/* Tests of virt/network/live_update: which changes of networks reach a running VMI. */
#include "instancetype_fixture.h"
#include "virt/network/live_update.h"

#define SPEC(interfaces, networks) "{'domain':{'devices':{'interfaces':[" interfaces "]}},'networks':[" networks "]}"
#define POD_NIC                    "{'name':'pod','masquerade':{}}"
#define POD_NET                    "{'name':'pod','pod':{}}"
#define NET(name)                  "{'name':'" name "','multus':{'networkName':'" name "'}}"
#define NIC(name, more)            "{'name':'" name "'" more "}"
#define BRIDGE                     ",'bridge':{}"
#define ABSENT                     ",'state':'absent'"

static void some_changes_need_a_restart(void **state)
{
    static const struct {
        const char *what, *current, *desired;
        bool restart;
    } rows[] = {
        {"nothing", SPEC(POD_NIC, POD_NET), SPEC(POD_NIC, POD_NET), false},
        {"an interface plugged", SPEC(POD_NIC, POD_NET), SPEC(POD_NIC "," NIC("a", BRIDGE), POD_NET "," NET("a")),
         false},
        {"an interface taken away", SPEC(POD_NIC "," NIC("a", BRIDGE), POD_NET "," NET("a")),
         SPEC(POD_NIC, POD_NET "," NET("a")), true},
        {"a network taken away", SPEC(POD_NIC, POD_NET "," NET("a")), SPEC(POD_NIC, POD_NET), true},
        {"a state", SPEC(NIC("a", BRIDGE), NET("a")), SPEC(NIC("a", BRIDGE ABSENT), NET("a")), false},
        {"a model", SPEC(NIC("a", BRIDGE), NET("a")), SPEC(NIC("a", BRIDGE ",'model':'e1000'"), NET("a")), true},
        {"a binding", SPEC(POD_NIC, POD_NET), SPEC(NIC("pod", BRIDGE), POD_NET), true},
        {"a NAD", SPEC(NIC("a", BRIDGE), NET("a")), SPEC(NIC("a", BRIDGE), "{'name':'a','multus':{'networkName':'b'}}"),
         false},
        {"the default of Multus", SPEC(NIC("a", BRIDGE), NET("a")),
         SPEC(NIC("a", BRIDGE), "{'name':'a','multus':{'networkName':'a','default':true}}"), true},
        {"a Pod network", SPEC("", ""), SPEC(POD_NIC, POD_NET), true},
        {"all but the Pod network", SPEC("", ""), SPEC(NIC("a", BRIDGE), NET("a")), false},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        if (virt_network_needs_restart(arena, FROM_TEXT(arena, kv_vmi_spec, rows[i].desired),
                                       FROM_TEXT(arena, kv_vmi_spec, rows[i].current)) != rows[i].restart)
            fail_msg("%s: restart should be %d", rows[i].what, rows[i].restart);
}

#define STATUS(name, interface) "{'name':'" name "','podInterfaceName':'" interface "'}"

static void a_vmi_follows_its_template(void **state)
{
    static const struct {
        const char *what, *current, *interfaces, *desired, *after;
    } rows[] = {
        {"a bridge is plugged", SPEC(POD_NIC, POD_NET), "", SPEC(POD_NIC "," NIC("a", BRIDGE), POD_NET "," NET("a")),
         SPEC(POD_NIC "," NIC("a", BRIDGE), POD_NET "," NET("a"))},
        {"SR-IOV is plugged", SPEC(POD_NIC, POD_NET), "",
         SPEC(POD_NIC "," NIC("a", ",'sriov':{}"), POD_NET "," NET("a")),
         SPEC(POD_NIC "," NIC("a", ",'sriov':{}"), POD_NET "," NET("a"))},
        {"other bindings aren't", SPEC(POD_NIC, POD_NET), "",
         SPEC(POD_NIC "," NIC("a", ",'binding':{'name':'x'}"), POD_NET "," NET("a")), SPEC(POD_NIC, POD_NET)},
        {"what is absent isn't", SPEC(POD_NIC, POD_NET), "",
         SPEC(POD_NIC "," NIC("a", BRIDGE ABSENT), POD_NET "," NET("a")), SPEC(POD_NIC, POD_NET)},
        {"an interface without network is", SPEC(POD_NIC, POD_NET), "", SPEC(POD_NIC "," NIC("a", BRIDGE), POD_NET),
         SPEC(POD_NIC "," NIC("a", BRIDGE), POD_NET)},
        {"two are plugged", SPEC("", ""), "", SPEC(NIC("a", BRIDGE) "," NIC("b", BRIDGE), NET("b") "," NET("a")),
         SPEC(NIC("a", BRIDGE) "," NIC("b", BRIDGE), NET("a") "," NET("b"))},
        {"a link goes down", SPEC(POD_NIC, POD_NET), "", SPEC(NIC("pod", ",'masquerade':{},'state':'down'"), POD_NET),
         SPEC(NIC("pod", ",'masquerade':{},'state':'down'"), POD_NET)},
        {"unplugging is asked for", SPEC(NIC("a", BRIDGE), NET("a")), STATUS("a", "pod16477688c0e"),
         SPEC(NIC("a", BRIDGE ABSENT), NET("a")), SPEC(NIC("a", BRIDGE ABSENT), NET("a"))},
        {"not with ordinal names", SPEC(NIC("a", BRIDGE), NET("a")), STATUS("a", "net1"),
         SPEC(NIC("a", BRIDGE ABSENT), NET("a")), SPEC(NIC("a", BRIDGE), NET("a"))},
        {"nor with unknown ones", SPEC(NIC("a", BRIDGE), NET("a")), STATUS("a", ""),
         SPEC(NIC("a", BRIDGE ABSENT), NET("a")), SPEC(NIC("a", BRIDGE), NET("a"))},
        {"absent stays absent", SPEC(NIC("a", BRIDGE ABSENT), NET("a")), STATUS("a", "pod16477688c0e"),
         SPEC(NIC("a", BRIDGE), NET("a")), SPEC(NIC("a", BRIDGE ABSENT), NET("a"))},
        {"what the guest let go is forgotten", SPEC(POD_NIC "," NIC("a", BRIDGE ABSENT), POD_NET "," NET("a")),
         STATUS("pod", "eth0"), SPEC(POD_NIC "," NIC("a", BRIDGE ABSENT), POD_NET "," NET("a")),
         SPEC(POD_NIC, POD_NET)},
        {"a NAD is changed", SPEC(NIC("a", BRIDGE), NET("a")), "",
         SPEC(NIC("a", BRIDGE), "{'name':'a','multus':{'networkName':'b'}}"),
         SPEC(NIC("a", BRIDGE), "{'name':'a','multus':{'networkName':'b'}}")},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kv_vmi *vmi = FROM_TEXT(
            arena, kv_vmi,
            kb_arena_printf(arena, "{'spec':%s,'status':{'interfaces':[%s]}}", rows[i].current, rows[i].interfaces));
        virt_network_sync_vmi(arena, FROM_TEXT(arena, kv_vmi_spec, rows[i].desired), vmi);
        print_message("%s\n", rows[i].what);
        expect_object(arena, &kv_vmi_spec_type, &vmi->spec, rows[i].after);
    }
}

static void a_vm_forgets_what_is_gone(void **state)
{
    static const char template[] = SPEC(POD_NIC "," NIC("a", BRIDGE ABSENT), POD_NET "," NET("a"));
    static const char without[] = SPEC(POD_NIC, POD_NET);
    static const struct {
        const char *vmi; /* NULL: there is none */
        const char *after;
    } rows[] = {
        {NULL, without},
        {"{}", without},
        {"{'spec':{'domain':{'devices':{'interfaces':[{'name':'a'}]}}}}", template},
        {"{'status':{'interfaces':[{'name':'a'}]}}", template},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        struct kv_vmi_spec *spec = FROM_TEXT(arena, kv_vmi_spec, template);
        virt_network_forget_detached(arena, spec, rows[i].vmi ? FROM_TEXT(arena, kv_vmi, rows[i].vmi) : NULL);
        expect_object(arena, &kv_vmi_spec_type, spec, rows[i].after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_changes_need_a_restart),
        cmocka_unit_test(a_vmi_follows_its_template),
        cmocka_unit_test(a_vm_forgets_what_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
