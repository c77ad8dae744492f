package ccp

import (
	"context"
	"fmt"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// BenchmarkEvaluate is an evaluation on one core, in batches of uniform
// solutions; the larger the batch, the more stages its solutions share. COMBO
// needs 0.3 ms an evaluation at d = 30 (the paper's solver spends 0.26 s in a
// run of 800).
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
			})
		}
	}
}
