package main

// Writing the schemas.

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

const header = `# Written by tools/apigen from %s; don't edit.
#
# type GO-NAME C-NAME, then a line a resource (apiVersion, kind, plural, scope, "status" if it is a subresource), then a
# line a field, in the order of encoding: JSON-NAME TYPE RULES.
#   TYPE      scalar or C name of a struct; *T pointer (absent differs from zero), []T list, {}T map with string keys
#   omitempty left out when false, 0, "", nil or an empty list or map (Go's tag, where it has an effect)
#   omitzero  left out when zero: a struct whose members are all zero, a nil list (but not an empty one)
#   key=K     elements of the list are told apart by their member K
#   set       the list is a set
#   intern    values repeat across objects: caches share them
# Members of embedded Go structs stand in place. Integers: uint32 and wider are int64, narrower ones int32.
`

func writeSchemas(directory string, packages []*schemaPackage) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	names := map[reflect.Type]string{}
	for _, p := range packages {
		for _, t := range p.types {
			names[t.goType] = t.cName
		}
	}
	for _, p := range packages {
		path := filepath.Join(directory, p.prefix+".schema")
		if err := os.WriteFile(path, []byte(schemaText(p, names)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func schemaText(p *schemaPackage, names map[reflect.Type]string) string {
	var out strings.Builder
	fmt.Fprintf(&out, header, p.goPath)
	for _, t := range p.types {
		fmt.Fprintf(&out, "\ntype %s %s\n", t.goName, t.cName)
		for _, r := range t.resources {
			fmt.Fprintf(&out, "resource %s %s %s%s%s\n", r.apiVersion, r.kind, r.plural,
				map[scope]string{cluster: " cluster", namespaced: " namespaced"}[r.scope],
				map[statusRule]string{noStatus: "", hasStatus: " status"}[r.status])
		}
		for _, f := range t.fields {
			out.WriteString("    " + fieldText(f, names) + "\n")
		}
	}
	return out.String()
}

func fieldText(f field, names map[reflect.Type]string) string {
	kind := f.kind
	if f.structType != nil {
		kind = names[f.structType]
	}
	words := []string{f.json, string(f.shape) + kind}
	if f.omit != "" {
		words = append(words, f.omit)
	}
	if f.listKey != "" {
		words = append(words, "key="+f.listKey)
	}
	if f.set {
		words = append(words, "set")
	}
	if f.intern {
		words = append(words, "intern")
	}
	return strings.Join(words, " ")
}
