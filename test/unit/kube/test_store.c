/* Tests of kube/store.h: rules one by one, and long random histories against a model that has no tables. */
#include "api/meta.h"
#include "api/types/core.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "kube/store.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void by_node(const void *object, struct kube_index_sink *sink)
{
    const struct core_pod *pod = object;
    if (*pod->spec.node_name)
        kube_index_add(sink, pod->spec.node_name);
}
static void by_label(const void *object, struct kube_index_sink *sink)
{
    const struct core_pod *pod = object;
    api_list_foreach (entry, &pod->metadata.labels)
        kube_index_add_pair(sink, pod->metadata.namespace, entry->value);
}
static const struct kube_index indexes[] = {{"node", by_node}, {"label", by_label}};

static const struct api_object *pod_of(const char *namespace_, const char *name, const char *version, const char *uid,
                                       const char *node)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    struct core_pod *pod = kb_arena_one(arena, struct core_pod);
    pod->metadata.namespace = namespace_;
    pod->metadata.name = name;
    pod->metadata.resource_version = version;
    pod->metadata.uid = uid;
    pod->spec.node_name = node;
    if (*node)
        api_map_set(arena, &pod->metadata.labels, "l", node);
    return api_object_new(&core_pod_type, pod);
}

/* What handlers were told: "+ns/name@version", "-...", "~ns/name@old>new". */
struct told {
    struct kb_strbuf text;
};
static void tell(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct kb_strbuf *text = &((struct told *)userdata)->text;
    const struct api_any *old = before ? api_object_data(before) : NULL;
    const struct api_any *new = after ? api_object_data(after) : NULL;
    const struct api_any *any = new ? new : old;
    kb_strbuf_printf(text, "%s%c%s/%s@", text->length ? " " : "",
                     !old   ? '+'
                     : !new ? '-'
                            : '~',
                     any->metadata.namespace, any->metadata.name);
    if (old && new)
        kb_strbuf_printf(text, "%s>%s", old->metadata.resource_version, new->metadata.resource_version);
    else
        kb_strbuf_puts(text, any->metadata.resource_version);
}

struct fixture {
    struct kube_store *store;
    struct told told;
};
static int set_up(void **state)
{
    struct fixture *f = kb_malloc(sizeof *f);
    f->store = kube_store_new(&core_pod_type, indexes, KB_ARRAY_LEN(indexes));
    kube_store_add_handler(f->store, tell, &f->told);
    *state = f;
    return 0;
}
static int tear_down(void **state)
{
    struct fixture *f = *state;
    kube_store_free(f->store);
    kb_strbuf_done(&f->told.text);
    free(f);
    return 0;
}

static void expect_told(struct fixture *f, const char *expected)
{
    assert_string_equal(kb_strbuf_text(&f->told.text), expected);
    kb_strbuf_clear(&f->told.text);
}

enum op { APPLY, REMOVE, WRITTEN };
static void change(struct fixture *f, enum op op, const char *name, const char *version, const char *uid,
                   const char *node)
{
    const struct api_object *pod = pod_of("ns", name, version, uid, node);
    if (op == APPLY)
        kube_store_apply(f->store, pod);
    else if (op == REMOVE)
        kube_store_remove(f->store, pod);
    else
        kube_store_put_written(f->store, pod);
    api_object_unref(pod);
}

/* "ns/name@version ns/name@version" */
static void assert_list(struct kube_objects list, const char *expected)
{
    kb_cleanup_strbuf struct kb_strbuf text = {0};
    for (size_t i = 0; i < list.n; i++) {
        const struct api_any *any = api_object_data(list.items[i]);
        kb_strbuf_printf(&text, "%s%s/%s@%s", i ? " " : "", any->metadata.namespace, any->metadata.name,
                         any->metadata.resource_version);
    }
    kube_objects_done(&list);
    assert_string_equal(kb_strbuf_text(&text), expected);
}

static void handlers_hear_of_every_change_with_both_states(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "1", "u", "");
    change(f, APPLY, "a", "2", "u", "");
    change(f, REMOVE, "a", "3", "u", "");
    expect_told(f, "+ns/a@1 ~ns/a@1>2 -ns/a@3");
    assert_int_equal(kube_store_count(f->store), 0);
}

static void what_is_not_newer_is_dropped(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "10", "u", "");
    change(f, APPLY, "a", "9", "u", "");
    change(f, APPLY, "a", "10", "u", "");
    expect_told(f, "+ns/a@10");
    change(f, APPLY, "a", "100", "u", "");
    expect_told(f, "~ns/a@10>100");
}

