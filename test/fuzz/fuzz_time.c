/* Any text as a time: what is taken prints as text that is taken again as the same time, in microseconds. */
#include "base/time.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kb_cleanup_free char *text = kb_strndup((const char *)data, size);
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    int64_t ns, again;
    if (!kb_time_parse(text, &ns))
        return 0;
    char printed[KB_TIME_TEXT];
    kb_time_go_string(arena, ns);
    kb_time_text(arena, ns);
    kb_time_format_micro(ns, printed);
    if (!kb_time_parse(printed, &again) || again > ns || (ns > INT64_MIN && ns - again > 999))
        abort();
    return 0;
}
