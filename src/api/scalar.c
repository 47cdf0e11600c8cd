/*
 * Scalars: reading from JSON, into the canonical form that Go would write; writing; equality.
 *
 * A NUL inside a string, which JSON allows and C does not, is held as the two bytes C0 80. They can't be anything else,
 * as input must be valid UTF-8, and become \u0000 again when written.
 */
#include "api/codec_internal.h"

#include "base/quantity.h"
#include "base/strings.h"
#include "base/time.h"
#include <math.h>
#include <stdlib.h>

/* Years that an int64 of nanoseconds holds whole. Go's times reach further; they stay text. */
#define FIRST_NS_YEAR 1678
#define LAST_NS_YEAR  2261

const char *api_json_type_name(yyjson_val *value)
{
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM:
        return "a number";
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return "a bool";
    case YYJSON_TYPE_STR:
        return "a string";
    case YYJSON_TYPE_ARR:
        return "a list";
    default:
        return "an object";
    }
}

static int expected(struct api_scalar_reader *reader, const char *what, yyjson_val *value)
{
    return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "expected %s, got %s", what, api_json_type_name(value));
}

/* ---- text ---- */

static const char *keep_text(struct api_scalar_reader *reader, const char *text, size_t n)
{
    return reader->borrow ? text : api_text_pool_add(reader->pool, text, n);
}

static const char *escape_nuls(struct api_scalar_reader *reader, const char *text, size_t n)
{
    size_t nuls = 0;
    char *copy, *to;

    for (size_t i = 0; i < n; i++)
        nuls += !text[i];
    copy = to = api_text_pool_alloc(reader->pool, n + nuls + 1);
    for (size_t i = 0; i < n; i++) {
        if (text[i]) {
            *to++ = text[i];
            continue;
        }
        *to++ = '\xC0';
        *to++ = '\x80';
    }
    *to = 0;
    return copy;
}

const char *api_read_key(struct api_scalar_reader *reader, yyjson_val *key)
{
    const char *text = yyjson_get_str(key);
    const size_t n = yyjson_get_len(key);

    return strlen(text) == n ? keep_text(reader, text, n) : NULL;
}

static int read_string(struct api_scalar_reader *reader, yyjson_val *value, const char **ret)
{
    const char *text = yyjson_get_str(value);
    const size_t n = yyjson_get_len(value);

    if (!text)
        return expected(reader, "a string", value);
    *ret = strlen(text) == n ? keep_text(reader, text, n) : escape_nuls(reader, text, n);
    return 0;
}

/* Go ignores line breaks inside base64. */
static const char *without_line_breaks(struct api_scalar_reader *reader, const char *text)
{
    char *copy, *to;

    if (!strpbrk(text, "\r\n"))
        return text;
    copy = to = api_text_pool_alloc(reader->pool, strlen(text) + 1);
    for (; *text; text++)
        if (*text != '\r' && *text != '\n')
            *to++ = *text;
    *to = 0;
    return copy;
}

static bool is_base64(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t n = strlen(text), plain = strspn(text, digits);

    if (n % 4 || n - plain > 2)
        return false;
    return strspn(text + plain, "=") == n - plain;
}

static int read_bytes(struct api_scalar_reader *reader, yyjson_val *value, const char **ret)
{
    const char *text;

    if (read_string(reader, value, &text) < 0)
        return -1;
    text = without_line_breaks(reader, text);
    if (!is_base64(text))
        return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "not base64");
    *ret = text;
    return 0;
}

static const char *number_text(struct api_scalar_reader *reader, yyjson_val *value)
{
    struct kb_strbuf b = {.arena = reader->pool->arena};

    api_append_value(&b, value);
    return kb_strbuf_text(&b);
}

/* What its canonical text does not tell matters to sums: the format, and that copies share the number. */
static bool says_more_than_canonical(const char *text, struct kb_quantity quantity, const char *canonical)
{
    return kb_quantity_is_by_reference(text) || kb_quantity_of(canonical).format != quantity.format;
}

