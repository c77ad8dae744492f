package all

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	registration = regexp.MustCompile(`(?m)^(func init\(\) \{ |\t)solver\.Register\(`)
	command      = regexp.MustCompile(`(?m)^package main$`)
)

// TestAll checks that this package imports every package of the library that
// registers a solver, and that each is tested by package solvertest.
func TestAll(t *testing.T) {
	self, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	const root = "../.." // dacelib
	registers, tested := map[string]bool{}, map[string]bool{}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, filepath.Dir(name))
		dir := path.Join("dacelib", filepath.ToSlash(rel))
		switch test := strings.HasSuffix(name, "_test.go"); {
		case !test && registration.Match(text) && !command.Match(text):
			registers[dir] = true
		case test && strings.Contains(string(text), "solvertest.Run("):
			tested[dir] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(registers) < 8 {
		t.Errorf("only %d solvers are found", len(registers))
	}
	for dir := range registers {
		if !strings.Contains(string(self), `/`+dir+`"`) {
			t.Errorf("%s registers a solver: import it in all.go, by which dace and construct know it", dir)
		}
		if !tested[dir] && dir != "dacelib/smartest" { // which counts, as its paper does, individuals that it has evaluated before
			t.Errorf("%s registers a solver: test it by solvertest.Run", dir)
		}
	}
}
