package ea_test

import (
	"testing"

	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
)

// BenchmarkRLS is randomised local search on OneMax of 40 bits, as peers/rls.cpp in
// experiment/solvers has it on IOHexperimenter's.
func BenchmarkRLS(b *testing.B) {
	const n = 1_000_000
	p, err := classic.PBO(1, 1, 40)
	if err != nil {
		b.Fatal(err)
	}
	c, err := solver.Parse("ea{mutation: one}")
	if err != nil {
		b.Fatal(err)
	}
	cpu := process.Time()
	for range b.N {
		r, err := solver.Run(b.Context(), solver.Job{Problem: p, Config: c, Evaluations: n, Seed: 1})
		if err != nil || r.Value != 40 || r.Evaluations != n {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(n*float64(b.N)/(process.Time()-cpu).Seconds(), "evaluations/cpu-s")
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "evaluations/s")
}
