/*
 * Feature gates that virt-controller reads (or that decide what others see of it), with their state in v1.9.0.
 * The table gives name and state; rule: unknown or gone -> off; GA -> on; listed in featureGates -> on; listed in
 * disabledFeatureGates -> off; beta -> on; otherwise off. Source: the reference's pkg/virt-config/featuregate.
 */
#ifndef VIRT_CONFIG_GATES_H
#define VIRT_CONFIG_GATES_H

enum virt_gate_state { VIRT_ALPHA, VIRT_BETA, VIRT_GA, VIRT_DEPRECATED, VIRT_DISCONTINUED };

/* clang-format off */
#define VIRT_GATES(X)                              \
    X(IMAGE_VOLUME, "ImageVolume", BETA)           \
    X(LIBVIRT_HOOKS, "LibvirtHooksServerAndClient", BETA) \
    X(SNAPSHOT, "Snapshot", BETA)                  \
    X(SEV, "WorkloadEncryptionSEV", BETA)          \
    X(SECCOMP_PROFILE, "KubevirtSeccompProfile", BETA) \
    X(NODE_RESTRICTION, "NodeRestriction", BETA)   \
    X(GPUS_WITH_DRA, "GPUsWithDRA", BETA)          \
    X(HOST_DEVICES_WITH_DRA, "HostDevicesWithDRA", BETA) \
    X(DECLARATIVE_HOTPLUG_VOLUMES, "DeclarativeHotplugVolumes", BETA) \
    X(PASST_BINDING, "PasstBinding", BETA)         \
    X(SECONDARY_INTERFACE_NAMING_UPGRADE, "PodSecondaryInterfaceNamingUpgrade", BETA) \
    X(EXTERNAL_NET_RESOURCE_INJECTION, "ExternalNetResourceInjection", BETA) \
    X(REBOOT_POLICY, "RebootPolicy", BETA)         \
    X(TEMPLATE, "Template", BETA)                  \
    X(VMI_MEMORY_OVERHEAD_REPORT, "VmiMemoryOverheadReport", BETA) \
    X(OPT_OUT_ROLE_AGGREGATION, "OptOutRoleAggregation", BETA) \
    X(CPU_MANAGER, "CPUManager", ALPHA)            \
    X(IGNITION, "ExperimentalIgnitionSupport", ALPHA) \
    X(HYPERV_STRICT_CHECK, "HypervStrictCheck", ALPHA) \
    X(SIDECAR, "Sidecar", ALPHA)                   \
    X(HOST_DEVICES, "HostDevices", ALPHA)          \
    X(HOST_DISK, "HostDisk", ALPHA)                \
    X(UTILITY_VOLUMES, "UtilityVolumes", ALPHA)    \
    X(DOWNWARD_METRICS, "DownwardMetrics", ALPHA)  \
    X(ROOT, "Root", ALPHA)                         \
    X(TDX, "WorkloadEncryptionTDX", ALPHA)         \
    X(VSOCK, "VSOCK", ALPHA)                       \
    X(ALIGN_CPUS, "AlignCPUs", ALPHA)              \
    X(INCREMENTAL_BACKUP, "IncrementalBackup", ALPHA) \
    X(VIRTIOFS_STORAGE_VOLUMES, "EnableVirtioFsStorageVolumes", ALPHA) \
    X(PCI_NUMA_AWARE_TOPOLOGY, "PCINUMAAwareTopology", ALPHA) \
    X(NETWORK_DEVICES_WITH_DRA, "NetworkDevicesWithDRA", ALPHA) \
    X(DECENTRALIZED_LIVE_MIGRATION, "DecentralizedLiveMigration", ALPHA) \
    X(OBJECT_GRAPH, "ObjectGraph", ALPHA)          \
    X(CONFIGURABLE_HYPERVISOR, "ConfigurableHypervisor", ALPHA) \
    X(CONTAINER_PATH_VOLUMES, "ContainerPathVolumes", ALPHA) \
    X(RESERVED_OVERHEAD_MEMLOCK, "ReservedOverheadMemlock", ALPHA) \
    X(VGPU_LIVE_MIGRATION, "VGPULiveMigration", ALPHA) \
    X(VM_STATS_COLLECTOR, "VMStatsCollector", ALPHA) \
    X(OCI_EXPORT, "OCIExport", ALPHA)              \
    X(PLUGINS, "Plugins", ALPHA)                   \
    X(GRACE_IO_VIRTUALIZATION, "GraceIOVirtualization", ALPHA) \
    X(IOMMUFD, "IOMMUFD", ALPHA)                   \
    X(FIRMWARE_AUTO_SELECTION, "FirmwareAutoSelection", ALPHA) \
    X(MIGRATION_STALL_DETECTION, "MigrationStallDetection", ALPHA) \
    X(CROSS_ARCHITECTURE, "CrossArchitectureVirtualization", ALPHA) \
    X(PORT_RANGES_SPEC, "PortRangesSpec", ALPHA)   \
    X(MIGRATION_PRIORITY_QUEUE, "MigrationPriorityQueue", GA) \
    X(DOCKER_SELINUX_MCS_WORKAROUND, "DockerSELinuxMCSWorkaround", DEPRECATED) \
    X(MULTI_ARCHITECTURE, "MultiArchitecture", DEPRECATED) \
    X(DISABLE_MDEV, "DisableMDEVConfiguration", DEPRECATED) \
    X(HOTPLUG_VOLUMES, "HotplugVolumes", DEPRECATED)
/* clang-format on */

enum virt_gate {
#define X(id, name, state) VIRT_GATE_##id,
    VIRT_GATES(X)
#undef X
        VIRT_N_GATES
};

struct virt_gate_info {
    const char *name;
    enum virt_gate_state state;
};
extern const struct virt_gate_info virt_gate_table[VIRT_N_GATES];

#endif
