/*
 * Which kind follows which rules.
 */
#include "lab/strategies.h"
#include "base/strings.h"
#include "lab/crd.h"
#include "lab/defaults_status.h"

static const struct lab_strategy plain = {0};
/* Its data belongs to whoever made it, nulls and all. */
static const struct lab_strategy revision = {
    .resource = "controllerrevisions.apps", .validate = lab_validate_revision, .verbatim = true};
static const struct lab_strategy *const others[] = {&lab_crd_strategy, &lab_pod_strategy, &revision};

const struct lab_strategy *lab_strategy_of(const struct lab_kind *kind)
{
    if (kind->custom)
        return &plain;
    for (size_t i = 0; i < KB_ARRAY_LEN(others); i++)
        if (kb_streq(others[i]->resource, kind->resource))
            return others[i];
    for (size_t i = 0; i < lab_n_core_strategies; i++)
        if (kb_streq(lab_core_strategies[i].resource, kind->resource))
            return &lab_core_strategies[i];
    return &plain;
}
