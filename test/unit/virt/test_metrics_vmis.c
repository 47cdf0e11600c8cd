/* Tests of the metrics over VMIs and migrations, and of phase transitions. */
#include "metrics_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define VMI_NAME "'metadata':{'namespace':'ns','name':'vmi','uid':'u1'}"

static void info_tells_guest_node_and_pod(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_INSTANCETYPE,
                        "{'metadata':{'namespace':'ns','name':'small','labels':{'instancetype.kubevirt.io/vendor':"
                        "'kubevirt.io'}}}");
    metrics_fixture_put(&f, VIRT_POD,
                        "{'metadata':{'namespace':'ns','name':'old','labels':{'kubevirt.io/created-by':'u1'}},'spec':{"
                        "'nodeName':'node01'},'status':{'phase':'Succeeded'}}");
    metrics_fixture_put(&f, VIRT_POD,
                        "{'metadata':{'namespace':'ns','name':'target','labels':{'kubevirt.io/created-by':'u1'}},"
                        "'spec':{'nodeName':'node02'},'status':{'phase':'Running'}}");
    metrics_fixture_put(&f, VIRT_POD,
                        "{'metadata':{'namespace':'ns','name':'virt-launcher-x','labels':{'kubevirt.io/created-by':"
                        "'u1'}},'spec':{'nodeName':'node01'},'status':{'phase':'Running'}}");
    metrics_fixture_put(
        &f, VIRT_VMI,
        "{'metadata':{'namespace':'ns','name':'vmi','uid':'u1','labels':{'kubevirt.io/outdatedLauncherImage':''},"
        "'annotations':{'vm.kubevirt.io/os':'fedora','kubevirt.io/instancetype-name':'small',"
        "'kubevirt.io/cluster-instancetype-name':'ignored','kubevirt.io/cluster-preference-name':'missing'}},"
        "'status':{'nodeName':'node01','phase':'Running','machine':{'type':'q35'},'guestOSInfo':{'name':'Fedora',"
        "'kernelRelease':'6.1','machine':'x86_64','versionId':'41'}}}");
    metrics_fixture_put(&f, VIRT_VMI, "{'metadata':{'namespace':'ns','name':'bare','uid':'u2'}}");
    metrics_fixture_assert(
        &f, "kubevirt_vmi_info",
        "kubevirt_vmi_info{evictable='true',flavor='',guest_os_arch='',guest_os_kernel_release='',guest_os_machine='',"
        "guest_os_name='',guest_os_version_id='',instance_type='',name='bare',namespace='ns',node='',os='',"
        "outdated='false',phase='',preference='',vmi_pod='',workload=''} 1\n"
        "kubevirt_vmi_info{evictable='true',flavor='',guest_os_arch='x86_64',guest_os_kernel_release='6.1',"
        "guest_os_machine='q35',guest_os_name='Fedora',guest_os_version_id='41',instance_type='small',name='vmi',"
        "namespace='ns',node='node01',os='fedora',outdated='true',phase='running',preference='<other>',"
        "vmi_pod='virt-launcher-x',workload=''} 1\n");
    metrics_fixture_done(&f);
}

