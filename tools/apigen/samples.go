package main

// Samples for the tests of the codec: what Go's own encoder prints for each type that the schema starts from.
//
// A file of JSON lines for each package: {"type":"kv_vmi","sample":"full","object":{...}}. The samples:
//   full   every field has a value, two elements in each list and map near the root, one further down
//   empty  the zero value
//   zero   every pointer points to zero, every list and map has one element that is zero; without those that Go prints
//          as null (a pointer to a zero time), since null is the same as absent
// Recursion ends at a type that is already on the way. Values are made from a counter: the same on each run.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Lists have two elements down to this many structs below the root.
const twoElements = 3

// filler fills values by reflection, with zeroes or with values that differ from each other.
type filler struct {
	zero    bool
	counter int64
	depth   int
	way     map[reflect.Type]bool
}

func writeSamples(directory string, packages []*schemaPackage) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	roots := map[reflect.Type]bool{}
	for _, k := range kinds {
		roots[reflect.TypeOf(k.value)] = true
	}
	for _, p := range packages {
		var out bytes.Buffer
		for _, t := range p.types {
			if !roots[t.goType] {
				continue
			}
			if err := writeType(&out, t); err != nil {
				return fmt.Errorf("%s: %w", t.cName, err)
			}
		}
		if out.Len() == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(directory, p.prefix+".jsonl"), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func writeType(out *bytes.Buffer, t *structType) error {
	full, empty, zero := reflect.New(t.goType), reflect.New(t.goType), reflect.New(t.goType)
	(&filler{way: map[reflect.Type]bool{}}).fill(full.Elem(), "")
	(&filler{way: map[reflect.Type]bool{}, zero: true}).fill(zero.Elem(), "")
	for _, sample := range []struct {
		name  string
		value reflect.Value
	}{{"full", full}, {"empty", empty}, {"zero", zero}} {
		text, err := json.Marshal(sample.value.Interface())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "{\"type\":%q,\"sample\":%q,\"object\":%s}\n", t.cName, sample.name, text)
	}
	return nil
}

var quantities = []string{"100m", "1", "2500m", "1Gi", "1500Mi", "3G", "20k", "12e6", "1u", "5Ti", "0"}

// setScalar sets the types with a JSON form of their own.
func (f *filler) setScalar(v reflect.Value) bool {
	if scalars[v.Type()] == "" {
		return false
	}
	raw := []byte(fmt.Sprintf(`{"text":"raw %d","list":[1,2.5,null,true],"object":{}}`, f.counter))
	moment := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC).Add(time.Duration(f.counter) * time.Second)
	switch p := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*p = resource.MustParse(quantities[f.counter%int64(len(quantities))])
	case *metav1.Time:
		p.Time = moment
	case *metav1.MicroTime:
		p.Time = moment
	case *metav1.Duration:
		p.Duration = time.Duration(f.counter) * 1500 * time.Millisecond
	case *intstr.IntOrString:
		*p = intstr.FromInt32(int32(f.counter))
		if f.counter%2 == 0 {
			*p = intstr.FromString(fmt.Sprintf("port-%d", f.counter))
		}
	case *runtime.RawExtension:
		p.Raw = raw
	case *net.IP:
		*p = net.IPv4(10, 0, 0, byte(f.counter))
	default:
		return false
	}
	return true
}

// fill fills v, which is the value of a member called name.
func (f *filler) fill(v reflect.Value, name string) {
	f.counter++
	if f.zero && scalars[v.Type()] != "" {
		return
	}
	if f.setScalar(v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		f.fillStruct(v)
	case reflect.Pointer:
		if !f.way[v.Type().Elem()] && !f.isNull(v.Type().Elem()) {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), name)
		}
	case reflect.Slice:
		f.fillSlice(v, name)
	case reflect.Map:
		f.fillMap(v, name)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"any": float64(f.counter)}))
	default:
		if !f.zero {
			f.setPlain(v, name)
		}
	}
}

func (f *filler) setPlain(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d", name, f.counter))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64, reflect.Int:
		v.SetInt(1<<53 + f.counter) // a double can't hold it
		if f.counter%2 == 0 {
			v.SetInt(-f.counter)
		}
	case reflect.Int32, reflect.Int16, reflect.Int8:
		v.SetInt(f.counter % 100)
	case reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8, reflect.Uint:
		v.SetUint(uint64(f.counter % 200))
	case reflect.Float64, reflect.Float32:
		v.SetFloat(float64(f.counter) + 0.25)
	default:
		panic("no sample for " + v.Type().String())
	}
}

func (f *filler) fillStruct(v reflect.Value) {
	t := v.Type()
	if f.way[t] {
		return
	}
	f.way[t] = true
	f.depth++
	for i := range t.NumField() {
		goField := t.Field(i)
		name, _, _ := strings.Cut(goField.Tag.Get("json"), ",")
		if !goField.IsExported() || name == "-" || (name != "" && !keepField(t, name)) {
			continue
		}
		f.fill(v.Field(i), name)
	}
	f.depth--
	delete(f.way, t)
}

// isNull tells whether the sample's value of a type would be printed as null.
func (f *filler) isNull(t reflect.Type) bool {
	name := scalars[t]
	return f.zero && (name == "time" || name == "micro_time" || name == "raw")
}

func (f *filler) elements() int {
	if f.zero || f.depth > twoElements {
		return 1
	}
	return 2
}

func (f *filler) fillSlice(v reflect.Value, name string) {
	if isBytes(v.Type()) {
		v.SetBytes([]byte{})
		if !f.zero {
			v.SetBytes(fmt.Appendf(nil, "bytes %d", f.counter))
		}
		return
	}
	element := v.Type().Elem()
	if f.way[element] || f.isNull(element) || (element.Kind() == reflect.Pointer && f.way[element.Elem()]) {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), f.elements(), f.elements()))
	for i := range v.Len() {
		f.fill(v.Index(i), name)
	}
}

func (f *filler) fillMap(v reflect.Value, name string) {
	if f.isNull(v.Type().Elem()) {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := range f.elements() {
		key := reflect.New(v.Type().Key()).Elem()
		key.SetString(fmt.Sprintf("%s/key-%d", name, i))
		element := reflect.New(v.Type().Elem()).Elem()
		f.fill(element, name)
		v.SetMapIndex(key, element)
	}
}