static void versions_that_are_not_numbers_count_as_newer(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "x2", "u", "");
    change(f, APPLY, "a", "x1", "u", "");
    change(f, APPLY, "a", "x1", "u", "");
    change(f, APPLY, "a", "99999999999999999999999999", "u", "");
    expect_told(f, "+ns/a@x2 ~ns/a@x2>x1 ~ns/a@x1>99999999999999999999999999");
}

static void an_own_write_is_told_once(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "1", "u", "");
    change(f, WRITTEN, "a", "2", "u", "");
    expect_told(f, "+ns/a@1 ~ns/a@1>2");
    change(f, APPLY, "a", "2", "u", "");
    expect_told(f, "");
}

static void an_event_that_would_change_nothing_is_known_by_its_version(void **state)
{
    struct fixture *f = *state;
    change(f, WRITTEN, "a", "5", "u", "");
    assert_false(kube_store_repeats(f->store, "ns", "a", "6"));
    assert_false(kube_store_repeats(f->store, "ns", "b", "5"));
    change(f, WRITTEN, "b", "4", "u", ""); /* nothing has passed 4 by that */
    expect_told(f, "+ns/a@5 +ns/b@4");
    assert_true(kube_store_repeats(f->store, "ns", "a", "5"));
    change(f, WRITTEN, "c", "5", "u", ""); /* the stream has passed 5 now */
    expect_told(f, "");
    kube_store_relist_begin(f->store); /* whose objects count as listed when they are applied */
    assert_false(kube_store_repeats(f->store, "ns", "a", "5"));
}

static void the_end_of_what_is_not_there_changes_nothing(void **state)
{
    struct fixture *f = *state;
    change(f, WRITTEN, "a", "5", "u", "");
    assert_false(kube_store_repeats_removal(f->store, "ns", "a", "6"));
    assert_true(kube_store_repeats_removal(f->store, "ns", "b", "7"));
    change(f, WRITTEN, "b", "7", "u", ""); /* a late answer: the stream has passed 7 */
    expect_told(f, "+ns/a@5");
    kube_store_relist_begin(f->store);
    assert_false(kube_store_repeats_removal(f->store, "ns", "b", "8"));
}

static void a_late_answer_does_not_bring_back_what_was_deleted(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "5", "u", "");
    change(f, REMOVE, "a", "6", "u", "");
    expect_told(f, "+ns/a@5 -ns/a@6");
    change(f, WRITTEN, "a", "5", "u", "");
    expect_told(f, "");
    assert_int_equal(kube_store_count(f->store), 0);
}

static void a_bookmark_counts_as_passed(void **state)
{
    struct fixture *f = *state;
    kube_store_reached(f->store, "50");
    change(f, WRITTEN, "a", "50", "u", "");
    expect_told(f, "");
    change(f, WRITTEN, "a", "51", "u", "");
    expect_told(f, "+ns/a@51");
}

static void a_late_deletion_does_not_take_the_successor(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "5", "first", "");
    change(f, WRITTEN, "a", "8", "second", "");
    expect_told(f, "+ns/a@5 -ns/a@5 +ns/a@8");
    change(f, REMOVE, "a", "6", "first", "");
    expect_told(f, "");
    change(f, APPLY, "a", "8", "second", "");
    expect_told(f, "");
    assert_int_equal(kube_store_count(f->store), 1);
}

static void a_list_removes_what_it_does_not_have(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "stays", "1", "u1", "");
    change(f, APPLY, "goes", "2", "u2", "");
    change(f, APPLY, "changes", "3", "u3", "");
    change(f, WRITTEN, "newer", "90", "u4", "");
    kb_strbuf_clear(&f->told.text);
    kube_store_relist_begin(f->store);
    change(f, APPLY, "changes", "7", "u3", "");
    change(f, APPLY, "stays", "1", "u1", "");
    change(f, APPLY, "comes", "8", "u5", "");
    expect_told(f, "~ns/changes@3>7 +ns/comes@8");
    kube_store_relist_end(f->store, "10");
    expect_told(f, "-ns/goes@2");
    assert_list(kube_store_list(f->store, NULL), "ns/changes@7 ns/comes@8 ns/newer@90 ns/stays@1");
}

