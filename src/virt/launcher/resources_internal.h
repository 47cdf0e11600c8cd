/*
 * How requests and limits of the compute container are summed up, with a note of each term.
 *
 * There are two layers: what the VMI itself asks for (which rules raise), and what is calculated. At the end the VMI's
 * entry wins over a calculated one of the same name. Each change names the rule it comes from; with `trace` set they
 * are noted, so that the sum can be explained.
 *
 * A quantity keeps the format it was written in (a sum keeps the format of its first part that isn't zero), and its
 * text as long as nothing is added.
 *
 * Some amounts are held by reference (kb_quantity_is_by_reference): a copy made of one, say of a limit of 1.5Gi as the
 * request that is missing, changes with it. Users of the reference see the overhead twice then, and so do ours.
 */
#ifndef VIRT_LAUNCHER_RESOURCES_INTERNAL_H
#define VIRT_LAUNCHER_RESOURCES_INTERNAL_H

#include "base/quantity.h"
#include "virt/launcher/launcher_internal.h"

/* ---- the memory beside the guest's: overhead.c ---- */

#define LAUNCHER_MAX_OVERHEAD_TERMS 24 /* more than there are rules */
struct launcher_overhead_term {
    const char *rule;
    struct kb_quantity quantity;
};
struct launcher_overhead {
    struct kb_quantity total;
    size_t n;
    struct launcher_overhead_term terms[LAUNCHER_MAX_OVERHEAD_TERMS];
};
void launcher_overhead(const struct virt_config *config, const struct kv_vmi *vmi, struct launcher_overhead *ret);

/* Go's strconv.ParseFloat; false when `text` is none, or out of range. */
bool launcher_parse_float(const char *text, double *ret);
/* Go's conversion of a float64 to an int64. */
int64_t launcher_truncate(double value);

/* ---- sums: sums.c ---- */

enum launcher_layer { LAUNCHER_VMI, LAUNCHER_CALCULATED, LAUNCHER_N_LAYERS };
enum launcher_side { LAUNCHER_REQUEST, LAUNCHER_LIMIT, LAUNCHER_N_SIDES };

struct launcher_amount {
    const char *name;
    struct kb_quantity quantity;
    const char *text;   /* as written by the user; NULL: a sum */
    unsigned reference; /* amounts with the same number change together; 0: on its own */
};
struct launcher_amounts {
    size_t n;
    struct launcher_amount *items;
};
struct launcher_noted_term {
    enum launcher_layer layer;
    struct virt_resource_term term;
};
struct launcher_noted_terms {
    size_t n;
    struct launcher_noted_term *items;
};

struct launcher_sums {
    struct kb_arena *arena;
    struct launcher_amounts amounts[LAUNCHER_N_LAYERS][LAUNCHER_N_SIDES];
    unsigned n_references;
    struct launcher_noted_terms *trace; /* NULL: not wanted */
};

/* NULL: there is none. Valid until the next change. */
const struct launcher_amount *launcher_sums_find(const struct launcher_sums *sums, enum launcher_layer layer,
                                                 enum launcher_side side, const char *name);
/* Of the VMI's layer; zero when there is none. */
struct kb_quantity launcher_sums_value(const struct launcher_sums *sums, enum launcher_side side, const char *name);
/* `text` NULL: as the quantity prints. */
void launcher_sums_set(struct launcher_sums *sums, enum launcher_layer layer, enum launcher_side side, const char *name,
                       struct kb_quantity quantity, const char *text, const char *rule);
/* `from`: found in the sums. */
void launcher_sums_copy(struct launcher_sums *sums, enum launcher_layer layer, enum launcher_side side,
                        const char *name, const struct launcher_amount *from, const char *rule);
void launcher_sums_add(struct launcher_sums *sums, enum launcher_layer layer, enum launcher_side side, const char *name,
                       struct kb_quantity quantity, const char *rule);
/* One more of a device on both sides, unless the VMI itself says how many (and not by reference). */
void launcher_sums_add_device(struct launcher_sums *sums, const char *name, const char *rule);
/* Both layers in one, as Go prints them. */
struct api_string_map launcher_sums_result(const struct launcher_sums *sums, enum launcher_side side);

/* ---- devices.c ---- */

struct launcher_device {
    const char *resource, *rule;
};
struct launcher_devices {
    struct {
        size_t n;
        struct launcher_device *items;
    } devices;
    struct core_resource_claim_list claims;
};
/* In the order in which they are counted. Errors: devices that are not permitted, missing network definitions. */
int launcher_find_devices(struct launcher *l, struct launcher_devices *ret, struct kube_error *reterr);

/* ---- resources.c ---- */

/* The sums of the compute container, and its resource claims. `trace` may be NULL. */
int launcher_sum_resources(struct launcher *l, struct launcher_noted_terms *trace, struct launcher_sums *ret,
                           struct core_resource_claim_list *ret_claims, struct kube_error *reterr);

#endif
