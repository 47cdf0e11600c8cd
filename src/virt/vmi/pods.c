/*
 * Creating and deleting Pods so that nothing is done twice, and asking the API server where the cache can't be
 * believed.
 *
 * A new Pod is in the cache when vmi_create_pod returns (own writes are read). What can go wrong is the answer: a
 * creation whose outcome is unknown makes the key doubted, and the next creation for it asks the API server first. So
 * does the creation for an instance that is older than this process: the leader before may have made a Pod that the
 * cache has not heard of. Deletions are expected until the cache shows them; one that nothing confirmed in time is
 * asked for again.
 */
#include "virt/vmi/vmi_internal.h"

#include "api/meta.h"
#include "base/map.h"
#include "base/strings.h"
#include "base/time.h"
#include "base/vec.h"
#include "virt/names.h"
#include <pthread.h>
#include <stdlib.h>

/* ---- doubts ---- */

struct vmi_doubts {
    pthread_mutex_t lock;
    struct kb_map *keys;
};

struct vmi_doubts *vmi_doubts_new(void)
{
    struct vmi_doubts *doubts = kb_malloc(sizeof *doubts);

    pthread_mutex_init(&doubts->lock, NULL);
    doubts->keys = kb_map_new(KB_MAP_COPY);
    return doubts;
}

void vmi_doubts_free(struct vmi_doubts *doubts)
{
    kb_map_free(doubts->keys);
    pthread_mutex_destroy(&doubts->lock);
    free(doubts);
}

void vmi_doubt(struct vmi_doubts *doubts, const char *key)
{
    pthread_mutex_lock(&doubts->lock);
    kb_map_put(doubts->keys, key, doubts);
    pthread_mutex_unlock(&doubts->lock);
}

bool vmi_is_doubted(struct vmi_doubts *doubts, const char *key)
{
    bool has;

    pthread_mutex_lock(&doubts->lock);
    has = kb_map_has(doubts->keys, key);
    pthread_mutex_unlock(&doubts->lock);
    return has;
}

void vmi_doubt_no_more(struct vmi_doubts *doubts, const char *key)
{
    pthread_mutex_lock(&doubts->lock);
    kb_map_remove(doubts->keys, key);
    pthread_mutex_unlock(&doubts->lock);
}

bool vmi_outcome_unknown(const struct kube_error *error)
{
    return error->kind == KUBE_ERROR_CONNECTION || error->kind == KUBE_ERROR_TIMEOUT || error->http_status >= 500;
}

/* ---- writes ---- */

int vmi_create_pod(struct vmi_pass *p, struct core_pod *pod, const struct core_pod **ret, struct kube_error *reterr)
{
    pod->metadata.namespace = p->vmi->metadata.namespace;
    if (kube_create(p->request, &core_pod_type, pod, (const void **)ret, reterr) == 0)
        return 0;
    if (vmi_outcome_unknown(reterr))
        vmi_doubt(p->controller->doubts, kube_request_key(p->request));
    return -1;
}

int vmi_delete_pod(struct vmi_pass *p, const struct core_pod *pod, int64_t grace_s, struct kube_error *reterr)
{
    struct kube_expectations *deletions = p->controller->deletions;
    const struct kube_delete_options options = {.grace_period_seconds = grace_s};
    const char *key = kube_request_key(p->request);

    kube_expect_deletion_of(deletions, key, pod->metadata.name);
    if (kube_delete_with(p->request, &core_pod_type, pod, &options, reterr) == 0)
        return 0;
    kube_deletion_observed_of(deletions, key, pod->metadata.name);
    return -1;
}

/* ---- what the API server says ---- */

static void unref(void *object)
{
    api_object_unref(object);
}

struct live_list {
    struct vmi_pass *pass;
    struct virt_pods found;
};

static int take_live_pod(void *userdata, const struct api_object *object, struct kube_error *reterr)
{
    struct live_list *list = userdata;
    struct vmi_pass *p = list->pass;
    const struct core_pod *pod = api_object_data(object);

    (void)reterr;
    if (!api_is_controlled_by(&pod->metadata, p->vmi->metadata.uid))
        return 0;
    kube_request_at_end(p->request, unref, (void *)(uintptr_t)api_object_ref(object));
    *kb_vec_push(p->arena, &list->found) = pod;
    return 0;
}

