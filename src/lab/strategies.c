/*
 * Which kind follows which rules.
 */
#include "lab/strategies.h"
#include "base/strings.h"
#include "lab/crd.h"

static const struct lab_strategy plain = {0};

static const struct lab_strategy *const strategies[] = {&lab_crd_strategy};

const struct lab_strategy *lab_strategy_of(const struct lab_kind *kind)
{
    for (size_t i = 0; i < KB_ARRAY_LEN(strategies); i++)
        if (kb_streq(strategies[i]->resource, kind->resource))
            return strategies[i];
    return &plain;
}
