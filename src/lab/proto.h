/*
 * Reading of protobuf bodies. kubectl's typed clients send their few small objects so (namespaces, config maps,
 * secrets, access reviews, evictions); the server answers in JSON, which they accept.
 */
#ifndef LAB_PROTO_H
#define LAB_PROTO_H

#include "base/error.h"
#include "lab/json.h"

/* A body that begins with "k8s\0". NULL and reterr when it is damaged, or of a kind that is not in the table. */
yyjson_val *lab_proto_parse(struct kb_arena *arena, const char *body, size_t n, struct kube_error *reterr);

#endif
