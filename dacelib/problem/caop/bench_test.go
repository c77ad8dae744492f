//go:build unix

package caop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dace.local/dacelib/internal/process"
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
			began := process.Time()
			for b.Loop() {
				if !known {
					problem.Randomize(rng, x)
				}
				if err := p.Evaluate(context.Background(), dst, x); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "evals/s")
			b.ReportMetric((process.Time()-began).Seconds()*1000/n/float64(b.N), "cpu-ms/eval")
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
	began := process.Time()
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
	b.ReportMetric((process.Time()-began).Seconds()*1000/float64(b.N), "cpu-ms/eval")
}

// BenchmarkFile measures in turns, for the same lists of arguments, the compilation of a
// source and that of the text that the preprocessor has made of it once.
func BenchmarkFile(b *testing.B) {
	ctx := context.Background()
	c := gcc(b, CompilerSettings{})
	rng := run.Rand(2, "benchmark")
	var source, text float64
	for i := 0; b.Loop(); i++ {
		p, err := Generate(1, Settings{Compiler: c, Programs: Programs()[i%len(Programs()):][:1]})
		if err != nil {
			b.Fatal(err)
		}
		args, err := p.Arguments(problem.Random(rng, 1, p.Dim()).Bools(0))
		if err != nil {
			b.Fatal(err)
		}
		dir, remove, err := c.folder(p.data.Program)
		if err != nil {
			b.Fatal(err)
		}
		var t texts
		name := p.data.Program.Files[0].Name
		if _, err := c.file(ctx, &t, dir, "x", name, args, nil); err != nil { // preprocesses and compares
			b.Fatal(err)
		}
		began := process.Time()
		_, _, err = c.compile(ctx, dir, name, "x.o", args)
		between := process.Time()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.file(ctx, &t, dir, "x", name, args, nil); err != nil {
			b.Fatal(err)
		}
		source, text = source+(between-began).Seconds()*1000, text+(process.Time()-between).Seconds()*1000
		remove()
	}
	b.ReportMetric(source/float64(b.N), "source-cpu-ms")
	b.ReportMetric(text/float64(b.N), "text-cpu-ms")
}
