/*
 * What is wrong with a JSON text, in the words of Go's encoding/json: users see them in events and conditions.
 */
#ifndef BASE_JSON_FAULT_H
#define BASE_JSON_FAULT_H

#include "base/arena.h"
#include <stddef.h>

/* "invalid character 'x' looking for beginning of value", ...; NULL: nothing is. Like Go, it does not mind bytes that
 * are not UTF-8. */
const char *kb_json_fault(struct kb_arena *arena, const char *text, size_t n);

#endif