/* Canonical text, but for quantities that lose by it; those become canonical when they are written. */
static int read_quantity(struct api_scalar_reader *reader, yyjson_val *value, const char **ret)
{
    const char *text;
    struct kb_quantity quantity;
    char canonical[KB_QUANTITY_TEXT];

    if (yyjson_is_num(value) || yyjson_is_raw(value))
        text = number_text(reader, value);
    else if (read_string(reader, value, &text) < 0)
        return -1;
    if (kb_quantity_is_canonical(text)) {
        *ret = text;
        return 0;
    }
    if (kb_quantity_parse(text, &quantity, reader->reterr) < 0)
        return -1;
    kb_quantity_format_text(quantity, canonical);
    if (says_more_than_canonical(text, quantity, canonical))
        *ret = text;
    else
        *ret = api_text_pool_add(reader->pool, canonical, strlen(canonical));
    return 0;
}

/* True for text in the form of `pattern`, where 0 is any digit. */
static bool has_form(const char *text, const char *pattern)
{
    for (; *pattern; text++, pattern++)
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern)
            return false;
    return !*text;
}

static int read_time(struct api_scalar_reader *reader, yyjson_val *value, const char *form,
                     void (*format)(int64_t, char *), const char **ret)
{
    char canonical[KB_TIME_TEXT];
    const char *text;
    int64_t ns;

    if (read_string(reader, value, &text) < 0)
        return -1;
    if (has_form(text, form)) {
        const int year = atoi(text);

        if (year >= FIRST_NS_YEAR && year <= LAST_NS_YEAR && !kb_time_parse(text, &ns))
            return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "not a time: \"%s\"", text);
        *ret = year == 1 && kb_starts_with(text, "0001-01-01T00:00:00") ? "" : text;
        return 0;
    }
    if (!kb_time_parse(text, &ns))
        return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "not a time: \"%.100s\"", text);
    format(ns, canonical);
    *ret = api_text_pool_add(reader->pool, canonical, strlen(canonical));
    return 0;
}

static int read_duration(struct api_scalar_reader *reader, yyjson_val *value, const char **ret)
{
    char canonical[KB_TIME_TEXT];
    const char *text;
    int64_t ns;

    if (read_string(reader, value, &text) < 0)
        return -1;
    if (!kb_duration_parse(text, &ns))
        return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "not a duration: \"%.100s\"", text);
    kb_duration_format(ns, canonical);
    *ret = kb_streq(text, canonical) ? text : api_text_pool_add(reader->pool, canonical, strlen(canonical));
    return 0;
}

static int read_raw(struct api_scalar_reader *reader, yyjson_val *value, const char **ret)
{
    kb_cleanup_strbuf struct kb_strbuf b = {0};

    api_append_value(&b, value);
    *ret = api_text_pool_add(reader->pool, kb_strbuf_text(&b), b.length);
    return 0;
}

/* ---- numbers ---- */

static int read_integer(struct api_scalar_reader *reader, yyjson_val *value, int64_t min, int64_t max, int64_t *ret)
{
    int64_t number;

    if (yyjson_is_real(value))
        return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "expected an integer, got %g",
                              yyjson_get_real(value));
    if (!yyjson_is_int(value) && !yyjson_is_raw(value))
        return expected(reader, "an integer", value);
    number = yyjson_get_sint(value);
    if (yyjson_is_raw(value) || (yyjson_is_uint(value) && number < 0) || number < min || number > max)
        return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "the number is out of range");
    *ret = number;
    return 0;
}

static int read_double(struct api_scalar_reader *reader, yyjson_val *value, double *ret)
{
    if (yyjson_is_raw(value)) {
        const double number = strtod(yyjson_get_raw(value), NULL);

        if (isinf(number))
            return kube_error_set(reader->reterr, KUBE_ERROR_INVALID, "the number is out of range");
        *ret = number;
        return 0;
    }
    if (!yyjson_is_num(value))
        return expected(reader, "a number", value);
    *ret = yyjson_get_num(value);
    return 0;
}

