package brkga

import (
	"context"
	"fmt"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// BenchmarkRun is a run of 800 evaluations on OneMax, d = 30, on one core.
// pymoo 0.6.0.1 needs 19-37 ms for the same configurations, pymoo 0.6.2
// 13-92 ms.
func BenchmarkRun(b *testing.B) {
	p := onemax.Random(1, 30)
	for _, c := range []Config{
		Default(), {20, 70, 10, 0.7, false}, {20, 70, 10, 0.7, true}, {15, 37, 2, 0.23, false}, {29, 29, 2, 0.27, true},
		{1, 156, 22, 0.42, true}, {2, 7, 2, 0.69, true}, {348, 217, 47, 0.55, false},
	} {
		b.Run(fmt.Sprint(c), func(b *testing.B) {
			b.ReportAllocs()
			s := Settings{Config: c}
			for i := 0; b.Loop(); i++ {
				s.Seed = uint64(i)
				if _, err := Run(context.Background(), p, s); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, 800)
		})
	}
}

// rate reports evaluations per second.
func rate(b *testing.B, perOp int) {
	b.ReportMetric(float64(perOp)*float64(b.N)/b.Elapsed().Seconds(), "evals/s")
}

var _ problem.Problem
