package main

// The tables: which kinds, what each Go package is called in C, which Go types are scalars, which strings repeat.

import (
	"net"
	"reflect"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	vsv1 "github.com/kubernetes-csi/external-snapshotter/client/v4/apis/volumesnapshot/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/version"
	backupv1 "kubevirt.io/api/backup/v1alpha1"
	clonev1 "kubevirt.io/api/clone/v1beta1"
	kvv1 "kubevirt.io/api/core/v1"
	exportv1 "kubevirt.io/api/export/v1"
	exportv1beta1 "kubevirt.io/api/export/v1beta1"
	instancetypev1 "kubevirt.io/api/instancetype/v1beta1"
	migrationsv1 "kubevirt.io/api/migrations/v1alpha1"
	poolv1 "kubevirt.io/api/pool/v1beta1"
	snapshotv1 "kubevirt.io/api/snapshot/v1beta1"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

type scope int

const (
	cluster scope = iota
	namespaced
)

type statusRule int

const (
	noStatus statusRule = iota
	hasStatus
)

// A kind is a type that the schema starts from; all that it refers to follows.
type kind struct {
	value      any
	apiVersion string // "" for types that are not a resource: their table has no api_resource
	plural     string
	scope      scope
	status     statusRule
	also       any // the same type in another version, which must be equal field by field
	alsoIn     string
}

var kinds = []kind{
	{value: metav1.Status{}},
	{value: metav1.DeleteOptions{}},
	{value: metav1.APIResourceList{}},
	{value: metav1.APIGroupList{}},
	{value: metav1.ListMeta{}},
	{value: metav1.PartialObjectMetadata{}},
	{value: version.Info{}},

	{value: corev1.Pod{}, apiVersion: "v1", plural: "pods", scope: namespaced, status: hasStatus},
	{value: corev1.Node{}, apiVersion: "v1", plural: "nodes", scope: cluster, status: hasStatus},
	{value: corev1.Namespace{}, apiVersion: "v1", plural: "namespaces", scope: cluster, status: hasStatus},
	{value: corev1.PersistentVolumeClaim{}, apiVersion: "v1", plural: "persistentvolumeclaims", scope: namespaced, status: hasStatus},
	{value: corev1.PersistentVolume{}, apiVersion: "v1", plural: "persistentvolumes", scope: cluster, status: hasStatus},
	{value: corev1.Secret{}, apiVersion: "v1", plural: "secrets", scope: namespaced},
	{value: corev1.ConfigMap{}, apiVersion: "v1", plural: "configmaps", scope: namespaced},
	{value: corev1.Service{}, apiVersion: "v1", plural: "services", scope: namespaced, status: hasStatus},
	{value: corev1.Event{}, apiVersion: "v1", plural: "events", scope: namespaced},
	{value: corev1.ResourceQuota{}, apiVersion: "v1", plural: "resourcequotas", scope: namespaced, status: hasStatus},
	{value: corev1.LimitRange{}, apiVersion: "v1", plural: "limitranges", scope: namespaced},

	{value: appsv1.ControllerRevision{}, apiVersion: "apps/v1", plural: "controllerrevisions", scope: namespaced},
	{value: appsv1.DaemonSet{}, apiVersion: "apps/v1", plural: "daemonsets", scope: namespaced, status: hasStatus},
	{value: batchv1.Job{}, apiVersion: "batch/v1", plural: "jobs", scope: namespaced, status: hasStatus},
	{value: policyv1.PodDisruptionBudget{}, apiVersion: "policy/v1", plural: "poddisruptionbudgets", scope: namespaced, status: hasStatus},
	{value: policyv1.Eviction{}, apiVersion: "policy/v1", plural: "evictions", scope: namespaced},
	{value: storagev1.StorageClass{}, apiVersion: "storage.k8s.io/v1", plural: "storageclasses", scope: cluster},
	{value: schedulingv1.PriorityClass{}, apiVersion: "scheduling.k8s.io/v1", plural: "priorityclasses", scope: cluster},
	{value: coordinationv1.Lease{}, apiVersion: "coordination.k8s.io/v1", plural: "leases", scope: namespaced},
	{value: networkingv1.Ingress{}, apiVersion: "networking.k8s.io/v1", plural: "ingresses", scope: namespaced, status: hasStatus},
	{value: nodev1.RuntimeClass{}, apiVersion: "node.k8s.io/v1", plural: "runtimeclasses", scope: cluster},
	{value: resourcev1.ResourceClaim{}, apiVersion: "resource.k8s.io/v1", plural: "resourceclaims", scope: namespaced, status: hasStatus},
	{value: resourcev1.ResourceClaimTemplate{}, apiVersion: "resource.k8s.io/v1", plural: "resourceclaimtemplates", scope: namespaced},
	{value: resourcev1.ResourceSlice{}, apiVersion: "resource.k8s.io/v1", plural: "resourceslices", scope: cluster},
	{value: authorizationv1.SubjectAccessReview{}, apiVersion: "authorization.k8s.io/v1", plural: "subjectaccessreviews", scope: cluster},
	{value: apiextv1.CustomResourceDefinition{}, apiVersion: "apiextensions.k8s.io/v1", plural: "customresourcedefinitions", scope: cluster, status: hasStatus},

	{value: kvv1.KubeVirt{}, apiVersion: "kubevirt.io/v1", plural: "kubevirts", scope: namespaced, status: hasStatus},
	{value: kvv1.VirtualMachine{}, apiVersion: "kubevirt.io/v1", plural: "virtualmachines", scope: namespaced, status: hasStatus},
	{value: kvv1.VirtualMachineInstance{}, apiVersion: "kubevirt.io/v1", plural: "virtualmachineinstances", scope: namespaced},
	{value: kvv1.VirtualMachineInstanceMigration{}, apiVersion: "kubevirt.io/v1", plural: "virtualmachineinstancemigrations", scope: namespaced, status: hasStatus},
	{value: kvv1.VirtualMachineInstanceReplicaSet{}, apiVersion: "kubevirt.io/v1", plural: "virtualmachineinstancereplicasets", scope: namespaced, status: hasStatus},
	{value: kvv1.VirtualMachineInstancePreset{}, apiVersion: "kubevirt.io/v1", plural: "virtualmachineinstancepresets", scope: namespaced},
	{value: kvv1.StartOptions{}}, // bodies of requests to subresources
	{value: kvv1.StopOptions{}},
	{value: kvv1.FreezeUnfreezeTimeout{}},
	{value: backupv1.BackupOptions{}},
	{value: instancetypev1.VirtualMachineInstancetype{}, apiVersion: "instancetype.kubevirt.io/v1beta1", plural: "virtualmachineinstancetypes", scope: namespaced},
	{value: instancetypev1.VirtualMachineClusterInstancetype{}, apiVersion: "instancetype.kubevirt.io/v1beta1", plural: "virtualmachineclusterinstancetypes", scope: cluster},
	{value: instancetypev1.VirtualMachinePreference{}, apiVersion: "instancetype.kubevirt.io/v1beta1", plural: "virtualmachinepreferences", scope: namespaced},
	{value: instancetypev1.VirtualMachineClusterPreference{}, apiVersion: "instancetype.kubevirt.io/v1beta1", plural: "virtualmachineclusterpreferences", scope: cluster},
	{value: poolv1.VirtualMachinePool{}, apiVersion: "pool.kubevirt.io/v1beta1", plural: "virtualmachinepools", scope: namespaced, status: hasStatus},
	{value: snapshotv1.VirtualMachineSnapshot{}, apiVersion: "snapshot.kubevirt.io/v1beta1", plural: "virtualmachinesnapshots", scope: namespaced, status: hasStatus},
	{value: snapshotv1.VirtualMachineSnapshotContent{}, apiVersion: "snapshot.kubevirt.io/v1beta1", plural: "virtualmachinesnapshotcontents", scope: namespaced, status: hasStatus},
	{value: snapshotv1.VirtualMachineRestore{}, apiVersion: "snapshot.kubevirt.io/v1beta1", plural: "virtualmachinerestores", scope: namespaced, status: hasStatus},
	{value: exportv1.VirtualMachineExport{}, apiVersion: "export.kubevirt.io/v1", plural: "virtualmachineexports", scope: namespaced, status: hasStatus,
		also: exportv1beta1.VirtualMachineExport{}, alsoIn: "export.kubevirt.io/v1beta1"},
	{value: clonev1.VirtualMachineClone{}, apiVersion: "clone.kubevirt.io/v1beta1", plural: "virtualmachineclones", scope: namespaced, status: hasStatus},
	{value: backupv1.VirtualMachineBackup{}, apiVersion: "backup.kubevirt.io/v1alpha1", plural: "virtualmachinebackups", scope: namespaced, status: hasStatus},
	{value: backupv1.VirtualMachineBackupTracker{}, apiVersion: "backup.kubevirt.io/v1alpha1", plural: "virtualmachinebackuptrackers", scope: namespaced, status: hasStatus},
	{value: migrationsv1.MigrationPolicy{}, apiVersion: "migrations.kubevirt.io/v1alpha1", plural: "migrationpolicies", scope: cluster, status: hasStatus},

	{value: cdiv1.DataVolume{}, apiVersion: "cdi.kubevirt.io/v1beta1", plural: "datavolumes", scope: namespaced, status: hasStatus},
	{value: cdiv1.DataSource{}, apiVersion: "cdi.kubevirt.io/v1beta1", plural: "datasources", scope: namespaced, status: hasStatus},
	{value: cdiv1.StorageProfile{}, apiVersion: "cdi.kubevirt.io/v1beta1", plural: "storageprofiles", scope: cluster, status: hasStatus},
	{value: cdiv1.CDI{}, apiVersion: "cdi.kubevirt.io/v1beta1", plural: "cdis", scope: cluster, status: hasStatus},
	{value: cdiv1.CDIConfig{}, apiVersion: "cdi.kubevirt.io/v1beta1", plural: "cdiconfigs", scope: cluster, status: hasStatus},
	{value: vsv1.VolumeSnapshot{}, apiVersion: "snapshot.storage.k8s.io/v1", plural: "volumesnapshots", scope: namespaced, status: hasStatus},
	{value: vsv1.VolumeSnapshotClass{}, apiVersion: "snapshot.storage.k8s.io/v1", plural: "volumesnapshotclasses", scope: cluster},
	{value: vsv1.VolumeSnapshotContent{}, apiVersion: "snapshot.storage.k8s.io/v1", plural: "volumesnapshotcontents", scope: cluster, status: hasStatus},
	{value: nadv1.NetworkAttachmentDefinition{}, apiVersion: "k8s.cni.cncf.io/v1", plural: "network-attachment-definitions", scope: namespaced},
	{value: nadv1.NetworkStatus{}},           // of annotations
	{value: nadv1.NetworkSelectionElement{}}, // of annotations
	{value: routev1.Route{}, apiVersion: "route.openshift.io/v1", plural: "routes", scope: namespaced, status: hasStatus},
}

// Go package -> prefix of its C names and name of its schema.
var prefixes = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1":                              "meta",
	"k8s.io/apimachinery/pkg/version":                                   "version",
	"k8s.io/api/core/v1":                                                "core",
	"k8s.io/api/apps/v1":                                                "apps",
	"k8s.io/api/authorization/v1":                                       "authorization",
	"k8s.io/api/batch/v1":                                               "batch",
	"k8s.io/api/coordination/v1":                                        "coordination",
	"k8s.io/api/networking/v1":                                          "networking",
	"k8s.io/api/node/v1":                                                "node",
	"k8s.io/api/policy/v1":                                              "policy",
	"k8s.io/api/resource/v1":                                            "resource",
	"k8s.io/api/scheduling/v1":                                          "scheduling",
	"k8s.io/api/storage/v1":                                             "storage",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1":          "apiext",
	"kubevirt.io/api/core/v1":                                           "kv",
	"kubevirt.io/api/instancetype/v1beta1":                              "instancetype",
	"kubevirt.io/api/pool/v1beta1":                                      "pool",
	"kubevirt.io/api/snapshot/v1beta1":                                  "snapshot",
	"kubevirt.io/api/export/v1":                                         "export",
	"kubevirt.io/api/clone/v1beta1":                                     "clone",
	"kubevirt.io/api/backup/v1alpha1":                                   "backup",
	"kubevirt.io/api/migrations/v1alpha1":                               "migrations",
	"kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1": "cdi",
	"kubevirt.io/controller-lifecycle-operator-sdk/api":                 "sdk",
	"github.com/openshift/custom-resource-status/conditions/v1":         "conditions",
	"github.com/kubernetes-csi/external-snapshotter/client/v4/apis/volumesnapshot/v1":                  "volumesnapshot",
	"github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1": "nad",
	"github.com/openshift/api/route/v1": "route",
}

