/*
 * Kubernetes resource quantities: exact decimal arithmetic, Go's canonical text
 * (k8s.io/apimachinery/pkg/api/resource: Quantity). "1.5Gi" -> "1536Mi", "1000m" -> "1", "0.5" -> "500m", "1e3" ->
 * "1e3".
 *
 * A value is an integer number of nano units (10^-9) held in 128 bits, and the format it was written in, which the
 * result of an addition keeps from its left side (unless that is zero), as in Go. Finer quantities are rounded away
 * from zero. With a binary suffix they are capped at 2^63-1, as in Go; with others at 10^29, where Go has no limit.
 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include "base/arena.h"
#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum kb_quantity_format { KB_QUANTITY_DECIMAL_SI, KB_QUANTITY_BINARY_SI, KB_QUANTITY_DECIMAL_EXPONENT };

struct kb_quantity {
    __int128 nano;
    enum kb_quantity_format format;
};

#define KB_QUANTITY_TEXT 64

/* Go's ParseQuantity, with its messages; white space around is not allowed. */
int kb_quantity_parse(const char *text, struct kb_quantity *ret, struct kube_error *reterr);
/* For text that was validated already (API objects): "" and anything bad are 0. */
struct kb_quantity kb_quantity_of(const char *text);
struct kb_quantity kb_quantity_from(int64_t units, enum kb_quantity_format format);
struct kb_quantity kb_quantity_from_milli(int64_t milli, enum kb_quantity_format format);

void kb_quantity_format_text(struct kb_quantity q, char ret[KB_QUANTITY_TEXT]);
const char *kb_quantity_text(struct kb_arena *arena, struct kb_quantity q);
/* True when `text` is what Go would print after parsing it: the codec's fast path. Go takes some texts for canonical
 * that its own printing would not give ("1.500", "+1", "1e0") and keeps them as they are; so they count here. */
bool kb_quantity_is_canonical(const char *text);

/* True when Go does not hold the parsed text in 64 bits ("1.5Gi", "1000Ti"): copies of such a quantity share one big
 * number, so that adding to one of them adds to all. */
bool kb_quantity_is_by_reference(const char *text);

int64_t kb_quantity_value(struct kb_quantity q);       /* Go's Value(): rounded away from zero, saturating */
int64_t kb_quantity_milli_value(struct kb_quantity q); /* Go's MilliValue(), likewise */
double kb_quantity_double(struct kb_quantity q);
int kb_quantity_compare(struct kb_quantity a, struct kb_quantity b); /* -1, 0, 1 */
struct kb_quantity kb_quantity_add(struct kb_quantity a, struct kb_quantity b);
struct kb_quantity kb_quantity_sub(struct kb_quantity a, struct kb_quantity b);
bool kb_quantity_is_zero(struct kb_quantity q);

#endif
