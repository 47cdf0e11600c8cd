/*
 * What differs between two configurations, in words for the log: one line a field, with old and new.
 */
#ifndef CMD_VIRT_CONTROLLER_CONFIG_CHANGES_H
#define CMD_VIRT_CONTROLLER_CONFIG_CHANGES_H

#include "virt/config/config.h"

/* Calls back for each field of spec.configuration that differs ("developerConfiguration.logVerbosity.virtController",
 * "2", "4"; "" stands for absent), then for each gate whose state differs ("gate Sidecar", "off", "on"). Texts are
 * valid during the call. */
typedef void (*config_change)(void *userdata, const char *field, const char *before, const char *after);
void config_changes(const struct virt_config *before, const struct virt_config *after, config_change each,
                    void *userdata);

#endif
