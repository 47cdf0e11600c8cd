package main

// C names of types. Names of members are made by tools/schema2c.py.

import "strings"

var abbreviations = []struct{ long, short string }{
	{"VirtualMachineInstanceMigration", "vmim"},
	{"VirtualMachineInstanceReplicaSet", "vmirs"},
	{"VirtualMachineInstance", "vmi"},
	{"VirtualMachine", "vm"},
	{"PersistentVolumeClaim", "pvc"},
	{"PersistentVolume", "pv"},
}

// snake turns CamelCase into snake_case: "TSCTimer" -> "tsc_timer", "PodIPs" -> "pod_ips".
func snake(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if isUpper(c) && i > 0 && startsWord(name, i) {
			out.WriteByte('_')
		}
		out.WriteByte(c | 0x20)
	}
	return out.String()
}

// Whether the capital at i starts a word: after a small letter or digit, or before a small letter that is not the
// plural "s" of a run of capitals.
func startsWord(name string, i int) bool {
	if !isUpper(name[i-1]) {
		return true
	}
	if i+1 >= len(name) || !isLower(name[i+1]) {
		return false
	}
	plural := name[i+1] == 's' && (i+2 == len(name) || isUpper(name[i+2]))
	return !plural
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// typeName is the C name of a Go type, with the usual abbreviations of its first words.
func typeName(prefix, goName string) string {
	for _, a := range abbreviations {
		rest, found := strings.CutPrefix(goName, a.long)
		if !found || (rest != "" && !isUpper(rest[0])) {
			continue
		}
		if rest == "" {
			return prefix + "_" + a.short
		}
		return prefix + "_" + a.short + "_" + snake(rest)
	}
	return prefix + "_" + snake(goName)
}

// nameTypes gives each type of a package its C name. Where an abbreviated name is another type's full name, the full
// name is used for both.
func nameTypes(p *schemaPackage) {
	full := make(map[string]bool)
	for _, t := range p.types {
		full[p.prefix+"_"+snake(t.goName)] = true
	}
	for _, t := range p.types {
		t.cName = typeName(p.prefix, t.goName)
		if long := p.prefix + "_" + snake(t.goName); t.cName != long && full[t.cName] {
			t.cName = long
		}
	}
}
