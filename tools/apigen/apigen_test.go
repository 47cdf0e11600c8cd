package main

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTypeNamesAreSnakeCaseWithTheUsualAbbreviations(t *testing.T) {
	for _, c := range []struct{ prefix, goName, want string }{
		{"core", "Pod", "core_pod"},
		{"core", "PodIP", "core_pod_ip"},
		{"core", "HTTPGetAction", "core_http_get_action"},
		{"core", "SELinuxOptions", "core_se_linux_options"},
		{"core", "PersistentVolumeClaim", "core_pvc"},
		{"core", "PersistentVolumeClaimSpec", "core_pvc_spec"},
		{"core", "PersistentVolumeSpec", "core_pv_spec"},
		{"kv", "VirtualMachine", "kv_vm"},
		{"kv", "VirtualMachineInstance", "kv_vmi"},
		{"kv", "VirtualMachineInstanceSpec", "kv_vmi_spec"},
		{"kv", "VirtualMachineInstanceMigration", "kv_vmim"},
		{"kv", "VirtualMachineInstanceMigrationState", "kv_vmim_state"},
		{"kv", "VirtualMachineInstanceReplicaSetStatus", "kv_vmirs_status"},
		{"kv", "I6300ESBWatchdog", "kv_i6300_esb_watchdog"},
		{"kv", "KSMConfiguration", "kv_ksm_configuration"},
		{"instancetype", "VirtualMachineInstancetype", "instancetype_vm_instancetype"},
		{"pool", "VirtualMachinePool", "pool_vm_pool"},
		{"meta", "ServerAddressByClientCIDR", "meta_server_address_by_client_cidr"},
	} {
		if got := typeName(c.prefix, c.goName); got != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.goName, c.prefix, got, c.want)
		}
	}
}

func TestAnAbbreviationThatIsAnotherTypesNameIsNotUsed(t *testing.T) {
	p := &schemaPackage{prefix: "x", types: []*structType{{goName: "VirtualMachineSpec"}, {goName: "VMSpec"}}}
	nameTypes(p)
	if got := p.types[0].cName; got != "x_virtual_machine_spec" {
		t.Errorf("VirtualMachineSpec is called %s", got)
	}
	if got := p.types[1].cName; got != "x_vm_spec" {
		t.Errorf("VMSpec is called %s", got)
	}
}

func TestShapesOutsideTheModelAreRefused(t *testing.T) {
	type inner struct {
		Always string `json:"always"`
	}
	for name, bad := range map[string]any{
		"an unknown marshaler": struct {
			F time.Time `json:"f"`
		}{},
		"a list of lists": struct {
			F [][]string `json:"f"`
		}{},
		"a map of lists": struct {
			F map[string][]string `json:"f"`
		}{},
		"numbers as strings": struct {
			F int `json:"f,string"`
		}{},
		"a pointer to a list that is never left out": struct {
			F *[]string `json:"f"`
		}{},
		"an embedded pointer whose members are not left out": struct{ *inner }{},
	} {
		c := &collector{markers: &markers{}}
		if err := c.addFields(&structType{}, reflect.TypeOf(bad), nil, false); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestAPointerToAListIsAListThatIsLeftOutWhenNil(t *testing.T) {
	c := &collector{markers: &markers{}}
	s := &structType{}
	err := c.addFields(s, reflect.TypeOf(struct {
		F *[]string `json:"f,omitempty"`
	}{}), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if f := s.fields[0]; f.shape != list || f.omit != "omitzero" {
		t.Errorf("got shape %q, rule %q", f.shape, f.omit)
	}
}

func TestOmitemptyIsDroppedWhereGoDoesNotHeedIt(t *testing.T) {
	c := &collector{markers: &markers{}}
	s := &structType{}
	err := c.addFields(s, reflect.TypeOf(struct {
		Time    metav1.Time  `json:"time,omitempty"`
		Pointer *metav1.Time `json:"pointer,omitempty"`
		Text    string       `json:"text,omitempty"`
	}{}), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "omitempty", "omitempty"} {
		if got := s.fields[i].omit; got != want {
			t.Errorf("%s: got rule %q, want %q", s.fields[i].json, got, want)
		}
	}
}
