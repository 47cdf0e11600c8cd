/* Tests of the VM controller's pure questions: run strategy, requests, printableStatus. */
#include "base/strings.h"
#include "base/time.h"
#include "instancetype_fixture.h"
#include "virt/vm/vm_internal.h"

#define VM(spec, status) "{'metadata':{'name':'vm'},'spec':{" spec "},'status':{" status "}}"
#define REQUEST(text)    "'stateChangeRequests':[" text "]"

static void the_run_strategy_is_one_of_two_members(void **state)
{
    static const struct {
        const char *vm, *strategy; /* NULL: an error */
    } rows[] = {
        {VM("", ""), "Halted"},
        {VM("'running':false", ""), "Halted"},
        {VM("'running':true", ""), "Always"},
        {VM("'runStrategy':'RerunOnFailure'", ""), "RerunOnFailure"},
        {VM("'runStrategy':'Halted','running':false", ""), NULL},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const char *error = "", *strategy = vm_run_strategy(FROM_TEXT(arena, kv_vm, rows[i].vm), &error);
        assert_true(kb_streq_null(strategy, rows[i].strategy));
        if (!strategy)
            assert_string_equal(error, "Running and RunStrategy are mutually exclusive");
    }
}

static void only_the_first_request_counts(void **state)
{
    static const struct {
        const char *requests;
        const char *vmi; /* NULL: none */
        bool start, paused, stop, done;
    } rows[] = {
        {"", NULL, false, false, false, false},
        {"{'action':'Start'}", NULL, true, false, false, false},
        {"{'action':'Start','data':{'paused':'true'}}", NULL, true, true, false, false},
        {"{'action':'Start','data':{'paused':'yes'}}", NULL, true, false, false, false},
        {"{'action':'Start'}", "{'metadata':{'uid':'u'}}", true, false, false, true},
        {"{'action':'Start'}", "{'metadata':{'uid':'u'},'status':{'phase':'Failed'}}", true, false, false, false},
        {"{'action':'Start'}", "{'metadata':{'uid':'u','deletionTimestamp':'2026-01-01T00:00:00Z'}}", true, false,
         false, false},
        {"{'action':'Stop','uid':'u'}", "{'metadata':{'uid':'u'}}", false, false, true, false},
        {"{'action':'Stop','uid':'u'}", NULL, false, false, false, true},
        {"{'action':'Stop','uid':'v'}", "{'metadata':{'uid':'u'}}", false, false, false, true},
        {"{'action':'Stop'}", "{'metadata':{'uid':'u'}}", false, false, false, true},
        {"{'action':'Stop','uid':'u'},{'action':'Start'}", "{'metadata':{'uid':'u'}}", false, false, true, false},
        {"{'action':'Dance'},{'action':'Start'}", NULL, false, false, false, false},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct kv_vm *vm =
            FROM_TEXT(arena, kv_vm,
                      kb_arena_printf(arena, "{'spec':{},'status':{'stateChangeRequests':[%s]}}", rows[i].requests));
        const struct kv_vmi *vmi = rows[i].vmi ? FROM_TEXT(arena, kv_vmi, rows[i].vmi) : NULL;
        if (vm_has_start_request(vm) != rows[i].start || vm_has_start_paused_request(vm) != rows[i].paused ||
            (vmi && vm_has_stop_request_for(vm, vmi) != rows[i].stop) ||
            vm_first_request_is_done(vm, vmi) != rows[i].done)
            fail_msg("%s with %s", rows[i].requests, rows[i].vmi ? rows[i].vmi : "no VMI");
    }
}

