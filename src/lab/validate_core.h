/*
 * Validation of kinds beside Pods.
 */
#ifndef LAB_VALIDATE_CORE_H
#define LAB_VALIDATE_CORE_H

#include "lab/write.h"

void lab_validate_config_map(struct lab_write *w);
void lab_validate_secret(struct lab_write *w);
void lab_validate_service(struct lab_write *w);
void lab_validate_claim(struct lab_write *w);
void lab_validate_job(struct lab_write *w);
void lab_validate_budget(struct lab_write *w);

#endif
