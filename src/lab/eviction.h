/*
 * Eviction: deletion of a Pod that disruption budgets may refuse.
 */
#ifndef LAB_EVICTION_H
#define LAB_EVICTION_H

#include "lab/call.h"

int lab_serve_eviction(struct lab_call *call);

#endif
