/*
 * Words and numbers of launcher Pods that virt-handler, virt-launcher or users rely on. A word used once, where its
 * meaning is plain, may stand in the code; what two files use, and every number, stands here.
 */
#ifndef VIRT_LAUNCHER_WORDS_H
#define VIRT_LAUNCHER_WORDS_H

/* ---- containers ---- */
#define LAUNCHER_COMPUTE               "compute"
#define LAUNCHER_CONSOLE_LOG           "guest-console-log"
#define LAUNCHER_CONTAINER_DISK_BINARY "container-disk-binary"
#define LAUNCHER_CONTAINER_DISK_PREFIX "volume" /* + name of the volume */
#define LAUNCHER_FALLBACK_TO_LOGS      "FallbackToLogsOnError"

/* ---- volumes ---- */
#define LAUNCHER_PRIVATE          "private"
#define LAUNCHER_PUBLIC           "public"
#define LAUNCHER_SOCKETS          "sockets"
#define LAUNCHER_BINARIES         "virt-bin-share-dir"
#define LAUNCHER_LIBVIRT_RUNTIME  "libvirt-runtime"
#define LAUNCHER_EPHEMERAL_DISKS  "ephemeral-disks"
#define LAUNCHER_CONTAINER_DISKS  "container-disks"
#define LAUNCHER_HOTPLUG_DISKS    "hotplug-disks"
#define LAUNCHER_HOOK_SOCKETS     "hook-sidecar-sockets"
#define LAUNCHER_PLUGIN_SOCKETS   "kubevirt-plugin-sockets"
#define LAUNCHER_NETWORK_INFO     "network-info-annotation"
#define LAUNCHER_VIRTIOFS_SOCKETS "virtiofs-containers"
#define LAUNCHER_STATE            "vm-state" /* persistent TPM, EFI variables, changed block tracking */
#define LAUNCHER_KERNEL_BOOT      "kernel-boot-volume"
#define LAUNCHER_BINARY_IMAGE     "launcher-volume" /* image volume with the launcher's programs */

/* ---- paths in the compute container ---- */
#define LAUNCHER_PRIVATE_DIR          "/var/run/kubevirt-private"
#define LAUNCHER_PUBLIC_DIR           "/var/run/kubevirt"
#define LAUNCHER_HOST_DISK_DIR        LAUNCHER_PRIVATE_DIR "/vmi-disks"
#define LAUNCHER_SECRET_DIR           LAUNCHER_PRIVATE_DIR "/secret"
#define LAUNCHER_CONFIG_MAP_DIR       LAUNCHER_PRIVATE_DIR "/config-map"
#define LAUNCHER_DOWNWARD_API_DIR     LAUNCHER_PRIVATE_DIR "/downwardapi"
#define LAUNCHER_SYSPREP_DIR          LAUNCHER_PRIVATE_DIR "/sysprep"
#define LAUNCHER_DOWNWARD_METRICS_DIR LAUNCHER_PRIVATE_DIR "/downwardmetric-disk"
#define LAUNCHER_SERVICE_ACCOUNT_DIR  "/var/run/secrets/kubernetes.io/serviceaccount/"
#define LAUNCHER_LIBVIRT_DIR          "/var/run/libvirt"
#define LAUNCHER_HOOK_DIR             "/var/run/kubevirt-hooks"
#define LAUNCHER_PLUGIN_DIR           "/var/run/kubevirt-plugin"
#define LAUNCHER_IMAGE_VOLUME_DIR     "/var/run/kubevirt-image-volume"
#define LAUNCHER_KERNEL_BOOT_DIR      "/var/run/kubevirt-kernel-boot"
#define LAUNCHER_STATE_META_DIR       "/run/kubevirt-private/backend-storage-meta"
#define LAUNCHER_NETWORK_INFO_DIR     "/etc/podinfo"
#define LAUNCHER_VIRTIOFS_DIR         "/var/run/kubevirt/virtiofs-containers"
#define LAUNCHER_HUGEPAGES_DIR        "/dev/hugepages"
#define LAUNCHER_BINARY_IMAGE_DIR     "/container-disk-binary"

#define LAUNCHER_HOST_TO_CONTAINER "HostToContainer" /* mount propagation */

/* ---- environment ---- */
#define LAUNCHER_ENV_VERBOSITY "VIRT_LAUNCHER_LOG_VERBOSITY"

/* ---- labels and annotations that only rendering reads or writes ---- */
#define LAUNCHER_LABEL_RESERVATION_PREFIX     "pr.kubevirt.io/"
#define LAUNCHER_LABEL_VERBOSITY              "logVerbosity"
#define LAUNCHER_LABEL_DEBUG_LOGS             "debugLogs"
#define LAUNCHER_LABEL_VIRTIOFSD_LOGS         "virtiofsdDebugLogs"
#define LAUNCHER_ANNOTATION_SIDECARS          "hooks.kubevirt.io/hookSidecars"
#define LAUNCHER_ANNOTATION_LIBVIRT_LOGS      "kubevirt.io/libvirt-log-filters"
#define LAUNCHER_ANNOTATION_KEEP              "kubevirt.io/keep-launcher-alive-after-failure"
#define LAUNCHER_ANNOTATION_FAIL_FAST         "kubevirt.io/func-test-virt-launcher-fail-fast"
#define LAUNCHER_ANNOTATION_NETWORK_INFO      "kubevirt.io/network-info"
#define LAUNCHER_ISTIO_INJECT                 "sidecar.istio.io/inject" /* label of the Pod, annotation of the VMI */
#define LAUNCHER_ANNOTATION_EVICT_ONLY        "descheduler.alpha.kubernetes.io/request-evict-only"
#define LAUNCHER_ANNOTATION_DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"

#define LAUNCHER_ANNOTATION_EVEN_PARITY   "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
#define LAUNCHER_LABEL_MEMORY_LIMIT_RATIO "alpha.kubevirt.io/auto-memory-limits-ratio" /* of the namespace */

/* ---- numbers ---- */
#define LAUNCHER_EPHEMERAL_STORAGE "50M" /* of a container, beside disks */
enum {
    LAUNCHER_DEFAULT_GRACE_S = 30,  /* without spec.terminationGracePeriodSeconds */
    LAUNCHER_GRACE_PADDING_S = 15,  /* virt-launcher waits so much longer; the kubelet waits twice as much longer */
    LAUNCHER_DEFAULT_VERBOSITY = 2, /* is not passed on */
    LAUNCHER_LIBVIRT_VERBOSITY = 5, /* above: libvirt and virtiofsd log too */
    LAUNCHER_LIBVIRT_START_S = 10,  /* added to the initial delay of probes */
    LAUNCHER_PROBE_OVERHEAD_S = 1,  /* added to the time-out of probes that run through virt-probe */
    LAUNCHER_SIDECAR_CONFIG_MODE = 0755,
};

#endif
