/*
 * The strategies of Kubernetes' own kinds, by the file that holds them.
 */
#ifndef LAB_STRATEGIES_H
#define LAB_STRATEGIES_H

#include "lab/write.h"

#endif