static void who_should_migrate_but_cannot_is_not_evictable(void **state)
{
    static const struct {
        const char *cluster, *strategy, *migratable; /* NULL: not set */
        int non_evictable;
    } cases[] = {
        {NULL, NULL, NULL, 0},
        {NULL, "LiveMigrate", NULL, 1},
        {NULL, "LiveMigrate", "False", 1},
        {NULL, "LiveMigrate", "Unknown", 0},
        {NULL, "LiveMigrate", "True", 0},
        {NULL, "LiveMigrateIfPossible", "False", 0},
        {NULL, "LiveMigrateIfPossible", "True", 0},
        {NULL, "External", NULL, 0},
        {"LiveMigrate", NULL, NULL, 1},
        {"LiveMigrate", "None", NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct metrics_fixture f;
        metrics_fixture_init(&f, true);
        if (cases[i].cluster)
            metrics_fixture_configure(&f, kb_arena_printf(f.arena, "{'evictionStrategy':'%s'}", cases[i].cluster));
        const char *spec =
            cases[i].strategy ? kb_arena_printf(f.arena, "'evictionStrategy':'%s'", cases[i].strategy) : "";
        const char *condition =
            cases[i].migratable
                ? kb_arena_printf(f.arena, "{'type':'LiveMigratable','status':'%s'}", cases[i].migratable)
                : "";
        metrics_fixture_put(
            &f, VIRT_VMI,
            kb_arena_printf(f.arena, "{" VMI_NAME ",'spec':{%s},'status':{'conditions':[%s]}}", spec, condition));
        metrics_fixture_assert(&f, "kubevirt_vmi_non_evictable",
                               kb_arena_printf(f.arena,
                                               "kubevirt_vmi_non_evictable{name='vmi',namespace='ns',node=''} %d\n",
                                               cases[i].non_evictable));
        metrics_fixture_done(&f);
    }
}

static void addresses_are_told_once_each(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    metrics_fixture_put(&f, VIRT_VMI,
                        "{" VMI_NAME ",'status':{'nodeName':'n','interfaces':["
                        "{'name':'default','interfaceName':'eth0','ipAddress':'10.0.0.1'},"
                        "{'interfaceName':'lo'},{'mac':'02:00'},{},"
                        "{'name':'default','interfaceName':'eth0','ipAddress':'10.0.0.1'}]}}");
    metrics_fixture_assert(
        &f, "kubevirt_vmi_status_addresses",
        "kubevirt_vmi_status_addresses{address='',interface_name='lo',name='vmi',namespace='ns',node='n',"
        "type='SystemInterface',vnic_name=''} 1\n"
        "kubevirt_vmi_status_addresses{address='10.0.0.1',interface_name='eth0',name='vmi',namespace='ns',node='n',"
        "type='ExternalInterface',vnic_name='default'} 1\n");
    metrics_fixture_done(&f);
}

static void a_migration_is_told_with_its_name_and_result(void **state)
{
    static const struct {
        const char *result, *status;
    } cases[] = {
        {"'completed':false", ""}, {"'completed':true", "succeeded"}, {"'completed':true,'failed':true", "failed"}};
    (void)state;
    for (size_t i = 0; i < KB_ARRAY_LEN(cases); i++) {
        struct metrics_fixture f;
        metrics_fixture_init(&f, true);
        metrics_fixture_put(&f, VIRT_MIGRATION, "{'metadata':{'namespace':'ns','name':'move','uid':'m1'}}");
        metrics_fixture_put(&f, VIRT_VMI,
                            kb_arena_printf(f.arena,
                                            "{" VMI_NAME ",'status':{'nodeName':'n','migrationState':{'migrationUid':"
                                            "'m1','startTimestamp':'2026-01-01T00:00:00Z','endTimestamp':"
                                            "'2026-01-01T00:00:30Z',%s}}}",
                                            cases[i].result));
        metrics_fixture_put(&f, VIRT_VMI,
                            "{'metadata':{'namespace':'ns','name':'started'},'status':{'migrationState':{"
                            "'migrationUid':'gone','startTimestamp':'2026-01-01T00:00:00Z'}}}");
        metrics_fixture_assert(
            &f, "kubevirt_vmi_migration_start",
            "kubevirt_vmi_migration_start_time_seconds{migration_name='',name='started',namespace='ns',node=''} "
            "1.7672256e+09\n"
            "kubevirt_vmi_migration_start_time_seconds{migration_name='move',name='vmi',namespace='ns',node='n'} "
            "1.7672256e+09\n");
        metrics_fixture_assert(&f, "kubevirt_vmi_migration_end",
                               kb_arena_printf(f.arena,
                                               "kubevirt_vmi_migration_end_time_seconds{migration_name='move',"
                                               "name='vmi',namespace='ns',node='n',status='%s'} 1.76722563e+09\n",
                                               cases[i].status));
        metrics_fixture_done(&f);
    }
}

static void the_overhead_in_the_status_wins_over_the_sum(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    struct kv_vmi vmi = {.metadata = {.namespace = "ns", .name = "a"}};
    const struct virt_config *config = virt_config_current(f.context.config);
    int64_t sum = virt_launcher_memory_overhead(config, api_clone(f.arena, &kv_vmi_type, &vmi));
    virt_config_unref(config);
    assert_true(sum > 0);
    metrics_fixture_put(&f, VIRT_VMI, "{'metadata':{'namespace':'ns','name':'a'}}");
    metrics_fixture_put(&f, VIRT_VMI,
                        "{'metadata':{'namespace':'ns','name':'b'},'status':{'memory':{'memoryOverhead':'100k'}}}");
    char number[64];
    const char *text = metrics_fixture_text(&f);
    snprintf(number, sizeof number, "%s", strstr(text, "overhead_bytes{name=\"a\""));
    assert_true(strtod(strchr(number, ' '), NULL) == (double)sum);
    assert_non_null(
        strstr(text, "\nkubevirt_vmi_launcher_memory_overhead_bytes{name=\"b\",namespace=\"ns\"} 100000\n"));
    metrics_fixture_done(&f);
}

static void migrations_are_counted_by_phase(void **state)
{
    static const char *const phases[] = {"",
                                         "Pending",
                                         "Pending",
                                         "Scheduling",
                                         "Scheduled",
                                         "Running",
                                         "PreparingTarget",
                                         "TargetReady",
                                         "WaitingForSync",
                                         "Synchronizing",
                                         "Succeeded",
                                         "Failed",
                                         "PhaseOfALaterRelease"};
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    for (size_t i = 0; i < KB_ARRAY_LEN(phases); i++)
        metrics_fixture_put(&f, VIRT_MIGRATION,
                            kb_arena_printf(f.arena,
                                            "{'metadata':{'namespace':'ns','name':'m%02zu','uid':'%zu'},'spec':{"
                                            "'vmiName':'vmi'},'status':{'phase':'%s'}}",
                                            i, i, phases[i]));
    metrics_fixture_assert(&f, "kubevirt_vmi_migration",
                           "kubevirt_vmi_migration_failed{namespace='ns',vmi='vmi',vmim='m11'} 1\n"
                           "kubevirt_vmi_migration_succeeded{namespace='ns',vmi='vmi',vmim='m10'} 1\n"
                           "kubevirt_vmi_migrations_in_pending_phase 2\n"
                           "kubevirt_vmi_migrations_in_running_phase 6\n"
                           "kubevirt_vmi_migrations_in_scheduling_phase 1\n"
                           "kubevirt_vmi_migrations_in_unset_phase 1\n");
    metrics_fixture_done(&f);
}

/* ---- phase transitions ---- */

#define TIMES                                                                                                          \
    "'phaseTransitionTimestamps':[{'phase':'Pending','phaseTransitionTimestamp':'2026-01-01T00:00:01Z'},"              \
    "{'phase':'Running','phaseTransitionTimestamp':'2026-01-01T00:00:04Z'},"                                           \
    "{'phase':'Failed','phaseTransitionTimestamp':'2026-01-01T00:01:40Z'}]"

static void put_vmi(struct metrics_fixture *f, const char *deleted, const char *phase)
{
    metrics_fixture_put(f, VIRT_VMI,
                        kb_arena_printf(f->arena,
                                        "{'metadata':{'namespace':'ns','name':'vmi','creationTimestamp':"
                                        "'2026-01-01T00:00:00Z'%s},'status':{'phase':'%s'," TIMES "}}",
                                        deleted, phase));
}

static void assert_sums(struct metrics_fixture *f, const char *family, const char *expected)
{
    struct kb_strbuf found = {.arena = f->arena};
    const char *text = metrics_fixture_text(f);
    const char *sum = kb_arena_printf(f->arena, "%s_sum", family),
               *count = kb_arena_printf(f->arena, "%s_count", family);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, sum, strlen(sum)) == 0 || strncmp(line, count, strlen(count)) == 0)
            kb_strbuf_append(&found, line + strlen(family), strcspn(line, "\n") + 1 - strlen(family));
    assert_string_equal(kb_strbuf_text(&found), expected);
}

