/*
 * Interface bindings of old releases: they are refused once more when a Pod or a VMI is made, as an object may be older
 * than the webhook that refuses them. Source: the reference's pkg/network/admitter, ValidateCreation.
 */
#ifndef VIRT_NETWORK_VALIDATION_H
#define VIRT_NETWORK_VALIDATION_H

#include "api/types/kv.h"
#include "base/arena.h"

/* Each problem as Go prints a StatusCause, a line each; NULL: none. Fields are named below `field` ("spec"). */
const char *virt_network_problems(struct kb_arena *arena, const char *field, const struct kv_vmi_spec *spec);

#endif
