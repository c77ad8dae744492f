package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/notebooks/results/internal/outcomes"
)

// A second call goes on with what the first has measured; the tables show every
// method of the file, and a difference with its interval.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "traps.jsonl")
	cells := []cell{
		{"traps", "evaluations", 50, "BRKGA", 0}, {"traps", "evaluations", 50, "SOLVER", 1}, {"traps", "evaluations", 50, "SOLVER", 2},
		{"traps", "evaluations", 50, "untuned ea", 0},
	}
	var out bytes.Buffer
	for _, n := range []int{2, 4} {
		out.Reset()
		rows, err := outcomes.Read[row](file)
		if err == nil {
			err = measure(t.Context(), &out, file, cells[:n], rows)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "traps 3 of 4: SOLVER") {
		t.Errorf("the second call measures the two that were missing, not:\n%s", got)
	}
	out.Reset()
	if err := command(t.Context(), []string{"-dir", dir, "-classes", "traps", "-print"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| the solver: SOLVER − BRKGA | traps, d = 40 | ", "## Means, 50 evaluations a member, at equal evaluations", "\n| SOLVER | ", " (n = 2) |", "\n| untuned ea | "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// Every method of the plan can be found by its name, and every difference has its
// methods.
func TestPlan(t *testing.T) {
	known := map[string]bool{}
	for _, second := range []bool{false, true} {
		for _, c := range plan("nk", 800, second) {
			known[c.Method] = true
		}
	}
	differences, err := contrasts()
	if err != nil || len(differences) == 0 {
		t.Fatal(err)
	}
	for _, g := range differences {
		if !known[g.Of] || !known[g.Over] {
			t.Errorf("%s: %s or %s is not in the plan", g.What, g.Of, g.Over)
		}
	}
	if n := len(plan("nk", 800, true)); n != 2*constructions*len(generating) {
		t.Errorf("%d cells for the second question", n)
	}
}

// README.md is what the files beside it say.
func TestReadme(t *testing.T) {
	var out bytes.Buffer
	if err := command(t.Context(), []string{"-dir", ".", "-print"}, &out); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(readme) {
		t.Error("README.md is not of today's outcomes: go run ./notebooks/results/worth -print >notebooks/results/worth/README.md")
	}
}

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nk.jsonl"), []byte("{\"class\":\"nk\"}\n{\"cla"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"-classes luck", `no class "luck"`},
		{"-classes qubo -budgets ten", `"ten" is not a budget`},
		{"-classes nk -print", "outcome 2"},
	} {
		err := command(t.Context(), append([]string{"-dir", dir}, strings.Fields(c.args)...), &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}