static void each_change_of_phase_is_observed(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    put_vmi(&f, "", ""); /* added */
    put_vmi(&f, "", "Pending");
    put_vmi(&f, "", "Pending"); /* the same phase */
    put_vmi(&f, "", "Running");
    put_vmi(&f, "", "Unknown"); /* has no time */
    put_vmi(&f, "", "Running"); /* the last phase has no time: observed only from creation */
    put_vmi(&f, ",'deletionTimestamp':'2026-01-01T00:01:00Z'", "Failed");
    assert_sums(
        &f, "kubevirt_vmi_phase_transition_time_seconds",
        "_sum{last_phase=\"\",phase=\"Pending\"} 1\n_count{last_phase=\"\",phase=\"Pending\"} 1\n"
        "_sum{last_phase=\"Pending\",phase=\"Running\"} 3\n_count{last_phase=\"Pending\",phase=\"Running\"} 1\n"
        "_sum{last_phase=\"Running\",phase=\"Failed\"} 96\n_count{last_phase=\"Running\",phase=\"Failed\"} 1\n");
    assert_sums(&f, "kubevirt_vmi_phase_transition_time_from_creation_seconds",
                "_sum{phase=\"Failed\"} 100\n_count{phase=\"Failed\"} 1\n"
                "_sum{phase=\"Pending\"} 1\n_count{phase=\"Pending\"} 1\n"
                "_sum{phase=\"Running\"} 8\n_count{phase=\"Running\"} 2\n");
    assert_sums(&f, "kubevirt_vmi_phase_transition_time_from_deletion_seconds",
                "_sum{phase=\"Failed\"} 40\n_count{phase=\"Failed\"} 1\n");
    metrics_fixture_done(&f);
}

