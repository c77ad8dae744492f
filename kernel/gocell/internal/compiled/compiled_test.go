package compiled

import (
	"context"
	"errors"
	"go/types"
	"strings"
	"testing"

	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
	_ "dace.local/kernel/gocell/symbols/std" // what cells can import
)

// natives checks cells, and returns the compiled ones among them.
func natives(t *testing.T, s *Set, cells ...string) (all []*check.Native) {
	t.Helper()
	prog, err := check.NewProgram()
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range cells {
		src, err := check.ParseCell(s.Machine.Files(), i+1, "", text)
		if rest, ok := strings.CutPrefix(text, "%%compile\n"); ok {
			src, err = check.ParseNative(s.Machine.Files(), i+1, "", "\n"+rest)
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := prog.Check(s.Machine.Files(), src)
		if err != nil {
			t.Fatal(err)
		}
		prog = c.Next
		all = append(all, c.Natives...)
	}
	return all
}

// The text of a compiled cell is the same each time, so that it is built once; it has
// copies of what it uses, a pointer for each variable that it shares, and another path
// where any of that changes.
func TestGenerate(t *testing.T) {
	generate := func(cells ...string) *check.Native {
		t.Helper()
		s := &Set{Machine: vm.New(vm.Hooks{}), Source: func(string) *check.FetchedPackage { return nil }}
		n := natives(t, s, cells...)
		if len(n) != 1 {
			t.Fatalf("%d compiled cells", len(n))
		}
		if err := s.Generate(n[0]); err != nil {
			t.Fatal(err)
		}
		return n[0]
	}
	cells := []string{"const k = 3\nvar total float64", "func half(x float64) float64 { return x / 2 }", "%%compile\nfunc sum(n int) float64 {\n\tfor i := range n {\n\t\ttotal += half(float64(i + k))\n\t}\n\treturn total\n}"}
	n := generate(cells...)
	text := n.Sources[n.Path]
	for _, want := range []string{"func sum(", "func half(", "k = 3", "v total"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if again := generate(cells...); again.Path != n.Path || again.Sources[again.Path] != text {
		t.Error("the same cells have another text")
	}
	cells[1] = "func half(x float64) float64 { return x / 4 }"
	if other := generate(cells...); other.Path == n.Path {
		t.Error("a changed function keeps the path")
	}
}

// A failing compiler stands for the toolchain.
type failing struct{ err error }

func (failing) Ready() error { return nil }
func (c failing) Load(context.Context, string, map[string]string, string) (map[string]any, error) {
	return nil, c.err
}

// An error of the toolchain is one of the cell; without one a cell says so.
func TestBuildErrors(t *testing.T) {
	s := &Set{Machine: vm.New(vm.Hooks{}), Source: func(string) *check.FetchedPackage { return nil }}
	all := natives(t, s, "%%compile\nfunc f() int { return 1 }")
	out := new(enginetest.Recorder)
	var away Unavailable
	if err := s.Build(t.Context(), all, out); !errors.As(err, &away) {
		t.Errorf("without a compiler: %v", err)
	}
	s.Compiler = failing{errors.New("no space left on device")}
	if err := s.Build(t.Context(), all, out); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("%v", err)
	}
	if s.At(check.PathOf(all[0].Package)) != nil {
		t.Error("a cell that was not built is one of the session's")
	}
	if s.TypeOf(types.NewTypeName(0, all[0].Package, "T", nil)) != nil {
		t.Error("a type of it is known")
	}
}
