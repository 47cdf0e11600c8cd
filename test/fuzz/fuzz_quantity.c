/*
 * Any text as a quantity: what is taken prints as text that is taken again, with the same value, and sums of it stay
 * within bounds.
 */
#include "base/quantity.h"
#include "base/strings.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

static void check_text(struct kb_quantity q)
{
    char text[KB_QUANTITY_TEXT];
    kb_quantity_format_text(q, text);
    check(strlen(text) < sizeof text);
    check(kb_quantity_compare(kb_quantity_of(text), q) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kb_cleanup_free char *text = kb_strndup((const char *)data, size);
    struct kb_quantity q;
    struct kube_error e = {0};
    bool canonical = kb_quantity_is_canonical(text);
    if (kb_quantity_parse(text, &q, &e) < 0) {
        check(!canonical && e.message[0]);
        return 0;
    }
    check_text(q);
    struct kb_quantity sum = kb_quantity_add(q, q);
    int64_t value = kb_quantity_value(sum);
    if (q.format != KB_QUANTITY_BINARY_SI || (value > INT64_MIN && value < INT64_MAX)) /* else parsing caps it */
        check_text(sum);
    check(kb_quantity_is_zero(kb_quantity_sub(q, q)));
    kb_quantity_milli_value(q);
    return 0;
}