static int read_int32(struct api_scalar_reader *reader, yyjson_val *value, int32_t *ret)
{
    int64_t number;

    if (read_integer(reader, value, INT32_MIN, INT32_MAX, &number) < 0)
        return -1;
    *ret = number;
    return 0;
}

static int read_int_or_string(struct api_scalar_reader *reader, yyjson_val *value, struct api_int_or_string *ret)
{
    ret->is_string = yyjson_is_str(value);
    ret->text = "";
    ret->number = 0;
    return ret->is_string ? read_string(reader, value, &ret->text) : read_int32(reader, value, &ret->number);
}

int api_read_scalar(struct api_scalar_reader *reader, enum api_kind kind, yyjson_val *value, void *ret)
{
    switch (kind) {
    case API_STRING:
        return read_string(reader, value, ret);
    case API_BOOL:
        if (!yyjson_is_bool(value))
            return expected(reader, "a bool", value);
        *(bool *)ret = yyjson_get_bool(value);
        return 0;
    case API_INT32:
        return read_int32(reader, value, ret);
    case API_INT64:
        return read_integer(reader, value, INT64_MIN, INT64_MAX, ret);
    case API_FLOAT64:
        return read_double(reader, value, ret);
    case API_BYTES:
        return read_bytes(reader, value, ret);
    case API_QUANTITY:
        return read_quantity(reader, value, ret);
    case API_TIME:
        return read_time(reader, value, "0000-00-00T00:00:00Z", kb_time_format, ret);
    case API_MICRO_TIME:
        return read_time(reader, value, "0000-00-00T00:00:00.000000Z", kb_time_format_micro, ret);
    case API_DURATION:
        return read_duration(reader, value, ret);
    case API_INT_OR_STRING:
        return read_int_or_string(reader, value, ret);
    case API_RAW:
        return read_raw(reader, value, ret);
    case API_STRUCT:
        break;
    }
    return kube_error_set(reader->reterr, KUBE_ERROR_INTERNAL, "not a scalar");
}

/* ---- writing ---- */

void api_append_value(struct kb_strbuf *b, yyjson_val *value)
{
    size_t n;
    kb_cleanup_free char *text = yyjson_val_write(value, YYJSON_WRITE_INF_AND_NAN_AS_NULL, &n);

    if (text)
        kb_strbuf_append(b, text, n);
    else
        kb_strbuf_puts(b, "null");
}

void api_append_text(struct kb_strbuf *b, const char *text)
{
    const size_t n = strlen(text);
    kb_cleanup_free char *plain = NULL;
    char *to;

    if (!memmem(text, n, "\xC0\x80", 2)) {
        kb_strbuf_json_string(b, text, n);
        return;
    }
    plain = to = kb_malloc(n);
    for (const char *from = text; *from; from++) {
        const bool nul = from[0] == '\xC0' && from[1] == '\x80';

        *to++ = nul ? 0 : *from;
        from += nul;
    }
    kb_strbuf_json_string(b, plain, to - plain);
}

static void append_integer(struct kb_strbuf *b, int64_t number)
{
    char digits[24], *at = digits + sizeof(digits);
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do
        *--at = '0' + rest % 10;
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    kb_strbuf_append(b, at, digits + sizeof(digits) - at);
}

