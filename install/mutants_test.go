package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// half is a package of which a test sees one of two changes.
const half = `package half

const size = 8 // constants have no mutants

// Sign returns -1 for a negative x, else x.
func Sign(x int) int {
	if x < 0 {
		x = -1
	}
	return x
}
`

const halfTest = `package half

import "testing"

func TestSign(t *testing.T) {
	if Sign(-5) != -1 || Sign(7) != 7 {
		t.Fail()
	}
}
`

func TestMutantsIn(t *testing.T) {
	all, err := mutantsIn("half.go", []byte(half))
	if err != nil {
		t.Fatal(err)
	}
	var what []string
	for _, m := range all {
		changed := half[:m.start] + m.with + half[m.end:]
		if changed == half {
			t.Errorf("%s changes nothing", m.what)
		}
		what = append(what, m.what)
	}
	want := []string{"`!(x < 0)`", "`x < 0` with <=", "1 instead of 0", "without `x = -1`", "2 instead of 1"}
	if !slices.Equal(what, want) {
		t.Errorf("the mutants are %q, want %q", what, want)
	}
	for src, want := range map[string]string{
		"if a == nil || b { f() }":           "`!(a == nil || b)`; `a == nil` with !=; `a == nil || b` with &&; without `f()`",
		"for i := range 3 { i++; continue }": "4 instead of 3; `i++` with --; without `continue`",
		"return true, err":                   "`return true, err` with false; `return true, err` with nil",
		"x := make([]int, 10); panic(1 + 2)": "11 instead of 10",
		"x += a * 2; defer g(); go h(\"a\")": "without `x += a * 2`; `x += a * 2` with -=; `a * 2` with /; 3 instead of 2; without `defer g()`; without `go h(\"a\")`",
		"if f(x) { return }":                 "`!(f(x))`",
		"x = a[0] + b[0]":                    "without `x = a[0] + b[0]`; 1 instead of 0; `a[0] + b[0]` with -; 1 instead of 0, occurrence 2",
		"for { if x << 1 >= 3 { break } }":   "`!(x << 1 >= 3)`; `x << 1` with >>; 2 instead of 1; `x << 1 >= 3` with >; 4 instead of 3; without `break`",
	} {
		all, err := mutantsIn("f.go", []byte("package p\nfunc f() {\n"+src+"\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range all {
			got = append(got, m.what)
		}
		if g := strings.Join(got, "; "); g != want {
			t.Errorf("%s has the mutants\n%s, want\n%s", src, g, want)
		}
	}
}

// Of the changes of a package those are caught that its test sees, and the same seed
// draws the same.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module half\n\ngo 1.26\n", "half.go": half, "half_test.go": halfTest, mutantsTable.file: ""} {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := mutantsTable.renew(root, "a/b", 10, 9, []string{"1s", "2"}, []string{"a/b/c.go:7: without `x()`"}); err != nil {
		t.Fatal(err)
	}
	in := &installer{settings: settings{changes: 10, seed: 1}, out: io.Discard, err: io.Discard}
	for range 2 { // the second time in place of the first
		if err := in.tryMutants(context.Background(), root, []string{"./."}); err != nil {
			t.Fatal(err)
		}
	}
	// What somebody has written of a change stays, also when those that live are tried again.
	at := filepath.Join(root, mutantsTable.file)
	table, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, bytes.Replace(table, []byte("with <=\n"), []byte("with <=. Equal: of 0 and -0\n"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	in.living = true
	if err := in.tryMutants(context.Background(), root, []string{"."}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := mutantsTable.livingOf(root, "a/c", nil); err == nil || !strings.Contains(err.Error(), "without -living first") {
		t.Error(err)
	}
	in.living = false
	if table, err = os.ReadFile(at); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| . | 5 | 3 | ", "| a/b | 10 | 9 | 1s | 2 |\n", "In all 12 of 15 are caught; 1 of the others change nothing", "\n- a/b/c.go:7: without `x()`\n- half.go:7: 1 instead of 0\n- half.go:7: `x < 0` with <=. Equal: of 0 and -0\n"} {
		if strings.Count(string(table), want) != 1 {
			t.Errorf("%q is not once in\n%s", want, table)
		}
	}
	if b, err := os.ReadFile(filepath.Join(root, "half.go")); err != nil || string(b) != half {
		t.Errorf("the source was changed: %v", err)
	}
	if err := in.tryMutants(context.Background(), root, []string{"nowhere"}); err == nil || !strings.Contains(err.Error(), "nowhere is no package here") {
		t.Error(err)
	}
}
