/*
 * The table of feature gates, filled from the list in the header.
 */
#include "virt/config/gates.h"

const struct virt_gate_info virt_gate_table[VIRT_N_GATES] = {
#define X(id, name, state) [VIRT_GATE_##id] = {name, VIRT_##state},
    VIRT_GATES(X)
#undef X
};
