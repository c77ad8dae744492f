// Command scale measures how the library's costs grow with the dimension of
// solutions, the number of instances, of workers and of SMAC's trials, and
// writes them as a page of Markdown:
//
//	go run ./dacelib/experiment/scale > dacelib/SCALE.md
//
// It takes some minutes; -quick measures the smallest sizes only.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/cpu"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

func main() {
	log.SetFlags(0)
	quick := flag.Bool("quick", false, "measure the smallest sizes only")
	name := flag.String("cpu", "", "the processor's name; empty means the one that the system gives")
	flag.Parse()
	s := sizes{
		bits: []int{10, 30, 100, 300, 1000}, instances: []int{5, 15, 50, 150, 500},
		workers: []int{1, 2}, trials: []int{100, 400, 1600, 6400, 25_600, 51_200}, repeats: 20,
	}
	if *quick {
		s = sizes{bits: []int{10, 30}, instances: []int{5, 15}, workers: []int{1, 2}, trials: []int{25, 50}, repeats: 1}
	}
	if *name == "" {
		*name = processor()
	}
	if err := write(context.Background(), os.Stdout, s, *name); err != nil {
		log.Fatal(err)
	}
}

// sizes are the sizes to measure, and how often each is.
type sizes struct {
	bits, instances, workers, trials []int
	repeats                          int
}

// A cost is a measured quantity: what it is called, and a function that returns
// the seconds of one measurement at a size.
type cost struct {
	name string
	at   func(ctx context.Context, size int) (func() (seconds float64, err error), error)
}

// patience is the time after which a cell of a table is not measured again.
const patience = 10 * time.Second

// config is a configuration that mates in most generations.
var config = brkga.Config{Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7}

// write measures everything and writes the page.
func write(ctx context.Context, w io.Writer, s sizes, processor string) error {
	fmt.Fprintf(w, `# How costs grow

Written by `+"`go run ./dacelib/experiment/scale > dacelib/SCALE.md`"+` on
%s, %d cores (%s).

Times are the least of up to %d measurements: processor time or, where workers
differ, wall time, which says little on a machine with other work; SMAC's are
measured once. In parentheses: the growth from the row above.
`, processor, runtime.NumCPU(), runtime.GOARCH, s.repeats)
	tables := []struct {
		title, size string
		sizes       []int
		costs       []cost
	}{
		{"Bits", "bits", s.bits, []cost{
			{"a run of BRKGA, 800 evaluations of OneMax", searching},
			{"a value of an NIR", scoring},
			{"a step of training 5 NIRs, batches of 64", func(ctx context.Context, d int) (func() (float64, error), error) {
				return training(ctx, d, 5, 1, processorTime)
			}},
		}},
		{"Instances", "instances of 30 bits", s.instances, []cost{
			{"a trial: one run of BRKGA on each", trial},
			{"a step of training NIRs, batches of 64", func(ctx context.Context, n int) (func() (float64, error), error) {
				return training(ctx, 30, n, 1, processorTime)
			}},
		}},
		{"Workers", "workers (wall time)", s.workers, []cost{
			{"100 runs of BRKGA", func(ctx context.Context, workers int) (func() (float64, error), error) {
				return wall(runs(ctx, 100, workers, 1)), nil
			}},
			{"ranges of 9 NIRs over 100,000 solutions", ranges},
			{"a step of training 5 NIRs, batches of 64", func(ctx context.Context, n int) (func() (float64, error), error) {
				return training(ctx, 30, 5, n, wallTime)
			}},
		}},
	}
	for _, t := range tables {
		if err := table(ctx, w, t.title, t.size, t.sizes, t.costs, s.repeats); err != nil {
			return err
		}
	}
	return trials(ctx, w, s.trials)
}

// table measures the costs at the sizes and writes them, a row for each size.
func table(ctx context.Context, w io.Writer, title, size string, sizes []int, costs []cost, repeats int) error {
	head(w, title, size, len(costs), func(i int) string { return costs[i].name })
	last := make([]float64, len(costs))
	for k, n := range sizes {
		fmt.Fprintf(w, "| %s", growing(fmt.Sprint(n), float64(n), float64(sizes[max(0, k-1)]), k))
		for i, c := range costs {
			f, err := c.at(ctx, n)
			if err != nil {
				return err
			}
			best := math.Inf(1)
			for k, start := 0, time.Now(); k == 0 || k < repeats && time.Since(start) < patience; k++ {
				v, err := f()
				if err != nil {
					return err
				}
				best = min(best, v)
			}
			fmt.Fprintf(w, " | %s", growing(duration(best), best, last[i], k))
			last[i] = best
		}
		fmt.Fprintln(w, " |")
	}
	return nil
}

// head writes a title and the first two lines of a table.
func head(w io.Writer, title, size string, n int, name func(i int) string) {
	fmt.Fprintf(w, "\n## %s\n\n| %s", title, size)
	line := "|---"
	for i := range n {
		fmt.Fprintf(w, " | %s", name(i))
		line += "|---"
	}
	fmt.Fprintf(w, " |\n%s|\n", line)
}

// growing returns a cell's text with the growth from the value of the row
// above, if there is one.
func growing(text string, v, last float64, row int) string {
	if row == 0 {
		return text
	}
	return fmt.Sprintf("%s (x %.3g)", text, v/last)
}

