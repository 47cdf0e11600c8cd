/*
 * Selectors, see selectors.h. Labels and fields become the same list of requirements; a field is one with its index in
 * the kind's table (or one of the two names that every object has).
 */
#include "lab/selectors.h"
#include "base/strbuf.h"
#include "base/strings.h"
#include "base/vec.h"
#include "lab/json.h"
#include <ctype.h>
#include <string.h>

enum operator{ EQUALS, NOT_EQUALS, IN, NOT_IN, EXISTS, NOT_EXISTS, GREATER, LESS };
enum subject { LABEL, FIELD, NAME, NAMESPACE };

struct requirement {
    enum subject subject;
    enum operator op;
    const char *key;
    size_t field;
    struct {
        size_t n;
        const char **items;
    } values;
};

struct lab_selector {
    size_t n;
    struct requirement *items;
    bool nothing;
};

struct parser {
    struct kb_arena *arena;
    const char *text, *at;
    struct kube_error *reterr;
};

static bool is_word(char c)
{
    return c && !isspace((unsigned char)c) && !strchr("=!,()<>", c);
}

static void skip_space(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static const char *word(struct parser *p)
{
    skip_space(p);
    const char *start = p->at;
    while (is_word(*p->at))
        p->at++;
    const char *text = kb_arena_strndup(p->arena, start, (size_t)(p->at - start));
    skip_space(p);
    return text;
}

static int bad(struct parser *p, const char *expected)
{
    return kube_error_set(p->reterr, KUBE_ERROR_INVALID, "unable to parse requirement: found '%s', expected: %s", p->at,
                          expected);
}

static void add_value(struct parser *p, struct requirement *r, const char *value)
{
    *kb_vec_push(p->arena, &r->values) = value;
}

static int parse_set(struct parser *p, struct requirement *r)
{
    skip_space(p);
    if (*p->at != '(')
        return bad(p, "'('");
    do {
        p->at++;
        add_value(p, r, word(p));
    } while (*p->at == ',');
    if (*p->at != ')')
        return bad(p, "',', or ')'");
    p->at++;
    skip_space(p);
    return 0;
}

static bool accept_text(struct parser *p, const char *token)
{
    size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0)
        return false;
    p->at += n;
    return true;
}

static int parse_operator(struct parser *p, struct requirement *r)
{
    static const struct {
        const char *token;
        enum operator op;
    } tokens[] = {{"!=", NOT_EQUALS}, {"==", EQUALS}, {"=", EQUALS}, {">", GREATER}, {"<", LESS}};
    for (size_t i = 0; i < KB_ARRAY_LEN(tokens); i++) {
        if (!accept_text(p, tokens[i].token))
            continue;
        r->op = tokens[i].op;
        add_value(p, r, word(p));
        return 0;
    }
    if (!*p->at || *p->at == ',') {
        r->op = EXISTS;
        return 0;
    }
    const char *op = word(p);
    if (kb_streq(op, "in"))
        r->op = IN;
    else if (kb_streq(op, "notin"))
        r->op = NOT_IN;
    else
        return bad(p, "in, notin, =, ==, !=, gt, lt");
    return parse_set(p, r);
}

static int parse_labels(struct parser *p, struct lab_selector *s)
{
    skip_space(p);
    while (*p->at) {
        struct requirement *r = kb_vec_push(p->arena, s);
        r->subject = LABEL;
        bool negated = *p->at == '!';
        p->at += negated;
        r->key = word(p);
        if (!*r->key)
            return bad(p, "identifier");
        r->op = NOT_EXISTS;
        if (!negated && parse_operator(p, r) < 0)
            return -1;
        if (*p->at && *p->at != ',')
            return bad(p, "',' or 'end of string'");
        if (*p->at == ',' && !*++p->at)
            return bad(p, "identifier after ','");
        skip_space(p);
    }
    return 0;
}

