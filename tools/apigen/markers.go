package main

// How elements of a list are told apart: from struct tags (patchMergeKey) and from markers in comments (+listMapKey,
// +listType=set), which reflection does not see: the packages' sources are parsed for them.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
)

type listMarkers struct {
	set  bool
	keys []string
}

type markers struct {
	byField map[string]listMarkers // "package.Type.Field"
}

func readMarkers(packages map[string]string) (*markers, error) {
	arguments := []string{"list", "-f", "{{.ImportPath}} {{.Dir}}"}
	for path := range packages {
		arguments = append(arguments, path)
	}
	var stderr bytes.Buffer
	command := exec.Command("go", arguments...)
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	m := &markers{byField: map[string]listMarkers{}}
	for line := range strings.Lines(string(output)) {
		path, directory, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := m.readPackage(path, directory); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *markers) readPackage(path, directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if body, ok := spec.Type.(*ast.StructType); ok {
					m.readStruct(path+"."+spec.Name.Name, body)
				}
			}
			return true
		})
	}
	return nil
}

func (m *markers) readStruct(name string, body *ast.StructType) {
	for _, f := range body.Fields.List {
		var found listMarkers
		for _, comment := range commentLines(f.Doc) {
			if comment == "+listType=set" {
				found.set = true
			}
			if key, ok := strings.CutPrefix(comment, "+listMapKey="); ok {
				found.keys = append(found.keys, strings.Trim(key, `"`))
			}
		}
		for _, fieldName := range f.Names {
			m.byField[name+"."+fieldName.Name] = found
		}
	}
}

func commentLines(doc *ast.CommentGroup) []string {
	var lines []string
	if doc != nil {
		for _, comment := range doc.List {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(comment.Text, "//")))
		}
	}
	return lines
}

// listRule tells the member that identifies an element, or that the list is a set. A key of several members (ports of a
// Service) counts only if patchMergeKey names the one that patches use.
func (m *markers) listRule(owner reflect.Type, f reflect.StructField, s shape) (key string, set bool) {
	if s != list {
		return "", false
	}
	found := m.byField[owner.PkgPath()+"."+owner.Name()+"."+f.Name]
	if key := f.Tag.Get("patchMergeKey"); key != "" {
		return key, false
	}
	if len(found.keys) == 1 {
		return found.keys[0], false
	}
	return "", found.set || strings.HasPrefix(f.Tag.Get("patchStrategy"), "merge")
}
