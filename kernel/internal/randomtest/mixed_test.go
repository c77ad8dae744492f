package randomtest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

var mixedSeeds = flag.Int("mixed", 100, "number of programs of Mixed that are checked")

// Every program of Mixed is one of Go, also beside others.
func TestMixed(t *testing.T) {
	files := token.NewFileSet()
	imports := sources(files)
	for seed := uint64(1); seed <= uint64(*mixedSeeds); seed += 50 {
		text := "package main\n" + MixedHelpers
		for s := seed; s < seed+50; s++ {
			p := Mixed(s)
			text += fmt.Sprintf("//line seed_%d.go:1\n%s\nfunc program%d() {\n%s}\n", s, p.Declare, s, p.Body)
		}
		f, err := parser.ParseFile(files, "main.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		config := types.Config{Importer: imports, Error: func(err error) { t.Error(err) }}
		_, _ = config.Check("main", files, []*ast.File{f}, nil) // Error has been told
	}
}