static void an_own_write_during_a_list_is_judged_by_its_version(void **state)
{
    struct fixture *f = *state;
    kube_store_relist_begin(f->store);
    change(f, WRITTEN, "old", "5", "u1", "");
    change(f, WRITTEN, "new", "15", "u2", "");
    kube_store_relist_end(f->store, "10");
    assert_list(kube_store_list(f->store, NULL), "ns/new@15");
}

static void an_unreadable_object_of_a_list_keeps_its_last_state(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "poison", "1", "u", "");
    kube_store_relist_begin(f->store);
    kube_store_keep(f->store, "ns", "poison");
    kube_store_keep(f->store, "ns", "unknown");
    kube_store_relist_end(f->store, "10");
    assert_list(kube_store_list(f->store, NULL), "ns/poison@1");
}

static void after_versions_went_back_the_next_list_is_taken_as_it_comes(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "100", "u", "");
    change(f, APPLY, "b", "101", "v", "");
    kube_store_distrust(f->store);
    kube_store_relist_begin(f->store);
    change(f, APPLY, "a", "7", "u", "");
    kube_store_relist_end(f->store, "20");
    assert_list(kube_store_list(f->store, NULL), "ns/a@7");
    change(f, WRITTEN, "c", "21", "w", "");
    assert_list(kube_store_list(f->store, NULL), "ns/a@7 ns/c@21");
}

static void clearing_tells_of_every_object(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "1", "u", "");
    change(f, APPLY, "b", "2", "v", "");
    kb_strbuf_clear(&f->told.text);
    kube_store_clear(f->store);
    expect_told(f, "-ns/a@1 -ns/b@2");
    change(f, APPLY, "a", "1", "u", "");
    expect_told(f, "+ns/a@1");
}

static void a_late_handler_is_told_of_what_is_there(void **state)
{
    struct fixture *f = *state;
    struct told late = {0};
    change(f, APPLY, "a", "1", "u", "");
    kube_store_add_handler(f->store, tell, &late);
    assert_string_equal(kb_strbuf_text(&late.text), "+ns/a@1");
    change(f, APPLY, "a", "2", "u", "");
    assert_string_equal(kb_strbuf_text(&late.text), "+ns/a@1 ~ns/a@1>2");
    expect_told(f, "+ns/a@1 ~ns/a@1>2");
    kb_strbuf_done(&late.text);
}

/* A handler that writes: its change must come after the one that it was told of, for all handlers. */
static void add_companion(void *userdata, const struct api_object *before, const struct api_object *after)
{
    const struct api_any *any = after ? api_object_data(after) : NULL;
    (void)before;
    if (any && kb_streq(any->metadata.name, "a"))
        change(userdata, APPLY, "companion", "2", "w", "");
}

static void a_handler_may_change_the_store(void **state)
{
    struct fixture *f = *state;
    struct told last = {0};
    kube_store_add_handler(f->store, add_companion, f);
    kube_store_add_handler(f->store, tell, &last);
    change(f, APPLY, "a", "1", "u", "");
    expect_told(f, "+ns/a@1 +ns/companion@2");
    assert_string_equal(kb_strbuf_text(&last.text), "+ns/a@1 +ns/companion@2");
    kb_strbuf_done(&last.text);
}

static void indexes_follow_their_objects(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "c", "1", "u", "n1");
    change(f, APPLY, "a", "2", "v", "n1");
    change(f, APPLY, "b", "3", "w", "n1");
    assert_list(kube_store_by_index(f->store, "node", "n1"), "ns/a@2 ns/b@3 ns/c@1");
    assert_list(kube_store_by_index(f->store, "label", "ns/n1"), "ns/a@2 ns/b@3 ns/c@1");
    change(f, APPLY, "b", "4", "w", "n2");
    change(f, APPLY, "a", "5", "v", "n1");
    assert_list(kube_store_by_index(f->store, "node", "n1"), "ns/a@5 ns/c@1");
    assert_list(kube_store_by_index(f->store, "node", "n2"), "ns/b@4");
    change(f, REMOVE, "b", "6", "w", "n2");
    assert_list(kube_store_by_index(f->store, "node", "n2"), "");
    change(f, APPLY, "c", "7", "u", "");
    assert_list(kube_store_by_index(f->store, "node", "n1"), "ns/a@5");
}

/* ---- against a model ---- */

#define MODEL_OBJECTS 600
struct model {
    int node;         /* -1: absent */
    uint64_t version; /* 0: never was */
};

