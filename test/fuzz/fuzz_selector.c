/* Label selectors as text: any bytes. */
#include "base/arena.h"
#include "kube/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct api_string_entry entries[] = {{"app", "virt"}, {"empty", ""}, {"kubevirt.io", "virt-launcher"}};
    const struct api_string_map labels = {KB_ARRAY_LEN(entries), entries};
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kube_selector_matches(kb_arena_strndup(arena, (const char *)data, size), &labels);
    return 0;
}