static int field_subject(const struct lab_kind *kind, struct requirement *r, struct kube_error *reterr)
{
    if (kb_streq(r->key, "metadata.name")) {
        r->subject = NAME;
        return 0;
    }
    if (kb_streq(r->key, "metadata.namespace")) {
        r->subject = NAMESPACE;
        return 0;
    }
    r->subject = FIELD;
    for (r->field = 0; r->field < kind->n_fields; r->field++)
        if (kb_streq(kind->fields[r->field], r->key))
            return 0;
    if (kind->custom || kind->n_fields)
        return kube_error_set(reterr, KUBE_ERROR_INVALID, "field label not supported: %s", r->key);
    return kube_error_set(reterr, KUBE_ERROR_INVALID,
                          "\"%s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                          r->key);
}

/* Values may hold ',' and '=' behind a backslash. */
static const char *field_value(struct parser *p)
{
    struct kb_strbuf b = {.arena = p->arena};
    for (; *p->at && *p->at != ','; p->at++) {
        if (*p->at == '\\' && p->at[1])
            p->at++;
        kb_strbuf_putc(&b, *p->at);
    }
    return kb_strbuf_text(&b);
}

static int parse_fields(struct parser *p, const struct lab_kind *kind, struct lab_selector *s)
{
    while (*p->at) {
        struct requirement *r = kb_vec_push(p->arena, s);
        size_t n = strcspn(p->at, "=!,");
        r->key = kb_arena_strndup(p->arena, p->at, n);
        p->at += n;
        r->op = *p->at == '!' ? NOT_EQUALS : EQUALS;
        if (!accept_text(p, "!=") && !accept_text(p, "==") && !accept_text(p, "="))
            return kube_error_set(p->reterr, KUBE_ERROR_INVALID, "invalid selector: '%s'; can't understand '%s'",
                                  p->text, r->key);
        add_value(p, r, field_value(p));
        if (field_subject(kind, r, p->reterr) < 0)
            return -1;
        if (*p->at == ',')
            p->at++;
    }
    return 0;
}

int lab_selector_parse(struct kb_arena *arena, const struct lab_kind *kind, const char *labels, const char *fields,
                       const struct lab_selector **ret, struct kube_error *reterr)
{
    struct lab_selector *s = kb_arena_one(arena, struct lab_selector);
    if (!kb_empty(labels)) {
        struct parser p = {arena, labels, labels, reterr};
        if (parse_labels(&p, s) < 0)
            return -1;
    }
    if (!kb_empty(fields)) {
        struct parser p = {arena, fields, fields, reterr};
        if (parse_fields(&p, kind, s) < 0)
            return -1;
    }
    *ret = s;
    return 0;
}

static bool has_value(const struct requirement *r, const char *value)
{
    return kb_in_list(value, r->values.items, r->values.n);
}

static bool compare_numbers(const struct requirement *r, const char *value)
{
    long long have, want;
    if (!value || !kb_parse_int(value, INT64_MIN, INT64_MAX, &have) ||
        !kb_parse_int(r->values.items[0], INT64_MIN, INT64_MAX, &want))
        return false;
    return r->op == GREATER ? have > want : have < want;
}

static const char *value_of(const struct requirement *r, const struct lab_meta *meta)
{
    switch (r->subject) {
    case NAME:
        return meta->name;
    case NAMESPACE:
        return meta->namespace_;
    case FIELD:
        return r->field < meta->n_fields ? meta->fields[r->field] : "";
    case LABEL:
        break;
    }
    return lab_meta_label(meta, r->key);
}

static bool holds(const struct requirement *r, const struct lab_meta *meta)
{
    const char *value = value_of(r, meta);
    switch (r->op) {
    case EXISTS:
        return value;
    case NOT_EXISTS:
        return !value;
    case EQUALS:
    case IN:
        return value && has_value(r, value);
    case NOT_EQUALS:
    case NOT_IN:
        return !value || !has_value(r, value);
    case GREATER:
    case LESS:
        return compare_numbers(r, value);
    }
    return false;
}

bool lab_selector_matches(const struct lab_selector *selector, const struct lab_meta *meta)
{
    if (selector->nothing)
        return false;
    for (size_t i = 0; i < selector->n; i++)
        if (!holds(&selector->items[i], meta))
            return false;
    return true;
}

bool lab_selector_is_everything(const struct lab_selector *selector)
{
    return !selector->n && !selector->nothing;
}

static bool expression_op(const char *text, enum operator* ret)
{
    static const struct {
        const char *name;
        enum operator op;
    } ops[] = {{"In", IN}, {"NotIn", NOT_IN}, {"Exists", EXISTS}, {"DoesNotExist", NOT_EXISTS}};
    for (size_t i = 0; i < KB_ARRAY_LEN(ops); i++) {
        if (kb_streq(ops[i].name, text)) {
            *ret = ops[i].op;
            return true;
        }
    }
    return false;
}

const struct lab_selector *lab_selector_of(struct kb_arena *arena, yyjson_val *label_selector)
{
    struct lab_selector *s = kb_arena_one(arena, struct lab_selector);
    struct parser p = {.arena = arena};
    s->nothing = !label_selector;
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(yyjson_obj_get(label_selector, "matchLabels"), i, n, key, value)
    {
        struct requirement *r = kb_vec_push(arena, s);
        *r = (struct requirement){.subject = LABEL, .op = EQUALS, .key = yyjson_get_str(key)};
        add_value(&p, r, yyjson_is_str(value) ? yyjson_get_str(value) : "");
    }
    yyjson_arr_foreach(yyjson_obj_get(label_selector, "matchExpressions"), i, n, value)
    {
        struct requirement *r = kb_vec_push(arena, s);
        *r = (struct requirement){.subject = LABEL, .key = lab_val_str(value, "key")};
        s->nothing |= !expression_op(lab_val_str(value, "operator"), &r->op);
        size_t j, m;
        yyjson_val *text;
        yyjson_arr_foreach(yyjson_obj_get(value, "values"), j, m, text)
        {
            add_value(&p, r, yyjson_is_str(text) ? yyjson_get_str(text) : "");
        }
    }
    return s;
}