static void some_vms_are_set_to_start(void **state)
{
    static const struct {
        const char *vm, *vmi;
        bool start;
    } rows[] = {
        {VM("'runStrategy':'Always'", ""), NULL, true},
        {VM("'runStrategy':'Halted'", ""), NULL, false},
        {VM("'runStrategy':'Manual'", ""), NULL, false},
        {VM("'runStrategy':'Manual'", REQUEST("{'action':'Start'}")), NULL, true},
        {VM("'runStrategy':'Manual'", ""), "{'metadata':{'uid':'u'}}", true},
        {VM("'runStrategy':'Manual'", REQUEST("{'action':'Stop','uid':'u'}")), "{'metadata':{'uid':'u'}}", false},
        {VM("'runStrategy':'RerunOnFailure'", ""), NULL, true},
        {VM("'runStrategy':'RerunOnFailure'", ""), "{'status':{'phase':'Succeeded'}}", false},
        {VM("'runStrategy':'RerunOnFailure'", ""), "{'status':{'phase':'Failed'}}", true},
        {VM("'runStrategy':'Once'", ""), NULL, true},
        {VM("'runStrategy':'Once'", ""), "{}", false},
        {VM("'runStrategy':'Always','running':true", ""), NULL, false},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++)
        if (vm_is_set_to_start(FROM_TEXT(arena, kv_vm, rows[i].vm),
                               rows[i].vmi ? FROM_TEXT(arena, kv_vmi, rows[i].vmi) : NULL) != rows[i].start)
            fail_msg("%s with %s: should be %d", rows[i].vm, rows[i].vmi ? rows[i].vmi : "no VMI", rows[i].start);
}

#define ALWAYS                          VM("'runStrategy':'Always'", "")
#define PHASE(phase)                    "{'status':{'phase':'" phase "'}}"
#define CONDITION(type, status, reason) "{'type':'" type "','status':'" status "','reason':'" reason "'}"
#define WITH(phase, condition)          "{'status':{'phase':'" phase "','conditions':[" condition "]}}"
#define DELETED                         "'deletionTimestamp':'2026-01-01T00:00:00Z'"
#define MIGRATING                       "{'status':{'phase':'Running','migrationState':{'startTimestamp':'2026-01-01T00:00:00Z'}}}"

static void the_first_status_that_holds_is_printed(void **state)
{
    static const struct {
        const char *status, *vm, *vmi; /* NULL: none */
        struct vm_facts facts;
    } rows[] = {
        {"Terminating", "{'metadata':{" DELETED "}}", PHASE("Running"), {0}},
        {"Stopping", ALWAYS, "{'metadata':{" DELETED "},'status':{'phase':'Running'}}", {0}},
        {"Stopping", ALWAYS, PHASE("Running"), {.stop_expected = true}},
        {"Stopped", VM("", ""), "{'metadata':{" DELETED "},'status':{'phase':'Succeeded'}}", {0}},
        {"Migrating", ALWAYS, MIGRATING, {0}},
        {"Running",
         ALWAYS,
         "{'status':{'phase':'Running','migrationState':{'startTimestamp':'2026-01-01T00:00:00Z',"
         "'endTimestamp':'2026-01-01T00:00:01Z'}}}",
         {0}},
        {"Paused", ALWAYS, WITH("Running", CONDITION("Paused", "True", "")), {0}},
        {"Running", ALWAYS, WITH("Running", CONDITION("Paused", "False", "")), {0}},
        {"Running", ALWAYS, PHASE("Running"), {.data_volume_error = true, .data_volume_provisioning = true}},
        {"ErrorPvcNotFound", ALWAYS, WITH("Pending", CONDITION("Synchronized", "False", "FailedPvcNotFound")), {0}},
        {"DataVolumeError", ALWAYS, NULL, {.data_volume_error = true, .data_volume_provisioning = true}},
        {"ErrorUnschedulable",
         ALWAYS,
         WITH("Scheduling", CONDITION("PodScheduled", "False", "Unschedulable")),
         {.data_volume_provisioning = true}},
        {"Provisioning", ALWAYS, NULL, {.data_volume_provisioning = true, .unbound_claim = true}},
        {"WaitingForVolumeBinding", ALWAYS, NULL, {.unbound_claim = true}},
        {"Stopped", VM("", ""), NULL, {.unbound_claim = true}},
        {"ErrImagePull", ALWAYS, WITH("Scheduling", CONDITION("Synchronized", "False", "ErrImagePull")), {0}},
        {"ImagePullBackOff", ALWAYS, WITH("Scheduling", CONDITION("Synchronized", "False", "ImagePullBackOff")), {0}},
        {"Starting", ALWAYS, WITH("Scheduling", CONDITION("Synchronized", "True", "ImagePullBackOff")), {0}},
        {"Starting", ALWAYS, PHASE(""), {0}},
        {"Starting", ALWAYS, PHASE("Pending"), {0}},
        {"Starting", ALWAYS, PHASE("Scheduled"), {0}},
        {"Starting", ALWAYS, NULL, {.start_expected = true}},
        {"CrashLoopBackOff", VM("'runStrategy':'Always'", "'startFailure':{'consecutiveFailCount':1}"), NULL, {0}},
        {"CrashLoopBackOff",
         VM("'runStrategy':'Once'", "'startFailure':{'consecutiveFailCount':1}"),
         PHASE("Failed"),
         {0}},
        {"Starting",
         VM("'runStrategy':'Always'", "'startFailure':{'consecutiveFailCount':1}"),
         NULL,
         {.start_expected = true}},
        {"Stopped", VM("'runStrategy':'Manual'", "'startFailure':{'consecutiveFailCount':1}"), NULL, {0}},
        {"Stopped", VM("'runStrategy':'Always'", "'startFailure':{'consecutiveFailCount':0}"), NULL, {0}},
        {"Stopped", ALWAYS, PHASE("Failed"), {0}},
        {"WaitingForReceiver", VM("'runStrategy':'WaitAsReceiver'", ""), PHASE("WaitingForSync"), {0}},
        {"Unknown", ALWAYS, PHASE("WaitingForSync"), {0}},
        {"Unknown", ALWAYS, PHASE("Odd"), {0}},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct kv_vmi *vmi = rows[i].vmi ? FROM_TEXT(arena, kv_vmi, rows[i].vmi) : NULL;
        struct vm_facts facts = rows[i].facts;
        assert_true(kb_time_parse("2026-01-02T00:00:00Z", &facts.now_ns));
        const char *status = vm_printable_status(FROM_TEXT(arena, kv_vm, rows[i].vm), vmi, &facts);
        if (!kb_streq(status, rows[i].status))
            fail_msg("%s with %s: got %s, not %s", rows[i].vm, rows[i].vmi ? rows[i].vmi : "no VMI", status,
                     rows[i].status);
    }
}

