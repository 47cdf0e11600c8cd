/*
 * Defaults of statuses and Events, and checks of kinds that need only one.
 */
#ifndef LAB_DEFAULTS_STATUS_H
#define LAB_DEFAULTS_STATUS_H

#include "lab/write.h"

/* Conditions show two times: lastTransitionTime and `other_time`. */
void lab_defaults_conditions(struct lab_write *w, const char *other_time);
void lab_defaults_pod_status(struct lab_write *w);
void lab_defaults_event(struct lab_write *w);
void lab_validate_event(struct lab_write *w);
void lab_validate_revision(struct lab_write *w); /* a ControllerRevision's data never changes */

#endif
