/*
 * A Pod of a cluster beside a rendered one. Only what the rendering decides is compared: what kube-apiserver, its
 * admission plug-ins, the scheduler and the kubelet add to every Pod is known by name, and left out where the rendered
 * Pod says nothing of its own.
 */
#include "cmd/virt-controller/render_internal.h"
#include <stdlib.h>

struct differ {
    struct kb_arena *arena;
    struct kb_strbuf *out;
    int n;
};

/* ---- what a cluster adds ---- */

#define ANY NULL

static const struct added {
    const char *member, *value; /* JSON text, or ANY */
} added[] = {
    {"nodeName", ANY},
    {"serviceAccount", ANY},
    {"priority", ANY},
    {"preemptionPolicy", ANY},
    {"overhead", ANY},
    {"serviceAccountName", "\"default\""},
    {"dnsPolicy", "\"ClusterFirst\""},
    {"schedulerName", "\"default-scheduler\""},
    {"terminationMessagePath", "\"/dev/termination-log\""},
    {"terminationMessagePolicy", "\"File\""},
    {"defaultMode", "420"},
    {"protocol", "\"TCP\""},
    {"scheme", "\"HTTP\""},
    {"path", "\"/\""},
    {"imagePullPolicy", "\"Always\""},
    {"imagePullPolicy", "\"IfNotPresent\""},
    {"pullPolicy", "\"Always\""},
    {"pullPolicy", "\"IfNotPresent\""},
    {"nodeAffinityPolicy", "\"Honor\""},
    {"nodeTaintsPolicy", "\"Ignore\""},
    {"apiVersion", "\"v1\""}, /* of a field reference */
    {"timeoutSeconds", "1"},
    {"periodSeconds", "10"},
    {"successThreshold", "1"},
    {"failureThreshold", "3"},
    /* labels and annotations of Pods that run */
    {"kubevirt.io/nodeName", ANY},
    {"kubevirt.io/outdatedLauncherImage", ANY},
    {"kubevirt.io/network-info", ANY},
    {"k8s.v1.cni.cncf.io/network-status", ANY},
};

/* Of metadata, what virt-controller writes. */
static const char *const metadata_members[] = {"generateName", "namespace", "labels", "annotations", "ownerReferences"};

/* Tolerations that admission gives to all Pods. */
static const char *const default_tolerations[] = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
                                                  "node.kubernetes.io/memory-pressure"};
#define TOKEN_VOLUME "kube-api-access-"

static char *text_of(yyjson_mut_val *value)
{
    return yyjson_mut_val_write(value, 0, NULL);
}

static bool is_added(const char *member, yyjson_mut_val *value)
{
    kb_cleanup_free char *text = text_of(value);

    for (size_t i = 0; i < KB_ARRAY_LEN(added); i++)
        if (kb_streq(added[i].member, member) && (!added[i].value || kb_streq(added[i].value, text)))
            return true;
    return false;
}

/* Empty objects and lists are as good as none. */
static bool is_nothing(yyjson_mut_val *value)
{
    return !value || yyjson_mut_is_null(value) || (yyjson_mut_is_ctn(value) && yyjson_mut_get_len(value) == 0);
}

typedef bool (*unwanted)(yyjson_mut_val *element);

static void drop(yyjson_mut_val *list, unwanted is_unwanted)
{
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;)
        if (is_unwanted(yyjson_mut_arr_get(list, i)))
            yyjson_mut_arr_remove(list, i);
}

static const char *member_text(yyjson_mut_val *object, const char *member)
{
    return yyjson_mut_get_str(yyjson_mut_obj_get(object, member));
}

static bool is_token(yyjson_mut_val *volume_or_mount)
{
    const char *name = member_text(volume_or_mount, "name");

    return name && kb_starts_with(name, TOKEN_VOLUME);
}

static bool is_default_toleration(yyjson_mut_val *toleration)
{
    enum { SECONDS = 300 };
    const char *key = member_text(toleration, "key");
    yyjson_mut_val *seconds = yyjson_mut_obj_get(toleration, "tolerationSeconds");

    if (!key || !kb_in_list(key, default_tolerations, KB_ARRAY_LEN(default_tolerations)))
        return false;
    return !seconds || yyjson_mut_get_int(seconds) == SECONDS;
}