// duration returns seconds with three digits.
func duration(seconds float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}} {
		if seconds >= u.size {
			return fmt.Sprintf("%.3g %s", seconds/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", seconds*1e9)
}

// spent returns f as a measurement of the processor time of one of its n parts.
func spent(n int, f func() error) func() (float64, error) {
	return func() (float64, error) {
		start := process.Time()
		err := f()
		return (process.Time() - start).Seconds() / float64(n), err
	}
}

// wall returns f as a measurement of wall time.
func wall(f func() error) func() (float64, error) {
	return func() (float64, error) {
		start := time.Now()
		err := f()
		return time.Since(start).Seconds(), err
	}
}

// runs returns a function that makes n runs of BRKGA on each of some instances
// of OneMax with 30 bits.
func runs(ctx context.Context, n, workers, instances int) func() error {
	var jobs []brkga.Job
	for i := range instances {
		p := onemax.Random(uint64(i), 30)
		for k := range n {
			jobs = append(jobs, brkga.Job{Problem: p, Settings: brkga.Settings{Config: config, Seed: uint64(k)}})
		}
	}
	return func() error {
		_, err := brkga.RunAll(ctx, jobs, workers)
		return err
	}
}

// searching measures a run of BRKGA on d bits.
func searching(ctx context.Context, d int) (func() (float64, error), error) {
	const n = 100
	p := onemax.Random(1, d)
	return spent(n, func() error {
		for i := range n {
			if _, err := brkga.Run(ctx, p, brkga.Settings{Config: config, Seed: uint64(i)}); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

// scoring measures a value of an NIR of d bits.
func scoring(ctx context.Context, d int) (func() (float64, error), error) {
	const n = 4800
	m, err := nir.Random(d, 1, nir.Settings{})
	if err != nil {
		return nil, err
	}
	s, err := m.Scorer(m.Embeddings()[0])
	if err != nil {
		return nil, err
	}
	x, dst := problem.Random(run.Rand(1, "scale"), n, d), make([]float64, n)
	return spent(n, func() error { return s.Evaluate(ctx, dst, x) }), nil
}

// trial measures one run on each of n instances.
func trial(ctx context.Context, n int) (func() (float64, error), error) {
	return spent(1, runs(ctx, 1, 1, n)), nil
}

// processorTime returns the processor time of this process so far, wallTime the
// time since some moment, in seconds.
func processorTime() float64 { return process.Time().Seconds() }
func wallTime() float64      { return time.Since(began).Seconds() }

var began = time.Now()

// training measures a step of training n NIRs of d bits by a clock: the least
// of the steps' times.
func training(ctx context.Context, d, n, workers int, clock func() float64) (func() (float64, error), error) {
	const steps = 18
	var data []nir.Data
	for i := range n {
		s, err := nir.SampleData(ctx, onemax.Random(uint64(i), d), 1000, 1)
		if err != nil {
			return nil, err
		}
		data = append(data, s)
	}
	return func() (float64, error) {
		best, last := math.Inf(1), math.NaN()
		s := nir.Settings{Batch: 64, Steps: steps, ValidateEvery: steps + 1, Workers: workers, OnEvent: func(run.Event) {
			now := clock()
			if took := now - last; took > 0 {
				best = min(best, took)
			}
			last = now
		}}
		_, err := nir.TrainOn(ctx, data, s)
		return best, err
	}, nil
}

// ranges measures the ranges of nine NIRs over a sample whose latents are kept.
func ranges(ctx context.Context, workers int) (func() (float64, error), error) {
	m, err := nir.Random(30, 9, nir.Settings{NormaliseSample: 100_000, Workers: workers})
	if err != nil {
		return nil, err
	}
	f := func() error {
		_, err := m.Normalise(ctx, m.Embeddings())
		return err
	}
	return wall(f), f()
}

// trials measures SMAC's own computations over BRKGA's configurations: it
// writes the processor time after each number of trials.
func trials(ctx context.Context, w io.Writer, counts []int) error {
	head(w, "Trials", "trials", 2, func(i int) string {
		return []string{"SMAC's own processor time, 5 parameters", "for a trial"}[i]
	})
	space := smac.Space{Params: []smac.Param{
		{Name: "elites", Kind: smac.Int, Lo: 1, Hi: 400, Default: 200}, {Name: "offspring", Kind: smac.Int, Lo: 1, Hi: 1000, Default: 700},
		{Name: "mutants", Kind: smac.Int, Lo: 1, Hi: 200, Default: 100}, {Name: "bias", Lo: 0, Hi: 1, Default: 0.7}, {Name: "duplicates", Kind: smac.Bool},
	}}
	start, last, row := process.Time(), 0.0, 0
	s := smac.Settings{Space: space, Trials: counts[len(counts)-1], OnEvent: func(e run.Event) {
		if row == len(counts) || e.Step != counts[row] {
			return
		}
		took := (process.Time() - start).Seconds()
		n := float64(e.Step)
		fmt.Fprintf(w, "| %s | %s | %s |\n", growing(fmt.Sprint(e.Step), n, float64(counts[max(0, row-1)]), row), growing(duration(took), took, last, row), duration(took/n))
		last = took
		row++
	}}
	_, err := smac.Run(ctx, func(_ context.Context, c []float64) (float64, error) {
		return math.Abs(c[0]-37) + math.Abs(c[1]-211)/3 + 100*math.Abs(c[3]-0.4) + 30*c[4] + 10*math.Sin(c[2]/7), nil
	}, s)
	return err
}

// processor returns the processor's name and its vector instructions.
func processor() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		name = modelName(string(text), name)
	}
	switch {
	case cpu.X86.HasAVX512VNNI:
		return name + ", AVX-512 with VNNI"
	case cpu.X86.HasAVX512F:
		return name + ", AVX-512"
	case cpu.X86.HasAVX2:
		return name + ", AVX2"
	}
	return name
}

// modelName returns the first model name of a cpuinfo file, or else.
func modelName(text, or string) string {
	for line := range strings.Lines(text) {
		if key, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return or
}
