/*
 * What stands in the answers of lists and watches, and how it gets into the store.
 *
 * A stream is cut into lines as it comes; only the beginning of an unfinished line is kept. Each line is one event,
 * parsed and decoded into a shared object at once, so that neither a watch nor a streamed list holds more than one
 * event beside the store.
 *
 * An object that can't be decoded is told as an error and passed over: one poisoned object must not stop a controller.
 * What the store had of it stays. A line that is no event at all makes a new list necessary.
 */
#include "base/strings.h"
#include "kube/informer_internal.h"
#include "kube/store_internal.h"

#define KEPT_LINE_MEMORY (64u << 10)

static bool is_current(const struct kube_reflection *reflection)
{
    return reflection->informer->current == reflection && !reflection->failed;
}

static int fail(struct kube_reflection *reflection)
{
    reflection->failed = true;
    return -1;
}

/* The next thing is a list, because it is not known any more what the store lacks. */
static int need_list(struct kube_reflection *reflection)
{
    kb_strbuf_clear(&reflection->informer->version);
    return fail(reflection);
}

static void tell_unreadable(struct kube_informer *informer, yyjson_val *metadata, struct kube_error *error)
{
    kube_error_wrap(error, "%s/%s", kube_text_at(metadata, "namespace"), kube_text_at(metadata, "name"));
    kube_informer_tell_error(informer, error);
}

static void put(struct kube_informer *informer, yyjson_val *value)
{
    const struct api_object *object;
    struct kube_error error;
    yyjson_val *metadata = yyjson_obj_get(value, "metadata");
    if (api_decode_shared(informer->spec->type, value, informer->spec->projection, &object, &error) < 0) {
        kube_store_keep(informer->store, kube_text_at(metadata, "namespace"), kube_text_at(metadata, "name"));
        tell_unreadable(informer, metadata, &error);
        return;
    }
    if (informer->spec->note_form && api_is_in_form(informer->spec->type, api_object_data(object), value, "spec"))
        api_object_note_form(object);
    kube_store_apply(informer->store, object);
    api_object_unref(object);
}

static int take_out(struct kube_reflection *reflection, yyjson_val *value)
{
    struct kube_informer *informer = reflection->informer;
    const struct api_object *object;
    if (api_decode_shared(informer->spec->type, value, informer->spec->projection, &object, &reflection->failure) < 0)
        return need_list(reflection);
    kube_store_remove(informer->store, object);
    api_object_unref(object);
    return 0;
}

/* Own writes are in the store before their events come, and those need not be decoded. */
static int take_change(struct kube_reflection *reflection, bool deleted, yyjson_val *object, yyjson_val *metadata,
                       const char *version)
{
    struct kube_store *store = reflection->informer->store;
    const char *namespace_ = kube_text_at(metadata, "namespace"), *name = kube_text_at(metadata, "name");
    reflection->informer->events++;
    if (deleted)
        return kube_store_repeats_removal(store, namespace_, name, version) ? 0 : take_out(reflection, object);
    if (!kube_store_repeats(store, namespace_, name, version))
        put(reflection->informer, object);
    return 0;
}

static void bookmark(struct kube_informer *informer, yyjson_val *metadata, const char *version)
{
    yyjson_val *annotations = yyjson_obj_get(metadata, "annotations");
    if (informer->phase == KUBE_REFLECT_WATCH)
        kube_store_reached(informer->store, version);
    else if (kb_streq(kube_text_at(annotations, "k8s.io/initial-events-end"), "true"))
        kube_informer_listed(informer, version);
}

/* Events come in the order of their versions, unless the server's data were replaced by older ones. */
static int check_order(struct kube_reflection *reflection, const char *version)
{
    struct kube_informer *informer = reflection->informer;
    const char *last = kb_strbuf_text(&informer->version);
    uint64_t a, b;
    if (informer->phase != KUBE_REFLECT_WATCH || !kube_version_parse(last, &a) || !kube_version_parse(version, &b) ||
        a <= b)
        return 0;
    kube_error_set(&reflection->failure, KUBE_ERROR_INVALID, "versions went back from %s to %s", last, version);
    kube_store_distrust(informer->store);
    return need_list(reflection);
}

