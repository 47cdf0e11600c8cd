/*
 * The strategies of Kubernetes' own kinds, by the file that holds them.
 */
#ifndef LAB_STRATEGIES_H
#define LAB_STRATEGIES_H

#include "lab/write.h"

extern const struct lab_strategy lab_pod_strategy;      /* validate_pod.c */
extern const struct lab_strategy lab_core_strategies[]; /* defaults_core.c */
extern const size_t lab_n_core_strategies;

#endif
