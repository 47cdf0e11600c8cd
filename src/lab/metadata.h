/*
 * What the server does with metadata: identities, times, generation, and Kubernetes' checks of names, labels,
 * annotations, owners and finalizers.
 */
#ifndef LAB_METADATA_H
#define LAB_METADATA_H

#include "lab/write.h"

void lab_metadata_prepare_create(struct lab_write *w);
void lab_metadata_prepare_update(struct lab_write *w);
void lab_metadata_count_generation(struct lab_write *w);
void lab_metadata_validate(struct lab_write *w);

#endif
