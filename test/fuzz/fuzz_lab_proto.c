/* Reads arbitrary bytes as a protobuf body: refused, or an object with a kind. */
#include "base/strings.h"
#include "lab/proto.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    kb_cleanup_arena struct kb_arena *arena = kb_arena_new();
    kb_cleanup_free char *body = kb_malloc(n + 4);
    struct kube_error err = {0};
    memcpy(body, "k8s", 4);
    memcpy(body + 4, bytes, n);
    yyjson_val *v = lab_proto_parse(arena, body, n + 4, &err);
    if (v ? !*lab_val_str(v, "kind") : !*err.message)
        abort();
    return 0;
}
