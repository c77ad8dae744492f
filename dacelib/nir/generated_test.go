package nir

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/bits"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	vec "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"dace.local/dacelib/landscape"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/cimp"
	"dace.local/dacelib/problem/cimp/snap"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/stats"
)

var (
	givenSettings = flag.String("settings", "", `settings of BenchmarkGenerated, for example '{"Steps": 1500, "Start": "He"}'`)
	givenAuthors  = flag.Bool("authors", false, "BenchmarkGenerated begins with Authors(), not Paper()")
	givenK        = flag.Int("instances", 5, "instances of BenchmarkGenerated")
	givenSeeds    = flag.Int("seeds", 1, "seeds of BenchmarkGenerated")
)

// A oneMaxTable summarises App. F's tables: how far trained NIRs, and NIRs with
// embeddings from N(0, I), are from the closest instance of OneMax.
type oneMaxTable struct {
	found     int     // number of the K trained NIRs whose instance is found
	trained   float64 // median L1 of the trained NIRs
	worst     float64 // largest L1 of the trained NIRs
	generated float64 // median L1 of the generated NIRs
	targets   float64 // how many of 15 generated NIRs have a training instance's target
	bits      float64 // mean distance of generated targets from the nearest training target
}

func (o oneMaxTable) String() string {
	return fmt.Sprintf("trained: %d found, median L1 %.1e, worst %.1e; generated: median L1 %.1e, %.1f of 15 targets, %.1f bits away",
		o.found, o.trained, o.worst, o.generated, o.targets, o.bits)
}

// measureOneMax compares the trained NIRs of m, and the given number of
// generated NIRs, with OneMax.
func measureOneMax(t testing.TB, m *Model, class []problem.Problem, generated int, o OneMaxSettings) oneMaxTable {
	t.Helper()
	closest := func(e []float64) OneMaxMatch {
		s, err := m.Scorer(e)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ClosestOneMax(bg, s, o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var out oneMaxTable
	var trained, drawn []float64
	for i, e := range m.Embeddings() {
		c := closest(e)
		trained = append(trained, c.L1)
		if slices.Equal(c.Target, class[i].(*onemax.Instance).Target()) {
			out.found++
		}
	}
	out.trained, out.worst = median(trained), slices.Max(trained)
	r := run.Rand(1, "bench: embeddings")
	for range generated {
		e := make([]float64, len(m.Embeddings()[0]))
		for j := range e {
			e[j] = r.NormFloat64()
		}
		c := closest(e)
		drawn = append(drawn, c.L1)
		nearest := m.Dim()
		for _, p := range class {
			apart, a, b := 0, problem.Pack(c.Target), problem.Pack(p.(*onemax.Instance).Target())
			for w := range a.Words {
				apart += bits.OnesCount64(a.Words[w] ^ b.Words[w])
			}
			nearest = min(nearest, apart)
		}
		if nearest == 0 {
			out.targets += 15 / float64(generated)
		}
		out.bits += float64(nearest) / float64(generated)
	}
	out.generated = median(drawn)
	return out
}

// NIRs with embeddings from N(0, I) belong to the class (App. F): most have the
// target of a training instance. If the hypernetwork's weights start at random,
// none has.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, tc := range map[string]struct {
		s    Settings
		like bool
	}{
		"paper":   {Paper(), true},
		"authors": {Authors(), true},
		"he":      {Settings{Start: He, HyperBias: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tc.s
			s.Samples, s.Batch, s.Steps, s.LearningRate, s.Seed = 4000, 64, 300, 0.003, 1
			class := oneMaxes(5, 20)
			m, err := Train(bg, class, s)
			if err != nil {
				t.Fatal(err)
			}
			o := measureOneMax(t, m, class, 30, OneMaxSettings{Solutions: 10_000, Validation: 1000})
			if t.Log(o); o.found != 5 {
				t.Error("trained NIRs are not their instances")
			}
			if like := o.targets >= 7 && o.bits <= 2; like != tc.like {
				t.Errorf("generated NIRs are of the class: %v, want %v", like, tc.like)
			}
		})
	}
}