static void a_failed_start_is_waited_out(void **state)
{
    static const struct {
        const char *status;
        long long left_s;
    } rows[] = {
        {"", 0},
        {"'startFailure':{'consecutiveFailCount':1}", 0},
        {"'startFailure':{'retryAfterTimestamp':'2026-01-02T00:01:30Z'}", 90},
        {"'startFailure':{'retryAfterTimestamp':'2026-01-01T00:00:00Z'}", 0},
    };
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    int64_t now;

    (void)state;
    assert_true(kb_time_parse("2026-01-02T00:00:00Z", &now));
    for (size_t i = 0; i < KB_ARRAY_LEN(rows); i++) {
        const struct kv_vm *vm =
            FROM_TEXT(arena, kv_vm, kb_arena_printf(arena, "{'spec':{},'status':{%s}}", rows[i].status));
        assert_int_equal(vm_start_backoff_left_s(vm, now), rows[i].left_s);
    }
}

static void the_firmware_uuid_follows_from_the_name(void **state)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();

    (void)state;
    assert_string_equal(vm_firmware_uuid(arena, "vm1"), vm_firmware_uuid(arena, "vm1"));
    assert_string_not_equal(vm_firmware_uuid(arena, "vm1"), vm_firmware_uuid(arena, "vm2"));
    assert_string_equal(vm_firmware_uuid(arena, "testvm"), "5a9fc181-957e-5c32-9e5a-2de5e9673531");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_run_strategy_is_one_of_two_members),
        cmocka_unit_test(only_the_first_request_counts),
        cmocka_unit_test(some_vms_are_set_to_start),
        cmocka_unit_test(the_first_status_that_holds_is_printed),
        cmocka_unit_test(a_failed_start_is_waited_out),
        cmocka_unit_test(the_firmware_uuid_follows_from_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
