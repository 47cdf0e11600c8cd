/*
 * Discovery documents: which groups, versions and resources there are. Each answers the call with a text; those that
 * name a group or version return false when there is none of that name.
 */
#ifndef LAB_DISCOVERY_H
#define LAB_DISCOVERY_H

#include "lab/call.h"

#define LAB_KUBERNETES_VERSION "v1.36.3"

int lab_discovery_core(struct lab_call *call);   /* /api */
int lab_discovery_groups(struct lab_call *call); /* /apis, also the aggregated form */
int lab_discovery_paths(struct lab_call *call);  /* / */
int lab_discovery_version(struct lab_call *call);
bool lab_discovery_group(struct lab_call *call, const char *group);
bool lab_discovery_resources(struct lab_call *call, const char *group, const char *version);

#endif