// BenchmarkGenerated trains on OneMax instances of 30 bits and summarises App.
// F's tables, with 60 generated NIRs scaled to the paper's 15:
//
//	go test -run '^$' -bench Generated -benchtime 1x -timeout 5h ./dacelib/nir -authors -seeds 3
//
// Results at the full 12,000 steps with the seeds 1, 2 and 3, beside the paper's.
// The columns are the median L1 of the trained NIRs, then the median L1, targets
// of 15, and bits of the generated ones. All trained NIRs have their instance's
// target.
//
//	Paper     1.1e-4   3.4e-3   11.0   1.3
//	          3.2e-5   2.3e-3   10.0   2.2
//	          2.5e-5   2.0e-3   12.5   0.5
//	Authors   8.4e-5   1.4e-3   13.2   0.6
//	          1.4e-4   2.7e-4   13.0   0.7
//	          1.2e-4   7.7e-4   13.2   0.7
//	paper     3.9e-5   2.6e-3    9     1.4
//
// With detectors that learn at the full rate and otherwise the same start, Paper
// gave 4.4e-5, 4.6e-3, 10.2 and 1.1 (seed 1), Authors 8.7e-5, 4.0e-3, 7.8 and 1.8
// (seed 1).
//
// With 20 instances, 1,500 steps of 64 solutions, 10,000 samples and one seed,
// Paper gives 1.2 targets of 15, 5.0 bits and a median L1 of 7.2e-3; Authors
// gives 5.5, 2.8 and 5.5e-3. Sums of the instances weighted by max(0, a), for
// normal numbers a, give 0.4, 5.5 and 7.3e-3; weighted by its cube they give
// 7.7, 2.2 and 5.4e-3.
func BenchmarkGenerated(b *testing.B) {
	for b.Loop() {
		for seed := range *givenSeeds {
			s := Settings{}
			if *givenAuthors {
				s = Authors()
			}
			if *givenSettings != "" {
				if err := json.Unmarshal([]byte(*givenSettings), &s); err != nil {
					b.Fatal(err)
				}
			}
			s.Seed += uint64(seed + 1)
			var class []problem.Problem
			for i := range *givenK {
				class = append(class, onemax.Random(run.Seed(s.Seed, "onemax", i), 30))
			}
			start, cpu := time.Now(), cpuTime()
			m, err := Train(bg, class, s)
			if err != nil {
				b.Fatal(err)
			}
			seconds, used := time.Since(start).Seconds(), (cpuTime() - cpu).Seconds()
			norm := 0.0
			for _, v := range m.shape.view(m.params, "h2.W") {
				norm += float64(v) * float64(v)
			}
			b.Logf("seed %d: %.0f s, %.0f s of processor time; %v; |h2| %.1f; %v", s.Seed, seconds, used, m.Losses(), math.Sqrt(norm),
				measureOneMax(b, m, class, 60, OneMaxSettings{Validation: 1000}))
		}
	}
}

var (
	publishedState  = flag.String("state", "", "the file in which BenchmarkPublished keeps its training; empty means no BenchmarkPublished")
	publishedRecord = flag.String("record", "", "the file that BenchmarkPublished writes its rows to")
)

// A publishedRow is the state of the authors' training after a number of steps.
type publishedRow struct {
	Step             int     `json:"step"`
	ProcessorSeconds float64 `json:"processorSeconds"` // since the previous row
	Reconstruction   float64 `json:"reconstruction"`   // validation losses
	Scorer           float64 `json:"scorer"`           // mean over the instances
	H2               float64 `json:"h2"`               // norm of the hypernetwork's output weights
	TrainedFound     int     `json:"trainedFound"`
	TrainedL1        float64 `json:"trainedL1"` // medians of the generated and trained NIRs
	GeneratedL1      float64 `json:"generatedL1"`
	Targets          float64 `json:"targetsOf15"`
	Bits             float64 `json:"bitsFromNearest"`
}