static int list_live_pods(struct vmi_pass *p, struct virt_pods *ret, struct kube_error *reterr)
{
    struct live_list list = {.pass = p};
    struct kb_strbuf query = {.arena = p->arena};

    kube_query_add(&query, "labelSelector",
                   kb_arena_printf(p->arena, VIRT_LABEL_CREATED_BY "=%s", p->vmi->metadata.uid));
    if (kube_client_list(kube_request_client(p->request), &core_pod_type, p->vmi->metadata.namespace,
                         kb_strbuf_text(&query), take_live_pod, &list, reterr) < 0)
        return kube_error_wrap(reterr, "asking for the Pods of the VMI");
    *ret = list.found;
    return 0;
}

static bool should_have_pods(const struct kv_vmi *vmi)
{
    static const char *const phases[] = {VIRT_PHASE_SCHEDULING, VIRT_PHASE_SCHEDULED, VIRT_PHASE_RUNNING};

    return vmi->status.active_pods.n > 0 || kb_in_list(vmi->status.phase, phases, KB_ARRAY_LEN(phases));
}

int vmi_find_unseen_pods(struct vmi_pass *p, struct kube_error *reterr)
{
    if (p->pods.n > 0 || !should_have_pods(p->vmi) || vmi_saw_pods_go(p))
        return 0;
    if (list_live_pods(p, &p->pods, reterr) < 0)
        return -1;
    if (p->pods.n > 0)
        kube_request_later(p->request, VMI_UNSEEN_POD_RECHECK_NS);
    return 0;
}

int vmi_may_create_pod(struct vmi_pass *p, struct kube_error *reterr)
{
    const char *key = kube_request_key(p->request);
    struct virt_pods pods;
    int64_t created;
    const bool old =
        !kb_time_parse(p->vmi->metadata.creation_timestamp, &created) || created <= p->controller->started_at;

    if (!old && !vmi_is_doubted(p->controller->doubts, key))
        return 1;
    if (list_live_pods(p, &pods, reterr) < 0)
        return -1;
    vmi_doubt_no_more(p->controller->doubts, key);
    if (pods.n == 0)
        return 1;
    p->pods = pods;
    p->pod = virt_current_pod(p->vmi, &pods);
    kube_request_later(p->request, VMI_UNSEEN_POD_RECHECK_NS);
    return 0;
}

/* The next event comes from the Pod. */
static bool waits_for_pod(const struct vmi_pass *p)
{
    return p->pod && (virt_vmi_is_phase(p->vmi, VIRT_PHASE_SCHEDULING) || api_is_being_deleted(&p->vmi->metadata));
}

/* How long ago the instance last moved on. */
static int64_t age(const struct vmi_pass *p)
{
    int64_t newest = 0, ns;

    api_list_foreach (entry, &p->vmi->status.phase_transition_timestamps)
        if (kb_time_parse(entry->phase_transition_timestamp, &ns) && ns > newest)
            newest = ns;
    if (p->vmi->metadata.deletion_timestamp && kb_time_parse(p->vmi->metadata.deletion_timestamp, &ns) && ns > newest)
        newest = ns;
    return kube_now(p->request) - newest;
}

/* Less and less often. */
static int64_t next_check(int64_t age_ns)
{
    if (age_ns / 4 < VMI_STALE_POD_RECHECK_NS)
        return VMI_STALE_POD_RECHECK_NS;
    return age_ns / 4 < VMI_STALE_POD_RECHECK_MAX_NS ? age_ns / 4 : VMI_STALE_POD_RECHECK_MAX_NS;
}

int vmi_refresh_stale_pod(struct vmi_pass *p, struct kube_error *reterr)
{
    const struct core_pod *live, *cached = p->pod;
    const int64_t age_ns = age(p);

    if (!waits_for_pod(p))
        return 0;
    kube_request_later(p->request, next_check(age_ns));
    if (age_ns < VMI_STALE_POD_RECHECK_NS)
        return 0;
    if (kube_get_live(p->request, &core_pod_type, cached->metadata.namespace, cached->metadata.name,
                      (const void **)&live, reterr) < 0)
        return kube_error_wrap(reterr, "asking for a Pod that was not heard of");
    if (live && !kb_streq(live->metadata.uid, cached->metadata.uid))
        live = NULL;
    for (size_t i = 0; i < p->pods.n; i++) {
        if (p->pods.items[i] != cached)
            continue;
        if (live)
            p->pods.items[i] = live;
        else
            kb_vec_remove(&p->pods, i);
        break;
    }
    p->pod = virt_current_pod(p->vmi, &p->pods);
    return 0;
}
