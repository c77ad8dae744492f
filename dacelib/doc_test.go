package dacelib_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMap checks that the map of the library in doc.go names every package that a
// cell may want, and nothing that is not there. Single problems and solvers need no
// line: experiment.Classes and solver.Families list them.
func TestMap(t *testing.T) {
	// Parts of a named package that are of use with it alone, or tools of the tests.
	unnamed := map[string]bool{
		"farm/farmtest": true, "farm/natsfarm": true, "farm/natsfarm/server": true, "docs": true, "figure/host": true, "files": true, "files/disk": true,
		"nir/graph": true,
	}
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"run": true} // in the text below the lists
	for _, item := range regexp.MustCompile(`(?m)^  - ((?:[a-z/]+(?:, )?)+):`).FindAllStringSubmatch(f.Doc.Text(), -1) {
		for _, p := range strings.Split(item[1], ", ") {
			named[p] = true
		}
	}
	for _, p := range regexp.MustCompile(`\b[a-z]+/[a-z]+\b`).FindAllString(f.Doc.Text(), -1) {
		named[p] = true
	}
	found := map[string]bool{}
	err = filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if dir := path.Dir(filepath.ToSlash(file)); strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && dir != "." && !found[dir] {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
			if err != nil {
				return err
			}
			found[dir] = f.Name.Name != "main"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for p, library := range found {
		if library && !unnamed[p] && !named[p] && !strings.HasPrefix(p, "solver/") && !strings.HasPrefix(p, "problem/") {
			t.Errorf("package %s is not in the map of the library: add a line to doc.go", p)
		}
	}
	for p := range named {
		if !found[p] {
			t.Errorf("doc.go names a package %s, which is not there", p)
		}
	}
}
