package nir

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/cimp"
	"dace.local/dacelib/problem/cimp/snap"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

var (
	lossSteps      = flag.Int("steps", 0, "steps of BenchmarkLosses; 0 means the default")
	lossRate       = flag.Float64("rate", 0, "learning rate of BenchmarkLosses; 0 means the default")
	sampleSize     = flag.Int("sample", 0, "solutions of BenchmarkNormalise and BenchmarkScreen; 0 means few")
	embeddingCount = flag.Int("embeddings", 76, "mutated embeddings of BenchmarkScreen")
	modelFile      = flag.String("model", "", "the model of BenchmarkScreen; empty means to train one")

	lossHyper = flag.Float64("hyper", 0, "HyperRate of BenchmarkLosses; 0 means the default")
)

// cpuTime returns the processor time of this process so far, which other load
// on the machine distorts little.
func cpuTime() time.Duration { return process.Time() }

// BenchmarkStep measures a step of training five instances, including data and
// Adam. Times are in ms, with GOMAXPROCS=1 on a core with AVX-512 (Xeon, 2 in
// all, nothing else running). The first column is this package; the second is
// PyTorch 1.13 (Debian's, one thread, OpenBLAS set to the core's type) with the
// same networks and its fastest Adam:
//
//	d = 30, B = 256   11.6 to 12.3    22.7 to 34.6, median 27
//	d = 30, B = 64     7.1 to 7.3     14.1 to 18.3, median 15
//	d = 80, B = 256   20.8 to 22.2    44.0 to 51.7, median 47
//
// Since then, a step without a padded product takes 0.81 (B = 256) and 0.70 (B
// = 64) of the time: 8.4 to 6.85 and 5.0 to 3.5 ms of processor time on a busy
// AVX-512 EPYC, medians of three runs of both programs in turn.
//
// A step whose hypernetwork's gradient stays in registers and whose half empty
// panels are half as wide takes 0.93 and 0.86 of that: 14.1 to 13.0 and 7.36 to
// 6.19 ms of processor time on a very busy EPYC (Zen 4, peak 118 GFLOP/s),
// medians of five runs of both programs in turn; the best step took 10.8 and 5.1
// ms. A step of B = 256 is 0.6 GFLOP, 5.2 ms at that peak, and moves 44 MB of
// weights and moments. PyTorch has not been measured on either EPYC.
func BenchmarkStep(b *testing.B) {
	for _, bc := range []struct {
		name string
		d    int
		s    Settings
	}{
		{"d=30/B=256", 30, Settings{Batch: 256}},
		{"d=30/B=64", 30, Settings{Batch: 64}},
		{"d=80/B=256", 80, Settings{Batch: 256}},
		{"affine/d=30/B=256", 30, Settings{Batch: 256, Activation: Identity}},
		{"published/d=30/B=8192", 30, Settings{Reading: run.Published}},
		{"gorgonia/d=30/B=256", 30, Settings{Batch: 256, Gorgonia: true}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := bc.s
			s.Samples, s.Steps = 5000, 1<<30
			var data []Data
			for _, p := range oneMaxes(5, bc.d) {
				d, err := SampleData(bg, p, s.Samples, 1)
				if err != nil {
					b.Fatal(err)
				}
				data = append(data, d)
			}
			s = s.withDefaults(bc.d)
			t, err := newTrainer(newModel(make([]string, 5), s), data, s)
			if err != nil {
				b.Fatal(err)
			}
			start, best := cpuTime(), math.Inf(1)
			for b.Loop() {
				from := cpuTime()
				if _, err := t.takeStep(1e-3); err != nil {
					b.Fatal(err)
				}
				best = min(best, (cpuTime()-from).Seconds()*1e3)
			}
			b.ReportMetric((cpuTime()-start).Seconds()*1e3/float64(b.N), "cpu-ms/step")
			b.ReportMetric(best, "best-cpu-ms/step")
			b.ReportMetric(float64(5*s.Batch*b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

// peak returns the most GFLOP/s that a core reaches now.
func peak() float64 { return fastest(kernel.PeakFLOP) }

// bytePeak is peak for products of bytes.
func bytePeak() float64 { return fastest(kernel.PeakByteOps) }

// fastest returns the most operations in a nanosecond of a function that says how
// many it has done: the best of many short windows, so that other load on the
// machine does not count.
func fastest(operations func(n int) float64) float64 {
	best := 0.0
	for range 1000 {
		start := time.Now()
		n := operations(10_000)
		best = max(best, n/time.Since(start).Seconds()/1e9)
	}
	return best
}

// BenchmarkNormalise measures a pass over the sample, with the latents cached:
// 27 embeddings and 192,000 solutions, or a whole generation of PGPE with
//
//	go test -run '^$' -bench Normalise -benchtime 1x -timeout 1h ./dacelib/nir -sample 10000000
//
// GFLOP/s are per core, by processor time, and count operations as if all were
// in single precision; the peak of the same run is printed next to them.
// s/generation is the processor time for 81 embeddings and 10 million
// solutions; two otherwise idle cores take half of it.
func BenchmarkNormalise(b *testing.B) {
	exact := Normalisation{Exact: true}
	authors := Authors()
	for _, bc := range []struct {
		name string
		d    int
		s    Settings
	}{
		{"d=30", 30, Settings{}},
		{"d=30/exact", 30, Settings{Normalisation: exact}},
		{"d=80", 80, Settings{}},
		{"d=80/exact", 80, Settings{Normalisation: exact}},
		{"d=30/authors", 30, authors},
	} {
		b.Run(bc.name, func(b *testing.B) {
			embeddings, n := 27, byteSample/sampleChunk*sampleChunk+sampleChunk
			s := bc.s
			if *sampleSize > 0 {
				embeddings, n = 81, *sampleSize
			}
			s.NormaliseSample, s.Normalisation.Whole = n, true
			m, err := Random(bc.d, 5, s)
			if err != nil {
				b.Fatal(err)
			}
			scorers := scorersOf(b, m, near(m, embeddings, 1))
			start, cpu := time.Now(), cpuTime()
			if _, err := m.NormaliseScorers(bg, scorers[:1]); err != nil { // computes the latents
				b.Fatal(err)
			}
			memory, _ := m.LatentBytes()
			b.Logf("latents and the first pass: %.1f s, %.1f s of processor time, %d MB", time.Since(start).Seconds(), (cpuTime() - cpu).Seconds(), memory>>20)
			top, best := peak(), math.Inf(1)
			b.ResetTimer()
			for b.Loop() {
				cpu = cpuTime()
				if _, err := m.NormaliseScorers(bg, scorers); err != nil {
					b.Fatal(err)
				}
				best = min(best, (cpuTime() - cpu).Seconds())
			}
			in := float64(m.shape.in)
			flop := 2 * (in*Hidden + Hidden*Hidden + Hidden)
			if m.settings.Activation == Identity {
				flop = 2 * in
			}
			rate := flop * float64(embeddings*n) / best / 1e9
			b.ReportMetric(rate, "GFLOP/s")
			b.ReportMetric(100*rate/top, "%peak")
			b.ReportMetric(best*81/float64(embeddings)*1e7/float64(n), "cpu-s/generation")
		})
	}
}

// BenchmarkChunk measures one otherwise idle core on a chunk of the sample: the
// best of many short windows, next to the peak of the same run. s/generation is
// the time of two such cores for 81 embeddings and 10 million solutions.
func BenchmarkChunk(b *testing.B) {
	for _, d := range []int{30, 80} {
		m, err := Random(d, 5, Settings{NormaliseSample: probeChunks * sampleChunk})
		if err != nil {
			b.Fatal(err)
		}
		lat, err := m.byteLatents(bg)
		if err != nil {
			b.Fatal(err)
		}
		in := m.shape.in
		scorers, set := scorersOf(b, m, near(m, 8, 1)), []*screened{}
		for _, s := range scorers {
			set = append(set, newScreened(s, lat))
		}
		work, bytes := newScratch(in), kernel.NewByteScratch(byteBlock)
		var y [byteBlock]float32
		for _, bc := range []struct {
			name string
			rows int
			f    func(i, row int)
		}{
			{"exact", block, func(i, row int) { scorers[i].score(y[:block], work, lat.probe[row*in:], in) }},
			{"bytes", byteBlock, func(i, row int) {
				set[i].bytes.Scores(y[:], bytes, lat.probeBytes[row*kernel.ByteStride(in):], byteBlock)
			}},
		} {
			b.Run(fmt.Sprintf("d=%d/%s", d, bc.name), func(b *testing.B) {
				if bc.name == "bytes" && !kernel.FastBytes() {
					b.Log("in plain Go: this processor has no AVX-512 VNNI")
				}
				top, best := peak(), math.Inf(1)
				for b.Loop() {
					for i := range 200 * len(set) {
						start := time.Now()
						for row := 0; row < sampleChunk; row += bc.rows {
							bc.f(i%len(set), row)
						}
						best = min(best, time.Since(start).Seconds()/sampleChunk)
					}
				}
				flop := float64(2 * (in*Hidden + Hidden*Hidden + Hidden))
				b.ReportMetric(best*1e9, "ns/solution")
				b.ReportMetric(flop/best/1e9, "GFLOP/s")
				b.ReportMetric(100*flop/best/1e9/top, "%peak")
				if bc.name == "bytes" && kernel.FastBytes() {
					b.ReportMetric(100*flop/best/1e9/bytePeak(), "%byte-peak")
				}
				b.ReportMetric(best*81*1e7/2, "s/generation")
			})
		}
	}
}

// givenModel returns the model that -model names, or trains one on five
// instances of CCP, with a sample of 1,000,000 or -sample solutions.
func givenModel(b *testing.B) *Model {
	b.Helper()
	var m *Model
	var err error
	if *modelFile != "" {
		m, err = Load(*modelFile)
	} else {
		m, err = Train(bg, foods(b, 5), Settings{Steps: *lossSteps})
	}
	if err != nil {
		b.Fatal(err)
	}
	m.settings.NormaliseSample = 1_000_000
	if *sampleSize > 0 {
		m.settings.NormaliseSample = *sampleSize
	}
	return m
}

// BenchmarkScreen trains on five CCP instances of 30 bits, compares the pass in
// bytes with the exact pass for embeddings as PGPE draws them, and prints what
// can go wrong: errors, candidates, scorers for which it gives up, and ranges
// that differ. -steps, -sample and -embeddings set its size; -model reads a
// model instead of training one.
func BenchmarkScreen(b *testing.B) {
	m := givenModel(b)
	b.Log(m.Losses())
	scorers := scorersOf(b, m, append(m.Embeddings(), near(m, *embeddingCount, 1)...))
	for b.Loop() {
		var first, errs, within, over []float64
		unsure, differ := 0, 0
		for group := range slices.Chunk(scorers, 81) {
			set, err := m.screen(bg, group, nil)
			if err != nil {
				b.Fatal(err)
			}
			exact, err := m.exactRanges(bg, group, nil, true)
			if err != nil {
				b.Fatal(err)
			}
			for i, s := range set {
				width := exact[i].Max - exact[i].Min
				n := float64(m.settings.NormaliseSample)
				first = append(first, float64(s.tails.margin)/screenMargin/width)
				errs = append(errs, float64(s.errors)/width)
				within, over = append(within, float64(s.candidates)/n), append(over, float64(s.over)/n)
				if !s.sure() {
					unsure++
				} else if exact[i] != (Range{float64(s.lo), float64(s.hi)}) {
					differ++
				}
			}
		}
		for _, l := range []struct {
			name string
			v    []float64
		}{{"largest error of the probe / range", first}, {"largest error seen / range", errs}, {"candidates / sample", within}, {"no score in bytes / sample", over}} {
			slices.Sort(l.v)
			b.Logf("%-34s median %.2g, worst %.2g", l.name, l.v[len(l.v)/2], l.v[len(l.v)-1])
		}
		b.Logf("%d embeddings, %d solutions: %d not sure, %d ranges differ", len(scorers), m.settings.NormaliseSample, unsure, differ)
		b.ReportMetric(float64(differ), "wrong")
		b.ReportMetric(float64(unsure), "unsure")
	}
}

// BenchmarkEvaluate measures encoder and scorer on a generation of BRKGA. The
// metric "%peak" is the share of the core's peak, in operations of layers as
// they are padded: 97,000 at d = 30. The aim is 600 ns a solution at d = 30. An
// AMD EPYC (Zen 4, peak 118 GFLOP/s) needs 0.91 us, of which 820 ns would be
// spent at its peak.
func BenchmarkEvaluate(b *testing.B) {
	for _, d := range []int{30, 80} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			m, err := Random(d, 1, Settings{})
			if err != nil {
				b.Fatal(err)
			}
			s, err := m.Scorer(m.Embeddings()[0])
			if err != nil {
				b.Fatal(err)
			}
			const n = 700
			x := problem.Random(run.Rand(1, "bench"), n, d)
			y := make([]float64, n)
			b.ReportAllocs()
			top, best := peak(), math.Inf(1)
			start := cpuTime()
			for b.Loop() {
				from := time.Now()
				if err := s.Evaluate(bg, y, x); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(from).Seconds()/n)
			}
			in := kernel.RoundCols(m.shape.in)
			flop := float64(2 * (Hidden*Hidden + Hidden*in + m.shape.in*Hidden + Hidden*Hidden + Hidden))
			b.ReportMetric((cpuTime()-start).Seconds()*1e9/float64(b.N)/n, "cpu-ns/solution")
			b.ReportMetric(best*1e9, "best-ns/solution")
			b.ReportMetric(100*flop/best/1e9/top, "%peak")
		})
	}
}

// A counter counts the solutions that are evaluated more than once.
type counter struct {
	problem.Problem
	seen       map[uint64]bool
	all, again int
}

func (c *counter) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	for i := range x.Len() {
		w := x.Row(i)[0]
		if c.seen[w] {
			c.again++
		}
		c.seen[w] = true
		c.all++
	}
	return c.Problem.Evaluate(ctx, dst, x)
}

