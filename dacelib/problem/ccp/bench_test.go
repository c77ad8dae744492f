package ccp

import (
	"context"
	"fmt"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// BenchmarkEvaluate measures an evaluation on one core, in batches of uniform
// solutions; the larger the batch, the more stages its solutions share. COMBO
// needs 0.3 ms per evaluation at d = 30 (the paper's solver spends 0.26 s in a
// run of 800). On an AMD EPYC (Zen 4) of 2.6 GHz an evaluation takes 0.6 us of
// processor time in batches of 100 at d = 30, and 0.75 us at d = 40.
func BenchmarkEvaluate(b *testing.B) {
	for _, d := range []int{30, 40, 80} {
		for _, n := range []int{1, 100, 1000, 100_000} {
			b.Run(fmt.Sprintf("d=%d/n=%d", d, n), func(b *testing.B) {
				p, err := Generate(1, Settings{Dim: d, Lambda: 1e-4})
				if err != nil {
					b.Fatal(err)
				}
				x := problem.Random(run.Rand(1, "benchmark"), n, d)
				dst := make([]float64, n)
				for b.Loop() {
					if err := p.Evaluate(context.Background(), dst, x); err != nil {
						b.Fatal(err)
					}
				}
				evals := float64(n) * float64(b.N)
				b.ReportMetric(evals/b.Elapsed().Seconds(), "evals/s")
				b.ReportMetric(b.Elapsed().Seconds()*1e6/evals, "us/eval")
				if d == 30 {
					b.ReportMetric(300, "COMBO-us/eval")
				}
			})
		}
	}
}