static int take_event(struct kube_reflection *reflection, yyjson_val *event)
{
    struct kube_informer *informer = reflection->informer;
    const char *type = kube_text_at(event, "type");
    yyjson_val *object = yyjson_obj_get(event, "object");
    yyjson_val *metadata = yyjson_obj_get(object, "metadata");
    const char *version = kube_text_at(metadata, "resourceVersion");
    if (kb_streq(type, "ERROR")) {
        kube_error_from_status(&reflection->failure, object);
        return fail(reflection);
    }
    if (!*version) {
        kube_error_set(&reflection->failure, KUBE_ERROR_INVALID, "watch event \"%s\" without a version", type);
        return need_list(reflection);
    }
    if (check_order(reflection, version) < 0)
        return -1;
    reflection->events++;
    informer->last_event_mono = informer->clock->mono(informer->clock);
    if (kb_streq(type, "BOOKMARK"))
        bookmark(informer, metadata, version);
    else if (take_change(reflection, kb_streq(type, "DELETED"), object, metadata, version) < 0)
        return -1;
    if (!is_current(reflection))
        return -1;
    if (informer->phase == KUBE_REFLECT_WATCH) {
        kb_strbuf_clear(&informer->version);
        kb_strbuf_puts(&informer->version, version);
        informer->failures = 0;
    }
    return 0;
}

static int take_line(struct kube_reflection *reflection, const char *line, size_t n)
{
    yyjson_doc *doc;
    if (n == 0)
        return 0;
    if (api_parse(line, n, &doc, &reflection->failure) < 0) {
        kube_error_wrap(&reflection->failure, "watch event");
        return need_list(reflection);
    }
    int r = take_event(reflection, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return r;
}

static int keep_beginning(struct kube_reflection *reflection, const char *bytes, size_t n)
{
    if (reflection->line.length + n > API_MAX_BYTES) {
        kube_error_set(&reflection->failure, KUBE_ERROR_INVALID, "watch event larger than %u bytes", API_MAX_BYTES);
        return need_list(reflection);
    }
    kb_strbuf_append(&reflection->line, bytes, n);
    return 0;
}

static int take_kept_line(struct kube_reflection *reflection)
{
    struct kb_strbuf *line = &reflection->line;
    int r = take_line(reflection, line->data, line->length);
    if (line->capacity > KEPT_LINE_MEMORY)
        kb_strbuf_done(line);
    kb_strbuf_clear(line);
    return r;
}

int kube_reflection_feed(struct kube_reflection *reflection, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        if (!newline)
            return keep_beginning(reflection, bytes, n);
        size_t length = (size_t)(newline - bytes);
        int r;
        if (reflection->line.length == 0)
            r = take_line(reflection, bytes, length);
        else
            r = keep_beginning(reflection, bytes, length) < 0 ? -1 : take_kept_line(reflection);
        if (r < 0)
            return r;
        bytes += length + 1;
        n -= length + 1;
    }
    return 0;
}

static int take_list(struct kube_reflection *reflection, yyjson_val *list, bool *ret_complete,
                     struct kube_error *reterr)
{
    struct kube_informer *informer = reflection->informer;
    yyjson_val *metadata = yyjson_obj_get(list, "metadata"), *item;
    yyjson_arr_iter items = yyjson_arr_iter_with(yyjson_obj_get(list, "items"));
    if (!*kube_text_at(metadata, "resourceVersion"))
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "list without a version");
    while ((item = yyjson_arr_iter_next(&items))) {
        informer->events++;
        put(informer, item);
        if (!is_current(reflection))
            return kube_error_set(reterr, KUBE_ERROR_CANCELLED, "stopped");
    }
    kb_strbuf_clear(&informer->next_page);
    kb_strbuf_puts(&informer->next_page, kube_text_at(metadata, "continue"));
    *ret_complete = informer->next_page.length == 0;
    if (*ret_complete)
        kube_informer_listed(informer, kube_text_at(metadata, "resourceVersion"));
    return 0;
}

int kube_reflection_page(struct kube_reflection *reflection, bool *ret_complete, struct kube_error *reterr)
{
    yyjson_doc *doc;
    if (api_parse(reflection->body.data, reflection->body.length, &doc, reterr) < 0)
        return kube_error_wrap(reterr, "list");
    int r = take_list(reflection, yyjson_doc_get_root(doc), ret_complete, reterr);
    yyjson_doc_free(doc);
    return r;
}