// Go types with a JSON form of their own.
var scalars = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():    "quantity",
	reflect.TypeFor[metav1.Time]():          "time",
	reflect.TypeFor[metav1.MicroTime]():     "micro_time",
	reflect.TypeFor[metav1.Duration]():      "duration",
	reflect.TypeFor[intstr.IntOrString]():   "int_or_string",
	reflect.TypeFor[runtime.RawExtension](): "raw",
	reflect.TypeFor[net.IP]():               "string",
	reflect.TypeFor[apiextv1.JSON]():        "raw",
}

// Fields that the schema leaves out, and types of which it has a few fields only: because nothing here reads the others,
// and they cost memory in every object that a cache holds. A decoder keeps them as unknown members, except managedFields,
// which it skips.
var leftOut = map[string]bool{
	"meta.ObjectMeta.managedFields": true,
}
var keptOnly = map[string][]string{
	"apiext.CustomResourceDefinition":        {"metadata", "spec"},
	"apiext.CustomResourceDefinitionSpec":    {"group", "names", "scope", "versions"},
	"apiext.CustomResourceDefinitionVersion": {"name", "served", "storage"},
	// What launcher Pods have. Kubernetes knows two dozen more.
	"core.VolumeSource": {
		"hostPath", "emptyDir", "secret", "persistentVolumeClaim", "downwardAPI", "configMap", "projected", "image",
	},
}

// Fields of a shape that the model does not have, kept as JSON text.
var rawFields = map[string]bool{
	"SubjectAccessReviewSpec.extra":    true, // a map of lists
	"NetworkSelectionElement.cni-args": true, // a pointer to a map
}

// Strings whose values repeat across objects: caches share them.
var interned = setOf(
	"accessModes", "apiGroup", "apiVersion", "architecture", "bus", "cache", "containerRuntimeVersion", "dnsPolicy",
	"driver", "effect", "evictionStrategy", "fieldPath", "finalizers", "hostIP", "image", "imageID",
	"imagePullPolicy", "io", "kernelVersion", "kind", "kubeletVersion", "launcherContainerImageVersion",
	"machineType", "model", "mountPath", "mountPropagation", "namespace", "nodeName", "operator", "phase",
	"printableStatus", "priorityClassName", "protocol", "provisioner", "qosClass", "reason", "restartPolicy",
	"runStrategy", "runtimeUser", "schedulerName", "serviceAccount", "serviceAccountName", "source", "startStrategy",
	"status", "storageClassName", "terminationMessagePath", "terminationMessagePolicy", "topologyKey", "type",
	"volumeMode", "whenUnsatisfiable", "workingDir",
)

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