static const char *added_metadata(yyjson_mut_val *metadata)
{
    yyjson_mut_obj_iter iterator;
    yyjson_mut_val *key;

    yyjson_mut_obj_iter_init(metadata, &iterator);
    while ((key = yyjson_mut_obj_iter_next(&iterator)))
        if (!kb_in_list(yyjson_mut_get_str(key), metadata_members, KB_ARRAY_LEN(metadata_members)))
            return yyjson_mut_get_str(key);
    return NULL;
}

static void drop_metadata(yyjson_mut_val *metadata)
{
    const char *name;

    while ((name = added_metadata(metadata)))
        yyjson_mut_obj_remove_key(metadata, name);
}

static void drop_from_containers(yyjson_mut_val *containers)
{
    yyjson_mut_arr_iter iterator;
    yyjson_mut_val *container;

    yyjson_mut_arr_iter_init(containers, &iterator);
    while ((container = yyjson_mut_arr_iter_next(&iterator)))
        drop(yyjson_mut_obj_get(container, "volumeMounts"), is_token);
}

static void drop_additions(yyjson_mut_val *pod)
{
    yyjson_mut_val *spec = yyjson_mut_obj_get(pod, "spec");

    yyjson_mut_obj_remove_key(pod, "status");
    drop_metadata(yyjson_mut_obj_get(pod, "metadata"));
    drop(yyjson_mut_obj_get(spec, "volumes"), is_token);
    drop(yyjson_mut_obj_get(spec, "tolerations"), is_default_toleration);
    drop_from_containers(yyjson_mut_obj_get(spec, "containers"));
    drop_from_containers(yyjson_mut_obj_get(spec, "initContainers"));
}

/* kube-apiserver makes limits the requests where there are none. */
static void complete_resources(yyjson_mut_doc *doc, yyjson_mut_val *resources)
{
    yyjson_mut_val *limits = yyjson_mut_obj_get(resources, "limits");
    yyjson_mut_val *requests = yyjson_mut_obj_get(resources, "requests");
    yyjson_mut_obj_iter iterator;
    yyjson_mut_val *key;

    if (!limits)
        return;
    if (!requests)
        requests = yyjson_mut_obj_add_obj(doc, resources, "requests");
    yyjson_mut_obj_iter_init(limits, &iterator);
    while ((key = yyjson_mut_obj_iter_next(&iterator)))
        if (!yyjson_mut_obj_get(requests, yyjson_mut_get_str(key)))
            yyjson_mut_obj_add(requests, yyjson_mut_val_mut_copy(doc, key),
                               yyjson_mut_val_mut_copy(doc, yyjson_mut_obj_iter_get_val(key)));
}

static void complete_containers(yyjson_mut_doc *doc, yyjson_mut_val *containers)
{
    yyjson_mut_arr_iter iterator;
    yyjson_mut_val *container;

    yyjson_mut_arr_iter_init(containers, &iterator);
    while ((container = yyjson_mut_arr_iter_next(&iterator)))
        complete_resources(doc, yyjson_mut_obj_get(container, "resources"));
}

/* ---- what differs from run to run ---- */

/* The VMI of the cluster has another UID than one that was made up here. */
static const char *with_uid(struct kb_arena *arena, const char *text, const char *from, const char *to)
{
    struct kb_strbuf result = {.arena = arena};

    for (const char *found; !kb_empty(from) && (found = strstr(text, from)); text = found + strlen(from)) {
        kb_strbuf_append(&result, text, (size_t)(found - text));
        kb_strbuf_puts(&result, to);
    }
    kb_strbuf_puts(&result, text);
    return kb_strbuf_text(&result);
}

static const char *owner_uid(const struct core_pod *pod)
{
    return pod->metadata.owner_references.n > 0 ? pod->metadata.owner_references.items[0].uid : NULL;
}

static const char **time_out_of(const struct core_pod *pod)
{
    const struct api_strings *command = pod->spec.containers.n > 0 ? &pod->spec.containers.items[0].command : NULL;

    for (size_t i = 0; command && i + 1 < command->n; i++)
        if (kb_streq(command->items[i], "--qemu-timeout"))
            return &command->items[i + 1];
    return NULL;
}

/* The time-out of a launcher has a random part. */
static void adopt_time_out(struct core_pod *theirs, const struct core_pod *ours, int base)
{
    const char **their_time_out = time_out_of(theirs), **our_time_out = time_out_of(ours);
    const int seconds = their_time_out ? atoi(*their_time_out) : 0;

    if (their_time_out && our_time_out && seconds >= base && seconds < base + RENDER_JITTER_RANGE)
        *their_time_out = *our_time_out;
}

