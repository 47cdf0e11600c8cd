package main

// The model: packages of struct types, found by walking Go types from the kinds.

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"
)

type schemaPackage struct {
	prefix, goPath string
	types          []*structType
}

type resourceRule struct {
	apiVersion, kind, plural string
	scope                    scope
	status                   statusRule
}

type structType struct {
	goName, cName string
	goType        reflect.Type
	resources     []resourceRule
	fields        []field
}

type shape string

const (
	value   shape = ""
	pointer shape = "*"
	list    shape = "[]"
	mapping shape = "{}"
)

// A field of a struct. kind is the name of a scalar, or "" when structType tells the struct.
type field struct {
	json       string
	shape      shape
	kind       string
	structType reflect.Type
	omit       string // "", "omitempty", "omitzero"
	listKey    string
	set        bool
	intern     bool
	index      []int // for reflect's FieldByIndex
}

type collector struct {
	packages map[string]*schemaPackage
	types    map[reflect.Type]*structType
	markers  *markers
}

func collect(kinds []kind) ([]*schemaPackage, error) {
	c := &collector{packages: map[string]*schemaPackage{}, types: map[reflect.Type]*structType{}}
	var err error
	if c.markers, err = readMarkers(prefixes); err != nil {
		return nil, err
	}
	for _, k := range kinds {
		if err := c.addKind(k); err != nil {
			return nil, err
		}
	}
	var out []*schemaPackage
	for _, p := range c.packages {
		sort.Slice(p.types, func(i, j int) bool { return p.types[i].goName < p.types[j].goName })
		nameTypes(p)
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].prefix < out[j].prefix })
	return out, nil
}

func (c *collector) addKind(k kind) error {
	t := reflect.TypeOf(k.value)
	s, err := c.add(t)
	if err != nil || k.apiVersion == "" {
		return err
	}
	rule := resourceRule{k.apiVersion, t.Name(), k.plural, k.scope, k.status}
	s.resources = append(s.resources, rule)
	if k.also == nil {
		return nil
	}
	if err := sameShape(t, reflect.TypeOf(k.also), map[reflect.Type]bool{}); err != nil {
		return fmt.Errorf("%s differs in %s: %w", t, k.alsoIn, err)
	}
	rule.apiVersion = k.alsoIn
	s.resources = append(s.resources, rule)
	return nil
}

