// apigen writes the schemas of the API objects (api/*.schema) and samples of them (test/unit/api/samples) by reflection
// over the published Go modules. What OpenAPI does not tell, the Go types do: whether a field is a pointer, when it is
// left out, and in which order fields are encoded. Only names, types and rules are taken.
//
// Usage: go run . -root DIR      writes into DIR/api and DIR/test/unit/api/samples
//
// The tool stops at the first thing that the object model (src/api/object.h) can't express: an unknown custom
// marshaler, a list of lists, a member whose omit rule has no equal. Such a case wants a decision, not a default.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", "", "directory to write into: the root of the source tree")
	flag.Parse()
	if *root == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	packages, err := collect(kinds)
	if err == nil {
		err = writeSchemas(filepath.Join(*root, "api"), packages)
	}
	if err == nil {
		err = writeSamples(filepath.Join(*root, "test", "unit", "api", "samples"), packages)
	}
	if err != nil {
		log.Fatal("apigen: ", err)
	}
}