static struct core_pod *comparable(struct kb_arena *arena, const struct core_pod *theirs, const struct core_pod *ours,
                                   int base)
{
    const char *text =
        with_uid(arena, api_encode_text(arena, &core_pod_type, theirs, 0), owner_uid(theirs), owner_uid(ours));
    struct core_pod *pod;

    if (api_decode(arena, &core_pod_type, text, strlen(text), &pod, NULL) < 0)
        pod = api_clone(arena, &core_pod_type, theirs);
    adopt_time_out(pod, ours, base);
    return pod;
}

/* ---- comparing ---- */

static void report(struct differ *d, const char *path, yyjson_mut_val *theirs, yyjson_mut_val *ours)
{
    kb_cleanup_free char *before = theirs ? text_of(theirs) : NULL, *after = ours ? text_of(ours) : NULL;

    kb_strbuf_printf(d->out, "%s:\n", path);
    if (before)
        kb_strbuf_printf(d->out, "  - %s\n", before);
    if (after)
        kb_strbuf_printf(d->out, "  + %s\n", after);
    d->n++;
}

static void compare(struct differ *d, const char *path, yyjson_mut_val *theirs, yyjson_mut_val *ours);

/* Keys with a dot or slash are put in brackets. */
static const char *member_path(struct differ *d, const char *path, const char *key)
{
    if (strpbrk(key, "./"))
        return kb_arena_printf(d->arena, "%s[%s]", path, key);
    return *path ? kb_arena_printf(d->arena, "%s.%s", path, key) : key;
}

static void compare_objects(struct differ *d, const char *path, yyjson_mut_val *theirs, yyjson_mut_val *ours)
{
    yyjson_mut_obj_iter iterator;
    yyjson_mut_val *key;

    yyjson_mut_obj_iter_init(theirs, &iterator);
    while ((key = yyjson_mut_obj_iter_next(&iterator))) {
        const char *name = yyjson_mut_get_str(key);
        yyjson_mut_val *their_value = yyjson_mut_obj_iter_get_val(key), *our_value = yyjson_mut_obj_get(ours, name);

        if (our_value || !is_added(name, their_value))
            compare(d, member_path(d, path, name), their_value, our_value);
    }
    yyjson_mut_obj_iter_init(ours, &iterator);
    while ((key = yyjson_mut_obj_iter_next(&iterator)))
        if (!yyjson_mut_obj_get(theirs, yyjson_mut_get_str(key)))
            compare(d, member_path(d, path, yyjson_mut_get_str(key)), NULL, yyjson_mut_obj_iter_get_val(key));
}

/* What tells elements of lists apart, the first that does. */
static const char *const identities[] = {"name", "mountPath", "devicePath", "key"};

static yyjson_mut_val *find_element(yyjson_mut_val *list, const char *member, const char *text)
{
    yyjson_mut_arr_iter iterator;
    yyjson_mut_val *element;

    yyjson_mut_arr_iter_init(list, &iterator);
    while ((element = yyjson_mut_arr_iter_next(&iterator))) {
        const char *of_element = member_text(element, member);

        if (of_element && kb_streq(of_element, text))
            return element;
    }
    return NULL;
}

/* All elements have it, and no two the same. */
static bool is_identity(yyjson_mut_val *list, const char *member)
{
    yyjson_mut_arr_iter iterator;
    yyjson_mut_val *element;

    yyjson_mut_arr_iter_init(list, &iterator);
    while ((element = yyjson_mut_arr_iter_next(&iterator))) {
        const char *text = member_text(element, member);

        if (!text || find_element(list, member, text) != element)
            return false;
    }
    return true;
}

static const char *identity_of(yyjson_mut_val *theirs, yyjson_mut_val *ours)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(identities); i++)
        if (is_identity(theirs, identities[i]) && is_identity(ours, identities[i]))
            return identities[i];
    return NULL;
}

