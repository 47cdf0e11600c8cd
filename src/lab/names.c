/*
 * Names and labels, see names.h.
 */
#include "lab/names.h"
#include "base/strings.h"
#include "lab/json.h"
#include <ctype.h>

#define LABEL_MAX      63
#define SUBDOMAIN_MAX  253
#define ANNOTATION_MAX (256 * 1024)

static const char label_text[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
static const char subdomain_text[] =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
static const char qualified_text[] =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
static const char key_text[] =
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
    "'example.com/MyName')";
static const char value_text[] =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
static const char env_text[] =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_label(const char *text, size_t n)
{
    if (!n || !is_lower_alnum(text[0]) || !is_lower_alnum(text[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_lower_alnum(text[i]) && text[i] != '-')
            return false;
    return true;
}

/* [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])? */
static bool is_name_part(const char *text, size_t n)
{
    if (!n || !isalnum((unsigned char)text[0]) || !isalnum((unsigned char)text[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
            return false;
    return true;
}

const char *lab_dns1123_label_check(const char *text)
{
    if (strlen(text) > LABEL_MAX)
        return "must be no more than 63 characters";
    return is_label(text, strlen(text)) ? NULL : label_text;
}

const char *lab_dns1123_subdomain_check(const char *text)
{
    if (strlen(text) > SUBDOMAIN_MAX)
        return "must be no more than 253 characters";
    for (const char *p = text;;) {
        size_t n = strcspn(p, ".");
        if (!is_label(p, n))
            return subdomain_text;
        if (!p[n])
            return NULL;
        p += n + 1;
    }
}

const char *lab_qualified_name_check(const char *text)
{
    const char *slash = strchr(text, '/'), *name = text;
    if (slash && strchr(slash + 1, '/'))
        return key_text;
    if (slash) {
        char prefix[SUBDOMAIN_MAX + 2];
        if ((size_t)(slash - text) > SUBDOMAIN_MAX)
            return "prefix part must be no more than 253 characters";
        memcpy(prefix, text, (size_t)(slash - text));
        prefix[slash - text] = '\0';
        if (!*prefix)
            return "prefix part must be non-empty";
        if (lab_dns1123_subdomain_check(prefix))
            return subdomain_text;
        name = slash + 1;
    }
    if (!*name)
        return "name part must be non-empty";
    if (strlen(name) > LABEL_MAX)
        return "name part must be no more than 63 characters";
    return is_name_part(name, strlen(name)) ? NULL : qualified_text;
}

const char *lab_label_value_check(const char *text)
{
    if (strlen(text) > LABEL_MAX)
        return "must be no more than 63 characters";
    return !*text || is_name_part(text, strlen(text)) ? NULL : value_text;
}

const char *lab_env_name_check(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p < ' ' || *p > '~' || *p == '=')
            return env_text;
    return NULL;
}

const char *lab_port_name_check(const char *text)
{
    size_t n = strlen(text);
    bool letter = false;
    if (n > 15)
        return "must be no more than 15 characters";
    for (const char *p = text; *p; p++)
        letter |= *p >= 'a' && *p <= 'z';
    if (!is_label(text, n))
        return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
    if (!letter)
        return "must contain at least one letter (a-z)";
    return strstr(text, "--") ? "must not contain consecutive hyphens" : NULL;
}

const char *lab_name_check(const struct lab_kind *kind, const char *name)
{
    if (kb_streq(kind->resource, "namespaces") || kb_streq(kind->resource, "services"))
        return lab_dns1123_label_check(name);
    if (!kb_streq(kind->group, "rbac.authorization.k8s.io"))
        return lab_dns1123_subdomain_check(name);
    if (kb_streq(name, ".") || kb_streq(name, "..") || strpbrk(name, "/%"))
        return "may not contain '/' or '%'";
    return NULL;
}

void lab_qualified_name_validate(struct lab_call *call, const char *field, const char *name)
{
    const char *wrong = lab_qualified_name_check(name);
    if (wrong)
        lab_cause_invalid(call, field, kb_quote(call->arena, name), wrong);
    if (!*name)
        lab_cause_invalid(call, field, "\"\"", qualified_text);
}

void lab_labels_check(struct lab_call *call, yyjson_mut_val *labels, const char *field)
{
    size_t i, n;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(labels, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key), *text = yyjson_mut_get_str(value);
        const char *wrong = lab_qualified_name_check(name);
        if (wrong)
            lab_cause_invalid(call, field, kb_quote(call->arena, name), wrong);
        wrong = text ? lab_label_value_check(text) : "must be a string";
        if (wrong)
            lab_cause_invalid(call, field, kb_quote(call->arena, text ? text : ""), wrong);
    }
}

static const char *lower(struct kb_arena *arena, const char *text)
{
    char *copy = kb_arena_strdup(arena, text);
    for (char *p = copy; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return copy;
}

void lab_annotations_check(struct lab_call *call, yyjson_mut_val *annotations, const char *field)
{
    size_t i, n, total = 0;
    yyjson_mut_val *key, *value;
    yyjson_mut_obj_foreach(annotations, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        const char *wrong = lab_qualified_name_check(lower(call->arena, name));
        if (wrong)
            lab_cause_invalid(call, field, kb_quote(call->arena, name), wrong);
        if (!yyjson_mut_is_str(value))
            lab_cause_invalid(call, field, kb_quote(call->arena, name), "must be a string");
        total += yyjson_mut_get_len(key) + yyjson_mut_get_len(value);
    }
    if (total > ANNOTATION_MAX)
        lab_cause(call, "FieldValueTooLong", field, "Too long: may not be more than %d bytes", ANNOTATION_MAX);
}