/* The shortest digits that read back as the same number; whole numbers without a fraction, as Go. */
static void append_double(struct kb_strbuf *b, double number)
{
    char text[40];

    if (!isfinite(number)) {
        kb_strbuf_puts(b, "null");
        return;
    }
    if (number > -1e15 && number < 1e15 && number == (double)(int64_t)number) {
        append_integer(b, (int64_t)number);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    kb_strbuf_puts(b, text);
}

/* Only what reading kept is rewritten: a sum in binary format may print as "3000", which a reader takes for "3k". */
static void append_quantity(struct kb_strbuf *b, const char *text)
{
    char canonical[KB_QUANTITY_TEXT];
    struct kb_quantity quantity;

    if (kb_quantity_is_canonical(text) || kb_quantity_parse(text, &quantity, NULL) < 0) {
        api_append_text(b, text);
        return;
    }
    kb_quantity_format_text(quantity, canonical);
    api_append_text(b, says_more_than_canonical(text, quantity, canonical) ? canonical : text);
}

/* The absent value of a text kind, or the text itself. */
static void append_text_kind(struct kb_strbuf *b, enum api_kind kind, const char *text)
{
    static const char *const absent[] = {
        [API_STRING] = "\"\"",     [API_BYTES] = "\"\"",      [API_QUANTITY] = "\"0\"", [API_TIME] = "null",
        [API_MICRO_TIME] = "null", [API_DURATION] = "\"0s\"", [API_RAW] = "null",
    };

    if (!*text)
        kb_strbuf_puts(b, absent[kind]);
    else if (kind == API_RAW)
        kb_strbuf_puts(b, text);
    else if (kind == API_QUANTITY)
        append_quantity(b, text);
    else
        api_append_text(b, text);
}

void api_append_scalar(struct kb_strbuf *b, enum api_kind kind, const void *value)
{
    const struct api_int_or_string *either = value;

    switch (kind) {
    case API_BOOL:
        kb_strbuf_puts(b, *(const bool *)value ? "true" : "false");
        break;
    case API_INT32:
        append_integer(b, *(const int32_t *)value);
        break;
    case API_INT64:
        append_integer(b, *(const int64_t *)value);
        break;
    case API_FLOAT64:
        append_double(b, *(const double *)value);
        break;
    case API_INT_OR_STRING:
        if (either->is_string)
            api_append_text(b, either->text ? either->text : "");
        else
            append_integer(b, either->number);
        break;
    default:
        append_text_kind(b, kind, api_text_at(value));
    }
}

/* ---- equality ---- */

static bool equal_raw(const char *a, const char *b)
{
    yyjson_doc *left = api_raw_parse(a), *right = api_raw_parse(b);
    const bool equal = left && right && yyjson_equals(yyjson_doc_get_root(left), yyjson_doc_get_root(right));

    yyjson_doc_free(left);
    yyjson_doc_free(right);
    return equal;
}

static bool equal_parsed(const char *a, const char *b, bool (*parse)(const char *, int64_t *))
{
    int64_t left, right;

    return parse(a, &left) && parse(b, &right) && left == right;
}

static bool equal_text(enum api_kind kind, const char *a, const char *b)
{
    if (kb_streq(a, b))
        return true;
    switch (kind) {
    case API_QUANTITY:
        return kb_quantity_compare(kb_quantity_of(a), kb_quantity_of(b)) == 0;
    case API_TIME:
    case API_MICRO_TIME:
        return equal_parsed(a, b, kb_time_parse);
    case API_DURATION:
        return equal_parsed(*a ? a : "0s", *b ? b : "0s", kb_duration_parse);
    case API_RAW:
        return equal_raw(a, b);
    default:
        return false;
    }
}

bool api_equal_scalar(enum api_kind kind, const void *a, const void *b)
{
    const struct api_int_or_string *left = a, *right = b;

    switch (kind) {
    case API_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case API_INT32:
        return *(const int32_t *)a == *(const int32_t *)b;
    case API_INT64:
        return *(const int64_t *)a == *(const int64_t *)b;
    case API_FLOAT64:
        return *(const double *)a == *(const double *)b;
    case API_INT_OR_STRING:
        if (left->is_string != right->is_string)
            return false;
        if (!left->is_string)
            return left->number == right->number;
        return kb_streq(left->text ? left->text : "", right->text ? right->text : "");
    default:
        return equal_text(kind, api_text_at(a), api_text_at(b));
    }
}