static void assert_same_as_model(struct kube_store *store, const struct model *model)
{
    char name[16], node[16];
    size_t present = 0, of_node[8] = {0};
    for (int i = 0; i < MODEL_OBJECTS; i++) {
        snprintf(name, sizeof name, "p%04d", i);
        const struct api_object *object = kube_store_get(store, i % 3 ? "x" : "y", name);
        assert_int_equal(object != NULL, model[i].node >= 0);
        if (!object)
            continue;
        const struct core_pod *pod = api_object_data(object);
        assert_int_equal(strtoull(pod->metadata.resource_version, NULL, 10), model[i].version);
        present++;
        of_node[model[i].node]++;
        api_object_unref(object);
    }
    assert_int_equal(kube_store_count(store), present);
    for (int n = 0; n < 8; n++) {
        snprintf(node, sizeof node, "n%d", n);
        struct kube_objects list = kube_store_by_index(store, "node", node);
        assert_int_equal(list.n, of_node[n]);
        for (size_t i = 1; i < list.n; i++) {
            const struct core_pod *a = api_object_data(list.items[i - 1]), *b = api_object_data(list.items[i]);
            int order = strcmp(a->metadata.namespace, b->metadata.namespace);
            assert_true(order < 0 || (order == 0 && strcmp(a->metadata.name, b->metadata.name) < 0));
        }
        kube_objects_done(&list);
    }
    struct kube_objects x = kube_store_list(store, "x"), y = kube_store_list(store, "y"),
                        all = kube_store_list(store, "");
    assert_int_equal(x.n + y.n, all.n);
    assert_int_equal(all.n, present);
    kube_objects_done(&x);
    kube_objects_done(&y);
    kube_objects_done(&all);
}

static void random_change(struct kube_store *store, struct model *model, struct kb_random *random, uint64_t version)
{
    char name[16], node[16], text[24];
    int i = (int)kb_random_below(random, MODEL_OBJECTS);
    bool remove = kb_random_below(random, 3) == 0;
    bool stale = kb_random_below(random, 5) == 0 && version > 50;
    uint64_t used = stale ? version - 50 : version;
    int n = (int)kb_random_below(random, 8);
    snprintf(name, sizeof name, "p%04d", i);
    snprintf(node, sizeof node, "n%d", n);
    snprintf(text, sizeof text, "%llu", (unsigned long long)used);
    const struct api_object *pod = pod_of(i % 3 ? "x" : "y", name, text, "u", node);
    bool newer = model[i].node < 0 || used > model[i].version;
    if (remove) {
        kube_store_remove(store, pod);
        if (model[i].node >= 0 && used >= model[i].version)
            model[i] = (struct model){.node = -1};
    } else {
        kube_store_apply(store, pod);
        if (newer)
            model[i] = (struct model){.node = n, .version = used};
    }
    api_object_unref(pod);
}

static void long_random_histories_end_as_in_the_model(void **state)
{
    struct fixture *f = *state;
    struct model model[MODEL_OBJECTS];
    for (int seed = 1; seed <= 5; seed++) {
        kb_cleanup_free struct kb_random *random = kb_random_seeded((uint64_t)seed);
        kube_store_clear(f->store);
        for (int i = 0; i < MODEL_OBJECTS; i++)
            model[i] = (struct model){.node = -1};
        for (uint64_t version = 1; version <= 6000; version++) {
            random_change(f->store, model, random, version);
            if (version % 1000 == 0)
                assert_same_as_model(f->store, model);
        }
        kb_strbuf_clear(&f->told.text);
    }
    kube_store_clear(f->store);
    assert_int_equal(kube_store_count(f->store), 0);
}

static void an_empty_store_gives_its_memory_back(void **state)
{
    (void)state;
    struct kube_store *store = kube_store_new(&core_pod_type, indexes, KB_ARRAY_LEN(indexes));
    struct fixture f = {.store = store};
    char name[16];
    size_t before = kube_store_bytes(store);
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "p%d", i);
        change(&f, APPLY, name, "1", "u", i % 2 ? "n1" : "n2");
    }
    assert_true(kube_store_bytes(store) > before + 2000 * sizeof(struct core_pod));
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "p%d", i);
        change(&f, REMOVE, name, "2", "u", i % 2 ? "n1" : "n2");
    }
    assert_true(kube_store_bytes(store) < before + 4096);
    kube_store_free(store);
}

/* ---- with threads ---- */

#define WRITES 3000
struct race {
    struct kube_store *store;
    int number;
    atomic_bool *stop;
};

