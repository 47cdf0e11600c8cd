/*
 * Label selectors, matched while they are read: nothing is compiled or kept, since they are matched seldom (an own
 * creation, a replica set's orphans).
 */
#include "kube/selector.h"
#include "base/strings.h"
#include <ctype.h>

struct span {
    const char *start, *end;
};

static struct span trimmed(const char *start, const char *end)
{
    while (start < end && isspace((unsigned char)*start))
        start++;
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    return (struct span){start, end};
}

static bool equals(struct span span, const char *text)
{
    size_t n = (size_t)(span.end - span.start);
    return strlen(text) == n && memcmp(span.start, text, n) == 0;
}

static const char *value_of(struct span key, const struct api_string_map *labels)
{
    api_list_foreach (entry, labels) {
        if (equals(key, entry->key))
            return entry->value;
    }
    return NULL;
}

/* Is `value` one of "a, b, c"? */
static bool listed(struct span list, const char *value)
{
    const char *at = list.start;
    for (;;) {
        const char *comma = memchr(at, ',', (size_t)(list.end - at));
        if (equals(trimmed(at, comma ? comma : list.end), value))
            return true;
        if (!comma)
            return false;
        at = comma + 1;
    }
}

/* "key in (a,b)", "key notin (a,b)": the parenthesis is at `open`. */
static bool set_matches(struct span text, const char *open, const struct api_string_map *labels)
{
    struct span head = trimmed(text.start, open);
    const char *word = head.end;
    while (word > head.start && !isspace((unsigned char)word[-1]))
        word--;
    struct span operator= {word, head.end};
    const char *value = value_of(trimmed(head.start, word), labels);
    if (text.end[-1] != ')')
        return false;
    bool in = value && listed((struct span){open + 1, text.end - 1}, value);
    return equals(operator, "in") ? in : equals(operator, "notin") && !in;
}

static bool equality_matches(struct span text, const char *sign, const struct api_string_map *labels)
{
    bool negated = sign > text.start && sign[-1] == '!';
    const char *value = value_of(trimmed(text.start, negated ? sign - 1 : sign), labels);
    const char *right = sign + 1 < text.end && sign[1] == '=' ? sign + 2 : sign + 1;
    bool equal = value && equals(trimmed(right, text.end), value);
    return negated ? !equal : equal;
}

static bool requirement_matches(struct span text, const struct api_string_map *labels)
{
    size_t n = (size_t)(text.end - text.start);
    const char *open = memchr(text.start, '(', n);
    const char *sign = memchr(text.start, '=', n);
    if (n == 0)
        return false;
    if (open)
        return set_matches(text, open, labels);
    if (sign)
        return equality_matches(text, sign, labels);
    if (*text.start == '!')
        return !value_of(trimmed(text.start + 1, text.end), labels);
    return value_of(text, labels) != NULL;
}

/* The comma behind a requirement, not those inside its parentheses; or the end. */
static const char *requirement_end(const char *at)
{
    int depth = 0;
    for (; *at && (*at != ',' || depth > 0); at++)
        depth += (*at == '(') - (*at == ')');
    return at;
}

bool kube_selector_matches(const char *selector, const struct api_string_map *labels)
{
    if (kb_empty(selector))
        return true;
    for (const char *end, *at = selector;; at = end + 1) {
        end = requirement_end(at);
        if (!requirement_matches(trimmed(at, end), labels))
            return false;
        if (!*end)
            return true;
    }
}

/* ---- structured selectors ---- */

enum { MOST_NAME = 63, MOST_PREFIX = 253 };

/* Letters and digits at both ends, `others` too between them; `lower`: no capital letters. */
static bool is_name(struct span text, const char *others, size_t most, bool lower)
{
    if (text.start == text.end || text.end - text.start > (ptrdiff_t)most)
        return false;
    for (const char *p = text.start; p < text.end; p++) {
        bool inside = p > text.start && p + 1 < text.end && *p && strchr(others, *p);
        if (!inside && (!isalnum((unsigned char)*p) || (lower && isupper((unsigned char)*p))))
            return false;
    }
    return true;
}

static bool is_label_key(const char *key)
{
    const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
    if (slash && !is_name((struct span){key, slash}, "-.", MOST_PREFIX, true))
        return false;
    return is_name((struct span){name, name + strlen(name)}, "-_.", MOST_NAME, false);
}

/* As labels.NewRequirement has it: a set to choose from, or none, and nothing that no label can be. */
static bool is_valid(const struct meta_label_selector_requirement *r)
{
    bool of_set = kb_streq(r->operator, "In") || kb_streq(r->operator, "NotIn");
    if (!is_label_key(r->key) || of_set != (r->values.n > 0))
        return false;
    api_list_foreach (value, &r->values)
        if (**value && !is_name((struct span){*value, *value + strlen(*value)}, "-_.", MOST_NAME, false))
            return false;
    return true;
}

static bool expression_matches(const struct meta_label_selector_requirement *r, const struct api_string_map *labels)
{
    const char *value = api_map_get(labels, r->key);
    bool in = value && api_strings_has(&r->values, value);
    if (!is_valid(r))
        return false;
    if (kb_streq(r->operator, "In"))
        return in;
    if (kb_streq(r->operator, "NotIn"))
        return !in;
    if (kb_streq(r->operator, "Exists"))
        return value != NULL;
    return kb_streq(r->operator, "DoesNotExist") && !value;
}

bool kube_label_selector_matches(const struct meta_label_selector *selector, const struct api_string_map *labels)
{
    if (!selector || !api_map_contains_all(labels, &selector->match_labels))
        return false;
    api_list_foreach (requirement, &selector->match_expressions) {
        if (!expression_matches(requirement, labels))
            return false;
    }
    return true;
}
