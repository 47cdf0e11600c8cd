/*
 * The configuration of a cluster whose KubeVirt CR says nothing.
 */
#ifndef VIRT_CONFIG_DEFAULTS_H
#define VIRT_CONFIG_DEFAULTS_H

/* A KubeVirtConfiguration as JSON; without architectureConfiguration.defaultArchitecture, which is the program's own.
 */
extern const char virt_config_defaults[];

#endif
