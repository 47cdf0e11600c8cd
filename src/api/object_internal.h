/*
 * Making shared objects: for the decoder.
 */
#ifndef API_OBJECT_INTERNAL_H
#define API_OBJECT_INTERNAL_H

#include "api/object.h"

const struct api_object *api_object_pack(const struct api_type *type, const void *data, bool projected);

#endif
