// Package api tells whether the generated tables are those of the module's source:
// a kernel that is built from a clone in which they are not says so as it starts,
// where its cells would say "unknown field".
package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dace.local/kernel/buildinfo"
)

// Stale returns a sentence if the exported declarations of packages of the module in
// a clone have not the sum that the tables were generated with, otherwise "". It
// compares times first: usually no file is newer than the tables. Changes after the
// program was built do not count, since it does not contain them.
func Stale(root string, packages []string, sum string, built time.Time) string {
	tables, err := os.Stat(filepath.Join(root, "kernel", "gocell", "symbols", "types.pack"))
	if err != nil {
		return "" // no clone
	}
	changed := ""
	for _, p := range packages {
		for _, f := range files(root, p) {
			info, err := os.Stat(f)
			if err != nil || info.ModTime().After(built) {
				return ""
			}
			if info.ModTime().After(tables.ModTime()) {
				changed = p
			}
		}
	}
	if changed == "" {
		return ""
	}
	if got, err := Sum(root, packages); err != nil || got == sum {
		return ""
	}
	return fmt.Sprintf("what %s or another package exports has changed, and cells do not know it yet: run go generate ./... and build again", changed)
}

// Sum returns the SHA-256 of what packages of the module export, as text.
func Sum(root string, packages []string) (string, error) {
	h := sha256.New()
	for _, p := range packages {
		fmt.Fprintln(h, p)
		for _, f := range files(root, p) {
			if err := add(h, f); err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// files returns the source files of a package but its tests, sorted.
func files(root, path string) []string {
	all, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(path, buildinfo.Path(""))), "*.go"))
	var list []string
	for _, f := range all {
		if !strings.HasSuffix(f, "_test.go") {
			list = append(list, f)
		}
	}
	return list
}

// add adds the exported functions of a file without their bodies, and its other
// declarations.
func add(h hash.Hash, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		end := d.End()
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() {
				continue
			}
			end = d.Type.End()
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
		}
		h.Write(text[fset.Position(d.Pos()).Offset:fset.Position(end).Offset])
		h.Write([]byte{'\n'})
	}
	return nil
}
