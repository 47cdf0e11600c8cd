/* Any text as a duration: what is taken prints as text that is taken again as the same duration. */
#include "base/time.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kb_cleanup_free char *text = kb_strndup((const char *)data, size);
    int64_t ns, again;
    if (!kb_duration_parse(text, &ns))
        return 0;
    char printed[KB_TIME_TEXT];
    kb_duration_format(ns, printed);
    if (!kb_duration_parse(printed, &again) || again != ns)
        abort();
    return 0;
}
