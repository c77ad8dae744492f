package caop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// BenchmarkEvaluate measures an evaluation that compiles, d = 80, on all cores,
// and one whose size is remembered.
func BenchmarkEvaluate(b *testing.B) {
	for _, known := range []bool{false, true} {
		name := "compiled"
		if known {
			name = "remembered"
		}
		b.Run(name, func(b *testing.B) {
			p, err := Generate(1, Settings{Compiler: gcc(b, CompilerSettings{}), Programs: Programs()[:1]})
			if err != nil {
				b.Fatal(err)
			}
			const n = 8
			x := problem.Random(run.Rand(1, "benchmark"), n, p.Dim())
			dst := make([]float64, n)
			rng := run.Rand(2, "benchmark")
			if err := p.Evaluate(context.Background(), dst, x); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if !known {
					problem.Randomize(rng, x)
				}
				if err := p.Evaluate(context.Background(), dst, x); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "evals/s")
		})
	}
}

// BenchmarkPlainGCC measures the same without this package: gcc -c into the
// folder for temporary files, one call after the other.
func BenchmarkPlainGCC(b *testing.B) {
	p, err := Generate(1, Settings{Compiler: gcc(b, CompilerSettings{}), Programs: Programs()[:1]})
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	f := p.data.Program.Files[0]
	if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o600); err != nil {
		b.Fatal(err)
	}
	rng := run.Rand(2, "benchmark")
	for b.Loop() {
		args, err := p.Arguments(problem.Random(rng, 1, p.Dim()).Bools(0))
		if err != nil {
			b.Fatal(err)
		}
		args = append(append([]string{"-Os"}, args...), "-c", f.Name, "-o", "x.o")
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "evals/s")
}