static void compare_by(struct differ *d, const char *member, const char *path, yyjson_mut_val *theirs,
                       yyjson_mut_val *ours)
{
    yyjson_mut_arr_iter iterator;
    yyjson_mut_val *element;

    yyjson_mut_arr_iter_init(theirs, &iterator);
    while ((element = yyjson_mut_arr_iter_next(&iterator))) {
        const char *text = member_text(element, member);

        compare(d, kb_arena_printf(d->arena, "%s[%s]", path, text), element, find_element(ours, member, text));
    }
    yyjson_mut_arr_iter_init(ours, &iterator);
    while ((element = yyjson_mut_arr_iter_next(&iterator))) {
        const char *text = member_text(element, member);

        if (!find_element(theirs, member, text))
            compare(d, kb_arena_printf(d->arena, "%s[%s]", path, text), NULL, element);
    }
}

static void compare_lists(struct differ *d, const char *path, yyjson_mut_val *theirs, yyjson_mut_val *ours)
{
    const size_t left = yyjson_mut_arr_size(theirs), right = yyjson_mut_arr_size(ours);
    const char *identity = identity_of(theirs, ours);

    if (identity) {
        compare_by(d, identity, path, theirs, ours);
        return;
    }
    for (size_t i = 0; i < left || i < right; i++)
        compare(d, kb_arena_printf(d->arena, "%s[%zu]", path, i), i < left ? yyjson_mut_arr_get(theirs, i) : NULL,
                i < right ? yyjson_mut_arr_get(ours, i) : NULL);
}

static void compare(struct differ *d, const char *path, yyjson_mut_val *theirs, yyjson_mut_val *ours)
{
    if (is_nothing(theirs) && is_nothing(ours))
        return;
    if (yyjson_mut_is_obj(theirs) && yyjson_mut_is_obj(ours))
        compare_objects(d, path, theirs, ours);
    else if (yyjson_mut_is_arr(theirs) && yyjson_mut_is_arr(ours))
        compare_lists(d, path, theirs, ours);
    else if (!theirs || !ours || !yyjson_mut_equals(theirs, ours))
        report(d, path, theirs, ours);
}

/* ---- the Pod in the file ---- */

/* The file's Pod of that name, or else its only one. */
static const struct core_pod *counterpart(const struct render_objects *objects, const struct core_pod *pod, bool only)
{
    const struct core_pod *found = NULL;

    kb_vec_foreach (object, objects) {
        const struct core_pod *candidate = object->data;

        if (object->type != &core_pod_type)
            continue;
        if (only || (candidate->metadata.generate_name &&
                     kb_streq(candidate->metadata.generate_name, pod->metadata.generate_name)))
            found = candidate;
    }
    return found;
}

static void compare_pods(struct differ *d, const char *file, const struct core_pod *theirs, const struct core_pod *ours)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *left = api_encode_value(doc, &core_pod_type, theirs, 0);
    yyjson_mut_val *right = api_encode_value(doc, &core_pod_type, ours, 0);
    yyjson_mut_val *const both[] = {left, right};
    kb_cleanup_strbuf struct kb_strbuf lines = {0};
    struct kb_strbuf *const out = d->out;
    const int before = d->n;

    for (size_t i = 0; i < KB_ARRAY_LEN(both); i++) {
        yyjson_mut_val *spec = yyjson_mut_obj_get(both[i], "spec");

        drop_additions(both[i]);
        complete_containers(doc, yyjson_mut_obj_get(spec, "containers"));
        complete_containers(doc, yyjson_mut_obj_get(spec, "initContainers"));
    }
    d->out = &lines;
    compare(d, "", left, right);
    d->out = out;
    if (d->n > before)
        kb_strbuf_printf(out, "--- %s\n+++ %s (rendered)\n%s", file, ours->metadata.generate_name,
                         kb_strbuf_text(&lines));
    yyjson_mut_doc_free(doc);
}

int render_diff(struct kb_arena *arena, const struct render_options *options, const struct render_pods *pods,
                struct kb_strbuf *out, struct kube_error *reterr)
{
    struct differ d = {.arena = arena, .out = out};
    struct render_objects objects = {0};
    const char *file = options->diff;

    if (render_read(arena, file, false, &objects, reterr) < 0)
        return -1;
    for (size_t i = 0; i < pods->n; i++) {
        const struct core_pod *theirs = counterpart(&objects, pods->items[i], pods->n == 1);

        if (!theirs)
            return kube_error_set(reterr, KUBE_ERROR_INVALID, "%s: expected a Pod named %s...", file,
                                  pods->items[i]->metadata.generate_name);
        compare_pods(&d, file, comparable(arena, theirs, pods->items[i], options->settings.qemu_timeout_seconds),
                     pods->items[i]);
    }
    return d.n;
}