static void time_that_goes_back_counts_as_none(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    put_vmi(&f, "", "Failed");
    put_vmi(&f, "", "Running");
    assert_sums(&f, "kubevirt_vmi_phase_transition_time_seconds",
                "_sum{last_phase=\"Failed\",phase=\"Running\"} 0\n_count{last_phase=\"Failed\",phase=\"Running\"} 1\n");
    metrics_fixture_assert(&f, "kubevirt_vmi_phase_transition_time_from_deletion", "");
    metrics_fixture_done(&f);
}

static void migrations_are_observed_from_their_creation(void **state)
{
    (void)state;
    struct metrics_fixture f;
    metrics_fixture_init(&f, true);
    static const char *const phases[] = {"Pending", "Running", "Running", "Unknown"};
    for (size_t i = 0; i < KB_ARRAY_LEN(phases); i++)
        metrics_fixture_put(&f, VIRT_MIGRATION,
                            kb_arena_printf(f.arena,
                                            "{'metadata':{'namespace':'ns','name':'m','uid':'m','creationTimestamp':"
                                            "'2026-01-01T00:00:00Z'},'status':{'phase':'%s'," TIMES "}}",
                                            phases[i]));
    assert_sums(&f, "kubevirt_vmi_migration_phase_transition_time_from_creation_seconds",
                "_sum{phase=\"Running\"} 4\n_count{phase=\"Running\"} 1\n");
    assert_non_null(strstr(metrics_fixture_text(&f),
                           "phase_transition_time_from_creation_seconds_bucket{phase=\"Running\",le=\"2\"} 0\n"));
    assert_non_null(strstr(metrics_fixture_text(&f),
                           "phase_transition_time_from_creation_seconds_bucket{phase=\"Running\",le=\"3600\"} 1\n"));
    metrics_fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_tells_guest_node_and_pod),
        cmocka_unit_test(who_should_migrate_but_cannot_is_not_evictable),
        cmocka_unit_test(addresses_are_told_once_each),
        cmocka_unit_test(a_migration_is_told_with_its_name_and_result),
        cmocka_unit_test(the_overhead_in_the_status_wins_over_the_sum),
        cmocka_unit_test(migrations_are_counted_by_phase),
        cmocka_unit_test(each_change_of_phase_is_observed),
        cmocka_unit_test(time_that_goes_back_counts_as_none),
        cmocka_unit_test(migrations_are_observed_from_their_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
