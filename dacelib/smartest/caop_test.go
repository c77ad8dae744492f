package smartest

import (
	"context"
	"os/exec"
	"slices"
	"testing"

	"dace.local/dacelib/problem/caop"
)

// TestCompilerArguments tests the problem that the method is made for, compiler
// arguments, with 40 evaluations of 80 flags. The forest improves on the random
// first generation, and a second run gives the same result.
func TestCompilerArguments(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc: apt-get install gcc")
	}
	ctx := context.Background()
	gcc, err := caop.NewCompiler(ctx, caop.CompilerSettings{NoMemo: true})
	if err != nil {
		t.Fatal(err)
	}
	programs := caop.Programs()
	orbit := slices.IndexFunc(programs, func(p caop.Program) bool { return p.Name == "orbit" })
	p, err := caop.Generate(1, caop.Settings{Programs: programs[orbit : orbit+1], Compiler: gcc})
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Config: Config{Population: 16, Crossover: 0.8, EliteRate: 0.2}, Evaluations: 40, Workers: 2, Seed: 1}
	r := mustRun(t, p, s)
	failed, err := p.FailedValue(ctx)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := p.BaseSize(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %v bytes after %d evaluations of %d solutions, %v after the first generation; -Os %d",
		p.Name(), -r.Value, r.Evaluations, r.Distinct, -first(r, 16), plain)
	if r.Evaluations != 40 || r.Generations < 2 || !(r.Value > failed && r.Value < 0) {
		t.Errorf("value %v (failures have %v), %d evaluations in %d generations", r.Value, failed, r.Evaluations, r.Generations)
	}
	if start := first(r, 16); !(r.Value > start) {
		t.Errorf("no progress: %v, in the first generation %v", r.Value, start)
	}
	again := mustRun(t, p, s)
	if again.Value != r.Value || again.Distinct != r.Distinct {
		t.Errorf("with the same seed %v after %d solutions, before %v after %d", again.Value, again.Distinct, r.Value, r.Distinct)
	}
}

// first returns the best value within the first n evaluations.
func first(r Result, n int) float64 {
	best := r.History[0].Best
	for _, h := range r.History {
		if h.Evaluations <= n {
			best = h.Best
		}
	}
	return best
}