// BenchmarkPublished trains five OneMax instances of 30 bits by the authors'
// recipe, with the encoder trained together with the rest, and writes a row
// every 2,500 of 50,000 steps. It takes about four processor hours, 2.5 hours
// with two cores of an AMD EPYC (Zen 4); when started again, it continues from its
// state:
//
//	nice -n 19 go test -run '^$' -bench Published -benchtime 1x -timeout 0 ./dacelib/nir -state FOLDER/authors.npz -record "$PWD"/notebooks/results/nir-authors.json
func BenchmarkPublished(b *testing.B) {
	if *publishedState == "" {
		b.Skip("hours: say -state FILE -record FILE")
	}
	type record struct {
		About     string         `json:"about"`
		Processor string         `json:"processor"`
		Settings  Settings       `json:"settings"`
		Rows      []publishedRow `json:"rows"`
	}
	s := Settings{Reading: run.Published, Seed: 1, Checkpoint: *publishedState}
	rec := record{
		About:     "OneMax, d = 30, five instances: the authors' recipe, encoder trained along. 60 generated NIRs, scaled to 15. Made by BenchmarkPublished of dacelib/nir.",
		Processor: processorName(), Settings: s.withDefaults(30),
	}
	rec.Settings.Checkpoint = ""
	if text, err := os.ReadFile(*publishedRecord); err == nil {
		if err := json.Unmarshal(text, &rec); err != nil {
			b.Fatal(err)
		}
	}
	var class []problem.Problem
	for i := range 5 {
		class = append(class, onemax.Random(run.Seed(1, "onemax", i), 30))
	}
	for b.Loop() {
		for done := false; !done; {
			ctx, cancel := context.WithCancel(bg)
			s.OnEvent = func(e run.Event) {
				if e.Step%2500 == 0 && e.Stage == "train" && (len(rec.Rows) == 0 || e.Step > rec.Rows[len(rec.Rows)-1].Step) {
					cancel()
				}
			}
			cpu := cpuTime()
			m, err := Train(ctx, class, s)
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				b.Fatal(err)
			}
			row := publishedRow{Step: rec.Settings.Steps, ProcessorSeconds: (cpuTime() - cpu).Seconds()}
			if done = err == nil; !done {
				row.Step = m.training.step
				copy(m.params, m.training.params)
				copy(m.stats, m.training.stats)
			}
			v := m.history[len(m.history)-1].Validation
			row.Reconstruction = v.Reconstruction
			for _, l := range v.Scorer {
				row.Scorer += l / float64(len(v.Scorer))
			}
			for _, w := range m.shape.view(m.params, "h2.W") {
				row.H2 += float64(w) * float64(w)
			}
			row.H2 = math.Sqrt(row.H2)
			o := measureOneMax(b, m, class, 60, OneMaxSettings{Validation: 1000})
			row.TrainedFound, row.TrainedL1, row.GeneratedL1, row.Targets, row.Bits = o.found, o.trained, o.generated, o.targets, o.bits
			rec.Rows = append(rec.Rows, row)
			text, err := json.MarshalIndent(rec, "", " ")
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(*publishedRecord, append(text, '\n'), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// processorName returns the system's name for the processor, and the number of
// processors.
func processorName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	model := regexp.MustCompile(`(?m)^model name\s*:\s*(.*)$`).FindSubmatch(text)
	if model == nil {
		return runtime.GOARCH
	}
	return fmt.Sprintf("%s, %d processors", model[1], runtime.NumCPU())
}

var (
	givenClass = flag.String("class", "ccp", "the class of BenchmarkClass: ccp, cimp or onemax")
	givenFile  = flag.String("keep", "", "the file in which BenchmarkClass keeps its training")
)

// BenchmarkClass trains on five instances and measures three things. First,
// whether NIRs with embeddings from N(0, I) belong to the class: how they
// correlate with the nearest training instance, and how far their
// fitness-distance features are from the class's, next to twenty other
// authentic instances. Second, whether they are more than blends of the
// training instances. Third, whether the part that is not a blend makes them
// harder for the portfolio BRKGA-PAP:
//
//	go test -run '^$' -bench Class -benchtime 1x -timeout 5h ./dacelib/nir -class cimp
//
// Results after 12,000 steps with one seed. The columns are the median
// correlation, the mean distance of the features from the class's, the median
// of [Outside], and the performance of BRKGA-PAP on average and on the hardest
// instance:
//
//	CCP    trained NIRs       1.00   0.148   0.006   1.045   1.026
//	       N(0, I)            0.84   0.128   0.279   1.046   0.991
//	       N(e, I)            0.98   0.138   0.042   1.044   0.991
//	       N(e, 9 I)          0.90   0.132   0.177   1.051   1.013
//	       authentic others   0.87   0.137   0.170   1.033   0.963
//	CIMP   trained NIRs       1.00   0.178   0.001   1.020   0.929
//	       N(0, I)            0.85   0.166   0.097   1.056   0.894
//	       N(e, I)            1.00   0.175   0.009   1.037   0.913
//	       N(e, 9 I)          0.96   0.182   0.051   1.016   0.818
//	       authentic others   0.11   0.158   0.830   1.036   0.920
//
// So generated NIRs are mostly blends. For CCP a quarter is new, somewhat more
// than for an authentic instance. For CIMP a tenth is new, although authentic
// instances have little in common: generated ones stay near the training
// instances and are not a sample of the class. The new part does not make
// instances harder: the rank correlation of the share outside and the
// portfolio's performance is 0.12 (CCP) and 0.37 (CIMP), although the hardest
// of sixty are harder than the trained ones. Features of so few pairs are 0.14
// to 0.16 apart between authentic instances, so the distances only show that no
// group is further away.
func BenchmarkClass(b *testing.B) {
	class := map[string]problem.Class{"ccp": ccp.Class(), "cimp": cimp.SNAPClass(), "onemax": onemax.Class(30)}[*givenClass]
	var trained, others []problem.Problem
	for i := range 25 {
		p, err := class.Train(1, i)
		if i >= 5 {
			p, err = class.Test(1, trained[0].Dim(), i-5)
		}
		var missing *snap.MissingError
		if errors.As(err, &missing) {
			b.Skip(err)
		}
		if err != nil {
			b.Fatal(err)
		}
		if i < 5 {
			trained = append(trained, p)
		} else {
			others = append(others, p)
		}
	}
	s := Settings{Seed: 1, Checkpoint: *givenFile}
	if *givenAuthors {
		s = Authors()
		s.Seed, s.Checkpoint = 1, *givenFile
	}
	if *givenSettings != "" {
		if err := json.Unmarshal([]byte(*givenSettings), &s); err != nil {
			b.Fatal(err)
		}
	}
	s.NormaliseSample = 100_000
	for b.Loop() {
		start, cpu := time.Now(), cpuTime()
		m, err := Train(bg, trained, s)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%s: %.0f s, %.0f s of processor time; %v", *givenClass, time.Since(start).Seconds(), (cpuTime() - cpu).Seconds(), m.Losses())
		r := run.Rand(1, "bench: embeddings")
		var drawn [][]float64
		for range 30 {
			e := make([]float64, len(m.Embeddings()[0]))
			for j := range e {
				e[j] = r.NormFloat64()
			}
			drawn = append(drawn, e)
		}
		nirs := func(embeddings [][]float64) (out []problem.Problem) {
			for _, s := range scorersOf(b, m, embeddings) {
				out = append(out, s)
			}
			return out
		}
		near := func(from []problem.Problem, sd float64) [][]float64 {
			out := m.Embeddings()
			for i := range 15 {
				e := slices.Clone(out[i%5])
				for j := range e {
					e[j] += sd * r.NormFloat64()
				}
				out = append(out, e)
			}
			return out[len(from):]
		}
		classFeatures, err := landscape.Extract(bg, append(slices.Clone(trained), others...), landscape.Settings{Solutions: 50_000, Pairs: 500_000, Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		var outside, hardness []float64
		for _, group := range []struct {
			name     string
			problems []problem.Problem
		}{
			{"trained NIRs", nirs(m.Embeddings())},
			{"generated from N(0, I)", nirs(drawn)},
			{"around the trained, N(e, I)", nirs(near(trained, 1))},
			{"around the trained, N(e, 9 I)", nirs(near(trained, 3))},
			{"authentic others", others},
		} {
			var correlation, out, hard []float64
			for _, p := range group.problems {
				_, like, err := Closest(bg, p, trained, 20_000, 1)
				if err != nil {
					b.Fatal(err)
				}
				correlation = append(correlation, like.Correlation)
				share, err := Outside(bg, p, trained, 20_000, 1)
				if err != nil {
					b.Fatal(err)
				}
				out = append(out, share)
			}
			features, err := landscape.Extract(bg, group.problems, landscape.Settings{Solutions: 50_000, Pairs: 500_000, Seed: 2})
			if err != nil {
				b.Fatal(err)
			}
			apart := landscape.Nearest(features, classFeatures)
			if group.name == "authentic others" { // not to themselves
				for i := range apart {
					apart[i] = landscape.Nearest(features[i:i+1], slices.Concat(classFeatures[:5+i], classFeatures[6+i:]))[0]
				}
			}
			scaled, err := portfolio.Normalise(bg, group.problems, 100_000, 1)
			if err != nil {
				b.Fatal(err)
			}
			for _, p := range scaled {
				best := 0.0
				for seed := range uint64(5) {
					v := math.Inf(-1)
					for _, c := range portfolio.BRKGAPAP().Members {
						res, err := solver.Run(bg, solver.Job{Problem: p, Config: c, Seed: seed})
						if err != nil {
							b.Fatal(err)
						}
						v = max(v, res.Value)
					}
					best += v / 5
				}
				hard = append(hard, best)
			}
			if strings.Contains(group.name, "N(") {
				outside, hardness = append(outside, out...), append(hardness, hard...)
			}
			b.Logf("%-30s correlation with the nearest training instance %.2f; features %.4f from the class; outside the training instances' span %.3f; BRKGA-PAP %.3f, hardest %.3f",
				group.name, median(correlation), vec.Sum(apart)/float64(len(apart)), median(out), vec.Sum(hard)/float64(len(hard)), slices.Min(hard))
		}
		x, err := stats.Ranks(outside)
		if err != nil {
			b.Fatal(err)
		}
		y, err := stats.Ranks(hardness)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("rank correlation of the share outside and what BRKGA-PAP reaches, %d NIRs: %.2f", len(x), stat.Correlation(x, y, nil))
	}
}

// median returns the median of v, which it sorts.
func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