// BenchmarkSearch measures a run of BRKGA with 800 evaluations on an NIR of 30
// bits. The metric "again" is the share of solutions that the run has seen
// before; their values are looked up. The aim is 0.5 ms.
//
// On a busy core of an AMD EPYC (Zen 4, AVX-512, peak 118 GFLOP/s), with all
// solutions evaluated and with values looked up, in turns, medians of 7 of
// processor time: 0.89 and 0.86 ms for 100 individuals, 0.82 and 0.82 for 1000,
// 0.92 and 0.80 for 55. The layers take 97,000 operations a solution, which are
// 0.82 us at this core's peak and 0.54 us on a core with 179 GFLOP/s: so 800
// solutions cannot take less than 0.66 ms here.
func BenchmarkSearch(b *testing.B) {
	m, err := Random(30, 5, Settings{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := m.Scorer(m.Embeddings()[0])
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []brkga.Config{
		{Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7},
		{Elites: 200, Offspring: 700, Mutants: 100, Bias: 0.7},
		{Elites: 10, Offspring: 40, Mutants: 5, Bias: 0.8},
	} {
		b.Run(fmt.Sprintf("%d", c.Elites+c.Offspring+c.Mutants), func(b *testing.B) {
			count := &counter{Problem: s, seen: map[uint64]bool{}}
			if _, err := solver.Run(bg, solver.Job{Problem: count, Config: c.Named(), Seed: 1}); err != nil {
				b.Fatal(err)
			}
			seed, cpu := uint64(0), cpuTime()
			for b.Loop() {
				seed++
				if _, err := solver.Run(bg, solver.Job{Problem: s, Config: c.Named(), Seed: seed}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuTime()-cpu).Seconds()*1e3/float64(b.N), "cpu-ms/run")
			b.ReportMetric(100*float64(count.again)/float64(count.all), "%again")
		})
	}
}

// BenchmarkClosestOneMax measures App. F's search for the closest instance,
// including the evaluation of the NIR on 100,000 and 500,000 solutions.
func BenchmarkClosestOneMax(b *testing.B) {
	m, err := Random(30, 1, Settings{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := m.Scorer(m.Embeddings()[0])
	if err != nil {
		b.Fatal(err)
	}
	start := cpuTime()
	for b.Loop() {
		if _, err := ClosestOneMax(bg, s, OneMaxSettings{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuTime()-start).Seconds()*1e3/float64(b.N), "cpu-ms")
}

// BenchmarkQuick trains with the settings for a first look and counts how many
// of five target strings are identified.
func BenchmarkQuick(b *testing.B) {
	for b.Loop() {
		start, cpu := time.Now(), cpuTime()
		ps := oneMaxes(5, 30)
		m, err := Train(bg, ps, Quick())
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%v after %.1f s, %.1f s of processor time", m.Losses(), time.Since(start).Seconds(), (cpuTime() - cpu).Seconds())
		found := 0
		for i, e := range m.Embeddings() {
			s, err := m.Scorer(e)
			if err != nil {
				b.Fatal(err)
			}
			closest, err := ClosestOneMax(bg, s, OneMaxSettings{})
			if err != nil {
				b.Fatal(err)
			}
			if slices.Equal(closest.Target, ps[i].(*onemax.Instance).Target()) {
				found++
			}
			b.Log(closest)
		}
		b.ReportMetric(float64(found), "found")
	}
}

// BenchmarkLosses trains on the paper's data and prints the losses beside the
// paper's (Table of App. D; App. F for OneMax): minutes. Run it with
//
//	go test -run '^$' -bench Losses -benchtime 1x -timeout 1h ./dacelib/nir
func BenchmarkLosses(b *testing.B) {
	for _, tc := range []struct {
		name, paper string
		instance    func(i int) (problem.Problem, error)
	}{
		{"onemax", "scorers 2e-5 to 5e-5", func(i int) (problem.Problem, error) { return oneMaxes(5, 30)[i], nil }},
		{"ccp", "scorers at most 6.8e-4, reconstruction 0.0074", func(i int) (problem.Problem, error) {
			return ccp.Generate(run.Seed(1, "ccp", i), ccp.Settings{Lambda: 1e-4})
		}},
		{"cimp", "scorers at most 7.5e-4, reconstruction 0.0249", func(i int) (problem.Problem, error) {
			return cimp.SNAPClass().Train(1, i)
		}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			var class []problem.Problem
			for i := range 5 {
				p, err := tc.instance(i)
				var missing *snap.MissingError
				if errors.As(err, &missing) {
					b.Skip(err)
				}
				if err != nil {
					b.Fatal(err)
				}
				class = append(class, p)
			}
			for b.Loop() {
				start, cpu := time.Now(), cpuTime()
				m, err := Train(bg, class, Settings{Steps: *lossSteps, LearningRate: *lossRate, HyperRate: *lossHyper, OnEvent: func(e run.Event) {
					if e.Step%max(1, e.Total/60) == 0 {
						fmt.Printf("%6.0f s  %d of %d  %s\n", time.Since(start).Seconds(), e.Step, e.Total, e.Detail)
					}
				}})
				if err != nil {
					b.Fatal(err)
				}
				b.Logf("%s: %v after %.0f s (%.0f s of processor time); the paper's: %s", tc.name, m.Losses(),
					time.Since(start).Seconds(), (cpuTime() - cpu).Seconds(), tc.paper)
				if tc.name == "onemax" {
					logClosest(b, m, class)
				}
			}
		})
	}
}

// logClosest prints App. F's tables: the closest OneMax instances of the
// trained NIRs (the paper's L1 and L2 are 2.3e-5 to 4.9e-5) and of 15 NIRs with
// embeddings from N(0, I) (5.7e-5 to 5.3e-3).
func logClosest(b *testing.B, m *Model, trained []problem.Problem) {
	embeddings := m.Embeddings()
	r := run.Rand(1, "bench: embeddings")
	for range 15 {
		e := make([]float64, EmbeddingSize)
		for j := range e {
			e[j] = r.NormFloat64()
		}
		embeddings = append(embeddings, e)
	}
	for i, e := range embeddings {
		s, err := m.Scorer(e)
		if err != nil {
			b.Fatal(err)
		}
		closest, err := ClosestOneMax(bg, s, OneMaxSettings{})
		if err != nil {
			b.Fatal(err)
		}
		note := "generated"
		if i < len(trained) {
			note = "trained, another target"
		}
		for k, p := range trained {
			if slices.Equal(closest.Target, p.(*onemax.Instance).Target()) {
				note += fmt.Sprintf(", target %d", k)
				if i == k {
					note = "trained, its target"
				}
			}
		}
		b.Log(closest, note)
	}
}

var pgpeIterations = flag.Int("iterations", 3, "iterations of PGPE in BenchmarkReferences")

// BenchmarkReferences follows PGPE from the trained embeddings towards NIRs on
// which BRKGA-PAP does badly, finds the ranges of each generation both by
// references and by passes over the whole sample, and counts those that differ:
//
//	go test -run '^$' -bench References -benchtime 1x -timeout 5h ./dacelib/nir -model ccp.npz -sample 10000000 -iterations 50
//
// -steps sets the training's steps if no -model is given. With 1,000,000
// solutions and 3 iterations from each of the five embeddings, 0 of 1,215 ranges
// differed on CCP and 0 of 1,215 on CIMP, where 39 were left to a whole pass;
// the processor time was a seventh and a sixth. These count the references'
// own ranges. With 10,000,000 solutions and settled references a generation
// takes about 3 s of processor time on CCP, where whole passes take 99, and 6 to
// 16 on CIMP. One in which references are chosen anew takes about a minute.
func BenchmarkReferences(b *testing.B) {
	m := givenModel(b)
	for b.Loop() {
		var ranges, open, differ int
		var by, whole float64
		for k, start := range m.Embeddings() {
			hardness := func(ctx context.Context, dst []float64, candidates [][]float64) error {
				scorers := scorersOf(b, m, candidates)
				found := make([]Range, len(scorers))
				cpu := cpuTime()
				left, err := m.byReferences(ctx, scorers, found)
				if err != nil {
					return err
				}
				by += (cpuTime() - cpu).Seconds()
				cpu = cpuTime()
				all, err := m.wholeRanges(ctx, scorers)
				if err != nil {
					return err
				}
				whole += (cpuTime() - cpu).Seconds()
				ranges, open = ranges+len(all), open+len(left)
				for i, r := range all {
					if !slices.Contains(left, i) && found[i] != r {
						differ++
						b.Logf("a range differs: %v, and by references %v", r, found[i])
					}
				}
				return run.Each(0, len(scorers), func(i int) error {
					dst[i] = math.Inf(-1)
					for _, c := range portfolio.BRKGAPAP().Members {
						r, err := solver.Run(ctx, solver.Job{Problem: scorers[i].Within(all[i]), Config: c, Seed: 1})
						if err != nil {
							return err
						}
						dst[i] = max(dst[i], r.Value)
					}
					return nil
				})
			}
			r, err := pgpe.Run(bg, start, hardness, pgpe.Settings{MaxIterations: *pgpeIterations, Seed: uint64(k + 1)})
			if err != nil {
				b.Fatal(err)
			}
			last := r.History[len(r.History)-1]
			b.Logf("embedding %d: %d iterations, the mean has moved by %.2f, the least value is %.3f; %d ranges, %d of them not by references, %d differ; %.1f and %.1f s of processor time",
				k+1, r.Iterations, last.Distance, r.Value, ranges, open, differ, by, whole)
		}
		b.ReportMetric(float64(differ), "wrong")
		b.ReportMetric(100*float64(open)/float64(ranges), "%open")
		b.ReportMetric(whole/by, "x")
	}
}
