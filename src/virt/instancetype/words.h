/*
 * Names and messages of instance types and preferences that the outside sees. Source: the reference's
 * staging/src/kubevirt.io/api/instancetype/register.go, api/core/v1/types.go, pkg/instancetype.
 */
#ifndef VIRT_INSTANCETYPE_WORDS_H
#define VIRT_INSTANCETYPE_WORDS_H

#define VIRT_LABEL_OBJECT_GENERATION "instancetype.kubevirt.io/object-generation"
#define VIRT_LABEL_OBJECT_KIND       "instancetype.kubevirt.io/object-kind"
#define VIRT_LABEL_OBJECT_NAME       "instancetype.kubevirt.io/object-name"
#define VIRT_LABEL_OBJECT_UID        "instancetype.kubevirt.io/object-uid"
#define VIRT_LABEL_OBJECT_VERSION    "instancetype.kubevirt.io/object-version"
#define VIRT_INSTANCETYPE_GROUP      "instancetype.kubevirt.io"
#define VIRT_INSTANCETYPE_VERSION    "v1beta1" /* the latest: revisions of others are upgraded */

/* configuration.instancetype.referencePolicy */
#define VIRT_POLICY_REFERENCE  "reference"
#define VIRT_POLICY_EXPAND     "expand"
#define VIRT_POLICY_EXPAND_ALL "expandAll"

#define VIRT_CONFLICT_IN_VM       "VM conflicts with instancetype spec in fields: [%s]"
#define VIRT_CONFLICT_IN_VMI      "VMI conflicts with instancetype spec in fields: [%s]"
#define VIRT_CONFLICT_IN_TEMPLATE "VM field(s) %s conflicts with selected instance type"

/* Of what a ControllerRevision keeps. The scheme is the one that the reference's client registers its kinds in. */
#define VIRT_REVISION_UNDECODABLE "failed to decode object in ControllerRevision: "
#define VIRT_REVISION_UNEXPECTED  "unexpected type in ControllerRevision: *%s.%s"
#define VIRT_REVISION_SCHEME      "kubevirt.io/client-go/kubevirt/scheme/register.go:44"
#define VIRT_SCHEME_GROUP         "kubevirt.io" /* and those below it, but for other projects' */

#endif
