package cimp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/cimp/snap"
	"dace.local/dacelib/run"
)

// instances calls f with an instance for each network that is on this computer
// and each of the paper's GAPs, d = 80.
func instances(b *testing.B, worlds int, f func(b *testing.B, p *Instance)) {
	for _, network := range []string{GeneratedNetwork, "wiki", "facebook", "epinions"} {
		for i, q := range []GAPs{Complementary(), Competitive()} {
			b.Run(fmt.Sprintf("%s/%s", network, []string{"complementary", "competitive"}[i]), func(b *testing.B) {
				p, err := Generate(10+uint64(i), Settings{Network: network, GAPs: q, Worlds: worlds})
				var missing *snap.MissingError
				if errors.As(err, &missing) {
					b.Skip(err)
				}
				if err != nil {
					b.Fatal(err)
				}
				f(b, p)
			})
		}
	}
}

// BenchmarkEvaluate measures an evaluation on one core, R = 1,000. The authors'
// sampler needs 120 to 230 ms for one of 1,000 samples on wiki-Vote, a plain C
// simulation of fixed worlds 0.6 to 5 ms (4.5 on ego-Facebook).
func BenchmarkEvaluate(b *testing.B) {
	instances(b, 1000, func(b *testing.B, p *Instance) {
		for _, n := range []int{1, 100, 1000} {
			b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
				if err := p.Prepare(context.Background()); err != nil {
					b.Fatal(err)
				}
				x := problem.Random(run.Rand(1, "benchmark"), n, p.Dim())
				dst := make([]float64, n)
				before := process.Time()
				for b.Loop() {
					if err := p.Evaluate(context.Background(), dst, x); err != nil {
						b.Fatal(err)
					}
				}
				evals := float64(n) * float64(b.N)
				b.ReportMetric(evals/b.Elapsed().Seconds(), "evals/s")
				b.ReportMetric(b.Elapsed().Seconds()*1e6/evals, "us/eval")
				b.ReportMetric((process.Time()-before).Seconds()*1e6/evals, "cpu-us/eval")
			})
		}
	})
}

// BenchmarkPrepare measures the set-up on one core.
func BenchmarkPrepare(b *testing.B) {
	for _, worlds := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("R=%d", worlds), func(b *testing.B) {
			instances(b, worlds, func(b *testing.B, p *Instance) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
				var m *model
				before := process.Time()
				for b.Loop() {
					var err error
					if m, err = newModel(context.Background(), &p.data); err != nil {
						b.Fatal(err)
					}
				}
				in := m.info()
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/setup")
				b.ReportMetric((process.Time()-before).Seconds()*1e3/float64(b.N), "cpu-ms/setup")
				b.ReportMetric(float64(in.Terms), "terms")
				b.ReportMetric(float64(in.Bytes)/1024, "KB")
				b.ReportMetric(float64(in.Simulated), "simulated")
			})
		})
	}
}

// BenchmarkSimulate measures the plain simulation of one world, times R =
// 1,000.
func BenchmarkSimulate(b *testing.B) {
	instances(b, 1000, func(b *testing.B, p *Instance) {
		x := problem.Random(run.Rand(1, "benchmark"), 1, p.Dim()).Bools(0)
		r := 0
		for b.Loop() {
			if _, err := p.Simulate(x, r); err != nil {
				b.Fatal(err)
			}
			r = (r + 1) % 1000
		}
		b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N), "ms/eval") // 1,000 worlds
	})
}

// BenchmarkNetwork measures reading, verifying and building a network.
func BenchmarkNetwork(b *testing.B) {
	for _, name := range []string{GeneratedNetwork, "wiki", "facebook", "epinions"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := makeNetwork(name); err != nil {
					b.Skip(err)
				}
			}
		})
	}
}