static void *write_much(void *userdata)
{
    struct race *race = userdata;
    char name[16], version[16];
    for (int i = 1; i <= WRITES; i++) {
        snprintf(name, sizeof name, "w%d-%d", race->number, i % 50);
        snprintf(version, sizeof version, "%d", i);
        const struct api_object *pod = pod_of("ns", name, version, "u", i % 2 ? "n1" : "n2");
        if (i % 7 == 0)
            kube_store_remove(race->store, pod);
        else
            kube_store_apply(race->store, pod);
        api_object_unref(pod);
    }
    return NULL;
}

static void *read_much(void *userdata)
{
    struct race *race = userdata;
    while (!atomic_load(race->stop)) {
        struct kube_objects all = kube_store_list(race->store, "ns");
        struct kube_objects some = kube_store_by_index(race->store, "node", "n1");
        for (size_t i = 0; i < all.n; i++)
            assert_string_equal(((const struct core_pod *)api_object_data(all.items[i]))->metadata.namespace, "ns");
        kube_objects_done(&all);
        kube_objects_done(&some);
    }
    return NULL;
}

/* Counts what it is told, and checks that no key is told out of order. */
struct ledger {
    int present; /* atomic is not needed: handlers run one at a time */
};
static void keep_ledger(void *userdata, const struct api_object *before, const struct api_object *after)
{
    struct ledger *ledger = userdata;
    ledger->present += (after != NULL) - (before != NULL);
}

static void writers_readers_and_handlers_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct kube_store *store = kube_store_new(&core_pod_type, indexes, KB_ARRAY_LEN(indexes));
    struct ledger ledger = {0};
    atomic_bool stop = false;
    pthread_t threads[3];
    struct race races[3];
    kube_store_add_handler(store, keep_ledger, &ledger);
    for (int i = 0; i < 3; i++) {
        races[i] = (struct race){.store = store, .number = i, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, i < 2 ? write_much : read_much, &races[i]), 0);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    atomic_store(&stop, true);
    pthread_join(threads[2], NULL);
    assert_int_equal(ledger.present, (int)kube_store_count(store));
    kube_store_free(store);
}

static void an_answer_without_version_is_not_taken(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "a", "5", "u", "");
    change(f, WRITTEN, "a", "", "u", "node");
    change(f, WRITTEN, "b", "", "u", "");
    expect_told(f, "+ns/a@5");
}

static void what_an_own_write_took_away_is_gone_at_once_and_told_once(void **state)
{
    struct fixture *f = *state;
    change(f, APPLY, "b", "4", "v", "");
    change(f, WRITTEN, "a", "7", "u", "");
    expect_told(f, "+ns/b@4 +ns/a@7");
    const struct api_object *last = pod_of("ns", "a", "7", "u", "");
    kube_store_remove_written(f->store, last);
    api_object_unref(last);
    expect_told(f, "-ns/a@7");
    change(f, WRITTEN, "b", "6", "v", ""); /* the stream has not passed 7 by that */
    expect_told(f, "~ns/b@4>6");
    change(f, REMOVE, "a", "8", "u", "");
    expect_told(f, "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(handlers_hear_of_every_change_with_both_states),
        TEST(what_is_not_newer_is_dropped),
        TEST(versions_that_are_not_numbers_count_as_newer),
        TEST(an_own_write_is_told_once),
        TEST(an_event_that_would_change_nothing_is_known_by_its_version),
        TEST(the_end_of_what_is_not_there_changes_nothing),
        TEST(a_late_answer_does_not_bring_back_what_was_deleted),
        TEST(an_answer_without_version_is_not_taken),
        TEST(what_an_own_write_took_away_is_gone_at_once_and_told_once),
        TEST(a_bookmark_counts_as_passed),
        TEST(a_late_deletion_does_not_take_the_successor),
        TEST(a_list_removes_what_it_does_not_have),
        TEST(an_own_write_during_a_list_is_judged_by_its_version),
        TEST(an_unreadable_object_of_a_list_keeps_its_last_state),
        TEST(after_versions_went_back_the_next_list_is_taken_as_it_comes),
        TEST(clearing_tells_of_every_object),
        TEST(a_late_handler_is_told_of_what_is_there),
        TEST(a_handler_may_change_the_store),
        TEST(indexes_follow_their_objects),
        TEST(long_random_histories_end_as_in_the_model),
        cmocka_unit_test(an_empty_store_gives_its_memory_back),
        cmocka_unit_test(writers_readers_and_handlers_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