// sameShape compares two versions of a type: same JSON names, tags and types, by name where a package has its own copy.
func sameShape(a, b reflect.Type, seen map[reflect.Type]bool) error {
	if a == b || seen[a] {
		return nil
	}
	seen[a] = true
	if a.Kind() != b.Kind() || a.Name() != b.Name() {
		return fmt.Errorf("%s is not %s", a, b)
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return sameShape(a.Elem(), b.Elem(), seen)
	case reflect.Struct:
		if a.NumField() != b.NumField() {
			return fmt.Errorf("%s has other fields than %s", a, b)
		}
		for i := range a.NumField() {
			if a.Field(i).Name != b.Field(i).Name || a.Field(i).Tag.Get("json") != b.Field(i).Tag.Get("json") {
				return fmt.Errorf("%s.%s is not %s.%s", a, a.Field(i).Name, b, b.Field(i).Name)
			}
			if err := sameShape(a.Field(i).Type, b.Field(i).Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// add finds the fields of a struct type and, behind them, all other types.
func (c *collector) add(t reflect.Type) (*structType, error) {
	if s := c.types[t]; s != nil {
		return s, nil
	}
	prefix, known := prefixes[t.PkgPath()]
	if !known || t.Name() == "" {
		return nil, fmt.Errorf("%s of package %q has no prefix: add it to the table", t, t.PkgPath())
	}
	p := c.packages[prefix]
	if p == nil {
		p = &schemaPackage{prefix: prefix, goPath: t.PkgPath()}
		c.packages[prefix] = p
	}
	s := &structType{goName: t.Name(), goType: t}
	c.types[t] = s
	p.types = append(p.types, s)
	if err := c.addFields(s, t, nil, false); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, f := range s.fields {
		if names[f.json] {
			return nil, fmt.Errorf("%s has %q twice", t, f.json)
		}
		names[f.json] = true
		if f.structType != nil {
			if _, err := c.add(f.structType); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", t.Name(), f.json, err)
			}
		}
	}
	return s, nil
}

// addFields adds the fields of t to s, those of embedded structs in place, as encoding/json orders them.
func (c *collector) addFields(s *structType, t reflect.Type, index []int, allMustBeOmitted bool) error {
	for i := range t.NumField() {
		goField := t.Field(i)
		at := append(append([]int{}, index...), i)
		tag := strings.Split(goField.Tag.Get("json"), ",")
		if goField.Tag.Get("json") == "-" || (!goField.IsExported() && !goField.Anonymous) {
			continue
		}
		if goField.Anonymous && tag[0] == "" {
			// An embedded pointer can be flattened only if a nil one and an empty one look the same.
			inner, isPointer := goField.Type, goField.Type.Kind() == reflect.Pointer
			if isPointer {
				inner = inner.Elem()
			}
			if err := c.addFields(s, inner, at, allMustBeOmitted || isPointer); err != nil {
				return err
			}
			continue
		}
		f, err := c.newField(t, goField, tag)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t, goField.Name, err)
		}
		if allMustBeOmitted && (f.omit == "" || (f.shape == value && f.structType != nil)) {
			return fmt.Errorf("%s.%s: in an embedded pointer, but not left out when empty", t, goField.Name)
		}
		f.index = at
		if keepField(t, f.json) {
			s.fields = append(s.fields, f)
		}
	}
	return nil
}

// keepField tells whether the schema has a field of the struct that declares it, which may be embedded in another.
func keepField(t reflect.Type, json string) bool {
	name := prefixes[t.PkgPath()] + "." + t.Name()
	if kept := keptOnly[name]; kept != nil {
		return setOf(kept...)[json]
	}
	return !leftOut[name+"."+json]
}

func (c *collector) newField(owner reflect.Type, goField reflect.StructField, tag []string) (field, error) {
	f := field{json: tag[0]}
	if f.json == "" {
		f.json = goField.Name
	}
	t := goField.Type
	omit, err := omitRule(tag[1:])
	if err != nil {
		return f, err
	}
	if rawFields[owner.Name()+"."+f.json] {
		f.kind, f.omit = "raw", omit
		return f, nil
	}
	f.shape, t = shapeOf(t)
	if f.shape == pointer && t.Kind() == reflect.Slice && scalars[t] == "" && !isBytes(t) {
		// *[]T: nil is left out, an empty list is not. That is a list with omitzero.
		if omit != "omitempty" {
			return f, fmt.Errorf("pointer to a list without omitempty")
		}
		f.shape, t, omit = list, t.Elem(), "omitzero"
	}
	if f.shape == list && t.Kind() == reflect.Pointer {
		t = t.Elem() // []*T: no API has null elements
	}
	if f.kind, f.structType, err = kindOf(t); err != nil {
		return f, err
	}
	if omit == "omitempty" && f.shape == value && t.Kind() == reflect.Struct {
		omit = "" // has no effect on a Go struct, which times and quantities are too
	}
	f.omit = omit
	if omit == "both" {
		if f.omit = "omitzero"; f.shape == list || f.shape == mapping {
			return f, fmt.Errorf("a list with omitempty and omitzero")
		}
	}
	f.listKey, f.set = c.markers.listRule(owner, goField, f.shape)
	f.intern = f.kind == "string" && f.shape != mapping && interned[f.json]
	return f, nil
}

func omitRule(options []string) (string, error) {
	has := setOf(options...)
	for option := range has {
		switch option {
		case "omitempty", "omitzero", "inline", "flow", "": // inline and flow are of YAML libraries
		default:
			return "", fmt.Errorf("unknown json option %q", option)
		}
	}
	switch {
	case has["omitempty"] && has["omitzero"]:
		return "both", nil
	case has["omitempty"]:
		return "omitempty", nil
	case has["omitzero"]:
		return "omitzero", nil
	}
	return "", nil
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// shapeOf tells the shape and the type of the pointee, element or map value.
func shapeOf(t reflect.Type) (shape, reflect.Type) {
	switch {
	case scalars[t] != "" || isBytes(t):
		return value, t
	case t.Kind() == reflect.Pointer:
		return pointer, t.Elem()
	case t.Kind() == reflect.Slice:
		return list, t.Elem()
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		return mapping, t.Elem()
	}
	return value, t
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// kindOf tells the scalar's name, or the struct.
func kindOf(t reflect.Type) (string, reflect.Type, error) {
	if name := scalars[t]; name != "" {
		return name, nil, nil
	}
	for _, marshaler := range []reflect.Type{jsonMarshaler, textMarshaler} {
		if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
			return "", nil, fmt.Errorf("%s has a marshaler of its own: add it to the table of scalars", t)
		}
	}
	switch t.Kind() {
	case reflect.String:
		return "string", nil, nil
	case reflect.Bool:
		return "bool", nil, nil
	case reflect.Int32, reflect.Int16, reflect.Int8, reflect.Uint16, reflect.Uint8:
		return "int32", nil, nil
	case reflect.Int64, reflect.Int, reflect.Uint32, reflect.Uint, reflect.Uint64:
		return "int64", nil, nil
	case reflect.Float64, reflect.Float32: // the shortest text of a float32 is kept by a float64
		return "float64", nil, nil
	case reflect.Interface:
		return "raw", nil, nil
	case reflect.Struct:
		return "", t, nil
	}
	if isBytes(t) {
		return "bytes", nil, nil
	}
	return "", nil, fmt.Errorf("%s is a shape that the object model does not have", t)
}
